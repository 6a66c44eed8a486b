//! The serial numbers of threads, which any thread may look up.
//!
//! JVMTI has thread-local storage for such data, but HotSpot's is safe for the current thread only:
//! `GetThreadLocalStorage` and `SetThreadLocalStorage` follow the VM's data about another thread (`JvmtiThreadState`)
//! without a lock, while that thread may be ending and freeing it. JDK 17 and 21 crashed within seconds when asked
//! about threads that came and went. So the numbers are kept here, and a thread's own storage only saves it a search.

use hashbrown::HashTable;

use super::env::Env;
use super::jni::{Jni, Object, WeakRef};
use crate::lock_order::{Mutex, rank};

/// The number of known threads from which those with collected objects are searched for and removed.
const FIRST_SWEEP: usize = 1024;

/// The threads that have a serial number. One that has ended stays known for as long as anyone can ask about it, until
/// its object is collected: it must not be taken for a new one.
pub struct RegisteredThreads {
    env: Env,
    /// Held while the VM compares references.
    known: Mutex<RegisteredTable, rank::RegisteredThreads>,
}

struct RegisteredTable {
    threads: HashTable<KnownThread>,
    next_sweep: usize,
}

struct KnownThread {
    /// The identity hash of its object.
    identity: i32,
    thread: WeakRef,
    state: Registration,
}

#[derive(Clone, Copy)]
enum Registration {
    Registered(u32),
    Ended,
}

/// A live thread that is not known yet.
pub struct UnregisteredThread {
    identity: i32,
    thread: WeakRef,
}

impl RegisteredThreads {
    /// Creates an empty set.
    pub fn new(env: Env) -> Self {
        let known = Mutex::new(RegisteredTable {
            threads: HashTable::new(),
            next_sweep: FIRST_SWEEP,
        });
        Self { env, known }
    }

    /// Returns the serial number of a thread; `None` if it has none, or has ended.
    pub fn serial(&self, jni: Jni<'_>, thread: Object<'_>) -> Option<u32> {
        let identity = self.env.identity_hash(thread).ok()?;
        match self.known.lock().state(jni, thread, identity)? {
            Registration::Registered(serial) => Some(serial),
            Registration::Ended => None,
        }
    }

    /// Returns the serial number of the current thread, or of the virtual thread that it carries.
    pub fn current(&self, jni: Jni<'_>) -> Option<u32> {
        self.remembered().or_else(|| {
            let thread = self.env.current_thread(jni).ok()??;
            self.serial(jni, thread.object())
        })
    }

    /// As [`RegisteredThreads::current`], but only if the thread's own storage has it.
    pub fn remembered(&self) -> Option<u32> {
        let serial = self.env.thread_storage(None).ok()?;
        (serial != 0).then_some(serial)
    }

    /// Stores the serial number in the current thread's own storage.
    pub fn remember(&self, thread: Object<'_>, serial: u32) {
        // If it cannot be stored, the thread is searched for each time.
        let _ = self.env.set_thread_storage(thread, serial);
    }

    /// Returns a live thread, if it is not known.
    pub fn unregistered(&self, jni: Jni<'_>, thread: Object<'_>) -> Option<UnregisteredThread> {
        let identity = self.env.identity_hash(thread).ok()?;
        if self.known.lock().state(jni, thread, identity).is_some() || !self.env.is_alive(thread) {
            return None;
        }
        let thread = WeakRef::new(jni, thread)?;
        Some(UnregisteredThread { identity, thread })
    }

    /// Adds the thread, whose serial number can be looked up from here on. No other thread may have been added since
    /// this one was found unregistered.
    pub fn add(&self, jni: Jni<'_>, thread: UnregisteredThread, serial: u32) {
        let mut known = self.known.lock();
        known.add(jni, thread, Registration::Registered(serial));
    }

    /// Marks the current thread as ended. Returns the serial number that it had.
    pub fn end(&self, jni: Jni<'_>, thread: Object<'_>) -> Option<u32> {
        let identity = self.env.identity_hash(thread).ok()?;
        let mut known = self.known.lock();
        if let Some(state) = known.state_mut(jni, thread, identity) {
            return match std::mem::replace(state, Registration::Ended) {
                Registration::Registered(serial) => Some(serial),
                Registration::Ended => None,
            };
        }
        // It must not be registered any more.
        let thread = WeakRef::new(jni, thread)?;
        known.add(
            jni,
            UnregisteredThread { identity, thread },
            Registration::Ended,
        );
        None
    }

    /// Forgets all threads, and frees the references to them.
    pub fn clear(&self) {
        let threads = std::mem::take(&mut self.known.lock().threads);
        drop(threads);
    }
}

impl RegisteredTable {
    fn state(&self, jni: Jni<'_>, thread: Object<'_>, identity: i32) -> Option<Registration> {
        let known = self.threads.find(hash(identity), |known| {
            known.identity == identity && known.thread.is(jni, thread)
        });
        known.map(|known| known.state)
    }

    fn state_mut(
        &mut self,
        jni: Jni<'_>,
        thread: Object<'_>,
        identity: i32,
    ) -> Option<&mut Registration> {
        let known = self.threads.find_mut(hash(identity), |known| {
            known.identity == identity && known.thread.is(jni, thread)
        });
        known.map(|known| &mut known.state)
    }

    fn add(&mut self, jni: Jni<'_>, thread: UnregisteredThread, state: Registration) {
        if self.threads.len() >= self.next_sweep {
            self.threads.retain(|known| !known.thread.is_dead(jni));
            self.next_sweep = (2 * self.threads.len()).max(FIRST_SWEEP);
        }
        let UnregisteredThread { identity, thread } = thread;
        let known = KnownThread {
            identity,
            thread,
            state,
        };
        self.threads
            .insert_unique(hash(identity), known, |known| hash(known.identity));
    }
}

/// Spreads a hash: HotSpot's identity hashes fill at most 31 bits, but the table uses all 64.
fn hash(identity: i32) -> u64 {
    (identity as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
