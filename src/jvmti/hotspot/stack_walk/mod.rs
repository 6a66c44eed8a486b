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
//! A walk goes on only as far as the stack has changed since the thread's last walk (`memory`). Of that it remembers each frame and
//! every word that it read on the way to the next one: words of the stack, those behind `jmethodID`s, and which code stood where. A walk
//! depends on nothing else. So where it comes to a frame that it knows, with the same stack pointer, frame pointer and return address,
//! and all that was read from there on is as it was, it would find the same frames again. All of it is compared, each time and down
//! to the last frame that is wanted: a thread may have returned from the frames and called up to the same place by another way. To
//! compare takes a few loads a frame that do not wait for each other. The number of the innermost frames follows from sums over all
//! frames (`sums`).
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
//! - **What the last walk read**: words of the stack from the frame on that has been found again, so they are in use now; a place of a
//!   `jmethodID`; and the segment map, the block's head and the head of code where a block of code was found once, which can be
//!   read for good. The segment map says whether a block begins there, the block whether it is in use, and the number of the
//!   compilation whether it is the same one, to which the return address belongs then.
//!
//! Whatever does not fit gives no number: the VM is asked then.

mod cache;
mod compiled;
mod layout;
mod memory;
mod own_stack;
mod sums;

use std::hash::BuildHasher;
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
use memory::{Code, FrameList, Place};
use own_stack::OwnStack;

pub use cache::WalkCache;
pub use memory::FrameKey;
pub use sums::SequenceHash;

/// The most frames that are walked over, those of inlined methods not counted.
const MOST_FRAMES: usize = 4_096;
/// So many more frames than are wanted are walked over where those of the walk before do not suffice.
const LEAST_MORE: usize = 8;
const MOST_MORE: usize = 256;
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

    /// Walks over the current thread's innermost `depth` frames, as far as they are not those of the walk before; `None` where that
    /// cannot be done. `given` is what the VM has given for this very stack, if it was asked: without that a method is not
    /// known that the interpreter runs for the first time ([`WalkCache::unknown`]).
    #[inline]
    pub fn walk(
        &self,
        jni: Jni<'_>,
        depth: usize,
        cache: &mut WalkCache,
        given: &[FrameInfo],
    ) -> Option<Walked> {
        cache.unknown = None;
        let thread = jni.as_raw().addr() - self.jni_environment;
        let stack = self.own_stack(thread)?;
        cache.memory.begin(stack);
        let next = self.anchored(stack, &mut cache.memory.found, |offset| {
            // SAFETY: the anchor is a field of the current thread's structure.
            Some((
                unsafe { read(thread + self.layout.thread.anchor + offset) },
                None,
            ))
        })?;
        // Where the innermost frame is, is looked at each time.
        cache.memory.found.clear();
        self.walk_from(stack, next, depth, cache, given)?;
        if !cache.memory.learn() {
            self.walk_from(stack, next, depth, cache, given)?;
            cache.memory.learn();
        }
        let known = &cache.memory.known;
        let first = cache.memory.first_of(depth);
        let all = known.sums(known.frames.len());
        Some(Walked {
            key: all.key(known.sums(first), depth),
            frames: depth.min(all.methods as usize),
        })
    }

    /// Finds the frames from a place on until the known ones are those that follow, or until they are enough.
    #[inline]
    fn walk_from(
        &self,
        stack: OwnStack,
        mut next: Option<Place>,
        depth: usize,
        cache: &mut WalkCache,
        given: &[FrameInfo],
    ) -> Option<()> {
        let mut enough = depth;
        for _ in 0..MOST_FRAMES {
            let memory = &mut cache.memory;
            let found = memory.found.sums(memory.found.frames.len()).methods as usize;
            let Some(mut place) = next.filter(|_| found < enough) else {
                memory.keep(0);
                memory.before = next;
                return Some(());
            };
            memory.keep_from(place.sp);
            if memory
                .known
                .frames
                .last()
                .is_some_and(|last| last.place == place)
            {
                let wanted = depth.saturating_sub(found);
                let first = memory.first_of(wanted);
                match self.last_changed(&memory.known, first) {
                    Some(changed) => {
                        place = memory.known.frames[changed].place;
                        memory.find_known(changed + 1);
                        memory.keep(changed);
                    }
                    None => {
                        let known = memory.known.frames.len();
                        let methods = memory.known.sums(known).methods as usize;
                        if methods >= wanted || memory.before.is_none() {
                            return Some(());
                        }
                        // A stack that shrinks wants one more each time.
                        enough = depth + known.clamp(LEAST_MORE, MOST_MORE);
                        next = memory.before;
                        memory.find_known(0);
                        continue;
                    }
                }
            }
            match self.step(stack, place, cache, given) {
                Some(below) => next = below,
                None if found >= depth => {
                    cache.memory.keep(0);
                    cache.memory.before = Some(place);
                    return Some(());
                }
                None => return None,
            }
        }
        None
    }

    /// The last frame from `first` on from which a walk would not go on as it did.
    #[inline]
    fn last_changed(&self, known: &FrameList, first: usize) -> Option<usize> {
        known.last_changed(
            first,
            // SAFETY: the word was read before. Where it is one of the stack, it lies below a frame that has been found now, so it is in
            // use; what a `jmethodID` points to can be read for good.
            |word| unsafe { read::<usize>(word.address) } == word.value,
            |code| {
                self.code.is_in_use(code.blob, code.start)
                    // SAFETY: the blob was found in the code heaps.
                    && unsafe { self.layout.identity(code.blob, code.kind) } == code.identity
            },
        )
    }

    /// Finds the frame at a place and where the next one is; `Some(None)` where it is the last.
    #[inline]
    fn step(
        &self,
        stack: OwnStack,
        place: Place,
        cache: &mut WalkCache,
        given: &[FrameInfo],
    ) -> Option<Option<Place>> {
        let found = &cache.memory.found;
        let (frames, methods) = (found.frames.len(), found.sums(found.frames.len()).methods);
        let given = given.get(methods as usize);
        match self.try_step(stack.from(place.sp), place, cache, given) {
            Some((key, below)) => {
                cache.memory.found.add(place, key);
                Some(below)
            }
            None => {
                cache.unknown = cache.unknown.map(|_| methods as usize + 1);
                // What it has read so far belongs to no frame.
                cache.memory.found.truncate(frames);
                None
            }
        }
    }

    #[inline]
    fn try_step(
        &self,
        stack: OwnStack,
        place: Place,
        cache: &mut WalkCache,
        given: Option<&FrameInfo>,
    ) -> Option<(FrameKey, Option<Place>)> {
        if self.interpreter.contains(&place.pc) {
            let (method_at, bcp_at) = (
                place.fp.wrapping_add_signed(self.layout.frame.method),
                place.fp.wrapping_add_signed(self.layout.frame.bcp),
            );
            let (method, bcp) = (stack.word(method_at)?, stack.word(bcp_at)?);
            let Some(id) = self.method_id(cache, method, given) else {
                cache.unknown = Some(0);
                return None;
            };
            let found = &mut cache.memory.found;
            found.read(method_at, method);
            found.read(bcp_at, bcp);
            found.read(id, method);
            let key = FrameKey {
                key: FixedState::default().hash_one((id, bcp)),
                methods: 1,
            };
            Some((key, Some(self.below_interpreted(stack, place, found)?)))
        } else if place.pc == self.call_stub_return {
            let below = self.below_entry(stack, place, &mut cache.memory.found)?;
            Some((FrameKey::default(), below))
        } else {
            let code = self.code_place(cache, place.pc)?;
            cache.memory.found.runs(Code {
                blob: code.blob,
                start: code.start,
                identity: code.identity,
                kind: code.kind,
            });
            let key = FrameKey {
                key: FixedState::default().hash_one((place.pc, code.identity)),
                methods: code.frames,
            };
            let below = match code.kind {
                PlaceKind::ContinuationEntry => None,
                _ => Some(self.below_compiled(stack, place, code, &mut cache.memory.found)?),
            };
            Some((key, below))
        }
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

    /// Where the frame is that an anchor holds; `Some(None)` where it holds none: no Java runs below. `field` answers what a field holds,
    /// and where on the stack that was read.
    #[inline]
    fn anchored(
        &self,
        stack: OwnStack,
        found: &mut FrameList,
        field: impl Fn(usize) -> Option<(usize, Option<usize>)>,
    ) -> Option<Option<Place>> {
        let mut read = |offset| {
            let (value, address) = field(offset)?;
            if let Some(address) = address {
                found.read(address, value);
            }
            Some(value)
        };
        let sp = read(self.layout.anchor.sp)?;
        if sp == 0 {
            return Some(None);
        }
        let (pc, fp) = (read(self.layout.anchor.pc)?, read(self.layout.anchor.fp)?);
        let pc = match pc {
            // The VM has not needed it so far; it is where the call into the VM returns to.
            0 => {
                let address = sp.checked_sub(WORD)?;
                let pc = stack.word(address)?;
                found.read(address, pc);
                pc
            }
            pc => pc,
        };
        let fp = if self.is_found_by_fp(pc) { fp } else { 0 };
        stack.has(sp).then_some(Some(Place { sp, fp, pc }))
    }

    /// Whether the frame of code at this address is found by the frame pointer.
    #[inline]
    fn is_found_by_fp(&self, pc: usize) -> bool {
        self.interpreter.contains(&pc) || pc == self.call_stub_return
    }

    /// The place of a frame whose return address and frame pointer stand at these addresses.
    #[inline]
    fn returned_to(
        &self,
        stack: OwnStack,
        (sp, fp_at, pc_at): (usize, usize, usize),
        found: &mut FrameList,
    ) -> Option<Place> {
        let pc = stack.word(pc_at)?;
        found.read(pc_at, pc);
        let mut fp = 0;
        if self.is_found_by_fp(pc) {
            fp = stack.word(fp_at)?;
            found.read(fp_at, fp);
        }
        stack.has(sp).then_some(Place { sp, fp, pc })
    }

    #[inline]
    fn below_interpreted(
        &self,
        stack: OwnStack,
        place: Place,
        found: &mut FrameList,
    ) -> Option<Place> {
        let sp_at = place.fp.wrapping_add_signed(self.layout.frame.sender_sp);
        let mut sp = stack.word(sp_at)?;
        found.read(sp_at, sp);
        if cfg!(target_arch = "aarch64") {
            // The interpreter reserves the whole of a frame's expression stack, and the frame that is called begins within it.
            sp = sp.max(place.fp.wrapping_add(2 * WORD));
        }
        let is_above = place.sp <= place.fp && place.fp < sp;
        let pc_at = place.fp.wrapping_add(WORD);
        self.returned_to(stack, (sp, place.fp, pc_at), found)
            .filter(|_| is_above)
    }

    /// The frames before the VM called Java.
    fn below_entry(
        &self,
        stack: OwnStack,
        place: Place,
        found: &mut FrameList,
    ) -> Option<Option<Place>> {
        let wrapper_at = place.fp.wrapping_add_signed(self.layout.frame.call_wrapper);
        let wrapper = stack.word(wrapper_at)?;
        found.read(wrapper_at, wrapper);
        let anchor = wrapper.wrapping_add(self.layout.anchor.in_call_wrapper);
        let below = self.anchored(stack, found, |offset| {
            let address = anchor.wrapping_add(offset);
            Some((stack.word(address)?, Some(address)))
        })?;
        let is_above = below.is_none_or(|below| place.sp <= place.fp && place.fp < below.sp);
        is_above.then_some(below)
    }

    /// The frame below that of compiled code or of a stub.
    #[inline]
    fn below_compiled(
        &self,
        stack: OwnStack,
        place: Place,
        code: CodePlace,
        found: &mut FrameList,
    ) -> Option<Place> {
        let sp = place.sp.checked_add(code.frame_words as usize * WORD)?;
        self.returned_to(stack, (sp, sp - 2 * WORD, sp - WORD), found)
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
        let start = self.code.block_start(blob)?;
        // SAFETY: the blob is in use and holds `pc`, and the frame that returns there keeps it.
        let place = unsafe { self.layout.place((blob, start), pc, continuation_entry) }?;
        cache.set_place(pc, place);
        Some(place)
    }
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
