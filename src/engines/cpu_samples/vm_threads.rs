//! `vmthreads=y`: the CPU time of threads that run no Java, kind by kind, so that all samples together are the CPU time
//! of the process.
//!
//! The stacks of these threads mean nothing to a user, so reading their clocks is enough. The system lists them.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::time::Duration;

use foldhash::fast::FixedState;

use super::account::Account;
use super::counts::SampleCounts;
use crate::jvmti::ThreadCpuClock;
use crate::lock_order::{Mutex, rank};
use crate::stacks::Stacks;

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

    fn of_thread(task: i32) -> Self {
        let name = fs::read_to_string(format!("/proc/self/task/{task}/comm")).unwrap_or_default();
        Self::from_name(&name)
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
pub(super) struct VmThreads(Mutex<HashMap<i32, VmThread, FixedState>, rank::VmThreads>);

struct VmThread {
    clock: ThreadCpuClock,
    account: Account,
    kind: VmThreadKind,
}

impl VmThreads {
    /// Charges the time used since the last call. `java` are the threads that have samples of their own.
    pub(super) fn look(
        &self,
        java: &HashSet<i32, FixedState>,
        interval: u64,
        stacks: &Stacks,
        counts: &SampleCounts,
    ) {
        let mut threads = self.0.lock();
        let there: HashSet<i32, FixedState> = tasks().filter(|task| !java.contains(task)).collect();
        threads.retain(|task, _| there.contains(task));
        for &task in &there {
            let thread = threads.entry(task).or_insert_with(|| VmThread {
                clock: ThreadCpuClock::of_thread(task),
                account: Account::open(0, interval, interval / 2),
                kind: VmThreadKind::Other,
            });
            let used = thread.clock.read().unwrap_or(0);
            let samples = thread.account.charge(used, interval);
            if samples > 0 {
                // A thread has its creator's name until it sets its own.
                if thread.kind == VmThreadKind::Other {
                    thread.kind = VmThreadKind::of_thread(task);
                }
                counts.add(stacks.stand_in_trace(thread.kind.name()), samples);
            }
        }
    }
}

/// Iterates over the system ids of all threads of this process.
fn tasks() -> impl Iterator<Item = i32> {
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten();
    tasks.filter_map(|task| task.ok()?.file_name().to_str()?.parse().ok())
}
