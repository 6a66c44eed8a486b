//! The agent's messages on stderr, where the program prints, too.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::harness::{agent_path, any_jvm, classes};

/// Returns everything that a run writes to stderr, with one entry for each write. A datagram socket keeps them apart.
fn writes(options: &str) -> Vec<String> {
    let (own, theirs) = UnixDatagram::pair().expect("sockets");
    own.set_read_timeout(Some(Duration::from_millis(200)))
        .expect("a timeout");
    let folder = tempfile::tempdir().expect("a folder");
    let mut java = Command::new(any_jvm().home.join("bin/java"));
    java.current_dir(folder.path())
        .arg(agent_path(options))
        .arg("-cp")
        .arg(classes("samples"))
        .arg("Hello")
        .stdout(Stdio::null())
        .stderr(Stdio::from(OwnedFd::from(theirs)));
    let mut child = java.spawn().expect("java");
    // The command holds an end of the socket.
    drop(java);
    let (mut writes, mut piece) = (Vec::new(), [0; 65_536]);
    loop {
        match own.recv(&mut piece) {
            Ok(0) => break,
            Ok(length) => writes.push(String::from_utf8_lossy(&piece[..length]).into_owned()),
            Err(_) if child.try_wait().expect("wait").is_some() => break,
            Err(_) => {}
        }
    }
    writes
}

#[test]
fn every_line_is_one_write() {
    let dumping = "Dumping contended monitor usage ... Java heap ... allocation sites ... CPU usage by sampling \
                   running threads ...";
    let said = writes("heap=all,cpu=samples,monitor=y,msa=y,file=x.txt");
    for line in &said {
        assert_eq!(line.matches('\n').count(), 1, "{said:?}");
        assert!(line.ends_with('\n'), "{said:?}");
    }
    let position = |wanted: &str| said.iter().position(|line| line == wanted);
    let begun = position(&format!("{dumping}\n"));
    let done = position(&format!("{dumping} done.\n"));
    assert!(begun.is_some() && begun < done, "{said:?}");
    let timed = writes("cpu=old,file=x.txt");
    assert!(timed.iter().all(|line| line.ends_with('\n')), "{timed:?}");
    assert_eq!(
        timed.last().map(String::as_str),
        Some("Dumping CPU usage in old prof format ... done.\n")
    );
}

#[test]
fn an_error_is_one_write() {
    let said = writes("cpu=fast");
    let own: Vec<&String> = said
        .iter()
        .filter(|line| line.contains("hprof: "))
        .collect();
    assert_eq!(
        own,
        ["hprof: option cpu=fast: must be samples|times|old|y\n"],
        "{said:?}"
    );
}
