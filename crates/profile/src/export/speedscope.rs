//! Speedscope's own format (https://www.speedscope.app/file-format-schema.json), with one profile per metric. Times are
//! nanoseconds, and CPU samples the time that they stand for: speedscope shows both as milliseconds and seconds.

use std::io::{self, Write};

use serde::Serialize;
use serde::ser::{SerializeSeq, Serializer};

use super::{method_names, nanos_of_one, source};
use crate::metric::{Metric, Unit};
use crate::model::{Profile, Sample};

const SCHEMA: &str = "https://www.speedscope.app/file-format-schema.json";

#[derive(Serialize)]
struct SpeedscopeDocument<'a> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    exporter: &'static str,
    name: &'a str,
    shared: SharedFrames<'a>,
    profiles: Vec<Sampled<'a>>,
}

#[derive(Serialize)]
struct SharedFrames<'a> {
    frames: Vec<SharedFrame<'a>>,
}

#[derive(Serialize)]
struct SharedFrame<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    file: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Sampled<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    name: &'static str,
    unit: &'static str,
    start_value: u64,
    end_value: u64,
    samples: Samples<'a>,
    weights: Weights<'a>,
}

/// Serializes the frames of each sample, outermost first.
struct Samples<'a>(&'a Profile, Metric);

struct Weights<'a>(&'a Profile, Metric);

/// Writes every metric of the profile; `name` is the title.
///
/// # Errors
/// Those of `out`.
pub fn speedscope(profile: &Profile, name: &str, mut out: impl Write) -> io::Result<()> {
    let names = method_names(profile);
    let frames: Vec<SharedFrame<'_>> = profile
        .frames()
        .zip(&names)
        .map(|(frame, name)| SharedFrame {
            name,
            file: source(profile, frame),
            line: frame.line,
        })
        .collect();
    let sampled = |metric: Metric| Sampled {
        kind: "sampled",
        name: metric.name(),
        unit: unit(profile, metric),
        start_value: 0,
        end_value: profile
            .total(metric)
            .saturating_mul(weight(profile, metric)),
        samples: Samples(profile, metric),
        weights: Weights(profile, metric),
    };
    let document = SpeedscopeDocument {
        schema: SCHEMA,
        exporter: concat!("hprof ", env!("CARGO_PKG_VERSION")),
        name,
        shared: SharedFrames { frames },
        profiles: profile.metrics().into_iter().map(sampled).collect(),
    };
    serde_json::to_writer(&mut out, &document)?;
    out.flush()
}

/// Returns the weight of one of the metric's values.
fn weight(profile: &Profile, metric: Metric) -> u64 {
    nanos_of_one(profile, metric).unwrap_or(1)
}

fn unit(profile: &Profile, metric: Metric) -> &'static str {
    if nanos_of_one(profile, metric).is_some() {
        return "nanoseconds";
    }
    match metric.unit() {
        Unit::Count => "none",
        Unit::Bytes => "bytes",
        Unit::Nanoseconds => "nanoseconds",
    }
}

fn counted(profile: &Profile, metric: Metric) -> impl Iterator<Item = Sample> {
    profile.samples(metric).filter(|sample| sample.value > 0)
}

impl Serialize for Samples<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Samples(profile, metric) = *self;
        let mut rows = serializer.serialize_seq(None)?;
        for sample in counted(profile, metric) {
            let frames = profile.stacks.frames(sample.stack).iter().rev();
            let frames: Vec<u32> = frames.map(|frame| frame.0).collect();
            rows.serialize_element(&frames)?;
        }
        rows.end()
    }
}

impl Serialize for Weights<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Weights(profile, metric) = *self;
        let weight = weight(profile, metric);
        let weights = counted(profile, metric).map(|sample| sample.value.saturating_mul(weight));
        serializer.collect_seq(weights)
    }
}
