//! A request under construction.

use foldhash::fast::RandomState;
use indexmap::{IndexMap, IndexSet};
use opentelemetry_proto::tonic::collector::profiles::v1development::ExportProfilesServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, any_value};
use opentelemetry_proto::tonic::profiles::v1development as proto;
use opentelemetry_proto::tonic::resource::v1::Resource;
use prost::{Message, length_delimiter_len};
use sha2::{Digest, Sha256};

use super::dictionary::Runner;
use super::{Dictionary, ExportRequest, Observed, scope};
use crate::export::nanos_of_one;
use crate::metric::{Metric, Unit};
use crate::model::Profile;

/// An upper bound for the headers of the messages around profiles and dictionary, in bytes.
const HEADS: usize = 64;
/// The size of a profile's id, in bytes.
const ID: usize = 16;

/// The indexes in the whole dictionary of the items that one request uses, in the request's order.
type Taken = IndexSet<u32, RandomState>;
/// A stack and attributes, by their indexes in the whole dictionary.
type Identity<'a> = (u32, &'a [u32]);

/// A request that takes samples until it is full.
pub struct Draft<'a> {
    profile: &'a Profile,
    whole: &'a Dictionary<'a>,
    resource: &'a Resource,
    limit: usize,
    /// An upper bound for the size of the encoded message.
    size: usize,
    /// The size it would have with the sample that did not fit.
    wanted: usize,
    strings: Taken,
    functions: Taken,
    locations: Taken,
    stacks: Taken,
    attributes: Taken,
    dictionary: proto::ProfilesDictionary,
    parts: Vec<MetricPart<'a>>,
}

/// The samples of one metric.
struct MetricPart<'a> {
    metric: Metric,
    profile: proto::Profile,
    samples: IndexMap<Identity<'a>, proto::Sample, RandomState>,
}

/// The state before a sample was added.
struct Mark {
    size: usize,
    tables: [usize; 5],
    parts: usize,
}

impl<'a> Draft<'a> {
    pub fn new(
        profile: &'a Profile,
        whole: &'a Dictionary<'a>,
        resource: &'a Resource,
        limit: usize,
    ) -> Draft<'a> {
        let mut draft = Draft {
            profile,
            whole,
            resource,
            limit,
            size: 0,
            wanted: 0,
            strings: Taken::default(),
            functions: Taken::default(),
            locations: Taken::default(),
            stacks: Taken::default(),
            attributes: Taken::default(),
            dictionary: proto::ProfilesDictionary::default(),
            parts: Vec::new(),
        };
        // The first of each table means none.
        draft
            .dictionary
            .mapping_table
            .push(proto::Mapping::default());
        draft.dictionary.link_table.push(proto::Link::default());
        draft.string(0);
        draft.function(0);
        draft.location(0);
        draft.stack(0);
        draft.attribute(0);
        draft.size += draft.skeleton().encoded_len() + HEADS;
        draft
    }

    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Returns the size that the request would have had with the refused sample, in bytes.
    pub fn wanted(&self) -> usize {
        self.wanted
    }

    /// Adds what was observed of a stack; if it does not fit, changes nothing and returns `false`. It must be ordered by metric.
    pub(super) fn add(&mut self, observed: &Observed) -> bool {
        let mark = self.mark();
        self.open(observed.metric);
        let (stack, attributes) = (
            self.whole.stack(observed.stack),
            self.whole.attributes(observed.labels),
        );
        let stack_index = self.stack(stack);
        let attribute_indices = attributes.iter().map(|&a| self.attribute(a)).collect();
        // `open` has created it.
        let Some(part) = self.parts.last_mut() else {
            return false;
        };
        let entry = part.samples.entry((stack, attributes));
        let is_new = matches!(entry, indexmap::map::Entry::Vacant(_));
        let found = entry.or_insert_with(|| proto::Sample {
            stack_index,
            attribute_indices,
            ..proto::Sample::default()
        });
        let before = if is_new { 0 } else { field(found) };
        let nanos = nanos_of_one(self.profile, observed.metric).unwrap_or(1);
        let values = observed
            .values
            .iter()
            .map(|value| value.saturating_mul(nanos));
        let (count, first) = (found.values.len(), found.values.first().copied());
        // Values with times stay apart, others are added up.
        match (found.values.first_mut(), observed.times.is_empty()) {
            (Some(sum), true) => *sum = values.fold(*sum, i64::saturating_add_unsigned),
            _ => found
                .values
                .extend(values.map(|value| 0_i64.saturating_add_unsigned(value))),
        }
        found.timestamps_unix_nano.extend(&observed.times);
        self.size = self.size - before + field(found);
        if self.size <= self.limit {
            return true;
        }
        match is_new {
            true => drop(part.samples.pop()),
            false => {
                found.values.truncate(count);
                found.timestamps_unix_nano.truncate(count);
                if let (Some(sum), Some(first)) = (found.values.first_mut(), first) {
                    *sum = first;
                }
            }
        }
        self.wanted = self.size;
        self.back_to(&mark);
        false
    }

    /// Returns the encoded request.
    pub fn finish(mut self) -> ExportRequest {
        let samples = self.parts.iter().map(|part| part.samples.len() as u64);
        let samples = samples.sum();
        let mut message = self.skeleton();
        let profiles = self.parts.into_iter().map(|part| proto::Profile {
            samples: part.samples.into_values().collect(),
            ..part.profile
        });
        message.resource_profiles[0].scope_profiles[0].profiles = profiles.collect();
        message.dictionary = Some(std::mem::take(&mut self.dictionary));
        name_profiles(&mut message);
        let bytes = message.encode_to_vec();
        debug_assert!(bytes.len() <= self.size);
        ExportRequest { bytes, samples }
    }

    /// Returns the request without profiles and dictionary.
    fn skeleton(&self) -> ExportProfilesServiceRequest {
        ExportProfilesServiceRequest {
            resource_profiles: vec![proto::ResourceProfiles {
                resource: Some(self.resource.clone()),
                scope_profiles: vec![proto::ScopeProfiles {
                    scope: Some(scope()),
                    ..proto::ScopeProfiles::default()
                }],
                ..proto::ResourceProfiles::default()
            }],
            dictionary: None,
        }
    }

    /// Begins the profile of a metric, unless it is the last one.
    fn open(&mut self, metric: Metric) {
        if self.parts.last().is_some_and(|part| part.metric == metric) {
            return;
        }
        let string = |text| self.whole.known_string(text);
        let nanos = nanos_of_one(self.profile, metric);
        let unit = nanos.map_or(metric.unit(), |_| Unit::Nanoseconds);
        let (name, unit) = (string(metric.name()), string(unit.name()));
        let sample_type = proto::ValueType {
            type_strindex: self.string(name),
            unit_strindex: self.string(unit),
        };
        // CPU samples are times, with the time of one as the period.
        let period = nanos.filter(|_| metric == Metric::Cpu);
        let period = period.and_then(|nanos| i64::try_from(nanos).ok());
        let notes = self.whole.notes;
        let profile = proto::Profile {
            sample_type: Some(sample_type),
            period_type: period.map(|_| sample_type),
            period: period.unwrap_or(0),
            time_unix_nano: self.profile.period().0.saturating_mul(1_000_000),
            duration_nano: self.profile.period().1.saturating_mul(1_000),
            profile_id: vec![0; ID],
            attribute_indices: (notes != 0)
                .then(|| self.attribute(notes))
                .into_iter()
                .collect(),
            ..proto::Profile::default()
        };
        // The samples make the header longer, because it contains the length.
        self.size += field(&profile) + length_delimiter_len(usize::MAX);
        self.parts.push(MetricPart {
            metric,
            profile,
            samples: IndexMap::default(),
        });
    }

    fn mark(&self) -> Mark {
        let tables = [
            &self.strings,
            &self.functions,
            &self.locations,
            &self.stacks,
            &self.attributes,
        ];
        Mark {
            size: self.size,
            tables: tables.map(IndexSet::len),
            parts: self.parts.len(),
        }
    }

    fn back_to(&mut self, mark: &Mark) {
        let [strings, functions, locations, stacks, attributes] = mark.tables;
        self.size = mark.size;
        self.parts.truncate(mark.parts);
        self.strings.truncate(strings);
        self.functions.truncate(functions);
        self.locations.truncate(locations);
        self.stacks.truncate(stacks);
        self.attributes.truncate(attributes);
        self.dictionary.string_table.truncate(strings);
        self.dictionary.function_table.truncate(functions);
        self.dictionary.location_table.truncate(locations);
        self.dictionary.stack_table.truncate(stacks);
        self.dictionary.attribute_table.truncate(attributes);
    }

    fn string(&mut self, number: u32) -> i32 {
        let (index, is_new) = self.strings.insert_full(number);
        if is_new {
            let text = self.whole.strings[number as usize].to_string();
            self.size += delimited(text.len());
            self.dictionary.string_table.push(text);
        }
        index_of(index)
    }

    fn function(&mut self, number: u32) -> i32 {
        let (index, is_new) = self.functions.insert_full(number);
        if is_new {
            let function = &self.whole.functions[number as usize];
            let message = proto::Function {
                name_strindex: self.string(function.name),
                system_name_strindex: self.string(function.system_name),
                filename_strindex: self.string(function.file),
                start_line: 0,
            };
            self.size += field(&message);
            self.dictionary.function_table.push(message);
        }
        index_of(index)
    }

    fn location(&mut self, number: u32) -> i32 {
        let (index, is_new) = self.locations.insert_full(number);
        if is_new {
            let location = &self.whole.locations[number as usize];
            let runner = match location.runner {
                Runner::None => None,
                Runner::Java => Some(self.whole.java),
                Runner::Native => Some(self.whole.native),
            };
            let line = (location.function != 0).then(|| proto::Line {
                function_index: self.function(location.function),
                line: location.line.into(),
                column: 0,
            });
            let message = proto::Location {
                lines: line.into_iter().collect(),
                attribute_indices: runner
                    .map(|runner| self.attribute(runner))
                    .into_iter()
                    .collect(),
                ..proto::Location::default()
            };
            self.size += field(&message);
            self.dictionary.location_table.push(message);
        }
        index_of(index)
    }

    fn stack(&mut self, number: u32) -> i32 {
        let (index, is_new) = self.stacks.insert_full(number);
        if is_new {
            let locations = self.whole.stacks[number as usize].iter();
            let message = proto::Stack {
                location_indices: locations.map(|&l| self.location(l)).collect(),
            };
            self.size += field(&message);
            self.dictionary.stack_table.push(message);
        }
        index_of(index)
    }

    fn attribute(&mut self, number: u32) -> i32 {
        let (index, is_new) = self.attributes.insert_full(number);
        if is_new {
            let attribute = &self.whole.attributes[number as usize];
            let value = || AnyValue {
                value: Some(any_value::Value::StringValue(attribute.value.to_string())),
            };
            let message = proto::KeyValueAndUnit {
                key_strindex: self.string(attribute.key),
                value: (number != 0).then(value),
                unit_strindex: 0,
            };
            self.size += field(&message);
            self.dictionary.attribute_table.push(message);
        }
        index_of(index)
    }
}

/// Returns the number that the messages have for a position.
///
/// # Panics
/// From the 2^31st item on, for which the messages have no number; such a request would not fit into memory.
fn index_of(position: usize) -> i32 {
    i32::try_from(position).expect("fewer than 2^31 items of a kind in a request")
}

/// Gives each profile an id that depends on the request's whole content, so that a duplicate request can be detected.
fn name_profiles(message: &mut ExportProfilesServiceRequest) {
    let content = Sha256::digest(message.encode_to_vec());
    let profiles = &mut message.resource_profiles[0].scope_profiles[0].profiles;
    for (number, profile) in (0_u32..).zip(profiles) {
        let mut digest = Sha256::new_with_prefix(content);
        digest.update(number.to_be_bytes());
        profile.profile_id = digest.finalize()[..ID].to_vec();
    }
}

/// Returns the size of a message as a field of another.
fn field(message: &impl Message) -> usize {
    delimited(message.encoded_len())
}

fn delimited(length: usize) -> usize {
    1 + length_delimiter_len(length) + length
}
