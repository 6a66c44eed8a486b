//! The serial numbers of threads, for which any thread may ask.
//!
//! JVMTI has a place for them, the thread-local storage, but HotSpot's is safe for the current thread alone:
//! `GetThreadLocalStorage` and `SetThreadLocalStorage` follow what the VM keeps of another thread (`JvmtiThreadState`)
//! without a lock, while that thread may be ending and frees it. JDK 17 and 21, asked about threads that came and went,
//! were ended by a SIGSEGV within seconds. So the numbers stand here, and a thread's own storage only saves it a search.

use hashbrown::HashTable;

use super::env::Env;
use super::jni::{Jni, Object, WeakRef};
use crate::lock_order::{Mutex, rank};

/// As many threads are known before those whose objects are collected are looked for.
const FIRST_SWEEP: usize = 1024;

/// The threads that have a serial number. One that has ended is known for as long as anybody can ask about it, until its
/// object is collected: it must not be taken for a new one.
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

/// A live thread that is not known.
pub struct UnregisteredThread {
    identity: i32,
    thread: WeakRef,
}

impl RegisteredThreads {
    /// Knows no thread yet.
    pub fn new(env: Env) -> Self {
        let known = Mutex::new(RegisteredTable {
            threads: HashTable::new(),
            next_sweep: FIRST_SWEEP,
        });
        Self { env, known }
    }

    /// The serial number of a thread; `None` for one that has none, or has ended.
    pub fn serial(&self, jni: Jni<'_>, thread: Object<'_>) -> Option<u32> {
        let identity = self.env.identity_hash(thread).ok()?;
        match self.known.lock().state(jni, thread, identity)? {
            Registration::Registered(serial) => Some(serial),
            Registration::Ended => None,
        }
    }

    /// The serial number of the current thread, or of the virtual thread that it carries.
    pub fn current(&self, jni: Jni<'_>) -> Option<u32> {
        self.remembered().or_else(|| {
            let thread = self.env.current_thread(jni).ok()??;
            self.serial(jni, thread.object())
        })
    }

    /// As [`RegisteredThreads::current`], if the thread remembers it.
    pub fn remembered(&self) -> Option<u32> {
        let serial = self.env.thread_storage(None).ok()?;
        (serial != 0).then_some(serial)
    }

    /// Lets the current thread remember its serial number.
    pub fn remember(&self, thread: Object<'_>, serial: u32) {
        // A thread that cannot is searched for.
        let _ = self.env.set_thread_storage(thread, serial);
    }

    /// A live thread, if it is not known.
    pub fn unregistered(&self, jni: Jni<'_>, thread: Object<'_>) -> Option<UnregisteredThread> {
        let identity = self.env.identity_hash(thread).ok()?;
        if self.known.lock().state(jni, thread, identity).is_some() || !self.env.is_alive(thread) {
            return None;
        }
        let thread = WeakRef::new(jni, thread)?;
        Some(UnregisteredThread { identity, thread })
    }

    /// Whoever asks for the thread's serial number finds it from here on. No other thread may have been added since it was
    /// found unregistered.
    pub fn add(&self, jni: Jni<'_>, thread: UnregisteredThread, serial: u32) {
        let mut known = self.known.lock();
        known.add(jni, thread, Registration::Registered(serial));
    }

    /// The current thread is about to end. Answers the serial number it had.
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

    /// Forgets all threads, and gives back the references to them.
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

/// HotSpot's identity hashes fill 31 bits at the most; the table looks at all 64.
fn hash(identity: i32) -> u64 {
    (identity as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
