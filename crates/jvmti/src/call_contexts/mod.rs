//! The memory that the counting of calls shares between bytecode, the agent and the handler of CPU samples.
//!
//! Each thread has the stack of the contexts that it is in. Bytecode (`hprof_instrument::counter_class`) pushes the context of a
//! callee and counts its call if the caller's context knows it; otherwise the agent does. The handler charges a sample
//! to the innermost context. All three run on the thread itself, so plain reads and writes suffice; the handler may come between
//! any two of them.

#[cfg(unix)]
mod charge;

use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering, compiler_fence};
use std::sync::{Arc, OnceLock};

use locks::{Mutex, rank};
use memory::{Discardable, List, Mapped, OrStop};

use crate::error::JvmtiError;
use crate::os::key::{self, Key};
use crate::os::map_pages;
use crate::sys;

#[cfg(unix)]
pub(super) use charge::charge;

/// The number of threads that can have a slot in the table at one time.
const SLOTS: usize = 1 << 16;

/// A key that is no thread's number.
const NO_THREAD: u64 = u64::MAX;

/// The memory of a context, on one cache line.
#[derive(Default)]
#[repr(C, align(64))]
pub struct ContextCell {
    /// The number of calls that have begun.
    pub calls: AtomicU64,
    /// Time in the context itself: ticks of a clock, or samples.
    pub own: AtomicU64,
    /// Free for the tree that the context belongs to if calls are timed; otherwise the addresses of the contexts of [`recent`], and
    /// the context's number.
    ///
    /// [`recent`]: ContextCell::recent
    pub more: [AtomicU64; 3],
    /// The methods that were called last in it, the latest first, and their contexts.
    pub recent: [Callee; 2],
    /// 0 as long as `recent` has all callees; which other number, is up to the tree.
    pub list: AtomicU32,
    /// Free for the tree.
    pub flag: AtomicU32,
}

/// A method called in a context, and its own context.
#[derive(Default)]
#[repr(C)]
pub struct Callee {
    /// The method.
    pub method: AtomicU32,
    /// The number of its context.
    pub context: AtomicU32,
}

const _: () = assert!(size_of::<ContextCell>() == 64, "one cache line");

// SAFETY: it consists of atomics.
unsafe impl Discardable for ContextCell {}

/// The place in [`ContextCell::more`] of a context's own number.
const NUMBER: usize = 2;

/// The stack of one thread, as bytecode and the handler see it.
#[derive(Default)]
#[repr(C, align(64))]
struct Slot {
    /// The number of the thread, 0 for none.
    key: AtomicU64,
    /// The number of contexts on the stack in the lower half, the identity of the stack in the upper one.
    position: AtomicU64,
    /// The address of the stack.
    stack: AtomicUsize,
    /// The highest number of contexts for which it has room.
    room: AtomicU32,
    /// See [`CellLayout::cache`].
    cache: AtomicUsize,
}

const _: () = assert!(size_of::<Slot>() == 64, "a shift finds it");

/// What leaves whose calls are not counted get for a slot; nobody reads it.
static NO_SLOT: Slot = Slot {
    key: AtomicU64::new(0),
    position: AtomicU64::new(0),
    stack: AtomicUsize::new(0),
    room: AtomicU32::new(0),
    cache: AtomicUsize::new(0),
};

/// Returns the address of a slot that belongs to no thread.
pub(crate) fn no_slot() -> u64 {
    ptr::from_ref(&NO_SLOT).expose_provenance() as u64
}

/// A callee that was looked up, for callers with more than they have room for. All zeros means none: no context is at address 0.
#[derive(Default)]
#[repr(C, align(32))]
struct CacheEntry {
    /// The address of the caller's context.
    caller: AtomicU64,
    /// The address of the callee's.
    callee: AtomicU64,
    method: AtomicU32,
}

const _: () = assert!(size_of::<CacheEntry>() == 32, "a shift finds it");

// SAFETY: it consists of atomics, and padding.
unsafe impl Discardable for CacheEntry {}

/// The number of entries of a thread's first cache as a power of two. Most threads of a server call little.
const FIRST_CACHE_BITS: u32 = 8;
/// That of the largest.
const LAST_CACHE_BITS: u32 = 12;
/// The step from one cache to the next.
const MORE_CACHE_BITS: u32 = 2;
/// The hash of an entry: `((address >> SHIFT) * FACTOR + method) * SPREAD`, its upper bits.
const SHIFT: u8 = size_of::<ContextCell>().trailing_zeros() as u8;
const FACTOR: u8 = 31;
const SPREAD: u32 = 0x9E37_79B1;

/// The places in this memory that bytecode has to know, with offsets in bytes.
#[derive(Clone, Copy, Debug)]
pub struct CellLayout {
    /// The address of the table of slots.
    pub slots: u64,
    /// Their number.
    pub slot_count: u64,
    /// The size of one as a power of two.
    pub slot_shift: u8,
    /// In a slot.
    pub key: u64,
    /// In a slot.
    pub position: u64,
    /// In a slot.
    pub stack: u64,
    /// In a slot.
    pub room: u64,
    /// In a slot: the address of the cache, and in its lowest five bits by how many bits the hash is longer than the number of an entry.
    pub cache: u64,
    /// The hash by which an entry of the cache is found.
    pub hash: CellHash,
    /// The size of an entry of the cache as a power of two.
    pub entry_shift: u8,
    /// In an entry of the cache.
    pub caller: u64,
    /// In an entry of the cache.
    pub method: u64,
    /// In an entry of the cache.
    pub callee: u64,
    /// In a context.
    pub calls: u64,
    /// In a context: the addresses of the latest callees' contexts.
    pub callees: [u64; 2],
    /// In a context: the methods of these.
    pub methods: [u64; 2],
}

/// `((address >> shift) * factor + method) * spread`, in 32 bits, of which the upper ones are the number of an entry.
#[derive(Clone, Copy, Debug)]
pub struct CellHash {
    /// See above.
    pub shift: u8,
    /// See above.
    pub factor: u8,
    /// See above.
    pub spread: u32,
}

impl CellLayout {
    /// Returns the places; the memory exists from now on. An error if the system has none.
    pub fn prepare() -> Result<Self, JvmtiError> {
        let slots = table().ok_or(JvmtiError {
            function: "mmap",
            code: sys::JVMTI_ERROR_OUT_OF_MEMORY,
        })?;
        let more = std::mem::offset_of!(ContextCell, more) as u64;
        let recent = std::mem::offset_of!(ContextCell, recent) as u64;
        Ok(Self {
            slots: ptr::from_ref(slots).addr() as u64,
            slot_count: SLOTS as u64,
            slot_shift: size_of::<Slot>().trailing_zeros() as u8,
            key: std::mem::offset_of!(Slot, key) as u64,
            position: std::mem::offset_of!(Slot, position) as u64,
            stack: std::mem::offset_of!(Slot, stack) as u64,
            room: std::mem::offset_of!(Slot, room) as u64,
            cache: std::mem::offset_of!(Slot, cache) as u64,
            hash: CellHash {
                shift: SHIFT,
                factor: FACTOR,
                spread: SPREAD,
            },
            entry_shift: size_of::<CacheEntry>().trailing_zeros() as u8,
            caller: std::mem::offset_of!(CacheEntry, caller) as u64,
            method: std::mem::offset_of!(CacheEntry, method) as u64,
            callee: std::mem::offset_of!(CacheEntry, callee) as u64,
            calls: std::mem::offset_of!(ContextCell, calls) as u64,
            callees: [more, more + 8],
            methods: [recent, recent + size_of::<Callee>() as u64],
        })
    }
}

impl ContextCell {
    /// Sets the context's own number.
    pub fn set_number(&self, number: u32) {
        self.more[NUMBER].store(number.into(), Ordering::Relaxed);
    }
}

/// The contexts that a thread is in, outermost first, while another stack is its own.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct SavedStack {
    /// The identity of the stack.
    identity: u32,
    /// The contexts.
    pub contexts: Vec<u32>,
}

/// The contexts of the current thread: those that it is in, and the memory of all others that it may get to. They are numbered
/// through.
///
/// Cells and cache may be discarded at any time after [`forget_call_slots`]. Whoever is still counting a call then finds no callee in
/// them, or one whose address is 0, which is none; the addresses on the stack stay those of cells.
pub struct CallContexts {
    /// All cells whose address may be on the stack, or in another cell.
    blocks: List<Mapped<ContextCell>>,
    /// The addresses of cells of `blocks`. The first is that of the context outside all methods.
    stack: Vec<AtomicU64>,
    cache: CalleeCache,
    slot: OwnSlot,
}

/// A thread's cache of callees, with addresses of cells of its contexts.
struct CalleeCache {
    entries: Mapped<CacheEntry>,
    /// The number of callees that have lost their entry to another since there are so many.
    displaced: usize,
    shared: SharedCache,
}

/// A thread's cache of callees, as others see it.
#[derive(Clone)]
pub struct SharedCache(Arc<Mutex<Mapped<CacheEntry>, rank::CalleeCache>>);

enum OwnSlot {
    /// In the table.
    Shared(&'static Slot),
    /// Of a thread whose place in the table is taken.
    Private(Box<Slot>),
}

impl std::ops::Deref for OwnSlot {
    type Target = Slot;

    fn deref(&self) -> &Slot {
        match self {
            Self::Shared(slot) => slot,
            Self::Private(slot) => slot,
        }
    }
}

impl CallContexts {
    /// Creates a stack with the first context of a block alone, for the current thread, whose number the VM gave.
    pub fn new(thread: u64, first: Mapped<ContextCell>) -> Self {
        let slot = OwnSlot::of_thread(thread);
        let mut blocks = List::new();
        blocks.push(first).or_stop();
        let mut new = Self {
            blocks,
            stack: Vec::new(),
            cache: CalleeCache::new(),
            slot,
        };
        new.make_room(1);
        new.stack[0].store(new.address(0), Ordering::Relaxed);
        new.slot
            .position
            .store(position(new_identity(), 0), Ordering::Relaxed);
        new.publish(thread);
        new
    }

    /// Adds the next contexts.
    pub fn hold(&mut self, block: Mapped<ContextCell>) {
        self.blocks.push(block).or_stop();
    }

    /// Returns the thread's cache.
    pub fn cache(&self) -> SharedCache {
        self.cache.shared.clone()
    }

    /// Makes the slot that of a thread, the current one, if it was another's.
    pub fn belongs_to(&mut self, thread: u64) {
        if matches!(self.slot, OwnSlot::Shared(_))
            && self.slot.key.load(Ordering::Relaxed) == thread
        {
            return;
        }
        let position = self.slot.position.load(Ordering::Relaxed);
        self.withdraw();
        self.slot = OwnSlot::of_thread(thread);
        self.slot.position.store(position, Ordering::Relaxed);
        self.publish(thread);
    }

    fn cell(&self, context: u32) -> &ContextCell {
        let (context, count) = (context as usize, self.blocks[0].len());
        &self.blocks[context / count][context % count]
    }

    fn address(&self, context: u32) -> u64 {
        ptr::from_ref(self.cell(context)).expose_provenance() as u64
    }

    /// Makes the latest callees of a context known to bytecode, and that of this method.
    pub fn link(&mut self, context: u32, method: u32, callee: u32) {
        let caller = self.address(context);
        if self.cell(context).list.load(Ordering::Relaxed) != 0 {
            let callee = self.address(callee);
            if self.cache.put(caller, method, callee) {
                self.publish_cache();
            }
        }
        let cell = self.cell(context);
        for (callee, address) in cell.recent.iter().zip(&cell.more) {
            let number = callee.context.load(Ordering::Relaxed);
            address.store(self.address(number), Ordering::Relaxed);
        }
    }

    /// Returns the position of the innermost context.
    pub fn position(&self) -> u64 {
        self.slot.position.load(Ordering::Relaxed)
    }

    /// Returns the innermost context.
    pub fn top(&self) -> u32 {
        self.at(self.position() as u32 as usize)
    }

    fn at(&self, depth: usize) -> u32 {
        let address = self.stack[depth].load(Ordering::Relaxed);
        // SAFETY: only addresses of cells get to the stack, by `enter` or by bytecode, which has them from `link`, and leaves out
        // the 0 of a cell that was discarded. `blocks` holds all of them.
        let cell = unsafe { &*ptr::with_exposed_provenance::<ContextCell>(address as usize) };
        cell.more[NUMBER].load(Ordering::Relaxed) as u32
    }

    /// Enters a context; returns the position before.
    pub fn enter(&mut self, context: u32) -> u64 {
        let before = self.position();
        let depth = before as u32 as usize + 1;
        self.make_room(depth + 1);
        self.stack[depth].store(self.address(context), Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        self.slot.position.store(before + 1, Ordering::Relaxed);
        before
    }

    /// Enters a context of a leaf; returns the address of the slot, whose position the leaf's exit takes one from. Does nothing if the slot
    /// is not in the table, as then it may be freed before.
    pub fn enter_leaf(&mut self, context: u32) -> Option<u64> {
        let OwnSlot::Shared(slot) = self.slot else {
            return None;
        };
        self.enter(context);
        Some(ptr::from_ref(slot).expose_provenance() as u64)
    }

    /// Goes back to a position of the current stack; does nothing for one of another stack, or further in.
    pub fn leave(&self, to: u64) {
        let now = self.position();
        if (now ^ to) >> 32 == 0 && to < now {
            self.slot.position.store(to, Ordering::Relaxed);
        }
    }

    /// Takes the stack away, and puts another one in its place; one that is new if it is `None`.
    pub fn replace(&mut self, other: Option<SavedStack>) -> SavedStack {
        let position_before = self.position();
        let contexts = 1..=position_before as u32 as usize;
        let saved = SavedStack {
            identity: (position_before >> 32) as u32,
            contexts: contexts.map(|depth| self.at(depth)).collect(),
        };
        let other = other.unwrap_or_else(|| SavedStack {
            identity: new_identity(),
            contexts: Vec::new(),
        });
        self.slot
            .position
            .store(position(other.identity, 0), Ordering::Relaxed);
        for context in other.contexts {
            self.enter(context);
        }
        saved
    }

    /// Makes room for so many contexts.
    fn make_room(&mut self, count: usize) {
        const FIRST: usize = 256;
        if count <= self.stack.len() {
            return;
        }
        let length = (2 * self.stack.len()).max(FIRST).max(count);
        memory::need(length * size_of::<AtomicU64>());
        let old = self
            .stack
            .iter()
            .map(|address| AtomicU64::new(address.load(Ordering::Relaxed)));
        let mut larger: Vec<AtomicU64> = old.collect();
        larger.resize_with(length, AtomicU64::default);
        // The handler must find one or the other.
        let smaller = std::mem::replace(&mut self.stack, larger);
        self.publish_stack();
        drop(smaller);
    }

    fn publish_stack(&self) {
        let stack = self.stack.as_ptr().expose_provenance();
        self.slot.stack.store(stack, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        let room = u32::try_from(self.stack.len() - 1).unwrap_or(u32::MAX - 1);
        self.slot.room.store(room, Ordering::Relaxed);
    }

    fn publish_cache(&self) {
        let entries = &self.cache.entries;
        let address = entries.as_ptr().expose_provenance();
        let unused = unused_bits(entries.len()) as usize;
        self.slot.cache.store(address | unused, Ordering::Relaxed);
    }

    fn publish(&self, thread: u64) {
        self.publish_stack();
        self.publish_cache();
        compiler_fence(Ordering::SeqCst);
        if let OwnSlot::Shared(slot) = self.slot {
            slot.key.store(thread, Ordering::Relaxed);
        }
        set_current(ptr::from_ref::<Slot>(&self.slot).cast_mut());
    }

    fn withdraw(&mut self) {
        set_current(ptr::null_mut());
        compiler_fence(Ordering::SeqCst);
        if let OwnSlot::Shared(slot) = self.slot {
            slot.key.store(0, Ordering::Release);
        }
    }
}

impl CalleeCache {
    fn new() -> Self {
        let entries = Mapped::zeroed(1 << FIRST_CACHE_BITS).or_stop();
        Self {
            shared: SharedCache(Arc::new(Mutex::new(entries.clone()))),
            entries,
            displaced: 0,
        }
    }

    /// Adds a callee; returns `true` if the cache is elsewhere now.
    fn put(&mut self, caller: u64, method: u32, callee: u64) -> bool {
        let entry = &self.entries[place(caller, method, self.entries.len())];
        self.displaced += usize::from(entry.caller.load(Ordering::Relaxed) != 0);
        entry.caller.store(caller, Ordering::Relaxed);
        entry.callee.store(callee, Ordering::Relaxed);
        entry.method.store(method, Ordering::Relaxed);
        self.displaced > self.entries.len() && self.grow()
    }

    /// Makes a larger cache, which is empty, if there may be one and the system has the memory.
    fn grow(&mut self) -> bool {
        let length = self.entries.len() << MORE_CACHE_BITS;
        if length > 1 << LAST_CACHE_BITS {
            return false;
        }
        let Ok(entries) = Mapped::zeroed(length) else {
            return false;
        };
        *self.shared.0.lock() = entries.clone();
        self.entries = entries;
        self.displaced = 0;
        true
    }
}

/// Returns the number of an entry in a cache of this length.
fn place(caller: u64, method: u32, length: usize) -> usize {
    let hash = ((caller >> SHIFT) as u32)
        .wrapping_mul(FACTOR.into())
        .wrapping_add(method)
        .wrapping_mul(SPREAD);
    (hash >> unused_bits(length)) as usize
}

/// Returns by how many bits the hash is longer than the number of an entry of a cache of this length, a power of two.
fn unused_bits(length: usize) -> u32 {
    u32::BITS - length.trailing_zeros()
}

impl SharedCache {
    /// Gives the memory back to the system: every callee is looked up from now on.
    pub fn discard(&self) {
        self.0.lock().discard();
    }
}

impl Drop for CallContexts {
    fn drop(&mut self) {
        self.withdraw();
    }
}

impl OwnSlot {
    /// Takes the place of a thread in the table, or one outside if another thread has that. The key is set later.
    fn of_thread(thread: u64) -> Self {
        let shared = table().map(|slots| &slots[thread as usize % SLOTS]);
        let free = shared.filter(|slot| {
            thread != 0
                && slot
                    .key
                    .compare_exchange(0, NO_THREAD, Ordering::Acquire, Ordering::Relaxed)
                    .is_ok()
        });
        match free {
            Some(slot) => Self::Shared(slot),
            None => Self::Private(Box::default()),
        }
    }
}

fn position(identity: u32, depth: u32) -> u64 {
    u64::from(identity) << 32 | u64::from(depth)
}

/// Returns the identity of a stack that is new. They are positive as numbers of Java, and not 0: no position is one more than that of
/// a call which is not counted.
fn new_identity() -> u32 {
    static IDENTITIES: AtomicU32 = AtomicU32::new(0);
    1 + IDENTITIES.fetch_add(1, Ordering::Relaxed) % (u32::MAX >> 1)
}

/// Makes bytecode ask the agent from the next call on, on every thread.
pub fn forget_call_slots() {
    // Only a table that exists has anything to forget.
    if let Some(Some(slots)) = TABLE.get() {
        for slot in *slots {
            if slot.key.load(Ordering::Relaxed) != 0 {
                slot.key.store(NO_THREAD, Ordering::Relaxed);
            }
        }
    }
}

static TABLE: OnceLock<Option<&'static [Slot; SLOTS]>> = OnceLock::new();

/// Returns the table of slots, which is never freed: its address is in bytecode.
fn table() -> Option<&'static [Slot; SLOTS]> {
    *TABLE.get_or_init(|| {
        let pages = map_pages(size_of::<[Slot; SLOTS]>())?;
        pages.as_ptr().expose_provenance();
        // SAFETY: new memory, of zeros, which are a valid slot; pages are aligned well enough. It stays.
        let slots = unsafe { pages.cast::<[Slot; SLOTS]>().as_ref() };
        // The number of a thread is 0 while its object is being made, and that must not be the key of a slot.
        slots[0].key.store(NO_THREAD, Ordering::Relaxed);
        Some(slots)
    })
}

/// The key under which a thread has the address of its slot, for the handler.
static KEY: OnceLock<Option<Key>> = OnceLock::new();

/// Returns the key, which is created if need be; `None` if the process has no more keys.
pub(super) fn key() -> Option<Key> {
    *KEY.get_or_init(key::new)
}

fn set_current(slot: *mut Slot) {
    if let Some(key) = key() {
        // Without memory for the value the thread's samples have no context.
        key::set(key, slot.cast());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn callee_of(cache: &CalleeCache, caller: u64, method: u32) -> Option<u64> {
        let entry = &cache.entries[place(caller, method, cache.entries.len())];
        let is_it = entry.caller.load(Ordering::Relaxed) == caller
            && entry.method.load(Ordering::Relaxed) == method;
        is_it.then(|| entry.callee.load(Ordering::Relaxed))
    }

    #[test]
    fn a_cache_grows_when_callees_displace_each_other() {
        let mut cache = CalleeCache::new();
        let mut lengths = vec![cache.entries.len()];
        for number in 1..20_000_u32 {
            let caller = u64::from(number) << SHIFT;
            let is_elsewhere = cache.put(caller, 7, 64);
            assert_eq!(is_elsewhere, callee_of(&cache, caller, 7).is_none());
            if is_elsewhere {
                lengths.push(cache.entries.len());
            }
            let shared = cache.shared.0.lock().as_ptr();
            assert_eq!(shared, cache.entries.as_ptr());
        }
        assert_eq!(lengths, [256, 1_024, 4_096]);
        cache.put(64, 8, 128);
        assert_eq!(callee_of(&cache, 64, 8), Some(128));
    }

    #[test]
    fn only_callees_that_a_context_has_no_room_for_are_in_the_cache() {
        let cells = Mapped::<ContextCell>::zeroed(4).or_stop();
        let mut contexts = CallContexts::new(0, cells.clone());
        let known = |contexts: &CallContexts| {
            callee_of(&contexts.cache, contexts.address(0), 9) == Some(contexts.address(2))
        };
        contexts.link(0, 9, 2);
        assert!(!known(&contexts));
        cells[0].list.store(1, Ordering::Relaxed);
        contexts.link(0, 9, 2);
        assert!(known(&contexts));
        contexts.cache().discard();
        assert!(!known(&contexts) || !cfg!(target_os = "linux"));
    }
}
