//! Wires everything together, from the options to a running session.

mod attach;
mod command_line;
mod counts;
mod head;
mod open_output;
mod outputs;
mod owner;
mod period_files;
mod reply;
mod verify;

use std::io;
use std::panic;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crate::engines::{self, Context, Engines, SamplingMethod, SamplingMethodRefused};
use crate::os::{self, descriptors};
use crate::session::{self, NotBegun, Session, Status, cpu_of_process};
use jvmti::{Capability, Env, JvmtiError, OwnEnv, RegisteredThreads, VirtualThreads, Vm};
use memory::OutOfMemory;
use names::Tables;
use options::{Address, Heap, OptionError, Options, Request, StackSource};
use output::console;
use output::{ControlSettings, FileError, Journal, KeptThreads};
use stacks::{StackMethod, Stacks, TopFrames, TraceShape};

use self::open_output::OpenOutput;
use head::Begun;
use outputs::Outputs;
use owner::ProfileOwner;

pub use attach::attach;
pub use counts::{begin_count, end_count, live_of_count};

/// An environment variable with options, which come after those of the command line.
const ENVIRONMENT: &str = "_JAVA_HPROF_OPTIONS";

/// The reason the agent cannot start; a VM that is starting then refuses to start as well.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The options are invalid.
    #[error(transparent)]
    Options(#[from] OptionError),
    /// The VM is not a HotSpot of version 11 or later.
    #[error("this VM has no JVMTI 11")]
    NoJvmti,
    /// The VM refused a request.
    #[error(transparent)]
    Jvmti(#[from] JvmtiError),
    /// The VM does not grant a capability that an option needs.
    #[error(
        "option {option}: this VM does not grant a capability that it needs: {error}; another agent may have it, or the VM grants it \
         only at startup, with -agentpath"
    )]
    Capability {
        /// The option.
        option: &'static str,
        /// The VM's error.
        error: JvmtiError,
    },
    /// The sampling method that the user chose does not work here.
    #[error(transparent)]
    Engine(#[from] SamplingMethodRefused),
    /// The output cannot be written.
    #[error("option file={}: {error}; must be a file of your own that can be written", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The reason.
        error: FileError,
    },
    /// The receiver cannot be reached.
    #[error("option net={address}: {error}; a receiver must be listening there")]
    Receiver {
        /// The receiver's address.
        address: Address,
        /// The system's error.
        error: io::Error,
    },
    /// No `hprof live` waits for the session.
    #[error("option live={}: {error}; `hprof live` must be listening there", socket.display())]
    Client {
        /// Its socket.
        socket: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// The program needs the remaining file descriptors for itself.
    #[error(
        "fewer than {} file descriptors are free (ulimit -n)",
        descriptors::NEEDED
    )]
    Descriptors,
    /// The system refused to create the writer thread.
    #[error("the writer's thread could not be started: {0}")]
    Thread(io::Error),
    /// The agent's minimum of memory is not available.
    #[error(transparent)]
    Memory(#[from] OutOfMemory),
    /// Two `-agentpath` options load the same library.
    #[error("the agent is loaded already; one -agentpath is allowed")]
    LoadedTwice,
}

impl StartError {
    /// Returns `true` if the process has run out of file descriptors (`ulimit -n`), which is no fault of the options.
    pub fn is_lack_of_descriptors(&self) -> bool {
        let error = match self {
            Self::File {
                error: FileError::System(error),
                ..
            }
            | Self::Receiver { error, .. }
            | Self::Client { error, .. } => error,
            Self::Descriptors => return true,
            _ => return false,
        };
        descriptors::is_lack(error)
    }
}

/// The result of reading the options.
pub enum Started {
    /// The agent runs.
    Running,
    /// The user asked only for the usage text, which this is.
    Help(String),
}

/// Reads the options and starts the profile that they describe.
pub fn start(vm: Vm, command_line: &str) -> Result<Started, StartError> {
    let environment = std::env::var(ENVIRONMENT).ok();
    let options = match options::parse(command_line, environment.as_deref())? {
        Request::Help => return Ok(Started::Help(options::help())),
        Request::Profile(options) => options,
    };
    if session::is_running() {
        return Err(StartError::LoadedTwice);
    }
    let given: Vec<&str> = [command_line]
        .into_iter()
        .chain(environment.as_deref())
        .filter(|options| !options.is_empty())
        .collect();
    begin(vm, &options, &given.join(","))?;
    Ok(Started::Running)
}

/// Begins a session: from here on the VM's events are received.
fn begin(vm: Vm, options: &Options, given: &str) -> Result<(), StartError> {
    memory::prepare()?;
    begin_prepared(vm, options, given).map_err(|error| {
        memory::put_reserve_away();
        // What has failed for want of memory may say something else.
        match memory::is_out() {
            true => OutOfMemory.into(),
            false => error,
        }
    })
}

fn begin_prepared(vm: Vm, options: &Options, given: &str) -> Result<(), StartError> {
    if descriptors::are_scarce() {
        return Err(StartError::Descriptors);
    }
    os::options::check(options)?;
    let own_env = OwnEnv::new(vm).ok_or(StartError::NoJvmti)?;
    let env = own_env.env();
    let path = open_output::path(env, options)?;
    request_capabilities(env, options)?;
    let sampling_method = SamplingMethod::choose(env, options)?;

    // From here on only the output itself can fail: a run with bad options leaves no file.
    let output = open_output::open(options, path.as_deref())?;
    say_what_is_idle(options);
    say_one_panic();
    let status = Status {
        options: given.to_owned(),
        since: Instant::now(),
        cpu_before: cpu_of_process(),
    };
    let session = wire(env, options, sampling_method, output, status)?;
    if memory::is_out() {
        return Err(OutOfMemory.into());
    }
    session::begin(own_env, session).map_err(|error| match error {
        NotBegun::Running => StartError::LoadedTwice,
        NotBegun::Jvmti(error) => StartError::Jvmti(error),
    })
}

/// Requests from the VM the capabilities that the options need, and no more: some cost the program time.
fn request_capabilities(env: Env, options: &Options) -> Result<(), StartError> {
    env.request(&[Capability::SourceFileName, Capability::LineNumbers])?;
    for requirement in engines::requirements(options) {
        let option = requirement.option;
        env.request(requirement.capabilities)
            .map_err(|error| StartError::Capability { option, error })?;
    }
    if options.oom.is_some() {
        // Without it there is no file when memory runs out, which is said when the session begins.
        let _ = env.request(&[Capability::ResourceExhaustedEvents]);
    }
    Ok(())
}

fn wire(
    env: Env,
    options: &Options,
    sampling_method: Option<SamplingMethod>,
    output: OpenOutput,
    status: Status,
) -> Result<Session, StartError> {
    let options = Arc::new(options.clone());
    let outputs = Outputs::new(
        env,
        &options,
        &status.options,
        sampling_method.clone(),
        &output.destination,
    );
    let path = output.destination.path_for_temporary_files();
    outputs.first(&output.destination);
    let (destination, writer) = outputs.start(output, Begun::First)?;
    let tables = Arc::new(Tables::default());
    let journal = Arc::new(Journal::start(tables.clone(), writer, settings(&options)));
    let context = Context {
        virtual_threads: VirtualThreads::new(env),
        agent_threads: Arc::default(),
        registered: Arc::new(RegisteredThreads::new(env)),
        stacks: stacks(env, &options, &tables, &journal),
        top_frames: Arc::new(top_frames(env, &options)),
        options,
        env,
        tables,
        journal,
        path,
    };
    let engines = Engines::new(&context, sampling_method);
    let owner = ProfileOwner::new(outputs, &context);
    Ok(Session::new(
        context,
        engines,
        status,
        destination,
        Arc::new(owner),
    ))
}

fn settings(options: &Options) -> ControlSettings {
    ControlSettings {
        allocations: options.heap.is_some(),
        cpu_samples: options.cpu.is_some(),
        heap_dump: options.heap.is_some_and(Heap::has_dump) && options.dump_on_exit,
        depth: options.depth,
        threads: options.live.is_none(),
        kept_threads: match (options.has_several_outputs(), options.threads) {
            (false, _) => KeptThreads::None,
            (true, false) => KeptThreads::Alive,
            (true, true) => KeptThreads::All,
        },
    }
}

fn stacks(
    env: Env,
    options: &Options,
    tables: &Arc<Tables>,
    journal: &Arc<Journal>,
) -> Arc<Stacks> {
    let shape = TraceShape {
        depth: usize::from(options.depth),
        line_numbers: options.line_numbers,
        threads: options.threads,
    };
    let journal = journal.clone();
    let class_unloaded = Box::new(move |class| journal.class_unloaded(class));
    Arc::new(Stacks::new(env, tables.clone(), shape, class_unloaded))
}

fn top_frames(env: Env, options: &Options) -> TopFrames {
    let way = match options.stacks {
        StackSource::Auto => StackMethod::Walk,
        StackSource::Verify => StackMethod::CheckedWalk,
        StackSource::Jvmti => StackMethod::Vm,
    };
    TopFrames::new(env, way, || {
        console::line(format_args!(
            "a stack was taken wrongly, so from now on stacks are requested from the VM; stacks=jvmti does so from the beginning"
        ));
    })
}

fn say_what_is_idle(options: &Options) {
    if options.verbose && !options.without_effect.is_empty() {
        let names = options.without_effect.join(", ");
        console::line(format_args!(
            "accepted for old scripts, without effect here: {names}"
        ));
    }
}

/// Installs a panic hook. A panic is a fault of the agent: it ends the profile and is reported once, in one line,
/// instead of the many lines of the default hook.
fn say_one_panic() {
    let said = AtomicBool::new(false);
    panic::set_hook(Box::new(move |panic| {
        if said.swap(true, Ordering::Relaxed) {
            return;
        }
        let place = panic
            .location()
            .map(ToString::to_string)
            .unwrap_or_default();
        let what = panic.payload_as_str().unwrap_or("no message");
        console::line(format_args!(
            "a fault of the agent ends the profile, the program continues ({what}, {place})"
        ));
    }));
}
