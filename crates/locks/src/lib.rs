//! The order in which a thread takes the agent's locks: this is the only place that defines it. Debug builds check it.
//!
//! Each lock has a rank. A thread may wait for a lock only while every lock that it holds has a lower rank, so threads
//! cannot wait for one another in a circle. Locks that share a rank (the shards of a table, the locks that threads have
//! of their own) are never held together by one thread. A `try_lock` never waits and may be called at any time.
//!
//! HotSpot suspends a thread in calls of JVMTI and JNI, for as long as a debugger likes. So a thread calls the VM only while it holds
//! no lock, or locks of ranks that state why no thread of the program waits for them without a limit.
//!
//! In a debug build a thread that breaks these rules panics before it waits or calls the VM. In a release build a lock here
//! is `parking_lot`'s and nothing more.

#![forbid(unsafe_code)]
#![warn(unreachable_pub)]
#![cfg_attr(
    not(test),
    deny(
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        clippy::cast_sign_loss
    )
)]

use std::cell::Cell;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::time::{Duration, Instant};

/// Returns the bit of a rank that states a reason, and 0 for the others.
macro_rules! may_call_vm {
    ($order:expr) => {
        0
    };
    ($order:expr, $reason:literal) => {
        1 << ($order as u32)
    };
}

/// Declares the ranks in their order. The VM may be called with those that state why.
macro_rules! ranks {
    ($($(#[$doc:meta])* $name:ident $(: $reason:literal)?)*) => {
        /// The ranks, the outermost first.
        pub mod rank {
            use super::Rank;

            enum Order { $($name),* }

            pub(super) const NAMES: &[&str] = &[$(stringify!($name)),*];

            /// The ranks whose locks may be held while the VM is called, one bit each.
            pub(super) const MAY_CALL_VM: u128 =
                0 $(| may_call_vm!(Order::$name $(, $reason)?))*;

            $(
                $(#[$doc])*
                pub struct $name;

                impl Rank for $name {
                    const ORDER: u32 = Order::$name as u32;
                }
            )*
        }
    };
}

/// The position of a lock in the order.
pub trait Rank {
    /// The number of ranks before it.
    const ORDER: u32;
}

ranks! {
    // Sessions.
    /// `agent::attach`: commands that start and stop sessions.
    Commanding: "commands are carried out on threads of the VM and of the agent, one after the other"
    /// `session::lifecycle`: the running session's hold on the VM.
    VmHold: "commands wait for it, and the end of the VM for a limited time"
    /// `session::last_resort`: whether the profile has been written.
    LastResort
    /// `Session::dumping`: dumps, and anything that must not happen during one.
    Dumping: "dumps are made on threads of the VM and of the agent; those of the program wait for a limited time"
    /// `session::exhaustion`: what is being written, and how often it was.
    Exhaustions
    /// `Session::closing`: the end of a period's output.
    Closing
    /// `Session::destination`.
    Destination
    /// `agent::periods`: the files of a profile.
    PeriodFiles
    /// `Session::beginning`.
    Beginning
    /// `ThreadRegistry::registering`: a thread's announcement to the journal and to the engines.
    Registering
    /// `ThreadRegistry::last_names`.
    LastNames
    /// `output::Holding`: a heap dump, which other threads wait for when it has held back too much.
    HeapDump: "as `Dumping`; a thread with an event waits for a limited time"
    /// `Session::memory_looks`.
    MemoryLooks
    /// `session::listener::Listener::source`.
    CommandSource

    // Engines.
    /// `heap_dump::vm_dumper::temporary`: the folder that is in use.
    TemporaryFolder
    /// `LiveObjects::old`.
    OldObjects: "it is held by threads of the agent; those of the program wait for a limited time"
    /// The data that a thread keeps of a session for allocations.
    ThreadTracker: "it is the thread's own; others wait for it for a limited time"
    /// `LiveObjects::full`.
    PiledObjects
    /// `allocations::TrackedThreads`.
    TrackedThreads
    /// `LateStart::bytes_until_sample`.
    BytesUntilSample
    /// `allocations::buffer_flags`: the flags' previous values.
    BufferFlags
    /// `allocations::counts`: the compilers' level before.
    CompilerLevel
    /// `allocations::counts`: the counts of all threads.
    AllThreadsCounts
    /// `AllocationTracker::unseen_before_dump`.
    UnseenBeforeDump
    /// `AllocationTracker::reported_unseen`.
    ReportedUnseen
    /// `allocations::EstimateErrors`.
    EstimateErrors
    /// `cpu_samples::asynchronous`, `native_memory`: samples while they are fetched.
    FetchedSamples: "as `OldObjects`"
    /// The threads of either CPU sampler, or of `native_memory`.
    SampledThreads
    /// `native_memory::sites`.
    NativeSites
    /// `native_memory`: the functions that have been found.
    NativeFunctions
    /// `cpu_samples::ended_threads`.
    EndedThreads
    /// `cpu_samples::vm_threads`.
    VmThreads
    /// `wall_samples::rounds`.
    WallRounds: "as `OldObjects`"
    /// `engines::live_threads`, of each sampler of elapsed time.
    LiveThreads
    /// `cpu_samples::counts`.
    SampleCounts
    /// `MethodTimer::ledger`.
    TimerLedger
    /// `cpu_times::thread_calls`: the ledger that the hooks work for.
    HooksLedger
    /// `Ledger::contexts`.
    AllContexts
    /// `Ledger::books`.
    Books
    /// `cpu_times::call_tree`: the numbers that a thread's contexts have in the table of all threads.
    ContextIds
    /// `cpu_times::call_tree`: the contexts that a thread has published.
    PublishedContexts
    /// `cpu_times::shadow_stack`: the stack that a thread has published.
    PublishedStack
    /// `cpu_times::unmounted`.
    UnmountedStacks
    /// `cpu_times::rewrite`: the classes that have hooks.
    RewrittenClasses
    /// `cpu_times::rewrite`: the methods that are no longer counted.
    OverBudget
    /// `cpu_times::rewrite`: the classes that are not timed.
    LeftOut
    /// The shards of `monitors::PendingWaits`.
    PendingWaits
    /// The shards of `monitors::lock_waits::ParkedVirtualThreads`.
    ParkedVirtualThreads
    /// `monitors::lock_waits`: the samples.
    LockWaits
    /// `monitors::KnownVirtualThreads`.
    KnownVirtualThreads
    /// `monitors`: the time of the next check for unloaded classes.
    MonitorSweep
    /// `monitors::contention_cache`: the caches of all threads.
    ContentionCaches
    /// `monitors::contention_cache`: that of one thread.
    ContentionCache

    // Stacks.
    /// `jvmti::FrameClasses`.
    FrameClasses
    /// `Stacks::names`.
    StackNames
    /// `Stacks::loaders`.
    KnownLoaders
    /// The shards of `stacks::named_frames`.
    NamedFrames

    // The output.
    /// `Journal::held`: records that wait for the end of a heap dump.
    HeldRecords
    /// `Journal::written`: the names that the file has.
    WrittenNames
    /// `Journal::writer`.
    CurrentWriter
    /// `output::Records`: the encoder and its buffer.
    Records
    /// `output::writer`: the buffers in the queue.
    QueuedBytes
    /// `output::Writer::thread`.
    WriterThread
    /// `output::SnapshotBuffer`.
    SnapshotBytes
    /// `Journal::threads`.
    AnnouncedThreads

    // The tables of names.
    /// `names::class`.
    LoadedClasses
    /// `names::thread`.
    ThreadObjects
    /// The shards of every `names::intern::Interner`.
    Interner

    // The safe wrapper of the VM.
    /// `jvmti::OwnObjects`.
    OwnObjects
    /// `jvmti::RegisteredThreads`.
    RegisteredThreads
    /// `jvmti::AgentThreads`.
    AgentThreads
    /// `jvmti::BytesUntilSample`: the result of trying it on a thread started for that purpose.
    TrialThread
    /// `jvmti::FrameClasses`: the classes that were prepared.
    PreparedClasses
    /// `NativeAllocations::entries`.
    NativeEntries
    /// `CpuTimers::native` and `NativeAllocations::native`.
    NativeCode
    /// `native_code::Library::symbols`.
    NativeSymbols
    /// `CpuTimers::reading` and `NativeAllocations::reading`.
    RingReading
    /// `cpu_timers::interrupted_threads`.
    InterruptedThreads
    /// `PendingSignals`.
    PendingSignals
    /// `jvmti::CallContexts`: a thread's cache of callees.
    CalleeCache
    /// `engines::Worker`.
    WorkerState
    /// `Gate::waiting`.
    GateWaiting
}

const _: () = assert!(
    rank::NAMES.len() <= u128::BITS as usize,
    "one bit of HELD each"
);

thread_local! {
    /// The ranks of the locks that the thread holds, one bit each.
    static HELD: Cell<u128> = const { Cell::new(0) };
}

/// Panics in a debug build if the current thread may not wait for a lock of this rank.
#[inline]
#[track_caller]
pub fn check<R: Rank>() {
    if cfg!(debug_assertions) {
        refuse::<R>(HELD.get());
    }
}

/// Panics if one of the held locks does not come before the rank.
#[track_caller]
fn refuse<R: Rank>(held: u128) {
    let not_before = held >> R::ORDER << R::ORDER;
    if not_before != 0 {
        let wanted = rank::NAMES[R::ORDER as usize];
        let held = rank::NAMES[not_before.trailing_zeros() as usize];
        panic!("lock order: {wanted} is wanted while {held} is held");
    }
}

/// Panics in a debug build if the current thread holds a lock with which the VM must not be called.
#[inline]
#[track_caller]
pub fn check_vm_call(function: &str) {
    if cfg!(debug_assertions) {
        let held = HELD.get() & !rank::MAY_CALL_VM;
        // A thread that is unwinding releases what it holds, in whatever order.
        if held != 0 && !std::thread::panicking() {
            let held = rank::NAMES[held.trailing_zeros() as usize];
            panic!("lock order: {function} is called while {held} is held");
        }
    }
}

/// Marks that the current thread holds a lock of a rank. Empty in a release build.
struct Held<R: Rank>(PhantomData<R>);

impl<R: Rank> Held<R> {
    const BIT: u128 = 1 << R::ORDER;

    #[inline]
    #[track_caller]
    fn new() -> Self {
        if cfg!(debug_assertions) {
            let held = HELD.get();
            let name = rank::NAMES[R::ORDER as usize];
            assert!(held & Self::BIT == 0, "lock order: two of {name} are held");
            HELD.set(held | Self::BIT);
        }
        Self(PhantomData)
    }
}

impl<R: Rank> Drop for Held<R> {
    #[inline]
    fn drop(&mut self) {
        if cfg!(debug_assertions) {
            HELD.set(HELD.get() & !Self::BIT);
        }
    }
}

/// The guard of a lock that has a rank.
pub struct Guard<G, R: Rank> {
    guard: G,
    _held: Held<R>,
}

impl<G, R: Rank> Guard<G, R> {
    /// Creates the guard of a lock that the current thread has just taken.
    #[inline]
    #[track_caller]
    pub fn new(guard: G) -> Self {
        Self {
            _held: Held::new(),
            guard,
        }
    }
}

impl<G: Deref, R: Rank> Deref for Guard<G, R> {
    type Target = G::Target;

    #[inline]
    fn deref(&self) -> &G::Target {
        &self.guard
    }
}

impl<G: DerefMut, R: Rank> DerefMut for Guard<G, R> {
    #[inline]
    fn deref_mut(&mut self) -> &mut G::Target {
        &mut self.guard
    }
}

/// `parking_lot`'s mutex with a rank.
pub struct Mutex<T, R>(parking_lot::Mutex<T>, PhantomData<R>);

/// The guard of a [`Mutex`].
pub type MutexGuard<'a, T, R> = Guard<parking_lot::MutexGuard<'a, T>, R>;

impl<T, R> Mutex<T, R> {
    /// Creates an unlocked mutex.
    pub const fn new(value: T) -> Self {
        Self(parking_lot::Mutex::new(value), PhantomData)
    }
}

impl<T: Default, R> Default for Mutex<T, R> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T, R: Rank> Mutex<T, R> {
    /// Waits for the lock.
    #[inline]
    #[track_caller]
    pub fn lock(&self) -> MutexGuard<'_, T, R> {
        check::<R>();
        Guard::new(self.0.lock())
    }

    /// Takes the lock if nobody holds it.
    #[inline]
    #[track_caller]
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T, R>> {
        self.0.try_lock().map(Guard::new)
    }

    /// Waits for the lock, until `end` at the latest.
    #[track_caller]
    pub fn try_lock_until(&self, end: Instant) -> Option<MutexGuard<'_, T, R>> {
        check::<R>();
        self.0.try_lock_until(end).map(Guard::new)
    }

    /// Waits for the lock, but no longer than `timeout`.
    #[track_caller]
    pub fn try_lock_for(&self, timeout: Duration) -> Option<MutexGuard<'_, T, R>> {
        check::<R>();
        self.0.try_lock_for(timeout).map(Guard::new)
    }
}

/// `parking_lot`'s reader-writer lock with a rank. A reader never waits for another reader, but it may wait for a
/// waiting writer, so reading obeys the order too.
pub struct RwLock<T, R>(parking_lot::RwLock<T>, PhantomData<R>);

impl<T, R> RwLock<T, R> {
    /// Creates an unlocked lock.
    pub const fn new(value: T) -> Self {
        Self(parking_lot::RwLock::new(value), PhantomData)
    }
}

impl<T, R: Rank> RwLock<T, R> {
    /// Waits until nobody writes.
    #[inline]
    #[track_caller]
    pub fn read(&self) -> Guard<parking_lot::RwLockReadGuard<'_, T>, R> {
        check::<R>();
        Guard::new(self.0.read())
    }

    /// Waits until nobody reads or writes.
    #[track_caller]
    pub fn write(&self) -> Guard<parking_lot::RwLockWriteGuard<'_, T>, R> {
        check::<R>();
        Guard::new(self.0.write())
    }
}

/// `parking_lot`'s condition variable, for a [`Mutex`]. No wait is without a limit. A waiting thread takes the mutex again at the end, so it must
/// hold no lock of a higher rank while it waits.
#[derive(Default)]
pub struct Condvar(parking_lot::Condvar);

impl Condvar {
    /// Creates a condition variable that nobody waits for.
    pub const fn new() -> Self {
        Self(parking_lot::Condvar::new())
    }

    /// Wakes all waiting threads.
    pub fn notify_all(&self) {
        self.0.notify_all();
    }

    /// Waits while the condition holds, but no longer than `timeout`.
    #[track_caller]
    pub fn wait_while_for<T, R: Rank>(
        &self,
        guard: &mut MutexGuard<'_, T, R>,
        condition: impl FnMut(&mut T) -> bool,
        timeout: Duration,
    ) {
        check_wait::<R>();
        self.0.wait_while_for(&mut guard.guard, condition, timeout);
    }

    /// Waits while the condition holds, until `end` at the latest.
    #[track_caller]
    pub fn wait_while_until<T, R: Rank>(
        &self,
        guard: &mut MutexGuard<'_, T, R>,
        condition: impl FnMut(&mut T) -> bool,
        end: Instant,
    ) {
        check_wait::<R>();
        self.0.wait_while_until(&mut guard.guard, condition, end);
    }
}

#[track_caller]
fn check_wait<R: Rank>() {
    if cfg!(debug_assertions) {
        refuse::<R>(HELD.get() & !Held::<R>::BIT);
    }
}

#[cfg(all(test, debug_assertions))]
mod tests {
    use super::*;

    type Outer = Mutex<u32, rank::Dumping>;
    type Inner = Mutex<u32, rank::Records>;

    /// Returns the message of the panic that `broken` ends with. The locks that it held are free again.
    fn refusal(broken: impl FnOnce() + Send) -> String {
        let panic = std::thread::scope(|scope| scope.spawn(broken).join());
        let message = panic.expect_err("the order is broken");
        message.downcast_ref::<String>().expect("words").clone()
    }

    #[test]
    fn locks_are_taken_in_their_order() {
        let (outer, inner) = (Outer::default(), Inner::default());
        for _ in 0..2 {
            let _first = outer.lock();
            let _second = inner.lock();
        }
        drop(inner.lock());
        let _first = outer.lock();
    }

    #[test]
    fn the_other_order_is_refused_before_anybody_waits() {
        let (outer, inner) = (Outer::default(), Inner::default());
        let told = refusal(|| {
            let _first = inner.lock();
            let _second = outer.lock();
        });
        assert_eq!(told, "lock order: Dumping is wanted while Records is held");
        let told = refusal(|| {
            let _first = inner.lock();
            let _second = outer.try_lock_for(Duration::from_secs(600));
        });
        assert_eq!(told, "lock order: Dumping is wanted while Records is held");
    }

    #[test]
    fn two_of_one_rank_are_refused() {
        let (one, other) = (Inner::default(), Inner::default());
        let told = refusal(|| {
            let _first = one.lock();
            let _second = other.lock();
        });
        assert_eq!(told, "lock order: Records is wanted while Records is held");
    }

    #[test]
    fn trying_waits_for_nobody() {
        let (outer, inner) = (Outer::default(), Inner::default());
        let second = inner.lock();
        let first = outer.try_lock();
        assert!(first.is_some());
        drop(second);
        // Released in the opposite order, both are gone.
        drop(first);
        drop(outer.lock());
    }

    #[test]
    fn readers_are_in_the_order_too() {
        let lock = RwLock::<u32, rank::CurrentWriter>::new(0);
        drop(lock.write());
        let told = refusal(|| {
            let _reads = lock.read();
            let _reads_again = lock.read();
        });
        assert_eq!(
            told,
            "lock order: CurrentWriter is wanted while CurrentWriter is held"
        );
    }

    #[test]
    fn the_vm_is_called_only_with_locks_that_no_thread_of_the_program_waits_for() {
        let (outer, inner) = (Outer::default(), Inner::default());
        check_vm_call("GetTag");
        drop(inner.lock());
        let _first = outer.lock();
        check_vm_call("GetTag");
        let told = refusal(|| {
            let _second = inner.lock();
            check_vm_call("GetTag");
        });
        assert_eq!(told, "lock order: GetTag is called while Records is held");
    }

    #[test]
    fn nothing_further_in_is_held_while_one_waits() {
        let (outer, inner) = (Outer::default(), Inner::default());
        let changed = Condvar::new();
        let told = refusal(|| {
            let mut first = outer.lock();
            let _second = inner.lock();
            changed.wait_while_for(&mut first, |_| true, Duration::from_secs(600));
        });
        assert_eq!(told, "lock order: Dumping is wanted while Records is held");
    }
}
