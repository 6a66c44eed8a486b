//! The size of the Java heap, by the functions that HotSpot exports for `java.lang.Runtime`.

use std::ffi::{CStr, c_void};

use crate::env::Env;
use crate::sys;
use crate::vm_library::VmLibrary;

type Bytes = unsafe extern "C" fn() -> sys::jlong;

/// Tells how full the Java heap is.
#[derive(Clone, Copy)]
pub struct HeapSize {
    total_memory: Bytes,
    free_memory: Bytes,
    max_memory: Bytes,
}

/// The fill of the Java heap; garbage counts as used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeapFill {
    /// The bytes in use.
    pub used: u64,
    /// The bytes that the VM has got from the system.
    pub committed: u64,
    /// The most bytes that it may have (`-Xmx`).
    pub limit: u64,
}

impl HeapSize {
    /// Finds the functions; `None` in a VM that does not export them.
    pub fn find(env: Env) -> Option<Self> {
        Self::of(&VmLibrary::of(env.vm())?)
    }

    pub(super) fn of(library: &VmLibrary) -> Option<Self> {
        let bytes = |name: &CStr| {
            let function = library.symbol::<c_void>(name)?;
            // SAFETY: these exported functions take nothing and give a number of bytes.
            Some(unsafe { std::mem::transmute::<*const c_void, Bytes>(function) })
        };
        Some(Self {
            total_memory: bytes(c"JVM_TotalMemory")?,
            free_memory: bytes(c"JVM_FreeMemory")?,
            max_memory: bytes(c"JVM_MaxMemory")?,
        })
    }

    /// Returns how full the heap is. Called on a thread of the VM.
    pub fn fill(self) -> HeapFill {
        // SAFETY: the functions take nothing and may be called on every thread of the VM.
        let (total, free, max) = unsafe {
            (
                (self.total_memory)(),
                (self.free_memory)(),
                (self.max_memory)(),
            )
        };
        HeapFill {
            used: (total - free).try_into().unwrap_or(0),
            committed: total.try_into().unwrap_or(0),
            limit: max.try_into().unwrap_or(0),
        }
    }
}

impl HeapFill {
    /// Returns the number of bytes that are not in use.
    pub fn free(self) -> u64 {
        self.limit.saturating_sub(self.used)
    }
}
