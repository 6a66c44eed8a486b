//! `heap=dump`: everything in the heap, with what the agent knows of it.
//!
//! Two ways to get it, behind one trait: the VM's own dumper, whose file is rewritten, and a walk over the references
//! that JVMTI offers. Both describe the same graph.

use std::time::Duration;

use hprof_format::{ObjectId, StringId, TraceSerial};

use crate::jvmti::{Jni, JvmtiError, Local, Object};
use crate::tables::class::ClassId;
use crate::tables::thread::ThreadSerial;
use crate::tables::trace::TraceId;

/// A way to dump the heap.
pub trait HeapDumper: Send + Sync {
    /// Dumps the heap as it is now into `output`. What was put into `output` before an error stays there.
    fn dump(
        &self,
        jni: Jni<'_>,
        subject: &Subject<'_>,
        output: &mut dyn DumpOutput,
    ) -> Result<Dumped, DumpError>;
}

/// What the agent knows of the heap's objects.
pub struct Subject<'a> {
    /// The objects whose allocation was seen.
    pub tracked: &'a dyn TrackedObjects,
    /// The threads that are alive.
    pub threads: &'a [LiveThread<'a>],
    /// Whether the values of primitive fields are wanted (`primfields=`); left out, they are written as 0.
    pub primitive_fields: bool,
    /// Whether the elements of primitive arrays are wanted (`primarrays=`); left out, the array has length 0.
    pub primitive_arrays: bool,
}

/// Objects and where they were allocated.
pub trait TrackedObjects {
    /// How many there are at the most.
    fn len(&self) -> usize;

    /// Calls `look` with each one that is alive. No object is made and no other tracked meanwhile.
    fn for_each(&self, jni: Jni<'_>, look: &mut dyn FnMut(Object<'_>, TraceId));
}

/// A thread that is alive, and where it is.
pub struct LiveThread<'a> {
    /// The thread object.
    pub object: Local<'a>,
    /// Its number.
    pub serial: ThreadSerial,
    /// Its stack, as deep as `depth=` says.
    pub trace: TraceId,
}

/// Where a dump goes: into the run's output, behind the records it names.
pub trait DumpOutput {
    /// Announces a class under the id that its `java.lang.Class` object has in this dump.
    fn class(&mut self, class: ClassId, object: ObjectId);

    /// The id of a name; its STRING record is written before.
    fn string(&mut self, text: &str) -> StringId;

    /// The number of a trace; its TRACE record is written before.
    fn trace(&mut self, trace: TraceId) -> TraceSerial;

    /// Tells how many objects (instances and arrays) of how many bytes the dump will hold. Where it is told, it is told
    /// before the first [`DumpOutput::records`].
    fn totals(&mut self, objects: u64, bytes: u64);

    /// Appends whole heap records. `false` once the output has failed: there is no use in going on.
    fn records(&mut self, content: &[u8]) -> bool;
}

/// What was dumped.
#[derive(Clone, Copy, Debug)]
pub struct Dumped {
    /// Instances and arrays.
    pub objects: u64,
    /// Their sizes in the heap, in bytes.
    pub bytes: u64,
    /// How long the program stood still.
    pub pause: Duration,
}

/// Why a heap dump is not there, or not whole.
#[derive(Debug, thiserror::Error)]
pub enum DumpError {
    /// The VM refuses.
    #[error("no heap dump: {0}")]
    Jvmti(#[from] JvmtiError),
}
