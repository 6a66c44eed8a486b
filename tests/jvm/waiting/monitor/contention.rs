//! MONITOR TIME, and waits as they happen.

use super::{goes_through, program, read};
use crate::cells::Cell;
use crate::harness::{Finished, Jvm, any_jvm};
use crate::profile::Profile;

/// Contention of virtual threads needs two carriers, however few cores there are.
const TWO_CARRIERS: &str = "-Djdk.virtualThreadScheduler.parallelism=2";

/// Compares a run of Contend with its output.
fn assert_contended(run: &Finished, profile: &Profile, what: &str) {
    let [time] = &profile.monitors.times[..] else {
        panic!("{what}: one section")
    };
    let of_object: Vec<_> = time
        .of("java.lang.Object")
        .into_iter()
        // Classes that it loads first are locked by objects of this class too.
        .filter(|row| profile.traces[&row.trace].frames[0].starts_with("Contend.hold("))
        .collect();
    assert!(!of_object.is_empty(), "{what}: {time:?}");
    let share: f64 = of_object.iter().map(|row| row.share).sum();
    let found = (time.total_ms as f64 + 1.0) * share / 100.0;
    let measured = run.printed("contended_ms");
    println!("{what}: found {found} ms, measured {measured} ms");
    // The program's clock is read before the agent's and after it, and the machine may be busy with something else in
    // between.
    assert!(
        found <= measured + 1.0 && found >= measured * 0.25,
        "{what}: found {found} ms, measured {measured} ms: {time:?}, {:?}",
        profile.traces
    );

    let waiter = profile.thread("waiter");
    let waits = profile.monitors.waits.iter();
    let of_waiter: Vec<_> = waits.filter(|wait| wait.thread == Some(waiter)).collect();
    let [wait] = of_waiter[..] else {
        panic!("{what}: one wait: {of_waiter:?}")
    };
    assert_eq!(
        (&*wait.signature, wait.timeout),
        ("Ljava/lang/Object;", 200),
        "{what}"
    );
    let waited = wait.time_waited.expect("it is over") as f64;
    let measured = run.printed("waited_ms");
    assert!(
        waited >= 200.0 && waited <= measured + 1.0,
        "{what}: waited {waited} ms, measured {measured} ms"
    );
}

on_paired_cells!(contention_is_what_the_program_measured_with_every_collector, row 7);

fn contention_is_what_the_program_measured_with_every_collector(cell: &Cell) {
    let options = "monitor=y,file=x.txt";
    let run = program(cell.jvm, options, &cell.vm_options(), "Contend").run_well();
    assert_contended(&run, &read(&run), &cell.to_string());
}

on_every_jvm!(contention_and_waits_are_what_the_program_measured, and 26);

fn contention_and_waits_are_what_the_program_measured(jvm: &Jvm) {
    // By default, a contention of hardly any time is left out, with a line of its own before the section.
    let run = program(jvm, "monitor=y,cutoff=0,file=x.txt", &[], "Contend").run_well();
    assert!(run.stdout.ends_with("done\n"));
    let profile = read(&run);
    assert_contended(&run, &profile, &jvm.feature.to_string());
    let text = run.read("x.txt");
    assert!(
        text.contains("locks of java.util.concurrent, too)\nMONITOR TIME BEGIN"),
        "{text}"
    );
    let said = "Dumping contended monitor usage ...";
    assert_eq!(run.stderr, format!("{said}\n{said} done.\n"));
}

on_every_jvm!(contention_of_virtual_threads_is_theirs from 21, and 28);

fn contention_of_virtual_threads_is_theirs(jvm: &Jvm) {
    let options = "monitor=y,thread=y,depth=8,cutoff=0,file=x.txt";
    let run = program(jvm, options, &[TWO_CARRIERS], "Contend")
        .arg("virtual")
        .run_well();
    let profile = read(&run);
    let what = format!("{} virtual", jvm.feature);
    assert_contended(&run, &profile, &what);
    // One of them may never have had to wait, and so have no number.
    let fighters = profile.threads.iter();
    let fighters: Vec<u32> = fighters
        .filter(|thread| thread.name.starts_with("fighter-"))
        .map(|thread| thread.id)
        .collect();
    assert!(!fighters.is_empty(), "{what}");
    for row in profile.monitors.times[0].of("java.lang.Object") {
        let trace = &profile.traces[&row.trace];
        if !goes_through(&profile, row.trace, "Contend.hold") {
            continue;
        }
        let thread = trace.thread.expect("thread=y");
        assert!(fighters.contains(&thread), "{what}: {trace:?}");
        let of_carrier = |frame: &String| frame.contains("ForkJoin");
        assert!(!trace.frames.iter().any(of_carrier), "{what}: {trace:?}");
    }
    for fighter in fighters {
        assert!(profile.ended.contains(&fighter), "{what}: {fighter}");
    }
    let group = |name: &str| {
        let mut threads = profile.threads.iter();
        let thread = threads.find(|thread| thread.name == name).expect(name);
        thread.group.clone()
    };
    assert_eq!(group("waiter"), "VirtualThreads", "{what}");
}

on_every_jvm!(every_contended_entry_counts_once, and 17);

fn every_contended_entry_counts_once(jvm: &Jvm) {
    for options in ["", ",thread=y", ",depth=0", ",cpu=samples", ",heap=sites"] {
        let options = format!("monitor=y,cutoff=0,file=x.txt{options}");
        let run = program(jvm, &options, &[], "Counts").run_well();
        let profile = Profile::parse(&run.read("x.txt"));
        let [time] = &profile.monitors.times[..] else {
            panic!("one section")
        };
        let counts = ["Counts$Desk", "Counts$Chair", "Counts$Idle"];
        let counts = counts.map(|class| time.count(class));
        assert_eq!(counts, [60, 1, 0], "{} {options}", jvm.feature);
        let rows = time.of("Counts$Desk");
        if options.ends_with("thread=y") {
            assert_eq!(rows.len(), 60, "{}: one a thread", jvm.feature);
        } else if !options.ends_with("depth=0") {
            let method = |trace| profile.traces[&trace].frames[0].clone();
            for row in rows {
                let top = method(row.trace);
                assert!(top.starts_with("Counts.enter("), "{}: {top}", jvm.feature);
            }
            let sit = method(time.of("Counts$Chair")[0].trace);
            assert!(sit.starts_with("Counts.sit("), "{}: {sit}", jvm.feature);
        }
    }
}

#[test]
fn the_cutoff_leaves_out_rows_but_not_their_time() {
    let run = program(any_jvm(), "monitor=y,cutoff=1,file=x.txt", &[], "Counts").run_well();
    let profile = Profile::parse(&run.read("x.txt"));
    let [time] = &profile.monitors.times[..] else {
        panic!("one section")
    };
    assert!(time.rows.is_empty() && time.total_ms > 0, "{time:?}");
}

on_every_jvm!(the_vm_has_nothing_to_object, and 25);

fn the_vm_has_nothing_to_object(jvm: &Jvm) {
    let mut programs = vec![("Contend", ""), ("Counts", "")];
    if jvm.feature >= 21 {
        programs.push(("Contend", "virtual"));
    }
    for (name, arg) in programs {
        let vm_options = ["-Xcheck:jni", TWO_CARRIERS];
        let run = program(jvm, "monitor=y,file=x.txt", &vm_options, name)
            .arg(arg)
            .run_well();
        read(&run);
        let complaint = |line: &str| line.contains("WARNING") || line.contains("FATAL");
        let complaints: Vec<&str> = run.stdout.lines().filter(|line| complaint(line)).collect();
        assert_eq!(complaints, [""; 0], "{} {name}", jvm.feature);
    }
}
