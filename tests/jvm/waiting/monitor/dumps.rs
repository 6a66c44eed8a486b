//! MONITOR DUMP: owners and waiters of monitors, on request and at the end.

use super::text::MonitorDump;
use super::{goes_through, program, read};
use crate::harness::{Jvm, Running};
use crate::profile::Profile;

/// Requests a monitor dump from a running program and waits until the `number`th one is there.
fn dump(run: &Running, number: usize) {
    run.send("QUIT");
    let file = run.path("x.txt");
    run.wait_until(|| {
        std::fs::read_to_string(&file).is_ok_and(|text| {
            let ends = text.lines().filter(|line| *line == "MONITOR TIME END");
            ends.count() >= number
        })
    });
}

fn status<'a>(profile: &Profile, dump: &'a MonitorDump, name: &str) -> (&'a str, u32) {
    let thread = profile.thread(name);
    let mut states = dump.threads.iter();
    let state = states
        .find(|state| state.thread == thread)
        .unwrap_or_else(|| panic!("{name} is missing in {dump:?}"));
    (&state.status, state.trace)
}

/// Checks the dump of a Desk, whose monitor is described in the program's comment.
fn assert_desk(profile: &Profile, dump: &MonitorDump, what: &str) {
    let desk = dump.monitor("LDesk;");
    let thread = |name| Some(profile.thread(name));
    assert_eq!(desk.owner, Some((thread("owner"), 2)), "{what}");
    let mut entering = desk.entering.clone();
    entering.sort();
    assert_eq!(entering, [thread("first"), thread("second")], "{what}");
    assert_eq!(desk.waiting, [thread("waiter")], "{what}");
    for (name, expected, method) in [
        ("owner", "SL", "Desk.own"),
        ("first", "MW", "Desk.want"),
        ("second", "MW", "Desk.want"),
        ("waiter", "CW", "Desk.await"),
    ] {
        let (status, trace) = status(profile, dump, name);
        let states = dump.threads.iter();
        let mut named = states.filter(|state| state.name.as_deref() == Some(name));
        let thread = named.next().map(|state| state.thread);
        assert_eq!(thread, Some(profile.thread(name)), "{what}: {name}");
        assert_eq!(status, expected, "{what}: {name}");
        assert!(goes_through(profile, trace, method), "{what}: {name}");
    }
}

on_every_jvm!(a_dump_shows_who_has_and_who_wants, and 26);

fn a_dump_shows_who_has_and_who_wants(jvm: &Jvm) {
    let options = "monitor=y,depth=8,file=x.txt";
    let run = program(jvm, options, &["-Xcheck:jni"], "Desk").start();
    run.wait_for_output("ready");
    dump(&run, 1);
    dump(&run, 2);
    run.send("TERM");
    let run = run.wait();
    assert_eq!(run.status.code(), Some(143), "{}", run.stderr);
    let complaint = |line: &&str| line.contains("WARNING in native");
    assert_eq!(run.stdout.lines().find(complaint), None, "{}", jvm.feature);
    let profile = read(&run);
    assert_eq!(profile.monitors.dumps.len(), 3, "{}", jvm.feature);
    for (number, dump) in profile.monitors.dumps.iter().enumerate() {
        let what = format!("{}, dump {number}", jvm.feature);
        assert_desk(&profile, dump, &what);
        let ours: Vec<_> = profile
            .threads
            .iter()
            .filter(|thread| thread.name.starts_with("HPROF"))
            .collect();
        assert!(ours.is_empty(), "{what}: {ours:?}");
    }
    // Waits that are still going on are not charged yet.
    let times = &profile.monitors.times;
    assert!(times.iter().all(|time| time.count("Desk") == 0));
}

on_every_jvm!(what_a_dump_has_told_the_next_does_not_tell_again, and 17);

fn what_a_dump_has_told_the_next_does_not_tell_again(jvm: &Jvm) {
    let run = program(jvm, "monitor=y,file=x.txt", &[], "Desk").start();
    run.wait_for_output("ready");
    dump(&run, 1);
    std::fs::write(run.path("go"), "").expect("a file");
    run.wait_for_output("done");
    let run = run.wait();
    let profile = read(&run);
    let [first, .., last] = &profile.monitors.times[..] else {
        panic!("two sections")
    };
    // `first` and `second` acquire it once each, and one of them or `waiter` may have to wait for it again.
    assert_eq!(first.count("Desk"), 0, "{}", jvm.feature);
    assert!(last.count("Desk") >= 2, "{}: {last:?}", jvm.feature);
    let at_end = &profile.monitors.dumps[1];
    let desks = at_end.monitors.iter();
    assert_eq!(
        desks
            .filter(|monitor| monitor.signature == "LDesk;")
            .count(),
        0,
        "{}: nobody wants it any more",
        jvm.feature
    );
}

on_every_jvm!(virtual_threads_have_and_want_monitors_too from 21, and 28);

fn virtual_threads_have_and_want_monitors_too(jvm: &Jvm) {
    for way in ["", "waited"] {
        let options = "monitor=y,depth=20,file=x.txt";
        let vm_options = ["-Djdk.virtualThreadScheduler.parallelism=4", "-Xcheck:jni"];
        let run = program(jvm, options, &vm_options, "DeskVirtual21")
            .arg(way)
            .start();
        run.wait_for_output("ready");
        dump(&run, 1);
        std::fs::write(run.path("go"), "").expect("a file");
        let run = run.wait();
        assert!(run.status.success(), "{}: {}", jvm.feature, run.stderr);
        let profile = read(&run);
        let dump = &profile.monitors.dumps[0];
        let desk = dump.monitor("LDeskVirtual21;");
        let thread = |name| Some(profile.thread(name));
        // From 23 on the VM does not report that a virtual thread owns a monitor, and this one had not used any before.
        if way.is_empty() && jvm.feature >= 23 {
            assert_eq!(desk.owner, Some((None, 1)), "{}", jvm.feature);
        } else {
            assert_eq!(desk.owner, Some((thread("owner"), 1)), "{}", jvm.feature);
            assert_eq!(status(&profile, dump, "owner").0, "CW", "{}", jvm.feature);
        }
        let mut entering = desk.entering.clone();
        entering.sort();
        // Threads have their numbers in the order in which they get to their first event, which may be any.
        let mut expected = [thread("first"), thread("second"), thread("third")];
        expected.sort();
        assert_eq!(entering, expected, "{}", jvm.feature);
        assert_eq!(desk.waiting, [thread("waiter")], "{}", jvm.feature);
        for (name, expected, method) in [
            ("first", "MW", "DeskVirtual21.want"),
            ("third", "MW", "DeskVirtual21.want"),
            ("waiter", "CW", "DeskVirtual21.await"),
        ] {
            let (status, trace) = status(&profile, dump, name);
            assert_eq!(status, expected, "{}: {name}", jvm.feature);
            let frames = &profile.traces[&trace].frames;
            assert!(
                goes_through(&profile, trace, method),
                "{}: {name}: {frames:?}",
                jvm.feature
            );
        }
    }
}
