//! `sample=<bytes>`: estimates that are right on average, and are marked as estimates.

use super::{Counts, EXACT, Layout, count, profile, program};
use crate::harness::{Jvm, any_jvm};
use crate::profile::Profile;

/// The share by which an estimate may deviate. The programs allocate so much that four standard deviations are less.
///
/// Objects of about the interval's size are excluded: the VM samples those too often, by up to a fifth if they follow
/// each other. Larger ones are always sampled, and smaller ones correctly.
const TOLERANCE: f64 = 0.10;

fn assert_near(jvm: &Jvm, what: &str, estimate: u64, truth: u64) {
    let share = estimate as f64 / truth as f64;
    println!("{}: {what}: {share:.3} of {truth}", jvm.feature);
    assert!(
        (share - 1.0).abs() <= TOLERANCE,
        "{}: {what}: {estimate}, not {truth}",
        jvm.feature
    );
}

/// Returns the bytes of `n` arrays of 0 to 999 bytes, each length equally often.
fn mixed_bytes(layout: &Layout, n: u64) -> u64 {
    (0..1_000).map(|length| layout.array(length)).sum::<u64>() * (n / 1_000)
}

/// Class, method, allocated, and the bytes of all.
fn truths(layout: &Layout, factor: u64) -> [(&'static str, &'static str, u64, u64); 4] {
    let (small, pairs, mixed) = (10_000_000 * factor, 3_000_000 * factor, 1_000_000 * factor);
    [
        (
            "Millions$Small",
            "Millions.small",
            small,
            small * layout.object(0, 0),
        ),
        (
            "Millions$Pair",
            "Millions.pairs",
            pairs,
            pairs * layout.object(16, 1),
        ),
        (
            "byte[]",
            "Millions.mixed",
            mixed,
            mixed_bytes(layout, mixed),
        ),
        ("byte[]", "Millions.large", 200, 200 * layout.array(4 << 20)),
    ]
}

fn assert_allocated(jvm: &Jvm, profile: &Profile, factor: u64) {
    for (class, method, objects, bytes) in truths(&Layout::of(jvm, false), factor) {
        let Counts {
            allocated,
            allocated_bytes,
            live,
            ..
        } = count(profile, profile.one_sites(), class, method);
        assert_near(jvm, method, allocated, objects);
        assert_near(jvm, &format!("{method}, bytes"), allocated_bytes, bytes);
        assert_eq!(live, 0, "{}: {method}", jvm.feature);
    }
}

on_every_jvm!(estimates_are_near_the_truth, and 28);

fn estimates_are_near_the_truth(jvm: &Jvm) {
    let (profile, _) = profile(jvm, "sample=8k", "Millions");
    assert_eq!(profile.one_sites().notes.sampled, Some(8_192));
    assert_allocated(jvm, &profile, 1);
    let kept = count(
        &profile,
        profile.one_sites(),
        "Millions$Kept",
        "Millions.kept",
    );
    assert_near(jvm, "kept", kept.live, 1_500_000);
    assert_eq!(
        (kept.live, kept.live_bytes),
        (kept.allocated, kept.allocated_bytes),
        "{}: nothing of it dies",
        jvm.feature
    );
    let size = Layout::of(jvm, false).object(16, 1);
    assert_near(jvm, "kept, bytes", kept.live_bytes, 1_500_000 * size);
}

on_every_jvm!(estimates_of_wide_steps_are_near_the_truth, and 25);

fn estimates_of_wide_steps_are_near_the_truth(jvm: &Jvm) {
    let options = format!("{EXACT},sample=512k");
    let run = program(jvm, &options, &[], "Millions").arg("12").run_well();
    let profile = Profile::parse(&run.read("x.txt"));
    assert_eq!(profile.one_sites().notes.sampled, Some(524_288));
    assert_allocated(jvm, &profile, 12);
}

#[test]
fn exact_counts_do_not_call_themselves_sampled() {
    let (profile, _) = profile(any_jvm(), "", "Alloc");
    assert_eq!(profile.one_sites().notes.sampled, None);
}

#[test]
fn the_binary_file_carries_the_same_estimates() {
    let options = "heap=sites,cutoff=0,sample=8k,format=b,file=x.hprof";
    let run = program(any_jvm(), options, &[], "Millions").run_well();
    let profile = Profile::parse(&run.checked_text("x.hprof"));
    assert_allocated(any_jvm(), &profile, 1);
}
