//! The interface between a measurement and its session: a trait for each way in which the session calls it.

use std::cell::Cell;

use jvmti::{Jni, JvmtiError, Object};
use names::thread::ThreadSerial;
use output::Journal;
use output::console;

/// What a session starts and stops. The hot paths (an allocation, a method entry, a contended monitor) bypass this trait
/// and the others: the session calls the engine's own type.
pub trait Engine: Send + Sync {
    /// Begins to measure; called once, when the VM is up and its threads are registered.
    fn start(&self, jni: Jni<'_>) -> Result<(), JvmtiError>;

    /// Stops measuring before it returns; called once, on a thread that is not the engine's. Never waits indefinitely.
    fn stop(&self, jni: Jni<'_>);

    /// Called after [`Engine::stop`] if the VM continues: releases what the engine holds of the VM and does not free on
    /// drop.
    fn give_back(&self, _jni: Jni<'_>) {}
}

/// An engine that follows the program's threads.
pub trait ThreadWatcher: Send + Sync {
    /// Called when a platform thread has been registered, on any thread, possibly before [`Engine::start`].
    fn thread_registered(&self, jni: Jni<'_>, thread: Object<'_>, serial: ThreadSerial);

    /// Called when a virtual thread has been registered, on any thread.
    fn virtual_thread_registered(&self, _jni: Jni<'_>, _thread: Object<'_>, _serial: ThreadSerial) {
    }

    /// Called when the current thread is about to end; `None` if it was never registered.
    fn current_thread_ended(&self, serial: Option<ThreadSerial>);

    /// Called when a thread has ended while engines were told that it is registered: after
    /// [`ThreadWatcher::thread_registered`], but possibly before or while [`ThreadWatcher::current_thread_ended`] is
    /// called on the thread itself.
    fn thread_gone(&self, serial: ThreadSerial);
}

/// What writes sections of a dump.
pub trait Reporter: Send + Sync {
    /// Returns the name of its part of a dump, in the words of the original; `None` if it has none.
    fn section(&self) -> Option<&'static str>;

    /// Writes the sections.
    fn report(&self, jni: Jni<'_>, report: &Report<'_>);

    /// Returns, for the user, the facts that a dump without the VM omits or does not know.
    fn unknown_without_vm(&self) -> Option<&'static str> {
        None
    }
}

/// A reporter that can do without the VM.
pub trait ReporterWithoutVm: Reporter {
    /// As [`Reporter::report`], but only from the agent's own data: the process is ending, and the current thread does
    /// not belong to the VM. [`Engine::stop`] has not been called.
    fn report_without_vm(&self, report: &Report<'_>);

    /// Writes what is known by now, every second, for the case that the process is killed. Asks the VM nothing, changes
    /// nothing, and leaves out rows below `least`, a share of the whole.
    fn report_known(&self, journal: &Journal, least: f64);
}

/// One dump of the profile.
pub struct Report<'a> {
    /// Receives the records.
    pub journal: &'a Journal,
    /// The moment at which it is made.
    pub moment: Moment,
    /// The treatment of the costs of the CPU and of monitors. Sites cover the whole output.
    pub totals: Totals,
    /// Finds the serial numbers of threads that the records name.
    pub threads: &'a dyn ThreadSerials,
    /// `verbose=`.
    pub verbose: bool,
    /// `true` if a section could not be written completely.
    pub failed: Cell<bool>,
    /// `true` if a heap dump is to come from a forked child, whatever the options say.
    pub forks: bool,
    /// How the heap was dumped.
    pub heap_dump: Cell<Option<String>>,
}

/// The treatment of costs once they have been reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Totals {
    /// They go on accumulating.
    Keep,
    /// They are reset.
    Reset,
    /// They are reset, and so are the allocated amounts: the output ends here, and another one follows.
    EndPeriod,
}

impl Totals {
    /// Returns `true` if the costs of the CPU and of monitors are reset.
    pub fn start_anew(self) -> bool {
        self != Totals::Keep
    }
}

/// The moment of a dump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// While the program continues.
    Running,
    /// At VMDeath: some garbage collectors can no longer be asked to collect.
    Death,
    /// While the program waits for room in the Java heap, or for something else that there is no more of: nothing is
    /// collected, no Java code runs, and no object is made if the heap is nearly full.
    Exhausted,
}

/// Finds the serial numbers of threads.
pub trait ThreadSerials {
    /// Returns the serial number of a thread, platform or virtual, registering it first if necessary; `None` for a
    /// thread of the agent.
    fn serial(&self, jni: Jni<'_>, thread: Object<'_>) -> Option<ThreadSerial>;
}

impl Report<'_> {
    /// Prints a line about progress, with `verbose=y`.
    pub fn say(&self, line: &str) {
        if self.verbose {
            console::plain(line);
        }
    }
}
