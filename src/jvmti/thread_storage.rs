//! What a session keeps on threads, in the thread-local storage that JVMTI offers.

use std::ptr;

use super::env::{Env, jvmti};
use super::error::JvmtiError;
use super::jni::Object;
use super::sys;

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

impl ThreadStorage {
    /// The serial number, if the thread has one.
    pub fn serial(self) -> Option<u32> {
        match self {
            Self::Serial(serial) => Some(serial),
            Self::Empty | Self::Ended => None,
        }
    }
}

impl Env {
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
