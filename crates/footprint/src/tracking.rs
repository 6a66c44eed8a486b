//! What the VM counts of its own memory with `-XX:NativeMemoryTracking`, by purpose.
//!
//! The layout of the counters is known by their sizes: those of `malloc` are two for each purpose (`malloc` and arenas) and one more,
//! each of two words (count, bytes) or four (the largest count and bytes so far); those of mappings are two words for each purpose
//! (reserved, committed) or three. Whatever does not fit is not taken for them.

use crate::account::TrackedKind;
use crate::memory::Memory;

const WORD: usize = size_of::<usize>();
/// The levels `summary` and `detail`.
const LEVELS: [usize; 2] = [2, 3];
/// Arenas are counted for their purpose, and their memory as a whole for this one.
const ARENAS: &str = "Arena Chunk";
/// What is committed of stacks is counted only when the VM writes a report.
const STACKS: &str = "Thread Stack";
/// The longest name that is read, in words.
const NAME_WORDS: usize = 8;

/// A variable of the VM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VmVariable {
    /// Its address.
    pub address: usize,
    /// Its bytes.
    pub size: usize,
}

/// Where the VM has its counters.
#[derive(Clone, Copy, Debug)]
pub struct TrackingVariables {
    /// The names of the purposes, as pointers.
    pub names: VmVariable,
    /// The pointers for each purpose, of which the last is that to the name for people.
    pub pointers: usize,
    /// The counters of what comes from `malloc` (`MallocMemorySummary::_snapshot`).
    pub malloc: VmVariable,
    /// The counters of what is mapped (`VirtualMemorySummary::_snapshot`).
    pub mapped: VmVariable,
    /// What the VM tracks (`MemTracker::_tracking_level`), half a word.
    pub level: VmVariable,
}

/// The VM's counters.
#[derive(Debug)]
pub struct Tracking {
    kinds: Vec<String>,
    level: usize,
    malloc: usize,
    /// The bytes of a counter of `malloc`.
    counter: usize,
    mapped: usize,
    /// The bytes for a purpose in what is mapped.
    row: usize,
}

impl Tracking {
    /// Finds the layout of the counters; `None` if it is not known.
    #[must_use]
    #[inline(never)]
    pub fn new(variables: &TrackingVariables, memory: &dyn Memory) -> Option<Self> {
        let TrackingVariables {
            names,
            pointers,
            malloc,
            mapped,
            level,
        } = *variables;
        let kinds = read_names(memory, names, pointers)?;
        Some(Self {
            counter: part(malloc, kinds.len() * 2 + 1, &[2, 4])?,
            row: part(mapped, kinds.len(), &[2, 3])?,
            level: level.address,
            malloc: malloc.address,
            mapped: mapped.address,
            kinds,
        })
    }

    /// Returns what the VM has for each purpose; nothing if it does not count any more.
    #[must_use]
    #[inline(never)]
    pub fn kinds(&self, memory: &dyn Memory) -> Vec<TrackedKind> {
        let level = memory.word(self.level).unwrap_or(0) & 0xffff_ffff;
        if !LEVELS.contains(&level) {
            return Vec::new();
        }
        let mut in_arenas = 0;
        let mut kinds = Vec::new();
        for (place, name) in self.kinds.iter().enumerate() {
            let bytes = |address: usize| memory.word(address).unwrap_or(0) as u64;
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
        kinds
    }
}

/// Returns the bytes of one of `count` equal parts, which must have one of these numbers of words.
fn part(variable: VmVariable, count: usize, words: &[usize]) -> Option<usize> {
    let mut sizes = words.iter().map(|words| words * WORD);
    sizes.find(|size| size * count == variable.size)
}

fn read_names(memory: &dyn Memory, names: VmVariable, pointers: usize) -> Option<Vec<String>> {
    let entry = pointers * WORD;
    let mut found = Vec::new();
    for place in 0..names.size / entry {
        let pointer = memory.word(names.address + (place + 1) * entry - WORD)?;
        found.push(read_name(memory, pointer)?);
    }
    (!found.is_empty()).then_some(found)
}

/// Reads a name; `None` if it is none.
fn read_name(memory: &dyn Memory, address: usize) -> Option<String> {
    let mut name = String::new();
    for place in 0..NAME_WORDS {
        let word = memory.word(address.checked_add(place * WORD)?)?;
        for byte in word.to_ne_bytes() {
            match byte {
                0 => return (!name.is_empty()).then_some(name),
                b' '..=b'~' => name.push(byte.into()),
                _ => return None,
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::tests::Words;

    impl Words {
        fn put(&mut self, address: usize, words: &[usize]) -> VmVariable {
            for (place, &word) in words.iter().enumerate() {
                self.0.insert(address + place * WORD, word);
            }
            VmVariable {
                address,
                size: words.len() * WORD,
            }
        }

        fn put_text(&mut self, address: usize, text: &str) {
            let mut bytes = text.as_bytes().to_vec();
            bytes.resize((text.len() / WORD + 1) * WORD, 0);
            let (words, _) = bytes.as_chunks();
            let words: Vec<usize> = words
                .iter()
                .map(|word| usize::from_ne_bytes(*word))
                .collect();
            self.put(address, &words);
        }
    }

    /// The counters of three purposes, of JDK 11 where a name has one pointer.
    fn vm(pointers: usize, level: usize) -> (Words, TrackingVariables) {
        let mut words = Words::default();
        let names = ["GC", ARENAS, STACKS];
        let mut table = Vec::new();
        for (place, name) in (0..).zip(names) {
            let address = 0x1000 + place * 0x100;
            words.put_text(address, name);
            table.extend(vec![0; pointers - 1]);
            table.push(address);
        }
        let malloc = [1, 100, 1, 30, 1, 50, 0, 0, 1, 7, 0, 0, 9, 9];
        let mapped = [900, 400, 500, 0, 0, 0, 80, 70, 70];
        let variables = TrackingVariables {
            names: words.put(0x2000, &table),
            pointers,
            malloc: words.put(0x3000, &malloc),
            mapped: words.put(0x4000, &mapped),
            level: words.put(0x5000, &[level | 7 << 32]),
        };
        (words, variables)
    }

    fn kind(malloc: u64, mapped: u64, name: &str) -> TrackedKind {
        TrackedKind {
            malloc,
            mapped,
            name: name.to_owned(),
        }
    }

    #[test]
    fn counters_are_read_while_the_vm_counts() {
        for pointers in [1, 2] {
            let (words, variables) = vm(pointers, 2);
            let tracking = Tracking::new(&variables, &words).expect("a layout");
            let kinds = tracking.kinds(&words);
            assert_eq!(kinds, [kind(130, 400, "GC"), kind(20, 0, ARENAS)]);
            let (words, _) = vm(pointers, 1);
            assert_eq!(tracking.kinds(&words), []);
        }
    }

    #[test]
    fn only_a_size_that_fits_is_a_layout() {
        let size = |size| VmVariable { address: 0, size };
        assert_eq!(part(size(1824), 28 * 2 + 1, &[2, 4]), Some(32));
        assert_eq!(part(size(688), 21 * 2 + 1, &[2, 4]), Some(16));
        assert_eq!(part(size(672), 28, &[2, 3]), Some(24));
        assert_eq!(part(size(680), 28, &[2, 3]), None);
        let (words, mut variables) = vm(2, 2);
        variables.malloc.size += WORD;
        assert!(Tracking::new(&variables, &words).is_none());
    }

    #[test]
    fn names_are_text() {
        let mut words = Words::default();
        let long = "x".repeat(NAME_WORDS * WORD);
        for (text, name) in [
            ("Java Heap", Some("Java Heap")),
            ("", None),
            ("a\nb", None),
            (&long, None),
        ] {
            words.put_text(0x1000, text);
            assert_eq!(read_name(&words, 0x1000).as_deref(), name, "{text}");
        }
        assert_eq!(read_name(&words, usize::MAX - 3), None);
    }
}
