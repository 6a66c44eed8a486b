//! `heap=dump`: everything in the heap, with what the agent knows of it.
//!
//! Two ways to get it, behind one trait: the VM's own dumper, whose file is rewritten, and a walk over the references
//! that JVMTI offers. Both describe the same graph.

mod choice;
mod jvmti_dumper;
mod report;
mod vm_dumper;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hprof_format::{ObjectId, StringId, TraceSerial};

use super::allocations::AllocationTracker;
use super::{Context, Engine, Moment, Report, Requirement};
use crate::console;
use crate::jvmti::{Capability, Jni, JvmtiError, LocalRef, Object};
use crate::names::class::ClassId;
use crate::names::thread::ThreadSerial;
use crate::names::trace::TraceId;
use crate::options::{Format, Heap, Options};
use crate::output::Journal;
use crate::stacks::WholeStack;

use crate::memory::OutOfMemory;
use choice::{Done, Dumpers};
use jvmti_dumper::WalkEngine;
use vm_dumper::VmEngine;

/// Dumps the heap on request.
pub struct HeapDumps {
    dumpers: Dumpers,
    tracker: Option<Arc<AllocationTracker>>,
    /// Whether a dump of the profile has one of the heap.
    in_reports: bool,
    primitive_fields: bool,
    primitive_arrays: bool,
    constant_entries: bool,
    /// A folder where a dump may be put aside, because the text of a heap dump begins with its totals.
    spool: Option<PathBuf>,
}

/// What heap dumps need of the VM. A receiver may ask for one, and for a HEAP SUMMARY, in any run.
pub(super) fn requirement(options: &Options) -> Option<Requirement> {
    options.net.is_some().then_some(Requirement {
        option: "net",
        capabilities: &[Capability::HeapWalk],
    })
}

impl HeapDumps {
    /// `None` where nobody can ask for one.
    pub(super) fn new(context: &Context, tracker: Option<Arc<AllocationTracker>>) -> Option<Self> {
        let options = &context.options;
        let in_reports = options.heap.is_some_and(Heap::has_dump);
        if !in_reports && options.net.is_none() {
            return None;
        }
        let (env, tables, stacks) = (context.env, &context.tables, &context.stacks);
        let vm = VmEngine::new(env, tables.clone(), stacks.clone(), &context.path);
        let walk = WalkEngine::new(env, tables.clone(), stacks.clone());
        let is_text = options.format == Format::Text;
        Some(Self {
            dumpers: Dumpers::new(
                env,
                context.registered.clone(),
                stacks.clone(),
                options.dumper,
                Box::new(vm),
                Box::new(walk),
            ),
            tracker,
            in_reports,
            primitive_fields: options.primitive_fields,
            primitive_arrays: options.primitive_arrays,
            constant_entries: is_text,
            spool: is_text.then(|| folder_of(&context.path)),
        })
    }

    /// Dumps the heap, and says how.
    pub fn dump(&self, jni: Jni<'_>, report: &Report<'_>) {
        let dump = || self.try_to_dump(jni, report.journal, report.moment);
        let answer = match &self.tracker {
            Some(tracker) => tracker.untracked(dump),
            None => dump(),
        };
        match answer {
            Ok(done) => {
                let millis = done.dumped.pause.as_millis();
                let Done { dumper, reason, .. } = done;
                report.say(&format!(
                    "Java heap (by {dumper}: {reason}; the program stood still for {millis} ms)"
                ));
            }
            // The writer has said what happened.
            Err(DumpError::Output) => report.failed.set(true),
            Err(error) => {
                report.failed.set(true);
                // Of a VM without memory nobody knows whether it does.
                let goes_on = match error {
                    DumpError::Memory(_) => "",
                    _ => "; the program goes on",
                };
                console::line(format_args!("no heap dump: {error}{goes_on}"));
            }
        }
    }

    fn try_to_dump(
        &self,
        jni: Jni<'_>,
        journal: &Journal,
        moment: Moment,
    ) -> Result<Done, DumpError> {
        let threads = self.dumpers.live_threads(jni)?;
        let tracked = self.tracker.as_deref();
        let subject = Subject {
            tracked: tracked.map_or(&Untracked as &dyn TrackedObjects, |tracker| tracker),
            threads: &threads,
            moment,
            primitive_fields: self.primitive_fields,
            primitive_arrays: self.primitive_arrays,
            constant_entries: self.constant_entries,
        };
        report::heap_dump(journal, self.spool.as_deref(), |output| {
            self.dumpers.dump(jni, moment, &subject, output)
        })
    }
}

impl Engine for HeapDumps {
    fn start(&self, _jni: Jni<'_>) -> Result<(), JvmtiError> {
        Ok(())
    }

    fn stop(&self, _jni: Jni<'_>) {}

    fn section(&self) -> Option<&'static str> {
        self.in_reports.then_some("Java heap")
    }

    fn report(&self, jni: Jni<'_>, report: &Report<'_>) {
        if let Some(tracker) = &self.tracker {
            tracker.settle(jni, report.moment);
            tracker.before_dump(jni);
        }
        self.dump(jni, report);
    }

    fn section_without_vm(&self) -> Option<&'static str> {
        None
    }

    fn unknown_without_vm(&self) -> Option<&'static str> {
        self.in_reports.then_some("there is no heap dump")
    }

    fn report_without_vm(&self, _report: &Report<'_>) {}

    fn abandon_report(&self) {
        self.dumpers.abandon();
    }
}

fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// A way to dump the heap.
pub trait HeapDumper: Send + Sync {
    /// Dumps the heap as it is now into `output`. What was put into `output` before an error stays there.
    fn dump(
        &self,
        jni: Jni<'_>,
        subject: &Subject<'_>,
        output: &mut dyn DumpOutput,
    ) -> Result<Dumped, DumpError>;

    /// The process is about to end while a dump goes on in another thread: removes what that one would leave behind.
    fn abandon(&self) {}
}

/// What the agent knows of the heap's objects.
pub struct Subject<'a> {
    /// The objects whose allocation was seen.
    pub tracked: &'a dyn TrackedObjects,
    /// The threads that are alive.
    pub threads: &'a [LiveThread<'a>],
    /// Whether the program goes on after the dump.
    pub moment: Moment,
    /// Whether the values of primitive fields are wanted (`primfields=`); left out, they are written as 0.
    pub primitive_fields: bool,
    /// Whether the elements of primitive arrays are wanted (`primarrays=`); left out, the array has length 0.
    pub primitive_arrays: bool,
    /// Whether the objects in a class's constant pool may be written as such; else they are static fields with names that
    /// no field has. HotSpot's dumper never writes any constants, and readers of the binary format have come to rely on it
    /// (`jvm-hprof` panics).
    pub constant_entries: bool,
}

/// Objects and where they were allocated.
pub trait TrackedObjects {
    /// How many there are at the most.
    fn len(&self) -> usize;

    /// Calls `look` with each one that is alive; one that has died a moment ago stands for null. `look` makes no object
    /// and has nothing tracked.
    fn for_each(&self, jni: Jni<'_>, look: &mut dyn FnMut(Object<'_>, TraceId));
}

impl TrackedObjects for AllocationTracker {
    fn len(&self) -> usize {
        self.tracked()
    }

    fn for_each(&self, _jni: Jni<'_>, look: &mut dyn FnMut(Object<'_>, TraceId)) {
        self.for_each_tracked(look);
    }
}

/// The objects of a run that tracks none.
pub struct Untracked;

impl TrackedObjects for Untracked {
    fn len(&self) -> usize {
        0
    }

    fn for_each(&self, _jni: Jni<'_>, _look: &mut dyn FnMut(Object<'_>, TraceId)) {}
}

/// A thread that is alive, and where it is.
pub struct LiveThread<'a> {
    /// The thread object.
    pub object: LocalRef<'a>,
    /// Its number; [`ThreadSerial::UNKNOWN`] for the agent's own.
    pub serial: ThreadSerial,
    /// Where it was a moment ago: `depth=` is for the traces of allocations.
    pub stack: WholeStack,
}

/// Where a dump goes: into the run's output, behind the records it names. It may be written to from a thread of the VM,
/// while the program stands still.
pub trait DumpOutput: Send {
    /// Announces a class under the id that its `java.lang.Class` object has in this dump.
    fn class(&mut self, class: ClassId, object: ObjectId);

    /// The id of a name; its STRING record is written before.
    fn string(&mut self, text: &str) -> StringId;

    /// The number of a trace; its TRACE record is written before.
    fn trace(&mut self, trace: TraceId) -> TraceSerial;

    /// A number for a thread that was never announced because it is virtual; its START THREAD record is written before.
    fn virtual_thread(&mut self, name: &str) -> ThreadSerial;

    /// Tells how many objects (instances and arrays) of how many bytes the dump will hold. Where it is told, it is told
    /// before the first [`DumpOutput::records`].
    fn totals(&mut self, objects: u64, bytes: u64);

    /// Tells that everything which the dump names has been put out: classes, strings, traces. Until then heap records are
    /// kept in memory, so that all of them stand together: some readers (NetBeans' heap library, so VisualVM) refuse a dump
    /// with other records between its segments. What is named later all the same stands there.
    fn all_is_named(&mut self);

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
    #[error(transparent)]
    Jvmti(#[from] JvmtiError),
    /// The VM has no such dumper, or none that we know how to call.
    #[error("{0}")]
    NoDumper(&'static str),
    /// The walk met what it cannot describe.
    #[error("the heap has {0}")]
    Walk(&'static str),
    /// The VM's own dumper has failed.
    #[error("the VM's dumper failed: {0}")]
    Vm(String),
    /// There is no memory in the heap to find the tracked objects again.
    #[error("the Java heap has no room for a list of the tracked objects")]
    NoRoom,
    /// What is known of the objects finds no room.
    #[error(transparent)]
    Memory(#[from] OutOfMemory),
    /// The temporary file cannot be made or read.
    #[error("{0}")]
    File(#[from] io::Error),
    /// The VM's dump is not what we know.
    #[error("byte {offset} of the VM's dump: {what}")]
    Content {
        /// Where.
        offset: u64,
        /// What is wrong there.
        what: &'static str,
    },
    /// The output has failed, and has said so.
    #[error("the output has ended")]
    Output,
}
