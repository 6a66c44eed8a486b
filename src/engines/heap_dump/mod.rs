//! `heap=dump`: everything in the heap, with the agent's knowledge about it.
//!
//! There are three dumpers behind one trait: the VM's own, whose file is rewritten, a walk over the references by
//! JVMTI, and that walk in a forked child. All describe the same graph.

mod births;
mod choice;
mod disk;
mod jvmti_dumper;
mod redaction;
mod report;
mod room;
mod vm_dumper;

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hprof_format::{
    BirthsHead, ObjectBirth, ObjectId, ObjectLayout, SegmentError, StringId, TraceSerial,
};

use super::allocations::{AllocationTracker, Origin};
use super::{Context, Moment, Report, Reporter, Requirement};
use jvmti::{Capability, Env, Jni, JvmtiError, LocalRef, WeakObject};
use names::class::ClassId;
use names::thread::ThreadSerial;
use names::trace::TraceId;
use options::{Format, Heap, Oom, Options};
use output::console;
use stacks::WholeStack;

use births::BirthsFile;
use choice::{Done, DumperChoice, Dumpers, Forks, Methods};
use disk::Disk;
use jvmti_dumper::JvmtiHeapDumper;
use memory::OutOfMemory;
use vm_dumper::VmHeapDumper;

/// Dumps the heap on request.
pub struct HeapDumps {
    env: Env,
    disk: Arc<Disk>,
    dumpers: Dumpers,
    tracker: Option<Arc<AllocationTracker>>,
    /// `true` if each dump of the profile includes one of the heap.
    in_reports: bool,
    /// `true` once one was written on request.
    was_requested: AtomicBool,
    /// `true` if the next dump of the profile leaves it out.
    is_left_out: AtomicBool,
    primitive_fields: bool,
    primitive_arrays: bool,
    redact: bool,
    form: DumpForm,
    /// A folder for temporary copies of dumps.
    folder: PathBuf,
    /// A number that all births files of the profile have.
    run: u64,
}

/// The properties of a dump that depend on the format of its output.
struct DumpForm {
    /// See [`Subject::constant_entries`].
    constant_entries: bool,
    /// `true` for a temporary copy of each dump, because the text of a heap dump begins with its totals.
    spools: bool,
    /// The path of the output, if there is to be a births file next to it.
    births: Option<PathBuf>,
}

impl DumpForm {
    /// For an output of the binary format next to the profile.
    const BINARY: Self = Self {
        constant_entries: false,
        spools: false,
        births: None,
    };
}

/// Returns the capabilities that heap dumps need. A receiver may request one, and a HEAP SUMMARY, in any run.
pub(super) fn requirement(options: &Options) -> Option<Requirement> {
    options.net.is_some().then_some(Requirement {
        option: "net",
        capabilities: &[Capability::HeapWalk],
    })
}

impl HeapDumps {
    /// Creates the engine; `None` if nothing can request a dump.
    pub fn new(context: &Context, tracker: Option<Arc<AllocationTracker>>) -> Option<Self> {
        let options = &context.options;
        let in_reports = options.heap.is_some_and(Heap::has_dump);
        let is_last_resort = options.oom == Some(Oom::Dump);
        if !in_reports && !is_last_resort && options.net.is_none() {
            return None;
        }
        let (env, tables, stacks) = (context.env, &context.tables, &context.stacks);
        let is_file = options.net.is_none() && context.path.is_file();
        let folder = match is_file {
            true => folder_of(&context.path),
            false => std::env::temp_dir(),
        };
        let disk = Arc::new(Disk::new(env, options, &context.path, folder.clone()));
        let vm = VmHeapDumper::new(
            env,
            tables.clone(),
            stacks.clone(),
            &context.path,
            disk.clone(),
        );
        let walk = JvmtiHeapDumper::new(env, tables.clone(), stacks.clone());
        let fork = walk.forking();
        Some(Self {
            env,
            disk,
            dumpers: Dumpers::new(
                env,
                context.registered.clone(),
                stacks.clone(),
                DumperChoice::new(env, options, is_file),
                Methods {
                    vm: Box::new(vm),
                    walk: Box::new(walk),
                    fork: Box::new(fork),
                },
                Forks::of(options),
            ),
            tracker,
            in_reports,
            was_requested: AtomicBool::new(false),
            is_left_out: AtomicBool::new(false),
            primitive_fields: options.primitive_fields,
            primitive_arrays: options.primitive_arrays,
            redact: options.redact,
            form: match options.format {
                Format::Binary => DumpForm {
                    births: wants_births(options, is_file).then(|| context.path.clone()),
                    ..DumpForm::BINARY
                },
                Format::Text => DumpForm {
                    constant_entries: true,
                    spools: true,
                    births: None,
                },
            },
            folder,
            run: RandomState::new().hash_one(()),
        })
    }

    /// Dumps the heap alone, into a file that is not the profile's: nothing is prepared for sites that follow, because none do.
    pub fn dump_alone(&self, jni: Jni<'_>, report: &Report<'_>) {
        self.settle(jni, report);
        self.dump(jni, report);
    }

    /// Brings what is known of the tracked objects up to date.
    fn settle(&self, jni: Jni<'_>, report: &Report<'_>) {
        let Some(tracker) = &self.tracker else {
            return;
        };
        match self.dumpers.forks(report.moment, report.forks) {
            // A walk meets no garbage, and a collection would stop the program.
            true => tracker.settle_with(jni, report.moment, false),
            false => tracker.settle(jni, report.moment),
        };
    }

    /// Dumps the heap, and prints how.
    pub fn dump(&self, jni: Jni<'_>, report: &Report<'_>) {
        self.dump_as(&self.form, jni, report);
    }

    /// Dumps the heap into an output of the binary format, whatever the profile's is. Returns how.
    pub fn dump_binary(&self, jni: Jni<'_>, report: &Report<'_>) -> Option<String> {
        self.dump_as(&DumpForm::BINARY, jni, report)
    }

    fn dump_as(&self, form: &DumpForm, jni: Jni<'_>, report: &Report<'_>) -> Option<String> {
        let dump = || self.try_to_dump(form, jni, report);
        let answer = match &self.tracker {
            Some(tracker) => tracker.untracked(dump),
            None => dump(),
        };
        match answer {
            Ok(done) => {
                let how = done.to_string();
                report.say(&format!("Java heap ({how})"));
                report.heap_dump.set(Some(format!("heap dump {how}")));
                Some(how)
            }
            // The writer has reported the error.
            Err(DumpError::Output) => {
                report.failed.set(true);
                None
            }
            Err(error) => {
                report.failed.set(true);
                if matches!(error, DumpError::Disk { .. } | DumpError::Silent { .. }) {
                    report.journal.entry(|entry| entry.withdraw_dump());
                }
                // A VM without memory may or may not go on.
                let goes_on = match error {
                    DumpError::Memory(_) => "",
                    _ => "; the program continues",
                };
                console::line(format_args!("no heap dump: {error}{goes_on}"));
                report.heap_dump.set(Some(format!("no heap dump: {error}")));
                None
            }
        }
    }

    /// Returns an error if the dump would fill the disk. Only what is alive is dumped, so garbage is collected before that
    /// is said.
    fn check_disk(&self, form: &DumpForm, forks: bool, moment: Moment) -> Result<(), DumpError> {
        let temporary = u64::from(forks || form.spools && self.dumpers.walks());
        let checked = self.disk.check(temporary);
        let is_full = matches!(checked, Err(DumpError::Disk { .. }));
        if !is_full || moment != Moment::Running {
            return checked;
        }
        self.env.force_garbage_collection()?;
        self.disk.check(temporary)
    }

    fn try_to_dump(
        &self,
        form: &DumpForm,
        jni: Jni<'_>,
        report: &Report<'_>,
    ) -> Result<Done, DumpError> {
        let moment = report.moment;
        let forks = self.dumpers.forks(moment, report.forks);
        self.check_disk(form, forks, moment)?;
        let threads = self.dumpers.live_threads(jni)?;
        let tracked = self.tracker.as_deref();
        let births = form.births.as_deref().zip(tracked);
        let births = births.map(|(path, tracker)| Births {
            file: BirthsFile::next_to(path),
            tracker,
            run: self.run,
        });
        let subject = Subject {
            tracked: tracked.map_or(&Untracked as &dyn TrackedObjects, |tracker| tracker),
            threads: &threads,
            moment,
            primitive_fields: self.primitive_fields,
            primitive_arrays: self.primitive_arrays,
            constant_entries: form.constant_entries,
            births: births.is_some(),
        };
        let redactor = self.redact.then(redaction::redactor).transpose()?;
        // Nothing of a child's dump may be written before the child has finished.
        let spool = (forks || form.spools).then_some(self.folder.as_path());
        report::heap_dump(report.journal, spool, redactor, births, |output| {
            self.dumpers.dump(jni, forks, &subject, output)
        })
    }
}

impl Reporter for HeapDumps {
    fn section(&self) -> Option<&'static str> {
        let is_in = self.in_reports && !self.is_left_out.load(Ordering::Relaxed);
        is_in.then_some("Java heap")
    }

    fn report(&self, jni: Jni<'_>, report: &Report<'_>) {
        self.settle(jni, report);
        if let Some(tracker) = &self.tracker {
            tracker.before_dump(jni);
        }
        self.dump(jni, report);
        if !report.failed.get() {
            self.was_requested.store(true, Ordering::Relaxed);
        }
    }

    fn unknown_without_vm(&self) -> Option<&'static str> {
        self.in_reports
            .then_some("there is no heap dump of the end")
    }
}

impl HeapDumps {
    /// Leaves the heap out of the dump of a stop if it was dumped on request. A dump stops the program for long, and
    /// whoever asked for one has it.
    pub fn prepare_last_report(&self) {
        let was_requested = self.was_requested.load(Ordering::Relaxed);
        self.is_left_out.store(was_requested, Ordering::Relaxed);
    }

    /// Removes the temporary files that a dump which is being written on another thread would leave: the process ends.
    pub fn abandon(&self) {
        self.dumpers.abandon();
    }
}

/// The births of a dump's objects, on their way to a file next to it.
pub struct Births<'a> {
    file: BirthsFile<'a>,
    tracker: &'a AllocationTracker,
    run: u64,
}

impl Births<'_> {
    /// Begins the file, for a dump whose file and number `of` sets.
    fn begin(&mut self, next: u32, of: impl FnOnce(&mut BirthsHead)) {
        if let Some(mut head) = self.tracker.births(next) {
            head.run = self.run;
            of(&mut head);
            self.file.begin(&head);
        }
    }
}

/// Returns `true` if a births file is wanted next to the output; prints a line if it is and cannot be.
fn wants_births(options: &Options, is_file: bool) -> bool {
    if !options.lifetimes
        || !options
            .heap
            .is_some_and(|heap| heap.has_dump() && heap.has_sites())
    {
        return false;
    }
    let reason = match (is_file, options.rotate.is_some()) {
        (false, _) => "the output is not a file",
        (true, true) => "rotate= writes several files",
        (true, false) => return true,
    };
    console::line(format_args!(
        "heap dumps will have no file of births: {reason}"
    ));
    false
}

fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// A method of dumping the heap.
pub trait HeapDumper: Send + Sync {
    /// Dumps the current heap into `output`. Records written before an error stay there.
    fn dump(
        &self,
        jni: Jni<'_>,
        subject: &Subject<'_>,
        output: &mut dyn DumpOutput,
    ) -> Result<Dumped, DumpError>;

    /// Called when the process is about to end while a dump continues in another thread: removes temporary files that it
    /// would leave behind.
    fn abandon(&self) {}
}

/// The agent's knowledge about the heap's objects.
pub struct Subject<'a> {
    /// The objects whose allocation was seen.
    pub tracked: &'a dyn TrackedObjects,
    /// The threads that are alive.
    pub threads: &'a [DumpedThread<'a>],
    /// The moment of the dump, which says if the program continues after it.
    pub moment: Moment,
    /// `true` to include the values of primitive fields (`primfields=`); otherwise they are written as 0.
    pub primitive_fields: bool,
    /// `true` to include the elements of primitive arrays (`primarrays=`); otherwise the arrays have length 0.
    pub primitive_arrays: bool,
    /// `true` if the objects in a class's constant pool may be written as such; otherwise they become static fields
    /// with names that no real field has. HotSpot's dumper never writes constants, and readers of the binary format
    /// rely on that (`jvm-hprof` panics).
    pub constant_entries: bool,
    /// `true` if the output takes the births of tracked objects.
    pub births: bool,
}

/// Objects and the traces that allocated them.
pub trait TrackedObjects {
    /// Returns an upper bound for their number.
    fn len(&self) -> usize;

    /// Calls `look` with each live object; one may have died meanwhile. `look` must not allocate or track
    /// objects. Returns the first moment of objects that are made after this.
    fn for_each(&self, jni: Jni<'_>, look: &mut dyn FnMut(WeakObject<'_>, Origin)) -> u32;
}

impl TrackedObjects for AllocationTracker {
    fn len(&self) -> usize {
        self.tracked()
    }

    fn for_each(&self, _jni: Jni<'_>, look: &mut dyn FnMut(WeakObject<'_>, Origin)) -> u32 {
        self.for_each_tracked(look)
    }
}

/// The empty set of objects, for a run that tracks none.
pub struct Untracked;

impl TrackedObjects for Untracked {
    fn len(&self) -> usize {
        0
    }

    fn for_each(&self, _jni: Jni<'_>, _look: &mut dyn FnMut(WeakObject<'_>, Origin)) -> u32 {
        0
    }
}

/// A live thread and its stack.
pub struct DumpedThread<'a> {
    /// The thread object.
    pub object: LocalRef<'a>,
    /// Its number; [`ThreadSerial::UNKNOWN`] for the agent's own.
    pub serial: ThreadSerial,
    /// Its complete stack a moment ago: `depth=` applies to the traces of allocations.
    pub stack: WholeStack,
}

/// The destination of a dump: the run's output, after the records that the dump names. It may be written to on a thread
/// of the VM, while the program is stopped.
pub trait DumpOutput: Send {
    /// Writes a class, under the id that its `java.lang.Class` object has in this dump.
    fn class(&mut self, class: ClassId, object: ObjectId);

    /// Returns the id of a name, whose STRING record is written first.
    fn string(&mut self, text: &str) -> StringId;

    /// Returns the number of a trace, whose TRACE record is written first.
    fn trace(&mut self, trace: TraceId) -> TraceSerial;

    /// Returns a number for a virtual thread that was never announced; its START THREAD record is written first.
    fn virtual_thread(&mut self, name: &str) -> ThreadSerial;

    /// Notes the sizes of the VM's objects, before the first [`DumpOutput::records`] that are written.
    fn layout(&mut self, layout: ObjectLayout);

    /// Sets the number of objects (instances and arrays) in the dump, and their bytes. If it is called at all, it must
    /// be before the first [`DumpOutput::records`].
    fn totals(&mut self, objects: u64, bytes: u64);

    /// Notes that all classes, strings and traces that the dump names have been written. Until then heap records are
    /// kept in memory, so that they stay together: some readers (NetBeans' heap library, hence VisualVM) refuse a dump
    /// with other records between its segments. Anything named later still ends up between them.
    fn all_is_named(&mut self);

    /// Forgets all records, so that another dumper can begin. Nothing of them has been written: there is a temporary copy.
    fn begin_again(&mut self);

    /// Begins the births of the tracked objects, which were listed when the moment `next` began.
    fn births(&mut self, next: u32);

    /// Adds the birth of a tracked object, after [`DumpOutput::births`].
    fn born(&mut self, birth: ObjectBirth);

    /// Appends whole heap records. Returns `false` once the output has failed, when there is no point in going on.
    fn records(&mut self, content: &[u8]) -> bool;
}

/// The amount that was dumped.
#[derive(Clone, Copy, Debug)]
pub struct Dumped {
    /// Instances and arrays.
    pub objects: u64,
    /// Their sizes in the heap, in bytes.
    pub bytes: u64,
    /// The time for which the program was stopped.
    pub pause: Duration,
}

impl Dumped {
    /// Adds the time for which attempts before this one stopped the program.
    fn after(self, lost: Duration) -> Self {
        Self {
            pause: self.pause + lost,
            ..self
        }
    }
}

/// The reason a heap dump is missing or incomplete.
#[derive(Debug, thiserror::Error)]
pub enum DumpError {
    /// The VM refused.
    #[error(transparent)]
    Jvmti(#[from] JvmtiError),
    /// The VM has no dumper of its own, or none that the agent knows how to call.
    #[error("{0}")]
    NoDumper(&'static str),
    /// The walk met something that it cannot describe.
    #[error("the heap has {0}")]
    Walk(&'static str),
    /// There is no walk in a child.
    #[error("no fork: {0}")]
    NoFork(String),
    /// The program changed between what was asked before the fork and the fork, which was not done, or the child waits for a lock.
    /// Another attempt costs little.
    #[error("no fork: {what}")]
    Unsettled {
        /// The change.
        what: &'static str,
        /// The time for which the program was stopped.
        pause: Duration,
    },
    /// The program changed before the fork, which was noticed by the child's walk.
    #[error("no fork: {what}")]
    Changed {
        /// The change.
        what: &'static str,
        /// The time for which the program was stopped.
        pause: Duration,
    },
    /// The child has ended before the walk.
    #[error("the forked child failed: {0}")]
    Child(io::Error),
    /// The walk in the child met something that it cannot describe.
    #[error("the heap has {0}, in the forked child")]
    InChild(String),
    /// The walk would take for ever; the reason for choosing it.
    #[error(
        "a walk over value objects (--enable-preview) takes the square of their number, and the VM's dumper is not used: {0}"
    )]
    ValueObjects(String),
    /// The VM's own dumper has failed.
    #[error("the VM's dumper failed: {0}")]
    Vm(String),
    /// The disk would be full.
    #[error(
        "it may take {needed} bytes, and {free} are free in {}",
        folder.display()
    )]
    Disk {
        /// The bytes in use of the heap, for each copy of it.
        needed: u64,
        /// The bytes that this user may still write.
        free: u64,
        /// The folder.
        folder: PathBuf,
    },
    /// The file system hangs.
    #[error("the file system of {} does not answer", folder.display())]
    Silent {
        /// The folder.
        folder: PathBuf,
    },
    /// The heap has no room for the list by which tracked objects are found.
    #[error("the Java heap has no room for a list of the tracked objects")]
    NoRoom,
    /// The agent has no memory for its data about the objects.
    #[error(transparent)]
    Memory(#[from] OutOfMemory),
    /// The temporary file cannot be created or read.
    #[error("{0}")]
    File(#[from] io::Error),
    /// The VM's dump is not as expected.
    #[error("byte {offset} of the VM's dump: {what}")]
    Content {
        /// The position in the file.
        offset: u64,
        /// A description of the problem.
        what: &'static str,
    },
    /// There is no key for pseudonyms.
    #[error("the system gives no random numbers: {0}")]
    Key(io::Error),
    /// The content of the objects cannot be removed.
    #[error("the content of a record cannot be removed: {0}")]
    Redact(#[from] SegmentError),
    /// The output has failed, and has reported it.
    #[error("the output has ended")]
    Output,
}
