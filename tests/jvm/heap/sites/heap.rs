//! Compares the sites with the VM's own view of its heap at the same moment.

use std::collections::{BTreeMap, BTreeSet};

use super::{Cell, EXACT, count, dump, program, sum};
use crate::profile::{Profile, Site, Sites};

/// Instances and bytes of each class, by name as in Java source.
struct Histogram {
    classes: BTreeMap<String, (u64, u64)>,
    /// Of all objects.
    bytes: u64,
}

impl Histogram {
    /// Parses `   1:    100000    2400000  [Ljava.lang.String; (java.base@17)`, and at the end `Total  instances
    /// bytes`.
    fn parse(text: &str) -> Self {
        let mut classes = BTreeMap::<String, (u64, u64)>::new();
        let mut total = None;
        for line in text.lines() {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let number = |text: &str| -> u64 { text.parse().expect("a number") };
            match fields[..] {
                ["Total", _, bytes] => total = Some(number(bytes)),
                [rank, instances, bytes, name, ..] if rank.ends_with(':') && rank != "num:" => {
                    let Ok(instances) = instances.parse::<u64>() else {
                        continue;
                    };
                    let entry = classes.entry(source_name(name)).or_default();
                    entry.0 += instances;
                    entry.1 += number(bytes);
                }
                _ => {}
            }
        }
        let total: u64 = total.unwrap_or_else(|| panic!("no histogram: {text}"));
        // If the VM names its fillers, they can be distinguished from objects.
        let named_fillers = |(class, _): &(&String, _)| class.starts_with("jdk.internal.vm.Filler");
        let fillers: u64 = classes
            .iter()
            .filter(named_fillers)
            .map(|(_, counts)| counts.1)
            .sum();
        let bytes = total - fillers;
        Self { classes, bytes }
    }
}

/// Turns `[[Ljava.lang.String;` into `java.lang.String[][]`.
fn source_name(name: &str) -> String {
    let element = name.trim_start_matches('[');
    let dimensions = name.len() - element.len();
    let element = match element {
        _ if dimensions == 0 => element,
        "Z" => "boolean",
        "B" => "byte",
        "C" => "char",
        "S" => "short",
        "I" => "int",
        "J" => "long",
        "F" => "float",
        "D" => "double",
        _ => &element[1..element.len() - 1],
    };
    format!("{}{}", without_number(element), "[]".repeat(dimensions))
}

/// Removes the number of hidden classes, which every source writes in its own way: `/0x00000008000c0400`,
/// `.1163157884`.
fn without_number(name: &str) -> &str {
    let end = name.rfind(['/', '.']).filter(|end| {
        let number = &name[end + 1..];
        number.starts_with("0x") || number.bytes().all(|byte| byte.is_ascii_digit())
    });
    &name[..end.unwrap_or(name.len())]
}

fn by_class(sites: &Sites) -> BTreeMap<String, (u64, u64)> {
    let mut classes = BTreeMap::<String, (u64, u64)>::new();
    for row in &sites.rows {
        let entry = classes.entry(without_number(&row.class).to_owned());
        let (instances, bytes) = entry.or_default();
        *instances += row.live;
        *bytes += row.live_bytes;
    }
    classes
}

/// Returns `true` for classes with which garbage collectors fill gaps: the histogram counts them, but no program
/// allocated them.
fn fills_holes(class: &str) -> bool {
    matches!(class, "int[]" | "java.lang.Object") || class.starts_with("jdk.internal.vm.Filler")
}

/// The most objects of a class of the JDK that may appear or disappear between two counts: `jcmd` is served by a thread
/// of the VM.
const COME_AND_GO: u64 = 20;

/// Describes the deviation of a class from the two histograms around the section.
fn misfit(
    class: &str,
    (live, bytes): (u64, u64),
    before: (u64, u64),
    after: (u64, u64),
) -> Option<String> {
    let low = (before.0.min(after.0), before.1.min(after.1));
    let high = (before.0.max(after.0), before.1.max(after.1));
    let slack = if class.starts_with("Histogram") {
        (0, 0)
    } else {
        (COME_AND_GO, COME_AND_GO * 128)
    };
    let enough = fills_holes(class) || live + slack.0 >= low.0 && bytes + slack.1 >= low.1;
    let fits = enough && live <= high.0 + slack.0 && bytes <= high.1 + slack.1;
    (!fits).then(|| format!("{class}: {live} of {bytes} bytes; histograms {before:?} {after:?}"))
}

fn start(cell: &Cell, name: &str) -> crate::harness::Running {
    let run = program(cell.jvm, EXACT, &cell.vm_options(), name).start();
    run.wait_for_output("ready");
    run
}

fn finish(run: crate::harness::Running) -> Profile {
    run.send("TERM");
    Profile::parse(&run.wait().read("x.txt"))
}

on_paired_cells!(live_objects_of_every_class_are_those_of_the_class_histogram, row 7);

fn live_objects_of_every_class_are_those_of_the_class_histogram(cell: &Cell) {
    let mut faults = Vec::new();
    let run = start(cell, "Histogram");
    // The first one of its kind allocates objects that stay.
    run.jcmd("GC.class_histogram");
    let before = Histogram::parse(&run.jcmd("GC.class_histogram"));
    dump(&run, 1);
    let after = Histogram::parse(&run.jcmd("GC.class_histogram"));
    let profile = finish(run);
    let sites = by_class(&profile.sites[0]);
    let classes: BTreeSet<&String> = before
        .classes
        .keys()
        .chain(after.classes.keys())
        .chain(sites.keys())
        .collect();
    let of = |map: &BTreeMap<String, (u64, u64)>, class: &String| {
        map.get(class).copied().unwrap_or_default()
    };
    for class in &classes {
        let (first, last) = (of(&before.classes, class), of(&after.classes, class));
        let fault = misfit(class, of(&sites, class), first, last);
        faults.extend(fault);
    }

    let live = sum(&profile.sites[0], |_| true).live_bytes;
    let share = live as f64 / after.bytes as f64;
    println!(
        "{:>13}: {live} live bytes, {} in the histogram ({share:.4}), {} classes",
        cell.to_string(),
        after.bytes,
        classes.len()
    );
    if (share - 1.0).abs() > 0.005 {
        faults.push(format!("{live} bytes of {}", after.bytes));
    }
    assert!(faults.is_empty(), "{cell}: {faults:#?}");
}

on_paired_cells!(the_programs_own_objects_are_where_they_were_made, row 8);

fn the_programs_own_objects_are_where_they_were_made(cell: &Cell) {
    let run = start(cell, "Histogram");
    dump(&run, 1);
    let profile = finish(run);
    let sites = &profile.sites[0];
    for (class, method, allocated, live) in [
        ("Histogram$Node", "Histogram.nodes", 200_000, 100_000),
        ("Histogram$Leaf", "Histogram.leaves", 60_000, 60_000),
        ("Histogram$Node[]", "Histogram.arrays", 1_000, 1_000),
        ("byte[]", "Histogram.bytes", 10_000, 5_000),
        ("long[]", "Histogram.longs", 3_000, 3_000),
        ("java.util.HashMap$Node", "Histogram.map", 30_000, 30_000),
    ] {
        let counts = count(&profile, sites, class, method);
        assert_eq!(
            (counts.allocated, counts.live),
            (allocated, live),
            "{cell}: {class}"
        );
    }
    // All objects of the program's own classes were allocated after the agent could see them.
    let nowhere = sum(sites, |row| {
        row.class.starts_with("Histogram") && is_empty(&profile, row)
    });
    assert_eq!(nowhere.allocated, 0, "{cell}");
}

fn is_empty(profile: &Profile, row: &Site) -> bool {
    profile.traces[&row.trace].frames == ["<empty>"]
}

on_paired_cells!(nearly_all_that_was_made_under_our_eyes_has_a_trace, row 9);

fn nearly_all_that_was_made_under_our_eyes_has_a_trace(cell: &Cell) {
    // Objects without a trace in an idle program's heap are older than the agent.
    let [idle, busy] = ["Waits", "Histogram"].map(|name| {
        let run = start(cell, name);
        dump(&run, 1);
        let profile = finish(run);
        let sites = &profile.sites[0];
        let nowhere = sum(sites, |row| is_empty(&profile, row));
        for row in sites.rows.iter().filter(|row| is_empty(&profile, row)) {
            assert_eq!(row.trace, 300_000, "{cell}: the empty trace has one number");
        }
        (nowhere.live_bytes, sum(sites, |_| true).live_bytes)
    });
    let seen = busy.1 - idle.0;
    let unexplained = busy.0.saturating_sub(idle.0);
    println!(
        "{:>13}: {} bytes before VMInit, {seen} after, {unexplained} of them without a trace",
        cell.to_string(),
        idle.0
    );
    assert!(idle.0 > 100_000, "{cell}: a JVM has objects when it starts");
    assert!(
        idle.0 < 8_000_000,
        "{cell}: and no more than that: {}",
        idle.0
    );
    assert!(seen > 15_000_000, "{cell}: {seen}");
    assert!(unexplained * 100 <= seen, "{cell}: {unexplained} of {seen}");
}

on_paired_cells!(what_was_there_before_counts_as_allocated_and_alive, row 0);

fn what_was_there_before_counts_as_allocated_and_alive(cell: &Cell) {
    let run = start(cell, "Waits");
    dump(&run, 1);
    let profile = finish(run);
    let rows: Vec<&Site> = profile.sites[0]
        .rows
        .iter()
        .filter(|row| is_empty(&profile, row))
        .collect();
    for class in ["java.lang.Class", "java.lang.String", "byte[]"] {
        let row = rows.iter().find(|row| row.class == class);
        let row = row.unwrap_or_else(|| panic!("{cell}: no {class} from before"));
        assert!(row.live > 100, "{cell}: {row:?}");
    }
}
