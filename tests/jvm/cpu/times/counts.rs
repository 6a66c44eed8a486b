//! Every call counts.

use super::{ALL, CLOCKS, STACK, calls, one, profile, profile_of_same_output, program};
use crate::cells::Cell;
use crate::harness::{Jvm, Program, any_jvm};
use crate::profile::Profile;

const CALLS: [(&str, u64); 7] = [
    ("Calls.fib", 1973),
    ("Calls.leaf", 300),
    ("Calls.spin", 300),
    ("Calls.middle", 100),
    ("Calls.thrower", 220),
    ("Calls.locked", 50),
    ("Calls.main", 1),
];

on_every_jvm!(each_call_is_counted, and 26);

fn each_call_is_counted(jvm: &Jvm) {
    for depth in ["", "depth=1", "depth=2", "depth=30"] {
        for clock in CLOCKS {
            let profile = profile_of_same_output(jvm, &format!("{clock},{depth}"), "Calls");
            for (method, count) in CALLS {
                assert_eq!(
                    calls(one(&profile), method),
                    count,
                    "{} {clock} {depth} {method}",
                    jvm.feature
                );
            }
        }
    }
}

on_paired_cells!(each_call_is_counted_with_every_collector, row 4);

fn each_call_is_counted_with_every_collector(cell: &Cell) {
    let [unlock, choose] = cell.vm_options();
    for clock in CLOCKS {
        let options = format!("{ALL},{clock}");
        let run = Program::java(cell.jvm, &options, &[STACK, unlock, choose]);
        let run = run.program("times", "Calls").run_well();
        let profile = Profile::parse(&run.read("x.txt"));
        for (method, count) in CALLS {
            assert_eq!(
                calls(one(&profile), method),
                count,
                "{cell} {clock} {method}"
            );
        }
    }
}

on_every_jvm!(millions_of_calls_are_counted);

/// Leaves and other methods, returns and exceptions, virtual threads that change their carriers.
fn millions_of_calls_are_counted(jvm: &Jvm) {
    let options = format!("{ALL},clock=samples,include=EveryCall*,depth=64");
    let kinds: &[&str] = match jvm.feature {
        21.. => &["platform", "virtual"],
        _ => &["platform"],
    };
    for kind in kinds {
        let run = program(jvm, &options, "EveryCall").args(["4000000", kind]);
        let run = run.run_well();
        let profile = Profile::parse(&run.read("x.txt"));
        let truths = run.stdout.lines().map(|line| {
            let words: Vec<&str> = line.split(' ').collect();
            let [_, method, count] = words[..] else {
                panic!("{line}")
            };
            (method, count.parse::<u64>().expect("a count"))
        });
        let truths: Vec<(&str, u64)> = truths.collect();
        assert!(truths.len() > 10, "{}", run.stdout);
        for (method, count) in truths {
            assert_eq!(
                calls(one(&profile), method),
                count,
                "{} {kind} {method}",
                jvm.feature
            );
        }
    }
}

on_every_jvm!(a_leaf_that_is_left_twice_harms_nobody);

fn a_leaf_that_is_left_twice_harms_nobody(jvm: &Jvm) {
    let options = format!("{ALL},clock=samples,include=Unbalanced$Counted");
    let run = program(jvm, &options, "Unbalanced").run_well();
    assert_eq!(run.stdout, "ended\n");
    let profile = Profile::parse(&run.read("x.txt"));
    let leaf = calls(one(&profile), "Unbalanced$Counted.leaf");
    assert_eq!(leaf, 1_000, "{}", jvm.feature);
}

#[test]
fn traces_are_as_deep_as_asked() {
    for depth in [1, 3, 7] {
        let profile = profile(any_jvm(), &format!("depth={depth}"), "Calls").0;
        let deepest = profile
            .traces
            .values()
            .map(|trace| trace.frames.len())
            .max();
        assert_eq!(deepest, Some(depth));
    }
}

on_every_jvm!(frames_name_the_file_and_the_first_line, and 17);

fn frames_name_the_file_and_the_first_line(jvm: &Jvm) {
    let frames = |options| -> Vec<String> {
        let profile = profile(jvm, options, "Names").0;
        let times = one(&profile);
        let row = times.rows.iter().find(|row| row.method == "Names.second");
        let trace = row.expect("second").trace;
        profile.traces[&trace].frames[..2].to_vec()
    };
    assert_eq!(
        frames(""),
        ["Names.second(Names.java:12)", "Names.first(Names.java:7)"]
    );
    assert_eq!(
        frames("lineno=n"),
        [
            "Names.second(Names.java:Unknown line)",
            "Names.first(Names.java:Unknown line)"
        ]
    );
}

on_every_jvm!(only_the_classes_asked_for_are_timed, and 28);

fn only_the_classes_asked_for_are_timed(jvm: &Jvm) {
    let profile = profile_of_same_output(jvm, "include=Exits:Exits$La*|Exi*Base", "Exits");
    let times = one(&profile);
    let foreign = times
        .rows
        .iter()
        .find(|row| !row.method.starts_with("Exits"));
    assert!(foreign.is_none(), "{foreign:?}");
    assert_eq!(calls(times, "Exits.deep"), 10_001);
    assert_eq!(calls(times, "Exits$Lazy.<clinit>"), 1);
    assert_eq!(calls(times, "Exits$Base.<init>"), 5);
    assert_eq!(calls(times, "Exits$Fails.<init>"), 0);
}

#[test]
fn classes_can_be_left_out() {
    let profile = profile_of_same_output(any_jvm(), "exclude=java.*:Exits$*", "Exits");
    let times = one(&profile);
    assert_eq!(calls(times, "Exits.after"), 6);
    for row in &times.rows {
        let out = row.method.starts_with("java.") || row.method.starts_with("Exits$");
        assert!(!out, "{row:?}");
    }
}

on_every_jvm!(what_is_not_timed_is_said, and 25);

fn what_is_not_timed_is_said(jvm: &Jvm) {
    let profile = profile(jvm, "", "Calls").0;
    let notes = &one(&profile).not_timed;
    for reason in ["native", "intrinsic of the VM", "hidden classes"] {
        let note = notes.iter().find(|note| note.contains(reason));
        let count = note.and_then(|note| note.split(' ').next());
        let count = count.and_then(|count| count.parse::<u32>().ok());
        assert!(count.is_some_and(|count| count > 0), "{reason}: {notes:?}");
    }
    let finalizer = |note: &String| note.contains("java.lang.Object.finalize()V");
    assert!(notes.iter().any(finalizer), "few are named: {notes:?}");
}

#[test]
fn what_is_not_timed_is_not_said_where_it_is_to_be_quiet() {
    let quiet = profile(any_jvm(), "verbose=n", "Calls").0;
    assert_eq!(one(&quiet).not_timed, [""; 0]);
}

on_every_jvm!(a_dump_on_request_starts_counting_anew, and 26);

fn a_dump_on_request_starts_counting_anew(jvm: &Jvm) {
    let run = program(jvm, ALL, "Dumps").start();
    run.wait_for_output("one");
    run.send("QUIT");
    let file = run.path("x.txt");
    run.wait_until(|| {
        std::fs::read_to_string(&file).is_ok_and(|text| text.contains("CPU TIME (ms) END"))
    });
    std::fs::write(run.path("go"), "").expect("a file");
    let run = run.wait();
    assert!(run.status.success(), "{}", run.stderr);
    let profile = Profile::parse(&run.read("x.txt"));
    let steps: Vec<u64> = profile
        .times
        .iter()
        .map(|times| calls(times, "Dumps.step"))
        .collect();
    assert_eq!(steps, [100, 50], "{}", jvm.feature);
}

on_every_jvm!(without_depth_all_calls_are_one_row_of_the_empty_trace, and 17);

fn without_depth_all_calls_are_one_row_of_the_empty_trace(jvm: &Jvm) {
    let (profile, _) = profile(jvm, "depth=0,include=Calls", "Calls");
    let times = one(&profile);
    let [row] = &times.rows[..] else {
        panic!("{}: {:?}", jvm.feature, times.rows)
    };
    assert_eq!((row.trace, &*row.method), (300_000, "<empty>"));
    // The calls of fib, leaf, spin, middle, thrower, locked and main, according to the program's comment.
    let calls = 1_973 + 300 + 300 + 100 + 220 + 50 + 1;
    assert_eq!(row.calls, calls, "{}", jvm.feature);
    assert_eq!(profile.traces.len(), 1, "the empty trace alone");
}
