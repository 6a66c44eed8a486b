//! Writes a heap dump of a given number of objects: the heap of a shop with a leak. It needs no JVM of that size.
//!
//! ```text
//! cargo run --release -p hprof-heap --example generate_dump -- 10000000 shop.hprof
//! ```
//!
//! An order has a note, lines in a list, and every second one a map of attributes. It shares its customer, products and
//! the keys of its attributes with others. Three of five orders are in a map that a static field holds (the leak); the
//! others are in a linked list, which a thread holds in a frame. Some orders are unreachable.
//!
//! For some objects the retained size follows from the way the heap is made. They are printed as lines of a name, an id
//! and a number of bytes, separated by tabs, after the number of objects.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};

use hprof_format::{
    BasicType, BinaryEncoder, ClassDump, ClassSerial, Encoder, HeapDumpEndRecord,
    HeapDumpSegmentRecord, HeapRecord, LoadClassRecord, Micros, Millis, ObjectId, Record, Root,
    StringId, StringRecord, ThreadSerial, TraceRecord, TraceSerial, Value,
};

/// The bytes of a segment, as HotSpot's.
const SEGMENT: usize = 1 << 20;
/// The most elements of an array: a larger table has several levels, as a record has at most 4 GB.
const MOST_ELEMENTS: usize = 1 << 28;
/// The objects that a hundred orders have on average, with their share of what they share.
const OBJECTS_OF_100_ORDERS: u64 = 1941;
/// The keys that all maps of attributes share.
const KEYS: usize = 40;

/// A class: name, superclass, fields, and `true` if the application's loader has it.
type Class = (
    &'static str,
    usize,
    &'static [(&'static str, BasicType)],
    bool,
);

const REFERENCE: BasicType = BasicType::Object;
const CLASSES: [Class; 18] = [
    ("java/lang/Object", OBJECT, &[], false),
    ("java/lang/Class", OBJECT, &[], false),
    (
        "java/lang/String",
        OBJECT,
        &[
            ("value", REFERENCE),
            ("hash", BasicType::Int),
            ("coder", BasicType::Byte),
        ],
        false,
    ),
    ("[B", OBJECT, &[], false),
    ("[Ljava/lang/Object;", OBJECT, &[], false),
    (
        "java/util/HashMap",
        OBJECT,
        &[
            ("table", REFERENCE),
            ("size", BasicType::Int),
            ("modCount", BasicType::Int),
        ],
        false,
    ),
    ("[Ljava/util/HashMap$Node;", OBJECT, &[], false),
    (
        "java/util/HashMap$Node",
        OBJECT,
        &[
            ("hash", BasicType::Int),
            ("key", REFERENCE),
            ("value", REFERENCE),
            ("next", REFERENCE),
        ],
        false,
    ),
    (
        "java/util/ArrayList",
        OBJECT,
        &[("elementData", REFERENCE), ("size", BasicType::Int)],
        false,
    ),
    (
        "java/lang/Long",
        OBJECT,
        &[("value", BasicType::Long)],
        false,
    ),
    ("java/lang/Thread", OBJECT, &[("name", REFERENCE)], false),
    (
        "java/lang/ClassLoader",
        OBJECT,
        &[("classes", REFERENCE)],
        false,
    ),
    (
        "shop/Order",
        OBJECT,
        &[
            ("number", BasicType::Long),
            ("customer", REFERENCE),
            ("lines", REFERENCE),
            ("note", REFERENCE),
            ("attributes", REFERENCE),
        ],
        true,
    ),
    (
        "shop/Line",
        OBJECT,
        &[("product", REFERENCE), ("price", REFERENCE)],
        true,
    ),
    ("shop/Customer", OBJECT, &[("name", REFERENCE)], true),
    ("shop/Product", OBJECT, &[("name", REFERENCE)], true),
    (
        "shop/Waiting",
        OBJECT,
        &[("order", REFERENCE), ("next", REFERENCE)],
        true,
    ),
    ("shop/Shop", OBJECT, &[], true),
];
const OBJECT: usize = 0;
const STRING: usize = 2;
const ARRAY: usize = 4;
const MAP: usize = 5;
const TABLE: usize = 6;
const NODE: usize = 7;
const LIST: usize = 8;
const LONG: usize = 9;
const THREAD: usize = 10;
const LOADER: usize = 11;
const ORDER: usize = 12;
const LINE: usize = 13;
const CUSTOMER: usize = 14;
const PRODUCT: usize = 15;
const WAITING: usize = 16;
const SHOP: usize = 17;
/// The static fields of `shop.Shop`, in their order.
const STATICS: [&str; 3] = ["ORDERS", "CUSTOMERS", "PRODUCTS"];

/// The serial number of the stack that allocates orders.
const ORDERING: TraceSerial = TraceSerial(2);
/// That of everything else.
const OTHER: TraceSerial = TraceSerial(1);

/// The facts that follow from the way a heap is made.
#[derive(Debug, Default)]
pub struct Facts {
    /// The number of objects, classes included.
    pub objects: u64,
    /// The retained sizes of some objects: name, id, bytes.
    pub retained: Vec<(&'static str, u64, u64)>,
}

/// Pseudo-random numbers, the same in each run (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }
}

/// The file while it is written.
struct Dump<W: Write> {
    encoder: BinaryEncoder,
    out: W,
    content: Vec<u8>,
    bytes: Vec<u8>,
    /// The address of the next object.
    next: u64,
    objects: u64,
}

impl<W: Write> Dump<W> {
    fn record(&mut self, record: &Record<'_>) -> io::Result<()> {
        self.bytes.clear();
        self.encoder.record(Micros(0), record, &mut self.bytes);
        self.out.write_all(&self.bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        let content = std::mem::take(&mut self.content);
        let segment = HeapDumpSegmentRecord {
            content: content.as_slice().into(),
        };
        self.record(&Record::HeapDumpSegment(segment))?;
        self.content = content;
        self.content.clear();
        Ok(())
    }

    fn put(&mut self, record: &HeapRecord<'_>) -> io::Result<()> {
        record.write(&mut self.content);
        if self.content.len() >= SEGMENT {
            self.flush()?;
        }
        Ok(())
    }

    /// Returns the address of a new object of this size.
    fn place(&mut self, size: u64) -> u64 {
        let id = self.next;
        self.next += align(size);
        self.objects += 1;
        id
    }

    fn instance(&mut self, class: usize, trace: TraceSerial, values: &[u64]) -> io::Result<u64> {
        let mut fields = Vec::new();
        let mut size = 12;
        for (&value, &(_, kind)) in values.iter().zip(CLASSES[class].2) {
            let width = kind.size(8);
            fields.extend_from_slice(&value.to_be_bytes()[8 - width..]);
            size += if kind == REFERENCE { 4 } else { width as u64 };
        }
        let id = self.place(size);
        self.put(&HeapRecord::Instance {
            object: ObjectId(id),
            trace,
            class: class_id(class),
            fields: &fields,
        })?;
        Ok(id)
    }

    fn array(&mut self, class: usize, elements: &[u64]) -> io::Result<u64> {
        let id = self.place(array_size(elements.len()));
        let elements: Vec<u8> = elements
            .iter()
            .flat_map(|element| element.to_be_bytes())
            .collect();
        self.put(&HeapRecord::ObjectArray {
            object: ObjectId(id),
            trace: OTHER,
            class: class_id(class),
            elements: &elements,
        })?;
        Ok(id)
    }

    fn string(&mut self, text: &str, trace: TraceSerial) -> io::Result<u64> {
        let value = self.place(16 + text.len() as u64);
        self.put(&HeapRecord::PrimitiveArray {
            object: ObjectId(value),
            trace,
            element: BasicType::Byte,
            elements: text.as_bytes(),
        })?;
        self.instance(STRING, trace, &[value, text.len() as u64, 0])
    }

    /// Writes an array, or arrays of arrays if there are more elements than one may have.
    fn table(&mut self, class: usize, elements: &[u64]) -> io::Result<u64> {
        if elements.len() <= MOST_ELEMENTS {
            return self.array(class, elements);
        }
        let parts = elements.chunks(MOST_ELEMENTS);
        let parts: io::Result<Vec<u64>> = parts.map(|part| self.array(class, part)).collect();
        self.array(ARRAY, &parts?)
    }

    fn root(&mut self, object: u64, root: Root) -> io::Result<()> {
        let object = ObjectId(object);
        self.put(&HeapRecord::Root { object, root })
    }
}

fn align(size: u64) -> u64 {
    size.next_multiple_of(8)
}

fn array_size(elements: usize) -> u64 {
    16 + 4 * elements as u64
}

fn class_id(class: usize) -> ObjectId {
    ObjectId(0x8_0000_0000 + 256 * class as u64)
}

/// The objects that orders share.
struct Shared {
    customers: Vec<u64>,
    products: Vec<u64>,
    keys: Vec<u64>,
}

impl Shared {
    fn write<W: Write>(orders: u64, dump: &mut Dump<W>) -> io::Result<Shared> {
        let named = |class: usize, count: u64, dump: &mut Dump<W>| -> io::Result<Vec<u64>> {
            let all = (0..count).map(|number| {
                let name = dump.string(&format!("{} {number}", CLASSES[class].0), OTHER)?;
                dump.instance(class, OTHER, &[name])
            });
            all.collect()
        };
        let customers = named(CUSTOMER, orders / 10 + 1, dump)?;
        let products = named(PRODUCT, orders / 100 + 1, dump)?;
        let keys = (0..KEYS).map(|number| dump.string(&format!("attribute {number}"), OTHER));
        let keys = keys.collect::<io::Result<_>>()?;
        Ok(Shared {
            customers,
            products,
            keys,
        })
    }

    fn order<W: Write>(
        &self,
        number: u64,
        random: &mut Random,
        dump: &mut Dump<W>,
    ) -> io::Result<u64> {
        let one_of =
            |all: &[u64], random: &mut Random| all[random.below(all.len() as u64) as usize];
        let mut lines = Vec::new();
        for _ in 0..2 + random.below(4) {
            let price = dump.instance(LONG, ORDERING, &[random.below(10_000)])?;
            let product = one_of(&self.products, random);
            lines.push(dump.instance(LINE, ORDERING, &[product, price])?);
        }
        let size = lines.len() as u64;
        lines.resize(lines.len().next_power_of_two(), 0);
        let elements = dump.array(ARRAY, &lines)?;
        let list = dump.instance(LIST, ORDERING, &[elements, size])?;
        let length = random.below(60) as usize;
        let note = dump.string(&"please ring twice ".repeat(4)[..length], ORDERING)?;
        let attributes = if random.below(2) == 0 {
            self.attributes(random, dump)?
        } else {
            0
        };
        let customer = one_of(&self.customers, random);
        let fields = [number, customer, list, note, attributes];
        dump.instance(ORDER, ORDERING, &fields)
    }

    fn attributes<W: Write>(&self, random: &mut Random, dump: &mut Dump<W>) -> io::Result<u64> {
        let mut nodes = Vec::new();
        for _ in 0..1 + random.below(5) {
            let text = format!("value {}", random.below(1_000_000));
            let value = dump.string(&text, ORDERING)?;
            let key = self.keys[random.below(KEYS as u64) as usize];
            // Two in one place of the table are a chain.
            let chained = if random.below(4) == 0 {
                nodes.pop()
            } else {
                None
            };
            let fields = [random.below(1 << 32), key, value, chained.unwrap_or(0)];
            nodes.push(dump.instance(NODE, ORDERING, &fields)?);
        }
        let size = nodes.len() as u64;
        nodes.resize(16, 0);
        let table = dump.array(TABLE, &nodes)?;
        dump.instance(MAP, ORDERING, &[table, size, size])
    }
}

/// Writes a dump of about so many objects.
///
/// # Errors
/// Those of `out`.
pub fn write(objects: u64, out: impl Write) -> io::Result<Facts> {
    let mut dump = Dump {
        encoder: BinaryEncoder::new(),
        out,
        content: Vec::new(),
        bytes: Vec::new(),
        next: 0x8_0100_0000,
        objects: CLASSES.len() as u64,
    };
    dump.encoder
        .start(Millis(1_700_000_000_000), &mut dump.bytes);
    let head = std::mem::take(&mut dump.bytes);
    dump.out.write_all(&head)?;
    write_names(&mut dump)?;
    let orders = objects * 100 / OBJECTS_OF_100_ORDERS;
    let mut random = Random(1);
    let mut facts = Facts::default();
    let shared = Shared::write(orders, &mut dump)?;
    let mut kept = Vec::new();
    let (mut in_map, mut in_list) = (0, 0);
    let mut waiting = 0;
    for number in 0..orders {
        let start = dump.next;
        let order = shared.order(number, &mut random, &mut dump)?;
        let bytes = dump.next - start;
        if number < 3 {
            facts.retained.push(("an order", order, bytes));
        }
        match number % 100 {
            0..60 => {
                let key = dump.instance(LONG, ORDERING, &[number])?;
                let fields = [number & 0xffff_ffff, key, order, 0];
                kept.push(dump.instance(NODE, ORDERING, &fields)?);
                in_map += dump.next - start;
            }
            60..99 => {
                waiting = dump.instance(WAITING, ORDERING, &[order, waiting])?;
                in_list += dump.next - start;
            }
            // Garbage.
            _ => {}
        }
    }
    facts.retained.push(("the list", waiting, in_list));
    let start = dump.next;
    let table = dump.table(TABLE, &kept)?;
    let size = kept.len() as u64;
    let leak = dump.instance(MAP, OTHER, &[table, size, size])?;
    facts
        .retained
        .push(("the map", leak, in_map + dump.next - start));
    let customers = dump.table(ARRAY, &shared.customers)?;
    let products = dump.table(ARRAY, &shared.products)?;
    let classes: Vec<u64> = (ORDER..CLASSES.len())
        .map(|class| class_id(class).0)
        .collect();
    let classes = dump.array(ARRAY, &classes)?;
    let loader = dump.instance(LOADER, OTHER, &[classes])?;
    write_classes([leak, customers, products], loader, &mut dump)?;
    write_roots(&shared.keys, waiting, loader, &mut dump)?;
    dump.flush()?;
    dump.record(&Record::HeapDumpEnd(HeapDumpEndRecord))?;
    dump.out.flush()?;
    facts.objects = dump.objects;
    Ok(facts)
}

fn name(text: usize) -> StringId {
    StringId(1 + text as u64)
}

/// Returns all texts; the names of the classes come first.
fn texts() -> impl Iterator<Item = &'static str> {
    let classes = CLASSES.iter().map(|class| class.0);
    let fields = CLASSES.iter().flat_map(|class| class.2.iter());
    classes.chain(fields.map(|field| field.0)).chain(STATICS)
}

fn write_names<W: Write>(dump: &mut Dump<W>) -> io::Result<()> {
    for (text, id) in texts().zip(0..) {
        let id = name(id);
        let text = text.as_bytes().into();
        dump.record(&Record::String(StringRecord { id, text }))?;
    }
    for class in 0..CLASSES.len() {
        dump.record(&Record::LoadClass(LoadClassRecord {
            serial: ClassSerial(class as u32 + 1),
            class_object: class_id(class),
            trace: OTHER,
            name: name(class),
        }))?;
    }
    for serial in [OTHER, ORDERING] {
        dump.record(&Record::Trace(TraceRecord {
            serial,
            thread: ThreadSerial(1),
            frames: Vec::new().into(),
        }))?;
    }
    Ok(())
}

fn write_classes<W: Write>(statics: [u64; 3], loader: u64, dump: &mut Dump<W>) -> io::Result<()> {
    let mut field = CLASSES.len();
    let first_static = texts().count() - STATICS.len();
    for (index, &(_, above, fields, is_own)) in CLASSES.iter().enumerate() {
        let named = (field..)
            .map(name)
            .zip(fields.iter().map(|&(_, kind)| kind));
        let named: Vec<_> = named.collect();
        field += fields.len();
        let values = statics.iter().map(|&id| Value::Object(ObjectId(id)));
        let statics: Vec<_> = match index {
            SHOP => (first_static..).map(name).zip(values).collect(),
            _ => Vec::new(),
        };
        dump.put(&HeapRecord::Class(ClassDump {
            class: class_id(index),
            trace: OTHER,
            super_class: if index == OBJECT {
                ObjectId(0)
            } else {
                class_id(above)
            },
            loader: ObjectId(if is_own { loader } else { 0 }),
            statics: statics.into(),
            fields: named.into(),
            ..ClassDump::default()
        }))?;
    }
    Ok(())
}

fn write_roots<W: Write>(
    keys: &[u64],
    waiting: u64,
    loader: u64,
    dump: &mut Dump<W>,
) -> io::Result<()> {
    for (index, class) in CLASSES.iter().enumerate() {
        if !class.3 {
            dump.root(class_id(index).0, Root::StickyClass)?;
        }
    }
    for &key in keys {
        dump.root(key, Root::InternedString)?;
    }
    dump.root(loader, Root::JniGlobal { reference: 1 })?;
    let name = dump.string("main", OTHER)?;
    let main = dump.instance(THREAD, OTHER, &[name])?;
    let thread = ThreadSerial(1);
    dump.root(
        main,
        Root::Thread {
            thread,
            trace: OTHER,
        },
    )?;
    if waiting != 0 {
        dump.root(waiting, Root::JavaFrame { thread, frame: 0 })?;
    }
    Ok(())
}

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let wrong = || io::Error::new(io::ErrorKind::InvalidInput, "generate_dump OBJECTS FILE");
    let [objects, file] = &arguments[..] else {
        return Err(wrong());
    };
    let objects = objects.parse().map_err(|_| wrong())?;
    let file: File = OpenOptions::new().write(true).create_new(true).open(file)?;
    let facts = write(objects, BufWriter::with_capacity(SEGMENT, file))?;
    let mut out = io::stdout().lock();
    writeln!(out, "objects\t\t{}", facts.objects)?;
    for (name, id, bytes) in facts.retained {
        writeln!(out, "{name}\t0x{id:x}\t{bytes}")?;
    }
    Ok(())
}
