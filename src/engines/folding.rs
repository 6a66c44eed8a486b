//! Small rows of a table, added up under shorter stacks.
//!
//! A row is small if each of its values is a smaller share of its column than the cutoff. Instead of leaving it out, its
//! outermost frames are dropped until the sum of all rows that have become the same is no longer small, at last all of
//! its frames, so that only the class is left. So a table has all of its totals, a row for every class, and a bounded
//! number of rows for the rest, however deep stacks are.

use std::collections::HashMap;

use foldhash::fast::FixedState;

use names::class::ClassId;
use names::frame::FrameId;
use names::thread::ThreadSerial;
use names::trace::{TraceId, TraceKey, Traces};

/// The most frames of a folded row, which limits the recursion.
const MOST_FRAMES: usize = 128;
/// The levels before the first frame: class and thread.
const BEFORE_FRAMES: usize = 2;

/// A row of a table with `N` columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row<const N: usize> {
    /// The allocated class, if the table has one.
    pub class: Option<ClassId>,
    /// The trace.
    pub trace: TraceId,
    /// The values.
    pub values: [u64; N],
}

/// Returns `true` if each value is a smaller share of its total than the cutoff.
pub fn is_small<const N: usize>(values: &[u64; N], totals: &[u64; N], cutoff: f64) -> bool {
    let mut shares = values.iter().zip(totals);
    cutoff > 0.0
        && shares.all(|(&value, &total)| value == 0 || (value as f64) < cutoff * total as f64)
}

/// Folds small rows. The traces of the result end with the frame `folded`.
pub fn fold<const N: usize>(
    mut small: Vec<Row<N>>,
    totals: [u64; N],
    cutoff: f64,
    folded: FrameId,
    traces: &Traces,
) -> Vec<Row<N>> {
    memory::need(small.len() * 2 * size_of::<Row<N>>());
    let mut folding = Folding {
        traces,
        folded,
        totals,
        cutoff,
        class: None,
        thread: None,
        frames: Vec::new(),
        rows: Vec::new(),
    };
    folding.group(&mut small, 0);
    folding.rows
}

/// A thread, if rows are divided by thread, and innermost frames.
type ThreadAndFrames = (Option<ThreadSerial>, Box<[FrameId]>);

/// The size in bytes of an entry of [`FoldedRows`], without its frames: these are at most [`MOST_FRAMES`], which the reserve
/// covers.
const ROW: usize = size_of::<(ThreadAndFrames, TraceId)>();

/// Finds the row to which [`fold`] has added a small one.
pub struct FoldedRows {
    rows: HashMap<ThreadAndFrames, TraceId, FixedState>,
    /// The numbers of frames that they have, the largest first.
    lengths: Vec<usize>,
}

impl FoldedRows {
    /// Takes the traces of folded rows.
    pub fn new(folded: impl Iterator<Item = TraceId>, traces: &Traces) -> Self {
        let mut rows = HashMap::default();
        for id in folded {
            memory::stop_if_out();
            memory::need_to_hash(rows.len(), rows.capacity(), ROW);
            let mut trace = traces.get(id);
            // The frame for what is folded.
            trace.frames.pop();
            rows.insert((trace.thread, trace.frames.into_boxed_slice()), id);
        }
        let mut lengths: Vec<usize> = rows.keys().map(|(_, frames)| frames.len()).collect();
        lengths.sort_unstable_by_key(|&length| std::cmp::Reverse(length));
        lengths.dedup();
        Self { rows, lengths }
    }

    /// Returns the row: it has the most of the innermost frames.
    pub fn row(&self, id: TraceId, traces: &Traces) -> Option<TraceId> {
        let trace = traces.get(id);
        let fitting = self
            .lengths
            .iter()
            .filter(|&&length| length <= trace.frames.len());
        let rows = fitting.filter_map(|&length| {
            self.rows
                .get(&(trace.thread, trace.frames[..length].into()))
        });
        let rows = rows.copied().next();
        rows.or_else(|| self.rows.get(&(None, Box::default())).copied())
    }
}

struct Folding<'a, const N: usize> {
    traces: &'a Traces,
    folded: FrameId,
    totals: [u64; N],
    cutoff: f64,
    /// The class, thread and innermost frames of the rows that are being looked at.
    class: Option<ClassId>,
    thread: Option<ThreadSerial>,
    frames: Vec<FrameId>,
    rows: Vec<Row<N>>,
}

/// The key by which rows are grouped at one level.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    /// The stack has no more frames.
    End,
    Class(Option<ClassId>),
    Thread(Option<ThreadSerial>),
    Frame(FrameId),
}

impl<const N: usize> Folding<'_, N> {
    /// Folds rows that have everything before this level in common. Returns the sum of those that are still small.
    fn group(&mut self, rows: &mut [Row<N>], level: usize) -> [u64; N] {
        rows.sort_by_cached_key(|row| self.key(row, level));
        let mut rest = [0; N];
        let mut start = 0;
        while start < rows.len() {
            let key = self.key(&rows[start], level);
            let others = rows[start..].iter();
            let end = start + others.take_while(|row| self.key(row, level) == key).count();
            let group = &mut rows[start..end];
            start = end;
            let sum = sum(group);
            let left = match self.goes_on(key, &sum) {
                true => self.deeper(key, group, level),
                false => sum,
            };
            add(&mut rest, &left);
        }
        let is_last = level == 1 && rest != [0; N];
        if is_last || level > 1 && !is_small(&rest, &self.totals, self.cutoff) {
            self.emit(rest, level);
            return [0; N];
        }
        rest
    }

    fn goes_on(&self, key: Key, sum: &[u64; N]) -> bool {
        match key {
            Key::End => false,
            Key::Class(_) => true,
            Key::Thread(_) => !is_small(sum, &self.totals, self.cutoff),
            Key::Frame(_) => {
                self.frames.len() < MOST_FRAMES && !is_small(sum, &self.totals, self.cutoff)
            }
        }
    }

    fn deeper(&mut self, key: Key, rows: &mut [Row<N>], level: usize) -> [u64; N] {
        match key {
            Key::End => {}
            Key::Class(class) => self.class = class,
            Key::Thread(thread) => self.thread = thread,
            Key::Frame(frame) => self.frames.push(frame),
        }
        let rest = self.group(rows, level + 1);
        if matches!(key, Key::Frame(_)) {
            self.frames.pop();
        }
        rest
    }

    fn key(&self, row: &Row<N>, level: usize) -> Key {
        match level.checked_sub(BEFORE_FRAMES) {
            None if level == 0 => Key::Class(row.class),
            None => Key::Thread(self.traces.thread(row.trace)),
            Some(place) => match self.traces.frame(row.trace, place) {
                Some(frame) => Key::Frame(frame),
                None => Key::End,
            },
        }
    }

    /// Adds a row with what is known before this level.
    fn emit(&mut self, values: [u64; N], level: usize) {
        self.frames.push(self.folded);
        let trace = self.traces.intern(TraceKey {
            thread: self.thread.filter(|_| level >= BEFORE_FRAMES),
            frames: &self.frames,
        });
        self.frames.pop();
        self.rows.push(Row {
            class: self.class,
            trace,
            values,
        });
    }
}

fn sum<const N: usize>(rows: &[Row<N>]) -> [u64; N] {
    let mut all = [0; N];
    for row in rows {
        add(&mut all, &row.values);
    }
    all
}

fn add<const N: usize>(sum: &mut [u64; N], values: &[u64; N]) {
    for (sum, value) in sum.iter_mut().zip(values) {
        *sum = sum.saturating_add(*value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FOLDED: u32 = 99;

    fn frames(numbers: &[u32]) -> Vec<FrameId> {
        numbers
            .iter()
            .map(|&number| FrameId::numbered(number))
            .collect()
    }

    /// Returns the folded rows: thread, frames without the last, values.
    fn folded(
        rows: &[(Option<u32>, &[u32], [u64; 2])],
        cutoff: f64,
    ) -> Vec<(Option<u32>, Vec<FrameId>, [u64; 2])> {
        let traces = Traces::default();
        let rows: Vec<Row<2>> = rows
            .iter()
            .map(|&(thread, numbers, values)| Row {
                class: None,
                trace: traces.intern(TraceKey {
                    thread: thread.map(ThreadSerial),
                    frames: &frames(numbers),
                }),
                values,
            })
            .collect();
        let folded = fold(
            rows.clone(),
            [100, 1000],
            cutoff,
            FrameId::numbered(FOLDED),
            &traces,
        );
        assert_eq!(sum(&folded), sum(&rows));
        let described = folded.iter().map(|row| {
            let mut trace = traces.get(row.trace);
            assert_eq!(trace.frames.pop(), Some(FrameId::numbered(FOLDED)));
            (
                trace.thread.map(|thread| thread.0),
                trace.frames.to_vec(),
                row.values,
            )
        });
        described.collect()
    }

    #[test]
    fn rows_are_added_up_under_the_longest_stack_that_is_not_small() {
        let rows: [(_, &[u32], _); 6] = [
            (None, &[1, 2, 3], [4, 0]),
            (None, &[1, 2, 4], [6, 0]),
            (None, &[1, 2], [1, 0]),
            (None, &[1, 5], [2, 0]),
            (None, &[6, 7], [3, 0]),
            (None, &[8, 7], [0, 40]),
        ];
        let expected = [
            (None, frames(&[1, 2]), [11, 0]),
            (None, frames(&[]), [5, 40]),
        ];
        assert_eq!(folded(&rows, 0.1), expected);
    }

    #[test]
    fn each_small_row_is_found_in_the_one_to_which_it_was_added() {
        let traces = Traces::default();
        let small: [(Option<u32>, &[u32], u64); 6] = [
            (Some(7), &[1, 2, 3], 6),
            (Some(7), &[1, 2, 4], 5),
            (Some(7), &[1, 2], 1),
            (Some(7), &[1, 5], 9),
            (Some(7), &[1], 3),
            (Some(8), &[1, 2, 3], 4),
        ];
        let rows = small.map(|(thread, numbers, value)| Row {
            class: None,
            trace: traces.intern(TraceKey {
                thread: thread.map(ThreadSerial),
                frames: &frames(numbers),
            }),
            values: [value],
        });
        let folded = fold(
            rows.to_vec(),
            [100],
            0.1,
            FrameId::numbered(FOLDED),
            &traces,
        );
        let found = FoldedRows::new(folded.iter().map(|row| row.trace), &traces);
        let mut sums: HashMap<TraceId, u64> = HashMap::new();
        for row in rows {
            let of = found.row(row.trace, &traces).expect("a row");
            *sums.entry(of).or_default() += row.values[0];
        }
        let expected = folded.iter().map(|row| (row.trace, row.values[0]));
        assert_eq!(sums, expected.collect());
        assert_eq!(sums.len(), 3);
    }

    #[test]
    fn one_column_is_enough() {
        let rows: [(_, &[u32], _); 3] = [
            (None, &[1, 2], [1, 60]),
            (None, &[1, 3], [1, 50]),
            (None, &[4, 3], [1, 0]),
        ];
        let expected = [(None, frames(&[1]), [2, 110]), (None, frames(&[]), [1, 0])];
        assert_eq!(folded(&rows, 0.1), expected);
    }

    #[test]
    fn threads_stay_apart_as_long_as_they_can() {
        let rows: [(_, &[u32], _); 4] = [
            (Some(7), &[1], [6, 0]),
            (Some(7), &[2], [6, 0]),
            (Some(8), &[1], [6, 0]),
            (Some(9), &[1], [1, 0]),
        ];
        let expected = [(Some(7), frames(&[]), [12, 0]), (None, frames(&[]), [7, 0])];
        assert_eq!(folded(&rows, 0.1), expected);
    }

    #[test]
    fn deep_stacks_are_folded_within_their_innermost_frames() {
        let same: Vec<u32> = vec![5; 4000];
        let rows: [(_, &[u32], _); 2] = [(None, &same, [6, 0]), (None, &same[1..], [6, 0])];
        let expected = [(None, frames(&same[..MOST_FRAMES]), [12, 0])];
        assert_eq!(folded(&rows, 0.1), expected);
    }

    #[test]
    fn nothing_is_small_without_a_cutoff() {
        assert!(!is_small(&[0, 1], &[100, 1000], 0.0));
        assert!(is_small(&[9, 99], &[100, 1000], 0.1));
        assert!(!is_small(&[9, 100], &[100, 1000], 0.1));
    }
}
