//! What every measurement is to its session.

use std::cell::Cell;

use crate::console;
use crate::jvmti::{Jni, JvmtiError, Object};
use crate::names::thread::ThreadSerial;
use crate::output::Journal;

/// One measurement from its begin to its end. The hot paths (an allocation, a method entry, a contended monitor) do not go
/// through here: the session calls the engine's own type.
pub trait Engine: Send + Sync {
    /// Begins to measure; called once, when the VM is up and its threads are registered.
    fn start(&self, jni: Jni<'_>) -> Result<(), JvmtiError>;

    /// Measures no more when it returns; called once, on no thread of the engine. Does not wait for ever.
    fn stop(&self, jni: Jni<'_>);

    /// A platform thread has been registered; called on any thread, also before [`Engine::start`].
    fn thread_registered(&self, _jni: Jni<'_>, _thread: Object<'_>, _serial: ThreadSerial) {}

    /// A virtual thread has been registered; called on any thread.
    fn virtual_thread_registered(&self, _jni: Jni<'_>, _thread: Object<'_>, _serial: ThreadSerial) {
    }

    /// The current thread, which is new, has been registered.
    fn current_thread_started(&self, _serial: ThreadSerial) {}

    /// The current thread is about to end; `None` where it was never registered.
    fn current_thread_ended(&self, _serial: Option<ThreadSerial>) {}

    /// What a dump of the profile has of this engine, in the words of the original; `None` where it has nothing.
    fn section(&self) -> Option<&'static str>;

    /// Writes the engine's sections of a dump.
    fn report(&self, jni: Jni<'_>, report: &Report<'_>);

    /// What [`Engine::report_without_vm`] writes, in the same words as [`Engine::section`].
    fn section_without_vm(&self) -> Option<&'static str> {
        self.section()
    }

    /// What [`Engine::report_without_vm`] leaves out or does not know, for people.
    fn unknown_without_vm(&self) -> Option<&'static str> {
        None
    }

    /// As [`Engine::report`], from what the agent itself knows: the process ends, and the current thread is not one of the VM's.
    /// [`Engine::stop`] has not been called.
    fn report_without_vm(&self, report: &Report<'_>);

    /// The process ends while another thread is in [`Engine::report`]: removes what that would leave behind.
    fn abandon_report(&self) {}

    /// After [`Engine::stop`], for a VM that goes on: gives back what the engine holds of it and does not free by being dropped.
    fn give_back(&self, _jni: Jni<'_>) {}
}

/// One dump of the profile.
pub struct Report<'a> {
    /// Where the records go.
    pub journal: &'a Journal,
    /// When it is made.
    pub moment: Moment,
    /// What becomes of costs of the CPU and of monitors. Sites are for all of the output.
    pub totals: Totals,
    /// Knows the threads that the records name.
    pub threads: &'a dyn ThreadSerials,
    /// `verbose=`.
    pub verbose: bool,
    /// Whether a section could not be written as it should.
    pub failed: Cell<bool>,
}

/// What becomes of costs that have been reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Totals {
    /// They go on.
    Keep,
    /// Counting starts anew.
    Reset,
    /// As above, and of what was allocated too: the output ends here, and what comes goes to another.
    EndPeriod,
}

impl Totals {
    /// Whether costs of the CPU and of monitors are counted anew.
    pub fn start_anew(self) -> bool {
        self != Totals::Keep
    }
}

/// When a dump is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// The program goes on.
    Running,
    /// VMDeath: some collectors can no longer be asked to collect.
    Death,
}

/// The serial numbers of threads.
pub trait ThreadSerials {
    /// The serial number of a thread, platform or virtual, which is registered now where it was not; `None` for a thread of
    /// the agent.
    fn serial(&self, jni: Jni<'_>, thread: Object<'_>) -> Option<ThreadSerial>;
}

impl Report<'_> {
    /// Tells the user a line of what is being done, if he wants to know.
    pub fn say(&self, line: &str) {
        if self.verbose {
            console::plain(line);
        }
    }
}
