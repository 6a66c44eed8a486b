//! The metrics of a profile, and their units.

use std::fmt;
use std::str::FromStr;

/// A kind of value. Ordered by what a reader most likely wants to see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Metric {
    /// CPU samples.
    Cpu,
    /// Time that passed for threads, whether they ran or waited, from samples.
    Wall,
    /// The part of it in which they wanted a monitor that another owned.
    Blocked,
    /// The part of it in which they were parked, as for a lock of `java.util.concurrent`.
    Parked,
    /// The part of it in which virtual threads waited without releasing their carriers.
    Pinned,
    /// Time in the innermost method of a stack itself.
    Time,
    /// Time until the innermost method of a stack returned (the old prof format).
    InclusiveTime,
    /// Bytes allocated.
    AllocBytes,
    /// Objects allocated.
    AllocObjects,
    /// Live bytes.
    LiveBytes,
    /// Live objects.
    LiveObjects,
    /// Bytes of objects that died before the first collection after their birth.
    TemporaryBytes,
    /// Such objects.
    TemporaryObjects,
    /// Bytes of objects, dead or alive, that have survived a collection.
    SurvivedBytes,
    /// Such objects.
    SurvivedObjects,
    /// Bytes that were alive after the collection that left most.
    PeakBytes,
    /// Objects that were alive then.
    PeakObjects,
    /// Time that threads waited for monitors that others owned.
    Contention,
    /// The number of such waits.
    Contentions,
    /// Time that threads waited for locks, from samples that tell who held them.
    LockWait,
    /// Bytes that native code allocated and has not freed.
    NativeLiveBytes,
    /// Blocks that native code allocated and has not freed.
    NativeLiveBlocks,
    /// Bytes of those that are old.
    NativeOldBytes,
    /// Blocks of those that are old.
    NativeOldBlocks,
    /// Bytes that native code allocated.
    NativeBytes,
    /// Blocks that native code allocated.
    NativeBlocks,
    /// Calls of the innermost method of a stack.
    Calls,
}

/// The unit of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    /// A number of things.
    Count,
    /// Bytes.
    Bytes,
    /// Nanoseconds.
    Nanoseconds,
}

impl Metric {
    /// All metrics.
    pub const ALL: [Metric; 27] = [
        Metric::Cpu,
        Metric::Wall,
        Metric::Blocked,
        Metric::Parked,
        Metric::Pinned,
        Metric::Time,
        Metric::InclusiveTime,
        Metric::AllocBytes,
        Metric::AllocObjects,
        Metric::LiveBytes,
        Metric::LiveObjects,
        Metric::TemporaryBytes,
        Metric::TemporaryObjects,
        Metric::SurvivedBytes,
        Metric::SurvivedObjects,
        Metric::PeakBytes,
        Metric::PeakObjects,
        Metric::Contention,
        Metric::Contentions,
        Metric::LockWait,
        Metric::NativeLiveBytes,
        Metric::NativeLiveBlocks,
        Metric::NativeOldBytes,
        Metric::NativeOldBlocks,
        Metric::NativeBytes,
        Metric::NativeBlocks,
        Metric::Calls,
    ];

    /// Returns the name by which users choose it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Metric::Cpu => "cpu",
            Metric::Wall => "wall",
            Metric::Blocked => "blocked",
            Metric::Parked => "parked",
            Metric::Pinned => "pinned",
            Metric::Time => "time",
            Metric::InclusiveTime => "inclusive-time",
            Metric::AllocBytes => "alloc-bytes",
            Metric::AllocObjects => "alloc-objects",
            Metric::LiveBytes => "live-bytes",
            Metric::LiveObjects => "live-objects",
            Metric::TemporaryBytes => "temporary-bytes",
            Metric::TemporaryObjects => "temporary-objects",
            Metric::SurvivedBytes => "survived-bytes",
            Metric::SurvivedObjects => "survived-objects",
            Metric::PeakBytes => "peak-bytes",
            Metric::PeakObjects => "peak-objects",
            Metric::Contention => "contention",
            Metric::Contentions => "contentions",
            Metric::LockWait => "lock-wait",
            Metric::NativeLiveBytes => "native-live-bytes",
            Metric::NativeLiveBlocks => "native-live-blocks",
            Metric::NativeOldBytes => "native-old-bytes",
            Metric::NativeOldBlocks => "native-old-blocks",
            Metric::NativeBytes => "native-bytes",
            Metric::NativeBlocks => "native-blocks",
            Metric::Calls => "calls",
        }
    }

    /// Returns its unit.
    #[must_use]
    pub fn unit(self) -> Unit {
        match self {
            Metric::Wall
            | Metric::Blocked
            | Metric::Parked
            | Metric::Pinned
            | Metric::Time
            | Metric::InclusiveTime
            | Metric::Contention
            | Metric::LockWait => Unit::Nanoseconds,
            Metric::AllocBytes
            | Metric::LiveBytes
            | Metric::TemporaryBytes
            | Metric::SurvivedBytes
            | Metric::PeakBytes
            | Metric::NativeLiveBytes
            | Metric::NativeOldBytes
            | Metric::NativeBytes => Unit::Bytes,
            Metric::Cpu
            | Metric::AllocObjects
            | Metric::LiveObjects
            | Metric::TemporaryObjects
            | Metric::SurvivedObjects
            | Metric::PeakObjects
            | Metric::Contentions
            | Metric::NativeLiveBlocks
            | Metric::NativeOldBlocks
            | Metric::NativeBlocks
            | Metric::Calls => Unit::Count,
        }
    }
}

impl Unit {
    /// Returns the unit's name: `count`, `bytes`, `nanoseconds`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Unit::Count => "count",
            Unit::Bytes => "bytes",
            Unit::Nanoseconds => "nanoseconds",
        }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

/// A name that no metric has.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not a value; there are {all}", all = Metric::ALL.map(Metric::name).join(", "))]
pub struct UnknownMetric(String);

impl FromStr for Metric {
    type Err = UnknownMetric;

    fn from_str(name: &str) -> Result<Metric, UnknownMetric> {
        Metric::ALL
            .into_iter()
            .find(|metric| metric.name() == name)
            .ok_or_else(|| UnknownMetric(name.to_owned()))
    }
}
