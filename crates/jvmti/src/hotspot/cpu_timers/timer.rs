//! Timers on the CPU clock of one thread (POSIX timers, as in Linux). The system calls are made without the C library,
//! whose older versions have these functions in a separate library.

use std::io;
use std::time::Duration;

use super::handler::{MARK, MARK_SHIFT, SignalInfo};
use crate::clock::ThreadCpuClock;

/// The signal: only old programs with `setitimer(ITIMER_VIRTUAL)` use it. SIGPROF is used by JFR from JDK 25 on.
pub(super) const SIGNAL: libc::c_int = libc::SIGVTALRM;

/// A timer that sends [`SIGNAL`] to its thread; deleted on drop.
pub(super) struct Timer(libc::c_int);

impl Timer {
    /// Creates a timer for the thread, not running yet; its signals name `record`.
    pub(super) fn new(tid: libc::pid_t, record: u32) -> io::Result<Self> {
        // SAFETY: an event may be all zeros before it is filled in; both are read and written during the call only.
        unsafe {
            let mut event = std::mem::zeroed::<libc::sigevent>();
            event.sigev_notify = libc::SIGEV_THREAD_ID;
            event.sigev_signo = SIGNAL;
            event.sigev_notify_thread_id = tid;
            event.sigev_value.sival_ptr = std::ptr::without_provenance_mut(value_of(record));
            let mut timer = 0;
            let clock = ThreadCpuClock::of_thread(tid).number();
            checked(libc::syscall(
                libc::SYS_timer_create,
                clock,
                &raw mut event,
                &raw mut timer,
            ))?;
            Ok(Self(timer))
        }
    }

    /// Makes the timer expire when the thread has used `first` more CPU time, and then each time it has used `interval`
    /// more; `None` stops it.
    pub(super) fn set(&self, first: Duration, interval: Option<Duration>) -> io::Result<()> {
        let zero = Duration::ZERO;
        // A time of zero would stop it.
        let first = interval.map_or(zero, |_| first.max(Duration::from_nanos(1)));
        let times = libc::itimerspec {
            it_interval: timespec(interval.unwrap_or(zero)),
            it_value: timespec(first),
        };
        let no_old_times = std::ptr::null_mut::<libc::itimerspec>();
        // SAFETY: the times are read during the call only.
        checked(unsafe {
            libc::syscall(
                libc::SYS_timer_settime,
                self.0,
                0,
                &raw const times,
                no_old_times,
            )
        })
    }

    /// Returns `true` if it will not expire: it is not set, or its thread is gone. Another thread may have the id by
    /// then.
    pub(super) fn is_idle(&self) -> bool {
        let zero = timespec(Duration::ZERO);
        let mut times = libc::itimerspec {
            it_interval: zero,
            it_value: zero,
        };
        // SAFETY: the times receive the answer.
        let status = unsafe { libc::syscall(libc::SYS_timer_gettime, self.0, &raw mut times) };
        let is_zero = |time: libc::timespec| time.tv_sec == 0 && time.tv_nsec == 0;
        status == 0 && is_zero(times.it_value)
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        // SAFETY: the timer is this value's alone.
        unsafe { libc::syscall(libc::SYS_timer_delete, self.0) };
    }
}

/// Returns the value of the signals that name a record.
fn value_of(record: u32) -> usize {
    MARK << MARK_SHIFT | record as usize
}

/// Sends [`SIGNAL`] to a thread of this process that has no timer; it names `record`.
pub(super) fn send(tid: libc::pid_t, record: u32) -> io::Result<()> {
    let process = std::process::id();
    let info = SignalInfo {
        number: SIGNAL,
        code: libc::SI_QUEUE,
        timer_or_sender: process.cast_signed(),
        value: value_of(record),
        ..SignalInfo::default()
    };
    // SAFETY: the structure is as large as the kernel's, and is read during the call only.
    checked(unsafe {
        libc::syscall(
            libc::SYS_rt_tgsigqueueinfo,
            process,
            tid,
            SIGNAL,
            &raw const info,
        )
    })
}

/// Checks that the system grants the current thread such a timer.
pub(super) fn probe() -> io::Result<()> {
    // SAFETY: gettid takes no arguments.
    let tid = unsafe { libc::syscall(libc::SYS_gettid) } as libc::pid_t;
    let timer = Timer::new(tid, u32::MAX)?;
    timer.set(Duration::from_secs(3600), Some(Duration::from_secs(3600)))
}

fn timespec(time: Duration) -> libc::timespec {
    libc::timespec {
        tv_sec: time.as_secs() as _,
        tv_nsec: time.subsec_nanos().into(),
    }
}

fn checked(status: libc::c_long) -> io::Result<()> {
    match status {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_has_timers_on_the_clocks_of_threads() {
        probe().expect("a timer");
    }

    #[test]
    fn a_timer_tells_when_its_thread_is_gone() {
        let hour = Duration::from_secs(3600);
        let timer = std::thread::spawn(move || {
            // SAFETY: gettid takes no arguments.
            let tid = unsafe { libc::syscall(libc::SYS_gettid) } as libc::pid_t;
            let timer = Timer::new(tid, 0).expect("a timer");
            assert!(timer.is_idle(), "it does not run yet");
            timer.set(hour, Some(hour)).expect("it runs");
            assert!(!timer.is_idle());
            timer
        });
        let timer = timer.join().expect("a timer");
        // A joined thread is gone, or about to be.
        let gone = (0..1_000).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            timer.is_idle()
        });
        assert!(gone);
    }

    #[test]
    fn a_thread_that_is_not_there_has_no_timer() {
        // Linux assigns thread ids below this.
        const NO_THREAD: libc::pid_t = 1 << 22;
        let error = Timer::new(NO_THREAD, 0).map(drop);
        assert_eq!(
            error.expect_err("no such thread").raw_os_error(),
            Some(libc::EINVAL)
        );
    }
}
