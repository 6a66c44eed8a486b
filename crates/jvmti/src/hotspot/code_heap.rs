//! The VM's code heaps, and the lookup of the code that an address belongs to.

use std::ops::Range;

use crate::vm_kind::vm_structs::{VmStructs, read};

/// More code heaps than any VM has: beyond that, the tables were misread.
const MOST_HEAPS: usize = 8;
/// The value in a segment map for a segment without code.
const UNUSED: u8 = 0xff;
/// The number of bytes of a block that can always be read: more than the header of the largest kind of code, regardless
/// of the block's kind.
pub(super) const READABLE: usize = 512;

/// All code heaps. They are created when the VM starts and never move.
pub(super) struct CodeHeaps {
    heaps: Vec<CodeHeap>,
    /// The size of `HeapBlock`, the header of a block, and the offset in it of the flag for blocks in use.
    head: usize,
    is_used: usize,
}

/// One code heap: blocks of segments, each with a byte in the segment map.
struct CodeHeap {
    low: usize,
    /// The address at which the VM keeps the end of the readable part. It only grows.
    high: usize,
    segment_map: usize,
    /// The address at which the VM keeps the end of the segment map. It only grows, too.
    segment_map_end: usize,
    log2_segment: u32,
}

/// The header of a piece of code (`CodeBlob`) that is in use.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct CodeBlob(pub(super) usize);

/// The byte of a segment map that marks the start of a block.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct BlockStart(usize);

impl BlockStart {
    /// Not the start of any block.
    pub(super) const NONE: Self = Self(0);
}

impl CodeHeaps {
    pub(super) fn find(structs: VmStructs) -> Option<Self> {
        let offset = |type_name, name| structs.offset(type_name, name);
        let list = structs.field(c"CodeCache", c"_heaps")?.not_null()?.addr();
        let length = offset(c"GrowableArrayBase", c"_len")
            .or_else(|| offset(c"GenericGrowableArray", c"_len"))?;
        let elements = offset(c"GrowableArray<int>", c"_data")?;
        let memory = offset(c"CodeHeap", c"_memory")?;
        let map = offset(c"CodeHeap", c"_segmap")?;
        let low = offset(c"VirtualSpace", c"_low")?;
        let high = offset(c"VirtualSpace", c"_high")?;
        let log2_segment = offset(c"CodeHeap", c"_log2_segment_size")?;
        // SAFETY: the tables say that these fields are there, and of these types. The list is made before any code is,
        // and does not change.
        let heaps: Vec<CodeHeap> = unsafe {
            let list: usize = read(list);
            if list == 0 {
                return None;
            }
            let count = usize::try_from(read::<i32>(list + length)).ok()?;
            if count > MOST_HEAPS {
                return None;
            }
            let elements: usize = read(list + elements);
            let heap_at = |index| {
                let heap: usize = read(elements + index * size_of::<usize>());
                CodeHeap {
                    low: read(heap + memory + low),
                    high: heap + memory + high,
                    segment_map: read(heap + map + low),
                    segment_map_end: heap + map + high,
                    log2_segment: read::<i32>(heap + log2_segment) as u32,
                }
            };
            (0..count).map(heap_at).collect()
        };
        let is_sound = |heap: &CodeHeap| (4..16).contains(&heap.log2_segment);
        (!heaps.is_empty() && heaps.iter().all(is_sound)).then_some(Self {
            heaps,
            head: structs.size_of(c"HeapBlock")?,
            is_used: offset(c"HeapBlock", c"_header")? + offset(c"HeapBlock::Header", c"_used")?,
        })
    }

    /// Returns the bytes of all heaps that the VM has got from the system.
    pub(super) fn committed(&self) -> u64 {
        let bytes = |heap: &CodeHeap| {
            // SAFETY: a field of a code heap, which is never freed.
            let high: usize = unsafe { read(heap.high) };
            high.saturating_sub(heap.low) as u64
        };
        self.heaps.iter().map(bytes).sum()
    }

    /// Returns the addresses that the VM has got from the system, for code and for segment maps.
    pub(super) fn ranges(&self) -> Vec<Range<usize>> {
        let ranges = self.heaps.iter().flat_map(|heap| {
            // SAFETY: fields of a code heap, which is never freed.
            let (high, map_end) = unsafe { (read(heap.high), read(heap.segment_map_end)) };
            [heap.low..high, heap.segment_map..map_end]
        });
        ranges.collect()
    }

    /// Returns the code that holds an address. Signal handlers call it, so everything must be inlined: loops are,
    /// iterators' functions not always.
    #[inline(always)]
    pub(super) fn blob(&self, pc: usize) -> Option<CodeBlob> {
        for heap in &self.heaps {
            if let Some(block) = heap.block(pc) {
                // SAFETY: a block begins with its header.
                let is_used = unsafe { read::<u8>(block + self.is_used) } != 0;
                return is_used.then_some(CodeBlob(block + self.head));
            }
        }
        None
    }

    /// Returns the position in the segment map at which this code's block begins.
    pub(super) fn block_start(&self, blob: CodeBlob) -> Option<BlockStart> {
        let block = blob.0 - self.head;
        self.heaps.iter().find_map(|heap| {
            heap.block(block)?;
            let segment = (block - heap.low) >> heap.log2_segment;
            Some(BlockStart(heap.segment_map + segment))
        })
    }

    /// Returns `true` if a block in use still begins where one was found before; it may be a different one.
    #[inline]
    pub(super) fn is_in_use(&self, blob: CodeBlob, start: BlockStart) -> bool {
        // SAFETY: code was found there once, and what could be read of a code heap and its map stays readable.
        unsafe { read::<u8>(start.0) == 0 && read::<u8>(blob.0 - self.head + self.is_used) != 0 }
    }
}

impl CodeHeap {
    /// Returns the block that an address is in, by the same method as HotSpot, also without a lock
    /// (`CodeHeap::find_block_for`): each byte of the segment map is the least number of segments since the start of
    /// the block.
    ///
    /// Everything from `low` to `*high` can be read, and everything from `segment_map` to `*segment_map_end`: the VM
    /// enlarges each of the two before it moves the end, and never shrinks them. It enlarges the code first
    /// (`CodeHeap::expand_by`), so a new segment may have no byte in the map yet.
    #[inline(always)]
    fn block(&self, pc: usize) -> Option<usize> {
        // SAFETY: fields of a code heap, which is never freed.
        let (high, map_end): (usize, usize) =
            unsafe { (read(self.high), read(self.segment_map_end)) };
        if pc < self.low || pc >= high {
            return None;
        }
        let mut segment = (pc - self.low) >> self.log2_segment;
        if segment >= map_end.wrapping_sub(self.segment_map) {
            return None;
        }
        loop {
            // SAFETY: the byte is before the end of the map; those that it leads to come before it.
            let back = unsafe { read::<u8>(self.segment_map + segment) };
            match back {
                0 => {
                    let block = self.low + (segment << self.log2_segment);
                    return (block + READABLE <= high).then_some(block);
                }
                UNUSED => return None,
                back => segment = segment.checked_sub(usize::from(back))?,
            }
        }
    }
}
