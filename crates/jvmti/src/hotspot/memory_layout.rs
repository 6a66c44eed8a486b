//! Where the VM has its memory: the addresses of the Java heap, of code, of classes and of its threads' stacks, as its own
//! tables for debuggers lead to them.
//!
//! What other threads may free meanwhile, threads and classes, is read so that it cannot fault, and counts only if what it
//! refers to refers back.

use std::collections::BTreeSet;
use std::ops::Range;

use hprof_footprint::{Contents, Memory, Resident, TrackedKind, Tracking, VmFacts, VmLayout};

use super::code_heap::CodeHeaps;
use super::flags::{BoolFlag, NumberFlag, VmFlags};
use super::memory_tracking;
use super::thread_layout::THREAD_TYPES;
use crate::env::Env;
use crate::jni::{Jni, jni};
use crate::os::{Pages, Peek};
use crate::vm_kind::vm_structs::{VmStructs, read};
use memory::{Map, OrStop};

/// The metaspace consists of blocks of this size from JDK 16 on (`metaspace::chunklevel::MAX_CHUNK_BYTE_SIZE`).
const METASPACE_BLOCK: usize = 4 << 20;
/// Before, it is remembered in pieces of this size where constants were found.
const METASPACE_PIECE: usize = 64 << 10;
/// The most threads, loaders and classes that one look goes through: beyond that, freed memory is being read.
const MOST_THREADS: usize = 100_000;
const MOST_LOADERS: usize = 100_000;
const MOST_CLASSES: usize = 1_000_000;
/// The most bytes of a stack.
const LARGEST_STACK: usize = 1 << 30;
/// All classes are looked at anew after so many looks: what belonged to an unloaded one may be something else now.
const LOOKS: u32 = 60;
/// The stack of one of the VM's threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JavaStack {
    /// The system's id of the thread.
    pub tid: i32,
    /// The addresses of its stack.
    pub stack: Range<usize>,
}

/// Tells where the VM has its memory.
pub struct MemoryLayout {
    heap: Option<Range<usize>>,
    code: Option<CodeHeaps>,
    card_table: Option<Range<usize>>,
    class_space: Option<usize>,
    class_base: usize,
    threads: Option<ThreadList>,
    classes: Option<ClassList>,
    tracking: Option<Tracking>,
    memory: ProcessMemory,
}

/// The memory of this process, read so that nothing faults.
pub struct ProcessMemory {
    peek: Option<Peek>,
    pages: Pages,
}

/// Where the VM has its list of threads.
struct ThreadList {
    place: ListPlace,
    os_thread: usize,
    thread_id: usize,
    stack_base: usize,
    stack_size: usize,
}

enum ListPlace {
    /// JDK 11: each thread refers to the next one.
    Linked { first: usize, next: usize },
    /// An array.
    Array {
        list: usize,
        length: usize,
        threads: usize,
    },
}

/// Where the VM has its list of class loaders and their classes, and what is known of them.
struct ClassList {
    head: usize,
    next_loader: usize,
    classes: usize,
    next_class: usize,
    layout_helper: usize,
    constants: usize,
    holder: usize,
    /// The size of the blocks that memory for classes comes from, if they have one.
    block: Option<usize>,
    /// The addresses of pieces of the metaspace.
    found: BTreeSet<usize>,
    /// The newest class of each loader that has been looked at.
    seen: Map<usize, usize>,
    looks: u32,
}

/// Reads a word of what may have been freed: the address may be anything.
fn word_at(peek: &Peek, address: usize, offset: usize) -> Option<usize> {
    peek.word(address.checked_add(offset)?)
}

/// Reads a static field that holds a pointer.
fn pointer(structs: VmStructs, type_name: &std::ffi::CStr, name: &std::ffi::CStr) -> Option<usize> {
    let field = structs.field(type_name, name)?.not_null()?;
    // SAFETY: the tables say that this static field is there; it is a pointer.
    let value = unsafe { read::<usize>(field.addr()) };
    (value != 0).then_some(value)
}

impl MemoryLayout {
    /// Finds what this VM reports; some of it may be missing. Called when the VM is up.
    pub fn find(env: Env) -> Self {
        let structs = env.vm_structs();
        let flags = structs.and_then(VmFlags::find);
        let compresses =
            flags.is_some_and(|flags| flags.is_on(BoolFlag::UseCompressedClassPointers));
        // From JDK 27 on there are no other class pointers, and no flag.
        let size = flags.and_then(|flags| flags.number(NumberFlag::CompressedClassSpaceSize));
        let has_flag = flags.is_some_and(|flags| flags.has(BoolFlag::UseCompressedClassPointers));
        let memory = ProcessMemory::new();
        let tracking = flags.and_then(|flags| memory_tracking::find(env, flags, &memory));
        Self {
            heap: structs.and_then(heap_range),
            code: structs.and_then(CodeHeaps::find),
            card_table: structs.and_then(card_table),
            class_space: size.filter(|_| compresses || !has_flag),
            class_base: structs.and_then(class_base).unwrap_or(0),
            threads: structs.and_then(ThreadList::find),
            classes: structs.and_then(|structs| ClassList::find(structs, env)),
            tracking,
            memory,
        }
    }

    /// Returns the addresses, but for stacks.
    pub fn layout(&mut self) -> VmLayout {
        let mut layout = VmLayout {
            heap: self.heap.clone(),
            class_space: self.class_space,
            class_base: self.class_base,
            card_table: self.card_table.clone(),
            ..VmLayout::default()
        };
        if let Some(code) = &self.code {
            layout.code = code.ranges();
        }
        if let (Some(classes), Some(peek)) = (&mut self.classes, &self.memory.peek) {
            classes.look(peek);
            layout.metaspace = classes.found.iter().copied().collect();
            layout.metaspace_block = classes.block;
        }
        layout
    }

    /// Returns the threads of the VM; none if it does not tell.
    pub fn threads(&self) -> Vec<JavaStack> {
        match (&self.threads, &self.memory.peek) {
            (Some(list), Some(peek)) => list.threads(peek),
            _ => Vec::new(),
        }
    }

    /// Returns what the VM counts itself by purpose, the largest first; nothing if it does not count.
    pub fn tracked(&self) -> Vec<TrackedKind> {
        let Some(tracking) = &self.tracking else {
            return Vec::new();
        };
        let mut kinds = tracking.kinds(&self.memory);
        memory::sort_by_numbers(&mut kinds, |kind| [!(kind.malloc + kind.mapped), 0]);
        kinds
    }

    /// Returns the number of class loaders that have classes.
    pub fn loaders(&self) -> Option<u64> {
        Some(self.classes.as_ref()?.seen.len() as u64)
    }

    /// Returns the memory of this process.
    pub fn memory(&self) -> &ProcessMemory {
        &self.memory
    }
}

/// Returns what is reserved for the Java heap; `None` with ZGC, which does not say.
fn heap_range(structs: VmStructs) -> Option<Range<usize>> {
    let heap = pointer(structs, c"Universe", c"_collectedHeap")?;
    let region = heap + structs.offset(c"CollectedHeap", c"_reserved")?;
    let start = region + structs.offset(c"MemRegion", c"_start")?;
    let words = region + structs.offset(c"MemRegion", c"_word_size")?;
    // SAFETY: fields of the VM's heap, of these types; the heap lives as long as the VM, and its place does not change.
    let (start, words) = unsafe { (read::<usize>(start), read::<usize>(words)) };
    let end = start.checked_add(words.checked_mul(size_of::<usize>())?)?;
    (start != 0 && start < end).then_some(start..end)
}

/// Returns the card table; `None` if the collector has none.
fn card_table(structs: VmStructs) -> Option<Range<usize>> {
    let flags = VmFlags::find(structs)?;
    let with_cards = [
        BoolFlag::UseSerialGc,
        BoolFlag::UseParallelGc,
        BoolFlag::UseG1Gc,
    ];
    if !with_cards.into_iter().any(|flag| flags.is_on(flag)) {
        return None;
    }
    let barriers = pointer(structs, c"BarrierSet", c"_barrier_set")?;
    let table = barriers + structs.offset(c"CardTableBarrierSet", c"_card_table")?;
    // SAFETY: the barrier set of these collectors has this field, and lives as long as the VM.
    let table = unsafe { read::<usize>(table) };
    if table == 0 {
        return None;
    }
    let begin = table + structs.offset(c"CardTable", c"_byte_map")?;
    let size = table + structs.offset(c"CardTable", c"_byte_map_size")?;
    // SAFETY: fields of the card table, which lives as long as the VM.
    let (begin, size) = unsafe { (read::<usize>(begin), read::<usize>(size)) };
    let end = begin.checked_add(size)?;
    (begin != 0).then_some(begin..end)
}

/// Returns the address that compressed class pointers count from.
fn class_base(structs: VmStructs) -> Option<usize> {
    pointer(structs, c"CompressedKlassPointers", c"_base")
        .or_else(|| pointer(structs, c"CompressedKlassPointers", c"_narrow_klass._base"))
        .or_else(|| pointer(structs, c"Universe", c"_narrow_klass._base"))
}

impl ThreadList {
    fn find(structs: VmStructs) -> Option<Self> {
        let offset = |name| {
            let mut types = THREAD_TYPES.into_iter();
            types.find_map(|type_name| structs.offset(type_name, name))
        };
        let address = |type_name, name| Some(structs.field(type_name, name)?.not_null()?.addr());
        let place = match address(c"ThreadsSMRSupport", c"_java_thread_list") {
            Some(list) => ListPlace::Array {
                list,
                length: structs.offset(c"ThreadsList", c"_length")?,
                threads: structs.offset(c"ThreadsList", c"_threads")?,
            },
            None => ListPlace::Linked {
                first: address(c"Threads", c"_thread_list")?,
                next: structs.offset(c"JavaThread", c"_next")?,
            },
        };
        Some(Self {
            place,
            os_thread: offset(c"_osthread")?,
            thread_id: structs.offset(c"OSThread", c"_thread_id")?,
            stack_base: offset(c"_stack_base")?,
            stack_size: offset(c"_stack_size")?,
        })
    }

    fn threads(&self, peek: &Peek) -> Vec<JavaStack> {
        let addresses = self.addresses(peek);
        let threads = addresses.into_iter().flatten();
        threads
            .filter_map(|address| self.thread(peek, address))
            .collect()
    }

    /// Returns the addresses of the VM's threads, some of which may have ended.
    fn addresses(&self, peek: &Peek) -> Option<Vec<usize>> {
        match self.place {
            ListPlace::Array {
                list,
                length,
                threads,
            } => {
                let list = peek.word(list)?;
                // The length is half a word.
                let length = word_at(peek, list, length)? & 0xffff_ffff;
                let threads = word_at(peek, list, threads)?;
                let at = |index| word_at(peek, threads, index * size_of::<usize>());
                Some((0..length.min(MOST_THREADS)).map_while(at).collect())
            }
            ListPlace::Linked { first, next } => {
                let mut address = peek.word(first)?;
                let mut addresses = Vec::new();
                while address != 0 && addresses.len() < MOST_THREADS {
                    addresses.push(address);
                    let Some(following) = word_at(peek, address, next) else {
                        break;
                    };
                    address = following;
                }
                Some(addresses)
            }
        }
    }

    fn thread(&self, peek: &Peek, address: usize) -> Option<JavaStack> {
        let word = |offset| word_at(peek, address, offset);
        let base = word(self.stack_base)?;
        let size = word(self.stack_size)?;
        let os_thread = word(self.os_thread)?;
        // The number is half a word.
        let tid = word_at(peek, os_thread, self.thread_id)? as i32;
        let is_sound = size > 0 && size <= LARGEST_STACK && size < base && tid > 0;
        is_sound.then(|| JavaStack {
            tid,
            stack: base - size..base,
        })
    }
}

impl ClassList {
    fn find(structs: VmStructs, env: Env) -> Option<Self> {
        let offset = |type_name, name| structs.offset(type_name, name);
        let is_old = env.vm_kind().has_old_metaspace();
        Some(Self {
            head: structs
                .field(c"ClassLoaderDataGraph", c"_head")?
                .not_null()?
                .addr(),
            next_loader: offset(c"ClassLoaderData", c"_next")?,
            classes: offset(c"ClassLoaderData", c"_klasses")?,
            next_class: offset(c"Klass", c"_next_link")?,
            layout_helper: offset(c"Klass", c"_layout_helper")?,
            constants: offset(c"InstanceKlass", c"_constants")?,
            holder: offset(c"ConstantPool", c"_pool_holder")?,
            block: (!is_old).then_some(METASPACE_BLOCK),
            found: BTreeSet::new(),
            seen: Map::default(),
            looks: 0,
        })
    }

    /// Goes through the classes that are new.
    fn look(&mut self, peek: &Peek) {
        if self.looks == 0 {
            self.found.clear();
            self.seen.clear();
        }
        self.looks = (self.looks + 1) % LOOKS;
        let mut loaders = Map::default();
        let mut budget = MOST_CLASSES;
        let mut loader = peek.word(self.head).unwrap_or(0);
        while loader != 0 && loaders.len() < MOST_LOADERS {
            let newest = word_at(peek, loader, self.classes).unwrap_or(0);
            if newest != 0 {
                let known = self.seen.get(&loader).copied().unwrap_or(0);
                self.look_at(peek, newest, known, &mut budget);
                loaders.insert(loader, newest).or_stop();
            }
            loader = word_at(peek, loader, self.next_loader).unwrap_or(0);
        }
        self.seen = loaders;
    }

    /// Goes through the classes of a loader, from the newest one to one that is `known`.
    fn look_at(&mut self, peek: &Peek, newest: usize, known: usize, budget: &mut usize) {
        let piece = self.block.unwrap_or(METASPACE_PIECE);
        let mut class = newest;
        while class != 0 && class != known && *budget > 0 {
            *budget -= 1;
            if let Some(constants) = self.constants_of(peek, class) {
                self.found.insert(constants - constants % piece);
            }
            class = word_at(peek, class, self.next_class).unwrap_or(0);
        }
    }

    /// Returns the address of a class's constants, which refer to it; `None` for arrays, which have none.
    fn constants_of(&self, peek: &Peek, class: usize) -> Option<usize> {
        // The number is half a word, and negative for arrays.
        let helper = word_at(peek, class, self.layout_helper)? as i32;
        if helper < 0 {
            return None;
        }
        let constants = word_at(peek, class, self.constants)?;
        let holder = word_at(peek, constants, self.holder)?;
        (holder == class).then_some(constants)
    }
}

impl ProcessMemory {
    fn new() -> Self {
        Self {
            peek: Peek::new().ok(),
            pages: Pages::new(),
        }
    }
}

impl Memory for ProcessMemory {
    fn word(&self, address: usize) -> Option<usize> {
        self.peek.as_ref()?.word(address)
    }

    fn resident(&self, range: Range<usize>, contents: Contents) -> Resident {
        self.pages.resident(range, contents)
    }

    fn system_resident(&self) -> Option<u64> {
        self.pages.all_resident()
    }
}

impl Env {
    /// Returns what `java.nio.Bits` counts of direct buffers: bytes, buffers, and the most bytes; nothing in a VM that keeps
    /// them elsewhere, or that has not made any.
    pub fn direct_buffers(self, jni: Jni<'_>) -> VmFacts {
        let mut facts = VmFacts::default();
        // SAFETY: may be called with an exception pending.
        if unsafe { jni!(jni, ExceptionCheck) } {
            return facts;
        }
        let (Some(bits), Some(number)) = (
            jni.find_class(c"java/nio/Bits"),
            jni.find_class(c"java/util/concurrent/atomic/AtomicLong"),
        ) else {
            return facts;
        };
        if !self.is_initialized(bits.object()) {
            facts.direct = Some(0);
            facts.direct_buffers = Some(0);
            return facts;
        }
        let value = jni.field(number.object(), c"value", c"J");
        let counter = |name| {
            let signature = c"Ljava/util/concurrent/atomic/AtomicLong;";
            let field = jni.static_field(bits.object(), name, signature)?;
            // SAFETY: the field is a static one of the class, and of this type; so is the field of the object.
            let count = unsafe {
                let counter = jni!(jni, GetStaticObjectField, bits.object().raw, field);
                let counter = crate::jni::LocalRef::new(jni, counter)?;
                jni!(jni, GetLongField, counter.object().raw, value?)
            };
            u64::try_from(count).ok()
        };
        facts.direct = counter(c"RESERVED_MEMORY");
        facts.direct_buffers = counter(c"COUNT");
        let limit = jni.static_field(bits.object(), c"MAX_MEMORY", c"J");
        facts.direct_limit = limit.and_then(|field| {
            // SAFETY: the field is a static one of the class, and a long.
            let limit = unsafe { jni!(jni, GetStaticLongField, bits.object().raw, field) };
            u64::try_from(limit).ok()
        });
        facts
    }
}
