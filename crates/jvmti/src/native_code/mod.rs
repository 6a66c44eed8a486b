//! The native code of the process: the frames that it makes, as a signal handler needs to know them, and the names of
//! its functions.
//!
//! A thread of the agent reads both from the files of the libraries (the crate `elf`), which `mappings` finds. What the handler
//! looks up is a table that does not change (`table`): an address, and how the frame of the code there is undone
//! ([`FrameRule`]). When the program has loaded or unloaded libraries, the handler gets a new table.

mod function;
mod library;
mod mappings;
mod rules;
mod table;

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use elf::{Exported, Source};
pub(super) use elf::{FrameRule, Saved, Variable};
pub use function::NativeFunction;
use library::Library;
use mappings::Mapping;
use memory::{Map, OrStop};
use table::MappedCode;
pub(super) use table::UnwindTable;

/// The most tables that wait until no handler uses them any more.
const MOST_RETIRED: usize = 16;

/// The native code of this process, as far as it is known.
#[derive(Default)]
pub(super) struct NativeCode {
    table: Arc<UnwindTable>,
    /// Tables that a handler may still use.
    retired: Vec<Arc<UnwindTable>>,
    libraries: Map<(PathBuf, u64), Arc<Library>>,
    /// The dynamic linker's counts of libraries that were loaded and unloaded, when the table was made.
    loaded: Option<(u64, u64)>,
}

/// Returns the variables with these names of the library that has the function; `None` for what its file does not have.
/// `exported` is a variable that the library offers to others: its name, and its address in this process.
pub(super) fn variables<const N: usize>(
    function: usize,
    exported: (&str, usize),
    names: [&str; N],
) -> [Option<Variable>; N] {
    let mut mappings = Mapping::of_code().into_iter();
    let has_it = |mapping: &Mapping| (mapping.begin..mapping.end).contains(&function);
    match mappings.find(has_it).filter(|mapping| !mapping.is_removed) {
        Some(mapping) => {
            let (name, address) = exported;
            Source::File(mapping.path).variables(Exported { name, address }, names)
        }
        None => [None; N],
    }
}

/// An instruction of a library.
pub(super) struct NativeInstruction {
    library: Arc<Library>,
    /// Its address in the file.
    address: usize,
}

impl NativeCode {
    /// Reads what is loaded.
    pub(super) fn read() -> Self {
        let mut code = Self {
            table: Arc::default(),
            retired: Vec::new(),
            libraries: Map::default(),
            loaded: None,
        };
        code.loaded = loaded_libraries();
        code.table = Arc::new(code.read_table());
        code
    }

    /// Tells the handler where the table is.
    pub(super) fn publish(&self, place: &AtomicPtr<UnwindTable>) {
        place.store(Arc::as_ptr(&self.table).cast_mut(), Ordering::SeqCst);
    }

    /// Gives the handler a new table if libraries were loaded or unloaded. `inside` is the number of handlers that are
    /// running: each counts itself before it reads `place`. Returns `true` if the table is new.
    pub(super) fn refresh(&mut self, place: &AtomicPtr<UnwindTable>, inside: &AtomicUsize) -> bool {
        // Whoever begins from now on sees the current table.
        if inside.load(Ordering::SeqCst) == 0 {
            self.retired.clear();
        }
        let loaded = loaded_libraries();
        if loaded == self.loaded || self.retired.len() >= MOST_RETIRED {
            return false;
        }
        self.loaded = loaded;
        let new = Arc::new(self.read_table());
        let old = std::mem::replace(&mut self.table, new);
        self.publish(place);
        self.retired.push(old);
        true
    }

    /// Returns the addresses of the code of a library that an address is in; none if it is in no code that is known.
    pub(super) fn code_around(&self, pc: usize) -> Range<usize> {
        let code = self.table.code_at(pc);
        code.map_or(0..0, |code| code.addresses())
    }

    /// Returns the library that an address is in; `None` if it is in no code that is known.
    pub(super) fn instruction(&self, pc: usize) -> Option<NativeInstruction> {
        let tables = std::iter::once(&self.table).chain(self.retired.iter().rev());
        let code = tables.into_iter().find_map(|table| table.code_at(pc))?;
        Some(NativeInstruction {
            library: code.library.clone(),
            address: code.address_in_file(pc),
        })
    }

    fn read_table(&mut self) -> UnwindTable {
        let mappings = Mapping::of_code();
        let mut libraries = Map::<(PathBuf, u64), Arc<Library>>::default();
        let mut codes = Vec::new();
        for mapping in mappings {
            let key = (mapping.path.clone(), mapping.inode);
            let known = libraries.get(&key).or_else(|| self.libraries.get(&key));
            let library = known.cloned();
            let library = library.unwrap_or_else(|| Arc::new(Library::read(&mapping)));
            libraries.insert(key, library.clone()).or_stop();
            if mapping.is_removed || library.has_code() {
                codes.push(MappedCode::new(&mapping, library));
            }
        }
        self.libraries = libraries;
        UnwindTable::new(codes)
    }
}

impl NativeInstruction {
    /// Returns the function that it belongs to. The first call for a library reads its symbols, which takes seconds for a
    /// large one on a busy machine: nobody who needs a new table should have to wait for that.
    pub(super) fn function(&self) -> NativeFunction {
        NativeFunction {
            library: self.library.name.clone(),
            name: self.library.function(self.address),
        }
    }
}

/// Returns the dynamic linker's counts of libraries that were loaded and unloaded.
pub(super) fn loaded_libraries() -> Option<(u64, u64)> {
    /// Takes the counts from the first library.
    unsafe extern "C" fn first(
        info: *mut libc::dl_phdr_info,
        size: libc::size_t,
        counts: *mut libc::c_void,
    ) -> libc::c_int {
        if size >= size_of::<libc::dl_phdr_info>() {
            // SAFETY: the linker's structure has all fields, and `counts` is the one below.
            unsafe {
                *counts.cast::<Option<(u64, u64)>>() = Some(((*info).dlpi_adds, (*info).dlpi_subs));
            }
        }
        1
    }
    let mut counts: Option<(u64, u64)> = None;
    // SAFETY: the function keeps to what it is given.
    unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut counts).cast()) };
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_functions_and_those_of_the_c_library_have_names() {
        let code = NativeCode::read();
        let here = loaded_libraries as *const () as usize;
        let function = |pc| Some(code.instruction(pc)?.function());
        let own = function(here + 1).expect("the test's own code");
        assert!(
            own.name.contains("native_code::loaded_libraries"),
            "{own:?}"
        );
        let malloc = libc::malloc as *const () as usize;
        let of_libc = function(malloc + 1).expect("the C library");
        assert!(of_libc.library.starts_with("libc"), "{of_libc:?}");
        assert!(of_libc.name.contains("malloc"), "{of_libc:?}");
        assert_eq!(function(0x10), None);
    }

    #[test]
    fn a_new_table_takes_the_place_of_the_old_one_when_no_handler_runs() {
        let mut code = NativeCode::read();
        let place = AtomicPtr::default();
        let inside = AtomicUsize::new(1);
        code.publish(&place);
        let before = place.load(Ordering::SeqCst);
        code.refresh(&place, &inside);
        assert_eq!(place.load(Ordering::SeqCst), before, "nothing was loaded");
        code.loaded = None;
        code.refresh(&place, &inside);
        assert_ne!(place.load(Ordering::SeqCst), before);
        assert_eq!(code.retired.len(), 1, "a handler may use it");
        inside.store(0, Ordering::SeqCst);
        code.refresh(&place, &inside);
        assert!(code.retired.is_empty());
    }
}
