//! Profiles of programs that run already. The programs stand in `java-tests/attach`, their right answers in their first
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
use crate::profile::{CpuSamples, Profile, Row};
use crate::sites;

/// Every object, and nothing said on the program's stderr.
const EXACT: &str = "heap=sites,cutoff=0,depth=3,verbose=n,file=";

/// `Steps` without the agent, waiting for its first step.
fn steps(jvm: &Jvm, vm_options: &[&str], steps: &[&str]) -> Running {
    let mut program = Program::bare_java(jvm, vm_options).program("attach", "Steps");
    for step in steps {
        program = program.arg(*step);
    }
    let run = program.start();
    run.wait_for_output("ready");
    run
}

/// Has it do its next step.
fn go(run: &Running, number: usize) {
    fs::write(run.path(&format!("go{number}")), "").expect("a file");
    run.wait_for_output(&format!("done {number}\n"));
}

/// Has it end, which it does well.
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

/// How many objects of a class were made in a method.
fn made(profile: &Profile, class: &str, method: &str) -> u64 {
    sites::count(profile, profile.one_sites(), class, method).allocated
}

/// How much of a dump's CPU time is that of `Steps.busy`: the VM may charge what it calls to itself.
fn busy(profile: &Profile, dump: &CpuSamples) -> f64 {
    let is_busy = |row: &&Row| {
        let mut frames = profile.traces[&row.trace].frames.iter();
        frames.any(|frame| frame.starts_with("Steps.busy("))
    };
    let samples: u32 = dump.rows.iter().filter(is_busy).map(|row| row.count).sum();
    f64::from(samples) / f64::from(dump.total)
}

/// What the VM says about agents that come later, taken out.
fn without_warning(stderr: &str) -> String {
    let lines = stderr.lines().filter(|line| !line.starts_with("WARNING: "));
    lines.map(|line| format!("{line}\n")).collect()
}
