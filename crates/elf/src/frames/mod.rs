//! The rules of all frames of a library, from its `.eh_frame`.

use gimli::{
    BaseAddresses, CommonInformationEntry, EhFrame, EndianSlice, FrameDescriptionEntry,
    LittleEndian, Reader, UnwindContext, UnwindSection,
};
use memory::{List, OrStop};
use object::elf::PF_X;
use object::read::{Object, ObjectSection, ObjectSegment, SegmentFlags};

use super::rule::{FrameRule, Room, Section};
use super::source::{Elf, Source};

/// The largest section that is read: one that is larger belongs to no library that a JVM loads.
const LARGEST_SECTION: u64 = 256 << 20;

/// The rule from an address on, up to the next entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The address in the file.
    pub begin: u32,
    /// How the frame is undone.
    pub rule: FrameRule,
}

/// A part of the file that is code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its position in the file.
    pub position: u64,
    /// Its size.
    pub size: u64,
    /// Its address.
    pub address: u64,
}

/// The code of a library, and the rules in its `.eh_frame`.
#[derive(Default)]
pub struct Frames {
    /// The rules, by their addresses.
    pub entries: List<Entry>,
    /// The first addresses of functions, sorted.
    pub functions: List<u32>,
    /// Where the code is.
    pub code: List<Segment>,
}

impl Source {
    /// Reads what a stack walk needs of the library; nothing if it cannot be read.
    pub fn frames(&self) -> Frames {
        self.with_elf(Frames::of).unwrap_or_default()
    }
}

type Function<'file> = FrameDescriptionEntry<EndianSlice<'file, LittleEndian>>;

impl Frames {
    fn of(elf: &Elf<'_>) -> Self {
        let section = elf.section_by_name(".eh_frame").and_then(|section| {
            if section.size() > LARGEST_SECTION {
                return None;
            }
            memory::need(usize::try_from(section.size()).ok()?);
            Some(Self::read(section.data().ok()?, section.address()))
        });
        let mut frames = section.unwrap_or_default();
        let is_code =
            |flags| matches!(flags, SegmentFlags::Elf { p_flags, .. } if p_flags & PF_X == PF_X);
        let segments = elf.segments().filter(|segment| is_code(segment.flags()));
        let code = segments.map(|segment| {
            let (position, size) = segment.file_range();
            let address = segment.address();
            Segment {
                position,
                size,
                address,
            }
        });
        frames.code.extend(code).or_stop();
        frames
    }

    /// Reads the section, which the file has at `address`. What is malformed, or beyond 4 GB, is left out.
    fn read(bytes: &[u8], address: u64) -> Self {
        let mut frames = Self::default();
        let mut section = EhFrame::new(bytes, LittleEndian);
        // There, one instruction switches the signature of the return address, which does not matter here.
        #[cfg(target_arch = "aarch64")]
        section.set_vendor(gimli::Vendor::AArch64);
        section.set_address_size(size_of::<usize>() as u8);
        let bases = BaseAddresses::default().set_eh_frame(address);
        let mut room = Box::new(UnwindContext::new_in());
        // Most functions share what the one before them has.
        let mut common: Option<(_, CommonInformationEntry<_>)> = None;
        let whole = EndianSlice::new(bytes, LittleEndian);
        let mut rest = whole;
        while !rest.is_empty() {
            let at = rest.offset_from(whole);
            let next = rest
                .read_initial_length()
                .and_then(|(length, _)| rest.skip(length).map(|()| length));
            // The end, or something that leaves open where the next entry is.
            if !matches!(next, Ok(1..)) {
                break;
            }
            let function = section.fde_from_offset(&bases, at.into(), |section, bases, at| {
                if let Some((known, common)) = &common
                    && *known == at
                {
                    return Ok(common.clone());
                }
                let read = section.cie_from_offset(bases, at)?;
                common = Some((at, read.clone()));
                Ok(read)
            });
            // The others are what functions have in common.
            if let Ok(function) = function {
                frames.read_function(&function, &section, &bases, &mut room);
            }
        }
        frames.arrange();
        frames
    }

    fn read_function<'file>(
        &mut self,
        function: &Function<'file>,
        section: &Section<'file>,
        bases: &BaseAddresses,
        room: &mut UnwindContext<usize, Room>,
    ) {
        let end = function.initial_address().checked_add(function.len());
        let begin = u32::try_from(function.initial_address());
        let (Ok(begin), Some(Ok(end))) = (begin, end.map(u32::try_from)) else {
            return;
        };
        if begin == 0 || begin >= end {
            return;
        }
        self.add_function(begin);
        let return_address = function.cie().return_address_register();
        let mut next = u64::from(begin);
        match function.rows(section, bases, room) {
            Ok(mut rows) => loop {
                match rows.next_row() {
                    Ok(Some(row)) => {
                        // One that ends where it begins is replaced by the next.
                        if row.start_address() != row.end_address() {
                            let rule = FrameRule::of(row, return_address, section);
                            self.add_within(row.start_address(), end, rule);
                        }
                        next = row.end_address();
                    }
                    Ok(None) => break,
                    Err(_) => {
                        self.add_within(next, end, FrameRule::Unknown);
                        break;
                    }
                }
            },
            Err(_) => self.add(begin, FrameRule::Unknown),
        }
        // Whatever follows is another function's, or nobody's.
        self.add(end, FrameRule::Unknown);
    }

    fn add_function(&mut self, begin: u32) {
        self.functions.push(begin).or_stop();
    }

    /// Adds a rule from an address on. A function's rows lie within it unless they are malformed.
    fn add_within(&mut self, begin: u64, end: u32, rule: FrameRule) {
        if let Ok(begin) = u32::try_from(begin)
            && begin < end
        {
            self.add(begin, rule);
        }
    }

    fn add(&mut self, begin: u32, rule: FrameRule) {
        self.entries.push(Entry { begin, rule }).or_stop();
    }

    /// Sorts the entries, and leaves out those that say nothing new.
    fn arrange(&mut self) {
        self.functions.sort_unstable();
        let entries = &mut self.entries;
        // The end of a function is often the beginning of the next, which counts.
        entries.sort_unstable_by_key(|entry| {
            (entry.begin, entry.rule != FrameRule::Unknown, entry.rule)
        });
        let mut kept: usize = 0;
        for at in 0..entries.len() {
            let entry = entries[at];
            if kept > 0 && entries[kept - 1].begin == entry.begin {
                kept -= 1;
            }
            if kept == 0 || entries[kept - 1].rule != entry.rule {
                entries[kept] = entry;
                kept += 1;
            }
        }
        entries.truncate(kept);
        entries.shrink_to_fit();
        self.functions.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests;
