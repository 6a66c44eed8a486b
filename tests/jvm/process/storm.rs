//! The handler of CPU samples, under far more signals than timers send.
//!
//! A preloaded library sends them (`scripts/lib/signal_storm.c`). `scripts/stress --storm` is the long form of this.

use crate::harness::{Jvm, Program, c_library, old_jvms};

/// So many signals must have come, where the timers send some hundreds.
const LEAST_SENT: u64 = 2_000;
/// The most runs in which they are sent.
const RUNS: usize = 5;

on_every_jvm!(a_program_goes_on_under_a_storm_of_signals, and 28);

fn a_program_goes_on_under_a_storm_of_signals(jvm: &Jvm) {
    let Some(library) = c_library("scripts/lib/signal_storm.c") else {
        return;
    };
    let options = "cpu=samples,engine=async,interval=1,depth=64,file=x.txt";
    let home = jvm.home.display();
    let mut sent = 0;
    // On a busy machine one run gets few signals.
    for _ in 0..RUNS {
        let program = Program::with_vm_options(jvm, options, &["-Xmx100m", "-Xss1m"], "Churn");
        let run = program
            .arg("2000")
            .env("LD_PRELOAD", library.to_str().expect("UTF-8"))
            .env("HPROF_STORM_NANOS", "20000")
            .env("HPROF_STORM_SIGN", "sent")
            .run();
        assert!(
            run.status.success() && run.stdout.contains("churned"),
            "{home}: {} {} {}",
            run.status,
            run.stdout,
            run.stderr
        );
        assert!(run.read("x.txt").contains("\nCPU SAMPLES END\n"), "{home}");
        sent += run.read("sent").trim().parse::<u64>().expect("a number");
        if sent >= LEAST_SENT {
            break;
        }
    }
    println!("{home}: {sent} signals");
    assert!(sent >= LEAST_SENT, "{home}: {sent}");
}

#[test]
fn a_program_goes_on_under_a_storm_of_signals_on_old_updates() {
    for jvm in old_jvms() {
        a_program_goes_on_under_a_storm_of_signals(&jvm);
    }
}
