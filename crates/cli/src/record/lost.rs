//! The part of a profile that its rows do not tell.

use std::fmt::Write;

use hprof_profile::{FrameKind, Metric, Profile};

use crate::table::percent;

/// The method of samples whose stack could not be taken.
const UNSAMPLED: &str = "<unsampled>";

/// Values without a true stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// Without a stack.
    without_stack: u64,
    /// In rows below the cutoff.
    below_cutoff: u64,
    /// With a stack that has as many frames as stacks may have.
    cut: u64,
    depth: u16,
}

impl Lost {
    /// Adds up what a profile has of it.
    pub fn of(profile: &Profile, metric: Metric, depth: u16) -> Self {
        let mut lost = Self {
            depth,
            ..Self::default()
        };
        for sample in profile.samples(metric) {
            let frames = profile.stacks.frames(sample.stack);
            let innermost = frames.first().map(|&frame| profile.frame(frame));
            let sum = match innermost {
                None => &mut lost.without_stack,
                Some(frame) if frame.kind == FrameKind::Marker => &mut lost.below_cutoff,
                Some(frame) if Self::is_unsampled(profile.names.text(frame.method)) => {
                    &mut lost.without_stack
                }
                Some(_) if frames.len() >= usize::from(depth) => &mut lost.cut,
                Some(_) => continue,
            };
            *sum = sum.saturating_add(sample.value);
        }
        lost
    }

    /// Returns `true` for the method that stands for samples without a stack.
    pub fn is_unsampled(method: &str) -> bool {
        method.ends_with(UNSAMPLED)
    }

    /// Returns a line for each kind of loss, or one that says that there is none.
    pub fn lines(&self, total: u64, metric: Metric) -> Vec<String> {
        let why_no_stack = match metric {
            Metric::Cpu => {
                "threads that ended too soon, or code of the VM in which no stack can be taken"
            }
            Metric::Contention | Metric::Contentions => "no method was running yet",
            _ => "the VM itself, or before the profile began",
        };
        let kinds = [
            (self.without_stack, format!("has no stack: {why_no_stack}")),
            (
                self.below_cutoff,
                "is in rows too small to be listed one by one (cutoff=)".to_owned(),
            ),
            (
                self.cut,
                format!("has stacks cut at {} frames (depth=)", self.depth),
            ),
        ];
        let lost = kinds.into_iter().filter(|&(value, _)| value > 0);
        let lines: Vec<String> = lost
            .map(|(value, what)| {
                let mut line = String::new();
                // Writing to a String cannot fail.
                let _ = write!(line, "{:.1} % {what}", percent(value, total));
                line
            })
            .collect();
        match lines.is_empty() {
            true => vec!["nothing was lost".to_owned()],
            false => lines,
        }
    }
}

#[cfg(test)]
mod tests {
    use hprof_profile::{Wanted, load};

    use super::*;

    #[test]
    fn each_kind_of_loss_is_told_apart() {
        let file = "\
JAVA PROFILE 1.0.1, created Fri Nov 20 10:39:11 2026
TRACE 300001:
\tShop.price(Shop.java:7)
\tShop.main(Shop.java:3)
TRACE 300002:
\tShop.main(Shop.java:3)
TRACE 300003:
\tjava.lang.Thread.<unsampled>(Unknown Source)
TRACE 300004:
\t<empty>
CPU SAMPLES BEGIN (total = 20) Fri Nov 20 10:39:12 2026
rank   self  accum   count trace method
   1 25.00% 25.00%       5 300001 Shop.price
   2 20.00% 45.00%       4 300002 Shop.main
   3 15.00% 60.00%       3 300003 java.lang.Thread.<unsampled>
   4 10.00% 70.00%       2 300004 <empty>
CPU SAMPLES END
";
        let profile = load(file.as_bytes(), Wanted::Last)
            .expect("a profile")
            .profile;
        let lost = Lost::of(&profile, Metric::Cpu, 2);
        let expected = Lost {
            without_stack: 5,
            below_cutoff: 6,
            cut: 5,
            depth: 2,
        };
        assert_eq!(lost, expected);
        let lines = lost.lines(20, Metric::Cpu);
        assert_eq!(lines.len(), 3);
        assert!(lines[0].starts_with("25.0 % has no stack"), "{lines:?}");
        assert_eq!(Lost::default().lines(20, Metric::Cpu), ["nothing was lost"]);
    }
}
