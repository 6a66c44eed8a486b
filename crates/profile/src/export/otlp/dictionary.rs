//! Everything that samples of a profile refer to, each item once. Its indexes are those of the profile, not of a
//! request.

use std::borrow::Cow;

use foldhash::fast::RandomState;
use indexmap::IndexSet;

use crate::export::{library, nanos_of_one, source, system_name};
use crate::metric::Unit;
use crate::model::{Frame, FrameId, FrameKind, Labels, LabelsId, Profile, StackId};
use crate::number::number;

type Set<T> = IndexSet<T, RandomState>;

/// Texts, methods, locations, stacks and attributes. The first of each means none.
pub struct Dictionary<'a> {
    pub strings: Set<Cow<'a, str>>,
    pub functions: Set<Function>,
    pub locations: Set<Location>,
    pub stacks: Set<Box<[u32]>>,
    pub attributes: Set<Attribute<'a>>,
    /// The attributes of a frame of the Java VM, and of one of a library: the values that OpenTelemetry's conventions
    /// (`profile.frame.type`) have for them.
    pub java: u32,
    pub native: u32,
    /// The attribute with the file's notes; 0 if there are none.
    pub notes: u32,
    stack_of: Vec<u32>,
    attributes_of: Vec<Vec<u32>>,
}

/// A method; the numbers are indexes of texts.
#[derive(Default, PartialEq, Eq, Hash)]
pub struct Function {
    pub name: u32,
    pub system_name: u32,
    pub file: u32,
}

/// A position in a method.
#[derive(Default, PartialEq, Eq, Hash)]
pub struct Location {
    pub function: u32,
    pub line: u32,
    /// What ran it.
    pub runner: Runner,
}

/// What runs the code of a frame.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Runner {
    /// A marker is not a position in code.
    #[default]
    None,
    /// The Java VM, native methods of Java among them.
    Java,
    /// A library.
    Native,
}

/// An attribute of samples or frames.
#[derive(Default, PartialEq, Eq, Hash)]
pub struct Attribute<'a> {
    /// The index of its text.
    pub key: u32,
    pub value: Cow<'a, str>,
}

impl<'a> Dictionary<'a> {
    pub fn new(profile: &'a Profile) -> Dictionary<'a> {
        let mut dictionary = Dictionary {
            strings: Set::from_iter([Cow::Borrowed("")]),
            functions: Set::from_iter([Function::default()]),
            locations: Set::from_iter([Location::default()]),
            stacks: Set::from_iter([Box::default()]),
            attributes: Set::from_iter([Attribute::default()]),
            java: 0,
            native: 0,
            notes: 0,
            stack_of: Vec::new(),
            attributes_of: Vec::new(),
        };
        dictionary.java = dictionary.attribute("profile.frame.type", "jvm");
        dictionary.native = dictionary.attribute("profile.frame.type", "native");
        if !profile.notes.is_empty() {
            dictionary.notes = dictionary.attribute("hprof.notes", profile.notes.join("\n"));
        }
        for metric in profile.metrics() {
            dictionary.string(metric.name());
            dictionary.string(metric.unit().name());
            if nanos_of_one(profile, metric).is_some() {
                dictionary.string(Unit::Nanoseconds.name());
            }
        }
        let frames = profile.frame_ids().zip(profile.frames());
        let location_of: Vec<u32> = frames
            .map(|(id, frame)| dictionary.location(profile, id, frame))
            .collect();
        for stack in profile.stacks.ids() {
            let frames = profile.stacks.frames(stack).iter();
            let locations = frames.map(|frame| location_of[frame.0 as usize]).collect();
            let stack = number(dictionary.stacks.insert_full(locations).0);
            dictionary.stack_of.push(stack);
        }
        for labels in profile.label_sets() {
            let attributes = dictionary.attributes_of(profile, labels);
            dictionary.attributes_of.push(attributes);
        }
        dictionary
    }

    /// Returns the index of a stack; equal stacks have the same.
    pub fn stack(&self, stack: StackId) -> u32 {
        self.stack_of[stack.0 as usize]
    }

    /// Returns the indexes of a sample's attributes.
    pub fn attributes(&self, labels: LabelsId) -> &[u32] {
        &self.attributes_of[labels.0 as usize]
    }

    /// Returns the index of a text that is in the table.
    pub fn known_string(&self, text: &str) -> u32 {
        number(self.strings.get_index_of(text).unwrap_or(0))
    }

    fn string(&mut self, text: impl Into<Cow<'a, str>>) -> u32 {
        number(self.strings.insert_full(text.into()).0)
    }

    fn attribute(&mut self, key: &'static str, value: impl Into<Cow<'a, str>>) -> u32 {
        let (key, value) = (self.string(key), value.into());
        number(self.attributes.insert_full(Attribute { key, value }).0)
    }

    fn location(&mut self, profile: &'a Profile, id: FrameId, frame: &'a Frame) -> u32 {
        let name = profile.method(id);
        let function = Function {
            system_name: self.string(system_name(profile, id)),
            name: self.string(name),
            file: self.string(source(profile, frame)),
        };
        let location = Location {
            function: number(self.functions.insert_full(function).0),
            line: frame.line.unwrap_or(0),
            runner: match (frame.kind, library(profile, frame)) {
                (FrameKind::Marker, _) => Runner::None,
                (_, Some(_)) => Runner::Native,
                (_, None) => Runner::Java,
            },
        };
        number(self.locations.insert_full(location).0)
    }

    fn attributes_of(&mut self, profile: &'a Profile, labels: &Labels) -> Vec<u32> {
        let keyed = [
            ("thread.name", labels.thread),
            ("hprof.class", labels.class),
            ("hprof.lock", labels.lock),
            ("host.name", labels.host),
            ("hprof.file", labels.file),
        ];
        let known = keyed
            .into_iter()
            .filter_map(|(key, name)| Some((key, name?)));
        let mut known: Vec<u32> = known
            .map(|(key, name)| self.attribute(key, profile.names.text(name)))
            .collect();
        known.extend(
            profile
                .holder(labels)
                .map(|holder| self.attribute("hprof.holder", holder)),
        );
        known
    }
}
