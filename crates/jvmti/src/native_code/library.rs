//! A library, as its file describes it.

use std::path::Path;
use std::sync::Arc;

use elf::{Segment, Source, Symbols, as_one_word};
use locks::{Mutex, rank};

use super::mappings::{Mapping, VDSO};
use super::rules::Rules;

/// A library.
pub(super) struct Library {
    /// Its file name.
    pub(super) name: Arc<str>,
    /// The rules of its frames.
    pub(super) rules: Rules,
    /// The first addresses of its functions.
    functions: Box<[u32]>,
    /// Its code.
    code: Box<[Segment]>,
    source: Source,
    /// Read when the first function is asked for.
    symbols: Mutex<Option<Symbols>, rank::NativeSymbols>,
}

impl Library {
    /// Reads what a walk needs of the library; nothing if it cannot be read.
    pub(super) fn read(mapping: &Mapping) -> Self {
        let is_vdso = mapping.path == Path::new(VDSO);
        let source = match mapping.is_removed {
            true => Source::Gone,
            false if is_vdso => Source::Memory(mapping.begin, mapping.end),
            false => Source::File(mapping.path.clone()),
        };
        let name = mapping.path.file_name().unwrap_or_default();
        let frames = source.frames();
        Self {
            name: as_one_word(&name.to_string_lossy()).into(),
            rules: Rules::new(frames.entries.into_boxed_slice()),
            functions: frames.functions.into_boxed_slice(),
            code: frames.code.into_boxed_slice(),
            source,
            symbols: Mutex::default(),
        }
    }

    /// Returns `false` for a file that is no library, such as the VM's archive of classes.
    pub(super) fn has_code(&self) -> bool {
        !self.code.is_empty()
    }

    /// Returns the address, in the file's terms, of a position in the file.
    pub(super) fn address_of(&self, offset: u64) -> usize {
        let within = |segment: &&Segment| {
            // A mapping begins at the page that its segment begins in.
            offset < segment.position.saturating_add(segment.size)
                && offset.saturating_add(1 << 16) > segment.position
        };
        let found = self.code.iter().find(within);
        let (position, address) = found.map_or((0, 0), |found| (found.position, found.address));
        address.wrapping_add(offset).wrapping_sub(position) as usize
    }

    /// Returns the name of the function that an address in the file belongs to.
    pub(super) fn function(&self, address: usize) -> Arc<str> {
        let mut symbols = self.symbols.lock();
        let symbols = symbols.get_or_insert_with(|| self.source.symbols());
        symbols.name(address as u64, || {
            let after = self
                .functions
                .partition_point(|&begin| begin as usize <= address);
            let begin = after.checked_sub(1).map(|at| self.functions[at]);
            begin.map_or(address as u64, u64::from)
        })
    }
}
