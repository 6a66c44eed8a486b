//! The signal handler: it takes one sample of the thread that it interrupts.
//!
//! A handler may run between any two instructions of the thread, including within malloc, within the dynamic linker, or
//! while the thread holds any lock. So all its code is in this file, marked [`handler_section`], or is inlined into it
//! (`Ring::claim`, `Registers`) or in its walker (`InterruptedWalker`), and obeys these rules:
//!
//! - it takes no lock and never waits. A slot of the ring is claimed by one compare-and-swap, repeated only if another
//!   thread was faster;
//! - it allocates nothing: the ring, the records of threads and [`STATE`] were created before;
//! - it uses no thread-locals of the agent. That of `errno`, which it restores, was created with the thread;
//! - it cannot panic: no indexing, no arithmetic that is checked, no formatting;
//! - it calls AsyncGetCallTrace, which HotSpot made for handlers, in a VM that the agent's own walk does not know; the
//!   previous handler; the system calls `gettid`, `rt_sigaction` (which says whether faults come to the agent) and
//!   `rt_sigprocmask` (which says whether a word can be read) by `syscall`, which POSIX and Linux allow there, as they do
//!   `clock_gettime`; and `pthread_getspecific`, which reads a slot of the thread in glibc and musl, and which HotSpot's
//!   own handlers call. Nothing else: a test reads the section in the release library and fails if it refers to a symbol
//!   that is not on the test's list;
//! - it reads memory of its own thread only: its `JavaThread`, which the thread finds under the VM's own key until just
//!   before it is freed; its stack, within the bounds that are in there; the VM's data about the methods in its frames,
//!   which keep that data alive; and the table of native code (`native_code`), which stays while [`State::inside`] counts
//!   the handler. The record alone does not suffice: freeing it at the thread's ThreadEnd is too late if that event is
//!   missed, as it is if the thread was past it when the agent was attached, if a panic has stopped the events, and while a
//!   session ends; and a process that was stopped in the handler may find the record belonging to another thread.
//! - it takes a small share of its thread's time ([`SHARE`]): after a sample that took long the next signals only count,
//!   and the next sample has their weight.
//!
//! The only things of the program that it changes, and restores before it returns, are the registers that
//! AsyncGetCallTrace starts from, and the program counter of the thread's last Java frame, if the VM has left it out.
//! The thread itself does not run meanwhile, and the VM walks a thread only at a point where it has filled that in.

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, compiler_fence};

use super::super::stack_walk::InterruptedWalker;
use super::async_call_trace::{
    AsyncGetCallTrace, CallTrace, NOT_WALKABLE_NOT_JAVA, UNKNOWN_NOT_JAVA,
};
use super::interrupted_threads::{InterruptedThread, InterruptedThreads, VM_THREAD};
use super::registers::{Registers, StackPosition};
use super::samples::{CallFrame, refused};
use crate::call_contexts;
use crate::hotspot::sample_ring::{Ring, SampleHead};
use crate::native_code::UnwindTable;
use crate::os::clock::walk_nanos;
use crate::stack_bounds::StackBounds;
use crate::sys;

/// The content of a slot of the ring besides the frames.
#[derive(Clone, Copy, Default)]
pub(super) struct Head {
    /// The serial number of the thread.
    pub(super) thread: u32,
    /// The number of samples begun before.
    pub(super) number: u64,
    /// The serial number of the virtual thread that it ran, 0 if there was none or it was not requested.
    pub(super) virtual_thread: u32,
    /// The number of intervals of CPU time that the sample stands for.
    pub(super) weight: u32,
    /// The number of frames, or the reason why there are none.
    pub(super) frames: i32,
    /// `true` if the thread was in the agent's own code.
    pub(super) in_agent: bool,
    /// `true` if it is a thread of the VM's own; `thread` is then what its timer was created with.
    pub(super) is_vm_thread: bool,
}

impl SampleHead for Head {
    fn frames(&self) -> i32 {
        self.frames
    }
}

/// The state of the handler. All of it is set before [`State::ring`].
pub(super) struct State {
    /// Null while no samples are taken.
    pub(super) ring: AtomicPtr<Ring<Head>>,
    /// The threads.
    pub(super) records: AtomicPtr<InterruptedThreads>,
    /// The most frames that are requested.
    pub(super) depth: AtomicU32,
    /// An [`AsyncGetCallTrace`].
    pub(super) get_call_trace: AtomicPtr<c_void>,
    /// Null if the VM is not known well enough.
    pub(super) walker: AtomicPtr<InterruptedWalker>,
    /// Null if frames of native code are not wanted.
    pub(super) native: AtomicPtr<UnwindTable>,
    /// The code cache.
    pub(super) code_begin: AtomicUsize,
    pub(super) code_end: AtomicUsize,
    /// Offsets in a `JavaThread`.
    pub(super) last_java_sp: AtomicUsize,
    pub(super) last_java_pc: AtomicUsize,
    /// Offsets in any thread of the VM.
    pub(super) stack_base: AtomicUsize,
    pub(super) stack_size: AtomicUsize,
    /// The distance from the start of a `JavaThread` to its JNI environment.
    pub(super) environment: AtomicUsize,
    /// The key of the C library under which a thread keeps the address of its `JavaThread`, as long as that exists.
    pub(super) thread_key: AtomicU32,
    /// The key of the mark for threads in the agent's own code, [`NO_KEY`] if there is none.
    pub(super) own_time_key: AtomicU32,
    /// The key of the slot with a thread's contexts, [`NO_KEY`] unless samples are charged to these.
    pub(super) contexts_key: AtomicU32,
    /// The address of the class whose methods count calls; 0 if their time is charged to the contexts.
    pub(super) call_counter: AtomicUsize,
    /// The number of intervals in threads that were in no context.
    pub(super) outside_contexts: AtomicU64,
    /// The number of intervals in methods of `call_counter`.
    pub(super) in_call_counter: AtomicU64,
    /// The number of samples that have been begun, in all.
    pub(super) begun: AtomicU64,
    /// The CPU time between two signals of a timer, in nanoseconds.
    pub(super) interval: AtomicU64,
    /// The number of intervals lost because the ring was full.
    pub(super) lost: AtomicU64,
    /// The number of handlers that are running.
    pub(super) inside: AtomicUsize,
    /// The previous handler, null if there was none, and whether it takes three arguments.
    pub(super) before: AtomicPtr<c_void>,
    pub(super) before_takes_info: AtomicU32,
}

/// The state of the handler.
pub(super) static STATE: State = State {
    ring: AtomicPtr::new(ptr::null_mut()),
    records: AtomicPtr::new(ptr::null_mut()),
    depth: AtomicU32::new(0),
    get_call_trace: AtomicPtr::new(ptr::null_mut()),
    walker: AtomicPtr::new(ptr::null_mut()),
    native: AtomicPtr::new(ptr::null_mut()),
    code_begin: AtomicUsize::new(0),
    code_end: AtomicUsize::new(0),
    last_java_sp: AtomicUsize::new(0),
    last_java_pc: AtomicUsize::new(0),
    stack_base: AtomicUsize::new(0),
    stack_size: AtomicUsize::new(0),
    environment: AtomicUsize::new(0),
    thread_key: AtomicU32::new(0),
    own_time_key: AtomicU32::new(NO_KEY),
    contexts_key: AtomicU32::new(NO_KEY),
    call_counter: AtomicUsize::new(0),
    outside_contexts: AtomicU64::new(0),
    in_call_counter: AtomicU64::new(0),
    begun: AtomicU64::new(0),
    interval: AtomicU64::new(0),
    lost: AtomicU64::new(0),
    inside: AtomicUsize::new(0),
    before: AtomicPtr::new(ptr::null_mut()),
    before_takes_info: AtomicU32::new(0),
};

/// Stands for no key.
pub(super) const NO_KEY: u32 = u32::MAX;

/// Identifies the agent's signals: the value of a signal is a record's number below this mark, which others are
/// unlikely to use.
pub(super) const MARK: usize = 0x4850_524f_u32 as usize;
pub(super) const MARK_SHIFT: u32 = 32;

/// `siginfo_t` of a signal by a timer, or one that the agent sends itself.
#[derive(Default)]
#[repr(C)]
pub(super) struct SignalInfo {
    pub(super) number: i32,
    pub(super) error: i32,
    pub(super) code: i32,
    pub(super) padding: i32,
    pub(super) timer_or_sender: i32,
    pub(super) overrun: i32,
    pub(super) value: usize,
    pub(super) rest: [usize; 12],
}

const _: () = assert!(size_of::<SignalInfo>() == size_of::<libc::siginfo_t>());

const WORD: usize = size_of::<usize>();

/// The bytes of stack that a walk needs.
const WALK_ROOM: usize = 3 << 10;
/// Those that AsyncGetCallTrace may need.
const ASYNC_ROOM: usize = 16 << 10;
/// Walks may take one part in so many of their thread's CPU time; the signals take about as much.
pub(super) const SHARE: u64 = 100;
/// The CPU time of a quick sample, in nanoseconds.
const QUICK: u64 = 10_000;
/// The most CPU time between two samples of a thread because of that, in nanoseconds.
const MOST_APART: u64 = 1_000_000_000;
/// The same if the agent walks.
const MOST_APART_WALKED: u64 = 100_000_000;

/// The handler, called by the kernel.
///
/// # Safety
/// Only the kernel may call it, with the arguments of handlers.
#[unsafe(link_section = "hprof_handler")]
pub(super) unsafe extern "C" fn on_cpu_timer(
    signal: libc::c_int,
    info: *mut libc::siginfo_t,
    context: *mut c_void,
) {
    // SAFETY: the kernel's arguments; `errno` is there on every thread.
    unsafe {
        let errno = libc::__errno_location();
        let saved = *errno;
        let own = info.cast::<SignalInfo>();
        let (code, value) = ((*own).code, (*own).value);
        let is_timers = code == libc::SI_TIMER;
        if (is_timers || code == libc::SI_QUEUE) && value >> MARK_SHIFT == MARK {
            STATE.inside.fetch_add(1, Ordering::SeqCst);
            let expired = is_timers.then_some((*own).overrun);
            let number = value as u32 as usize;
            take_sample(number, expired, info.addr(), context);
            STATE.inside.fetch_sub(1, Ordering::SeqCst);
        } else {
            call_handler_before(signal, info, context);
        }
        *errno = saved;
    }
}

/// Passes a signal that is not the agent's to the previous handler.
///
/// # Safety
/// As for the handler.
#[inline(always)]
unsafe fn call_handler_before(
    signal: libc::c_int,
    info: *mut libc::siginfo_t,
    context: *mut c_void,
) {
    let before = STATE.before.load(Ordering::Acquire);
    if before.is_null() {
        return;
    }
    // SAFETY: sigaction gave this function as the handler, of the type that its flags say.
    unsafe {
        if STATE.before_takes_info.load(Ordering::Relaxed) != 0 {
            let handler: unsafe extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut c_void) =
                std::mem::transmute(before);
            handler(signal, info, context);
        } else {
            let handler: unsafe extern "C" fn(libc::c_int) = std::mem::transmute(before);
            handler(signal);
        }
    }
}

/// `expired` is how often the timer has expired before its signal arrived; `None` if there is no timer.
///
/// # Safety
/// As for the handler. `STATE.inside` counts the caller.
#[inline(always)]
unsafe fn take_sample(number: usize, expired: Option<i32>, info: usize, context: *mut c_void) {
    // SAFETY: any thread that sets `ring` to null waits for `inside` before it frees the ring; the records are never
    // freed.
    let (ring, records) = unsafe {
        (
            STATE.ring.load(Ordering::SeqCst).as_ref(),
            STATE.records.load(Ordering::Relaxed).as_ref(),
        )
    };
    let (Some(ring), Some(records)) = (ring, records) else {
        return;
    };
    let Some(record) = records.get(number) else {
        return;
    };
    // SAFETY: gettid takes no arguments.
    let tid = unsafe { libc::syscall(libc::SYS_gettid) };
    // The record may belong to another thread by now.
    if record.tid.load(Ordering::Acquire) as libc::c_long != tid {
        return;
    }
    // The thread may have left the VM unnoticed, or have come back as another one.
    let key = STATE.thread_key.load(Ordering::Relaxed);
    // SAFETY: a key that the VM has made and never deletes.
    let java_thread = unsafe { libc::pthread_getspecific(key) }.addr();
    let recorded = record.java_thread.load(Ordering::Relaxed);
    let is_vm_thread = recorded == VM_THREAD;
    if java_thread == 0 || recorded != java_thread && !is_vm_thread {
        return;
    }
    let intervals = match expired {
        Some(overrun) => (overrun.max(0) as u32).wrapping_add(1),
        None => record.asked.swap(0, Ordering::Acquire),
    };
    let Some(weight) = due(record, intervals) else {
        return;
    };
    let started = walk_nanos();
    record
        .charged
        .fetch_add(u64::from(weight), Ordering::Relaxed);
    let contexts_key = STATE.contexts_key.load(Ordering::Relaxed);
    if contexts_key != NO_KEY {
        // SAFETY: the arguments of the handler, on the thread of the record, which is one of the VM; a key that is never
        // deleted.
        unsafe {
            let slot = libc::pthread_getspecific(contexts_key);
            charge_context(java_thread, slot, u64::from(weight), (info, context));
        }
        set_apart(record, walk_nanos().wrapping_sub(started));
        return;
    }
    let Some(slot) = ring.claim() else {
        STATE.lost.fetch_add(u64::from(weight), Ordering::Relaxed);
        return;
    };
    let mut head = Head {
        thread: record.serial.load(Ordering::Relaxed),
        // Before any method is found.
        number: STATE.begun.fetch_add(1, Ordering::SeqCst),
        virtual_thread: record.virtual_thread.load(Ordering::Relaxed),
        weight,
        frames: 0,
        in_agent: is_in_agent(),
        is_vm_thread,
    };
    // `State::depth` may belong to an earlier ring.
    let wanted = STATE.depth.load(Ordering::Relaxed) as usize;
    let room = ring.depth();
    let depth = if wanted < room { wanted } else { room };
    let needed = match STATE.walker.load(Ordering::Relaxed).is_null() {
        true => ASYNC_ROOM,
        false => WALK_ROOM,
    };
    // SAFETY: the kernel's context.
    if depth > 0 && !unsafe { has_room(context, needed) } {
        head.frames = refused::OTHER_STACK;
    } else if depth > 0 {
        // SAFETY: null, or the value in the static, which is created once and stays.
        let walker = unsafe { STATE.walker.load(Ordering::Relaxed).as_ref() };
        // SAFETY: null, or a table that stays while `inside` counts this handler.
        let native = unsafe { STATE.native.load(Ordering::SeqCst).as_ref() };
        let frames = ring.room(&slot);
        // SAFETY: the current thread in the VM's memory.
        let stack = unsafe { stack_of(java_thread) };
        // SAFETY: the arguments of the handler, on the thread of the record, which is one of the VM. The slot has room
        // for `depth` frames.
        head.frames = unsafe {
            match walker {
                Some(walker) if is_vm_thread => {
                    let registers = Registers::from_context(context).below_handlers(info, stack);
                    match native {
                        Some(native) => walker.walk_native(
                            stack,
                            registers.interrupted(),
                            (frames, depth),
                            native,
                        ),
                        None => 0,
                    }
                }
                Some(walker) => {
                    let registers = Registers::from_context(context).below_handlers(info, stack);
                    let interrupted = registers.interrupted();
                    // The agent's own time is one frame.
                    let native = if head.in_agent { None } else { native };
                    walker.walk(java_thread, stack, interrupted, (frames, depth), native)
                }
                None if is_vm_thread => 0,
                None => AsyncWalk {
                    java_thread,
                    stack,
                    depth: depth as sys::jint,
                    trace: CallTrace {
                        env: ptr::null_mut(),
                        count: 0,
                        frames,
                    },
                    context,
                }
                .run(),
            }
        };
    }
    ring.publish(slot, head);
    set_apart(record, walk_nanos().wrapping_sub(started));
}

/// Charges intervals to the context that the current thread is in, or to the counting of its calls.
///
/// # Safety
/// `thread` is the current thread in the VM's memory, `slot` the one with its contexts, and the others are the arguments of the
/// handler.
#[inline(always)]
unsafe fn charge_context(
    thread: usize,
    slot: *mut c_void,
    intervals: u64,
    (info, context): (usize, *mut c_void),
) {
    // SAFETY: the caller's promise.
    let to = unsafe {
        if is_in_call_counter(thread, info, context) {
            &STATE.in_call_counter
        } else if call_contexts::charge(slot, intervals) {
            return;
        } else {
            &STATE.outside_contexts
        }
    };
    to.fetch_add(intervals, Ordering::Relaxed);
}

/// Returns `true` if the method that the current thread was interrupted in, which may be inlined into another, counts calls.
///
/// # Safety
/// As for `charge_context`.
#[inline(always)]
unsafe fn is_in_call_counter(thread: usize, info: usize, context: *mut c_void) -> bool {
    let counter = STATE.call_counter.load(Ordering::Relaxed);
    // SAFETY: null, or the value in the static, which is created once and stays.
    let walker = unsafe { STATE.walker.load(Ordering::Relaxed).as_ref() };
    let Some(walker) = walker else {
        return false;
    };
    // SAFETY: the kernel's context.
    if counter == 0 || !unsafe { has_room(context, WALK_ROOM) } {
        return false;
    }
    let mut innermost = CallFrame::cut();
    // SAFETY: the caller's promise. There is room for the one frame.
    let count = unsafe {
        let stack = stack_of(thread);
        let registers = Registers::from_context(context).below_handlers(info, stack);
        let room = (&raw mut innermost, 1);
        walker.walk(thread, stack, registers.interrupted(), room, None)
    };
    count == 1 && innermost.is_of_class(counter)
}

/// Returns `true` if the stack that the handler runs on has as many bytes: one for signals may be as small as the handler
/// that the program has made it for.
///
/// # Safety
/// `context` is the handler's.
#[inline(always)]
unsafe fn has_room(context: *mut c_void, needed: usize) -> bool {
    let here = (&raw const context).addr();
    let context = context.cast::<libc::ucontext_t>();
    // SAFETY: the caller's promise. The bounds are 0 if there is no such stack.
    let (begin, size) = unsafe {
        (
            (*context).uc_stack.ss_sp.addr(),
            (*context).uc_stack.ss_size,
        )
    };
    let below = here.wrapping_sub(begin);
    below >= size || below >= needed
}

/// Counts intervals that a signal stands for; returns the weight of the sample that is to be taken now, `None` if the
/// thread's last ones took so long that it is too early.
#[inline(always)]
fn due(record: &InterruptedThread, intervals: u32) -> Option<u32> {
    // Only the thread's own handler writes them.
    let waiting = record.waiting.load(Ordering::Relaxed);
    let waiting = waiting.saturating_add(intervals);
    if waiting == 0 || waiting < record.apart.load(Ordering::Relaxed) {
        record.waiting.store(waiting, Ordering::Relaxed);
        return None;
    }
    record.waiting.store(0, Ordering::Relaxed);
    Some(waiting)
}

/// Determines how many intervals the next sample has to wait for: `took` is the CPU time of this one, not the time that passed, as
/// a thread on a busy machine often loses its processor here, and its next second would have the stack of one moment. For the same
/// reason the time that samples are expected to take changes by a quarter at most: on a busy machine, several in a row may take
/// milliseconds because of interrupts and memory that is in no cache, though the stack is short.
#[inline(always)]
pub(super) fn set_apart(record: &InterruptedThread, took: u64) {
    let before = record.expected.load(Ordering::Relaxed);
    let before = if before > QUICK { before } else { QUICK };
    let least = before.wrapping_sub(before / 4);
    let most = before.wrapping_add(before / 4);
    let expected = if took < least { least } else { took };
    let expected = if expected > most { most } else { expected };
    record.expected.store(expected, Ordering::Relaxed);
    let time = expected.saturating_mul(SHARE);
    // The agent's own walk is cut after a millisecond.
    let longest = match STATE.walker.load(Ordering::Relaxed).is_null() {
        true => MOST_APART,
        false => MOST_APART_WALKED,
    };
    let time = if time < longest { time } else { longest };
    let interval = STATE.interval.load(Ordering::Relaxed);
    let apart = time.checked_div(interval).unwrap_or(0);
    record.apart.store(apart as u32, Ordering::Relaxed);
}

/// One attempt to take the stack by AsyncGetCallTrace, in a VM that the agent's own walk does not know.
struct AsyncWalk {
    /// The current thread in the VM's memory, and its stack.
    java_thread: usize,
    stack: StackBounds,
    depth: sys::jint,
    trace: CallTrace,
    context: *mut c_void,
}

impl AsyncWalk {
    /// Returns the number of frames or the reason why there are none.
    ///
    /// # Safety
    /// `context` is the handler's, and the thread the current one.
    #[inline(always)]
    unsafe fn run(mut self) -> i32 {
        // SAFETY: the caller's promise.
        unsafe {
            let environment = self
                .java_thread
                .wrapping_add(STATE.environment.load(Ordering::Relaxed));
            self.trace.env = ptr::with_exposed_provenance_mut(environment);
            let reason = self.ask_at_instruction();
            match reason {
                UNKNOWN_NOT_JAVA | NOT_WALKABLE_NOT_JAVA => self.begin_at_last_java_frame(reason),
                count => count,
            }
        }
    }

    /// Asks for the stack at the interrupted instruction. In compiled code AsyncGetCallTrace uses the debug information
    /// that follows the address it is given. Compilers put it where the last instruction of an inlined method begins,
    /// so from that address it would be the information of the next method.
    ///
    /// # Safety
    /// As for `run`.
    #[inline(always)]
    unsafe fn ask_at_instruction(&mut self) -> i32 {
        // SAFETY: the handler's context.
        unsafe {
            let registers = Registers::from_context(self.context);
            let here = registers.place();
            if !is_code(here.pc) {
                return self.ask();
            }
            let before = here.pc.wrapping_sub(1);
            registers.set_place(StackPosition { pc: before, ..here });
            let count = self.ask();
            registers.set_place(here);
            // There is nothing before the very first instruction.
            if count > 0 { count } else { self.ask() }
        }
    }

    /// # Safety
    /// As for `run`.
    #[inline(always)]
    unsafe fn ask(&mut self) -> i32 {
        // SAFETY: `VmLayout::find` made the pointer from such a function. `take_sample` has given room for `depth`
        // frames.
        unsafe {
            let function = STATE.get_call_trace.load(Ordering::Relaxed);
            let function: AsyncGetCallTrace = std::mem::transmute(function);
            self.trace.count = 0;
            compiler_fence(Ordering::SeqCst);
            function(&mut self.trace, self.depth, self.context);
        }
        self.trace.count
    }

    /// Begins at the last Java frame of a thread in the VM. It entered the VM without recording from which instruction:
    /// that is below the stack pointer of its last Java frame, where HotSpot itself looks for it
    /// (`JavaFrameAnchor::make_walkable`).
    ///
    /// # Safety
    /// As for `run`.
    #[inline(always)]
    unsafe fn begin_at_last_java_frame(&mut self, reason: i32) -> i32 {
        // SAFETY: the thread has just found its `JavaThread`, so it has these fields; the stack is only read within its
        // bounds.
        unsafe {
            let field = |offset: &AtomicUsize| {
                let address = self
                    .java_thread
                    .wrapping_add(offset.load(Ordering::Relaxed));
                ptr::with_exposed_provenance_mut::<usize>(address)
            };
            let sp = field(&STATE.last_java_sp).read_volatile();
            let pc = field(&STATE.last_java_pc);
            if sp == 0 {
                // The thread runs no Java.
                return 0;
            }
            if pc.read_volatile() != 0 {
                return reason;
            }
            let below = sp.wrapping_sub(WORD);
            if !self.is_on_stack(below, below) {
                return reason;
            }
            let caller = word(below);
            if !is_code(caller) {
                return reason;
            }
            pc.write_volatile(caller);
            let count = self.ask();
            pc.write_volatile(0);
            if count > 0 { count } else { reason }
        }
    }

    /// Returns `true` if the address is that of a word on the thread's stack, at `lowest` or above.
    #[inline(always)]
    fn is_on_stack(&self, address: usize, lowest: usize) -> bool {
        let StackBounds { begin, end } = self.stack;
        address.is_multiple_of(WORD)
            && address >= begin
            && address >= lowest
            && address < end.wrapping_sub(WORD)
    }
}

/// Returns the bounds of the current thread's stack, as the VM has them.
///
/// # Safety
/// `thread` is the current thread in the VM's memory.
#[inline(always)]
unsafe fn stack_of(thread: usize) -> StackBounds {
    let at = |offset: &AtomicUsize| thread.wrapping_add(offset.load(Ordering::Relaxed));
    // SAFETY: fields of every thread of the VM; this one sets them before it runs anything else.
    let (base, size) = unsafe { (word(at(&STATE.stack_base)), word(at(&STATE.stack_size))) };
    StackBounds {
        begin: base.wrapping_sub(size),
        end: base,
    }
}

/// Returns `true` if the current thread is in the agent's own code.
#[inline(always)]
fn is_in_agent() -> bool {
    let key = STATE.own_time_key.load(Ordering::Relaxed);
    // SAFETY: `NO_KEY`, for which there is no value, or a key that is never deleted.
    key != NO_KEY && unsafe { !libc::pthread_getspecific(key).is_null() }
}

/// # Safety
/// A word of the current thread's stack, or of the thread in the VM's memory.
#[inline(always)]
unsafe fn word(address: usize) -> usize {
    // SAFETY: the caller's promise.
    unsafe { ptr::with_exposed_provenance::<usize>(address).read_volatile() }
}

/// Returns `true` for an address of code that the VM generated.
#[inline(always)]
fn is_code(address: usize) -> bool {
    address >= STATE.code_begin.load(Ordering::Relaxed)
        && address < STATE.code_end.load(Ordering::Relaxed)
}
