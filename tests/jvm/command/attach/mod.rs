//! Profiles of running programs. The programs are in `java-tests/attach`, with the expected results in their first
//! comments.

mod commands;
mod doctor;
mod flags;
mod refusals;
mod rounds;
mod strangers;
mod totals;
mod traces;

use std::fs;

use crate::harness::{Finished, Jvm, Program, Running};
use crate::heap::sites;
use crate::profile::{CpuSamples, Profile, Row};

/// Tracks every object, and prints nothing on the program's stderr.
const EXACT: &str = "heap=sites,cutoff=0,depth=3,verbose=n,file=";

/// Starts `Steps` without the agent, waiting for its first step.
fn steps(jvm: &Jvm, vm_options: &[&str], steps: &[&str]) -> Running {
    let mut program = Program::bare_java(jvm, vm_options).program("attach", "Steps");
    for step in steps {
        program = program.arg(*step);
    }
    let run = program.start();
    run.wait_for_output("ready");
    run
}

/// Makes it do its next step.
fn go(run: &Running, number: usize) {
    fs::write(run.path(&format!("go{number}")), "").expect("a file");
    run.wait_for_output(&format!("done {number}\n"));
}

/// Makes it end, and asserts its success.
fn end(run: Running) -> Finished {
    fs::write(run.path("end"), "").expect("a file");
    let run = run.wait();
    assert!(run.status.success(), "{}: {}", run.status, run.stderr);
    run
}

fn text(run: &Running, file: &str) -> String {
    fs::read_to_string(run.path(file)).expect("a profile")
}

fn profile(run: &Running, file: &str) -> Profile {
    Profile::parse(&text(run, file))
}

/// Returns the number of objects of a class that were allocated in a method.
fn made(profile: &Profile, class: &str, method: &str) -> u64 {
    sites::count(profile, profile.one_sites(), class, method).allocated
}

/// Returns the share of a dump's CPU time in `Steps.busy`: the VM may charge functions that it calls to itself.
fn busy(profile: &Profile, dump: &CpuSamples) -> f64 {
    let is_busy = |row: &&Row| {
        let mut frames = profile.traces[&row.trace].frames.iter();
        frames.any(|frame| frame.starts_with("Steps.busy("))
    };
    let samples: u32 = dump.rows.iter().filter(is_busy).map(|row| row.count).sum();
    f64::from(samples) / f64::from(dump.total)
}

/// Removes the VM's warning about agents that are loaded late.
fn without_warning(stderr: &str) -> String {
    let lines = stderr.lines().filter(|line| !line.starts_with("WARNING: "));
    lines.map(|line| format!("{line}\n")).collect()
}
