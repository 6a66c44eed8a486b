//! `monitor=y,format=b`: the same sums as in text, in notes that other readers pass over.

use std::process::Command;

use super::program;
use crate::harness::{Finished, Jvm, any_jvm, cli};

fn hprof(run: &Finished, args: &[&str]) -> String {
    let mut command = Command::new(cli());
    let output = command.args(args).current_dir(run.path("")).output();
    let output = output.expect("hprof");
    assert!(output.status.success(), "{args:?}: {output:?}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Runs Held into `x.hprof`, and prints that as text into `x.txt`.
fn held(jvm: &Jvm, options: &str) -> Finished {
    let options = format!("monitor=y,cutoff=0,verbose=n,format=b,file=x.hprof{options}");
    let run = program(jvm, &options, &[], "Held").arg("10").run_well();
    hprof(&run, &["check", "x.hprof"]);
    hprof(&run, &["text", "x.hprof", "-o", "x.txt"]);
    run
}

/// Returns the total of a value, and its rows: their names and values.
fn top(run: &Finished, file: &str, args: &[&str]) -> (u64, Vec<(String, u64)>) {
    let args = [&["top", file, "--json", "-n", "0"], args].concat();
    let json: serde_json::Value = serde_json::from_str(&hprof(run, &args)).expect("JSON");
    let rows = json["rows"].as_array().expect("rows").iter();
    let rows = rows.map(|row| {
        let name = row["name"].as_str().expect("a name").to_owned();
        (name, row["self"].as_u64().expect("a number"))
    });
    (json["total"].as_u64().expect("a number"), rows.collect())
}

fn a_binary_file_has_the_sums_of_text(jvm: &Jvm) {
    let run = held(jvm, ",thread=y");
    let text = run.read("x.txt");
    for section in [
        "MONITOR TIME BEGIN (total = ",
        "MONITOR DUMP BEGIN\n",
        "LOCK WAITS BEGIN (",
    ] {
        assert!(text.contains(&format!("\n{section}")), "{section}: {text}");
    }
    for by in ["wait", "lock", "holder", "method", "thread"] {
        let of = |file| top(&run, file, &["--value", "lock-wait", "--by", by]);
        assert_eq!(of("x.hprof"), of("x.txt"), "{by}");
    }
    let (waited, rows) = top(&run, "x.hprof", &["--value", "lock-wait", "--by", "holder"]);
    let of_mostly = rows.iter().filter(|(name, _)| name.contains("Held.mostly"));
    let of_mostly: u64 = of_mostly.map(|(_, nanos)| nanos).sum();
    assert!(of_mostly as f64 > 0.5 * waited as f64, "{rows:?}");
    let count = |file| top(&run, file, &["--value", "contentions"]);
    assert_eq!(count("x.hprof"), count("x.txt"));
    // Text has whole milliseconds, and shares of two decimals.
    let (nanos, _) = top(&run, "x.hprof", &["--value", "contention"]);
    let (millis, _) = top(&run, "x.txt", &["--value", "contention"]);
    assert!(nanos > 0 && nanos - nanos % 1_000_000 <= millis && millis <= nanos + 1_000_000);
}
on_every_jvm!(a_binary_file_has_the_sums_of_text, and 25);

#[test]
fn every_command_reads_it() {
    let run = held(any_jvm(), ",cpu=samples,interval=1");
    let total = |file: &str, value: &str| top(&run, file, &["--value", value]).0;
    let both = ["contention", "contentions", "lock-wait"];
    hprof(&run, &["merge", "x.hprof", "x.hprof", "-o", "merged.hprof"]);
    hprof(&run, &["check", "merged.hprof"]);
    for value in both {
        assert_eq!(
            total("merged.hprof", value),
            2 * total("x.hprof", value),
            "{value}"
        );
        let args = ["diff", "--value", value, "x.hprof", "merged.hprof"];
        let diff = hprof(&run, &args);
        assert!(diff.contains("Held.want"), "{diff}");
        let args = ["export", "--to", "collapsed", "--value", value, "x.hprof"];
        let sum = hprof(&run, &args);
        let sum = sum.lines().map(|line| {
            let (_, number) = line.rsplit_once(' ').expect("a number");
            number.parse::<u64>().expect("a number")
        });
        assert_eq!(sum.sum::<u64>(), total("x.hprof", value), "{value}");
    }
    hprof(
        &run,
        &["flame", "--value", "lock-wait", "-o", "x.svg", "x.hprof"],
    );
    assert!(run.read("x.svg").contains("Held.want"));
    hprof(&run, &["report", "x.hprof", "-o", "x.html"]);
    assert!(run.read("x.html").contains("Waiting"));
    let args = ["export", "--to", "parquet", "-o", "tables", "x.hprof"];
    let rows = hprof(&run, &args);
    assert!(rows.contains("monitor "), "{rows}");
}
