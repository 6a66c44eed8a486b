//! How the frame of native code is undone at an instruction: what compilers leave for exceptions in `.eh_frame`, as far
//! as a stack walk needs it.

use super::call_frames::{self, FrameEnd, FrameState, Function, Register};

const WORD: i64 = size_of::<usize>() as i64;

/// The numbers of registers in this processor's tables.
#[cfg(target_arch = "x86_64")]
mod register {
    pub(super) const FRAME_POINTER: u64 = 6;
    pub(super) const STACK_POINTER: u64 = 7;
}
#[cfg(target_arch = "aarch64")]
mod register {
    pub(super) const FRAME_POINTER: u64 = 29;
    pub(super) const STACK_POINTER: u64 = 31;
}

/// Where a frame ends, and where it keeps its caller's registers. Offsets are in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FrameRule {
    /// Nothing is known, or nothing that is simple enough.
    Unknown,
    /// The outermost frame of a thread.
    Outermost,
    /// It ends so many words above the stack pointer.
    AboveStackPointer { end: i16, saved: Saved },
    /// It ends so many words above the frame pointer.
    AboveFramePointer { end: i16, saved: Saved },
    /// An entry of the linker's table of functions: the return address is on the stack, and from the instruction on that
    /// is so far from the beginning of an entry, of 16 bytes, a word that was pushed.
    LinkageTable { pushed_from: u8 },
}

/// Where a frame keeps its caller's registers, as words from its end; `None` if they are still in the registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Saved {
    /// The frame pointer.
    pub frame_pointer: Option<i8>,
    /// The return address.
    pub return_address: Option<i8>,
}

/// The rule from an address on, up to the next entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// The address in the file.
    pub(super) begin: u32,
    pub(super) rule: FrameRule,
}

/// The rules in the `.eh_frame` of a library.
#[derive(Default)]
pub(super) struct Frames {
    /// The rules, by their addresses.
    pub(super) entries: Vec<Entry>,
    /// The first addresses of functions, sorted.
    pub(super) functions: Vec<u32>,
}

impl Frames {
    /// Reads the section, which the file has at `address`. What is malformed, or beyond 4 GB, is left out.
    pub(super) fn read(section: &[u8], address: u64) -> Self {
        let mut frames = Self::default();
        call_frames::for_each_function(section, address, |function| frames.read_function(function));
        frames.arrange();
        frames
    }

    fn read_function(&mut self, function: &Function<'_>) {
        let addresses = (u32::try_from(function.begin), u32::try_from(function.end));
        let (Ok(begin), Ok(end)) = addresses else {
            return;
        };
        if begin == 0 || begin >= end {
            return;
        }
        self.add_function(begin);
        function.rows(register::FRAME_POINTER, |at, row| {
            // A function's rows lie within it unless they are malformed.
            if let Ok(at) = u32::try_from(at)
                && at < end
            {
                self.add(at, row.map_or(FrameRule::Unknown, FrameRule::of));
            }
        });
        // Whatever follows is another function's, or nobody's.
        self.add(end, FrameRule::Unknown);
    }

    fn add_function(&mut self, begin: u32) {
        let functions = &mut self.functions;
        memory::need_to_grow(functions.len(), functions.capacity(), size_of::<u32>());
        functions.push(begin);
    }

    fn add(&mut self, begin: u32, rule: FrameRule) {
        let entries = &mut self.entries;
        memory::need_to_grow(entries.len(), entries.capacity(), size_of::<Entry>());
        entries.push(Entry { begin, rule });
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

impl FrameRule {
    fn of(row: &FrameState<'_>) -> Self {
        if row.return_address == Register::Undefined {
            return Self::Outermost;
        }
        Self::of_inner_frame(row).unwrap_or(Self::Unknown)
    }

    fn of_inner_frame(row: &FrameState<'_>) -> Option<Self> {
        let (register, offset) = match row.end {
            FrameEnd::Above { register, offset } => (register, offset),
            FrameEnd::Expression(expression) => return linkage_table(expression),
        };
        let saved = |register| match register {
            Register::Same => Some(None),
            Register::At(offset) => Some(Some(words(offset)?)),
            Register::Undefined | Register::Other => None,
        };
        let saved = Saved {
            frame_pointer: saved(row.frame_pointer)?,
            return_address: saved(row.return_address)?,
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

    fn entry(begin: u32, end: i16) -> Entry {
        let saved = Saved {
            frame_pointer: None,
            return_address: Some(-1),
        };
        Entry {
            begin,
            rule: FrameRule::AboveStackPointer { end, saved },
        }
    }

    #[test]
    fn entries_are_sorted_and_say_something_new() {
        let unknown = |begin| Entry {
            begin,
            rule: FrameRule::Unknown,
        };
        let mut frames = Frames {
            entries: vec![
                entry(30, 1),
                unknown(40),
                entry(10, 1),
                entry(12, 2),
                entry(14, 2),
                unknown(30),
            ],
            functions: vec![30, 10],
        };
        frames.arrange();
        assert_eq!(
            frames.entries,
            [entry(10, 1), entry(12, 2), entry(30, 1), unknown(40)]
        );
        assert_eq!(frames.functions, [10, 30]);
    }

    #[test]
    fn distances_are_whole_words_of_a_moderate_number() {
        assert_eq!(words::<i8>(-16), Some(-2));
        assert_eq!(words::<i8>(-12), None);
        assert_eq!(words::<i8>(8 * 200), None);
        assert_eq!(words::<i16>(8 * 200), Some(200));
    }

    #[test]
    fn nothing_malformed_is_more_than_nothing() {
        for bytes in [&[][..], &[0; 64], &[0xff; 64], &[1, 2, 3, 4, 5, 6, 7, 8]] {
            assert!(Frames::read(bytes, 0x1000).entries.is_empty());
        }
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
