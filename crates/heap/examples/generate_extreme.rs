//! Writes a heap dump with very many of one thing. It needs no JVM of that size.
//!
//! ```text
//! cargo run --release -p hprof-heap --example generate_extreme -- list 100000000 list.hprof
//! ```
//!
//! | shape | what is in the dump |
//! |---|---|
//! | `list` | a linked list of so many elements |
//! | `array` | an array of so many elements, each another object |
//! | `classes` | so many classes with an object each |
//!
//! JNI references refer to the first element of the list, the array, and the objects of the classes.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::mem;

use hprof_format::{
    BasicType, BinaryEncoder, ClassDump, ClassSerial, Encoder, HeapDumpEndRecord,
    HeapDumpSegmentRecord, HeapRecord, LoadClassRecord, Micros, Millis, ObjectId, Record, Root,
    StringId, StringRecord, ThreadSerial, TraceRecord, TraceSerial,
};

/// The bytes of a segment, as HotSpot's.
const SEGMENT: usize = 1 << 20;
/// The id of the first object; those of the others follow at this distance.
const FIRST: u64 = 0x8_0000_0000;
const DISTANCE: u64 = 16;
/// The classes `java.lang.Object`, `java.lang.Object[]`, and that of the elements.
const OBJECT: u64 = 8;
const ARRAY: u64 = 16;
const ELEMENT: u64 = 24;
/// The classes of the shape `classes`, at the same distance as objects.
const CLASSES: u64 = 0x1000;
/// The array of the shape `array`.
const TABLE: u64 = 32;
/// The name of the only field; those of the classes follow.
const NEXT: StringId = StringId(1);
/// The trace of everything.
const TRACE: TraceSerial = TraceSerial(1);
const JNI: Root = Root::JniGlobal { reference: 1 };

/// What there is very much of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Elements that each refer to the next one.
    List,
    /// Elements in a single array.
    Array,
    /// Classes with an object each.
    Classes,
}

impl Shape {
    fn parse(word: &str) -> Option<Shape> {
        match word {
            "list" => Some(Shape::List),
            "array" => Some(Shape::Array),
            "classes" => Some(Shape::Classes),
            _ => None,
        }
    }
}

/// The file while it is written.
struct Dump<W: Write> {
    encoder: BinaryEncoder,
    out: W,
    segment: Vec<u8>,
    bytes: Vec<u8>,
}

impl<W: Write> Dump<W> {
    fn record(&mut self, record: &Record<'_>) -> io::Result<()> {
        self.encoder.record(Micros(0), record, &mut self.bytes);
        self.out.write_all(&self.bytes)?;
        self.bytes.clear();
        Ok(())
    }

    fn end_segment(&mut self) -> io::Result<()> {
        let segment = mem::take(&mut self.segment);
        let content = segment.as_slice().into();
        self.record(&Record::HeapDumpSegment(HeapDumpSegmentRecord { content }))?;
        self.segment = segment;
        self.segment.clear();
        Ok(())
    }

    fn put(&mut self, record: &HeapRecord<'_>) -> io::Result<()> {
        record.write(&mut self.segment);
        match self.segment.len() < SEGMENT {
            true => Ok(()),
            false => self.end_segment(),
        }
    }

    fn name(&mut self, id: StringId, text: &str) -> io::Result<()> {
        let text = text.as_bytes().into();
        self.record(&Record::String(StringRecord { id, text }))
    }

    /// Writes a name and a LOAD CLASS record.
    fn load(&mut self, number: u64, class: u64, text: &str) -> io::Result<()> {
        let name = StringId(NEXT.0 + 1 + number);
        self.name(name, text)?;
        self.record(&Record::LoadClass(LoadClassRecord {
            serial: ClassSerial(u32::try_from(number + 1).map_err(io::Error::other)?),
            class_object: ObjectId(class),
            trace: TRACE,
            name,
        }))
    }

    fn class(
        &mut self,
        class: u64,
        above: u64,
        fields: &[(StringId, BasicType)],
    ) -> io::Result<()> {
        self.put(&HeapRecord::Class(ClassDump {
            class: ObjectId(class),
            trace: TRACE,
            super_class: ObjectId(above),
            fields: fields.into(),
            ..ClassDump::default()
        }))
    }

    fn instance(&mut self, object: u64, class: u64, fields: &[u8]) -> io::Result<()> {
        self.put(&HeapRecord::Instance {
            object: ObjectId(object),
            trace: TRACE,
            class: ObjectId(class),
            fields,
        })
    }

    fn root(&mut self, object: u64, root: Root) -> io::Result<()> {
        let object = ObjectId(object);
        self.put(&HeapRecord::Root { object, root })
    }
}

/// Writes a dump of a shape with so many of what it has.
///
/// # Errors
/// Those of `out`, and one for more classes than can be numbered.
pub fn write(shape: Shape, count: u64, out: impl Write) -> io::Result<()> {
    let mut dump = Dump {
        encoder: BinaryEncoder::new(),
        out,
        segment: Vec::new(),
        bytes: Vec::new(),
    };
    dump.encoder
        .start(Millis(1_700_000_000_000), &mut dump.bytes);
    dump.name(NEXT, "next")?;
    let classes = [
        (OBJECT, "java/lang/Object"),
        (ARRAY, "[Ljava/lang/Object;"),
        (ELEMENT, "many/Element"),
    ];
    for (number, (class, name)) in (0..).zip(classes) {
        dump.load(number, class, name)?;
    }
    if shape == Shape::Classes {
        for number in 0..count {
            let name = format!("many/Class{number}");
            dump.load(classes.len() as u64 + number, class_at(number), &name)?;
        }
    }
    dump.record(&Record::Trace(TraceRecord {
        serial: TRACE,
        thread: ThreadSerial(1),
        frames: Vec::new().into(),
    }))?;
    dump.class(OBJECT, 0, &[])?;
    dump.class(ARRAY, OBJECT, &[])?;
    dump.class(ELEMENT, OBJECT, &[(NEXT, BasicType::Object)])?;
    for (class, _) in classes {
        dump.root(class, Root::StickyClass)?;
    }
    match shape {
        Shape::List => list(count, &mut dump)?,
        Shape::Array => array(count, &mut dump)?,
        Shape::Classes => with_classes(count, &mut dump)?,
    }
    dump.end_segment()?;
    dump.record(&Record::HeapDumpEnd(HeapDumpEndRecord))?;
    dump.out.flush()
}

fn object_at(number: u64) -> u64 {
    FIRST + DISTANCE * number
}

fn class_at(number: u64) -> u64 {
    CLASSES + DISTANCE * number
}

fn list<W: Write>(count: u64, dump: &mut Dump<W>) -> io::Result<()> {
    for number in 0..count {
        let is_last = number + 1 == count;
        let next = if is_last { 0 } else { object_at(number + 1) };
        dump.instance(object_at(number), ELEMENT, &next.to_be_bytes())?;
    }
    dump.root(object_at(0), JNI)
}

fn array<W: Write>(count: u64, dump: &mut Dump<W>) -> io::Result<()> {
    for number in 0..count {
        dump.instance(object_at(number), ELEMENT, &0_u64.to_be_bytes())?;
    }
    let elements = (0..count).flat_map(|number| object_at(number).to_be_bytes());
    let elements: Vec<u8> = elements.collect();
    dump.put(&HeapRecord::ObjectArray {
        object: ObjectId(TABLE),
        trace: TRACE,
        class: ObjectId(ARRAY),
        elements: &elements,
    })?;
    dump.root(TABLE, JNI)
}

fn with_classes<W: Write>(count: u64, dump: &mut Dump<W>) -> io::Result<()> {
    for number in 0..count {
        dump.class(class_at(number), OBJECT, &[])?;
    }
    for number in 0..count {
        dump.instance(object_at(number), class_at(number), &[])?;
        dump.root(object_at(number), JNI)?;
    }
    Ok(())
}

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let wrong = || {
        let usage = "generate_extreme list|array|classes COUNT FILE";
        io::Error::new(io::ErrorKind::InvalidInput, usage)
    };
    let [shape, count, file] = &arguments[..] else {
        return Err(wrong());
    };
    let shape = Shape::parse(shape).ok_or_else(wrong)?;
    let count = count.parse().map_err(|_| wrong())?;
    let file: File = OpenOptions::new().write(true).create_new(true).open(file)?;
    write(shape, count, BufWriter::with_capacity(SEGMENT, file))
}
