//! Wiring: from the options to everything that runs.

use std::fs::File;
use std::io::{self, BufReader};
use std::panic;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use hprof_format::{BinaryEncoder, Encoder, Millis, OldProfEncoder, TextEncoder};

use crate::console;
use crate::engines::alloc::{self, AllocationTracker};
use crate::engines::sample::{CpuSampler, PortableSampler};
use crate::engines::stack::{Stacks, TraceShape, VmTopFrames};
use crate::engines::time::{self, ClassFilter, MethodTimer, TimerPlan};
use crate::events::{DumpPlan, Engines, Handlers};
use crate::jvmti::{AgentThreads, Capability, Door, Env, Interval, JvmtiError, VirtualThreads, Vm};
use crate::options::{self, Clock, Cpu, Format, Heap, OptionError, Options, Request, Surroundings};
use crate::snapshot::{Journal, Settings};
use crate::tables::Tables;
use crate::writer::{FileSink, Writer, exists_already};

/// Options here come after those of the command line.
const ENVIRONMENT: &str = "_JAVA_HPROF_OPTIONS";
/// Where the original wrote what it found when it read its binary file back.
const REPORT: &str = "java.hprof.check.txt";

/// Why the agent cannot start; the VM then refuses to start as well.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The options cannot be taken.
    #[error(transparent)]
    Options(#[from] OptionError),
    /// The VM is no HotSpot of version 11 or later.
    #[error("this VM has no JVMTI 11")]
    NoJvmti,
    /// The VM refuses something the options need.
    #[error(transparent)]
    Jvmti(#[from] JvmtiError),
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
    let path = Surroundings::of_this_process().expand(&options.file)?;
    if Door::is_installed() {
        return Err(StartError::LoadedTwice);
    }
    let env = Env::new(vm).ok_or(StartError::NoJvmti)?;
    let virtual_threads = prepare(env, &options)?;

    // From here on nothing is refused but the file itself: a run that fails on its options leaves no file.
    let sink = open(&path, options.force)?;
    say_what_is_idle(&options);
    say_one_panic();
    let handlers = wire(env, virtual_threads, &options, sink)?;
    Door::install(env, Box::new(handlers))?;
    Ok(Started::Running)
}

/// Asks the VM for what the options need, and no more: some capabilities cost the program something.
fn prepare(env: Env, options: &Options) -> Result<Option<VirtualThreads>, JvmtiError> {
    let mut capabilities = vec![Capability::SourceFileName, Capability::LineNumbers];
    if options.cpu.is_some() {
        capabilities.push(Capability::ThreadCpuTime);
    }
    if times(options) {
        capabilities.push(Capability::Retransform);
    }
    if options.heap.is_some() {
        capabilities.push(Capability::AllocationEvents);
        capabilities.push(Capability::GarbageCollectionEvents);
        capabilities.push(Capability::HeapWalk);
    }
    env.request(&capabilities)?;
    if options.heap.is_some() && !alloc::prepare(env, allocation_interval(options))? {
        console::line(format_args!(
            "this VM cannot be made to tell of all allocations; some will be missing"
        ));
    }
    Ok(env.virtual_threads())
}

fn times(options: &Options) -> bool {
    matches!(options.cpu, Some(Cpu::Times | Cpu::Old)) && options.depth > 0
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
) -> Result<Handlers, StartError> {
    let path = sink.path().to_owned();
    let encoder: Box<dyn Encoder> = match options.format {
        Format::Text if options.cpu == Some(Cpu::Old) => Box::new(OldProfEncoder::new()),
        Format::Text => Box::new(TextEncoder::new()),
        Format::Binary => Box::new(BinaryEncoder::new()),
    };
    let writer = Writer::start(encoder, sink, now()).map_err(StartError::Thread)?;
    let tables = Arc::new(Tables::default());
    let settings = Settings {
        allocations: options.heap.is_some(),
        cpu_samples: options.cpu == Some(Cpu::Samples),
        depth: options.depth,
    };
    let journal = Arc::new(Journal::start(tables.clone(), writer, settings));
    let agent_threads = Arc::new(AgentThreads::default());
    let engines = engines(
        env,
        virtual_threads,
        options,
        &agent_threads,
        &tables,
        &journal,
    );
    let plan = DumpPlan {
        cutoff: options.cutoff,
        on_exit: options.dump_on_exit,
        verbose: options.verbose,
        collect: options.collect,
        old_prof: options.cpu == Some(Cpu::Old),
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
        agent_threads,
        tables,
        journal,
        engines,
        plan,
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
    let samples = options.cpu == Some(Cpu::Samples) && shape.depth > 0;
    let sampler = samples.then(|| {
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
    let timer = times(options).then(|| {
        let plan = timer_plan(options, shape);
        MethodTimer::new(env, virtual_threads, stacks.clone(), tables.clone(), plan)
    });
    Engines {
        sampler,
        tracker,
        timer,
    }
}

fn timer_plan(options: &Options, shape: TraceShape) -> TimerPlan {
    // The old prof format tells of pairs.
    let depth = match options.cpu {
        Some(Cpu::Old) => 2,
        _ => shape.depth,
    };
    TimerPlan {
        clock: match options.clock {
            Clock::Cpu => time::Clock::Cpu,
            Clock::Wall => time::Clock::Wall,
        },
        filter: ClassFilter {
            include: options.include.clone(),
            exclude: options.exclude.clone(),
        },
        shape: TraceShape { depth, ..shape },
    }
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
