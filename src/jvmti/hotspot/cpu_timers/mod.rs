//! Samples of threads as they use the CPU: a timer on each thread's CPU clock, whose signal interrupts the thread wherever
//! it is, and HotSpot's AsyncGetCallTrace, which can be asked for a stack from there.
//!
//! `handler` is all that runs when the signal comes; it puts samples into `ring`. `interrupted_threads` is what it knows
//! of threads, `compiled_methods` of code, `layout` of the VM; `registers` is the processor's part. `timer` and `signal` are the system's.

mod compiled_methods;
mod handler;
#[cfg(test)]
mod handler_tests;
mod interrupted_threads;
mod layout;
mod registers;
mod ring;
mod signal;
mod timer;
mod trace;

use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::super::clock::ThreadCpuClock;
use super::super::env::{Env, FrameInfo, MethodId};
use super::super::jni::{Jni, Object, Vm};
use super::vm_structs::VmStructs;
use crate::lock_order::{Mutex, rank};

use crate::memory::OutOfMemory;
use compiled_methods::CompiledMethods;
use handler::STATE;
use interrupted_threads::{InterruptedThread, InterruptedThreads};
use layout::{OwnThread, VmLayout};
use ring::Ring;
use timer::Timer;

/// The most frames a sample has: a slot of the ring has room for them.
const MOST_FRAMES: usize = 2_048;
/// Frames in the whole ring at the most. Only what is written to takes memory.
const RING_FRAMES: usize = 1 << 21;
/// Samples in the ring: with 256 cores at the kernel's 250 ticks a second it fills in 60 ms, three times as long as the reader
/// sleeps.
const RING_SAMPLES: usize = 4_096;
/// What is read of it is copied, so that it can be named without holding the ring up; not all of it at once.
const READ_AT_ONCE: usize = 256;
/// How long an end waits for handlers that run. One that a debugger stopped never ends.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Whether somebody takes samples: there is one handler.
static IN_USE: AtomicBool = AtomicBool::new(false);

/// For the handler, which may run as long as the VM does. `None` in a VM that does not tell of its compiled methods: a sample
/// of one that has no frame yet is its caller's there.
static METHODS: OnceLock<Option<CompiledMethods>> = OnceLock::new();

/// What this VM and this system have to have for it.
#[derive(Clone, Copy)]
pub struct CpuTimerSupport {
    layout: VmLayout,
    vm: Vm,
}

/// Why there can be no such samples.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoCpuTimers {
    /// The VM lacks something.
    #[error("{0}")]
    Vm(&'static str),
    /// The system refuses.
    #[error("the system gives no timer on a thread's CPU clock: {0}")]
    Timer(String),
    /// The program has the signal.
    #[error("the program has taken over SIGVTALRM, the signal of the timers")]
    Signal,
    /// What waits for the signal handler is large.
    #[error("{0} for samples")]
    Memory(OutOfMemory),
    /// Somebody takes samples already.
    #[error("a session before has not ended")]
    InUse,
}

/// Takes samples until it is dropped.
pub struct CpuTimers {
    layout: VmLayout,
    own_thread: OwnThread,
    ring: Option<Box<Ring>>,
    reading: Mutex<(), rank::RingReading>,
}

/// A thread with a timer, which goes when this is dropped.
pub struct TimedThread {
    timer: Option<Timer>,
    record: HeldRecord,
    clock: ThreadCpuClock,
    tid: i32,
}

/// A record that is given back on drop, after the timer whose signals name it.
struct HeldRecord(u32);

/// A sample.
pub struct StackSample {
    /// The serial number of the thread.
    pub thread: u32,
    /// That of the virtual thread which it ran, 0 where there was none.
    pub virtual_thread: u32,
    /// How many intervals it stands for.
    pub weight: u32,
    /// What is seen of the stack.
    pub stack: SampledStack,
}

/// What a sample has of a stack.
pub enum SampledStack {
    /// The frames, innermost first. `leaf` is a method that stands on top of them, where it is not among them: it has
    /// just been entered, or is about to be left.
    Frames {
        /// The frames.
        frames: Vec<FrameInfo>,
        /// The method.
        leaf: Option<MethodId>,
    },
    /// The thread ran no Java.
    NoJava,
    /// There is one, and it could not be walked: the answer of AsyncGetCallTrace.
    Unwalkable(i32),
}

impl CpuTimerSupport {
    /// Whether VM and system have what is needed. The VM may be loading.
    pub fn find(env: Env) -> Result<Self, NoCpuTimers> {
        let layout = VmLayout::find(env).map_err(NoCpuTimers::Vm)?;
        timer::probe().map_err(|error| NoCpuTimers::Timer(error.to_string()))?;
        if IN_USE.load(Ordering::Relaxed) {
            return Err(NoCpuTimers::InUse);
        }
        if !signal::install() {
            return Err(NoCpuTimers::Signal);
        }
        let vm = env.vm();
        Ok(Self { layout, vm })
    }
}

impl CpuTimers {
    /// So many calls of [`CpuTimers::read`] read all that there was at the first.
    pub const MOST_READS: usize = RING_SAMPLES.div_ceil(READ_AT_ONCE);

    /// Begins; the VM is up. `depth` is the most frames that will be asked for. Called on a platform thread.
    pub fn new(
        support: CpuTimerSupport,
        env: Env,
        jni: Jni<'_>,
        depth: usize,
    ) -> Result<Self, NoCpuTimers> {
        let layout = support
            .layout
            .with_code_cache(support.vm)
            .ok_or(NoCpuTimers::Vm("this VM has no code cache"))?;
        let own_thread = VmLayout::own_thread(env, jni)
            .ok_or(NoCpuTimers::Vm("the current thread is not to be found"))?;
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
        METHODS.get_or_init(|| {
            env.vm_kind().tested()?;
            CompiledMethods::find(VmStructs::find(support.vm)?)
        });
        let timers = Self {
            layout,
            own_thread,
            ring: Some(ring),
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
        let methods = METHODS.get().and_then(Option::as_ref);
        let methods = methods.map_or(ptr::null(), ptr::from_ref);
        STATE.methods.store(methods.cast_mut(), relaxed);
        STATE.code_begin.store(self.layout.code.0, relaxed);
        STATE.code_end.store(self.layout.code.1, relaxed);
        STATE.last_java_sp.store(self.layout.last_java_sp, relaxed);
        STATE.last_java_pc.store(self.layout.last_java_pc, relaxed);
        let OwnThread { environment, key } = self.own_thread;
        STATE.environment.store(environment, relaxed);
        STATE.thread_key.store(key, relaxed);
        STATE.lost.store(0, relaxed);
        self.set_depth(ring.depth());
        STATE
            .ring
            .store(ptr::from_ref::<Ring>(ring).cast_mut(), Ordering::SeqCst);
    }

    /// From now on samples are as deep as this, or as deep as was said at the begin.
    pub fn set_depth(&self, depth: usize) {
        let most = self.ring.as_ref().map_or(0, |ring| ring.depth());
        // At most MOST_FRAMES.
        STATE.depth.store(depth.min(most) as u32, Ordering::Relaxed);
    }

    /// Gives a thread a timer that waits; `None` where it has ended meanwhile. One that the system refuses a timer
    /// (it grants a user so many signals that are on their way) has its CPU clock alone; why, is what is answered beside it.
    pub fn add(
        &self,
        jni: Jni<'_>,
        thread: Object<'_>,
        serial: u32,
    ) -> Result<Option<(TimedThread, Option<NoCpuTimers>)>, NoCpuTimers> {
        let Some(found) = self.layout.thread(jni, thread) else {
            return Ok(None);
        };
        let record = InterruptedThreads::shared()
            .and_then(|records| records.take(serial, found))
            .map(HeldRecord)
            .ok_or(NoCpuTimers::Vm("there are too many threads"))?;
        let (timer, refused) = match Timer::new(found.tid, record.0) {
            Ok(timer) => (Some(timer), None),
            Err(error) => (None, Some(NoCpuTimers::Timer(error.to_string()))),
        };
        let timed = TimedThread {
            timer,
            record,
            clock: ThreadCpuClock::of_thread(found.tid),
            tid: found.tid,
        };
        // Otherwise the number may have been another thread's when the timer was made.
        let is_alive = self.layout.is_at(jni, thread, found.address);
        Ok(is_alive.then_some((timed, refused)))
    }

    /// Takes out samples that are there, some of them where there are many; none when there are no more. Meanwhile no other
    /// thread may call this, or it waits.
    pub fn read(&self, samples: &mut Vec<StackSample>) {
        let _reading = self.reading.lock();
        let Some(ring) = &self.ring else { return };
        // SAFETY: `reading` is held: there is one reader.
        unsafe {
            ring.read(READ_AT_ONCE, |sample| {
                samples.push(StackSample {
                    thread: sample.head.thread,
                    virtual_thread: sample.head.virtual_thread,
                    weight: sample.head.weight,
                    stack: match sample.head.frames {
                        1.. => SampledStack::Frames {
                            frames: sample.jvmti_frames().collect(),
                            leaf: MethodId::from_address(sample.head.leaf),
                        },
                        0 => SampledStack::NoJava,
                        reason => SampledStack::Unwalkable(reason),
                    },
                });
            });
        }
    }

    /// Intervals that were lost since the last call, because the ring was full.
    pub fn take_lost(&self) -> u64 {
        STATE.lost.swap(0, Ordering::Relaxed)
    }

    /// Whether the signals of the timers still come to us. Where they do not, the program has a handler of its own, which gets
    /// them.
    pub fn has_the_signal(&self) -> bool {
        signal::is_ours()
    }
}

impl Drop for CpuTimers {
    fn drop(&mut self) {
        STATE.ring.store(ptr::null_mut(), Ordering::SeqCst);
        let end = Instant::now() + TIMEOUT;
        while STATE.inside.load(Ordering::SeqCst) > 0 {
            if Instant::now() >= end {
                std::mem::forget(self.ring.take());
                break;
            }
            std::thread::yield_now();
        }
        IN_USE.store(false, Ordering::Relaxed);
    }
}

impl TimedThread {
    /// Samples the thread from now on: whenever it has used `interval` of CPU time, and first when it has used `first`.
    pub fn arm(&self, first: Duration, interval: Duration) {
        self.set(first, Some(interval));
    }

    /// Samples it no longer.
    pub fn disarm(&self) {
        self.set(Duration::ZERO, None);
    }

    fn set(&self, first: Duration, interval: Option<Duration>) {
        if let Some(timer) = &self.timer {
            // The system refuses times that are none, which these are not.
            let _ = timer.set(first, interval);
        }
    }

    /// Intervals that the timer has told of.
    pub fn charged(&self) -> u64 {
        let record = self.record.get();
        record.map_or(0, |record| record.charged.load(Ordering::Relaxed))
    }

    /// Whether the thread is gone, as far as the system tells; `is_armed` says whether its timer should run. Its ThreadEnd may
    /// have been missed.
    pub fn is_gone(&self, is_armed: bool) -> bool {
        let is_idle = || self.timer.as_ref().is_some_and(Timer::is_idle);
        self.clock.read().is_none() || is_armed && is_idle()
    }

    /// Its CPU clock.
    pub fn clock(&self) -> ThreadCpuClock {
        self.clock
    }

    /// What the system calls it.
    pub fn tid(&self) -> i32 {
        self.tid
    }

    /// It carries the virtual thread of that serial number from now on, or none.
    pub fn carries(&self, virtual_thread: Option<u32>) {
        if let Some(record) = self.record.get() {
            let serial = virtual_thread.unwrap_or(0);
            record.virtual_thread.store(serial, Ordering::Relaxed);
        }
    }
}

impl HeldRecord {
    fn get(&self) -> Option<&'static InterruptedThread> {
        InterruptedThreads::shared()?.get(self.0 as usize)
    }
}

impl Drop for HeldRecord {
    fn drop(&mut self) {
        if let Some(records) = InterruptedThreads::shared() {
            records.give_back(self.0);
        }
    }
}

/// What the system calls the current thread.
pub fn current_tid() -> i32 {
    // SAFETY: gettid takes no arguments.
    unsafe { libc::syscall(libc::SYS_gettid) as i32 }
}
