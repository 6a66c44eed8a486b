//! The Firefox Profiler's processed format: one process per metric, with one thread per thread.

use std::io::{self, Write};
use std::time::Duration;

use foldhash::HashMap;
use fxprof_processed_profile::{
    CategoryColor, CategoryHandle, CpuDelta, Frame, FrameFlags, FrameInfo, Profile as Document,
    ReferenceTimestamp, SamplingInterval, StringHandle, ThreadHandle, Timestamp, WeightType,
};

use super::{ANY_THREAD, is_native, method_names, nanos_of_one};
use crate::basis::Basis;
use crate::metric::{Metric, Unit};
use crate::model::{LabelsId, Profile, Sample};
use crate::names::Name;

/// The largest weight that the format's writer accepts: larger ones become several samples.
const HEAVIEST: u64 = i32::MAX as u64;
/// The most samples that may be added that way. Beyond that, all weights of the metric are divided.
const MOST_PIECES: u64 = 10_000;

/// Returns the divisor of a metric's weights: a power of ten, and 1 unless a few samples are so heavy that they would
/// become very many.
#[must_use]
pub fn firefox_divisor(profile: &Profile, metric: Metric) -> u64 {
    let millis = Millis::of(profile, metric);
    let more = |divisor: u64| {
        let samples = profile.samples(metric);
        let pieces = samples.map(|sample| (weight(millis, sample.value) / divisor) / HEAVIEST);
        pieces.fold(0, u64::saturating_add)
    };
    let mut divisor = 1;
    while more(divisor) > MOST_PIECES {
        divisor *= 10;
    }
    divisor
}

/// How values become whole milliseconds.
#[derive(Clone, Copy)]
enum Millis {
    /// Each is so many.
    Times(u64),
    /// So many are one.
    Parts(u64),
}

impl Millis {
    /// Returns how the values of a metric become milliseconds; `None` if they are no sampled times, or not whole ones.
    fn of(profile: &Profile, metric: Metric) -> Option<Millis> {
        const NANOS: u64 = 1_000_000;
        if profile.basis(metric) != Basis::Samples {
            return None;
        }
        let nanos = nanos_of_one(profile, metric)?;
        if nanos.is_multiple_of(NANOS) {
            return Some(Millis::Times(nanos / NANOS));
        }
        let is_whole = |sample: Sample| sample.value.is_multiple_of(NANOS);
        (nanos == 1 && profile.samples(metric).all(is_whole)).then_some(Millis::Parts(NANOS))
    }

    fn weight(self, value: u64) -> u64 {
        match self {
            Millis::Times(factor) => value.saturating_mul(factor),
            Millis::Parts(parts) => value / parts,
        }
    }
}

/// Returns the weight of a value.
fn weight(millis: Option<Millis>, value: u64) -> u64 {
    millis.map_or(value, |millis| millis.weight(value))
}

/// Writes every metric of the profile, divided by its [`firefox_divisor`]; `name` is the title. HPROF files do not
/// contain the time at which a sample was taken. Samples of time follow one another, each as long as the time that it stands for,
/// with that time in milliseconds as their weight (`tracing-ms`), which the profiler shows as such; others are a millisecond apart.
///
/// # Errors
/// Those of `out`.
pub fn firefox(profile: &Profile, name: &str, mut out: impl Write) -> io::Result<()> {
    let created =
        ReferenceTimestamp::from_duration_since_unix_epoch(Duration::from_millis(profile.created));
    let mut document = Document::new(name, created, SamplingInterval::from_millis(1));
    document.set_symbolicated(true);
    let frames = FrameHandles::new(profile, &mut document);
    for (pid, metric) in (1..).zip(profile.metrics()) {
        add_metric(profile, metric, pid, &frames, &mut document);
    }
    serde_json::to_writer(&mut out, &document)?;
    out.flush()
}

/// The document's handles for each frame.
struct FrameHandles {
    names: Vec<(StringHandle, CategoryHandle)>,
}

impl FrameHandles {
    fn new(profile: &Profile, document: &mut Document) -> FrameHandles {
        let java = document.add_category("Java", CategoryColor::Yellow);
        let native = document.add_category("Native", CategoryColor::Blue);
        let names = method_names(profile);
        let name = |(frame, name): (_, &String)| {
            let category = if is_native(frame) { native } else { java };
            (document.intern_string(name), category)
        };
        FrameHandles {
            names: profile.frames().zip(&names).map(name).collect(),
        }
    }
}

fn add_metric(
    profile: &Profile,
    metric: Metric,
    pid: u32,
    frames: &FrameHandles,
    document: &mut Document,
) {
    let start = Timestamp::from_nanos_since_reference(0);
    let sampled = Millis::of(profile, metric);
    let title = match metric.unit() {
        _ if sampled.is_some() => format!("{metric} (milliseconds)"),
        Unit::Count => metric.name().to_owned(),
        unit => format!("{metric} ({})", unit.name()),
    };
    let divisor = firefox_divisor(profile, metric);
    let title = match divisor {
        1 => title,
        divisor => format!("{title}, divided by {divisor}"),
    };
    let process = document.add_process(&title, pid, start);
    let mut threads: HashMap<Option<Name>, ThreadHandle> = HashMap::default();
    let mut tid = pid * 1_000_000;
    let mut millis = 0_u64;
    for sample in profile.samples(metric).filter(|sample| sample.value > 0) {
        let name = profile.labels(sample.labels).thread;
        let thread = *threads.entry(name).or_insert_with(|| {
            tid += 1;
            let thread = document.add_thread(process, tid, start, threads_first(tid));
            document.set_thread_name(thread, thread_name(profile, sample.labels));
            match (metric.unit(), sampled) {
                (_, Some(_)) => {
                    document.set_thread_samples_weight_type(thread, WeightType::TracingMs)
                }
                (Unit::Bytes, None) => {
                    document.set_thread_samples_weight_type(thread, WeightType::Bytes)
                }
                (Unit::Count | Unit::Nanoseconds, None) => {}
            }
            thread
        });
        let stack = profile.stacks.frames(sample.stack).iter().rev();
        let names = stack.map(|frame| frames.names[frame.0 as usize]);
        let infos = names.map(|(name, category)| FrameInfo {
            frame: Frame::Label(name),
            category_pair: category.into(),
            flags: FrameFlags::empty(),
        });
        let stack = document.intern_stack_frames(thread, infos);
        let mut left = weight(sampled, sample.value).div_ceil(divisor);
        while left > 0 {
            let piece = left.min(HEAVIEST);
            let time = Timestamp::from_millis_since_reference(millis as f64);
            document.add_sample(thread, time, stack, CpuDelta::ZERO, piece as i32);
            left -= piece;
            let length = sampled.map_or(1, |_| piece.saturating_mul(divisor));
            millis = millis.saturating_add(length);
        }
    }
}

/// The first thread of a process is its main thread.
fn threads_first(tid: u32) -> bool {
    tid % 1_000_000 == 1
}

fn thread_name(profile: &Profile, labels: LabelsId) -> &str {
    profile.thread(labels).unwrap_or(ANY_THREAD)
}
