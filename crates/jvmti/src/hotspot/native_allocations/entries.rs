//! The entries through which libraries call the functions of others: the words of their global offset tables that relocations
//! name. Writing another address there replaces the function for one library, and nothing else of the process.
//!
//! What must hold:
//!
//! - An entry is written only if it holds the very function that is to be replaced, or, in a library that does not define the
//!   function, code of the library itself, which looks the function up at the first call. Then the linker is done with it: before
//!   that it holds an offset. An entry that leads elsewhere, as to another profiler or to an allocator of the library's own, is
//!   left alone: what one allocator has made, no other may free.
//! - The library of `malloc` keeps its entries of `mmap`: the pages that it divides into blocks would be counted twice.
//! - The linker makes the pages of most tables unwritable (`PT_GNU_RELRO`) at the end of loading a library. Those are made
//!   writable for the moment of the change; this must not happen while the linker does the opposite. So only libraries are
//!   touched that were there before a moment at which nothing was being loaded: `dlopen` waits for whoever else is in it.
//! - Libraries are touched within `dl_iterate_phdr`, which keeps them from being unloaded.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::hooks::{Function, HOOKS};
use crate::native_code::loaded_libraries;
use memory::Map;

type Address = usize;

/// The smallest pages of the processors that are supported; larger ones are multiples.
const WORD: usize = size_of::<usize>();
/// The times that a look begins anew because a library was loaded meanwhile.
const TRIALS: usize = 3;
/// The most entries of a table of relocations: none has as many.
const MOST_RELOCATIONS: usize = 1 << 24;

/// The types of the relocations that fill in entries.
#[cfg(target_arch = "x86_64")]
const ENTRY_TYPES: [u64; 2] = [6, 7];
/// The types of the relocations that fill in entries.
#[cfg(target_arch = "aarch64")]
const ENTRY_TYPES: [u64; 2] = [1025, 1026];

// Tags of the dynamic section, from the System V ABI.
const DT_PLTRELSZ: usize = 2;
const DT_STRTAB: usize = 5;
const DT_SYMTAB: usize = 6;
const DT_RELA: usize = 7;
const DT_RELASZ: usize = 8;
const DT_JMPREL: usize = 23;
const DT_RELACOUNT: usize = 0x6fff_fff9;
/// The section of a symbol that the library does not define.
const UNDEFINED: u16 = 0;

/// A relocation, `Elf64_Rela`.
#[repr(C)]
struct Relocation {
    offset: usize,
    info: u64,
    addend: i64,
}

/// The entries that lead to hooks.
#[derive(Default)]
pub(super) struct Entries {
    /// What they held before.
    changed: Map<Address, Address>,
    /// The linker's counts of libraries at the last look that was complete.
    seen: Option<(u64, u64)>,
    /// `true` from the end of the session on.
    has_ended: bool,
}

/// A loaded library, while `dl_iterate_phdr` shows it.
struct LoadedLibrary<'a> {
    base: usize,
    segments: &'a [libc::Elf64_Phdr],
    page: usize,
}

/// An entry of a library's table.
struct Entry<'a> {
    address: Address,
    /// The function.
    name: &'a CStr,
    /// `true` if the library does not define the function itself.
    is_of_another: bool,
}

/// What to do with each entry of a hook's function.
enum Visit<'a> {
    Change(&'a mut Map<Address, Address>),
    Restore(&'a mut Map<Address, Address>),
}

struct Look<'a> {
    visit: Visit<'a>,
    /// If something has been loaded since this count, nothing is done.
    loaded: Option<u64>,
    is_done: bool,
    page: usize,
}

impl Entries {
    /// Looks the functions up that the hooks replace; `false` if there is no `malloc` to be found. They stay once known: hooks
    /// of an earlier session may still be called.
    pub(super) fn find_originals() -> bool {
        for hook in &HOOKS {
            // SAFETY: the name ends with a zero.
            let original = unsafe { libc::dlsym(libc::RTLD_DEFAULT, hook.name.as_ptr()) };
            let is_own = ptr::eq(original.cast_const(), hook.hook);
            if !original.is_null() && !is_own && hook.original.load(Ordering::Relaxed).is_null() {
                hook.original.store(original, Ordering::SeqCst);
            }
        }
        !HOOKS[Function::Malloc as usize]
            .original
            .load(Ordering::SeqCst)
            .is_null()
    }

    /// Changes the entries of libraries that were loaded since the last look.
    pub(super) fn look(&mut self) {
        if self.has_ended {
            return;
        }
        for _ in 0..TRIALS {
            let now = loaded_libraries();
            let Some((loaded, _)) = now else { return };
            if now == self.seen {
                return;
            }
            wait_for_the_linker();
            let visit = Visit::Change(&mut self.changed);
            if each_library(visit, Some(loaded)) {
                self.seen = now;
                return;
            }
        }
    }

    /// Gives all entries what they held before, for good.
    pub(super) fn restore(&mut self) {
        self.has_ended = true;
        each_library(Visit::Restore(&mut self.changed), None);
        self.seen = None;
    }
}

/// Waits until nothing is being loaded, for a moment. Whoever loads a library holds a lock of the linker's to the end.
fn wait_for_the_linker() {
    // SAFETY: this opens the program itself, which is loaded.
    unsafe {
        let handle = libc::dlopen(ptr::null(), libc::RTLD_LAZY);
        if !handle.is_null() {
            libc::dlclose(handle);
        }
    }
}

/// Visits the entries of all libraries but the agent's; returns `false` if something was loaded since there were so many.
fn each_library(visit: Visit<'_>, loaded: Option<u64>) -> bool {
    // SAFETY: sysconf takes a number.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    let Some(page) = usize::try_from(page)
        .ok()
        .filter(|page| page.is_power_of_two())
    else {
        return false;
    };
    let mut look = Look {
        visit,
        loaded,
        is_done: true,
        page,
    };
    // SAFETY: `visit_library` keeps to what it is given.
    unsafe { libc::dl_iterate_phdr(Some(visit_library), (&raw mut look).cast()) };
    look.is_done
}

unsafe extern "C" fn visit_library(
    info: *mut libc::dl_phdr_info,
    size: libc::size_t,
    look: *mut c_void,
) -> c_int {
    // SAFETY: the linker's structure, and what `each_library` has passed.
    let (info, look) = unsafe { (&*info, &mut *look.cast::<Look<'_>>()) };
    if size < size_of::<libc::dl_phdr_info>() || info.dlpi_phdr.is_null() {
        return 0;
    }
    if look.loaded.is_some_and(|loaded| loaded != info.dlpi_adds) {
        look.is_done = false;
        return 1;
    }
    let library = LoadedLibrary {
        // SAFETY: the library's segments, which stay while it is shown.
        segments: unsafe {
            std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum))
        },
        #[allow(clippy::unnecessary_cast, reason = "the type depends on the system")]
        base: info.dlpi_addr as usize,
        page: look.page,
    };
    if !library.contains(HOOKS[Function::Malloc as usize].hook.addr()) {
        // SAFETY: the linker shows the library.
        unsafe { library.visit_entries(&mut look.visit) };
    }
    0
}

impl LoadedLibrary<'_> {
    fn contains(&self, address: usize) -> bool {
        let mut segments = self.segments.iter();
        segments.any(|segment| {
            let begin = self.base.wrapping_add(segment.p_vaddr as usize);
            segment.p_type == libc::PT_LOAD
                && address.wrapping_sub(begin) < segment.p_memsz as usize
        })
    }

    /// Returns `true` if the library has the `malloc` that is called.
    fn is_allocator(&self) -> bool {
        self.contains(
            HOOKS[Function::Malloc as usize]
                .original
                .load(Ordering::SeqCst)
                .addr(),
        )
    }

    /// # Safety
    /// The library is loaded, and stays meanwhile.
    unsafe fn visit_entries(&self, visit: &mut Visit<'_>) {
        let mut segments = self.segments.iter();
        let Some(dynamic) = segments.find(|segment| segment.p_type == libc::PT_DYNAMIC) else {
            return;
        };
        let words = dynamic.p_memsz as usize / (2 * WORD);
        let begin = self.base.wrapping_add(dynamic.p_vaddr as usize);
        // SAFETY: the dynamic section of a loaded library.
        let section = unsafe { std::slice::from_raw_parts(as_pointer::<[usize; 2]>(begin), words) };
        let entries = section.iter().take_while(|[tag, _]| *tag != 0);
        let value = |wanted| {
            let mut entries = entries.clone();
            entries
                .find(|[tag, _]| *tag == wanted)
                .map(|[_, value]| *value)
        };
        // Some linkers make these addresses, others leave them as offsets.
        let address = |tag| {
            let value = value(tag)?;
            let is_address = self.contains(value);
            Some(if is_address {
                value
            } else {
                self.base.wrapping_add(value)
            })
        };
        let (Some(symbols), Some(names)) = (address(DT_SYMTAB), address(DT_STRTAB)) else {
            return;
        };
        let tables = [
            (address(DT_RELA), value(DT_RELASZ), value(DT_RELACOUNT)),
            (address(DT_JMPREL), value(DT_PLTRELSZ), None),
        ];
        for (begin, bytes, relative) in tables {
            let (Some(begin), Some(bytes)) = (begin, bytes) else {
                continue;
            };
            let count = bytes / size_of::<Relocation>();
            // Those at the beginning have no symbols.
            let relative = relative.unwrap_or(0).min(count);
            if !self.contains(begin) || count > MOST_RELOCATIONS {
                continue;
            }
            // SAFETY: the table of a loaded library.
            let table =
                unsafe { std::slice::from_raw_parts(as_pointer::<Relocation>(begin), count) };
            for relocation in &table[relative..] {
                let symbol = (relocation.info >> 32) as usize;
                if symbol == 0 || !ENTRY_TYPES.contains(&(relocation.info & 0xffff_ffff)) {
                    continue;
                }
                // SAFETY: the tables of symbols and their names, which the linker has used for this relocation.
                let (name, section) = unsafe {
                    let symbol = &*as_pointer::<libc::Elf64_Sym>(symbols).add(symbol);
                    let name = as_pointer::<c_char>(names).add(symbol.st_name as usize);
                    (CStr::from_ptr(name), symbol.st_shndx)
                };
                let entry = Entry {
                    address: self.base.wrapping_add(relocation.offset),
                    name,
                    is_of_another: section == UNDEFINED,
                };
                if self.contains(entry.address) && entry.address.is_multiple_of(WORD) {
                    // SAFETY: an entry of the library's.
                    unsafe { self.visit_entry(visit, &entry) };
                }
            }
        }
    }

    /// # Safety
    /// `entry` is an entry of this library.
    unsafe fn visit_entry(&self, visit: &mut Visit<'_>, entry: &Entry<'_>) {
        let Some(hook) = HOOKS.iter().find(|hook| hook.name == entry.name) else {
            return;
        };
        let is_of_pages = hook.is_of_pages();
        let (hook, original) = (
            hook.hook.expose_provenance(),
            hook.original.load(Ordering::SeqCst).expose_provenance(),
        );
        // A word of the library, which other threads read, and the linker may write.
        let is_of_another = entry.is_of_another;
        let entry = entry.address;
        // SAFETY: as above.
        let place = unsafe { AtomicUsize::from_ptr(as_pointer::<usize>(entry).cast_mut()) };
        let held = place.load(Ordering::SeqCst);
        match visit {
            Visit::Change(changed) => {
                if original != 0
                    && !(is_of_pages && self.is_allocator())
                    && (held == original || is_of_another && self.contains(held))
                    && held != hook
                    && changed.make_room().is_ok()
                    && self.write(place, entry, held, hook)
                {
                    // Without it, the original is restored.
                    let _ = changed.insert(entry, held);
                }
            }
            Visit::Restore(changed) => {
                if held == hook {
                    let before = changed.get(&entry).copied().unwrap_or(original);
                    if self.write(place, entry, held, before) {
                        changed.remove(&entry);
                    }
                } else {
                    changed.remove(&entry);
                }
            }
        }
    }

    /// Replaces what an entry holds; returns `false` if it holds something else by now, or cannot be written.
    fn write(&self, place: &AtomicUsize, entry: Address, held: usize, new: usize) -> bool {
        let exchange = || {
            let order = Ordering::SeqCst;
            place.compare_exchange(held, new, order, order).is_ok()
        };
        if !self.is_closed(entry) {
            return exchange();
        }
        let page: *mut c_void = ptr::with_exposed_provenance_mut(entry & !(self.page - 1));
        let protect = |protection| {
            // SAFETY: the page of the entry: only data that the linker has filled in. It can be read all the time.
            unsafe { libc::mprotect(page, self.page, protection) == 0 }
        };
        if !protect(libc::PROT_READ | libc::PROT_WRITE) {
            return false;
        }
        let is_written = exchange();
        // If that fails, the page stays writable, as those of libraries without this protection are.
        protect(libc::PROT_READ);
        is_written
    }

    /// Returns `true` if the linker has made the page of an entry unwritable: it closes whole pages only.
    fn is_closed(&self, entry: Address) -> bool {
        let mut segments = self.segments.iter();
        let relro = segments.find(|segment| segment.p_type == libc::PT_GNU_RELRO);
        relro.is_some_and(|relro| {
            let begin = self.base.wrapping_add(relro.p_vaddr as usize);
            let end = begin.wrapping_add(relro.p_memsz as usize) & !(self.page - 1);
            entry >= begin & !(self.page - 1) && entry < end
        })
    }
}

fn as_pointer<T>(address: usize) -> *const T {
    ptr::with_exposed_provenance(address)
}
