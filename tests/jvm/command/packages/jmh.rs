//! The JMH profiler of the jar: the objects per operation are those that the benchmark's source allocates.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use super::{package, run};
use crate::harness::{Jvm, any_jvm, javac, skip};

/// Returns JMH's jars, and the jar under test; reports if they are missing.
fn class_path() -> Option<String> {
    let jar = package("hprof-", ".jar")?;
    let Some(jmh) = std::env::var_os("HPROF_JMH").map(PathBuf::from) else {
        skip("tests of the JMH profiler: $HPROF_JMH, the folder with JMH's jars, is not set");
        return None;
    };
    let jars = fs::read_dir(jmh).expect("JMH's jars");
    let jars = jars.map(|entry| entry.expect("a jar").path()).chain([jar]);
    let jars: Vec<_> = jars.map(|jar| jar.display().to_string()).collect();
    Some(jars.join(":"))
}

/// The scores of a benchmark by name: after a colon, those of the profiler.
struct Scores(String);

impl Scores {
    fn of(jvm: &Jvm, class_path: &str, folder: &Path, options: &str, arguments: &[&str]) -> Self {
        let results = folder.join("results.csv");
        let mut java = Command::new(jvm.home.join("bin/java"));
        java.current_dir(folder).args([
            "-Djmh.ignoreLock=true",
            "-cp",
            class_path,
            "org.openjdk.jmh.Main",
        ]);
        // Its own lock would keep the tests of other JVMs out; nothing is timed here.
        java.arg("-prof")
            .arg(format!("io.hprof.jmh.HprofProfiler:dir=profiles;{options}"));
        java.args(["-rf", "csv", "-rff"])
            .arg(&results)
            .args(arguments);
        run(&mut java);
        Self(fs::read_to_string(results).expect("results"))
    }

    /// "Benchmark","Mode",Threads,Samples,Score,...
    fn get(&self, name: &str) -> f64 {
        let end = format!(":{name}\"");
        let mut rows = self
            .0
            .lines()
            .map(|line| line.split(',').collect::<Vec<_>>());
        let row = rows.find(|row| row[0].ends_with(&end));
        row.and_then(|row| row[4].parse().ok())
            .unwrap_or_else(|| panic!("no {name} in {}", self.0))
    }

    /// Asserts that scores are numbers. The error after a score is NaN if there are too few iterations for one.
    fn assert_numbers(&self) {
        for row in self.0.lines().skip(1) {
            let score = row.split(',').nth(4).and_then(|score| score.parse().ok());
            assert!(score.is_some_and(f64::is_finite), "{row}");
        }
    }
}

fn assert_allocates_as_its_source_says(jvm: &Jvm, options: &str) {
    let Some(jars) = class_path() else { return };
    let folder = TempDir::new().expect("a folder");
    let source =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/jvm/command/packages/Allocating.java");
    let mut compile = Command::new(javac());
    compile.args([
        "-processor",
        "org.openjdk.jmh.generators.BenchmarkProcessor",
        "--release",
        "11",
    ]);
    run(compile
        .args(["-cp", &jars, "-d"])
        .arg(folder.path())
        .arg(source));
    let class_path = format!("{}:{jars}", folder.path().display());
    let scores = Scores::of(jvm, &class_path, folder.path(), options, &["Allocating"]);
    let at = |class: &str, line: u32| {
        scores.get(&format!(
            "hprof.objects @ {class} org.example.Allocating.make(Allocating.java:{line})"
        ))
    };
    let node = "org.example.Allocating$Node";
    assert_eq!((at(node, 38), at(node, 40)), (2.0, 1.0), "{}", scores.0);
    // The VM, too, may allocate arrays of bytes there, while it links and compiles the method.
    assert!((1.0..1.01).contains(&at("byte[]", 41)), "{}", scores.0);
    scores.assert_numbers();
    // JMH allocates a few objects itself, fewer per operation the more operations there are.
    let (objects, bytes) = (scores.get("hprof.objects"), scores.get("hprof.bytes"));
    assert!((4.0..4.5).contains(&objects), "{}", scores.0);
    let own = 3.0 * 24.0 + 1000.0;
    assert!((own..own + 50.0).contains(&bytes), "{}", scores.0);
    let graph = "profiles/org.example.Allocating.make-avgt/fork-1.svg";
    assert!(folder.path().join(graph).is_file());
}

on_every_jvm!(objects_an_operation_are_those_of_the_source, and 26);

fn objects_an_operation_are_those_of_the_source(jvm: &Jvm) {
    assert_allocates_as_its_source_says(jvm, "heap=sites");
}

#[test]
fn objects_of_a_whole_fork_are_those_of_the_source() {
    assert_allocates_as_its_source_says(any_jvm(), "heap=sites;mode=external");
}

/// `JMHSample_35_Profilers.Maps` looks up the numbers from 1 to 255; those above 127 have to be boxed. Compared with a
/// compiler that eliminates no allocations.
#[test]
fn jmhs_own_sample_boxes_what_the_cache_has_not() {
    let Some(jars) = class_path() else { return };
    let folder = TempDir::new().expect("a folder");
    let arguments = [
        ["JMHSample_35_Profilers.Maps.test", "-p", "type=hashmap"].as_slice(),
        &[
            "-f", "1", "-wi", "1", "-i", "1", "-w", "100ms", "-r", "100ms",
        ],
        &["-jvmArgsAppend", "-XX:TieredStopAtLevel=1"],
    ]
    .concat();
    let scores = Scores::of(any_jvm(), &jars, folder.path(), "heap=sites", &arguments);
    // They are allocated in Integer.valueOf, at a line that belongs to no benchmark.
    let site = "hprof.objects @ java.lang.Integer org.openjdk.jmh.samples.JMHSample_35_Profilers$Maps.test(\
                JMHSample_35_Profilers.java:114)";
    assert_eq!(scores.get(site), 128.0, "{}", scores.0);
    // The VM may allocate a few objects while it links and compiles the method.
    let (objects, bytes) = (scores.get("hprof.objects"), scores.get("hprof.bytes"));
    assert!((128.0..128.1).contains(&objects), "{}", scores.0);
    let own = 128.0 * 16.0;
    assert!((own..own + 16.0).contains(&bytes), "{}", scores.0);
    // With `mine=` the site is where its code is.
    let options = "heap=sites;mine=java.lang:org.example.*";
    let scores = Scores::of(any_jvm(), &jars, folder.path(), options, &arguments);
    // A JRE may have no names of source files.
    let site = "hprof.objects @ java.lang.Integer java.lang.Integer.valueOf(";
    assert!(scores.0.contains(site), "{}", scores.0);
}
