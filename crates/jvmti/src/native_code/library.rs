//! A library, as its file describes it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use object::elf::PF_X;
use object::read::{Object, ObjectSection, ObjectSegment, SegmentFlags};

use super::demangled::as_one_word;
use super::elf::{Elf, Source};
use super::mappings::{Mapping, VDSO};
use super::rule::Frames;
use super::rules::Rules;
use super::symbols::Symbols;
use locks::{Mutex, rank};

/// The largest section that is read: one that is larger belongs to no library that a JVM loads.
const LARGEST_SECTION: u64 = 256 << 20;

/// A library.
pub(super) struct Library {
    /// Its file name.
    pub(super) name: Arc<str>,
    /// The rules of its frames.
    pub(super) rules: Rules,
    /// The first addresses of its functions.
    functions: Box<[u32]>,
    /// Its code: position in the file, size, and address.
    code: Vec<(u64, u64, u64)>,
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
        let mut library = Self {
            name: as_one_word(&name.to_string_lossy()).into(),
            rules: Rules::default(),
            functions: Box::default(),
            code: Vec::new(),
            source,
            symbols: Mutex::default(),
        };
        let (frames, code) = library.source.with_elf(read_frames).unwrap_or_default();
        library.rules = Rules::new(frames.entries);
        library.functions = frames.functions.into();
        library.code = code;
        library
    }

    /// Returns `false` for a file that is no library, such as the VM's archive of classes.
    pub(super) fn has_code(&self) -> bool {
        !self.code.is_empty()
    }

    /// Returns the address, in the file's terms, of a position in the file.
    pub(super) fn address_of(&self, offset: u64) -> usize {
        let within = |&&(position, size, _): &&(u64, u64, u64)| {
            // A mapping begins at the page that its segment begins in.
            offset < position.saturating_add(size) && offset.saturating_add(1 << 16) > position
        };
        let found = self.code.iter().find(within);
        let (position, _, address) = found.copied().unwrap_or_default();
        address.wrapping_add(offset).wrapping_sub(position) as usize
    }

    /// Returns the name of the function that an address in the file belongs to.
    pub(super) fn function(&self, address: usize) -> Arc<str> {
        let mut symbols = self.symbols.lock();
        let symbols = symbols.get_or_insert_with(|| self.read_symbols());
        symbols.name(address as u64, || {
            let after = self
                .functions
                .partition_point(|&begin| begin as usize <= address);
            let begin = after.checked_sub(1).map(|at| self.functions[at]);
            begin.map_or(address as u64, u64::from)
        })
    }

    fn read_symbols(&self) -> Symbols {
        let own = self.source.with_elf(Symbols::read).unwrap_or_default();
        if own.has_all() {
            return own;
        }
        let Source::File(path) = &self.source else {
            return own;
        };
        let apart = self.source.with_elf(|elf| {
            let mut files = debug_files(path, elf).into_iter();
            files.find_map(|file| Symbols::read_apart(file, elf))
        });
        apart.flatten().unwrap_or(own)
    }
}

impl Symbols {
    /// Reads the symbols of a library from the file that has been made for debuggers; `None` if it is not of that library.
    fn read_apart(file: PathBuf, library: &Elf<'_>) -> Option<Self> {
        let symbols = Source::File(file).with_elf(|elf| {
            let is_of_it = build_id(elf) == build_id(library);
            is_of_it.then(|| Self::read(elf))
        });
        symbols.flatten().filter(Self::has_all)
    }
}

/// Returns the rules of the frames, and where the code is: position in the file, size, and address.
fn read_frames(elf: &Elf<'_>) -> (Frames, Vec<(u64, u64, u64)>) {
    let is_code =
        |flags| matches!(flags, SegmentFlags::Elf { p_flags, .. } if p_flags & PF_X == PF_X);
    let segments = elf.segments().filter(|segment| is_code(segment.flags()));
    let code = segments.map(|segment| {
        let (position, size) = segment.file_range();
        (position, size, segment.address())
    });
    let code = code.collect();
    let frames = elf.section_by_name(".eh_frame").and_then(|section| {
        if section.size() > LARGEST_SECTION {
            return None;
        }
        memory::need(usize::try_from(section.size()).ok()?);
        Some(Frames::read(section.data().ok()?, section.address()))
    });
    (frames.unwrap_or_default(), code)
}

/// Returns the files that may have the symbols of a library which has none itself.
pub(super) fn debug_files(path: &Path, elf: &Elf<'_>) -> Vec<PathBuf> {
    const DEBUG: &str = "/usr/lib/debug";
    let mut files = Vec::new();
    if let Some(id) = build_id(elf)
        && let Some((first, rest)) = id.split_first()
    {
        let rest: String = rest.iter().map(|byte| format!("{byte:02x}")).collect();
        files.push(PathBuf::from(format!(
            "{DEBUG}/.build-id/{first:02x}/{rest}.debug"
        )));
    }
    if let Ok(Some((name, _))) = elf.gnu_debuglink()
        && let Ok(name) = std::str::from_utf8(name)
        && let Some(folder) = path.parent()
        && !name.contains('/')
    {
        files.push(folder.join(name));
        files.push(folder.join(".debug").join(name));
        let below = folder.strip_prefix("/").unwrap_or(folder);
        files.push(Path::new(DEBUG).join(below).join(name));
    }
    files
}

pub(super) fn build_id(elf: &Elf<'_>) -> Option<Vec<u8>> {
    let id = elf.build_id().ok()??;
    Some(id.to_vec())
}
