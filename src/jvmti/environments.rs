//! The agent's JVMTI environments, from session to session, and what it keeps on threads in them.

use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use super::callbacks::{self, Events};
use super::env::{Env, jvmti};
use super::error::JvmtiError;
use super::jni::{Object, Vm};
use super::sys;

/// Tells a session from those that were before it in this VM: threads, and what is kept on them, outlive sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionId(u32);

/// What a session keeps on a thread, as JVMTI thread-local storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadStorage {
    /// The thread has not been registered.
    Empty,
    /// The serial number it was registered with.
    Serial(u32),
    /// It ended before it was registered, and must not be registered any more.
    Ended,
}

/// [`ThreadStorage::Ended`] in the VM's storage. Serial numbers begin at 200,000 and do not get there.
const ENDED: u32 = u32::MAX;

/// The VM's environment for us, made by the first session and used by all.
static SHARED: OnceLock<Env> = OnceLock::new();

/// A second one, for thread storage and tags that must not be mixed up with those of the first.
static ASIDE: OnceLock<Env> = OnceLock::new();

/// The environment while a session uses it; dropping it gives capabilities back and switches events off.
///
/// The environment itself is never disposed of: HotSpot frees it while other threads may be looking at it. One session in a
/// hundred of `heap=sites` on a busy JDK 17 corrupted the VM's memory. Without capabilities and events it does nothing,
/// and a copy that is used too late finds it alive.
pub struct OwnEnv(Env);

impl OwnEnv {
    /// Asks the VM for a JVMTI environment; `None` when it has no JVMTI 11. No other may be in use.
    pub fn new(vm: Vm) -> Option<Self> {
        static SESSIONS: AtomicU32 = AtomicU32::new(1);
        let shared = Env::kept_in(&SHARED, vm)?;
        let session = SessionId(SESSIONS.fetch_add(1, Ordering::Relaxed));
        Some(Self(Env { session, ..shared }))
    }

    /// The environment.
    pub fn env(&self) -> Env {
        self.0
    }

    /// From here on `receiver` gets the VM's events. Every session must name the same.
    pub fn receive_events(&self, receiver: &'static dyn Events) -> Result<(), JvmtiError> {
        callbacks::register(self.0, receiver)
    }
}

impl ThreadStorage {
    /// The serial number, if the thread has one.
    pub fn serial(self) -> Option<u32> {
        match self {
            Self::Serial(serial) => Some(serial),
            Self::Empty | Self::Ended => None,
        }
    }
}

impl SessionId {
    /// No session.
    pub(super) const NONE: Self = Self(0);
}

impl Drop for OwnEnv {
    fn drop(&mut self) {
        callbacks::silence(self.0);
        self.0.relinquish();
    }
}

impl Env {
    fn kept_in(place: &OnceLock<Self>, vm: Vm) -> Option<Self> {
        if let Some(&env) = place.get() {
            return Some(env);
        }
        let raw = vm.interface(sys::JVMTI_VERSION_11 as sys::jint)?.cast();
        Some(*place.get_or_init(|| Self {
            raw,
            vm,
            session: SessionId::NONE,
        }))
    }

    /// The session that uses it.
    pub fn session(self) -> SessionId {
        self.session
    }

    /// The second environment, which has tags, thread storage and capabilities of its own; no events come from it. `None` where the VM
    /// gives no more.
    pub fn aside(self) -> Option<Self> {
        let session = self.session;
        Some(Self {
            session,
            ..Self::kept_in(&ASIDE, self.vm)?
        })
    }

    /// Gives all capabilities back.
    pub(super) fn relinquish(self) {
        let mut capabilities = sys::jvmtiCapabilities::default();
        // SAFETY: `capabilities` is where the answer goes, and is read during the second call only. A VM that refuses keeps
        // them.
        let _ = unsafe {
            jvmti!(self, GetCapabilities, &mut capabilities)
                .and_then(|()| jvmti!(self, RelinquishCapabilities, &capabilities))
        };
    }

    /// A new environment. It may be disposed of only if no events ever came from it.
    pub(super) fn fresh(self) -> Option<Self> {
        let raw = self
            .vm
            .interface(sys::JVMTI_VERSION_11 as sys::jint)?
            .cast();
        Some(Self { raw, ..self })
    }

    /// Disposes of an environment that [`Env::fresh`] made, with all its tags. No copy may be used from here on.
    pub(super) fn dispose(self) {
        // SAFETY: the caller's promise. A VM that refuses keeps the environment.
        let _ = unsafe { jvmti!(self, DisposeEnvironment) };
    }

    /// What this session keeps on a thread (`None` = the current one).
    pub fn thread_storage(self, thread: Option<Object<'_>>) -> Result<ThreadStorage, JvmtiError> {
        Ok(match self.thread_storage_value(thread)? {
            0 => ThreadStorage::Empty,
            ENDED => ThreadStorage::Ended,
            serial => ThreadStorage::Serial(serial),
        })
    }

    /// Keeps something on a live thread.
    pub fn set_thread_storage(
        self,
        thread: Object<'_>,
        storage: ThreadStorage,
    ) -> Result<(), JvmtiError> {
        let value = match storage {
            ThreadStorage::Empty => 0,
            ThreadStorage::Ended => ENDED,
            ThreadStorage::Serial(serial) => serial,
        };
        self.set_thread_storage_value(thread, value)
    }

    /// The number in the thread's storage (`None` = the current one), 0 where this session has put none there. Only for an
    /// environment whose storage holds no [`ThreadStorage`].
    pub fn thread_storage_value(self, thread: Option<Object<'_>>) -> Result<u32, JvmtiError> {
        let mut value = ptr::null_mut();
        let thread = thread.map_or(ptr::null_mut(), |thread| thread.raw);
        // SAFETY: null stands for the current thread; `value` is where the answer goes.
        unsafe { jvmti!(self, GetThreadLocalStorage, thread, &mut value)? };
        let value = value.addr() as u64;
        // That of an earlier session is none.
        let own = (value >> 32) as u32 == self.session.0;
        Ok(if own { value as u32 } else { 0 })
    }

    /// Puts a number into the storage of a live thread.
    pub fn set_thread_storage_value(
        self,
        thread: Object<'_>,
        value: u32,
    ) -> Result<(), JvmtiError> {
        let value = (u64::from(self.session.0) << 32 | u64::from(value)) as usize;
        // SAFETY: the VM keeps the pointer and never follows it.
        unsafe {
            jvmti!(
                self,
                SetThreadLocalStorage,
                thread.raw,
                ptr::without_provenance(value)
            )
        }
    }
}
