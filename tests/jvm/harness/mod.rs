//! Compiles the Java programs once, and runs them with the agent.

mod at_hand;
mod crash;
mod finished;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

pub use at_hand::{
    Jvm, agent, any_jdk, any_jvm, c_library, cli, compiler, compiles, fetched, go_library,
    is_release_build, javac, jvms, may_mount, old_jvms, reader,
};
pub use finished::Finished;
pub use hprof_testing::skip;

/// The time after which a program is considered hanging.
const TIMEOUT: Duration = Duration::from_secs(300);

/// Returns the classes of `java-tests/<feature>`, compiled when they are first wanted.
pub fn classes(feature: &str) -> PathBuf {
    static COMPILED: Mutex<BTreeMap<String, Arc<OnceLock<()>>>> = Mutex::new(BTreeMap::new());
    let classes = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("classes")
        .join(feature);
    let compiled = {
        let mut all = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(all.entry(feature.to_owned()).or_default())
    };
    compiled.get_or_init(|| {
        let sources = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("java-tests")
            .join(feature);
        let is_newer = |name: &str| name.ends_with("21.java");
        compile(&sources, &classes, "11", |name| !is_newer(name));
        if compiles(21) {
            compile(&sources, &classes, "21", is_newer);
        }
    });
    classes
}

fn compile(sources: &Path, classes: &Path, release: &str, wanted: impl Fn(&str) -> bool) {
    let files: Vec<PathBuf> = fs::read_dir(sources)
        .expect("sources")
        .map(|entry| entry.expect("a source").path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "java")
        })
        .filter(|path| wanted(path.to_str().expect("UTF-8")))
        .collect();
    if files.is_empty() {
        return;
    }
    let status = Command::new(javac())
        .args([
            // It runs for a second or two: less is compiled of itself.
            "-J-XX:TieredStopAtLevel=1",
            "-J-XX:+UseSerialGC",
            "-nowarn",
            "-Xlint:-options",
            "-g",
            "--release",
            release,
            "-d",
        ])
        .arg(classes)
        .args(files)
        .status()
        .expect("javac");
    assert!(status.success(), "the test programs compile");
}

/// One run of a program, in a folder of its own.
pub struct Program {
    command: Command,
    folder: TempDir,
}

impl Program {
    /// A program of `java-tests/samples` with the agent.
    pub fn new(jvm: &Jvm, options: &str, name: &str) -> Self {
        Self::java(jvm, options, &[]).class(name)
    }

    /// As `new`, with options for the VM.
    pub fn with_vm_options(jvm: &Jvm, options: &str, vm_options: &[&str], name: &str) -> Self {
        Self::java(jvm, options, vm_options).class(name)
    }

    /// A JVM with the agent; `arg` adds the program to run.
    pub fn java(jvm: &Jvm, options: &str, vm_options: &[&str]) -> Self {
        let mut program = Self::tool(jvm, "java");
        program.command.arg(agent_path(options)).args(vm_options);
        program
    }

    /// A tool of the JDK, `javac`, with the agent in its own VM.
    pub fn javac(jvm: &Jvm, options: &str) -> Self {
        let mut program = Self::tool(jvm, "javac");
        let mut agent = OsString::from("-J");
        agent.push(agent_path(options));
        program.command.arg(agent);
        program
    }

    fn tool(jvm: &Jvm, tool: &str) -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        let mut command = Command::new(jvm.home.join("bin").join(tool));
        command.current_dir(folder.path()).stdin(Stdio::null());
        for variable in [
            "JAVA_TOOL_OPTIONS",
            "_JAVA_OPTIONS",
            "JDK_JAVA_OPTIONS",
            "_JAVA_HPROF_OPTIONS",
        ] {
            command.env_remove(variable);
        }
        Self { command, folder }
    }

    /// A JVM without the agent; `program` or `arg` adds the program to run.
    pub fn bare_java(jvm: &Jvm, vm_options: &[&str]) -> Self {
        let mut program = Self::tool(jvm, "java");
        program.command.args(vm_options);
        program
    }

    /// Runs a program of `java-tests/<feature>`.
    pub fn program(mut self, feature: &str, name: &str) -> Self {
        self.command.arg("-cp").arg(classes(feature)).arg(name);
        self
    }

    fn class(self, name: &str) -> Self {
        self.program("samples", name)
    }

    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.command.arg(arg.into());
        self
    }

    /// Adds options for the VM, before the program.
    pub fn vm_options(mut self, options: &[String]) -> Self {
        self.command.args(options);
        self
    }

    pub fn args<const N: usize>(mut self, args: [&str; N]) -> Self {
        self.command.args(args);
        self
    }

    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    /// Wraps the command in a shell that first runs `setup`, in the same process.
    pub fn after(self, setup: &str) -> Self {
        let mut command = Command::new("bash");
        command.current_dir(self.folder.path()).stdin(Stdio::null());
        command
            .arg("-c")
            .arg(format!("{setup}\nexec \"$@\""))
            .arg("bash");
        command
            .arg(self.command.get_program())
            .args(self.command.get_args());
        Self {
            command,
            folder: self.folder,
        }
    }

    /// Wraps the command in another, which runs it.
    pub fn wrapped_in(self, runner: &str) -> Self {
        let mut words = runner.split(' ');
        let mut command = Command::new(words.next().expect("a command"));
        command.current_dir(self.folder.path()).stdin(Stdio::null());
        command.args(words).arg(self.command.get_program());
        command.args(self.command.get_args());
        Self {
            command,
            folder: self.folder,
        }
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Runs it to its end.
    pub fn run(self) -> Finished {
        self.start().wait()
    }

    /// Runs it and expects it to succeed.
    pub fn run_well(self) -> Finished {
        let finished = self.run();
        assert!(
            finished.status.success(),
            "{}: {}",
            finished.status,
            finished.stderr
        );
        finished
    }

    /// Starts it.
    pub fn start(mut self) -> Running {
        crash::allow_cores();
        // Files, not pipes: a program must not wait for a test that does not read.
        let outputs = TempDir::new().expect("a temporary folder");
        let create = |name| File::create(outputs.path().join(name)).expect("an output file");
        self.command
            .stdout(create("stdout"))
            .stderr(create("stderr"));
        let child = Guarded(self.command.spawn().expect("the JVM"));
        Running {
            child,
            folder: self.folder,
            outputs,
            is_signalled: Cell::new(false),
        }
    }
}

/// A process that does not outlive the test, however that ends.
struct Guarded(Child);

impl Drop for Guarded {
    fn drop(&mut self) {
        // One that has ended and been waited for is not signalled.
        let _ = self.0.kill();
        let _ = self.0.wait();
        // A killed VM leaves its socket, and a later program with this number may be another user's.
        let _ = fs::remove_file(format!("/tmp/.java_pid{}", self.0.id()));
    }
}

/// A running program.
pub struct Running {
    child: Guarded,
    folder: TempDir,
    outputs: TempDir,
    /// `true` if the test has sent it a signal that may end it.
    is_signalled: Cell<bool>,
}

impl Running {
    pub fn send(&self, signal: &str) {
        // A VM that is up makes a dump on SIGQUIT.
        self.is_signalled
            .set(self.is_signalled.get() || signal != "QUIT");
        let status = Command::new("kill")
            .args(["-s", signal, &self.child.0.id().to_string()])
            .status();
        assert!(status.expect("kill").success());
    }

    /// As `send`, to a program that may have ended.
    pub fn try_send(&self, signal: &str) {
        let mut kill = Command::new("kill");
        kill.args(["-s", signal, &self.id().to_string()]);
        let _ = kill.stderr(Stdio::null()).status();
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Waits until the program has printed `text`.
    pub fn wait_for_output(&self, text: &str) {
        self.wait_until(|| self.output("stdout").contains(text));
    }

    /// As `wait_for_output`, on stderr.
    pub fn wait_for_stderr(&self, text: &str) {
        self.wait_until(|| self.output("stderr").contains(text));
    }

    /// Returns its output on stderr so far.
    pub fn stderr(&self) -> String {
        self.output("stderr")
    }

    pub fn id(&self) -> u32 {
        self.child.0.id()
    }

    /// Makes the running VM load the agent, by `jcmd`; returns the output of that.
    pub fn jcmd_load(&self, options: &str) -> String {
        let command = format!("JVMTI.agent_load {} \"{options}\"", agent().display());
        self.jcmd(&command)
    }

    /// Runs `hprof <verb> <pid> <rest>` for this program; returns its success and its output.
    pub fn hprof(&self, verb: &str, rest: &[&str]) -> (bool, String) {
        let mut hprof = Command::new(cli());
        hprof
            .arg(verb)
            .arg(self.child.0.id().to_string())
            .args(rest);
        let output = hprof.arg("--agent").arg(agent()).output().expect("hprof");
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8(text).expect("UTF-8");
        (output.status.success(), text.trim_end().to_owned())
    }

    /// As `hprof`, which must succeed.
    pub fn hprof_well(&self, verb: &str, rest: &[&str]) -> String {
        let (content, text) = self.hprof(verb, rest);
        assert!(content, "hprof {verb} {rest:?}: {text}");
        text
    }

    /// Returns the output of `jcmd <pid> <command>` for the running VM. That of any JDK is used: a JRE has none.
    pub fn jcmd(&self, command: &str) -> String {
        // A VM that hangs answers nothing, and jcmd would wait for it.
        let output = Command::new("timeout")
            .arg(TIMEOUT.as_secs().to_string())
            .arg(any_jdk().home.join("bin/jcmd"))
            .args([&*self.child.0.id().to_string(), command])
            .output()
            .expect("jcmd");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "jcmd {command}: {said}{error}");
        said
    }

    /// Returns the value of a flag of the running VM; `None` if there is none of that name.
    pub fn vm_flag(&self, name: &str) -> Option<String> {
        let flags = self.jcmd("VM.flags -all");
        let value = |line: &str| {
            let mut words = line.split_whitespace().skip(1);
            (words.next()? == name).then(|| words.nth(1).map(str::to_owned))?
        };
        flags.lines().find_map(value)
    }

    pub fn wait_until(&self, condition: impl Fn() -> bool) {
        let end = Instant::now() + TIMEOUT;
        while !condition() {
            assert!(
                Instant::now() < end,
                "waited in vain: {} {}",
                self.output("stdout"),
                self.output("stderr")
            );
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Returns its output on `stdout` or `stderr`.
    pub fn output(&self, name: &str) -> String {
        String::from_utf8_lossy(&fs::read(self.outputs.path().join(name)).expect("an output file"))
            .into_owned()
    }

    pub fn wait(mut self) -> Finished {
        let end = Instant::now() + TIMEOUT;
        let status = loop {
            if let Some(status) = self.child.0.try_wait().expect("wait") {
                break status;
            }
            if Instant::now() > end {
                panic!(
                    "the program hangs: {} {}",
                    self.output("stdout"),
                    self.output("stderr")
                );
            }
            thread::sleep(Duration::from_millis(10));
        };
        let (stdout, stderr) = (self.output("stdout"), self.output("stderr"));
        let mut finished = Finished {
            status,
            stdout,
            stderr,
            folder: self.folder,
        };
        if !self.is_signalled.get()
            && let Some(report) = crash::kept(&mut finished)
        {
            println!("{report}");
        }
        finished
    }
}

/// Returns the argument that loads the agent.
pub fn agent_path(options: &str) -> OsString {
    let mut argument = OsString::from("-agentpath:");
    argument.push(agent());
    argument.push("=");
    argument.push(options);
    argument
}
