//! Exported profiles, opened by the viewers that they are for.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use hprof_testing::{empty_folder, skip, text};
use serde_json::Value;

use crate::{json, profile, shown};

/// Returns a tool that other tests need too, from the environment or the path; reports it if missing.
pub(crate) fn tool(variable: &str, command: &str) -> Option<PathBuf> {
    if let Some(path) = std::env::var_os(variable) {
        return Some(path.into());
    }
    let found = Command::new("sh")
        .args(["-c", &format!("command -v {command}")])
        .output()
        .expect("a shell");
    let path = text(&found.stdout).trim().to_owned();
    if path.is_empty() {
        skip(&format!(
            "tests of {command}: ${variable} is not set and there is none"
        ));
        return None;
    }
    Some(path.into())
}

#[test]
fn pprof_reads_what_is_exported() {
    let Some(pprof) = tool("HPROF_PPROF", "pprof") else {
        return;
    };
    let directory = empty_folder!("pprof");
    let exported = directory.join("alloc.pb.gz");
    let path = exported.to_str().expect("UTF-8");
    shown(
        &["export", "--to", "pprof", "-o", path],
        &[&profile("alloc.hprof.gz")],
    );
    let output = Command::new(&pprof)
        .args(["-top", "-sample_index=live-objects", "-nodefraction=0"])
        .arg(r"-tagfocus=class=Alloc\$Kept")
        .arg(&exported)
        .env("PPROF_TMPDIR", &directory)
        .output()
        .expect("pprof starts");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let table = text(&output.stdout);
    // 1000 from main, 10 from a thread, 60 by reflection.
    assert!(
        table.contains("Showing nodes accounting for 1070,"),
        "{table}"
    );
    let row = table
        .lines()
        .find(|line| line.ends_with(" Alloc.keepObjects"));
    let row: Vec<&str> = row.expect("it allocates").split_whitespace().collect();
    assert_eq!((row[0], row[3]), ("1010", "1010"));
}

#[test]
fn speedscope_accepts_what_is_exported() {
    let (Some(node), Some(folder)) = (
        tool("HPROF_NODE", "node"),
        std::env::var_os("HPROF_SPEEDSCOPE"),
    ) else {
        skip(
            "checking exported profiles by speedscope's schema: $HPROF_SPEEDSCOPE or node could not be had",
        );
        return;
    };
    let directory = empty_folder!("speedscope");
    let exported = directory.join("alloc.speedscope.json");
    let path = exported.to_str().expect("UTF-8");
    shown(
        &["export", "--to", "speedscope", "-o", path],
        &[&profile("alloc.hprof.gz")],
    );
    let script = "\
const fs = require('fs'), path = require('path');
const [folder, file] = process.argv.slice(1);
const Ajv = require(path.join(folder, 'node_modules/ajv'));
const release = path.join(folder, 'node_modules/speedscope/dist/release');
const schema = fs.readdirSync(release).find(name => name.startsWith('file-format-schema'));
const check = new Ajv({strict: false}).compile(JSON.parse(fs.readFileSync(path.join(release, schema))));
if (!check(JSON.parse(fs.readFileSync(file)))) throw new Error(JSON.stringify(check.errors));
console.log('valid');";
    let output = Command::new(node)
        .args(["-e", script])
        .arg(folder)
        .arg(&exported)
        .output()
        .expect("node starts");
    assert_eq!(
        text(&output.stdout).trim(),
        "valid",
        "{}",
        text(&output.stderr)
    );
}

/// Checks that speedscope's page shows an export.
#[test]
fn speedscope_shows_what_is_exported() {
    let folders = ["HPROF_SPEEDSCOPE", "HPROF_PLAYWRIGHT", "HPROF_BROWSER"];
    if folders.iter().any(|name| std::env::var_os(name).is_none()) {
        skip(
            "opening an exported profile in speedscope: it, a browser or its driver could not be had",
        );
        return;
    }
    let directory = empty_folder!("speedscope-page");
    let exported = directory.join("alloc.speedscope.json");
    let path = exported.to_str().expect("UTF-8");
    let input = profile("alloc.hprof.gz");
    shown(&["export", "--to", "speedscope", "-o", path], &[&input]);
    let top = directory.join("top.json");
    let arguments = ["top", "--json", "--value", "alloc-objects", "--by", "line"];
    std::fs::write(&top, shown(&arguments, &[&input])).expect("the directory can be written");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser/speedscope.mjs");
    let output = Command::new("node")
        .arg(script)
        .args([&exported, &top])
        .output()
        .expect("node starts");
    assert!(output.status.success(), "{}", text(&output.stderr));
}

/// A table of the Firefox Profiler's format: columns of the same length.
struct Columns<'a>(&'a Value);

impl<'a> Columns<'a> {
    fn of(parent: &'a Value, name: &str) -> Columns<'a> {
        let table = &parent[name];
        let length = table["length"].as_u64();
        for (column, values) in table.as_object().expect("a table") {
            if let Some(values) = values.as_array() {
                assert_eq!(Some(values.len() as u64), length, "{name}.{column}");
            }
        }
        Columns(table)
    }

    fn len(&self) -> usize {
        self.0["length"].as_u64().expect("a number") as usize
    }

    /// Returns an index into another table, below `end`; `None` if there is none.
    fn place(&self, column: &str, row: usize, end: usize) -> Option<usize> {
        let value = &self.0[column][row];
        if value.is_null() {
            return None;
        }
        let place = value
            .as_u64()
            .unwrap_or_else(|| panic!("{column} {row}: {value}"));
        assert!((place as usize) < end, "{column} {row}: {place} of {end}");
        Some(place as usize)
    }

    fn required(&self, column: &str, row: usize, end: usize) -> usize {
        self.place(column, row, end)
            .unwrap_or_else(|| panic!("{column} {row} is null"))
    }
}

/// Returns the stacks of a thread with their weights, in collapsed form; every index in every table is checked.
fn stacks_of(thread: &Value, categories: usize, sums: &mut BTreeMap<String, u64>) {
    let strings = thread["stringArray"].as_array().expect("strings");
    let (functions, frames) = (
        Columns::of(thread, "funcTable"),
        Columns::of(thread, "frameTable"),
    );
    let (stacks, samples) = (
        Columns::of(thread, "stackTable"),
        Columns::of(thread, "samples"),
    );
    for table in ["resourceTable", "nativeSymbols", "markers"] {
        Columns::of(thread, table);
    }
    for function in 0..functions.len() {
        functions.required("name", function, strings.len());
        functions.place("fileName", function, strings.len());
        assert_eq!(functions.0["resource"][function], -1);
    }
    for frame in 0..frames.len() {
        frames.required("category", frame, categories);
        frames.required("func", frame, functions.len());
        assert_eq!(frames.place("nativeSymbol", frame, 0), None);
    }
    let mut names: Vec<String> = Vec::new();
    for stack in 0..stacks.len() {
        let function = frames.required(
            "func",
            stacks.required("frame", stack, frames.len()),
            functions.len(),
        );
        let name = strings[functions.required("name", function, strings.len())]
            .as_str()
            .expect("a text");
        // A stack comes after the one that it continues.
        names.push(match stacks.place("prefix", stack, stack) {
            Some(prefix) => format!("{};{name}", names[prefix]),
            None => name.to_owned(),
        });
    }
    let weights = samples.0["weight"].as_array().expect("weights");
    for (sample, weight) in weights.iter().enumerate() {
        let weight = weight.as_i64().expect("a whole number");
        // Its reader uses signed numbers of 32 bits.
        assert!((1..=i64::from(i32::MAX)).contains(&weight), "{weight}");
        let stack = samples.required("stack", sample, stacks.len());
        *sums.entry(names[stack].clone()).or_default() += weight as u64;
        assert!(samples.0["timeDeltas"][sample].as_f64().expect("a number") >= 0.0);
    }
}

#[test]
fn every_place_in_a_firefox_export_leads_somewhere() {
    for name in [
        "alloc.hprof.gz",
        "agent-calls-times.txt",
        "agent-monitor.txt",
        "original-spin-samples-thread.txt",
    ] {
        let file = profile(name);
        let document = json(&["export", "--to", "firefox"], &[&file]);
        let meta = &document["meta"];
        assert!(
            meta["preprocessedProfileVersion"]
                .as_u64()
                .is_some_and(|version| version >= 40)
        );
        assert!(
            meta["interval"]
                .as_f64()
                .is_some_and(|interval| interval > 0.0)
        );
        assert!(meta["startTime"].as_f64().is_some());
        let categories = meta["categories"].as_array().expect("categories");
        for category in categories {
            assert!(category["name"].is_string() && category["color"].is_string());
        }
        let mut by_metric: BTreeMap<&str, BTreeMap<String, u64>> = BTreeMap::new();
        let mut ids = Vec::new();
        for thread in document["threads"].as_array().expect("threads") {
            let process = thread["processName"].as_str().expect("a name");
            let metric = process.split(' ').next().expect("a name");
            let bytes = metric.ends_with("-bytes");
            let kind = &thread["samples"]["weightType"];
            assert_eq!(kind, if bytes { "bytes" } else { "samples" }, "{metric}");
            ids.push((thread["pid"].to_string(), thread["tid"].to_string()));
            stacks_of(
                thread,
                categories.len(),
                by_metric.entry(metric).or_default(),
            );
        }
        let threads = ids.len();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), threads, "every thread has an id of its own");
        for (metric, sums) in by_metric {
            let collapsed = shown(
                &["export", "--to", "collapsed", "--value", metric],
                &[&file],
            );
            let expected = collapsed.lines().map(|line| {
                let (stack, value) = line.rsplit_once(' ').expect("a value");
                (stack.to_owned(), value.parse::<u64>().expect("a number"))
            });
            assert_eq!(sums, expected.collect(), "{name}: {metric}");
        }
    }
}
