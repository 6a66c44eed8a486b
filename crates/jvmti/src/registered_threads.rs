//! The serial numbers of threads, which any thread may look up.
//!
//! JVMTI has thread-local storage for such data, but HotSpot's is safe for the current thread only:
//! `GetThreadLocalStorage` and `SetThreadLocalStorage` follow the VM's data about another thread (`JvmtiThreadState`)
//! without a lock, while that thread may be ending and freeing it. JDK 17 and 21 crashed within seconds when asked
//! about threads that came and went. So the numbers are kept here, and a thread's own storage only saves it a search.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::current_thread::CurrentThread;
use super::env::Env;
use super::jni::{Jni, Object, WeakRef};
use super::known_objects::{Found, Known, KnownObjects, Unknown};
use locks::rank;

/// The threads that have a serial number. One that has ended stays known for as long as anyone can ask about it, until
/// its object is collected: it must not be taken for a new one.
pub struct RegisteredThreads {
    env: Env,
    known: KnownObjects<Registration, rank::RegisteredThreads>,
}

/// The state of a thread in the upper half, and its serial number in the lower one.
struct Registration(AtomicU64);

/// The serial number can be looked up, but not all have been told of the thread.
const ANNOUNCED: u64 = 0;
const REGISTERED: u64 = 1 << 32;
const ENDED: u64 = 2 << 32;
const STATE: u64 = 3 << 32;

/// A live thread that is not known yet.
pub struct UnregisteredThread {
    unknown: Unknown<Registration>,
    reference: WeakRef,
}

/// A thread whose serial number can be looked up, while others are told of it.
pub struct AnnouncedThread(Arc<Known<Registration>>);

impl RegisteredThreads {
    /// Creates an empty set.
    pub fn new(env: Env) -> Self {
        let known = KnownObjects::new(env);
        Self { env, known }
    }

    /// Returns the serial number of a thread; `None` if it has none, or has ended.
    pub fn serial(&self, jni: Jni<'_>, thread: Object<'_>) -> Option<u32> {
        match self.known.find(jni, thread).ok()? {
            Found::Known(known) => known.value.serial(),
            Found::Unknown(_) => None,
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
    pub fn remember(&self, thread: CurrentThread<'_>, serial: u32) {
        // If it cannot be stored, the thread is searched for each time.
        let _ = self.env.set_thread_storage(thread, serial);
    }

    /// Returns a live thread, if it is not known.
    pub fn unregistered(&self, jni: Jni<'_>, thread: Object<'_>) -> Option<UnregisteredThread> {
        self.known.sweep_if_grown(jni);
        let Found::Unknown(unknown) = self.known.find(jni, thread).ok()? else {
            return None;
        };
        if !self.env.is_alive(thread) {
            return None;
        }
        let reference = WeakRef::new(jni, thread)?;
        Some(UnregisteredThread { unknown, reference })
    }

    /// Returns `true` if the thread has certainly not become known since it was found unregistered.
    pub fn is_still_unregistered(&self, thread: &UnregisteredThread) -> bool {
        self.known.is_still_unknown(&thread.unknown)
    }

    /// Adds the thread, whose serial number can be looked up from here on.
    pub fn add(
        &self,
        thread: UnregisteredThread,
        serial: u32,
    ) -> Result<AnnouncedThread, UnregisteredThread> {
        let UnregisteredThread { unknown, reference } = thread;
        let value = Registration(AtomicU64::new(ANNOUNCED | u64::from(serial)));
        match self.known.add(&unknown, reference, value) {
            Ok(known) => Ok(AnnouncedThread(known)),
            Err(reference) => Err(UnregisteredThread { unknown, reference }),
        }
    }

    /// Marks the current thread as ended. Returns the serial number that it had. `add` is called before a thread that was not
    /// known is added.
    pub fn end<G>(&self, jni: Jni<'_>, thread: Object<'_>, add: impl Fn() -> G) -> Option<u32> {
        loop {
            let unknown = match self.known.find(jni, thread).ok()? {
                Found::Known(known) => return known.value.end(),
                Found::Unknown(unknown) => unknown,
            };
            // It must not be registered any more.
            let reference = WeakRef::new(jni, thread)?;
            let ended = Registration(AtomicU64::new(ENDED));
            let guard = add();
            let added = self.known.add(&unknown, reference, ended);
            drop(guard);
            if added.is_ok() {
                return None;
            }
        }
    }

    /// Forgets all threads, and frees the references to them.
    pub fn clear(&self) {
        self.known.clear();
    }
}

impl AnnouncedThread {
    /// Notes that all have been told of the thread. Returns `false` if it ended meanwhile: they must be told that, too.
    pub fn told(self) -> bool {
        let Registration(state) = &self.0.value;
        let told = state.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |state| {
            (state & STATE == ANNOUNCED).then_some(state | REGISTERED)
        });
        told.is_ok()
    }
}

impl Registration {
    fn serial(&self) -> Option<u32> {
        serial_of(self.0.load(Ordering::SeqCst))
    }

    fn end(&self) -> Option<u32> {
        serial_of(self.0.swap(ENDED, Ordering::SeqCst))
    }
}

fn serial_of(state: u64) -> Option<u32> {
    (state & STATE != ENDED).then_some(state as u32)
}
