//! The account: each mapping of the process, or each piece of one, belongs to a part.

use std::collections::HashSet;
use std::ops::Range;

use crate::cgroup::Cgroup;
use crate::malloc;
use crate::mappings::Mapping;
use crate::memory::{Contents, Memory, Resident};
use crate::part::{Part, Parts};

/// The largest stack that is looked for where only a thread's place on it is known: the usual limit of the system.
const LARGEST_STACK: usize = 8 << 20;
/// Less of `malloc` than this, or than this share of the resident set, is not asked what of it is free.
const ASKED_BYTES: u64 = 64 << 20;
const ASKED_SHARE: u64 = 5;
/// The addresses that compressed class pointers without a base can reach.
const UNSCALED: usize = 32 << 30;

/// Bytes of a part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amounts {
    /// What the process may use; what is only reserved does not count.
    pub committed: u64,
    /// What of it is in RAM.
    pub resident: u64,
}

/// Addresses that the VM has told. What it does not tell is empty.
#[derive(Clone, Debug, Default)]
pub struct VmLayout {
    /// What is reserved for the Java heap.
    pub heap: Option<Range<usize>>,
    /// What is reserved for compiled code.
    pub code: Vec<Range<usize>>,
    /// The bytes that are reserved for classes with compressed pointers, if there are such.
    pub class_space: Option<usize>,
    /// The address that compressed class pointers count from.
    pub class_base: usize,
    /// Addresses in the metaspace, at least one in each block.
    pub metaspace: Vec<usize>,
    /// The size of such a block, to a multiple of which it is aligned; `None` if each is a mapping.
    pub metaspace_block: Option<usize>,
    /// The stacks of threads.
    pub stacks: Vec<Range<usize>>,
    /// Places on the stacks of other threads.
    pub stack_pointers: Vec<usize>,
    /// The collector's card table.
    pub card_table: Option<Range<usize>>,
}

/// How full the Java heap is, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JavaHeap {
    /// What is in use; garbage counts.
    pub used: u64,
    /// What the VM has got from the system.
    pub committed: u64,
    /// The most that it may have (`-Xmx`).
    pub limit: u64,
    /// What was in use after the last collection, if there was one.
    pub after_collection: Option<u64>,
}

/// The agent's own memory, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnMemory {
    /// All of it.
    pub held: u64,
    /// What of it is in mappings of its own, and not in `malloc`.
    pub mapped: u64,
}

/// What the VM counts itself; `None` for what it does not tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VmFacts {
    /// The Java heap.
    pub heap: Option<JavaHeap>,
    /// The bytes of direct buffers.
    pub direct: Option<u64>,
    /// The number of direct buffers.
    pub direct_buffers: Option<u64>,
    /// The most bytes of direct buffers (`-XX:MaxDirectMemorySize`, or as much as `-Xmx`).
    pub direct_limit: Option<u64>,
    /// The number of loaded classes.
    pub classes: Option<u64>,
    /// The number of class loaders.
    pub loaders: Option<u64>,
}

/// The direct buffers that one place in the program has made and that live.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BufferSite {
    /// Their bytes.
    pub bytes: u64,
    /// Their number.
    pub buffers: u64,
    /// The number of those that were seen; fewer than there are if the profile takes a sample of allocations.
    pub seen: u64,
    /// The innermost frame outside `java.nio`: `Codec.buffer (Codec.java:88)`.
    pub maker: String,
}

/// The class loaders of one class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoaderKind {
    /// Their number.
    pub loaders: u64,
    /// The number of classes that they have loaded.
    pub classes: u64,
    /// Their class; empty for the boot loader.
    pub name: String,
}

/// What the VM itself has for one purpose, by its native memory tracking.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrackedKind {
    /// The bytes that it has from `malloc`.
    pub malloc: u64,
    /// The bytes that it has mapped and may use.
    pub mapped: u64,
    /// The VM's name of the purpose: `GC`, `Compiler`.
    pub name: String,
}

impl TrackedKind {
    /// The VM's name for what Java code takes by `Unsafe`, direct buffers included.
    pub const OTHER: &str = "Other";
    /// The VM's name for the Java heap.
    pub const JAVA_HEAP: &str = "Java Heap";
}

/// Where the memory of a process is, at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// The moment, in milliseconds since 1970.
    pub time: u64,
    /// The parts; what is resident adds up to [`Account::resident`].
    pub parts: Parts<Amounts>,
    /// The resident set as the system gives it in a single number, at almost the same time.
    pub system_resident: Option<u64>,
    /// What is swapped out.
    pub swapped: Option<u64>,
    /// What of `malloc` is free and in RAM all the same, if it was asked.
    pub malloc_free: Option<u64>,
    /// The threads of the process, those of the VM too.
    pub threads: u64,
    /// What the VM counts itself.
    pub vm: VmFacts,
    /// The limit that the process is killed at, and what counts against it.
    pub cgroup: Option<Cgroup>,
    /// The places that made direct buffers, the largest first, if a profile knows them.
    pub buffer_sites: Vec<BufferSite>,
    /// The class loaders by their class, those with most classes first, if they were looked at.
    pub loader_kinds: Vec<LoaderKind>,
    /// What the VM counts itself by purpose, the largest first, if it runs with `-XX:NativeMemoryTracking`.
    pub tracked: Vec<TrackedKind>,
}

/// Addresses that belong to a part.
struct Claim {
    range: Range<usize>,
    part: Part,
}

impl Account {
    /// Gives each mapping to a part.
    #[must_use]
    #[inline(never)]
    pub fn of(
        mappings: &[Mapping],
        layout: &VmLayout,
        vm: VmFacts,
        own: OwnMemory,
        memory: &dyn Memory,
    ) -> Self {
        let mut account = Self {
            vm,
            ..Self::default()
        };
        let claims = Claims::new(mappings, layout, memory);
        let libraries = libraries(mappings);
        let mut before: Option<(usize, Part)> = None;
        let mut doubtful = 0;
        for mapping in mappings {
            let of_kind = kind(mapping, &libraries, before);
            doubtful += account.add(mapping, of_kind, &claims, memory);
            before = Some((mapping.range.end, of_kind));
        }
        account.system_resident = memory.system_resident();
        account.settle(doubtful);
        if mappings.iter().any(is_shared_heap) {
            account.divide_heap();
        }
        account.divide_malloc(own);
        account
    }

    /// Returns what the process has and its parts, the largest first, in one line: `70 bytes resident: Java heap 40, malloc 30; 90 of
    /// a limit of 100 bytes`.
    #[must_use]
    pub fn in_a_line(&self) -> String {
        let mut parts: Vec<(u64, Part)> = self
            .parts
            .iter()
            .map(|(part, amounts)| (amounts.resident, part))
            .filter(|(bytes, _)| *bytes > 0)
            .collect();
        parts.sort_unstable_by_key(|&(bytes, part)| (std::cmp::Reverse(bytes), part as usize));
        let mut line = format!("{} bytes resident:", self.resident());
        for (number, (bytes, part)) in parts.into_iter().enumerate() {
            let comma = if number > 0 { "," } else { "" };
            line.push_str(&format!("{comma} {} {bytes}", part.name()));
        }
        if let Some((limit, used)) = self.cgroup.and_then(|group| group.limit.zip(group.used)) {
            line.push_str(&format!("; {used} of a limit of {limit} bytes"));
        }
        line
    }

    /// Returns what the VM itself has of [`Part::Malloc`], and the purpose that has most of it; `None` if the VM does not count it.
    /// The VM counts direct buffers, which are a part of their own, for [`TrackedKind::OTHER`].
    #[must_use]
    pub fn malloc_of_vm(&self) -> Option<(u64, TrackedKind)> {
        let direct = self.vm.direct.unwrap_or(0);
        let mut kinds = self.tracked.clone();
        for kind in kinds
            .iter_mut()
            .filter(|kind| kind.name == TrackedKind::OTHER)
        {
            kind.malloc = kind.malloc.saturating_sub(direct);
        }
        let bytes = kinds.iter().map(|kind| kind.malloc).sum();
        Some((bytes, kinds.into_iter().max_by_key(|kind| kind.malloc)?))
    }

    /// Returns the sum of the parts in RAM.
    #[must_use]
    pub fn resident(&self) -> u64 {
        self.parts.iter().map(|(_, part)| part.resident).sum()
    }

    /// Returns `true` if so much belongs to `malloc` that it is worth the time to ask what of it is free.
    #[must_use]
    pub fn is_malloc_large(&self) -> bool {
        let bytes = self.parts[Part::Malloc].resident;
        bytes > ASKED_BYTES && bytes.saturating_mul(ASKED_SHARE) > self.resident()
    }

    /// Takes over what `malloc` says is in use, and what of its arenas is free.
    pub fn know_malloc(&mut self, own: OwnMemory, used: u64, free: u64) {
        let of_malloc =
            self.parts[Part::Malloc].resident + self.parts[Part::DirectBuffers].resident;
        let of_malloc = of_malloc + own.held.saturating_sub(own.mapped);
        // The pages of some free blocks are not in RAM.
        self.malloc_free = Some(of_malloc.saturating_sub(used).min(free));
    }

    /// Gives a mapping to its parts, and returns the bytes of the rest that may be in RAM.
    fn add(
        &mut self,
        mapping: &Mapping,
        of_kind: Part,
        claims: &Claims,
        memory: &dyn Memory,
    ) -> u64 {
        if !mapping.is_accessible {
            return 0;
        }
        let mut all_doubtful = 0;
        for Claim { range, part } in claims.pieces(mapping, of_kind, memory) {
            let amounts = &mut self.parts[part];
            amounts.committed += range.len() as u64;
            let Resident { certain, doubtful } = memory.resident(range, contents_of(mapping, part));
            amounts.resident += certain;
            all_doubtful += doubtful;
        }
        all_doubtful
    }

    /// Counts as much of what may be in RAM as the system's number has beyond the parts: while a forked process lives, all of it is.
    fn settle(&mut self, doubtful: u64) {
        let all = self.system_resident.unwrap_or(0);
        let missing = all.saturating_sub(self.resident());
        self.parts[Part::Rest].resident += doubtful.min(missing);
    }

    /// Takes out of the Java heap what is in it more than once: ZGC gets its memory from the system in files that it maps, at
    /// three addresses up to JDK 23, and each page is there as soon as it is committed.
    fn divide_heap(&mut self) {
        let Some(heap) = self.vm.heap else {
            return;
        };
        let counted = self.parts[Part::JavaHeap];
        let again = counted.resident.saturating_sub(heap.committed);
        self.parts[Part::JavaHeap].resident -= again;
        self.parts[Part::HeapViews] = Amounts {
            committed: counted.committed.saturating_sub(heap.committed),
            resident: again,
        };
        self.parts[Part::JavaHeap].committed -= self.parts[Part::HeapViews].committed;
    }

    /// Takes the agent's memory and direct buffers out of what they are in.
    fn divide_malloc(&mut self, own: OwnMemory) {
        self.move_some(Part::Rest, Part::Agent, own.mapped);
        self.move_some(
            Part::Malloc,
            Part::Agent,
            own.held.saturating_sub(own.mapped),
        );
        self.move_some(
            Part::Malloc,
            Part::DirectBuffers,
            self.vm.direct.unwrap_or(0),
        );
    }

    fn move_some(&mut self, from: Part, to: Part, bytes: u64) {
        let committed = bytes.min(self.parts[from].committed);
        let resident = bytes.min(self.parts[from].resident);
        self.parts[from].committed -= committed;
        self.parts[from].resident -= resident;
        self.parts[to].committed += committed;
        self.parts[to].resident += resident;
    }
}

fn contents_of(mapping: &Mapping, part: Part) -> Contents {
    match part {
        _ if !mapping.is_anonymous() => Contents::File,
        Part::Rest => Contents::Unknown,
        _ => Contents::Written,
    }
}

/// Returns the names of files that are mapped as code.
fn libraries(mappings: &[Mapping]) -> HashSet<&str> {
    let code = mappings.iter().filter(|mapping| mapping.is_code);
    let files = code.filter(|mapping| mapping.name.starts_with('/'));
    files.map(|mapping| mapping.name.as_str()).collect()
}

fn is_shared_heap(mapping: &Mapping) -> bool {
    mapping.name.contains("java_heap") && mapping.is_shared
}

/// Returns the part that a mapping belongs to by its name. `before` is the end of the one before, and its part.
fn kind(mapping: &Mapping, libraries: &HashSet<&str>, before: Option<(usize, Part)>) -> Part {
    let name = mapping.name.as_str();
    let follows_library = before == Some((mapping.range.start, Part::Libraries));
    match name {
        // Data of a library that its file does not have (.bss).
        _ if mapping.is_anonymous() && follows_library && mapping.is_accessible => Part::Libraries,
        _ if mapping.is_anonymous() => Part::Rest,
        _ if is_shared_heap(mapping) => Part::JavaHeap,
        "[heap]" => Part::Malloc,
        "[stack]" => Part::ThreadStacks,
        // Before libraries: that of JDK 11 has code.
        _ if name.ends_with(".jsa") || name.ends_with(".aot") => Part::ClassArchive,
        _ if libraries.contains(name) => Part::Libraries,
        _ if is_without_disk(name) => Part::SharedMemory,
        _ if name.starts_with('/') => Part::MappedFiles,
        _ => Part::Rest,
    }
}

fn is_without_disk(name: &str) -> bool {
    let starts = ["/memfd:", "/dev/shm/", "/SYSV", "/dev/zero"];
    starts.iter().any(|start| name.starts_with(start))
}

/// What is known of addresses, in their order.
struct Claims(Vec<Claim>);

impl Claims {
    fn new(mappings: &[Mapping], layout: &VmLayout, memory: &dyn Memory) -> Self {
        let mut claims = Vec::new();
        let mut add = |range: Range<usize>, part| {
            if !range.is_empty() {
                claims.push(Claim { range, part });
            }
        };
        if let Some(heap) = &layout.heap {
            add(heap.clone(), Part::JavaHeap);
        }
        for code in &layout.code {
            add(code.clone(), Part::CodeCache);
        }
        if let Some(cards) = &layout.card_table {
            add(cards.clone(), Part::CardTable);
        }
        if let Some(classes) = class_space(mappings, layout) {
            add(classes, Part::ClassSpace);
        }
        for block in metaspace(mappings, layout) {
            add(block, Part::Metaspace);
        }
        for stack in layout.stacks.iter().cloned() {
            add(stack, Part::ThreadStacks);
        }
        for stack in other_stacks(mappings, layout) {
            add(stack, Part::ThreadStacks);
        }
        let anonymous = |mapping: &&Mapping| mapping.is_anonymous() && mapping.is_accessible;
        for mapping in mappings.iter().filter(anonymous) {
            for heap in malloc::heaps(memory, &mapping.range) {
                add(heap, Part::Malloc);
            }
        }
        // The first that claims an address has it.
        let mut ordered: Vec<(usize, Claim)> = claims.into_iter().enumerate().collect();
        ordered.sort_unstable_by_key(|(place, claim)| (claim.range.start, *place));
        Self(ordered.into_iter().map(|(_, claim)| claim).collect())
    }

    /// Divides a mapping. Pieces that nothing claims are of its kind.
    fn pieces(&self, mapping: &Mapping, of_kind: Part, memory: &dyn Memory) -> Vec<Claim> {
        let mut pieces = Vec::new();
        let mut at = mapping.range.start;
        let may_have = |claim: &&Claim| mapping.is_anonymous() || claim.part == Part::JavaHeap;
        let from = self
            .0
            .partition_point(|claim| claim.range.start < mapping.range.end);
        let overlapping = self.0[..from]
            .iter()
            .filter(|claim| claim.range.end > mapping.range.start);
        for claim in overlapping.filter(may_have) {
            let begin = claim.range.start.max(at);
            let end = claim.range.end.min(mapping.range.end);
            if begin >= end {
                continue;
            }
            unclaimed(at..begin, mapping, of_kind, memory, &mut pieces);
            pieces.push(Claim {
                range: begin..end,
                part: claim.part,
            });
            at = end;
        }
        unclaimed(at..mapping.range.end, mapping, of_kind, memory, &mut pieces);
        pieces
    }
}

fn unclaimed(
    range: Range<usize>,
    mapping: &Mapping,
    of_kind: Part,
    memory: &dyn Memory,
    pieces: &mut Vec<Claim>,
) {
    let may_be_malloc = of_kind == Part::Rest && mapping.is_anonymous() && mapping.is_accessible;
    let chunks_end = match may_be_malloc {
        true => malloc::chunks_end(memory, &range),
        false => range.start,
    };
    let of_malloc = range.start..chunks_end;
    let others = chunks_end..range.end;
    for (range, part) in [(of_malloc, Part::Malloc), (others, of_kind)] {
        if !range.is_empty() {
            pieces.push(Claim { range, part });
        }
    }
}

/// Returns the class space: the first run of private mappings that begins with one that is used and has its size, from the
/// address on that class pointers count from. The VM reserves it after the class archive, if it has one.
fn class_space(mappings: &[Mapping], layout: &VmLayout) -> Option<Range<usize>> {
    let size = layout.class_space?;
    let is_heap = |address: usize| {
        let heap = layout.heap.as_ref();
        heap.is_some_and(|heap| heap.contains(&address))
    };
    let reach = layout.class_base.checked_add(UNSCALED)?;
    let after_base = mappings
        .iter()
        .enumerate()
        .skip_while(|(_, mapping)| mapping.range.start < layout.class_base);
    let begins = after_base
        .take_while(|(_, mapping)| mapping.range.start < reach)
        .filter(|(_, mapping)| mapping.is_anonymous() && mapping.is_accessible)
        .filter(|(_, mapping)| !is_heap(mapping.range.start));
    for (place, first) in begins {
        let end = first.range.start.checked_add(size)?;
        if run_end(&mappings[place..]) >= end {
            return Some(first.range.start..end);
        }
    }
    None
}

/// Returns the end of the private mappings without a file that follow one another without a gap.
fn run_end(mappings: &[Mapping]) -> usize {
    let mut end = mappings.first().map_or(0, |first| first.range.start);
    for mapping in mappings {
        if mapping.range.start != end || !mapping.is_anonymous() {
            break;
        }
        end = mapping.range.end;
    }
    end
}

/// Returns the blocks of the metaspace.
fn metaspace(mappings: &[Mapping], layout: &VmLayout) -> Vec<Range<usize>> {
    let mut blocks: Vec<Range<usize>> = Vec::new();
    // Where the class archive is mapped, constants are in it.
    let is_memory = |address: usize| {
        mapping_of(mappings, address).is_some_and(|mapping| mapping.is_anonymous())
    };
    for &address in layout
        .metaspace
        .iter()
        .filter(|&&address| is_memory(address))
    {
        if blocks.last().is_some_and(|block| block.contains(&address)) {
            continue;
        }
        let block = match layout.metaspace_block {
            Some(size) => Some(address - address % size..address - address % size + size),
            None => mapping_of(mappings, address).map(|mapping| mapping.range.clone()),
        };
        blocks.extend(block);
    }
    blocks
}

/// Returns the stacks of threads of which only a place is known: the mappings after a guard, which no thread may touch.
fn other_stacks(mappings: &[Mapping], layout: &VmLayout) -> Vec<Range<usize>> {
    let known = |address: usize| layout.stacks.iter().any(|stack| stack.contains(&address));
    let others = layout.stack_pointers.iter().filter(|&&place| !known(place));
    let found = others.filter_map(|&place| {
        let index = index_of(mappings, place)?;
        let mapping = &mappings[index];
        let guard = &mappings[index.checked_sub(1)?];
        let is_stack = mapping.is_anonymous()
            && mapping.is_accessible
            && !guard.is_accessible
            && guard.range.end == mapping.range.start
            && place - mapping.range.start < LARGEST_STACK;
        let end = mapping
            .range
            .end
            .min(mapping.range.start.saturating_add(LARGEST_STACK));
        is_stack.then_some(mapping.range.start..end)
    });
    found.collect()
}

fn mapping_of(mappings: &[Mapping], address: usize) -> Option<&Mapping> {
    Some(&mappings[index_of(mappings, address)?])
}

fn index_of(mappings: &[Mapping], address: usize) -> Option<usize> {
    let after = mappings.partition_point(|mapping| mapping.range.start <= address);
    let index = after.checked_sub(1)?;
    mappings[index].range.contains(&address).then_some(index)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::mappings;

    /// Memory of which every page is in RAM.
    #[derive(Default)]
    struct Whole {
        words: HashMap<usize, usize>,
        system_resident: Option<u64>,
        /// Whether a forked process shares what was written.
        is_forked: bool,
    }

    impl Memory for Whole {
        fn word(&self, address: usize) -> Option<usize> {
            self.words.get(&address).copied()
        }

        fn resident(&self, range: Range<usize>, contents: Contents) -> Resident {
            let bytes = range.len() as u64;
            match self.is_forked && contents == Contents::Unknown {
                true => Resident {
                    certain: 0,
                    doubtful: bytes,
                },
                false => Resident {
                    certain: bytes,
                    doubtful: 0,
                },
            }
        }

        fn system_resident(&self) -> Option<u64> {
            self.system_resident
        }
    }

    fn committed(account: &Account, part: Part) -> u64 {
        let amounts = account.parts[part];
        assert_eq!(amounts.committed, amounts.resident, "{part:?}");
        amounts.committed
    }

    #[test]
    fn mappings_are_divided_by_what_is_known_of_addresses() {
        let maps = "\
            10000-20000 rw-p 0 0:0 0 \n\
            20000-40000 ---p 0 0:0 0 \n\
            40000-48000 rw-p 0 0:0 7 /x/classes.jsa\n\
            100000-103000 ---p 0 0:0 0 \n\
            103000-110000 rw-p 0 0:0 0 \n\
            200000-208000 r-xp 0 0:0 7 /x/lib.so\n\
            208000-209000 rw-p 0 0:0 0 \n\
            300000-304000 rw-s 0 0:0 7 /memfd:x\n\
            400000-40a000 rw-p 0 0:0 0 \n";
        let layout = VmLayout {
            heap: Some(0x10000..0x48000),
            stacks: std::iter::once(0x100000..0x108000).collect(),
            stack_pointers: vec![0x109000],
            metaspace: vec![0x406123],
            metaspace_block: Some(0x2000),
            ..VmLayout::default()
        };
        let words = Whole {
            words: HashMap::from([(0x400008, 0x4002), (0x404008, 1)]),
            ..Whole::default()
        };
        let vm = VmFacts {
            direct: Some(0x1000),
            ..VmFacts::default()
        };
        let own = OwnMemory {
            held: 0x800,
            mapped: 0x200,
        };
        let account = Account::of(&mappings::parse(maps), &layout, vm, own, &words);
        for (part, bytes) in [
            // The archive's objects are mapped into the heap.
            (Part::JavaHeap, 0x18000),
            // The second thread's stack is what is left of the mapping.
            (Part::ThreadStacks, 0xd000),
            (Part::Libraries, 0x9000),
            (Part::SharedMemory, 0x4000),
            (Part::Metaspace, 0x2000),
            (Part::DirectBuffers, 0x1000),
            (Part::Agent, 0x800),
            (Part::Malloc, 0x4000 - 0x1000 - 0x600),
            (Part::Rest, 0x4000 - 0x200),
        ] {
            assert_eq!(committed(&account, part), bytes, "{part:?}");
        }
        let accessible = 0x10000 + 0x8000 + 0xd000 + 0x8000 + 0x1000 + 0x4000 + 0xa000;
        assert_eq!(account.resident(), accessible);
    }

    #[test]
    fn the_class_space_follows_the_archive_of_a_real_vm() {
        let mappings = mappings::parse(include_str!("../tests/maps-g1-17.txt"));
        let mut archives = mappings
            .iter()
            .filter(|mapping| mapping.name.ends_with(".jsa"));
        let archive = archives.next_back().expect("it has one").range.clone();
        let layout = VmLayout {
            class_space: Some(1 << 30),
            class_base: archive.start,
            ..VmLayout::default()
        };
        let found = class_space(&mappings, &layout).expect("it is there");
        // The VM aligns it to 16 MB.
        assert_eq!(found.start, archive.end.next_multiple_of(16 << 20));
    }

    #[test]
    fn what_zgc_maps_several_times_is_in_memory_once() {
        let maps = "\
            10000-20000 rw-s 0 0:0 7 /memfd:java_heap (deleted)\n\
            50000-60000 rw-s 0 0:0 7 /memfd:java_heap (deleted)\n";
        let vm = VmFacts {
            heap: Some(JavaHeap {
                committed: 0x10000,
                ..JavaHeap::default()
            }),
            ..VmFacts::default()
        };
        let none = Whole::default();
        let account = Account::of(
            &mappings::parse(maps),
            &VmLayout::default(),
            vm,
            OwnMemory::default(),
            &none,
        );
        assert_eq!(committed(&account, Part::JavaHeap), 0x10000);
        assert_eq!(committed(&account, Part::HeapViews), 0x10000);
    }

    #[test]
    fn what_may_be_in_memory_is_counted_as_far_as_the_system_does() {
        let maps = "\
            10000-20000 rw-p 0 0:0 0 \n\
            40000-48000 rw-p 0 0:0 7 /x/classes.jsa\n";
        let rest = |system_resident, is_forked| {
            let memory = Whole {
                system_resident,
                is_forked,
                ..Whole::default()
            };
            let account = Account::of(
                &mappings::parse(maps),
                &VmLayout::default(),
                VmFacts::default(),
                OwnMemory::default(),
                &memory,
            );
            assert_eq!(committed(&account, Part::ClassArchive), 0x8000);
            account.parts[Part::Rest].resident
        };
        assert_eq!(rest(Some(0x18000), true), 0x10000);
        assert_eq!(rest(Some(0xc000), true), 0x4000);
        assert_eq!(rest(Some(0x1000), true), 0);
        assert_eq!(rest(None, true), 0);
        assert_eq!(rest(Some(0x20000), false), 0x10000);
    }

    #[test]
    fn an_account_is_told_in_a_line() {
        let mut account = Account::default();
        assert_eq!(account.in_a_line(), "0 bytes resident:");
        for (part, resident) in [(Part::JavaHeap, 30), (Part::Malloc, 40)] {
            account.parts[part] = Amounts {
                committed: 50,
                resident,
            };
        }
        account.cgroup = Some(Cgroup {
            limit: Some(100),
            used: Some(90),
            ..Cgroup::default()
        });
        assert_eq!(
            account.in_a_line(),
            "70 bytes resident: malloc 40, Java heap 30; 90 of a limit of 100 bytes"
        );
    }
}
