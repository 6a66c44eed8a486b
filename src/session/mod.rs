//! One profile in the life of the VM: its beginning, its threads, its dumps and its end.
//!
//! A VM sees several, one after another, when profiles are started and stopped by attaching. `lifecycle` begins and
//! ends them; `events` passes the VM's events to the one that runs; `threads` assigns serial numbers; `reports` makes
//! dumps; `last_resort` handles an end without an event from the VM; `destination` is their destination, and `periods` moves
//! them to the next one from time to time; `receiver` carries out the receiver's commands; `status` reports their
//! state.

mod destination;
mod events;
mod last_resort;
mod lifecycle;
mod periods;
mod receiver;
mod reports;
mod status;
mod threads;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32};

use crate::engines::{Engines, Worker};
use crate::jvmti::{AgentThreads, Env, RegisteredThreads, VirtualThreads};
use crate::lock_order::{Mutex, rank};
use crate::names::Tables;
use crate::output::Journal;
use crate::stacks::Stacks;

use destination::OpenDestination;
use lifecycle::Beginning;
use threads::ThreadRegistry;

pub use destination::{Destination, PeriodLength, Rotation, Timeout};
pub use events::begin;
pub use lifecycle::{NotBegun, is_running, request_dump, start_attached, status, stop};
pub use receiver::Receiver;
pub use status::Status;

/// The parts that a session is made of.
pub struct Parts {
    /// The VM.
    pub env: Env,
    /// Its virtual threads, where it has them.
    pub virtual_threads: Option<VirtualThreads>,
    /// The agent's own threads.
    pub agent_threads: Arc<AgentThreads>,
    /// The threads that have a serial number.
    pub registered: Arc<RegisteredThreads>,
    /// The names of the profiled program that the agent has met.
    pub tables: Arc<Tables>,
    /// Takes and names stacks.
    pub stacks: Arc<Stacks>,
    /// The output.
    pub journal: Arc<Journal>,
    /// The measurements.
    pub engines: Arc<Engines>,
    /// `doe=`: write a dump when the program ends.
    pub dump_on_exit: bool,
    /// `verbose=`.
    pub verbose: bool,
    /// The facts about the profile for `hprof status`.
    pub status: Status,
    /// The destination of the journal's records.
    pub destination: Destination,
    /// `rotate=`.
    pub rotation: Option<Rotation>,
    /// `timeout=`.
    pub timeout: Option<Timeout>,
    /// Called once everything has been written.
    pub ended: Box<dyn Fn() + Send + Sync>,
}

/// One profile.
///
/// `destination` and `beginning` are held for a moment. `ThreadRegistry::registering` is held while a thread is announced to
/// the journal and to the engines.
pub struct Session {
    env: Env,
    agent_threads: Arc<AgentThreads>,
    tables: Arc<Tables>,
    stacks: Arc<Stacks>,
    journal: Arc<Journal>,
    engines: Arc<Engines>,
    threads: ThreadRegistry,
    dump_on_exit: bool,
    verbose: bool,
    status: Status,
    destination: Mutex<OpenDestination, rank::Destination>,
    rotation: Option<Rotation>,
    timeout: Option<Timeout>,
    ended: Box<dyn Fn() + Send + Sync>,
    /// The number of periods that have ended.
    period: AtomicU32,
    /// Held while the output of a period is closed.
    closing: Mutex<(), rank::Closing>,
    dumping: Mutex<(), rank::Dumping>,
    beginning: Mutex<Beginning, rank::Beginning>,
    begun: AtomicBool,
    /// The number of SIGQUITs that have not been handled.
    dumps_asked: AtomicU32,
    /// Handles them.
    dump_thread: Worker,
    /// Ends periods (`rotate=`).
    period_thread: Worker,
    /// Ends the session at `timeout=`.
    timeout_thread: Worker,
    timed_out: AtomicBool,
}

impl Session {
    /// Creates a session that has not begun.
    fn new(parts: Parts) -> Self {
        Self {
            threads: ThreadRegistry::new(&parts),
            env: parts.env,
            agent_threads: parts.agent_threads,
            tables: parts.tables,
            stacks: parts.stacks,
            journal: parts.journal,
            engines: parts.engines,
            dump_on_exit: parts.dump_on_exit,
            verbose: parts.verbose,
            status: parts.status,
            destination: Mutex::new(OpenDestination::new(parts.destination)),
            rotation: parts.rotation,
            timeout: parts.timeout,
            ended: parts.ended,
            period: AtomicU32::new(0),
            closing: Mutex::new(()),
            dumping: Mutex::new(()),
            beginning: Mutex::default(),
            begun: AtomicBool::new(false),
            dumps_asked: AtomicU32::new(0),
            dump_thread: Worker::default(),
            period_thread: Worker::default(),
            timeout_thread: Worker::default(),
            timed_out: AtomicBool::new(false),
        }
    }
}
