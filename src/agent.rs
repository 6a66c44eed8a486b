//! Wiring: from the options to everything that runs.

mod attach;
mod engines;
mod head;
mod output;
mod reply;
mod verify;

use std::io;
use std::panic;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use hprof_format::{BinaryEncoder, Encoder, Millis, OldProfEncoder, TextEncoder};

use crate::console;
use crate::engines::allocations;
use crate::jvmti::{AgentThreads, Capability, Env, JvmtiError, OwnEnv, Rounds, VirtualThreads, Vm};
use crate::names::Tables;
use crate::options::{self, Address, Cpu, Format, Heap, OptionError, Options, Request, Sort};
use crate::output::{FileError, Journal, Settings, Writer};
use crate::session::{About, Collector, DumpPlan, Handlers, Run};

use engines::{allocation_interval, engines};
use output::Output;

pub use attach::attach;

/// Options here come after those of the command line.
const ENVIRONMENT: &str = "_JAVA_HPROF_OPTIONS";

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
    #[error("option file={}: {error}; must be a file of your own that can be written", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why not.
        error: FileError,
    },
    /// The collector cannot be reached.
    #[error("option net={address}: {error}; a collector must be listening there")]
    Collector {
        /// Its address.
        address: Address,
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
    let given: Vec<&str> = [command_line]
        .into_iter()
        .chain(environment.as_deref())
        .filter(|options| !options.is_empty())
        .collect();
    begin(vm, &options, &given.join(","))?;
    Ok(Started::Running)
}

/// Begins a round: from here on the VM's events are received.
fn begin(vm: Vm, options: &Options, given: &str) -> Result<(), StartError> {
    let path = output::path(options)?;
    let own_env = OwnEnv::new(vm).ok_or(StartError::NoJvmti)?;
    let env = own_env.env();
    let virtual_threads = prepare(env, options)?;

    // From here on nothing is refused but the output itself: a run that fails on its options leaves no file.
    let output = output::open(options, path.as_deref())?;
    say_what_is_idle(options);
    say_one_panic();
    let about = About {
        options: given.to_owned(),
        output: output.name(options),
        since: Instant::now(),
    };
    let agent_threads = Arc::new(AgentThreads::default());
    let handlers = wire(env, virtual_threads, options, output, &agent_threads, about)?;
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
    if let Some(cpu) = options.cpu {
        need(cpu.option(), &[Capability::ThreadCpuTime])?;
        if cpu.times_methods() {
            need(cpu.option(), &[Capability::Retransform])?;
        }
    }
    if let Some(heap) = options.heap {
        let capabilities = [
            Capability::AllocationEvents,
            Capability::GarbageCollectionEvents,
            Capability::HeapWalk,
        ];
        need(heap.option(), &capabilities)?;
    }
    if options.monitors {
        need("monitor=y", &[Capability::MonitorEvents])?;
        if env.request(&[Capability::MonitorStates]).is_err() {
            console::line(format_args!(
                "monitor=y: a VM that runs already does not tell which monitors threads want; dumps have their states only"
            ));
        }
    }
    if options.net.is_some() {
        // A collector may ask for a HEAP SUMMARY in any run.
        need("net", &[Capability::HeapWalk])?;
    }
    if options.heap.is_some() && !allocations::prepare(env, allocation_interval(options))? {
        console::line(format_args!(
            "this VM cannot be made to tell of all allocations; some will be missing"
        ));
    }
    Ok(env.virtual_threads())
}

fn wire(
    env: Env,
    virtual_threads: Option<VirtualThreads>,
    options: &Options,
    output: Output,
    agent_threads: &Arc<AgentThreads>,
    about: About,
) -> Result<Handlers, StartError> {
    let encoder: Box<dyn Encoder> = match options.format {
        Format::Text if options.cpu == Some(Cpu::Old) => Box::new(OldProfEncoder::new()),
        Format::Text => Box::new(TextEncoder::of_run(head::facts(env, &about.options))),
        Format::Binary => Box::new(BinaryEncoder::new()),
    };
    let path = output.path();
    let writer = Writer::start(encoder, output.sink, now()).map_err(StartError::Thread)?;
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
        &path,
    );
    let checked = options.check_file && options.format == Format::Binary;
    let file = output.file.filter(|_| checked);
    let run = Run {
        env,
        agent_threads: agent_threads.clone(),
        tables,
        journal,
        plan: plan(options),
        about,
        // The text of a heap dump begins with its totals.
        spool: (options.format == Format::Text).then(|| folder_of(&path)),
        collector: output.commands.map(|commands| Collector {
            commands,
            may_exit: options.net_exit,
        }),
        closed: Box::new(move |sound| {
            if let Some(file) = &file
                && sound
            {
                verify::report(file);
            }
        }),
    };
    Ok(Handlers::new(run, engines))
}

fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

fn plan(options: &Options) -> DumpPlan {
    DumpPlan {
        cutoff: options.cutoff,
        on_exit: options.dump_on_exit,
        verbose: options.verbose,
        collect: options.collect,
        old_prof: options.cpu == Some(Cpu::Old),
        sampled: options.sample,
        heap_dump: options.heap.is_some_and(Heap::has_dump),
        sites: options.heap.is_some_and(Heap::has_sites),
        by_allocation: options.sort == Sort::Allocated,
        primitive_fields: options.primitive_fields,
        primitive_arrays: options.primitive_arrays,
        constant_entries: options.format == Format::Text,
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
