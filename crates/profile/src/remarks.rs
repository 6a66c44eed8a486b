//! Remarks on what the numbers of a profile leave out.

use hprof_format::UNKNOWN_NAME;

use crate::markers::{BEFORE, NO_DEPTH, NO_FRAMES, NOT_LISTED, OTHER};
use crate::metric::Metric;
use crate::model::{FrameKind, Profile};

/// The remark on rows that end with `<folded>`.
const FOLDED: &str =
    "is <folded>: rows below the agent's cutoff, added up under shorter stacks; cutoff=0 keeps all";

/// Something that readers of a profile should know about a part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// The part of the metric's total.
    pub value: u64,
    /// The statement about the part, to be read after its name: `is in stacks cut at 4 frames: ...`.
    pub text: String,
}

/// Explains the rows whose only frame has this name.
fn meaning(name: &str) -> Option<&'static str> {
    Some(match name {
        NOT_LISTED => {
            "rows below the agent's cutoff, of which the file has only the sum; cutoff=0 lists them"
        }
        BEFORE => {
            "objects that were there before the agent saw allocations, and those that the VM made without Java code"
        }
        NO_FRAMES => "threads that ran no Java code",
        NO_DEPTH => "the profile was made without stacks; depth=512 keeps them",
        OTHER => "stacks without a frame of your own; --mine=PREFIX:... says what is yours",
        UNKNOWN_NAME => "stacks that the file does not define",
        "<unsampled>" => {
            "CPU time whose stack could not be read: threads that ended before their next sample, code without Java frames"
        }
        _ => return None,
    })
}

impl Profile {
    /// Returns what is to be said about this metric: which part has stacks that were cut, and which has none, and why.
    #[must_use]
    pub fn remarks(&self, metric: Metric) -> Vec<Remark> {
        let (mut cut, mut folded) = (0_u64, 0_u64);
        let mut named: Vec<(&str, u64)> = Vec::new();
        for sample in self.samples(metric).filter(|sample| sample.value > 0) {
            let add = |sum: &mut u64| *sum = sum.saturating_add(sample.value);
            if self.cut_at(sample.stack).is_some() {
                add(&mut cut);
            }
            if self.is_folded(sample.stack) {
                add(&mut folded);
            }
            let frames = self.stacks.frames(sample.stack);
            let Some(&innermost) = frames.first() else {
                continue;
            };
            let frame = self.frame(innermost);
            let is_other =
                frame.kind == FrameKind::Marker && self.names.text(frame.method) == OTHER;
            if frames.len() > 1 && !is_other {
                continue;
            }
            if frame.kind == FrameKind::Marker || self.is_stand_in(frame) {
                let name = self.names.text(frame.method);
                match named.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, sum)) => add(sum),
                    None => named.push((name, sample.value)),
                }
            }
        }
        named.sort_by_key(|&(name, value)| (std::cmp::Reverse(value), name));
        let cut = (cut > 0).then(|| Remark {
            value: cut,
            text: self.about_cut(),
        });
        let folded = (folded > 0).then(|| Remark {
            value: folded,
            text: FOLDED.to_owned(),
        });
        let named = named.into_iter().filter_map(|(name, value)| {
            let text = format!("is {name}: {}", meaning(name)?);
            Some(Remark { value, text })
        });
        cut.into_iter().chain(folded).chain(named).collect()
    }

    fn about_cut(&self) -> String {
        let depths: Vec<String> = self.depths.iter().map(u32::to_string).collect();
        let depths = depths.join(" or ");
        format!(
            "is in stacks cut at {depths} frames: callers further out are missing, and their totals too small; depth=512 keeps \
             whole stacks"
        )
    }
}
