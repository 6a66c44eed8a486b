//! The walk from a frame to the outermost one.

use super::super::super::code_heap::CodeBlob;
use super::super::compiled::DebugInfo;
use super::super::layout::WORD;
use super::super::probe::MemoryReader;
use super::code::CodeKind;
use super::frame_method::{IN_NATIVE, InterruptedMethod};
use super::machine::InterruptedCode;
use super::{
    CallFrame, Interrupted, InterruptedWalker, MOST_FRAMES, MOST_TIME, NoRecord, OwnStack, Place,
    UnwindTable, read, refused,
};
use crate::os::clock::walk_nanos;

/// The most methods that can be inlined into each other; HotSpot's own limit is far lower.
const MOST_INLINED: usize = 1_000;

/// The steps after which a walk may be cut, and between two looks at the clock.
const UNCUT: usize = 32;

impl DebugInfo<'_> {
    /// Returns its first and its last byte.
    #[inline(always)]
    fn bounds(&self) -> (usize, usize) {
        let first = self.pcs_begin.min(self.data_begin);
        let after = self.pcs_end.max(self.data_end);
        (first, after.wrapping_sub(1))
    }
}

/// One walk.
pub(super) struct Walk<'a> {
    pub(super) walker: &'a InterruptedWalker,
    /// The current thread in the VM's memory.
    pub(super) thread: usize,
    pub(super) stack: OwnStack,
    pub(super) memory: &'a MemoryReader,
    /// The CPU time of the thread at which the walk is cut; 0 until there have been so many steps that a look at the clock is worth it.
    pub(super) deadline: u64,
    pub(super) frames: *mut CallFrame,
    pub(super) depth: usize,
    pub(super) count: usize,
    /// `false` if the walk begins at a place that is only likely to be a frame.
    pub(super) is_certain: bool,
    /// How frames of native code are undone, if they are wanted.
    pub(super) native: Option<&'a UnwindTable>,
    /// The place at which code of the VM's making has called the native code that was interrupted, as far as is known.
    pub(super) called_at: Option<Place>,
}

impl Walk<'_> {
    /// Begins at the last Java frame of a thread that has left Java.
    ///
    /// # Safety
    /// As for [`InterruptedWalker::walk`]; `anchor` is the thread's, and not empty; `is_in_java` is what the thread's
    /// state says.
    #[inline(always)]
    pub(super) unsafe fn begin_at_last_java_frame(
        &mut self,
        (anchor, is_in_java): (usize, bool),
        interrupted: Interrupted,
    ) -> i32 {
        let fields = &self.walker.walker.layout.anchor;
        // SAFETY: fields of the current thread.
        let field = |offset| unsafe { read::<usize>(anchor.wrapping_add(offset)) };
        let (sp, pc) = (field(fields.sp), field(fields.pc));
        let place = if pc == 0 && interrupted.sp >= sp {
            // It has not called the VM yet, or is back already.
            Some(Some(Place {
                sp,
                fp: field(fields.fp),
                pc: interrupted.pc,
            }))
        } else {
            let walker = &self.walker.walker;
            walker.anchored(self.stack, &mut NoRecord, |offset| {
                Some((field(offset), None))
            })
        };
        match place {
            Some(Some(place)) => {
                // The instruction is where the VM's code leaves it once it is called, which may be just about to happen.
                self.is_certain = pc != 0 || !is_in_java;
                self.run(place)
            }
            Some(None) => 0,
            None => refused::OTHER_STACK,
        }
    }

    /// Walks from a frame to the outermost one, or to the depth that is wanted, or until it has taken too long.
    #[unsafe(link_section = "hprof_handler")]
    #[inline(never)]
    pub(super) fn run(&mut self, mut place: Place) -> i32 {
        let mut steps = 0;
        while self.count < self.depth {
            if steps >= MOST_FRAMES || self.is_late(steps) {
                return self.cut();
            }
            match self.step(place) {
                Ok(Some(below)) => place = below,
                Ok(None) => break,
                // So many frames are no accident.
                Err(_) if self.memory.is_exhausted() && steps >= UNCUT => return self.cut(),
                Err(reason) => return reason,
            }
            steps = steps.wrapping_add(1);
        }
        self.count as i32
    }

    /// Returns `true` if the walk has taken too long since its first so many steps, at every so many. A thread that has lost its processor
    /// meanwhile took no time of it.
    #[inline(always)]
    fn is_late(&mut self, steps: usize) -> bool {
        if steps == 0 || !steps.is_multiple_of(UNCUT) {
            return false;
        }
        let now = walk_nanos();
        if self.deadline == 0 {
            self.deadline = now.wrapping_add(MOST_TIME);
        }
        now >= self.deadline
    }

    /// Notes that frames are missing, and returns the number of those that are there.
    #[inline(always)]
    fn cut(&mut self) -> i32 {
        self.note_frame(CallFrame::cut());
        self.count as i32
    }

    /// Notes the methods of a frame and returns the place of the next one, `None` after the last.
    #[inline(always)]
    fn step(&mut self, place: Place) -> Result<Option<Place>, i32> {
        let walker = &self.walker.walker;
        let stack = self.stack.from(place.sp);
        if place.pc >= walker.interpreter.start && place.pc < walker.interpreter.end {
            if !self.note_interpreted(place, 0) {
                return Err(refused::FRAME);
            }
            let below = walker.below_interpreted(stack, place, &mut NoRecord);
            return found(below);
        }
        if place.pc == walker.call_stub_return {
            let below = walker.below_entry(stack, place, &mut NoRecord);
            let below = below.ok_or(refused::FRAME)?;
            self.note_callers_of_java(place, below.map_or(self.stack.base(), |below| below.sp));
            return Ok(below);
        }
        let Some(blob) = walker.code.blob(place.pc) else {
            return Err(refused::FRAME);
        };
        // SAFETY: the code is in use, and the frame keeps it if that is certain.
        unsafe {
            match self.walker.code.kind(self.memory, blob, self.is_certain) {
                CodeKind::Compiled => {
                    let nmethod = &walker.layout.nmethod;
                    let mut pc = place.pc;
                    if nmethod.is_discarded_at(blob, pc) {
                        let at = place.sp.wrapping_add(self.walker.code.original_pc(blob));
                        match stack.word(at) {
                            Some(original) => pc = original,
                            None => return Err(refused::FRAME),
                        }
                    }
                    if !self.note_compiled(blob, pc, false) {
                        return Err(refused::FRAME);
                    }
                }
                CodeKind::Native => {
                    if !self.note_method_of(blob, IN_NATIVE) {
                        return Err(refused::FRAME);
                    }
                }
                CodeKind::Stub => {}
                // The frame is whole where the thread has called the VM, and only there.
                CodeKind::Unwalkable if self.is_certain && self.count == 0 => {
                    self.is_certain = false;
                    return match self.below_code(blob, place)? {
                        // The VM has made these frames instead of a compiled one, and has not filled them in yet.
                        Some(below)
                            if below.pc >= walker.interpreter.start
                                && below.pc < walker.interpreter.end =>
                        {
                            Err(refused::FRAME)
                        }
                        below => Ok(below),
                    };
                }
                CodeKind::Frameless | CodeKind::Unwalkable => return Err(refused::FRAME),
            }
        }
        self.below_code(blob, place)
    }

    /// Returns the bytes of a frame of some code; 0 if it makes none.
    #[inline(always)]
    pub(super) fn frame_size(&self, blob: CodeBlob) -> usize {
        // SAFETY: every code has this field.
        let words = unsafe { read::<i32>(blob.0 + self.walker.walker.layout.blob.frame_size) };
        (words.max(0) as usize).wrapping_mul(WORD)
    }

    /// Returns the place after a complete frame of code that is not the interpreter's, `None` if it is the last that is
    /// seen.
    #[inline(always)]
    pub(super) fn below_code(
        &mut self,
        blob: CodeBlob,
        place: Place,
    ) -> Result<Option<Place>, i32> {
        let walker = &self.walker.walker;
        let size = self.frame_size(blob);
        if size < 2 * WORD {
            return self.after_continuation(blob, place);
        }
        let sp = place.sp.wrapping_add(size);
        let stack = self.stack.from(place.sp);
        let (fp_at, pc_at) = (sp.wrapping_sub(2 * WORD), sp.wrapping_sub(WORD));
        found(walker.returned_to(stack, (sp, fp_at, pc_at), &mut NoRecord))
    }

    /// Returns the frame by which a virtual thread was continued, after its outermost frame on the stack: that returns
    /// to a stub which brings the next one from the heap. Notes that frames are left there.
    #[inline(always)]
    fn after_continuation(&mut self, blob: CodeBlob, place: Place) -> Result<Option<Place>, i32> {
        let Some(method) = self.walker.walker.continuation_entry else {
            return Err(refused::FRAME);
        };
        let Some(layout) = &self.walker.continuation else {
            let code = &self.walker.code;
            // SAFETY: the code is in use.
            if !self.is_certain && !unsafe { code.is_of_continuations(self.memory, blob) } {
                return Err(refused::FRAME);
            }
            self.note_frame(CallFrame::in_heap());
            return Ok(None);
        };
        // SAFETY: a field of the current thread; the id of a method of the boot loader, which is never unloaded, and its code.
        let (sp, code) = unsafe {
            let method = read::<usize>(method);
            (
                read::<usize>(self.thread.wrapping_add(layout.entry)),
                read::<usize>(method.wrapping_add(layout.code)),
            )
        };
        if code == 0 {
            return Err(refused::CONTINUATION);
        }
        // SAFETY: the VM compiles this method when it links the class, and keeps the code.
        let pc = unsafe { self.code_begin(CodeBlob(code)) };
        if sp == 0 || sp < place.sp || !self.stack.has(sp) || !sp.is_multiple_of(WORD) {
            return Err(refused::CONTINUATION);
        }
        self.note_frame(CallFrame::in_heap());
        Ok(Some(Place { sp, fp: 0, pc }))
    }

    /// Notes the method of an interpreted frame; returns `false` if it is none. `bytecode` is the address of the
    /// current bytecode, if it is known better than the frame has it.
    #[inline(always)]
    pub(super) fn note_interpreted(&mut self, place: Place, bytecode: usize) -> bool {
        let frame = &self.walker.walker.layout.frame;
        let Some(method) = self.stack.word(place.fp.wrapping_add_signed(frame.method)) else {
            return false;
        };
        // This one comes last while the frame is made; the register has it before.
        let saved = self.stack.word(place.fp.wrapping_add_signed(frame.bcp));
        let saved = saved.unwrap_or(0);
        let methods = &self.walker.methods;
        let Some(method) = methods.method(self.memory, method, self.is_certain) else {
            return false;
        };
        let location = match method.index_of(bytecode) {
            Some(index) => index,
            None => match method.index_of(saved) {
                Some(index) => index,
                // If the VM was called while this frame was made, as at the first call of the method, it has the
                // caller's bytecode.
                None if method.is_native => IN_NATIVE,
                None if self.is_certain => 0,
                None => return false,
            },
        };
        self.note(method, location);
        true
    }

    /// Notes the methods that the instruction at `pc` belongs to, innermost first; returns `false` if the VM has no
    /// information about exactly this address, unless `is_near` says that what follows it will do.
    ///
    /// # Safety
    /// The blob is a compiled method that a frame of the current thread keeps.
    #[unsafe(link_section = "hprof_handler")]
    #[inline(never)]
    pub(super) unsafe fn note_compiled(
        &mut self,
        blob: CodeBlob,
        pc: usize,
        is_near: bool,
    ) -> bool {
        let nmethod = &self.walker.walker.layout.nmethod;
        // SAFETY: the caller's promise.
        unsafe {
            let Some(mut info) = nmethod.debug_info_of(blob) else {
                return false;
            };
            let (first, last) = info.bounds();
            let is_kept = self.is_certain || self.is_in_code_heap(blob, first, last);
            info.reader = Some((self.memory, is_kept));
            let scope = if is_near {
                nmethod.desc_from(&info, pc).map(|(_, scope)| scope)
            } else {
                nmethod.scope_of(&info, pc)
            };
            let mut scope = match scope {
                Some(scope) if scope != 0 => scope,
                _ => return false,
            };
            let first = self.count;
            for _ in 0..MOST_INLINED {
                let outer = nmethod.unsigned5(&info, &mut scope);
                let method = nmethod.unsigned5(&info, &mut scope);
                let location = nmethod.unsigned5(&info, &mut scope);
                let (Some(outer), Some(method), Some(location)) = (outer, method, location) else {
                    break;
                };
                let code = &self.walker.code;
                let method = code.method(self.memory, blob, &info, method, self.is_certain);
                let Some(method) = method else {
                    break;
                };
                let methods = &self.walker.methods;
                let Some(method) = methods.method(self.memory, method, self.is_certain) else {
                    break;
                };
                // The number before the first bytecode's is that of the method's entry.
                self.note(method, (location as i32).wrapping_sub(1));
                if outer == 0 {
                    return true;
                }
                scope = outer as usize;
            }
            self.count = first;
            false
        }
    }

    /// Returns `true` if the debug information of compiled code is in the same block of a code heap, whose memory stays.
    #[inline(always)]
    fn is_in_code_heap(&self, blob: CodeBlob, first: usize, last: usize) -> bool {
        let code = &self.walker.walker.code;
        code.blob(first) == Some(blob) && code.blob(last) == Some(blob)
    }

    /// Notes the methods of compiled code that has called something, at a return address about which compilers may have left
    /// no information. Returns the bytes by which it has moved the stack pointer for that call.
    ///
    /// # Safety
    /// The blob is a compiled method in use.
    #[inline(always)]
    pub(super) unsafe fn note_calling(
        &mut self,
        blob: CodeBlob,
        pc: usize,
        is_surely_called: bool,
    ) -> Option<usize> {
        // SAFETY: the caller's promise.
        unsafe {
            let begin = self.code_begin(blob);
            let out = self.code_after(pc).out_of_line(pc);
            let out = match out {
                Some(out) if out.back >= begin && out.back < pc => Some(out),
                _ => None,
            };
            // Only calls out of line move the stack pointer, and after them there are no instructions of the method.
            if let Some(out) = out
                && out.saved > 0
            {
                let is_noted = self.note_compiled(blob, out.back.wrapping_sub(1), true);
                return is_noted.then_some(out.saved);
            }
            let is_noted = self.note_compiled(blob, pc.wrapping_sub(1), true)
                || match out {
                    Some(out) => self.note_compiled(blob, out.back.wrapping_sub(1), true),
                    None => false,
                }
                || is_surely_called && self.note_method_of(blob, 0);
            is_noted.then_some(0)
        }
    }

    /// Notes the method that code was made of; returns `false` if that is none.
    ///
    /// # Safety
    /// The blob is code of a method, which a frame of the current thread keeps, if that is certain.
    #[unsafe(link_section = "hprof_handler")]
    #[inline(never)]
    pub(super) unsafe fn note_method_of(&mut self, blob: CodeBlob, location: i32) -> bool {
        // SAFETY: the caller's promise.
        let method = unsafe { read(blob.0 + self.walker.walker.layout.nmethod.method) };
        let methods = &self.walker.methods;
        let Some(method) = methods.method(self.memory, method, self.is_certain) else {
            return false;
        };
        self.note(method, location);
        true
    }

    /// Returns where the code of a blob begins.
    ///
    /// # Safety
    /// The blob is in use.
    #[inline(always)]
    pub(super) unsafe fn code_begin(&self, blob: CodeBlob) -> usize {
        let layout = &self.walker.walker.layout.nmethod.debug_info;
        // SAFETY: the caller's promise; whatever is freed while the thread is interrupted, a blob's header can be read.
        unsafe { layout.code_begin(blob) }
    }

    /// Returns the code from `begin` to after `pc`, as far as it is surely the same piece of code.
    #[inline(always)]
    pub(super) fn code_around(&self, pc: usize, begin: usize) -> InterruptedCode {
        const BEHIND: usize = 64;
        let mut end = pc.wrapping_add(BEHIND);
        if self.walker.walker.code.blob(end) != self.walker.walker.code.blob(pc) {
            end = pc.wrapping_add(8);
        }
        InterruptedCode { begin, end }
    }

    /// Returns the code after a return address, as far as it is surely the same piece of code.
    #[inline(always)]
    fn code_after(&self, pc: usize) -> InterruptedCode {
        const MOST: usize = 512;
        let code = &self.walker.walker.code;
        let blob = code.blob(pc);
        let mut length = MOST;
        while length > WORD && code.blob(pc.wrapping_add(length)) != blob {
            length /= 2;
        }
        InterruptedCode {
            begin: pc,
            end: pc.wrapping_add(length),
        }
    }

    /// Notes a method.
    #[inline(always)]
    fn note(&mut self, method: InterruptedMethod, location: i32) {
        self.note_frame(CallFrame::new(location, method.method));
    }

    #[inline(always)]
    pub(super) fn note_frame(&mut self, frame: CallFrame) {
        if self.count >= self.depth {
            return;
        }
        // SAFETY: there is room for `depth` frames.
        unsafe { self.frames.add(self.count).write(frame) };
        self.count = self.count.wrapping_add(1);
    }
}

#[inline(always)]
fn found(below: Option<Place>) -> Result<Option<Place>, i32> {
    match below {
        Some(place) => Ok(Some(place)),
        None => Err(refused::FRAME),
    }
}
