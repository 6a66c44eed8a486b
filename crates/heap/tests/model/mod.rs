//! Small dumps with a known graph, and the results according to the definitions.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs::File;
use std::io::Write;

use hprof_format::{
    BasicType, BinaryEncoder, ClassDump, ClassSerial, Encoder, HeapDumpEndRecord,
    HeapDumpSegmentRecord, HeapRecord, LoadClassRecord, Micros, Millis, ObjectId, Record, Root,
    StringId, StringRecord, ThreadSerial, TraceSerial, Value,
};
use hprof_heap::{Dump, Excluded, Heap, Memory, Options, Silent};
use proptest::prelude::*;

/// The kind of an object.
#[derive(Clone, Debug)]
pub enum Kind {
    /// An instance of `Small` (one reference, an int), `Large` (its subclass, two more references and a long) or `Weak`
    /// (a `WeakReference`).
    Instance(usize),
    Array,
    Bytes(usize),
    Thread,
}

#[derive(Clone, Debug)]
pub struct Object {
    pub kind: Kind,
    /// Indexes of objects; beyond their number, null or objects that the dump lacks.
    pub references: Vec<usize>,
    pub trace: u32,
}

/// The reason an object is a root.
#[derive(Clone, Copy, Debug)]
pub enum Rooted {
    Global,
    /// A local variable of a thread, which may not be in the dump.
    Local(u32),
}

#[derive(Clone, Debug)]
pub struct Model {
    pub objects: Vec<Object>,
    /// The targets of `Small`'s static fields.
    pub statics: Vec<usize>,
    /// The loader of `Small`, `Large` and `Weak`.
    pub loader: usize,
    pub roots: Vec<(usize, Rooted)>,
    /// `true` if `Small` is a root.
    pub sticky: bool,
    /// The difference between consecutive ids.
    pub step: u64,
    pub reversed: bool,
}

pub const CLASSES: [&str; 9] = [
    "java.lang.Class",
    "java/lang/Object",
    "app/Small",
    "app.Large",
    "java/lang/ref/WeakReference",
    "[Ljava/lang/Object;",
    "byte[]",
    "java/lang/Thread",
    "java/lang/ref/Reference",
];
const THREAD: usize = 7;

/// Returns the number of references in the order of the dump, of which the last is the referent of a weak one.
fn fields(kind: &Kind) -> usize {
    match kind {
        Kind::Instance(0) => 1,
        Kind::Instance(1) => 3,
        Kind::Instance(_) => 1,
        _ => 0,
    }
}

pub fn model() -> impl Strategy<Value = Model> {
    let kind = prop_oneof![
        6 => (0..3usize).prop_map(Kind::Instance),
        2 => Just(Kind::Array),
        1 => (0..40usize).prop_map(Kind::Bytes),
        1 => Just(Kind::Thread),
    ];
    (2..28usize).prop_flat_map(move |count| {
        let reference = 0..count + 2;
        let object = (
            kind.clone(),
            proptest::collection::vec(reference.clone(), 3..5),
            1..4_u32,
        )
            .prop_map(|(kind, references, trace)| Object {
                kind,
                references,
                trace,
            });
        let rooted = prop_oneof![
            2 => Just(Rooted::Global),
            1 => (0..4_u32).prop_map(Rooted::Local),
        ];
        (
            proptest::collection::vec(object, count),
            proptest::collection::vec(reference, 0..3),
            0..count + 1,
            proptest::collection::vec((0..count, rooted), 0..4),
            any::<bool>(),
            prop_oneof![Just(1_u64), Just(8), Just(64), Just(1 << 33)],
            any::<bool>(),
        )
            .prop_map(
                |(objects, statics, loader, roots, sticky, step, reversed)| Model {
                    objects,
                    statics,
                    loader,
                    roots,
                    sticky,
                    step,
                    reversed,
                },
            )
    })
}

impl Model {
    /// Returns a class's id: classes come first, then objects.
    pub fn class_id(&self, class: usize) -> u64 {
        (class as u64 + 1) * self.step
    }

    pub fn object_id(&self, object: usize) -> u64 {
        (CLASSES.len() as u64 + object as u64 + 1) * self.step
    }

    /// Returns the id of a reference: beyond the objects first null, then one that the dump lacks.
    fn reference_id(&self, reference: usize) -> u64 {
        match reference.checked_sub(self.objects.len()) {
            None => self.object_id(reference),
            Some(0) => 0,
            Some(_) => self.object_id(reference + 100),
        }
    }

    fn class_of(&self, kind: &Kind) -> usize {
        match kind {
            Kind::Instance(class) => class + 2,
            Kind::Array => 5,
            Kind::Bytes(_) => 6,
            Kind::Thread => THREAD,
        }
    }

    fn super_of(class: usize) -> Option<usize> {
        match class {
            1 => None,
            3 => Some(2),
            4 => Some(8),
            _ => Some(1),
        }
    }

    fn has_loader(class: usize) -> bool {
        (2..5).contains(&class)
    }

    /// Returns the thread with this serial number: the first threads have 0, 1, 2 ...
    fn thread(&self, serial: u32) -> Option<usize> {
        let mut threads = (0..self.objects.len())
            .filter(|&object| matches!(self.objects[object].kind, Kind::Thread));
        threads.nth(serial as usize)
    }

    fn references(&self, object: &Object) -> Vec<usize> {
        match object.kind {
            Kind::Array => object.references.clone(),
            ref kind => object.references[..fields(kind)].to_vec(),
        }
    }

    /// Returns the dump as a file.
    pub fn write(&self) -> Vec<u8> {
        let mut content = Vec::new();
        let mut records: Vec<Vec<u8>> = (0..self.objects.len())
            .map(|object| self.object_record(object))
            .collect();
        if self.reversed {
            records.reverse();
        }
        let classes: Vec<Vec<u8>> = (0..CLASSES.len())
            .map(|class| self.class_record(class))
            .collect();
        let ordered: Vec<&Vec<u8>> = if self.reversed {
            records.iter().chain(&classes).collect()
        } else {
            classes.iter().chain(&records).collect()
        };
        ordered
            .into_iter()
            .for_each(|record| content.extend(record));
        for root in self.root_records() {
            root.write(&mut content);
        }
        let names = [
            "referent", "value", "first", "second", "number", "wide", "static",
        ];
        let texts = (100..).zip(names).chain((200..).zip(CLASSES));
        let classes = (0..CLASSES.len()).map(|class| (self.class_id(class), 200 + class as u64));
        dump(texts, classes, &content)
    }

    fn class_record(&self, class: usize) -> Vec<u8> {
        let reference = |name: u64| (StringId(name), BasicType::Object);
        let fields = match class {
            0 => vec![(StringId(104), BasicType::Int)],
            2 => vec![reference(101), (StringId(104), BasicType::Int)],
            3 => vec![
                reference(102),
                (StringId(105), BasicType::Long),
                reference(103),
            ],
            8 => vec![reference(100)],
            _ => Vec::new(),
        };
        let statics: Vec<_> = match class {
            2 => self
                .statics
                .iter()
                .map(|&to| {
                    let value = Value::Object(ObjectId(self.reference_id(to)));
                    (StringId(106), value)
                })
                .collect(),
            _ => Vec::new(),
        };
        let loader = if Model::has_loader(class) && self.loader < self.objects.len() {
            self.object_id(self.loader)
        } else {
            0
        };
        let mut record = Vec::new();
        HeapRecord::Class(ClassDump {
            class: ObjectId(self.class_id(class)),
            trace: TraceSerial(1),
            super_class: ObjectId(Model::super_of(class).map_or(0, |above| self.class_id(above))),
            loader: ObjectId(loader),
            statics: statics.into(),
            fields: fields.into(),
            ..ClassDump::default()
        })
        .write(&mut record);
        record
    }

    fn object_record(&self, place: usize) -> Vec<u8> {
        let object = &self.objects[place];
        let id = ObjectId(self.object_id(place));
        let trace = TraceSerial(object.trace);
        let to = |index: usize| {
            self.reference_id(object.references[index])
                .to_be_bytes()
                .to_vec()
        };
        let class = ObjectId(self.class_id(self.class_of(&object.kind)));
        let mut record = Vec::new();
        match object.kind {
            Kind::Instance(kind) => {
                let small = [to(0), vec![0; 4]].concat();
                let fields = match kind {
                    0 => small,
                    1 => [to(1), vec![0; 8], to(2), small].concat(),
                    _ => to(0),
                };
                HeapRecord::Instance {
                    object: id,
                    trace,
                    class,
                    fields: &fields,
                }
                .write(&mut record);
            }
            Kind::Thread => HeapRecord::Instance {
                object: id,
                trace,
                class,
                fields: &[],
            }
            .write(&mut record),
            Kind::Array => {
                let elements: Vec<u8> = (0..object.references.len()).flat_map(to).collect();
                HeapRecord::ObjectArray {
                    object: id,
                    trace,
                    class,
                    elements: &elements,
                }
                .write(&mut record);
            }
            Kind::Bytes(length) => HeapRecord::PrimitiveArray {
                object: id,
                trace,
                element: BasicType::Byte,
                elements: &vec![0; length],
            }
            .write(&mut record),
        }
        record
    }

    fn root_records(&self) -> Vec<HeapRecord<'static>> {
        let root = |id, root| HeapRecord::Root {
            object: ObjectId(id),
            root,
        };
        let mut records: Vec<_> = self
            .roots
            .iter()
            .map(|&(object, rooted)| {
                let kind = match rooted {
                    Rooted::Global => Root::JniGlobal { reference: 0 },
                    Rooted::Local(thread) => Root::JavaFrame {
                        thread: ThreadSerial(thread),
                        frame: 0,
                    },
                };
                root(self.object_id(object), kind)
            })
            .collect();
        for serial in 0..self.objects.len() as u32 {
            if let Some(thread) = self.thread(serial) {
                let kind = Root::Thread {
                    thread: ThreadSerial(serial),
                    trace: TraceSerial(1),
                };
                records.push(root(self.object_id(thread), kind));
            }
        }
        if self.sticky {
            records.push(root(self.class_id(2), Root::StickyClass));
        }
        records
    }

    /// Returns the results according to the definitions.
    pub fn truth(&self, excluded: Excluded) -> Truth {
        let mut truth = Truth::default();
        let (ids, objects) = (|class| self.class_id(class), self.objects.len());
        for class in 0..CLASSES.len() {
            // It is an instance of java.lang.Class.
            let mut to = vec![self.class_id(0)];
            to.extend(Model::super_of(class).map(ids));
            if Model::has_loader(class) && self.loader < objects {
                to.push(self.object_id(self.loader));
            }
            let statics = if class == 2 { self.statics.len() } else { 0 };
            if class == 2 {
                to.extend(
                    self.statics
                        .iter()
                        .filter(|&&to| to < objects)
                        .map(|&to| self.object_id(to)),
                );
            }
            // The mirror has the int of java.lang.Class, and the static fields.
            let size = align(12 + 4 + 4 * statics as u64);
            truth.add(self.class_id(class), "java.lang.Class", 1, size, to);
        }
        for (place, object) in self.objects.iter().enumerate() {
            let mut to: Vec<u64> = self
                .references(object)
                .into_iter()
                .filter(|&to| to < objects)
                .map(|to| self.object_id(to))
                .collect();
            let class = self.class_of(&object.kind);
            let size = match object.kind {
                Kind::Instance(0) => align(12 + 4 + 4),
                Kind::Instance(1) => align(12 + 3 * 4 + 4 + 8),
                Kind::Instance(_) => align(12 + 4),
                Kind::Thread => align(12),
                Kind::Array => align(16 + 4 * object.references.len() as u64),
                Kind::Bytes(length) => align(16 + length as u64),
            };
            if matches!(object.kind, Kind::Instance(2)) && excluded.weak {
                to.clear();
            }
            // An array of a primitive type does not state its class.
            to.push(self.class_id(class));
            for &(local, rooted) in &self.roots {
                if let Rooted::Local(serial) = rooted
                    && self.thread(serial) == Some(place)
                {
                    to.push(self.object_id(local));
                }
            }
            let name = CLASSES[class]
                .replace('/', ".")
                .replace("[Ljava.lang.Object;", "java.lang.Object[]");
            truth.add(self.object_id(place), &name, object.trace, size, to);
        }
        for &(object, rooted) in &self.roots {
            let held = matches!(rooted, Rooted::Local(serial) if self.thread(serial).is_some());
            if !held {
                truth.roots.insert(self.object_id(object));
            }
        }
        let threads = (0..objects as u32).filter_map(|serial| self.thread(serial));
        truth
            .roots
            .extend(threads.map(|thread| self.object_id(thread)));
        if self.sticky {
            truth.roots.insert(self.class_id(2));
        }
        truth
    }
}

/// Returns a file of one heap dump: strings, classes (object and name) and the dump's content.
pub fn dump<'a>(
    strings: impl Iterator<Item = (u64, &'a str)>,
    classes: impl Iterator<Item = (u64, u64)>,
    content: &[u8],
) -> Vec<u8> {
    let mut out = Vec::new();
    let mut encoder = BinaryEncoder::new();
    encoder.start(Millis(0), &mut out);
    let mut put = |record: Record<'_>| encoder.record(Micros(0), &record, &mut out);
    for (id, text) in strings {
        put(Record::String(StringRecord {
            id: StringId(id),
            text: text.as_bytes().into(),
        }));
    }
    for (serial, (object, name)) in (1..).zip(classes) {
        put(Record::LoadClass(LoadClassRecord {
            serial: ClassSerial(serial),
            class_object: ObjectId(object),
            trace: TraceSerial(1),
            name: StringId(name),
        }));
    }
    put(Record::HeapDumpSegment(HeapDumpSegmentRecord {
        content: content.into(),
    }));
    put(Record::HeapDumpEnd(HeapDumpEndRecord));
    out
}

fn align(size: u64) -> u64 {
    size.div_ceil(8) * 8
}

/// The graph according to the definitions, by id.
#[derive(Default)]
pub struct Truth {
    pub to: BTreeMap<u64, Vec<u64>>,
    pub sizes: BTreeMap<u64, u64>,
    /// Class and trace.
    pub sites: BTreeMap<u64, (String, u32)>,
    pub roots: BTreeSet<u64>,
}

impl Truth {
    fn add(&mut self, id: u64, class: &str, trace: u32, size: u64, to: Vec<u64>) {
        self.to.insert(id, to);
        self.sizes.insert(id, size);
        self.sites.insert(id, (class.to_owned(), trace));
    }

    /// Returns everything that roots reach without some objects, with its distance.
    pub fn reached(&self, gone: impl Fn(u64) -> bool) -> BTreeMap<u64, usize> {
        let mut distance = BTreeMap::new();
        let mut queue = VecDeque::new();
        for &root in self.roots.iter().filter(|&&root| !gone(root)) {
            distance.insert(root, 1);
            queue.push_back(root);
        }
        while let Some(object) = queue.pop_front() {
            for &to in &self.to[&object] {
                if !gone(to) && !distance.contains_key(&to) {
                    distance.insert(to, distance[&object] + 1);
                    queue.push_back(to);
                }
            }
        }
        distance
    }

    pub fn bytes(&self, objects: &BTreeMap<u64, usize>) -> u64 {
        objects.keys().map(|id| self.sizes[id]).sum()
    }

    /// Returns the bytes that are freed without these objects.
    pub fn retained(&self, gone: impl Fn(u64) -> bool) -> u64 {
        self.bytes(&self.reached(|_| false)) - self.bytes(&self.reached(gone))
    }
}

/// Reads a file as `hprof heap` does.
pub fn with_heap<T>(
    bytes: &[u8],
    excluded: Excluded,
    memory: Memory,
    then: impl FnOnce(&Heap<'_>) -> T,
) -> T {
    let file = file(bytes);
    let dump = Dump::open(&file, None).expect("a dump");
    let options = Options {
        layout: Some("12,4,8".parse().expect("a layout")),
        excluded,
        memory,
    };
    then(&Heap::of(&dump, &options, &Silent).expect("a sound dump"))
}

pub fn file(bytes: &[u8]) -> File {
    let mut file = tempfile::tempfile().expect("a temporary file");
    file.write_all(bytes).expect("room for it");
    file
}
