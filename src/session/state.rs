//! The session: what runs from its beginning to its end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32};

use super::black_box::BlackBox;
use super::clocks::Clocks;
use super::destination::Destination;
use super::dumps::Dumps;
use super::exhaustion::Exhaustions;
use super::owner::Owner;
use super::status::Status;
use super::threads::ThreadRegistry;
use crate::engines::{Context, Engines};
use locks::{Mutex, rank};

/// One profile.
///
/// `destination` is held for a moment. `ThreadRegistry::registering` is held while a thread is announced to the
/// journal and to the engines.
pub struct Session {
    pub(super) context: Context,
    pub(super) engines: Arc<Engines>,
    pub(super) threads: ThreadRegistry,
    pub(super) status: Status,
    pub(super) destination: Mutex<Destination, rank::Destination>,
    pub(super) owner: Arc<dyn Owner>,
    /// Set once the session measures or has tried to.
    pub(super) begun: AtomicBool,
    pub(super) dumps: Dumps,
    /// The number of periods that have ended.
    pub(super) period: AtomicU32,
    /// Held while the output of a period is closed.
    pub(super) closing: Mutex<(), rank::Closing>,
    pub(super) clocks: Clocks,
    /// The resources that the program has run out of (`oom=`).
    pub(super) exhaustions: Exhaustions,
    /// Of `blackbox=`.
    pub(super) black_box: BlackBox,
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
            begun: AtomicBool::new(false),
            dumps: Dumps::default(),
            period: AtomicU32::new(0),
            closing: Mutex::new(()),
            clocks: Clocks::default(),
            exhaustions,
            black_box: BlackBox::default(),
        }
    }
}
