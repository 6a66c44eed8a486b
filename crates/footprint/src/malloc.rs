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
/// The most bytes between chunks beyond which no more of them are looked for: each page takes a read.
const MOST_BETWEEN: usize = 64 * PAGE;
/// The least bytes of which more than the start is looked at. Chunks that are missed below it do not matter.
const LEAST_SEARCHED: usize = 1 << 20;

/// Returns the part of an arena's heap that may be used, if one begins at an address, which is in a mapping up to `end`.
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
        && usable <= end - begin;
    is_sound.then(|| begin..begin + usable)
}

/// Returns the heaps of arenas in an anonymous mapping.
pub(crate) fn heaps(memory: &dyn Memory, mapping: &Range<usize>) -> Vec<Range<usize>> {
    let first = mapping.start.next_multiple_of(HEAP);
    let places = (first..mapping.end).step_by(HEAP);
    places
        .filter_map(|begin| heap_at(memory, begin, mapping.end))
        .collect()
}

/// Returns the runs of chunks in an anonymous mapping, or in what is left of one. The VM and the linker map memory, too: where
/// that is small, what is above it may be chunks again.
pub(crate) fn chunks(memory: &dyn Memory, range: &Range<usize>) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let (mut at, mut passed) = (range.start, 0);
    while at < range.end && passed <= MOST_BETWEEN {
        let run = run_at(memory, at..range.end);
        // What looks like one chunk by chance is not followed by others.
        let is_run = at == range.start || run.chunks > 1 || run.end == range.end;
        if run.chunks > 0 && is_run {
            found.push(at..run.end);
            (at, passed) = (run.end, 0);
        } else if range.len() < LEAST_SEARCHED {
            break;
        } else {
            at += PAGE;
            passed += PAGE;
        }
    }
    found
}

/// Chunks that follow one another.
struct Run {
    chunks: usize,
    end: usize,
}

/// Returns those that begin at the start of a range.
fn run_at(memory: &dyn Memory, range: Range<usize>) -> Run {
    let mut run = Run {
        chunks: 0,
        end: range.start,
    };
    while run.end < range.end {
        let Some(head) = memory.word(run.end + WORD) else {
            break;
        };
        let chunk = head & !FLAGS;
        // Whatever is there may be no chunk.
        let Some(size) = chunk.checked_next_multiple_of(PAGE) else {
            break;
        };
        let is_whole = size == chunk || size - chunk == HEAD;
        let is_chunk =
            head & FLAGS == IS_MAPPED && chunk > 0 && is_whole && size <= range.end - run.end;
        if !is_chunk {
            break;
        }
        run.chunks += 1;
        run.end += size;
    }
    run
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    struct Words(HashMap<usize, usize>);

    impl Memory for Words {
        fn word(&self, address: usize) -> Option<usize> {
            self.0.get(&address).copied()
        }

        fn resident(&self, _: Range<usize>, _: bool) -> u64 {
            0
        }
    }

    #[test]
    fn heaps_of_arenas_are_found_inside_mappings() {
        let begin = 3 * HEAP;
        let words = [
            (begin, 0x1230),
            (begin + 16, 0x21000),
            (begin + 24, 0x21000),
        ];
        let mut words = Words(HashMap::from(words));
        let mapping = begin - 0x5000..begin + 0x30000;
        assert_eq!(
            heaps(&words, &mapping),
            std::slice::from_ref(&(begin..begin + 0x21000))
        );
        // It must be whole.
        assert_eq!(heaps(&words, &(begin..begin + 0x20000)), []);
        words.0.insert(begin, 0);
        assert_eq!(heaps(&words, &mapping), []);
    }

    #[test]
    fn chunks_follow_one_another() {
        // The second is one of glibc 2.43.
        let words = [(0x1008, 0x3002), (0x4008, 0xff2), (0x5008, 0x1001)];
        let words = Words(HashMap::from(words));
        let run = 0x1000..0x5000;
        assert_eq!(
            chunks(&words, &(0x1000..0x9000)),
            std::slice::from_ref(&run)
        );
        assert_eq!(chunks(&words, &(0x5000..0x9000)), []);
        let wild = Words(HashMap::from([(0x1008, usize::MAX - 5)]));
        assert_eq!(chunks(&wild, &(0x1000..0x3000)), []);
        // The first is longer than the mapping.
        assert_eq!(chunks(&words, &(0x1000..0x3000)), []);
    }

    #[test]
    fn chunks_are_found_after_memory_of_others() {
        const BEGIN: usize = 0x10_0000;
        let at = |offset: usize| BEGIN + offset + WORD;
        let words = [
            (at(0), 0x8_0002),
            // By chance, as no chunk follows.
            (at(0x8_2000), 0x1002),
            (at(0x8_7000), 0x4_0002),
            (at(0xc_7000), 0x4_0002),
            (at(0x14_8000), 0xb_8002),
        ];
        let words = Words(HashMap::from(words));
        let runs = |mapping: Range<usize>| -> Vec<Range<usize>> {
            let found = chunks(&words, &mapping).into_iter();
            found
                .map(|run| run.start - BEGIN..run.end - BEGIN)
                .collect()
        };
        let mapping = BEGIN..BEGIN + 0x20_0000;
        let known = [0..0x8_0000, 0x8_7000..0x10_7000];
        // The last one is more than 64 pages from the others.
        assert_eq!(runs(mapping.clone()), known);
        assert_eq!(
            runs(BEGIN + 0x8_1000..mapping.end),
            std::slice::from_ref(&known[1])
        );
        assert_eq!(runs(BEGIN + 0x14_0000..mapping.end), []);
    }
}
