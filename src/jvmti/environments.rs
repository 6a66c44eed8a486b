//! The agent's JVMTI environments, from session to session.

use std::sync::OnceLock;

use super::callbacks;
use super::env::{Env, jvmti};
use super::error::JvmtiError;
use super::events::Events;
use super::jni::Vm;
use super::session_id::SessionId;
use super::sys;

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
        let shared = Env::kept_in(&SHARED, vm)?;
        let session = SessionId::next();
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

    /// The second environment, which has tags, thread storage and capabilities of its own; the only event that comes from it is
    /// that of the class with the hooks. `None` where the VM
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
}
