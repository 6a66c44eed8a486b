//! A binary file with heap dumps, as a graph that tests can query.

mod parser;

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use hprof_format::{BasicType, HeapRecord, Item, Reader, Root, Value};

use parser::Parser;

/// The content of a file.
#[derive(Default)]
pub struct File {
    /// The dumps, in order.
    pub dumps: Vec<Dump>,
    /// ALLOC SITES records.
    pub sites: usize,
    /// The sizes of segments.
    pub segments: Vec<usize>,
    /// The kinds of its records, in order, without repetitions.
    pub order: Vec<&'static str>,
    /// Traces: their thread and their frames, `Class.method(File.java:LINE)`, innermost first.
    pub traces: HashMap<u32, (u32, Vec<String>)>,
    /// Names of threads, by number.
    pub threads: HashMap<u32, String>,
    /// The object ids with which threads were announced, by number.
    pub thread_objects: HashMap<u32, u64>,
    /// Notes for people.
    pub notes: Vec<String>,
}

/// One heap dump.
#[derive(Default)]
pub struct Dump {
    /// The classes, by the ids of their class objects.
    pub classes: HashMap<u64, Class>,
    pub objects: HashMap<u64, Thing>,
    pub roots: Vec<(u64, Root)>,
    /// HEAP SUMMARY before it: objects, bytes.
    pub totals: Option<(u64, u64)>,
    /// Objects and arrays, in the order of the dump.
    pub order: Vec<u64>,
}

/// A class.
#[derive(Clone, Debug, PartialEq)]
pub struct Class {
    pub id: u64,
    pub name: String,
    pub trace: u32,
    pub super_class: u64,
    pub loader: u64,
    pub signers: u64,
    pub protection_domain: u64,
    pub instance_size: u32,
    pub constants: Vec<(u16, Value)>,
    pub statics: Vec<(String, Value)>,
    pub fields: Vec<(String, BasicType)>,
}

/// An object or an array.
#[derive(Clone, Debug, PartialEq)]
pub enum Thing {
    Instance {
        class: u64,
        trace: u32,
        fields: Vec<u8>,
    },
    Objects {
        class: u64,
        trace: u32,
        elements: Vec<u64>,
    },
    Primitives {
        element: BasicType,
        trace: u32,
        /// In big-endian order.
        elements: Vec<u8>,
    },
}

impl File {
    /// Reads a file; every record must be valid.
    pub fn read(path: &Path) -> File {
        let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mut reader = Reader::new(&bytes[..]).expect("an HPROF file");
        let mut parser = Parser::default();
        while let Some(entry) = reader.read().expect("a sound record") {
            let offset = entry.offset as usize;
            match entry.item {
                Item::Record(record) => parser.record(&record),
                Item::HeapDump { length, .. } => {
                    parser.segment(&bytes[offset + 9..][..length as usize]);
                }
                Item::HeapDumpEnd => parser.end(),
            }
        }
        assert!(parser.dump.is_none(), "the last dump has no end");
        parser.file
    }

    /// Returns the only dump of the file.
    pub fn dump(&self) -> &Dump {
        assert_eq!(self.dumps.len(), 1);
        &self.dumps[0]
    }

    /// Returns the frames of a trace.
    pub fn frames(&self, trace: u32) -> &[String] {
        let (_, frames) = self
            .traces
            .get(&trace)
            .unwrap_or_else(|| panic!("TRACE {trace}"));
        frames
    }
}

impl Dump {
    /// Processes a record, with the names known so far.
    fn add(
        &mut self,
        record: HeapRecord<'_>,
        strings: &HashMap<u64, String>,
        names: &HashMap<u64, String>,
    ) {
        let (id, thing) = match record {
            HeapRecord::Root { object, root } => {
                self.roots.push((object.0, root));
                return;
            }
            HeapRecord::Class(class) => {
                let name = |id: hprof_format::StringId| strings[&id.0].clone();
                let id = class.class.0;
                let class = Class {
                    id,
                    name: names.get(&id).expect("LOAD CLASS before").clone(),
                    trace: class.trace.0,
                    super_class: class.super_class.0,
                    loader: class.loader.0,
                    signers: class.signers.0,
                    protection_domain: class.protection_domain.0,
                    instance_size: class.instance_size,
                    constants: class.constants.into_owned(),
                    statics: class
                        .statics
                        .iter()
                        .map(|&(id, value)| (name(id), value))
                        .collect(),
                    fields: class
                        .fields
                        .iter()
                        .map(|&(id, kind)| (name(id), kind))
                        .collect(),
                };
                assert!(
                    self.classes.insert(id, class).is_none(),
                    "class {id:x} twice"
                );
                return;
            }
            HeapRecord::Instance {
                object,
                trace,
                class,
                fields,
            } => {
                let thing = Thing::Instance {
                    class: class.0,
                    trace: trace.0,
                    fields: fields.to_vec(),
                };
                (object.0, thing)
            }
            HeapRecord::ObjectArray {
                object,
                trace,
                class,
                elements,
            } => {
                let elements = elements.chunks_exact(8).map(number).collect();
                let thing = Thing::Objects {
                    class: class.0,
                    trace: trace.0,
                    elements,
                };
                (object.0, thing)
            }
            HeapRecord::PrimitiveArray {
                object,
                trace,
                element,
                elements,
            } => {
                let thing = Thing::Primitives {
                    element,
                    trace: trace.0,
                    elements: elements.to_vec(),
                };
                (object.0, thing)
            }
            other => panic!("the agent does not write {other:?}"),
        };
        self.order.push(id);
        assert!(
            self.objects.insert(id, thing).is_none(),
            "object {id:x} twice"
        );
    }

    /// Returns the class of that name; there must be exactly one.
    pub fn class(&self, name: &str) -> &Class {
        let mut found = self.classes.values().filter(|class| class.name == name);
        let class = found.next().unwrap_or_else(|| panic!("no class {name}"));
        assert!(found.next().is_none(), "two classes {name}");
        class
    }

    /// Returns the value of a static field.
    pub fn stat(&self, class: &str, field: &str) -> Value {
        let statics = &self.class(class).statics;
        let found = statics.iter().find(|(name, _)| name == field);
        found
            .unwrap_or_else(|| panic!("no static {class}.{field}"))
            .1
    }

    /// Returns the ids of all instances of exactly that class.
    pub fn instances(&self, name: &str) -> Vec<u64> {
        let wanted = self.class(name).id;
        let is_one =
            |thing: &Thing| matches!(*thing, Thing::Instance { class, .. } if class == wanted);
        let mut ids: Vec<u64> = self
            .objects
            .iter()
            .filter_map(|(&id, thing)| is_one(thing).then_some(id))
            .collect();
        ids.sort_unstable();
        ids
    }

    /// Returns the name of an object's class.
    pub fn class_name(&self, object: u64) -> String {
        if self.classes.contains_key(&object) {
            return "java.lang.Class".to_owned();
        }
        match &self.objects[&object] {
            Thing::Instance { class, .. } | Thing::Objects { class, .. } => {
                self.classes[class].name.clone()
            }
            Thing::Primitives { element, .. } => format!("{element:?}[]").to_lowercase(),
        }
    }

    /// Returns all fields of an instance: the declaring class, the name, the value; those of its class first.
    pub fn fields(&self, object: u64) -> Vec<(&str, &str, Value)> {
        let Some(Thing::Instance { class, fields, .. }) = self.objects.get(&object) else {
            panic!("{object:x} is no instance");
        };
        let mut rest = &fields[..];
        let mut found = Vec::new();
        let mut next = self.classes.get(class);
        while let Some(class) = next {
            for (name, kind) in &class.fields {
                let (bytes, behind) = rest.split_at(kind.size(8));
                rest = behind;
                found.push((&*class.name, &**name, value(*kind, bytes)));
            }
            // The VM writes a class that it is about to load without an id.
            let is_last = class.super_class == 0;
            next = (!is_last).then(|| &self.classes[&class.super_class]);
        }
        assert!(rest.is_empty(), "fields fill the record");
        found
    }

    /// Returns the value of an instance's field, by its declaring class and its name.
    pub fn field(&self, object: u64, class: &str, name: &str) -> Value {
        let fields = self.fields(object);
        let found = fields
            .iter()
            .find(|field| (field.0, field.1) == (class, name));
        found.unwrap_or_else(|| panic!("no field {class}.{name}")).2
    }

    /// As [`Dump::field`], for a reference.
    pub fn reference(&self, object: u64, class: &str, name: &str) -> u64 {
        id(self.field(object, class, name))
    }

    /// Returns the elements of an array of references.
    pub fn elements(&self, array: u64) -> &[u64] {
        match &self.objects[&array] {
            Thing::Objects { elements, .. } => elements,
            other => panic!("{other:?} has no references"),
        }
    }

    /// Returns the elements of an array of primitives.
    pub fn primitives(&self, array: u64) -> Vec<Value> {
        match &self.objects[&array] {
            Thing::Primitives {
                element, elements, ..
            } => elements
                .chunks_exact(element.size(8))
                .map(|bytes| value(*element, bytes))
                .collect(),
            other => panic!("{other:?} has no primitives"),
        }
    }

    /// Returns the text of a `java.lang.String`.
    pub fn text(&self, string: u64) -> String {
        let bytes = self.reference(string, "java.lang.String", "value");
        let Thing::Primitives { elements, .. } = &self.objects[&bytes] else {
            panic!("a string has bytes");
        };
        let latin = self.field(string, "java.lang.String", "coder") == Value::Byte(0);
        if latin {
            return elements.iter().map(|&byte| char::from(byte)).collect();
        }
        // The VM keeps UTF-16 in native byte order.
        let units: Vec<u16> = elements
            .chunks_exact(2)
            .map(|unit| u16::from_ne_bytes([unit[0], unit[1]]))
            .collect();
        String::from_utf16_lossy(&units)
    }

    /// Returns the trace that allocated an object.
    pub fn trace(&self, object: u64) -> u32 {
        match self.objects[&object] {
            Thing::Instance { trace, .. }
            | Thing::Objects { trace, .. }
            | Thing::Primitives { trace, .. } => trace,
        }
    }

    /// Returns the objects that a class or an object refers to.
    pub fn references(&self, object: u64) -> Vec<u64> {
        let all = match self.objects.get(&object) {
            Some(Thing::Instance { class, .. }) => {
                let fields = self.fields(object);
                let values = fields.iter().map(|field| field.2);
                let mut all: Vec<u64> = values.filter_map(as_id).collect();
                all.push(*class);
                all
            }
            Some(Thing::Objects {
                class, elements, ..
            }) => elements.iter().copied().chain([*class]).collect(),
            Some(Thing::Primitives { .. }) => Vec::new(),
            None => {
                let class = &self.classes[&object];
                let statics = class.statics.iter().map(|field| field.1);
                let constants = class.constants.iter().map(|constant| constant.1);
                let mut all: Vec<u64> = statics.chain(constants).filter_map(as_id).collect();
                all.extend([
                    class.super_class,
                    class.loader,
                    class.signers,
                    class.protection_domain,
                ]);
                all
            }
        };
        all.into_iter().filter(|&id| id != 0).collect()
    }

    /// Returns `true` if there is such an object or class.
    pub fn has(&self, id: u64) -> bool {
        self.objects.contains_key(&id) || self.classes.contains_key(&id)
    }

    /// Asserts the properties of every dump: everything that is named is there, and every instance is as long as its
    /// class says.
    pub fn assert_whole(&self, file: &File) {
        let all = self.objects.keys().chain(self.classes.keys());
        for &object in all {
            for id in self.references(object) {
                let class = self.class_name(object);
                assert!(self.has(id), "{object:x}, a {class}, refers to {id:x}");
            }
        }
        for (&id, thing) in &self.objects {
            if let Thing::Instance { class, fields, .. } = thing {
                let class = &self.classes[class];
                assert_eq!(
                    class.instance_size as usize,
                    fields.len(),
                    "{id:x} {}",
                    class.name
                );
            }
            let trace = self.trace(id);
            assert!(file.traces.contains_key(&trace), "TRACE {trace}");
        }
        for &(object, root) in &self.roots {
            assert!(object == 0 || self.has(object), "{root:?} holds {object:x}");
            if let Root::Thread { thread, trace } = root {
                assert!(file.traces.contains_key(&trace.0), "TRACE {trace}");
                let known = thread.0 == 200_000 || file.threads.contains_key(&thread.0);
                assert!(known, "thread {thread}");
            }
        }
    }
}

/// Returns the id in a value that is a reference.
pub fn id(value: Value) -> u64 {
    as_id(value).unwrap_or_else(|| panic!("{value:?} is no reference"))
}

fn as_id(value: Value) -> Option<u64> {
    match value {
        Value::Object(object) => Some(object.0),
        _ => None,
    }
}

fn number(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0, |number, &byte| number << 8 | u64::from(byte))
}

fn value(kind: BasicType, bytes: &[u8]) -> Value {
    let number = number(bytes);
    match kind {
        BasicType::Object => Value::Object(hprof_format::ObjectId(number)),
        BasicType::Boolean => Value::Boolean(number != 0),
        BasicType::Char => Value::Char(number as u16),
        BasicType::Float => Value::Float(f32::from_bits(number as u32)),
        BasicType::Double => Value::Double(f64::from_bits(number)),
        BasicType::Byte => Value::Byte(number as i8),
        BasicType::Short => Value::Short(number as i16),
        BasicType::Int => Value::Int(number as i32),
        BasicType::Long => Value::Long(number as i64),
    }
}
