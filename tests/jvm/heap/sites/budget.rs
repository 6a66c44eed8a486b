//! `budget=<percent>%`: counts that are exact while there is room, and estimates with a standard error where there is none.

use super::{Counts, EXACT, Layout, count, profile, program};
use crate::harness::{Jvm, any_jvm};
use crate::profile::Profile;

/// An estimate is off by more than four standard errors once in 16,000 times.
const ERRORS: u64 = 4;
/// The error of the VM's own choice of samples: its logarithms come from a table.
const VM_SHARE: u64 = 100;

const BUDGET: &str = "budget=1%";

fn assert_near(jvm: &Jvm, what: &str, (estimate, error): (u64, u64), truth: u64) {
    let off = estimate.abs_diff(truth);
    println!("{}: {what}: {estimate} +- {error}, {truth}", jvm.feature);
    assert!(
        off <= ERRORS * error + truth / VM_SHARE,
        "{}: {what}: {estimate} +- {error}, not {truth}",
        jvm.feature
    );
}

on_every_jvm!(what_exceeds_the_budget_is_estimated_within_its_standard_error, and 17);

fn what_exceeds_the_budget_is_estimated_within_its_standard_error(jvm: &Jvm) {
    let options = format!("{EXACT},{BUDGET}");
    let run = program(jvm, &options, &[], "Rush").run_well();
    let profile = Profile::parse(&run.read("x.txt"));
    let sites = profile.one_sites();
    assert_eq!(sites.notes.budget, Some(1), "{}", jvm.feature);
    let [live_bytes, live, allocated_bytes, allocated] =
        sites.notes.errors.expect("standard errors");
    let layout = Layout::of(jvm, false);
    let (quick, array) = (layout.object(8, 0), layout.array(100));
    let counts = |class, method| count(&profile, sites, class, method);

    let of = counts("Rush$Quick", "Rush.quick");
    assert_near(jvm, "quick", (of.allocated, allocated), 60_000_000);
    let bytes = (of.allocated_bytes, allocated_bytes);
    assert_near(jvm, "quick, bytes", bytes, 60_000_000 * quick);
    assert_near(jvm, "quick, live", (of.live, live), 6_000_000);
    let bytes = (of.live_bytes, live_bytes);
    assert_near(jvm, "quick, live bytes", bytes, 6_000_000 * quick);

    let of = counts("byte[]", "Rush.arrays");
    assert_near(jvm, "arrays", (of.allocated, allocated), 20_000_000);
    let bytes = (of.allocated_bytes, allocated_bytes);
    assert_near(jvm, "arrays, bytes", bytes, 20_000_000 * array);
    // The last few are found dead only if the collection at the end comes after all of them.
    assert_eq!((of.live, of.live_bytes), (0, 0), "{}", jvm.feature);
}

on_every_jvm!(what_costs_less_is_counted_exactly, and 28);

fn what_costs_less_is_counted_exactly(jvm: &Jvm) {
    let options = format!("{EXACT},budget=100%");
    let run = program(jvm, &options, &[], "Rush").arg("slow").run_well();
    let profile = Profile::parse(&run.read("x.txt"));
    let sites = profile.one_sites();
    assert_eq!((sites.notes.budget, sites.notes.errors), (None, None));
    let bytes = 20_000 * Layout::of(jvm, false).object(0, 0);
    let slow = count(&profile, sites, "Rush$Slow", "Rush.slow");
    let expected = Counts {
        allocated: 20_000,
        live: 20_000,
        allocated_bytes: bytes,
        live_bytes: bytes,
    };
    assert_eq!(slow, expected, "{}", jvm.feature);
}

#[test]
fn without_a_budget_nothing_is_estimated() {
    let (profile, _) = profile(any_jvm(), "", "Alloc");
    let notes = &profile.one_sites().notes;
    assert_eq!((notes.budget, notes.errors), (None, None));
}

#[test]
fn the_binary_file_and_top_say_what_is_estimated() {
    let jvm = any_jvm();
    let options = format!("heap=sites,cutoff=0,{BUDGET},format=b,file=x.hprof");
    let run = program(jvm, &options, &[], "Rush").run_well();
    let profile = Profile::parse(&run.checked_text("x.hprof"));
    let notes = &profile.one_sites().notes;
    assert_eq!(notes.budget, Some(1));
    let [_, _, allocated_bytes, _] = notes.errors.expect("standard errors");
    assert!(allocated_bytes > 0);
    for value in ["alloc-bytes", "alloc-objects", "live-bytes"] {
        let remarks = run.top("x.hprof", value)["remarks"].to_string();
        let said = format!("{value} is estimated: the standard error is ");
        assert!(remarks.contains(&said), "{remarks}");
    }
}
