//! What the macros of `cells.rs` run by default, read from their own text.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::cells::MATRIX;

const COLLECTORS: [&str; 5] = ["serial", "parallel", "g1", "z", "shenandoah"];

/// The JVMs that every row of cells has.
const ALWAYS: [u32; 3] = [11, 21, 27];

/// What tests of every JVM take in turn, with the JVM of the other age that each brings along.
const PAIRS: [(u32, u32); 4] = [(17, 27), (25, 11), (26, 21), (28, 11)];

/// The oldest JVM of the newer age.
const NEWER: u32 = 25;

/// The JVMs of what is declared with `and` and the first of a pair.
fn with_turn(turn: u32) -> BTreeSet<u32> {
    let pair = PAIRS.into_iter().find(|pair| pair.0 == turn);
    let (_, other) = pair.expect("a pair");
    BTreeSet::from([turn, other])
}

/// The parts of a text that follow each `start`, up to `end`.
fn between<'a>(text: &'a str, start: &'a str, end: &'a str) -> impl Iterator<Item = &'a str> {
    let parts = text.split(start).skip(1);
    parts.map(move |part| part.split_once(end).expect("an end").0)
}

fn number(text: &str) -> u32 {
    let digits = text.split(|c: char| !c.is_ascii_digit()).next();
    digits.and_then(|digits| digits.parse().ok()).expect(text)
}

/// The JVMs of the tests that a text declares.
fn versions(text: &str) -> BTreeSet<u32> {
    text.split("jdk_").skip(1).map(number).collect()
}

/// The cells of each row.
fn rows() -> BTreeMap<u32, BTreeSet<(u32, &'static str)>> {
    let rows = between(include_str!("cells.rs"), "($check:ident, row ", ");\n");
    let cells = |row: &'static str| {
        let cells = row.split("jdk_").skip(1).map(|cell| {
            let collector = cell.trim_end_matches([',', ' ']).rsplit(' ').next();
            (number(cell), collector.expect("a collector"))
        });
        cells.filter(|cell| cell.1 != "none").collect()
    };
    rows.map(|row| (number(row), cells(row))).collect()
}

/// What the tests below a folder say after `mark`, by their feature: the file, or the folder of files, in the folder of a subject.
fn taken(mark: &str) -> BTreeMap<String, Vec<u32>> {
    fn collect(
        folder: &Path,
        feature: Option<&str>,
        mark: &str,
        found: &mut BTreeMap<String, Vec<u32>>,
    ) {
        for entry in fs::read_dir(folder).expect("the tests") {
            let path = entry.expect("a file").path();
            let name = path.file_stem().expect("a name").to_string_lossy();
            let feature = feature.unwrap_or(&name);
            if path.is_dir() {
                collect(&path, Some(feature), mark, found);
            } else {
                let text = fs::read_to_string(&path).expect("a source");
                let calls = text.lines().filter(|line| line.starts_with("on_"));
                let numbers = calls.filter_map(|call| call.split_once(mark));
                let numbers = numbers.map(|(_, rest)| number(rest));
                found.entry(feature.to_owned()).or_default().extend(numbers);
            }
        }
    }
    let mut found = BTreeMap::new();
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/jvm");
    for subject in fs::read_dir(&tests).expect("the tests") {
        let subject = subject.expect("an entry").path();
        if subject.is_dir() {
            collect(&subject, None, mark, &mut found);
        }
    }
    found
}

#[test]
fn each_row_has_every_collector_and_the_rows_have_every_cell() {
    let rows = rows();
    assert_eq!(
        rows.keys().copied().collect::<Vec<_>>(),
        Vec::from_iter(0..10)
    );
    for (row, cells) in &rows {
        let jvms: BTreeSet<u32> = cells.iter().map(|cell| cell.0).collect();
        let collectors: BTreeSet<&str> = cells.iter().map(|cell| cell.1).collect();
        assert!(jvms.is_superset(&ALWAYS.into()), "row {row}: {jvms:?}");
        assert_eq!((cells.len(), jvms.len()), (5, 5), "row {row}");
        assert_eq!(collectors, COLLECTORS.into(), "row {row}");
    }
    let all: BTreeSet<(u32, &str)> = rows.into_values().flatten().collect();
    assert_eq!(all.len(), MATRIX.len() * COLLECTORS.len());
}

/// A row is enough for each measurement to meet each collector; all rows, for JVMs and collectors to meet.
#[test]
fn every_measurement_meets_every_collector() {
    let found = taken(", row ");
    // CPU samples: collectors.rs takes them in every cell.
    for feature in ["dump", "monitor", "sites", "times"] {
        let rows = found.get(feature).map_or(0, Vec::len);
        assert!(rows > 0, "no test of {feature} takes a row of cells");
    }
    let all: BTreeSet<u32> = found.into_values().flatten().collect();
    assert_eq!(all, BTreeSet::from_iter(0..10));
}

/// The pairs are all of the matrix, and each has both ages.
#[test]
fn tests_that_take_jvms_in_turn_run_on_an_older_and_a_newer_one() {
    let all: BTreeSet<u32> = PAIRS
        .into_iter()
        .flat_map(|(turn, other)| [turn, other])
        .collect();
    assert_eq!(all, MATRIX.into());
    for (turn, other) in PAIRS {
        assert_ne!(turn < NEWER, other < NEWER, "and {turn}");
    }
    // What is declared with `and 25` runs on its pair, and nothing of the matrix is forgotten.
    let text = include_str!("cells.rs");
    let mut arms = 0;
    for arm in between(text, "($check:ident, and ", ");\n    };\n") {
        let Some((runs, left_out)) = arm.split_once("left out") else {
            continue; // on_every_cell, whose arms follow
        };
        arms += 1;
        let turn = number(arm);
        let expected = with_turn(turn);
        assert_eq!(versions(runs), expected, "and {turn}");
        let rest: BTreeSet<u32> = BTreeSet::from(MATRIX)
            .difference(&expected)
            .copied()
            .collect();
        assert_eq!(versions(left_out), rest, "and {turn}");
    }
    // Two of them for JDKs.
    assert_eq!(arms, PAIRS.len() + 2);
    for arm in between(text, "($check:ident with $collectors:tt, and ", "    };\n") {
        let turn = number(arm);
        let expected = with_turn(turn);
        let (runs, left_out): (Vec<&str>, Vec<&str>) = arm
            .lines()
            .filter(|line| line.contains("jdk_"))
            .partition(|line| line.contains("runs $collectors"));
        assert_eq!(versions(&runs.concat()), expected, "and {turn}");
        let left_out = versions(&left_out.concat()).len();
        assert_eq!(left_out, MATRIX.len() - expected.len(), "and {turn}");
    }
}

/// A feature with enough tests runs on every JVM by default.
#[test]
fn the_tests_of_a_feature_take_every_jvm() {
    let found = taken(", and ");
    for (feature, versions) in &found {
        let taken: BTreeSet<u32> = versions.iter().copied().collect();
        let expected = PAIRS.len().min(versions.len());
        assert!(taken.len() >= expected, "{feature}: {versions:?}");
    }
    let all: BTreeSet<u32> = found.into_values().flatten().collect();
    assert_eq!(all, PAIRS.map(|pair| pair.0).into());
}
