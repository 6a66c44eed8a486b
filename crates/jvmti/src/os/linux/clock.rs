//! The clocks and the numbers of threads.

use std::ptr;

use crate::stack_bounds::StackBounds;

/// Returns `true` if the kernel has compared the counters of all processors, and trusts them.
pub(crate) fn counter_is_good() -> bool {
    const SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    cfg!(target_arch = "x86_64")
        && std::fs::read_to_string(SOURCE).is_ok_and(|source| source.trim() == "tsc")
}

/// Returns the time since some moment, in nanoseconds.
pub(crate) fn monotonic() -> u64 {
    read(libc::CLOCK_MONOTONIC).unwrap_or(0)
}

/// Returns the CPU time of the current thread, in nanoseconds.
pub fn own_cpu_time() -> u64 {
    read(libc::CLOCK_THREAD_CPUTIME_ID).unwrap_or(0)
}

/// Returns the CPU time of the process, in nanoseconds.
pub fn process_cpu_time() -> u64 {
    read(libc::CLOCK_PROCESS_CPUTIME_ID).unwrap_or(0)
}

/// Returns the clock of a walk over a stack, in nanoseconds: the CPU time of the current thread. For signal handlers, which may call
/// `clock_gettime`.
#[inline(always)]
pub(crate) fn walk_nanos() -> u64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the time is written there.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut now) };
    (now.tv_sec as u64)
        .wrapping_mul(1_000_000_000)
        .wrapping_add(now.tv_nsec as u64)
}

/// Returns a clock by which the CPU time of the current thread between two readings is bounded from above: the CPU time itself.
pub fn cost_clock() -> u64 {
    own_cpu_time()
}

/// Returns `true`: the kernel's CPU clocks of threads move by nanoseconds.
pub fn notices_every_run() -> bool {
    true
}

/// The state of a thread's clock at a moment.
#[derive(Clone, Copy, Debug)]
pub struct RunMark(u64);

impl RunMark {
    /// Returns `true` if the thread has certainly not run since an earlier moment.
    pub fn is_as_at(self, earlier: Self) -> bool {
        self.0 == earlier.0
    }
}

/// The CPU clock of a thread, which other threads can read.
#[derive(Clone, Copy, Debug)]
pub struct ThreadCpuClock(libc::clockid_t);

impl ThreadCpuClock {
    /// Returns the clock of the current thread; `None` if the system has none.
    pub fn of_current_thread() -> Option<Self> {
        let mut clock = 0;
        // SAFETY: the current thread is alive, and `clock` receives the answer.
        let status = unsafe { libc::pthread_getcpuclockid(libc::pthread_self(), &mut clock) };
        (status == 0).then_some(Self(clock))
    }

    /// Returns the clock of a thread of this process, from its system id, by the encoding that Linux uses for these
    /// clocks.
    pub fn of_thread(tid: libc::pid_t) -> Self {
        const OF_ONE_THREAD: libc::clockid_t = 4;
        const TIME_ON_A_CPU: libc::clockid_t = 2;
        Self(!tid << 3 | OF_ONE_THREAD | TIME_ON_A_CPU)
    }

    /// Returns the system's number for the clock.
    pub(crate) fn number(self) -> libc::clockid_t {
        self.0
    }

    /// Returns the thread's CPU time in nanoseconds; `None` if the thread has ended.
    pub fn read(self) -> Option<u64> {
        read(self.0)
    }

    /// Returns what tells later whether the thread has run since; `None` if the thread has ended.
    pub fn mark(self) -> Option<RunMark> {
        self.read().map(RunMark)
    }
}

fn read(clock: libc::clockid_t) -> Option<u64> {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` receives the answer.
    let status = unsafe { libc::clock_gettime(clock, &mut time) };
    (status == 0).then(|| time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// Returns the bounds of the current thread's stack; `None` if the system does not reveal them.
pub fn own_stack() -> Option<StackBounds> {
    // SAFETY: an attribute object may be all zeros before it is filled in; the thread is alive; the object is destroyed
    // once it was filled in.
    unsafe {
        let mut attributes = std::mem::zeroed();
        if libc::pthread_getattr_np(libc::pthread_self(), &mut attributes) != 0 {
            return None;
        }
        let (mut lowest, mut size) = (ptr::null_mut(), 0);
        let status = libc::pthread_attr_getstack(&attributes, &mut lowest, &mut size);
        libc::pthread_attr_destroy(&mut attributes);
        let begin = lowest.addr();
        (status == 0).then_some(StackBounds {
            begin,
            end: begin + size,
        })
    }
}

/// Returns the system's id of the current thread.
pub fn current_tid() -> i32 {
    // SAFETY: gettid takes no arguments.
    unsafe { libc::syscall(libc::SYS_gettid) as i32 }
}
