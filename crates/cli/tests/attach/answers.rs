//! The handling of answers.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Stdio};

use super::fake::{Fake, Says};

#[test]
fn an_answer_without_an_end_is_not_taken() {
    let fake = Fake::new(Says::Endless);
    let said = fake.refusal("status");
    assert!(
        said.ends_with(" is longer than 65536 bytes, the most that is read\n"),
        "{said}"
    );
}

#[test]
fn no_answer_is_an_escape_sequence() {
    const TEXT: &str = "done\nfine\x1b]0;mine\x07 \u{9b}31m \u{202e}txt\nline 2";
    let fake = Fake::new(Says::Replies(TEXT));
    assert_eq!(
        fake.hprof("status"),
        (true, "fine?]0;mine? ?31m ?txt\nline 2\n".to_owned())
    );
    let fake = Fake::new(Says::Sends("100\nno \x1b[31m\u{85}library"));
    let said = fake.refusal("status");
    assert!(said.ends_with(": no ?[31m?library\n"), "{said}");
}

#[test]
fn no_name_in_the_list_is_an_escape_sequence() {
    let fake = Fake::with(Says::Nothing, &["\x1b]0;mine\x07\nno line\u{9b}31m"]);
    let list = Command::new(env!("CARGO_BIN_EXE_hprof"))
        .arg("list")
        .output()
        .expect("hprof");
    let list = String::from_utf8(list.stdout).expect("UTF-8");
    let id = fake.pid.to_string();
    let line = list
        .lines()
        .find(|line| line.trim_start().starts_with(&id))
        .unwrap_or_else(|| panic!("{id} is missing: {list}"));
    assert!(line.ends_with(" ?]0;mine??no line?31m"), "{line}");
}

#[test]
fn a_file_whose_name_is_not_utf_8_hides_no_program() {
    let fake = Fake::within(
        OsStr::from_bytes(b"\xff\x1b[31m"),
        Says::Replies("done\nfine"),
    );
    assert_eq!(fake.hprof("status"), (true, "fine\n".to_owned()));
}

#[test]
fn a_program_that_ends_is_said_to_have_ended() {
    for verb in ["status", "dump", "stop"] {
        let fake = Fake::new(Says::Ends);
        let ended = format!("hprof: process {} ended before it answered\n", fake.pid);
        assert_eq!(fake.refusal(verb), ended, "{verb}");
    }
}

#[test]
fn a_program_that_goes_on_is_not_said_to_have_ended() {
    let fake = Fake::new(Says::Closes);
    let said = fake.refusal("status");
    assert!(
        said.contains(" closed the connection without an answer"),
        "{said}"
    );
}

#[test]
fn what_the_agent_said_stands_though_its_program_has_ended() {
    let fake = Fake::new(Says::RepliesAndEnds("done\nstopped"));
    assert_eq!(fake.hprof("stop"), (true, "stopped\n".to_owned()));
}

#[test]
fn the_reply_files_of_killed_clients_are_swept_and_no_others() {
    let mut fakes = [Fake::new(Says::Waits), Fake::new(Says::Waits)];
    let mut clients = fakes.each_ref().map(|fake| {
        let mut command = fake.command("status");
        command.stderr(Stdio::null()).spawn().expect("hprof")
    });
    let replies = fakes.each_mut().map(Fake::reply);
    assert!(replies.iter().all(|reply| reply.exists()), "{replies:?}");
    clients[0].kill().expect("it runs");
    clients[0].wait().expect("it runs");
    let (content, said) = Fake::new(Says::Replies("done\nfine")).hprof("status");
    assert!(content, "{said}");
    let are_there = replies.each_ref().map(|reply| reply.exists());
    assert_eq!(are_there, [false, true]);
    drop(fakes);
    clients[1].wait().expect("it ends with the program");
    assert!(!replies[1].exists());
}
