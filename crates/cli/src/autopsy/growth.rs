//! Which part of a process has grown before it ended, in one sentence.

use std::ops::Range;

use hprof_format::GrowthSample;

use crate::amounts::{number, size, time};

/// A size that is less than a fifth and these bytes more than before has not grown.
const LITTLE: u64 = 8 << 20;
/// The same for what is outside the heap, of which less is known: as long as the heap has pages that were never used, that
/// part seems smaller than it is.
const LITTLE_OUTSIDE: u64 = 64 << 20;
/// The least time, in milliseconds, from which something can be said to grow inside the VM: a program that has just started
/// only ever has more than before.
const SHORT: u64 = 10_000;

/// A size at the beginning and at the end. What comes and goes in between is left out: each is the least in its quarter of
/// the time.
#[derive(Clone, Copy)]
struct Change {
    before: u64,
    after: u64,
}

impl Change {
    fn of(
        samples: &[GrowthSample],
        value: impl Fn(&GrowthSample) -> Option<u64>,
    ) -> Option<Change> {
        let quarter = samples.len().div_ceil(4);
        let least = |part: Range<usize>| samples[part].iter().filter_map(&value).min();
        Some(Change {
            before: least(0..quarter)?,
            after: least(samples.len() - quarter..samples.len())?,
        })
    }

    fn is_more_than(self, little: u64) -> bool {
        self.after.saturating_sub(self.before) > little.saturating_add(self.before / 5)
    }
}

/// Says what has grown; `None` if nothing is known.
pub fn sentence(samples: &[GrowthSample]) -> Option<String> {
    let (first, last) = (samples.first()?, samples.last()?);
    let heap = Change::of(samples, |sample| sample.heap_used)?;
    let outside = |sample: &GrowthSample| {
        let committed = sample.heap_committed?;
        Some(sample.resident?.saturating_sub(committed))
    };
    let outside = Change::of(samples, outside);
    let limit = last.heap_limit.map(|limit| format!(" of {}", size(limit)));
    let limit = limit.unwrap_or_default();
    let length = last.time.0.saturating_sub(first.time.0);
    let is_short = length < SHORT;
    let of_heap = match heap.is_more_than(LITTLE) {
        _ if is_short => format!("had {}{limit} in use", size(heap.after)),
        true => format!(
            "grew from {} to {}{limit}",
            size(heap.before),
            size(heap.after)
        ),
        false => format!("was flat at {}{limit}", size(heap.after)),
    };
    let of_process = match (outside, last.resident) {
        (Some(outside), _) if outside.is_more_than(LITTLE_OUTSIDE) => format!(
            ", and the process grew {}to {} outside it",
            match outside.before {
                0 => String::new(),
                before => format!("from {} ", size(before)),
            },
            size(outside.after)
        ),
        (_, Some(resident)) => format!(" and the process had {}", size(resident)),
        _ => String::new(),
    };
    let length = time(length as f64 / 1e3);
    let details = details(samples, last, is_short);
    Some(format!(
        "in the last {length} the Java heap {of_heap}{of_process}{details}"
    ))
}

/// Returns the parts that are known, in brackets; without what they were before if the time `is_short`.
fn details(samples: &[GrowthSample], last: &GrowthSample, is_short: bool) -> String {
    let live = Change::of(samples, |sample| sample.live);
    let threads = Change::of(samples, |sample| sample.threads);
    let parts = [
        live.map(|live| match live.is_more_than(LITTLE) {
            true if !is_short => format!(
                "live objects from {} to {}",
                size(live.before),
                size(live.after)
            ),
            _ => format!("live objects {}", size(live.after)),
        }),
        last.metaspace
            .map(|bytes| format!("metaspace {}", size(bytes))),
        last.code.map(|bytes| format!("code {}", size(bytes))),
        threads.map(|threads| match threads.after > 2 * threads.before {
            true if !is_short => format!(
                "threads from {} to {}",
                number(threads.before),
                number(threads.after)
            ),
            _ => format!("{} threads", number(threads.after)),
        }),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    match parts.is_empty() {
        true => String::new(),
        false => format!(" ({})", parts.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use hprof_format::Millis;

    use super::*;

    const MB: u64 = 1_000_000;

    /// Samples of a minute, from the heap in use and the resident memory, in MB, of each second.
    fn samples(of: impl Fn(u64) -> (u64, u64)) -> Vec<GrowthSample> {
        let sample = |second| {
            let (used, resident) = of(second);
            GrowthSample {
                time: Millis(second * 1_000),
                heap_used: Some(used * MB),
                heap_committed: Some(256 * MB),
                heap_limit: Some(512 * MB),
                resident: Some(resident * MB),
                threads: Some(20),
                ..GrowthSample::default()
            }
        };
        (0..=60).map(sample).collect()
    }

    #[test]
    fn a_heap_that_grows_is_told_from_one_that_is_collected() {
        let leak = samples(|second| (100 + 5 * second + 20 * (second % 3), 600));
        let told = sentence(&leak).expect("all is known");
        assert_eq!(
            told,
            "in the last 60.0 s the Java heap grew from 100.0 MB to 325.0 MB of 512.0 MB and the process had 600.0 MB (20 threads)"
        );
        let steady = samples(|second| (100 + 100 * (second % 4), 600));
        let told = sentence(&steady).expect("all is known");
        assert!(
            told.contains("the Java heap was flat at 100.0 MB of 512.0 MB and the process had 600"),
            "{told}"
        );
    }

    #[test]
    fn what_grows_outside_the_heap_is_named() {
        let native = samples(|second| (100, 356 + 10 * second));
        let told = sentence(&native).expect("all is known");
        assert!(
            told.contains(
                "was flat at 100.0 MB of 512.0 MB, and the process grew from 100.0 MB to 550.0 MB outside it"
            ),
            "{told}"
        );
        let both = samples(|second| (100 + second, 356 + 10 * second));
        let told = sentence(&both).expect("all is known");
        assert!(
            told.contains("grew from 100.0 MB to 145.0 MB of 512.0 MB, and the process grew from"),
            "{told}"
        );
    }

    #[test]
    fn little_is_said_where_little_is_known() {
        assert_eq!(sentence(&[]), None);
        assert_eq!(sentence(&[GrowthSample::default(); 3]), None);
        let one = samples(|_| (7, 80));
        let told = sentence(&one[..1]).expect("one is enough");
        assert!(
            told.contains(
                "the Java heap had 7.0 MB of 512.0 MB in use and the process had 80.0 MB"
            ),
            "{told}"
        );
    }
    #[test]
    fn a_program_that_has_just_started_has_not_grown() {
        let starts = samples(|second| (4 + 10 * second, 100 + 11 * second));
        let told = sentence(&starts[..10]).expect("all is known");
        assert_eq!(
            told,
            "in the last 9.00 s the Java heap had 74.0 MB of 512.0 MB in use and the process had 199.0 MB (20 threads)"
        );
        let told = sentence(&starts[..12]).expect("all is known");
        assert!(
            told.contains("the Java heap grew from 4.0 MB to "),
            "{told}"
        );
        let outside = samples(|second| (4, 200 + 40 * second));
        let told = sentence(&outside[..9]).expect("all is known");
        assert!(told.contains(" in use, and the process grew to "), "{told}");
    }
}
