//! The JSON of `hprof memory`.

use hprof_footprint::{
    Account, BufferSite, Cgroup, Fate, Finding, Forecast, Growth, JavaHeap, LoaderKind,
    TrackedKind, Trend, VmFacts,
};
use serde::Serialize;

use crate::accounts;

#[derive(Serialize)]
pub struct Document {
    format: &'static str,
    version: u32,
    pid: u32,
    time_ms: u64,
    resident: u64,
    system_resident: Option<u64>,
    swapped: Option<u64>,
    malloc_free: Option<u64>,
    threads: u64,
    findings: Vec<Found>,
    forecasts: Vec<Forecasted>,
    parts: Vec<PartRow>,
    heap: Option<Heap>,
    direct: Option<Direct>,
    buffer_sites: Vec<Site>,
    classes: Option<u64>,
    loaders: Option<u64>,
    loader_kinds: Vec<Kind>,
    tracked: Vec<Tracked>,
    cgroup: Option<Group>,
    before: Option<Vec<PartRow>>,
}

#[derive(Serialize)]
struct Found {
    rule: &'static str,
    text: String,
    per_minute: Option<u64>,
}

#[derive(Serialize)]
struct Forecasted {
    end: &'static str,
    text: Option<String>,
    per_minute: Option<Interval>,
    seconds: Option<Interval>,
}

/// An interval of confidence.
#[derive(Serialize)]
struct Interval {
    least: f64,
    most: f64,
}

#[derive(Serialize)]
struct PartRow {
    part: &'static str,
    resident: u64,
    committed: u64,
}

#[derive(Serialize)]
struct Heap {
    used: u64,
    committed: u64,
    limit: u64,
    after_collection: Option<u64>,
}

#[derive(Serialize)]
struct Direct {
    bytes: u64,
    buffers: Option<u64>,
    limit: Option<u64>,
}

/// The direct buffers of one maker.
#[derive(Serialize)]
struct Site {
    maker: String,
    bytes: u64,
    buffers: u64,
    seen: u64,
}

/// The class loaders of one class.
#[derive(Serialize)]
struct Kind {
    name: String,
    loaders: u64,
    classes: u64,
}

/// What the VM has for one purpose.
#[derive(Serialize)]
struct Tracked {
    name: String,
    malloc: u64,
    mapped: u64,
}

#[derive(Serialize)]
struct Group {
    limit: Option<u64>,
    used: Option<u64>,
    anonymous: Option<u64>,
    file: Option<u64>,
    shared: Option<u64>,
    kernel: Option<u64>,
    sockets: Option<u64>,
    swapped: Option<u64>,
}

impl Document {
    pub fn new(
        pid: u32,
        first: Option<&Account>,
        last: &Account,
        findings: &[Finding],
        forecasts: &[Forecast],
    ) -> Self {
        let VmFacts {
            heap,
            direct,
            direct_buffers,
            direct_limit,
            classes,
            loaders,
        } = last.vm;
        Self {
            format: "hprof-memory",
            version: 1,
            pid,
            time_ms: last.time,
            resident: last.resident(),
            system_resident: last.system_resident,
            swapped: last.swapped,
            malloc_free: last.malloc_free,
            threads: last.threads,
            findings: findings.iter().map(Found::of).collect(),
            forecasts: forecasts.iter().map(Forecasted::of).collect(),
            parts: rows(last),
            heap: heap.map(Heap::of),
            direct: direct.map(|bytes| Direct {
                bytes,
                buffers: direct_buffers,
                limit: direct_limit,
            }),
            buffer_sites: last.buffer_sites.iter().map(Site::of).collect(),
            classes,
            loaders,
            loader_kinds: last.loader_kinds.iter().map(Kind::of).collect(),
            tracked: last.tracked.iter().map(Tracked::of).collect(),
            cgroup: last.cgroup.map(Group::of),
            before: first.map(rows),
        }
    }
}

fn rows(account: &Account) -> Vec<PartRow> {
    let rows = account.parts.iter().map(|(part, amounts)| PartRow {
        part: part.key(),
        resident: amounts.resident,
        committed: amounts.committed,
    });
    rows.collect()
}

impl Found {
    fn of(finding: &Finding) -> Self {
        let per_minute = |growth: &Option<Growth>| growth.map(|growth| growth.per_minute);
        let (rule, per_minute) = match finding {
            Finding::HeapTooSmall { .. } => ("heap_too_small", None),
            Finding::HeapLeavesTooLittle { .. } => ("heap_leaves_too_little", None),
            Finding::DirectMemory { growth, .. } => ("direct_memory", per_minute(growth)),
            Finding::ClassesPileUp { growth, .. } => ("classes_pile_up", per_minute(growth)),
            Finding::ThreadsPileUp { .. } => ("threads_pile_up", None),
            Finding::Malloc { growth, .. } => ("malloc", per_minute(growth)),
            Finding::FilesInMemory { .. } => ("files_in_memory", None),
            Finding::PartGrows { growth, .. } => ("part_grows", Some(growth.per_minute)),
            Finding::NothingGrows { .. } => ("nothing_grows", None),
        };
        Self {
            rule,
            text: accounts::sentence(finding),
            per_minute,
        }
    }
}

impl Forecasted {
    fn of(forecast: &Forecast) -> Self {
        let Forecast { fate, trend, left } = forecast;
        let per_minute = match trend {
            Trend::Grows { rate, .. } => Some(Interval {
                least: rate.start() * 60e3,
                most: rate.end() * 60e3,
            }),
            Trend::Unknown { .. } => None,
        };
        let millis = left.and_then(|left| trend.millis_until(left as f64));
        Self {
            end: match fate {
                Fate::HeapIsFull => "heap_is_full",
                Fate::DirectIsFull => "direct_is_full",
                Fate::IsKilled => "limit_is_reached",
            },
            text: accounts::forecast(forecast),
            per_minute,
            seconds: millis.map(|millis| Interval {
                least: millis.start() / 1e3,
                most: millis.end() / 1e3,
            }),
        }
    }
}

impl Site {
    fn of(site: &BufferSite) -> Self {
        Self {
            maker: site.maker.clone(),
            bytes: site.bytes,
            buffers: site.buffers,
            seen: site.seen,
        }
    }
}

impl Kind {
    fn of(kind: &LoaderKind) -> Self {
        Self {
            name: kind.name.clone(),
            loaders: kind.loaders,
            classes: kind.classes,
        }
    }
}

impl Tracked {
    fn of(kind: &TrackedKind) -> Self {
        Self {
            name: kind.name.clone(),
            malloc: kind.malloc,
            mapped: kind.mapped,
        }
    }
}

impl Heap {
    fn of(heap: JavaHeap) -> Self {
        Self {
            used: heap.used,
            committed: heap.committed,
            limit: heap.limit,
            after_collection: heap.after_collection,
        }
    }
}

impl Group {
    fn of(group: Cgroup) -> Self {
        Self {
            limit: group.limit,
            used: group.used,
            anonymous: group.anonymous,
            file: group.file,
            shared: group.shared,
            kernel: group.kernel,
            sockets: group.sockets,
            swapped: group.swapped,
        }
    }
}
