//! Finds the memory of glibc's `malloc` among anonymous mappings.
//!
//! An arena other than the first has heaps of 64 MB at multiples of 64 MB, each of which begins with `struct heap_info`; a
//! large block is a mapping of its own, a chunk whose size has the bit `IS_MMAPPED` (glibc's `malloc/arena.c` and
//! `malloc/malloc.c`). The kernel joins neighbouring mappings, so both are looked for inside mappings, too.

use std::ops::Range;

use crate::memory::Memory;

/// `HEAP_MAX_SIZE` where pointers have eight bytes.
const HEAP: usize = 64 << 20;
const WORD: usize = size_of::<usize>();
/// The bit of a chunk's size that says that it is mapped, and those that say something else.
const IS_MAPPED: usize = 2;
const FLAGS: usize = 7;
/// The head of a chunk. From glibc 2.43 on, it is not in the size of one that is mapped.
const HEAD: usize = 2 * WORD;
/// The smallest page.
const PAGE: usize = 4096;

/// Returns the part of an arena's heap that may be used, if one begins at an address, which is in a mapping up to `end`. It may
/// have grown since the mapping was seen.
fn heap_at(memory: &dyn Memory, begin: usize, end: usize) -> Option<Range<usize>> {
    // ar_ptr, prev, size, mprotect_size.
    let [arena, _, size, usable] =
        [0, 1, 2, 3].map(|place| memory.word(begin + place * WORD).unwrap_or(0));
    let is_sound = arena != 0
        && arena.is_multiple_of(WORD)
        && size > 0
        && size <= usable
        && usable <= HEAP
        && usable.is_multiple_of(PAGE)
        // The arena is in its first heap.
        && memory.word(arena - arena % HEAP) == Some(arena);
    is_sound.then(|| begin..end.min(begin + usable))
}

/// Returns the heaps of arenas in an anonymous mapping.
pub(crate) fn heaps(memory: &dyn Memory, mapping: &Range<usize>) -> Vec<Range<usize>> {
    let first = mapping.start.next_multiple_of(HEAP);
    let places = (first..mapping.end).step_by(HEAP);
    places
        .filter_map(|begin| heap_at(memory, begin, mapping.end))
        .collect()
}

/// Returns the end of the chunks that begin at the start of an anonymous mapping, or of what is left of one, and follow one
/// another; the start if there is none.
pub(crate) fn chunks_end(memory: &dyn Memory, range: &Range<usize>) -> usize {
    let mut at = range.start;
    while at < range.end {
        let Some(head) = memory.word(at + WORD) else {
            break;
        };
        let chunk = head & !FLAGS;
        // Whatever is there may be no chunk.
        let Some(size) = chunk.checked_next_multiple_of(PAGE) else {
            break;
        };
        let is_whole = size == chunk || size - chunk == HEAD;
        let is_chunk = head & FLAGS == IS_MAPPED && chunk > 0 && is_whole && size <= range.end - at;
        if !is_chunk {
            break;
        }
        at += size;
    }
    at
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::memory::tests::Words;

    #[test]
    fn heaps_of_arenas_are_found_inside_mappings() {
        let begin = 3 * HEAP;
        let arena = begin + 0x30;
        let words = [(begin, arena), (begin + 16, 0x21000), (begin + 24, 0x21000)];
        let mut words = Words(HashMap::from(words));
        let found = |words: &Words, mapping| heaps(words, &mapping);
        let whole = begin..begin + 0x21000;
        let mapping = begin - 0x5000..begin + 0x30000;
        assert_eq!(found(&words, mapping.clone()), std::slice::from_ref(&whole));
        // It has grown since the mapping was seen.
        let before = begin..begin + 0x20000;
        assert_eq!(found(&words, before.clone()), std::slice::from_ref(&before));
        // A further heap of an arena that is somewhere else.
        words.0.insert(begin, 5 * HEAP + 0x30);
        assert_eq!(found(&words, mapping.clone()), []);
        words.0.insert(5 * HEAP, 5 * HEAP + 0x30);
        assert_eq!(found(&words, mapping.clone()), std::slice::from_ref(&whole));
        words.0.insert(begin, 0);
        assert_eq!(found(&words, mapping), []);
    }

    #[test]
    fn chunks_follow_one_another() {
        // The second is one of glibc 2.43.
        let words = [(0x1008, 0x3002), (0x4008, 0xff2), (0x5008, 0x1001)];
        let words = Words(HashMap::from(words));
        assert_eq!(chunks_end(&words, &(0x1000..0x9000)), 0x5000);
        assert_eq!(chunks_end(&words, &(0x5000..0x9000)), 0x5000);
        let wild = Words(HashMap::from([(0x1008, usize::MAX - 5)]));
        assert_eq!(chunks_end(&wild, &(0x1000..0x3000)), 0x1000);
        // The first is longer than the mapping.
        assert_eq!(chunks_end(&words, &(0x1000..0x3000)), 0x1000);
    }
}
