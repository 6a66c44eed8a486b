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
    /// The caller's frame pointer has been saved behind the return address.
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

/// The end of a call that a compiler has put behind a method's instructions, for what is rarely needed: it gets saved
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
        let byte = |behind| self.byte(at.wrapping_add(behind));
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
        if self.byte(pc) == 0x5d && self.is_return(pc.wrapping_add(1)) {
            // pop rbp
            return FrameState::FramePointerSaved;
        }
        if self.is_return(pc) || self.is_poll_stub(pc) {
            return FrameState::Absent;
        }
        FrameState::Complete
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

    /// Returns the state of the frame at an instruction before the one from which on it is complete.
    #[inline(always)]
    pub(super) fn while_made(self, _entry: usize, _pc: usize) -> Option<FrameState> {
        Some(FrameState::Absent)
    }

    /// Returns the state of the frame at an instruction after it was complete.
    #[inline(always)]
    pub(super) fn while_given_up(self, pc: usize) -> FrameState {
        const RETURN: u32 = 0xd65f_03c0;
        if self.instruction(pc) == RETURN {
            FrameState::Absent
        } else {
            FrameState::Complete
        }
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    fn with_code<R>(bytes: &[u8], body: impl FnOnce(InterruptedCode, usize) -> R) -> R {
        let begin = bytes.as_ptr().expose_provenance();
        let end = begin + bytes.len();
        body(InterruptedCode { begin, end }, begin)
    }

    #[test]
    fn a_frame_is_made_in_steps() {
        // mov [rsp - 0x14000], eax; push rbp; sub rsp, 0x20; cmp dword [r15 + 0x20], 1
        let c2 = [
            0x89, 0x84, 0x24, 0x00, 0xc0, 0xfe, 0xff, 0x55, 0x48, 0x83, 0xec, 0x20, 0x41, 0x81,
            0x7f, 0x20, 0x01, 0, 0, 0,
        ];
        with_code(&c2, |code, entry| {
            let state = |at| code.while_made(entry, entry + at);
            assert_eq!(state(0), Some(FrameState::Absent));
            assert_eq!(state(7), Some(FrameState::Absent));
            assert_eq!(state(8), Some(FrameState::FramePointerSaved));
            assert_eq!(state(12), Some(FrameState::Complete));
            assert_eq!(state(20), Some(FrameState::Complete));
            assert_eq!(state(3), None, "not the beginning of an instruction");
        });
        // sub rsp, 0x18; mov [rsp + 0x10], rbp
        let small = [
            0x48, 0x81, 0xec, 0x18, 0, 0, 0, 0x48, 0x89, 0x6c, 0x24, 0x10,
        ];
        with_code(&small, |code, entry| {
            let state = |at| code.while_made(entry, entry + at);
            assert_eq!(state(0), Some(FrameState::Absent));
            assert_eq!(state(7), Some(FrameState::FramePointerUnsaved));
            assert_eq!(state(12), Some(FrameState::Complete));
        });
        with_code(&[0x0f, 0x0b, 0x90], |code, entry| {
            assert_eq!(code.while_made(entry, entry + 2), None, "unknown");
        });
    }

    #[test]
    fn a_frame_is_given_up_in_steps() {
        // add rsp, 0x10; pop rbp; cmp rsp, [r15 + 0x340]; ja; ret
        let end = [
            0x48, 0x83, 0xc4, 0x10, 0x5d, 0x49, 0x3b, 0xa7, 0x40, 0x03, 0, 0, 0x0f, 0x87, 0x10, 0,
            0, 0, 0xc3,
        ];
        with_code(&end, |code, begin| {
            let state = |at| code.while_given_up(begin + at);
            assert_eq!(state(0), FrameState::Complete);
            assert_eq!(state(4), FrameState::FramePointerSaved);
            for at in [5, 12, 18] {
                assert_eq!(state(at), FrameState::Absent, "{at}");
            }
        });
        // A loop asks for safepoints, too, but goes on: mov r10, [r15 + 0x108]; test [r10], eax; inc eax
        let in_loop = [
            0x4d, 0x8b, 0x97, 0x08, 0x01, 0, 0, 0x41, 0x85, 0x02, 0xff, 0xc0,
        ];
        with_code(&in_loop, |code, begin| {
            assert_eq!(code.while_given_up(begin), FrameState::Complete);
        });
    }

    #[test]
    fn calls_out_of_line_are_followed_back() {
        let out = |saved, back| Some(OutOfLine { saved, back });
        // call; mov r8, [rsp]; mov r11, [rsp + 8]; vzeroupper; add rsp, 0x10; jmp
        let saving = [
            0xe8, 0, 0, 0, 0, 0x4c, 0x8b, 0x04, 0x24, 0x4c, 0x8b, 0x5c, 0x24, 0x08, 0xc5, 0xf8,
            0x77, 0x48, 0x83, 0xc4, 0x10, 0xe9, 0xe6, 0xff, 0xff, 0xff,
        ];
        with_code(&saving, |code, begin| {
            assert_eq!(code.out_of_line(begin + 5), out(0x10, begin));
            assert_eq!(code.out_of_line(begin + 6), None, "within an instruction");
        });
        // mov r10, rax; vmovdqu ymm0, [rsp + 0x20]; vmovsd xmm9, [rsp + 0x100]; add rsp, 0x120; jmp, short
        let vectors = [
            0x4c, 0x8b, 0xd0, 0xc5, 0xfe, 0x6f, 0x44, 0x24, 0x20, 0xc5, 0x7b, 0x10, 0x8c, 0x24, 0,
            1, 0, 0, 0x48, 0x81, 0xc4, 0x20, 1, 0, 0, 0xeb, 0xe5,
        ];
        with_code(&vectors, |code, begin| {
            assert_eq!(code.out_of_line(begin), out(0x120, begin));
        });
        with_code(&[0xe9, 0xfb, 0xff, 0xff, 0xff], |code, begin| {
            assert_eq!(code.out_of_line(begin), out(0, begin));
        });
        // add rsp, 0x10; mov r8, rax; pop rax; jmp: arguments on the stack, and a result
        let returning = [
            0x48, 0x83, 0xc4, 0x10, 0x4c, 0x8b, 0xc0, 0x58, 0xe9, 0xf3, 0xff, 0xff, 0xff,
        ];
        with_code(&returning, |code, begin| {
            assert_eq!(code.out_of_line(begin), out(0x18, begin));
        });
        // add rsp, 0x10; mov r8, [rsp]; jmp: the stack pointer is that of the method again
        let not = [0x48, 0x83, 0xc4, 0x10, 0x4c, 0x8b, 0x04, 0x24, 0xeb, 0xf6];
        with_code(&not, |code, begin| {
            assert_eq!(code.out_of_line(begin), None);
        });
        // add rsp, 0x10; pop rbp; ret: the end of a method
        with_code(&[0x48, 0x83, 0xc4, 0x10, 0x5d, 0xc3], |code, begin| {
            assert_eq!(code.out_of_line(begin), None);
        });
        // mov r10, [r15 + 0x108]: of the thread, not of the stack
        with_code(&[0x4d, 0x8b, 0x97, 8, 1, 0, 0, 0xeb, 0], |code, begin| {
            assert_eq!(code.out_of_line(begin), None);
        });
    }

    #[test]
    fn calls_are_recognized_by_their_end() {
        let call = [0x90, 0x90, 0xe8, 0x10, 0, 0, 0, 0x90];
        with_code(&call, |code, begin| {
            assert!(code.is_after_call(begin + 7));
            assert_eq!(code.called(begin + 7), Some(begin + 7 + 0x10));
            assert!(!code.is_after_call(begin + 8));
            assert_eq!(code.called(begin + 8), None);
        });
        with_code(&[0, 0, 0, 0, 0, 0, 0x41, 0xff, 0xd2], |code, begin| {
            assert!(code.is_after_call(begin + 9), "call r10");
            assert_eq!(code.called(begin + 9), None);
        });
        // mov r10, target; call r10
        let far = [
            0x49, 0xba, 0x25, 0x2e, 0, 0xd9, 0xff, 0x7f, 0, 0, 0x41, 0xff, 0xd2,
        ];
        with_code(&far, |code, begin| {
            assert_eq!(code.called(begin + far.len()), Some(0x7fff_d900_2e25));
        });
        // push rsi; push rdi; call. push r10; call.
        let pushed = [0x90, 0x56, 0x57, 0xe8, 0x10, 0, 0, 0];
        with_code(&pushed, |code, begin| {
            assert_eq!(code.pushed_before_call(begin + 8), 2);
        });
        let pushed = [0x90, 0x41, 0x52, 0xe8, 0x10, 0, 0, 0];
        with_code(&pushed, |code, begin| {
            assert_eq!(code.pushed_before_call(begin + 8), 1);
        });
        with_code(&call, |code, begin| {
            assert_eq!(code.pushed_before_call(begin + 7), 0);
        });
    }
}
