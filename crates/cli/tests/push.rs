//! `hprof push` with a collector that is played by the test.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Output};
use std::thread::{self, JoinHandle};

/// A request as a collector gets it: the first line, and the bytes.
struct Taken {
    line: String,
    body: Vec<u8>,
}

/// Answers so many requests, one connection each, and gives back what they were.
fn collector(answers: &'static [&'static str]) -> (String, JoinHandle<Vec<Taken>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let served = thread::spawn(move || {
        let answered = answers.iter().map(|answer| {
            let (stream, _) = listener.accept().expect("a caller");
            take(stream, answer)
        });
        answered.collect()
    });
    (url, served)
}

fn take(mut stream: TcpStream, answer: &str) -> Taken {
    let mut reader = BufReader::new(stream.try_clone().expect("a socket"));
    let mut line = String::new();
    reader.read_line(&mut line).expect("a request");
    let mut length = 0;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).expect("a header");
        let header = header.trim().to_ascii_lowercase();
        if header.is_empty() {
            break;
        }
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse().expect("a number");
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("a body");
    let head = "content-length: 0\r\nconnection: close\r\n\r\n";
    write!(stream, "HTTP/1.1 {answer}\r\n{head}").expect("a caller who reads");
    Taken { line, body }
}

fn push(url: &str, arguments: &[&str]) -> Output {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/profiles/alloc.hprof.gz");
    Command::new(env!("CARGO_BIN_EXE_hprof"))
        .args(["push", "--otlp", url])
        .args(arguments)
        .arg(file)
        // A proxy of the environment is somebody else than the URL names.
        .env("HTTP_PROXY", "http://127.0.0.1:1")
        .env("http_proxy", "http://127.0.0.1:1")
        .output()
        .expect("the tool starts")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_collector_that_has_no_time_is_asked_again() {
    let (url, served) = collector(&["503 Busy\r\nretry-after: 0", "429 Slow", "200 OK"]);
    let output = push(&url, &[]);
    assert!(output.status.success(), "{}", said(&output));
    let taken = served.join().expect("a collector");
    assert_eq!(taken[0].line, "POST /v1development/profiles HTTP/1.1\r\n");
    assert!(taken[1].body == taken[0].body && taken[2].body == taken[0].body);
    assert!(!taken[0].body.is_empty());
}

#[test]
fn what_is_refused_for_good_is_told_in_one_line() {
    for (answer, told) in [
        ("400 Bad", "answered 400"),
        (
            "307 Elsewhere\r\nlocation: http://127.0.0.1:1/",
            "answered 307",
        ),
        ("503 Busy\r\nretry-after: 3600", "answered 503"),
    ] {
        let answers = Box::leak(Box::new([answer]));
        let (url, served) = collector(answers);
        let output = push(&url, &[]);
        assert_eq!(output.status.code(), Some(1));
        let said = said(&output);
        assert!(said.contains(told), "{said}");
        assert!(said.contains("it has taken 0 of 1 requests"), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
        served.join().expect("a collector");
    }
}

#[test]
fn nobody_at_the_url_is_told_in_one_line() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    drop(listener);
    let output = push(&url, &["--retry", "0"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(said(&output).lines().count(), 1, "{}", said(&output));
}

#[test]
fn a_limit_too_small_sends_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.set_nonblocking(true).expect("a socket");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let output = push(&url, &["--max-request", "100"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains("--max-request"), "{}", said(&output));
    assert!(listener.accept().is_err());
}
