//! The current thread, and the number that a session keeps on it, in JVMTI's thread-local storage.
//!
//! HotSpot may free the storage of another thread while it is being read, which crashes the VM. So only that of a
//! [`CurrentThread`] can be read or written.

use std::ops::Deref;
use std::ptr;

use super::env::{Env, jvmti};
use super::error::JvmtiError;
use super::jni::{Jni, LocalRef, Object};
use super::sys;

/// The current thread, platform or virtual. It cannot leave the thread, and only this crate makes one: for an event that the VM
/// posts on the thread that it is about, and out of the VM's answer to who runs.
#[derive(Clone, Copy)]
pub struct CurrentThread<'a>(Object<'a>);

impl<'a> CurrentThread<'a> {
    /// Returns the thread whose event is being received.
    ///
    /// # Safety
    /// The object must be the thread on which the VM has posted the event, or the virtual thread that it carries.
    pub(super) unsafe fn of_event(thread: Object<'a>) -> Self {
        Self(thread)
    }
}

impl<'a> Deref for CurrentThread<'a> {
    type Target = Object<'a>;

    fn deref(&self) -> &Object<'a> {
        &self.0
    }
}

/// The VM's answer to who runs: a local reference to the current thread.
pub struct CurrentThreadRef<'a>(LocalRef<'a>);

impl CurrentThreadRef<'_> {
    /// Returns the thread.
    pub fn thread(&self) -> CurrentThread<'_> {
        CurrentThread(self.0.object())
    }

    /// Returns the thread, as any object.
    pub fn object(&self) -> Object<'_> {
        self.0.object()
    }
}

impl Env {
    /// Returns the current thread, or the virtual thread that it carries.
    pub fn current_thread<'a>(
        self,
        jni: Jni<'a>,
    ) -> Result<Option<CurrentThreadRef<'a>>, JvmtiError> {
        let mut thread = ptr::null_mut();
        // SAFETY: `thread` receives the answer.
        unsafe { jvmti!(self, GetCurrentThread, &mut thread)? };
        Ok(LocalRef::new(jni, thread).map(CurrentThreadRef))
    }

    /// Returns the number that this session keeps with the current thread, 0 if none. For a virtual thread that is
    /// changing its carrier the thread is passed explicitly. The numbers of other threads cannot be read here; see
    /// [`super::RegisteredThreads`].
    pub fn thread_storage(self, thread: Option<CurrentThread<'_>>) -> Result<u32, JvmtiError> {
        let mut value = ptr::null_mut();
        let thread = thread.map_or(ptr::null_mut(), |thread| thread.raw);
        // SAFETY: null stands for the current thread, and any other value is that; `value` receives the answer.
        unsafe { jvmti!(self, GetThreadLocalStorage, thread, &mut value)? };
        let value = value.addr() as u64;
        // A number from an earlier session does not count.
        let own = (value >> 32) as u32 == self.session.0;
        Ok(if own { value as u32 } else { 0 })
    }

    /// Stores a number with the current thread.
    pub fn set_thread_storage(
        self,
        thread: CurrentThread<'_>,
        value: u32,
    ) -> Result<(), JvmtiError> {
        let value = (u64::from(self.session.0) << 32 | u64::from(value)) as usize;
        // SAFETY: the thread is the current one; the VM keeps the pointer and never follows it.
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
