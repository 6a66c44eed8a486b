//! The agent's JVMTI environments, from session to session.

use std::sync::OnceLock;

use super::callbacks;
use super::env::{Env, jvmti};
use super::error::JvmtiError;
use super::events::Events;
use super::jni::Vm;
use super::session_id::SessionId;
use super::sys;

/// The agent's environment in this VM, created by the first session and used by all.
static SHARED: OnceLock<Env> = OnceLock::new();

/// A second one, for thread storage and tags that must not be confused with those of the first.
static ASIDE: OnceLock<Env> = OnceLock::new();

/// The environment while a session uses it; dropping it relinquishes its capabilities and disables its events.
///
/// The environment itself is never disposed of: HotSpot would free it while other threads may be using it, which
/// corrupted the VM's memory in one of a hundred sessions of `heap=sites` on a busy JDK 17. Without capabilities and
/// events it does nothing, and a copy that is used too late is still valid.
pub struct OwnEnv(Env);

impl OwnEnv {
    /// Gets the JVMTI environment from the VM; `None` if the VM does not support JVMTI 11. No other `OwnEnv` may exist.
    pub fn new(vm: Vm) -> Option<Self> {
        let shared = Env::kept_in(&SHARED, vm).ok()?;
        let session = SessionId::next();
        Some(Self(Env { session, ..shared }))
    }

    /// Returns `true` if the VM gives out no environment yet: HotSpot of up to 17 accepts requests to load an agent before it
    /// has started, and has none until then.
    pub fn is_too_early(vm: Vm) -> bool {
        // The thread that asks is one of the VM's.
        matches!(Env::kept_in(&SHARED, vm), Err(sys::JNI_EDETACHED))
    }

    /// Returns the environment.
    pub fn env(&self) -> Env {
        self.0
    }

    /// Sends the VM's events to `receiver` from here on. Every session must pass the same one.
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
    fn kept_in(place: &OnceLock<Self>, vm: Vm) -> Result<Self, sys::jint> {
        if let Some(&env) = place.get() {
            return Ok(env);
        }
        let raw = vm.interface(sys::JVMTI_VERSION_11 as sys::jint)?.cast();
        Ok(*place.get_or_init(|| Self {
            raw,
            vm,
            session: SessionId::NONE,
        }))
    }

    /// Returns the session that uses it.
    pub fn session(self) -> SessionId {
        self.session
    }

    /// Returns the second environment, which has its own tags, thread storage and capabilities; the only event it
    /// receives is that of the class with the hooks. `None` if the VM grants no further environment.
    pub fn aside(self) -> Option<Self> {
        let session = self.session;
        Some(Self {
            session,
            ..Self::kept_in(&ASIDE, self.vm).ok()?
        })
    }

    /// Relinquishes all capabilities.
    pub(super) fn relinquish(self) {
        let mut capabilities = sys::jvmtiCapabilities::default();
        // SAFETY: `capabilities` receives the answer, and is read during the second call only. A VM that refuses
        // keeps them.
        let _ = unsafe {
            jvmti!(self, GetCapabilities, &mut capabilities)
                .and_then(|()| jvmti!(self, RelinquishCapabilities, &capabilities))
        };
    }

    /// Creates a new environment. It may be disposed of only if it never received events.
    pub(super) fn fresh(self) -> Option<Self> {
        let raw = self
            .vm
            .interface(sys::JVMTI_VERSION_11 as sys::jint)
            .ok()?
            .cast();
        Some(Self { raw, ..self })
    }

    /// Disposes of an environment that [`Env::fresh`] created, with all its tags. No copy may be used afterwards.
    pub(super) fn dispose(self) {
        // SAFETY: the caller's promise. A VM that refuses keeps the environment.
        let _ = unsafe { jvmti!(self, DisposeEnvironment) };
    }
}
