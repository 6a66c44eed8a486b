//! The session: what runs from its beginning to its end.

use std::sync::atomic::{AtomicBool, AtomicU32};
use std::sync::{Arc, OnceLock};

use super::destination::Destination;
use super::exhaustion::Exhaustions;
use super::memory_looks::Looks;
use super::owner::Owner;
use super::status::Status;
use super::threads::ThreadRegistry;
use crate::engines::{Context, Engines, Totals, Worker};
use locks::{Mutex, rank};
use output::BlackBoxFile;

/// One profile.
///
/// `destination` and `beginning` are held for a moment. `ThreadRegistry::registering` is held while a thread is announced to the
/// journal and to the engines.
pub struct Session {
    pub(super) context: Context,
    pub(super) engines: Arc<Engines>,
    pub(super) threads: ThreadRegistry,
    pub(super) status: Status,
    pub(super) destination: Mutex<Destination, rank::Destination>,
    pub(super) owner: Arc<dyn Owner>,
    /// The number of periods that have ended.
    pub(super) period: AtomicU32,
    /// Held while the output of a period is closed.
    pub(super) closing: Mutex<(), rank::Closing>,
    pub(super) dumping: Mutex<(), rank::Dumping>,
    pub(super) beginning: Mutex<Beginning, rank::Beginning>,
    pub(super) begun: AtomicBool,
    /// The number of SIGQUITs that have not been handled.
    pub(super) dumps_asked: AtomicU32,
    /// Handles them.
    pub(super) dump_thread: Worker,
    /// Ends periods (`rotate=`).
    pub(super) period_thread: Worker,
    /// Ends the session at `timeout=`.
    pub(super) timeout_thread: Worker,
    pub(super) timed_out: AtomicBool,
    /// The resources that the program has run out of (`oom=`).
    pub(super) exhaustions: Exhaustions,
    /// The file of `blackbox=`, once it is open.
    pub(super) black_box: OnceLock<Arc<BlackBoxFile>>,
    /// Set if it stays when the profile ends.
    pub(super) keeps_black_box: AtomicBool,
    /// Writes it.
    pub(super) black_box_thread: Worker,
    /// Where the memory was, as the black box has looked at it.
    pub(super) memory_looks: Mutex<Looks, rank::MemoryLooks>,
}

/// The state of the agent's start. The VM may ask for a dump before: its signal thread runs beside VMInit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Beginning {
    /// Not begun: no dump can be made yet.
    #[default]
    Ahead,
    /// Not begun, and a dump has been requested.
    DumpAsked(Totals),
    /// Begun: dumps are made at once.
    Done,
}

impl Session {
    /// Creates a session that has not begun.
    pub fn new(
        context: Context,
        engines: Engines,
        status: Status,
        destination: Destination,
        owner: Arc<dyn Owner>,
    ) -> Self {
        let engines = Arc::new(engines);
        let exhaustions = Exhaustions::new(&context);
        Self {
            threads: ThreadRegistry::new(&context, engines.clone()),
            context,
            engines,
            status,
            destination: Mutex::new(destination),
            owner,
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
            exhaustions,
            black_box: OnceLock::new(),
            keeps_black_box: AtomicBool::new(false),
            memory_looks: Mutex::new(Looks::default()),
            black_box_thread: Worker::default(),
        }
    }
}
