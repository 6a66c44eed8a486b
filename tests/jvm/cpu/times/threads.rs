//! Many threads, each with its own counts.

use std::collections::BTreeMap;

use super::{CLOCKS, calls, one, profile_of_same_output, sum};
use crate::harness::Jvm;

on_every_jvm!(many_threads_lose_no_call, and 26);

fn many_threads_lose_no_call(jvm: &Jvm) {
    for clock in CLOCKS {
        let profile = profile_of_same_output(jvm, clock, "Threads");
        let counts = ["Threads.work", "Threads.shorty"].map(|method| calls(one(&profile), method));
        assert_eq!(counts, [202_000, 2_000], "{} {clock}", jvm.feature);
    }
}

on_every_jvm!(threads_keep_their_calls_apart_where_asked, and 28);

fn threads_keep_their_calls_apart_where_asked(jvm: &Jvm) {
    for clock in CLOCKS {
        check_threads_apart(jvm, clock);
    }
}

fn check_threads_apart(jvm: &Jvm, clock: &str) {
    let options = format!("thread=y,include=Threads,{clock}");
    let profile = profile_of_same_output(jvm, &options, "Threads");
    let times = one(&profile);
    let mut by_thread = BTreeMap::<u32, u64>::new();
    for row in times.rows.iter().filter(|row| row.method == "Threads.work") {
        let thread = profile.traces[&row.trace].thread.expect("a thread");
        *by_thread.entry(thread).or_default() += row.calls;
    }
    let long = profile.threads.iter();
    let long: Vec<_> = long
        .filter(|thread| thread.name.starts_with("long-"))
        .map(|thread| by_thread.remove(&thread.id))
        .collect();
    assert_eq!(long, vec![Some(1_000); 200], "{}", jvm.feature);
    assert_eq!(by_thread.len(), 2_000, "{}", jvm.feature);
    assert!(by_thread.values().all(|&count| count == 1));
    assert_eq!(sum(times, |row| row.method == "Threads.main"), 1);
}
