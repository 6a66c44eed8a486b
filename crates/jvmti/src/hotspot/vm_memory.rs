//! The memory that the VM has for classes and for compiled code, as it counts them itself.
//!
//! The end of each code heap is in the VM's structures. The size of the metaspace is one of the counters that the VM
//! publishes for jvmstat (`PerfData`); it is brought up to date by garbage collections.

use std::ffi::CStr;

use super::code_heap::CodeHeaps;
use super::collection_count::CollectionCount;
use super::flags::BoolFlag;
use crate::env::Env;
use crate::vm_kind::vm_structs::{VmStructs, read};

/// The counter of the memory for classes that is committed.
const METASPACE: &CStr = c"sun.gc.metaspace.capacity";
/// The counters of loaded classes, and of those of the archive; then of those that are gone.
const LOADED: [&CStr; 2] = [c"java.cls.loadedClasses", c"java.cls.sharedLoadedClasses"];
const UNLOADED: [&CStr; 2] = [
    c"java.cls.unloadedClasses",
    c"java.cls.sharedUnloadedClasses",
];
/// The counters of what is in the spaces of the heap: that for new objects, and the others.
const EDEN: &CStr = c"sun.gc.generation.0.space.0.used";
const SPACES: [&CStr; 3] = [
    c"sun.gc.generation.0.space.1.used",
    c"sun.gc.generation.0.space.2.used",
    c"sun.gc.generation.1.space.0.used",
];
/// The length of the counters' head, and of an entry's.
const HEAD: usize = 32;
const ENTRY: usize = 20;
/// The head's first bytes, whatever the order of those of its numbers.
const MAGIC: [u8; 4] = [0xca, 0xfe, 0xc0, 0xc0];
/// The kind of an entry with a number of 64 bits.
const LONG: u8 = b'J';

/// Tells how much memory the VM has for classes and code.
pub struct VmMemory {
    code: Option<CodeHeaps>,
    /// The address of the counter.
    metaspace: Option<usize>,
    /// The addresses of the counters of what collections have left in each space of the heap.
    spaces: Vec<usize>,
    collections: Option<CollectionCount>,
    loaded: Vec<usize>,
    unloaded: Vec<usize>,
}

impl VmMemory {
    /// Finds what this VM reports; some of it may be missing. Called when the VM is up.
    pub fn find(env: Env) -> Self {
        let structs = env.vm_structs();
        Self {
            code: structs.and_then(CodeHeaps::find),
            metaspace: structs.and_then(|structs| counter(structs, METASPACE)),
            spaces: structs
                .map(|structs| spaces(structs, env))
                .unwrap_or_default(),
            collections: CollectionCount::find(env),
            loaded: structs
                .map(|structs| counters(structs, &LOADED))
                .unwrap_or_default(),
            unloaded: structs
                .map(|structs| counters(structs, &UNLOADED))
                .unwrap_or_default(),
        }
    }

    /// Returns the bytes of memory for compiled code.
    pub fn code(&self) -> Option<u64> {
        self.code.as_ref().map(CodeHeaps::committed)
    }

    /// Returns the bytes of memory for classes, as of the last garbage collection.
    pub fn metaspace(&self) -> Option<u64> {
        // SAFETY: a counter is never freed, and aligned.
        self.metaspace.map(|address| unsafe { read(address) })
    }

    /// Returns the bytes of the Java heap that the last collection has left, garbage that it did not look for among them;
    /// `None` if there was none yet.
    pub fn after_collection(&self) -> Option<u64> {
        let bytes = sum(&self.spaces)?;
        let has_collected = self.collections.is_some_and(|count| count.get() > 0);
        (has_collected && bytes > 0).then_some(bytes)
    }

    /// Returns the number of loaded classes.
    pub fn classes(&self) -> Option<u64> {
        Some(sum(&self.loaded)?.saturating_sub(sum(&self.unloaded).unwrap_or(0)))
    }
}

/// Reads counters, and returns their sum; `None` if there are none.
fn sum(counters: &[usize]) -> Option<u64> {
    // SAFETY: a counter is never freed, and aligned.
    let values = counters
        .iter()
        .map(|&address| unsafe { read::<u64>(address) });
    (!counters.is_empty()).then(|| values.fold(0, u64::wrapping_add))
}

/// Returns the addresses of counters, of those that there are.
fn counters(structs: VmStructs, names: &[&CStr]) -> Vec<usize> {
    let found = names.iter().filter_map(|name| counter(structs, name));
    found.collect()
}

/// Returns the counters of the spaces that are not empty after a collection. New objects are made in the first of several. What a
/// full collection of Serial or Parallel leaves there, if the old generation has no room for it, is known only where the counter
/// does not change between collections.
fn spaces(structs: VmStructs, env: Env) -> Vec<usize> {
    let mut spaces = counters(structs, &SPACES);
    let is_on = |flag| env.flags().is_some_and(|flags| flags.is_on(flag));
    let leaves_some = is_on(BoolFlag::UseSerialGc) || is_on(BoolFlag::UseParallelGc);
    if spaces.is_empty() || leaves_some && env.vm_kind().counts_new_objects_at_collections() {
        spaces.extend(counters(structs, &[EDEN]));
    }
    spaces
}

/// Returns the address of a counter; `None` with `-XX:-UsePerfData`.
fn counter(structs: VmStructs, name: &CStr) -> Option<usize> {
    let address = |field: &CStr| {
        let field = structs.field(c"PerfMemory", field)?.not_null()?;
        // SAFETY: the tables say that this static field is there; it is a pointer.
        Some(unsafe { read::<usize>(field.addr()) })
    };
    let (start, end) = (address(c"_start")?, address(c"_end")?);
    let size = end.checked_sub(start).filter(|&size| size >= HEAD)?;
    let number = |at: usize| {
        let is_inside = at.is_multiple_of(size_of::<u32>()) && at + size_of::<u32>() <= size;
        // SAFETY: the number is within the VM's memory for counters, which is mapped and never freed.
        is_inside.then(|| unsafe { read::<u32>(start + at) } as usize)
    };
    let byte = |at: usize| {
        // SAFETY: as above.
        (at < size).then(|| unsafe { read::<u8>(start + at) })
    };
    let is_magic = MAGIC
        .iter()
        .enumerate()
        .all(|(at, &magic)| byte(at) == Some(magic));
    if !is_magic {
        return None;
    }
    // The VM counts an entry after it has made it.
    let mut entry = number(24)?;
    for _ in 0..number(28)? {
        let length = number(entry)?;
        if length < ENTRY || entry.checked_add(length)? > size {
            return None;
        }
        let (name_at, data_at) = (entry + number(entry + 4)?, entry + number(entry + 16)?);
        let mut letters = name.to_bytes_with_nul().iter().enumerate();
        if byte(entry + 12)? == LONG
            && letters.all(|(at, &letter)| byte(name_at + at) == Some(letter))
        {
            let is_inside =
                data_at.is_multiple_of(size_of::<u64>()) && data_at + size_of::<u64>() <= size;
            return is_inside.then_some(start + data_at);
        }
        entry += length;
    }
    None
}
