//! The format of pprof (`profile.proto`), gzipped, with every metric of the profile as a sample type.

mod message;

use std::collections::HashMap;
use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use foldhash::fast::RandomState;
use indexmap::IndexSet;
use prost::Message;

use super::source;
use crate::metric::Metric;
use crate::model::{Frame, FrameId, LabelsId, Profile};
use crate::names::Name;
use message::{Function, Label, Line, Location, Profile as Part, Sample, ValueType};

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

    fn head(&mut self) -> io::Result<()> {
        let metrics = self.profile.metrics();
        let sample_type = metrics.iter().map(|metric| ValueType {
            r#type: self.strings.index(metric.name()),
            unit: self.strings.index(metric.unit().name()),
        });
        let sample_type = sample_type.collect();
        let nanos = self.profile.created.saturating_mul(1_000_000);
        let comment = self.profile.notes.iter();
        let part = Part {
            sample_type,
            time_nanos: signed(nanos),
            comment: comment.map(|note| self.strings.index(note)).collect(),
            default_sample_type: metrics
                .first()
                .map_or(0, |metric| self.strings.index(metric.name())),
            ..Part::default()
        };
        self.write(&part)
    }

    fn samples(&mut self) -> io::Result<()> {
        let metrics = self.profile.metrics();
        let labels: Vec<Vec<Label>> = self
            .profile
            .label_ids()
            .map(|labels| self.labels(labels))
            .collect();
        let mut part = Part::default();
        let mut frames_in_part = 0;
        for table in self.profile.tables() {
            let place = |metric| metrics.iter().position(|m: &Metric| m == metric);
            let places: Vec<Option<usize>> = table.metrics().iter().map(place).collect();
            for (stack, of, values) in table.rows() {
                let mut value = vec![0; metrics.len()];
                for (&place, &number) in places.iter().zip(values) {
                    if let Some(place) = place {
                        value[place] = signed(number);
                    }
                }
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
        let mut part = Part::default();
        for (id, frame) in self.profile.frame_ids().zip(self.profile.frames()) {
            let method = (frame.class, frame.method, frame.signature, frame.source);
            let (function, new) = functions.insert_full(method);
            let function = function as u64 + 1;
            if new {
                part.function.push(self.function(function, id, frame));
            }
            part.location.push(Location {
                id: u64::from(id.0) + 1,
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
        self.write(&part)
    }

    fn function(&mut self, id: u64, location: FrameId, frame: &Frame) -> Function {
        let name = self.profile.method(location);
        let signature = frame.signature.map_or("", |s| self.profile.names.text(s));
        Function {
            id,
            system_name: self.strings.index(&format!("{name}{signature}")),
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
