//! SITE LIFETIMES: how long objects live, on programs of `java-tests/lifetimes` whose first comments tell the truth.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
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

/// The number of collections survived in a fate, from least to most: `dead 3-4..5-9` has 3 and 9.
fn survived(fate: &str) -> (u32, u32) {
    let (_, classes) = fate.split_once(' ').unwrap_or(("", "0"));
    let classes = classes.split_whitespace().next().unwrap_or("0");
    let (first, last) = classes.split_once("..").unwrap_or((classes, classes));
    let least = first.trim_end_matches('+').split('-').next();
    let most = match last.ends_with('+') {
        true => Some("4000000000"),
        false => last.split('-').next_back(),
    };
    let number = |text: Option<&str>| text.and_then(|text| text.parse().ok());
    (number(least).expect("least"), number(most).expect("most"))
}

/// Checks that nothing in the section is wrong, where each class has so many objects. Returns how many classes are known exactly:
/// on a busy machine, looks come so late that an interval is all that is known.
fn check(cell: &Cell, text: &str, truths: &[(&str, &str)], objects: &RangeInclusive<u64>) -> usize {
    let lifetimes = lifetimes(text);
    let mut exact = 0;
    for (class, fate) in truths {
        let found = fates(&lifetimes, class);
        assert!(
            objects.contains(&found.values().sum()),
            "{cell}: {class} {found:?}"
        );
        let (least, most) = survived(fate);
        for told in found.keys() {
            assert_eq!(told[..4], fate[..4], "{cell}: {class} {found:?}");
            let (from, to) = survived(told);
            // These collectors count a collection when its dead objects are found: two may be taken for one.
            let is_low = !cell.ends_with_a_gc() && to <= most;
            let is_within = from <= least && most <= to;
            assert!(is_within || is_low, "{cell}: {class} {found:?}");
        }
        exact += usize::from(found.keys().eq([fate]));
    }
    exact
}

fn program(cell: &Cell, options: &str, name: &str) -> Program {
    let vm_options = [&cell.vm_options()[..], &ROOM].concat();
    let program = Program::java(cell.jvm, options, &vm_options);
    program.program("lifetimes", name).arg(library())
}

on_paired_cells!(lifetimes_are_exact, row 5);

/// Tries a run again whose looks came late.
fn assert_known(cell: &Cell, is_known: impl Fn() -> bool) {
    let is_known = (0..3).any(|_| is_known());
    assert!(is_known, "{cell}: looks come late in each run");
}

fn assert_exact(cell: &Cell, text: impl Fn() -> String) {
    let native = (!library().is_empty()).then_some(("Lifetimes$Native", "dead 2"));
    let truths: Vec<(&str, &str)> = FATES.into_iter().chain(native).collect();
    assert_known(cell, || {
        let exact = check(cell, &text(), &truths, &(10_000..=10_000));
        exact * 2 > truths.len()
    });
}

fn lifetimes_are_exact(cell: &Cell) {
    assert_exact(cell, || {
        let run = program(cell, OPTIONS, "Lifetimes").run_well();
        run.read("x.txt")
    });
}

on_paired_cells!(lifetimes_are_exact_after_an_attach, row 6);

fn lifetimes_are_exact_after_an_attach(cell: &Cell) {
    assert_exact(cell, || {
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
        let text = run.wait().read("x.txt");
        let before = |fates: &BTreeMap<String, u64>| fates.contains_key("before");
        assert!(lifetimes(&text).values().any(before));
        text
    });
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
    // All objects that the program makes, and some others.
    let made = points.last().and_then(|point| point[5].as_u64());
    assert!(made >= Some(110_000), "{made:?}");
    let ages = history["ages"].as_array().expect("ages").iter();
    let objects = ages.filter_map(|row| row[4].as_u64()).sum::<u64>();
    assert!(objects >= 20_000, "{objects}");

    // Conditions know the values: nothing has changed in a copy.
    let copy = run.path("copy.hprof");
    std::fs::copy(file, &copy).expect("a copy");
    let gate = |condition: &str| {
        let mut command = Command::new(cli());
        let output = command
            .args(["diff", "--fail-if", condition, file])
            .arg(&copy);
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
    // Some 460 of 10,000 objects of 24 bytes are seen, so this is more than four standard deviations.
    let estimates = 8_000..=11_999;
    assert_known(&cell, || {
        let run = program(&cell, &options, "Lifetimes").run_well();
        check(&cell, &run.read("x.txt"), &FATES, &estimates) == FATES.len()
    });
}

#[test]
fn text_has_no_lifetimes_unless_asked_for() {
    let jvm = any_jvm();
    let run = Program::new(jvm, "heap=sites,file=x.txt", "Hello").run_well();
    let text = run.read("x.txt");
    assert!(!text.contains("SITE LIFETIMES BEGIN"));
}
