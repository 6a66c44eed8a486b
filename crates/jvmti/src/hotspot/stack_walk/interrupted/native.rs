//! Frames of native code: C, C++ and Rust.
//!
//! Only the thread's own stack is read, within its bounds, and a table that the handler's caller keeps. A wrong rule, as of
//! a library that has been replaced at the same place a moment ago, gives a wrong frame, and nothing worse.

use super::super::super::super::native_code::{FrameRule, Saved, UnwindTable};
use super::super::layout::WORD;
use super::super::own_stack::unsigned;
use super::super::probe::MemoryReader;
use super::walk::Walk;
use super::{CallFrame, Interrupted, InterruptedWalker, OwnStack, Place, refused};
use crate::stack_bounds::StackBounds;

/// The most frames of native code in a row.
const MOST_NATIVE_FRAMES: usize = 256;

/// The position of a frame of native code.
#[derive(Clone, Copy)]
pub(super) struct NativePlace {
    pub(super) pc: usize,
    pub(super) sp: usize,
    pub(super) fp: usize,
    /// The return address of a function that has not saved it; 0 on processors whose calls save it.
    link: usize,
    /// `true` if `pc` is the address that a call returns to, which may be after the function that called.
    is_return: bool,
}

impl NativePlace {
    #[inline(always)]
    pub(super) fn interrupted(here: Interrupted) -> Self {
        Self {
            pc: here.pc,
            sp: here.sp,
            fp: here.fp,
            link: here.link,
            is_return: false,
        }
    }

    /// Returns the address of an instruction of the function itself.
    #[inline(always)]
    fn instruction(self) -> usize {
        self.pc.wrapping_sub(usize::from(self.is_return))
    }

    /// Returns the place of the caller; `None` if the frame is the outermost, or cannot be undone.
    #[inline(always)]
    fn caller(self, stack: OwnStack, rule: FrameRule) -> Option<Self> {
        let (end, saved) = match rule {
            FrameRule::AboveStackPointer { end, saved } => (above(self.sp, end), saved),
            FrameRule::AboveFramePointer { end, saved } => (above(self.fp, end), saved),
            FrameRule::LinkageTable { pushed_from } => {
                let is_pushed = self.pc & 15 >= usize::from(pushed_from);
                let words = if is_pushed { 2 } else { 1 };
                let saved = Saved {
                    frame_pointer: None,
                    return_address: Some(-1),
                };
                (above(self.sp, words), saved)
            }
            FrameRule::Unknown => {
                // The frame may be one by the frame pointer.
                let saved = Saved {
                    frame_pointer: Some(-2),
                    return_address: Some(-1),
                };
                (above(self.fp, 2), saved)
            }
            FrameRule::Outermost => return None,
        };
        // Frames lie one after the other; only the innermost may have nothing on the stack.
        let is_further = end > self.sp || end == self.sp && !self.is_return;
        if !is_further || !stack.has(end) {
            return None;
        }
        let place = |at| above(end, i16::from(at));
        let fp = match saved.frame_pointer {
            Some(at) => stack.word(place(at))?,
            None => self.fp,
        };
        let pc = match saved.return_address {
            Some(at) => stack.return_address(place(at))?,
            None if !self.is_return => self.link,
            None => 0,
        };
        (pc != 0).then_some(Self {
            pc,
            sp: end,
            fp,
            link: 0,
            is_return: true,
        })
    }
}

#[inline(always)]
fn above(address: usize, words: i16) -> usize {
    address.wrapping_add_signed((words as isize).wrapping_mul(WORD as isize))
}

impl InterruptedWalker {
    /// As `walk`, for a thread that runs no Java.
    ///
    /// # Safety
    /// `stack` are the bounds of the current thread's stack, the registers are those that the signal interrupted, and
    /// `frames` has room for `depth` of them.
    #[unsafe(link_section = "hprof_handler")]
    #[inline(never)]
    pub(crate) unsafe fn walk_native(
        &self,
        stack: StackBounds,
        mut interrupted: Interrupted,
        (frames, depth): (*mut CallFrame, usize),
        native: &UnwindTable,
    ) -> i32 {
        interrupted.link = unsigned(interrupted.link);
        let Some(stack) = OwnStack::interrupted(interrupted.sp, stack) else {
            return refused::OTHER_STACK;
        };
        let mut walk = Walk {
            walker: self,
            thread: 0,
            stack,
            memory: &MemoryReader::new(),
            deadline: 0,
            frames,
            depth,
            count: 0,
            is_certain: true,
            native: Some(native),
            called_at: None,
        };
        walk.begin_native(interrupted, stack.base()) as i32
    }
}

impl Walk<'_> {
    /// Notes the native code that was interrupted, if it is wanted; the frames to come are counted anew after it. Returns
    /// the number of frames.
    #[inline(always)]
    pub(super) fn begin_native(&mut self, here: Interrupted, end: usize) -> usize {
        let Some(table) = self.native else { return 0 };
        if self.walker.walker.code.blob(here.pc).is_some() {
            return 0;
        }
        self.called_at = self.note_native(table, NativePlace::interrupted(here), end);
        let natives = self.count;
        // SAFETY: `count` is at most `depth`, for which there is room.
        self.frames = unsafe { self.frames.add(natives) };
        self.depth = self.depth.wrapping_sub(natives);
        self.count = 0;
        natives
    }

    /// Notes the frames of native code from a place on, as far as they lie below `end`; returns the place at which code of
    /// the VM's making has called them, if the walk arrives there.
    #[unsafe(link_section = "hprof_handler")]
    #[inline(never)]
    pub(super) fn note_native(
        &mut self,
        table: &UnwindTable,
        from: NativePlace,
        end: usize,
    ) -> Option<Place> {
        let mut place = from;
        let mut noted = 0;
        while noted < MOST_NATIVE_FRAMES && place.sp <= end {
            if self.walker.walker.code.blob(place.pc).is_some() {
                return Some(Place {
                    sp: place.sp,
                    fp: place.fp,
                    pc: place.pc,
                });
            }
            let instruction = place.instruction();
            let rule = table.rule(instruction)?;
            self.note_frame(CallFrame::native(instruction));
            place = place.caller(self.stack.from(place.sp), rule)?;
            noted = noted.wrapping_add(1);
        }
        None
    }

    /// Returns `None`: frame pointers lead to the code that has called native code.
    #[inline(always)]
    pub(super) fn begin_at_call_of_native(&mut self, _here: Interrupted) -> Option<i32> {
        None
    }

    /// Notes the native code that called Java, after the frame by which it did: those of the VM, and of the library that
    /// called it. They lie below `end`.
    #[inline(always)]
    pub(super) fn note_callers_of_java(&mut self, entry: Place, end: usize) {
        let Some(table) = self.native else { return };
        let stack = self.stack.from(entry.sp);
        let (fp, pc) = (
            stack.word(entry.fp),
            stack.return_address(above(entry.fp, 1)),
        );
        if let (Some(fp), Some(pc)) = (fp, pc) {
            let caller = NativePlace {
                pc,
                sp: above(entry.fp, 2),
                fp,
                link: 0,
                is_return: true,
            };
            self.note_native(table, caller, end);
        }
    }
}
