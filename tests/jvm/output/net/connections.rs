//! Receivers that are slow, disconnect, do not read, or are not there.

use std::io::Read;
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use super::{TestReceiver, Waiting, records, said};
use crate::harness::{Finished, Jvm, Program, any_jvm, skip};

/// Asserts that the program is unaffected.
fn assert_untouched(run: &Finished, count: u32) {
    assert_eq!(run.stdout, format!("loud {count}\n"), "{}", run.stderr);
    assert_eq!(run.status.code(), Some(5), "{}", run.stderr);
}

on_every_jvm!(a_receiver_gets_what_a_file_gets, and 25);

fn a_receiver_gets_what_a_file_gets(jvm: &Jvm) {
    let waiting = Waiting::new();
    let run = waiting
        .program(jvm, "cpu=samples,format=b", "Loud")
        .arg("20")
        .start();
    let bytes = TestReceiver::accept(&waiting).end();
    let run = run.wait();
    assert_untouched(&run, 20);
    assert_eq!(said(&run), [""; 0]);
    assert_eq!(run.files(), [""; 0], "no file is created");
    hprof_format::check(std::io::Cursor::new(&bytes)).expect("a sound profile");
    let loud = records(&bytes).into_iter().filter(|record| {
        matches!(record, hprof_format::Record::String(hprof_format::StringRecord { text, .. }) if text.len() >= 60_000)
    });
    assert_eq!(loud.count(), 20, "{}", jvm.feature);
}

#[test]
fn a_slow_receiver_gets_everything() {
    let waiting = Waiting::new();
    let run = waiting
        .program(any_jvm(), "cpu=samples,format=b", "Loud")
        .arg("150")
        .start();
    let mut stream = waiting.accept();
    // More than the system's buffers and the queue hold, in small pieces, so that the program has to wait.
    let (mut bytes, mut piece) = (Vec::new(), vec![0; 32 * 1024]);
    while let Ok(count @ 1..) = stream.read(&mut piece) {
        bytes.extend_from_slice(&piece[..count]);
        thread::sleep(Duration::from_millis(10));
    }
    assert_untouched(&run.wait(), 150);
    assert!(bytes.len() > 150 * 60_000);
    hprof_format::check(std::io::Cursor::new(&bytes)).expect("a sound profile");
}

on_every_jvm!(a_receiver_may_take_it_a_kilobyte_at_a_time, and 26);

fn a_receiver_may_take_it_a_kilobyte_at_a_time(jvm: &Jvm) {
    let waiting = Waiting::new();
    let run = waiting
        .program(jvm, "cpu=samples,format=b", "Loud")
        .arg("5")
        .start();
    let mut stream = waiting.accept();
    // The system keeps the rest for it after the program has ended.
    assert_untouched(&run.wait(), 5);
    let (mut bytes, mut piece) = (Vec::new(), [0; 1_024]);
    while let Ok(count @ 1..) = stream.read(&mut piece) {
        bytes.extend_from_slice(&piece[..count]);
        thread::sleep(Duration::from_millis(1));
    }
    assert!(bytes.len() > 5 * 60_000);
    hprof_format::check(std::io::Cursor::new(&bytes)).expect("a sound profile");
}

on_every_jvm!(a_receiver_that_leaves_ends_the_profile_and_not_the_program, and 17);

fn a_receiver_that_leaves_ends_the_profile_and_not_the_program(jvm: &Jvm) {
    let waiting = Waiting::new();
    let run = waiting
        .program(jvm, "cpu=samples,format=b", "Loud")
        .arg("100")
        .start();
    let mut stream = waiting.accept();
    stream.read_exact(&mut [0; 10_000]).expect("10 KB");
    drop(stream);
    let run = run.wait();
    assert_untouched(&run, 100);
    let lines = said(&run);
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(
        lines[0].ends_with("; the profile ends here, the program continues"),
        "{lines:?}"
    );
}

/// The system accepts the connection, and some 2.5 MB; then nobody reads anything, and the program must end
/// nonetheless.
#[test]
fn a_receiver_that_never_reads_does_not_keep_the_program_from_ending() {
    let waiting = Waiting::new();
    let run = waiting
        .program(any_jvm(), "cpu=samples,format=b", "Loud")
        .arg("150")
        .run();
    assert_untouched(&run, 150);
    let lines = said(&run);
    assert_eq!(lines.len(), 1, "{lines:?}");
    let nothing = "nothing could be written for ";
    assert!(lines[0].contains(nothing), "{lines:?}");
}

on_every_jvm!(without_a_receiver_the_vm_does_not_start, and 28);

fn without_a_receiver_the_vm_does_not_start(jvm: &Jvm) {
    let port = {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        listener.local_addr().expect("an address").port()
    };
    let options = format!("cpu=samples,net=127.0.0.1:{port}");
    let run = Program::new(jvm, &options, "Hello").run();
    assert_eq!(run.status.code(), Some(1));
    assert_eq!(run.files(), [""; 0]);
    let message = format!(
        "hprof: option net=127.0.0.1:{port}: Connection refused (os error 111); a receiver must be listening there"
    );
    assert_eq!(said(&run), [message]);
}

#[test]
fn a_receiver_of_an_unknown_host_is_refused() {
    let run = Program::new(any_jvm(), "cpu=samples,net=no.such.host.invalid:1", "Hello").run();
    assert_eq!(run.status.code(), Some(1));
    assert!(
        said(&run)[0].starts_with("hprof: option net=no.such.host.invalid:1: "),
        "{}",
        run.stderr
    );
}

#[test]
fn an_ipv6_address_stands_in_brackets() {
    let Ok(waiting) = Waiting::at("[::1]:0") else {
        skip("a receiver at an address of IPv6: this machine has none");
        return;
    };
    assert!(waiting.option().starts_with("net=[::1]:"));
    let run = waiting
        .program(any_jvm(), "cpu=samples,format=b", "Loud")
        .arg("1")
        .start();
    let bytes = TestReceiver::accept(&waiting).end();
    assert_untouched(&run.wait(), 1);
    hprof_format::check(std::io::Cursor::new(&bytes)).expect("a sound profile");
}
