//! The progress that a terminal shows.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

/// Returns both ends of a terminal: the one that observes it, and the one for a program.
fn terminal() -> (File, File) {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&ours).expect("it is ours");
    unlockpt(&ours).expect("it is ours");
    let name = ptsname(&ours, Vec::new()).expect("it has a name");
    let theirs = OpenOptions::new()
        .read(true)
        .write(true)
        .open(name.to_str().expect("UTF-8"));
    (ours.into(), theirs.expect("it can be opened"))
}

/// Makes a command read a profile that does not end before the terminal shows `wanted`. Returns everything it shows.
fn shown_by(arguments: &[&str], wanted: &str) -> String {
    let (mut ours, theirs) = terminal();
    let mut child = Command::new(env!("CARGO_BIN_EXE_hprof"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(theirs)
        .spawn()
        .expect("the tool starts");
    let mut input = child.stdin.take().expect("it is piped");
    let (found, is_found) = mpsc::channel();
    let wanted = wanted.to_owned();
    let watcher = thread::spawn(move || {
        let mut shown = String::new();
        let mut piece = [0; 4096];
        // Reading from a terminal that nobody has open any more is an error.
        while let Ok(count @ 1..) = ours.read(&mut piece) {
            shown.push_str(&String::from_utf8_lossy(&piece[..count]));
            if shown.contains(&wanted) {
                let _ = found.send(());
            }
        }
        shown
    });
    let head = "JAVA PROFILE 1.0.1, created Fri Nov 20 10:39:11 2026\n--------\n";
    input.write_all(head.as_bytes()).expect("it reads");
    while is_found.try_recv().is_err() && !watcher.is_finished() {
        input
            .write_all(&b"(a note that says nothing)\n"[..])
            .expect("it reads");
    }
    let end = "CPU SAMPLES BEGIN (total = 1) Fri Nov 20 10:39:12 2026\n\
               rank   self  accum   count trace method\nCPU SAMPLES END\n";
    input.write_all(end.as_bytes()).expect("it reads");
    drop(input);
    let status = child.wait().expect("it ends");
    let shown = watcher.join().expect("it looks on");
    assert!(status.success(), "{arguments:?}: {shown}");
    shown
}

#[test]
fn a_terminal_shows_how_far_long_work_is() {
    let page = Path::new(env!("CARGO_TARGET_TMPDIR")).join("terminal.html");
    let page = page.to_str().expect("UTF-8");
    for arguments in [
        &["top", "-"][..],
        &["tree", "-"],
        &["export", "--to", "json", "-"],
        &["report", "-", "-o", page],
        &["flame", "-", "-o", page],
    ] {
        let shown = shown_by(arguments, "reading - ");
        // The line is cleared, and nothing else is printed.
        assert!(shown.ends_with("\r\x1b[K"), "{arguments:?}: {shown:?}");
        assert!(!shown.contains('\n'), "{arguments:?}: {shown:?}");
    }
}
