//! How the frame of native code is undone at an instruction: what compilers leave for exceptions in `.eh_frame`, as far
//! as a stack walk needs it.

use gimli::{
    CfaRule, EhFrame, EndianSlice, LittleEndian, Register, RegisterRule, UnwindContextStorage,
    UnwindTableRow,
};

const WORD: i64 = size_of::<usize>() as i64;

/// The numbers of registers in this processor's tables.
#[cfg(target_arch = "x86_64")]
mod register {
    use gimli::{Register, X86_64};

    pub(super) const FRAME_POINTER: Register = X86_64::RBP;
    pub(super) const STACK_POINTER: Register = X86_64::RSP;
}
#[cfg(target_arch = "aarch64")]
mod register {
    use gimli::{AArch64, Register};

    pub(super) const FRAME_POINTER: Register = AArch64::X29;
    pub(super) const STACK_POINTER: Register = AArch64::SP;
}

/// Where a frame ends, and where it keeps its caller's registers. Offsets are in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FrameRule {
    /// Nothing is known, or nothing that is simple enough.
    Unknown,
    /// The outermost frame of a thread.
    Outermost,
    /// It ends so many words above the stack pointer.
    AboveStackPointer {
        /// The words.
        end: i16,
        /// Where the caller's registers are.
        saved: Saved,
    },
    /// It ends so many words above the frame pointer.
    AboveFramePointer {
        /// The words.
        end: i16,
        /// Where the caller's registers are.
        saved: Saved,
    },
    /// An entry of the linker's table of functions: the return address is on the stack, and from the instruction on that
    /// is so far from the beginning of an entry, of 16 bytes, a word that was pushed.
    LinkageTable {
        /// The distance of that instruction.
        pushed_from: u8,
    },
}

/// Where a frame keeps its caller's registers, as words from its end; `None` if they are still in the registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Saved {
    /// The frame pointer.
    pub frame_pointer: Option<i8>,
    /// The return address.
    pub return_address: Option<i8>,
}

/// The memory for reading one function: one with more registers or remembered states is not known.
pub(super) struct Room;

impl UnwindContextStorage<usize> for Room {
    type Rules = [(Register, RegisterRule<usize>); 64];
    type Stack = [UnwindTableRow<usize, Self>; 16];
}

/// A section of call frame information.
pub(super) type Section<'file> = EhFrame<EndianSlice<'file, LittleEndian>>;

impl FrameRule {
    /// Returns the rule of a row of a function whose return address has the number `return_address`.
    pub(super) fn of(
        row: &UnwindTableRow<usize, Room>,
        return_address: Register,
        section: &Section<'_>,
    ) -> Self {
        if row.register(return_address) == Some(RegisterRule::Undefined) {
            return Self::Outermost;
        }
        Self::of_inner_frame(row, return_address, section).unwrap_or(Self::Unknown)
    }

    fn of_inner_frame(
        row: &UnwindTableRow<usize, Room>,
        return_address: Register,
        section: &Section<'_>,
    ) -> Option<Self> {
        let (register, offset) = match row.cfa() {
            CfaRule::RegisterAndOffset { register, offset } => (*register, *offset),
            CfaRule::Expression(expression) => {
                return linkage_table(expression.get(section).ok()?.0.slice());
            }
        };
        let saved = |register| match row.register(register) {
            None | Some(RegisterRule::SameValue) => Some(None),
            Some(RegisterRule::Offset(offset)) => Some(Some(words(offset)?)),
            Some(_) => None,
        };
        let saved = Saved {
            frame_pointer: saved(register::FRAME_POINTER)?,
            return_address: saved(return_address)?,
        };
        let end = words(offset)?;
        match register {
            register::STACK_POINTER => Some(Self::AboveStackPointer { end, saved }),
            register::FRAME_POINTER => Some(Self::AboveFramePointer { end, saved }),
            _ => None,
        }
    }
}

/// Returns a distance in words, if it is one.
fn words<T: TryFrom<i64>>(bytes: i64) -> Option<T> {
    if bytes % WORD != 0 {
        return None;
    }
    T::try_from(bytes / WORD).ok()
}

/// Recognizes the expression that linkers write for their tables on x86_64: `rsp + 8 + ((rip & 15) >= n) * 8`.
fn linkage_table(expression: &[u8]) -> Option<FrameRule> {
    const LITERAL_0: u8 = 0x30;
    match expression {
        [
            0x77,
            8,
            0x80,
            0,
            0x3f,
            0x1a,
            literal @ 0x30..=0x3f,
            0x2a,
            0x33,
            0x24,
            0x22,
        ] => Some(FrameRule::LinkageTable {
            pushed_from: literal - LITERAL_0,
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_whole_words_of_a_moderate_number() {
        assert_eq!(words::<i8>(-16), Some(-2));
        assert_eq!(words::<i8>(-12), None);
        assert_eq!(words::<i8>(8 * 200), None);
        assert_eq!(words::<i16>(8 * 200), Some(200));
    }

    #[test]
    fn a_linkers_table_is_recognized() {
        let expression = [
            0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22_u8,
        ];
        assert_eq!(
            linkage_table(&expression),
            Some(FrameRule::LinkageTable { pushed_from: 11 })
        );
        assert_eq!(linkage_table(&expression[1..]), None);
    }
}
