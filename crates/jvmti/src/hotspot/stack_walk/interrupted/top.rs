//! The innermost frame of a thread that was interrupted in Java.

use super::super::super::code_heap::CodeBlob;
use super::super::layout::WORD;
use super::callers::SAVED_REGISTERS;
use super::code::CodeKind;
use super::frame_method::IN_NATIVE;
use super::machine::FrameState;
use super::walk::Walk;
use super::{Interrupted, NoRecord, Place, refused};

/// The most C frames that are followed from the VM's code outwards to the Java code that called it.
const NATIVE_FRAMES: usize = 64;

impl Walk<'_> {
    /// Begins at the interrupted instruction.
    ///
    /// # Safety
    /// As for [`super::InterruptedWalker::walk`]; the thread has no last Java frame.
    #[inline(always)]
    pub(super) unsafe fn begin_at_instruction(&mut self, here: Interrupted) -> i32 {
        let walker = &self.walker.walker;
        if here.pc >= walker.interpreter.start && here.pc < walker.interpreter.end {
            return self.begin_in_interpreter(here);
        }
        let Some(blob) = walker.code.blob(here.pc) else {
            return self.begin_in_native_code(here);
        };
        // SAFETY: the thread is in this code, which keeps it.
        unsafe {
            match self.walker.code.kind(self.memory, blob, true) {
                CodeKind::Compiled => self.begin_in_method(blob, here, false),
                CodeKind::Native => self.begin_in_method(blob, here, true),
                CodeKind::Frameless => self.begin_at_caller(here),
                CodeKind::Stub => self.begin_in_stub(blob, here),
                CodeKind::Unwalkable => refused::DISCARDING,
            }
        }
    }

    /// Begins in code of a method.
    ///
    /// # Safety
    /// The blob is code of a method that the thread is in; `is_native` if that is a native one.
    #[unsafe(link_section = "hprof_handler")]
    #[inline(never)]
    unsafe fn begin_in_method(
        &mut self,
        blob: CodeBlob,
        here: Interrupted,
        is_native: bool,
    ) -> i32 {
        // SAFETY: the caller's promise.
        let Some(state) = (unsafe { self.frame_state(blob, here.pc, true) }) else {
            return refused::METHOD;
        };
        // SAFETY: as above. Compilers put the information where the last instruction of an inlined method begins, so
        // from that address it would be the information of the next method.
        let is_noted = unsafe {
            if is_native {
                self.note_method_of(blob, IN_NATIVE)
            } else {
                state == FrameState::Complete
                    && self.note_compiled(blob, here.pc.wrapping_sub(1), true)
                    || self.note_method_of(blob, 0)
            }
        };
        if !is_noted {
            return refused::METHOD;
        }
        // The instructions tell most states of a frame, but not all: some save registers below a whole one.
        self.is_certain = false;
        match self.caller_place(blob, here, state) {
            Some(place) => self.run(place),
            None => refused::METHOD,
        }
    }

    /// Returns the part of its frame that code has at an instruction; `None` if that cannot be told.
    ///
    /// # Safety
    /// The blob is code that the thread is in.
    #[unsafe(link_section = "hprof_handler")]
    #[inline(never)]
    unsafe fn frame_state(&self, blob: CodeBlob, pc: usize, is_method: bool) -> Option<FrameState> {
        if self.frame_size(blob) == 0 {
            // The calls of method handles, which only jump.
            return Some(FrameState::Absent);
        }
        // SAFETY: the caller's promise.
        unsafe {
            let begin = self.code_begin(blob);
            let complete = begin.wrapping_add(self.walker.code.frame_complete(blob)?);
            let code = self.code_around(pc, begin);
            if pc >= complete {
                return Some(code.while_given_up(pc));
            }
            let entry = if is_method {
                self.walker.code.entry(blob, begin)
            } else {
                begin
            };
            code.while_made(entry, pc)
        }
    }

    /// Returns the caller's place, if the code has that part of its frame.
    #[inline(always)]
    fn caller_place(
        &mut self,
        blob: CodeBlob,
        here: Interrupted,
        state: FrameState,
    ) -> Option<Place> {
        let place = Place {
            sp: here.sp,
            fp: 0,
            pc: here.pc,
        };
        match state {
            FrameState::Complete => self.below_code(blob, place).unwrap_or_default(),
            FrameState::FramePointerUnsaved => match self.below_code(blob, place) {
                Ok(Some(place)) => Some(self.with_fp(place, here.fp)),
                _ => None,
            },
            FrameState::Reserved => {
                let sp = here.sp.wrapping_add(self.frame_size(blob));
                self.caller_of_no_frame(Interrupted { sp, ..here })
            }
            FrameState::FramePointerSaved => {
                let fp = self.stack.word(here.sp)?;
                self.returning(here.sp.wrapping_add(WORD), fp)
            }
            FrameState::Absent => self.caller_of_no_frame(here),
        }
    }

    /// Returns the caller's place, if no part of a frame is there.
    #[inline(always)]
    fn caller_of_no_frame(&self, here: Interrupted) -> Option<Place> {
        if here.link == 0 {
            return self.returning(here.sp, here.fp);
        }
        let place = Place {
            sp: here.sp,
            fp: 0,
            pc: here.link,
        };
        Some(self.with_fp(place, here.fp))
    }

    /// Returns the caller's place, if its return address is at `at`.
    #[inline(always)]
    fn returning(&self, at: usize, fp: usize) -> Option<Place> {
        let pc = self.stack.return_address(at)?;
        let sp = at.wrapping_add(WORD);
        Some(self.with_fp(Place { sp, fp: 0, pc }, fp))
    }

    #[inline(always)]
    fn with_fp(&self, place: Place, fp: usize) -> Place {
        if self.walker.walker.is_found_by_fp(place.pc) {
            Place { fp, ..place }
        } else {
            place
        }
    }

    /// Begins in the interpreter: in a frame, or while one is made.
    #[unsafe(link_section = "hprof_handler")]
    #[inline(never)]
    fn begin_in_interpreter(&mut self, here: Interrupted) -> i32 {
        self.is_certain = false;
        let frame = Place {
            sp: here.sp,
            fp: here.fp,
            pc: here.pc,
        };
        let walker = &self.walker.walker;
        if self.note_interpreted(frame, here.bytecode)
            && let Some(below) =
                walker.below_interpreted(self.stack.from(frame.sp), frame, &mut NoRecord)
        {
            let count = self.run(below);
            if count > 0 {
                return count;
            }
        }
        let count = self.begin_at_caller(here);
        if count > 0 {
            return count;
        }
        let count = self.begin_at_caller(self.before_frame(here));
        if count > 0 {
            count
        } else {
            refused::INTERPRETER
        }
    }

    /// Returns the registers before the interpreter made its frame, of which it has as yet only the first words: the
    /// caller's frame pointer and stack pointer, after the return address.
    #[inline(always)]
    fn before_frame(&self, here: Interrupted) -> Interrupted {
        let word = |address, otherwise| self.stack.word(address).unwrap_or(otherwise);
        Interrupted {
            sp: here.fp.wrapping_add(WORD),
            fp: word(here.fp, 0),
            sender_sp: word(here.fp.wrapping_sub(WORD), here.sender_sp),
            ..here
        }
    }

    /// Begins at the caller of code without a frame.
    #[unsafe(link_section = "hprof_handler")]
    #[inline(never)]
    fn begin_at_caller(&mut self, here: Interrupted) -> i32 {
        if let Some(place) = self.caller_of_no_frame(here) {
            // The arguments may have been moved to a larger place below the caller's frame.
            if here.sender_sp > place.sp && self.stack.has(here.sender_sp) {
                let sp = here.sender_sp;
                let count = self.try_at(Place { sp, ..place });
                if count > 0 {
                    return count;
                }
            }
            let count = self.try_at(place);
            if count > 0 {
                return count;
            }
        }
        self.begin_after_popped(here)
    }

    /// Begins at the caller of code that has taken its return address from the stack, to put it back at another place.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn begin_after_popped(&mut self, here: Interrupted) -> i32 {
        for sp in [here.sender_sp, here.sp] {
            if let Some(pc) = self.stack.word_below(sp) {
                let count = self.try_at(self.with_fp(Place { sp, fp: 0, pc }, here.fp));
                if count > 0 {
                    return count;
                }
            }
        }
        refused::STUB
    }

    /// There is no such code here: the return address is in a register.
    #[cfg(target_arch = "aarch64")]
    #[inline(always)]
    fn begin_after_popped(&mut self, _here: Interrupted) -> i32 {
        refused::STUB
    }

    /// Begins in a stub: one with a frame of known size, or one that has one only by its frame pointer, or none.
    ///
    /// # Safety
    /// The blob is code that the thread is in.
    #[unsafe(link_section = "hprof_handler")]
    #[inline(never)]
    unsafe fn begin_in_stub(&mut self, blob: CodeBlob, here: Interrupted) -> i32 {
        // SAFETY: the caller's promise.
        let state = unsafe { self.frame_state(blob, here.pc, false) };
        if self.frame_size(blob) >= 2 * WORD
            && let Some(state) = state
            && let Some(place) = self.caller_place(blob, here, state)
        {
            let count = self.try_at(place);
            if count > 0 {
                return count;
            }
        }
        let entry = self.nearest_entry(blob, here.pc, here.sp);
        for state in [FrameState::Absent, FrameState::FramePointerSaved] {
            if let Some(place) = self.caller_place(blob, here, state)
                && self.may_have_called(place.pc, entry)
            {
                let count = self.try_at(place);
                if count > 0 {
                    return count;
                }
            }
        }
        let count = self.begin_after_saved_registers(entry, here.sp, here.fp);
        if count > 0 {
            return count;
        }
        let count = self.begin_in_native_code(here);
        if count > 0 { count } else { refused::STUB }
    }

    /// Begins at the caller of a stub that has saved registers in a place of its own: after the first word that is the
    /// address after a call of this stub, whose entry is given if it is known.
    #[unsafe(link_section = "hprof_handler")]
    #[inline(never)]
    fn begin_after_saved_registers(&mut self, entry: Option<usize>, sp: usize, fp: usize) -> i32 {
        if entry.is_none() {
            return refused::STUB;
        }
        let mut at = sp;
        for _ in 0..SAVED_REGISTERS {
            if let Some(place) = self.returning(at, fp)
                && self.target_of_call(place.pc) == entry
            {
                return self.try_caller_with_arguments(place);
            }
            at = at.wrapping_add(WORD);
        }
        refused::STUB
    }

    /// Begins at the caller of a stub that has called C code, if the place is in one. Most have a frame pointer; that of the
    /// entry barrier has a word of its own between it and the return address.
    #[unsafe(link_section = "hprof_handler")]
    #[inline(never)]
    fn begin_after_stub(&mut self, place: Place, fp: usize) -> i32 {
        let Some(blob) = self.walker.walker.code.blob(place.pc) else {
            return refused::STUB;
        };
        // SAFETY: the code is in use, and its header can be read, whatever it holds. Nothing is taken for certain.
        if unsafe { self.walker.code.kind(self.memory, blob, false) } != CodeKind::Stub {
            return refused::STUB;
        }
        // With all the registers that it has saved, the frame may be larger than what is searched.
        if let Some(outer) = self.stack.from(place.sp).word(fp)
            && let Some(caller) = self.returning(fp.wrapping_add(WORD), outer)
            && self.has_called(caller.pc, blob)
        {
            let count = self.try_caller_with_arguments(caller);
            if count > 0 {
                return count;
            }
        }
        let entry = self.nearest_entry(blob, place.pc, place.sp);
        self.begin_after_saved_registers(entry, place.sp, fp)
    }

    /// Begins at the caller of a stub, which may have pushed arguments.
    #[inline(always)]
    fn try_caller_with_arguments(&mut self, place: Place) -> i32 {
        let count = self.try_caller(place, true);
        let code = self.code_around(place.pc, place.pc.wrapping_sub(WORD * 2));
        let pushed = code.pushed_before_call(place.pc);
        if count > 0 || pushed == 0 {
            return count;
        }
        let sp = place.sp.wrapping_add(pushed.wrapping_mul(WORD));
        self.try_caller(Place { sp, ..place }, true)
    }

    /// Begins in C code that Java has called without leaving word of its last frame, or in a stub: follows the frame
    /// pointers to the first code of the VM's making.
    #[unsafe(link_section = "hprof_handler")]
    #[inline(never)]
    fn begin_in_native_code(&mut self, here: Interrupted) -> i32 {
        if let Some(place) = self.called_at {
            let fp = if self.walker.walker.is_found_by_fp(place.pc) {
                place.fp
            } else {
                0
            };
            let count = self.try_caller(Place { fp, ..place }, false);
            if count > 0 {
                return count;
            }
            let count = self.begin_after_stub(place, place.fp);
            if count > 0 {
                return count;
            }
        }
        if let Some(count) = self.begin_at_call_of_native(here) {
            return count;
        }
        if self.stack.word(here.fp).is_none() {
            return self.begin_at_caller_of_entry(here);
        }
        let mut fp = here.fp;
        let mut stack = self.stack;
        let mut called = None;
        let mut frames = 0;
        while frames < NATIVE_FRAMES {
            let at = fp.wrapping_add(WORD);
            let (Some(outer), Some(pc)) = (stack.word(fp), stack.return_address(at)) else {
                return refused::NATIVE_CODE;
            };
            if let Some(blob) = self.walker.walker.code.blob(pc) {
                let place = self.with_fp(
                    Place {
                        sp: at.wrapping_add(WORD),
                        fp: 0,
                        pc,
                    },
                    outer,
                );
                let is_surely_called = called.is_some_and(|called| self.has_called(pc, called));
                let count = self.try_caller(place, is_surely_called);
                if count > 0 {
                    return count;
                }
                let count = self.begin_after_stub(place, outer);
                if count > 0 {
                    return count;
                }
                called = Some(blob);
            }
            stack = stack.from(at);
            fp = outer;
            frames = frames.wrapping_add(1);
        }
        refused::NATIVE_CODE
    }

    /// Begins at the Java code, or the stub, that has called a C function which has not made its frame yet: its frame pointer is
    /// still whatever Java keeps in that register.
    #[inline(always)]
    fn begin_at_caller_of_entry(&mut self, here: Interrupted) -> i32 {
        let Some(place) = self.caller_of_no_frame(here) else {
            return refused::NATIVE_CODE;
        };
        self.try_at_call(place, here.fp)
    }

    /// Begins at the place after a call of C code.
    #[inline(always)]
    pub(super) fn try_at_call(&mut self, place: Place, fp: usize) -> i32 {
        let count = self.try_at(place);
        if count > 0 {
            return count;
        }
        let count = self.begin_after_stub(place, fp);
        if count > 0 {
            count
        } else {
            refused::NATIVE_CODE
        }
    }

    /// Begins at a likely caller: a method or the interpreter, after a call.
    #[inline(always)]
    fn try_at(&mut self, place: Place) -> i32 {
        self.try_caller(place, false)
    }

    /// As `try_at`. `is_surely_called` says that the call before the return address is one of the code that was
    /// interrupted; then it may also be one of the calls that compilers put after a method's instructions, and about
    /// which they leave no information.
    #[unsafe(link_section = "hprof_handler")]
    #[inline(never)]
    fn try_caller(&mut self, place: Place, is_surely_called: bool) -> i32 {
        self.count = 0;
        self.is_certain = false;
        let walker = &self.walker.walker;
        if walker.is_found_by_fp(place.pc) {
            return self.run(place);
        }
        let Some(blob) = walker.code.blob(place.pc) else {
            return refused::STUB;
        };
        // SAFETY: the code is in use, and its header can be read, whatever it holds. Nothing is taken for certain.
        unsafe {
            let kind = self.walker.code.kind(self.memory, blob, false);
            match kind {
                CodeKind::Compiled | CodeKind::Native => {}
                CodeKind::Stub => return self.run(place),
                CodeKind::Frameless | CodeKind::Unwalkable => return refused::STUB,
            }
            let begin = self.code_begin(blob);
            let is_call = self.code_around(place.pc, begin).is_after_call(place.pc);
            let complete = self.walker.code.frame_complete(blob);
            let is_in_frame = match complete {
                Some(complete) => place.pc >= begin.wrapping_add(complete),
                None => false,
            };
            // Compilers call the entry barrier when the frame is there, but before they count it as complete.
            let is_at_entry = !is_in_frame
                && is_surely_called
                && self.frame_state(blob, place.pc, true) == Some(FrameState::Complete);
            if !is_call || !is_in_frame && !is_at_entry {
                return refused::STUB;
            }
            let noted = if kind == CodeKind::Native {
                self.note_method_of(blob, IN_NATIVE).then_some(0)
            } else if is_at_entry {
                self.note_method_of(blob, 0).then_some(0)
            } else {
                self.note_calling(blob, place.pc, is_surely_called)
            };
            let Some(saved) = noted else {
                return refused::STUB;
            };
            let sp = place.sp.wrapping_add(saved);
            match self.below_code(blob, Place { sp, ..place }) {
                Ok(Some(below)) => self.run(below),
                _ => refused::STUB,
            }
        }
    }
}
