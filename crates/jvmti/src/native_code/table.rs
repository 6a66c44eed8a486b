//! The table in which a signal handler looks up native code. It does not change once it is made.

use std::ops::Range;
use std::sync::Arc;

use elf::FrameRule;

use super::library::Library;
use super::mappings::Mapping;
use super::rules::position;

/// All native code at some moment.
#[derive(Default)]
pub(crate) struct UnwindTable(Box<[MappedCode]>);

/// Code of a library in memory.
pub(super) struct MappedCode {
    begin: usize,
    end: usize,
    /// The distance from an address in the file to that in memory.
    bias: usize,
    pub(super) library: Arc<Library>,
}

impl MappedCode {
    pub(super) fn new(mapping: &Mapping, library: Arc<Library>) -> Self {
        Self {
            begin: mapping.begin,
            end: mapping.end,
            bias: mapping
                .begin
                .wrapping_sub(library.address_of(mapping.offset)),
            library,
        }
    }

    /// Returns its addresses.
    pub(super) fn addresses(&self) -> Range<usize> {
        self.begin..self.end
    }

    /// Returns the address in the file.
    pub(super) fn address_in_file(&self, pc: usize) -> usize {
        pc.wrapping_sub(self.bias)
    }
}

impl UnwindTable {
    pub(super) fn new(mut codes: Vec<MappedCode>) -> Self {
        memory::sort_by_numbers(&mut codes, |code| [code.begin as u64, 0]);
        Self(codes.into())
    }

    /// Returns the code that an address is in.
    pub(super) fn code_at(&self, pc: usize) -> Option<&MappedCode> {
        let after = self.0.partition_point(|code| code.begin <= pc);
        let code = self.0.get(after.checked_sub(1)?)?;
        (pc < code.end).then_some(code)
    }

    /// Returns the rule for the frame of the code at an address; `None` if it is in no code that is known. For the
    /// handler, like what follows: no access here is checked in a way that panics.
    #[inline(always)]
    pub(crate) fn rule(&self, pc: usize) -> Option<FrameRule> {
        let codes = self.0.as_ptr();
        // SAFETY: `position` asks for numbers below the length, and returns one.
        let code = unsafe {
            let begin = |at| (*codes.add(at)).begin;
            &*codes.add(position(self.0.len(), pc, begin)?)
        };
        if pc >= code.end {
            return None;
        }
        let address = pc.wrapping_sub(code.bias);
        // SAFETY: the table holds on to the library.
        Some(unsafe { &*Arc::as_ptr(&code.library) }.rules.at(address))
    }
}
