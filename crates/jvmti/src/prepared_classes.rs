//! Whether the program has begun to use classes that it did not use before.

use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use super::callbacks::Event;
use super::env::{Env, jvmti};
use super::error::JvmtiError;
use super::heap_walk::Tags;
use super::sys;

/// The classes that were prepared while somebody watched.
static PREPARED: AtomicU64 = AtomicU64::new(0);

/// Notices classes that are prepared, from its creation on. There is no object of a class that is not.
///
/// The VM posts no event for classes of arrays.
pub struct PreparedClasses {
    env: Env,
    before: u64,
}

impl Tags {
    /// Begins to notice classes that are prepared.
    pub fn watch_classes(&self) -> Result<PreparedClasses, JvmtiError> {
        let env = self.env();
        let callbacks = sys::jvmtiEventCallbacks {
            ClassPrepare: Some(on_class_prepare),
            ..Default::default()
        };
        let length = size_of_val(&callbacks) as sys::jint;
        // SAFETY: the VM copies the structure; its function lives as long as the library.
        unsafe { jvmti!(env, SetEventCallbacks, ptr::from_ref(&callbacks), length)? };
        env.enable(Event::ClassPrepare)?;
        Ok(PreparedClasses {
            env,
            before: PREPARED.load(Ordering::Acquire),
        })
    }
}

impl PreparedClasses {
    /// Returns `true` if a class was prepared. May be called while the program is stopped.
    pub fn has_any(&self) -> bool {
        PREPARED.load(Ordering::Acquire) != self.before
    }
}

impl Drop for PreparedClasses {
    fn drop(&mut self) {
        // If the VM refuses, classes continue to be counted.
        let _ = self.env.disable(Event::ClassPrepare);
    }
}

unsafe extern "C" fn on_class_prepare(
    _: *mut sys::jvmtiEnv,
    _: *mut sys::JNIEnv,
    _: sys::jthread,
    _: sys::jclass,
) {
    PREPARED.fetch_add(1, Ordering::Release);
}
