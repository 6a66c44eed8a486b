//! The births file next to heap dumps, on programs of `java-tests/births` whose first comments tell the truth.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::BufReader;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use hprof_format::{BirthsHead, BirthsReader, ObjectBirth};

use crate::cells::Cell;
use crate::harness::{Finished, Program, c_library, cli};
use crate::heap::heap_json::assert_documented;

/// The objects of the program's classes that live until the end; those by JNI only if there is a compiler.
const KEPT: [(&str, u64); 7] = [
    ("Births$Cloned", 3_000),
    ("Births$Early", 10_000),
    ("Births$Element[]", 3_000),
    ("Births$Late", 5_000),
    ("Births$Native", 3_000),
    ("Births$Reflected", 3_000),
    ("Births$Virtual", 3_000),
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
        if name.starts_with("Births$") && !name.contains("$$Lambda") {
            *objects.entry(name.to_owned()).or_default() +=
                row["objects"].as_u64().expect("a number");
        }
    }
    objects
}

fn library() -> Option<PathBuf> {
    c_library("java-tests/lifetimes/native_objects.c")
}

/// Returns the objects that are kept and made before the first dump, or after it.
fn kept(is_early: bool) -> BTreeMap<String, u64> {
    let has_native = library().is_some();
    let kept = KEPT.into_iter().filter(|&(class, _)| {
        (class == "Births$Early") == is_early && (has_native || class != "Births$Native")
    });
    kept.map(|(class, objects)| (class.to_owned(), objects))
        .collect()
}

/// Runs the program, with a dump in the middle and one at the end.
fn run(cell: &Cell, dumper: &str) -> Finished {
    let options = format!("heap=all,lifetimes=y,format=b,depth=4,dumper={dumper},file=x.hprof");
    let vm_options = [&cell.vm_options()[..], &["-Xmx512m", "-Xms512m"]].concat();
    let program = Program::java(cell.jvm, &options, &vm_options).program("births", "Births");
    let run = match library() {
        Some(library) => program.arg(library).start(),
        None => program.start(),
    };
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

on_paired_cells!(births_are_exact, row 1);

fn births_are_exact(cell: &Cell) {
    births_are_exact_by(cell, "vm");
    births_are_exact_by(cell, "jvmti");
}

/// Checks that an answer by groups and by holder has exactly what was made between the dumps.
fn assert_made_between(file: &Path, context: &str) {
    let both = ["--dump=1", "--dump=2", "--top=0"];
    let made = hprof(&[&["diff", "--objects"][..], &both].concat(), file);
    let by = |kind: &str| {
        let mut all = made.as_array().expect("answers").iter();
        all.find(|one| one["by"] == kind).expect("an answer")
    };
    for kind in ["class", "site"] {
        let objects = program_objects(&by(kind)["groups"]);
        assert_eq!(objects, kept(false), "{context}");
    }
    // The list is older; its array and its elements are new.
    assert_documented(&by("holder")["holders"], "appeared");
    let mut holders = by("holder")["holders"].as_array().expect("rows").iter();
    let late = holders.find(|row| row["holder"] == "static field Births.late");
    let late = late.expect("the list of the new ones");
    let what = late["what"].as_str().expect("a name");
    assert!(what.starts_with("java.util.ArrayList @ "), "{context}");
    let objects = kept(false).values().sum::<u64>() + 1;
    assert_eq!(late["objects"], objects, "{context}");
    assert!(
        late["retained"].as_u64() >= late["shallow"].as_u64(),
        "{context}"
    );
}

/// Returns the objects that a static field keeps, those made in the second half, and the least and the most age of them.
fn made_of(leaks: &serde_json::Value, field: &str) -> [u64; 4] {
    let holder = format!("static field {field}");
    let suspects = |list: &str| leaks[list].as_array().expect("suspects").iter();
    let mut suspects = ["suspects", "not_growing", "bounded"]
        .into_iter()
        .flat_map(suspects);
    let suspect = suspects.find(|suspect| suspect["holder"] == *holder);
    let made = &suspect.expect("the field")["made"];
    let number = |name: &str| made[name].as_u64().expect("a number");
    ["objects", "second_half", "youngest_millis", "oldest_millis"].map(number)
}

/// Checks the ages of what the two lists keep; the oldest object was at least so old when the program ended.
fn assert_ages_of_suspects(file: &Path, oldest: u64, context: &str) {
    let leaks = hprof(&["leaks", "--threshold", "1"], file);
    let made = |list: &str| made_of(&leaks, &format!("Births.{list}"));
    // The array of the list counts, the list itself belongs to the class.
    let [objects, second_half, youngest, most] = made("early");
    assert_eq!((objects, second_half), (10_001, 0), "{context}");
    assert!(
        youngest >= 1_000 && most >= oldest,
        "{context}: {youngest} to {most}, {oldest}"
    );
    let [objects, _, youngest, of_late] = made("late");
    assert_eq!(objects, kept(false).values().sum::<u64>() + 1, "{context}");
    assert!(
        youngest <= of_late && of_late < most,
        "{context}: {youngest} to {of_late}"
    );
}

fn births_are_exact_by(cell: &Cell, dumper: &str) {
    let context = format!("{cell}, {dumper}");
    let run = run(cell, dumper);
    let file = run.path("x.hprof");
    assert_made_between(&file, &context);

    let old = hprof(&["who", "--older", "1s", "--top=0"], &file);
    let old = program_objects(&old);
    assert_eq!(old.get("Births$Early"), Some(&10_000), "{context}");
    let never = hprof(&["who", "--older", "1h", "--top=0"], &file);
    assert_eq!(program_objects(&never), BTreeMap::new(), "{context}");

    assert_ages_of_suspects(&file, run.printed("early at least") as u64, &context);

    let ages = hprof(&["histogram", "--by", "age"], &file);
    let ages = ages["rows"].as_array().expect("rows").iter();
    let known = ages.filter(|row| row["name"] != "<not tracked>");
    let known: u64 = known
        .map(|row| row["objects"].as_u64().expect("a number"))
        .sum();
    let all = kept(true).values().chain(kept(false).values()).sum::<u64>();
    assert!(known >= all, "{context}: {known}");

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
        "{context}: {}",
        unknown.len()
    );
    assert!(first_births.len() >= same.len() + 6_000, "{context}");

    let mode = fs::metadata(&first).expect("the file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(run.files().iter().all(|file| !file.starts_with(".hprof")));
}

/// The batches of `Ages`, each with a dump after it.
const BATCHES: usize = 4;
/// An array and its elements.
const BATCH: u64 = 5_001;

on_paired_cells!(ages_of_suspects_are_exact, row 2);

fn ages_of_suspects_are_exact(cell: &Cell) {
    let options = "heap=all,lifetimes=y,format=b,depth=4,file=x.hprof";
    let vm_options = [&cell.vm_options()[..], &["-Xmx512m", "-Xms512m"]].concat();
    let program = Program::java(cell.jvm, options, &vm_options);
    let run = program.program("births", "Ages").start();
    for batch in 0..BATCHES {
        run.wait_for_output(&format!("made {batch}"));
        run.hprof_well("dump", &[]);
        fs::write(run.path(&format!("go{batch}")), "").expect("a file");
    }
    let run = run.wait();
    let dumps = (1..=BATCHES + 1).map(|dump| match dump {
        1 => "x.hprof.births".to_owned(),
        later => format!("x.hprof.{later}.births"),
    });
    let times: Vec<u64> = dumps
        .map(|dump| births(&run.path(&dump)).0.millis)
        .collect();
    let end = times[BATCHES];
    let leaks = hprof(&["leaks", "--threshold", "1"], &run.path("x.hprof"));

    // The times, on the program's clock, between which the last dump must have been if all ages are right.
    let (mut earliest, mut latest) = (run.printed("end at"), f64::INFINITY);
    for batch in 0..BATCHES {
        let [objects, second_half, youngest, oldest] =
            made_of(&leaks, &format!("Ages.batch{batch}"));
        let context = format!("{cell}, batch {batch}: {youngest} to {oldest}, dumps at {times:?}");
        assert_eq!(objects, BATCH, "{context}");
        // It was made between two dumps.
        let (from, to) = (
            batch.checked_sub(1).map_or(0, |before| times[before]),
            times[batch],
        );
        assert!(end - to <= youngest && youngest <= oldest, "{context}");
        assert!(oldest <= end - from, "{context}");
        if 2 * from >= end {
            assert_eq!(second_half, BATCH, "{context}");
        }
        if 2 * to <= end {
            assert_eq!(second_half, 0, "{context}");
        }
        earliest = earliest.max(youngest as f64 + run.printed(&format!("last {batch} after")));
        latest = latest.min(oldest as f64 + run.printed(&format!("array {batch} by")));
    }
    // The ages are differences of whole milliseconds.
    assert!(
        earliest <= latest + 2.0,
        "{cell}: {earliest} to {latest}, {leaks}"
    );
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
    // What does not need the births continues without them.
    assert!(hprof(&["leaks"], &run.path("x.hprof"))["suspects"][0]["made"].is_null());
    fs::remove_file(run.path("x.hprof.2.births")).expect("the file");
    refused(&["who", "--older", "1m"], "heap=all,lifetimes=y");
}
