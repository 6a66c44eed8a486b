//! `native=malloc`: who allocates native memory and does not free it, on `java-tests/native/Native.java`, whose first comment
//! has the truth.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::harness::{Finished, Jvm, Program, Running, any_jvm, c_library, skip};

/// One sample in so many bytes.
const INTERVAL: f64 = 65_536.0;
const OPTIONS: &str = "native=malloc:64k,cutoff=0,verbose=n,file=x.txt";
/// An estimate is off by more than so many standard errors once in 30,000 runs.
const ERRORS: f64 = 4.0;
const MB: f64 = 1_048_576.0;
/// What the library takes in `leak`.
const LEAKED: f64 = 64e6;

/// Returns the library of the program, with a copy that it loads and unloads.
fn library() -> Option<PathBuf> {
    static COPIED: OnceLock<()> = OnceLock::new();
    let library = c_library("java-tests/native/memory.c")?;
    COPIED.get_or_init(|| {
        let mut other = library.clone().into_os_string();
        other.push(".other");
        fs::copy(&library, other).expect("a copy");
    });
    Some(library)
}

fn run(jvm: &Jvm, options: &str, kinds: &[&str]) -> Option<Finished> {
    let program = Program::java(jvm, options, &[]).program("native", "Native");
    let mut program = program.arg(library()?);
    for kind in kinds {
        program = program.arg(*kind);
    }
    Some(program.run_well())
}

/// Returns the total of a value in the stacks with a function.
fn total(run: &Finished, value: &str, function: &str) -> f64 {
    let top = run.top("x.txt", value);
    let rows = top["rows"].as_array().expect("rows");
    let row = rows.iter().find(|row| row["name"] == function);
    row.map_or(0.0, |row| row["total"].as_f64().expect("a number"))
}

/// Asserts that an estimate of blocks of one size is right.
fn assert_near(estimate: f64, truth: f64, block: f64, what: &str) {
    let share = 1.0 - (-block / INTERVAL).exp();
    let error = (truth * block * (1.0 - share) / share).sqrt();
    println!("{what}: {estimate} for {truth} +- {error}");
    assert!(
        (estimate - truth).abs() <= ERRORS * error + 1.0,
        "{what}: {estimate} for {truth}, whose standard error is {error}"
    );
}

on_every_jvm!(leaks_are_found_and_what_is_freed_is_not_live, and 25);

fn leaks_are_found_and_what_is_freed_is_not_live(jvm: &Jvm) {
    let kinds = [
        "leak", "balance", "grow", "threads", "direct", "unsafe", "inflate",
    ];
    let Some(run) = run(jvm, OPTIONS, &kinds) else {
        return;
    };
    let text = run.read("x.txt");
    assert!(!text.contains("not complete"), "samples were lost");
    let live = |function: &str| total(&run, "native-live-bytes", function);
    assert_near(live("Native.leaks"), LEAKED, 64.0, "leaks");
    assert_near(live("Native.grows"), 64e6, 6_400.0, "grows");
    assert_near(live("memory.so.thread_leaks"), LEAKED, 64.0, "threads");
    // Every one is sampled. The VM adds headers, and allocates a little in the same methods.
    for (method, bytes) in [("Native.first", 40.0 * MB), ("Native.third", 20.0 * MB)] {
        let found = live(method);
        assert!(
            found >= bytes && found <= 1.05 * bytes,
            "{found} in {method}: {text}"
        );
    }
    // As the truth has no exact size, a part of a percent is added to the error's share.
    assert_near(live("Native.second") / 1.01, 10.0 * MB, 8_300.0, "second");
    assert_near(live("Native.fourth") / 1.03, 10.0 * MB, 1_056.0, "fourth");
    // 300 windows of 32 KB.
    assert!(live("Native.inflaters") > 300.0 * 32_768.0 * 0.8, "{text}");
    assert_eq!(live("memory.so.Java_Native_balance"), 0.0);
    let allocated = |function: &str| total(&run, "native-bytes", function);
    assert_near(allocated("Native.leaks"), LEAKED, 64.0, "leaks");
    let balanced = allocated("Native.balances");
    assert!((balanced / 140.8e6 - 1.0).abs() < 0.15, "{balanced}");
}

#[test]
fn what_is_not_freed_for_long_is_old() {
    let Some(run) = run(any_jvm(), OPTIONS, &["leak", "sleep", "grow"]) else {
        return;
    };
    let old = |function: &str| total(&run, "native-old-bytes", function);
    let leaked = total(&run, "native-live-bytes", "Native.leaks");
    assert_eq!(old("Native.leaks"), leaked);
    assert_near(leaked, LEAKED, 64.0, "leaks");
    assert_eq!(old("Native.grows"), 0.0);
    let top = run.top("x.txt", "native-old-bytes");
    // Until the agent has read a library that was just loaded, the library's own frames are missing.
    let first = top["rows"][0]["name"].as_str();
    assert!(
        matches!(first, Some("memory.so.take" | "Native.leak")),
        "{top}"
    );
}

#[test]
fn binary_profiles_have_the_same_and_can_be_merged() {
    let options = "native=malloc:64k,cutoff=0,verbose=n,format=b,file=x.hprof";
    let Some(run) = run(any_jvm(), options, &["leak"]) else {
        return;
    };
    let text = run.checked_text("x.hprof");
    assert!(text.contains("NATIVE SITES BEGIN (live = "), "{text}");
    let live = |file: &str| {
        let top = run.top(file, "native-live-bytes");
        top["total"].as_f64().expect("a number")
    };
    assert_near(live("x.hprof"), LEAKED, 64.0, "all but what the VM takes");
    let path = |name: &str| run.path(name).display().to_string();
    let merge = std::process::Command::new(crate::harness::cli())
        .args(["merge", &path("x.hprof"), &path("x.hprof")])
        .args(["-o", &path("sum.hprof")])
        .output();
    let merge = merge.expect("hprof");
    assert!(merge.status.success(), "{merge:?}");
    assert_eq!(live("sum.hprof"), 2.0 * live("x.hprof"));
}

on_every_jvm!(libraries_and_threads_come_and_go, and 26);

fn libraries_and_threads_come_and_go(jvm: &Jvm) {
    let Some(run) = run(jvm, OPTIONS, &["load", "threads", "load"]) else {
        return;
    };
    assert!(!run.stdout.contains("not loaded"), "{}", run.stdout);
    let live = total(&run, "native-live-bytes", "memory.so.thread_leaks");
    assert_near(live, LEAKED, 64.0, "threads");
}

/// Returns the mappings of libraries, with their protection.
fn mappings(run: &Running) -> Vec<String> {
    let maps = fs::read_to_string(format!("/proc/{}/maps", run.id())).expect("maps");
    let is_of_library = |line: &&str| line.contains(".so") && !line.contains("memory.so");
    let lines = maps.lines().filter(is_of_library);
    lines.map(str::to_owned).collect()
}

on_every_jvm!(sessions_leave_the_process_as_it_was, and 17);

fn sessions_leave_the_process_as_it_was(jvm: &Jvm) {
    let Some(library) = library() else { return };
    let program = Program::bare_java(jvm, &[]).program("native", "Native");
    let run = program.arg(library).arg("churn").arg("balance").start();
    run.wait_for_output("ready");
    let round = |number: usize| {
        let options = format!("native=malloc:1k,verbose=n,file=x{number}.txt");
        run.hprof_well("attach", &[&options]);
        run.hprof_well("stop", &[]);
    };
    // The first one loads the agent, and what it needs.
    round(0);
    let before = mappings(&run);
    for number in 1..ROUNDS {
        round(number);
    }
    assert_eq!(mappings(&run), before);
    fs::write(run.path("end"), "").expect("a file");
    let run = run.wait();
    assert!(run.status.success(), "{}: {}", run.status, run.stderr);
    assert!(!run.stdout.contains("not loaded"), "{}", run.stdout);
    assert!(
        run.read(&format!("x{}.txt", ROUNDS - 1))
            .contains("NATIVE SITES END")
    );
}

const ROUNDS: usize = 20;

/// Allocators that take the place of the system's: the file that is preloaded, and where systems have it.
const ALLOCATORS: [&str; 2] = ["libjemalloc.so.2", "libtcmalloc_minimal.so.4"];
const LIBRARY_FOLDERS: [&str; 4] = [
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
];

on_every_jvm!(other_allocators_are_seen_as_what_they_are, and 28);

fn other_allocators_are_seen_as_what_they_are(jvm: &Jvm) {
    for allocator in ALLOCATORS {
        let paths = LIBRARY_FOLDERS.map(|folder| format!("{folder}/{allocator}"));
        let Some(path) = paths.iter().find(|path| Path::new(path).exists()) else {
            skip(&format!(
                "native memory of {allocator}: it is not installed"
            ));
            continue;
        };
        let Some(library) = library() else { return };
        let mut program = Program::java(jvm, OPTIONS, &[])
            .program("native", "Native")
            .env("LD_PRELOAD", path)
            .arg(library);
        for kind in ["leak", "balance", "threads", "grow", "direct", "load"] {
            program = program.arg(kind);
        }
        let run = program.run_well();
        let text = run.read("x.txt");
        let stem = allocator.split(".so").next().unwrap_or(allocator);
        let note = format!("(NATIVE SITES are those of malloc in {stem}.so.");
        assert!(text.contains(&note), "{allocator}: {text}");
        let live = |function: &str| total(&run, "native-live-bytes", function);
        // The pages that an allocator takes for its blocks do not count again.
        assert_near(live("Native.leaks"), LEAKED, 64.0, allocator);
        assert_near(live("memory.so.thread_leaks"), LEAKED, 64.0, allocator);
        assert_near(live("Native.grows"), 64e6, 6_400.0, allocator);
        let buffers = live("Native.first");
        assert!(
            (40.0 * MB..=42.0 * MB).contains(&buffers),
            "{allocator}: {buffers}"
        );
        assert_eq!(live("memory.so.Java_Native_balance"), 0.0, "{allocator}");
    }
}
