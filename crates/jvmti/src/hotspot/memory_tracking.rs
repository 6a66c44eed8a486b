//! What the VM counts of its own memory with `-XX:NativeMemoryTracking`, by purpose.
//!
//! The VM exports none of it, so the counters are found by the symbols in its library's file, and their layout by the symbols' sizes:
//! `MallocMemorySummary::_snapshot` has two counters for each purpose (`malloc` and arenas) and one more, each of two words (count,
//! bytes) or four (the largest count and bytes so far); `VirtualMemorySummary::_snapshot` has two words for each purpose (reserved,
//! committed) or three. Whatever does not fit is not taken for them.

use hprof_footprint::TrackedKind;

use super::flags::VmFlags;
use crate::env::Env;
use crate::native_code::{Exported, Variable, variables};
use crate::os::Peek;
use crate::vm_kind::vm_structs::VmStructs;

const WORD: usize = size_of::<usize>();
/// A variable that HotSpot exports.
const EXPORTED: &str = "gHotSpotVMStructs";
const NAMES: &str = "_ZN7NMTUtil8_stringsE";
/// The same up to JDK 17: names for people alone.
const OLD_NAMES: &str = "_ZN7NMTUtil18_memory_type_namesE";
const MALLOC: &str = "_ZN19MallocMemorySummary9_snapshotE";
const MAPPED: &str = "_ZN20VirtualMemorySummary9_snapshotE";
const LEVEL: &str = "_ZN10MemTracker15_tracking_levelE";
/// The levels `summary` and `detail`.
const LEVELS: [usize; 2] = [2, 3];
/// Arenas are counted for their purpose, and their memory as a whole for this one.
const ARENAS: &str = "Arena Chunk";
/// What is committed of stacks is counted only when the VM writes a report.
const STACKS: &str = "Thread Stack";
/// The longest name that is read, in words.
const NAME_WORDS: usize = 8;

/// Where the VM has its counters.
pub(super) struct MemoryTracking {
    kinds: Vec<String>,
    level: usize,
    malloc: usize,
    /// The bytes of a counter of `malloc`.
    counter: usize,
    mapped: usize,
    /// The bytes for a purpose in what is mapped.
    row: usize,
}

impl MemoryTracking {
    /// Finds the counters; `None` if the VM does not count, or its library does not say where.
    pub(super) fn find(env: Env, flags: VmFlags, peek: &Peek) -> Option<Self> {
        if !flags.tracks_memory() {
            return None;
        }
        let wanted = [NAMES, OLD_NAMES, MALLOC, MAPPED, LEVEL];
        let exported = Exported {
            name: EXPORTED,
            address: VmStructs::exported_address(env.vm())?,
        };
        let function = env.vm().function_address().addr();
        let [names, old_names, malloc, mapped, level] = variables(function, exported, wanted);
        let kinds = match (names, old_names) {
            (Some(names), _) => read_names(peek, names, 2)?,
            (None, Some(names)) => read_names(peek, names, 1)?,
            (None, None) => return None,
        };
        let (malloc, mapped) = (malloc?, mapped?);
        Some(Self {
            counter: part(malloc, kinds.len() * 2 + 1, &[2, 4])?,
            row: part(mapped, kinds.len(), &[2, 3])?,
            level: level?.address,
            malloc: malloc.address,
            mapped: mapped.address,
            kinds,
        })
    }

    /// Returns what the VM has for each purpose, the largest first; nothing if it has stopped to count.
    pub(super) fn kinds(&self, peek: &Peek) -> Vec<TrackedKind> {
        // The level is half a word.
        let level = peek.word(self.level).unwrap_or(0) & 0xffff_ffff;
        if !LEVELS.contains(&level) {
            return Vec::new();
        }
        let mut in_arenas = 0;
        let mut kinds = Vec::new();
        for (place, name) in self.kinds.iter().enumerate() {
            let bytes = |address: usize| peek.word(address).unwrap_or(0) as u64;
            let malloc = self.malloc + place * 2 * self.counter + WORD;
            let arenas = bytes(malloc + self.counter);
            in_arenas += arenas;
            kinds.push(TrackedKind {
                malloc: bytes(malloc) + arenas,
                mapped: bytes(self.mapped + place * self.row + WORD),
                name: name.clone(),
            });
        }
        if let Some(chunks) = kinds.iter_mut().find(|kind| kind.name == ARENAS) {
            chunks.malloc = chunks.malloc.saturating_sub(in_arenas);
        }
        kinds.retain(|kind| kind.malloc + kind.mapped > 0 && kind.name != STACKS);
        kinds.sort_unstable_by_key(|kind| std::cmp::Reverse(kind.malloc + kind.mapped));
        kinds
    }
}

/// Returns the bytes of one of `count` equal parts, which must have one of these numbers of words.
fn part(variable: Variable, count: usize, words: &[usize]) -> Option<usize> {
    let sizes = words.iter().map(|words| words * WORD);
    sizes.into_iter().find(|size| size * count == variable.size)
}

/// Reads names from an array, of which each entry has so many pointers; the last is that to the name.
fn read_names(peek: &Peek, names: Variable, pointers: usize) -> Option<Vec<String>> {
    let entry = pointers * WORD;
    let ends = (names.address + entry - WORD..).step_by(entry);
    let ends = ends.take(names.size / entry);
    let read = |address| read_name(peek, peek.word(address)?);
    let names: Option<Vec<String>> = ends.map(read).collect();
    names.filter(|names| !names.is_empty())
}

/// Reads a name; `None` if it is none.
fn read_name(peek: &Peek, address: usize) -> Option<String> {
    let mut name = Vec::new();
    for place in 0..NAME_WORDS {
        let word = peek.word(address.checked_add(place * WORD)?)?.to_ne_bytes();
        let end = word.iter().position(|&byte| byte == 0);
        name.extend_from_slice(&word[..end.unwrap_or(WORD)]);
        if end.is_some() {
            let is_name = |byte: &u8| byte.is_ascii_graphic() || *byte == b' ';
            let is_sound = !name.is_empty() && name.iter().all(is_name);
            return is_sound.then(|| String::from_utf8(name).ok())?;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first four words of each name, and what follows.
    fn tracking(malloc: &[usize], mapped: &[usize], level: &usize) -> MemoryTracking {
        MemoryTracking {
            kinds: ["GC", ARENAS, STACKS].map(str::to_owned).to_vec(),
            level: std::ptr::from_ref(level).addr(),
            malloc: malloc.as_ptr().addr(),
            counter: 2 * WORD,
            mapped: mapped.as_ptr().addr(),
            row: 3 * WORD,
        }
    }

    #[test]
    fn counters_are_read_while_the_vm_counts() {
        let peek = Peek::new().expect("a pipe");
        let malloc = [1, 100, 1, 30, 1, 50, 0, 0, 1, 7, 0, 0, 9, 9];
        let mapped = [900, 400, 500, 0, 0, 0, 80, 70, 70];
        let kind = |malloc, mapped, name: &str| TrackedKind {
            malloc,
            mapped,
            name: name.to_owned(),
        };
        let level = 2;
        let kinds = tracking(&malloc, &mapped, &level).kinds(&peek);
        assert_eq!(kinds, [kind(130, 400, "GC"), kind(20, 0, ARENAS)]);
        let level = 1;
        assert_eq!(tracking(&malloc, &mapped, &level).kinds(&peek), []);
    }

    #[test]
    fn only_a_size_that_fits_is_a_layout() {
        let size = |size| Variable { address: 0, size };
        assert_eq!(part(size(1824), 28 * 2 + 1, &[2, 4]), Some(32));
        assert_eq!(part(size(688), 21 * 2 + 1, &[2, 4]), Some(16));
        assert_eq!(part(size(672), 28, &[2, 3]), Some(24));
        assert_eq!(part(size(680), 28, &[2, 3]), None);
    }

    #[test]
    fn names_are_text() {
        let peek = Peek::new().expect("a pipe");
        let read = |text: &[u8]| read_name(&peek, text.as_ptr().addr());
        let padded = |text: &str| {
            let mut bytes = text.as_bytes().to_vec();
            bytes.resize(100, 0);
            bytes
        };
        assert_eq!(read(&padded("Java Heap")).as_deref(), Some("Java Heap"));
        assert_eq!(read(&padded("")), None);
        assert_eq!(read(&padded("a\nb")), None);
        assert_eq!(read(&[b'x'; 100]), None);
        assert_eq!(read_name(&peek, 8), None);
    }
}
