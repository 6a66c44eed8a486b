//! Samples of threads as they use the CPU: a timer on each thread's CPU clock, whose signal interrupts the thread at
//! any instruction, and a walk over the stack from there (`stack_walk::InterruptedWalker`), or HotSpot's
//! AsyncGetCallTrace in a VM that the walk does not know.
//!
//! `handler` is the code that runs when the signal comes; it puts samples into a ring (`sample_ring`). `interrupted_threads` has its
//! data about threads, `layout` about the VM; `registers` is specific to the processor. `timer` and `signal` wrap the system's calls.

mod async_call_trace;
mod handler;
#[cfg(test)]
mod handler_tests;
mod interrupted_threads;
mod layout;
mod pending_signals;
mod registers;
mod samples;
mod signal;
mod timed_thread;
mod timer;

use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::super::call_contexts;
use super::super::clock::ThreadCpuClock;
use super::super::env::Env;
use super::super::hooks::COUNT_HOOKS;
use super::super::jni::{Jni, Object};
use super::super::native_code::{NativeCode, NativeFunction};
use super::super::own_time;
use super::class_addresses::ClassAddresses;
use super::fault_guard;
use super::sample_ring::Ring;
use super::stack_walk::InterruptedWalker;
use locks::{Mutex, rank};

use handler::{Head, NO_KEY, STATE};
use interrupted_threads::{InterruptedThreads, JavaThread, VM_THREAD};
use layout::UNSOUND_CALL_TRACE;
pub(super) use layout::{OwnThread, VmLayout};
use memory::OutOfMemory;
use pending_signals::PendingSignals;
use timed_thread::HeldRecord;
use timer::Timer;

pub(super) use samples::{CallFrame, refused};
pub use samples::{NoCpuTimers, NoStack, SampledFrame, SampledStack, StackSample};
pub use timed_thread::TimedThread;

/// The most frames of a sample: a slot of the ring has room for them.
const MOST_FRAMES: usize = 2_048;
/// The most frames in the whole ring. Only written parts take memory.
const RING_FRAMES: usize = 1 << 21;
/// The number of samples in the ring: with 256 cores at the kernel's 250 ticks a second it fills in 60 ms, three times
/// as long as the reader sleeps.
const RING_SAMPLES: usize = 4_096;
/// The most samples copied from the ring at once; they are copied so that naming them does not block the ring.
const READ_AT_ONCE: usize = 256;
/// The longest that the end waits for running handlers. One that a debugger stopped never ends.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Set while samples are being taken: there is only one handler.
static IN_USE: AtomicBool = AtomicBool::new(false);

/// The handler's walker; the handler may run as long as the VM does. `None` in a VM that is not known well enough.
static WALKER: OnceLock<Option<InterruptedWalker>> = OnceLock::new();

/// The requirements for samples by CPU timers, as found in this VM and this system.
#[derive(Clone, Copy)]
pub struct CpuTimerSupport {
    layout: VmLayout,
}

/// Takes samples until dropped.
pub struct CpuTimers {
    layout: VmLayout,
    own_thread: OwnThread,
    interval: Duration,
    pending: PendingSignals,
    ring: Option<Box<Ring<Head>>>,
    /// `Some` if frames of native code are wanted.
    native: Option<Mutex<NativeCode, rank::NativeCode>>,
    reading: Mutex<(), rank::RingReading>,
}

impl CpuTimerSupport {
    /// Checks that the VM and the system have everything needed. The VM may be loading.
    pub fn find(env: Env) -> Result<Self, NoCpuTimers> {
        let layout = VmLayout::find(env).map_err(NoCpuTimers::Vm)?;
        timer::probe().map_err(|error| NoCpuTimers::Timer(error.to_string()))?;
        if IN_USE.load(Ordering::Relaxed) {
            return Err(NoCpuTimers::InUse);
        }
        if !signal::install() {
            return Err(NoCpuTimers::Signal);
        }
        Ok(Self { layout })
    }
}

impl CpuTimers {
    /// The number of calls of [`CpuTimers::read`] that read everything available at the first one.
    pub const MOST_READS: usize = RING_SAMPLES.div_ceil(READ_AT_ONCE);

    /// Returns `None`: most threads have a timer.
    pub fn pace_without_timers(_interval: Duration) -> Option<Duration> {
        None
    }

    /// `true` if samples can be charged to the contexts of calls, with [`of_contexts`](Self::of_contexts).
    pub const CHARGES_CONTEXTS: bool = true;

    /// Begins to charge each thread's samples to the contexts of its calls ([`CallContexts`](crate::CallContexts)), when the VM is up.
    /// There are no samples to be read.
    pub fn of_contexts(
        support: CpuTimerSupport,
        env: Env,
        jni: Jni<'_>,
        interval: Duration,
    ) -> Result<Self, NoCpuTimers> {
        let key = call_contexts::key().ok_or(NoCpuTimers::Vm("the process has no more keys"))?;
        STATE.contexts_key.store(key, Ordering::Relaxed);
        Self::new(support, env, jni, interval, 1, false)
            .inspect_err(|_| STATE.contexts_key.store(NO_KEY, Ordering::Relaxed))
    }

    /// Begins sampling, when the VM is up. `interval` is that of all threads, `depth` the most frames that will be
    /// requested. `native` says whether those of native code are wanted; they are taken if the agent's own walk knows the VM. Called on a platform thread.
    pub fn new(
        support: CpuTimerSupport,
        env: Env,
        jni: Jni<'_>,
        interval: Duration,
        depth: usize,
        native: bool,
    ) -> Result<Self, NoCpuTimers> {
        let layout = support
            .layout
            .with_code_cache(env)
            .ok_or(NoCpuTimers::Vm("this VM has no code cache"))?;
        let own_thread = VmLayout::own_thread(env, jni)
            .ok_or(NoCpuTimers::Vm("the current thread is not to be found"))?;
        fault_guard::install(env);
        let walker = walker(env, jni);
        if walker.is_none() && !env.vm_kind().has_sound_call_trace() {
            return Err(NoCpuTimers::Vm(UNSOUND_CALL_TRACE));
        }
        if IN_USE.swap(true, Ordering::Relaxed) {
            return Err(NoCpuTimers::InUse);
        }
        let depth = depth.clamp(1, MOST_FRAMES);
        let slots = RING_SAMPLES.min((RING_FRAMES / depth).next_power_of_two());
        let ring = Ring::new(slots, depth).filter(|_| InterruptedThreads::prepare());
        let Some(ring) = ring.map(Box::new) else {
            IN_USE.store(false, Ordering::Relaxed);
            return Err(NoCpuTimers::Memory(OutOfMemory));
        };
        let timers = Self {
            layout,
            own_thread,
            interval,
            pending: PendingSignals::default(),
            ring: Some(ring),
            native: (native && walker.is_some()).then(|| Mutex::new(NativeCode::read())),
            reading: Mutex::new(()),
        };
        timers.tell_the_handler();
        Ok(timers)
    }

    fn tell_the_handler(&self) {
        let relaxed = Ordering::Relaxed;
        let Some(ring) = &self.ring else { return };
        STATE.records.store(
            InterruptedThreads::shared()
                .map_or(ptr::null_mut(), |records| ptr::from_ref(records).cast_mut()),
            relaxed,
        );
        STATE
            .get_call_trace
            .store(self.layout.get_call_trace as *mut _, relaxed);
        let walker = WALKER.get().and_then(Option::as_ref);
        let walker = walker.map_or(ptr::null(), ptr::from_ref);
        STATE.walker.store(walker.cast_mut(), relaxed);
        match &self.native {
            Some(native) => native.lock().publish(&STATE.native),
            None => STATE.native.store(ptr::null_mut(), relaxed),
        }
        STATE.stack_base.store(self.layout.stack_base, relaxed);
        STATE.stack_size.store(self.layout.stack_size, relaxed);
        STATE.code_begin.store(self.layout.code.0, relaxed);
        STATE.code_end.store(self.layout.code.1, relaxed);
        STATE.last_java_sp.store(self.layout.last_java_sp, relaxed);
        STATE.last_java_pc.store(self.layout.last_java_pc, relaxed);
        let OwnThread { environment, key } = self.own_thread;
        STATE.environment.store(environment, relaxed);
        STATE.thread_key.store(key, relaxed);
        STATE
            .own_time_key
            .store(own_time::key().unwrap_or(NO_KEY), relaxed);
        let interval = u64::try_from(self.interval.as_nanos()).unwrap_or(u64::MAX);
        STATE.interval.store(interval, relaxed);
        for count in [&STATE.lost, &STATE.outside_contexts, &STATE.in_call_counter] {
            count.store(0, relaxed);
        }
        self.set_depth(ring.depth());
        STATE.ring.store(
            ptr::from_ref::<Ring<Head>>(ring).cast_mut(),
            Ordering::SeqCst,
        );
    }

    /// Sets the depth of samples from now on, limited by the depth at the beginning.
    pub fn set_depth(&self, depth: usize) {
        let most = self.ring.as_ref().map_or(0, |ring| ring.depth());
        // At most `MOST_FRAMES`.
        STATE.depth.store(depth.min(most) as u32, Ordering::Relaxed);
    }

    /// Creates a timer for a thread, not yet running; `None` if the thread has ended in the meantime. If there is no timer to
    /// be had (the system limits the pending signals of a user), the thread has only its CPU clock, and the reason is
    /// returned with it.
    pub fn add(
        &self,
        jni: Jni<'_>,
        thread: Object<'_>,
        serial: u32,
    ) -> Result<Option<(TimedThread, Option<NoCpuTimers>)>, NoCpuTimers> {
        let Some((address, tid)) = self.layout.threads.thread(jni, thread) else {
            return Ok(None);
        };
        let record = InterruptedThreads::shared()
            .and_then(|records| records.take(serial, JavaThread { address, tid }))
            .map(HeldRecord)
            .ok_or(NoCpuTimers::Vm("there are too many threads"))?;
        let (timer, refused) = match self.timer(tid, &record) {
            Ok(timer) => (Some(timer), None),
            Err(reason) => (None, Some(reason)),
        };
        let timed = TimedThread {
            timer,
            record,
            clock: ThreadCpuClock::of_thread(tid),
            tid,
        };
        // Otherwise the id may have been another thread's when the timer was created.
        let is_alive = self.layout.threads.is_at(jni, thread, address);
        Ok(is_alive.then_some((timed, refused)))
    }

    fn timer(&self, tid: i32, record: &HeldRecord) -> Result<Timer, NoCpuTimers> {
        if !self.pending.grants_timer() {
            return Err(NoCpuTimers::PendingSignals);
        }
        Timer::new(tid, record.0).map_err(|error| NoCpuTimers::Timer(error.to_string()))
    }

    /// Creates a timer for a thread of the VM's own, not yet running; its samples come with `number`. `None` if frames of
    /// native code are not wanted, which are all that such a thread has, or if the system refuses.
    pub fn add_vm_thread(&self, tid: i32, number: u32) -> Option<TimedThread> {
        self.native.as_ref()?;
        let thread = JavaThread {
            address: VM_THREAD,
            tid,
        };
        let record = HeldRecord(InterruptedThreads::shared()?.take(number, thread)?);
        Some(TimedThread {
            timer: Some(self.timer(tid, &record).ok()?),
            record,
            clock: ThreadCpuClock::of_thread(tid),
            tid,
        })
    }

    /// Returns `true` if [`CpuTimers::walks`] is going to be true, as far as that can be told while the VM is loading.
    pub fn may_walk(env: Env) -> bool {
        InterruptedWalker::is_expected(env)
    }

    /// Returns `true` if stacks are taken by the agent's own walk, not by AsyncGetCallTrace.
    pub fn walks(&self) -> bool {
        WALKER.get().is_some_and(Option::is_some)
    }

    /// Returns `true` if frames of native code are taken.
    pub fn has_native_frames(&self) -> bool {
        self.native.is_some()
    }

    /// Has the handler know the libraries that the program has loaded since.
    pub fn refresh_native_code(&self) {
        if let Some(native) = &self.native {
            native.lock().refresh(&STATE.native, &STATE.inside);
        }
    }

    /// Returns the function of native code that an instruction belongs to; `None` if it is in no code that is known.
    pub fn native_function(&self, instruction: usize) -> Option<NativeFunction> {
        let instruction = self.native.as_ref()?.lock().instruction(instruction)?;
        Some(instruction.function())
    }

    /// Moves available samples to `samples`, some of them if there are many; none if there are none left. Concurrent
    /// calls wait for each other.
    pub fn read(&self, samples: &mut Vec<StackSample>) {
        let _reading = self.reading.lock();
        let Some(ring) = &self.ring else { return };
        // SAFETY: `reading` is held: there is one reader.
        unsafe {
            ring.read(READ_AT_ONCE, |sample| {
                samples.push(StackSample {
                    thread: sample.head.thread,
                    number: sample.head.number,
                    is_vm_thread: sample.head.is_vm_thread,
                    virtual_thread: sample.head.virtual_thread,
                    weight: sample.head.weight,
                    in_agent: sample.head.in_agent,
                    stack: SampledStack::of(sample.head.frames, sample.frames),
                });
            });
        }
    }

    /// Returns the number of intervals lost since the last call, because the ring was full.
    pub fn take_lost(&self) -> u64 {
        STATE.lost.swap(0, Ordering::Relaxed)
    }

    /// Returns the number of intervals of threads that were in no context.
    pub fn outside_contexts(&self) -> u64 {
        STATE.outside_contexts.load(Ordering::Relaxed)
    }

    /// Has the time that threads spend on counting their calls ([`COUNT_HOOKS`]) charged to no context from now on, if the agent
    /// walks the VM's stacks itself.
    pub fn leave_out_counting(&self, env: Env, jni: Jni<'_>) {
        if !self.walks() {
            return;
        }
        let find = || {
            let counter = jni.find_class(COUNT_HOOKS.name)?;
            ClassAddresses::find(env, jni)?.of(jni, counter.object())
        };
        // The boot loader never unloads it.
        let counter = find().unwrap_or(0);
        STATE.call_counter.store(counter, Ordering::Relaxed);
    }

    /// Returns the number of intervals in which threads counted their calls, since [`CpuTimers::leave_out_counting`]; `None` if they are
    /// charged to the contexts.
    pub fn in_counting(&self) -> Option<u64> {
        let is_left_out = STATE.call_counter.load(Ordering::Relaxed) != 0;
        is_left_out.then(|| STATE.in_call_counter.load(Ordering::Relaxed))
    }

    /// Returns `true` if the timers' signals still reach the agent. Otherwise the program has installed its own
    /// handler.
    pub fn has_the_signal(&self) -> bool {
        signal::is_ours()
    }
}

impl Drop for CpuTimers {
    fn drop(&mut self) {
        STATE.ring.store(ptr::null_mut(), Ordering::SeqCst);
        STATE.native.store(ptr::null_mut(), Ordering::SeqCst);
        let end = Instant::now() + TIMEOUT;
        while STATE.inside.load(Ordering::SeqCst) > 0 {
            if Instant::now() >= end {
                std::mem::forget(self.ring.take());
                std::mem::forget(self.native.take());
                break;
            }
            std::thread::yield_now();
        }
        STATE.contexts_key.store(NO_KEY, Ordering::Relaxed);
        STATE.call_counter.store(0, Ordering::Relaxed);
        IN_USE.store(false, Ordering::Relaxed);
    }
}

/// Returns the means to walk stacks in this VM; `None` if it is not known well enough. Called on a platform thread.
pub(super) fn walker(env: Env, jni: Jni<'_>) -> Option<&'static InterruptedWalker> {
    let walker = WALKER.get_or_init(|| {
        let thread = env.current_thread(jni).ok()??;
        InterruptedWalker::find(env, jni, thread.object())
    });
    walker.as_ref()
}

/// Returns the number of samples that have been begun so far, of any kind.
pub(super) fn samples_begun() -> u64 {
    STATE.begun.load(Ordering::SeqCst)
}

/// Begins a sample whose stack a thread takes of itself; returns its number. Called before the stack is taken.
pub(super) fn begin_sample() -> u64 {
    STATE.begun.fetch_add(1, Ordering::SeqCst)
}
