//! The agent's signals among others: those of a library in Go, those by which the VM repairs faults, and the user's limit;
//! and the faults of the handler itself.

use std::fs;

use crate::harness::{Jvm, Program, any_jvm, c_library, go_library, skip};
use crate::profile::Profile;

/// The measurements that look at threads from outside.
const MODES: [&str; 2] = [
    "cpu=samples,engine=async,interval=1,depth=16",
    "cpu=samples,engine=async,interval=1,depth=16,native=y,wall=5ms,monitor=y",
];

/// The milliseconds for which the program calls Go.
const MILLIS: &str = "500";

on_every_jvm!(go_is_not_hurt_if_it_is_loaded_before_the_agent);

fn go_is_not_hurt_if_it_is_loaded_before_the_agent(jvm: &Jvm) {
    for mode in MODES {
        calls_go(jvm, "before", mode);
    }
}

on_every_jvm!(go_is_not_hurt_if_it_is_loaded_after_the_agent);

fn go_is_not_hurt_if_it_is_loaded_after_the_agent(jvm: &Jvm) {
    for mode in MODES {
        calls_go(jvm, "after", mode);
    }
}

/// Attaches the agent to a program that has loaded a library in Go, or will: its code runs on small stacks of its own, and
/// it has handlers of signals.
fn calls_go(jvm: &Jvm, loaded: &str, mode: &str) {
    let Some(library) = go_library("java-tests/samples/go_calls.go") else {
        return;
    };
    let program = Program::bare_java(jvm, &[]).program("samples", "GoCalls");
    let run = program.arg(&library).args([loaded, MILLIS]).start();
    run.wait_for_output("ready");
    let options = format!("{mode},verbose=n,file=x.txt");
    run.hprof_well("attach", &[&options]);
    fs::write(run.path("go1"), "").expect("a file");
    run.wait_for_output(" are ");
    run.hprof_well("stop", &[]);
    fs::write(run.path("end"), "").expect("a file");
    let run = run.wait();
    assert!(run.status.success(), "{mode}: {}", run.stderr);
    assert!(
        run.stdout.contains("all are right"),
        "{mode}: {}",
        run.stdout
    );
    let text = run.read("x.txt");
    if mode.contains("wall=") {
        // `Profile` knows no wall samples.
        assert!(text.contains("\nCPU SAMPLES END"), "{mode}: {text}");
        assert!(text.contains("GoCalls.call("), "{mode}: {text}");
        return;
    }
    let profile = Profile::parse(&text);
    let samples = profile.samples();
    let rows = samples.rows.iter();
    let calls = |frame: &String| frame.starts_with("GoCalls.call(");
    let called: u32 = rows
        .filter(|row| profile.traces[&row.trace].frames.iter().any(calls))
        .map(|row| row.count)
        .sum();
    assert!(called > 0, "{mode}: Go is charged to its caller");
}

on_every_jvm!(the_vm_repairs_its_own_faults_while_samples_are_taken);

fn the_vm_repairs_its_own_faults_while_samples_are_taken(jvm: &Jvm) {
    for vm_options in [&[][..], &["-Xcheck:jni"]] {
        let options = "cpu=samples,engine=async,interval=1,depth=64,file=x.txt";
        let run = Program::with_vm_options(jvm, options, vm_options, "Faults").run_well();
        for thread in ["other", "one"] {
            let repaired = format!("{thread}: 20000 nulls, 40 overflows");
            assert!(run.stdout.contains(&repaired), "{}", run.stdout);
        }
        // With -Xcheck:jni the VM looks at its handlers.
        assert!(!run.stdout.contains("modified"), "{}", run.stdout);
        Profile::parse(&run.read("x.txt"));
    }
}

/// How often memory is taken away while the handler reads it. `scripts/stress --faults` is the long form.
const TAKEN: u32 = 200;

on_every_jvm!(memory_may_be_taken_away_while_the_handler_reads_it);

fn memory_may_be_taken_away_while_the_handler_reads_it(jvm: &Jvm) {
    let Some(library) = c_library("java-tests/samples/taken_away.c") else {
        return;
    };
    let library = library.to_str().expect("UTF-8");
    let vm_options = ["-Xint", "-XX:+UseSerialGC"];
    let options = "cpu=samples,engine=async,interval=1,depth=16,cutoff=0,file=x.txt";
    for place in ["front", "behind"] {
        let run = Program::with_vm_options(jvm, options, &vm_options, "TakenAway")
            .env("LD_PRELOAD", library)
            .args([library, &TAKEN.to_string(), place])
            .run_well();
        assert!(run.printed("taken") >= f64::from(TAKEN), "{}", run.stdout);
        if place == "behind" {
            assert!(run.printed("faults") >= f64::from(TAKEN), "{}", run.stdout);
        }
        let profile = Profile::parse(&run.read("x.txt"));
        // The method that could not be read is missing, and its caller is there.
        let callers = ["java.lang.Thread.run", "java.lang.Thread.runWith"];
        let called: u32 = callers.map(|caller| profile.count(caller)).iter().sum();
        assert!(called > 0, "{place}: {profile:?}");
    }
}

/// Runs a program with a limit of its pending signals, of which it has 60. A user namespace has a count of its own; where none is to
/// be had, those of the user's other programs count, which come and go.
const FEW_PENDING_SIGNALS: &str = r#"
if unshare --user --map-root-user true 2>/dev/null; then
    exec unshare --user --map-root-user bash -c 'ulimit -i 60 && exec "$@"' bash "$@"
fi
used=$(awk '/^SigQ:/ { split($2, parts, "/"); print parts[1] }' /proc/self/status)
ulimit -i $((used + 60))"#;

#[test]
fn timers_that_are_not_to_be_had_are_made_up_for_and_stderr_says_so() {
    // For 200 threads.
    let options = "cpu=samples,engine=async,interval=1,depth=16,cutoff=0,file=x.txt";
    let program = Program::new(any_jvm(), options, "ManyBusy");
    let run = program.after(FEW_PENDING_SIGNALS).run_well();
    let text = run.read("x.txt");
    if text.contains("the system refuses a timer") {
        return skip("few timers are to be had: other tests have taken them");
    }
    let said = "more than three quarters of the user's pending signals";
    assert!(run.stderr.contains(said), "{}", run.stderr);
    let profile = Profile::parse(&text);
    let total = profile.samples().total;
    let (busy, unsampled) = (
        profile.count("ManyBusy.work"),
        profile.count("java.lang.Thread.<unsampled>"),
    );
    println!("{busy} busy and {unsampled} unsampled of {total}");
    assert!(busy > total / 2, "{busy} of {total}");
    assert!(unsampled < total / 3, "{unsampled} of {total}");
}
