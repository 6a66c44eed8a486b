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

on_every_jdk!(javac_on_hundreds_of_files, and 25);

fn javac_on_hundreds_of_files(jvm: &Jvm) {
    let Some(text) = javac(jvm, &options("a", "x.txt")) else {
        return;
    };
    let binary = javac(jvm, &options("b", "x.hprof")).expect("as before");
    compare(jvm, "javac", &text, &binary);
}

on_every_jvm!(the_closure_compiler_with_every_allocation_tracked, and 28);

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

on_every_jvm!(nothing_of_what_the_closure_compiler_allocates_is_lost_in_a_format on 17 and 27);

/// Whatever the format and the order of rows, `hprof top` has the same total, and names nearly all of it where small rows
/// are folded.
fn nothing_of_what_the_closure_compiler_allocates_is_lost_in_a_format(jvm: &Jvm) {
    let folded = "heap=sites,lifetimes=y,sort=alloc,format=b,depth=512,file=x.hprof";
    let Some(binary) = closure(jvm, folded) else {
        return;
    };
    let top = binary.top("x.hprof", "alloc-bytes");
    let bytes = |value: &serde_json::Value| value.as_u64().expect("bytes");
    let total = bytes(&top["total"]);
    fs::write(binary.path("x.txt"), binary.checked_text("x.hprof")).expect("a file");
    let as_text = binary.top("x.txt", "alloc-bytes");
    assert_eq!(bytes(&as_text["total"]), total, "{}", jvm.feature);
    let rows = top["rows"].as_array().expect("rows").iter();
    let unnamed = rows.filter(|row| {
        row["name"]
            .as_str()
            .is_some_and(|name| name.starts_with('<'))
    });
    let unnamed: u64 = unnamed.map(|row| bytes(&row["self"])).sum();
    println!(
        "{}: {unnamed} of {total} bytes without a method",
        jvm.feature
    );
    assert!(
        unnamed * 100 < total,
        "{}: {unnamed} of {total}",
        jvm.feature
    );
    for options in ["heap=sites,file=x.txt", "heap=sites,sort=alloc,file=x.txt"] {
        let text = closure(jvm, options).expect("as before");
        let other = bytes(&text.top("x.txt", "alloc-bytes")["total"]);
        // The compiler's threads do not do exactly the same each time.
        let share = other as f64 / total as f64;
        assert!(
            (0.98..1.02).contains(&share),
            "{}: {options}: {share}",
            jvm.feature
        );
    }
}

on_every_jvm!(the_closure_compiler, and 26);

fn the_closure_compiler(jvm: &Jvm) {
    let Some(text) = closure(jvm, &options("a", "x.txt")) else {
        return;
    };
    let binary = closure(jvm, &options("b", "x.hprof")).expect("as before");
    compare(jvm, "closure", &text, &binary);
}
