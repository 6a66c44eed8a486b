//! An AOT cache (JEP 483), which JDK 24 and newer start from: it stays in use under the agent.

use std::collections::BTreeSet;
use std::process::Command;

use crate::harness::{Finished, Jvm, Program, classes, compiler};

/// One of each kind of measurement. `cpu=times` redefines classes after they were loaded from the cache.
const MODES: [&str; 7] = [
    "cpu=samples",
    "cpu=samples,engine=jvmti",
    "cpu=times",
    "heap=sites",
    "heap=all,dumper=jvmti",
    "monitor=y",
    "wall=10ms,blackbox=y",
];

/// Returns the classes that the VM has loaded from its cache.
fn shared(run: &Finished) -> BTreeSet<String> {
    let log = run.read("load.log");
    let lines = log
        .lines()
        .filter(|line| line.contains(" source: shared objects file"));
    let name = |line: &str| line.split_whitespace().next().map(str::to_owned);
    let names = lines.filter_map(|line| name(line.split_once("] ")?.1));
    // Proxies and lambdas have numbers, or addresses, which differ from run to run.
    names
        .filter(|name| !name.contains('/') && !name.contains("0x"))
        .collect()
}

on_every_jvm!(an_aot_cache_stays_in_use_in_every_mode from 25, and 25);

fn an_aot_cache_stays_in_use_in_every_mode(jvm: &Jvm) {
    // The cache takes classes out of jars alone.
    let training = Program::bare_java(jvm, &["-XX:AOTCacheOutput=app.aot", "-cp"]);
    let [jar, cache] = ["app.jar", "app.aot"].map(|name| training.folder().join(name));
    let mut packer = Command::new(compiler().join("bin/jar"));
    packer
        .arg("--create")
        .arg("--file")
        .arg(&jar)
        .arg("-C")
        .arg(classes("samples"));
    assert!(packer.arg("Hello.class").status().expect("jar").success());
    let training = training.arg(&jar).arg("Hello").run_well();
    assert!(cache.exists(), "{} {}", training.stdout, training.stderr);

    let cache = format!("-XX:AOTCache={}", cache.display());
    // With this mode a VM that cannot use the cache does not start.
    let options = [
        &cache,
        "-XX:AOTMode=on",
        "-Xlog:class+load:file=load.log",
        "-cp",
    ];
    let hello = |program: Program| {
        let run = program.arg(&jar).arg("Hello").run_well();
        assert_eq!(run.stdout, "hello\n");
        run
    };
    let bare = shared(&hello(Program::bare_java(jvm, &options)));
    assert!(bare.contains("Hello") && bare.len() > 300, "{bare:?}");
    for mode in MODES {
        let agent = format!("{mode},verbose=n,file=x.out");
        let found = shared(&hello(Program::java(jvm, &agent, &options)));
        let lost: Vec<&String> = bare.difference(&found).collect();
        assert!(lost.is_empty(), "{} {mode}: {lost:?}", jvm.feature);
    }
}
