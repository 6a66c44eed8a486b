//! `budget=<percent>%`: the methods that are called most are left out while counting all calls would cost more.

use super::{CLOCKS, calls, one, program};
use crate::harness::{Jvm, any_jvm};
use crate::profile::Profile;

on_every_jvm!(a_method_that_is_called_too_often_is_left_out_and_named, and 17);

fn a_method_that_is_called_too_often_is_left_out_and_named(jvm: &Jvm) {
    for clock in CLOCKS {
        is_left_out_and_named(jvm, clock);
    }
}

fn is_left_out_and_named(jvm: &Jvm, clock: &str) {
    let options = format!("cpu=times,{clock},cutoff=0,include=Often,budget=1%,file=x.txt");
    let run = program(jvm, &options, "Often").run_well();
    assert_eq!(run.stdout, "200001000\n", "{}", jvm.feature);
    let profile = Profile::parse(&run.read("x.txt"));
    let times = one(&profile);
    // What was counted until then is there, and is said.
    let counted = calls(times, "Often.often");
    assert!(
        0 < counted && counted < 200_000_000,
        "{} {clock}: {counted}",
        jvm.feature
    );
    let [(method, until_then), ..] = &times.uncounted[..] else {
        panic!("{} {clock}: {:?}", jvm.feature, times.uncounted)
    };
    assert_eq!(method, "Often.often()V");
    assert!(*until_then <= counted, "{until_then}, {counted}");
    // All other calls are counted, before and after.
    for (method, count) in [("Often.rarely", 1_000), ("Often.round", 100)] {
        assert_eq!(
            calls(times, method),
            count,
            "{} {clock} {method}",
            jvm.feature
        );
    }
    let remarks = run.top("x.txt", "calls")["remarks"].to_string();
    let said = "counting all calls cost more than budget=1%";
    assert!(remarks.contains(said), "{remarks}");
    assert!(remarks.contains("Often.often()V"), "{remarks}");
}

#[test]
fn within_the_budget_every_call_is_counted() {
    let options = "cpu=times,cutoff=0,include=Often,budget=100%,file=x.txt";
    let run = program(any_jvm(), options, "Often").arg("few").run_well();
    let profile = Profile::parse(&run.read("x.txt"));
    let times = one(&profile);
    assert_eq!(calls(times, "Often.often"), 1_000);
    assert_eq!(times.uncounted, []);
}
