//! Other threads of this process, which can be suspended.
//!
//! A suspended thread may hold any lock: that of the heap, that of the loader, one of the VM's or of the agent's. So between
//! [`OtherThread::suspend`] and the end of [`SuspendedThread`] nothing may be allocated, no lock taken or given back, and no
//! function called that could.

use std::ffi::c_void;
use std::mem::offset_of;
use std::ptr;

use windows_sys::Wdk::System::Threading::{NtQueryInformationThread, ThreadBasicInformation};
use windows_sys::Win32::Foundation::{CloseHandle, HANDLE, WAIT_OBJECT_0};
use windows_sys::Win32::System::Diagnostics::Debug::{
    CONTEXT, CONTEXT_CONTROL_AMD64, CONTEXT_INTEGER_AMD64, GetThreadContext,
};
use windows_sys::Win32::System::Threading::{
    OpenThread, ResumeThread, SuspendThread, TEB, THREAD_GET_CONTEXT, THREAD_QUERY_INFORMATION,
    THREAD_SUSPEND_RESUME, THREAD_SYNCHRONIZE, WaitForSingleObject,
};

use super::clock::{current_tid, thread_time};
use super::key::Key;
use super::peek::Peek;
use crate::vm_kind::vm_structs::read;

/// The values of threads that are in the thread's own block; the others are in a list of their own.
const IN_BLOCK: usize = 64;

/// A thread, whose number is not given to another as long as this value exists.
pub(crate) struct OtherThread {
    handle: HANDLE,
    tid: i32,
    /// Where the system keeps what belongs to the thread (its TEB).
    block: usize,
}

// SAFETY: a handle may be used by any thread of the process; the block is only read, while its thread is suspended.
unsafe impl Send for OtherThread {}
// SAFETY: as above.
unsafe impl Sync for OtherThread {}

/// A thread that does not run until this value is dropped.
pub(crate) struct SuspendedThread<'a>(&'a OtherThread);

/// The registers of a thread from which walks begin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ThreadRegisters {
    pub(crate) pc: usize,
    pub(crate) sp: usize,
    pub(crate) fp: usize,
    pub(crate) r13: usize,
}

/// `THREAD_BASIC_INFORMATION`.
#[repr(C)]
struct BasicInformation {
    status: i32,
    block: *mut c_void,
    process_and_thread: [usize; 2],
    affinity: usize,
    priorities: [i32; 2],
}

/// The system writes only to an address that is a multiple of 16.
#[repr(C, align(16))]
struct AlignedContext(CONTEXT);

impl OtherThread {
    /// Opens a thread of this process by its number; `None` if there is none.
    pub(crate) fn open(tid: i32) -> Option<Self> {
        let access = THREAD_SUSPEND_RESUME
            | THREAD_GET_CONTEXT
            | THREAD_QUERY_INFORMATION
            | THREAD_SYNCHRONIZE;
        // SAFETY: takes numbers alone.
        let handle = unsafe { OpenThread(access, 0, tid.cast_unsigned()) };
        if handle.is_null() {
            return None;
        }
        let mut thread = Self {
            handle,
            tid,
            block: 0,
        };
        let mut basic = BasicInformation {
            status: 0,
            block: ptr::null_mut(),
            process_and_thread: [0; 2],
            affinity: 0,
            priorities: [0; 2],
        };
        // SAFETY: the handle is open, and the structure, of the size that is given, receives the answer.
        let status = unsafe {
            NtQueryInformationThread(
                thread.handle,
                ThreadBasicInformation,
                (&raw mut basic).cast(),
                size_of::<BasicInformation>() as u32,
                ptr::null_mut(),
            )
        };
        thread.block = basic.block.expose_provenance();
        (status >= 0 && thread.block != 0).then_some(thread)
    }

    /// Returns the CPU time of the thread, in nanoseconds.
    pub(crate) fn cpu_time(&self) -> Option<u64> {
        thread_time(self.handle)
    }

    /// Returns `true` if the thread has ended.
    pub(crate) fn has_ended(&self) -> bool {
        // SAFETY: the handle is open.
        unsafe { WaitForSingleObject(self.handle, 0) == WAIT_OBJECT_0 }
    }

    /// Stops the thread; `None` if it is ending, or the current one.
    pub(crate) fn suspend(&self) -> Option<SuspendedThread<'_>> {
        if self.tid == current_tid() {
            return None;
        }
        // SAFETY: the handle is open, and not of the current thread.
        let before = unsafe { SuspendThread(self.handle) };
        (before != u32::MAX).then_some(SuspendedThread(self))
    }
}

impl Drop for OtherThread {
    fn drop(&mut self) {
        // SAFETY: the handle is this value's alone.
        unsafe { CloseHandle(self.handle) };
    }
}

impl SuspendedThread<'_> {
    /// Returns the registers, for which the system waits until the thread has stopped.
    pub(crate) fn registers(&self) -> Option<ThreadRegisters> {
        let mut context = AlignedContext(CONTEXT {
            ContextFlags: CONTEXT_CONTROL_AMD64 | CONTEXT_INTEGER_AMD64,
            ..CONTEXT::default()
        });
        // SAFETY: the handle is open, and the structure receives the answer.
        let succeeded = unsafe { GetThreadContext(self.0.handle, &mut context.0) };
        let context = &context.0;
        (succeeded != 0).then_some(ThreadRegisters {
            pc: context.Rip as usize,
            sp: context.Rsp as usize,
            fp: context.Rbp as usize,
            r13: context.R13 as usize,
        })
    }

    /// Returns the thread's value of a key; 0 if it has none.
    ///
    /// # Safety
    /// [`Self::registers`] has returned some: the thread has stopped, and was not ending.
    pub(crate) unsafe fn value(&self, key: Key) -> usize {
        let at = |begin: usize, index: usize| begin.wrapping_add(index * size_of::<usize>());
        let key = key as usize;
        // SAFETY: the system frees the block of a thread when it has ended.
        let word = |offset| unsafe { read::<usize>(self.0.block + offset) };
        if key < IN_BLOCK {
            return word(at(offset_of!(TEB, TlsSlots), key));
        }
        // The thread itself frees the list, when it ends.
        match word(offset_of!(TEB, TlsExpansionSlots)) {
            0 => 0,
            list => Peek.word(at(list, key - IN_BLOCK)).unwrap_or(0),
        }
    }
}

impl Drop for SuspendedThread<'_> {
    fn drop(&mut self) {
        // SAFETY: the handle is open, and the thread was suspended once more by this value.
        unsafe { ResumeThread(self.0.handle) };
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
    use std::thread;
    use std::time::Duration;

    use super::super::key;
    use super::*;

    static TID: AtomicI32 = AtomicI32::new(0);
    static ROUNDS: AtomicU64 = AtomicU64::new(0);
    static END: AtomicBool = AtomicBool::new(false);

    #[test]
    fn a_thread_is_suspended_and_goes_on() {
        let key = key::new().expect("a key");
        let running = thread::spawn(move || {
            key::set(key, ptr::without_provenance(4711));
            TID.store(current_tid(), Ordering::Release);
            while !END.load(Ordering::Relaxed) {
                ROUNDS.fetch_add(1, Ordering::Relaxed);
            }
        });
        while TID.load(Ordering::Acquire) == 0 {
            thread::yield_now();
        }
        let other = OtherThread::open(TID.load(Ordering::Relaxed)).expect("it runs");
        for _ in 0..100 {
            let before = ROUNDS.load(Ordering::Relaxed);
            let rounds = {
                let suspended = other.suspend().expect("it runs");
                let registers = suspended.registers().expect("registers");
                assert!(registers.pc != 0 && registers.sp != 0);
                // SAFETY: the registers are there.
                assert_eq!(unsafe { suspended.value(key) }, 4711);
                let first = ROUNDS.load(Ordering::Relaxed);
                thread::sleep(Duration::from_millis(1));
                (first, ROUNDS.load(Ordering::Relaxed))
            };
            assert_eq!(rounds.0, rounds.1);
            while ROUNDS.load(Ordering::Relaxed) == before.max(rounds.1) {
                thread::yield_now();
            }
        }
        assert!(!other.has_ended());
        END.store(true, Ordering::Relaxed);
        running.join().expect("it ends");
        while !other.has_ended() {
            thread::yield_now();
        }
        assert!(other.suspend().is_none());
    }

    #[test]
    fn the_current_thread_is_not_suspended() {
        let this = OtherThread::open(current_tid()).expect("it runs");
        assert!(this.suspend().is_none() && !this.has_ended());
    }
}
