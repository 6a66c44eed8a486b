//! `cpu=times` and `cpu=old`: the calls of methods, their callers, and their cost. The programs are in
//! `java-tests/times`, with the expected results in their first comments.

mod budget;
mod contexts;
mod costs;
mod counts;
mod old;
mod programs;
mod threads;

use crate::harness::{Finished, Jvm, Program};
use crate::profile::{CpuTimes, Profile, Time};

/// Everything, regardless of its cost.
const ALL: &str = "cpu=times,cutoff=0,file=x.txt";

/// The ways of measuring, which count alike.
const CLOCKS: [&str; 2] = ["clock=cpu", "clock=samples"];

/// Stack for a recursion of 10,000 calls, for which the interpreter needs more than the default.
const STACK: &str = "-Xss8m";

/// Returns a program of `java-tests/times` with the agent.
fn program(jvm: &Jvm, options: &str, name: &str) -> Program {
    Program::java(jvm, options, &[STACK]).program("times", name)
}

/// Runs a program to its end, with these options in addition to [`ALL`], and reads its profile. It must print the same
/// as without the agent.
fn profile(jvm: &Jvm, options: &str, name: &str) -> (Profile, Finished) {
    let options = format!("{ALL},{options}");
    let run = program(jvm, options.trim_end_matches(','), name).run_well();
    let profile = Profile::parse(&run.read("x.txt"));
    (profile, run)
}

/// As `profile`, for a program that always prints the same.
fn profile_of_same_output(jvm: &Jvm, options: &str, name: &str) -> Profile {
    let (profile, run) = profile(jvm, options, name);
    let bare = Program::bare_java(jvm, &[STACK])
        .program("times", name)
        .run_well();
    assert_eq!(run.stdout, bare.stdout, "{} {name}", jvm.feature);
    profile
}

fn one(profile: &Profile) -> &CpuTimes {
    assert_eq!(profile.times.len(), 1, "one dump");
    &profile.times[0]
}

/// Returns the methods of a trace, innermost first.
fn methods(profile: &Profile, trace: u32) -> Vec<&str> {
    let frames = profile.traces[&trace].frames.iter();
    frames
        .map(|frame| frame.split_once('(').expect("a frame").0)
        .collect()
}

/// Returns the number of all calls of a method.
fn calls(times: &CpuTimes, method: &str) -> u64 {
    sum(times, |row| row.method == method)
}

/// Returns the number of calls in the wanted rows.
fn sum(times: &CpuTimes, wanted: impl Fn(&Time) -> bool) -> u64 {
    let rows = times.rows.iter().filter(|row| wanted(row));
    rows.map(|row| row.calls).sum()
}

/// Returns every context in which a method was called: the methods of the traces, and the number of calls.
fn ways<'a>(profile: &'a Profile, times: &'a CpuTimes, method: &str) -> Vec<(Vec<&'a str>, u64)> {
    let rows = times.rows.iter().filter(|row| row.method == method);
    let mut ways: Vec<_> = rows
        .map(|row| (methods(profile, row.trace), row.calls))
        .collect();
    ways.sort();
    ways
}

/// Returns the time in a method itself, in milliseconds, as precisely as the percentages allow.
fn own_millis(times: &CpuTimes, method: &str) -> f64 {
    let rows = times.rows.iter().filter(|row| row.method == method);
    rows.map(|row| row.own).sum::<f64>() / 100.0 * times.total as f64
}
