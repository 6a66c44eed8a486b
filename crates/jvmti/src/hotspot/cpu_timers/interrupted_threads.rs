//! The handler's data about threads that it may interrupt. Records are reused and never freed: a signal may be under
//! way when its timer is deleted.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use locks::{Mutex, rank};

/// The most threads that can be sampled at one time. The system supplies memory only for those in use.
const COUNT: usize = 1 << 16;

/// Stands for the address of a thread of the VM's own, which finds that itself.
pub(super) const VM_THREAD: usize = 1;

/// A thread in the VM's memory.
#[derive(Clone, Copy)]
pub(super) struct JavaThread {
    pub(super) address: usize,
    /// The system's id of the thread.
    pub(super) tid: i32,
}

/// One thread. All zeros means no thread.
#[repr(align(64))]
pub(super) struct InterruptedThread {
    /// The system's id of the thread, 0 for a record that is not in use. Set last.
    pub(super) tid: AtomicI32,
    /// The serial number.
    pub(super) serial: AtomicU32,
    /// The serial number of the virtual thread that it carries, 0 for none.
    pub(super) virtual_thread: AtomicU32,
    /// The address of the thread in the VM's memory, [`VM_THREAD`] for one of the VM's own.
    pub(super) java_thread: AtomicUsize,
    /// The number of intervals that its samples stand for.
    pub(super) charged: AtomicU64,
    /// The number of intervals that its signals have stood for since the last sample.
    pub(super) waiting: AtomicU32,
    /// The number of intervals that the next signal stands for, if it is not the timer's.
    pub(super) asked: AtomicU32,
    /// The number of intervals from a sample to the next, at least.
    pub(super) apart: AtomicU32,
    /// The CPU time that a sample is expected to take, in nanoseconds.
    pub(super) expected: AtomicU64,
}

/// All records.
pub(super) struct InterruptedThreads {
    records: Box<[InterruptedThread]>,
    free: Mutex<Free, rank::InterruptedThreads>,
}

static RECORDS: OnceLock<InterruptedThreads> = OnceLock::new();

#[derive(Default)]
struct Free {
    given_back: Vec<u32>,
    never_used: u32,
}

impl InterruptedThreads {
    /// Allocates the records of this process, unless they exist; returns `false` if the system has no memory for them.
    pub(super) fn prepare() -> bool {
        Self::shared().is_some()
            || zeroed().is_some_and(|records| {
                let _ = RECORDS.set(Self {
                    records,
                    free: Mutex::default(),
                });
                true
            })
    }

    /// Returns the records of this process, if they exist.
    pub(super) fn shared() -> Option<&'static Self> {
        RECORDS.get()
    }

    /// Returns the record of a number; `None` for an invalid number. For the handler.
    #[inline(always)]
    pub(super) fn get(&self, number: usize) -> Option<&InterruptedThread> {
        if number >= self.records.len() {
            return None;
        }
        // SAFETY: the number is below the length. A check that panics has no place in the handler.
        Some(unsafe { &*self.records.as_ptr().add(number) })
    }

    /// Takes a record for a thread; `None` if there are too many.
    pub(super) fn take(&self, serial: u32, thread: JavaThread) -> Option<u32> {
        let number = {
            let mut free = self.free.lock();
            match free.given_back.pop() {
                Some(number) => number,
                None if (free.never_used as usize) < COUNT => {
                    free.never_used += 1;
                    free.never_used - 1
                }
                None => return None,
            }
        };
        let record = self.get(number as usize)?;
        record.serial.store(serial, Ordering::Relaxed);
        record.virtual_thread.store(0, Ordering::Relaxed);
        record.java_thread.store(thread.address, Ordering::Relaxed);
        record.charged.store(0, Ordering::Relaxed);
        record.waiting.store(0, Ordering::Relaxed);
        record.asked.store(0, Ordering::Relaxed);
        record.apart.store(0, Ordering::Relaxed);
        record.expected.store(0, Ordering::Relaxed);
        record.tid.store(thread.tid, Ordering::Release);
        Some(number)
    }

    /// Frees the record of a thread that is not sampled any more.
    pub(super) fn give_back(&self, number: u32) {
        if let Some(record) = self.get(number as usize) {
            record.tid.store(0, Ordering::Release);
            self.free.lock().given_back.push(number);
        }
    }
}

/// Allocates without the agent's allocator, which never fails.
fn zeroed() -> Option<Box<[InterruptedThread]>> {
    let layout = Layout::array::<InterruptedThread>(COUNT).expect("a few megabytes");
    // SAFETY: the layout has a size; a record is numbers alone, which may be 0; the box frees it by the same layout,
    // and the agent's allocator hands that on to the system's.
    unsafe {
        let records = System.alloc_zeroed(layout);
        (!records.is_null())
            .then(|| Box::from_raw(std::ptr::slice_from_raw_parts_mut(records.cast(), COUNT)))
    }
}
