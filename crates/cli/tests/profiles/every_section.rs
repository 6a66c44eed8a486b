//! A file with every section that has values, and every export of it: each must have what the file states.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use hprof_testing::{empty_folder, text};
use opentelemetry_proto::tonic::collector::profiles::v1development::ExportProfilesServiceRequest;
use prost::Message;
use serde_json::Value;

use crate::viewers::tool;
use crate::{json, profile, shown};

/// What the sections of the file add up to, times in nanoseconds: 7 CPU samples of 20 ms, 100 of threads of 20 ms, 100 of waits of 10 ms.
const TOTALS: [(&str, u64); 26] = [
    ("alloc-bytes", 10_000),
    ("alloc-objects", 100),
    ("blocked", 600_000_000),
    ("calls", 6),
    ("contention", 600_000_000),
    ("contentions", 3),
    ("cpu", 140_000_000),
    ("live-bytes", 4_000),
    ("live-objects", 40),
    ("lock-wait", 1_000_000_000),
    ("native-blocks", 80),
    ("native-bytes", 8_000),
    ("native-live-blocks", 15),
    ("native-live-bytes", 1_500),
    ("native-old-blocks", 12),
    ("native-old-bytes", 1_200),
    ("parked", 1_200_000_000),
    ("peak-bytes", 5_000),
    ("peak-objects", 50),
    ("pinned", 1_200_000_000),
    ("survived-bytes", 6_000),
    ("survived-objects", 60),
    ("temporary-bytes", 4_000),
    ("temporary-objects", 40),
    ("time", 40_000_000),
    ("wall", 2_000_000_000),
];
const INTERVAL: u64 = 20_000_000;

pub(crate) type Totals = BTreeMap<String, u64>;

#[test]
fn every_export_has_every_value() {
    let file = profile("every-section.txt");
    let stated: Totals = TOTALS.map(|(name, value)| (name.to_owned(), value)).into();
    let folder = empty_folder!("every-section");
    let exported = |format: &str| {
        let path = folder.join(format);
        let to = path.to_str().expect("UTF-8");
        shown(&["export", "--to", format, "-o", to], &[&file]);
        path
    };
    assert_eq!(of_json(&file), stated, "json");
    assert_eq!(of_json(&exported("jfr")), stated, "jfr");
    assert_eq!(of_speedscope(&exported("speedscope")), stated, "speedscope");
    assert_eq!(of_firefox(&exported("firefox")), stated, "firefox");
    assert_eq!(of_otlp(&exported("otlp")), stated, "otlp");
    let collapsed = |(name, _): (&str, u64)| {
        let lines = shown(&["export", "--to", "collapsed", "--value", name], &[&file]);
        let values = lines.lines().map(number_at_end);
        (name.to_owned(), values.sum::<u64>() * weight(name))
    };
    assert_eq!(TOTALS.map(collapsed), stated_in_order(&stated), "collapsed");
    let top = |(name, _): (&str, u64)| {
        let document = json(&["top", "--json", "--idle", "--value", name], &[&file]);
        let total = document["total"].as_u64().expect("a number");
        (name.to_owned(), total * weight(name))
    };
    assert_eq!(TOTALS.map(top), stated_in_order(&stated), "top");
    if let Some(pprof) = tool("HPROF_PPROF", "pprof") {
        assert_eq!(of_pprof(&pprof, &exported("pprof")), stated, "pprof");
    }
    let tables = folder.join("tables");
    let to = tables.to_str().expect("UTF-8");
    shown(&["export", "--to", "parquet", "-o", to], &[&file]);
    if let Some(python) = std::env::var_os("HPROF_DUCKDB") {
        assert_eq!(
            of_tables(Path::new(&python), &tables),
            in_tables(&stated),
            "parquet"
        );
    }
}

/// CPU samples are counts with an interval where the format has no times.
fn weight(name: &str) -> u64 {
    if name == "cpu" { INTERVAL } else { 1 }
}

fn stated_in_order(stated: &Totals) -> [(String, u64); 26] {
    TOTALS.map(|(name, _)| (name.to_owned(), stated[name]))
}

fn number_at_end(line: &str) -> u64 {
    let (_, value) = line.rsplit_once(' ').expect("a value");
    value.parse().expect("a number")
}

pub(crate) fn list<'a>(of: &'a Value, name: &str) -> &'a Vec<Value> {
    of[name].as_array().unwrap_or_else(|| panic!("no {name}"))
}

fn sum<'a>(values: impl IntoIterator<Item = &'a Value>) -> u64 {
    let numbers = values
        .into_iter()
        .map(|value| value.as_u64().expect("a number"));
    numbers.sum()
}

pub(crate) fn read(path: &Path) -> Value {
    let bytes = std::fs::read(path).expect("it was written");
    serde_json::from_slice(&bytes).expect("JSON")
}

fn of_json(file: &Path) -> Totals {
    of_document(&json(&["export", "--to", "json"], &[file]))
}

/// Returns the sums of an export as JSON.
pub(crate) fn of_document(document: &Value) -> Totals {
    assert_eq!(document["interval_ns"], INTERVAL);
    let mut totals = Totals::new();
    for table in list(document, "tables") {
        for (column, value) in list(table, "values").iter().enumerate() {
            let name = value["name"].as_str().expect("a name");
            let samples = list(table, "samples").iter();
            let total = sum(samples.map(|sample| &sample[2][column]));
            *totals.entry(name.to_owned()).or_default() += total * weight(name);
        }
    }
    totals
}

pub(crate) fn of_speedscope(path: &Path) -> Totals {
    let document = read(path);
    let profiles = list(&document, "profiles").iter();
    let totals = profiles.map(|profile| {
        let name = profile["name"].as_str().expect("a name");
        (name.to_owned(), sum(list(profile, "weights")))
    });
    totals.collect()
}

/// Returns the sums of a Firefox profile, which has each value as a process that is called by it and its unit.
pub(crate) fn of_firefox(path: &Path) -> Totals {
    let document = read(path);
    let mut totals = Totals::new();
    for thread in list(&document, "threads") {
        let process = thread["processName"].as_str().expect("a name");
        let name = process.split(' ').next().expect("a name");
        let unit = if process.ends_with("(milliseconds)") {
            1_000_000
        } else {
            1
        };
        *totals.entry(name.to_owned()).or_default() +=
            unit * sum(list(&thread["samples"], "weight"));
    }
    totals
}

fn of_otlp(path: &Path) -> Totals {
    let mut totals = of_otlp_with_samples(path);
    if let Some(samples) = totals.remove("samples") {
        assert_eq!(samples, 7);
    }
    totals
}

/// Returns the sums of an export to OpenTelemetry, with the number of CPU samples if it has that.
pub(crate) fn of_otlp_with_samples(path: &Path) -> Totals {
    let bytes = std::fs::read(path).expect("it was written");
    let request = ExportProfilesServiceRequest::decode(&*bytes).expect("OTLP");
    let names = &request
        .dictionary
        .as_ref()
        .expect("a dictionary")
        .string_table;
    let scopes = request
        .resource_profiles
        .iter()
        .flat_map(|of| &of.scope_profiles);
    let mut totals = Totals::new();
    for profile in scopes.flat_map(|scope| &scope.profiles) {
        let kind = profile.sample_type.as_ref().expect("a type");
        let name = &names[kind.type_strindex as usize];
        let values = profile.samples.iter().flat_map(|sample| &sample.values);
        let total: i64 = values.sum();
        *totals.entry(name.clone()).or_default() += u64::try_from(total).expect("a sum");
    }
    totals
}

/// Returns the sums of what `pprof -raw` shows: the names of the values, and then a line for each sample.
fn of_pprof(pprof: &Path, file: &Path) -> Totals {
    let output = Command::new(pprof).arg("-raw").arg(file).output();
    let output = output.expect("pprof starts");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let mut lines = text(&output.stdout)
        .lines()
        .skip_while(|line| *line != "Samples:")
        .skip(1);
    let names = lines.next().expect("the names");
    let names: Vec<&str> = names
        .split_whitespace()
        .map(|name| name.split('/').next().expect("a name"))
        .collect();
    let mut totals = vec![0; names.len()];
    for line in lines.take_while(|line| *line != "Locations") {
        let values = line.split(':').next().expect("values").split_whitespace();
        // The labels of a sample have a line of their own.
        let values: Result<Vec<u64>, _> = values.map(str::parse).collect();
        for (total, value) in totals.iter_mut().zip(values.unwrap_or_default()) {
            *total += value;
        }
    }
    let mut totals: Totals = names.into_iter().map(str::to_owned).zip(totals).collect();
    assert_eq!(totals.remove("samples"), Some(7));
    totals
}

/// What the tables have as columns of their own; states are frames, and lifetimes rows.
const COLUMNS: [(&str, &str, &str); 17] = [
    ("alloc-bytes", "alloc_site", "alloc_bytes"),
    ("alloc-objects", "alloc_site", "alloc_objects"),
    ("calls", "call_time", "calls"),
    ("contention", "monitor", "contended_ns"),
    ("contentions", "monitor", "contentions"),
    ("cpu", "cpu_sample", "cpu_ns"),
    ("live-bytes", "alloc_site", "live_bytes"),
    ("live-objects", "alloc_site", "live_objects"),
    ("lock-wait", "lock_wait", "wait_ns"),
    ("native-blocks", "native_site", "native_blocks"),
    ("native-bytes", "native_site", "native_bytes"),
    ("native-live-blocks", "native_site", "native_live_blocks"),
    ("native-live-bytes", "native_site", "native_live_bytes"),
    ("native-old-blocks", "native_site", "native_old_blocks"),
    ("native-old-bytes", "native_site", "native_old_bytes"),
    ("time", "call_time", "self_ns"),
    ("wall", "wall_sample", "wall_ns"),
];

fn in_tables(stated: &Totals) -> Totals {
    let named = COLUMNS.map(|(name, ..)| (name.to_owned(), stated[name]));
    named.into()
}

fn of_tables(python: &Path, tables: &Path) -> Totals {
    let queries: Vec<String> = COLUMNS
        .iter()
        .map(|(_, table, column)| {
            let files = tables.join(table).join("*.parquet");
            format!(
                "SELECT sum({column}) FROM read_parquet('{}')",
                files.display()
            )
        })
        .collect();
    let script =
        "import duckdb, sys\nfor query in sys.argv[1:]: print(duckdb.sql(query).fetchall()[0][0])";
    let output = Command::new(python)
        .args(["-c", script])
        .args(queries)
        .output()
        .expect("Python starts");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let numbers = text(&output.stdout)
        .lines()
        .map(|line| line.parse().expect("a number"));
    let names = COLUMNS.iter().map(|(name, ..)| (*name).to_owned());
    names.zip(numbers).collect()
}
