//! Chooses the dumper, and gives the reason.

use std::fmt;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use super::{DumpError, DumpOutput, Dumped, DumpedThread, HeapDumper, Subject};
use crate::engines::Moment;
use crate::engines::gc::cannot_gc_at_vm_death;
use jvmti::{Env, Jni, JvmtiError, RegisteredThreads};
use names::thread::ThreadSerial;
use options::{Dumper, Options};
use stacks::{Stacks, WholeStack};

/// The dumpers, and the choice between them.
pub struct Dumpers {
    env: Env,
    registered: Arc<RegisteredThreads>,
    stacks: Arc<Stacks>,
    choice: DumperChoice,
    vm: Box<dyn HeapDumper>,
    walk: Box<dyn HeapDumper>,
    fork: Box<dyn HeapDumper>,
    forks: Forks,
}

/// The dumper of a run, as far as it is known before a dump.
#[derive(Clone, Copy)]
pub enum DumperChoice {
    /// The VM's dumper if its dump would be right.
    Auto,
    /// The VM's dumper, as the user wants.
    Vm,
    /// The walk, for this reason.
    Walk(&'static str),
}

/// Whether dumps come from a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forks {
    /// If a dump is requested that way.
    IfAsked,
    /// If there can be a child; otherwise they are made by another dumper.
    First,
    /// Only if there can be a child.
    Only,
}

impl Forks {
    /// Returns that of a run.
    pub fn of(options: &Options) -> Self {
        match options.dumper {
            Dumper::Auto | Dumper::Vm | Dumper::Jvmti => Self::IfAsked,
            Dumper::Fork => Self::First,
            Dumper::ForkOnly => Self::Only,
        }
    }
}

/// The methods of a run to dump the heap.
pub struct Methods {
    /// The VM's dumper.
    pub vm: Box<dyn HeapDumper>,
    /// The walk.
    pub walk: Box<dyn HeapDumper>,
    /// The walk in a forked child.
    pub fork: Box<dyn HeapDumper>,
}

impl DumperChoice {
    /// Chooses for an output that is a file, or else a pipe or a receiver.
    pub fn new(env: Env, options: &Options, is_file: bool) -> Self {
        let may_walk = !env.vm_kind().has_value_objects();
        match options.dumper {
            Dumper::Vm => Self::Vm,
            Dumper::Jvmti => Self::Walk("asked for"),
            Dumper::Auto | Dumper::Fork | Dumper::ForkOnly if options.redact => {
                Self::Walk("no content may reach a disk")
            }
            Dumper::Auto | Dumper::Fork | Dumper::ForkOnly if !is_file && may_walk => {
                Self::Walk("it needs no temporary file")
            }
            Dumper::Auto | Dumper::Fork | Dumper::ForkOnly => Self::Auto,
        }
    }
}

/// A dump that is complete.
pub struct Done {
    /// The amount that was dumped.
    pub dumped: Dumped,
    /// The name of the dumper.
    pub dumper: &'static str,
    /// The reason for choosing it.
    pub reason: String,
}

/// `by JVMTI: asked for; the program stood still for 7 ms`.
impl fmt::Display for Done {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            dumped,
            dumper,
            reason,
        } = self;
        let millis = dumped.pause.as_millis();
        write!(
            f,
            "by {dumper}: {reason}; the program stood still for {millis} ms"
        )
    }
}

const VM: &str = "the VM's dumper";
const WALK: &str = "JVMTI";
const FORK: &str = "JVMTI in a forked child";

impl Dumpers {
    /// Creates the dumpers of a run.
    pub fn new(
        env: Env,
        registered: Arc<RegisteredThreads>,
        stacks: Arc<Stacks>,
        choice: DumperChoice,
        methods: Methods,
        forks: Forks,
    ) -> Self {
        let Methods { vm, walk, fork } = methods;
        Self {
            env,
            registered,
            stacks,
            choice,
            vm,
            walk,
            fork,
            forks,
        }
    }

    /// Returns the live threads, with their stacks.
    pub fn live_threads<'a>(&self, jni: Jni<'a>) -> Result<Vec<DumpedThread<'a>>, JvmtiError> {
        // Keeps the classes of their methods until these have names.
        let _loaded = self.env.loaded_classes(jni)?;
        let threads = self.env.all_threads(jni)?;
        Ok(threads
            .into_iter()
            .map(|object| {
                let serial = self.registered.serial(jni, object.object());
                match serial.map(ThreadSerial) {
                    Some(serial) => DumpedThread {
                        stack: self.stacks.whole_stack(jni, serial, object.object()),
                        object,
                        serial,
                    },
                    None => DumpedThread {
                        object,
                        serial: ThreadSerial::UNKNOWN,
                        stack: WholeStack::EMPTY,
                    },
                }
            })
            .collect())
    }

    /// Dumps with the chosen dumper, or with the other one if that fails before it has written anything. `forks` if that is
    /// the walk in a child.
    pub fn dump(
        &self,
        jni: Jni<'_>,
        forks: bool,
        subject: &Subject<'_>,
        output: &mut dyn DumpOutput,
    ) -> Result<Done, DumpError> {
        let mut lost = Duration::ZERO;
        let fork = forks.then(|| in_child(&*self.fork, jni, subject, output, &mut lost));
        let failed = match fork {
            None => None,
            Some(Err(error)) if error.is_of_child() && self.forks != Forks::Only => {
                output.begin_again();
                Some(error.to_string())
            }
            Some(answer) => {
                return Ok(Done {
                    dumped: answer?.after(lost),
                    dumper: FORK,
                    reason: "asked for".to_owned(),
                });
            }
        };
        let done = self.dump_without_child(jni, failed, subject, output)?;
        Ok(Done {
            dumped: done.dumped.after(lost),
            ..done
        })
    }

    /// Dumps without a child. `failed` says why there was none, if one was wanted.
    fn dump_without_child(
        &self,
        jni: Jni<'_>,
        failed: Option<String>,
        subject: &Subject<'_>,
        output: &mut dyn DumpOutput,
    ) -> Result<Done, DumpError> {
        let moment = subject.moment;
        let kind = self.env.vm_kind();
        let vm_is_right = moment != Moment::Death
            || !cannot_gc_at_vm_death(self.env)
            // It will say that there is none.
            || !kind.is_known()
            // Garbage is better than no dump.
            || kind.has_value_objects();
        let reason = |reason: &str| failed.clone().unwrap_or_else(|| reason.to_owned());
        match self.choice {
            // Any dump is better than none, and there will be no other.
            DumperChoice::Vm if moment != Moment::Exhausted => {
                self.by_vm(jni, subject, output, "asked for".to_owned())
            }
            DumperChoice::Walk(why) => self.by_walk(jni, subject, output, reason(why)),
            DumperChoice::Auto | DumperChoice::Vm if vm_is_right => {
                let answer = self.by_vm(jni, subject, output, reason("the fastest"));
                match answer {
                    Err(error) if error.is_early() => {
                        self.by_walk(jni, subject, output, error.to_string())
                    }
                    answer => answer,
                }
            }
            DumperChoice::Auto | DumperChoice::Vm => {
                let reason = "this collector has stopped when a program ends";
                self.by_walk(jni, subject, output, reason.to_owned())
            }
        }
    }

    /// Returns `true` if a dump is tried in a child, for which this dump may ask. At the end nobody waits, and without memory
    /// there is none for a child.
    pub fn forks(&self, moment: Moment, is_asked: bool) -> bool {
        (self.forks != Forks::IfAsked || is_asked) && moment == Moment::Running
    }

    /// Returns `true` if a walk is the first choice for a dump that is not tried in a child.
    pub fn walks(&self) -> bool {
        matches!(self.choice, DumperChoice::Walk(_))
    }

    /// See [`HeapDumper::abandon`].
    pub fn abandon(&self) {
        self.vm.abandon();
        self.walk.abandon();
    }

    fn by_vm(
        &self,
        jni: Jni<'_>,
        subject: &Subject<'_>,
        output: &mut dyn DumpOutput,
        reason: String,
    ) -> Result<Done, DumpError> {
        Ok(Done {
            dumped: self.vm.dump(jni, subject, output)?,
            dumper: VM,
            reason,
        })
    }

    fn by_walk(
        &self,
        jni: Jni<'_>,
        subject: &Subject<'_>,
        output: &mut dyn DumpOutput,
        reason: String,
    ) -> Result<Done, DumpError> {
        // The VM compares each one that has no identity with all others.
        if self.env.vm_kind().has_value_objects() {
            return Err(DumpError::ValueObjects(reason));
        }
        Ok(Done {
            dumped: self.walk.dump(jni, subject, output)?,
            dumper: WALK,
            reason,
        })
    }
}

/// The number of times that a dump in a child is tried while the program changes; fewer if the change was noticed after a walk
/// over the whole heap.
const ATTEMPTS: u32 = 6;
const WALKS: u32 = 2;

/// The time before the second attempt; before each later one it is twice as long. Programs load classes in bursts.
const FIRST_WAIT: Duration = Duration::from_millis(50);

/// `lost` receives the time for which attempts in vain stopped the program.
fn in_child(
    fork: &dyn HeapDumper,
    jni: Jni<'_>,
    subject: &Subject<'_>,
    output: &mut dyn DumpOutput,
    lost: &mut Duration,
) -> Result<Dumped, DumpError> {
    let (mut attempts, mut walks) = (0, 0);
    loop {
        let answer = fork.dump(jni, subject, output);
        attempts += 1;
        match &answer {
            Err(DumpError::Unsettled { pause, .. }) => *lost += *pause,
            Err(DumpError::Changed { pause, .. }) => {
                *lost += *pause;
                walks += 1;
            }
            _ => return answer,
        }
        if attempts == ATTEMPTS || walks == WALKS {
            return answer;
        }
        output.begin_again();
        thread::sleep(FIRST_WAIT * 2_u32.pow(attempts - 1));
    }
}

impl DumpError {
    /// Returns `true` if only the child has failed.
    fn is_of_child(&self) -> bool {
        matches!(
            self,
            Self::NoFork(_)
                | Self::Unsettled { .. }
                | Self::Changed { .. }
                | Self::Child(_)
                | Self::InChild(_)
        )
    }

    /// Returns `true` if nothing was written before the error.
    fn is_early(&self) -> bool {
        matches!(
            self,
            Self::NoDumper(_)
                | Self::Vm(_)
                | Self::NoRoom
                | Self::File(_)
                | Self::Disk { .. }
                | Self::Silent { .. }
        )
    }
}
