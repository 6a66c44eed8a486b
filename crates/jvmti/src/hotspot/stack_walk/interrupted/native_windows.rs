//! Native code on Windows. Its frames are not taken, and have no frame pointers that lead to the Java code which has called it.

use super::super::layout::WORD;
use super::walk::Walk;
use super::{Interrupted, InterruptedWalker, OwnStack, Place};
use crate::stack_bounds::StackBounds;

/// The words in which the call from Java is looked for: what Java calls without leaving word of its last frame is small.
const CALL_WITHIN: usize = 512;
/// The frames in a row that may be left over of earlier calls.
const MOST_LEFT_OVER: usize = 16;
/// The words in which the registers of an exception are looked for.
const EXCEPTION_WITHIN: usize = 4_096;

/// The structure in which Windows keeps the registers (`CONTEXT`): its size, the offsets of what it holds, and how that can be told.
const CONTEXT_SIZE: usize = 1_232;
const CONTEXT_FLAGS: usize = 0x30;
const CONTEXT_SEGMENTS: usize = 0x38;
const CONTEXT_SP: usize = 0x98;
const CONTEXT_FP: usize = 0xa0;
const CONTEXT_R13: usize = 0xe0;
const CONTEXT_PC: usize = 0xf8;
/// The flags for the registers in question, on this processor.
const HAS_REGISTERS: usize = 0x10_0003;
/// The segment in which programs of 64 bits run.
const CODE_SEGMENT: usize = 0x33;

impl InterruptedWalker {
    /// Returns the registers at which an exception was raised that a thread handles: the system leaves them on its stack. `None`
    /// if there was none in Java.
    pub(crate) fn raised_at(&self, sp: usize, stack: StackBounds) -> Option<Interrupted> {
        let own = OwnStack::interrupted(sp, stack)?;
        let mut at = sp.next_multiple_of(2 * WORD);
        for _ in 0..EXCEPTION_WITHIN / 2 {
            if let Some(registers) = self.registers_at(own, at) {
                return Some(registers);
            }
            at += 2 * WORD;
        }
        None
    }

    fn registers_at(&self, stack: OwnStack, at: usize) -> Option<Interrupted> {
        let word = |offset| stack.word(at + offset);
        if word(CONTEXT_FLAGS)? & HAS_REGISTERS != HAS_REGISTERS
            || word(CONTEXT_SEGMENTS)? & 0xffff != CODE_SEGMENT
        {
            return None;
        }
        let (pc, sp, r13) = (word(CONTEXT_PC)?, word(CONTEXT_SP)?, word(CONTEXT_R13)?);
        let is_below = sp >= at + CONTEXT_SIZE && stack.word(sp).is_some();
        let is_java = self.walker.code.blob(pc).is_some();
        (is_below && is_java).then_some(Interrupted {
            pc,
            sp,
            fp: word(CONTEXT_FP)?,
            link: 0,
            bytecode: r13,
            sender_sp: r13,
        })
    }
}

impl Walk<'_> {
    /// Notes nothing.
    pub(super) fn begin_native(&mut self, _here: Interrupted, _end: usize) -> usize {
        debug_assert!(self.native.is_none(), "there is no such table");
        0
    }

    /// Notes nothing.
    pub(super) fn note_callers_of_java(&mut self, _entry: Place, _end: usize) {}

    /// Begins at the code that has called the native code which was interrupted: the first word on the stack that is a return address
    /// after a call of native code, and from which the walk arrives. Returns `None` if the interrupted code is not native.
    pub(super) fn begin_at_call_of_native(&mut self, here: Interrupted) -> Option<i32> {
        let is_java = |address| self.walker.walker.code.blob(address).is_some();
        if is_java(here.pc) {
            return None;
        }
        let mut at = here.sp;
        for _ in 0..CALL_WITHIN {
            let pc = self.stack.return_address(at)?;
            at += WORD;
            if self.has_called_native(pc) && !self.is_left_over(pc, at) {
                // Native code keeps the register that Java may have the frame pointer in, or has saved it.
                let is_found_by_fp = self.walker.walker.is_found_by_fp(pc);
                let fp = if is_found_by_fp { here.fp } else { 0 };
                let count = self.try_at_call(Place { sp: at, fp, pc }, here.fp);
                if count > 0 {
                    return Some(count);
                }
            }
        }
        Some(super::refused::NATIVE_CODE)
    }

    /// Returns `true` if the call before a return address is one of native code.
    fn has_called_native(&self, pc: usize) -> bool {
        let code = &self.walker.walker.code;
        self.target_of_call(pc)
            .is_some_and(|target| code.blob(target).is_none())
    }

    /// Returns `true` if a return address is one of an earlier call, which the native code has left on its part of the stack: then the
    /// frames from there on, the first of which begins at `sp`, come to one that has called native code, and not them.
    fn is_left_over(&self, mut pc: usize, mut sp: usize) -> bool {
        for _ in 0..MOST_LEFT_OVER {
            let walker = &self.walker.walker;
            let Some(blob) = walker.code.blob(pc).filter(|_| !walker.is_found_by_fp(pc)) else {
                return false;
            };
            sp = sp.wrapping_add(self.frame_size(blob));
            match self.stack.return_address(sp.wrapping_sub(WORD)) {
                Some(caller) => pc = caller,
                None => return false,
            }
            if self.has_called_native(pc) {
                return true;
            }
        }
        false
    }
}
