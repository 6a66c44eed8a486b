//! Instructions that say how much of its frame a piece of code has made or given up, and whether a call has just been
//! returned from. All of them are bytes of code in use.

#[cfg(target_arch = "x86_64")]
use super::super::layout::WORD;
use super::read;

/// The part of its frame that code has at an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FrameState {
    /// None: the return address is the last thing on the stack, or in the link register.
    Absent,
    /// Its room: the stack pointer is that of the whole frame, and nothing is in it yet.
    #[cfg_attr(
        target_arch = "x86_64",
        allow(dead_code, reason = "the return address is on the stack there")
    )]
    Reserved,
    /// The caller's frame pointer has been saved after the return address.
    FramePointerSaved,
    /// All of it, but the caller's frame pointer is still in its register.
    #[cfg_attr(
        target_arch = "aarch64",
        allow(dead_code, reason = "it is saved with the return address there")
    )]
    FramePointerUnsaved,
    /// All of it.
    Complete,
}

/// The end of a call that a compiler has put after a method's instructions, for what is rarely needed: it gets saved
/// registers back, and jumps to the instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OutOfLine {
    /// The bytes by which the stack pointer is below that of the method.
    pub(super) saved: usize,
    /// The instruction to which it jumps.
    pub(super) back: usize,
}

/// The bytes of the longest call that has its target: one that loads it into a register first.
pub(super) const LONGEST_CALL: usize = 13;

/// Some bytes of code that may be read.
#[derive(Clone, Copy)]
pub(super) struct InterruptedCode {
    pub(super) begin: usize,
    pub(super) end: usize,
}

impl InterruptedCode {
    /// Returns the byte at an address, 0 outside the code.
    #[inline(always)]
    fn byte(self, address: usize) -> u8 {
        if address < self.begin || address >= self.end {
            return 0;
        }
        // SAFETY: the code is in use.
        unsafe { read(address) }
    }
}

#[cfg(target_arch = "x86_64")]
impl InterruptedCode {
    /// Returns `true` if these bytes are at an address.
    #[inline(always)]
    fn has(self, address: usize, bytes: &[u8]) -> bool {
        for (at, &byte) in bytes.iter().enumerate() {
            if self.byte(address.wrapping_add(at)) != byte {
                return false;
            }
        }
        true
    }

    /// Returns `true` if the instruction before a return address is a call.
    #[inline(always)]
    pub(super) fn is_after_call(self, pc: usize) -> bool {
        let byte = |before: usize| self.byte(pc.wrapping_sub(before));
        // call rel32; then `FF /2` with a register, with a base and no or a byte or four bytes of distance, the last
        // two also with an index.
        byte(5) == 0xe8
            || byte(2) == 0xff && (byte(1) & 0xf8 == 0xd0 || byte(1) & 0xf8 == 0x10)
            || byte(3) == 0xff && byte(2) & 0xf8 == 0x50
            || byte(4) == 0xff && byte(3) == 0x54
            || byte(6) == 0xff && (byte(5) & 0xf8 == 0x90 || byte(5) == 0x15)
            || byte(7) == 0xff && byte(6) == 0x94
    }

    /// Returns the target of the call before a return address, if the instruction has it.
    #[inline(always)]
    pub(super) fn called(self, pc: usize) -> Option<usize> {
        if self.byte(pc.wrapping_sub(5)) == 0xe8 {
            return Some(pc.wrapping_add_signed(self.distance(pc.wrapping_sub(4))));
        }
        // mov r10, target; call r10
        let begin = pc.wrapping_sub(LONGEST_CALL);
        if !self.has(begin, &[0x49, 0xba]) || !self.has(pc.wrapping_sub(3), &[0x41, 0xff, 0xd2]) {
            return None;
        }
        let low = self.distance(begin.wrapping_add(2)) as u32;
        let high = self.distance(begin.wrapping_add(6)) as u32;
        Some((u64::from(high) << 32 | u64::from(low)) as usize)
    }

    /// Returns the number of registers that seem to be pushed right before a call with a distance of four bytes. The
    /// last bytes of other instructions can look the same.
    #[inline(always)]
    pub(super) fn pushed_before_call(self, pc: usize) -> usize {
        let mut at = pc.wrapping_sub(6);
        let mut pushed = 0;
        while pushed < MOST_ARGUMENTS && self.byte(at) & 0xf8 == 0x50 {
            pushed = pushed.wrapping_add(1);
            at = at.wrapping_sub(1);
            if self.byte(at) == 0x41 {
                // The prefix for r8 to r15.
                at = at.wrapping_sub(1);
            }
        }
        pushed
    }

    /// Returns the rest of a call out of line from its return address on; `None` if the instructions are others.
    #[inline(always)]
    pub(super) fn out_of_line(self, pc: usize) -> Option<OutOfLine> {
        let mut at = pc;
        let mut saved = 0;
        for _ in 0..MOST_RESTORED {
            let length = if self.byte(at) == 0xe9 {
                let distance = self.distance(at.wrapping_add(1));
                let back = at.wrapping_add(5).wrapping_add_signed(distance);
                return Some(OutOfLine { saved, back });
            } else if self.byte(at) == 0xeb {
                let distance = self.byte(at.wrapping_add(1)) as i8;
                let back = at.wrapping_add(2).wrapping_add_signed(distance.into());
                return Some(OutOfLine { saved, back });
            } else if let Some(length) = self.popping(at) {
                saved = saved.wrapping_add(WORD);
                length
            } else if saved != 0 {
                // The arguments are gone; the result goes to its register.
                self.moving(at)?
            } else if self.has(at, &[0x48, 0x83, 0xc4]) {
                // add rsp, size
                saved = usize::from(self.byte(at.wrapping_add(3)));
                4
            } else if self.has(at, &[0x48, 0x81, 0xc4]) {
                saved = self.distance(at.wrapping_add(3)) as usize;
                7
            } else if self.has(at, &[0xc5, 0xf8, 0x77]) {
                // vzeroupper
                3
            } else {
                self.restoring(at)?
            };
            at = at.wrapping_add(length);
        }
        None
    }

    /// Returns the length of an instruction that pops a register.
    #[inline(always)]
    fn popping(self, at: usize) -> Option<usize> {
        let is_pop = |byte: u8| byte & 0xf8 == 0x58;
        match self.byte(at) {
            0x41 if is_pop(self.byte(at.wrapping_add(1))) => Some(2),
            byte if is_pop(byte) => Some(1),
            _ => None,
        }
    }

    /// Returns the length of an instruction that copies a register of 64 bits to another one.
    #[inline(always)]
    fn moving(self, at: usize) -> Option<usize> {
        let byte = |after| self.byte(at.wrapping_add(after));
        let is_mov = matches!(byte(0), 0x48..=0x4f) && matches!(byte(1), 0x89 | 0x8b);
        (is_mov && byte(2) & 0xc0 == 0xc0).then_some(3)
    }

    /// Returns the length of an instruction that loads a register from the stack, or from another one.
    #[inline(always)]
    fn restoring(self, at: usize) -> Option<usize> {
        let before = match self.byte(at) {
            // mov with a prefix for 64 bits
            0x48..=0x4f if matches!(self.byte(at.wrapping_add(1)), 0x89 | 0x8b) => 2,
            // movdqu, movsd and others, as AVX has them, with a prefix of two, three or four bytes
            0xc5 => 3,
            0xc4 => 4,
            0x62 => 5,
            _ => return None,
        };
        let operands = self.byte(at.wrapping_add(before));
        if operands & 0xc0 == 0xc0 {
            return Some(before.wrapping_add(1));
        }
        // The stack pointer is the base, and there is no index.
        if operands & 7 != 4 || self.byte(at.wrapping_add(before).wrapping_add(1)) != 0x24 {
            return None;
        }
        let distance = match operands >> 6 {
            0 => 0,
            1 => 1,
            _ => 4,
        };
        Some(before.wrapping_add(2).wrapping_add(distance))
    }

    /// Returns the number of four bytes with a sign at an address.
    #[inline(always)]
    fn distance(self, address: usize) -> isize {
        let mut bytes = 0_u32;
        for at in 0..4 {
            bytes |= u32::from(self.byte(address.wrapping_add(at))) << (8 * at);
        }
        bytes as i32 as isize
    }

    /// Returns the state of the frame at an instruction before the one from which on it is complete, by the
    /// instructions from the entry on; `None` if they are of another kind.
    #[inline(always)]
    pub(super) fn while_made(self, entry: usize, pc: usize) -> Option<FrameState> {
        if pc <= entry {
            // The class of the receiver is being checked.
            return Some(FrameState::Absent);
        }
        let mut at = entry;
        let mut state = FrameState::Absent;
        for _ in 0..MOST_INSTRUCTIONS {
            if at == pc {
                return Some(state);
            }
            if at > pc {
                return None;
            }
            let length = if self.has(at, &[0x89, 0x84, 0x24]) {
                // mov [rsp - pages], eax: is there enough stack?
                7
            } else if self.byte(at) == 0x55 {
                // push rbp
                state = FrameState::FramePointerSaved;
                1
            } else if self.has(at, &[0x48, 0x8b, 0xec]) || self.has(at, &[0x48, 0x89, 0xe5]) {
                // mov rbp, rsp
                3
            } else if self.has(at, &[0x48, 0x83, 0xec]) || self.has(at, &[0x48, 0x81, 0xec]) {
                // sub rsp, size
                state = match state {
                    FrameState::FramePointerSaved => FrameState::Complete,
                    _ => FrameState::FramePointerUnsaved,
                };
                if self.byte(at.wrapping_add(1)) == 0x83 {
                    4
                } else {
                    7
                }
            } else if self.has(at, &[0x48, 0x89, 0x6c, 0x24]) {
                // mov [rsp + distance], rbp
                state = FrameState::Complete;
                5
            } else if self.has(at, &[0x48, 0x89, 0xac, 0x24]) {
                state = FrameState::Complete;
                8
            } else if self.byte(at) == 0x90 {
                1
            } else if self.has(at, &[0x0f, 0x1f, 0x44, 0x00, 0x00]) {
                // nop, as long as a jump that may replace it
                5
            } else if state == FrameState::Complete {
                // What follows until the frame counts as complete does not move the stack pointer.
                return Some(state);
            } else {
                return None;
            };
            at = at.wrapping_add(length);
        }
        None
    }

    /// Returns the state of the frame at an instruction after it was complete.
    #[inline(always)]
    pub(super) fn while_given_up(self, pc: usize) -> FrameState {
        let after = pc.wrapping_add(1);
        if self.byte(pc) == 0x5d && (self.is_return(after) || self.is_exit(after)) {
            // pop rbp
            return FrameState::FramePointerSaved;
        }
        if self.is_return(pc) || self.is_poll_stub(pc) || self.is_exit(pc) {
            return FrameState::Absent;
        }
        FrameState::Complete
    }

    /// Returns `true` at the jump by which a method without its frame leaves an exception to the VM: `add rsp, size`, `pop
    /// rbp`, `jmp`. Calls out of line may end the same, but jump back.
    #[inline(always)]
    fn is_exit(self, pc: usize) -> bool {
        let is_removed = self.byte(pc.wrapping_sub(1)) == 0x5d
            && (self.has(pc.wrapping_sub(5), &[0x48, 0x83, 0xc4])
                || self.has(pc.wrapping_sub(8), &[0x48, 0x81, 0xc4]));
        if !is_removed || self.byte(pc) != 0xe9 {
            return false;
        }
        let after = pc.wrapping_add(5);
        let target = after.wrapping_add_signed(self.distance(pc.wrapping_add(1)));
        target < self.begin || target >= self.end
    }

    /// Returns `true` if a method's end is here: it may have to ask whether a safepoint is wanted, and returns.
    #[inline(always)]
    fn is_return(self, pc: usize) -> bool {
        let mut at = pc;
        for _ in 0..MOST_INSTRUCTIONS {
            let length = if self.byte(at) == 0xc3 || self.byte(at) == 0xc2 {
                return true;
            } else if self.has(at, &[0x49, 0x3b, 0xa7]) || self.has(at, &[0x4d, 0x8b, 0x97]) {
                // cmp rsp, [r15 + distance]; mov r10, [r15 + distance]
                7
            } else if self.has(at, &[0x49, 0x3b, 0x67]) || self.has(at, &[0x4d, 0x8b, 0x57]) {
                4
            } else if self.has(at, &[0x0f, 0x87]) {
                // ja, to the stub below
                6
            } else if self.has(at, &[0x41, 0x85, 0x02]) {
                // test [r10], eax
                3
            } else if self.has(at, &[0xc5, 0xf8, 0x77]) {
                // vzeroupper
                3
            } else {
                return false;
            };
            at = at.wrapping_add(length);
        }
        false
    }

    /// Returns `true` in the code by which a method that returns goes to a safepoint: `lea r10, [rip + distance]`, `mov
    /// [r15 + distance], r10`, `jmp`.
    #[inline(always)]
    fn is_poll_stub(self, pc: usize) -> bool {
        let store = if self.has(pc, &[0x4c, 0x8d, 0x15]) {
            pc.wrapping_add(7)
        } else {
            pc
        };
        self.has(store, &[0x4d, 0x89, 0x97]) && self.byte(store.wrapping_add(7)) == 0xe9
            || self.byte(pc) == 0xe9 && self.has(pc.wrapping_sub(7), &[0x4d, 0x89, 0x97])
    }
}

/// The most arguments that compiled code pushes for a stub.
#[cfg(target_arch = "x86_64")]
const MOST_ARGUMENTS: usize = 4;

/// The most instructions that get saved registers back: all registers, with those for floating point.
#[cfg(target_arch = "x86_64")]
const MOST_RESTORED: usize = 64;

/// The most instructions that are looked at.
#[cfg(target_arch = "x86_64")]
const MOST_INSTRUCTIONS: usize = 12;

/// The most instructions before a frame is complete.
#[cfg(target_arch = "aarch64")]
const MOST_INSTRUCTIONS: usize = 64;

#[cfg(target_arch = "aarch64")]
impl InterruptedCode {
    #[inline(always)]
    fn instruction(self, address: usize) -> u32 {
        let mut bytes = 0_u32;
        for at in 0..4 {
            bytes |= u32::from(self.byte(address.wrapping_add(at))) << (8 * at);
        }
        bytes
    }

    /// Returns `true` if the instruction before a return address is a call.
    #[inline(always)]
    pub(super) fn is_after_call(self, pc: usize) -> bool {
        let before = self.instruction(pc.wrapping_sub(4));
        before >> 26 == 0b10_0101 || before & 0xffff_fc1f == 0xd63f_0000
    }

    /// Returns the target of the call before a return address, if the instruction has it.
    #[inline(always)]
    pub(super) fn called(self, pc: usize) -> Option<usize> {
        let call = pc.wrapping_sub(4);
        let before = self.instruction(call);
        if before >> 26 != 0b10_0101 {
            return None;
        }
        let distance = ((before << 6) as i32 >> 4) as isize;
        Some(call.wrapping_add_signed(distance))
    }

    /// Returns `None`: such calls are not known here.
    #[inline(always)]
    pub(super) fn out_of_line(self, _pc: usize) -> Option<OutOfLine> {
        None
    }

    /// Returns 0: arguments of stubs are in registers.
    #[inline(always)]
    pub(super) fn pushed_before_call(self, _pc: usize) -> usize {
        0
    }

    /// Returns the state of the frame at an instruction before the one from which on it is complete, by the
    /// instructions from the entry on: `sub sp, sp, size` and `stp x29, x30, [sp, size - 16]`, or for a large frame `stp x29,
    /// x30, [sp, -16]!` and `sub sp, sp`, the rest of the size. `None` if there are too many.
    #[inline(always)]
    pub(super) fn while_made(self, entry: usize, pc: usize) -> Option<FrameState> {
        let mut at = entry;
        let mut state = FrameState::Absent;
        for _ in 0..MOST_INSTRUCTIONS {
            // Before the entry, the class of the receiver is being checked.
            if at >= pc {
                return Some(state);
            }
            let instruction = self.instruction(at);
            // The size is in the instruction, or in a register.
            let is_sub_sp = instruction & 0xff80_03ff == 0xd100_03ff
                || instruction & 0xffe0_ffff == 0xcb20_63ff;
            state = match state {
                FrameState::Absent if is_sub_sp => FrameState::Reserved,
                FrameState::Absent if instruction == 0xa9bf_7bfd => FrameState::FramePointerSaved,
                FrameState::Reserved if instruction & 0xffc0_7fff == 0xa900_7bfd => {
                    FrameState::Complete
                }
                FrameState::FramePointerSaved if is_sub_sp => FrameState::Complete,
                // A class that is being initialized, or the barrier that follows, may be asked about.
                state => state,
            };
            at = at.wrapping_add(4);
        }
        None
    }

    /// Returns the state of the frame at an instruction after it was complete.
    #[inline(always)]
    pub(super) fn while_given_up(self, pc: usize) -> FrameState {
        if self.is_return(pc) || self.is_exit(pc) {
            FrameState::Absent
        } else {
            FrameState::Complete
        }
    }

    /// Returns `true` if a method's end is here: it may have to ask whether a safepoint is wanted, and returns.
    #[inline(always)]
    fn is_return(self, pc: usize) -> bool {
        const RETURN: u32 = 0xd65f_03c0;
        /// The most instructions of such a question.
        const MOST: usize = 3;
        let mut at = pc;
        for _ in 0..=MOST {
            let instruction = self.instruction(at);
            if instruction == RETURN {
                return true;
            }
            // ldr x8, [x28, distance]; cmp sp, x8; b.hi; ldr wzr, [x8]
            let is_question = instruction & 0xffc0_03ff == 0xf940_0388
                || instruction == 0xeb28_63ff
                || instruction & 0xff00_001f == 0x5400_0008
                || instruction == 0xb940_011f;
            if !is_question {
                return false;
            }
            at = at.wrapping_add(4);
        }
        false
    }

    /// Returns `true` at the jump by which a method without its frame leaves an exception to the VM: `b`, or `adrp x8`, `add x8`,
    /// `br x8`.
    #[inline(always)]
    fn is_exit(self, pc: usize) -> bool {
        let mut before = 0;
        while before <= 8 {
            let jump = pc.wrapping_sub(before);
            let last = self.instruction(jump.wrapping_sub(4));
            // add sp, sp, size; ldp x29, x30, [sp], 16
            if last & 0xff80_03ff == 0x9100_03ff || last == 0xa8c1_7bfd {
                return self.is_far_jump(jump) || before == 0 && self.is_jump_out(jump);
            }
            before = before.wrapping_add(4);
        }
        false
    }

    #[inline(always)]
    fn is_far_jump(self, pc: usize) -> bool {
        self.instruction(pc) & 0x9f00_001f == 0x9000_0008
            && self.instruction(pc.wrapping_add(4)) & 0xff80_03ff == 0x9100_0108
            && self.instruction(pc.wrapping_add(8)) == 0xd61f_0100
    }

    #[inline(always)]
    fn is_jump_out(self, pc: usize) -> bool {
        let jump = self.instruction(pc);
        let distance = ((jump << 6) as i32 >> 4) as isize;
        let target = pc.wrapping_add_signed(distance);
        jump >> 26 == 0b00_0101 && (target < self.begin || target >= self.end)
    }
}
