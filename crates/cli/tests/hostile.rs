//! Small files that are made to consume much: every command processes them, with memory and output in proportion to the
//! file, or refuses them with a line. And a command that gets no memory ends with a line.

use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use hprof_format::*;

/// The kilobytes of address space that a command may use.
const LIMIT: u32 = 700_000;
/// The most bytes of text for a file of a few megabytes.
const OUTPUT: u64 = 200 << 20;

const OBJECT: u64 = 0x7_0000_0008;
const THREAD: u64 = 0x7_0000_0010;
const ARRAY: u64 = 0x7_0000_0018;
/// The first ids of a test's classes and objects.
const CLASSES: u64 = 0x7_0001_0000;
const OBJECTS: u64 = 0x7_1000_0000;

/// A file, and the content of the heap dump at its end.
struct Hostile {
    encoder: BinaryEncoder,
    file: Vec<u8>,
    dump: Vec<u8>,
}

impl Hostile {
    fn new() -> Hostile {
        let mut hostile = Hostile {
            encoder: BinaryEncoder::new(),
            file: Vec::new(),
            dump: Vec::new(),
        };
        hostile.encoder.start(Millis(0), &mut hostile.file);
        hostile.trace(1, 0);
        for (id, object, name) in [
            (1, OBJECT, "java/lang/Object"),
            (2, THREAD, "java/lang/Thread"),
            (3, ARRAY, "[Ljava/lang/Object;"),
        ] {
            hostile.string(id, name.as_bytes());
            hostile.load(object, id);
        }
        hostile.class(OBJECT, 0);
        hostile.class(THREAD, OBJECT);
        hostile.class(ARRAY, OBJECT);
        hostile
    }

    fn record(&mut self, record: &Record<'_>) {
        self.encoder.record(Micros(0), record, &mut self.file);
    }

    fn string(&mut self, id: u64, text: &[u8]) {
        self.record(&Record::String(StringRecord {
            id: StringId(id),
            text: text.into(),
        }));
    }

    fn load(&mut self, object: u64, name: u64) {
        self.record(&Record::LoadClass(LoadClassRecord {
            serial: ClassSerial(object as u32),
            class_object: ObjectId(object),
            trace: TraceSerial(1),
            name: StringId(name),
        }));
    }

    fn frame(&mut self, id: u64, name: u64, class: u64, line: u32) {
        self.record(&Record::Frame(FrameRecord {
            id: FrameId(id),
            method: StringId(name),
            signature: StringId(name),
            source_file: StringId(name),
            class: ClassSerial(class as u32),
            line: Line::Number(line),
        }));
    }

    /// Adds a trace of `frames` frames, whose ids count up from 1.
    fn trace(&mut self, serial: u32, frames: u64) {
        let frames: Vec<FrameId> = (1..=frames).map(FrameId).collect();
        self.record(&Record::Trace(TraceRecord {
            serial: TraceSerial(serial),
            thread: ThreadSerial(0),
            frames: frames.into(),
        }));
    }

    fn class(&mut self, object: u64, above: u64) {
        HeapRecord::Class(ClassDump {
            class: ObjectId(object),
            trace: TraceSerial(1),
            super_class: ObjectId(above),
            ..ClassDump::default()
        })
        .write(&mut self.dump);
    }

    fn instance(&mut self, object: u64, class: u64, trace: u32) {
        HeapRecord::Instance {
            object: ObjectId(object),
            trace: TraceSerial(trace),
            class: ObjectId(class),
            fields: &[],
        }
        .write(&mut self.dump);
    }

    fn root(&mut self, object: u64, root: Root) {
        let object = ObjectId(object);
        HeapRecord::Root { object, root }.write(&mut self.dump);
    }

    /// Writes the file, which has at most 7 MB.
    fn write(mut self, name: &str) -> PathBuf {
        let content = std::mem::take(&mut self.dump).into();
        self.record(&Record::HeapDumpSegment(HeapDumpSegmentRecord { content }));
        self.record(&Record::HeapDumpEnd(HeapDumpEndRecord));
        assert!(self.file.len() < 7 << 20, "{} bytes", self.file.len());
        let path = path(name);
        fs::write(&path, self.file).expect("the target directory can be written");
        path
    }
}

fn path(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hostile");
    fs::create_dir_all(&folder).expect("the target directory can be written");
    folder.join(name)
}

/// Runs `hprof` with that many kilobytes of address space.
fn limited(limit: u32, arguments: &[&str], output: Stdio) -> Output {
    Command::new("sh")
        .args(["-c", "ulimit -v $0 && exec \"$@\""])
        .arg(limit.to_string())
        .arg(env!("CARGO_BIN_EXE_hprof"))
        .args(arguments)
        .stdout(output)
        .output()
        .expect("sh starts")
}

/// Runs a command with its output in a file; it must succeed within [`LIMIT`] and [`OUTPUT`].
fn answers(arguments: &[&str], file: &Path) {
    let name = file.file_name().and_then(|name| name.to_str());
    let out = path(&format!("{}.out", name.expect("a name")));
    let stdout = File::create(&out).expect("the target directory can be written");
    let (command, rest) = arguments.split_at(1 + usize::from(arguments[0] == "heap"));
    let arguments = [command, &[file.to_str().expect("a name")], rest].concat();
    let answer = limited(LIMIT, &arguments, stdout.into());
    let said = String::from_utf8_lossy(&answer.stderr);
    assert!(
        answer.status.success(),
        "{arguments:?}: {} {said}",
        answer.status
    );
    let length = fs::metadata(&out).expect("it was written").len();
    assert!(length <= OUTPUT, "{arguments:?}: {length} bytes of text");
    fs::remove_file(out).expect("it is ours");
}

/// Runs every command that reads a heap dump.
fn every_heap_command_answers(file: &Path) {
    let page = path(&format!("{}.html", file.display()).replace('/', "_"));
    let page = page.to_str().expect("a name");
    for arguments in [
        &["heap", "summary"][..],
        &["heap", "histogram"],
        &["heap", "histogram", "--by", "site"],
        &["heap", "leaks"],
        &["heap", "retained", "--by", "object"],
        &["heap", "retained", "--by", "loader"],
        &["heap", "retained", "--by", "site", "--json"],
        &["heap", "threads"],
        &["heap", "paths", "--class", "java.lang.Object"],
        &["heap", "show", "0x700000008"],
        &["report", "-o", page],
    ] {
        answers(arguments, file);
    }
    let text = limited(
        LIMIT,
        &["text", file.to_str().expect("a name")],
        Stdio::null(),
    );
    let said = String::from_utf8_lossy(&text.stderr);
    let is_refused = text.status.code() == Some(1) && said.contains("--no-limit");
    assert!(
        text.status.success() || is_refused,
        "{} {said}",
        text.status
    );
    assert!(fs::metadata(page).expect("a page").len() <= OUTPUT);
    fs::remove_file(page).expect("it is ours");
}

#[test]
fn thousands_of_classes_share_one_long_name() {
    let mut hostile = Hostile::new();
    hostile.string(9, "N/".repeat(2_500_000).as_bytes());
    for class in (0..2_000).map(|class| CLASSES + 8 * class) {
        hostile.load(class, 9);
        hostile.class(class, OBJECT);
        hostile.root(class, Root::StickyClass);
        hostile.instance(class + OBJECTS - CLASSES, class, 1);
    }
    every_heap_command_answers(&hostile.write("names"));
}

#[test]
fn what_a_terminal_would_act_on_does_not_make_a_name_longer() {
    let mut hostile = Hostile::new();
    hostile.string(9, &[1; 5_000_000]);
    hostile.load(CLASSES, 9);
    hostile.class(CLASSES, OBJECT);
    let file = hostile.write("control");
    let histogram = limited(
        LIMIT,
        &["heap", "histogram", file.to_str().expect("a name")],
        Stdio::piped(),
    );
    assert!(histogram.status.success());
    assert!(
        histogram.stdout.len() < 2_000,
        "{} bytes",
        histogram.stdout.len()
    );
}

#[test]
fn thousands_of_sites_share_one_long_stack() {
    let mut hostile = Hostile::new();
    hostile.string(9, &[b'n'; 100_000]);
    hostile.load(CLASSES, 9);
    for frame in 1..1_000 {
        hostile.frame(frame, 9, CLASSES, frame as u32);
    }
    hostile.trace(2, 100_000);
    for class in (0..20_000).map(|class| CLASSES + 8 * class) {
        hostile.load(class, 9);
        hostile.class(class, OBJECT);
        hostile.instance(class + OBJECTS - CLASSES, class, 2);
        hostile.root(class + OBJECTS - CLASSES, Root::StickyClass);
    }
    let thread = OBJECTS - 8;
    hostile.instance(thread, THREAD, 1);
    let (serial, trace) = (ThreadSerial(1), TraceSerial(2));
    let root = Root::Thread {
        thread: serial,
        trace,
    };
    hostile.root(thread, root);
    every_heap_command_answers(&hostile.write("stacks"));
}

#[test]
fn a_hundred_thousand_threads_and_their_locals_are_listed() {
    let mut hostile = Hostile::new();
    for number in 0..100_000_u32 {
        let object = OBJECTS + 16 * u64::from(number);
        let thread = ThreadSerial(number + 1);
        let trace = TraceSerial(1);
        hostile.root(object, Root::Thread { thread, trace });
        hostile.root(OBJECT, Root::JavaFrame { thread, frame: 0 });
    }
    for number in 0..100_000 {
        hostile.instance(OBJECTS + 16 * number, THREAD, 1);
    }
    answers(&["heap", "threads"], &hostile.write("threads"));
}

#[test]
fn a_stack_of_thousands_of_frames_is_a_tree_without_a_triangle_of_blanks() {
    let mut hostile = Hostile::new();
    hostile.string(9, b"Main");
    hostile.load(CLASSES, 9);
    for frame in 1..=20_000 {
        hostile.frame(frame, 9, CLASSES, frame as u32);
    }
    hostile.trace(2, 20_000);
    let (count, trace) = (1, TraceSerial(2));
    hostile.record(&Record::CpuSamples(CpuSamplesRecord {
        total: 1,
        rows: [CpuSample { count, trace }][..].into(),
    }));
    let file = hostile.write("deep");
    let file = file.to_str().expect("a name");
    let tree = limited(
        LIMIT,
        &["tree", "--by", "line", "--depth", "20000", file],
        Stdio::piped(),
    );
    assert!(tree.status.success());
    let tree = String::from_utf8(tree.stdout).expect("UTF-8");
    // 20,000 lines of figures, name, and at most 100 levels of blanks.
    assert!(tree.len() < 20_000 * 300, "{} bytes", tree.len());
    let line = |text: &str| {
        tree.lines()
            .find(|line| line.ends_with(text))
            .map(str::to_owned)
    };
    let shallow = line(" Main.Main(Main:19951)").expect("level 50");
    assert!(shallow.ends_with(&format!("{}Main.Main(Main:19951)", "  ".repeat(49))));
    let deep = line("Main.Main(Main:1)").expect("the innermost frame");
    assert!(deep.ends_with("  [20000] Main.Main(Main:1)"), "{deep}");
    for arguments in [&["top"][..], &["export", "--to", "speedscope"]] {
        answers(arguments, Path::new(file));
    }
}

#[test]
fn text_ends_with_an_error_where_it_is_out_of_all_proportion_to_its_file() {
    let mut hostile = Hostile::new();
    hostile.string(9, &[b'n'; 100_000]);
    hostile.load(CLASSES, 9);
    hostile.frame(1, 9, CLASSES, 1);
    // Names are cut after 400 bytes, of which a frame has three.
    hostile.record(&Record::Trace(TraceRecord {
        serial: TraceSerial(2),
        thread: ThreadSerial(0),
        frames: vec![FrameId(1); 100_000].into(),
    }));
    let file = hostile.write("text");
    let file = file.to_str().expect("a name");
    let out = path("text.out");
    let out = out.to_str().expect("a name");
    let text = limited(LIMIT, &["text", "-o", out, file], Stdio::null());
    let said = String::from_utf8_lossy(&text.stderr);
    assert_eq!(text.status.code(), Some(1), "{said}");
    assert!(
        said.contains(": byte ") && said.contains("--no-limit") && said.lines().count() == 1,
        "{said}"
    );
    let length = fs::metadata(out).expect("it was written").len();
    // What is allowed for any file, and a hundred times this one.
    assert!(
        (64 << 20..80 << 20).contains(&(length + 400_000)),
        "{length}"
    );
    let text = limited(LIMIT, &["text", "--no-limit", file], Stdio::null());
    assert!(text.status.success());
    fs::remove_file(out).expect("it is ours");
}

#[test]
fn samples_that_name_one_long_stack_again_and_again_are_refused() {
    let repeated = |rows| {
        let mut hostile = Hostile::new();
        hostile.string(9, b"Main");
        hostile.load(CLASSES, 9);
        for frame in 1..=10_000 {
            hostile.frame(frame, 9, CLASSES, frame as u32);
        }
        hostile.trace(2, 10_000);
        let (count, trace) = (1, TraceSerial(2));
        hostile.record(&Record::CpuSamples(CpuSamplesRecord {
            total: rows,
            rows: vec![CpuSample { count, trace }; rows as usize].into(),
        }));
        hostile.write(&format!("repeated-{rows}"))
    };
    answers(&["top"], &repeated(100));
    let file = repeated(20_000);
    let file = file.to_str().expect("a name");
    let out = path("repeated.out");
    let out = out.to_str().expect("a name");
    for arguments in [
        &["top", file][..],
        &["tree", file],
        &["merge", "-o", out, file],
    ] {
        let answer = limited(LIMIT, arguments, Stdio::null());
        let said = String::from_utf8_lossy(&answer.stderr);
        assert_eq!(answer.status.code(), Some(1), "{said}");
        assert!(said.contains("have 200000000 frames"), "{said}");
    }
}

#[test]
fn what_the_firefox_profiler_has_no_number_for_is_divided_and_that_is_said() {
    let file = path("huge.txt");
    fs::write(
        &file,
        "count callee caller time\n9223372036854775807 A.a()V B.b()V 1\n",
    )
    .expect("the target directory can be written");
    let file = file.to_str().expect("a name");
    let export = limited(LIMIT, &["export", "--to", "firefox", file], Stdio::piped());
    let said = String::from_utf8_lossy(&export.stderr);
    assert!(export.status.success(), "{} {said}", export.status);
    assert!(said.contains("divided by 1000000"), "{said}");
    assert!(
        export.stdout.len() < 2 << 20,
        "{} bytes",
        export.stdout.len()
    );
    let page = String::from_utf8_lossy(&export.stdout);
    assert!(page.contains(", divided by 1000000"));
}

#[test]
fn a_stack_of_very_many_frames_is_drawn_to_a_depth() {
    let mut hostile = Hostile::new();
    hostile.string(9, b"Main");
    hostile.load(CLASSES, 9);
    hostile.frame(1, 9, CLASSES, 1);
    let frames = vec![FrameId(1); 800_000];
    hostile.record(&Record::Trace(TraceRecord {
        serial: TraceSerial(2),
        thread: ThreadSerial(0),
        frames: frames.into(),
    }));
    let (count, trace) = (1, TraceSerial(2));
    hostile.record(&Record::CpuSamples(CpuSamplesRecord {
        total: 1,
        rows: vec![CpuSample { count, trace }].into(),
    }));
    let file = hostile.write("deep");
    let length = fs::metadata(&file).expect("it was written").len();
    let file = file.to_str().expect("a name");
    let svg = path("deep.svg");
    let arguments = ["flame", "-o", svg.to_str().expect("a name"), file];
    let drawn = limited(2 * LIMIT, &arguments, Stdio::piped());
    assert!(drawn.status.success(), "{drawn:?}");
    let drawn = fs::read_to_string(&svg).expect("it was written");
    assert!((drawn.len() as u64) < length, "{} > {length}", drawn.len());
    assert!(drawn.contains("more frames"));
    let tree = limited(2 * LIMIT, &["tree", file], Stdio::piped());
    assert!(tree.status.success());
    assert!((tree.stdout.len() as u64) < length);
    let tree = String::from_utf8_lossy(&tree.stdout);
    assert!(tree.contains("nodes are left out by --min 0.5 and --depth 10000"));
}

/// Creates a dump of one array of 3 GB of zeros; the file takes no room on the disk.
fn one_large_array() -> PathBuf {
    let length = 3_000_000_000_u32;
    let mut hostile = Hostile::new();
    hostile.root(OBJECTS, Root::JniGlobal { reference: 1 });
    let mut dump = std::mem::take(&mut hostile.dump);
    dump.push(0x23);
    dump.extend(OBJECTS.to_be_bytes());
    dump.extend([0, 0, 0, 1]);
    dump.extend((length / 8).to_be_bytes());
    dump.push(BasicType::Long as u8);
    let mut head = std::mem::take(&mut hostile.file);
    head.push(0x1c);
    head.extend([0; 4]);
    head.extend((dump.len() as u32 + length).to_be_bytes());
    head.extend(dump);
    hostile.record(&Record::HeapDumpEnd(HeapDumpEndRecord));
    let path = path("large");
    let mut file = File::create(&path).expect("the target directory can be written");
    file.write_all(&head).expect("there is room");
    file.seek(SeekFrom::Current(length.into())).expect("a file");
    file.write_all(&hostile.file).expect("there is room");
    path
}

#[test]
fn tables_are_as_large_as_what_a_dump_holds_and_not_as_the_file() {
    let file = one_large_array();
    for command in ["summary", "histogram", "threads"] {
        let arguments = ["heap", command, file.to_str().expect("a name")];
        let answer = limited(4_000_000, &arguments, Stdio::piped());
        let said = String::from_utf8_lossy(&answer.stderr);
        assert!(
            answer.status.success(),
            "{command}: {} {said}",
            answer.status
        );
    }
    fs::remove_file(file).expect("it is ours");
}

#[test]
fn a_command_that_gets_no_memory_ends_with_a_line() {
    let mut hostile = Hostile::new();
    for number in 0..200_000 {
        hostile.instance(OBJECTS + 16 * number, OBJECT, 1);
    }
    let file = hostile.write("objects");
    let file = file.to_str().expect("a name");
    let mut refused = 0;
    let limits = |from| (from..160).step_by(4).map(|megabytes| megabytes * 1024);
    // Below that, the system has no room for the program itself.
    let starts = |&limit: &u32| {
        limited(limit, &["--version"], Stdio::piped())
            .status
            .success()
    };
    let lowest = limits(8).find(starts).expect("the program starts");
    for limit in limits(lowest / 1024) {
        let answer = limited(limit, &["heap", "summary", file], Stdio::piped());
        let said = String::from_utf8_lossy(&answer.stderr);
        match answer.status.code() {
            Some(0) => assert!(said.is_empty(), "{limit}: {said}"),
            Some(1) => {
                refused += 1;
                assert!(
                    said.starts_with("hprof: ") && said.lines().count() == 1,
                    "{limit}: {said}"
                );
                assert!(said.contains("memory"), "{limit}: {said}");
            }
            _ => panic!("{limit}: {} {said}", answer.status),
        }
    }
    assert!(refused > 0, "some of the limits are too low");
}
