//! The current thread's stack, walked over as the VM itself does it, frame by frame, without asking the VM.
//!
//! A walk names no methods. It gives a number that two stacks share only if the VM would give the same frames for both; what
//! the frames are, the VM is asked once (`GetStackTrace`), and whoever does remembers the answer under the number. A walk costs
//! 50 ns where the VM takes 500 to 1,300.
//!
//! The number is made of what each frame is known by for as long as the VM lives: a compiled frame by its return address and the
//! number of its compilation, an interpreted one by the method's `jmethodID`, which is never given out again, and the
//! bytecode pointer. The return address alone would not do, nor the `Method*`: code and metadata are freed, and others take
//! their places.
//!
//! # What is read, and why it can be
//!
//! - **The thread's own structure**: the JNI environment of a thread is a field of it, at an offset that is measured when the
//!   walker is made, on a thread whose structure the VM names (`Thread.eetop`).
//! - **The stack**: words between the stack pointer of [`StackWalker::walk`] and the stack's base, each checked before it is read
//!   (`own_stack`). The thread runs this code, so its frames stay as they are, but for one thing: the VM may exchange a return address
//!   for that of a deoptimization handler. Either is read whole, and the handler's ends the walk.
//! - **Code**: an address that a frame returns to is looked up in the segment map of the code heaps (`code_heap`), each time. What
//!   it finds is in use, and as long as the frame stands the VM does not free it.
//! - **Methods**: an interpreted frame keeps its method loaded. Of it nothing is read. The place that its
//!   `jmethodID` points to belongs to the VM's list of such ids, whose memory it never gives back, and holds the
//!   `Method*`, or something else once that is gone.
//!
//! Whatever does not fit gives no number: the VM is asked then.

mod cache;
mod compiled;
mod layout;
mod own_stack;

use std::hash::{BuildHasher, Hasher};
use std::ops::Range;

use foldhash::fast::FixedState;

use super::code_heap::{CodeHeaps, READABLE};
use super::vm_structs::{VmStructs, read};
use super::{BoolFlag, VmFlags};
use crate::jvmti::env::{Env, FrameInfo};
use crate::jvmti::jni::{Jni, Object, jni};
use crate::jvmti::vm_kind::Release;

use compiled::{CodePlace, PlaceKind};
use layout::{DebugInfoLayout, Layout, WORD};
use own_stack::OwnStack;

pub use cache::WalkCache;

/// The most frames that are walked over, those of inlined methods not counted.
const MOST_FRAMES: usize = 4_096;
/// No pointer of the VM's is as low as this.
const LOWEST: usize = 1 << 16;

/// Walks over stacks.
pub struct StackWalker {
    layout: Layout,
    /// Where in a `JavaThread` its JNI environment is.
    jni_environment: usize,
    code: CodeHeaps,
    interpreter: Range<usize>,
    /// Where code returns to that the VM has called.
    call_stub_return: usize,
    /// The `jmethodID` of the method that virtual threads are continued in; `None` before JDK 21.
    continuation_entry: Option<usize>,
}

/// What a walk has found.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Walked {
    /// Equal where the VM would give the same frames.
    pub key: u64,
    /// How many frames it would give.
    pub frames: usize,
}

/// Where a frame is.
#[derive(Clone, Copy)]
struct Place {
    sp: usize,
    fp: usize,
    pc: usize,
}

impl StackWalker {
    /// A walker; `None` in a VM that is not known well enough. `thread` is the current thread, and no virtual one.
    pub fn find(env: Env, jni: Jni<'_>, thread: Object<'_>) -> Option<Self> {
        let structs = VmStructs::find(env.vm())?;
        let release = env.vm_kind().tested()?;
        let layout = Layout::find(structs, release)?;
        // Code that was compiled ahead of time stands elsewhere (JDK 11).
        if VmFlags::find(env.vm())?.is_on(BoolFlag::UseAot) || !layout.fits_into(READABLE) {
            return None;
        }
        let java_thread = jni.native_thread(thread)?.addr();
        let jni_environment = jni.as_raw().addr().checked_sub(java_thread)?;
        let continuation_entry = match release {
            Release::Jdk11 | Release::Jdk17 => None,
            Release::Jdk21 | Release::Jdk25 => Some(enter_special(jni)?),
        };
        let found = Self {
            jni_environment,
            code: CodeHeaps::find(structs)?,
            interpreter: interpreter(structs)?,
            call_stub_return: call_stub_return(structs)?,
            continuation_entry,
            layout,
        };
        let is_sound = jni_environment < found.layout.thread.size
            && found.code.blob(found.interpreter.start).is_some()
            && found.code.blob(found.call_stub_return).is_some()
            && found.own_stack(java_thread).is_some();
        is_sound.then_some(found)
    }

    /// Walks over the current thread's innermost `depth` frames; `None` where that cannot be done. `known` is what the VM has
    /// given for this very stack, if it was asked: without that a method is not known that the interpreter runs for the
    /// first time.
    #[inline]
    pub fn walk(
        &self,
        jni: Jni<'_>,
        depth: usize,
        cache: &mut WalkCache,
        known: &[FrameInfo],
    ) -> Option<Walked> {
        let thread = jni.as_raw().addr() - self.jni_environment;
        let stack = self.own_stack(thread)?;
        let mut hash = FixedState::default().build_hasher();
        hash.write_usize(depth);
        let mut frames = 0;
        let mut next = self.anchored(stack, |offset| {
            // SAFETY: the anchor is a field of the current thread's structure.
            Some(unsafe { read(thread + self.layout.thread.anchor + offset) })
        })?;
        for _ in 0..MOST_FRAMES {
            let Some(place) = next.filter(|_| frames < depth) else {
                return Some(Walked {
                    key: hash.finish(),
                    frames: frames.min(depth),
                });
            };
            next = if self.interpreter.contains(&place.pc) {
                let method = stack.word(place.fp.wrapping_add_signed(self.layout.frame.method))?;
                let bcp = stack.word(place.fp.wrapping_add_signed(self.layout.frame.bcp))?;
                let id = self.method_id(cache, method, known.get(frames))?;
                hash.write_usize(id);
                hash.write_usize(bcp);
                frames += 1;
                Some(self.below_interpreted(stack, place)?)
            } else if place.pc == self.call_stub_return {
                self.below_entry(stack, place)?
            } else {
                let code = self.code_place(cache, place.pc)?;
                if code.frames > 0 {
                    hash.write_usize(place.pc);
                    hash.write_u32(code.identity);
                    frames += usize::from(code.frames);
                }
                match code.kind {
                    PlaceKind::ContinuationEntry => None,
                    _ => Some(below_compiled(stack, place, code)?),
                }
            };
        }
        None
    }

    /// The current thread's stack from here on.
    #[inline]
    fn own_stack(&self, thread: usize) -> Option<OwnStack> {
        let layout = &self.layout.thread;
        // SAFETY: the thread is the current one's structure, whose fields these are: they were set before it ran.
        let (base, size) = unsafe {
            (
                read(thread + layout.stack_base),
                read(thread + layout.stack_size),
            )
        };
        OwnStack::find(base, size)
    }

    /// Where the frame is that an anchor holds; `Some(None)` where it holds none: no Java runs below.
    #[inline]
    fn anchored(
        &self,
        stack: OwnStack,
        field: impl Fn(usize) -> Option<usize>,
    ) -> Option<Option<Place>> {
        let sp = field(self.layout.anchor.sp)?;
        if sp == 0 {
            return Some(None);
        }
        let pc = match field(self.layout.anchor.pc)? {
            // The VM has not needed it so far; it is where the call into the VM returns to.
            0 => stack.word(sp.checked_sub(WORD)?)?,
            pc => pc,
        };
        let fp = field(self.layout.anchor.fp)?;
        stack.has(sp).then_some(Some(Place { sp, fp, pc }))
    }

    #[inline]
    fn below_interpreted(&self, stack: OwnStack, place: Place) -> Option<Place> {
        let mut sp = stack.word(place.fp.wrapping_add_signed(self.layout.frame.sender_sp))?;
        if cfg!(target_arch = "aarch64") {
            // The interpreter reserves the whole of a frame's expression stack, and the frame that is called begins within it.
            sp = sp.max(place.fp.wrapping_add(2 * WORD));
        }
        let below = Place {
            sp,
            fp: stack.word(place.fp)?,
            pc: stack.word(place.fp.wrapping_add(WORD))?,
        };
        let is_above = place.sp <= place.fp && place.fp < below.sp;
        (is_above && stack.has(below.sp)).then_some(below)
    }

    /// The frames before the VM called Java.
    fn below_entry(&self, stack: OwnStack, place: Place) -> Option<Option<Place>> {
        let wrapper = stack.word(place.fp.wrapping_add_signed(self.layout.frame.call_wrapper))?;
        let anchor = wrapper.wrapping_add(self.layout.anchor.in_call_wrapper);
        let below = self.anchored(stack, |offset| stack.word(anchor.wrapping_add(offset)))?;
        let is_above = below.is_none_or(|below| place.sp <= place.fp && place.fp < below.sp);
        is_above.then_some(below)
    }

    /// The `jmethodID` of a method that the interpreter runs.
    #[inline]
    fn method_id(
        &self,
        cache: &mut WalkCache,
        method: usize,
        known: Option<&FrameInfo>,
    ) -> Option<usize> {
        let is_of_method = |&id: &usize| {
            // SAFETY: the id was given by the VM, which never frees what it points to.
            id > LOWEST && id.is_multiple_of(WORD) && unsafe { read::<usize>(id) } == method
        };
        if let Some(id) = cache.method(method).filter(is_of_method) {
            return Some(id);
        }
        let id = known
            .map(|frame| frame.method.address())
            .filter(is_of_method)?;
        cache.set_method(method, id);
        Some(id)
    }

    /// What is known of a return address in code that is not the interpreter's.
    #[inline]
    fn code_place(&self, cache: &mut WalkCache, pc: usize) -> Option<CodePlace> {
        let blob = self.code.blob(pc)?;
        if let Some(place) = cache.place(pc)
            && place.blob == blob
            // SAFETY: the blob was found in the code heaps.
            && place.identity == unsafe { self.layout.identity(blob, place.kind) }
        {
            return Some(place);
        }
        // SAFETY: an id that the VM has given.
        let continuation_entry = self.continuation_entry.map(|id| unsafe { read(id) });
        // SAFETY: the blob is in use and holds `pc`, and the frame that returns there keeps it.
        let place = unsafe { self.layout.place(blob, pc, continuation_entry) }?;
        cache.set_place(pc, place);
        Some(place)
    }
}

/// The frame below that of compiled code or of a stub.
#[inline]
fn below_compiled(stack: OwnStack, place: Place, code: CodePlace) -> Option<Place> {
    let sp = place.sp.checked_add(code.frame_words as usize * WORD)?;
    Some(Place {
        sp,
        fp: stack.word(sp - 2 * WORD)?,
        pc: stack.word(sp - WORD)?,
    })
}

impl Layout {
    /// Whether all that is read of a compiled method's head is among its first bytes.
    fn fits_into(&self, bytes: usize) -> bool {
        let of_version = match self.nmethod.debug_info {
            DebugInfoLayout::Behind {
                dependencies_offset,
                scopes_pcs_offset,
                ..
            } => dependencies_offset.max(scopes_pcs_offset),
            DebugInfoLayout::Apart {
                scopes_data_offset,
                scopes_pcs_offset,
                immutable_data_size,
                ..
            } => scopes_data_offset
                .max(scopes_pcs_offset)
                .max(immutable_data_size),
        };
        of_version.max(self.nmethod.compile_id).max(self.blob.name) + 4 * WORD <= bytes
    }
}

/// Where the interpreter's code is.
fn interpreter(structs: VmStructs) -> Option<Range<usize>> {
    let queue = structs
        .field(c"AbstractInterpreter", c"_code")?
        .not_null()?
        .addr();
    let buffer = structs.offset(c"StubQueue", c"_stub_buffer")?;
    let limit = structs.offset(c"StubQueue", c"_buffer_limit")?;
    // SAFETY: the tables say that these fields are there; the interpreter is made before VMInit and stays.
    unsafe {
        let queue: usize = read(queue);
        if queue == 0 {
            return None;
        }
        let start: usize = read(queue + buffer);
        let length = usize::try_from(read::<i32>(queue + limit)).ok()?;
        Some(start..start + length)
    }
}

fn call_stub_return(structs: VmStructs) -> Option<usize> {
    let field = structs.field(c"StubRoutines", c"_call_stub_return_address")?;
    // SAFETY: a static field that holds an address, set when the VM starts.
    Some(unsafe { read(field.not_null()?.addr()) })
}

/// The `jmethodID` of the native method in which a virtual thread's frames begin.
fn enter_special(jni: Jni<'_>) -> Option<usize> {
    let class = jni.find_class(c"jdk/internal/vm/Continuation")?;
    let signature = c"(Ljdk/internal/vm/Continuation;ZZ)V";
    // SAFETY: the class is live, and the names are NUL-terminated.
    let id = unsafe {
        jni!(
            jni,
            GetStaticMethodID,
            class.raw,
            c"enterSpecial".as_ptr(),
            signature.as_ptr()
        )
    };
    let thrown = jni.clear_exception();
    let id = id.addr();
    (!thrown && id > LOWEST && id.is_multiple_of(WORD)).then_some(id)
}
