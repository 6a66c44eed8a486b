//! Computes the new position of each instruction when code is inserted, and writes the code with adjusted jumps.

use crate::error::Fault;
use crate::opcodes::{
    GOTO, GOTO_W, IINC, JSR, JSR_W, Kind, LDC, LDC_W, LDC2_W, TABLESWITCH, instruction,
};
use crate::pool::Pool;
use crate::reader::{i32_at, u16_at};

/// The most bytes of code that a method may have.
pub(crate) const MAX_CODE: usize = 0xFFFF;
/// Marks a position at which no instruction starts.
const INSIDE: u32 = u32::MAX;
/// The most rounds of widening, each of which widens at least one jump; real code needs two.
const MAX_ROUNDS: usize = 16;

/// An instruction that is not copied unchanged.
#[derive(Clone, Copy)]
struct ChangedInstruction {
    pc: usize,
    /// [`Kind::Plain`] for the start of a handler that gets code before it.
    kind: Kind,
    /// `true` for a jump that needs four bytes for its offset.
    widened: bool,
}

/// The new position of every old one. Reused for each method, to avoid allocations.
#[derive(Default)]
pub(crate) struct Layout {
    /// By old pc, with one more for the end.
    positions: Vec<u32>,
    changes: Vec<ChangedInstruction>,
    /// The final length of the code, including what the caller appends.
    pub(crate) total: usize,
    /// `true` if there is an instruction that may throw.
    pub(crate) throws: bool,
}

/// The code that is inserted at several places.
#[derive(Clone, Copy)]
pub(crate) struct InsertedCode<'a> {
    /// Before the first instruction.
    pub(crate) entry: &'a [u8],
    /// Before each return.
    pub(crate) exit: &'a [u8],
    /// At the start of some handlers.
    pub(crate) caught: &'a [u8],
}

impl Layout {
    /// Lays out `code` with what is inserted; `caught` is the start of each handler that gets code, in ascending order, if
    /// the instruction there is no jump, switch or return. Returns the length of the result. A position is that of the
    /// code inserted before the instruction, except for pc 0: a jump to it must not enter the method again.
    pub(crate) fn lay_out(
        &mut self,
        code: &[u8],
        pool: &Pool,
        inserted: InsertedCode<'_>,
        caught: &[u16],
    ) -> Result<usize, Fault> {
        self.changes.clear();
        self.find_sites(code, pool, caught)?;
        for _ in 0..MAX_ROUNDS {
            let length = self.place_all(code, inserted);
            if length > MAX_CODE {
                return Err(Fault::TooLarge);
            }
            // No jump can be longer than the code.
            if length <= 0x7FFF || !self.widen(code)? {
                return Ok(length);
            }
        }
        Err(Fault::JumpTooFar)
    }

    /// Finds the instructions to change. Positions are still the old ones.
    fn find_sites(&mut self, code: &[u8], pool: &Pool, caught: &[u16]) -> Result<(), Fault> {
        self.positions.clear();
        self.positions.resize(code.len() + 1, INSIDE);
        self.throws = false;
        let mut pc = 0;
        let mut caught = caught.iter().copied().map(usize::from).peekable();
        while pc < code.len() {
            while caught.next_if(|&handler| handler < pc).is_some() {}
            self.positions[pc] = 0;
            let row = instruction(code[pc]);
            if row.throws && !self.throws {
                self.throws = may_throw(code, pc, pool);
            }
            match row.kind {
                Kind::Plain if caught.peek() == Some(&pc) => {
                    self.changes.push(ChangedInstruction {
                        pc,
                        kind: Kind::Plain,
                        widened: false,
                    })
                }
                Kind::Plain | Kind::Wide => {}
                Kind::Unknown => return Err(Fault::Malformed),
                kind => self.changes.push(ChangedInstruction {
                    pc,
                    kind,
                    widened: false,
                }),
            }
            pc += length_at(code, pc).ok_or(Fault::Malformed)?;
        }
        if pc != code.len() {
            return Err(Fault::Malformed);
        }
        self.positions[pc] = 0;
        Ok(())
    }

    /// Assigns each instruction its position, from change to change. Returns the end.
    fn place_all(&mut self, code: &[u8], inserted: InsertedCode<'_>) -> usize {
        let mut shift = inserted.entry.len();
        let mut from = 0;
        for change in &self.changes {
            place(&mut self.positions[from..=change.pc], from, shift);
            from = change.pc + 1;
            match change.kind {
                Kind::Return => shift += inserted.exit.len(),
                Kind::Plain => shift += inserted.caught.len(),
                Kind::Jump if change.widened => shift += 2,
                // The operands stay aligned; `shift` may shrink here, but not below zero, because the entry is before.
                Kind::Switch => {
                    shift = shift + padding(change.pc + shift) - padding(change.pc);
                }
                _ => {}
            }
        }
        place(&mut self.positions[from..], from, shift);
        code.len() + shift
    }

    /// Marks the jumps that do not reach their targets. Returns `true` if there was one.
    fn widen(&mut self, code: &[u8]) -> Result<bool, Fault> {
        let mut changes = std::mem::take(&mut self.changes);
        let mut widened = false;
        for change in &mut changes {
            if change.kind != Kind::Jump || change.widened {
                continue;
            }
            let operand = u16_at(code, change.pc + 1).ok_or(Fault::Malformed)?;
            let offset = self.new_offset(change.pc, i32::from(operand.cast_signed()))?;
            if i16::try_from(offset).is_ok() {
                continue;
            }
            if !matches!(code[change.pc], GOTO | JSR) {
                return Err(Fault::JumpTooFar);
            }
            change.widened = true;
            widened = true;
        }
        self.changes = changes;
        Ok(widened)
    }

    /// Returns the distance between the instruction at `pc` and its target, at their new positions.
    fn new_offset(&self, pc: usize, offset: i32) -> Result<i32, Fault> {
        let target = target(pc, offset).ok_or(Fault::Malformed)?;
        let to = self.instruction(target).ok_or(Fault::Malformed)?;
        let from = self.instruction(pc).ok_or(Fault::Malformed)?;
        // Both are below 128 KB.
        Ok(to.cast_signed() - from.cast_signed())
    }

    /// Returns the new position of the instruction that started at `pc`; `None` if none did.
    pub(crate) fn instruction(&self, pc: usize) -> Option<u32> {
        let inside = pc + 1 < self.positions.len();
        self.positions
            .get(pc)
            .copied()
            .filter(|&position| inside && position != INSIDE)
    }

    /// Returns the first instruction after `pc`, or the end of the code.
    pub(crate) fn next_instruction(&self, pc: usize) -> usize {
        let rest = self.positions.get(pc + 1..).unwrap_or_default();
        let skipped = rest.iter().take_while(|&&position| position == INSIDE);
        pc + 1 + skipped.count()
    }

    /// Returns the new position of any old one: in tables that describe the code, positions need not be the start of an
    /// instruction, nor even inside the code. Positions outside stay outside.
    pub(crate) fn anywhere(&self, pc: u16) -> u16 {
        let pc = usize::from(pc);
        let end = self.positions.len().saturating_sub(1);
        let position = if pc > end {
            self.total + (pc - end)
        } else {
            let start = self.start_before(pc);
            self.positions[start] as usize + (pc - start)
        };
        u16::try_from(position).unwrap_or(u16::MAX)
    }

    /// Returns the start of the instruction that contains the byte at `pc`.
    fn start_before(&self, pc: usize) -> usize {
        const LONGEST_BUT_SWITCHES: usize = 6;
        let near = (pc.saturating_sub(LONGEST_BUT_SWITCHES)..=pc)
            .rev()
            .find(|&start| self.positions[start] != INSIDE);
        near.unwrap_or_else(|| {
            let after = self.changes.partition_point(|change| change.pc <= pc);
            after
                .checked_sub(1)
                .map_or(0, |change| self.changes[change].pc)
        })
    }

    /// Writes the code, without its entry.
    pub(crate) fn write(
        &self,
        code: &[u8],
        inserted: InsertedCode<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        let mut from = 0;
        for change in &self.changes {
            out.extend_from_slice(&code[from..change.pc]);
            from = change.pc;
            match change.kind {
                Kind::Return => out.extend_from_slice(inserted.exit),
                Kind::Plain => out.extend_from_slice(inserted.caught),
                Kind::Jump => from += self.write_jump(code, *change, out)?,
                Kind::WideJump => {
                    out.push(code[from]);
                    self.write_offset(code, from, from + 1, out)?;
                    from += 5;
                }
                Kind::Switch => from += self.write_switch(code, from, out)?,
                Kind::Wide | Kind::Unknown => {}
            }
        }
        out.extend_from_slice(&code[from..]);
        Ok(())
    }

    fn write_jump(
        &self,
        code: &[u8],
        change: ChangedInstruction,
        out: &mut Vec<u8>,
    ) -> Result<usize, Fault> {
        let opcode = code[change.pc];
        let operand = u16_at(code, change.pc + 1).ok_or(Fault::Malformed)?;
        let offset = self.new_offset(change.pc, i32::from(operand.cast_signed()))?;
        if change.widened {
            out.push(if opcode == JSR { JSR_W } else { GOTO_W });
            out.extend_from_slice(&offset.to_be_bytes());
        } else {
            let offset = i16::try_from(offset).map_err(|_| Fault::JumpTooFar)?;
            out.push(opcode);
            out.extend_from_slice(&offset.to_be_bytes());
        }
        Ok(3)
    }

    fn write_switch(&self, code: &[u8], pc: usize, out: &mut Vec<u8>) -> Result<usize, Fault> {
        let new = self.instruction(pc).ok_or(Fault::Malformed)? as usize;
        out.push(code[pc]);
        out.extend_from_slice(&[0; 3][..padding(new)]);
        let operands = pc + 1 + padding(pc);
        let length = length_at(code, pc).ok_or(Fault::Malformed)?;
        self.write_offset(code, pc, operands, out)?;
        let (fixed, stride) = if code[pc] == TABLESWITCH {
            (12, 4)
        } else {
            (8, 8)
        };
        out.extend_from_slice(&code[operands + 4..operands + fixed]);
        // A row is an offset, preceded by its key in a lookupswitch.
        for row in (operands + fixed..pc + length).step_by(stride) {
            out.extend_from_slice(&code[row..row + stride - 4]);
            self.write_offset(code, pc, row + stride - 4, out)?;
        }
        Ok(length)
    }

    /// Writes the offset at `operand`, of the instruction at `pc`.
    fn write_offset(
        &self,
        code: &[u8],
        pc: usize,
        operand: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        let offset = i32_at(code, operand).ok_or(Fault::Malformed)?;
        let offset = self.new_offset(pc, offset)?;
        out.extend_from_slice(&offset.to_be_bytes());
        Ok(())
    }
}

/// Shifts the positions of the instructions that start from `from` on.
fn place(positions: &mut [u32], from: usize, shift: usize) {
    for (pc, position) in (from + shift..).zip(positions) {
        if *position != INSIDE {
            // Code has at most 64 KB, and at most six bytes are inserted for each of its own.
            *position = u32::try_from(pc).unwrap_or(INSIDE - 1);
        }
    }
}

/// Returns the target of the jump at `pc`.
pub(crate) fn target(pc: usize, offset: i32) -> Option<usize> {
    pc.checked_add_signed(isize::try_from(offset).ok()?)
}

/// Returns the number of bytes between a switch and its operands.
pub(crate) fn padding(pc: usize) -> usize {
    3 - pc % 4
}

/// Returns `true` if the instruction at `pc` can throw anything other than an error of the VM itself.
pub(crate) fn may_throw(code: &[u8], pc: usize, pool: &Pool) -> bool {
    let constant = match code[pc] {
        LDC => code.get(pc + 1).map(|&index| u16::from(index)),
        LDC_W | LDC2_W => u16_at(code, pc + 1),
        opcode => return instruction(opcode).throws,
    };
    !constant.is_some_and(|index| pool.is_plain_value(index))
}

/// Returns the length of the instruction at `pc`; `None` if it is truncated or invalid.
pub(crate) fn length_at(code: &[u8], pc: usize) -> Option<usize> {
    let row = instruction(*code.get(pc)?);
    let length = match row.kind {
        Kind::Unknown => return None,
        Kind::Wide if *code.get(pc + 1)? == IINC => 6,
        Kind::Wide => 4,
        Kind::Switch => switch_length(code, pc)?,
        _ => usize::from(row.length),
    };
    (pc + length <= code.len()).then_some(length)
}

fn switch_length(code: &[u8], pc: usize) -> Option<usize> {
    let operands = pc + 1 + padding(pc);
    let first = i64::from(i32_at(code, operands + 4)?);
    let rows = if code[pc] == TABLESWITCH {
        let last = i64::from(i32_at(code, operands + 8)?);
        12 + (last - first + 1).max(0) * 4
    } else {
        8 + first.max(0) * 8
    };
    Some(operands - pc + usize::try_from(rows).ok()?)
}
