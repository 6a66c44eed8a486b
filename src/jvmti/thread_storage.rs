//! What a session keeps on threads, in the thread-local storage that JVMTI offers.

use std::ptr;

use super::env::{Env, jvmti};
use super::error::JvmtiError;
use super::jni::Object;
use super::sys;

impl Env {
    /// The number that this session keeps with the current thread, 0 where it keeps none. A virtual thread that changes its
    /// carrier is given by name. For other threads see [`super::RegisteredThreads`]: theirs cannot be asked for.
    pub fn thread_storage(self, thread: Option<Object<'_>>) -> Result<u32, JvmtiError> {
        let mut value = ptr::null_mut();
        let thread = thread.map_or(ptr::null_mut(), |thread| thread.raw);
        // SAFETY: null stands for the current thread; `value` is where the answer goes.
        unsafe { jvmti!(self, GetThreadLocalStorage, thread, &mut value)? };
        let value = value.addr() as u64;
        // That of an earlier session is none.
        let own = (value >> 32) as u32 == self.session.0;
        Ok(if own { value as u32 } else { 0 })
    }

    /// Keeps a number with the current thread.
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
