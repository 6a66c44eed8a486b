//! The sampler that works in every VM: a thread of the agent reads the CPU clock of every thread once per interval, and
//! takes the stack of those that owe a sample.
//!
//! The thread that is charged is exact, because the VM's CPU clocks decide. The method is not quite: the VM shows
//! stacks only at safepoints, so the cost of a loop without a safepoint goes to the next one.

use std::hash::BuildHasher;
use std::sync::Arc;
use std::time::{Duration, Instant};

use foldhash::fast::FixedState;

use super::Sampler;
use super::account::Account;
use super::counts::SampleCounts;
use super::{IN_ENDED_THREAD, NO_JAVA};
use crate::engines::Context;
use crate::engines::worker::Worker;
use jvmti::{AgentThreads, Env, FrameInfo, GlobalRef, Jni, JvmtiError, Object, VirtualThreads};
use locks::{Mutex, rank};
use memory::{Map, OrStop};
use names::thread::ThreadSerial;
use names::trace::TraceId;
use stacks::{StackBuffer, Stacks};

/// The interval at which unloaded classes are looked for.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);

/// `cpu=samples` with JVMTI alone.
pub(super) struct JvmtiSampler {
    agent_threads: Arc<AgentThreads>,
    worker: Worker,
    shared: Arc<SamplerState>,
}

/// The state that the agent's thread and the events share.
///
/// The VM is never called while `threads` is held: threads of the program wait for it when they start and end.
struct SamplerState {
    env: Env,
    virtual_threads: Option<VirtualThreads>,
    stacks: Arc<Stacks>,
    counts: Arc<SampleCounts>,
    interval: Duration,
    threads: Mutex<WatchedThreads, rank::SampledThreads>,
}

/// The threads that are currently alive.
struct WatchedThreads {
    watched: Map<ThreadSerial, ChargedThread>,
    /// `true` if new threads are sampled.
    on: bool,
}

/// A thread that may be charged.
struct ChargedThread {
    thread: Arc<GlobalRef>,
    account: Account,
    /// `true` if it is sampled.
    on: bool,
}

/// A thread that owes samples.
struct Due {
    thread: Arc<GlobalRef>,
    serial: ThreadSerial,
    samples: u64,
}

impl JvmtiSampler {
    /// Creates a sampler that charges one sample for each `interval` of CPU time.
    pub(super) fn new(context: &Context, counts: Arc<SampleCounts>) -> Self {
        let threads = Mutex::new(WatchedThreads {
            watched: Map::default(),
            on: true,
        });
        let shared = Arc::new(SamplerState {
            env: context.env,
            virtual_threads: context.virtual_threads,
            stacks: context.stacks.clone(),
            counts,
            interval: context.options.interval,
            threads,
        });
        Self {
            agent_threads: context.agent_threads.clone(),
            worker: Worker::default(),
            shared,
        }
    }
}

impl Sampler for JvmtiSampler {
    fn start(&self, jni: Jni<'_>) -> Result<(), JvmtiError> {
        let shared = self.shared.clone();
        let run = move |jni: Jni<'_>, worker: &Worker| shared.run(jni, worker);
        self.worker.start(
            &self.agent_threads,
            self.shared.env,
            jni,
            "HPROF cpu sampler",
            run,
        )
    }

    fn thread_registered(&self, jni: Jni<'_>, thread: Object<'_>, serial: ThreadSerial) {
        let Ok(cpu_time) = self.shared.env.thread_cpu_time(thread) else {
            return;
        };
        let Some(thread) = GlobalRef::new(jni, thread) else {
            return;
        };
        let account = Account::open(
            cpu_time,
            self.shared.nanos(),
            FixedState::default().hash_one(serial),
        );
        let mut threads = self.shared.threads.lock();
        let watched = ChargedThread {
            thread: Arc::new(thread),
            account,
            on: threads.on,
        };
        threads.watched.insert(serial, watched).or_stop();
    }

    fn current_thread_ended(&self, serial: ThreadSerial) {
        let watched = self.shared.threads.lock().watched.remove(&serial);
        let watched = watched.filter(|watched| watched.on);
        let (Some(mut watched), Ok(cpu_time)) =
            (watched, self.shared.env.current_thread_cpu_time())
        else {
            return;
        };
        let samples = watched.account.charge(cpu_time, self.shared.nanos());
        if samples > 0 && self.shared.stacks.depth() > 0 {
            let trace = self.shared.stacks.unsampled_trace(serial, IN_ENDED_THREAD);
            self.shared.counts.add(trace, samples);
        }
    }

    fn thread_gone(&self, serial: ThreadSerial) {
        let gone = self.shared.threads.lock().watched.remove(&serial);
        drop(gone);
    }

    fn switch(&self, thread: Option<ThreadSerial>, on: bool) -> bool {
        let switched = {
            let mut threads = self.shared.threads.lock();
            if thread.is_none() {
                threads.on = on;
            }
            let is_meant = |&serial: &ThreadSerial| thread.is_none_or(|wanted| wanted == serial);
            let all = threads.watched.iter();
            let switched = all.filter(|(serial, _)| is_meant(serial));
            switched
                .map(|(&serial, watched)| (serial, watched.thread.clone()))
                .collect::<Vec<_>>()
        };
        for (serial, thread) in &switched {
            // A thread that is ending has nothing more to charge.
            let cpu_time = self.shared.env.thread_cpu_time(thread.object());
            let mut threads = self.shared.threads.lock();
            if let Some(watched) = threads.watched.get_mut(serial) {
                watched.switch(on, cpu_time.unwrap_or(u64::MAX));
            }
        }
        thread.is_none() || !switched.is_empty()
    }

    fn stop(&self, jni: Jni<'_>) {
        self.worker.stop();
        self.shared.stacks.sweep(jni);
    }

    fn outcome(&self) -> String {
        "stacks are taken at safepoints".to_owned()
    }
}

impl ChargedThread {
    fn switch(&mut self, on: bool, cpu_time: u64) {
        if on && !self.on {
            self.account.skip(cpu_time);
        }
        self.on = on;
    }
}

impl SamplerState {
    fn nanos(&self) -> u64 {
        u64::try_from(self.interval.as_nanos()).unwrap_or(u64::MAX)
    }

    fn run(&self, jni: Jni<'_>, worker: &Worker) {
        let mut stack = StackBuffer::default();
        let mut next = Instant::now() + self.interval;
        let mut next_sweep = Instant::now() + SWEEP_INTERVAL;
        while worker.sleep_until(next) {
            self.look(jni, &mut stack);
            let now = Instant::now();
            if now >= next_sweep {
                self.stacks.sweep(jni);
                next_sweep = now + SWEEP_INTERVAL;
            }
            // Rounds that were missed, during a long safepoint, are not made up for: the accounts have kept the time.
            next = (next + self.interval).max(now);
        }
    }

    fn look(&self, jni: Jni<'_>, stack: &mut StackBuffer) {
        let depth = self.stacks.depth();
        // Without frames there is nothing to charge.
        for due in self.charge().into_iter().filter(|_| depth > 0) {
            let trace = self.trace(jni, &due, depth, stack);
            self.counts.add(trace, due.samples);
        }
    }

    /// Charges all threads; returns those that owe a sample, whose stacks are taken.
    fn charge(&self) -> Vec<Due> {
        let interval = self.nanos();
        let watched: Vec<_> = {
            let threads = self.threads.lock();
            let watched = threads.watched.iter().filter(|(_, watched)| watched.on);
            watched
                .map(|(&serial, watched)| (serial, watched.thread.clone()))
                .collect()
        };
        let mut due = Vec::new();
        for (serial, thread) in watched {
            // A thread that is ending is charged in its ThreadEnd event.
            let Ok(cpu_time) = self.env.thread_cpu_time(thread.object()) else {
                continue;
            };
            let mut threads = self.threads.lock();
            let watched = threads.watched.get_mut(&serial);
            let Some(watched) = watched.filter(|watched| watched.on) else {
                continue;
            };
            let samples = watched.account.charge(cpu_time, interval);
            if samples > 0 {
                due.push(Due {
                    thread,
                    serial,
                    samples,
                });
            }
        }
        due
    }

    fn trace(&self, jni: Jni<'_>, due: &Due, depth: usize, stack: &mut StackBuffer) -> TraceId {
        let thread = due.thread.object();
        let seen = self.stacks.classes_seen(jni);
        stack.take(depth, |frames| self.stack(jni, thread, frames).unwrap_or(0));
        match stack.frames() {
            [] => self.stacks.unsampled_trace(due.serial, NO_JAVA),
            frames => self.stacks.trace(jni, due.serial, frames, seen),
        }
    }

    /// Returns the stack of a thread. If it carries a virtual thread, that one's frames come first, followed by the
    /// carrier's own.
    fn stack(
        &self,
        jni: Jni<'_>,
        thread: Object<'_>,
        frames: &mut [FrameInfo],
    ) -> Result<usize, JvmtiError> {
        let mut count = 0;
        if let Some(virtual_threads) = self.virtual_threads
            && let Some(mounted) = virtual_threads.mounted_on(jni, thread)?
        {
            // The virtual thread may have been unmounted by now: then only the carrier's frames are found.
            count = self
                .env
                .stack_trace(Some(mounted.object()), frames)
                .unwrap_or(0);
        }
        if count < frames.len() {
            count += self.env.stack_trace(Some(thread), &mut frames[count..])?;
        }
        Ok(count)
    }
}
