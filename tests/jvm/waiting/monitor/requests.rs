//! Requests for dumps at any time: none is lost, none mixes with another, and none delays the program.

use std::thread;
use std::time::Duration;

use super::program;
use crate::harness::{Finished, Jvm};
use crate::profile::Profile;

const OPTIONS: &str = "cpu=samples,heap=sites,monitor=y,file=x.txt";

/// Returns the number of dumps, each of which must have all its sections.
fn dumps(run: &Finished, jvm: &Jvm) -> usize {
    let profile = Profile::parse(&run.read("x.txt"));
    let monitors = &profile.monitors;
    let counts = [
        profile.dumps.len(),
        profile.sites.len(),
        monitors.dumps.len(),
        monitors.times.len(),
    ];
    assert_eq!(counts, [counts[0]; 4], "{}", jvm.feature);
    let said = run.stderr.matches("Dumping").count();
    assert_eq!(
        (said, run.stderr.matches(" done.\n").count()),
        (2 * counts[0], counts[0]),
        "begun and done"
    );
    counts[0]
}

/// The beginning of the VM's own answer to a request.
const ANSWER: &str = "Full thread dump";

/// Returns the number of requests to which the VM responded with its own dump of threads.
fn answered(run: &Finished) -> usize {
    run.stdout.matches(ANSWER).count()
}

on_every_jvm!(requests_from_the_first_moment_on, and 17);

fn requests_from_the_first_moment_on(jvm: &Jvm) {
    // Until the VM handles the signal, it would end it.
    let run = program(jvm, OPTIONS, &[], "Storm")
        .arg("500")
        .after("trap '' QUIT; echo deaf >&2")
        .start();
    run.wait_for_stderr("deaf");
    for _ in 0..300 {
        run.try_send("QUIT");
        thread::sleep(Duration::from_millis(1));
    }
    // On a busy machine the VM may hardly have begun by now.
    run.wait_until(|| {
        run.try_send("QUIT");
        run.stderr().contains("storm ")
    });
    let run = run.wait();
    assert_eq!(
        run.status.code(),
        Some(0),
        "{}: {}",
        jvm.feature,
        run.stderr
    );
    assert!(run.stderr.contains("storm 0\n"), "{}", run.stderr);
    let (dumps, answered) = (dumps(&run, jvm), answered(&run));
    println!(
        "{}: {dumps} dumps, {answered} requests answered",
        jvm.feature
    );
    // The VM answers some before it notifies agents of any.
    assert!(dumps >= 1 && dumps <= answered + 1, "{}", jvm.feature);
}

on_every_jvm!(a_request_for_each_that_the_vm_tells_of, and 28);

fn a_request_for_each_that_the_vm_tells_of(jvm: &Jvm) {
    let run = program(jvm, OPTIONS, &[], "Desk").start();
    run.wait_for_output("ready");
    // Each as soon as the VM has answered the one before, while the agent may still be busy with that.
    for number in 1..=6 {
        run.send("QUIT");
        run.wait_until(|| run.output("stdout").matches(ANSWER).count() == number);
    }
    run.wait_until(|| run.stderr().matches(" done.\n").count() == 6);
    std::fs::write(run.path("go"), "").expect("a file");
    let run = run.wait();
    assert!(run.status.success(), "{}: {}", jvm.feature, run.stderr);
    let (dumps, answered) = (dumps(&run, jvm), answered(&run));
    println!(
        "{}: {dumps} dumps, {answered} requests answered",
        jvm.feature
    );
    assert_eq!(dumps, answered + 1, "{}: and one at the end", jvm.feature);
}

on_every_jvm!(requests_while_the_program_ends, and 25);

fn requests_while_the_program_ends(jvm: &Jvm) {
    for round in 0..4 {
        let run = program(jvm, OPTIONS, &[], "Desk").start();
        run.wait_for_output("ready");
        run.send("TERM");
        for _ in 0..40 {
            run.try_send("QUIT");
            thread::sleep(Duration::from_millis(round));
        }
        let run = run.wait();
        // A VM that is shutting down has the default action for SIGQUIT.
        let (code, signal) = (run.status.code(), run.signal());
        assert!(
            code == Some(143) || signal == Some(3),
            "{}: {}: {}",
            jvm.feature,
            run.status,
            run.stderr
        );
        let dumps = dumps(&run, jvm);
        assert!(dumps >= 1, "{}: {}", jvm.feature, run.stderr);
    }
}
