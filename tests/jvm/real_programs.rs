//! Programs that were not written for this test: `javac` on hundreds of files, and the Closure compiler.

use std::fs;
use std::sync::LazyLock;

use crate::harness::{Finished, Jvm, Program, any_jvm, fetched};
use crate::profile::{Profile, Site};

fn options(format: &str, file: &str) -> String {
    format!("cpu=samples,interval=1,depth=8,format={format},file={file}")
}

fn javac(jvm: &Jvm, options: &str) -> Option<Finished> {
    let corpus = fetched("corpus.files")?;
    let files = fs::read_to_string(&corpus)
        .expect("the list")
        .lines()
        .count();
    assert!(files >= 300, "{files} files");
    let program = Program::javac(jvm, options).args([
        "-nowarn",
        "-proc:none",
        "-Xlint:none",
        "-encoding",
        "UTF-8",
        "-d",
        "classes",
    ]);
    Some(program.arg(format!("@{}", corpus.display())).run_well())
}

fn closure(jvm: &Jvm, options: &str) -> Option<Finished> {
    let (compiler, lodash) = (fetched("compiler.jar")?, fetched("lodash.js")?);
    let program = Program::java(jvm, options, &[]).arg("-jar").arg(compiler);
    let run = program
        .args(["-O", "SIMPLE", "--js_output_file", "out.js", "--js"])
        .arg(lodash)
        .run_well();
    assert!(
        run.read("out.js").len() > 50_000,
        "{}: the compiler did its work",
        jvm.feature
    );
    Some(run)
}

/// Asserts that both formats describe the same program: the methods on top in one are near the top of the other.
fn compare(jvm: &Jvm, of: &str, text: &Finished, binary: &Finished) {
    let text = Profile::parse(&text.read("x.txt"));
    let binary = Profile::parse(&binary.checked_text("x.hprof"));
    for profile in [&text, &binary] {
        assert!(profile.samples().total > 500, "{} {of}", jvm.feature);
        let top = &profile.methods()[..10];
        println!("{} {of}: {top:?}", jvm.feature);
        assert!(
            !top.iter()
                .any(|(method, _)| method.contains("park") || method.contains("wait")),
            "{top:?}"
        );
    }
    let near_top: Vec<String> = binary
        .methods()
        .into_iter()
        .take(30)
        .map(|(method, _)| method)
        .collect();
    // A sample stands for several milliseconds of a run of a few seconds, and what is inlined differs from run to run: below
    // that share the order of methods is chance.
    let least = f64::from(text.samples().total) * 0.02;
    let missing: Vec<_> = text
        .methods()
        .into_iter()
        .take(5)
        .filter(|&(_, count)| f64::from(count) >= least)
        .filter(|(method, _)| !near_top.contains(method))
        .collect();
    assert!(
        missing.len() <= 1,
        "{} {of}: {missing:?} not in {near_top:?}",
        jvm.feature
    );
}

on_every_jdk!(javac_on_hundreds_of_files);

fn javac_on_hundreds_of_files(jvm: &Jvm) {
    let Some(text) = javac(jvm, &options("a", "x.txt")) else {
        return;
    };
    let binary = javac(jvm, &options("b", "x.hprof")).expect("as before");
    compare(jvm, "javac", &text, &binary);
}

on_every_jvm!(the_closure_compiler_with_every_allocation_tracked);

/// Tracking every allocation of a real program changes nothing of what it does.
fn the_closure_compiler_with_every_allocation_tracked(jvm: &Jvm) {
    /// The output for `lodash.js`, on any JVM.
    static REFERENCE: LazyLock<Option<String>> =
        LazyLock::new(|| Some(closure(any_jvm(), "cpu=samples,file=x.txt")?.read("out.js")));
    let Some(reference) = &*REFERENCE else {
        return;
    };
    let options = "heap=sites,cutoff=0,format=b,file=x.hprof";
    let run = closure(jvm, options).expect("as before");
    assert_eq!(run.read("out.js"), *reference, "{}", jvm.feature);
    let profile = Profile::parse(&run.checked_text("x.hprof"));
    let sites = profile.one_sites();
    let allocated: u64 = sites.rows.iter().map(|row| row.allocated).sum();
    let seen_made = |row: &&Site| row.trace != 300_000;
    let by_its_code: u64 = sites
        .rows
        .iter()
        .filter(seen_made)
        .map(|row| row.allocated)
        .sum();
    println!(
        "{}: {allocated} objects, {by_its_code} with a trace",
        jvm.feature
    );
    assert!(allocated > 7_000_000, "{}: {allocated}", jvm.feature);
    assert!(
        by_its_code as f64 / allocated as f64 > 0.99,
        "{}: {by_its_code}",
        jvm.feature
    );
    let nodes = |row: &&Site| row.class == "com.google.javascript.rhino.Node" && row.live > 0;
    assert!(
        sites.rows.iter().any(|row| nodes(&row)),
        "{}: the tree is alive",
        jvm.feature
    );
}

on_every_jvm!(the_closure_compiler);

fn the_closure_compiler(jvm: &Jvm) {
    let Some(text) = closure(jvm, &options("a", "x.txt")) else {
        return;
    };
    let binary = closure(jvm, &options("b", "x.hprof")).expect("as before");
    compare(jvm, "closure", &text, &binary);
}
