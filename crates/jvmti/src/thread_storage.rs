//! Data that a session keeps on threads, in JVMTI's thread-local storage.

use std::ptr;

use super::env::{Env, jvmti};
use super::error::JvmtiError;
use super::jni::Object;
use super::sys;

impl Env {
    /// Returns the number that this session keeps with the current thread, 0 if none. For a virtual thread that is
    /// changing its carrier the thread is passed explicitly. The numbers of other threads cannot be read here; see
    /// [`super::RegisteredThreads`].
    pub fn thread_storage(self, thread: Option<Object<'_>>) -> Result<u32, JvmtiError> {
        let mut value = ptr::null_mut();
        let thread = thread.map_or(ptr::null_mut(), |thread| thread.raw);
        // SAFETY: null stands for the current thread; `value` receives the answer.
        unsafe { jvmti!(self, GetThreadLocalStorage, thread, &mut value)? };
        let value = value.addr() as u64;
        // A number from an earlier session does not count.
        let own = (value >> 32) as u32 == self.session.0;
        Ok(if own { value as u32 } else { 0 })
    }

    /// Stores a number with the current thread.
    pub fn set_thread_storage(self, thread: Object<'_>, value: u32) -> Result<(), JvmtiError> {
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
