//! Samples of threads as they use the CPU, on Windows, which has no timers on the CPU clocks of threads: a thread of the agent looks
//! at all of them, suspends one that owes a sample, reads its registers, walks over its stack from there
//! (`stack_walk::InterruptedWalker`), and lets it go on.
//!
//! The walk reads what the handler reads on Linux, for the same reasons: a suspended thread is stopped at any instruction, as
//! one that was interrupted is, and keeps what its frames refer to. As it may hold any lock, nothing is allocated and no lock
//! taken while it is suspended.
//!
//! # Who owes a sample
//!
//! The system's CPU times move by 15.6 ms at once, to some thread that runs then, and nothing says whether a thread runs now. Each
//! look at a thread stands for the time since the one before. One that finds it in Java or in the VM is charged, as far as its CPU time
//! goes. One that finds it in native code may have found it waiting, and is charged with what CPU time the others leave. So the
//! samples of a thread add up to its CPU time.

mod samples;

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::env::Env;
use crate::hotspot::stack_walk::{Interrupted, InterruptedWalker};
use crate::hotspot::thread_layout::{THREAD_TYPES, ThreadLayout, UNTESTED};
use crate::jni::{Jni, Object};
use crate::native_code::NativeFunction;
use crate::os::Peek;
use crate::os::clock::monotonic;
use crate::os::key::{self, Key};
use crate::os::other_thread::{OtherThread, SuspendedThread};
use crate::own_time;
use crate::stack_bounds::StackBounds;
use crate::vm_kind::vm_structs::{VmStructs, read};
use locks::{Mutex, rank};
use memory::OutOfMemory;

pub(super) use samples::{CallFrame, refused};
pub use samples::{NoCpuTimers, NoStack, SampledFrame, SampledStack, StackSample};

/// The most frames of a sample.
const MOST_FRAMES: usize = 2_048;
/// The most samples that wait to be fetched.
const MOST_WAITING: usize = 4_096;
/// The keys that a process may have.
const MOST_KEYS: Key = 1_088;
/// The CPU time that a thread in native code owes before it is charged, in nanoseconds: more than the system's CPU times are wrong by.
const SLACK: u64 = 40_000_000;

/// A thread that has used no CPU time for so many rounds is looked at in every so many rounds.
const IDLE_ROUNDS: u32 = 32;
const ROUNDS_IF_IDLE: u32 = 8;

/// Set while samples are being taken.
static IN_USE: AtomicBool = AtomicBool::new(false);
/// The number of samples that have been begun, in all.
static BEGUN: AtomicU64 = AtomicU64::new(0);
static WALKER: OnceLock<Option<InterruptedWalker>> = OnceLock::new();

/// The requirements for such samples, as found in this VM.
#[derive(Clone, Copy)]
pub struct CpuTimerSupport {
    layout: VmLayout,
}

/// Offsets in a thread of the VM, from the tables that it exports for debuggers.
#[derive(Clone, Copy)]
struct VmLayout {
    threads: ThreadLayout,
    stack_base: usize,
    stack_size: usize,
    state: usize,
    in_java: i32,
    in_vm: i32,
}

/// Takes samples until dropped.
pub struct CpuTimers {
    shared: Arc<Sampling>,
}

/// What the threads that are sampled share.
struct Sampling {
    layout: VmLayout,
    walker: &'static InterruptedWalker,
    /// The key under which the VM keeps the address of the current thread, as long as that exists.
    thread_key: Key,
    /// The key of the mark for threads in the agent's own code.
    own_time_key: Option<Key>,
    interval: u64,
    depth: AtomicU32,
    lost: AtomicU64,
    taken: Mutex<Taken, rank::RingReading>,
}

/// The samples, and the place for the frames of the next one.
struct Taken {
    frames: Box<[CallFrame]>,
    waiting: Vec<StackSample>,
}

// SAFETY: the VM's ids in frames are numbers to all but the VM, which knows them on every thread.
unsafe impl Send for Taken {}

/// A thread that is sampled.
pub struct TimedThread {
    shared: Arc<Sampling>,
    thread: OtherThread,
    /// Where the VM has it.
    address: usize,
    serial: u32,
    tid: i32,
    virtual_thread: AtomicU32,
    charged: AtomicU64,
    /// When it was last looked at, and the time that looks have stood for without being charged, less than an interval.
    looked: AtomicU64,
    left: AtomicU64,
    /// Its CPU time when last read, and the rounds since that has changed.
    used: AtomicU64,
    rounds: AtomicU32,
}

impl CpuTimerSupport {
    /// Checks that the VM has everything needed. It may be loading.
    pub fn find(env: Env) -> Result<Self, NoCpuTimers> {
        let structs = env.vm_structs().ok_or(NoCpuTimers::Vm(UNTESTED))?;
        if !InterruptedWalker::is_expected(env) {
            return Err(NoCpuTimers::Vm("the agent does not know this VM's stacks"));
        }
        if IN_USE.load(Ordering::Relaxed) {
            return Err(NoCpuTimers::InUse);
        }
        let layout = VmLayout::find(structs).ok_or(NoCpuTimers::Vm(
            "this VM does not tell where its threads keep their stacks",
        ))?;
        Ok(Self { layout })
    }
}

impl VmLayout {
    fn find(structs: VmStructs) -> Option<Self> {
        let offset = |name| {
            let mut types = THREAD_TYPES.iter();
            types.find_map(|type_name| structs.offset(type_name, name))
        };
        let state = |name| i32::try_from(structs.constant(name)?).ok();
        Some(Self {
            threads: ThreadLayout::find(structs)?,
            stack_base: offset(c"_stack_base")?,
            stack_size: offset(c"_stack_size")?,
            state: offset(c"_thread_state")?,
            in_java: state(c"_thread_in_Java")?,
            in_vm: state(c"_thread_in_vm")?,
        })
    }

    /// Returns `true` if a thread of this state runs, or would if a processor were free.
    fn runs(self, state: i32) -> bool {
        state == self.in_java || state == self.in_vm
    }
}

impl CpuTimers {
    /// The number of calls of [`CpuTimers::read`] that read everything available at the first one.
    pub const MOST_READS: usize = 1;

    /// Returns the time from one look at the threads, none of which has a timer, to the next.
    pub fn pace_without_timers(interval: Duration) -> Option<Duration> {
        Some(interval)
    }

    /// Begins sampling, when the VM is up. `interval` is that of all threads, `depth` the most frames that will be
    /// requested. Called on a platform thread.
    pub fn new(
        support: CpuTimerSupport,
        env: Env,
        jni: Jni<'_>,
        interval: Duration,
        depth: usize,
        _native: bool,
    ) -> Result<Self, NoCpuTimers> {
        let thread_key =
            own_key(env, jni).ok_or(NoCpuTimers::Vm("the current thread is not to be found"))?;
        let walker = WALKER.get_or_init(|| {
            let thread = env.current_thread(jni).ok()??;
            InterruptedWalker::find(env, jni, thread.object())
        });
        let walker = walker
            .as_ref()
            .ok_or(NoCpuTimers::Vm("the agent does not know this VM's stacks"))?;
        if IN_USE.swap(true, Ordering::Relaxed) {
            return Err(NoCpuTimers::InUse);
        }
        let depth = depth.clamp(1, MOST_FRAMES);
        let mut frames = Vec::new();
        if frames.try_reserve_exact(depth).is_err() {
            IN_USE.store(false, Ordering::Relaxed);
            return Err(NoCpuTimers::Memory(OutOfMemory));
        }
        frames.resize(depth, CallFrame::cut());
        let shared = Sampling {
            layout: support.layout,
            walker,
            thread_key,
            own_time_key: own_time::key(),
            interval: u64::try_from(interval.as_nanos())
                .unwrap_or(u64::MAX)
                .max(1),
            depth: AtomicU32::new(depth as u32),
            lost: AtomicU64::new(0),
            taken: Mutex::new(Taken {
                frames: frames.into_boxed_slice(),
                waiting: Vec::new(),
            }),
        };
        Ok(Self {
            shared: Arc::new(shared),
        })
    }

    /// Samples are taken by another thread, which cannot read the contexts of a thread.
    pub const CHARGES_CONTEXTS: bool = false;

    /// Returns the reason why the samples cannot be charged to the contexts of calls.
    pub fn of_contexts(
        _: CpuTimerSupport,
        _: Env,
        _: Jni<'_>,
        _: Duration,
    ) -> Result<Self, NoCpuTimers> {
        Err(NoCpuTimers::Vm(
            "Windows has no timers on the CPU clocks of threads",
        ))
    }

    /// Sets the depth of samples from now on, limited by the depth at the beginning.
    pub fn set_depth(&self, depth: usize) {
        let depth = u32::try_from(depth).unwrap_or(u32::MAX);
        self.shared.depth.store(depth, Ordering::Relaxed);
    }

    /// Opens a thread; `None` if it has ended in the meantime.
    pub fn add(
        &self,
        jni: Jni<'_>,
        thread: Object<'_>,
        serial: u32,
    ) -> Result<Option<(TimedThread, Option<NoCpuTimers>)>, NoCpuTimers> {
        let threads = self.shared.layout.threads;
        let Some((address, tid)) = threads.thread(jni, thread) else {
            return Ok(None);
        };
        let Some(open) = OtherThread::open(tid) else {
            return Ok(None);
        };
        let timed = TimedThread {
            shared: self.shared.clone(),
            thread: open,
            address,
            serial,
            tid,
            virtual_thread: AtomicU32::new(0),
            charged: AtomicU64::new(0),
            looked: AtomicU64::new(monotonic()),
            left: AtomicU64::new(0),
            used: AtomicU64::new(0),
            rounds: AtomicU32::new(0),
        };
        // Otherwise the number may have been another thread's when it was opened.
        let is_alive = threads.is_at(jni, thread, address);
        Ok(is_alive.then_some((timed, None)))
    }

    /// Returns `None`: the threads of the VM's own have frames of native code alone.
    pub fn add_vm_thread(&self, _: i32, _: u32) -> Option<TimedThread> {
        None
    }

    /// As [`CpuTimers::walks`]: without the walk there are no timers.
    pub fn may_walk(_: Env) -> bool {
        true
    }

    /// Returns `true`: stacks are taken by the agent's own walk.
    pub fn walks(&self) -> bool {
        true
    }

    /// Returns `false`: no frames of native code are taken.
    pub fn has_native_frames(&self) -> bool {
        false
    }

    /// Does nothing, for the same reason.
    pub fn refresh_native_code(&self) {}

    /// Returns `None`, for the same reason.
    pub fn native_function(&self, _: usize) -> Option<NativeFunction> {
        None
    }

    /// Moves the available samples to `samples`.
    pub fn read(&self, samples: &mut Vec<StackSample>) {
        samples.append(&mut self.shared.taken.lock().waiting);
    }

    /// Returns the number of intervals lost since the last call, because too many samples waited.
    pub fn take_lost(&self) -> u64 {
        self.shared.lost.swap(0, Ordering::Relaxed)
    }

    /// Returns 0: no samples are charged to contexts.
    pub fn outside_contexts(&self) -> u64 {
        0
    }

    /// Does nothing, for the same reason.
    pub fn leave_out_counting(&self, _: Env, _: Jni<'_>) {}

    /// Returns `None`, for the same reason.
    pub fn in_counting(&self) -> Option<u64> {
        None
    }

    /// Returns `true`: there is no signal that a program could take over.
    pub fn has_the_signal(&self) -> bool {
        true
    }
}

impl Drop for CpuTimers {
    fn drop(&mut self) {
        IN_USE.store(false, Ordering::Relaxed);
    }
}

impl TimedThread {
    /// Begins to look at the thread.
    pub fn arm(&self, _first: Duration, _interval: Duration) {
        self.looked.store(monotonic(), Ordering::Relaxed);
    }

    /// Does nothing: without a timer, a thread is sampled only when it is looked at.
    pub fn disarm(&self) {}

    /// Returns `false`: it has no timer.
    pub fn has_timer(&self) -> bool {
        false
    }

    /// Returns `true` if the thread is to be looked at in this round. One that has been idle is passed over most of the time.
    pub fn is_in_turn(&self) -> bool {
        let rounds = self.rounds.fetch_add(1, Ordering::Relaxed);
        rounds < IDLE_ROUNDS || rounds.is_multiple_of(ROUNDS_IF_IDLE)
    }

    /// Looks at the thread, which owes so many intervals; takes a sample that stands for some of them if it runs. Returns their number.
    pub fn interrupt(&self, intervals: u64) -> u64 {
        let interval = self.shared.interval;
        let now = monotonic();
        let passed = now.saturating_sub(self.looked.swap(now, Ordering::Relaxed));
        let passed = passed.saturating_add(self.left.load(Ordering::Relaxed));
        self.left.store(passed % interval, Ordering::Relaxed);
        match weigh(intervals, passed, interval) {
            (0, _) => 0,
            (weight, also_in_native) if also_in_native || self.runs() => {
                self.sample(weight, also_in_native)
            }
            _ => 0,
        }
    }

    /// Returns `true` if the thread seems to run. It may be ending.
    fn runs(&self) -> bool {
        let layout = self.shared.layout;
        let address = self.address + layout.state;
        let aligned = address & !(size_of::<usize>() - 1);
        let word = Peek.word(aligned);
        // Half a word.
        let state = |word: usize| (word >> (8 * (address - aligned))) as i32;
        word.is_some_and(|word| layout.runs(state(word)))
    }

    /// Takes a sample that stands for so many intervals; returns their number, or 0 if there is no sample because the thread does not run.
    fn sample(&self, weight: u64, also_in_native: bool) -> u64 {
        let shared = &*self.shared;
        let mut taken = shared.taken.lock();
        let taken = &mut *taken;
        // Before any method is found.
        let number = BEGUN.fetch_add(1, Ordering::SeqCst);
        let seen = {
            let Some(suspended) = self.thread.suspend() else {
                return 0;
            };
            self.look(&suspended, &mut taken.frames, also_in_native)
        };
        // From here on the thread runs again.
        let Some(Seen { count, in_agent }) = seen else {
            return 0;
        };
        if taken.waiting.len() >= MOST_WAITING {
            shared.lost.fetch_add(weight, Ordering::Relaxed);
        } else {
            let frames = usize::try_from(count).unwrap_or(0);
            let frames = taken.frames.get(..frames).unwrap_or(&[]);
            taken.waiting.push(StackSample {
                thread: self.serial,
                number,
                is_vm_thread: false,
                virtual_thread: self.virtual_thread.load(Ordering::Relaxed),
                weight: u32::try_from(weight).unwrap_or(u32::MAX),
                in_agent,
                stack: SampledStack::of(count, frames),
            });
        }
        self.charged.fetch_add(weight, Ordering::Relaxed);
        weight
    }

    /// Looks at the thread while it is suspended; returns `None` if it is not to be charged.
    fn look(
        &self,
        suspended: &SuspendedThread<'_>,
        frames: &mut [CallFrame],
        also_in_native: bool,
    ) -> Option<Seen> {
        let shared = &*self.shared;
        let registers = suspended.registers()?;
        // SAFETY: the registers are there.
        let value = |key| unsafe { suspended.value(key) };
        // The thread may have left the VM unnoticed.
        if value(shared.thread_key) != self.address {
            return None;
        }
        let layout = shared.layout;
        // SAFETY: fields of a thread that the VM has not freed, because it still names its memory and does not run.
        let (state, base, size) = unsafe {
            (
                read::<i32>(self.address + layout.state),
                read::<usize>(self.address + layout.stack_base),
                read::<usize>(self.address + layout.stack_size),
            )
        };
        if !also_in_native && !layout.runs(state) {
            return None;
        }
        let in_agent = shared.own_time_key.is_some_and(|key| value(key) != 0);
        let depth = shared.depth.load(Ordering::Relaxed) as usize;
        let depth = depth.min(frames.len());
        if depth == 0 {
            return Some(Seen { count: 0, in_agent });
        }
        let stack = StackBounds {
            begin: base.wrapping_sub(size),
            end: base,
        };
        let interrupted = Interrupted {
            pc: registers.pc,
            sp: registers.sp,
            fp: registers.fp,
            link: 0,
            bytecode: registers.r13,
            sender_sp: registers.r13,
        };
        let room = (frames.as_mut_ptr(), depth);
        // SAFETY: the thread is stopped at these registers, as one that a signal has interrupted is; the rest is its own, and there is
        // room for so many frames.
        let walk = |from| unsafe { shared.walker.walk(self.address, stack, from, room, None) };
        let mut count = walk(interrupted);
        if count == refused::NATIVE_CODE
            && let Some(raised) = shared.walker.raised_at(interrupted.sp, stack)
        {
            count = walk(raised);
        }
        Some(Seen { count, in_agent })
    }

    /// Returns the number of intervals that the samples stand for.
    pub fn charged(&self) -> u64 {
        self.charged.load(Ordering::Relaxed)
    }

    /// Returns 0: samples come as they are due.
    pub fn apart(&self) -> u64 {
        0
    }

    /// Returns `true` if the thread is gone. Its ThreadEnd may have been missed.
    pub fn is_gone(&self, _is_armed: bool) -> bool {
        self.thread.has_ended()
    }

    /// Returns the CPU time of the thread in nanoseconds; `None` if it has ended.
    pub fn cpu_time(&self) -> Option<u64> {
        let used = self.thread.cpu_time()?;
        if self.used.swap(used, Ordering::Relaxed) != used {
            self.rounds.store(0, Ordering::Relaxed);
        }
        Some(used)
    }

    /// Returns the system's id of the thread.
    pub fn tid(&self) -> i32 {
        self.tid
    }

    /// Notes that the thread now carries the virtual thread of that serial number, or none.
    pub fn carries(&self, virtual_thread: Option<u32>) {
        let serial = virtual_thread.unwrap_or(0);
        self.virtual_thread.store(serial, Ordering::Relaxed);
    }
}

/// Returns the number of intervals that a sample stands for if a thread owes so many, and the look stands for the time that has passed; and
/// whether the thread is charged in native code, too.
fn weigh(owed: u64, passed: u64, interval: u64) -> (u64, bool) {
    let also_in_native = owed.saturating_mul(interval) >= SLACK.saturating_add(passed);
    (owed.min(passed / interval), also_in_native)
}

/// What a look at a suspended thread has found.
struct Seen {
    /// The number of frames, or the reason why there are none.
    count: i32,
    in_agent: bool,
}

/// Returns the key under which the VM keeps the address of the current thread; `None` if there are none or several.
fn own_key(env: Env, jni: Jni<'_>) -> Option<Key> {
    let current = env.current_thread(jni).ok()??;
    let address: *const c_void = jni.native_thread(current.object())?.cast();
    let mut found = (0..MOST_KEYS).filter(|&key| key::value(key).addr() == address.addr());
    let key = found.next()?;
    found.next().is_none().then_some(key)
}

/// Returns the number of samples that have been begun so far.
pub(super) fn samples_begun() -> u64 {
    BEGUN.load(Ordering::SeqCst)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLI: u64 = 1_000_000;
    /// The step of the system's CPU times.
    const STEP: u64 = 15_625_000;

    /// Looks at a thread every 10 ms, for 100 s: `at` says of each look how much CPU time the thread has used by then, and whether it finds it
    /// in native code. Returns the intervals of 5 ms that it is charged with in Java and in native code.
    fn charged(at: impl Fn(u64) -> (u64, bool)) -> (u64, u64) {
        let interval = 5 * MILLI;
        let (mut java, mut native) = (0, 0);
        for look in 1..=10_000 {
            let (used, is_native) = at(look);
            let owed = used / STEP * STEP / interval - java - native;
            match (weigh(owed, 10 * MILLI, interval), is_native) {
                ((weight, _), false) => java += weight,
                ((weight, true), true) => native += weight,
                ((_, false), true) => {}
            }
        }
        (java, native)
    }

    #[test]
    fn native_code_that_runs_has_its_share() {
        let (java, native) = charged(|look| (look * 10 * MILLI, look % 4 == 0));
        assert!(
            java.abs_diff(15_000) < 30 && native.abs_diff(5_000) < 30,
            "{java} {native}"
        );
    }

    #[test]
    fn native_code_that_waits_has_none() {
        // Of four looks one finds the thread in Java, where it has used the time since the one before.
        let (java, native) = charged(|look| (look / 4 * 10 * MILLI, look % 4 != 0));
        assert!(java.abs_diff(5_000) < 30 && native == 0, "{java} {native}");
    }
}
