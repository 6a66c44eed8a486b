//! Everything at once: requests for dumps, and threads that start, allocate, contend and end.

use std::collections::BTreeSet;
use std::thread;
use std::time::Duration;

use super::program;
use crate::harness::{Jvm, Program};
use crate::profile::Profile;

on_every_jvm!(a_hundred_requests_while_threads_come_and_go, and 26);

fn a_hundred_requests_while_threads_come_and_go(jvm: &Jvm) {
    let options = "cpu=samples,heap=sites,monitor=y,verbose=n,file=x.txt";
    let run = program(jvm, options, &[], "Storm").arg("10500").start();
    let file = run.path("x.txt");
    run.wait_until(|| {
        std::fs::read_to_string(&file).is_ok_and(|text| text.contains("name=\"storm-49\""))
    });
    for _ in 0..100 {
        run.send("QUIT");
        thread::sleep(Duration::from_millis(100));
    }
    let run = run.wait();
    let bare = Program::bare_java(jvm, &[])
        .program("monitor", "Storm")
        .arg("100")
        .run();
    assert_eq!(
        (run.status.code(), &*run.stderr),
        (bare.status.code(), &*bare.stderr),
        "{}",
        jvm.feature
    );
    let text = run.read("x.txt");
    let count = |line: &str| text.lines().filter(|other| other.starts_with(line)).count();
    for section in ["SITES", "CPU SAMPLES", "MONITOR DUMP", "MONITOR TIME"] {
        let begun = count(&format!("{section} BEGIN"));
        assert_eq!(begun, count(&format!("{section} END")), "{section}");
    }
    let profile = Profile::parse(&text);
    let dumps = profile.dumps.len();
    println!("{}: {dumps} dumps", jvm.feature);
    assert!(dumps >= 2, "{}: on request and at the end", jvm.feature);
    assert_eq!(
        (
            profile.sites.len(),
            profile.monitors.dumps.len(),
            profile.monitors.times.len()
        ),
        (dumps, dumps, dumps),
        "{}",
        jvm.feature
    );
    // No thread is lost: each begins once, and all of the storm end, once.
    let begun: Vec<u32> = profile
        .threads
        .iter()
        .filter(|thread| thread.name.starts_with("storm-"))
        .map(|thread| thread.id)
        .collect();
    let all: BTreeSet<u32> = profile.threads.iter().map(|thread| thread.id).collect();
    assert_eq!(all.len(), profile.threads.len(), "{}", jvm.feature);
    let ended: BTreeSet<u32> = profile.ended.iter().copied().collect();
    assert_eq!(ended.len(), profile.ended.len(), "{}", jvm.feature);
    assert!(begun.iter().all(|id| ended.contains(id)), "{}", jvm.feature);
    let numbers: BTreeSet<&str> = profile
        .threads
        .iter()
        .filter_map(|thread| thread.name.strip_prefix("storm-"))
        .collect();
    assert_eq!(numbers.len(), begun.len(), "{}", jvm.feature);
    // Every wait of the storm is over.
    let waits = profile.monitors.waits.iter();
    let open = waits.filter(|wait| {
        wait.time_waited.is_none() && wait.thread.is_some_and(|thread| begun.contains(&thread))
    });
    assert_eq!(open.count(), 0, "{}", jvm.feature);
    let contended: u64 = profile
        .monitors
        .times
        .iter()
        .map(|time| time.count("java.lang.Object"))
        .sum();
    assert!(contended > 0, "{}", jvm.feature);
}
