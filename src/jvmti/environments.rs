//! The agent's JVMTI environments, from round to round, and what it leaves on threads in them.

use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use super::callbacks;
use super::env::{Env, jvmti};
use super::error::JvmtiError;
use super::jni::{Object, Vm};
use super::sys;

/// The VM's environment for us, made by the first round and used by all.
static SHARED: OnceLock<Env> = OnceLock::new();

/// A second one, for marks and tags that must not be mixed up with those of the first.
static ASIDE: OnceLock<Env> = OnceLock::new();

/// The environment while a round uses it; dropping it gives capabilities back and switches events off.
///
/// The environment itself is never disposed of: HotSpot frees it while other threads may be looking at it. One round in a
/// hundred of `heap=sites` on a busy JDK 17 corrupted the VM's memory. Without capabilities and events it does nothing,
/// and a copy that is used too late finds it alive.
pub struct OwnEnv(Env);

impl OwnEnv {
    /// Asks the VM for a JVMTI environment; `None` when it has no JVMTI 11. No other may be in use.
    pub fn new(vm: Vm) -> Option<Self> {
        static ROUNDS: AtomicU32 = AtomicU32::new(0);
        let shared = Env::kept_in(&SHARED, vm)?;
        let round = ROUNDS.fetch_add(1, Ordering::Relaxed);
        Some(Self(Env { round, ..shared }))
    }

    /// The environment.
    pub fn env(&self) -> Env {
        self.0
    }
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
        Some(*place.get_or_init(|| Self { raw, vm, round: 0 }))
    }

    /// The second environment, which has tags, marks and capabilities of its own; no events come from it. `None` where the VM
    /// gives no more.
    pub fn aside(self) -> Option<Self> {
        let round = self.round;
        Some(Self {
            round,
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

    /// The number that [`Env::set_own_mark`] left on the current thread, 0 if there is none. A virtual thread that is changing
    /// carriers is given by name. For any other thread ask [`super::ThreadMarks`], which says why.
    pub fn own_mark(self, thread: Option<Object<'_>>) -> Result<u32, JvmtiError> {
        let mut mark = ptr::null_mut();
        let thread = thread.map_or(ptr::null_mut(), |thread| thread.raw);
        // SAFETY: null stands for the current thread; `mark` is where the answer goes.
        unsafe { jvmti!(self, GetThreadLocalStorage, thread, &mut mark)? };
        let mark = mark.addr() as u64;
        // A mark of an earlier round is none.
        let own = (mark >> 32) as u32 == self.round;
        Ok(if own { mark as u32 } else { 0 })
    }

    /// Leaves a number on the current thread.
    pub fn set_own_mark(self, thread: Object<'_>, mark: u32) -> Result<(), JvmtiError> {
        let mark = (u64::from(self.round) << 32 | u64::from(mark)) as usize;
        // SAFETY: the VM keeps the pointer and never follows it.
        unsafe {
            jvmti!(
                self,
                SetThreadLocalStorage,
                thread.raw,
                ptr::without_provenance(mark)
            )
        }
    }
}
