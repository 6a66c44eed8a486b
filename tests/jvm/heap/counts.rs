//! The counts of a program, `io.hprof.Hprof`, and the limits of tests, `io.hprof.junit`: both from their sources, with the
//! library under test.

use std::env::consts::ARCH;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::harness::{Finished, Jvm, Program, agent, any_jvm, cli, compiles, javac, reader};
use crate::profile::Profile;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Compiles sources, and the classes of the jar that they use, for a version of Java.
fn compile(release: &str, class_path: &str, folder: &Path, sources: &[PathBuf]) {
    let mut javac = Command::new(javac());
    javac.args(["-nowarn", "-Xlint:-options", "-g", "--release", release]);
    javac.args(["-proc:none", "-cp", class_path, "-d"]);
    javac.arg(folder).arg("-sourcepath");
    javac.arg(root().join("java/src/main/java")).args(sources);
    assert!(javac.status().expect("javac").success());
}

fn sources(folder: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join("java-tests/counts").join(folder));
    let entries = entries.expect("sources");
    entries
        .map(|entry| entry.expect("a source").path())
        .collect()
}

/// Returns an empty folder for classes, with the library where the jar has it.
fn new_folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("counts")
        .join(name);
    let _ = fs::remove_dir_all(&folder);
    let native = folder.join(format!("native/linux-{ARCH}-gnu"));
    fs::create_dir_all(&native).expect("a folder");
    fs::copy(agent(), native.join("libhprof.so")).expect("the library");
    folder
}

/// The programs that count.
fn programs() -> &'static Path {
    static PROGRAMS: OnceLock<PathBuf> = OnceLock::new();
    PROGRAMS.get_or_init(|| {
        let folder = new_folder("api");
        let is_new = |path: &PathBuf| path.to_string_lossy().ends_with("21.java");
        let (new, old): (Vec<_>, Vec<_>) = sources("api").into_iter().partition(is_new);
        compile("11", "", &folder, &old);
        if compiles(21) {
            compile("21", &folder.display().to_string(), &folder, &new);
        }
        folder
    })
}

fn program(jvm: &Jvm, class_path: &Path, class: &str) -> Program {
    // The library is extracted into the folder of the run.
    Program::bare_java(jvm, &["-Dhprof.folder=library"])
        .arg("-cp")
        .arg(class_path)
        .arg(class)
}

on_every_jvm!(counts_are_those_of_the_source, and 28);

fn counts_are_those_of_the_source(jvm: &Jvm) {
    let run = program(jvm, programs(), "Counted").run_well();
    assert_eq!(run.stdout, "right\n", "{}", run.stderr);
    assert_eq!(own_words(&run), "");
}

/// Returns stderr without the VM's warnings.
fn own_words(run: &Finished) -> String {
    let lines = run.stderr.lines();
    let own = lines.filter(|line| !line.starts_with("WARNING: ") && !line.is_empty());
    own.collect()
}

on_every_jvm!(virtual_threads_are_counted_with_all_others, and 25);

fn virtual_threads_are_counted_with_all_others(jvm: &Jvm) {
    if jvm.feature < 21 || !compiles(21) {
        return;
    }
    let run = program(jvm, programs(), "Virtual21").run_well();
    assert_eq!(
        run.stdout,
        "a virtual thread cannot be counted alone; count all threads\n10 things\n"
    );
}

#[test]
fn a_profile_that_runs_is_counted_with_if_it_is_exact() {
    let beside = |options: &str| {
        let options = format!("{options},file=x.txt,verbose=n");
        let run = program(any_jvm(), programs(), "Beside")
            .arg(options)
            .run_well();
        run.stdout
    };
    let alone = "alone 0\n";
    assert_eq!(beside("heap=sites"), format!("counted 0\n{alone}"));
    let none = "refused: the profile of this VM has no heap=sites, so it counts no allocations\n";
    assert_eq!(beside("cpu=samples"), format!("{none}{alone}"));
    let estimate = beside("heap=sites,sample=512k");
    assert!(estimate.starts_with("refused: counts would not be exact: "));
    assert!(estimate.ends_with(alone), "{estimate}");
}

/// The tests that have limits, and JUnit; `None` without JUnit.
fn tests() -> Option<&'static OsString> {
    static TESTS: OnceLock<Option<OsString>> = OnceLock::new();
    let made = TESTS.get_or_init(|| {
        let jars = reader("HPROF_JUNIT")?;
        let jars = format!("{}/*", jars.display());
        let folder = new_folder("junit");
        let mut all = sources("project/src/main/java/com/acme");
        all.extend(sources("project/src/test/java/com/acme"));
        all.extend(sources("runner"));
        compile("11", &jars, &folder, &all);
        Some(format!("{}:{jars}", folder.display()).into())
    });
    made.as_ref()
}

/// Runs the tests of a class, with JUnit's parameters; `None` without JUnit.
fn suite(jvm: &Jvm, class: &str, times: u32, parameters: &[&str]) -> Option<Finished> {
    let tests = tests()?;
    let mut suite = program(jvm, Path::new(tests), "Suite")
        .arg(format!("com.acme.{class}"))
        .arg(times.to_string())
        .arg("hprof.limits=green");
    for parameter in parameters {
        suite = suite.arg(*parameter);
    }
    Some(suite.run_well())
}

const PARALLEL: [&str; 2] = [
    "junit.jupiter.execution.parallel.enabled=true",
    "junit.jupiter.execution.parallel.mode.default=concurrent",
];

on_every_jvm!(tests_within_their_limits_pass_every_time, and 26);

fn tests_within_their_limits_pass_every_time(jvm: &Jvm) {
    let Some(run) = suite(jvm, "GreenTest", 20, &PARALLEL) else {
        return;
    };
    assert!(
        run.stdout.ends_with("220 passed, 0 failed\n"),
        "{}{}",
        run.stdout,
        run.stderr
    );
}

on_every_jvm!(tests_beyond_their_limits_fail_and_tell_the_sites, and 17);

fn tests_beyond_their_limits_fail_and_tell_the_sites(jvm: &Jvm) {
    let Some(run) = suite(jvm, "RedTest", 1, &[]) else {
        return;
    };
    let said = &run.stdout;
    assert!(said.ends_with("0 passed, 8 failed\n"), "{said}");
    let part = |name: &str| {
        let start = format!("FAILED {name}(): ");
        let (_, rest) = said.split_once(&start).expect("it failed");
        rest.split("FAILED ").next().expect("a text").to_owned()
    };
    let boxes = part("boxes");
    assert!(boxes.starts_with("com.acme.RedTest.boxes allocated 1"));
    assert!(
        boxes.contains("allowed are at most 0 objects a call"),
        "{boxes}"
    );
    let integers = "       3 objects         48 bytes  java.lang.Integer\n";
    assert!(boxes.contains(integers), "{boxes}");
    assert!(boxes.contains("\tat com.acme.Parser.wastefulSum(Parser.java:"));
    assert!(boxes.contains("\tat com.acme.RedTest.boxes(RedTest.java:"));
    assert!(!boxes.contains("\tat org.junit."), "{boxes}");
    assert!(boxes.contains("There is no earlier run within the limit"));
    assert!(part("bytes").contains("allowed are at most 1024 bytes a call"));
    assert!(part("firstCall").contains("allowed are at most 0 objects\n"));
    assert!(part("ofAnotherThread").contains(" int[]\n"));
    let grows = part("grows");
    assert!(grows.contains("leaves more objects behind in each of 5 rounds"));
    // One element after a header of 16 bytes, or of 12: compact headers are the default from 27 on.
    let bytes = if jvm.feature >= 27 { 5 * 16 } else { 5 * 24 };
    let arrays =
        format!("       5 objects {bytes:>10} bytes  int[]\n\tat com.acme.Parser.remember(");
    assert!(grows.contains(&arrays), "{grows}");
    let once = part("onceAlone");
    assert!(once.contains("note: hprof calls com.acme.RedTest.onceAlone several times"));
    assert!(part("noLimit").contains("@Allocates has no limit"));
    assert!(part("noUnit").contains("must be a number of B, KB, MB or GB"));
}

#[test]
fn a_failure_shows_what_is_new_since_the_last_green_run() {
    let Some(run) = suite(any_jvm(), "ChangedTest", 2, &[]) else {
        return;
    };
    let said = &run.stdout;
    assert!(said.ends_with("1 passed, 1 failed\n"), "{said}");
    assert!(said.contains("Compared with the last run within the limit, "));
    assert!(said.contains("+2 objects\n       3 objects         72 bytes  int[]\n"));
    assert!(said.contains("NEW\n       1 objects         24 bytes  long[]\n"));
    let green = run.read("green/com.acme.ChangedTest.changes.txt");
    let profile = Profile::parse(&green);
    assert_eq!(profile.one_sites().rows.len(), 1, "{green}");
    let top = Command::new(cli())
        .arg("top")
        .arg(run.path("green/com.acme.ChangedTest.changes.txt"))
        .output()
        .expect("hprof");
    let top = String::from_utf8_lossy(&top.stdout).into_owned();
    assert!(top.contains("com.acme.ChangedTest.changes"), "{top}");
}

on_every_jvm!(a_build_with_maven_and_jacoco_passes_and_fails: jdk_27 on_jvm 27; left out jdk_17 on_jvm 17);

/// Maven builds the project, offline, and Surefire tests it in this JVM, with JaCoCo in it.
fn a_build_with_maven_and_jacoco_passes_and_fails(jvm: &Jvm) {
    let Some(repository) = reader("HPROF_MAVEN") else {
        return;
    };
    if tests().is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mut copy = Command::new("cp");
    let copied = copy
        .arg("-R")
        .arg(root().join("java-tests/counts/project"))
        .arg(folder.path())
        .status();
    assert!(copied.expect("cp").success());
    let jar = jar_for_tests(folder.path());
    let test = |class: &str| {
        let mut mvn = Command::new("mvn");
        mvn.current_dir(folder.path().join("project"))
            .env("JAVA_HOME", javac().ancestors().nth(2).expect("bin/javac"))
            .args(["-o", "-B", "-Dstyle.color=never", "test"])
            .arg(format!("-Dmaven.repo.local={}", repository.display()))
            .arg(format!("-Dhprof.jar={}", jar.display()))
            .arg(format!("-Djvm={}", jvm.home.join("bin/java").display()))
            .arg(format!("-Dtest={class}"));
        let output = mvn.output().expect("mvn");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        (output.status.success(), said)
    };
    let (passes, said) = test("GreenTest");
    assert!(
        passes && said.contains("Tests run: 11, Failures: 0"),
        "{said}"
    );
    let target = folder.path().join("project/target");
    assert!(target.join("jacoco.exec").is_file(), "JaCoCo was there");
    let green = target.join("hprof/com.acme.GreenTest.little.txt");
    assert!(green.is_file(), "{said}");
    let (passes, said) = test("RedTest");
    assert!(
        !passes && said.contains("RedTest.boxes allocated 1"),
        "{said}"
    );
}

/// Packs the classes and the library under test as a jar.
fn jar_for_tests(folder: &Path) -> PathBuf {
    let jar = folder.join("hprof.jar");
    let mut pack = Command::new(javac().with_file_name("jar"));
    pack.arg("--create").arg("--file").arg(&jar).arg("-C");
    pack.arg(Path::new(env!("CARGO_TARGET_TMPDIR")).join("counts/junit"));
    assert!(pack.args(["."]).status().expect("jar").success());
    jar
}

on_every_jvm!(counts_are_those_of_jmh, and 25);

/// JMH divides what the VM says about a thread by the number of operations, so it includes a little of JMH's own.
fn counts_are_those_of_jmh(jvm: &Jvm) {
    let Some(jars) = reader("HPROF_JMH") else {
        return;
    };
    let class_path = jmh_benchmark(&jars);
    let counted = program(jvm, Path::new(&class_path), "org.example.Compared").run_well();
    let counted = counted.printed("bytes");
    let run = Program::bare_java(jvm, &["-Djmh.ignoreLock=true", "-cp"])
        .arg(&class_path)
        .args(["org.openjdk.jmh.Main", "Compared", "-prof", "gc"])
        .args(["-rf", "csv", "-rff", "results.csv"])
        .run_well();
    let results = run.read("results.csv");
    let row = results
        .lines()
        .find(|row| row.contains("gc.alloc.rate.norm\""))
        .unwrap_or_else(|| panic!("no rate in {results}"));
    let score = row.split(',').nth(4).and_then(|score| score.parse().ok());
    let measured: f64 = score.expect("a score");
    assert!(
        (measured - counted).abs() <= 0.01 * counted,
        "counted {counted}, JMH {measured}"
    );
}

fn jmh_benchmark(jars: &Path) -> OsString {
    static COMPILED: OnceLock<OsString> = OnceLock::new();
    let compile = || {
        let folder = new_folder("jmh");
        let jars = format!("{}/*", jars.display());
        let mut javac = Command::new(javac());
        javac.args(["-nowarn", "--release", "11", "-cp", &jars, "-processor"]);
        javac.arg("org.openjdk.jmh.generators.BenchmarkProcessor");
        javac.arg("-d").arg(&folder).arg("-sourcepath");
        javac.arg(root().join("java/src/main/java"));
        javac.args(sources("jmh"));
        assert!(javac.status().expect("javac").success());
        format!("{}:{jars}", folder.display()).into()
    };
    COMPILED.get_or_init(compile).clone()
}
