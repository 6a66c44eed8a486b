//! The tool from the outside: arguments in, output and exit status out.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use hprof_format::{
    BinaryEncoder, CpuSamplesRecord, Encoder, EndThreadRecord, Micros, Millis, Record,
    StartThreadRecord, StringId, StringRecord, ThreadSerial, TraceRecord, TraceSerial,
};
use hprof_testing::{empty_folder, text};

/// Fri Nov 20 10:39:11 2026 UTC.
const START: Millis = Millis(1_795_171_151_000);

/// The text of [`profile`] after its description.
const TEXT: &str = "\
TRACE 300000:
\t<empty>
THREAD START (obj=5, id = 200001, name=\"main\", group=\"\")
CPU SAMPLES BEGIN (total = 0) Fri Nov 20 10:39:14 2026
rank   self  accum   count trace method
CPU SAMPLES END
THREAD END (id = 200001)
";

fn hprof() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hprof"));
    command.env("TZ", "UTC");
    command
}

fn run(command: &mut Command) -> Output {
    command
        .stdin(Stdio::null())
        .output()
        .expect("the tool starts")
}

fn file(directory: &Path, content: &[u8]) -> PathBuf {
    let path = directory.join("java.hprof");
    fs::write(&path, content).expect("the target directory can be written");
    path
}

fn profile() -> Vec<u8> {
    let records = [
        Record::Trace(TraceRecord {
            serial: TraceSerial(300_000),
            thread: ThreadSerial(0),
            frames: [][..].into(),
        }),
        Record::String(StringRecord {
            id: StringId(1),
            text: b"main"[..].into(),
        }),
        Record::StartThread(StartThreadRecord {
            serial: ThreadSerial(200_001),
            object: hprof_format::ObjectId(5),
            trace: TraceSerial(300_000),
            name: StringId(1),
            group: StringId(0),
            parent_group: StringId(0),
        }),
        Record::CpuSamples(CpuSamplesRecord {
            total: 0,
            rows: [][..].into(),
        }),
        Record::EndThread(EndThreadRecord {
            serial: ThreadSerial(200_001),
        }),
    ];
    let mut out = Vec::new();
    let mut encoder = BinaryEncoder::new();
    encoder.start(START, &mut out);
    for (second, record) in (0..).zip(&records) {
        encoder.record(Micros(second * 1_000_000), record, &mut out);
    }
    out
}

/// Returns a valid file with more text than a pipe holds.
fn large_profile() -> Vec<u8> {
    let mut out = Vec::new();
    let mut encoder = BinaryEncoder::new();
    encoder.start(START, &mut out);
    for serial in 300_001..400_000 {
        let frames = [][..].into();
        let trace = Record::Trace(TraceRecord {
            serial: TraceSerial(serial),
            thread: ThreadSerial(0),
            frames,
        });
        encoder.record(Micros(0), &trace, &mut out);
    }
    out
}

fn body(output: &[u8]) -> &str {
    text(output)
        .split_once("\n--------\n\n")
        .expect("a line of dashes ends the head")
        .1
}

/// Returns the only line on stderr.
fn complaint(output: &Output) -> &str {
    let line = text(&output.stderr)
        .strip_suffix('\n')
        .expect("messages end with a line end");
    assert!(!line.contains('\n'), "{line}");
    line
}

#[test]
fn check_counts_the_records_of_a_sound_file() {
    let path = file(&empty_folder!("check_counts"), &profile());
    let output = run(hprof().arg("check").arg(path));
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(text(&output.stderr), "");
    assert_eq!(
        text(&output.stdout),
        "         1 STRING\n         1 TRACE\n         1 START THREAD\n         1 END THREAD\n         \
         1 CPU SAMPLES\n"
    );
}

#[test]
fn check_counts_what_is_in_heap_dumps() {
    let mut content = profile();
    for _ in 0..2 {
        content.extend_from_slice(b"\x1c\0\0\0\0\0\0\0\x09\xff\0\0\0\0\0\0\0\0");
    }
    content.extend_from_slice(b"\x2c\0\0\0\0\0\0\0\0");
    let output = run(hprof()
        .arg("check")
        .arg(file(&empty_folder!("check_heap"), &content)));
    assert_eq!(output.status.code(), Some(0));
    let lines = "         2 HEAP DUMP SEGMENT (18 bytes)\n         1 HEAP DUMP END\n         \
                 2   ROOT UNKNOWN\n";
    assert!(
        text(&output.stdout).ends_with(lines),
        "{}",
        text(&output.stdout)
    );
}

#[test]
fn check_reports_a_fault_in_one_line() {
    let whole = profile();
    let mut content = whole.clone();
    content.extend_from_slice(b"\x0b\0\0\0\0\0\0\0\x04\0\x03\x0d\x41");
    let path = file(&empty_folder!("check_fault"), &content);
    let output = run(hprof().arg("check").arg(&path));
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text(&output.stdout), "");
    let (path, offset) = (path.display(), whole.len());
    assert_eq!(
        complaint(&output),
        format!("hprof: {path}: byte {offset}: END THREAD 200001: that thread is not running here")
    );
}

#[test]
fn check_warns_of_what_old_tools_always_did_and_strict_refuses_it() {
    let whole = profile();
    let mut content = whole.clone();
    for _ in 0..2 {
        content.extend_from_slice(b"\x0b\0\0\0\0\0\0\0\x04\0\0\0\x07");
    }
    let path = file(&empty_folder!("check_warns"), &content);
    let output = run(hprof().arg("check").arg(&path));
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stdout).contains("         3 END THREAD\n"));
    let (name, offset) = (path.display(), whole.len());
    assert_eq!(
        complaint(&output),
        format!(
            "hprof: {name}: warning: a record names a thread that no START THREAD before it starts (2 times, first at \
             byte {offset})"
        )
    );
    let output = run(hprof().args(["check", "--strict"]).arg(&path));
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text(&output.stdout), "");
    assert_eq!(
        complaint(&output),
        format!("hprof: {name}: byte {offset}: END THREAD 7: that thread is not running here")
    );
}

#[test]
fn a_files_name_cannot_command_the_terminal() {
    let output = run(hprof().args(["check", "/nowhere/\u{1b}[31m\u{9b}\u{202e}x"]));
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        complaint(&output),
        "hprof: /nowhere/?[31m??x: No such file or directory (os error 2)"
    );
}

#[test]
fn check_tells_where_a_killed_programs_file_ends() {
    let mut content = profile();
    content.truncate(content.len() - 2);
    let path = file(&empty_folder!("check_killed"), &content);
    let output = run(hprof().arg("check").arg(&path));
    assert_eq!(output.status.code(), Some(1));
    let start = format!(
        "hprof: {}: byte {}: the file ends inside",
        path.display(),
        profile().len() - 13
    );
    assert!(
        complaint(&output).starts_with(&start),
        "{}",
        complaint(&output)
    );
}

#[test]
fn check_refuses_a_text_profile() {
    let path = file(
        &empty_folder!("check_text"),
        b"JAVA PROFILE 1.0.1, created Fri Nov 20 10:39:11 2026\n",
    );
    let output = run(hprof().arg("check").arg(path));
    assert_eq!(output.status.code(), Some(1));
    assert!(
        complaint(&output).contains("text format"),
        "{}",
        complaint(&output)
    );
}

#[test]
fn a_file_that_cannot_be_opened_is_one_line() {
    for command in ["check", "text"] {
        let output = run(hprof().args([command, "/nowhere/java.hprof"]));
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(text(&output.stdout), "");
        assert_eq!(
            complaint(&output),
            "hprof: /nowhere/java.hprof: No such file or directory (os error 2)"
        );
    }
}

#[test]
fn wrong_usage_has_a_status_of_its_own() {
    for arguments in [
        &[][..],
        &["check"],
        &["print", "java.hprof"],
        &["text", "a", "b"],
    ] {
        assert_eq!(
            run(hprof().args(arguments)).status.code(),
            Some(2),
            "{arguments:?}"
        );
    }
}

#[test]
fn help_teaches() {
    let output = run(hprof().arg("--help"));
    assert_eq!(output.status.code(), Some(0));
    for words in [
        "Examples:",
        "Profile a program:",
        "Read a heap dump:",
        "hprof record -- java Main",
        "hprof heap leaks java.hprof",
        "hprof autopsy",
        "Exit status",
    ] {
        assert!(text(&output.stdout).contains(words), "{words}");
    }
}

#[test]
fn text_prints_the_profile() {
    let path = file(&empty_folder!("text_prints"), &profile());
    let output = run(hprof().arg("text").arg(path));
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(text(&output.stderr), "");
    let first = "JAVA PROFILE 1.0.1, created Fri Nov 20 10:39:11 2026\n";
    assert!(text(&output.stdout).starts_with(first));
    assert_eq!(body(&output.stdout), TEXT);
}

#[test]
fn text_prints_what_stands_before_a_fault() {
    let directory = empty_folder!("text_fault");
    let whole = profile();
    let mut cut = whole.clone();
    cut.truncate(whole.len() - 2);
    let mut unknown = whole[..whole.len() - 13].to_vec();
    unknown.extend_from_slice(b"\x77\0\0\0\0\0\0\0\0");
    for content in [cut, unknown] {
        let output = run(hprof().arg("text").arg(file(&directory, &content)));
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(
            body(&output.stdout),
            TEXT.replace("THREAD END (id = 200001)\n", "")
        );
        let place = format!("byte {}: ", whole.len() - 13);
        assert!(
            complaint(&output).contains(&place),
            "{}",
            complaint(&output)
        );
    }
}

#[test]
fn text_writes_a_file_that_only_its_owner_can_read() {
    let directory = empty_folder!("text_output");
    let path = file(&directory, &profile());
    let target = directory.join("java.hprof.txt");
    let output = run(hprof().arg("text").arg(path).arg("-o").arg(&target));
    assert_eq!(output.status.code(), Some(0));
    assert_eq!((text(&output.stdout), text(&output.stderr)), ("", ""));
    assert_eq!(
        body(&fs::read(&target).expect("the file was written")),
        TEXT
    );
    let mode = fs::metadata(&target)
        .expect("the file was written")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn text_replaces_an_older_output_whole() {
    let directory = empty_folder!("text_replaces");
    let path = file(&directory, &profile());
    let target = directory.join("java.hprof.txt");
    fs::write(&target, vec![b'x'; 100_000]).expect("the target directory can be written");
    let output = run(hprof().arg("text").arg(path).arg("--output").arg(&target));
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(
        body(&fs::read(&target).expect("the file was written")),
        TEXT
    );
}

#[test]
fn text_leaves_an_older_output_alone_when_there_is_nothing_to_print() {
    let directory = empty_folder!("text_keeps");
    let path = file(&directory, b"no profile");
    let target = directory.join("java.hprof.txt");
    fs::write(&target, "older").expect("the target directory can be written");
    let output = run(hprof().arg("text").arg(path).arg("-o").arg(&target));
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        fs::read(&target).expect("the file is still there"),
        b"older"
    );
}

#[test]
fn text_does_not_overwrite_what_it_reads() {
    let directory = empty_folder!("text_same");
    let path = file(&directory, &profile());
    let link = directory.join("link");
    fs::hard_link(&path, &link).expect("the target directory can be written");
    for target in [&path, &link] {
        let output = run(hprof().arg("text").arg(&path).arg("-o").arg(target));
        assert_eq!(output.status.code(), Some(1));
        assert!(
            complaint(&output).contains("would be lost"),
            "{}",
            complaint(&output)
        );
        assert_eq!(fs::read(&path).expect("the file is still there"), profile());
    }
}

#[test]
fn text_tells_when_the_output_cannot_be_written() {
    let path = file(&empty_folder!("text_unwritable"), &profile());
    let output = run(hprof()
        .arg("text")
        .arg(&path)
        .args(["-o", "/nowhere/out.txt"]));
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        complaint(&output),
        "hprof: /nowhere/out.txt: No such file or directory (os error 2)"
    );

    let output = run(hprof().arg("text").arg(&path).args(["-o", "/dev/full"]));
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        complaint(&output),
        "hprof: /dev/full: No space left on device (os error 28)"
    );
}

#[test]
fn the_standard_input_is_a_dash() {
    for (command, expected) in [("check", "1 START THREAD"), ("text", "id = 200001")] {
        let mut child = hprof()
            .args([command, "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the tool starts");
        let mut stdin = child.stdin.take().expect("it is a pipe");
        stdin.write_all(&profile()).expect("the tool reads");
        drop(stdin);
        let output = child.wait_with_output().expect("the tool ends");
        assert_eq!(output.status.code(), Some(0));
        assert!(
            text(&output.stdout).contains(expected),
            "{}",
            text(&output.stdout)
        );
    }
}

#[test]
fn a_reader_that_has_had_enough_is_no_error() {
    let path = file(&empty_folder!("broken_pipe"), &large_profile());
    let mut child = hprof()
        .arg("text")
        .arg(path)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the tool starts");
    let mut stdout = child.stdout.take().expect("it is a pipe");
    stdout.read_exact(&mut [0; 10]).expect("the tool writes");
    drop(stdout);
    let output = child.wait_with_output().expect("the tool ends");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(text(&output.stderr), "");
}

#[test]
fn text_is_written_while_the_file_is_still_being_read() {
    let mut child = hprof()
        .args(["text", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the tool starts");
    let mut stdin = child.stdin.take().expect("it is a pipe");
    let mut stdout = child.stdout.take().expect("it is a pipe");
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || sender.send(stdout.read_exact(&mut [0; 10])));
    // Fails once the other thread has read enough and closed its end, which is expected.
    let _ = stdin.write_all(&large_profile());
    let read = receiver.recv_timeout(Duration::from_secs(60));
    child.kill().expect("the tool is ours");
    child.wait().expect("the tool ends");
    read.expect("text comes before the input ends")
        .expect("the tool writes");
}
