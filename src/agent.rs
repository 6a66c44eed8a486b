//! Wiring: from the options to everything that runs.

mod attach;
mod reply;

use std::fs::File;
use std::io::{self, BufReader};
use std::panic;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use hprof_format::{BinaryEncoder, Encoder, Millis, TextEncoder};

use crate::console;
use crate::engines::alloc::{self, AllocationTracker};
use crate::engines::sample::{CpuSampler, PortableSampler};
use crate::engines::stack::{Stacks, TraceShape, VmTopFrames};
use crate::events::{About, DumpPlan, Engines, Handlers};
use crate::jvmti::{
    AgentThreads, Capability, Env, Interval, JvmtiError, OwnEnv, Rounds, VirtualThreads, Vm,
};
use crate::options::{self, Cpu, Format, Heap, OptionError, Options, Request, Surroundings};
use crate::snapshot::{Journal, Settings};
use crate::tables::Tables;
use crate::writer::{FileSink, Writer, exists_already};

pub use attach::attach;

/// Options here come after those of the command line.
const ENVIRONMENT: &str = "_JAVA_HPROF_OPTIONS";
/// Where the original wrote what it found when it read its binary file back.
const REPORT: &str = "java.hprof.check.txt";

/// Why the agent cannot start; a VM that is starting then refuses to start as well.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The options cannot be taken.
    #[error(transparent)]
    Options(#[from] OptionError),
    /// The VM is no HotSpot of version 11 or later.
    #[error("this VM has no JVMTI 11")]
    NoJvmti,
    /// The VM refuses something.
    #[error(transparent)]
    Jvmti(#[from] JvmtiError),
    /// The VM refuses something an option needs.
    #[error(
        "option {option}: this VM does not give what it needs: {error}; another agent may have it, or the VM gives it \
         only at its start, to -agentpath"
    )]
    Capability {
        /// The option.
        option: &'static str,
        /// What the VM says.
        error: JvmtiError,
    },
    /// The output cannot be written.
    #[error("option file={}: {error}; must be a file that can be written", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// The system gives no thread to write with.
    #[error("no thread for the writer: {0}")]
    Thread(io::Error),
    /// Two `-agentpath` of one library.
    #[error("the agent is loaded already; one -agentpath is allowed")]
    LoadedTwice,
}

/// What became of the options.
pub enum Started {
    /// The agent runs.
    Running,
    /// The user asked for the usage text alone, here it is.
    Help(String),
}

/// Starts what the options ask for.
pub fn start(vm: Vm, command_line: &str) -> Result<Started, StartError> {
    let environment = std::env::var(ENVIRONMENT).ok();
    let options = match options::parse(command_line, environment.as_deref())? {
        Request::Help => return Ok(Started::Help(options::help())),
        Request::Profile(options) => options,
    };
    if Rounds::is_running() {
        return Err(StartError::LoadedTwice);
    }
    begin(vm, &options, command_line)?;
    Ok(Started::Running)
}

/// Begins a round: from here on the VM's events are received.
fn begin(vm: Vm, options: &Options, given: &str) -> Result<(), StartError> {
    let path = Surroundings::of_this_process().expand(&options.file)?;
    let own_env = OwnEnv::new(vm).ok_or(StartError::NoJvmti)?;
    let env = own_env.env();
    let virtual_threads = prepare(env, options)?;

    // From here on nothing is refused but the file itself: a run that fails on its options leaves no file.
    let sink = open(&path, options.force)?;
    let path = sink.path().to_owned();
    say_what_is_idle(options);
    say_one_panic();
    let about = About {
        options: given.to_owned(),
        output: std::path::absolute(&path).unwrap_or(path),
        since: Instant::now(),
    };
    let agent_threads = Arc::new(AgentThreads::default());
    let handlers = wire(env, virtual_threads, options, sink, &agent_threads, about)?;
    if Rounds::begin(own_env, agent_threads, Box::new(handlers))? {
        Ok(())
    } else {
        Err(StartError::LoadedTwice)
    }
}

/// Asks the VM for what the options need, and no more: some capabilities cost the program something.
fn prepare(env: Env, options: &Options) -> Result<Option<VirtualThreads>, StartError> {
    env.request(&[Capability::SourceFileName, Capability::LineNumbers])?;
    let need = |option, capabilities: &[Capability]| {
        env.request(capabilities)
            .map_err(|error| StartError::Capability { option, error })
    };
    if options.cpu.is_some() {
        need("cpu=samples", &[Capability::ThreadCpuTime])?;
    }
    if options.heap.is_some() {
        let capabilities = [
            Capability::AllocationEvents,
            Capability::GarbageCollectionEvents,
            Capability::HeapWalk,
        ];
        need("heap=sites", &capabilities)?;
    }
    if options.heap.is_some() && !alloc::prepare(env, allocation_interval(options))? {
        console::line(format_args!(
            "this VM cannot be made to tell of all allocations; some will be missing"
        ));
    }
    Ok(env.virtual_threads())
}

fn allocation_interval(options: &Options) -> Interval {
    options.sample.map_or(Interval::Every, Interval::Bytes)
}

fn open(path: &Path, force: bool) -> Result<FileSink, StartError> {
    let cannot = |path: &Path| {
        let path = path.to_owned();
        move |error| StartError::File { path, error }
    };
    if force {
        return FileSink::create(path).map_err(cannot(path));
    }
    match FileSink::create_new(path) {
        Err(error) if exists_already(&error) => {
            let path = options::with_pid(path, std::process::id());
            FileSink::create_new(&path).map_err(cannot(&path))
        }
        sink => sink.map_err(cannot(path)),
    }
}

fn wire(
    env: Env,
    virtual_threads: Option<VirtualThreads>,
    options: &Options,
    sink: FileSink,
    agent_threads: &Arc<AgentThreads>,
    about: About,
) -> Result<Handlers, StartError> {
    let path = sink.path().to_owned();
    let encoder: Box<dyn Encoder> = match options.format {
        Format::Text => Box::new(TextEncoder::new()),
        Format::Binary => Box::new(BinaryEncoder::new()),
    };
    let writer = Writer::start(encoder, sink, now()).map_err(StartError::Thread)?;
    let tables = Arc::new(Tables::default());
    let settings = Settings {
        allocations: options.heap.is_some(),
        cpu_samples: options.cpu.is_some(),
        depth: options.depth,
    };
    let journal = Arc::new(Journal::start(tables.clone(), writer, settings));
    let engines = engines(
        env,
        virtual_threads,
        options,
        agent_threads,
        &tables,
        &journal,
    );
    let plan = DumpPlan {
        cutoff: options.cutoff,
        on_exit: options.dump_on_exit,
        verbose: options.verbose,
        collect: options.collect,
        sampled: options.sample,
    };
    let checked = options.check_file && options.format == Format::Binary;
    let closed = Box::new(move |sound| {
        if checked && sound {
            report(&path);
        }
    });
    Ok(Handlers::new(
        env,
        agent_threads.clone(),
        tables,
        journal,
        engines,
        plan,
        about,
        closed,
    ))
}

fn engines(
    env: Env,
    virtual_threads: Option<VirtualThreads>,
    options: &Options,
    agent_threads: &Arc<AgentThreads>,
    tables: &Arc<Tables>,
    journal: &Arc<Journal>,
) -> Engines {
    let shape = TraceShape {
        depth: usize::from(options.depth),
        line_numbers: options.line_numbers,
        threads: options.threads,
    };
    let journal = journal.clone();
    let class_unloaded = Box::new(move |class| journal.class_unloaded(class));
    let stacks = Arc::new(Stacks::new(env, tables.clone(), shape, class_unloaded));
    let sampler = options.cpu.filter(|_| shape.depth > 0).map(|Cpu::Samples| {
        Box::new(PortableSampler::new(
            env,
            agent_threads.clone(),
            virtual_threads,
            stacks.clone(),
            tables.clone(),
            options.interval,
        )) as Box<dyn CpuSampler>
    });
    let tracker = options.heap.map(|Heap::Sites| {
        AllocationTracker::new(
            env,
            agent_threads.clone(),
            stacks.clone(),
            Box::new(VmTopFrames(env)),
            tables.clone(),
            allocation_interval(options),
        )
    });
    Engines { sampler, tracker }
}

fn now() -> Millis {
    let since_1970 = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Millis(since_1970.as_millis() as u64)
}

fn say_what_is_idle(options: &Options) {
    if options.verbose && !options.without_effect.is_empty() {
        let names = options.without_effect.join(", ");
        console::line(format_args!(
            "accepted for old scripts, without effect here: {names}"
        ));
    }
}

/// A panic is a fault of the agent. It ends the profile and is told once, in one line, not in the many of the default.
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
            "a fault of the agent ends the profile, the program goes on ({what}, {place})"
        ));
    }));
}

/// `logflags=4`: reads the file back and writes what it finds to [`REPORT`].
fn report(path: &Path) {
    if let Err(error) = write_report(path) {
        console::line(format_args!(
            "{REPORT}: {error}; the profile itself is whole"
        ));
    }
}

fn write_report(path: &Path) -> io::Result<()> {
    let finding = match hprof_format::check(BufReader::new(File::open(path)?)) {
        Ok(summary) => summary.to_string(),
        Err(fault) => format!("{fault}\n"),
    };
    let mut report = FileSink::create(Path::new(REPORT))?;
    report.write(format!("{}:\n{finding}", path.display()).as_bytes())
}
