//! A program that pretends to be a JVM.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use tempfile::TempDir;

/// The program's behaviour when it is asked.
const SAYS: &str = "FAKE_SAYS";
/// The text that it writes into the reply file, or sends.
const TEXT: &str = "FAKE_TEXT";

#[derive(Clone, Copy)]
pub enum Says {
    /// It does not listen.
    Nothing,
    /// It takes the request and keeps the connection.
    Waits,
    /// It waits, unless it is asked to start a profile.
    Starts,
    /// It closes the connection.
    Closes,
    /// It ends.
    Ends,
    /// It sends without end.
    Endless,
    /// It sends this.
    Sends(&'static str),
    /// It writes this into the reply file, and reports success.
    Replies(&'static str),
    /// It writes this into the reply file, and ends.
    RepliesAndEnds(&'static str),
}

impl Says {
    fn name(self) -> (&'static str, &'static str) {
        match self {
            Says::Nothing => ("nothing", ""),
            Says::Waits => ("waits", ""),
            Says::Starts => ("starts", "done\nstarted"),
            Says::Closes => ("closes", ""),
            Says::Ends => ("ends", ""),
            Says::Endless => ("endless", ""),
            Says::Sends(text) => ("sends", text),
            Says::Replies(text) => ("replies", text),
            Says::RepliesAndEnds(text) => ("replies and ends", text),
        }
    }
}

/// Runs the program itself. It lives as long as its standard input is open.
pub fn run() {
    let says = std::env::var(SAYS).expect("what to say");
    let socket = socket(std::process::id());
    if says != "nothing" {
        let _ = fs::remove_file(&socket);
        let listener = UnixListener::bind(&socket).expect("a socket");
        fs::set_permissions(&socket, fs::Permissions::from_mode(0o600)).expect("it is ours");
        std::thread::spawn(move || {
            listener
                .incoming()
                .flatten()
                .for_each(|stream| answer(stream, &says));
        });
    }
    println!("\nready");
    let _ = std::io::stdin().read(&mut [0]);
    let _ = fs::remove_file(&socket);
    std::process::exit(0);
}

fn answer(mut stream: UnixStream, says: &str) {
    let mut words = Vec::new();
    for _ in 0..5 {
        let mut word = Vec::new();
        let mut byte = [0];
        while stream.read(&mut byte).is_ok_and(|count| count == 1) && byte != [0] {
            word.extend(byte);
        }
        words.push(String::from_utf8_lossy(&word).into_owned());
    }
    if words[0].is_empty() {
        return;
    }
    let reply = words[4]
        .split(',')
        .find_map(|word| word.strip_prefix("reply="));
    let reply = reply.unwrap_or_default();
    println!("asked {reply}\nfor {}", words[4]);
    let text = std::env::var(TEXT).expect("a text");
    match says {
        "starts" if words[4].starts_with("start,") => {
            fs::write(reply, text).expect("a reply");
            let _ = stream.write_all(b"0\nreturn code: 0\n");
        }
        "waits" | "starts" => std::mem::forget(stream),
        "ends" => std::process::exit(0),
        "endless" => while stream.write_all(&[b'0'; 4096]).is_ok() {},
        "sends" => drop(stream.write_all(text.as_bytes())),
        "replies" => {
            fs::write(reply, text).expect("a reply");
            let _ = stream.write_all(b"0\nreturn code: 0\n");
        }
        "replies and ends" => {
            fs::write(reply, text).expect("a reply");
            std::process::exit(0)
        }
        _ => {}
    }
}

/// A fake JVM that is running.
pub struct Fake {
    child: Child,
    output: BufReader<ChildStdout>,
    pub pid: u32,
    library: PathBuf,
    _folder: TempDir,
}

impl Fake {
    pub fn new(says: Says) -> Self {
        Self::with(says, &[])
    }

    /// Starts it with arguments, which it ignores.
    pub fn with(says: Says, arguments: &[&str]) -> Self {
        let folder = folder();
        let program = program(folder.path());
        let command = Command::new(&program);
        let fake = Self::start(command, says, arguments, folder);
        if matches!(says, Says::Nothing) {
            // A file left by another process with this number is removed, as a VM does when it starts.
            let _ = fs::remove_file(socket(fake.pid));
        }
        fake
    }

    /// Starts it with its executable in a folder of this name.
    pub fn within(name: &OsStr, says: Says) -> Self {
        let folder = folder();
        let inner = folder.path().join(name);
        fs::create_dir(&inner).expect("a folder");
        let program = program(&inner);
        let mut command = Command::new(&program);
        // The test harness accepts only UTF-8 arguments.
        command.arg0("program");
        let mut fake = Self::start(command, says, &[], folder);
        fake.library = program;
        fake
    }

    /// Starts it below a shell that runs `script`, with the program in `$@`; the shell itself is started by `runner`.
    pub fn below(says: Says, runner: &[&str], script: &str) -> Self {
        let folder = folder();
        let program = program(folder.path());
        let mut command = Command::new(runner[0]);
        command.args(&runner[1..]);
        command.args(["bash", "-c", script, "bash"]).arg(program);
        let mut fake = Self::start(command, says, &[], folder);
        fake.pid = descendant(fake.pid).expect("the program");
        fake
    }

    fn start(mut command: Command, says: Says, arguments: &[&str], folder: TempDir) -> Self {
        let (name, text) = says.name();
        let mut child = command
            .args(["--exact", "program", "--ignored", "--nocapture"])
            .args(arguments)
            .env(SAYS, name)
            .env(TEXT, text)
            .current_dir(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut fake = Self {
            pid: child.id(),
            child,
            output,
            library: folder.path().join("libjvm.so"),
            _folder: folder,
        };
        fake.line("ready");
        fake
    }

    /// Waits for a line that begins with `start`; returns the rest of it.
    fn line(&mut self, start: &str) -> String {
        let lines = self.output.by_ref().lines();
        let mut found = lines.map_while(Result::ok).filter_map(|line| {
            line.strip_prefix(start)
                .map(|rest| rest.trim_start().to_owned())
        });
        found
            .next()
            .unwrap_or_else(|| panic!("it never said {start}"))
    }

    /// Waits for a request; returns the name of its reply file.
    pub fn reply(&mut self) -> PathBuf {
        self.line("asked").into()
    }

    /// Waits for a request; returns its words.
    pub fn request(&mut self) -> String {
        self.line("for")
    }

    /// Ends it; returns `true` if it received a request.
    pub fn was_asked(mut self) -> bool {
        drop(self.child.stdin.take());
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).expect("UTF-8");
        rest.contains("asked")
    }

    /// Ends it; returns the options of each request that it has received.
    pub fn were_asked_for(mut self) -> Vec<String> {
        drop(self.child.stdin.take());
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).expect("UTF-8");
        let requests = rest.lines().filter_map(|line| line.strip_prefix("for "));
        let options = requests.map(|words| words.splitn(3, ',').nth(2).unwrap_or_default());
        options.map(str::to_owned).collect()
    }

    /// Returns an `hprof` command for it, with the agent it claims to have.
    pub fn command(&self, verb: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hprof"));
        command.args([verb, &self.pid.to_string(), "--agent"]);
        command.arg(&self.library);
        if verb == "attach" {
            command.arg("cpu=samples");
        }
        command
    }

    /// Runs `hprof`; returns its success and its output.
    pub fn hprof(&self, verb: &str) -> (bool, String) {
        let output = self.command(verb).output().expect("hprof");
        let text = String::from_utf8([output.stdout, output.stderr].concat()).expect("UTF-8");
        (output.status.success(), text)
    }

    /// Returns the message with which `hprof` refuses.
    pub fn refusal(&self, verb: &str) -> String {
        let (content, text) = self.hprof(verb);
        assert!(!content, "{text}");
        text
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        // If there is a shell in between, its program ends with its standard input.
        drop(self.child.stdin.take());
        let _ = self.child.wait();
        let _ = fs::remove_file(socket(self.pid));
    }
}

/// Returns the socket of a VM with that process id.
pub fn socket(pid: u32) -> PathBuf {
    Path::new("/tmp").join(format!(".java_pid{pid}"))
}

/// Creates a folder outside /tmp that everybody can read.
fn folder() -> TempDir {
    let folder = TempDir::new_in("/var/tmp").expect("a folder");
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("it is ours");
    folder
}

/// Copies this executable under the name of a VM.
fn program(folder: &Path) -> PathBuf {
    let program = folder.join("libjvm.so");
    // Copied by another process: a file that is open for writing, here or in a child of another test, cannot be run.
    let mut copy = Command::new("cp");
    copy.arg(std::env::current_exe().expect("a path"))
        .arg(&program);
    assert!(copy.status().expect("cp").success());
    program
}

/// Returns the process below this one that runs the program.
fn descendant(pid: u32) -> Option<u32> {
    let command = fs::read_to_string(format!("/proc/{pid}/cmdline")).ok()?;
    if command.split('\0').next()?.ends_with("/libjvm.so") {
        return Some(pid);
    }
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
    let mut children = children.split_whitespace();
    children.find_map(|child| descendant(child.parse().ok()?))
}
