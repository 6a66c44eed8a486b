//! `cpu=samples`: who uses the CPU, and where.
//!
//! An engine charges samples to the traces of the tables. `portable` needs nothing but JVMTI.

mod account;
mod portable;
pub mod report;

use crate::jvmti::{Jni, JvmtiError, Object};
use crate::names::thread::ThreadSerial;

pub use portable::PortableSampler;

/// A way to take CPU samples. Threads are announced before they are sampled.
pub trait CpuSampler: Send + Sync {
    /// Begins; called once, when the VM is up.
    fn start(&self, jni: Jni<'_>) -> Result<(), JvmtiError>;

    /// A thread of the program is there.
    fn thread_started(&self, jni: Jni<'_>, thread: Object<'_>, serial: ThreadSerial);

    /// The current thread is about to end.
    fn thread_ended(&self, serial: ThreadSerial);

    /// Samples a thread from now on, or no longer; `None` stands for all, those that are still to come included. CPU time
    /// that is used meanwhile is charged to nobody. `false` where there is no such thread.
    fn switch(&self, thread: Option<ThreadSerial>, on: bool) -> bool;

    /// Charges what has been used up to now and takes no sample after it returned; called once, by no thread of the
    /// engine. Does not wait for ever.
    fn stop(&self, jni: Jni<'_>);
}
