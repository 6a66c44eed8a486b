//! Commands to a running VM: start a profile, dump it, stop it, report its status.

use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::reply::Reply;
use super::{StartError, begin, outputs};
use crate::os;
use crate::session;
use jvmti::{Jni, JvmtiError, OwnEnv, Vm};
use locks::{Mutex, rank};
use memory::{OutOfMemory, own_memory, return_free_memory};
use options::{Command, OptionError, Options, Request, Verb};
use output::console;

/// The longest that one command waits for another.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The longest that a VM is waited for that is still starting, and the interval at which it is asked.
const START_TIMEOUT: Duration = Duration::from_secs(8);
const START_POLL_INTERVAL: Duration = Duration::from_millis(10);

/// The interval at which a waiting thread checks whether its session still runs.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Held while a command is carried out.
static COMMANDING: Mutex<(), rank::Commanding> = Mutex::new(());

/// The reason a command was not carried out, in one line.
#[derive(Debug, thiserror::Error)]
enum Refused {
    #[error("another command is still being carried out")]
    Busy,
    #[error("{0} already: stop it first")]
    Running(String),
    #[error("no profile is running")]
    NotRunning,
    #[error("the command came on a thread that the VM does not know")]
    NoThread,
    #[error(transparent)]
    Options(OptionError),
    #[error("{0}; jcmd cuts options at '=', unless they are in quotes of their own: '\"{1}=...\"'")]
    Cut(OptionError, &'static str),
    #[error(transparent)]
    Start(#[from] StartError),
    #[error("{0}; no profile was started")]
    Begin(JvmtiError),
    #[error("this VM is still starting; ask again later")]
    Starting,
    #[error("no {0}: the client that requested it has disconnected")]
    Withdrawn(&'static str),
    #[error("a fault of the agent ended the profile")]
    Fault,
    #[error("the VM does not support JVMTI 11")]
    NoEnvironment,
    #[error("this system does not report where the memory of a process is")]
    NoAccount,
    #[error(transparent)]
    NoHeap(#[from] session::NoHeap),
    #[error(
        "'heap' takes the options of a heap dump alone: heap=dump,format=b, its file=, dumper= and others about the dump"
    )]
    NotADump,
    #[error("stopped, but the profile is incomplete: the program's stderr says why")]
    NotWhole,
}

impl From<OptionError> for Refused {
    fn from(error: OptionError) -> Self {
        match error {
            OptionError::NoValue { name, .. } => Refused::Cut(error, name),
            error => Refused::Options(error),
        }
    }
}

/// The result of a command that was carried out.
enum Outcome {
    /// The answer that the user asked for.
    Answer(String),
    /// What only the client can use, such as a confirmation: written only to the reply.
    Done(String),
}

/// Carries out a command and reports the result: in the reply file if the command names one, and otherwise on stderr
/// (stdout is the program's own), where success is not reported. Returns `false` if the command was refused.
pub fn attach(vm: Vm, text: &str) -> bool {
    let command = options::command(text);
    let outcome = match withdrawn(&command) {
        Some(what) => Err(Refused::Withdrawn(what)),
        None => carry_out(vm, &command),
    };
    let replied = command
        .reply
        .and_then(Reply::open)
        .is_some_and(|reply| match &outcome {
            Ok(Outcome::Answer(text) | Outcome::Done(text)) => reply.done(text),
            Err(refused) => reply.refused(refused),
        });
    match &outcome {
        _ if replied => {}
        Ok(Outcome::Answer(text)) => console::lines(text),
        Ok(Outcome::Done(_)) => {}
        Err(refused) => console::line(format_args!("{refused}")),
    }
    outcome.is_ok()
}

/// Returns what the client of a command no longer waits for: it removes the file for the answer when it goes. That may have
/// been long ago, as this VM may have been suspended.
fn withdrawn(command: &Command<'_>) -> Option<&'static str> {
    let is_gone = |reply: &Path| matches!(reply.try_exists(), Ok(false));
    let what = match command.verb {
        Verb::Start => "profile was started",
        Verb::Heap => "heap was dumped",
        _ => return None,
    };
    command.reply.is_some_and(is_gone).then_some(what)
}

fn carry_out(vm: Vm, command: &Command<'_>) -> Result<Outcome, Refused> {
    let _commanding = COMMANDING.try_lock_for(TIMEOUT).ok_or(Refused::Busy)?;
    vm.with_current(|jni| carry_out_on(vm, jni, command))
        .ok_or(Refused::NoThread)?
}

fn carry_out_on(vm: Vm, jni: Jni<'_>, command: &Command<'_>) -> Result<Outcome, Refused> {
    let has_options = matches!(command.verb, Verb::Start | Verb::Heap);
    let forks = !has_options && options::forks(command)?;
    match command.verb {
        Verb::Start => match options::parse(command.options, None)? {
            Request::Help => Ok(Outcome::Answer(options::help())),
            Request::Profile(options) => start(vm, jni, &options, command.options),
        },
        Verb::Heap => match options::parse(command.options, None)? {
            Request::Help => Ok(Outcome::Answer(options::help())),
            Request::Profile(options) => {
                os::options::check(&options)?;
                dump_heap(jni, *options, command.options)
            }
        },
        Verb::Dump => {
            let status = session::request_dump(forks).ok_or(Refused::NotRunning)??;
            Ok(Outcome::Done(format!("dumped; {status}")))
        }
        Verb::Stop => {
            session::check_heap(forks).ok_or(Refused::NotRunning)??;
            stop(jni, forks)
        }
        Verb::Memory if !os::TELLS_OF_MEMORY => Err(Refused::NoAccount),
        Verb::Memory => {
            wait_until_started(vm)?;
            let account = session::account(vm, jni).ok_or(Refused::NoEnvironment)?;
            Ok(Outcome::Done(hprof_footprint::encode(&account)))
        }
        Verb::Status => {
            let nothing = || Refused::NotRunning.to_string();
            let status = session::status().unwrap_or_else(nothing);
            let held = own_memory();
            Ok(Outcome::Answer(format!(
                "{status}; the agent holds {held} bytes of memory"
            )))
        }
    }
}

fn start(vm: Vm, jni: Jni<'_>, options: &Options, given: &str) -> Result<Outcome, Refused> {
    if let Some(status) = session::status() {
        return Err(Refused::Running(status));
    }
    wait_until_started(vm)?;
    begin(vm, options, given)?;
    let refused = match session::start_attached(jni) {
        Some(Ok(output)) => {
            return Ok(Outcome::Done(format!("profiling into {output}")));
        }
        _ if memory::is_out() => Refused::Start(OutOfMemory.into()),
        Some(Err(error)) => Refused::Begin(error),
        None => Refused::Fault,
    };
    session::stop(jni, false);
    Err(refused)
}

/// Dumps the heap next to the profile that runs.
fn dump_heap(jni: Jni<'_>, options: Options, given: &str) -> Result<Outcome, Refused> {
    if !options.is_heap_dump() {
        return Err(Refused::NotADump);
    }
    let options = Arc::new(options);
    let open = |env| outputs::open_heap_file(env, &options, given);
    let dumped = session::dump_heap(jni, &options, open).ok_or(Refused::NotRunning)??;
    return_free_memory();
    match dumped.is_whole {
        true => Ok(Outcome::Done(format!(
            "{}; {}",
            dumped.path.display(),
            dumped.how
        ))),
        false => Err(Refused::NotWhole),
    }
}

/// Waits for a VM that is still starting: it continues meanwhile, on other threads.
fn wait_until_started(vm: Vm) -> Result<(), Refused> {
    let end = Instant::now() + START_TIMEOUT;
    while OwnEnv::is_too_early(vm) {
        if Instant::now() >= end {
            return Err(Refused::Starting);
        }
        thread::sleep(START_POLL_INTERVAL);
    }
    Ok(())
}

/// `timeout=`: ends the profile, unless someone has done so already, according to `is_running`.
pub(super) fn time_is_up(jni: Jni<'_>, is_running: &dyn Fn() -> bool) {
    let _commanding = COMMANDING.lock();
    if !is_running() {
        return;
    }
    match stop(jni, false) {
        Ok(Outcome::Answer(text) | Outcome::Done(text)) => {
            console::line(format_args!("time is up: {text}"));
        }
        // The program has just ended.
        Err(Refused::NotRunning) => {}
        Err(refused) => console::line(format_args!("time is up: {refused}")),
    }
}

/// Ends the session of an `hprof live` that has gone, unless someone does so already: then the calling thread, which
/// that one waits for, must not wait for it.
pub(super) fn client_has_gone(jni: Jni<'_>, is_running: &dyn Fn() -> bool) {
    while is_running() {
        let Some(_commanding) = COMMANDING.try_lock_for(POLL_INTERVAL) else {
            continue;
        };
        if is_running() {
            // There is nobody to tell.
            let _ = stop(jni, false);
        }
        return;
    }
}

fn stop(jni: Jni<'_>, forks: bool) -> Result<Outcome, Refused> {
    let stopped = session::stop(jni, forks).ok_or(Refused::NotRunning)?;
    return_free_memory();
    let stopped = stopped.map_err(|_| Refused::Fault)?;
    match stopped.is_whole {
        true => Ok(Outcome::Done(format!(
            "stopped; the profile is in {}",
            stopped.output
        ))),
        false => Err(Refused::NotWhole),
    }
}
