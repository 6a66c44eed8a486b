//! `vmthreads=y`: the CPU time of threads that run no Java, kind by kind, so that all samples together are the CPU time
//! of the process.
//!
//! The system lists these threads. Reading their clocks is enough, unless frames of native code are wanted: then those
//! that are certainly the VM's have timers, as the program's threads do.

use std::fs;
use std::time::Duration;

use super::account::Account;
use jvmti::{CpuTimers, ThreadCpuClock, TimedThread};
use locks::{Mutex, rank};
use memory::{Map, OrStop, Set};

/// The interval at which their clocks are read: the time that a thread uses after its last reading is lost.
pub(super) const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// HotSpot's names for its threads, as far as the system keeps them (15 bytes), and their kinds. The first prefix that
/// matches decides.
const KINDS: [(&str, VmThreadKind); 17] = [
    ("GC Thread", VmThreadKind::Collector),
    ("ParGC Thread", VmThreadKind::Collector),
    ("G1 ", VmThreadKind::Collector),
    ("ZWorker", VmThreadKind::Collector),
    ("ZDirector", VmThreadKind::Collector),
    ("ZDriver", VmThreadKind::Collector),
    ("ZUncommit", VmThreadKind::Collector),
    ("ZUnmapper", VmThreadKind::Collector),
    ("ZStat", VmThreadKind::Collector),
    ("XWorker", VmThreadKind::Collector),
    ("XD", VmThreadKind::Collector),
    ("RuntimeWorker", VmThreadKind::Collector),
    ("Shenandoah", VmThreadKind::Collector),
    ("Concurrent Mark", VmThreadKind::Collector),
    ("C1 ", VmThreadKind::Compiler),
    ("C2 ", VmThreadKind::Compiler),
    ("HPROF", VmThreadKind::Agent),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum VmThreadKind {
    Collector,
    Compiler,
    Agent,
    /// The VM's other threads, and those of native libraries that the VM does not know.
    Other,
}

impl VmThreadKind {
    fn from_name(name: &str) -> Self {
        let mut kinds = KINDS.iter();
        let found = kinds.find(|(begin, _)| name.starts_with(begin));
        found.map_or(Self::Other, |&(_, kind)| kind)
    }

    const ALL: [Self; 4] = [Self::Collector, Self::Compiler, Self::Agent, Self::Other];

    /// Returns `true` if a thread of this kind and name may be interrupted: one of a native library may not expect it.
    fn is_interruptible(self, name: &str) -> bool {
        match self {
            Self::Collector | Self::Compiler => true,
            Self::Agent => false,
            Self::Other => name.starts_with("VM "),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Collector => "<GC>",
            Self::Compiler => "<JIT-compiler>",
            Self::Agent => "<HPROF>",
            Self::Other => "<VM>",
        }
    }
}

/// Watches these threads.
#[derive(Default)]
pub(super) struct VmThreads(Mutex<Map<i32, VmThread>, rank::VmThreads>);

struct VmThread {
    clock: ThreadCpuClock,
    account: Account,
    kind: VmThreadKind,
    /// How often it has been looked at, up to [`NAMED_AFTER`].
    looks: u32,
    charged: Charged,
}

/// The looks after which a thread has its own name, and no longer its creator's.
const NAMED_AFTER: u32 = 3;

/// The way in which a thread's time is charged.
enum Charged {
    ByClock,
    /// By the samples of a timer; `None` once sampling has ended.
    ByTimer(Option<TimedThread>),
}

impl VmThreads {
    /// Returns the name, in place of a method, of threads whose samples have that number.
    pub(super) fn name(number: u32) -> &'static str {
        let kind = VmThreadKind::ALL.get(number as usize);
        kind.map_or(VmThreadKind::Other, |&kind| kind).name()
    }

    /// Notes that a thread runs no Java any more, and has used so much CPU time, which is charged already. It may go on: the
    /// one that began the VM waits for its end.
    pub(super) fn has_left_java(&self, task: i32, used: u64, interval: u64) {
        let thread = VmThread::new(task, used, interval);
        self.0.lock().insert(task, thread).or_stop();
    }

    /// Removes all timers. What their threads use from now on is not charged.
    pub(super) fn end(&self) {
        for thread in self.0.lock().values_mut() {
            if let Charged::ByTimer(timed) = &mut thread.charged {
                *timed = None;
            }
        }
    }

    /// Charges the time used since the last call, of threads without a timer; gives new ones a timer, if there are to be
    /// timers. `java` are the threads that have samples of their own; `charge` takes the name of a kind, and samples.
    pub(super) fn look(
        &self,
        java: &Set<i32>,
        interval: u64,
        timers: Option<&CpuTimers>,
        mut charge: impl FnMut(&'static str, u64),
    ) {
        let timers = timers.filter(|timers| timers.has_native_frames());
        let mut threads = self.0.lock();
        let there: Set<i32> = Set::collect(tasks().filter(|task| !java.contains(task))).or_stop();
        threads.retain(|task, _| there.contains(task));
        for &task in there.iter() {
            let thread = threads.get_or_insert_with(task, || VmThread::new(task, 0, interval));
            let thread = thread.or_stop();
            if matches!(thread.charged, Charged::ByTimer(_)) {
                continue;
            }
            let used = thread.clock.read().unwrap_or(0);
            let samples = thread.account.charge(used, interval);
            let is_new = timers.is_some() && thread.looks < NAMED_AFTER;
            thread.looks = (thread.looks + 1).min(NAMED_AFTER);
            // A thread has its creator's name until it sets its own.
            if is_new || samples > 0 && thread.kind == VmThreadKind::Other {
                let name = name_of(task);
                thread.kind = VmThreadKind::from_name(&name);
                if thread.kind.is_interruptible(&name)
                    && let Some(timed) =
                        timers.and_then(|timers| thread.timer(timers, task, interval))
                {
                    thread.charged = Charged::ByTimer(Some(timed));
                }
            }
            if samples > 0 {
                charge(thread.kind.name(), samples);
            }
        }
    }
}

impl VmThread {
    /// Begins to watch a thread whose time is charged already, so far.
    fn new(task: i32, used: u64, interval: u64) -> Self {
        Self {
            clock: ThreadCpuClock::of_thread(task),
            account: Account::open(used, interval, interval / 2),
            kind: VmThreadKind::Other,
            looks: 0,
            charged: Charged::ByClock,
        }
    }

    /// Creates a timer for what the thread uses from now on.
    fn timer(&self, timers: &CpuTimers, task: i32, interval: u64) -> Option<TimedThread> {
        let timed = timers.add_vm_thread(task, self.kind as u32)?;
        let first = Duration::from_nanos(self.account.until_next(interval));
        timed.arm(first, Duration::from_nanos(interval));
        Some(timed)
    }
}

/// Returns the name of a thread, as far as the system keeps it.
fn name_of(task: i32) -> String {
    fs::read_to_string(format!("/proc/self/task/{task}/comm")).unwrap_or_default()
}

/// Iterates over the system ids of all threads of this process.
fn tasks() -> impl Iterator<Item = i32> {
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten();
    tasks.filter_map(|task| task.ok()?.file_name().to_str()?.parse().ok())
}
