//! LOCK WAITS: who held the locks that threads waited for.

use std::process::Command;

use super::{goes_through, program, read};
use crate::harness::{Finished, Jvm, any_jvm, cli};
use crate::profile::Profile;

const OPTIONS: &str = "monitor=y,cutoff=0,verbose=n,file=x.txt";

/// Returns the share of the time of `mostly` in that of both methods, as the program measured it: `monitor mostly 2103
/// partly 907`.
fn truth(run: &Finished, what: &str) -> f64 {
    let line = run.stdout.lines().find(|line| line.starts_with(what));
    let words: Vec<&str> = line.expect(what).split_whitespace().collect();
    let [mostly, partly] = [2, 4].map(|place| words[place].parse::<f64>().expect("a number"));
    mostly / (mostly + partly)
}

/// Returns the samples in which a thread waited in the first method while another held the lock in the second one.
fn samples(profile: &Profile, waiting: &str, holding: &str) -> f64 {
    let rows = profile.monitors.locks[0].rows.iter();
    let rows = rows.filter(|row| {
        goes_through(profile, row.trace, waiting)
            && row
                .holder
                .is_some_and(|holder| goes_through(profile, holder, holding))
    });
    rows.map(|row| row.count as f64).sum()
}

fn holders_are_charged_for_what_others_waited(jvm: &Jvm) {
    let run = program(jvm, OPTIONS, &[], "Held").arg("60").run_well();
    let profile = read(&run);
    for (what, kind) in [("monitor", "Monitor"), ("lock", "Lock")] {
        let [mostly, partly] = ["mostly", "partly"].map(|method| {
            let want = format!("Held.want{kind}");
            samples(&profile, &want, &format!("Held.{method}{kind}"))
        });
        let (share, truth) = (mostly / (mostly + partly), truth(&run, what));
        assert!(
            mostly + partly > 100.0 && (share - truth).abs() < 0.05,
            "{} {what}: {mostly} and {partly}, truth {truth}",
            jvm.feature
        );
    }
    let locks = &profile.monitors.locks[0];
    let named = |class: &str| locks.rows.iter().any(|row| row.lock.starts_with(class));
    assert!(named("java.lang.Object@"));
    assert!(named(
        "java.util.concurrent.locks.ReentrantLock$NonfairSync@"
    ));
    assert!(locks.known <= locks.total);
    let counts = locks.rows.iter().map(|row| row.count);
    assert_eq!(counts.sum::<u64>(), locks.total, "cutoff=0");
}
on_every_jvm!(holders_are_charged_for_what_others_waited, and 25);

fn virtual_threads_that_are_parked_are_counted_by_place(jvm: &Jvm) {
    let run = program(jvm, OPTIONS, &[], "Parked21").run_well();
    let profile = read(&run);
    let [mostly, partly] = ["mostly", "partly"].map(|method| {
        let waiting = format!("Parked21.{method}");
        samples(&profile, &waiting, "Parked21.holds")
    });
    let (time, truth) = (10.0 * (mostly + partly), run.printed("waited_ms"));
    println!("{}: {mostly} {partly}, {time} of {truth} ms", jvm.feature);
    assert!(
        time >= 0.6 * truth && time <= 1.05 * truth,
        "{time} {truth}"
    );
    let share = mostly / (mostly + partly);
    assert!((share - 0.75).abs() < 0.05, "{share}");
}
on_every_jvm!(virtual_threads_that_are_parked_are_counted_by_place from 21, and 26);

#[test]
fn hprof_top_names_waiter_lock_and_holder() {
    let run = program(any_jvm(), OPTIONS, &[], "Held")
        .arg("10")
        .run_well();
    let top = |rest: &[&str]| {
        let mut top = Command::new(cli());
        top.arg("top").arg(run.path("x.txt")).args(rest);
        let output = top.output().expect("hprof top");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    let table = top(&["--value", "lock-wait"]);
    let row = "Held.wantLock, while Held.sleep (called by Held.mostlyLock, Held.hold) held java.util.concurrent.locks.ReentrantLock$NonfairSync@";
    assert!(table.contains(row), "{table}");
    let json: serde_json::Value =
        serde_json::from_str(&top(&["--by", "wait", "--json"])).expect("JSON");
    let waits = json["waits"].as_array().expect("a list");
    let wait = waits.iter().find(|wait| {
        wait["waiter"] == "Held.wantMonitor" && wait["holder"][1] == "Held.mostlyMonitor"
    });
    let wait = wait.expect("it waited for long");
    assert!(
        wait["lock"]
            .as_str()
            .expect("a text")
            .starts_with("java.lang.Object@")
    );
    assert!(wait["time"].as_u64().expect("a number") > 0);
}
