//! Recordings of the JDK Flight Recorder: exports of real profiles, read by the JDK's own readers and by JDK Mission
//! Control's.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::harness::{Jvm, Program, any_jvm, cli, jvms, reader};

type Mode = (
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
);

/// Profiles of every mode: the options, the file, and the values with the field that has each.
const MODES: [Mode; 7] = [
    (
        "cpu=samples,interval=1,format=b",
        "samples.hprof",
        &[
            ("cpu", "hprof.CpuSamples.samples"),
            ("cpu", "count jdk.ExecutionSample"),
        ],
    ),
    (
        "heap=sites,depth=3,format=b",
        "sites.hprof",
        &[
            ("alloc-bytes", "hprof.AllocationSite.allocatedBytes"),
            ("alloc-objects", "hprof.AllocationSite.allocatedObjects"),
            ("live-bytes", "hprof.AllocationSite.liveBytes"),
            ("live-objects", "hprof.AllocationSite.liveObjects"),
            ("alloc-bytes", "jdk.ObjectAllocationSample.weight"),
        ],
    ),
    (
        "heap=sites,lifetimes=y,format=b",
        "lifetimes.hprof",
        &[
            ("temporary-bytes", "hprof.SiteLifetimes.temporaryBytes"),
            ("survived-objects", "hprof.SiteLifetimes.survivedObjects"),
            ("peak-bytes", "hprof.SiteLifetimes.peakBytes"),
        ],
    ),
    (
        "cpu=times",
        "times.txt",
        &[
            ("time", "hprof.CallTime.ownTime"),
            ("calls", "hprof.CallTime.calls"),
        ],
    ),
    (
        "cpu=old",
        "old.txt",
        &[
            ("inclusive-time", "hprof.InclusiveCallTime.inclusiveTime"),
            ("calls", "hprof.InclusiveCallTime.calls"),
        ],
    ),
    (
        "monitor=y,thread=y",
        "monitor.txt",
        &[
            ("contention", "hprof.MonitorContention.waitTime"),
            ("contentions", "hprof.MonitorContention.waits"),
        ],
    ),
    (
        "wall=y,format=b",
        "wall.hprof",
        &[
            ("wall", "hprof.WallTime.elapsedTime"),
            ("blocked", "hprof.WallTime.blockedTime"),
        ],
    ),
];

/// Profiles `Shop` in each mode.
fn profiles(folder: &Path) -> Vec<PathBuf> {
    let profile = |(options, name, _): &Mode| {
        let options = format!("{options},cutoff=0,file={name}");
        let run = Program::java(any_jvm(), &options, &[])
            .program("tables", "Shop")
            .arg("1")
            .run_well();
        let path = folder.join(name);
        std::fs::copy(run.path(name), &path).expect("the profile");
        path
    };
    MODES.iter().map(profile).collect()
}

fn hprof(arguments: &[&str], file: &Path) -> String {
    let output = Command::new(cli()).args(arguments).arg(file).output();
    let output = output.expect("hprof");
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Returns the total of a value, with the time of threads that wait for work.
fn total(file: &Path, value: &str) -> u64 {
    let top = hprof(&["top", "--json", "--idle", "--value", value], file);
    let top: Value = serde_json::from_str(&top).expect("JSON");
    top["total"].as_u64().expect("a total")
}

fn export(profile: &Path) -> PathBuf {
    let recording = profile.with_extension("jfr");
    let path = recording.to_str().expect("UTF-8");
    hprof(&["export", "--to", "jfr", "-o", path], profile);
    recording
}

/// Runs a tool that must succeed and say nothing on stderr; returns what it prints.
fn quiet(command: &mut Command) -> String {
    let output = command.output().expect("it starts");
    let fault = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && fault.is_empty(),
        "{command:?}: {fault}"
    );
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Returns the JVMs with the tool `jfr`.
fn recorders() -> Vec<&'static Jvm> {
    let all = jvms()
        .iter()
        .filter(|jvm| jvm.home.join("bin/jfr").exists());
    all.collect()
}

fn program(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/readers")
        .join(name)
}

/// Runs a program of `tests/readers`, and returns its lines: `text number`.
fn read(jvm: &Jvm, name: &str, jars: &str, recording: &Path) -> BTreeMap<String, u64> {
    let mut java = Command::new(jvm.home.join("bin/java"));
    let lines = quiet(java.args(["-cp", jars]).arg(program(name)).arg(recording));
    let lines = lines.lines().filter_map(|line| {
        let (what, number) = line.rsplit_once(' ')?;
        Some((what.to_owned(), number.parse().ok()?))
    });
    lines.collect()
}

/// Returns the number of a count, or the sum of a field, with or without a unit.
fn found(read: &BTreeMap<String, u64>, wanted: &str) -> Option<u64> {
    let sum = format!("sum {wanted}");
    let with_unit = format!("{sum} in ");
    let mut all = read.iter();
    let found =
        all.find(|(what, _)| **what == wanted || **what == sum || what.starts_with(&with_unit));
    found.map(|(_, &number)| number)
}

#[test]
fn the_jdk_reads_the_exports_of_every_mode() {
    let folder = TempDir::new().expect("a folder");
    let profiles = profiles(folder.path());
    let features = || recorders().into_iter().map(|jvm| jvm.feature);
    let oldest = features().min().unwrap_or_default();
    let newest = features().max().unwrap_or_default();
    for (profile, (_, name, fields)) in profiles.iter().zip(MODES) {
        let recording = export(profile);
        // What is between them has no format of its own.
        let recorders = recorders();
        for jvm in recorders
            .iter()
            .filter(|jvm| jvm.has_compiler() || [oldest, newest].contains(&jvm.feature))
        {
            let jfr = || Command::new(jvm.home.join("bin/jfr"));
            let (own, _) = fields[0].1.rsplit_once('.').expect("a type and a field");
            let summary = quiet(jfr().arg("summary").arg(&recording));
            assert!(summary.contains(own), "{name}: {summary}");
            let printed = quiet(jfr().arg("print").arg(&recording));
            assert!(printed.contains(&format!("{own} {{")), "{name}");
            // Each view takes a VM of its own.
            if jvm.feature >= 21 && jvm.feature == newest {
                let view = quiet(jfr().args(["view", own]).arg(&recording));
                assert!(view.contains("Stack Trace"), "{name}: {view}");
                for view in ["hot-methods", "allocation-by-class", "jvm-information"] {
                    quiet(jfr().arg("view").arg(view).arg(&recording));
                }
            }
            if !jvm.has_compiler() {
                continue;
            }
            let read = read(jvm, "ReadJfr.java", ".", &recording);
            for (value, field) in fields {
                let expected = total(profile, value);
                assert_eq!(found(&read, field), Some(expected), "{name}: {field}");
                // A machine may be too slow for a thread to wait.
                let may_be_none = value.starts_with("contention") || *value == "blocked";
                assert!(expected > 0 || may_be_none, "{name}: {value}");
            }
            // Three frames are too few for some stacks.
            let mut cut = read.keys().filter(|what| what.ends_with("truncated"));
            assert!(name != "sites.hprof" || cut.next().is_some());
        }
    }
}

#[test]
fn mission_control_applies_its_rules_to_exports() {
    let Some(folder_of_jars) = reader("HPROF_JMC") else {
        return;
    };
    let jars = format!("{}/*", folder_of_jars.display());
    let mut jdks = jvms()
        .iter()
        .filter(|jvm| jvm.feature >= 17 && jvm.has_compiler());
    let Some(jvm) = jdks.next() else {
        return crate::harness::skip(
            "reading exports with Mission Control's parser: it needs a JDK 17",
        );
    };
    let folder = TempDir::new().expect("a folder");
    let profiles = profiles(folder.path());
    for (profile, (_, name, fields)) in profiles.iter().zip(MODES) {
        let read = read(jvm, "JmcRules.java", &jars, &export(profile));
        assert!(found(&read, "rules") > Some(0), "{name}: {read:?}");
        let (own, _) = fields[0].1.rsplit_once('.').expect("a type and a field");
        let events = format!("events {own} ");
        let frames = read.iter().find(|(what, _)| what.starts_with(&events));
        assert!(
            frames.is_some_and(|(_, &frames)| frames > 0),
            "{name}: {read:?}"
        );
        if name == "sites.hprof" {
            assert_eq!(found(&read, "weight"), Some(total(profile, "alloc-bytes")));
        }
    }
}

/// The events that are read, as `jfr print` takes them.
const EVENTS: &str = "jdk.ExecutionSample,jdk.CPUTimeSample,jdk.NativeMethodSample,jdk.ObjectAllocation*,\
    jdk.JavaMonitorEnter,jdk.JavaMonitorWait,jdk.ThreadPark,jdk.ThreadSleep,profiler.WallClockSample";

/// Returns of each type of events in a recording the number, `jdk.ThreadPark`, and the sums, `jdk.ThreadPark.duration`, as
/// the newest JDK prints them. Times are in nanoseconds.
fn printed(recording: &Path) -> Option<BTreeMap<String, u64>> {
    let Some(jvm) = recorders().into_iter().next_back() else {
        crate::harness::skip("the sums of recordings: no JVM has jfr");
        return None;
    };
    let mut jfr = Command::new(jvm.home.join("bin/jfr"));
    let json = quiet(
        jfr.args(["print", "--json", "--stack-depth", "1", "--events", EVENTS])
            .arg(recording),
    );
    let json: Value = serde_json::from_str(&json).expect("JSON");
    let mut sums = BTreeMap::new();
    for event in json["recording"]["events"].as_array().expect("events") {
        let name = event["type"].as_str().expect("a type");
        *sums.entry(name.to_owned()).or_default() += 1;
        for field in [
            "weight",
            "tlabSize",
            "allocationSize",
            "samples",
            "duration",
        ] {
            let value = &event["values"][field];
            let value = value.as_u64().or_else(|| value.as_str().map(iso_nanos));
            if let Some(value) = value {
                *sums.entry(format!("{name}.{field}")).or_default() += value;
            }
        }
    }
    Some(sums)
}

/// Returns the nanoseconds of a duration such as `PT1M0.124052424S`.
fn iso_nanos(text: &str) -> u64 {
    let text = text.strip_prefix("PT").expect("a duration");
    let (minutes, seconds) = text.split_once('M').unwrap_or(("0", text));
    let (seconds, fraction) = seconds
        .trim_end_matches('S')
        .split_once('.')
        .unwrap_or((seconds.trim_end_matches('S'), ""));
    let number = |text: &str| text.parse::<u64>().unwrap_or(0);
    (number(minutes) * 60 + number(seconds)) * 1_000_000_000 + number(&format!("{fraction:0<9}"))
}

/// Runs `Recorded` without the agent; returns the recording that it makes, in a folder of its own.
fn record(jvm: &Jvm, options: &[&str]) -> (TempDir, PathBuf) {
    let run = Program::bare_java(jvm, options)
        .program("jfr", "Recorded")
        .run();
    assert!(run.status.success(), "{}", run.stderr);
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("run.jfr");
    std::fs::copy(run.path("run.jfr"), &path).expect("the recording");
    (folder, path)
}

/// Compares a value with what the JDK prints. A conversion of ticks may differ by a nanosecond for each event.
fn assert_total(recording: &Path, value: &str, expected: u64, events: u64) {
    let found = total(recording, value);
    assert!(
        found.abs_diff(expected) <= events,
        "{value}: {found} instead of {expected}"
    );
}

on_every_jvm!(recordings_are_read_with_the_sums_that_the_jdk_prints);

fn recordings_are_read_with_the_sums_that_the_jdk_prints(jvm: &Jvm) {
    let start = "-XX:StartFlightRecording=filename=run.jfr,settings=profile";
    let (_folder, recording) = record(jvm, &[start]);
    let Some(sums) = printed(&recording) else {
        return;
    };
    let sum = |name: &str| sums.get(name).copied().unwrap_or(0);
    assert_total(&recording, "cpu", sum("jdk.ExecutionSample"), 0);
    assert!(sum("jdk.ExecutionSample") > 0);
    let buffers = sum("jdk.ObjectAllocationInNewTLAB.tlabSize")
        + sum("jdk.ObjectAllocationOutsideTLAB.allocationSize");
    let allocated = match buffers {
        0 => sum("jdk.ObjectAllocationSample.weight"),
        buffers => buffers,
    };
    // 1 million arrays of 1000 bytes.
    assert!(allocated > 500_000_000, "{sums:?}");
    assert_total(&recording, "alloc-bytes", allocated, 0);
    let enters = sum("jdk.JavaMonitorEnter");
    assert!(enters > 0, "{sums:?}");
    assert_total(&recording, "contentions", enters, 0);
    let blocked = sum("jdk.JavaMonitorEnter.duration");
    assert_total(&recording, "contention", blocked, enters);
    let waits = ["jdk.ThreadPark", "jdk.ThreadSleep", "jdk.JavaMonitorWait"];
    let waited: u64 = waits
        .map(|name| sum(&format!("{name}.duration")))
        .iter()
        .sum();
    assert!(waited > 500_000_000, "{sums:?}");
    let number: u64 = waits.map(sum).iter().sum();
    // `settings=profile` samples threads in native code every 20 ms, 10 ms on older JDKs.
    let native = sum("jdk.NativeMethodSample");
    let found = total(&recording, "wall");
    let rest = found.abs_diff(waited + blocked);
    let of_native = [10_000_000, 20_000_000].map(|period| native * period);
    let is_right = |nanos: &u64| rest.abs_diff(*nanos) <= number + enters;
    assert!(of_native.iter().any(is_right), "{found}: {sums:?}");

    let names = |value: &str, by: &str| hprof(&["top", "--by", by, "--value", value], &recording);
    assert!(names("cpu", "method").contains("Recorded.spin"));
    assert!(names("cpu", "thread").contains("main"));
    assert!(
        names("cpu", "line").contains("Recorded.spin(line "),
        "{}",
        names("cpu", "line")
    );
    assert!(names("alloc-bytes", "type").contains("byte[]"));
    assert!(names("contention", "type").contains("Recorded$Owned"));
    assert!(names("wall", "method").contains("java.lang.Thread.<parked>"));
    for format in ["pprof", "collapsed", "jfr"] {
        let output = recording.with_file_name(format!("exported.{format}"));
        let path = output.to_str().expect("UTF-8");
        hprof(&["export", "--to", format, "-o", path], &recording);
    }
    let again = recording.with_file_name("exported.jfr");
    assert_total(&again, "wall", found, 0);
}

#[test]
fn cpu_time_samples_count_instead_of_execution_samples() {
    let Some(jvm) = jvms().iter().find(|jvm| jvm.feature >= 25) else {
        return crate::harness::skip("recordings with CPU time samples: they need a JVM 25");
    };
    let start = "-XX:StartFlightRecording=filename=run.jfr,settings=profile,jdk.CPUTimeSample#enabled=true,\
        jdk.CPUTimeSample#throttle=10ms";
    let (_folder, recording) = record(jvm, &[start]);
    if let Some(sums) = printed(&recording) {
        assert!(sums["jdk.CPUTimeSample"] > 0);
        assert_total(&recording, "cpu", sums["jdk.CPUTimeSample"], 0);
    }
    let report = hprof(&["export", "--to", "json"], &recording);
    assert!(report.contains("jdk.ExecutionSample is left out"));
}

#[test]
fn recordings_of_async_profiler_are_read_with_the_sums_that_the_jdk_prints() {
    let Some(library) = reader("HPROF_ASYNC_PROFILER") else {
        return;
    };
    let jvm = any_jvm();
    let modes = [
        (
            "event=itimer,interval=10ms",
            "cpu",
            "jdk.ExecutionSample",
            1,
        ),
        (
            "event=itimer,wall=20ms",
            "wall",
            "profiler.WallClockSample.samples",
            20_000_000,
        ),
        (
            "event=alloc,alloc=100k",
            "alloc-bytes",
            "jdk.ObjectAllocationInNewTLAB.tlabSize",
            1,
        ),
        ("event=lock", "contentions", "jdk.JavaMonitorEnter", 1),
    ];
    for (options, value, field, unit) in modes {
        let path = library.display();
        let agent = format!("-agentpath:{path}=start,{options},file=run.jfr");
        let (_folder, recording) = record(jvm, &[&agent]);
        let Some(sums) = printed(&recording) else {
            return;
        };
        let outside = match value {
            "alloc-bytes" => sums
                .get("jdk.ObjectAllocationOutsideTLAB.allocationSize")
                .copied(),
            _ => None,
        };
        let expected = sums.get(field).map_or(0, |sum| sum * unit) + outside.unwrap_or(0);
        assert!(expected > 0, "{options}: {sums:?}");
        assert_total(&recording, value, expected, 0);
    }
}
