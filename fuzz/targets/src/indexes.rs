//! The readers of indexes of heap dumps.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::sync::LazyLock;
use std::time::SystemTime;

use hprof_format::{
    BasicType, BinaryEncoder, ClassDump, ClassSerial, Encoder, HeapDumpEndRecord,
    HeapDumpSegmentRecord, HeapRecord, LoadClassRecord, Micros, Millis, ObjectId, Record, Root,
    StringId, StringRecord, TraceSerial,
};
use hprof_heap::{
    By, Dump, Excluded, Heap, Memory, Options, Saved, Silent, Target, histogram_of, seal_index,
};
use tempfile::TempDir;

/// The bytes of one change: where, how many, and which.
const CHANGE: usize = 12;
const FIRST: u64 = 0x1000;
const NODES: u64 = 40;

/// A dump and its index.
static INDEXED: LazyLock<(Vec<u8>, Vec<u8>)> = LazyLock::new(|| {
    let folder = TempDir::new().expect("a temporary folder");
    let (bytes, path) = (dump_bytes(), folder.path().join("index"));
    let dump = write_dump(&folder, &bytes);
    let heap = Heap::of(&dump, &options(), &Silent).expect("a sound dump");
    heap.save_index(&path, &Silent).expect("room for an index");
    (bytes, fs::read(&path).expect("it was written"))
});

/// Writes a dump, always of the same time, which the index has.
fn write_dump(folder: &TempDir, bytes: &[u8]) -> Dump {
    let path = folder.path().join("dump");
    fs::write(&path, bytes).expect("room for a dump");
    let file = File::options().read(true).append(true).open(&path);
    let file = file.expect("it is there");
    file.set_modified(SystemTime::UNIX_EPOCH)
        .expect("it is ours");
    Dump::open(&file, None).expect("a dump")
}

fn options() -> Options {
    Options {
        layout: None,
        excluded: Excluded::default(),
        memory: Memory::unlimited(),
    }
}

/// Returns a dump of a list of nodes and of arrays.
fn dump_bytes() -> Vec<u8> {
    let (class, array) = (ObjectId(0x100), ObjectId(0x108));
    let trace = TraceSerial(1);
    let mut content = Vec::new();
    for object in [class, array] {
        HeapRecord::Class(ClassDump {
            class: object,
            instance_size: 16,
            fields: [
                (StringId(3), BasicType::Object),
                (StringId(4), BasicType::Object),
            ][..]
                .into(),
            ..ClassDump::default()
        })
        .write(&mut content);
    }
    for number in 0..NODES {
        let ids = [number + 1, NODES + number % 7].map(|to| (FIRST + 16 * to).to_be_bytes());
        let (object, fields) = (ObjectId(FIRST + 16 * number), ids.concat());
        let fields = &fields[..];
        HeapRecord::Instance {
            object,
            trace,
            class,
            fields,
        }
        .write(&mut content);
    }
    for number in NODES..NODES + 5 {
        HeapRecord::PrimitiveArray {
            object: ObjectId(FIRST + 16 * number),
            trace,
            element: BasicType::Byte,
            elements: &[7; 9],
        }
        .write(&mut content);
    }
    for object in [FIRST, FIRST + 16 * 20].map(ObjectId) {
        let root = Root::StickyClass;
        HeapRecord::Root { object, root }.write(&mut content);
    }
    let string = |id, text: &'static str| {
        let (id, text) = (StringId(id), text.as_bytes().into());
        Record::String(StringRecord { id, text })
    };
    let load = |serial, class_object, name| {
        Record::LoadClass(LoadClassRecord {
            serial: ClassSerial(serial),
            class_object,
            trace,
            name: StringId(name),
        })
    };
    let content = content.as_slice().into();
    let records = [
        string(1, "Node"),
        string(2, "java.lang.Thread"),
        string(3, "next"),
        string(4, "name"),
        load(1, class, 1),
        load(2, array, 2),
        Record::HeapDumpSegment(HeapDumpSegmentRecord { content }),
        Record::HeapDumpEnd(HeapDumpEndRecord),
    ];
    let mut out = Vec::new();
    let mut encoder = BinaryEncoder::new();
    encoder.start(Millis(0), &mut out);
    for record in &records {
        encoder.record(Micros(0), record, &mut out);
    }
    out
}

/// Changes numbers of an index, makes its checksum right, and asks everything.
///
/// # Panics
/// If the index makes a question panic.
pub fn index(data: &[u8]) {
    let (dump, index) = &*INDEXED;
    let mut bytes = index.clone();
    for change in data.as_chunks::<CHANGE>().0 {
        let [low, high, page, width, value @ ..] = change;
        let place = u32::from_le_bytes([*low, *high, *page, 0]) as usize % bytes.len();
        let width = 1 << (width % 4);
        let place = place / width * width;
        if let Some(number) = bytes.get_mut(place..place + width) {
            number.copy_from_slice(&value[..width]);
        }
    }
    seal_index(&mut bytes);
    let folder = TempDir::new().expect("a temporary folder");
    let path = folder.path().join("index");
    fs::write(&path, &bytes).expect("room for an index");
    let permissions = fs::Permissions::from_mode(0o600);
    fs::set_permissions(&path, permissions).expect("it is ours");
    let opened = write_dump(&folder, dump);
    let Some(saved) = Saved::open(&opened, &path) else {
        return;
    };
    // Errors are right; panics are not.
    let _ = histogram_of(&saved, By::Site, None);
    if let Some(heap) = saved.heap(&options()) {
        ask(&heap);
    }
}

fn ask(heap: &Heap<'_>) {
    let _ = (heap.summary(), heap.leaks(0.05, None), heap.waste(5));
    let _ = (heap.areas(None, 50), heap.threads(100), heap.who("Node", 1));
    for by in [By::Class, By::Loader, By::Package, By::Site] {
        let _ = heap.groups(by, 2);
    }
    let _ = heap.paths(&Target::Class("Node".to_owned()), 5);
    for row in heap.largest(None, 20).into_iter().flatten() {
        let _ = (heap.show(row.id, 0), heap.paths(&Target::Object(row.id), 1));
    }
}
