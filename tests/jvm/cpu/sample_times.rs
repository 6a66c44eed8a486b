//! SAMPLE TIMES: parts of a run, of programs that tell by their own clock what they did when.

use std::process::{Command, Output};

use chrono::{DateTime, Local};
use serde_json::Value;

use crate::harness::{Finished, Jvm, Program, any_jvm, cli, jvms, skip};

/// How long `Phases` is in each of its methods, in milliseconds.
const PHASE: &str = "1500";
/// What is left out at either side of a phase: samples are fetched later than they are taken, and have steps of 250 ms.
const EDGE: i64 = 400;

/// Runs `Phases`; returns the times at which its phases begin and the last one ends.
fn phases(jvm: &Jvm, options: &str) -> (Finished, Vec<i64>) {
    let program = Program::java(jvm, options, &[]).program("samples", "Phases");
    let run = program.arg(PHASE).run_well();
    let times = run.stdout.lines().map(|line| line.parse());
    let times = times.collect::<Result<Vec<i64>, _>>().expect("times");
    assert_eq!(times.len(), 4, "{}", run.stdout);
    (run, times)
}

fn hprof(run: &Finished, arguments: &[&str]) -> Output {
    let mut command = Command::new(cli());
    command.args(arguments).current_dir(run.path("."));
    command.output().expect("hprof")
}

fn top(run: &Finished, arguments: &[&str]) -> Value {
    let arguments = [&["top", "x.hprof", "--json", "-n", "0"], arguments].concat();
    let output = hprof(run, &arguments);
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn local(millis: i64) -> String {
    let time = DateTime::from_timestamp_millis(millis).expect("a time");
    let time = time.with_timezone(&Local);
    time.format("%Y-%m-%dT%H:%M:%S%.3f").to_string()
}

/// Returns the total cost of a method.
fn cost(top: &Value, method: &str) -> u64 {
    let mut rows = top["rows"].as_array().expect("rows").iter();
    let row = rows.find(|row| row["name"] == method);
    row.map_or(0, |row| row["total"].as_u64().expect("a number"))
}

fn parts_of_a_run_have_what_was_done_then(jvm: &Jvm) {
    let options = "cpu=samples,wall=20ms,monitor=y,thread=y,format=b,verbose=n,file=x.hprof";
    let (run, times) = phases(jvm, options);
    let methods = ["Phases.before", "Phases.slow", "Phases.after"];
    for (at, method) in methods.iter().enumerate() {
        let (from, to) = (local(times[at] + EDGE), local(times[at + 1] - EDGE));
        let part = ["--from", &from, "--to", &to];
        for value in ["cpu", "wall"] {
            let top = top(&run, &[&part[..], &["--value", value]].concat());
            for other in methods {
                let cost = cost(&top, other);
                assert_eq!(cost > 0, other == *method, "{value} in {method}: {top}");
            }
        }
        let waits = top(
            &run,
            &[&part[..], &["--value", "lock-wait", "--by", "method"]].concat(),
        );
        let waited = cost(&waits, "Phases.wants") > 0;
        assert_eq!(waited, *method == "Phases.slow", "{waits}");
    }
    // All parts together are the whole.
    let whole = top(&run, &["--value", "cpu"]);
    let parts = ["+0s", "-1h"].map(|from| top(&run, &["--value", "cpu", "--from", from]));
    for part in parts {
        assert_eq!(part["total"], whole["total"]);
        for method in methods {
            assert_eq!(cost(&part, method), cost(&whole, method));
        }
    }
    let part = |at: usize| {
        format!(
            "{}..{}",
            local(times[at] + EDGE),
            local(times[at + 1] - EDGE)
        )
    };
    let diff = [
        "diff",
        "x.hprof",
        "--between",
        &part(0),
        "--and",
        &part(1),
        "--value",
        "cpu",
        "--json",
    ];
    let diff = hprof(&run, &diff);
    let diff: Value = serde_json::from_slice(&diff.stdout).expect("JSON");
    let rows = diff["rows"].as_array().expect("rows");
    let row = |name| rows.iter().find(|row| row["name"] == name).expect("a row");
    assert!(row("Phases.before")["new"].is_null(), "{diff}");
    assert!(row("Phases.slow")["base"].is_null(), "{diff}");
}
on_every_jvm!(parts_of_a_run_have_what_was_done_then, and 26);

/// The JVM's own recording, without the agent.
#[test]
fn a_part_of_a_recording_has_what_was_done_then() {
    let Some(jvm) = jvms().iter().find(|jvm| jvm.home.join("bin/jfr").exists()) else {
        return skip("parts of recordings: no JVM at hand has the tool jfr");
    };
    let record = "-XX:StartFlightRecording=filename=x.jfr,settings=profile";
    let run = Program::bare_java(jvm, &[record]).program("samples", "Phases");
    let run = run.arg(PHASE).run_well();
    // What the JVM says of its recording comes first.
    let times = run.stdout.lines().filter_map(|line| line.parse().ok());
    let times: Vec<i64> = times.collect();
    let methods = ["Phases.before", "Phases.slow", "Phases.after"];
    let (merged, parts) = (
        ["merge", "x.jfr", "-o", "sum.hprof"],
        ["x.jfr", "sum.hprof"],
    );
    assert!(hprof(&run, &merged).status.success());
    let mut found = 0;
    for (at, method) in methods.iter().enumerate() {
        let (from, until) = (local(times[at] + EDGE), local(times[at + 1] - EDGE));
        for file in parts {
            let part = [
                "top", file, "--json", "-n", "0", "--from", &from, "--until", &until,
            ];
            let top = hprof(&run, &part);
            let top: Value = serde_json::from_slice(&top.stdout).expect("JSON");
            for other in methods {
                let cost = cost(&top, other);
                // A busy machine may leave the JVM's sampler no time in one of the parts.
                assert!(other == *method || cost == 0, "{file}: {method}: {top}");
                found += cost;
            }
        }
    }
    assert!(found > 0);
}

#[test]
fn a_part_that_cannot_be_shown_is_refused() {
    let (run, times) = phases(any_jvm(), "cpu=samples,format=b,verbose=n,file=x.hprof");
    let refused = |arguments: &[&str], what: &str| {
        let output = hprof(&run, arguments);
        let said = String::from_utf8(output.stderr).expect("UTF-8");
        assert_eq!(
            (output.status.code(), output.stdout.len()),
            (Some(1), 0),
            "{said}"
        );
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(said.contains(what), "{said}");
    };
    let late = local(times[3] + 600_000);
    refused(&["top", "x.hprof", "--from", &late], "the run was from");
    refused(
        &["top", "x.hprof", "--from", "+1h", "--to", "+2h"],
        "the run was from ",
    );
    let text = hprof(&run, &["text", "x.hprof"]);
    assert!(!String::from_utf8_lossy(&text.stdout).contains("SAMPLE TIMES"));
    std::fs::write(run.path("x.txt"), text.stdout).expect("a file");
    refused(&["top", "x.txt", "--from", "+1s"], "format=b");
    // In an export `--to` is the format; the rest is the same everywhere.
    let part = ["--from", "+1h", "--until", "+2h"];
    for command in [
        &["top"][..],
        &["tree"],
        &["export", "--to", "json"],
        &["export", "--to", "pprof"],
    ] {
        refused(
            &[command, &part, &["x.hprof"]].concat(),
            "the run was from ",
        );
    }
    let tables = [
        "export", "--to", "parquet", "-o", "tables", "--from", "+1s", "x.hprof",
    ];
    refused(&tables, "tables have the sums of the whole run");
}
