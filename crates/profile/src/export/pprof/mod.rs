//! The format of pprof (`profile.proto`), gzipped, with every metric of the profile as a sample type.
//!
//! CPU samples are what Go's runtime makes of its own: two types, `samples` in `count` and `cpu` in `nanoseconds`, with the
//! period of the latter, so that `go tool pprof` and Pyroscope, which looks types up by these names, show times. The facts about
//! the run and the notes are comments. The first mapping is the program, as `pprof` shows it in its head; each library has one
//! of its own.

mod message;

use std::collections::HashMap;
use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use foldhash::fast::RandomState;
use indexmap::IndexSet;
use prost::Message;

use super::{library, nanos_of_one, source, system_name};
use crate::metric::{Metric, Unit};
use crate::model::{Frame, FrameId, LabelsId, Profile};
use crate::names::Name;
use message::{Function, Label, Line, Location, Mapping, Profile as Part, Sample, ValueType};

/// The number of samples, locations or functions that are encoded at once.
const CHUNK: usize = 4096;
/// Frames of samples that are encoded at once.
const FRAMES: usize = 1 << 20;

/// Writes the whole profile.
///
/// # Errors
/// Those of `out`.
pub fn pprof(profile: &Profile, out: impl Write) -> io::Result<()> {
    let mut encoder = Encoder {
        profile,
        strings: Strings::default(),
        out: GzEncoder::new(out, Compression::fast()),
        buffer: Vec::new(),
    };
    // A protobuf message may come in parts, which are merged.
    encoder.head()?;
    encoder.samples()?;
    encoder.places()?;
    encoder.string_table()?;
    encoder.out.finish()?.flush()
}

/// A sample type.
struct Column {
    metric: Metric,
    name: &'static str,
    unit: Unit,
    /// How much one of the metric's values is.
    factor: u64,
}

/// Returns the sample types of a profile: of CPU samples both their number and their time.
fn columns(profile: &Profile) -> Vec<Column> {
    let metrics = profile.metrics().into_iter();
    let of_metric = metrics.flat_map(|metric| {
        let column = |name, unit, factor| Column {
            metric,
            name,
            unit,
            factor,
        };
        match (metric, nanos_of_one(profile, metric)) {
            (Metric::Cpu, Some(nanos)) => vec![
                column("samples", Unit::Count, 1),
                column(metric.name(), Unit::Nanoseconds, nanos),
            ],
            _ => vec![column(metric.name(), metric.unit(), 1)],
        }
    });
    of_metric.collect()
}

struct Encoder<'a, W: Write> {
    profile: &'a Profile,
    strings: Strings,
    out: GzEncoder<W>,
    buffer: Vec<u8>,
}

impl<W: Write> Encoder<'_, W> {
    fn write(&mut self, part: &Part) -> io::Result<()> {
        self.buffer.clear();
        part.encode(&mut self.buffer)?;
        self.out.write_all(&self.buffer)
    }

    fn value_type(&mut self, name: &str, unit: Unit) -> ValueType {
        ValueType {
            r#type: self.strings.index(name),
            unit: self.strings.index(unit.name()),
        }
    }

    fn head(&mut self) -> io::Result<()> {
        let metrics = self.profile.metrics();
        let columns = columns(self.profile);
        let sample_type = columns.iter();
        let sample_type = sample_type.map(|column| self.value_type(column.name, column.unit));
        let sample_type = sample_type.collect();
        let nanos = self.profile.period().0.saturating_mul(1_000_000);
        let facts = self.profile.facts.iter();
        let facts = facts.map(|(label, value)| format!("{label}: {value}"));
        let comments: Vec<String> = facts.chain(self.profile.notes.iter().cloned()).collect();
        let comments = comments.iter().map(|comment| self.strings.index(comment));
        let comment = comments.collect();
        let period = match self.profile.has(Metric::Cpu) {
            true => nanos_of_one(self.profile, Metric::Cpu),
            false => None,
        };
        let part = Part {
            sample_type,
            time_nanos: signed(nanos),
            duration_nanos: signed(self.profile.period().1.saturating_mul(1_000)),
            period_type: period.map(|_| self.value_type(Metric::Cpu.name(), Unit::Nanoseconds)),
            period: signed(period.unwrap_or(0)),
            comment,
            default_sample_type: metrics
                .first()
                .map_or(0, |metric| self.strings.index(metric.name())),
            ..Part::default()
        };
        self.write(&part)
    }

    fn samples(&mut self) -> io::Result<()> {
        let columns = columns(self.profile);
        let labels: Vec<Vec<Label>> = self
            .profile
            .label_ids()
            .map(|labels| self.labels(labels))
            .collect();
        let mut part = Part::default();
        let mut frames_in_part = 0;
        for table in self.profile.tables() {
            let place = |column: &Column| table.metrics().iter().position(|&m| m == column.metric);
            let places: Vec<Option<usize>> = columns.iter().map(place).collect();
            for (stack, of, values) in table.rows() {
                let of_column = |(place, column): (&Option<usize>, &Column)| {
                    let value = place.map_or(0, |place| values[place]);
                    signed(value.saturating_mul(column.factor))
                };
                let value = places.iter().zip(&columns).map(of_column).collect();
                let frames = self.profile.stacks.frames(stack);
                frames_in_part += frames.len();
                let mut label = labels[of.0 as usize].clone();
                label.extend(frames.first().and_then(|&frame| self.state(frame)));
                part.sample.push(Sample {
                    location_id: frames.iter().map(|frame| u64::from(frame.0) + 1).collect(),
                    value,
                    label,
                });
                if part.sample.len() == CHUNK || frames_in_part >= FRAMES {
                    self.write(&part)?;
                    part.sample.clear();
                    frames_in_part = 0;
                }
            }
        }
        self.write(&part)
    }

    fn labels(&mut self, labels: LabelsId) -> Vec<Label> {
        let labels = self.profile.labels(labels);
        let keyed = [
            ("thread", labels.thread),
            ("class", labels.class),
            ("lock", labels.lock),
            ("host", labels.host),
            ("file", labels.file),
        ];
        let known = keyed
            .into_iter()
            .filter_map(|(key, name)| Some((key, name?)));
        let mut known: Vec<Label> = known
            .map(|(key, name)| Label {
                key: self.strings.index(key),
                str: self.strings.index(self.profile.names.text(name)),
            })
            .collect();
        known.extend(self.profile.holder(labels).map(|holder| Label {
            key: self.strings.index("holder"),
            str: self.strings.index(&holder),
        }));
        known
    }

    /// Returns the label with the state of a thread, such as `parked`, if the innermost frame stands for one.
    fn state(&mut self, innermost: FrameId) -> Option<Label> {
        let frame = self.profile.frame(innermost);
        let name = self.profile.names.text(frame.method);
        self.profile.is_state(frame).then(|| Label {
            key: self.strings.index("state"),
            str: self.strings.index(name.trim_matches(['<', '>'])),
        })
    }

    fn places(&mut self) -> io::Result<()> {
        type Method = (Name, Name, Option<Name>, Option<Name>);
        let mut functions: IndexSet<Method, RandomState> = IndexSet::default();
        let mut mappings: IndexSet<&str, RandomState> = IndexSet::default();
        let program = self
            .profile
            .facts
            .iter()
            .find(|(label, _)| label == "Program");
        let program = program.and_then(|(_, program)| program.split(' ').next());
        mappings.insert(program.unwrap_or("java"));
        let mut part = Part::default();
        for (id, frame) in self.profile.frame_ids().zip(self.profile.frames()) {
            let method = (frame.class, frame.method, frame.signature, frame.source);
            let (function, new) = functions.insert_full(method);
            let function = function as u64 + 1;
            if new {
                part.function.push(self.function(function, id, frame));
            }
            let mapping = library(self.profile, frame).map(|name| mappings.insert_full(name).0);
            part.location.push(Location {
                id: u64::from(id.0) + 1,
                mapping_id: mapping.unwrap_or(0) as u64 + 1,
                line: vec![Line {
                    function_id: function,
                    line: frame.line.map_or(0, i64::from),
                }],
            });
            if part.location.len() == CHUNK {
                self.write(&part)?;
                part = Part::default();
            }
        }
        for (id, name) in (1..).zip(mappings) {
            part.mapping.push(Mapping {
                id,
                filename: self.strings.index(name),
                has_functions: true,
                has_filenames: true,
                has_line_numbers: true,
            });
        }
        self.write(&part)
    }

    fn function(&mut self, id: u64, location: FrameId, frame: &Frame) -> Function {
        let name = self.profile.method(location);
        Function {
            id,
            system_name: self.strings.index(&system_name(self.profile, location)),
            name: self.strings.index(&name),
            filename: self.strings.index(source(self.profile, frame)),
        }
    }

    fn string_table(&mut self) -> io::Result<()> {
        let mut string_table = vec![String::new(); self.strings.0.len()];
        for (text, &place) in &self.strings.0 {
            string_table[place].clone_from(text);
        }
        // The table begins with the empty string.
        string_table.insert(0, String::new());
        let part = Part {
            string_table,
            ..Part::default()
        };
        self.write(&part)
    }
}

/// Texts and their positions in the string table, from the one after the empty text.
#[derive(Default)]
struct Strings(HashMap<String, usize, RandomState>);

impl Strings {
    fn index(&mut self, text: &str) -> i64 {
        if text.is_empty() {
            return 0;
        }
        let place = match self.0.get(text) {
            Some(&place) => place,
            None => {
                let place = self.0.len();
                self.0.insert(text.to_owned(), place);
                place
            }
        };
        signed(place as u64 + 1)
    }
}

/// Converts to the signed numbers of the format.
fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
