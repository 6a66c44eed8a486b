//! The births file beside heap dumps, on the program of `java-tests/births` whose first comment tells the truth.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::BufReader;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use hprof_format::{BirthsHead, BirthsReader, ObjectBirth};

use crate::cells::{Cell, cells};
use crate::harness::{Finished, Program, cli, skip};

const KEPT: [(&str, u64); 5] = [
    ("Births$Cloned", 3_000),
    ("Births$Early", 10_000),
    ("Births$Element[]", 3_000),
    ("Births$Late", 5_000),
    ("Births$Reflected", 3_000),
];

fn hprof(args: &[&str], file: &Path) -> serde_json::Value {
    let mut command = Command::new(cli());
    let output = command.arg("heap").args(args).arg("--json").arg(file);
    let output = output.output().expect("hprof");
    assert!(output.status.success(), "{args:?}: {output:?}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// Returns the objects of each of the program's classes, over all rows.
fn program_objects(rows: &serde_json::Value) -> BTreeMap<String, u64> {
    let mut objects = BTreeMap::new();
    for row in rows.as_array().expect("rows") {
        let name = row["name"].as_str().expect("a name");
        if name.starts_with("Births$") {
            *objects.entry(name.to_owned()).or_default() +=
                row["objects"].as_u64().expect("a number");
        }
    }
    objects
}

fn of(classes: &[&str]) -> BTreeMap<String, u64> {
    let kept = KEPT.iter().filter(|(class, _)| classes.contains(class));
    kept.map(|&(class, objects)| (class.to_owned(), objects))
        .collect()
}

/// Runs the program, with a dump in the middle and one at the end.
fn run(cell: &Cell, dumper: &str) -> Finished {
    let options = format!("heap=all,lifetimes=y,format=b,depth=4,dumper={dumper},file=x.hprof");
    let vm_options = [&cell.vm_options()[..], &["-Xmx512m", "-Xms512m"]].concat();
    let run = Program::java(cell.jvm, &options, &vm_options)
        .program("births", "Births")
        .start();
    run.wait_for_output("ready");
    run.hprof_well("dump", &[]);
    fs::write(run.path("go"), "").expect("a file");
    run.wait()
}

fn births(path: &Path) -> (BirthsHead, Vec<ObjectBirth>) {
    let file = File::open(path).expect("a births file");
    let mut reader = BirthsReader::new(BufReader::new(file)).expect("its head");
    let mut births = Vec::new();
    while let Some(birth) = reader.read().expect("a row") {
        births.push(birth);
    }
    (reader.into_head(), births)
}

fn births_are_exact(feature: u32, collector: &str, dumper: &str) {
    let wanted = |cell: &&Cell| cell.jvm.feature == feature && cell.collector == collector;
    let Some(cell) = cells().iter().find(wanted) else {
        return skip(&format!("births on JVM {feature} with {collector}"));
    };
    let run = run(cell, dumper);
    let file = run.path("x.hprof");
    let new = [
        "Births$Cloned",
        "Births$Element[]",
        "Births$Late",
        "Births$Reflected",
    ];

    let made = hprof(
        &[
            "diff",
            "--objects",
            "--by",
            "site",
            "--dump=1",
            "--dump=2",
            "--top=0",
        ],
        &file,
    );
    assert_eq!(
        program_objects(&made[0]["groups"]),
        of(&new),
        "{cell}, {dumper}"
    );

    let old = hprof(&["who", "--older", "1s", "--top=0"], &file);
    assert_eq!(
        program_objects(&old).get("Births$Early"),
        Some(&10_000),
        "{cell}, {dumper}"
    );
    let never = hprof(&["who", "--older", "1h", "--top=0"], &file);
    assert_eq!(program_objects(&never), BTreeMap::new(), "{cell}, {dumper}");

    // The list's array and its elements; the list itself belongs to the class.
    let leaks = hprof(&["leaks", "--threshold", "1"], &file);
    let mut suspects = leaks["suspects"].as_array().expect("suspects").iter();
    let early = suspects.find(|suspect| suspect["holder"] == "static field Births.early");
    let early = &early.expect("the list of the old ones")["made"];
    assert_eq!(early["objects"], 10_001, "{cell}, {dumper}");
    let youngest = early["youngest_millis"].as_u64();
    assert!(youngest >= Some(1_000), "{cell}, {dumper}: {youngest:?}");

    let ages = hprof(&["histogram", "--by", "age"], &file);
    let ages = ages["rows"].as_array().expect("rows").iter();
    let known = ages.filter(|row| row["name"] != "<not tracked>");
    let known: u64 = known
        .map(|row| row["objects"].as_u64().expect("a number"))
        .sum();
    assert!(known >= 24_000, "{cell}, {dumper}: {known}");

    // An object is the same in both dumps if it has the same identity and was made before the first.
    let first = run.path("x.hprof.births");
    let (head, first_births) = births(&first);
    let (new_head, second_births) = births(&run.path("x.hprof.2.births"));
    assert_eq!((head.dump, new_head.dump, head.run), (1, 2, new_head.run));
    let first_births: BTreeMap<u64, u32> = first_births
        .iter()
        .map(|birth| (birth.identity, birth.moment))
        .collect();
    let old = second_births
        .iter()
        .filter(|birth| birth.moment < head.next);
    let (same, unknown): (Vec<&ObjectBirth>, Vec<&ObjectBirth>) =
        old.partition(|birth| first_births.get(&birth.identity) == Some(&birth.moment));
    assert!(
        same.len() >= 10_000 && unknown.is_empty(),
        "{cell}, {dumper}: {}",
        unknown.len()
    );
    assert!(first_births.len() >= same.len() + 6_000, "{cell}, {dumper}");

    let mode = fs::metadata(&first).expect("the file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(run.files().iter().all(|file| !file.starts_with(".hprof")));
}

#[test]
fn births_are_exact_on_11_with_parallel() {
    births_are_exact(11, "Parallel", "jvmti");
}

#[test]
fn births_are_exact_on_17_with_g1() {
    births_are_exact(17, "G1", "vm");
}

#[test]
fn births_are_exact_on_21_with_z() {
    births_are_exact(21, "Z", "vm");
}

#[test]
fn births_are_exact_on_25_with_shenandoah() {
    births_are_exact(25, "Shenandoah", "jvmti");
}

#[test]
fn births_of_another_dump_are_refused() {
    let cell = Cell::any();
    let run = run(&cell, "vm");
    fs::copy(run.path("x.hprof.births"), run.path("x.hprof.2.births")).expect("a copy");
    let refused = |args: &[&str], why: &str| {
        let mut command = Command::new(cli());
        let output = command.arg("heap").args(args).arg(run.path("x.hprof"));
        let output = output.output().expect("hprof");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && stderr.contains(why), "{stderr}");
    };
    let another = "belongs to another dump: dump 1 of this file";
    refused(&["histogram", "--by", "age"], another);
    // What does not need the births goes on without them.
    assert!(hprof(&["leaks"], &run.path("x.hprof"))["suspects"][0]["made"].is_null());
    fs::remove_file(run.path("x.hprof.2.births")).expect("the file");
    refused(&["who", "--older", "1m"], "heap=all,lifetimes=y");
}
