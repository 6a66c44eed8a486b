//! `hprof recv` with an agent played by the test.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use flate2::Compression;
use flate2::write::GzEncoder;
use hprof_format::{
    BinaryEncoder, Command as Order, Commands, Control, Encoder, Micros, Millis, Received, Record,
    StringId, StringRecord,
};
use hprof_testing::empty_folder;

fn profile() -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = BinaryEncoder::new();
    encoder.start(Millis(0), &mut bytes);
    for id in 1..=1_000 {
        let record = Record::String(StringRecord {
            id: StringId(id),
            text: b"text"[..].into(),
        });
        encoder.record(Micros(0), &record, &mut bytes);
    }
    bytes
}

fn hprof(directory: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hprof"));
    command
        .current_dir(directory)
        .arg("recv")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Starts the tool; also returns its address.
fn start(directory: &Path, arguments: &[&str]) -> (Child, String) {
    let mut child = hprof(directory)
        .args(["-o", "x.hprof"])
        .args(arguments)
        .spawn()
        .expect("the tool starts");
    let mut line = String::new();
    let stdout = child.stdout.take().expect("a pipe");
    BufReader::new(stdout).read_line(&mut line).expect("a line");
    let address = line
        .trim()
        .strip_prefix("listening on ")
        .expect("an address")
        .to_owned();
    (child, address)
}

fn end(child: Child) -> (Option<i32>, String) {
    let output = child.wait_with_output().expect("the tool ends");
    (
        output.status.code(),
        String::from_utf8(output.stderr).expect("UTF-8"),
    )
}

fn files(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("the directory");
    entries
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .into_string()
                .expect("UTF-8")
        })
        .collect()
}

#[test]
fn the_file_appears_when_it_is_finished() {
    let directory = empty_folder!("recv/whole");
    fs::write(directory.join("x.hprof"), "an older one").expect("a file");
    let (child, address) = start(&directory, &[]);
    let mut agent = TcpStream::connect(address).expect("it listens");
    let profile = profile();
    agent.write_all(&profile[..5_000]).expect("it reads");
    assert_eq!(
        fs::read(directory.join("x.hprof")).expect("a file"),
        b"an older one"
    );
    agent.write_all(&profile[5_000..]).expect("it reads");
    drop(agent);
    let (status, said) = end(child);
    assert_eq!(
        (status, &*said),
        (Some(0), "hprof: x.hprof: 1000 records, 21031 bytes\n")
    );
    let path = directory.join("x.hprof");
    assert_eq!(fs::read(&path).expect("a file"), profile);
    assert_eq!(
        fs::metadata(&path).expect("a file").permissions().mode() & 0o777,
        0o600
    );
    assert_eq!(files(&directory), ["x.hprof"], "nothing is left beside it");
}

#[test]
fn what_was_cut_off_is_kept_and_said() {
    let profile = profile();
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(&profile).expect("memory takes all");
    let gzip = gzip.finish().expect("memory takes all");
    for sent in [
        &profile[..5_000],
        &gzip[..gzip.len() - 1],
        b"JAVA PROFILE 1.0.1, created",
    ] {
        let directory = empty_folder!("recv/cut");
        let (child, address) = start(&directory, &[]);
        TcpStream::connect(address)
            .expect("it listens")
            .write_all(sent)
            .expect("it reads");
        let (status, said) = end(child);
        assert_eq!(status, Some(1));
        assert!(
            said.starts_with("hprof: x.hprof: the profile was cut off; what came is kept: "),
            "{said}"
        );
        assert_eq!(fs::read(directory.join("x.hprof")).expect("a file"), sent);
        assert_eq!(files(&directory), ["x.hprof"]);
    }
}

#[test]
fn a_connection_that_breaks_between_two_records_is_cut_off() {
    let directory = empty_folder!("recv/broken");
    let (child, address) = start(&directory, &["--send", "force-gc"]);
    let mut agent = TcpStream::connect(address).expect("it listens");
    agent.write_all(&profile()).expect("it reads");
    // An unread command would make the system reset the connection instead of closing it.
    while agent.peek(&mut [0]).expect("a connection") == 0 {}
    drop(agent);
    let (status, said) = end(child);
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains("the profile was cut off"), "{said}");
    assert_eq!(
        fs::read(directory.join("x.hprof")).expect("a file"),
        profile()
    );
}

#[test]
fn a_stranger_keeps_no_agent_out() {
    let directory = empty_folder!("recv/strangers");
    let (child, address) = start(&directory, &["--send", "exit"]);
    let connect = || TcpStream::connect(&*address).expect("it listens");
    let silent = connect();
    drop(connect());
    let mut other = connect();
    other
        .write_all(b"GET / HTTP/1.1\r\n\r\n")
        .expect("it reads");
    assert!(
        other.read(&mut [0]).is_ok_and(|count| count == 0),
        "it is sent away, and no command to it"
    );
    let mut slow = connect();
    slow.write_all(b"JAVA PRO").expect("it reads");
    let mut agent = connect();
    agent.write_all(&profile()).expect("it reads");
    let mut commands = Commands::new(agent.try_clone().expect("a stream"));
    assert_eq!(
        commands.receive(),
        Some(Received::Command(Order::Exit)),
        "the agent is told"
    );
    for mut stranger in [silent, slow] {
        let said = stranger.read(&mut [0]);
        assert!(!said.is_ok_and(|count| count > 0), "and nobody else");
    }
    drop((agent, commands));
    let (status, said) = end(child);
    assert_eq!(status, Some(0), "{said}");
    assert_eq!(said.matches(" is no agent").count(), 4, "{said}");
    let received = fs::read(directory.join("x.hprof")).expect("a file");
    assert_eq!(received, profile());
}

#[test]
fn many_silent_strangers_keep_no_agent_out() {
    let directory = empty_folder!("recv/many");
    let (child, address) = start(&directory, &[]);
    let connect = || TcpStream::connect(&*address).expect("it listens");
    let _strangers: Vec<TcpStream> = (0..200).map(|_| connect()).collect();
    connect().write_all(&profile()).expect("it reads");
    assert_eq!(end(child).0, Some(0));
}

fn interrupt(child: &Child) {
    let status = Command::new("kill")
        .args(["-s", "INT", &child.id().to_string()])
        .status();
    assert!(status.expect("kill").success());
}

#[test]
fn an_interrupt_finishes_the_file() {
    let directory = empty_folder!("recv/interrupt");
    let (mut child, address) = start(&directory, &["--progress"]);
    let mut agent = TcpStream::connect(address).expect("it listens");
    let profile = profile();
    agent.write_all(&profile).expect("it reads");
    // The progress line shows that something has arrived.
    let mut said = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut line = String::new();
    said.read_line(&mut line).expect("a line");
    assert!(line.contains(" bytes"), "{line}");
    interrupt(&child);
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
    assert!(
        agent.read(&mut [0]).is_ok_and(|count| count == 0),
        "the agent is told"
    );
    let mut rest = String::new();
    said.read_to_string(&mut rest).expect("UTF-8");
    assert!(rest.contains("hprof: x.hprof: "), "{rest}");
    let received = fs::read(directory.join("x.hprof")).expect("a file");
    assert!(profile.starts_with(&received));
    assert_eq!(files(&directory), ["x.hprof"]);
}

#[test]
fn an_interrupt_before_anybody_came_leaves_nothing() {
    let directory = empty_folder!("recv/interrupt_early");
    let (child, _) = start(&directory, &[]);
    interrupt(&child);
    assert_eq!(end(child).0, Some(130));
    assert_eq!(files(&directory), [""; 0]);
}

#[test]
fn commands_go_out_in_order_once_the_agent_has_begun() {
    let directory = empty_folder!("recv/commands");
    let (mut child, address) = start(&directory, &["--send", "force-gc", "-s", "control depth 3"]);
    let mut agent = TcpStream::connect(address).expect("it listens");
    agent.write_all(&profile()).expect("it reads");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin
        .write_all(b"heap-summary\n\nno such thing\nexit\n")
        .expect("it reads");
    drop(stdin);
    let mut commands = Commands::new(agent.try_clone().expect("a stream"));
    let expected = [
        Order::ForceGc,
        Order::Control(Control::Depth(3)),
        Order::HeapSummary,
        Order::Exit,
    ];
    for order in expected {
        assert_eq!(commands.receive(), Some(Received::Command(order)));
    }
    drop((agent, commands));
    let (status, said) = end(child);
    assert_eq!(status, Some(0), "{said}");
    assert!(
        said.contains("hprof: no command 'no'; 'hprof recv --help' lists them\n"),
        "{said}"
    );
}

#[test]
fn what_cannot_work_is_said_at_once() {
    let directory = empty_folder!("recv/wrong");
    let cases: &[(&[&str], i32, &str)] = &[
        (
            &["-o", "nowhere/x"],
            1,
            "hprof: nowhere/x: No such file or directory",
        ),
        (&["-o", "."], 1, "hprof: .: is no name for a file"),
        (
            &["-o", "x", "-l", "192.0.2.1:1"],
            1,
            "hprof: 192.0.2.1:1: Cannot assign requested address",
        ),
        (
            &["-o", "x", "-l", "9000"],
            2,
            "error: invalid value '9000' for '--listen <ADDRESS:PORT>'",
        ),
        (
            &["-o", "x", "-s", "dump"],
            2,
            "error: invalid value 'dump' for '--send <COMMAND>': no command 'dump'",
        ),
        (
            &[],
            2,
            "error: the following required arguments were not provided",
        ),
    ];
    for (arguments, status, message) in cases {
        let child = hprof(&directory)
            .args(*arguments)
            .spawn()
            .expect("the tool starts");
        let (code, said) = end(child);
        assert_eq!(code, Some(*status), "{said}");
        assert!(said.starts_with(message), "{said}");
        assert_eq!(files(&directory), [""; 0]);
    }
}

#[test]
fn what_is_no_plain_file_is_not_replaced() {
    let directory = empty_folder!("recv/pipe");
    let made = Command::new("mkfifo")
        .arg(directory.join("x.hprof"))
        .status();
    assert!(made.expect("mkfifo").success());
    let child = hprof(&directory)
        .args(["-o", "x.hprof"])
        .spawn()
        .expect("the tool starts");
    let (status, said) = end(child);
    assert_eq!(
        (status, &*said),
        (
            Some(1),
            "hprof: x.hprof: exists and is not a regular file\n"
        )
    );
}

#[test]
fn compressed_files_are_read_as_they_are() {
    let directory = empty_folder!("recv/gzip");
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(&profile()).expect("memory takes all");
    let gzip = gzip.finish().expect("memory takes all");
    let check = |bytes: &[u8]| {
        fs::write(directory.join("x.gz"), bytes).expect("a file");
        let mut command = Command::new(env!("CARGO_BIN_EXE_hprof"));
        command
            .current_dir(&directory)
            .args(["check", "x.gz"])
            .output()
            .expect("the tool starts")
    };
    let whole = check(&gzip);
    assert_eq!(
        (whole.status.code(), whole.stdout.as_slice()),
        (Some(0), b"      1000 STRING\n".as_slice()),
        "{whole:?}"
    );
    let cut = check(&gzip[..gzip.len() / 2]);
    assert_eq!(cut.status.code(), Some(1));
    let said = String::from_utf8_lossy(&cut.stderr);
    assert!(
        said.contains("the compressed data ends before its end"),
        "{said}"
    );
}
