//! Walks the current thread's stack as the VM itself does, frame by frame, without asking the VM.
//!
//! A walk does not name methods. It computes a number that two stacks share only if the VM would report the same frames
//! for both; the VM is asked for the frames once (`GetStackTrace`), and the caller remembers the answer under the
//! number. A walk takes 50 ns, the VM 500 to 1,300.
//!
//! The number is computed from values that identify each frame for as long as the VM lives: a compiled frame by its
//! return address and the number of its compilation, an interpreted one by the method's `jmethodID`, which is never
//! reused, and the bytecode pointer. Neither the return address alone nor the `Method*` would suffice: code and
//! metadata are freed, and their addresses reused.
//!
//! A walk over more than a few frames continues only as far as the stack has changed since the thread's last walk
//! (`last_walk`). Of that walk each frame is remembered, with every word that was read on the way to the next one:
//! words of the stack, words that `jmethodID`s point to, and the identity of each piece of code. A walk depends on
//! nothing else. So if it comes to a known frame, with the same stack pointer, frame pointer and return address, and
//! everything read from there on is unchanged, it would find the same frames again. All of it is compared, each time
//! and down to the last frame that is wanted: a thread may have returned from the frames and come back to the same
//! position by another path. Comparing takes a few independent loads per frame. The number of the innermost frames
//! follows from sums over all frames (`sums`).
//!
//! If few frames are wanted, remembering costs more than walking, so such a walk remembers nothing, and computes the
//! same number. If its frames are to be named, they are walked once more and remembered.
//!
//! # What is read, and why it can be
//!
//! - **The thread's own structure**: the JNI environment of a thread is a field of it, at an offset that is measured
//!   when the walker is created, on a thread whose structure the VM reveals (`Thread.eetop`).
//! - **The stack**: words between the stack pointer of [`StackWalker::walk`] and the stack's base, each checked before
//!   it is read (`own_stack`). The thread runs this code, so its frames stay unchanged, with one exception: the VM may
//!   replace a return address by that of a deoptimization handler. Either value is read whole, and the handler's ends
//!   the walk.
//! - **Code**: an address that a frame returns to is looked up in the segment map of the code heaps (`code_heap`), each
//!   time. The code found there is in use, and the VM does not free it as long as the frame exists.
//! - **Methods**: an interpreted frame keeps its method loaded, with its class. Up to JDK 25 nothing of the method is read:
//!   the address that its `jmethodID` points to belongs to the VM's list of such ids, whose memory is never freed, and
//!   holds the `Method*`, or something else once that is gone. From JDK 26 on the class has the ids (`method_ids`).
//! - **The words that the last walk read**: words of the stack from the frame on that has been found again, so they are
//!   still in use; the word that a `jmethodID` points to; and the segment map, the block's header and the header of
//!   code at an address where code was once found, which stay readable. The segment map says whether a block begins
//!   there, the block whether it is in use, and the number of the compilation whether it is the same code, to which the
//!   return address then belongs.
//!
//! A stack that does not fit these rules gets no number: the VM is asked instead.

mod cache;
mod compiled;
mod frame;
mod interrupted;
mod last_walk;
mod layout;
mod method_ids;
mod own_stack;
#[cfg_attr(windows, path = "probe_windows.rs")]
mod probe;
mod step;
mod sums;

use std::ops::Range;

use super::class_addresses::ClassAddresses;
use super::code_heap::{CodeHeaps, READABLE};
use super::{BoolFlag, VmFlags};
use crate::env::{Env, FrameInfo};
use crate::jni::{Jni, Object, jni};
use crate::vm_kind::vm_structs::{VmStructs, read};
use crate::vm_kind::{Release, TestedVm};

use cache::FrameCache;
use frame::{Code, NoRecord, NumberedMethod, Place};
use last_walk::{FrameList, Unchanged, Word};
use layout::{DebugInfoLayout, Layout, WORD};
use own_stack::OwnStack;
use sums::Sums;

pub use cache::WalkCache;
pub(super) use interrupted::ClassMethod;
pub(super) use interrupted::MethodLayout;
pub(super) use interrupted::{Interrupted, InterruptedWalker};
pub(super) use method_ids::MethodIds;
#[cfg(unix)]
pub(super) use probe::can_read;
pub use sums::SequenceHash;

/// The number of methods that are found as cheaply by a new walk as by a remembered one.
const FEW: usize = 8;
/// The most frames that are walked, not counting those of inlined methods.
const MOST_FRAMES: usize = 4_096;
/// The least number of frames beyond those wanted that are walked if the previous walk's do not suffice.
const LEAST_MORE: usize = 8;
const MOST_MORE: usize = 256;
/// No pointer of the VM's is below this.
const LOWEST: usize = 1 << 16;

/// Walks stacks.
pub struct StackWalker {
    layout: Layout,
    /// The offset of the JNI environment in a `JavaThread`.
    jni_environment: usize,
    code: CodeHeaps,
    interpreter: Range<usize>,
    /// The return address of code that the VM has called.
    call_stub_return: usize,
    ids: MethodIds,
    /// The address of a word that holds the `Method*` in which virtual threads are continued, of a class of the boot loader:
    /// it is never freed. `None` before JDK 21.
    continuation_entry: Option<usize>,
}

/// The result of a walk.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Walked {
    /// Equal for two stacks if the VM would report the same frames.
    pub key: u64,
    /// The number of frames that it would report.
    pub frames: usize,
}

impl StackWalker {
    /// Creates a walker; `None` in a VM that is not known well enough. `thread` is the current thread, and a platform
    /// thread.
    pub fn find(env: Env, jni: Jni<'_>, thread: Object<'_>) -> Option<Self> {
        Self::find_in(env.tested_vm()?, env, jni, thread)
    }

    fn find_in(vm: TestedVm, env: Env, jni: Jni<'_>, thread: Object<'_>) -> Option<Self> {
        let structs = vm.structs();
        let layout = Layout::find(vm)?;
        let ids = MethodIds::find(env)?;
        // Code compiled ahead of time is in a different place (JDK 11).
        if VmFlags::find(structs)?.is_on(BoolFlag::UseAot) || !layout.fits_into(READABLE) {
            return None;
        }
        let java_thread = jni.native_thread(thread)?.addr();
        let jni_environment = jni.as_raw().addr().checked_sub(java_thread)?;
        let continuation_entry = match vm.release() >= Release::Jdk21 {
            true => Some(enter_special(env, jni, ids)?),
            false => None,
        };
        let found = Self {
            jni_environment,
            code: CodeHeaps::find(structs)?,
            interpreter: interpreter(structs)?,
            call_stub_return: call_stub_return(structs)?,
            ids,
            continuation_entry,
            layout,
        };
        let is_sound = jni_environment < found.layout.thread.size
            && found.code.blob(found.interpreter.start).is_some()
            && found.code.blob(found.call_stub_return).is_some()
            && found.own_stack(java_thread).is_some();
        is_sound.then_some(found)
    }

    /// Walks the current thread's innermost `depth` frames, as far as they differ from the previous walk; `None` if
    /// that is not possible. `given` are the VM's frames for this very stack, if it was asked: without them a method
    /// that the interpreter runs for the first time is not known ([`WalkCache::unknown`]).
    #[inline]
    pub fn walk(
        &self,
        jni: Jni<'_>,
        depth: usize,
        cache: &mut WalkCache,
        given: &[FrameInfo],
    ) -> Option<Walked> {
        cache.frames.unknown = None;
        let thread = jni.as_raw().addr() - self.jni_environment;
        let stack = self.own_stack(thread)?;
        if depth <= FEW {
            self.walk_few(stack, thread, depth, &mut cache.frames, given)
        } else {
            self.walk_and_remember(stack, thread, depth, cache, given)
        }
    }

    /// Stores in the cache the frames that the current thread's last walk found, to the same depth; returns `false` if
    /// they cannot be found again.
    pub fn remember(
        &self,
        jni: Jni<'_>,
        (depth, walked): (usize, Walked),
        cache: &mut WalkCache,
        given: &[FrameInfo],
    ) -> bool {
        if depth > FEW {
            return true;
        }
        let thread = jni.as_raw().addr() - self.jni_environment;
        let again = self
            .own_stack(thread)
            .and_then(|stack| self.walk_and_remember(stack, thread, depth, cache, given));
        again == Some(walked)
    }

    /// Walks frames that are too few to be worth remembering.
    #[inline]
    fn walk_few(
        &self,
        stack: OwnStack,
        thread: usize,
        depth: usize,
        cache: &mut FrameCache,
        given: &[FrameInfo],
    ) -> Option<Walked> {
        let mut next = self.innermost(stack, thread)?;
        let mut sums = Sums::default();
        for _ in 0..MOST_FRAMES {
            let Some(place) = next.filter(|_| (sums.methods as usize) < depth) else {
                return Some(Walked {
                    key: sums.key(depth),
                    frames: depth.min(sums.methods as usize),
                });
            };
            let given = (sums.methods, given);
            let (frame, below) = self.step(stack, place, cache, given, &mut NoRecord)?;
            sums = sums.preceded_by(frame);
            next = below;
        }
        None
    }

    #[inline]
    fn walk_and_remember(
        &self,
        stack: OwnStack,
        thread: usize,
        depth: usize,
        cache: &mut WalkCache,
        given: &[FrameInfo],
    ) -> Option<Walked> {
        cache.last.begin(stack);
        let next = self.innermost(stack, thread)?;
        self.walk_from(stack, next, depth, cache, given)?;
        if !cache.last.learn() {
            self.walk_from(stack, next, depth, cache, given)?;
            cache.last.learn();
        }
        let known = &cache.last.known;
        let first = cache.last.first_of(depth);
        let all = known.sums(known.frames.len());
        Some(Walked {
            key: all.key_after(known.sums(first), depth),
            frames: depth.min(all.methods as usize),
        })
    }

    /// Returns the position of the current thread's innermost frame, which is read each time.
    #[inline]
    fn innermost(&self, stack: OwnStack, thread: usize) -> Option<Option<Place>> {
        let anchor = thread + self.layout.thread.anchor;
        // SAFETY: the anchor is a field of the current thread's structure.
        let field = |offset| Some((unsafe { read(anchor + offset) }, None));
        self.anchored(stack, &mut NoRecord, field)
    }

    /// Finds frames from a position on, until they join the known ones or are enough.
    #[inline]
    fn walk_from(
        &self,
        stack: OwnStack,
        mut next: Option<Place>,
        depth: usize,
        cache: &mut WalkCache,
        given: &[FrameInfo],
    ) -> Option<()> {
        let (last, cache) = (&mut cache.last, &mut cache.frames);
        let mut enough = depth;
        for _ in 0..MOST_FRAMES {
            let methods = last.found.sums(last.found.frames.len()).methods;
            let found = methods as usize;
            let Some(mut place) = next.filter(|_| found < enough) else {
                last.keep(0);
                last.before = next;
                return Some(());
            };
            last.keep_from(place.sp);
            let known = last.known.frames.last();
            if known.is_some_and(|known| known.place == place) {
                let wanted = depth.saturating_sub(found);
                match self.last_changed(&last.known, last.first_of(wanted)) {
                    Some(changed) => {
                        place = last.known.frames[changed].place;
                        last.find_known(changed + 1);
                        last.keep(changed);
                    }
                    None => {
                        let known = last.known.frames.len();
                        let methods = last.known.sums(known).methods as usize;
                        if methods >= wanted || last.before.is_none() {
                            return Some(());
                        }
                        // A shrinking stack needs one more each time.
                        enough = depth + known.clamp(LEAST_MORE, MOST_MORE);
                        next = last.before;
                        last.find_known(0);
                        continue;
                    }
                }
            }
            let found_frames = last.found.frames.len();
            let methods = last.found.sums(found_frames).methods;
            match self.step(stack, place, cache, (methods, given), &mut last.found) {
                Some((frame, below)) => {
                    last.found.add(place, frame);
                    next = below;
                }
                None => {
                    // The values read so far belong to no frame.
                    last.found.truncate(found_frames);
                    if found < depth {
                        return None;
                    }
                    last.keep(0);
                    last.before = Some(place);
                    return Some(());
                }
            }
        }
        None
    }

    /// Returns the last frame from `first` on from which a walk would not go on as before.
    #[inline]
    fn last_changed(&self, known: &FrameList, first: usize) -> Option<usize> {
        known.last_changed(first, self)
    }

    /// Returns the current thread's stack from here on.
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
}

impl Layout {
    /// Returns `true` if everything that is read of a compiled method's header is within its first `bytes` bytes.
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

impl Unchanged for StackWalker {
    #[inline(always)]
    fn is_word(&self, word: &Word) -> bool {
        // SAFETY: the word was read before. Where it is one of the stack, it lies below a frame that has been found now, so
        // it is in use; what an id that is an address points to can be read for good.
        unsafe { read::<usize>(word.address) == word.value }
    }

    #[inline(always)]
    fn is_code(&self, code: &Code) -> bool {
        self.code.is_in_use(code.blob, code.start)
            // SAFETY: the blob was found in the code heaps.
            && unsafe { self.layout.identity(code.blob, code.kind) } == code.identity
    }

    #[inline(always)]
    fn is_method(&self, method: &NumberedMethod) -> bool {
        let MethodIds::Numbers(ids) = &self.ids else {
            return true;
        };
        // SAFETY: all words from the innermost frame to this one are unchanged, so the method is in a frame.
        let id = unsafe { ids.of(method.method) };
        id == Some(method.id)
    }
}

/// Returns the range of the interpreter's code.
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

/// Returns where the VM has the `Method*` of the native method in which a virtual thread's frames begin.
fn enter_special(env: Env, jni: Jni<'_>, ids: MethodIds) -> Option<usize> {
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
    if thrown {
        return None;
    }
    let id = id.addr();
    match ids {
        MethodIds::Addresses => (id > LOWEST && id.is_multiple_of(WORD)).then_some(id),
        MethodIds::Numbers(ids) => {
            let classes = ClassAddresses::find(env, jni)?;
            ids.cell(classes.of(jni, class.object())?, id)
        }
    }
}
