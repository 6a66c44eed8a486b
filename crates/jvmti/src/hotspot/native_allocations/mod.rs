//! Samples of the memory that native code allocates, each with the stack of the thread that did, and whether it has been freed
//! since.
//!
//! `entries` has the libraries call the agent's functions in place of the allocator's (`hooks`), which are called by these. A
//! thread counts down the bytes until its next sample (`countdown`). A sample is put into a ring, from which a thread of the
//! agent fetches it, and its block is `tracked`: whoever frees it removes it from there.

mod countdown;
mod entries;
mod hooks;
mod samples;
mod tracked;

use std::arch::asm;
use std::ops::Range;
use std::panic::catch_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use std::{mem, ptr};

use self::entries::Entries;
use self::hooks::{Function, HOOKS};
use super::cpu_timers::{
    CallFrame, NoStack, OwnThread, SampledFrame, SampledStack, VmLayout, begin_sample, refused,
    walker,
};
use super::fault_guard;
use super::sample_ring::{Ring, SampleHead};
use super::stack_walk::{Interrupted, InterruptedWalker, can_read};
use super::thread_layout::UNTESTED;
use crate::env::Env;
use crate::jni::Jni;
use crate::native_code::{NativeCode, NativeFunction, UnwindTable};
use crate::stack_bounds::StackBounds;
use locks::{Mutex, rank};

pub use samples::{AllocationSample, LostAllocations, NoNativeAllocations};
pub use tracked::TrackedBlock;

/// The most frames of a sample.
const MOST_FRAMES: usize = 256;
/// The most frames in the ring.
const RING_FRAMES: usize = 1 << 19;
/// The most samples in the ring: at one in 512 KB, it holds what 200 GB/s of allocations bring while the reader sleeps. The
/// system supplies the memory when it is first written to.
const RING_SAMPLES: usize = 8_192;
/// The stack that must be left for a walk.
const WALK_ROOM: usize = 16 << 10;
/// The pages of stack that are looked at of a thread that the VM does not know.
const MOST_PAGES: usize = 16;
const PAGE: usize = 4096;
/// The longest that the end waits for running hooks. One that a debugger stopped never ends.
const TIMEOUT: Duration = Duration::from_secs(2);

/// What the hooks work with; null while there is no session.
static CURRENT: AtomicPtr<Shared> = AtomicPtr::new(ptr::null_mut());
/// The number of threads that are taking a sample.
static INSIDE: AtomicUsize = AtomicUsize::new(0);
/// Set from the beginning of a session to its end.
static IN_USE: AtomicBool = AtomicBool::new(false);

/// The content of a slot of the ring besides the frames.
#[derive(Clone, Copy, Default)]
struct Head {
    number: u64,
    /// `None` in a slot that was never used.
    time: Option<Instant>,
    tid: i32,
    function: Function,
    bytes: u64,
    block: Option<TrackedBlock>,
    frames: i32,
}

impl SampleHead for Head {
    fn frames(&self) -> i32 {
        self.frames
    }
}

/// What the hooks work with.
struct Shared {
    ring: Ring<Head>,
    walker: &'static InterruptedWalker,
    native: AtomicPtr<UnwindTable>,
    depth: usize,
    own_thread: OwnThread,
    stack_base: usize,
    stack_size: usize,
    /// The VM's table of JNI functions, which a `JavaThread` has in its environment.
    functions: AtomicUsize,
    lost: AtomicU64,
    lost_bytes: AtomicU64,
    untracked: AtomicU64,
    entries: Mutex<Entries, rank::NativeEntries>,
}

/// Samples allocations until it is stopped.
pub struct NativeAllocations {
    shared: Option<Box<Shared>>,
    native: Mutex<NativeCode, rank::NativeCode>,
    reading: Mutex<(), rank::RingReading>,
    /// The code of the hooks, whose frames are the innermost of each stack.
    own_code: Range<usize>,
}

/// Takes a sample of an allocation of the current thread.
#[cold]
#[inline(never)]
fn sample(function: Function, address: usize, bytes: usize) {
    // SAFETY: `errno` is there on every thread.
    let errno = unsafe { *libc::__errno_location() };
    let paused = countdown::Paused::begin();
    INSIDE.fetch_add(1, Ordering::SeqCst);
    // SAFETY: whoever sets `CURRENT` to null waits for `INSIDE` before it frees what was there.
    if let Some(shared) = unsafe { CURRENT.load(Ordering::SeqCst).as_ref() } {
        shared.take(function, address, bytes);
    }
    INSIDE.fetch_sub(1, Ordering::SeqCst);
    drop(paused);
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
}

/// Has the allocations sampled of libraries that have just been loaded, as the current thread looks up a function.
fn look_for_libraries() {
    INSIDE.fetch_add(1, Ordering::SeqCst);
    let _ = catch_unwind(|| {
        // SAFETY: as for a sample.
        if let Some(shared) = unsafe { CURRENT.load(Ordering::SeqCst).as_ref() }
            // This thread may hold the linker's lock, for which whoever has this one waits.
            && let Some(mut entries) = shared.entries.try_lock()
        {
            entries.look();
        }
    });
    INSIDE.fetch_sub(1, Ordering::SeqCst);
}

impl Shared {
    fn take(&self, function: Function, address: usize, bytes: usize) {
        let bytes = bytes as u64;
        let Some(slot) = self.ring.claim() else {
            self.lost.fetch_add(1, Ordering::Relaxed);
            let estimate = bytes as f64 * countdown::stands_for(bytes);
            self.lost_bytes
                .fetch_add(estimate as u64, Ordering::Relaxed);
            return;
        };
        // Before any method is found.
        let number = begin_sample();
        // SAFETY: the slot has room for so many frames.
        let frames = unsafe { self.walk(self.ring.room(&slot)) };
        let block = match function.maps() {
            true => tracked::add_mapping(address, bytes as usize),
            false => tracked::add(address),
        };
        if block.is_none() {
            self.untracked.fetch_add(1, Ordering::Relaxed);
        }
        let head = Head {
            number,
            time: Some(Instant::now()),
            // SAFETY: gettid takes no arguments.
            tid: unsafe { libc::syscall(libc::SYS_gettid) } as i32,
            function,
            bytes,
            block,
            frames,
        };
        self.ring.publish(slot, head);
    }

    /// Writes the frames of the current thread, from this function on; returns their number, or the reason why there are none.
    ///
    /// # Safety
    /// There is room for `depth` frames.
    #[inline(never)]
    unsafe fn walk(&self, frames: *mut CallFrame) -> i32 {
        let here = own_registers();
        // SAFETY: whoever replaces the table waits for `INSIDE` before it frees this one.
        let Some(native) = (unsafe { self.native.load(Ordering::SeqCst).as_ref() }) else {
            return 0;
        };
        let room = (frames, self.depth);
        // SAFETY: a key that the VM has made and never deletes.
        let thread = unsafe { libc::pthread_getspecific(self.own_thread.key) }.addr();
        if thread == 0 {
            // SAFETY: as below.
            return unsafe {
                self.walker
                    .walk_native(readable_stack(here.sp), here, room, native)
            };
        }
        // SAFETY: fields of every thread of the VM, which is there as long as its key holds it.
        let (base, size) = unsafe {
            let field = |offset| {
                let at: *const usize = ptr::with_exposed_provenance(thread.wrapping_add(offset));
                at.read_volatile()
            };
            (field(self.stack_base), field(self.stack_size))
        };
        let stack = StackBounds {
            begin: base.wrapping_sub(size),
            end: base,
        };
        if !stack.contains(here.sp) || here.sp.wrapping_sub(stack.begin) < WALK_ROOM {
            return refused::OTHER_STACK;
        }
        let environment = thread.wrapping_add(self.own_thread.environment);
        let functions = self.functions.load(Ordering::Relaxed);
        let is_java = InterruptedWalker::word_at(environment) == Some(functions);
        // SAFETY: the current thread, its stack, and registers that it has right now.
        unsafe {
            match is_java {
                true => self.walker.walk(thread, stack, here, room, Some(native)),
                false => self.walker.walk_native(stack, here, room, native),
            }
        }
    }
}

/// Returns the registers of the function that this is inlined into.
#[inline(always)]
fn own_registers() -> Interrupted {
    let (pc, sp, fp): (usize, usize, usize);
    // SAFETY: copies registers, and changes nothing.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        asm!(
            "lea {pc}, [rip]",
            "mov {sp}, rsp",
            "mov {fp}, rbp",
            pc = out(reg) pc, sp = out(reg) sp, fp = out(reg) fp,
            options(nomem, nostack, preserves_flags)
        );
        #[cfg(target_arch = "aarch64")]
        asm!(
            "adr {pc}, .",
            "mov {sp}, sp",
            "mov {fp}, x29",
            pc = out(reg) pc, sp = out(reg) sp, fp = out(reg) fp,
            options(nomem, nostack, preserves_flags)
        );
    }
    Interrupted {
        pc,
        sp,
        fp,
        link: 0,
        bytecode: 0,
        sender_sp: 0,
    }
}

/// Returns the innermost part of the stack of a thread that the VM does not know, as far as it can be read.
fn readable_stack(sp: usize) -> StackBounds {
    let begin = sp & !(PAGE - 1);
    let mut end = begin.wrapping_add(PAGE);
    for _ in 1..MOST_PAGES {
        if !can_read(end) {
            break;
        }
        end = end.wrapping_add(PAGE);
    }
    StackBounds { begin, end }
}

impl NativeAllocations {
    /// The number of calls of [`NativeAllocations::read`] that read everything available at the first one.
    pub const MOST_READS: usize = 5;
    /// The most samples that a call of [`NativeAllocations::read`] copies.
    const READ_AT_ONCE: usize = RING_SAMPLES / 4;
    /// The number of samples read at once that say that more will come soon.
    pub const MANY: usize = RING_SAMPLES / 8;

    /// Begins to sample, once in so many bytes. `depth` is the most frames of a stack. Called on a platform thread.
    pub fn begin(
        env: Env,
        jni: Jni<'_>,
        interval: u32,
        depth: usize,
    ) -> Result<Self, NoNativeAllocations> {
        env.vm_structs().ok_or(NoNativeAllocations::Vm(UNTESTED))?;
        let layout = VmLayout::find(env).map_err(NoNativeAllocations::Vm)?;
        let own_thread = VmLayout::own_thread(env, jni).ok_or(NoNativeAllocations::Vm(
            "the current thread is not to be found",
        ))?;
        fault_guard::install(env);
        let walker = walker(env, jni).ok_or(NoNativeAllocations::Vm(
            "the agent does not know this VM's stacks",
        ))?;
        if IN_USE.swap(true, Ordering::SeqCst) {
            return Err(NoNativeAllocations::InUse);
        }
        if !Entries::find_originals() {
            IN_USE.store(false, Ordering::SeqCst);
            return Err(NoNativeAllocations::NoAllocator);
        }
        // The agent's own frames come before the others.
        let depth = depth.saturating_add(8).min(MOST_FRAMES);
        let slots = RING_SAMPLES.min((RING_FRAMES / depth).next_power_of_two());
        let Some(ring) = Ring::new(slots, depth) else {
            IN_USE.store(false, Ordering::SeqCst);
            return Err(NoNativeAllocations::Memory);
        };
        let shared = Box::new(Shared {
            ring,
            walker,
            native: AtomicPtr::default(),
            depth,
            own_thread,
            stack_base: layout.stack_base,
            stack_size: layout.stack_size,
            functions: AtomicUsize::new(functions_of(jni)),
            lost: AtomicU64::new(0),
            lost_bytes: AtomicU64::new(0),
            untracked: AtomicU64::new(0),
            entries: Mutex::default(),
        });
        let native = NativeCode::read();
        native.publish(&shared.native);
        let own_code = native.code_around(own_registers().pc);
        tracked::clear();
        CURRENT.store(
            ptr::from_ref::<Shared>(&shared).cast_mut(),
            Ordering::SeqCst,
        );
        let seed = Instant::now().elapsed().as_nanos() as u64 ^ begin_sample() << 32;
        countdown::begin(interval.into(), seed ^ u64::from(std::process::id()) << 40);
        shared.entries.lock().look();
        Ok(Self {
            shared: Some(shared),
            native: Mutex::new(native),
            reading: Mutex::new(()),
            own_code,
        })
    }

    /// Has the allocations of libraries sampled that the program has loaded since. What is not fast must not delay it.
    pub fn look_for_libraries(&self) {
        if let Some(shared) = &self.shared {
            shared.entries.lock().look();
        }
    }

    /// Has the frames of libraries known that the program has loaded since. Returns `true` if libraries have come or gone:
    /// instructions may be of other functions now.
    pub fn refresh(&self, jni: Jni<'_>) -> bool {
        let Some(shared) = &self.shared else {
            return false;
        };
        // An agent may have replaced it.
        shared.functions.store(functions_of(jni), Ordering::Relaxed);
        self.native.lock().refresh(&shared.native, &INSIDE)
    }

    /// Returns the library that has `malloc`, such as `libc.so.6`.
    pub fn malloc_library(&self) -> Arc<str> {
        self.allocator(Function::Malloc).library
    }

    /// Puts everything back as it was. Samples can still be read; what is not freed by now never is.
    pub fn stop(&self) {
        countdown::end();
        // Otherwise a thread of the agent waits for the linker. The hooks then do nothing but call the allocator.
        if let Some(shared) = &self.shared
            && let Some(mut entries) = shared.entries.try_lock_for(TIMEOUT)
        {
            entries.restore();
        }
        CURRENT.store(ptr::null_mut(), Ordering::SeqCst);
    }

    /// Returns the function of native code that an instruction belongs to; `None` if it is in no code that is known.
    pub fn native_function(&self, instruction: usize) -> Option<NativeFunction> {
        let instruction = self.native.lock().instruction(instruction)?;
        Some(instruction.function())
    }

    /// Moves available samples to `samples`. Concurrent calls wait for each other.
    pub fn read(&self, samples: &mut Vec<AllocationSample>) {
        let reading = self.reading.lock();
        let Some(shared) = &self.shared else { return };
        let mut copied = Vec::new();
        // SAFETY: `reading` is held: there is one reader.
        unsafe {
            shared.ring.read(Self::READ_AT_ONCE, |sample| {
                let stack = SampledStack::of(sample.head.frames, sample.frames);
                copied.push((sample.head, stack));
            });
        }
        drop(reading);
        samples.extend(copied.into_iter().map(|(head, stack)| AllocationSample {
            number: head.number,
            time: head.time.unwrap_or_else(Instant::now),
            tid: head.tid,
            mapped_by: head.function.maps().then(|| self.allocator(head.function)),
            bytes: head.bytes,
            stands_for: countdown::stands_for(head.bytes),
            block: head.block,
            stack: self.without_own(stack),
        }));
    }

    /// Returns a function with the library that it is in.
    fn allocator(&self, function: Function) -> NativeFunction {
        let original = HOOKS[function as usize].original.load(Ordering::Relaxed);
        let found = self.native_function(original.addr());
        NativeFunction {
            library: found.map_or_else(|| "?".into(), |found| found.library),
            name: function.name().into(),
        }
    }

    /// Returns the stack without the frames of the hook.
    fn without_own(&self, stack: SampledStack) -> SampledStack {
        let SampledStack::Frames(mut frames) = stack else {
            return stack;
        };
        let is_own = |frame: &SampledFrame| match frame {
            SampledFrame::Native(instruction) => self.own_code.contains(instruction),
            _ => false,
        };
        let own = frames.iter().take_while(|frame| is_own(frame)).count();
        frames.drain(..own);
        match frames.is_empty() {
            true => SampledStack::Unwalkable(NoStack::NativeCode),
            false => SampledStack::Frames(frames),
        }
    }

    /// Returns what was lost since the last call.
    pub fn take_lost(&self) -> LostAllocations {
        let Some(shared) = &self.shared else {
            return LostAllocations::default();
        };
        LostAllocations {
            samples: shared.lost.swap(0, Ordering::Relaxed),
            bytes: shared.lost_bytes.swap(0, Ordering::Relaxed),
        }
    }

    /// Returns the number of samples since the last call of which it is not known when they are freed.
    pub fn take_untracked(&self) -> u64 {
        let untracked = self.shared.as_ref().map(|shared| &shared.untracked);
        untracked.map_or(0, |untracked| untracked.swap(0, Ordering::Relaxed))
    }
}

impl Drop for NativeAllocations {
    fn drop(&mut self) {
        self.stop();
        let end = Instant::now() + TIMEOUT;
        while INSIDE.load(Ordering::SeqCst) > 0 {
            if Instant::now() >= end {
                mem::forget(self.shared.take());
                let native = NativeCode::default();
                mem::forget(mem::replace(&mut *self.native.lock(), native));
                break;
            }
            std::thread::yield_now();
        }
        IN_USE.store(false, Ordering::SeqCst);
    }
}

/// Returns the address of the current thread's table of JNI functions.
fn functions_of(jni: Jni<'_>) -> usize {
    // SAFETY: the environment of the current thread begins with it.
    unsafe { *jni.as_raw().cast::<*const libc::c_void>() }.addr()
}
