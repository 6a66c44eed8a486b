//! Programs that take a request and say nothing, as a VM that a debugger holds: nobody has to wait for them.

use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use super::fake::{Fake, Says};

/// An `hprof` that waits for a silent program.
struct Waiting {
    child: Child,
    _folder: TempDir,
}

impl Waiting {
    fn start(fake: &Fake, words: &[&str]) -> Waiting {
        let folder = TempDir::new().expect("a folder");
        let agent = fake.command("status");
        let agent = agent.get_args().last().expect("the agent").to_owned();
        let mut command = Command::new(env!("CARGO_BIN_EXE_hprof"));
        command.args(words).arg(fake.pid.to_string());
        command.arg("--agent").arg(agent);
        if words[0] == "record" {
            command.arg("--dir").arg(folder.path());
        }
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("hprof");
        Waiting {
            child,
            _folder: folder,
        }
    }

    fn interrupt(&self) {
        let mut kill = Command::new("kill");
        kill.args(["-INT", &self.child.id().to_string()]);
        assert!(kill.status().expect("kill").success());
    }

    /// Waits for its end; returns the signal, the status and what it has said.
    fn end(mut self) -> (Option<i32>, Option<i32>, String) {
        let status = self.child.wait().expect("it ends");
        let mut said = String::new();
        let mut stderr = self.child.stderr.take().expect("a pipe");
        stderr.read_to_string(&mut said).expect("UTF-8");
        (status.signal(), status.code(), said)
    }
}

/// Returns the folder of the socket in a request of `hprof live`.
fn socket_folder(request: &str) -> PathBuf {
    let socket = request
        .split(',')
        .find_map(|word| word.strip_prefix("live="));
    let socket = Path::new(socket.expect("a socket"));
    socket.parent().expect("a folder").to_owned()
}

#[test]
fn one_signal_ends_the_wait_for_a_start_and_nothing_stays() {
    for words in [&["live", "--once"][..], &["record"], &["record", "heap"]] {
        let mut fake = Fake::new(Says::Waits);
        let waiting = Waiting::start(&fake, words);
        let reply = fake.reply();
        let request = fake.request();
        assert!(reply.exists());
        waiting.interrupt();
        let (signal, status, said) = waiting.end();
        assert_eq!((signal, status), (None, Some(1)), "{words:?}: {said}");
        assert!(said.contains("interrupted before process"), "{said}");
        assert!(!reply.exists(), "{words:?}");
        if words[0] == "live" {
            let folder = socket_folder(&request);
            assert!(folder.starts_with("/tmp"), "{request}");
            assert!(!folder.exists(), "{request}");
        }
    }
}

#[test]
fn a_second_signal_ends_a_recording_at_once_and_nothing_stays() {
    let mut fake = Fake::new(Says::Starts);
    let waiting = Waiting::start(&fake, &["record"]);
    let start = fake.reply();
    assert!(fake.request().starts_with("start,"));
    // The signals are caught before the request is sent.
    waiting.interrupt();
    let stop = fake.reply();
    assert!(fake.request().starts_with("stop,"));
    waiting.interrupt();
    let (signal, _, said) = waiting.end();
    const SIGINT: i32 = 2;
    assert_eq!(signal, Some(SIGINT), "{said}");
    assert!(!start.exists() && !stop.exists());
}

#[test]
fn a_signal_removes_the_reply_file_of_a_command() {
    let mut fake = Fake::new(Says::Waits);
    let waiting = Waiting::start(&fake, &["stop"]);
    let reply = fake.reply();
    assert!(reply.exists());
    waiting.interrupt();
    let (signal, ..) = waiting.end();
    assert_eq!(signal, Some(2));
    assert!(!reply.exists());
}

#[test]
fn a_time_counts_while_the_program_is_silent() {
    let fake = Fake::new(Says::Waits);
    let waiting = Waiting::start(&fake, &["record", "--for", "1s"]);
    let (signal, status, said) = waiting.end();
    assert_eq!((signal, status), (None, Some(1)), "{said}");
    assert!(said.contains("did not answer within 11 s"), "{said}");
}
