//! The sampler that interrupts threads as they use the CPU: each has a timer on its own CPU clock, and its signal takes
//! the stack. A thread of the agent fetches the samples and names them. Where there are no such timers (Windows), another one takes them.
//!
//! Both the thread and the method that are charged are exact, because neither waits for a safepoint.

use std::hash::BuildHasher;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use foldhash::fast::FixedState;

use super::Sampler;
use super::account::Account;
use super::counts::SampleCounts;
use super::ended_threads::{EndedThread, EndedThreads};
use super::inlining_notes;
use super::sampled_threads::{SampledThread, SampledThreads};
use super::stand_ins::OWN_TIME;
use super::tally::SampleTally;
use super::vm_threads::{POLL_INTERVAL, VmThreads};
use super::{IN_ENDED_THREAD, LOST, NAMELESS, NO_JAVA};
use crate::engines::Context;
use crate::engines::worker::Worker;
use jvmti::{
    AgentThreads, CpuTimerSupport, CpuTimers, Env, Event, FrameClasses, Jni, JvmtiError,
    NoCpuTimers, Object, SampledFrame, SampledStack, StackSample, VirtualThreads, current_tid,
    own_cpu_time,
};
use locks::{Mutex, rank};
use memory::{List, Map, OrStop, Set};
use names::thread::ThreadSerial;
use names::trace::TraceId;
use output::console;
use stacks::Stacks;

/// The interval at which samples are fetched. It must be short, because names die with their class.
const FETCH_INTERVAL: Duration = Duration::from_millis(20);
/// Looking at the threads that have no timer takes one part in so many of the time.
const UNTIMED_SHARE: u32 = 50;
/// Where no thread has one, the rest after each look is at least so many times as long as the look.
const REST_WITHOUT_TIMERS: u32 = 2;
/// The longest that a fetch waits for another one, whose thread may be suspended.
const WAIT_FOR_FETCH: Duration = Duration::from_secs(10);
/// The same without the VM: the other one may never return from it.
const SHORT_WAIT_FOR_FETCH: Duration = Duration::from_millis(100);
/// The interval at which unloaded classes, and a change of the signal's handler, are looked for.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);

/// `cpu=samples` by timers on the threads' CPU clocks.
pub(super) struct AsyncSampler {
    agent_threads: Arc<AgentThreads>,
    worker: Worker,
    /// Takes the samples of threads without timers, where no thread has one. It never waits for the VM.
    taker: Worker,
    pub(super) shared: Arc<SamplerState>,
}

/// The state that the agent's thread and the events share.
pub(super) struct SamplerState {
    env: Env,
    support: CpuTimerSupport,
    /// `Some` if mounts must be tracked because the traces of virtual threads are kept apart.
    virtual_threads: Option<VirtualThreads>,
    stacks: Arc<Stacks>,
    counts: Arc<SampleCounts>,
    interval: Duration,
    target: SampleTarget,
    /// The samples of [`SampleTarget::Contexts`] in threads that have ended since.
    ended_samples: AtomicU64,
    /// `native=`.
    native: bool,
    /// `inlined=`.
    inlined: bool,
    /// Created when the first thread is registered.
    timers: OnceLock<Result<CpuTimers, NoCpuTimers>>,
    threads: Mutex<SampledThreads, rank::SampledThreads>,
    ended: EndedThreads<TraceId>,
    vm_threads: Option<VmThreads>,
    tally: SampleTally,
    has_complained: AtomicBool,
    /// Held while samples are fetched: a thread that has ended is settled after its last sample.
    fetching: Mutex<(), rank::FetchedSamples>,
}

/// What samples are charged to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SampleTarget {
    /// The stack, which is taken.
    Stacks,
    /// The context that the thread's calls have led to.
    Contexts,
}

impl AsyncSampler {
    /// Creates a sampler that charges one sample for each `interval` of CPU time. The VM is asked early to record the
    /// debug information that this needs of compiled code.
    pub(super) fn new(
        context: &Context,
        support: CpuTimerSupport,
        counts: Arc<SampleCounts>,
        target: SampleTarget,
    ) -> Self {
        let options = &context.options;
        let threads = SampledThreads {
            sampled: Map::default(),
            by_tid: Map::default(),
            running: false,
            on: true,
        };
        let shared = SamplerState {
            env: context.env,
            support,
            virtual_threads: context
                .virtual_threads
                .filter(|_| options.threads && target == SampleTarget::Stacks),
            stacks: context.stacks.clone(),
            counts,
            interval: options.interval,
            target,
            ended_samples: AtomicU64::new(0),
            native: options.native && target == SampleTarget::Stacks,
            inlined: options.inlined,
            timers: OnceLock::new(),
            threads: Mutex::new(threads),
            ended: EndedThreads::new(options.interval),
            vm_threads: (options.vm_threads && target == SampleTarget::Stacks)
                .then(VmThreads::default),
            tally: SampleTally::default(),
            has_complained: AtomicBool::new(false),
            fetching: Mutex::new(()),
        };
        let sampler = Self {
            agent_threads: context.agent_threads.clone(),
            worker: Worker::default(),
            taker: Worker::default(),
            shared: Arc::new(shared),
        };
        // `start` does it again, and reports it if the VM refuses.
        let _ = sampler.shared.watch_code();
        sampler
    }
}

impl Sampler for AsyncSampler {
    fn start(&self, jni: Jni<'_>) -> Result<(), JvmtiError> {
        let shared = self.shared.clone();
        shared.watch_code()?;
        shared.watch_classes(jni)?;
        if let Some(virtual_threads) = shared.virtual_threads {
            virtual_threads.enable_mount_events()?;
        }
        match shared.timers(jni) {
            Err(reason) => {
                shared.complain(format_args!("there will be no CPU samples: {reason}"));
            }
            Ok(timers) if shared.native && !timers.has_native_frames() => {
                shared.complain(format_args!(
                    "native=y does nothing here: the agent does not know this VM's stacks"
                ));
            }
            Ok(_) => {}
        }
        shared.begin();
        if let Some(pace) = CpuTimers::pace_without_timers(shared.interval) {
            let shared = shared.clone();
            let run = move |_: Jni<'_>, worker: &Worker| shared.take_samples(worker, pace);
            let name = "HPROF cpu sample taker";
            self.taker
                .start(&self.agent_threads, self.shared.env, jni, name, run)?;
        }
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
        self.shared.thread_registered(jni, thread, serial);
    }

    fn current_thread_ended(&self, serial: ThreadSerial) {
        let ended = self.shared.threads.lock().remove(serial);
        if let (Some(ended), Some(vm_threads)) = (&ended, &self.shared.vm_threads) {
            vm_threads.has_left_java(ended.timed.tid(), own_cpu_time(), self.shared.nanos());
        }
        let Some(mut thread) = ended else {
            return;
        };
        // If a signal is still under way when the record is freed, it finds the record belonging to another thread or
        // to none. One that is not sampled now owes nothing, but may have been sampled before.
        let apart = thread.timed.apart();
        let samples = match thread.on {
            true => thread.owed(own_cpu_time(), self.shared.nanos()),
            false => 0,
        };
        drop(thread);
        self.shared.ended.ended(EndedThread {
            serial,
            samples,
            apart,
        });
    }

    fn thread_gone(&self, serial: ThreadSerial) {
        let gone = self.shared.threads.lock().remove(serial);
        drop(gone);
        self.shared.ended.forget(serial);
    }

    fn switch(&self, thread: Option<ThreadSerial>, on: bool) -> bool {
        let nanos = self.shared.nanos();
        let mut threads = self.shared.threads.lock();
        let running = threads.running;
        let Some(serial) = thread else {
            threads.on = on;
            let sampled = threads.sampled.values_mut();
            sampled.for_each(|thread| thread.switch(on, running, nanos));
            return true;
        };
        let sampled = threads.sampled.get_mut(&serial);
        sampled
            .map(|thread| thread.switch(on, running, nanos))
            .is_some()
    }

    fn stop(&self, jni: Jni<'_>) {
        self.taker.stop();
        self.worker.stop();
        self.shared.end(jni);
        self.shared.stacks.sweep(jni);
    }

    fn tells_virtual_threads_apart(&self) -> bool {
        self.shared.virtual_threads.is_some()
    }

    fn current_thread_carries(&self, virtual_thread: Option<ThreadSerial>) {
        let threads = self.shared.threads.lock();
        let carrier = threads.by_tid.get(&current_tid());
        if let Some(carrier) = carrier.and_then(|serial| threads.sampled.get(serial)) {
            carrier.timed.carries(virtual_thread.map(|serial| serial.0));
        }
    }

    fn fetch(&self, jni: Option<Jni<'_>>) {
        self.shared.fetch(jni);
        if self.shared.threads.lock().running {
            self.shared.look_at_vm_threads();
        }
    }

    fn outcome(&self) -> String {
        self.shared.tally.to_string()
    }

    fn lost(&self) -> u64 {
        self.shared.tally.lost.load(Ordering::Relaxed)
    }
}

impl SamplerState {
    pub(super) fn nanos(&self) -> u64 {
        u64::try_from(self.interval.as_nanos()).unwrap_or(u64::MAX)
    }

    /// Has the VM announce the classes that it loads and prepares, and the compilers record what is inlined at every
    /// instruction.
    fn watch_code(&self) -> Result<(), JvmtiError> {
        if self.inlined {
            inlining_notes::leave(self.env);
        }
        if self.target == SampleTarget::Contexts {
            return Ok(());
        }
        self.env.enable(Event::ClassLoad)?;
        self.env.enable(Event::ClassPrepare)
    }

    /// Makes methods that are found in frames known: their classes, or, for AsyncGetCallTrace, their ids.
    fn watch_classes(&self, jni: Jni<'_>) -> Result<(), JvmtiError> {
        match self.timers(jni) {
            Ok(_) if self.target == SampleTarget::Contexts => {}
            Ok(timers) if timers.walks() => {
                if self.stacks.watch_classes(jni).is_none() {
                    self.complain(format_args!("this VM does not tell its classes"));
                }
            }
            Ok(_) => FrameClasses::make_ids(self.env, jni)?,
            Err(_) => {}
        }
        Ok(())
    }

    fn timers(&self, jni: Jni<'_>) -> Result<&CpuTimers, &NoCpuTimers> {
        let depth = self.stacks.shape().depth;
        let (env, interval) = (self.env, self.interval);
        let new = || match self.target {
            SampleTarget::Stacks => {
                CpuTimers::new(self.support, env, jni, interval, depth, self.native)
            }
            SampleTarget::Contexts => CpuTimers::of_contexts(self.support, env, jni, interval),
        };
        self.timers.get_or_init(new).as_ref()
    }

    fn option(&self) -> &'static str {
        match self.target {
            SampleTarget::Stacks => "cpu=samples",
            SampleTarget::Contexts => "clock=samples",
        }
    }

    /// Returns the number of samples of [`SampleTarget::Contexts`] that have none.
    pub(super) fn without_context(&self) -> u64 {
        let outside = match self.timers.get() {
            Some(Ok(timers)) => timers.outside_contexts(),
            _ => 0,
        };
        outside + self.ended_samples.load(Ordering::Relaxed)
    }

    /// Has the time spent on counting calls charged to no context, where that is possible.
    pub(super) fn leave_out_counting(&self, jni: Jni<'_>) {
        if let Ok(timers) = self.timers(jni) {
            timers.leave_out_counting(self.env, jni);
        }
    }

    /// Returns the number of samples in the counting of calls; `None` if they are charged to the contexts.
    pub(super) fn in_counting(&self) -> Option<u64> {
        match self.timers.get() {
            Some(Ok(timers)) => timers.in_counting(),
            _ => None,
        }
    }

    /// Prints the first complaint, in one line.
    fn complain(&self, complaint: std::fmt::Arguments<'_>) {
        if !self.has_complained.swap(true, Ordering::Relaxed) {
            let option = self.option();
            console::line(format_args!("{option}: {complaint}"));
        }
    }

    fn thread_registered(&self, jni: Jni<'_>, thread: Object<'_>, serial: ThreadSerial) {
        let Ok(timers) = self.timers(jni) else { return };
        let (timed, refused) = match timers.add(jni, thread, serial.0) {
            Ok(Some(added)) => added,
            // The thread has ended in the meantime.
            Ok(None) => return,
            Err(reason) => {
                return self.complain(format_args!("a thread is not sampled: {reason}"));
            }
        };
        if let Some(reason) = refused {
            self.complain(format_args!(
                "{reason}: further threads have no timer, and are sampled every 20 ms if they run then"
            ));
        }
        let nanos = self.nanos();
        let used = timed.cpu_time().unwrap_or(0);
        let mut new = SampledThread {
            account: Account::open(used, nanos, FixedState::default().hash_one(serial)),
            timed,
            due: 0,
            asked: 0,
            on: false,
        };
        let mut threads = self.threads.lock();
        new.switch(threads.on, threads.running, nanos);
        threads.add(serial, new);
    }

    fn begin(&self) {
        let nanos = self.nanos();
        let mut threads = self.threads.lock();
        threads.running = true;
        for thread in threads.sampled.values_mut().filter(|thread| thread.on) {
            thread.arm(nanos);
        }
    }

    /// Removes all timers and counts all samples before it returns. `by_tid` is unchanged, so that a later report does
    /// not take the program's threads for the VM's.
    fn end(&self, jni: Jni<'_>) {
        let sampled = {
            let mut threads = self.threads.lock();
            threads.running = false;
            std::mem::take(&mut threads.sampled)
        };
        drop(sampled);
        self.end_vm_threads();
        if let Some(virtual_threads) = self.virtual_threads {
            // If the VM refuses, it calls a hook that does nothing.
            let _ = virtual_threads.disable_mount_events();
        }
        self.fetch(Some(jni));
        self.look_at_vm_threads();
    }

    fn run(&self, jni: Jni<'_>, worker: &Worker) {
        let mut next_look = Instant::now();
        let mut next_untimed = next_look;
        let mut next_sweep = Instant::now() + SWEEP_INTERVAL;
        let takes_untimed = CpuTimers::pace_without_timers(self.interval).is_none();
        while worker.sleep_until(Instant::now() + FETCH_INTERVAL) {
            self.fetch(Some(jni));
            self.keep_out_of_the_way();
            let now = Instant::now();
            if takes_untimed && now >= next_untimed {
                self.threads.lock().interrupt_untimed(self.nanos());
                next_untimed = now + now.elapsed() * UNTIMED_SHARE;
            }
            if now >= next_look {
                self.look_at_vm_threads();
                next_look = now + POLL_INTERVAL;
            }
            if now >= next_sweep {
                self.stacks.sweep(jni);
                // Threads that start and end wait for this lock, so it is not held beyond that.
                let gone = self.threads.lock().remove_gone();
                for thread in gone {
                    self.ended.forget(thread);
                }
                next_sweep = now + SWEEP_INTERVAL;
            }
        }
    }

    /// Takes samples of all threads, none of which has a timer, until the thread should end.
    fn take_samples(&self, worker: &Worker, pace: Duration) {
        let mut next = Instant::now() + pace;
        while worker.sleep_until(next) {
            let now = Instant::now();
            self.threads.lock().interrupt_untimed(self.nanos());
            let rest = now.elapsed() * REST_WITHOUT_TIMERS;
            next = (now + pace).max(Instant::now() + rest);
        }
    }

    /// Stops sampling if the program has installed its own handler for the signal, which must not get the agent's signals, or
    /// has chosen the default, by which the next one ends the process.
    fn keep_out_of_the_way(&self) {
        let Some(Ok(timers)) = self.timers.get() else {
            return;
        };
        if timers.has_the_signal() {
            return;
        }
        let mut threads = self.threads.lock();
        if std::mem::replace(&mut threads.running, false) {
            threads
                .sampled
                .values()
                .for_each(|thread| thread.timed.disarm());
            drop(threads);
            self.end_vm_threads();
            let reason = NoCpuTimers::Signal;
            let option = self.option();
            console::line(format_args!("{option}: {reason}: the samples end here"));
        }
    }

    /// Fetches the samples taken so far, and counts them. Without the VM, only those whose frames are all known have a
    /// trace.
    fn fetch(&self, jni: Option<Jni<'_>>) {
        let Some(Ok(timers)) = self.timers.get() else {
            return;
        };
        let _fetching = self.fetching.try_lock_for(match jni {
            Some(_) => WAIT_FOR_FETCH,
            None => SHORT_WAIT_FOR_FETCH,
        });
        let depth = self.stacks.depth();
        timers.set_depth(depth);
        timers.refresh_native_code();
        // Before their samples are fetched.
        let ended = self.ended.take_ended();
        // Samples that arrive meanwhile wait for the next time.
        for _ in 0..CpuTimers::MOST_READS {
            let mut samples = Vec::new();
            timers.read(&mut samples);
            if samples.is_empty() {
                break;
            }
            // The classes of all their methods have been prepared by now.
            if let (Some(classes), Some(jni)) = (self.stacks.watched_classes(), jni) {
                classes.refresh(jni);
            }
            // Without frames there is nothing to charge.
            if depth > 0 {
                for sample in samples {
                    self.count(timers, jni, sample, depth);
                }
            }
        }
        let lost = timers.take_lost();
        if self.target == SampleTarget::Contexts {
            let samples = ended.iter().map(|thread| thread.samples).sum();
            self.ended_samples.fetch_add(samples, Ordering::Relaxed);
            return;
        }
        if depth == 0 {
            return;
        }
        for thread in ended {
            match self.ended.trace(&thread) {
                Some(trace) if thread.samples > 0 => self.counts.add(trace, thread.samples),
                Some(_) => {}
                None => self.charge_unsampled(thread.serial, thread.samples, IN_ENDED_THREAD),
            }
        }
        self.tally.lost.fetch_add(lost, Ordering::Relaxed);
        self.charge_unsampled(ThreadSerial::UNKNOWN, lost, LOST);
    }

    fn count(&self, timers: &CpuTimers, jni: Option<Jni<'_>>, sample: StackSample, depth: usize) {
        let weight = u64::from(sample.weight);
        let function = |instruction| {
            let function = timers.native_function(instruction)?;
            Some(self.stacks.native_frame(&function))
        };
        // At most so many of them.
        let frames = |frames: &[SampledFrame], most: usize| {
            let frames = &frames[..frames.len().min(most)];
            self.stacks
                .sampled_frames(jni, sample.number, frames, function)
        };
        if sample.is_vm_thread {
            let native = match &sample.stack {
                SampledStack::Frames(sampled) => frames(sampled, depth.saturating_sub(1)),
                _ => Some(List::new()),
            };
            if let Some(mut frames) = native {
                let kind = VmThreads::name(sample.thread);
                frames.push(self.stacks.stand_in(kind)).or_stop();
                let trace = self.stacks.intern_trace(ThreadSerial::UNKNOWN, &frames);
                self.counts.add(trace, weight);
            }
            return;
        }
        let thread = match sample.virtual_thread {
            0 => ThreadSerial(sample.thread),
            virtual_thread => ThreadSerial(virtual_thread),
        };
        self.tally.samples.fetch_add(weight, Ordering::Relaxed);
        let (unseen, why) = match &sample.stack {
            SampledStack::Frames(sampled) => {
                if sample.in_agent {
                    self.tally.in_agent.fetch_add(weight, Ordering::Relaxed);
                }
                let own = sample.in_agent.then(|| self.stacks.stand_in(OWN_TIME));
                if let Some(others) = frames(sampled, depth - usize::from(sample.in_agent)) {
                    let frames = List::collect(own.into_iter().chain(others)).or_stop();
                    let trace = self.stacks.intern_trace(thread, &frames);
                    self.counts.add(trace, weight);
                    self.ended.sampled(ThreadSerial(sample.thread), trace);
                    return;
                }
                (&self.tally.unnamed, NAMELESS.to_owned())
            }
            SampledStack::NoJava => (&self.tally.no_java, NO_JAVA.to_owned()),
            SampledStack::Unwalkable(reason) => {
                (&self.tally.unwalkable[*reason as usize], reason.to_string())
            }
        };
        unseen.fetch_add(weight, Ordering::Relaxed);
        let thread = ThreadSerial(sample.thread);
        let trace = self.stacks.unsampled_trace(thread, &why);
        self.counts.add(trace, weight);
    }

    fn charge_unsampled(&self, thread: ThreadSerial, samples: u64, reason: &str) {
        if samples > 0 && self.stacks.depth() > 0 {
            let trace = self.stacks.unsampled_trace(thread, reason);
            self.counts.add(trace, samples);
        }
    }

    /// Removes the timers of the VM's own threads.
    fn end_vm_threads(&self) {
        if let Some(vm_threads) = &self.vm_threads {
            vm_threads.end();
        }
    }

    fn look_at_vm_threads(&self) {
        let Some(vm_threads) = &self.vm_threads else {
            return;
        };
        let java = {
            let threads = self.threads.lock();
            Set::collect(threads.by_tid.keys().copied()).or_stop()
        };
        if self.stacks.depth() > 0 {
            let timers = match self.timers.get() {
                Some(Ok(timers)) if self.threads.lock().running => Some(timers),
                _ => None,
            };
            vm_threads.look(&java, self.nanos(), timers, |kind, samples| {
                let trace = self.stacks.stand_in_trace(kind);
                self.counts.add(trace, samples);
            });
        }
    }
}
