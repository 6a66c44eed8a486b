//! The memory of a process as gauges: what Prometheus reads of a running program, and what OpenTelemetry gets of a profile.

use hprof_footprint::{Account, Cgroup, JavaHeap, Part};
use hprof_format::MemoryLook;
use hprof_profile::export;

/// A gauge.
#[derive(Debug, PartialEq)]
pub struct Gauge {
    /// The name in OpenTelemetry.
    pub name: &'static str,
    pub unit: Unit,
    /// What it is.
    pub help: &'static str,
}

#[derive(Debug, PartialEq)]
pub enum Unit {
    Bytes,
    /// A number of these.
    Count(&'static str),
    Seconds,
    Milliseconds,
}

/// Those that a profile has, too.
const PARTS_RESIDENT: Gauge = Gauge::bytes(
    "hprof.memory.resident",
    "What a part of the process has in RAM; the parts add up to its resident set.",
);
const RESIDENT: Gauge = Gauge::bytes("hprof.resident", "The resident set.");
const LIMIT: Gauge = Gauge::bytes("hprof.cgroup.limit", "The limit of the cgroup.");
const USED: Gauge = Gauge::bytes("hprof.cgroup.used", "What counts against the limit.");

/// The values of a gauge at a moment.
pub struct Reading {
    pub gauge: Gauge,
    /// The values of parts, or of the whole.
    pub values: Vec<(Option<&'static str>, u64)>,
}

impl Gauge {
    const fn bytes(name: &'static str, help: &'static str) -> Self {
        Self {
            name,
            unit: Unit::Bytes,
            help,
        }
    }

    const fn count(name: &'static str, of: &'static str, help: &'static str) -> Self {
        Self {
            name,
            unit: Unit::Count(of),
            help,
        }
    }

    /// Returns the name in Prometheus, which OpenTelemetry's collector makes of the other name and the unit, too.
    pub fn prometheus_name(&self) -> String {
        let unit = match self.unit {
            Unit::Bytes => "_bytes",
            Unit::Count(_) => "",
            Unit::Seconds => "_seconds",
            Unit::Milliseconds => "_milliseconds",
        };
        format!("{}{unit}", self.name.replace('.', "_"))
    }

    /// Returns the gauge as it is sent.
    fn with(self, points: Vec<export::GaugePoint>) -> export::Gauge {
        let unit = match self.unit {
            Unit::Bytes => "By",
            Unit::Count(of) => of,
            Unit::Seconds => "s",
            Unit::Milliseconds => "ms",
        };
        export::Gauge {
            name: self.name,
            description: self.help,
            unit,
            points,
        }
    }
}

/// Returns the gauges of an account; what is unknown is left out.
pub fn of_account(account: &Account) -> Vec<Reading> {
    let parts = |value: fn(hprof_footprint::Amounts) -> u64| {
        let parts = account.parts.iter();
        parts.map(move |(part, &amounts)| (Some(part.key()), value(amounts)))
    };
    let of_parts = [
        Reading {
            gauge: PARTS_RESIDENT,
            values: parts(|amounts| amounts.resident).collect(),
        },
        Reading {
            gauge: Gauge::bytes(
                "hprof.memory.committed",
                "What a part of the process may use.",
            ),
            values: parts(|amounts| amounts.committed).collect(),
        },
    ];
    let of_process = of_process(account).into_iter();
    let of_process = of_process.filter_map(|(gauge, value)| {
        Some(Reading {
            gauge,
            values: vec![(None, value?)],
        })
    });
    of_parts.into_iter().chain(of_process).collect()
}

fn of_process(account: &Account) -> [(Gauge, Option<u64>); 18] {
    let (heap, group, vm) = (account.vm.heap, account.cgroup, account.vm);
    let of_heap = |value: fn(JavaHeap) -> Option<u64>| heap.and_then(value);
    let of_group = |value: fn(Cgroup) -> Option<u64>| group.and_then(value);
    let look = Gauge {
        name: "hprof.memory.look",
        unit: Unit::Milliseconds,
        help: "The time of the look, since 1970.",
    };
    [
        (look, Some(account.time)),
        (RESIDENT, Some(account.resident())),
        (
            Gauge::bytes("hprof.swapped", "What of the process is swapped out."),
            account.swapped,
        ),
        (
            Gauge::count("hprof.threads", "{thread}", "The threads of the process."),
            Some(account.threads),
        ),
        (
            Gauge::bytes("hprof.heap.used", "The Java heap in use; garbage counts."),
            of_heap(|heap| Some(heap.used)),
        ),
        (
            Gauge::bytes("hprof.heap.committed", "The Java heap that the VM has got."),
            of_heap(|heap| Some(heap.committed)),
        ),
        (
            Gauge::bytes("hprof.heap.limit", "The most that the Java heap may have."),
            of_heap(|heap| Some(heap.limit)),
        ),
        (
            Gauge::bytes(
                "hprof.heap.after_collection",
                "What the last collection has left.",
            ),
            of_heap(|heap| heap.after_collection),
        ),
        (Gauge::bytes("hprof.direct", "Direct buffers."), vm.direct),
        (
            Gauge::count(
                "hprof.direct.buffers",
                "{buffer}",
                "The number of direct buffers.",
            ),
            vm.direct_buffers,
        ),
        (
            Gauge::count("hprof.classes", "{class}", "The loaded classes."),
            vm.classes,
        ),
        (
            Gauge::count("hprof.class_loaders", "{loader}", "Their loaders."),
            vm.loaders,
        ),
        (LIMIT, of_group(|group| group.limit)),
        (USED, of_group(|group| group.used)),
        (
            Gauge::bytes(
                "hprof.cgroup.file",
                "Files that count against it, those in tmpfs too.",
            ),
            of_group(|group| group.file),
        ),
        (
            Gauge::bytes(
                "hprof.cgroup.shared",
                "Of these, files in tmpfs and shared memory.",
            ),
            of_group(|group| group.shared),
        ),
        (
            Gauge::bytes("hprof.cgroup.kernel", "The kernel's own that counts."),
            of_group(|group| group.kernel),
        ),
        (
            Gauge::bytes("hprof.cgroup.swapped", "What of the cgroup is swapped out."),
            of_group(|group| group.swapped),
        ),
    ]
}

/// Returns the gauges of the looks of a profile that began so many milliseconds after 1970.
pub fn of_looks(begun: u64, looks: &[MemoryLook]) -> Vec<export::Gauge> {
    let [mut parts, mut whole, mut limits, mut used] = [const { Vec::new() }; 4];
    for look in looks {
        let after = u64::try_from(look.after.as_nanos()).unwrap_or(u64::MAX);
        let time = begun.saturating_mul(1_000_000).saturating_add(after);
        let point = |part, value| export::GaugePoint { time, part, value };
        let of_look = look.parts.iter();
        parts.extend(of_look.map(|part| point(Some(key(&part.name)), part.resident)));
        whole.push(point(None, look.resident()));
        limits.extend(look.limit.map(|limit| point(None, limit.limit)));
        used.extend(look.limit.map(|limit| point(None, limit.used)));
    }
    let gauges = [
        (PARTS_RESIDENT, parts),
        (RESIDENT, whole),
        (LIMIT, limits),
        (USED, used),
    ];
    let known = gauges.into_iter().filter(|(_, points)| !points.is_empty());
    known.map(|(gauge, points)| gauge.with(points)).collect()
}

/// Returns the name for programs of a part.
fn key(name: &str) -> String {
    let part = Part::ALL.into_iter().find(|part| part.name() == name);
    // Another version may have written the file.
    match part {
        Some(part) => part.key().to_owned(),
        None => name.to_owned(),
    }
}
