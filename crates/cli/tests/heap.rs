//! Heap dumps from every kind of input: some must be read twice.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::UNIX_EPOCH;

use flate2::Compression;
use flate2::write::GzEncoder;
use hprof_format::{
    BasicType, BinaryEncoder, ClassDump, ClassSerial, ControlSettingsRecord, Encoder,
    HeapDumpEndRecord, HeapDumpSegmentRecord, HeapRecord, LoadClassRecord, Micros, Millis,
    ObjectId, Record, Root, StringId, StringRecord, ThreadSerial, TraceRecord, TraceSerial,
};
use hprof_testing::empty_folder;

const TRACE: TraceSerial = TraceSerial(300_000);
const POINT: ObjectId = ObjectId(0x700);

/// Returns a file whose dump has instances before their class, so that `check` needs a second pass, and no totals, so
/// that `text` needs one; one record of 100 KB makes sure that the second pass has to go back beyond the buffer.
fn profile(next: u64) -> Vec<u8> {
    profile_with(next, &[7; 100_000])
}

/// Returns the same with another array.
fn profile_with(next: u64, elements: &[u8]) -> Vec<u8> {
    let fields = next.to_be_bytes();
    let point = |object| HeapRecord::Instance {
        object: ObjectId(object),
        trace: TRACE,
        class: POINT,
        fields: &fields,
    };
    let dump = [
        point(0x800),
        HeapRecord::PrimitiveArray {
            object: ObjectId(0x808),
            trace: TRACE,
            element: BasicType::Byte,
            elements,
        },
        HeapRecord::Class(ClassDump {
            class: POINT,
            trace: TRACE,
            instance_size: 8,
            fields: [(StringId(2), BasicType::Object)][..].into(),
            ..ClassDump::default()
        }),
        point(0x810),
        HeapRecord::Root {
            object: ObjectId(0x800),
            root: Root::StickyClass,
        },
    ];
    let mut content = Vec::new();
    for record in &dump {
        record.write(&mut content);
    }
    let string = |id, text: &'static str| {
        Record::String(StringRecord {
            id: StringId(id),
            text: text.as_bytes().into(),
        })
    };
    let records = [
        Record::ControlSettings(ControlSettingsRecord { flags: 0, depth: 4 }),
        Record::Trace(TraceRecord {
            serial: TRACE,
            thread: ThreadSerial(0),
            frames: [][..].into(),
        }),
        string(1, "Point"),
        string(2, "next"),
        Record::LoadClass(LoadClassRecord {
            serial: ClassSerial(100_001),
            class_object: POINT,
            trace: TRACE,
            name: StringId(1),
        }),
        Record::HeapDumpSegment(HeapDumpSegmentRecord {
            content: content.into(),
        }),
        Record::HeapDumpEnd(HeapDumpEndRecord),
    ];
    let mut out = Vec::new();
    let mut encoder = BinaryEncoder::new();
    encoder.start(Millis(1_795_171_151_000), &mut out);
    for record in &records {
        encoder.record(Micros(0), record, &mut out);
    }
    out
}

/// Returns the outputs of `hprof <command>` for the bytes: as a file, redirected, and through a pipe; plain and
/// compressed.
fn outputs(command: &[&str], test: &str, bytes: &[u8]) -> Vec<Output> {
    outputs_before(command, &[], test, bytes)
}

/// As [`outputs`], with arguments after the file.
fn outputs_before(command: &[&str], rest: &[&str], test: &str, bytes: &[u8]) -> Vec<Output> {
    let directory = empty_folder!(test);
    let mut compressed = GzEncoder::new(Vec::new(), Compression::fast());
    compressed.write_all(bytes).expect("memory takes it");
    let compressed = compressed.finish().expect("memory takes it");
    let hprof = || {
        let mut hprof = Command::new(env!("CARGO_BIN_EXE_hprof"));
        hprof.env("TZ", "UTC").args(command);
        hprof
    };
    let mut outputs = Vec::new();
    for bytes in [bytes, &compressed] {
        let path = directory.join("x.hprof");
        fs::write(&path, bytes).expect("the target directory can be written");
        outputs.push(
            hprof()
                .arg(&path)
                .args(rest)
                .output()
                .expect("the tool starts"),
        );
        let file = File::open(&path).expect("it is there");
        let redirected = hprof().arg("-").args(rest).stdin(file).output();
        outputs.push(redirected.expect("the tool starts"));
        let mut piped = hprof()
            .arg("-")
            .args(rest)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the tool starts");
        let mut stdin = piped.stdin.take().expect("a pipe");
        // The output of `check` is short, so neither side blocks; `text` prints little about this file.
        stdin.write_all(bytes).expect("the tool reads");
        drop(stdin);
        outputs.push(piped.wait_with_output().expect("the tool ends"));
    }
    outputs
}

#[test]
fn check_reads_twice_from_everywhere() {
    for output in outputs(&["check"], "heap_sound", &profile(0x800)) {
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{stderr}");
        let stdout = String::from_utf8_lossy(&output.stdout);
        assert!(stdout.contains("         2   INSTANCE DUMP\n"), "{stdout}");
    }
}

#[test]
fn a_fault_has_its_place_from_everywhere() {
    let file = profile(0x801);
    let content = file
        .windows(9)
        .position(|bytes| bytes == b"\x21\0\0\0\0\0\0\x08\0");
    let offset = content.expect("the first instance");
    for output in outputs(&["check"], "heap_fault", &file) {
        assert_eq!(output.status.code(), Some(1));
        let stderr = String::from_utf8_lossy(&output.stderr);
        let expected = format!(
            "byte {offset}: INSTANCE DUMP 0x800 has the field 0x801, which is not in this heap dump\n"
        );
        assert!(stderr.ends_with(&expected), "{stderr}");
    }
}

#[test]
fn text_counts_before_it_prints_from_everywhere() {
    let mut texts = Vec::new();
    for output in outputs(&["text"], "heap_text", &profile(0x800)) {
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{stderr}");
        texts.push(String::from_utf8(output.stdout).expect("UTF-8"));
    }
    let dump = "\
HEAP DUMP BEGIN (3 objects, 100056 bytes) Fri Nov 20 10:39:11 2026
OBJ 800 (sz=24, trace=300000, class=Point@700)
ARR 808 (sz=100016, trace=300000, nelems=100000, elem type=byte[])
CLS 700 (name=Point, trace=300000)
OBJ 810 (sz=16, trace=300000, class=Point@700)
\tnext\t\t800
ROOT 800 (kind=<system class>, name=<unknown>)
HEAP DUMP END
";
    for text in &texts {
        assert!(text.ends_with(dump), "{text}");
    }
}

#[test]
fn questions_have_the_same_answers_from_everywhere_and_as_json() {
    let file = profile(0x800);
    for command in [
        &["summary"][..],
        &["histogram"],
        &["histogram", "--retained", "--by", "package"],
        &["leaks"],
        &["retained", "--by", "object"],
        &["retained", "--by", "site", "--exact"],
        &["paths", "--class", "Point"],
        &["who", "--class", "Point"],
        &["show", "0x800"],
        &["threads"],
    ] {
        for json in [&[][..], &["--json"]] {
            // The file comes directly after the name of the question.
            let (name, rest) = command.split_at(1);
            let (question, id) = match name {
                ["show"] => (&[][..], rest),
                _ => (rest, &[][..]),
            };
            let command = [&["heap"], name, question, json].concat();
            let mut answers = Vec::new();
            for output in outputs_before(&command, id, "heap_questions", &file) {
                let stderr = String::from_utf8_lossy(&output.stderr);
                assert!(output.status.success(), "{command:?}: {stderr}");
                answers.push(String::from_utf8(output.stdout).expect("UTF-8"));
            }
            assert!(!answers[0].is_empty() || name == ["threads"], "{command:?}");
            assert!(
                answers.iter().all(|answer| *answer == answers[0]),
                "{command:?}: {answers:#?}"
            );
            if !json.is_empty() {
                let parsed: serde_json::Value = serde_json::from_str(&answers[0]).expect("JSON");
                assert!(parsed.is_object() || parsed.is_array(), "{command:?}");
            }
        }
    }
}

/// Returns a dump as Android writes it: ids of 4 bytes, objects of two heaps, an array without its elements, roots of
/// its own.
fn android() -> Vec<u8> {
    let mut file = b"JAVA PROFILE 1.0.3\0".to_vec();
    file.extend(4_u32.to_be_bytes());
    file.extend(0_u64.to_be_bytes());
    let mut record = |tag: u8, parts: &[&[u8]]| {
        let body = parts.concat();
        file.push(tag);
        file.extend([0; 4]);
        file.extend((body.len() as u32).to_be_bytes());
        file.extend(body);
    };
    let word = |word: u32| word.to_be_bytes();
    for (id, text) in [
        (1, "java.lang.Object"),
        (2, "app.Keeper"),
        (3, "held"),
        (4, "app"),
        (5, "zygote"),
    ] {
        record(0x01, &[&word(id), text.as_bytes()]);
    }
    for (serial, class, name) in [(1, 0x10, 1), (2, 0x20, 2)] {
        record(0x02, &[&word(serial), &word(class), &word(0), &word(name)]);
    }
    let mut content = Vec::new();
    let mut put = |tag: u8, parts: &[&[u8]]| {
        content.push(tag);
        content.extend(parts.concat());
    };
    let class = |id: u32, above: u32, fields: &[u8]| {
        let mut body = [word(id), word(0), word(above)].concat();
        body.extend([0; 4 * 5 + 4 + 2 + 2]);
        body.extend(fields);
        body
    };
    put(0xfe, &[&word(90), &word(5)]);
    put(0x20, &[&class(0x10, 0, &[0, 0])]);
    put(0xfe, &[&word(65), &word(4)]);
    put(0x20, &[&class(0x20, 0x10, &[0, 1, 0, 0, 0, 3, 2])]);
    // A keeper that holds another one, which holds an array of 1000 ints without its elements; one keeper is
    // unreachable.
    for (id, held) in [(0x100, 0x110), (0x110, 0x120), (0x130, 0)] {
        put(
            0x21,
            &[&word(id), &word(0), &word(0x20), &word(4), &word(held)],
        );
    }
    put(0xc3, &[&word(0x120), &word(0), &word(1000), &[10]]);
    // Interned string, debugger, VM internal.
    put(0x8b, &[&word(0x100)]);
    put(0x8d, &[&word(0x10)]);
    put(0x8d, &[&word(0x20)]);
    record(0x1c, &[&content]);
    record(0x2c, &[]);
    file
}

#[test]
fn a_dump_of_android_is_understood() {
    let arguments = [
        "heap",
        "retained",
        "--by",
        "object",
        "--class",
        "app.Keeper",
        "--bytes",
    ];
    for output in outputs(&arguments, "heap_android", &android()) {
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{stderr}");
        // Headers of 8 bytes and references of 4: 16 for a keeper, 12 + 4000 for the array.
        let expected = "\
layout: header 8, references 4, alignment 8 bytes (assumed; --layout sets another)
        shallow        retained  object
             16           4,048  app.Keeper @ 0x100
             16           4,032  app.Keeper @ 0x110
";
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
    }
}

/// Runs `hprof heap` with a cache folder of its own.
fn heap(arguments: &[&str], file: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_hprof"))
        .arg("heap")
        .args(arguments)
        .arg(file)
        .env("XDG_CACHE_HOME", cache_beside(file))
        .output()
        .expect("the command starts")
}

fn cache_beside(file: &Path) -> PathBuf {
    file.with_file_name("cache")
}

/// Returns the files of a folder.
fn names(folder: &Path) -> Vec<String> {
    let files = fs::read_dir(folder).into_iter().flatten();
    let names = files.map(|file| file.expect("readable").file_name().into_string());
    let mut names: Vec<String> = names.collect::<Result<_, _>>().expect("UTF-8");
    names.sort();
    names
}

const QUESTIONS: [&[&str]; 9] = [
    &["summary"],
    &["leaks", "--json"],
    &["leaks"],
    &["retained", "--by", "object"],
    &["retained", "--by", "site", "--exact"],
    &["histogram"],
    &["histogram", "--retained"],
    &["paths", "--class", "Point"],
    &["threads"],
];

#[test]
fn questions_are_answered_from_an_index_until_the_dump_changes() {
    let folder = empty_folder!("index");
    let file = folder.join("x.hprof");
    fs::write(&file, profile(0x810)).expect("room for it");
    let index = folder.join("x.hprof.index");
    let ask = || QUESTIONS.map(|question| heap(question, &file)).to_vec();
    let before = ask();
    assert_eq!(
        names(&folder),
        ["x.hprof"],
        "it is too small to get one by itself"
    );
    let made = heap(&["index"], &file);
    let said = String::from_utf8_lossy(&made.stdout);
    assert!(
        made.status.success() && said.contains("x.hprof.index: "),
        "{said}"
    );
    assert_eq!(ask(), before);
    // A damaged index is not used, and another dump is not mistaken for this one.
    let mut damaged = fs::read(&index).expect("it is there");
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    fs::write(&index, damaged).expect("room for it");
    assert_eq!(ask(), before);
    assert!(heap(&["index"], &file).status.success());
    fs::write(&file, profile(0)).expect("room for it");
    let changed = heap(&["summary", "--no-index"], &file);
    assert_eq!(heap(&["summary"], &file), changed);
    assert!(heap(&["index", "--remove"], &file).status.success());
    assert_eq!(names(&folder), ["x.hprof"]);
    let missing = heap(&["index", "--remove"], &file);
    let message = String::from_utf8_lossy(&missing.stderr);
    assert!(message.contains("there is no index"), "{message}");
    assert!(!missing.status.success());
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn the_first_question_about_a_large_dump_writes_its_index() {
    let folder = empty_folder!("large_index");
    let file = folder.join("x.hprof");
    fs::write(&file, profile_with(0x810, &vec![7; 33 << 20])).expect("room for it");
    let plain = heap(&["leaks", "--no-index"], &file);
    assert!(plain.status.success());
    assert_eq!(names(&folder), ["x.hprof"]);
    assert_eq!(heap(&["leaks"], &file), plain);
    assert_eq!(names(&folder), ["x.hprof", "x.hprof.index"]);
    let index = folder.join("x.hprof.index");
    let found = fs::metadata(&index).expect("it is there");
    assert_eq!(found.permissions().mode() & 0o777, 0o600);
    assert_eq!(heap(&["leaks"], &file), plain);
    let same = fs::metadata(&index).expect("it is there");
    assert_eq!(same.modified().ok(), found.modified().ok());
    // One for other options does not replace it.
    assert!(
        heap(&["leaks", "--exclude", "none"], &file)
            .status
            .success()
    );
    let same = fs::metadata(&index).expect("it is there");
    assert_eq!(same.modified().ok(), found.modified().ok());
    // A file that is not an index stays, and the cache has the index.
    fs::write(&index, "mine").expect("room for it");
    assert_eq!(heap(&["leaks"], &file), plain);
    assert_eq!(fs::read(&index).ok().as_deref(), Some(&b"mine"[..]));
    let cache = cache_beside(&file).join("hprof");
    let cached = names(&cache);
    assert!(
        matches!(&cached[..], [name] if name.starts_with("x.hprof.")),
        "{cached:?}"
    );
    assert_eq!(heap(&["leaks"], &file), plain);
    assert_eq!(names(&cache), cached);
    // Where there is no place for an index, the answer comes with a word about it.
    let kept = fs::read(cache.join(&cached[0])).expect("it is there");
    fs::write(cache.join(&cached[0]), "mine").expect("room for it");
    let without = heap(&["leaks"], &file);
    assert!(without.status.success());
    assert_eq!(without.stdout, plain.stdout);
    let said = String::from_utf8_lossy(&without.stderr);
    let is_told = said.starts_with("hprof: warning: ") && said.contains("without an index");
    assert!(is_told && said.lines().count() == 1, "{said}");
    fs::write(cache.join(&cached[0]), kept).expect("room for it");
    // One that nobody has used for long goes when another is written; what is no index stays.
    let all = [("old.index", &b"hprofix"[..]), ("other", &b"mine"[..])];
    for (name, content) in all {
        fs::write(cache.join(name), content).expect("room for it");
        let old = fs::FileTimes::new().set_accessed(UNIX_EPOCH);
        let old = old.set_modified(UNIX_EPOCH);
        let opened = fs::File::options().append(true).open(cache.join(name));
        let set = opened.and_then(|file| file.set_times(old));
        set.expect("it is ours");
    }
    assert!(heap(&["index"], &file).status.success());
    assert_eq!(names(&cache), ["other", &cached[0]]);
    // The one in the cache is removed, although the file next to the dump is none.
    assert!(heap(&["index", "--remove"], &file).status.success());
    assert_eq!(names(&cache), ["other"]);
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn a_compressed_dump_is_unpacked_once() {
    let folder = empty_folder!("compressed_index");
    let (plain, file) = (folder.join("x.hprof"), folder.join("x.hprof.gz"));
    let content = profile_with(0x810, &vec![7; 33 << 20]);
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(&content).expect("a vector has room");
    fs::write(&file, encoder.finish().expect("a vector has room")).expect("room for it");
    fs::write(&plain, &content).expect("room for it");
    let ask = |file: &Path| QUESTIONS.map(|question| heap(question, file).stdout);
    let expected = ask(&plain);
    let unpacked = |output: &Output| String::from_utf8_lossy(&output.stderr).contains("unpacked");
    let first = heap(&["leaks", "--no-index"], &file);
    assert!(first.status.success() && unpacked(&first));
    assert_eq!(names(&folder), ["x.hprof", "x.hprof.gz", "x.hprof.index"]);
    assert!(unpacked(&heap(&["leaks"], &file)));
    let all = ["x.hprof", "x.hprof.gz", "x.hprof.gz.index", "x.hprof.index"];
    assert_eq!(names(&folder), all);
    let later = heap(&["leaks"], &file);
    assert!(later.status.success() && !unpacked(&later));
    assert!(ask(&file) == expected);
    assert!(heap(&["index", "--remove"], &file).status.success());
    let made = heap(&["index"], &file);
    assert!(
        made.status.success(),
        "{}",
        String::from_utf8_lossy(&made.stderr)
    );
    assert!(ask(&file) == expected);
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn no_two_dumps_have_the_same_index() {
    let folder = empty_folder!("index_names");
    // One is called as the index of the other would be; each has a dump with a number.
    let names_of_dumps = ["x", "x.1", "x.index", "x.index.1"];
    for name in names_of_dumps {
        fs::write(folder.join(name), profile(0x810)).expect("room for it");
    }
    for name in names_of_dumps {
        for question in [&["index"][..], &["index", "--dump", "1"]] {
            let made = heap(question, &folder.join(name));
            let message = String::from_utf8_lossy(&made.stderr);
            assert!(made.status.success(), "{message}");
        }
    }
    let mut files = names(&folder);
    files.retain(|name| name != "cache");
    files.extend(names(&cache_beside(&folder.join("x")).join("hprof")));
    assert_eq!(files.len(), 3 * names_of_dumps.len(), "{files:?}");
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn answers_do_not_depend_on_the_number_of_threads() {
    let file = empty_folder!("threads").join("x.hprof");
    fs::write(&file, profile(0x800)).expect("the target directory can be written");
    let usual = heap(&["summary"], &file);
    for threads in ["1", "2", "1000"] {
        let found = heap(&["summary", "--threads", threads], &file);
        assert!(found.status.success(), "{threads}");
        assert_eq!(found.stdout, usual.stdout);
    }
    let refused = heap(&["summary", "--threads", "0"], &file);
    assert!(!refused.status.success());
    let message = String::from_utf8_lossy(&refused.stderr);
    assert!(message.contains("must be 1 or more"), "{message}");
}
