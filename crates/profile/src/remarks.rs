//! Remarks on what the numbers of a profile leave out.

use hprof_format::UNKNOWN_NAME;

use crate::markers::{BEFORE, NO_DEPTH, NO_FRAMES, NOT_LISTED, OTHER};
use crate::metric::Metric;
use crate::model::{FrameId, FrameKind, Profile};
use crate::records::{NATIVE, SITES};

/// The remark on rows that end with `<folded>`.
const FOLDED: &str =
    "is <folded>: rows below the agent's cutoff, added up under shorter stacks; cutoff=0 keeps all";

/// The frame of CPU time whose stack could not be read. The next frame, if there is one, says why.
const UNSAMPLED: &str = "<unsampled>";

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
        UNSAMPLED => {
            "CPU time whose stack could not be read: threads that ended before their next sample, code without Java frames"
        }
        _ => return None,
    })
}

impl Profile {
    /// Returns the part of a metric's total that has a stack of the program: without objects that were there before, and those
    /// that the VM made.
    #[must_use]
    pub fn made_by_program(&self, metric: Metric) -> u64 {
        let before = self.frame_ids().find(|&frame| self.method(frame) == BEFORE);
        let is_before = |stack| before.is_some_and(|before| *self.stacks.frames(stack) == [before]);
        let made = self
            .samples(metric)
            .filter(|sample| !is_before(sample.stack));
        made.fold(0, |sum: u64, sample| sum.saturating_add(sample.value))
    }

    /// Returns what is to be said about this metric: which part has stacks that were cut, and which has none, and why.
    #[must_use]
    pub fn remarks(&self, metric: Metric) -> Vec<Remark> {
        let (mut cut, mut folded) = (0_u64, 0_u64);
        let mut named: Vec<(&str, u64)> = Vec::new();
        let mut reasons: Vec<(&str, u64)> = Vec::new();
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
            let reason = self.reason(frames);
            if let Some(reason) = reason {
                add_to(&mut reasons, reason, sample.value);
            }
            if frames.len() > 1 && !is_other && reason.is_none() {
                continue;
            }
            if frame.kind == FrameKind::Marker || self.is_stand_in(frame) {
                add_to(&mut named, self.names.text(frame.method), sample.value);
            }
        }
        sort(&mut named);
        sort(&mut reasons);
        let cut = (cut > 0).then(|| Remark {
            value: cut,
            text: self.about_cut(),
        });
        let folded = (folded > 0).then(|| Remark {
            value: folded,
            text: FOLDED.to_owned(),
        });
        let named = named.into_iter().filter_map(|(name, value)| {
            let mut text = format!("is {name}: {}", meaning(name)?);
            if name == UNSAMPLED && !reasons.is_empty() {
                text = about_unsampled(metric, &reasons, value);
            }
            Some(Remark { value, text })
        });
        cut.into_iter().chain(folded).chain(named).collect()
    }

    /// Returns the standard error of the metric's total, if it is an estimate.
    #[must_use]
    pub fn standard_error(&self, metric: Metric) -> Option<u64> {
        let native = self.native.map(|native| native.errors);
        match metric {
            Metric::NativeLiveBytes => return native.map(|errors| errors.live),
            Metric::NativeOldBytes => return native.map(|errors| errors.old),
            Metric::NativeBytes => return native.map(|errors| errors.allocated),
            _ => {}
        }
        let place = SITES.iter().position(|&of| of == metric)?;
        self.errors.map(|errors| errors.0[place])
    }

    /// Returns why a stack could not be read, if it is one of those and the file says it.
    fn reason(&self, frames: &[FrameId]) -> Option<&str> {
        let &[innermost, reason] = frames else {
            return None;
        };
        let (innermost, reason) = (self.frame(innermost), self.frame(reason));
        let is_unsampled =
            self.is_stand_in(innermost) && self.names.text(innermost.method) == UNSAMPLED;
        let name = self.names.text(reason.method);
        (is_unsampled && self.is_stand_in(reason) && name != "<folded>").then_some(name)
    }

    fn about_cut(&self) -> String {
        let depths: Vec<String> = self.depths.iter().map(u32::to_string).collect();
        let depths = depths.join(" or ");
        let advice = self.about_depth.unwrap_or("depth=512 keeps whole stacks");
        format!(
            "is in stacks cut at {depths} frames: callers further out are missing, and their totals too small; {advice}"
        )
    }
}

/// Adds a value to the sum of that name.
fn add_to<'a>(sums: &mut Vec<(&'a str, u64)>, name: &'a str, value: u64) {
    match sums.iter_mut().find(|(known, _)| *known == name) {
        Some((_, sum)) => *sum = sum.saturating_add(value),
        None => sums.push((name, value)),
    }
}

/// The largest first.
fn sort(sums: &mut [(&str, u64)]) {
    sums.sort_by_key(|&(name, value)| (std::cmp::Reverse(value), name));
}

/// Returns what is said of time without a stack, with the reasons and their shares of it.
fn about_unsampled(metric: Metric, reasons: &[(&str, u64)], all: u64) -> String {
    let share = |value: u64| 100.0 * value as f64 / all.max(1) as f64;
    let reasons: Vec<String> = reasons
        .iter()
        .map(|&(reason, value)| {
            let reason = reason.trim_matches(['<', '>']);
            format!("{:.1} % of it {reason}", share(value))
        })
        .collect();
    let time = match metric {
        Metric::Wall | Metric::Blocked | Metric::Parked | Metric::Pinned => "time",
        _ if NATIVE.contains(&metric) => "memory",
        _ => "CPU time",
    };
    format!(
        "is {UNSAMPLED}: {time} whose stack could not be read, {}",
        reasons.join(", ")
    )
}
