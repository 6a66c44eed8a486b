//! Every call is counted in its context, however methods are left.

use super::{CLOCKS, calls, one, profile_of_same_output, sum, ways};
use crate::harness::{Jvm, Program};
use crate::profile::Profile;

on_every_jvm!(methods_are_left_in_every_way, and 28);

fn methods_are_left_in_every_way(jvm: &Jvm) {
    for clock in CLOCKS {
        check_exits(jvm, clock);
    }
}

fn check_exits(jvm: &Jvm, clock: &str) {
    let profile = profile_of_same_output(jvm, &format!("depth=3,{clock}"), "Exits");
    let times = one(&profile);
    let truths = [
        ("Exits.a1", 7),
        ("Exits.a2", 7),
        ("Exits.a3", 7),
        ("Exits$Fails.<init>", 5),
        ("Exits$Base.<init>", 5),
        ("Exits.deep", 10_001),
        ("Exits.locked", 3),
        ("Exits.lambda$main$0", 9),
        ("Exits$Lazy.<clinit>", 1),
        ("Exits.pick", 40),
    ];
    for (method, count) in truths {
        assert_eq!(
            calls(times, method),
            count,
            "{} {clock} {method}",
            jvm.feature
        );
    }
    let from_main = |method| (vec![method, "Exits.main"], 6);
    let after = ways(&profile, times, "Exits.after");
    let after: Vec<_> = after
        .into_iter()
        .map(|(way, count)| (way[..2].to_vec(), count))
        .collect();
    assert_eq!(after, [from_main("Exits.after")], "{}", jvm.feature);
    let base = ways(&profile, times, "Exits$Base.<init>");
    assert_eq!(base.len(), 1);
    assert_eq!(
        base[0].0[..],
        ["Exits$Base.<init>", "Exits$Fails.<init>", "Exits.construct"]
    );
}

/// Runs a program with that much stack.
fn overflow(jvm: &Jvm, clock: &str, name: &str, vm_options: &[&str]) -> Profile {
    let options = format!("cpu=times,cutoff=0,file=x.txt,{clock}");
    let run = Program::java(jvm, &options, vm_options).program("times", name);
    let run = run.run_well();
    let bare = Program::bare_java(jvm, vm_options).program("times", name);
    assert_eq!(run.stdout, bare.run_well().stdout, "{}", jvm.feature);
    Profile::parse(&run.read("x.txt"))
}

on_every_jvm!(a_stack_overflow_is_survived_and_forgotten, and 25);

fn a_stack_overflow_is_survived_and_forgotten(jvm: &Jvm) {
    let stacks = [&["-Xss512k"][..], &["-Xint", "-Xss512k"], &["-Xss2m"]];
    for (clock, vm_options) in CLOCKS
        .iter()
        .flat_map(|&clock| stacks.map(|stack| (clock, stack)))
    {
        let profile = overflow(jvm, clock, "Overflow", vm_options);
        let times = one(&profile);
        assert_eq!(calls(times, "Overflow.survive"), 10);
        let seen: Vec<_> = ways(&profile, times, "Overflow.after")
            .into_iter()
            .map(|(way, count)| (way[..3].join(" "), count))
            .collect();
        let right = "Overflow.after Overflow.rest Overflow.main".to_owned();
        assert_eq!(
            seen,
            [(right, 1000)],
            "{} {clock} {vm_options:?}",
            jvm.feature
        );
    }
}

on_every_jvm!(a_stack_overflow_is_forgotten_by_the_method_that_catches_it, and 26);

fn a_stack_overflow_is_forgotten_by_the_method_that_catches_it(jvm: &Jvm) {
    for clock in CLOCKS {
        check_overflows(jvm, clock);
    }
}

fn check_overflows(jvm: &Jvm, clock: &str) {
    let profile = overflow(jvm, clock, "Overflows", &["-Xss1m"]);
    let times = one(&profile);
    assert_eq!(
        calls(times, "Overflows.after"),
        1000,
        "{} {clock}",
        jvm.feature
    );
    let from_main = sum(times, |row| {
        row.method == "Overflows.after"
            && profile.traces[&row.trace].frames[1].starts_with("Overflows.main(")
    });
    assert_eq!(from_main, 1000, "{} {clock}", jvm.feature);
}

on_every_jvm!(a_virtual_thread_has_its_calls_wherever_it_runs from 21, and 28);

fn a_virtual_thread_has_its_calls_wherever_it_runs(jvm: &Jvm) {
    for clock in CLOCKS {
        check_virtual(jvm, clock);
    }
}

fn check_virtual(jvm: &Jvm, clock: &str) {
    let profile = profile_of_same_output(jvm, clock, "Virtual21");
    let times = one(&profile);
    for (method, count) in [
        ("Virtual21.inner", 2_000),
        ("Virtual21.middle", 2_000),
        ("Virtual21.outer", 100),
    ] {
        assert_eq!(
            calls(times, method),
            count,
            "{} {clock} {method}",
            jvm.feature
        );
    }
    let way = vec![
        "Virtual21.leaf",
        "Virtual21.inner",
        "Virtual21.middle",
        "Virtual21.outer",
    ];
    let leaf = ways(&profile, times, "Virtual21.leaf");
    assert_eq!(leaf, [(way, 2_000)], "{} {clock}", jvm.feature);
}
