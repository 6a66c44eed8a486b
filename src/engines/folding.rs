//! Small rows of a table, added up under shorter stacks.
//!
//! A row is small if each of its values is a smaller share of its column than the cutoff. Instead of leaving it out, its
//! outermost frames are dropped until the sum of all rows that have become the same is no longer small, at last all of
//! its frames, so that only the class is left. So a table has all of its totals, a row for every class, and a bounded
//! number of rows for the rest, however deep stacks are.

use std::collections::HashMap;

use foldhash::fast::FixedState;

use memory::{List, Map, OrStop};
use names::class::ClassId;
use names::frame::FrameId;
use names::thread::ThreadSerial;
use names::trace::{FramePlace, TraceId, TraceKey, Traces};

/// The most frames of a folded row, which limits the recursion.
const MOST_FRAMES: usize = 128;
/// The levels at which rows are grouped: their classes, then their threads, then their frames from the innermost on.
const CLASS_LEVEL: usize = 0;
const THREAD_LEVEL: usize = 1;

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

/// The table that the stacks of rows are in.
pub trait StackTable {
    /// A stack of the table.
    type Stack: Copy;

    /// Returns the thread, if stacks are kept apart by thread.
    fn thread(&self, stack: Self::Stack) -> Option<ThreadSerial>;

    /// Returns the innermost frame, and the stack of its callers.
    fn split(&self, stack: Self::Stack) -> Option<(FrameId, Self::Stack)>;
}

impl StackTable for Traces {
    type Stack = FramePlace;

    fn thread(&self, stack: FramePlace) -> Option<ThreadSerial> {
        Traces::thread(self, stack.trace())
    }

    fn split(&self, stack: FramePlace) -> Option<(FrameId, FramePlace)> {
        self.frame_at(stack)
    }
}

/// A small row.
#[derive(Clone, Copy)]
pub struct Small<S, const N: usize> {
    /// As [`Row::class`].
    pub class: Option<ClassId>,
    /// Its stack; while rows are grouped, the part whose frames have not been looked at.
    pub stack: S,
    /// As [`Row::values`].
    pub values: [u64; N],
}

/// The rule by which rows are folded.
#[derive(Clone, Copy)]
pub struct Fold<const N: usize> {
    /// The sums of the table's columns.
    pub totals: [u64; N],
    /// See [`is_small`].
    pub cutoff: f64,
    /// The outermost frame of folded rows.
    pub folded: FrameId,
}

impl<const N: usize> Fold<N> {
    /// Folds small rows of traces.
    pub fn rows(self, small: Vec<Row<N>>, traces: &Traces) -> Vec<Row<N>> {
        let rows = small.into_iter().map(|row| Small {
            class: row.class,
            stack: row.trace.into(),
            values: row.values,
        });
        self.stacks(List::collect(rows).or_stop(), traces, traces)
    }

    /// Folds small rows whose stacks are in `table`. Those of the result are in `traces`.
    pub fn stacks<T: StackTable>(
        self,
        mut small: List<Small<T::Stack, N>>,
        table: &T,
        traces: &Traces,
    ) -> Vec<Row<N>> {
        let mut folding = Folding {
            rule: self,
            table,
            traces,
            class: None,
            thread: None,
            frames: Vec::new(),
            rows: Vec::new(),
        };
        let mut room = List::collect(small.iter().copied()).or_stop();
        folding.group(&mut small, &mut room, CLASS_LEVEL);
        folding.rows
    }
}

/// A thread, if rows are divided by thread, and innermost frames.
type ThreadAndFrames = (Option<ThreadSerial>, Box<[FrameId]>);

/// The size in bytes of an entry of [`FoldedRows`], without its frames: these are at most [`MOST_FRAMES`], which the reserve
/// covers.
const ROW: usize = size_of::<(ThreadAndFrames, TraceId)>();

/// Finds the row to which [`Fold`] has added a small one.
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

struct Folding<'a, T, const N: usize> {
    rule: Fold<N>,
    table: &'a T,
    traces: &'a Traces,
    /// The class, thread and innermost frames of the rows that are being looked at.
    class: Option<ClassId>,
    thread: Option<ThreadSerial>,
    frames: Vec<FrameId>,
    rows: Vec<Row<N>>,
}

type Rows<'a, T, const N: usize> = &'a mut [Small<<T as StackTable>::Stack, N>];

/// The key by which rows are grouped at one level.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Key {
    /// The stack has no more frames.
    End,
    Class(Option<ClassId>),
    Thread(Option<ThreadSerial>),
    Frame(FrameId),
}

/// The rows of one key, in a slice of rows.
struct Group {
    key: Key,
    /// Its number, in the order in which keys were first seen.
    number: u32,
    /// The place of its first row.
    start: usize,
    /// The place after its last row; while rows are counted, their number.
    end: usize,
}

impl Group {
    fn new(key: Key, number: u32) -> Self {
        Self {
            key,
            number,
            start: 0,
            end: 0,
        }
    }
}

impl Key {
    /// Returns numbers with the order of the keys of one level.
    fn numbers(self) -> [u64; 2] {
        let number = match self {
            Self::End => None,
            Self::Class(class) => class.map(ClassId::index),
            Self::Thread(thread) => thread.map(|ThreadSerial(serial)| serial),
            Self::Frame(frame) => Some(frame.index()),
        };
        [number.is_some().into(), number.unwrap_or(0).into()]
    }
}

impl<T: StackTable, const N: usize> Folding<'_, T, N> {
    /// Folds rows that have everything before this level in common. Returns the sum of those that are still small. `room` is for as
    /// many rows; both are in any order afterwards.
    fn group(&mut self, rows: Rows<'_, T, N>, room: Rows<'_, T, N>, level: usize) -> [u64; N] {
        let mut rest = [0; N];
        for Group {
            key, start, end, ..
        } in self.arrange(rows, room, level)
        {
            let (group, room) = (&mut room[start..end], &mut rows[start..end]);
            let sum = sum(group.iter().map(|row| &row.values));
            let left = match self.goes_on(key, &sum) {
                true => self.deeper(key, group, room, level),
                false => sum,
            };
            add(&mut rest, &left);
        }
        let is_last = level == THREAD_LEVEL && rest != [0; N];
        if is_last || level > THREAD_LEVEL && !self.is_small(&rest) {
            self.emit(rest, level);
            return [0; N];
        }
        rest
    }

    fn is_small(&self, values: &[u64; N]) -> bool {
        is_small(values, &self.rule.totals, self.rule.cutoff)
    }

    fn goes_on(&self, key: Key, sum: &[u64; N]) -> bool {
        match key {
            Key::End => false,
            Key::Class(_) => true,
            Key::Thread(_) => !self.is_small(sum),
            Key::Frame(_) => self.frames.len() < MOST_FRAMES && !self.is_small(sum),
        }
    }

    fn deeper(
        &mut self,
        key: Key,
        rows: Rows<'_, T, N>,
        room: Rows<'_, T, N>,
        level: usize,
    ) -> [u64; N] {
        match key {
            Key::End => {}
            Key::Class(class) => self.class = class,
            Key::Thread(thread) => self.thread = thread,
            Key::Frame(frame) => self.frames.push(frame),
        }
        let rest = self.group(rows, room, level + 1);
        if matches!(key, Key::Frame(_)) {
            self.frames.pop();
        }
        rest
    }

    /// Moves rows to where those of the same key are next to each other, in the order of the keys. Otherwise they keep their order, in
    /// which callers are near each other in memory.
    fn arrange(
        &self,
        rows: &mut [Small<T::Stack, N>],
        to: Rows<'_, T, N>,
        level: usize,
    ) -> Vec<Group> {
        let (mut groups, group_of) = self.count(rows, level);
        memory::sort_by_numbers(&mut groups, |group| group.key.numbers());
        let mut next = vec![0; groups.len()];
        let mut start = 0;
        for group in &mut groups {
            next[group.number as usize] = start;
            (group.start, group.end) = (start, start + group.end);
            start = group.end;
        }
        for (row, &number) in rows.iter().zip(group_of.iter()) {
            let place = &mut next[number as usize];
            to[*place] = *row;
            *place += 1;
        }
        groups
    }

    /// Counts the rows of each key, and returns the number of each row's group.
    fn count(&self, rows: &mut [Small<T::Stack, N>], level: usize) -> (Vec<Group>, List<u32>) {
        let mut numbers = Map::<Key, u32>::default();
        let mut groups = Vec::<Group>::new();
        let mut group_of = List::<u32>::new();
        group_of.reserve(rows.len()).or_stop();
        // Rows with the same key often follow each other.
        let mut latest: Option<(Key, u32)> = None;
        for row in rows {
            let key = self.take_key(row, level);
            let number = match latest {
                Some((before, number)) if before == key => number,
                _ => {
                    let new = u32::try_from(groups.len()).expect("fewer groups than contexts");
                    *numbers.get_or_insert_with(key, || new).or_stop()
                }
            };
            if number as usize == groups.len() {
                memory::need_to_grow(groups.len(), groups.capacity(), size_of::<Group>());
                groups.push(Group::new(key, number));
            }
            latest = Some((key, number));
            groups[number as usize].end += 1;
            group_of.push(number).or_stop();
        }
        (groups, group_of)
    }

    /// Returns the key of a row, and takes the frame off its stack if that is the key.
    fn take_key(&self, row: &mut Small<T::Stack, N>, level: usize) -> Key {
        match level {
            CLASS_LEVEL => Key::Class(row.class),
            THREAD_LEVEL => Key::Thread(self.table.thread(row.stack)),
            _ => match self.table.split(row.stack) {
                Some((frame, callers)) => {
                    row.stack = callers;
                    Key::Frame(frame)
                }
                None => Key::End,
            },
        }
    }

    /// Adds a row with what is known before this level.
    fn emit(&mut self, values: [u64; N], level: usize) {
        self.frames.push(self.rule.folded);
        let trace = self.traces.intern(TraceKey {
            thread: self.thread.filter(|_| level > THREAD_LEVEL),
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

fn sum<'a, const N: usize>(values: impl Iterator<Item = &'a [u64; N]>) -> [u64; N] {
    let mut all = [0; N];
    for values in values {
        add(&mut all, values);
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
        let rule = Fold {
            totals: [100, 1000],
            cutoff,
            folded: FrameId::numbered(FOLDED),
        };
        let folded = rule.rows(rows.clone(), &traces);
        let all = |rows: &[Row<2>]| sum(rows.iter().map(|row| &row.values));
        assert_eq!(all(&folded), all(&rows));
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
        let rule = Fold {
            totals: [100],
            cutoff: 0.1,
            folded: FrameId::numbered(FOLDED),
        };
        let folded = rule.rows(rows.to_vec(), &traces);
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
