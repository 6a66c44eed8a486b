//! Dumps as HotSpot will write them: frames and traces between the segments of a heap dump, and no objects that fill gaps. And
//! those of `jhsdb`, whose threads do not name their traces.

#[allow(dead_code, reason = "other tests use the rest")]
mod model;

use hprof_format::{
    BasicType, BinaryEncoder, ClassDump, ClassSerial, Encoder, FrameId, FrameRecord,
    HeapDumpEndRecord, HeapDumpSegmentRecord, HeapRecord, Line, LoadClassRecord, Micros, Millis,
    ObjectId, Record, Root, StringId, StringRecord, ThreadSerial, TraceRecord, TraceSerial,
};
use hprof_heap::{Dump, Excluded, Heap, Memory, Options, Silent};

const THREAD_CLASS: u64 = 0x100;
const THREAD: u64 = 0x1000;
const LOCAL: u64 = 0x2000;

const TRACE: TraceSerial = TraceSerial(9);

/// A dump of a thread whose root names a trace; that with the frame of the thread is [`TRACE`].
fn file(of_root: TraceSerial) -> Vec<u8> {
    let mut out = Vec::new();
    let mut encoder = BinaryEncoder::new();
    encoder.start(Millis(0), &mut out);
    let mut put = |record: Record<'_>| encoder.record(Micros(0), &record, &mut out);
    let texts = [
        (1, "java/lang/Thread"),
        (2, "run"),
        (3, "()V"),
        (4, "Thread.java"),
    ];
    for (id, text) in texts {
        put(Record::String(StringRecord {
            id: StringId(id),
            text: text.as_bytes().into(),
        }));
    }
    put(Record::LoadClass(LoadClassRecord {
        serial: ClassSerial(1),
        class_object: ObjectId(THREAD_CLASS),
        trace: TraceSerial(0),
        name: StringId(1),
    }));
    let thread = ThreadSerial(7);
    let mut first = Vec::new();
    HeapRecord::Class(ClassDump {
        class: ObjectId(THREAD_CLASS),
        ..ClassDump::default()
    })
    .write(&mut first);
    HeapRecord::Instance {
        object: ObjectId(THREAD),
        trace: TraceSerial(0),
        class: ObjectId(THREAD_CLASS),
        fields: &[],
    }
    .write(&mut first);
    let content = first.as_slice().into();
    put(Record::HeapDumpSegment(HeapDumpSegmentRecord { content }));
    put(Record::Frame(FrameRecord {
        id: FrameId(5),
        method: StringId(2),
        signature: StringId(3),
        source_file: StringId(4),
        class: ClassSerial(1),
        line: Line::Number(42),
    }));
    put(Record::Trace(TraceRecord {
        serial: TRACE,
        thread,
        frames: vec![FrameId(5)].into(),
    }));
    let mut second = Vec::new();
    HeapRecord::PrimitiveArray {
        object: ObjectId(LOCAL),
        trace: TraceSerial(0),
        element: BasicType::Byte,
        elements: &[0; 100],
    }
    .write(&mut second);
    for (object, root) in [
        (
            THREAD,
            Root::Thread {
                thread,
                trace: of_root,
            },
        ),
        (LOCAL, Root::JavaFrame { thread, frame: 0 }),
    ] {
        let object = ObjectId(object);
        HeapRecord::Root { object, root }.write(&mut second);
    }
    let content = second.as_slice().into();
    put(Record::HeapDumpSegment(HeapDumpSegmentRecord { content }));
    put(Record::HeapDumpEnd(HeapDumpEndRecord));
    out
}

#[test]
fn a_thread_has_the_frames_that_stand_between_its_segments() {
    let (excluded, memory) = (Excluded::default(), Memory::unlimited());
    model::with_heap(&file(TRACE), excluded, memory, |heap| {
        assert_eq!(heap.stacks_of_unknown_threads().len(), 0);
        let (threads, all) = heap.threads(10).expect("it is sound");
        assert_eq!(all, 1);
        let [frame] = &threads[0].frames[..] else {
            panic!("{threads:?}");
        };
        assert_eq!(&*frame.frame, "java.lang.Thread.run(Thread.java:42)");
        assert_eq!(frame.locals[0].id, ObjectId(LOCAL));
    });
}

/// Its thread roots all name one trace without frames, and count other threads than its traces do.
#[test]
fn the_stacks_of_jhsdb_are_those_of_threads_that_are_not_known() {
    let (excluded, memory) = (Excluded::default(), Memory::unlimited());
    model::with_heap(&file(TraceSerial(1)), excluded, memory, |heap| {
        let (threads, _) = heap.threads(10).expect("it is sound");
        let frames = threads[0].frames.iter().map(|frame| &*frame.frame);
        assert_eq!(frames.collect::<Vec<_>>(), [""]);
        let stacks = heap.stacks_of_unknown_threads();
        let [stack] = &stacks[..] else {
            panic!("{stacks:?}");
        };
        assert_eq!(&*stack[0], "java.lang.Thread.run(Thread.java:42)");
    });
}

#[test]
fn gaps_where_fillers_were_do_not_change_the_sizes() {
    // A header of 16 bytes, sizes that are multiples of 8, and a gap after each third array.
    let (mut content, mut next, mut bytes) = (Vec::new(), 0x8_0000_0000_u64, 0);
    for place in 0..300_u64 {
        let length = 1 + place * 7 % 50;
        let object = ObjectId(next);
        HeapRecord::PrimitiveArray {
            object,
            trace: TraceSerial(0),
            element: BasicType::Byte,
            elements: &vec![1; usize::try_from(length).expect("few")],
        }
        .write(&mut content);
        let root = Root::StickyClass;
        HeapRecord::Root { object, root }.write(&mut content);
        let size = (16 + length).next_multiple_of(8);
        bytes += size;
        next += size;
        if place % 3 == 2 {
            next += 8 * (1 + place % 60);
        }
    }
    let file = model::dump([].into_iter(), [].into_iter(), &content);
    let file = model::file(&file);
    let dump = Dump::open(&file, None).expect("a dump");
    let options = Options {
        layout: None,
        excluded: Excluded::default(),
        memory: Memory::unlimited(),
    };
    let heap = Heap::of(&dump, &options, &Silent).expect("it is sound");
    let summary = heap.summary().expect("it is sound");
    assert_eq!((summary.objects, summary.bytes), (300, bytes));
    assert!(summary.layout.to_string().contains("found"), "{summary:?}");
}
