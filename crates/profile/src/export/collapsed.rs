//! Collapsed stacks: `outermost;...;innermost value`, one line per stack, as `flamegraph.pl` and its kin read them.

use std::io::{self, Write};

use foldhash::HashMap;

use super::{ANY_THREAD, method_names};
use crate::metric::Metric;
use crate::model::{FrameId, Profile, StackId};
use crate::names::Name;

/// Writes the stacks of one metric; equal ones are on one line. A `;` in a name is written as `:`, control characters
/// as `?`; names of more than 400 bytes are cut and end with `…`.
///
/// # Errors
/// Those of `out`.
pub fn collapsed(profile: &Profile, metric: Metric, mut out: impl Write) -> io::Result<()> {
    for (frames, value) in folded(profile, metric, Folding::default()) {
        writeln!(out, "{frames} {value}")?;
    }
    out.flush()
}

/// The form of a stack on one line.
#[derive(Clone, Copy, Debug, Default)]
pub struct Folding {
    /// `true` to begin with the innermost frame.
    pub inverted: bool,
    /// `true` to put the thread before the outermost frame.
    pub by_thread: bool,
}

/// Returns each stack that has a value, as a line, and the sum of its values; sorted.
#[must_use]
pub fn folded(profile: &Profile, metric: Metric, folding: Folding) -> Vec<(String, u64)> {
    let names: Vec<String> = method_names(profile).iter().map(|n| safe(n)).collect();
    let name_of = |frame: &FrameId| names[frame.0 as usize].as_str();
    let mut costs: HashMap<(StackId, Option<Name>), u64> = HashMap::default();
    for sample in profile.samples(metric).filter(|sample| sample.value > 0) {
        let thread = folding.by_thread.then(|| profile.labels(sample.labels));
        let thread = thread.and_then(|labels| labels.thread);
        let cost = costs.entry((sample.stack, thread)).or_default();
        *cost = cost.saturating_add(sample.value);
    }
    let mut sums: HashMap<String, u64> = HashMap::default();
    for ((stack, thread), value) in costs {
        let thread = folding.by_thread.then(|| {
            let thread = thread.map_or(ANY_THREAD, |name| profile.names.text(name));
            safe(thread)
        });
        let frames = profile.stacks.frames(stack);
        let mut path: Vec<&str> = frames.iter().map(name_of).collect();
        if !folding.inverted {
            path.reverse();
        }
        if let Some(thread) = &thread {
            path.insert(0, thread);
        }
        let sum = sums.entry(path.join(";")).or_default();
        *sum = sum.saturating_add(value);
    }
    let mut lines: Vec<(String, u64)> = sums.into_iter().collect();
    lines.sort_unstable();
    lines
}

fn safe(name: &str) -> String {
    // Every frame of every stack repeats its name.
    let name = hprof_format::shortened(name);
    hprof_format::printable(name.as_ref()).replace(';', ":")
}
