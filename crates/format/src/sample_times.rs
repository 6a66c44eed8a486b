//! SAMPLE TIMES: when the samples of another section were taken.
//!
//! A binary file has the section as a note ([`Section`](crate::Section)); text has none, so that its layout is the original's.
//! The time of the samples is divided into steps. A row has the counts of those steps in which it has samples.
//!
//! The note's second line has the rows as numbers of base 32 in the digits of base64, the least significant digit first; all
//! digits but the last have 32 added. Each row has
//!
//! 1. the number of its trace, less that of the row before; a row for 0 has the samples of all stacks that are not listed;
//! 2. for LOCK WAITS, the trace of the holder (0 if it is not known), the number of the class, and the lock's identity plus 1
//!    (0 if it has none);
//! 3. the number of its steps;
//! 4. for each, its number, less that of the step before, and the count.

use std::fmt::Write;
use std::time::Duration;

use crate::encode::Millis;
use crate::record::{ClassSerial, TraceSerial};

/// The text before the facts in a note.
const START: &str = "SAMPLE TIMES (of = ";
/// The digits; those from [`MORE`] on are followed by others.
const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const MORE: u8 = 32;
const DIGIT_BITS: u32 = 5;

/// The section whose samples have times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TimedSection {
    /// CPU SAMPLES.
    #[default]
    CpuSamples,
    /// WALL SAMPLES.
    WallSamples,
    /// LOCK WAITS.
    LockWaits,
}

/// The section.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SampleTimes {
    /// The section that has the sums.
    pub of: TimedSection,
    /// The time that one sample stands for: CPU time for CPU SAMPLES, otherwise time that passes.
    pub sample: Duration,
    /// The time at which the first step begins.
    pub begin: Millis,
    /// The time from then to the end, in milliseconds.
    pub millis: u64,
    /// The length of a step, in milliseconds; not 0.
    pub step: u64,
    /// The rows, in the order of their traces.
    pub rows: Vec<TimedRow>,
}

/// The samples of one stack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimedRow {
    /// The stack; 0 for all that are not listed.
    pub trace: TraceSerial,
    /// The lock that was waited for, in LOCK WAITS.
    pub lock: Option<TimedLock>,
    /// The samples by step, in the order of time.
    pub counts: Vec<StepCount>,
}

/// A lock and its holder, as in [`LockWait`](crate::LockWait).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TimedLock {
    /// The stack of the thread that held it; `None` if it is not known.
    pub holder: Option<TraceSerial>,
    /// Its class.
    pub class: ClassSerial,
    /// Its identity hash code; `None` for several locks.
    pub identity: Option<u32>,
}

/// The samples in one step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct StepCount {
    /// The number of the step, from 0.
    pub step: u32,
    /// The number of samples.
    pub count: u64,
}

impl TimedSection {
    const ALL: [TimedSection; 3] = [
        TimedSection::CpuSamples,
        TimedSection::WallSamples,
        TimedSection::LockWaits,
    ];

    /// Returns the section's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            TimedSection::CpuSamples => "CPU SAMPLES",
            TimedSection::WallSamples => "WALL SAMPLES",
            TimedSection::LockWaits => "LOCK WAITS",
        }
    }

    fn of_name(name: &str) -> Option<TimedSection> {
        TimedSection::ALL.into_iter().find(|it| it.name() == name)
    }
}

impl SampleTimes {
    /// Formats the note.
    pub(crate) fn note(&self) -> String {
        let mut note = String::new();
        let (of, sample) = (self.of.name(), self.sample.as_nanos());
        let (begin, millis, step) = (self.begin.0, self.millis, self.step);
        let _ = writeln!(
            note,
            "{START}{of}, sample = {sample} ns, begin = {begin}, time = {millis} ms, step = {step} ms)"
        );
        let mut trace = 0;
        for row in &self.rows {
            put(&mut note, row.trace.0.wrapping_sub(trace).into());
            trace = row.trace.0;
            if self.of == TimedSection::LockWaits {
                let lock = row.lock.unwrap_or_default();
                put(&mut note, lock.holder.unwrap_or_default().0.into());
                put(&mut note, lock.class.0.into());
                put(&mut note, lock.identity.map_or(0, |id| u64::from(id) + 1));
            }
            put(&mut note, row.counts.len() as u64);
            let mut step = 0;
            for count in &row.counts {
                put(&mut note, count.step.wrapping_sub(step).into());
                put(&mut note, count.count);
                step = count.step;
            }
        }
        note
    }

    /// Parses the text of [`SampleTimes::note`]; `None` for any other note.
    pub(crate) fn of_note(note: &str) -> Option<SampleTimes> {
        let (facts, rows) = note.strip_prefix(START)?.split_once('\n')?;
        let (of, rest) = facts.split_once(", sample = ")?;
        let (sample, rest) = rest.split_once(" ns, begin = ")?;
        let (begin, rest) = rest.split_once(", time = ")?;
        let (millis, rest) = rest.split_once(" ms, step = ")?;
        let step = rest.strip_suffix(" ms)")?;
        let mut times = SampleTimes {
            of: TimedSection::of_name(of)?,
            sample: Duration::from_nanos(sample.parse().ok()?),
            begin: Millis(begin.parse().ok()?),
            millis: millis.parse().ok()?,
            step: step.parse().ok().filter(|&step| step > 0)?,
            rows: Vec::new(),
        };
        let mut rows = Numbers(rows.as_bytes());
        let mut trace = 0;
        while !rows.0.is_empty() {
            let row = rows.row(times.of, trace)?;
            trace = row.trace.0;
            times.rows.push(row);
        }
        Some(times)
    }
}

/// Appends a number.
fn put(note: &mut String, mut number: u64) {
    loop {
        // 32 divides 256.
        let digit = number.to_le_bytes()[0] % MORE;
        number >>= DIGIT_BITS;
        let more = if number == 0 { 0 } else { MORE };
        note.push(char::from(DIGITS[usize::from(digit + more)]));
        if number == 0 {
            return;
        }
    }
}

/// The rest of the numbers.
struct Numbers<'a>(&'a [u8]);

impl Numbers<'_> {
    fn next(&mut self) -> Option<u64> {
        let (mut number, mut shift) = (0_u64, 0);
        loop {
            let (&first, rest) = self.0.split_first()?;
            self.0 = rest;
            let digit = value(first)?;
            let bits = u64::from(digit % MORE);
            if shift >= u64::BITS || bits << shift >> shift != bits {
                return None;
            }
            number |= bits << shift;
            shift += DIGIT_BITS;
            if digit < MORE {
                return Some(number);
            }
        }
    }

    fn small(&mut self) -> Option<u32> {
        self.next()?.try_into().ok()
    }

    fn row(&mut self, of: TimedSection, before: u32) -> Option<TimedRow> {
        let trace = TraceSerial(before.checked_add(self.small()?)?);
        let lock = match of {
            TimedSection::CpuSamples | TimedSection::WallSamples => None,
            TimedSection::LockWaits => Some(TimedLock {
                holder: Some(TraceSerial(self.small()?)).filter(|holder| holder.0 != 0),
                class: ClassSerial(self.small()?),
                identity: match self.next()?.checked_sub(1) {
                    Some(identity) => Some(identity.try_into().ok()?),
                    None => None,
                },
            }),
        };
        let mut counts = Vec::new();
        let mut step = 0_u32;
        for _ in 0..self.next()? {
            step = step.checked_add(self.small()?)?;
            let count = self.next()?;
            counts.push(StepCount { step, count });
        }
        Some(TimedRow {
            trace,
            lock,
            counts,
        })
    }
}

fn value(digit: u8) -> Option<u8> {
    Some(match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(step: u32, count: u64) -> StepCount {
        StepCount { step, count }
    }

    fn times(of: TimedSection, rows: Vec<TimedRow>) -> SampleTimes {
        SampleTimes {
            of,
            sample: Duration::from_millis(10),
            begin: Millis(1_764_238_560_123),
            millis: 61_250,
            step: 250,
            rows,
        }
    }

    #[test]
    fn the_form_of_a_note() {
        let row = |trace, counts| TimedRow {
            trace: TraceSerial(trace),
            lock: None,
            counts,
        };
        let rows = vec![
            row(0, vec![count(3, 1)]),
            row(33, vec![count(0, 25), count(32, 2)]),
        ];
        let expected = "SAMPLE TIMES (of = CPU SAMPLES, sample = 10000000 ns, begin = 1764238560123, time = 61250 ms, step = 250 ms)\nABDBhBCAZgBC";
        assert_eq!(times(TimedSection::CpuSamples, rows).note(), expected);
    }

    #[test]
    fn a_note_is_read_as_it_was_written() {
        for of in TimedSection::ALL {
            let lock = |holder, identity| {
                let lock = TimedLock {
                    holder,
                    class: ClassSerial(100_001),
                    identity,
                };
                Some(lock).filter(|_| of == TimedSection::LockWaits)
            };
            let row = |trace, lock, counts| TimedRow {
                trace: TraceSerial(trace),
                lock,
                counts,
            };
            let rows = vec![
                row(
                    300_001,
                    lock(None, None),
                    vec![count(0, 1), count(2, u64::MAX)],
                ),
                row(300_001, lock(Some(TraceSerial(7)), Some(u32::MAX)), vec![]),
                row(u32::MAX, lock(None, Some(0)), vec![count(u32::MAX, 0)]),
            ];
            let times = times(of, rows);
            assert_eq!(SampleTimes::of_note(&times.note()), Some(times));
        }
        let none = times(TimedSection::WallSamples, vec![]);
        assert_eq!(SampleTimes::of_note(&none.note()), Some(none));
    }

    #[test]
    fn a_damaged_note_is_none() {
        let facts = "CPU SAMPLES, sample = 1 ns, begin = 1, time = 1 ms, step = 1 ms)";
        let locks = "LOCK WAITS, sample = 1 ns, begin = 1, time = 1 ms, step = 1 ms)";
        for rest in [
            facts.to_owned(),
            format!("{facts}\nB"),
            format!("{facts}\nBBA"),
            format!("{facts}\nBBA-"),
            format!("{facts}\nBBAB\n"),
            format!("{facts}\nB///////////////////////A"),
            // A trace, and a step, beyond 32 bits.
            format!("{facts}\nggggggEA"),
            format!("{facts}\nBB//////EB"),
            format!("{locks}\nBAA"),
            facts.replace("step = 1", "step = 0") + "\n",
            facts.replace("CPU", "GPU") + "\n",
            facts.replace("begin = 1", "begin = x") + "\n",
        ] {
            let note = format!("{START}{rest}");
            assert_eq!(SampleTimes::of_note(&note), None, "{note}");
        }
    }
}
