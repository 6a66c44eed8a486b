//! The order of SITES, and what is left out.

use super::{count, program};
use crate::harness::{Jvm, Program, any_jvm};
use crate::profile::{Profile, Sites};

fn sites(jvm: &Jvm, options: &str) -> Profile {
    let options = format!("heap=sites,depth=2,verbose=n,file=x.txt,{options}");
    let run = program(jvm, &options, &[], "Alloc").run_well();
    Profile::parse(&run.read("x.txt"))
}

fn bytes(sites: &Sites) -> (u64, u64) {
    let rows = sites.rows.iter();
    rows.fold((0, 0), |(live, allocated), row| {
        (live + row.live_bytes, allocated + row.allocated_bytes)
    })
}

on_every_jvm!(the_largest_allocators_of_garbage_come_first_when_asked_for);

fn the_largest_allocators_of_garbage_come_first_when_asked_for(jvm: &Jvm) {
    let rank = |profile: &Profile| {
        let mut rows = profile.one_sites().rows.iter();
        rows.position(|row| row.class == "Alloc$Dropped")
    };
    let by_live = sites(jvm, "sort=live,cutoff=0.01");
    assert_eq!(by_live.one_sites().order, "live");
    assert_eq!(rank(&by_live), None, "{}: all are dead", jvm.feature);
    let by_allocation = sites(jvm, "sort=alloc,cutoff=0.01");
    let section = by_allocation.one_sites();
    assert_eq!(section.order, "allocated");
    assert!(rank(&by_allocation).is_some(), "{}", jvm.feature);
    let dropped = count(
        &by_allocation,
        section,
        "Alloc$Dropped",
        "Alloc.dropObjects",
    );
    assert_eq!(
        (dropped.allocated, dropped.live),
        (5_000, 0),
        "{}",
        jvm.feature
    );
}

on_every_jvm!(the_rows_and_bytes_that_are_left_out_are_told);

fn the_rows_and_bytes_that_are_left_out_are_told(jvm: &Jvm) {
    for order in ["live", "alloc"] {
        let profile = sites(jvm, &format!("sort={order},cutoff=0.01"));
        let section = profile.one_sites();
        let [rows, live, allocated] = section.notes.left_out.expect("some are left out");
        let all = sites(jvm, &format!("sort={order},cutoff=0"));
        let all = all.one_sites();
        assert_eq!(all.notes.left_out, None);
        // Two runs differ by a few objects of the VM's own.
        let (shown, whole) = (bytes(section), bytes(all));
        for (sum, whole) in [
            (section.rows.len() as u64 + rows, all.rows.len() as u64),
            (shown.0 + live, whole.0),
            (shown.1 + allocated, whole.1),
        ] {
            let share = sum as f64 / whole as f64;
            assert!((0.98..1.02).contains(&share), "{}: {share}", jvm.feature);
        }
    }
}

on_every_jvm!(what_was_there_before_an_attached_profile_comes_last);

fn what_was_there_before_an_attached_profile_comes_last(jvm: &Jvm) {
    let run = Program::bare_java(jvm, &[])
        .program("attach", "Steps")
        .args(["make:50"])
        .start();
    run.wait_for_output("ready");
    run.hprof_well("attach", &["heap=sites,cutoff=0,verbose=n,file=x.txt"]);
    std::fs::write(run.path("go1"), "").expect("a file");
    run.wait_for_output("done 1\n");
    run.hprof_well("stop", &[]);
    std::fs::write(run.path("end"), "").expect("a file");
    let profile = Profile::parse(&run.wait().read("x.txt"));
    let section = profile.one_sites();
    assert!(section.notes.unseen_last, "{}", jvm.feature);
    let rows = &section.rows;
    let first_unseen = rows.iter().position(|row| row.trace == 300_000);
    let first_unseen = first_unseen.expect("the VM had objects before");
    assert!(first_unseen > 0, "{}", jvm.feature);
    assert!(rows[first_unseen..].iter().all(|row| row.trace == 300_000));
    let made = count(&profile, section, "Steps$Thing", "Steps.make");
    assert_eq!((made.allocated, made.live), (50, 50), "{}", jvm.feature);
}

#[test]
fn one_trace_for_all_is_told_from_nothing() {
    let profile = sites(any_jvm(), "depth=0,cutoff=0");
    assert!(!profile.one_sites().notes.unseen_last);
}
