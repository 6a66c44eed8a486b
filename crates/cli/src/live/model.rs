//! The model behind the pages: the costs of the last interval, and those since the beginning.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hprof_format::{Section, TextItem};
use hprof_profile::{FrameId, LabelsId, Metric, Profile, Records, Sample, StackId, Table, Wanted};

use super::watch::Seen;
use crate::attach::ThreadTime;

/// The metrics of the tables, in the order of their values.
const CPU: [Metric; 1] = [Metric::Cpu];
const SITES: [Metric; 4] = [
    Metric::LiveBytes,
    Metric::LiveObjects,
    Metric::AllocBytes,
    Metric::AllocObjects,
];
const LOCKS: [Metric; 2] = [Metric::Contention, Metric::Contentions];
const WAITS: [Metric; 1] = [Metric::LockWait];
const NATIVE: [Metric; 6] = [
    Metric::NativeLiveBytes,
    Metric::NativeLiveBlocks,
    Metric::NativeOldBytes,
    Metric::NativeOldBlocks,
    Metric::NativeBytes,
    Metric::NativeBlocks,
];

/// A stack with its labels: the key of a row.
pub type RowKey = (StackId, LabelsId);
/// The values of each row.
pub type Rows<const N: usize> = HashMap<RowKey, [u64; N], foldhash::fast::RandomState>;

/// Live bytes, live objects, allocated bytes, allocated objects: their places in the values of a site.
pub const LIVE_BYTES: usize = 0;
pub const ALLOC_BYTES: usize = 2;
pub const ALLOC_OBJECTS: usize = 3;
/// Bytes that are not freed, those of them that are old, and allocated bytes: their places in the values of a native site.
pub const NATIVE_LIVE: usize = 0;
pub const NATIVE_OLD: usize = 2;
pub const NATIVE_ALLOC: usize = 4;

/// Costs by place.
#[derive(Clone, Debug, Default)]
pub struct Costs {
    /// CPU samples.
    pub cpu: Rows<1>,
    /// Allocation sites; live amounts are those at the end.
    pub sites: Rows<4>,
    /// The time that threads waited for monitors, and how often.
    pub locks: Rows<2>,
    /// The time that threads waited for locks while others held them.
    pub waits: Rows<1>,
    /// Native allocations; what is not freed is that at the end.
    pub native: Rows<6>,
}

/// The part of the program's life between two snapshots.
#[derive(Clone, Debug, Default)]
pub struct Interval {
    /// Its length.
    pub length: Duration,
    /// Its costs.
    pub costs: Costs,
    /// The sites of the snapshot before.
    pub sites_before: Rows<4>,
    /// The native sites of the snapshot before.
    pub native_before: Rows<6>,
    /// The threads at its end, and the CPU time that each has used in it.
    pub threads: Vec<(ThreadTime, Duration)>,
}

/// All that the snapshots have said.
#[derive(Default)]
pub struct Model {
    records: Records,
    /// The stacks of one frame by their frame: the reader makes a new one for each section.
    small_stacks: HashMap<FrameId, StackId>,
    /// The interval that is shown.
    pub last: Interval,
    /// The sum of all intervals.
    pub whole: Costs,
    /// The length of all intervals.
    pub length: Duration,
    /// The number of snapshots.
    pub snapshots: u64,
    /// The memory of the process.
    pub memory: Arc<Seen>,
    since: Option<Instant>,
    used_before: HashMap<u32, Duration>,
    sites_before: Rows<4>,
    native_before: Rows<6>,
}

impl Model {
    /// Creates a model of a session that begins now.
    pub fn new() -> Self {
        Self {
            records: Records::new(Wanted::Last),
            since: Some(Instant::now()),
            ..Self::default()
        }
    }

    /// Takes the file's time stamp.
    pub fn created(&mut self, millis: u64) {
        self.records.created(millis);
    }

    /// Takes an item of the agent's output.
    pub fn take(&mut self, item: &TextItem) {
        match item {
            TextItem::Record(record) => match Section::of(record) {
                Some(section) => self.section(&section),
                None => self.records.record(record),
            },
            TextItem::Monitor(record) => self.records.monitor(record),
            TextItem::Timing(timing) => self.section(&Section::CallTimes(timing)),
            TextItem::HeapDump { .. } => {}
        }
    }

    fn section(&mut self, section: &Section<'_>) {
        match section {
            Section::Sites(_)
            | Section::CpuSamples(_)
            | Section::LockWaits(_)
            | Section::NativeSites(_)
            | Section::Monitors { .. }
            | Section::Contention { .. }
            | Section::Unknown(_) => self.records.section(section),
            // No page shows them, and each snapshot has its own.
            Section::CallTimes(_)
            | Section::WallSamples(_)
            | Section::Lifetimes(_)
            | Section::Course(_)
            | Section::SampleTimes(_)
            | Section::EndOfSnapshot
            | Section::Note(_) => {}
        }
    }

    /// Takes the threads when the session begins.
    pub fn begin(&mut self, threads: &[ThreadTime]) {
        self.used_before = threads.iter().map(|t| (t.id, t.used)).collect();
    }

    /// Ends an interval: a snapshot is complete. A paused view keeps the interval that it shows.
    pub fn snapshot(&mut self, now: Instant, threads: Vec<ThreadTime>, is_paused: bool) {
        let length = self.since.replace(now).map(|since| now - since);
        let length = length.unwrap_or_default();
        let costs = self.costs();
        self.length += length;
        self.snapshots += 1;
        add(&mut self.whole.cpu, &costs.cpu);
        add(&mut self.whole.locks, &costs.locks);
        add(&mut self.whole.waits, &costs.waits);
        for values in self.whole.sites.values_mut() {
            (values[LIVE_BYTES], values[1]) = (0, 0);
        }
        add(&mut self.whole.sites, &costs.sites);
        for values in self.whole.native.values_mut() {
            values[..NATIVE_ALLOC].fill(0);
        }
        add(&mut self.whole.native, &costs.native);
        let sites_before = std::mem::replace(&mut self.sites_before, costs.sites.clone());
        let native_before = std::mem::replace(&mut self.native_before, costs.native.clone());
        let used = threads.iter().map(|t| (t.id, t.used)).collect();
        let used_before = std::mem::replace(&mut self.used_before, used);
        if is_paused {
            return;
        }
        let in_interval = |thread: ThreadTime| {
            let before = used_before.get(&thread.id).copied().unwrap_or_default();
            let used = thread.used.saturating_sub(before);
            (thread, used)
        };
        self.last = Interval {
            length,
            costs,
            sites_before,
            native_before,
            threads: threads.into_iter().map(in_interval).collect(),
        };
    }

    /// Returns the costs of the tables that have been read last.
    fn costs(&mut self) -> Costs {
        let profile = self.records.so_far();
        let small_stacks = &mut self.small_stacks;
        let mut costs = Costs::default();
        for table in profile.tables() {
            let metrics = table.metrics();
            if metrics == CPU {
                costs.cpu = rows(profile, table, small_stacks);
            } else if metrics == SITES {
                costs.sites = rows(profile, table, small_stacks);
            } else if metrics == LOCKS {
                costs.locks = rows(profile, table, small_stacks);
            } else if metrics == WAITS {
                costs.waits = rows(profile, table, small_stacks);
            } else if metrics == NATIVE {
                costs.native = rows(profile, table, small_stacks);
            }
        }
        costs
    }

    /// Returns the names and stacks of all places.
    pub fn profile(&self) -> &Profile {
        self.records.so_far()
    }

    /// Returns everything since the beginning as a profile.
    pub fn whole_profile(&self) -> Profile {
        let mut tables = Vec::new();
        push(&mut tables, &CPU, &self.whole.cpu);
        push(&mut tables, &SITES, &self.whole.sites);
        push(&mut tables, &LOCKS, &self.whole.locks);
        push(&mut tables, &WAITS, &self.whole.waits);
        push(&mut tables, &NATIVE, &self.whole.native);
        let mut profile = self.profile().with_tables(tables);
        profile.length = u64::try_from(self.length.as_micros()).unwrap_or(u64::MAX);
        profile
    }
}

/// Returns one value of all places as samples.
pub fn samples<const N: usize>(rows: &Rows<N>, value: usize) -> impl Iterator<Item = Sample> {
    rows.iter().map(move |(&(stack, labels), values)| Sample {
        stack,
        labels,
        value: values[value],
    })
}

fn rows<const N: usize>(
    profile: &Profile,
    table: &Table,
    small_stacks: &mut HashMap<FrameId, StackId>,
) -> Rows<N> {
    let mut rows = Rows::<N>::default();
    for (stack, labels, values) in table.rows() {
        let stack = match profile.stacks.frames(stack) {
            &[frame] => *small_stacks.entry(frame).or_insert(stack),
            _ => stack,
        };
        let sums = rows.entry((stack, labels)).or_insert([0; N]);
        for (sum, &value) in sums.iter_mut().zip(values) {
            *sum = sum.saturating_add(value);
        }
    }
    rows
}

fn add<const N: usize>(sums: &mut Rows<N>, others: &Rows<N>) {
    for (&place, values) in others {
        let sums = sums.entry(place).or_insert([0; N]);
        for (sum, &value) in sums.iter_mut().zip(values) {
            *sum = sum.saturating_add(value);
        }
    }
}

fn push<const N: usize>(tables: &mut Vec<Table>, metrics: &[Metric; N], rows: &Rows<N>) {
    if rows.is_empty() {
        return;
    }
    let mut rows: Vec<_> = rows.iter().collect();
    rows.sort_unstable();
    let mut table = Table::new(metrics);
    for (&(stack, labels), values) in rows {
        table.push(stack, labels, values);
    }
    tables.push(table);
}

#[cfg(test)]
pub mod tests {
    use hprof_format::TextReader;

    use super::*;

    /// A thread that has used so many milliseconds.
    pub fn thread(id: u32, name: &str, millis: u64) -> ThreadTime {
        ThreadTime {
            id,
            name: name.to_owned(),
            used: Duration::from_millis(millis),
        }
    }

    /// A model that has read two snapshots of two seconds each.
    pub fn two_snapshots(is_paused: bool) -> Model {
        let text = "\
JAVA PROFILE 1.0.1, created Fri Nov 20 10:39:11 2026

--------

TRACE 300001:
\tShop.price(Shop.java:7)
\tShop.main(Shop.java:3)
TRACE 300002:
\tShop.tax(Shop.java:9)
\tShop.price(Shop.java:8)
\tShop.main(Shop.java:3)
TRACE 300003:
\tlibjvm.so.os::malloc(Native Method)
\tjava.nio.ByteBuffer.allocateDirect(ByteBuffer.java:11)
\tShop.price(Shop.java:7)
\tShop.main(Shop.java:3)
CPU SAMPLES BEGIN (total = 30) Fri Nov 20 10:39:12 2026
rank   self  accum   count trace method
   1 66.67% 66.67%      20 300001 Shop.price
   2 33.33% 100.00%      10 300002 Shop.tax
CPU SAMPLES END
SITES BEGIN (ordered by live bytes) Fri Nov 20 10:39:12 2026
          percent          live          alloc'ed  stack class
 rank   self  accum     bytes objs     bytes  objs trace name
    1 100.00% 100.00%     1000    1      4000     4 300001 byte[]
SITES END
NATIVE SITES BEGIN (live = 2000 in 2 +- 100, old = 0 in 0 +- 90, allocated = 5000 in 5 +- 110, age = 10 s, interval = 512 bytes) Fri Nov 20 10:39:12 2026
          percent                       live                old            allocated
rank   self  accum      bytes blocks      +-      bytes blocks      bytes  blocks trace method
   1 100.00% 100.00%       2000      2     100          0      0       5000       5 300003 libjvm.so.os::malloc
NATIVE SITES END
(end of the snapshot)
CPU SAMPLES BEGIN (total = 100) Fri Nov 20 10:39:13 2026
rank   self  accum   count trace method
   1 100.00% 100.00%     100 300002 Shop.tax
CPU SAMPLES END
SITES BEGIN (ordered by live bytes) Fri Nov 20 10:39:13 2026
          percent          live          alloc'ed  stack class
 rank   self  accum     bytes objs     bytes  objs trace name
    1 100.00% 100.00%     3000    3      8000     8 300001 byte[]
SITES END
MONITOR TIME BEGIN (total = 500 ms) Fri Nov 20 10:39:13 2026
rank   self  accum   count trace monitor
   1 100.00% 100.00%       7 300001 Shop (Java)
MONITOR TIME END
LOCK WAITS BEGIN (total = 60, interval = 10 ms, holder known = 50) Fri Nov 20 10:39:13 2026
rank   self  accum   count trace holder lock
   1 83.33% 83.33%      50 300001 300002 Shop@1b2c
   2 16.67% 100.00%      10 300001      0 Shop@1b2c
LOCK WAITS END
NATIVE SITES BEGIN (live = 6000 in 6 +- 100, old = 1000 in 1 +- 90, allocated = 4000 in 4 +- 110, age = 10 s, interval = 512 bytes) Fri Nov 20 10:39:13 2026
          percent                       live                old            allocated
rank   self  accum      bytes blocks      +-      bytes blocks      bytes  blocks trace method
   1 100.00% 100.00%       6000      6     100       1000      1       4000       4 300003 libjvm.so.os::malloc
NATIVE SITES END
(end of the snapshot)
";
        let mut model = Model::new();
        model.begin(&[thread(1, "main", 100)]);
        let begin = model.since.expect("it has begun");
        let mut reader = TextReader::new(text.as_bytes()).expect("a head");
        while let Some(entry) = reader.read().expect("a profile") {
            model.take(&entry.item);
            if let TextItem::Record(record) = &entry.item
                && Section::of(record) == Some(Section::EndOfSnapshot)
            {
                let number = model.snapshots + 1;
                let threads = vec![thread(1, "main", 100 + 1900 * number), thread(2, "new", 40)];
                let now = begin + Duration::from_secs(2 * number);
                model.snapshot(now, threads, is_paused && number == 2);
            }
        }
        model
    }

    #[test]
    fn intervals_add_up_and_live_is_that_of_the_last() {
        let model = two_snapshots(false);
        let sum = |rows: &Rows<1>| samples(rows, 0).map(|sample| sample.value).sum::<u64>();
        assert_eq!(sum(&model.last.costs.cpu), 100);
        assert_eq!(sum(&model.whole.cpu), 130);
        assert_eq!(model.last.length, Duration::from_secs(2));
        assert_eq!(model.length, Duration::from_secs(4));
        let sites: Vec<_> = model.whole.sites.values().collect();
        assert_eq!(sites, [&[3000, 3, 12_000, 12]]);
        let before: Vec<_> = model.last.sites_before.values().collect();
        assert_eq!(before, [&[1000, 1, 4000, 4]]);
        let locks: Vec<_> = model.whole.locks.values().collect();
        assert_eq!(locks, [&[500_000_000, 7]]);
        let native: Vec<_> = model.whole.native.values().collect();
        assert_eq!(native, [&[6000, 6, 1000, 1, 9000, 9]]);
        let waits = samples(&model.whole.waits, 0).map(|sample| sample.value);
        assert_eq!(waits.sum::<u64>(), 600_000_000);
        let used: Vec<_> = model.last.threads.iter().map(|(_, used)| *used).collect();
        assert_eq!(used, [1900, 0].map(Duration::from_millis));
    }

    #[test]
    fn a_paused_view_keeps_its_interval_and_loses_nothing() {
        let model = two_snapshots(true);
        let sum = |rows: &Rows<1>| samples(rows, 0).map(|sample| sample.value).sum::<u64>();
        assert_eq!(sum(&model.last.costs.cpu), 30);
        assert_eq!(sum(&model.whole.cpu), 130);
    }

    #[test]
    fn the_whole_is_a_profile() {
        let model = two_snapshots(false);
        let profile = model.whole_profile();
        assert_eq!(profile.total(Metric::Cpu), 130);
        assert_eq!(profile.total(Metric::AllocBytes), 12_000);
        assert_eq!(profile.total(Metric::LiveBytes), 3000);
        assert_eq!(profile.total(Metric::Contentions), 7);
        assert_eq!(profile.total(Metric::NativeLiveBytes), 6000);
        assert_eq!(profile.total(Metric::NativeBytes), 9000);
        assert_eq!(
            profile.waits()[0].text(),
            "Shop.price, while Shop.tax (called by Shop.price, Shop.main) held Shop@1b2c"
        );
        let mut file = Vec::new();
        hprof_profile::write(&profile, &mut file).expect("memory");
        let read = hprof_profile::load(file.as_slice(), Wanted::Last).expect("a profile");
        assert_eq!(read.profile.total(Metric::Cpu), 130);
        assert_eq!(read.profile.total(Metric::AllocBytes), 12_000);
    }
}
