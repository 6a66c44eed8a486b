//! Tables of real profiles and dumps, read by DuckDB and pyarrow. The programs are in `java-tests/tables/Shop.java` and
//! `java-tests/heap/Leak.java`.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::harness::{Jvm, Program, any_jvm, cli, reader};

/// Creates a profile of `Shop`, in a folder of its own, as in docs/reference/tables.md.
fn shop(folder: &Path, options: &str, build: &str, name: &str) -> PathBuf {
    let options = format!("{options},cutoff=0,file={name}");
    let run = Program::java(any_jvm(), &options, &[])
        .program("tables", "Shop")
        .arg(build)
        .run_well();
    let path = folder.join(name);
    std::fs::copy(run.path(name), &path).expect("the profile");
    path
}

fn hprof(arguments: &[&str], files: &[&Path]) -> String {
    let mut command = Command::new(cli());
    let output = command.args(arguments).args(files).output().expect("hprof");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    let (said, fault) = (text(output.stdout), text(output.stderr));
    assert!(output.status.success(), "{arguments:?}: {fault}");
    said
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

/// Returns the answer of `tests/readers/tables.py`; `None` if there is no Python with DuckDB and pyarrow.
fn read(what: &str, folder: &Path, rest: &[&str]) -> Option<Value> {
    let python = reader("HPROF_DUCKDB")?;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/readers/tables.py");
    let mut command = Command::new(python);
    command.arg(script).arg(what).arg(folder).args(rest);
    let output = command.output().expect("python");
    let fault = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{fault}");
    Some(json(&String::from_utf8(output.stdout).expect("UTF-8")))
}

fn tables(folder: &Path) -> String {
    folder.join("tables").to_str().expect("UTF-8").to_owned()
}

#[test]
fn duckdb_and_pyarrow_read_the_sums_of_profiles() {
    let folder = TempDir::new().expect("a folder");
    let folder = folder.path();
    let tables = tables(folder);
    let profiles = [
        ("heap=sites,depth=16,format=b", "sites.hprof"),
        ("cpu=samples,interval=1,format=b", "samples.hprof"),
        ("cpu=times", "times.txt"),
        ("cpu=old", "old.txt"),
        ("monitor=y,thread=y", "monitor.txt"),
    ];
    let files = profiles.map(|(options, name)| shop(folder, options, "1", name));
    let named = files.each_ref().map(PathBuf::as_path);
    hprof(&["export", "--to", "parquet", "-o", &tables], &named);
    let Some(read) = read("sums", Path::new(&tables), &[]) else {
        return;
    };
    for (file, value, table, column) in [
        (0, "alloc-bytes", "alloc_site", "alloc_bytes"),
        (0, "alloc-objects", "alloc_site", "alloc_objects"),
        (0, "live-bytes", "alloc_site", "live_bytes"),
        (0, "live-objects", "alloc_site", "live_objects"),
        (1, "cpu", "cpu_sample", "samples"),
        (2, "time", "call_time", "self_ns"),
        (2, "calls", "call_time", "calls"),
        (3, "inclusive-time", "call_time", "inclusive_ns"),
        (3, "calls", "call_time", "calls"),
        (4, "contention", "monitor", "contended_ns"),
        (4, "contentions", "monitor", "contentions"),
    ] {
        let top = json(&hprof(&["top", "--json", "--value", value], &[named[file]]));
        let name = named[file].to_str().expect("UTF-8");
        let found = &read[name][table][column];
        assert_eq!(*found, top["total"], "{name}: {table}.{column}");
        assert!(found.as_u64() > Some(0), "{name}: {table}.{column}");
    }
}

on_every_jvm!(objects_of_a_dump_are_those_that_hprof_heap_counts, and 25);

fn objects_of_a_dump_are_those_that_hprof_heap_counts(jvm: &Jvm) {
    let run = Program::java(jvm, "heap=dump,format=b,file=x.hprof", &[])
        .program("tables", "Shop")
        .arg("1")
        .run_well();
    let dump = run.path("x.hprof");
    let folder = run.path("tables");
    let out = folder.to_str().expect("UTF-8");
    hprof(
        &["export", "--to", "parquet", "--retained", "-o", out],
        &[&dump],
    );
    let summary = json(&hprof(&["heap", "summary", "--json"], &[&dump]));
    let Some(read) = read("sums", &folder, &[]) else {
        return;
    };
    let object = &read[dump.to_str().expect("UTF-8")]["object"];
    let sum = |one: &str, other: &str| {
        summary[one].as_u64().expect("a number") + summary[other].as_u64().expect("a number")
    };
    assert_eq!(object["rows"], sum("objects", "unreachable_objects"));
    assert_eq!(object["shallow_bytes"], sum("bytes", "unreachable_bytes"));
}

#[test]
fn stacks_of_ten_runs_add_up_as_hprof_merge_adds_them() {
    let folder = TempDir::new().expect("a folder");
    let folder = folder.path();
    let tables = tables(folder);
    let files: Vec<PathBuf> = (1..=10)
        .map(|build| {
            let name = format!("{build}.hprof");
            let options = "heap=sites,depth=16,format=b";
            shop(folder, options, &build.to_string(), &name)
        })
        .collect();
    let files: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
    hprof(&["export", "--to", "parquet", "-o", &tables], &files);
    let merged = folder.join("merged.hprof");
    let out = merged.to_str().expect("UTF-8");
    hprof(&["merge", "-o", out], &files);
    let collapsed = ["export", "--to", "collapsed", "--value", "alloc-bytes"];
    let expected = hprof(&collapsed, &[&merged]);
    let Some(read) = read("stacks", Path::new(&tables), &[]) else {
        return;
    };
    let found = read.as_object().expect("stacks");
    let mut found: Vec<String> = found.iter().map(|(s, v)| format!("{s} {v}")).collect();
    found.sort_unstable();
    // Tables have stacks as they are in the file.
    let expected = expected.replace("<made before the profile>", "<empty>");
    let mut expected: Vec<&str> = expected.lines().map(uncut).collect();
    expected.sort_unstable();
    assert_eq!(found, expected);
}

/// Returns a collapsed stack without the frame that stands for the callers of a cut stack.
fn uncut(line: &str) -> &str {
    let below = line.strip_prefix("[cut at ");
    below
        .and_then(|rest| rest.split_once("];"))
        .map_or(line, |(_, stack)| stack)
}

/// The queries in docs/reference/tables.md, in that order, and the expected content of the first row.
const ANSWERS: [&[&str]; 11] = [
    // 200 reports of 1,000 longs in each of two runs, and no more than a few other arrays.
    &["long[]"],
    &["Shop$ReportHandler"],
    &["reports-#"],
    &["Shop$OrderHandler.handle;Shop$Order.<init>", "byte[]"],
    &["byte[]", "2"],
    &["Shop$OrderHandler.handle;Shop$Order.<init>"],
    &["Shop", "price"],
    &["Shop$OrderHandler", "handle", "2000"],
    &["Shop$Till", "orders-#"],
    &["Shop$OrderHandler.handle", "100"],
    &["200"],
];

#[test]
fn every_query_of_the_page_has_its_answer() {
    let folder = TempDir::new().expect("a folder");
    let folder = folder.path();
    let tables = tables(folder);
    let sites = "thread=y,depth=16,format=b";
    for (options, build, name, host) in [
        ("heap=sites", "1", "old.hprof", "host=web1"),
        ("heap=all", "2", "new.hprof", "host=web2"),
    ] {
        let file = shop(folder, &format!("{options},{sites}"), build, name);
        let build = format!("build={build}");
        let labels = ["--label", &build, "--label", host, "--retained"];
        let export = ["export", "--to", "parquet", "-o", &tables];
        hprof(&[&export[..], &labels].concat(), &[&file]);
    }
    let others = [
        ("cpu=samples,interval=1,thread=y,format=b", "cpu.hprof"),
        ("cpu=times", "calls.txt"),
        ("monitor=y,thread=y", "monitor.txt"),
    ];
    let others = others.map(|(options, name)| shop(folder, options, "1", name));
    let others = others.each_ref().map(PathBuf::as_path);
    hprof(&["export", "--to", "parquet", "-o", &tables], &others);
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reference/tables.md");
    let page = page.to_str().expect("UTF-8");
    let Some(answers) = read("query", Path::new(&tables), &[page]) else {
        return;
    };
    let answers = answers.as_array().expect("answers");
    assert_eq!(answers.len(), ANSWERS.len());
    for (number, (answer, expected)) in answers.iter().zip(ANSWERS).enumerate() {
        let first = answer[0].to_string();
        for text in expected {
            assert!(first.contains(text), "query {number}: {text}: {answer}");
        }
    }
}
