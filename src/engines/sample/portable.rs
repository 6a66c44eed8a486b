//! The engine that runs on every VM: an agent thread looks at the CPU clock of every thread, once an interval, and takes
//! the stack of those that have used up a sample.
//!
//! Who is charged is exact: the VM's own CPU clocks decide. Which method is charged is not quite: the VM shows stacks at
//! safepoints, so a loop without one pushes its cost to the next.

use std::hash::BuildHasher;
use std::sync::Arc;
use std::time::{Duration, Instant};

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use parking_lot::{Condvar, Mutex};

use super::CpuSampler;
use super::account::Account;
use crate::engines::stack::Stacks;
use crate::jvmti::{AgentThreads, Env, Frame, Global, Jni, JvmtiError, Object, VirtualThreads};
use crate::tables::Tables;
use crate::tables::class::ClassId;
use crate::tables::thread::ThreadSerial;
use crate::tables::trace::TraceId;

/// How often unloaded classes are looked for.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);
/// How long `stop` waits for a look that is going on.
const PATIENCE: Duration = Duration::from_secs(5);

/// `cpu=samples` with nothing but JVMTI.
pub struct PortableSampler {
    agent_threads: Arc<AgentThreads>,
    shared: Arc<Shared>,
}

/// What the agent thread and the events share.
///
/// Lock order: `threads` and `phase` are each held alone, but `threads` while the VM is asked for a CPU time, which
/// calls nothing of ours. A thread that waits for `threads` in its ThreadStart event is in native code, so it holds up
/// no safepoint.
struct Shared {
    env: Env,
    virtual_threads: Option<VirtualThreads>,
    stacks: Stacks,
    tables: Arc<Tables>,
    interval: Duration,
    class_unloaded: Box<dyn Fn(ClassId) + Send + Sync>,
    threads: Mutex<HashMap<ThreadSerial, Watched, FixedState>>,
    phase: Mutex<Phase>,
    phase_changed: Condvar,
}

/// A thread that may be charged.
struct Watched {
    thread: Arc<Global>,
    account: Account,
}

/// A thread that has used up samples.
struct Due {
    thread: Arc<Global>,
    serial: ThreadSerial,
    samples: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    NotRunning,
    Running,
    Stopping,
}

impl PortableSampler {
    /// A sampler that charges a sample for each `interval` of CPU time, and tells of classes it named that were
    /// unloaded.
    pub fn new(
        env: Env,
        agent_threads: Arc<AgentThreads>,
        virtual_threads: Option<VirtualThreads>,
        stacks: Stacks,
        tables: Arc<Tables>,
        interval: Duration,
        class_unloaded: Box<dyn Fn(ClassId) + Send + Sync>,
    ) -> Self {
        let shared = Shared {
            env,
            virtual_threads,
            stacks,
            tables,
            interval,
            class_unloaded,
            threads: Mutex::default(),
            phase: Mutex::new(Phase::NotRunning),
            phase_changed: Condvar::new(),
        };
        Self {
            agent_threads,
            shared: Arc::new(shared),
        }
    }
}

impl CpuSampler for PortableSampler {
    fn start(&self, jni: Jni<'_>) -> Result<(), JvmtiError> {
        *self.shared.phase.lock() = Phase::Running;
        let shared = self.shared.clone();
        let ended = Ended(shared.clone());
        self.agent_threads
            .run(self.shared.env, jni, c"HPROF cpu sampler", move |jni| {
                let _ended = ended;
                shared.run(jni);
            })
    }

    fn thread_started(&self, jni: Jni<'_>, thread: Object<'_>, serial: ThreadSerial) {
        let Ok(cpu_time) = self.shared.env.thread_cpu_time(thread) else {
            return;
        };
        let Some(thread) = Global::new(jni, thread) else {
            return;
        };
        let account = Account::open(
            cpu_time,
            self.shared.nanos(),
            FixedState::default().hash_one(serial),
        );
        self.shared.threads.lock().insert(
            serial,
            Watched {
                thread: Arc::new(thread),
                account,
            },
        );
    }

    fn thread_ended(&self, serial: ThreadSerial) {
        let watched = self.shared.threads.lock().remove(&serial);
        let (Some(mut watched), Ok(cpu_time)) =
            (watched, self.shared.env.current_thread_cpu_time())
        else {
            return;
        };
        let samples = watched.account.charge(cpu_time, self.shared.nanos());
        if samples > 0 {
            self.shared
                .tables
                .traces
                .add_samples(self.shared.stacks.unsampled_trace(serial), samples);
        }
    }

    fn stop(&self, jni: Jni<'_>) {
        {
            let mut phase = self.shared.phase.lock();
            if *phase == Phase::Running {
                *phase = Phase::Stopping;
                self.shared.phase_changed.notify_all();
            }
            self.shared.phase_changed.wait_while_for(
                &mut phase,
                |phase| *phase != Phase::NotRunning,
                PATIENCE,
            );
        }
        self.shared.sweep(jni);
    }
}

/// Says that the agent thread is through, also after a panic, and when it could not be started.
struct Ended(Arc<Shared>);

impl Drop for Ended {
    fn drop(&mut self) {
        *self.0.phase.lock() = Phase::NotRunning;
        self.0.phase_changed.notify_all();
    }
}

impl Shared {
    fn nanos(&self) -> u64 {
        self.interval.as_nanos() as u64
    }

    fn run(&self, jni: Jni<'_>) {
        let mut frames = vec![Frame::default(); self.stacks.depth()];
        let mut next = Instant::now() + self.interval;
        let mut next_sweep = Instant::now() + SWEEP_INTERVAL;
        while self.sleep_until(next) {
            self.look(jni, &mut frames);
            let now = Instant::now();
            if now >= next_sweep {
                self.sweep(jni);
                next_sweep = now + SWEEP_INTERVAL;
            }
            // Looks that were missed (a long safepoint) are not made up for: the accounts have kept the time.
            next = (next + self.interval).max(now);
        }
    }

    /// `false` when it is time to stop.
    fn sleep_until(&self, time: Instant) -> bool {
        let mut phase = self.phase.lock();
        self.phase_changed
            .wait_while_until(&mut phase, |phase| *phase == Phase::Running, time);
        *phase == Phase::Running
    }

    fn look(&self, jni: Jni<'_>, frames: &mut [Frame]) {
        for due in self.charge() {
            let trace = self.trace(jni, &due, frames);
            self.tables.traces.add_samples(trace, due.samples);
        }
    }

    /// Charges all threads; only those that owe a sample have their stack taken.
    fn charge(&self) -> Vec<Due> {
        let interval = self.nanos();
        let mut due = Vec::new();
        for (&serial, watched) in self.threads.lock().iter_mut() {
            // A thread that is ending is charged in its ThreadEnd event.
            let Ok(cpu_time) = self.env.thread_cpu_time(watched.thread.object()) else {
                continue;
            };
            let samples = watched.account.charge(cpu_time, interval);
            if samples > 0 {
                due.push(Due {
                    thread: watched.thread.clone(),
                    serial,
                    samples,
                });
            }
        }
        due
    }

    fn trace(&self, jni: Jni<'_>, due: &Due, frames: &mut [Frame]) -> TraceId {
        match self.stack(jni, due.thread.object(), frames) {
            Ok(count) if count > 0 => self.stacks.trace(jni, due.serial, &frames[..count]),
            _ => self.stacks.unsampled_trace(due.serial),
        }
    }

    /// The stack of a thread; under the virtual thread it carries, if it does, stands the carrier's own.
    fn stack(
        &self,
        jni: Jni<'_>,
        thread: Object<'_>,
        frames: &mut [Frame],
    ) -> Result<usize, JvmtiError> {
        let mut count = 0;
        if let Some(virtual_threads) = self.virtual_threads
            && let Some(mounted) = virtual_threads.mounted_on(jni, thread)?
        {
            // It may have left the carrier by now: then this look finds the carrier alone.
            count = self.env.stack_trace(mounted.object(), frames).unwrap_or(0);
        }
        if count < frames.len() {
            count += self.env.stack_trace(thread, &mut frames[count..])?;
        }
        Ok(count)
    }

    fn sweep(&self, jni: Jni<'_>) {
        self.stacks.sweep(jni, |class| (self.class_unloaded)(class));
    }
}
