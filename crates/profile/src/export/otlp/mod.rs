//! OpenTelemetry's profiles (OTLP, `v1development`): one of its profiles for each value, in requests of a bounded size.
//!
//! Each request is self-contained: its dictionary has everything its samples refer to, and nothing else. A value of a
//! sample is in only one request, so the sums over all requests are those of the profile.

mod answer;
mod dictionary;
mod draft;
mod metrics;

use std::io::{self, Write};

use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue, any_value};
use opentelemetry_proto::tonic::resource::v1::Resource;

use crate::metric::Metric;
use crate::model::{LabelsId, Profile, StackId};
pub use answer::{explanation, rejected};
use dictionary::Dictionary;
use draft::Draft;
pub use metrics::{Gauge, GaugePoint, gauges};

/// The origin of a profile, in the terms of OpenTelemetry's semantic conventions: `service.name`, `host.name`.
#[derive(Clone, Debug, Default)]
pub struct Origin(Vec<KeyValue>);

impl Origin {
    /// Sets an attribute; a later value replaces an earlier one.
    pub fn set(&mut self, key: &str, value: &str) {
        self.insert(key, any_value::Value::StringValue(value.to_owned()));
    }

    /// As [`Origin::set`], for a number.
    pub fn set_number(&mut self, key: &str, value: i64) {
        self.insert(key, any_value::Value::IntValue(value));
    }

    fn insert(&mut self, key: &str, value: any_value::Value) {
        self.0.retain(|known| known.key != key);
        self.0.push(KeyValue {
            key: key.to_owned(),
            value: Some(AnyValue { value: Some(value) }),
            ..KeyValue::default()
        });
    }

    /// Returns the origin with the process of a profile, unless it has one.
    #[must_use]
    pub fn of(mut self, profile: &Profile) -> Self {
        let is_known = self.0.iter().any(|known| known.key == PROCESS);
        if let (Some(process), false) = (profile.process, is_known) {
            self.set_number(PROCESS, process.into());
        }
        self
    }
}

/// Returns what has measured.
fn scope() -> InstrumentationScope {
    InstrumentationScope {
        name: "hprof".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        ..InstrumentationScope::default()
    }
}

/// An `ExportProfilesServiceRequest`, encoded.
#[derive(Clone, Debug)]
pub struct ExportRequest {
    /// The message.
    pub bytes: Vec<u8>,
    /// The number of samples, over all its profiles.
    pub samples: u64,
}

/// The limit does not have room for even a single sample.
#[derive(Debug, thiserror::Error)]
#[error("a request with a single sample or moment takes {size} bytes; the limit is {limit}")]
pub struct LimitTooSmall {
    /// The size that would be needed.
    pub size: usize,
    /// The limit.
    pub limit: usize,
}

/// The requests for a profile. Samples whose value is 0 are omitted, and equal ones are merged.
pub struct Requests<'a> {
    profile: &'a Profile,
    dictionary: Dictionary<'a>,
    resource: Resource,
    limit: usize,
    samples: Box<dyn Iterator<Item = Observed> + 'a>,
    /// The sample that did not fit into the previous request.
    next: Option<Observed>,
}

/// What was observed of a stack.
struct Observed {
    metric: Metric,
    stack: StackId,
    labels: LabelsId,
    /// Not 0.
    values: Vec<u64>,
    /// The time of each value in nanoseconds since 1970; empty if they are not known.
    times: Vec<u64>,
}

/// Returns what was observed of a metric, with the times that are known: those of the middles of the steps, within the time of
/// the profile as the format requires it.
fn observed(profile: &Profile, metric: Metric) -> Box<dyn Iterator<Item = Observed> + '_> {
    let Some(timeline) = profile.timeline(metric) else {
        let samples = profile.samples(metric).filter(|sample| sample.value > 0);
        return Box::new(samples.map(move |sample| Observed {
            metric,
            stack: sample.stack,
            labels: sample.labels,
            values: vec![sample.value],
            times: Vec::new(),
        }));
    };
    let (created, length) = profile.period();
    let (first, last) = (
        created.saturating_mul(1_000_000),
        created
            .saturating_mul(1_000_000)
            .saturating_add(length.saturating_mul(1_000)),
    );
    let time = move |step: u32| {
        let millis = timeline.step.saturating_mul(step.into());
        let nanos = timeline
            .begin
            .saturating_add(millis)
            .saturating_mul(1_000_000);
        let middle = nanos.saturating_add(timeline.step.saturating_mul(500_000));
        middle.clamp(first, last)
    };
    let rows = timeline.rows.iter().map(move |row| {
        let points = row.values.iter().filter(|(_, value)| *value > 0);
        let (times, values) = points.map(|&(step, value)| (time(step), value)).unzip();
        Observed {
            metric,
            stack: row.stack,
            labels: row.labels,
            values,
            times,
        }
    });
    Box::new(rows.filter(|observed| !observed.values.is_empty()))
}

impl<'a> Requests<'a> {
    /// Creates requests of at most `limit` bytes each. The process is added unless `origin` has it.
    #[must_use]
    pub fn new(profile: &'a Profile, origin: Origin, limit: usize) -> Requests<'a> {
        let metrics = profile.metrics().into_iter();
        let mut samples = metrics.flat_map(|metric| observed(profile, metric));
        Requests {
            profile,
            dictionary: Dictionary::new(profile),
            resource: Resource {
                attributes: origin.of(profile).0,
                ..Resource::default()
            },
            limit,
            next: samples.next(),
            samples: Box::new(samples),
        }
    }
}

/// Writes the whole profile as one request, as in a file of the OpenTelemetry Collector.
///
/// # Errors
/// Those of `out`.
pub fn otlp(profile: &Profile, origin: Origin, mut out: impl Write) -> io::Result<()> {
    for request in Requests::new(profile, origin, usize::MAX) {
        let request = request.map_err(io::Error::other)?;
        out.write_all(&request.bytes)?;
    }
    out.flush()
}

/// The attribute with the process id.
const PROCESS: &str = "process.pid";

impl Iterator for Requests<'_> {
    type Item = Result<ExportRequest, LimitTooSmall>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut next = self.next.take()?;
        let mut draft = Draft::new(self.profile, &self.dictionary, &self.resource, self.limit);
        while draft.add(&next) {
            match self.samples.next() {
                Some(following) => next = following,
                None => return Some(Ok(draft.finish())),
            }
        }
        if draft.is_empty() {
            return Some(Err(LimitTooSmall {
                size: draft.wanted(),
                limit: self.limit,
            }));
        }
        self.next = Some(next);
        Some(Ok(draft.finish()))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use opentelemetry_proto::tonic::collector::profiles::v1development::ExportProfilesServiceRequest;
    use prost::Message;

    use super::*;
    use crate::model::{Frame, FrameKind, Labels};

    /// Returns 200 stacks of two frames, whose values are 1 to 200; each twice.
    fn profile() -> Profile {
        let mut profile = Profile::default();
        let class = profile.names.intern("Main");
        let labels = profile.intern_labels(Labels::default());
        let mut table = crate::model::Table::new(&[Metric::Cpu]);
        for _ in 0..2 {
            for value in 1..=200 {
                let method = profile.names.intern(&format!("method{value}"));
                let frame = profile.intern_frame(Frame {
                    class,
                    method,
                    signature: None,
                    source: None,
                    line: Some(value),
                    kind: FrameKind::Java,
                });
                let stack = profile.stacks.push([frame, frame]);
                table.push(stack, labels, &[value.into()]);
            }
        }
        profile.tables.push(table);
        profile
    }

    /// Returns the sum of each method's values, over all requests.
    #[expect(clippy::cast_sign_loss, reason = "indexes are not negative")]
    fn sums(requests: &[ExportRequest]) -> BTreeMap<String, i64> {
        let mut sums = BTreeMap::new();
        for request in requests {
            let message = ExportProfilesServiceRequest::decode(&*request.bytes).expect("a request");
            let dictionary = message.dictionary.expect("a dictionary");
            let profiles = &message.resource_profiles[0].scope_profiles[0].profiles;
            for sample in profiles.iter().flat_map(|profile| &profile.samples) {
                let stack = &dictionary.stack_table[sample.stack_index as usize];
                let location = &dictionary.location_table[stack.location_indices[0] as usize];
                let function =
                    &dictionary.function_table[location.lines[0].function_index as usize];
                let name = &dictionary.string_table[function.name_strindex as usize];
                *sums.entry(name.clone()).or_default() += sample.values[0];
            }
        }
        sums
    }

    #[test]
    fn requests_keep_to_their_limit_and_add_up_to_the_profile() {
        let profile = profile();
        let expected: BTreeMap<String, i64> = (1..=200)
            .map(|value| (format!("Main.method{value}"), 2 * value))
            .collect();
        for limit in [usize::MAX, 4096, 600] {
            let requests = Requests::new(&profile, Origin::default(), limit);
            let requests: Vec<ExportRequest> = requests.map(|r| r.expect("it fits")).collect();
            assert_eq!(requests.len() > 1, limit < usize::MAX);
            assert!(requests.iter().all(|request| request.bytes.len() <= limit));
            assert_eq!(sums(&requests), expected, "{limit}");
        }
    }
}
