//! The objects whose content is removed.

use std::sync::Arc;

use foldhash::{HashMap, HashSet};

use crate::names::{NameTable, ResolvedName, shared_source_name};
use crate::pattern::matches_pattern;
use crate::record::{
    ClassSerial, FrameId, LoadClassRecord, ObjectId, Record, StringId, TraceSerial,
};

/// The objects whose content stays, or is the only one that is removed.
///
/// A pattern is a class as in Java source (`com.acme.Vault`, `byte[]`), or the class and the method of a frame
/// (`com.acme.Vault.open`), which means all that was allocated below it. `*` stands for any number of characters.
#[derive(Clone, Debug, Default)]
pub struct RedactSelection {
    /// Content that stays.
    pub keep: Vec<String>,
    /// If there are any, all other content stays.
    pub only: Vec<String>,
    /// `true` if the names of the program's classes, methods, fields and threads go, too.
    pub names: bool,
}

/// The longest name, in bytes, that the JVM's own limits allow for a class and a method with a dot between them. Longer
/// ones match no pattern: a small file can name a long string very often.
const LONGEST_NAME: usize = 2 * 65_535 + 1;

/// The classes and traces that a selection names, as far as the file has defined them.
#[derive(Debug)]
pub(super) struct Chosen {
    selection: RedactSelection,
    names: NameTable<Arc<str>>,
    classes: HashMap<ObjectId, ResolvedName<Arc<str>>>,
    keep: Named,
    only: Named,
}

#[derive(Debug, Default)]
struct Named {
    classes: HashSet<ObjectId>,
    frames: HashSet<FrameId>,
    traces: HashSet<TraceSerial>,
}

impl Chosen {
    pub(super) fn new(selection: RedactSelection) -> Chosen {
        Chosen {
            selection,
            names: NameTable::default(),
            classes: HashMap::default(),
            keep: Named::default(),
            only: Named::default(),
        }
    }

    /// Learns from a record outside of heap dumps.
    pub(super) fn record(&mut self, record: &Record<'_>) {
        match record {
            Record::String(string) if string.id.is_name() => {
                let text = String::from_utf8_lossy(&string.text);
                self.names.define_string(string.id, text.into());
            }
            Record::LoadClass(class) => self.load_class(class),
            Record::Frame(frame) if !self.is_empty() => {
                let class = self.names.class(frame.class).as_str();
                let method = self.names.string(frame.method).as_str();
                if class.len() + method.len() >= LONGEST_NAME {
                    return;
                }
                let name = format!("{class}.{method}");
                for (patterns, named) in self.sides() {
                    if is_any(patterns, &name) {
                        named.frames.insert(frame.id);
                    }
                }
            }
            Record::Trace(trace) => {
                for (_, named) in self.sides() {
                    if trace
                        .frames
                        .iter()
                        .any(|frame| named.frames.contains(frame))
                    {
                        named.traces.insert(trace.serial);
                    }
                }
            }
            _ => {}
        }
    }

    fn load_class(&mut self, class: &LoadClassRecord) {
        self.names
            .define_class(class.serial, class.name, shared_source_name);
        let name = self.names.class(class.serial).cloned();
        for (patterns, named) in self.sides() {
            if is_any(patterns, name.as_str()) {
                named.classes.insert(class.class_object);
            }
        }
        self.classes.insert(class.class_object, name);
    }

    /// Defines a string by its text.
    pub(super) fn define_string(&mut self, id: StringId, text: &str) {
        self.names.define_string(id, text.into());
    }

    /// Defines a class by its name as in Java source, which no selection names.
    pub(super) fn define_class(&mut self, class: ObjectId, name: &str) {
        self.classes.insert(class, ResolvedName::Text(name.into()));
    }

    /// Returns `true` if the names of the program go, too.
    pub(super) fn removes_names(&self) -> bool {
        self.selection.names
    }

    fn is_empty(&self) -> bool {
        self.selection.keep.is_empty() && self.selection.only.is_empty()
    }

    fn sides(&mut self) -> [(&[String], &mut Named); 2] {
        [
            (&self.selection.keep, &mut self.keep),
            (&self.selection.only, &mut self.only),
        ]
    }

    /// Returns `true` if the content of an object of that class, which was allocated at that trace, is removed.
    pub(super) fn removes(&self, class: ObjectId, trace: TraceSerial) -> bool {
        if self.is_empty() {
            return true;
        }
        let is_of = |named: &Named| named.classes.contains(&class) || named.traces.contains(&trace);
        (self.selection.only.is_empty() || is_of(&self.only)) && !is_of(&self.keep)
    }

    /// As [`Chosen::removes`], for an array whose class has this name.
    pub(super) fn removes_array(&self, class: &str, trace: TraceSerial) -> bool {
        if self.is_empty() {
            return true;
        }
        let is_of = |patterns: &[String], named: &Named| {
            is_any(patterns, class) || named.traces.contains(&trace)
        };
        (self.selection.only.is_empty() || is_of(&self.selection.only, &self.only))
            && !is_of(&self.selection.keep, &self.keep)
    }

    /// Returns the name of a class as in Java source; `None` if no LOAD CLASS gave it.
    pub(super) fn class_name(&self, class: ObjectId) -> Option<&str> {
        self.classes.get(&class).map(|name| name.as_str())
    }

    /// Returns the name of a class as in Java source.
    pub(super) fn name_of(&self, class: ClassSerial) -> &str {
        self.names.class(class).as_str()
    }

    /// Returns the text of a string.
    pub(super) fn text(&self, string: StringId) -> &str {
        self.names.string(string).as_str()
    }
}

/// Returns `true` if one of the patterns matches the name.
fn is_any(patterns: &[String], name: &str) -> bool {
    name.len() <= LONGEST_NAME
        && patterns
            .iter()
            .any(|pattern| matches_pattern(pattern, name))
}
