//! Threads that are suspended at random moments, as by a debugger. None may keep the program's others from going on.
//!
//! `scripts/stress --suspend` is the long form of this.

use crate::harness::{Jvm, Program, c_library};

const ROUNDS: &str = "60";

/// A mode in which many threads come into the agent.
const MODES: [&str; 6] = [
    "heap=sites,file=x.txt",
    "heap=all,thread=y,format=b,file=x.hprof",
    "cpu=samples,wall=y,interval=1,file=x.txt",
    "cpu=samples,engine=jvmti,interval=1,file=x.txt",
    "cpu=times,file=x.txt",
    "monitor=y,thread=y,file=x.txt",
];

on_every_jvm!(a_suspended_thread_keeps_no_other_from_going_on);

fn a_suspended_thread_keeps_no_other_from_going_on(jvm: &Jvm) {
    let Some(library) = c_library("java-tests/suspend/suspend.c") else {
        return;
    };
    let library = library.to_str().expect("UTF-8");
    for options in MODES {
        let program = Program::java(jvm, options, &[]).program("suspend", "Suspended");
        let run = program.args([library, ROUNDS, "7"]).run();
        let (status, stdout, stderr) = (run.status, &run.stdout, &run.stderr);
        let home = jvm.home.display();
        let said = stdout.contains(&format!("rounds {ROUNDS}\n"));
        assert!(
            status.success() && said && !stderr.contains("a fault of the agent"),
            "{home} {options}: {status} {stdout} {stderr}"
        );
        assert!(run.printed("suspended") >= 6.0, "{home}: {stdout}");
    }
}
