//! Profiles leave nothing behind in a VM that continues.

use std::fs;

use super::{end, go, steps};
use crate::harness::{Jvm, Running};

const MEGABYTE: i64 = 1 << 20;

/// The kinds of native memory that an agent affects: its environment and tags, references, its code's structures,
/// threads.
const KINDS: [&str; 5] = [
    "Internal",
    "Other",
    "Serviceability",
    "Object Monitors",
    "Thread",
];

/// Returns the memory that the VM has committed for each of `KINDS` it has, in bytes.
fn native_memory(run: &Running) -> Vec<(&'static str, i64)> {
    let said = run.jcmd("VM.native_memory summary scale=KB");
    let committed = |kind: &str| {
        let line = said.lines().find(|line| {
            let name = line.trim_start_matches('-').trim_start();
            name.strip_prefix(kind)
                .is_some_and(|rest| rest.trim_start().starts_with("(reserved="))
        })?;
        let (_, number) = line.split_once("committed=")?;
        let digits = number
            .split(|letter: char| !letter.is_ascii_digit())
            .next()?;
        Some(digits.parse::<i64>().expect("a number") * 1024)
    };
    let kinds = KINDS
        .iter()
        .filter_map(|&kind| Some((kind, committed(kind)?)));
    kinds.collect()
}

/// Returns the process's resident memory, in bytes.
fn resident(run: &Running) -> i64 {
    let status = fs::read_to_string(format!("/proc/{}/status", run.id())).expect("its status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let digits = line.and_then(|line| line.trim().strip_suffix(" kB"));
    digits
        .and_then(|digits| digits.trim().parse::<i64>().ok())
        .expect("a number")
        * 1024
}

/// Returns the names of its threads, as the system knows them.
fn threads(run: &Running) -> Vec<String> {
    let tasks = fs::read_dir(format!("/proc/{}/task", run.id())).expect("its threads");
    let names = tasks.filter_map(|task| fs::read_to_string(task.ok()?.path().join("comm")).ok());
    names.map(|name| name.trim().to_owned()).collect()
}

on_every_jvm!(ten_rounds_leave_nothing, and 17);

fn ten_rounds_leave_nothing(jvm: &Jvm) {
    let step = "mixed:50000";
    let heap = [
        "-Xms96m",
        "-Xmx96m",
        "-XX:+AlwaysPreTouch",
        "-XX:NativeMemoryTracking=summary",
    ];
    let run = steps(jvm, &heap, &[step; 10]);
    let before = threads(&run);
    let mut early = None;
    for round in 1..=10 {
        run.hprof_well(
            "attach",
            &["heap=sites,cpu=samples,verbose=n,force=y,file=x.txt"],
        );
        assert!(threads(&run).iter().any(|name| name.starts_with("HPROF")));
        go(&run, round);
        run.hprof_well("stop", &[]);
        let left: Vec<String> = threads(&run);
        assert!(
            !left.iter().any(|name| name.starts_with("HPROF")),
            "{}: {left:?}",
            jvm.feature
        );
        if round == 4 {
            early = Some((native_memory(&run), resident(&run)));
        }
    }
    let printed = run.jcmd("Thread.print");
    assert!(
        printed.contains("\"main\"") && !printed.contains("HPROF"),
        "{printed}"
    );
    let (early, early_resident) = early.expect("the fourth round");
    let (late, late_resident) = (native_memory(&run), resident(&run));
    println!(
        "{}: {early:?} {early_resident} -> {late:?} {late_resident}; threads {} -> {}",
        jvm.feature,
        before.len(),
        threads(&run).len()
    );
    assert!(early.len() >= 2, "{early:?}");
    for (early, late) in early.iter().zip(&late) {
        assert!(
            late.1 - early.1 < MEGABYTE,
            "{}: {early:?} -> {late:?}",
            jvm.feature
        );
    }
    // A round remembers 100,000 objects for a while: 1.6 MB here, and the same in the VM.
    assert!(
        late_resident - early_resident < 16 * MEGABYTE,
        "{}",
        jvm.feature
    );
    end(run);
}
