//! Dumps that are written record by record.

use hprof_format::{
    BasicType, ClassDump, HeapRecord, ObjectId, Root, StringId, TraceSerial, Value,
};

/// The names of fields, and their ids.
const NAMES: [&str; 22] = [
    "referent",
    "next",
    "value",
    "kept",
    "att",
    "fd",
    "address",
    "capacity",
    "parent",
    "size",
    "table",
    "accessOrder",
    "maxEntries",
    "entries",
    "position",
    "holders",
    "count",
    "item",
    "head",
    "memoryMap",
    "reader",
    "other",
];

/// A dump that is written record by record. The classes come first.
#[derive(Default)]
pub struct Writer {
    pub content: Vec<u8>,
    classes: Vec<(u64, String)>,
}

pub fn field(name: &str) -> StringId {
    let place = NAMES.iter().position(|known| *known == name);
    StringId(1 + place.expect("a known name") as u64)
}

impl Writer {
    pub fn class(&mut self, name: &str, super_class: u64, of: Class<'_>) -> u64 {
        let id = 0x100 * (1 + self.classes.len() as u64);
        self.classes.push((id, name.to_owned()));
        let statics = of.statics.iter();
        let statics = statics.map(|&(name, to)| (field(name), Value::Object(ObjectId(to))));
        let fields = of.fields.iter().map(|&(name, kind)| (field(name), kind));
        HeapRecord::Class(ClassDump {
            class: ObjectId(id),
            super_class: ObjectId(super_class),
            loader: ObjectId(of.loader),
            statics: statics.collect(),
            fields: fields.collect(),
            ..ClassDump::default()
        })
        .write(&mut self.content);
        id
    }

    pub fn instance(&mut self, id: u64, class: u64, fields: &[Value]) {
        let mut bytes = Vec::new();
        fields.iter().for_each(|value| value.write(&mut bytes));
        HeapRecord::Instance {
            object: ObjectId(id),
            trace: TraceSerial(0),
            class: ObjectId(class),
            fields: &bytes,
        }
        .write(&mut self.content);
    }

    pub fn array(&mut self, id: u64, class: u64, elements: &[u64]) {
        let mut bytes = Vec::new();
        elements
            .iter()
            .for_each(|&element| to(element).write(&mut bytes));
        HeapRecord::ObjectArray {
            object: ObjectId(id),
            trace: TraceSerial(0),
            class: ObjectId(class),
            elements: &bytes,
        }
        .write(&mut self.content);
    }

    pub fn bytes(&mut self, id: u64, length: usize) {
        HeapRecord::PrimitiveArray {
            object: ObjectId(id),
            trace: TraceSerial(0),
            element: BasicType::Byte,
            elements: &vec![0; length],
        }
        .write(&mut self.content);
    }

    pub fn root(&mut self, id: u64) {
        let (object, root) = (ObjectId(id), Root::StickyClass);
        HeapRecord::Root { object, root }.write(&mut self.content);
    }

    pub fn file(&self) -> Vec<u8> {
        let classes = (100..).zip(&self.classes);
        let names = (1..).zip(NAMES);
        let texts = names.chain(classes.clone().map(|(id, (_, name))| (id, &**name)));
        let loaded = classes.map(|(name, &(id, _))| (id, name));
        crate::model::dump(texts, loaded, &self.content)
    }
}

/// The fields of a class that are not empty.
#[derive(Clone, Copy, Default)]
pub struct Class<'a> {
    pub statics: &'a [(&'a str, u64)],
    pub fields: &'a [(&'a str, BasicType)],
    pub loader: u64,
}

pub fn to(id: u64) -> Value {
    Value::Object(ObjectId(id))
}
