//! The pages: rows with their values, in order.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::iter;
use std::time::Duration;

use hprof_format::{UnknownSection, printable, shortened};
use hprof_profile::{
    By, Direction, FrameId, OwnCode, Profile, Sample, StackId, Tree, costs_of_samples,
};

use super::memory;
use super::model::{
    ALLOC_BYTES, ALLOC_OBJECTS, Interval, LIVE_BYTES, Model, NATIVE_ALLOC, NATIVE_LIVE, NATIVE_OLD,
    RowKey, Rows, samples,
};
use crate::amounts::{percent, size};

/// The CPU time that a sample stands for.
pub const SAMPLE: Duration = Duration::from_millis(10);
/// The most rows of a tree.
const TREE_ROWS: usize = 1_000;
/// Branches with a smaller share of their tree, in percent, are left out.
const TREE_SHARE: f64 = 0.5;
/// The most levels that are indented.
const INDENTED: usize = 20;

/// The subject of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// CPU time by method.
    Cpu,
    /// Allocation and growth by site.
    Allocation,
    /// Contended monitors.
    Locks,
    /// CPU time by thread.
    Threads,
    /// Waits for locks, and who held them.
    Holders,
    /// The memory of the process by its parts.
    Memory,
    /// Memory that native code allocates, by the code that has it do so.
    Native,
}

/// A row of a page.
#[derive(Clone, Debug, PartialEq)]
pub struct PageRow {
    /// The values, in the order of the columns.
    pub values: Vec<f64>,
    /// The text before the name, which is not cut: the class of objects or monitors.
    pub class: String,
    /// The method or the thread.
    pub name: String,
    /// The number of the thread.
    pub thread: Option<u32>,
}

/// A column of numbers.
pub struct Column {
    /// Its head.
    pub head: &'static str,
    /// Its width.
    pub width: usize,
    /// Formats a value.
    pub format: fn(f64) -> String,
}

impl View {
    /// All pages, in the order of their keys.
    pub const ALL: [View; 7] = [
        View::Cpu,
        View::Allocation,
        View::Locks,
        View::Threads,
        View::Holders,
        View::Memory,
        View::Native,
    ];

    /// Returns the page's name.
    pub fn name(self) -> &'static str {
        match self {
            View::Cpu => "CPU",
            View::Allocation => "Allocation",
            View::Locks => "Locks",
            View::Threads => "Threads",
            View::Holders => "Holders",
            View::Memory => "Memory",
            View::Native => "Native",
        }
    }

    /// Returns the columns of numbers.
    pub fn columns(self) -> &'static [Column] {
        const fn column(head: &'static str, width: usize, format: fn(f64) -> String) -> Column {
            Column {
                head,
                width,
                format,
            }
        }
        static CPU: [Column; 3] = [
            column("CPU%", 6, one),
            column("with calls", 10, one),
            column("so far", 9, seconds),
        ];
        static ALLOCATION: [Column; 4] = [
            column("bytes/s", 10, amount),
            column("objects/s", 10, whole),
            column("live", 10, amount),
            column("growth/s", 10, amount),
        ];
        static LOCKS: [Column; 3] = [
            column("waiting%", 8, one),
            column("waits/s", 8, one),
            column("so far", 9, seconds),
        ];
        static THREADS: [Column; 2] = [column("CPU%", 6, one), column("so far", 9, seconds)];
        static HOLDERS: [Column; 2] = [column("waiting%", 8, one), column("so far", 9, seconds)];
        static MEMORY: [Column; 4] = [
            column("resident", 10, amount),
            column("%", 5, one),
            column("committed", 10, amount),
            column("growth/min", 11, amount),
        ];
        static NATIVE: [Column; 4] = [
            column("live", 10, amount),
            column("old", 10, amount),
            column("growth/s", 10, amount),
            column("bytes/s", 10, amount),
        ];
        match self {
            View::Cpu => &CPU,
            View::Allocation => &ALLOCATION,
            View::Locks => &LOCKS,
            View::Threads => &THREADS,
            View::Holders => &HOLDERS,
            View::Memory => &MEMORY,
            View::Native => &NATIVE,
        }
    }

    /// Returns the head of the names.
    pub fn names(self) -> &'static str {
        match self {
            View::Cpu => "method",
            View::Allocation => "class and the method that allocates it",
            View::Locks => "class of the monitor, and the method that waits",
            View::Threads => "thread",
            View::Holders => "the method that waits, the one that holds the lock, and the lock",
            View::Memory => "letter in the chart, and part",
            View::Native => "the function that allocates, and the method that has it do so",
        }
    }

    /// Returns the rows, ordered by a column, whose names contain the filter.
    pub fn rows(self, model: &Model, sort: usize, filter: &str) -> Vec<PageRow> {
        let mut rows = match self {
            View::Cpu => cpu(model),
            View::Allocation => allocation(model),
            View::Locks => locks(model),
            View::Threads => threads(&model.last),
            View::Holders => holders(model),
            View::Memory => parts(model),
            View::Native => native(model),
        };
        let filter = filter.to_lowercase();
        let is_wanted = |text: &str| text.to_lowercase().contains(&filter);
        rows.retain(|row| filter.is_empty() || is_wanted(&row.name) || is_wanted(&row.class));
        rows.sort_by(|a, b| by_value(a, b, sort));
        rows
    }

    /// Returns a line with the sums of the interval.
    pub fn summary(self, model: &Model) -> String {
        let unknown = model.profile().unknown_sections.iter();
        let unknown = unknown.map(|name| UnknownSection::remark(name));
        let parts: Vec<String> = iter::once(self.measured(model)).chain(unknown).collect();
        parts.join("; ")
    }

    fn measured(self, model: &Model) -> String {
        let Interval { length, costs, .. } = &model.last;
        let seconds = length.as_secs_f64();
        let rate = |value: u64| per(value as f64, *length);
        match self {
            View::Cpu => {
                let count: u64 = sum(samples(&costs.cpu, 0));
                let used = 100.0 * rate(count) * SAMPLE.as_secs_f64();
                format!("{used:.0} % of a CPU in {seconds:.1} s, by {count} samples")
            }
            View::Allocation => {
                let made = rate(sum(samples(&costs.sites, ALLOC_BYTES)));
                let live = sum(samples(&costs.sites, LIVE_BYTES));
                format!(
                    "{}/s, estimated; {} live since the last collection of those made here",
                    amount(made),
                    size(live)
                )
            }
            View::Locks => {
                let count = rate(sum(samples(&costs.locks, 1)));
                let waited = 100.0 * rate(sum(samples(&costs.locks, 0))) / 1e9;
                format!("{count:.1} waits/s, {waited:.0} % of a thread's time; synchronized only")
            }
            View::Holders => {
                let all = samples(&costs.waits, 0);
                let has_holder = |s: &Sample| model.profile().labels(s.labels).holder.is_some();
                let (all, known) = (sum(all), sum(samples(&costs.waits, 0).filter(has_holder)));
                let waited = 100.0 * rate(all) / 1e9;
                let known = percent(known, all);
                format!(
                    "{waited:.0} % of a thread's time, by samples; the holder is known for {known:.0} % of it"
                )
            }
            View::Threads => {
                let used: Duration = model.last.threads.iter().map(|(_, used)| *used).sum();
                let used = 100.0 * per(used.as_secs_f64(), *length);
                format!("{used:.0} % of a CPU, {} threads", model.last.threads.len())
            }
            View::Native
                if model
                    .whole
                    .native
                    .values()
                    .all(|row| row[NATIVE_ALLOC] == 0) =>
            {
                "no sample found native code that allocates".to_owned()
            }
            View::Native => {
                let total = |value| amount(sum(samples(&costs.native, value)) as f64);
                format!(
                    "{} not freed, {} of it for 10 s, estimated",
                    total(NATIVE_LIVE),
                    total(NATIVE_OLD)
                )
            }
            View::Memory => memory::summary(&model.memory),
        }
    }

    /// Returns the stacks of a row as a tree of callers, since the beginning: lines with a share, a level and a name.
    pub fn tree(self, model: &Model, row: &PageRow) -> Vec<(f64, usize, String)> {
        let profile = model.profile();
        let is_it = |sample: &Sample| {
            let (class, name) = site(profile, (sample.stack, sample.labels));
            class == row.class && name == row.name
        };
        let by_callers = |samples: &mut dyn Iterator<Item = Sample>,
                          from: Option<&dyn Fn(&str) -> bool>| {
            Tree::of_samples(profile, samples, By::Method, Direction::Callers, from)
        };
        let tree = match self {
            View::Cpu => {
                let from = |name: &str| safe(name) == row.name;
                by_callers(&mut samples(&model.whole.cpu, 0), Some(&from))
            }
            View::Allocation => {
                let mut all = samples(&model.whole.sites, ALLOC_BYTES).filter(is_it);
                by_callers(&mut all, None)
            }
            View::Locks => by_callers(&mut samples(&model.whole.locks, 0).filter(is_it), None),
            View::Holders => {
                let is_it = |sample: &Sample| {
                    let wait = profile.wait(sample.stack, sample.labels);
                    safe(&wait.text()) == row.name
                };
                by_callers(&mut samples(&model.whole.waits, 0).filter(is_it), None)
            }
            View::Native => {
                let is_it = |sample: &Sample| {
                    let (function, name) = native_site(profile, sample.stack);
                    function == row.class && name == row.name
                };
                let of = |value| samples(&model.whole.native, value).filter(is_it);
                // All of it may have been freed.
                match of(NATIVE_LIVE).any(|sample| sample.value > 0) {
                    true => by_callers(&mut of(NATIVE_LIVE), None),
                    false => by_callers(&mut of(NATIVE_ALLOC), None),
                }
            }
            View::Threads | View::Memory => return Vec::new(),
        };
        lines(&tree)
    }
}

/// Returns the nodes in order, with their share and their level.
fn lines(tree: &Tree) -> Vec<(f64, usize, String)> {
    let Some(root) = tree.nodes.first() else {
        return Vec::new();
    };
    let mut lines = Vec::new();
    let mut open: Vec<(usize, u32)> = root.children.iter().rev().map(|&c| (0, c)).collect();
    while let Some((depth, index)) = open.pop() {
        let node = &tree.nodes[index as usize];
        let share = percent(node.total, root.total);
        if share < TREE_SHARE || lines.len() >= TREE_ROWS {
            continue;
        }
        // A single caller needs no level of its own.
        let next = depth + usize::from(node.children.len() > 1);
        lines.push((share, depth.min(INDENTED), safe(tree.name(node))));
        open.extend(node.children.iter().rev().map(|&child| (next, child)));
    }
    lines
}

fn cpu(model: &Model) -> Vec<PageRow> {
    let profile = model.profile();
    let costs = |rows| costs_of_samples(profile, samples(rows, 0), By::Method);
    let so_far = costs(&model.whole.cpu).into_iter();
    let so_far: HashMap<String, u64> = so_far.map(|cost| (cost.name, cost.own)).collect();
    let time = |count: u64| count as f64 * SAMPLE.as_secs_f64();
    let last = costs(&model.last.costs.cpu);
    let rows = last.into_iter().map(|cost| PageRow {
        values: vec![
            100.0 * per(time(cost.own), model.last.length),
            100.0 * per(time(cost.total), model.last.length),
            time(so_far.get(&cost.name).copied().unwrap_or_default()),
        ],
        class: String::new(),
        name: safe(&cost.name),
        thread: None,
    });
    rows.collect()
}

fn allocation(model: &Model) -> Vec<PageRow> {
    let profile = model.profile();
    let Interval {
        length,
        costs,
        sites_before,
        ..
    } = &model.last;
    let before = by_site(profile, sites_before);
    let rows = by_site(profile, &costs.sites).into_iter();
    let rows = rows.map(|(site, values)| {
        let before = before.get(&site).copied().unwrap_or_default();
        let growth = values[LIVE_BYTES] as f64 - before[LIVE_BYTES] as f64;
        PageRow {
            values: vec![
                per(values[ALLOC_BYTES] as f64, *length),
                per(values[ALLOC_OBJECTS] as f64, *length),
                values[LIVE_BYTES] as f64,
                per(growth, *length),
            ],
            class: site.0,
            name: site.1,
            thread: None,
        }
    });
    rows.collect()
}

fn native(model: &Model) -> Vec<PageRow> {
    let profile = model.profile();
    let Interval {
        length,
        costs,
        native_before,
        ..
    } = &model.last;
    let by_site = |rows| sums(rows, |(stack, _)| native_site(profile, stack));
    let before = by_site(native_before);
    let rows = by_site(&costs.native).into_iter();
    let rows = rows.map(|(key, values)| {
        let before = before.get(&key).copied().unwrap_or_default();
        let growth = values[NATIVE_LIVE] as f64 - before[NATIVE_LIVE] as f64;
        PageRow {
            values: vec![
                values[NATIVE_LIVE] as f64,
                values[NATIVE_OLD] as f64,
                per(growth, *length),
                per(values[NATIVE_ALLOC] as f64, *length),
            ],
            class: key.0,
            name: key.1,
            thread: None,
        }
    });
    rows.collect()
}

fn locks(model: &Model) -> Vec<PageRow> {
    let profile = model.profile();
    let Interval { length, costs, .. } = &model.last;
    let last = by_site(profile, &costs.locks);
    let rows = by_site(profile, &model.whole.locks).into_iter();
    let rows = rows.map(|(site, whole)| {
        let [nanos, count] = last.get(&site).copied().unwrap_or_default();
        PageRow {
            values: vec![
                100.0 * per(nanos as f64 / 1e9, *length),
                per(count as f64, *length),
                whole[0] as f64 / 1e9,
            ],
            class: site.0,
            name: site.1,
            thread: None,
        }
    });
    rows.collect()
}

fn holders(model: &Model) -> Vec<PageRow> {
    let profile = model.profile();
    let Interval { length, costs, .. } = &model.last;
    let waits = |rows| profile.waits_of_samples(samples(rows, 0)).into_iter();
    let last: HashMap<String, u64> = waits(&costs.waits).map(|w| (w.text(), w.nanos)).collect();
    let rows = waits(&model.whole.waits).map(|wait| {
        let text = wait.text();
        let nanos = last.get(&text).copied().unwrap_or_default();
        PageRow {
            values: vec![
                100.0 * per(nanos as f64 / 1e9, *length),
                wait.nanos as f64 / 1e9,
            ],
            class: String::new(),
            name: safe(&text),
            thread: None,
        }
    });
    rows.collect()
}

fn parts(model: &Model) -> Vec<PageRow> {
    let rows = memory::rows(&model.memory).into_iter();
    let rows = rows.map(|row| PageRow {
        values: row.values.to_vec(),
        class: row.mark.to_string(),
        name: row.name.to_owned(),
        thread: None,
    });
    rows.collect()
}

fn threads(last: &Interval) -> Vec<PageRow> {
    let rows = last.threads.iter().map(|(thread, used)| PageRow {
        values: vec![
            100.0 * per(used.as_secs_f64(), last.length),
            thread.used.as_secs_f64(),
        ],
        class: format!("{:>7}", thread.id),
        name: safe(&thread.name),
        thread: Some(thread.id),
    });
    rows.collect()
}

/// Adds places up by their class and innermost method.
fn by_site<const N: usize>(
    profile: &Profile,
    rows: &Rows<N>,
) -> HashMap<(String, String), [u64; N]> {
    sums(rows, |place| site(profile, place))
}

fn sums<const N: usize>(
    rows: &Rows<N>,
    key: impl Fn(RowKey) -> (String, String),
) -> HashMap<(String, String), [u64; N]> {
    let mut sums: HashMap<(String, String), [u64; N]> = HashMap::new();
    for (&place, values) in rows {
        let sum = sums.entry(key(place)).or_insert([0; N]);
        for (sum, value) in sum.iter_mut().zip(values) {
            *sum = sum.saturating_add(*value);
        }
    }
    sums
}

/// Returns the class of a place, and its innermost method.
fn site(profile: &Profile, (stack, labels): RowKey) -> (String, String) {
    let class = profile.labels(labels).class;
    let class = class.map_or(String::new(), |class| safe(profile.names.text(class)));
    (class, innermost(profile, stack))
}

/// Returns the function that allocates, and the innermost method around it that is neither of the JDK nor of a well-known library,
/// else the outermost frame. Of a single frame, only the second is given.
fn native_site(profile: &Profile, stack: StackId) -> (String, String) {
    let own = OwnCode::default();
    let frames = profile.stacks.frames(stack);
    let Some((_, around)) = frames
        .split_first()
        .filter(|(_, around)| !around.is_empty())
    else {
        return (String::new(), innermost(profile, stack));
    };
    let is_own = |frame: &&FrameId| {
        let class = profile.frame(**frame).class;
        own.has_class(profile.names.text(class))
    };
    let maker = around.iter().find(is_own).or(around.last());
    let maker = maker.map_or(String::new(), |&frame| safe(&profile.method(frame)));
    (innermost(profile, stack), maker)
}

fn innermost(profile: &Profile, stack: StackId) -> String {
    let frame = profile.stacks.frames(stack).first();
    frame.map_or(String::new(), |&frame| safe(&profile.method(frame)))
}

/// Names are the program's choice: none is longer than a line of text, or has control characters.
pub fn safe(name: &str) -> String {
    printable(&*shortened(name)).into_owned()
}

/// Rows that are equal in the column are ordered by the others: of the methods without time of their own, the first are
/// those whose calls take most.
fn by_value(a: &PageRow, b: &PageRow, sort: usize) -> Ordering {
    let value = |row: &PageRow| row.values.get(sort).copied().unwrap_or_default();
    let pairs = || b.values.iter().zip(&a.values);
    let others = || pairs().map(|(b, a)| b.total_cmp(a)).find(|it| it.is_ne());
    let names = || (&a.class, &a.name).cmp(&(&b.class, &b.name));
    value(b)
        .total_cmp(&value(a))
        .then_with(|| others().unwrap_or_else(names))
}

fn sum(samples: impl Iterator<Item = Sample>) -> u64 {
    samples.fold(0, |sum: u64, sample| sum.saturating_add(sample.value))
}

fn per(value: f64, length: Duration) -> f64 {
    match length.is_zero() {
        true => 0.0,
        false => value / length.as_secs_f64(),
    }
}

fn one(value: f64) -> String {
    format!("{value:.1}")
}

fn whole(value: f64) -> String {
    format!("{value:.0}")
}

fn seconds(value: f64) -> String {
    format!("{value:.2} s")
}

fn amount(value: f64) -> String {
    let sign = if value < 0.0 { "-" } else { "" };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "not negative; what is too large is the largest number"
    )]
    let bytes = value.abs() as u64;
    format!("{sign}{}", size(bytes))
}

#[cfg(test)]
mod tests {
    use hprof_format::TextReader;

    use super::super::model::tests::two_snapshots;
    use super::*;

    fn names(view: View, sort: usize, filter: &str) -> Vec<(Vec<f64>, String)> {
        let rows = view.rows(&two_snapshots(false), sort, filter);
        let text = |row: PageRow| (row.values, format!("{} {}", row.class, row.name));
        rows.into_iter().map(text).collect()
    }

    #[test]
    fn methods_have_their_own_time_and_that_of_their_calls() {
        // 100 samples of 10 ms in 2 s; 10 and 20 before.
        let expected = [
            (vec![50.0, 50.0, 1.1], " Shop.tax".to_owned()),
            (vec![0.0, 50.0, 0.2], " Shop.price".to_owned()),
            (vec![0.0, 50.0, 0.0], " Shop.main".to_owned()),
        ];
        assert_eq!(names(View::Cpu, 0, ""), expected);
        assert_eq!(names(View::Cpu, 0, "PRICE"), expected[1..2]);
    }

    #[test]
    fn every_page_names_what_cannot_be_read() {
        let text = "JAVA PROFILE 1.0.1, created Fri Nov 20 10:39:11 2026\n\n--------\n\n\
                    GC PAUSES BEGIN (total = 7)\n1 2 3\nGC PAUSES END\n";
        let mut model = Model::new();
        let mut reader = TextReader::new(text.as_bytes()).expect("a head");
        while let Some(entry) = reader.read().expect("a profile") {
            model.take(&entry.item);
        }
        for view in View::ALL {
            assert!(
                view.summary(&model).contains("GC PAUSES"),
                "{}",
                view.name()
            );
            assert!(!view.summary(&two_snapshots(false)).contains("section"));
        }
    }

    #[test]
    fn sites_have_rates() {
        let site = "byte[] Shop.price".to_owned();
        let expected = [(vec![4000.0, 4.0, 3000.0, 1000.0], site)];
        assert_eq!(names(View::Allocation, 0, "byte"), expected);
    }

    #[test]
    fn monitors_and_threads_have_shares_of_the_interval() {
        let expected = [(vec![25.0, 3.5, 0.5], "Shop Shop.price".to_owned())];
        assert_eq!(names(View::Locks, 0, ""), expected);
        let threads = names(View::Threads, 0, "");
        assert_eq!(threads[0], (vec![95.0, 3.9], "      1 main".to_owned()));
    }

    #[test]
    fn native_memory_is_that_of_the_method_which_has_it_allocated() {
        let site = "libjvm.so.os::malloc Shop.price".to_owned();
        let expected = [(vec![6000.0, 1000.0, 2000.0, 2000.0], site)];
        assert_eq!(names(View::Native, 0, ""), expected);
        let model = two_snapshots(false);
        let rows = View::Native.rows(&model, 0, "");
        let tree = View::Native.tree(&model, &rows[0]);
        let frames: Vec<_> = tree.iter().map(|(.., name)| name.as_str()).collect();
        let expected = [
            "libjvm.so.os::malloc",
            "java.nio.ByteBuffer.allocateDirect",
            "Shop.price",
            "Shop.main",
        ];
        assert_eq!(frames, expected);
        assert_eq!(
            View::Native.summary(&model),
            "6.0 KB not freed, 1.0 KB of it for 10 s, estimated"
        );
    }

    #[test]
    fn a_row_has_the_tree_of_its_callers() {
        let model = two_snapshots(false);
        let rows = View::Cpu.rows(&model, 0, "tax");
        let tree = View::Cpu.tree(&model, &rows[0]);
        let names: Vec<_> = tree.iter().map(|(.., name)| name.as_str()).collect();
        assert_eq!(names, ["Shop.tax", "Shop.price", "Shop.main"]);
        let rows = View::Allocation.rows(&model, 0, "");
        let tree = View::Allocation.tree(&model, &rows[0]);
        assert_eq!(tree.len(), 2);
        assert_eq!(tree[1], (100.0, 0, "Shop.main".to_owned()));
    }

    #[test]
    fn names_are_harmless() {
        assert_eq!(safe("a\x1b[2Jb\nc"), "a?[2Jb?c");
        assert!(safe(&"x".repeat(100_000)).len() < 1000);
    }
}
