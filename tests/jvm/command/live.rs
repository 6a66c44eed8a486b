//! `hprof live`: what its pages say, and that nothing of it stays in the program. `java-tests/live/Watched.java` says what is
//! right.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::harness::{Jvm, Program, Running, agent, any_jvm, cli};

/// The longest that a test waits for a screen, or for the end of a command.
const TIMEOUT: Duration = Duration::from_secs(120);

fn watched(jvm: &Jvm) -> Running {
    let run = Program::bare_java(jvm, &[])
        .program("live", "Watched")
        .start();
    run.wait_for_output("ready");
    run
}

fn end(run: Running) {
    fs::write(run.path("end"), "").expect("a file");
    let run = run.wait();
    assert!(run.status.success(), "{}: {}", run.status, run.stderr);
    let lines = run.stderr.lines();
    let mut own = lines.filter(|line| !line.starts_with("WARNING: "));
    assert_eq!(own.next(), None, "the program's stderr is its own");
}

/// `hprof live` with these words before the program's id.
fn live(run: &Running, words: &[&str]) -> Command {
    let mut command = Command::new(cli());
    command.arg("live").args(words).arg(run.id().to_string());
    command.arg("--agent").arg(agent());
    command
}

/// Asserts that the agent ends its session, with all of its threads, and that no file is left.
fn assert_nothing_stays(run: &Running) {
    run.wait_until(|| run.hprof_well("status", &[]).starts_with("no profile"));
    let tasks = format!("/proc/{}/task", run.id());
    let is_agents = |task: fs::DirEntry| {
        let name = fs::read_to_string(task.path().join("comm"));
        name.is_ok_and(|name| name.starts_with("HPROF"))
    };
    run.wait_until(|| {
        let mut tasks = fs::read_dir(&tasks).expect("it runs").flatten();
        !tasks.any(is_agents)
    });
    run.wait_until(has_no_socket);
}

/// Returns `true` if no client's folder is left; those of other tests go, too.
fn has_no_socket() -> bool {
    let names = fs::read_dir("/tmp").expect("a folder").flatten();
    let mut names = names.map(|entry| entry.file_name());
    !names.any(|name| name.to_string_lossy().starts_with(".hprof-live-"))
}

/// Returns the rows of a page, each without its numbers.
fn rows(text: &str, page: &str) -> Vec<String> {
    let lines = text.lines().skip_while(|line| !line.starts_with(page));
    let rows = lines.skip(2).take_while(|line| !line.is_empty());
    let is_number =
        |word: &&str| word.parse::<f64>().is_ok() || ["s", "B", "KB", "MB", "GB"].contains(word);
    let name = |line: &str| {
        let words = line.split_whitespace().skip_while(is_number);
        words.collect::<Vec<_>>().join(" ")
    };
    rows.map(name).collect()
}

on_every_jvm!(a_page_names_what_the_program_does, and 17);

fn a_page_names_what_the_program_does(jvm: &Jvm) {
    let run = watched(jvm);
    // On a busy machine a few seconds are little of this program's time.
    let output = live(&run, &["all", "--once", "--for", "6s"]).output();
    let output = output.expect("hprof");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(
        text.starts_with(&format!("Watched (process {})\n", run.id())),
        "{text}"
    );
    let java = |row: &&String| !row.starts_with("java.lang.Thread.<");
    let methods = rows(&text, "CPU: ");
    assert_eq!(
        methods.iter().find(java).expect("a method"),
        "Watched.spin",
        "{text}"
    );
    assert!(methods.contains(&"Watched.main".to_owned()), "{text}");
    assert_eq!(
        rows(&text, "Allocation: ")[0],
        "byte[] Watched.allocate",
        "{text}"
    );
    assert_eq!(
        rows(&text, "Locks: "),
        ["java.lang.Object Watched.contend"],
        "{text}"
    );
    assert!(rows(&text, "Threads: ").len() > 5, "{text}");
    let holders = rows(&text, "Holders: ");
    for row in [
        "Watched.contend, while Watched.pause (called by Watched.contend",
        "Watched.share, while Watched.pause (called by Watched.share",
    ] {
        assert!(
            holders.iter().any(|holder| holder.starts_with(row)),
            "{text}"
        );
    }
    assert_nothing_stays(&run);
    end(run);
}

on_every_jvm!(the_live_page_names_who_has_memory_allocated, and 26);

fn the_live_page_names_who_has_memory_allocated(jvm: &'static Jvm) {
    let run = Program::bare_java(jvm, &[])
        .program("memory", "Uses")
        .arg("direct")
        .start();
    run.wait_for_output("begun");
    let mut live = live(&run, &["native", "--once", "--for", "8s"]);
    let live = thread::spawn(move || live.output().expect("hprof"));
    run.wait_until(|| !run.hprof_well("status", &[]).starts_with("no profile"));
    fs::write(run.path("go"), "").expect("a file");
    let output = live.join().expect("no panic");
    let text = String::from_utf8_lossy(&output.stdout);
    let (_, page) = text
        .split_once("\nNative: ")
        .unwrap_or_else(|| panic!("{text}"));
    let row = page.lines().nth(2).unwrap_or_else(|| panic!("{page}"));
    assert!(row.ends_with("  Uses.large"), "{page}");
    // 250 blocks of 400,000 bytes, one in 512 KiB of which is seen: the standard error is 5.8 MB.
    let megabytes = row
        .split_whitespace()
        .next()
        .and_then(|text| text.parse::<f64>().ok());
    assert!(
        megabytes.is_some_and(|live| (74.0..126.0).contains(&live)) && row.contains(" MB "),
        "{page}"
    );
    fs::write(run.path("end"), "").expect("a file");
    assert!(run.wait().status.success());
}

on_every_jvm!(the_session_ends_with_a_killed_client, and 28);

fn the_session_ends_with_a_killed_client(jvm: &Jvm) {
    let run = watched(jvm);
    let mut client = live(&run, &["all", "--once", "--for", "1h"])
        .stdout(Stdio::null())
        .spawn()
        .expect("hprof");
    run.wait_until(|| run.hprof_well("status", &[]).starts_with("profiling for "));
    // The client removes it as soon as the agent has connected; what a killed one left goes with the next client.
    run.wait_until(has_no_socket);
    // SIGKILL.
    client.kill().expect("it runs");
    client.wait().expect("it has ended");
    assert_nothing_stays(&run);
    // Another profile can begin.
    run.hprof_well("attach", &["cpu=samples,verbose=n,file=x.txt"]);
    run.hprof_well("stop", &[]);
    end(run);
}

#[test]
fn a_profile_of_somebody_else_is_left_alone() {
    let run = watched(any_jvm());
    run.hprof_well("attach", &["cpu=samples,verbose=n,file=x.txt"]);
    let refused = live(&run, &["--once"]).output().expect("hprof");
    let said = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1), "{said}");
    assert!(said.contains("stop it first"), "{said}");
    assert!(run.hprof_well("status", &[]).starts_with("profiling for "));
    run.hprof_well("stop", &[]);
    assert_nothing_stays(&run);
    end(run);
}

#[test]
fn a_session_that_somebody_else_ends_is_over() {
    let run = watched(any_jvm());
    let client = live(&run, &["--once", "--for", "1h"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("hprof");
    run.wait_until(|| run.hprof_well("status", &[]).starts_with("profiling for "));
    assert_eq!(
        run.hprof_well("stop", &[]),
        "stopped; the profile is in hprof live"
    );
    let output = client.wait_with_output().expect("hprof");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("the session was ended in the program"),
        "{said}"
    );
    assert_nothing_stays(&run);
    end(run);
}

#[test]
fn a_session_needs_its_client() {
    let run = watched(any_jvm());
    let (_, said) = run.hprof("attach", &["cpu=samples,live=/tmp/nobody/socket"]);
    assert!(
        said.contains("`hprof live` must be listening there"),
        "{said}"
    );
    assert!(run.hprof_well("status", &[]).starts_with("no profile"));
    end(run);
}

/// Starts `hprof live` on a terminal, whose other end is returned.
fn on_a_terminal(run: &Running, words: &[&str], folder: &Path) -> (File, Child) {
    let ours =
        openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("a terminal");
    grantpt(&ours).expect("it is ours");
    unlockpt(&ours).expect("it is ours");
    let name = ptsname(&ours, Vec::new()).expect("it has a name");
    let name = name.to_str().expect("UTF-8").to_owned();
    let theirs = || {
        let mut options = OpenOptions::new();
        options
            .read(true)
            .write(true)
            .open(&name)
            .expect("it can be opened")
    };
    let client = live(run, words)
        .env("TERM", "xterm")
        .current_dir(folder)
        .stdin(theirs())
        .stdout(theirs())
        .stderr(theirs())
        .spawn()
        .expect("hprof");
    (File::from(ours), client)
}

/// `hprof live` on a terminal of 80 columns and 24 lines.
struct Terminal {
    ours: File,
    client: Child,
    /// Everything that it has shown.
    shown: Arc<Mutex<String>>,
    /// Adds to what it has shown.
    reader: JoinHandle<()>,
    /// Set to end the reader at the next change of the screen.
    hangs_up: Arc<AtomicBool>,
}

impl Terminal {
    fn start(run: &Running, words: &[&str], folder: &Path) -> Self {
        let (ours, client) = on_a_terminal(run, words, folder);
        let shown = Arc::<Mutex<String>>::default();
        let (mut screen, all) = (ours.try_clone().expect("a terminal"), shown.clone());
        let hangs_up = Arc::<AtomicBool>::default();
        let ends = hangs_up.clone();
        let reader = thread::spawn(move || {
            let mut piece = [0; 4096];
            // Reading from a terminal that nobody has open any more is an error.
            while let Ok(count @ 1..) = screen.read(&mut piece) {
                let text = String::from_utf8_lossy(&piece[..count]);
                all.lock().expect("no panic").push_str(&text);
                if ends.load(Ordering::Relaxed) {
                    break;
                }
            }
        });
        Self {
            ours,
            client,
            shown,
            reader,
            hangs_up,
        }
    }

    /// Takes the terminal away from the command, as the end of a connection does.
    fn hang_up(self) -> Child {
        self.hangs_up.store(true, Ordering::Relaxed);
        // The command draws all of its screen again, which the reader waits for.
        self.resize(82);
        self.reader.join().expect("no panic");
        self.client
    }

    /// Sends keys once the screen has shown a text since the last ones.
    fn keys(&mut self, awaited: &str, keys: &str) {
        self.wait_for(awaited);
        self.shown.lock().expect("no panic").clear();
        self.ours.write_all(keys.as_bytes()).expect("it takes keys");
    }

    /// Waits for a text. Only what changes on a screen is drawn, so its width is changed now and then: then all is.
    fn wait_for(&self, awaited: &str) {
        let end = Instant::now() + TIMEOUT;
        for round in 0.. {
            self.resize(80 + round % 2);
            for _ in 0..20 {
                if self.shown().contains(awaited) {
                    return;
                }
                thread::sleep(Duration::from_millis(20));
            }
            assert!(Instant::now() < end, "{awaited}: {}", self.shown());
        }
    }

    fn resize(&self, columns: u16) {
        let size = Winsize {
            ws_row: 24,
            ws_col: columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&self.ours, size).expect("a terminal");
    }

    /// Returns the words that the screen has shown, with a blank for every control sequence.
    fn shown(&self) -> String {
        let all = self.shown.lock().expect("no panic").clone();
        let mut parts = all.split("\x1b[");
        let mut words = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let end = part.find(|letter: char| letter.is_ascii_alphabetic());
            words.push(' ');
            words.push_str(end.map_or("", |end| &part[end + 1..]));
        }
        words.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Waits for the end of the command, which leaves the terminal as it was.
    fn wait(mut self) -> Option<i32> {
        let status = self.client.wait().expect("it ends");
        let end = Instant::now() + TIMEOUT;
        // The end of the alternate screen.
        while !self.shown.lock().expect("no panic").contains("\x1b[?1049l") {
            assert!(Instant::now() < end, "{}", self.shown());
            thread::sleep(Duration::from_millis(20));
        }
        status.code()
    }
}

#[test]
fn keys_turn_pages_write_the_profile_and_leave() {
    let run = watched(any_jvm());
    let folder = tempfile::tempdir().expect("a folder");
    let mut terminal = Terminal::start(&run, &["--interval", "500ms"], folder.path());
    terminal.keys("Watched.spin", "2");
    terminal.keys("is not measured yet", "a");
    terminal.keys("Watched.allocate", "\r");
    terminal.keys("Callers of byte[] Watched.allocate", "q");
    terminal.keys("growth/s", "4/java\r");
    // The main thread is the first of them; the VM gives its stack.
    terminal.keys("only with `java`", "\r");
    terminal.keys("at Watched.", "q");
    terminal.keys("only with `java`", "w");
    terminal.keys("written: Watched-", "q");
    assert_eq!(terminal.wait(), Some(0));
    assert_nothing_stays(&run);
    let files = fs::read_dir(folder.path()).expect("a folder").flatten();
    let files: Vec<_> = files.map(|entry| entry.path()).collect();
    let [file] = files.as_slice() else {
        panic!("{files:?}");
    };
    let top = Command::new(cli()).arg("top").arg(file).output();
    let top = String::from_utf8(top.expect("hprof").stdout).expect("UTF-8");
    assert!(top.contains("Watched.spin"), "{top}");
    end(run);
}

#[test]
fn a_dump_leaves_the_session_as_it_is() {
    let run = watched(any_jvm());
    let folder = tempfile::tempdir().expect("a folder");
    let words = ["all", "--interval", "500ms"];
    let mut terminal = Terminal::start(&run, &words, folder.path());
    let seconds = || {
        let status = run.hprof_well("status", &[]);
        let length = status.strip_prefix("profiling for ").expect(&status);
        length
            .split(' ')
            .next()
            .and_then(|n| n.parse::<f64>().ok())
            .expect(&status)
    };
    terminal.wait_for("Watched.spin");
    run.wait_until(|| seconds() >= 3.0);
    let before = seconds();
    terminal.keys("Watched.spin", "d");
    terminal.wait_for(".hprof, heap dump ");
    assert!(seconds() >= before, "another session");
    terminal.keys("Watched.spin", "q");
    assert_eq!(terminal.wait(), Some(0));
    assert_nothing_stays(&run);
    let mut files = fs::read_dir(folder.path()).expect("a folder").flatten();
    let dump = files.next().expect("a dump").path();
    let arguments = ["heap", "histogram"];
    let histogram = Command::new(cli()).args(arguments).arg(dump).output();
    let histogram = String::from_utf8(histogram.expect("hprof").stdout).expect("UTF-8");
    assert!(histogram.contains("java.lang.String"), "{histogram}");
    end(run);
}

#[test]
fn ctrl_c_and_signals_restore_the_terminal_and_end_the_session() {
    let run = watched(any_jvm());
    let folder = tempfile::tempdir().expect("a folder");
    for is_key in [true, false] {
        let mut terminal = Terminal::start(&run, &["--interval", "500ms"], folder.path());
        if is_key {
            terminal.keys("Watched.spin", "\x03");
        } else {
            terminal.wait_for("Watched.spin");
            let id = i32::try_from(terminal.client.id()).ok();
            let id = id.and_then(Pid::from_raw).expect("it runs");
            // SIGINT may be ignored: the tests may run in a shell's background.
            kill_process(id, Signal::TERM).expect("it runs");
        }
        assert_eq!(terminal.wait(), Some(0));
        assert_nothing_stays(&run);
    }
    end(run);
}

#[test]
fn a_terminal_that_goes_away_ends_the_command_and_the_session() {
    let run = watched(any_jvm());
    let folder = tempfile::tempdir().expect("a folder");
    let terminal = Terminal::start(&run, &["--interval", "500ms"], folder.path());
    terminal.wait_for("Watched");
    let mut client = terminal.hang_up();
    let deadline = Instant::now() + TIMEOUT;
    while client.try_wait().expect("a child").is_none() {
        if Instant::now() > deadline {
            client.kill().expect("it runs");
            panic!("it goes on without a terminal");
        }
        thread::sleep(Duration::from_millis(20));
    }
    assert_nothing_stays(&run);
    end(run);
}
