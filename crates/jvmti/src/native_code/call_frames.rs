//! Call frame information, as `.eh_frame` has it: Linux Standard Base, "Exception Frames", and DWARF 5, section 6.4.
//!
//! For a stack walk two registers are enough, the frame pointer and the return address; what becomes of the others is read
//! over. A library that knows all of DWARF is ten times as large as what is here.

use super::bytes::Bytes;

/// The most states that a function remembers at a time.
const MOST_STATES: usize = 16;

/// A function, and what is said of its frame.
pub(super) struct Function<'section> {
    /// The first address, and the first after it.
    pub(super) begin: u64,
    pub(super) end: u64,
    common: Common<'section>,
    instructions: Bytes<'section>,
}

/// The part that several functions share, a common information entry.
#[derive(Clone, Copy)]
struct Common<'section> {
    /// How many bytes an address advances by one.
    code_alignment: u64,
    data_alignment: i64,
    return_address: u64,
    /// How the addresses of functions are written.
    encoding: u8,
    /// `true` if lengths follow that tell where the instructions begin.
    is_augmented: bool,
    instructions: Bytes<'section>,
}

/// The state of a frame at an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FrameState<'section> {
    /// Where the frame ends.
    pub(super) end: FrameEnd<'section>,
    pub(super) frame_pointer: Register,
    pub(super) return_address: Register,
}

/// Where a frame ends: the address that DWARF calls the canonical frame address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FrameEnd<'section> {
    /// So many bytes above a register.
    Above {
        register: u64,
        offset: i64,
    },
    Expression(&'section [u8]),
}

/// Where the caller's value of a register is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Register {
    /// In the register.
    Same,
    /// Nowhere.
    Undefined,
    /// So many bytes from the end of the frame.
    At(i64),
    /// Anywhere else.
    Other,
}

/// Calls `visit` for each function that the section describes, which is at `address`. What is malformed is left out.
pub(super) fn for_each_function<'section>(
    section: &'section [u8],
    address: u64,
    mut visit: impl FnMut(&Function<'section>),
) {
    let mut rest = Bytes::new(section, address);
    let mut known: Option<(usize, Common<'section>)> = None;
    while let Some((mut entry, id_at)) = next_entry(&mut rest, section.len()) {
        let Some(id) = entry.u32() else { continue };
        // An entry that functions have in common has the number 0; that of a function, the way back to it.
        let Some(common_at) = id_at.checked_sub(id as usize).filter(|_| id != 0) else {
            continue;
        };
        if known.is_none_or(|(at, _)| at != common_at) {
            let common = section.get(common_at..).and_then(|bytes| {
                let address = address.wrapping_add(common_at as u64);
                Common::read(Bytes::new(bytes, address))
            });
            known = common.map(|common| (common_at, common));
        }
        let function = known.and_then(|(_, common)| Function::read(entry, common));
        if let Some(function) = function {
            visit(&function);
        }
    }
}

/// Returns the next entry from its number on, and where that is in the section; `None` at the end.
fn next_entry<'section>(
    rest: &mut Bytes<'section>,
    size: usize,
) -> Option<(Bytes<'section>, usize)> {
    let length = length(rest)?;
    let id_at = size.checked_sub(rest.len())?;
    Some((rest.take(length)?, id_at))
}

/// Returns the length of an entry; `None` at the end of the entries.
fn length(bytes: &mut Bytes<'_>) -> Option<usize> {
    /// Stands before a length of 8 bytes.
    const LONG: u32 = 0xffff_ffff;
    match bytes.u32()? {
        0 => None,
        LONG => usize::try_from(bytes.u64()?).ok(),
        length => Some(length as usize),
    }
}

impl<'section> Common<'section> {
    fn read(mut bytes: Bytes<'section>) -> Option<Self> {
        let length = length(&mut bytes)?;
        let mut entry = bytes.take(length)?;
        if entry.u32()? != 0 {
            return None;
        }
        let version = entry.u8()?;
        let augmentation = entry.text()?;
        let mut common = Self {
            code_alignment: entry.unsigned()?,
            data_alignment: entry.signed()?,
            return_address: match version {
                1 => entry.u8()?.into(),
                3 => entry.unsigned()?,
                _ => return None,
            },
            encoding: 0,
            is_augmented: false,
            instructions: entry,
        };
        match augmentation.split_first() {
            None => common.instructions = entry,
            Some((b'z', letters)) => {
                let length = usize::try_from(entry.unsigned()?).ok()?;
                let mut data = entry.take(length)?;
                common.is_augmented = true;
                common.instructions = entry;
                for letter in letters {
                    match letter {
                        b'R' => common.encoding = data.u8()?,
                        b'L' => drop(data.u8()?),
                        b'P' => {
                            let encoding = data.u8()?;
                            data.encoded(encoding)?;
                        }
                        _ => {}
                    }
                }
            }
            Some(_) => return None,
        }
        Some(common)
    }
}

impl<'section> Function<'section> {
    fn read(mut entry: Bytes<'section>, common: Common<'section>) -> Option<Self> {
        /// The address is the distance from where it is written.
        const FROM_HERE: u8 = 0x10;
        let here = entry.address();
        let begin = entry.encoded(common.encoding)?;
        let begin = match common.encoding & 0xf0 {
            0 => begin,
            FROM_HERE => begin.wrapping_add(here),
            _ => return None,
        };
        let size = entry.encoded(common.encoding)?;
        if common.is_augmented {
            let length = usize::try_from(entry.unsigned()?).ok()?;
            entry.take(length)?;
        }
        Some(Self {
            begin,
            end: begin.checked_add(size)?,
            common,
            instructions: entry,
        })
    }

    /// Calls `visit` with the first address of each row; with `None` from where on nothing is known, because there is
    /// something malformed or unknown.
    pub(super) fn rows(
        &self,
        frame_pointer: u64,
        mut visit: impl FnMut(u64, Option<&FrameState<'section>>),
    ) {
        let mut machine = Machine {
            common: &self.common,
            frame_pointer,
            row: FrameState {
                end: FrameEnd::Expression(&[]),
                frame_pointer: Register::Same,
                return_address: Register::Same,
            },
            initial: None,
            remembered: Vec::new(),
            at: self.begin,
        };
        let mut common = self.common.instructions;
        if machine.run(&mut common, &mut |_, _| ()).is_none() {
            return visit(self.begin, None);
        }
        machine.initial = Some(machine.row);
        let mut own = self.instructions;
        let is_known = machine.run(&mut own, &mut |at, row| visit(at, Some(row)));
        visit(machine.at, is_known.map(|()| &machine.row));
    }
}

/// Follows the instructions of a frame.
struct Machine<'section, 'function> {
    common: &'function Common<'section>,
    frame_pointer: u64,
    row: FrameState<'section>,
    /// The state at the beginning of a function.
    initial: Option<FrameState<'section>>,
    remembered: Vec<FrameState<'section>>,
    /// The first address of the row.
    at: u64,
}

impl<'section> Machine<'section, '_> {
    /// Returns `None` at what is malformed or unknown.
    fn run(
        &mut self,
        code: &mut Bytes<'section>,
        visit: &mut impl FnMut(u64, &FrameState<'section>),
    ) -> Option<()> {
        while let Some(instruction) = code.u8() {
            let operand = u64::from(instruction & 0x3f);
            match instruction & 0xc0 {
                0x40 => self.advance(operand, visit)?,
                0x80 => {
                    let offset = self.scaled(code)?;
                    self.set(operand, Register::At(offset));
                }
                0xc0 => self.restore(operand),
                _ => self.run_extended(instruction, code, visit)?,
            }
        }
        Some(())
    }

    /// Runs an instruction whose operands follow it. The numbers are those of DWARF's `DW_CFA_*`.
    fn run_extended(
        &mut self,
        instruction: u8,
        code: &mut Bytes<'section>,
        visit: &mut impl FnMut(u64, &FrameState<'section>),
    ) -> Option<()> {
        match instruction {
            // nop, and the change of a signature that aarch64 has in return addresses
            0x00 | 0x2d => {}
            // advance_loc1, 2, 4
            0x02 => self.advance(code.u8()?.into(), visit)?,
            0x03 => self.advance(code.u16()?.into(), visit)?,
            0x04 => self.advance(code.u32()?.into(), visit)?,
            // offset_extended, restore_extended
            0x05 => {
                let register = code.unsigned()?;
                let offset = self.scaled(code)?;
                self.set(register, Register::At(offset));
            }
            0x06 => {
                let register = code.unsigned()?;
                self.restore(register);
            }
            // undefined, same_value, register
            0x07 => self.set(code.unsigned()?, Register::Undefined),
            0x08 => self.set(code.unsigned()?, Register::Same),
            0x09 => {
                let register = code.unsigned()?;
                code.unsigned()?;
                self.set(register, Register::Other);
            }
            // remember_state, restore_state
            0x0a if self.remembered.len() < MOST_STATES => self.remembered.push(self.row),
            0x0b => self.row = self.remembered.pop()?,
            // def_cfa, def_cfa_register, def_cfa_offset, def_cfa_expression
            0x0c => {
                let register = code.unsigned()?;
                let offset = i64::try_from(code.unsigned()?).ok()?;
                self.row.end = FrameEnd::Above { register, offset };
            }
            0x0d => {
                let (_, offset) = self.above()?;
                let register = code.unsigned()?;
                self.row.end = FrameEnd::Above { register, offset };
            }
            0x0e => {
                let (register, _) = self.above()?;
                let offset = i64::try_from(code.unsigned()?).ok()?;
                self.row.end = FrameEnd::Above { register, offset };
            }
            0x0f => self.row.end = FrameEnd::Expression(code.block()?),
            // expression, val_expression
            0x10 | 0x16 => {
                let register = code.unsigned()?;
                code.block()?;
                self.set(register, Register::Other);
            }
            // offset_extended_sf
            0x11 => {
                let register = code.unsigned()?;
                let offset = self.scaled_signed(code)?;
                self.set(register, Register::At(offset));
            }
            // def_cfa_sf, def_cfa_offset_sf
            0x12 => {
                let register = code.unsigned()?;
                let offset = self.scaled_signed(code)?;
                self.row.end = FrameEnd::Above { register, offset };
            }
            0x13 => {
                let (register, _) = self.above()?;
                let offset = self.scaled_signed(code)?;
                self.row.end = FrameEnd::Above { register, offset };
            }
            // val_offset, val_offset_sf: both operands have the same length with a sign and without
            0x14 | 0x15 => {
                let register = code.unsigned()?;
                code.unsigned()?;
                self.set(register, Register::Other);
            }
            // GNU_args_size
            0x2e => drop(code.unsigned()?),
            _ => return None,
        }
        Some(())
    }

    fn advance(
        &mut self,
        by: u64,
        visit: &mut impl FnMut(u64, &FrameState<'section>),
    ) -> Option<()> {
        let next = self
            .at
            .checked_add(by.checked_mul(self.common.code_alignment)?)?;
        // What the functions have in common is their first state.
        self.initial?;
        if next != self.at {
            visit(self.at, &self.row);
        }
        self.at = next;
        Some(())
    }

    fn scaled(&self, code: &mut Bytes<'section>) -> Option<i64> {
        let factor = i64::try_from(code.unsigned()?).ok()?;
        factor.checked_mul(self.common.data_alignment)
    }

    fn scaled_signed(&self, code: &mut Bytes<'section>) -> Option<i64> {
        code.signed()?.checked_mul(self.common.data_alignment)
    }

    fn above(&self) -> Option<(u64, i64)> {
        match self.row.end {
            FrameEnd::Above { register, offset } => Some((register, offset)),
            FrameEnd::Expression(_) => None,
        }
    }

    fn set(&mut self, register: u64, value: Register) {
        if register == self.frame_pointer {
            self.row.frame_pointer = value;
        }
        if register == self.common.return_address {
            self.row.return_address = value;
        }
    }

    fn restore(&mut self, register: u64) {
        let Some(initial) = self.initial else { return };
        if register == self.frame_pointer {
            self.row.frame_pointer = initial.frame_pointer;
        }
        if register == self.common.return_address {
            self.row.return_address = initial.return_address;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::Index;

    use super::*;

    /// The end of the frame, the frame pointer, and the return address.
    type State = (FrameEnd<'static>, Register, Register);

    const ADDRESS: u64 = 0x1000;
    const FRAME_POINTER: u64 = 6;

    /// An entry, with its length before it, of a multiple of eight bytes.
    fn entry(id: u32, rest: &[u8]) -> Vec<u8> {
        let mut bytes = id.to_le_bytes().to_vec();
        bytes.extend(rest);
        while !(bytes.len() + 4).is_multiple_of(8) {
            bytes.push(0);
        }
        let length = u32::try_from(bytes.len()).expect("short");
        [length.to_le_bytes().as_slice(), &bytes].concat()
    }

    /// Returns a section as compilers for x86_64 write it: `zR`, 1, -8, the return address in register 16, addresses from here in 4 bytes; the
    /// frame ends 8 bytes above `rsp`, and the return address is right before its end.
    fn section(code: &[u8]) -> Vec<u8> {
        let common = [1, b'z', b'R', 0, 1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1];
        let mut section = entry(0, &common);
        let id_at = section.len() + 4;
        let begin = 0x5000 - i32::try_from(ADDRESS as usize + id_at + 4).expect("small");
        let function = [&begin.to_le_bytes(), &[0x40, 0, 0, 0], &[0][..], code].concat();
        let id = u32::try_from(id_at).expect("small");
        section.extend(entry(id, &function));
        section.extend([0; 4]);
        section
    }

    /// The rows of the only function, with the distance of their addresses from its beginning.
    fn rows(code: &[u8]) -> Vec<(u64, Option<State>)> {
        let section = section(code).leak();
        let mut all = Vec::new();
        for_each_function(section, ADDRESS, |function| {
            assert_eq!((function.begin, function.end), (0x5000, 0x5040));
            function.rows(FRAME_POINTER, |at, row| {
                let row = row.map(|row| (row.end, row.frame_pointer, row.return_address));
                all.push((at - 0x5000, row));
            });
        });
        all
    }

    fn above(register: u64, offset: i64) -> FrameEnd<'static> {
        FrameEnd::Above { register, offset }
    }

    #[test]
    fn a_function_with_a_frame_pointer_has_the_rows_of_its_instructions() {
        let at_return_address = Register::At(-8);
        // push rbp; mov rbp, rsp; ...; leave; ret; and code after that, as before.
        let code = [
            0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x0a, 0x50, 0xc6, 0x0c, 7, 8, 0x41, 0x0b,
        ];
        let pushed = Register::At(-16);
        assert_eq!(
            rows(&code),
            [
                (0, Some((above(7, 8), Register::Same, at_return_address))),
                (1, Some((above(7, 16), pushed, at_return_address))),
                (4, Some((above(6, 16), pushed, at_return_address))),
                (20, Some((above(7, 8), Register::Same, at_return_address))),
                (21, Some((above(6, 16), pushed, at_return_address))),
            ]
        );
    }

    #[test]
    fn other_rules_are_told_apart() {
        let code = [
            0x0f, 2, 0x77, 8, 0x07, 16, 0x10, 6, 1, 0x30, 0x02, 4, 0x13, 0x7e,
        ];
        let first = (
            FrameEnd::Expression(&[0x77, 8]),
            Register::Other,
            Register::Undefined,
        );
        // An offset without a register to add it to.
        assert_eq!(rows(&code), [(0, Some(first)), (4, None)]);
        assert_eq!(rows(&[0x3f]), [(0, None)], "an unknown instruction");
        assert_eq!(rows(&[0x0b]), [(0, None)], "nothing is remembered");
    }

    proptest! {
        #[test]
        fn changed_bytes_are_read_to_some_end(
            changes in vec((any::<Index>(), any::<u8>()), 0..4),
            end in any::<Index>(),
        ) {
            let mut bytes = section(&[0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x0a, 0x0b]);
            for (at, byte) in changes {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            bytes.truncate(end.index(bytes.len() + 1));
            for_each_function(&bytes, ADDRESS, |function| {
                function.rows(FRAME_POINTER, |_, _| ());
            });
        }
    }
}
