//! SITE LIFETIMES: how long objects live, on programs of `java-tests/lifetimes` whose first comments tell the truth.

use std::collections::BTreeMap;
use std::process::Command;

use crate::cells::Cell;
use crate::harness::{Program, any_jvm, c_library, cli};

/// The fate of so many objects of each class: `dead 3-4`.
type Lifetimes = BTreeMap<String, BTreeMap<String, u64>>;

const OPTIONS: &str = "heap=sites,lifetimes=y,cutoff=0,file=x.txt";
/// No collection but those that the program forces.
const ROOM: [&str; 2] = ["-Xmx1g", "-Xms1g"];

const FATES: [(&str, &str); 15] = [
    ("Lifetimes$Temporary", "dead 0"),
    ("Lifetimes$Virtual", "dead 0"),
    ("Lifetimes$Dead1", "dead 1"),
    ("Lifetimes$Dead2", "dead 2"),
    ("Lifetimes$Dead4", "dead 3-4"),
    ("Lifetimes$Dead7", "dead 5-9"),
    ("Lifetimes$Dead12", "dead 10-19"),
    ("Lifetimes$Dead22", "dead 20+"),
    ("Lifetimes$Live3", "live 3-4"),
    ("Lifetimes$Live6", "live 5-9"),
    ("Lifetimes$Live12", "live 10-19"),
    ("Lifetimes$Live22", "live 20+"),
    ("Lifetimes$Element[]", "dead 1"),
    ("Lifetimes$Reflected", "dead 2"),
    ("Lifetimes$Cloned", "dead 3-4"),
];

/// Reads the section of a file.
fn lifetimes(text: &str) -> Lifetimes {
    let (_, section) = text
        .split_once("\nSITE LIFETIMES BEGIN (")
        .expect("the section");
    let (section, _) = section
        .split_once("\nSITE LIFETIMES END\n")
        .expect("its end");
    let mut lifetimes = Lifetimes::new();
    for line in section.lines().skip(2) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [state, survived, _, _, objects, _, class] = words[..] else {
            continue;
        };
        let fate = match survived {
            "-" => state.to_owned(),
            _ => format!("{state} {survived}"),
        };
        let objects: u64 = objects.parse().expect("a number");
        *lifetimes
            .entry(class.to_owned())
            .or_default()
            .entry(fate)
            .or_default() += objects;
    }
    lifetimes
}

/// Returns the fates of a class except for the peak.
fn fates(lifetimes: &Lifetimes, class: &str) -> BTreeMap<String, u64> {
    let mut fates = lifetimes.get(class).cloned().unwrap_or_default();
    fates.remove("peak");
    fates
}

/// Returns the argument that loads the native method, empty if it cannot be compiled.
fn library() -> String {
    let library = c_library("java-tests/lifetimes/native_objects.c");
    library.map_or_else(String::new, |path| path.to_string_lossy().into_owned())
}

fn check(cell: &Cell, text: &str) {
    let lifetimes = lifetimes(text);
    let native = (!library().is_empty()).then_some(("Lifetimes$Native", "dead 2"));
    for (class, fate) in FATES.into_iter().chain(native) {
        let expected = BTreeMap::from([(fate.to_owned(), 10_000)]);
        assert_eq!(fates(&lifetimes, class), expected, "{cell}: {class}");
    }
}

fn program(cell: &Cell, options: &str, name: &str) -> Program {
    let vm_options = [&cell.vm_options()[..], &ROOM].concat();
    let program = Program::java(cell.jvm, options, &vm_options);
    program.program("lifetimes", name).arg(library())
}

on_paired_cells!(lifetimes_are_exact, row 0);

fn lifetimes_are_exact(cell: &Cell) {
    let run = program(cell, OPTIONS, "Lifetimes").run_well();
    check(cell, &run.read("x.txt"));
}

on_paired_cells!(lifetimes_are_exact_after_an_attach, row 2);

fn lifetimes_are_exact_after_an_attach(cell: &Cell) {
    let vm_options = [&cell.vm_options()[..], &ROOM].concat();
    let run = Program::bare_java(cell.jvm, &vm_options)
        .program("lifetimes", "Lifetimes")
        .arg(library())
        .arg("wait")
        .start();
    run.wait_for_output("ready");
    run.hprof_well(
        "attach",
        &["heap=sites,lifetimes=y,cutoff=0,verbose=n,file=x.txt"],
    );
    std::fs::write(run.path("go"), "").expect("a file");
    let run = run.wait();
    let text = run.read("x.txt");
    check(cell, &text);
    let before = |fates: &BTreeMap<String, u64>| fates.contains_key("before");
    assert!(lifetimes(&text).values().any(before));
}

/// Runs `hprof` on a file.
fn hprof(args: &[&str]) -> String {
    let output = Command::new(cli()).args(args).output().expect("hprof");
    assert!(output.status.success(), "{args:?}: {output:?}");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn a_binary_file_has_the_same_and_the_peak() {
    let cell = Cell::any();
    let options = "heap=sites,lifetimes=y,cutoff=0,file=x.hprof";
    let run = program(&cell, options, "Peak").run_well();
    let file = run.path("x.hprof");
    let file = file.to_str().expect("a path");
    let text = hprof(&["text", file]);
    assert!(!text.contains("(SITE LIFETIMES"), "it is a section in text");
    let peak = |class: &str| lifetimes(&text)[class].get("peak").copied();
    assert_eq!(
        ["Peak$Early", "Peak$High", "Peak$Late"].map(peak),
        [Some(30_000), Some(60_000), None]
    );
    // The agent forces one at the beginning.
    assert!(text.contains(", peak = collection 3 at "));
    let late = BTreeMap::from([("live 2".to_owned(), 20_000)]);
    assert_eq!(fates(&lifetimes(&text), "Peak$Late"), late);
    for (value, row) in [
        ("peak-objects", "60,000"),
        ("survived-objects", "60,000"),
        ("temporary-bytes", "Garbage"),
    ] {
        let top = hprof(&["top", "--value", value, "--by", "type", file]);
        assert!(top.contains(row), "{value}: {top}");
    }
    hprof(&["check", file]);

    // 20,000 are alive at the end, a moment old.
    let top = hprof(&["top", "--by", "age", "--json", file]);
    let top: serde_json::Value = serde_json::from_str(&top).expect("JSON");
    let rows = top["rows"].as_array().expect("rows").iter();
    let young = rows.filter(|row| row["name"].as_str().is_some_and(|age| age.starts_with('<')));
    let young = young.filter_map(|row| row["self"].as_u64());
    assert!(young.sum::<u64>() >= 20_000 * 24, "{top}");
    let refused = Command::new(cli())
        .args(["top", "--by", "age", "--value", "peak-bytes", file])
        .output()
        .expect("hprof");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("`peak-bytes` has no ages"));

    let exported = hprof(&["export", "--to", "json", file]);
    let exported: serde_json::Value = serde_json::from_str(&exported).expect("JSON");
    let history = &exported["history"];
    assert_eq!(history["peak"]["collection"], 3);
    let points = history["course"]["all"].as_array().expect("points");
    let most = points.iter().filter_map(|point| point[2].as_u64()).max();
    assert!(most >= Some(90_000 * 32), "{most:?}");
    let ages = history["ages"].as_array().expect("ages").iter();
    let objects = ages.filter_map(|row| row[4].as_u64()).sum::<u64>();
    assert!(objects >= 20_000, "{objects}");

    // Conditions know the values: nothing has changed.
    let gate = |condition: &str| {
        let mut command = Command::new(cli());
        let output = command.args(["diff", "--fail-if", condition, file, file]);
        output.output().expect("hprof").status.code()
    };
    for value in ["peak-bytes", "survived-objects", "temporary-bytes"] {
        assert_eq!(gate(&format!("{value} > 0")), Some(0), "{value}");
        assert_eq!(gate(&format!("{value} < 1")), Some(3), "{value}");
    }
}

#[test]
fn estimates_of_lifetimes_are_near_the_truth() {
    let cell = Cell::any();
    let options = format!("{OPTIONS},sample=512");
    let run = program(&cell, &options, "Lifetimes").run_well();
    let lifetimes = lifetimes(&run.read("x.txt"));
    for (class, fate) in FATES {
        let of_class = fates(&lifetimes, class);
        // Some 460 of 10,000 objects of 24 bytes are seen, so this is more than four standard deviations.
        let estimate = of_class.get(fate).copied().unwrap_or_default();
        assert!((8_000..12_000).contains(&estimate), "{class}: {of_class:?}");
        assert_eq!(
            of_class.values().sum::<u64>(),
            estimate,
            "{class}: {of_class:?}"
        );
    }
}

#[test]
fn text_has_no_lifetimes_unless_asked_for() {
    let jvm = any_jvm();
    let run = Program::new(jvm, "heap=sites,file=x.txt", "Hello").run_well();
    let text = run.read("x.txt");
    assert!(!text.contains("SITE LIFETIMES BEGIN"));
}
