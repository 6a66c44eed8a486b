//! `hprof browse` and the heap dump in `hprof report`: refused requests, and that no name in a dump is more than text.

use std::env;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use hprof_format::{
    BasicType, BinaryEncoder, ClassDump, ClassSerial, CpuSample, CpuSamplesRecord, Encoder,
    FrameId, FrameRecord, HeapDumpEndRecord, HeapDumpSegmentRecord, HeapRecord, Line,
    LoadClassRecord, Micros, Millis, ObjectId, Record, Root, StringId, StringRecord, ThreadSerial,
    TraceRecord, TraceSerial, Value,
};
use hprof_testing::{empty_folder, skip};

/// Names that try to be more than text.
const CLASS: &str = "<img src=x onerror='window.hostile=1'>";
const FIELD: &str = "</td><script>window.hostile=1</script>";
const METHOD: &str = "\"><svg onload=window.hostile=1>";
const TEXT: &str = "</q><b>bold</b>&lt;\u{1b}[31m\u{202e}evil";

const OBJECT_CLASS: u64 = 0x10;
const STRING_CLASS: u64 = 0x20;
const ARRAY_CLASS: u64 = 0x30;
const HOSTILE_CLASS: u64 = 0x40;
const STRING: u64 = 0x100;
const BYTES: u64 = 0x200;
const ARRAY: u64 = 0x300;
const FIRST: u64 = 0x10000;
/// Objects of the hostile class, all in one array, after so many elements that are null.
const COUNT: u64 = 250;
const NULLS: usize = 40;

/// Returns a dump in which a static field of the hostile class refers to an array of [`COUNT`] objects, each of which
/// refers to the same string.
fn dump(with_samples: bool) -> Vec<u8> {
    let mut content = Vec::new();
    let trace = TraceSerial(7);
    let class =
        |class: u64, fields: Vec<(StringId, BasicType)>, statics: Vec<(StringId, Value)>| {
            HeapRecord::Class(ClassDump {
                class: ObjectId(class),
                super_class: ObjectId(if class == OBJECT_CLASS {
                    0
                } else {
                    OBJECT_CLASS
                }),
                fields: fields.into(),
                statics: statics.into(),
                ..ClassDump::default()
            })
        };
    let to_array = Value::Object(ObjectId(ARRAY));
    let string_fields = vec![
        (StringId(1), BasicType::Object),
        (StringId(2), BasicType::Byte),
    ];
    for record in [
        class(OBJECT_CLASS, Vec::new(), Vec::new()),
        class(STRING_CLASS, string_fields, Vec::new()),
        class(ARRAY_CLASS, Vec::new(), Vec::new()),
        class(
            HOSTILE_CLASS,
            vec![(StringId(3), BasicType::Object)],
            vec![(StringId(3), to_array)],
        ),
        HeapRecord::Root {
            object: ObjectId(HOSTILE_CLASS),
            root: Root::StickyClass,
        },
        HeapRecord::Instance {
            object: ObjectId(STRING),
            trace,
            class: ObjectId(STRING_CLASS),
            fields: &[&BYTES.to_be_bytes()[..], &[1]].concat(),
        },
        HeapRecord::PrimitiveArray {
            object: ObjectId(BYTES),
            trace,
            element: BasicType::Byte,
            elements: &TEXT
                .encode_utf16()
                .flat_map(u16::to_le_bytes)
                .collect::<Vec<u8>>(),
        },
    ] {
        record.write(&mut content);
    }
    let ids = (0..COUNT).map(|at| FIRST + at * 16);
    let elements = std::iter::repeat_n(0, NULLS).chain(ids);
    let elements: Vec<u8> = elements.flat_map(u64::to_be_bytes).collect();
    HeapRecord::ObjectArray {
        object: ObjectId(ARRAY),
        trace,
        class: ObjectId(ARRAY_CLASS),
        elements: &elements,
    }
    .write(&mut content);
    for at in 0..COUNT {
        HeapRecord::Instance {
            object: ObjectId(FIRST + at * 16),
            trace,
            class: ObjectId(HOSTILE_CLASS),
            fields: &STRING.to_be_bytes(),
        }
        .write(&mut content);
    }
    let mut out = Vec::new();
    let mut encoder = BinaryEncoder::new();
    encoder.start(Millis(1_795_171_151_000), &mut out);
    let mut put = |record: Record<'_>| encoder.record(Micros(0), &record, &mut out);
    let names = [(1, "value"), (2, "coder"), (3, FIELD), (4, METHOD)];
    let classes = [
        (OBJECT_CLASS, "java/lang/Object"),
        (STRING_CLASS, "java/lang/String"),
        (ARRAY_CLASS, "[Ljava/lang/Object;"),
        (HOSTILE_CLASS, CLASS),
    ];
    for (id, text) in names.into_iter().chain(classes) {
        put(Record::String(StringRecord {
            id: StringId(id),
            text: text.as_bytes().into(),
        }));
    }
    for (serial, (class, _)) in (1..).zip(classes) {
        put(Record::LoadClass(LoadClassRecord {
            serial: ClassSerial(serial),
            class_object: ObjectId(class),
            trace,
            name: StringId(class),
        }));
    }
    put(Record::Frame(FrameRecord {
        id: FrameId(9),
        method: StringId(4),
        signature: StringId(4),
        source_file: StringId(3),
        class: ClassSerial(4),
        line: Line::Number(1),
    }));
    put(Record::Trace(TraceRecord {
        serial: trace,
        thread: ThreadSerial(0),
        frames: [FrameId(9)][..].into(),
    }));
    put(Record::HeapDumpSegment(HeapDumpSegmentRecord {
        content: content.into(),
    }));
    put(Record::HeapDumpEnd(HeapDumpEndRecord));
    if with_samples {
        let row = CpuSample { count: 5, trace };
        put(Record::CpuSamples(CpuSamplesRecord {
            total: 5,
            rows: [row][..].into(),
        }));
    }
    out
}

/// Creates a file with the dump, in an empty directory.
fn file(test: &str) -> PathBuf {
    let path = empty_folder!(Path::new("browse").join(test)).join("<i>hostile.hprof");
    fs::write(&path, dump(false)).expect("the target directory can be written");
    path
}

/// `hprof browse`, until it is dropped.
struct Server {
    process: Child,
    address: String,
}

impl Server {
    fn start(file: &Path) -> Server {
        let mut process = Command::new(env!("CARGO_BIN_EXE_hprof"))
            .arg("browse")
            .arg(file)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the tool starts");
        let mut address = String::new();
        let stdout = process.stdout.take().expect("a pipe");
        BufReader::new(stdout)
            .read_line(&mut address)
            .expect("an address");
        Server {
            process,
            address: address.trim().to_owned(),
        }
    }

    /// Returns `127.0.0.1:7000` and `/token/`.
    fn parts(&self) -> (&str, &str) {
        let rest = self.address.strip_prefix("http://").expect("an address");
        rest.split_at(rest.find('/').expect("a path"))
    }

    /// Returns the answer to a request, head and body.
    fn ask(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(self.parts().0).expect("it listens");
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        answer
    }

    fn get(&self, path: &str, headers: &str) -> String {
        self.ask(&format!("GET {path} HTTP/1.1\r\n{headers}\r\n"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn a_page_is_for_those_who_know_the_token_and_come_from_nowhere_else() {
    let server = Server::start(&file("refused"));
    let (host, path) = server.parts();
    assert!(host.starts_with("127.0.0.1:"), "{host}");
    assert!(path.len() >= 34, "{path}: 128 bits");
    let own = format!("Host: {host}\r\n");
    let page = server.get(path, &own);
    assert!(page.starts_with("HTTP/1.1 200 "), "{page}");
    assert!(
        page.contains("\r\nContent-Security-Policy: default-src 'none'; "),
        "{page}"
    );
    assert!(page.contains("\r\nCache-Control: no-store\r\n"), "{page}");
    assert!(!page.contains("<script") && !page.contains("<i>"), "{page}");
    let port = host.rsplit(':').next().expect("a port");
    let another = "/00000000000000000000000000000000/";
    for (path, headers, why) in [
        ("/", own.clone(), "no token"),
        (another, own.clone(), "another token"),
        (
            path,
            format!("Host: evil.example:{port}\r\n"),
            "another host",
        ),
        (path, String::new(), "no host"),
        (
            path,
            format!("{own}Origin: http://evil.example\r\n"),
            "another origin",
        ),
        (path, format!("{own}Origin: null\r\n"), "no origin"),
        (
            path,
            format!("{own}Sec-Fetch-Site: cross-site\r\n"),
            "another site",
        ),
    ] {
        let answer = server.get(path, &headers);
        assert!(answer.starts_with("HTTP/1.1 403 "), "{why}: {answer}");
        assert!(!answer.contains("bytes"), "{why}: {answer}");
    }
    let post = server.ask(&format!("POST {path} HTTP/1.1\r\n{own}\r\n"));
    assert!(post.starts_with("HTTP/1.1 405 "), "{post}");
    let head = server.ask(&format!("HEAD {path} HTTP/1.1\r\n{own}\r\n"));
    assert!(
        head.starts_with("HTTP/1.1 200 ") && head.ends_with("\r\n\r\n"),
        "{head}"
    );
    for path in [format!("{path}object/0x1"), format!("{path}class/None")] {
        let answer = server.get(&path, &own);
        assert!(answer.starts_with("HTTP/1.1 404 "), "{answer}");
    }
}

#[test]
fn who_connects_and_says_nothing_holds_up_nobody() {
    let server = Server::start(&file("silent"));
    let (host, path) = server.parts();
    let silent: Vec<TcpStream> = (0..8)
        .map(|_| TcpStream::connect(host).expect("it listens"))
        .collect();
    let page = server.get(path, &format!("Host: {host}\r\n"));
    assert!(page.starts_with("HTTP/1.1 200 "), "{page}");
    drop(silent);
}

#[test]
fn slow_clients_without_the_token_shut_nobody_out() {
    let server = Server::start(&file("slow"));
    let (host, path) = server.parts();
    // More than are read at once, each with a request that never ends.
    let slow: Vec<TcpStream> = (0..300)
        .map(|_| {
            let mut client = TcpStream::connect(host).expect("it listens");
            // The first ones may have been closed.
            let _ = client.write_all(b"GET / HTTP/1.1\r\nX: ");
            client
        })
        .collect();
    let page = server.get(path, &format!("Host: {host}\r\n"));
    assert!(page.starts_with("HTTP/1.1 200 "), "{page}");
    drop(slow);
}

#[test]
fn two_hundred_requests_at_once_are_all_answered() {
    let server = Server::start(&file("parallel"));
    let (host, path) = server.parts();
    let own = format!("Host: {host}\r\n");
    std::thread::scope(|scope| {
        let asking: Vec<_> = (0..200)
            .map(|_| scope.spawn(|| server.get(path, &own)))
            .collect();
        for answer in asking {
            let page = answer.join().expect("an answer");
            assert!(
                page.starts_with("HTTP/1.1 200 ") && page.ends_with("</html>\n"),
                "{page}"
            );
        }
    });
}

#[test]
fn a_head_that_has_no_end_is_refused() {
    let server = Server::start(&file("long"));
    let (host, path) = server.parts();
    // Exactly as many bytes as are read of it, so that the answer is not lost because of unread data.
    let request = format!("GET {path} HTTP/1.1\r\nX: ");
    let request = format!("{request:x<0$}", 16 * 1024 + 1);
    let mut stream = TcpStream::connect(host).expect("it listens");
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
}

#[test]
fn an_object_has_a_page_with_all_that_is_known_of_it() {
    let server = Server::start(&file("object"));
    let (host, path) = server.parts();
    let get = |page: &str| server.get(&format!("{path}{page}"), &format!("Host: {host}\r\n"));
    let array = get("object/0x300?first=200");
    assert!(
        array.contains("[200]</td>") && !array.contains("[199]</td>"),
        "{array}"
    );
    assert!(array.contains("?first=100\">before</a>"), "{array}");
    assert!(array.contains("Shortest path from a root"), "{array}");
    // The static field that refers to it, and the stack that allocated it.
    assert!(
        array.contains("static &lt;/td&gt;&lt;script&gt;"),
        "{array}"
    );
    assert!(array.contains("at &lt;img src=x"), "{array}");
    let string = get("object/0x100");
    assert!(
        string.contains("<q>&lt;/q&gt;&lt;b&gt;bold&lt;/b&gt;&amp;lt;\\u001b[31m\\u202eevil</q>"),
        "{string}"
    );
    assert!(
        string.contains("href=\"") && string.contains("object/0x10000\""),
        "{string}"
    );
}

/// Performs the case's actions in a browser, if there is one.
fn browse(case: &str, address: &str) {
    if env::var_os("HPROF_BROWSER").is_none() || env::var_os("HPROF_PLAYWRIGHT").is_none() {
        skip("pages in a browser: $HPROF_BROWSER or $HPROF_PLAYWRIGHT is not set");
        return;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser/heap.mjs");
    let output = Command::new("node")
        .arg(script)
        .args([case, address])
        .output();
    let output = output.expect("node starts");
    let fault = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{fault}");
}

#[test]
fn every_object_can_be_reached_by_clicks_and_names_stay_text() {
    let server = Server::start(&file("clicks"));
    browse("clicks", &server.address);
}

#[test]
fn a_search_finds_classes_ids_and_strings_and_what_is_asked_stays_text() {
    let server = Server::start(&file("search"));
    browse("search", &server.address);
    let (host, path) = server.parts();
    let search = |text: &str| {
        let page = format!("{path}search?text={text}");
        server.get(&page, &format!("Host: {host}\r\n"))
    };
    let found = search("ONERROR");
    assert!(found.contains("&lt;img src=x onerror="), "{found}");
    assert!(found.contains("No string has this text."), "{found}");
    let found = search("0x100");
    assert!(found.contains("object/0x100\""), "{found}");
    let found = search("%3C%2Fq%3E%3CB");
    assert!(found.contains("object/0x100\""), "{found}");
    assert!(found.contains("value=\"&lt;/q&gt;&lt;B\""), "{found}");
    assert!(search("").contains("No class has this text."));
}

/// Creates the page of a file.
fn report(file: &Path) -> PathBuf {
    let page = file.with_extension("html");
    let output = Command::new(env!("CARGO_BIN_EXE_hprof"))
        .arg("report")
        .arg(file)
        .arg("-o")
        .arg(&page)
        .output()
        .expect("the tool starts");
    let fault = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{fault}");
    let mode = fs::metadata(&page).expect("a page").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    page
}

#[test]
fn a_report_of_a_dump_needs_no_script_and_names_stay_text() {
    let page = report(&file("report"));
    let written = fs::read_to_string(&page).expect("it is text");
    assert!(!written.contains("<script") && !written.contains("<img"));
    browse("report", &format!("file://{}", page.display()));
}

#[test]
fn a_report_of_a_profile_with_a_dump_shows_both() {
    let file = file("both");
    fs::write(&file, dump(true)).expect("the directory can be written");
    let page = report(&file);
    let written = fs::read_to_string(&page).expect("it is text");
    assert!(!written.contains("<img"));
    browse("both", &format!("file://{}", page.display()));
}

#[test]
fn a_dump_that_is_cut_short_costs_the_answers_alone() {
    let file = file("cut");
    let server = Server::start(&file);
    let (_, base) = server.parts();
    let (host, object) = (server.parts().0, format!("{base}object/0x10000"));
    let host = format!("Host: {host}\r\n");
    assert!(server.get(&object, &host).starts_with("HTTP/1.1 200 "));
    let opened = fs::File::options().write(true).open(&file);
    let opened = opened.expect("it is ours");
    opened.set_len(0).expect("it is ours");
    for path in [&object, base, &format!("{base}threads"), &object] {
        let answer = server.get(path, &host);
        assert!(answer.starts_with("HTTP/1.1 500 "), "{path}: {answer}");
        assert!(
            answer.contains("the file was changed while it was read"),
            "{path}: {answer}"
        );
    }
}
