//! The order of SITES, and the omitted rows.

use super::{count, program};
use crate::harness::{Jvm, Program, any_jvm};
use crate::profile::{Profile, Sites};

fn sites(jvm: &Jvm, options: &str) -> Profile {
    let options = format!("heap=sites,depth=2,verbose=n,file=x.txt,{options}");
    let run = program(jvm, &options, &[], "Alloc").run_well();
    Profile::parse(&run.read("x.txt"))
}

/// Live bytes and objects, allocated bytes and objects.
fn sums(sites: &Sites) -> [u64; 4] {
    sites.rows.iter().fold([0; 4], |sums, row| {
        let values = [row.live_bytes, row.live, row.allocated_bytes, row.allocated];
        std::array::from_fn(|at| sums[at] + values[at])
    })
}

on_every_jvm!(the_largest_allocators_of_garbage_come_first_when_asked_for, and 26);

fn the_largest_allocators_of_garbage_come_first_when_asked_for(jvm: &Jvm) {
    let rank = |profile: &Profile| {
        let mut rows = profile.one_sites().rows.iter();
        rows.position(|row| row.class == "Alloc$Dropped")
    };
    let by_live = sites(jvm, "sort=live,cutoff=0.01");
    assert_eq!(by_live.one_sites().order, "live");
    let dead_last = rank(&by_live).expect("much of what was allocated");
    let by_allocation = sites(jvm, "sort=alloc,cutoff=0.01");
    let section = by_allocation.one_sites();
    assert_eq!(section.order, "allocated");
    let first = rank(&by_allocation).expect("much of what was allocated");
    assert!(first < dead_last, "{}: {first}, {dead_last}", jvm.feature);
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

on_every_jvm!(the_rows_and_bytes_that_are_left_out_are_told, and 17);

fn the_rows_and_bytes_that_are_left_out_are_told(jvm: &Jvm) {
    for order in ["live", "alloc"] {
        let profile = sites(jvm, &format!("sort={order},cutoff=0.01"));
        let section = profile.one_sites();
        let [left_out, values @ ..] = section.notes.left_out.expect("some are left out");
        let all = sites(jvm, &format!("sort={order},cutoff=0"));
        let all = all.one_sites();
        assert_eq!(all.notes.left_out, None);
        // Two runs differ by a few objects of the VM's own.
        let (shown, whole) = (sums(section), sums(all));
        let rows = (section.rows.len() as u64 + left_out, all.rows.len() as u64);
        let sums = (0..4).map(|at| (shown[at] + values[at], whole[at]));
        for (sum, whole) in sums.chain([rows]) {
            let share = sum as f64 / whole as f64;
            assert!((0.98..1.02).contains(&share), "{}: {share}", jvm.feature);
        }
    }
}

on_every_jvm!(a_row_is_left_out_where_every_share_is_below_the_cutoff on 17 and 27);

fn a_row_is_left_out_where_every_share_is_below_the_cutoff(jvm: &Jvm) {
    let profile = sites(jvm, "cutoff=0.02");
    let section = profile.one_sites();
    let [_, left_out @ ..] = section.notes.left_out.expect("some are left out");
    let shown = sums(section);
    let least: [f64; 4] = std::array::from_fn(|at| 0.02 * (shown[at] + left_out[at]) as f64);
    for row in &section.rows {
        let values = [row.live_bytes, row.live, row.allocated_bytes, row.allocated];
        let is_kept = (0..4).any(|at| values[at] as f64 >= least[at]);
        assert!(is_kept, "{}: {row:?}", jvm.feature);
    }
}

on_every_jvm!(totals_are_those_of_all_rows_in_text_and_binary on 17 and 27);

fn totals_are_those_of_all_rows_in_text_and_binary(jvm: &Jvm) {
    for order in ["live", "alloc"] {
        let options = format!(
            "heap=sites,depth=2,verbose=n,format=b,file=x.hprof,fold=n,cutoff=0.01,sort={order}"
        );
        let run = program(jvm, &options, &[], "Alloc").run_well();
        std::fs::write(run.path("x.txt"), run.checked_text("x.hprof")).expect("a file");
        let text = Profile::parse(&run.read("x.txt"));
        let section = text.one_sites();
        let [_, left_out @ ..] = section.notes.left_out.expect("some are left out");
        let shown = sums(section);
        let values = ["live-bytes", "live-objects", "alloc-bytes", "alloc-objects"];
        for (at, value) in values.into_iter().enumerate() {
            for file in ["x.hprof", "x.txt"] {
                let top = run.top(file, value);
                assert_eq!(top["total"], shown[at] + left_out[at], "{file}: {value}");
                let rows = top["rows"].as_array().expect("rows");
                let not_listed = rows.iter().find(|row| row["name"] == "<not listed>");
                assert_eq!(
                    not_listed.expect("a row")["self"],
                    left_out[at],
                    "{file}: {value}"
                );
            }
        }
    }
}

on_every_jvm!(what_was_there_before_an_attached_profile_comes_last, and 28);

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
