//! The clocks and the numbers of threads.

use std::sync::OnceLock;

use windows_sys::Win32::Foundation::{CloseHandle, FILETIME, HANDLE};
use windows_sys::Win32::System::Performance::{QueryPerformanceCounter, QueryPerformanceFrequency};
use windows_sys::Win32::System::Threading::{
    GetCurrentProcess, GetCurrentThread, GetCurrentThreadId, GetCurrentThreadStackLimits,
    GetProcessTimes, GetThreadTimes, OpenThread, THREAD_QUERY_LIMITED_INFORMATION,
};
use windows_sys::Win32::System::WindowsProgramming::QueryThreadCycleTime;

use crate::stack_bounds::StackBounds;

const NANOS: u64 = 1_000_000_000;
/// The unit of the times of threads and processes, in nanoseconds.
const TIME_UNIT: u64 = 100;

/// Returns `false`: the system does not say whether it keeps time by the processor's counter.
pub(crate) fn counter_is_good() -> bool {
    false
}

/// Returns the time since some moment, in nanoseconds.
pub(crate) fn monotonic() -> u64 {
    static FREQUENCY: OnceLock<u64> = OnceLock::new();
    let frequency = *FREQUENCY.get_or_init(|| {
        let mut frequency = 0;
        // SAFETY: the variable receives the answer. It does not fail on any Windows that JDKs run on.
        unsafe { QueryPerformanceFrequency(&mut frequency) };
        u64::try_from(frequency).unwrap_or(1).max(1)
    });
    let mut count = 0;
    // SAFETY: as above.
    unsafe { QueryPerformanceCounter(&mut count) };
    let count = count.cast_unsigned();
    (count / frequency)
        .wrapping_mul(NANOS)
        .wrapping_add(count % frequency * NANOS / frequency)
}

/// Returns the CPU time of the current thread, in nanoseconds.
pub fn own_cpu_time() -> u64 {
    // SAFETY: takes nothing; the handle needs not be closed.
    thread_time(unsafe { GetCurrentThread() }).unwrap_or(0)
}

/// Returns the CPU time of the process, in nanoseconds.
pub fn process_cpu_time() -> u64 {
    // SAFETY: the handle needs not be closed, and the variables receive the answer.
    let times = times(|begin, end, kernel, user| unsafe {
        GetProcessTimes(GetCurrentProcess(), begin, end, kernel, user)
    });
    times.unwrap_or(0)
}

/// Returns the clock of a walk over a stack, in nanoseconds: the time that passes, for which the thread whose stack it is does not run.
pub(crate) fn walk_nanos() -> u64 {
    monotonic()
}

/// Returns a clock by which the CPU time of the current thread between two readings is bounded from above: the time that passes,
/// because the system's CPU times move by 15.6 ms at once.
pub fn cost_clock() -> u64 {
    monotonic()
}

/// Returns `true` if the system counts the cycles of threads, so that a [`RunMark`] can show that a thread has not run. Windows does,
/// some of its substitutes do not.
pub fn notices_every_run() -> bool {
    static COUNTS: OnceLock<bool> = OnceLock::new();
    // SAFETY: takes nothing; the handle needs not be closed.
    *COUNTS.get_or_init(|| cycles(unsafe { GetCurrentThread() }).is_some())
}

/// The cycles that a thread has run for; `None` if the system does not count them.
#[derive(Clone, Copy, Debug)]
pub struct RunMark(Option<u64>);

impl RunMark {
    /// Returns `true` if the thread has certainly not run since an earlier moment.
    pub fn is_as_at(self, earlier: Self) -> bool {
        self.0.is_some() && self.0 == earlier.0
    }
}

/// The CPU clock of a thread, which other threads can read.
#[derive(Clone, Copy, Debug)]
pub struct ThreadCpuClock(i32);

impl ThreadCpuClock {
    /// Returns the clock of the current thread.
    pub fn of_current_thread() -> Option<Self> {
        Some(Self(current_tid()))
    }

    /// Returns the clock of a thread of this process, from its system id.
    pub fn of_thread(tid: i32) -> Self {
        Self(tid)
    }

    /// Returns the thread's CPU time in nanoseconds; `None` if the thread has ended. Its id may then be another thread's.
    pub fn read(self) -> Option<u64> {
        self.with_handle(thread_time)?
    }

    /// Returns what tells later whether the thread has run since; `None` if the thread has ended, unless nothing tells.
    pub fn mark(self) -> Option<RunMark> {
        match notices_every_run() {
            true => self.with_handle(|thread| RunMark(cycles(thread))),
            false => Some(RunMark(None)),
        }
    }

    /// Calls a function with the thread, open for questions; returns `None` if it has ended.
    fn with_handle<T>(self, ask: impl FnOnce(HANDLE) -> T) -> Option<T> {
        // SAFETY: the handle is closed below, once, and no function keeps it.
        unsafe {
            let thread = OpenThread(THREAD_QUERY_LIMITED_INFORMATION, 0, self.0.cast_unsigned());
            if thread.is_null() {
                return None;
            }
            let answer = ask(thread);
            CloseHandle(thread);
            Some(answer)
        }
    }
}

/// Returns the cycles that a thread has run for; `None` if the system does not count them.
fn cycles(thread: HANDLE) -> Option<u64> {
    let mut cycles = 0;
    // SAFETY: the handle is open, and the variable receives the answer.
    let succeeded = unsafe { QueryThreadCycleTime(thread, &mut cycles) };
    (succeeded != 0).then_some(cycles)
}

pub(super) fn thread_time(thread: HANDLE) -> Option<u64> {
    // SAFETY: the handle is open, and the variables receive the answer.
    times(|begin, end, kernel, user| unsafe { GetThreadTimes(thread, begin, end, kernel, user) })
}

/// Asks for times, and returns the sum of those in the kernel and outside, in nanoseconds.
fn times(
    ask: impl FnOnce(*mut FILETIME, *mut FILETIME, *mut FILETIME, *mut FILETIME) -> i32,
) -> Option<u64> {
    let [mut begin, mut end, mut kernel, mut user] = [FILETIME::default(); 4];
    let succeeded = ask(&mut begin, &mut end, &mut kernel, &mut user);
    let units =
        |time: FILETIME| u64::from(time.dwHighDateTime) << 32 | u64::from(time.dwLowDateTime);
    (succeeded != 0).then(|| (units(kernel) + units(user)) * TIME_UNIT)
}

/// Returns the bounds of the current thread's stack.
pub fn own_stack() -> Option<StackBounds> {
    let (mut begin, mut end) = (0, 0);
    // SAFETY: the variables receive the answer.
    unsafe { GetCurrentThreadStackLimits(&mut begin, &mut end) };
    Some(StackBounds { begin, end })
}

/// Returns the system's id of the current thread.
pub fn current_tid() -> i32 {
    // SAFETY: takes nothing, cannot fail.
    unsafe { GetCurrentThreadId() }.cast_signed()
}
