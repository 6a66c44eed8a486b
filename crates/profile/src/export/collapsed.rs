//! Collapsed stacks: `outermost;...;innermost value`, one line a stack, as `flamegraph.pl` and its kin read them.

use std::io::{self, Write};

use foldhash::HashMap;

use super::{EMPTY, method_names};
use crate::{FrameId, Metric, Profile};

/// Writes the stacks of one metric; equal ones stand on one line. A `;` in a name is written as `:`, control characters
/// as `?`.
///
/// # Errors
/// Those of `out`.
pub fn collapsed(profile: &Profile, metric: Metric, mut out: impl Write) -> io::Result<()> {
    for (frames, value) in folded(profile, metric) {
        writeln!(out, "{frames} {value}")?;
    }
    out.flush()
}

/// Every stack that has a value, as it is written, and the sum of its values; sorted.
fn folded(profile: &Profile, metric: Metric) -> Vec<(String, u64)> {
    let names: Vec<String> = method_names(profile).iter().map(|n| safe(n)).collect();
    let name_of = |frame: &FrameId| names[frame.0 as usize].as_str();
    let mut sums: HashMap<String, u64> = HashMap::default();
    for sample in profile.samples(metric).filter(|sample| sample.value > 0) {
        let frames = profile.stacks.frames(sample.stack).iter().rev();
        let mut line = frames.map(name_of).collect::<Vec<_>>().join(";");
        if line.is_empty() {
            line.push_str(EMPTY);
        }
        let sum = sums.entry(line).or_default();
        *sum = sum.saturating_add(sample.value);
    }
    let mut lines: Vec<(String, u64)> = sums.into_iter().collect();
    lines.sort_unstable();
    lines
}

fn safe(name: &str) -> String {
    hprof_format::printable(name).replace(';', ":")
}
