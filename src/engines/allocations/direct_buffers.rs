//! The memory of direct buffers by the place that made them: the buffers are objects of the program, and so have their sites.

use std::collections::BTreeMap;
use std::time::Duration;

use hprof_footprint::BufferSite;
use memory::{OrStop, Set};

use super::sites::{SiteId, Weight};
use super::state::TrackerState;
use super::tracker::AllocationTracker;
use jvmti::{BufferClasses, Jni};
use names::frame::{Frame, Line};
use names::trace::TraceId;

/// The class of the buffers that own memory.
const DIRECT: &str = "java.nio.DirectByteBuffer";
/// Frames of these classes make buffers for others.
const MAKERS_OF_OTHERS: &str = "java.nio.";
/// The longest that others may hold the objects.
const TIMEOUT: Duration = Duration::from_millis(100);
/// The most places that are told.
const MOST: usize = 20;

/// What the buffers of a place have; numbers of objects are in units of 1 / [`Weight::ONE`].
#[derive(Default)]
struct Sum {
    bytes: u64,
    instances: u64,
    seen: u64,
}

impl AllocationTracker {
    /// Returns the places whose direct buffers have most memory, the largest first; none if the objects are being looked at.
    pub fn direct_buffers(&self, jni: Jni<'_>) -> Vec<BufferSite> {
        let shared = &*self.shared;
        shared.count_recent(jni);
        let sites = of_buffers(shared);
        if sites.is_empty() {
            return Vec::new();
        }
        let classes = BufferClasses::find(jni);
        let Some(fields) = classes
            .as_ref()
            .and_then(|classes| classes.fields(shared.env))
        else {
            return Vec::new();
        };
        let mut sums: BTreeMap<TraceId, Sum> = BTreeMap::new();
        shared.live.for_each_counted(TIMEOUT, &mut |buffer, kind| {
            if !sites.contains(&kind.site()) {
                return;
            }
            let Some(bytes) = fields.owned(jni, buffer) else {
                return;
            };
            let Weight { instances, .. } = kind.weight(&shared.steps);
            let sum = sums.entry(shared.sites.key(kind.site()).trace).or_default();
            let share = u128::from(bytes) * u128::from(instances) / u128::from(Weight::ONE);
            sum.bytes = sum
                .bytes
                .saturating_add(u64::try_from(share).unwrap_or(u64::MAX));
            sum.instances = sum.instances.saturating_add(instances);
            sum.seen += 1;
        });
        by_maker(shared, sums)
    }
}

/// Returns the sites of direct buffers: few, however many objects there are.
fn of_buffers(shared: &TrackerState) -> Set<SiteId> {
    let tables = &shared.tables;
    let is_of_buffers = |class| tables.strings.get(tables.classes.get(class).name) == DIRECT;
    let sites = shared.sites.entries();
    let sites = sites.filter(|(_, key, _)| is_of_buffers(key.class));
    Set::collect(sites.map(|(id, ..)| id)).or_stop()
}

fn by_maker(shared: &TrackerState, sums: BTreeMap<TraceId, Sum>) -> Vec<BufferSite> {
    let mut makers: BTreeMap<String, Sum> = BTreeMap::new();
    for (trace, of_trace) in sums {
        let sum = makers.entry(maker(shared, trace)).or_default();
        sum.bytes = sum.bytes.saturating_add(of_trace.bytes);
        sum.instances = sum.instances.saturating_add(of_trace.instances);
        sum.seen += of_trace.seen;
    }
    let sites = makers.into_iter().map(|(maker, sum)| BufferSite {
        bytes: sum.bytes,
        buffers: sum.instances / Weight::ONE,
        seen: sum.seen,
        maker,
    });
    let mut sites: Vec<BufferSite> = sites.collect();
    // Those of equal bytes stay in the order of their names.
    memory::sort_by_numbers(&mut sites, |site| [!site.bytes, 0]);
    sites.truncate(MOST);
    sites
}

/// Returns the innermost frame outside `java.nio`; if the trace is not deep enough, the outermost one.
fn maker(shared: &TrackerState, trace: TraceId) -> String {
    let tables = &shared.tables;
    let frames = tables.traces.get(trace).frames;
    let frames = frames.into_iter().map(|frame| *tables.frames.get(frame));
    let class = |frame: &Frame| {
        tables
            .strings
            .get(tables.classes.get(frame.method.class).name)
    };
    let mut last = None;
    for frame in frames {
        last = Some(frame);
        if !class(&frame).starts_with(MAKERS_OF_OTHERS) {
            break;
        }
    }
    let Some(frame) = last else {
        return "an unknown place".to_owned();
    };
    let file = frame
        .method
        .source_file
        .map(|file| tables.strings.get(file));
    let place = match (file, frame.line) {
        (Some(file), Line::Number(line)) => format!(" ({file}:{line})"),
        (Some(file), Line::Unknown) => format!(" ({file})"),
        _ => String::new(),
    };
    let name = tables.strings.get(frame.method.name);
    format!("{}.{name}{place}", class(&frame))
}
