//! `monitor=y`: contention, waits, and the state of all monitors. The programs are in `java-tests/monitor`, with the
//! expected results in their first comments.

mod binary;
mod contention;
mod dumps;
mod holders;
mod layout;
mod requests;
mod storm;
pub mod text;

use crate::harness::{Finished, Jvm, Program};
use crate::profile::Profile;

/// A program of `java-tests/monitor` with the agent.
fn program(jvm: &Jvm, options: &str, vm_options: &[&str], name: &str) -> Program {
    Program::java(jvm, options, vm_options).program("monitor", name)
}

/// Reads the profile of a run without CPU samples or sites, whose traces must all be named.
fn read(run: &Finished) -> Profile {
    let profile = Profile::parse(&run.read("x.txt"));
    assert!(profile.dumps.is_empty() && profile.sites.is_empty());
    let dumps = profile.monitors.dumps.iter();
    let mut named: Vec<u32> = dumps
        .flat_map(|dump| dump.threads.iter().map(|state| state.trace))
        .collect();
    let times = profile.monitors.times.iter();
    named.extend(times.flat_map(|time| time.rows.iter().map(|row| row.trace)));
    for row in profile.monitors.locks.iter().flat_map(|locks| &locks.rows) {
        named.push(row.trace);
        named.extend(row.holder);
    }
    for serial in profile.traces.keys().filter(|serial| **serial != 300_000) {
        assert!(named.contains(serial), "nothing names TRACE {serial}");
    }
    profile
}

/// Returns `true` if a trace has a frame of the method, `Class.method`.
fn goes_through(profile: &Profile, trace: u32, method: &str) -> bool {
    let calls = |frame: &String| {
        let rest = frame.strip_prefix(method);
        rest.is_some_and(|rest| rest.starts_with('('))
    };
    profile.traces[&trace].frames.iter().any(calls)
}
