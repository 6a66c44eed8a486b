//! `Alloc`: every number in its comments, on every JVM with every garbage collector.

use super::{Cell, Counts, EXACT, Layout, count, differences, dump, program};
use crate::harness::{Finished, Jvm};
use crate::profile::{Profile, Sites};

/// The allocations of `Alloc` in a method (or several; anywhere if empty), the number that stays alive, and the size of
/// each.
struct Line {
    class: &'static str,
    method: &'static str,
    allocated: u64,
    live: u64,
    size: fn(&Layout) -> u64,
}

const fn line(
    class: &'static str,
    method: &'static str,
    allocated: u64,
    live: u64,
    size: fn(&Layout) -> u64,
) -> Line {
    Line {
        class,
        method,
        allocated,
        live,
        size,
    }
}

const KEPT: fn(&Layout) -> u64 = |layout| layout.object(12, 1);

const LINES: [Line; 17] = [
    line("Alloc$Kept", "", 1_070, 1_070, KEPT),
    line("Alloc$Kept", "Alloc.reflected", 60, 60, KEPT),
    line("Alloc$Dropped", "", 5_000, 0, |layout| layout.object(1, 0)),
    line("Alloc$Base", "", 0, 0, |layout| layout.object(4, 0)),
    line("Alloc$Derived", "", 200, 200, |layout| layout.object(4, 1)),
    line("int[]", "Alloc.intArrays", 300, 300, |layout| {
        layout.array(64)
    }),
    line(
        "java.lang.String[]",
        "Alloc.objArrays",
        100,
        100,
        |layout| layout.references(4),
    ),
    line("long[][]", "Alloc.grids", 50, 50, |layout| {
        layout.references(3)
    }),
    line("long[]", "Alloc.grids", 150, 150, |layout| layout.array(40)),
    // 70 clones, and the original.
    line("int[]", "Alloc.clones", 71, 70, |layout| layout.array(32)),
    line("java.lang.StringBuilder", "Alloc.make", 120, 120, BUILDER),
    line("java.lang.StringBuilder", "Alloc.viaA", 40, 40, BUILDER),
    line("java.lang.StringBuilder", "Alloc.viaB", 80, 80, BUILDER),
    // The contents of the builders; loading their class allocates others.
    line("byte[]", BUFFER, 120, 120, |layout| layout.array(4)),
    line("byte[]", BUFFER_A, 40, 40, |layout| layout.array(4)),
    line("byte[]", BUFFER_B, 80, 80, |layout| layout.array(4)),
    line("java.lang.Object[]", "Alloc.<clinit>", 1, 1, |layout| {
        layout.references(6_000)
    }),
];

const BUFFER: &str = "java.lang.StringBuilder.<init> Alloc.make";
const BUFFER_A: &str = "java.lang.StringBuilder.<init> Alloc.viaA";
const BUFFER_B: &str = "java.lang.StringBuilder.<init> Alloc.viaB";

/// A byte, an int, an array; newer ones have a boolean too, which does not change the size.
const BUILDER: fn(&Layout) -> u64 = |layout| layout.object(5, 1);

/// Returns options with a depth that includes the caller of reflection.
fn options() -> String {
    format!("{EXACT},depth=12")
}

/// Returns the errors in a section, one line each. If dead objects may count as alive, that is allowed.
fn wrong(cell: &Cell, profile: &Profile, sites: &Sites, dead_may_live: bool) -> Vec<String> {
    let layout = cell.layout();
    let differs = |line: &&Line| {
        let counts = count(profile, sites, line.class, line.method);
        let size = (line.size)(&layout);
        let sized = counts.allocated_bytes == counts.allocated * size
            && counts.live_bytes == counts.live * size;
        let lives = counts.live == line.live || dead_may_live && counts.live >= line.live;
        !(counts.allocated == line.allocated && lives && sized)
    };
    let show = |line: &Line| {
        let counts = count(profile, sites, line.class, line.method);
        format!(
            "{} {}: {counts:?}, not {} allocated, {} live, {} bytes each",
            line.class,
            line.method,
            line.allocated,
            line.live,
            (line.size)(&layout)
        )
    };
    LINES.iter().filter(differs).map(show).collect()
}

/// Prints one line of the table in the test's output.
fn show(cell: &Cell, when: &str, profile: &Profile, sites: &Sites, wrong: &[String]) {
    let of = |class: &str, method: &str| -> Counts { count(profile, sites, class, method) };
    println!(
        "{:>13} {when}: Kept {}/{}  Dropped {}/{}  Derived {}/{}  long[] {}/{}  long[][] {}/{}  {}",
        cell.to_string(),
        of("Alloc$Kept", "").live,
        of("Alloc$Kept", "").allocated,
        of("Alloc$Dropped", "").live,
        of("Alloc$Dropped", "").allocated,
        of("Alloc$Derived", "").live,
        of("Alloc$Derived", "").allocated,
        of("long[]", "Alloc.grids").live,
        of("long[]", "Alloc.grids").allocated,
        of("long[][]", "Alloc.grids").live,
        of("long[][]", "Alloc.grids").allocated,
        if wrong.is_empty() { "right" } else { "WRONG" }
    );
}

fn parse(run: &Finished) -> Profile {
    Profile::parse(&run.read("x.txt"))
}

on_every_cell!(every_allocation_is_counted_on_every_collector_of_every_jvm, and 26);

fn every_allocation_is_counted_on_every_collector_of_every_jvm(cell: &Cell) {
    let vm_options = cell.vm_options();
    let run = program(cell.jvm, &options(), &vm_options, "Alloc").run_well();
    assert!(run.stdout.contains("kept 1910"), "{cell}: {}", run.stdout);
    let profile = parse(&run);
    let sites = profile.one_sites();
    assert_eq!(sites.notes.as_of_last_gc, !cell.ends_with_a_gc(), "{cell}");
    let wrong = wrong(cell, &profile, sites, !cell.ends_with_a_gc());
    show(cell, "at the end", &profile, sites, &wrong);
    assert!(wrong.is_empty(), "{cell}: {wrong:#?}");
}

on_every_cell!(live_means_live_on_every_collector_of_every_jvm, and 17);

fn live_means_live_on_every_collector_of_every_jvm(cell: &Cell) {
    let vm_options = cell.vm_options();
    let run = program(cell.jvm, &options(), &vm_options, "Waits")
        .arg("Alloc")
        .start();
    run.wait_for_output("ready");
    dump(&run, 1);
    run.send("TERM");
    let run = run.wait();
    assert_eq!(run.status.code(), Some(143), "{cell}: {}", run.stderr);
    let profile = parse(&run);
    let [asked, at_end] = &profile.sites[..] else {
        panic!("{cell}: two sections")
    };
    assert!(!asked.notes.as_of_last_gc, "{cell}");
    let wrong_now = wrong(cell, &profile, asked, false);
    show(cell, "  on demand", &profile, asked, &wrong_now);
    let wrong_at_end = wrong(cell, &profile, at_end, !cell.ends_with_a_gc());
    let faults = [wrong_now, wrong_at_end].concat();
    assert!(faults.is_empty(), "{cell}: {faults:#?}");
}

on_paired_cells!(classes_that_one_place_makes_are_told_apart_while_garbage_is_collected, row 5);

fn classes_that_one_place_makes_are_told_apart_while_garbage_is_collected(cell: &Cell) {
    let run = program(cell.jvm, EXACT, &cell.vm_options(), "OnePlace").run_well();
    let profile = parse(&run);
    for class in ["A", "B", "C", "D", "E", "F"] {
        let class = format!("OnePlace${class}[]");
        let counts = count(&profile, profile.one_sites(), &class, "OnePlace.make");
        assert_eq!(counts.allocated, 32_000, "{cell}: {class}");
        if cell.ends_with_a_gc() {
            assert_eq!(counts.live, 4, "{cell}: {class}");
        }
    }
}

on_every_jvm!(the_compilers_change_nothing, and 28);

fn the_compilers_change_nothing(jvm: &Jvm) {
    let truths: Vec<_> = LINES
        .iter()
        .map(|line| (line.class, line.method, line.allocated, line.live))
        .collect();
    // Each inlines allocations in its own way. The optimizing compiler may eliminate objects that are dropped at once.
    for vm_options in [&["-Xint"][..], &["-Xcomp", "-XX:TieredStopAtLevel=1"]] {
        let run = program(jvm, &options(), vm_options, "Alloc").run_well();
        let profile = parse(&run);
        let differences = differences(&profile, profile.one_sites(), &truths);
        assert!(
            differences.is_empty(),
            "{} {vm_options:?}: {differences:#?}",
            jvm.feature
        );
    }
}

on_every_cell!(counts_do_not_change_from_run_to_run with [g1], and 25);

fn counts_do_not_change_from_run_to_run(cell: &Cell) {
    // Buffers that threads hold from before the first event must not hide objects that fit into them, however large
    // they are.
    for heap in ["-Xmx256m", "-Xms64m", "-Xms1g"] {
        for threads in ["-XX:ParallelGCThreads=1", "-XX:ParallelGCThreads=4"] {
            let [unlock, choose] = cell.vm_options();
            let vm_options = [unlock, choose, heap, threads];
            let run = program(cell.jvm, &options(), &vm_options, "Alloc").run_well();
            let profile = parse(&run);
            let wrong = wrong(cell, &profile, profile.one_sites(), false);
            assert!(wrong.is_empty(), "{cell} {heap} {threads}: {wrong:#?}");
        }
    }
}

on_paired_cells!(where_the_vm_leaves_allocations_out_the_agent_says_so, row 6);

fn where_the_vm_leaves_allocations_out_the_agent_says_so(cell: &Cell) {
    let [unlock, choose] = cell.vm_options();
    let vm_options = [unlock, choose, "-XX:-UseTLAB"];
    let run = program(cell.jvm, &options(), &vm_options, "Alloc").run_well();
    let silent = matches!(cell.collector, "Serial" | "Parallel") && cell.jvm.feature < 21;
    let warning = "hprof: this VM cannot be made to report all allocations; some will be missing";
    assert_eq!(
        run.stderr.contains(warning),
        silent,
        "{cell}: {}",
        run.stderr
    );
    if !silent {
        let profile = parse(&run);
        let dropped = count(&profile, profile.one_sites(), "Alloc$Dropped", "");
        assert_eq!(dropped.allocated, 5_000, "{cell}");
    }
}
