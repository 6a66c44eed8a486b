//! Small rows of a table, added up under shorter stacks.
//!
//! A row is small if each of its values is a smaller share of its column than the cutoff. Instead of leaving it out, its
//! outermost frames are dropped until the sum of all rows that have become the same is no longer small, at last all of
//! its frames, so that only the class is left. So a table has all of its totals, a row for every class, and a bounded
//! number of rows for the rest, however deep stacks are.

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
    is_small_row(values, totals, cutoff)
}

fn is_small_row(values: &[u64], totals: &[u64], cutoff: f64) -> bool {
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
pub struct Small<S, const N: usize> {
    /// As [`Row::class`].
    pub class: Option<ClassId>,
    /// Its stack.
    pub stack: S,
    /// As [`Row::values`].
    pub values: [u64; N],
}

/// Small rows, which are to be folded.
pub struct SmallRows<S, const N: usize> {
    rows: List<Unfolded<S>>,
    values: List<[u64; N]>,
}

impl<S, const N: usize> Default for SmallRows<S, N> {
    fn default() -> Self {
        Self {
            rows: List::new(),
            values: List::new(),
        }
    }
}

impl<S, const N: usize> SmallRows<S, N> {
    /// Adds a row.
    pub fn push(&mut self, row: Small<S, N>) {
        let number = u32::try_from(self.rows.len()).expect("4 G rows do not fit in memory");
        let Small {
            class,
            stack,
            values,
        } = row;
        let row = Unfolded {
            class,
            stack,
            number,
        };
        self.rows.push(row).or_stop();
        self.values.push(values).or_stop();
    }
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
    const COLUMNS: () = assert!(N <= MOST_COLUMNS, "sums have room for all columns");

    /// Folds small rows of traces.
    pub fn rows(self, small: Vec<Row<N>>, traces: &Traces) -> Vec<Row<N>> {
        let mut rows = SmallRows::default();
        for row in small {
            rows.push(Small {
                class: row.class,
                stack: row.trace.into(),
                values: row.values,
            });
        }
        self.stacks(rows, traces, traces)
    }

    /// Folds small rows whose stacks are in `table`. Those of the result are in `traces`.
    pub fn stacks<T: StackTable>(
        self,
        mut small: SmallRows<T::Stack, N>,
        table: &T,
        traces: &Traces,
    ) -> Vec<Row<N>> {
        let () = Self::COLUMNS;
        let mut folding = Folding {
            totals: &self.totals,
            cutoff: self.cutoff,
            folded: self.folded,
            values: small.values.as_flattened(),
            table,
            traces,
            class: None,
            thread: None,
            frames: Vec::new(),
            rows: Vec::new(),
        };
        let mut room = List::collect(small.rows.iter().copied()).or_stop();
        folding.group(&mut small.rows, &mut room, CLASS_LEVEL);
        let rows = folding.rows.into_iter();
        rows.map(|(class, trace, sums)| Row {
            class,
            trace,
            values: std::array::from_fn(|column| sums[column]),
        })
        .collect()
    }
}

/// A thread, if rows are divided by thread, and innermost frames.
type ThreadAndFrames = (Option<ThreadSerial>, Box<[FrameId]>);

/// Finds the row to which [`Fold`] has added a small one.
pub struct FoldedRows {
    rows: Map<ThreadAndFrames, TraceId>,
    /// The numbers of frames that they have, the largest first.
    lengths: Vec<usize>,
}

impl FoldedRows {
    /// Takes the traces of folded rows.
    pub fn new(folded: impl Iterator<Item = TraceId>, traces: &Traces) -> Self {
        let mut rows = Map::<ThreadAndFrames, TraceId>::default();
        for id in folded {
            memory::stop_if_out();
            let mut trace = traces.get(id);
            // The frame for what is folded.
            trace.frames.pop();
            let key = (trace.thread, trace.frames.into_boxed_slice());
            rows.insert(key, id).or_stop();
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

/// The most columns of a table.
const MOST_COLUMNS: usize = 7;

/// The sums of columns; those that the table does not have are 0.
type Sums = [u64; MOST_COLUMNS];

/// A row that is looked at. Its values stay where they are, as there can be millions of rows.
#[derive(Clone, Copy)]
struct Unfolded<S> {
    class: Option<ClassId>,
    /// The part of its stack that has not been looked at.
    stack: S,
    /// The number of its values.
    number: u32,
}

/// The work is the same for any number of columns: an instance of it for each would take much of the library.
struct Folding<'a, T> {
    totals: &'a [u64],
    cutoff: f64,
    folded: FrameId,
    /// The values of all rows, one row after the other.
    values: &'a [u64],
    table: &'a T,
    traces: &'a Traces,
    /// The class, thread and innermost frames of the rows that are being looked at.
    class: Option<ClassId>,
    thread: Option<ThreadSerial>,
    frames: Vec<FrameId>,
    rows: Vec<(Option<ClassId>, TraceId, Sums)>,
}

type Rows<'a, T> = &'a mut [Unfolded<<T as StackTable>::Stack>];

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

impl<T: StackTable> Folding<'_, T> {
    /// Folds rows that have everything before this level in common. Returns the sum of those that are still small. `room` is for as
    /// many rows; both are in any order afterwards.
    fn group(&mut self, rows: Rows<'_, T>, room: Rows<'_, T>, level: usize) -> Sums {
        let mut rest = Sums::default();
        for Group {
            key, start, end, ..
        } in self.arrange(rows, room, level)
        {
            let (group, room) = (&mut room[start..end], &mut rows[start..end]);
            let sum = self.sum(group);
            let left = match self.goes_on(key, &sum) {
                true => self.deeper(key, group, room, level),
                false => sum,
            };
            add(&mut rest, &left);
        }
        let is_last = level == THREAD_LEVEL && rest != Sums::default();
        if is_last || level > THREAD_LEVEL && !self.is_small(&rest) {
            self.emit(rest, level);
            return Sums::default();
        }
        rest
    }

    fn sum(&self, rows: &[Unfolded<T::Stack>]) -> Sums {
        let columns = self.totals.len();
        let mut all = Sums::default();
        for row in rows {
            let values = &self.values[row.number as usize * columns..][..columns];
            add(&mut all, values);
        }
        all
    }

    fn is_small(&self, values: &Sums) -> bool {
        is_small_row(values, self.totals, self.cutoff)
    }

    fn goes_on(&self, key: Key, sum: &Sums) -> bool {
        match key {
            Key::End => false,
            Key::Class(_) => true,
            Key::Thread(_) => !self.is_small(sum),
            Key::Frame(_) => self.frames.len() < MOST_FRAMES && !self.is_small(sum),
        }
    }

    fn deeper(&mut self, key: Key, rows: Rows<'_, T>, room: Rows<'_, T>, level: usize) -> Sums {
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
    fn arrange(&self, rows: Rows<'_, T>, to: Rows<'_, T>, level: usize) -> Vec<Group> {
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
    fn count(&self, rows: Rows<'_, T>, level: usize) -> (Vec<Group>, List<u32>) {
        let mut numbers = Map::<Key, u32>::default();
        let mut groups = List::<Group>::new();
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
                groups.push(Group::new(key, number)).or_stop();
            }
            latest = Some((key, number));
            groups[number as usize].end += 1;
            group_of.push(number).or_stop();
        }
        (groups.into_vec(), group_of)
    }

    /// Returns the key of a row, and takes the frame off its stack if that is the key.
    fn take_key(&self, row: &mut Unfolded<T::Stack>, level: usize) -> Key {
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
    fn emit(&mut self, sums: Sums, level: usize) {
        self.frames.push(self.folded);
        let trace = self.traces.intern(TraceKey {
            thread: self.thread.filter(|_| level > THREAD_LEVEL),
            frames: &self.frames,
        });
        self.frames.pop();
        self.rows.push((self.class, trace, sums));
    }
}

fn add(sums: &mut Sums, values: &[u64]) {
    for (sum, value) in sums.iter_mut().zip(values) {
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
        let all = |rows: &[Row<2>]| {
            let mut sums = Sums::default();
            rows.iter().for_each(|row| add(&mut sums, &row.values));
            sums
        };
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
        let mut sums: std::collections::HashMap<TraceId, u64> = std::collections::HashMap::new();
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
