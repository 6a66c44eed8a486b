//! The effects of the options on sites.

use std::collections::BTreeSet;

use super::{EXACT, assert_no_idle_trace, count, goes_through, profile, program, sum};
use crate::harness::{Jvm, any_jvm, reader};
use crate::profile::{Profile, Site};

/// Returns the rows of a class whose trace's innermost frame is in a method.
fn rows_at<'a>(profile: &'a Profile, class: &str, method: &str) -> Vec<&'a Site> {
    let rows = profile.one_sites().rows.iter();
    rows.filter(|row| {
        let top = &profile.traces[&row.trace].frames[0];
        row.class == class && top.starts_with(&format!("{method}("))
    })
    .collect()
}

fn live(rows: &[&Site]) -> Vec<u64> {
    let mut live: Vec<u64> = rows.iter().map(|row| row.live).collect();
    live.sort_unstable();
    live
}

on_every_jvm!(callers_of_one_site_are_apart_where_the_depth_shows_them_and_one_where_it_does_not, and 26);

fn callers_of_one_site_are_apart_where_the_depth_shows_them_and_one_where_it_does_not(jvm: &Jvm) {
    for (depth, rows) in [
        (1, &[120][..]),
        (2, &[40, 80]),
        (3, &[40, 80]),
        (4, &[40, 80]),
    ] {
        let (profile, _) = profile(jvm, &format!("depth={depth}"), "Alloc");
        let made = rows_at(&profile, "java.lang.StringBuilder", "Alloc.make");
        assert_eq!(live(&made), rows, "{} depth={depth}", jvm.feature);
        for trace in made.iter().map(|row| &profile.traces[&row.trace]) {
            assert_eq!(trace.frames.len(), depth, "{}", jvm.feature);
        }
    }
}

on_every_jvm!(a_deep_trace_shows_the_whole_way, and 17);

fn a_deep_trace_shows_the_whole_way(jvm: &Jvm) {
    let (profile, _) = profile(jvm, "depth=100", "Alloc");
    let made = rows_at(&profile, "java.lang.StringBuilder", "Alloc.make");
    let mut callers: Vec<Vec<&str>> = made
        .iter()
        .map(|row| {
            let frames = profile.traces[&row.trace].frames.iter();
            frames
                .map(|frame| frame.split_once('(').expect("a file").0)
                .collect()
        })
        .collect();
    callers.sort();
    let way = |via| vec!["Alloc.make", via, "Alloc.twoCallers", "Alloc.main"];
    assert_eq!(
        callers,
        [way("Alloc.viaA"), way("Alloc.viaB")],
        "{}",
        jvm.feature
    );
    let line = &profile.traces[&made[0].trace].frames[0];
    assert_eq!(line, "Alloc.make(Alloc.java:26)");
}

on_every_jvm!(without_depth_there_is_one_row_a_class, and 28);

fn without_depth_there_is_one_row_a_class(jvm: &Jvm) {
    let (profile, _) = profile(jvm, "depth=0", "Alloc");
    let rows = &profile.one_sites().rows;
    assert!(rows.iter().all(|row| row.trace == 300_000));
    assert_eq!(profile.traces.len(), 1, "the empty trace alone");
    for (class, allocated, live) in [
        ("Alloc$Kept", 1_070, 1_070),
        ("Alloc$Dropped", 5_000, 0),
        ("Alloc$Derived", 200, 200),
        ("long[][]", 50, 50),
    ] {
        let of_class: Vec<_> = rows.iter().filter(|row| row.class == class).collect();
        let [row] = of_class[..] else {
            panic!("{}: {class}: {of_class:?}", jvm.feature)
        };
        assert_eq!(
            (row.allocated, row.live),
            (allocated, live),
            "{}: {class}",
            jvm.feature
        );
    }
}

on_every_jvm!(threads_are_apart_when_asked_and_one_otherwise, and 25);

fn threads_are_apart_when_asked_and_one_otherwise(jvm: &Jvm) {
    // The frame alone does not distinguish the threads.
    let (shared, _) = profile(jvm, "depth=1", "Alloc");
    let kept = rows_at(&shared, "Alloc$Kept", "Alloc.keepObjects");
    assert_eq!(live(&kept), [1_010], "{}", jvm.feature);
    assert!(shared.traces.values().all(|trace| trace.thread.is_none()));

    let (apart, _) = profile(jvm, "depth=1,thread=y", "Alloc");
    let kept = rows_at(&apart, "Alloc$Kept", "Alloc.keepObjects");
    assert_eq!(live(&kept), [10, 1_000], "{}", jvm.feature);
    for row in kept {
        let id = apart.traces[&row.trace].thread.expect("thread=y");
        let thread = apart.threads.iter().find(|thread| thread.id == id);
        let name = &thread.expect("a thread that has begun").name;
        assert_eq!(name, if row.live == 10 { "worker" } else { "main" });
    }
    let named = |serial: &u32| apart.traces[serial].thread.is_some();
    assert!(
        apart
            .traces
            .keys()
            .filter(|serial| **serial != 300_000)
            .all(named),
        "{}",
        jvm.feature
    );
}

on_every_jvm!(two_lines_are_two_rows_and_without_line_numbers_one, and 26);

fn two_lines_are_two_rows_and_without_line_numbers_one(jvm: &Jvm) {
    let (with, _) = profile(jvm, "depth=1", "AllocLines");
    let items = rows_at(&with, "AllocLines$Item", "AllocLines.items");
    let mut lines: Vec<(&str, u64)> = items
        .iter()
        .map(|row| (&*with.traces[&row.trace].frames[0], row.live))
        .collect();
    lines.sort_unstable();
    assert_eq!(
        lines,
        [
            ("AllocLines.items(AllocLines.java:15)", 30),
            ("AllocLines.items(AllocLines.java:16)", 70),
            ("AllocLines.items(AllocLines.java:17)", 100)
        ],
        "{}",
        jvm.feature
    );
    let (without, _) = profile(jvm, "depth=1,lineno=n", "AllocLines");
    let items = rows_at(&without, "AllocLines$Item", "AllocLines.items");
    assert_eq!(live(&items), [200], "{}", jvm.feature);
    assert_eq!(
        without.traces[&items[0].trace].frames,
        ["AllocLines.items(AllocLines.java:Unknown line)"]
    );
}

on_every_jvm!(without_a_gc_the_dead_may_count_as_alive, and 17);

fn without_a_gc_the_dead_may_count_as_alive(jvm: &Jvm) {
    for (gc, live) in [("gc=y", 0), ("gc=n", 5_000)] {
        // Room for everything the program allocates, so that the VM does not collect on its own in between.
        let options = format!("{EXACT},{gc}");
        let run = program(jvm, &options, &["-XX:+UseSerialGC", "-Xmn64m"], "Alloc").run_well();
        let profile = Profile::parse(&run.read("x.txt"));
        let sites = profile.one_sites();
        assert_eq!(sites.notes.as_of_last_gc, gc == "gc=n", "{}", jvm.feature);
        let dropped = count(&profile, sites, "Alloc$Dropped", "");
        assert_eq!(
            (dropped.allocated, dropped.live),
            (5_000, live),
            "{} {gc}",
            jvm.feature
        );
    }
}

#[test]
fn the_cutoff_leaves_out_rows_but_not_their_bytes() {
    let (all, _) = profile(any_jvm(), "", "NearlyFull");
    let whole = sum(all.one_sites(), |_| true);
    let whole = [
        whole.live_bytes,
        whole.live,
        whole.allocated_bytes,
        whole.allocated,
    ];
    let options = "heap=sites,cutoff=0.1,file=x.txt";
    let run = program(any_jvm(), options, &[], "NearlyFull").run_well();
    let cut = Profile::parse(&run.read("x.txt"));
    assert_no_idle_trace(&cut);
    let rows = &cut.one_sites().rows;
    assert!(!rows.is_empty() && rows.len() < all.one_sites().rows.len());
    // The parser checks that all percentages have a common total; this one knows which.
    for row in rows {
        let values = [row.live_bytes, row.live, row.allocated_bytes, row.allocated];
        let shares = values.into_iter().zip(whole);
        let mut shares = shares.map(|(value, whole)| value as f64 / whole as f64);
        assert!(shares.any(|share| share > 0.099), "{row:?}");
    }
}

#[test]
fn rows_of_what_is_dead_are_above_the_usual_cutoff() {
    let run = program(any_jvm(), "heap=sites,file=x.txt", &[], "Alloc").run_well();
    let profile = Profile::parse(&run.read("x.txt"));
    let sites = profile.one_sites();
    assert_eq!(count(&profile, sites, "Alloc$Kept", "").live, 1_070);
    let dropped = count(&profile, sites, "Alloc$Dropped", "");
    assert_eq!((dropped.allocated, dropped.live), (5_000, 0));
}

#[test]
fn without_a_dump_on_exit_there_is_none() {
    let run = program(any_jvm(), "heap=sites,doe=n,file=x.txt", &[], "Alloc").run_well();
    let profile = Profile::parse(&run.read("x.txt"));
    assert!(profile.sites.is_empty() && profile.traces.len() <= 1);
    assert_eq!(run.stderr, "");
}

on_every_jvm!(sites_and_samples_go_together, and 28);

fn sites_and_samples_go_together(jvm: &Jvm) {
    let (profile, run) = profile(jvm, "cpu=samples,interval=2", "NearlyFull");
    let sites = profile.one_sites();
    let nodes = count(&profile, sites, "NearlyFull$Node", "NearlyFull.main");
    assert_eq!(
        (nodes.allocated, nodes.live),
        (600_000, 100_000),
        "{}",
        jvm.feature
    );
    assert!(profile.samples().total > 10, "{}", jvm.feature);
    let shared = sites
        .rows
        .iter()
        .any(|row| goes_through(&profile, row, "NearlyFull.junk"));
    assert!(shared, "{}", jvm.feature);
    let said = "Dumping allocation sites ... CPU usage by sampling running threads ... done.\n";
    assert!(run.stderr.contains(said), "{}: {}", jvm.feature, run.stderr);
    let Some(collapse) = reader("HPROF2FLAMEGRAPH") else {
        return;
    };
    // It reads the samples after the sites.
    let output = std::process::Command::new(collapse)
        .arg(run.path("x.txt"))
        .output()
        .expect("stackcollapse-hprof");
    let counted: u32 = String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| line.rsplit_once(' ')?.1.parse::<u32>().ok())
        .sum();
    assert_eq!(counted, profile.samples().total, "{}", jvm.feature);
}

on_every_jvm!(one_row_a_class_and_trace, and 25);

fn one_row_a_class_and_trace(jvm: &Jvm) {
    for options in ["", "depth=1", "depth=20,thread=y", "lineno=n"] {
        let (profile, _) = profile(jvm, options, "Alloc");
        let mut seen = BTreeSet::new();
        for row in &profile.one_sites().rows {
            // Classes without a name of their own may share one.
            assert!(
                seen.insert((&row.class, row.trace)) || row.class.contains("Lambda"),
                "{} {options}: {row:?}",
                jvm.feature
            );
        }
    }
}
