//! `hprof recv --jfr`: recordings of what agents have sent.

use std::fs;
use std::io::{self, BufRead, BufReader};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

fn profile() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/profiles/alloc.hprof.gz")
}

/// Starts the tool in a folder.
fn receiver(folder: &Path, arguments: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_hprof"))
        .current_dir(folder)
        .args(["recv", "--jfr"])
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the tool starts")
}

/// Sends the profile as an agent does.
fn send(address: &str) {
    let mut agent = TcpStream::connect(address).expect("it listens");
    let file = fs::File::open(profile()).expect("a file");
    io::copy(&mut flate2::read::MultiGzDecoder::new(file), &mut agent).expect("it reads");
}

fn allocated(file: &Path) -> u64 {
    let top = Command::new(env!("CARGO_BIN_EXE_hprof"))
        .args(["top", "--json", "--value", "alloc-bytes"])
        .arg(file)
        .output()
        .expect("the tool runs");
    let answer: Value = serde_json::from_slice(&top.stdout).expect("JSON");
    answer["total"].as_u64().expect("a number")
}

fn assert_recorded(recording: &Path) {
    assert_eq!(allocated(recording), allocated(&profile()));
    let mode = fs::metadata(recording).expect("it is there").permissions();
    assert_eq!(mode.mode() & 0o777, 0o600);
}

#[test]
fn a_profile_is_recorded_when_it_is_whole() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut child = receiver(folder.path(), &["-o", "x.hprof"]);
    let mut line = String::new();
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe"));
    lines.read_line(&mut line).expect("a line");
    send(line.trim().trim_start_matches("listening on "));
    assert!(child.wait().expect("it ends").success());
    assert!(folder.path().join("x.hprof").is_file());
    assert_recorded(&folder.path().join("x.hprof.jfr"));
}

#[test]
fn each_profile_of_many_is_recorded() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut child = receiver(folder.path(), &["--dir", ".", "--name", "agent"]);
    let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let mut events =
        lines.map(|line| serde_json::from_str::<Value>(&line.expect("a line")).expect("JSON"));
    let first = events.next().expect("an event");
    let address = first["address"].as_str().expect("an address");
    for file in ["agent", "agent-2"] {
        send(address);
        let recorded = events.find(|event| event["event"] == "recorded");
        let recorded = recorded.expect("an event");
        assert_eq!(recorded["file"], file);
        assert_eq!(recorded["recording"], format!("{file}.jfr"));
        assert_recorded(&folder.path().join(format!("{file}.jfr")));
    }
    child.kill().expect("a child");
    child.wait().expect("a child");
}
