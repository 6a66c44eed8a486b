//! Monitors and the threads that want them, as the VM reports them on request.

use std::ptr;

use super::env::{Buffer, Env, FrameInfo, jvmti};
use super::error::JvmtiError;
use super::jni::{Jni, LocalRef, Object};
use super::sys;

/// The state of a thread, as the bits of `GetThreadState`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadStateFlags(sys::jint);

/// A thread's state and its stack, both from the same moment.
pub struct ThreadStack {
    /// Its state.
    pub state: ThreadStateFlags,
    /// Its frames, innermost first.
    pub frames: Vec<FrameInfo>,
}

/// The owner and the waiters of a monitor.
///
/// From JDK 23 on the VM omits virtual threads; before JDK 23 those that wait to be notified are in both lists.
pub struct MonitorUsage<'a> {
    /// The thread that owns it.
    pub owner: Option<LocalRef<'a>>,
    /// The number of times the owner has entered it.
    pub entries: u32,
    /// The threads that want it.
    pub entering: Vec<LocalRef<'a>>,
    /// The threads that wait to be notified.
    pub waiting: Vec<LocalRef<'a>>,
}

macro_rules! states {
    ($($(#[$doc:meta])* $name:ident = $bit:ident;)*) => {
        impl ThreadStateFlags {
            $(
                $(#[$doc])*
                pub fn $name(self) -> bool {
                    self.0 & sys::$bit as sys::jint != 0
                }
            )*
        }
    };
}

states! {
    /// It has started and not ended.
    is_alive = JVMTI_THREAD_STATE_ALIVE;
    /// It has ended.
    is_terminated = JVMTI_THREAD_STATE_TERMINATED;
    /// It runs, or could run.
    is_runnable = JVMTI_THREAD_STATE_RUNNABLE;
    /// It wants a monitor.
    is_entering = JVMTI_THREAD_STATE_BLOCKED_ON_MONITOR_ENTER;
    /// It waits to be notified, is parked, or sleeps.
    is_waiting = JVMTI_THREAD_STATE_WAITING;
    /// It is in `Object.wait`.
    is_in_object_wait = JVMTI_THREAD_STATE_IN_OBJECT_WAIT;
    /// It is parked, as by `LockSupport.park`.
    is_parked = JVMTI_THREAD_STATE_PARKED;
    /// It is in `Thread.sleep`.
    is_sleeping = JVMTI_THREAD_STATE_SLEEPING;
    /// It has been suspended.
    is_suspended = JVMTI_THREAD_STATE_SUSPENDED;
    /// It has been interrupted.
    is_interrupted = JVMTI_THREAD_STATE_INTERRUPTED;
    /// It runs native code.
    is_in_native = JVMTI_THREAD_STATE_IN_NATIVE;
}

impl Env {
    /// Returns the states and stacks (at most `depth` frames each) of platform threads, in their order, all from the
    /// same moment: the VM is stopped for it. A thread that has ended has no frames.
    pub fn stacks(
        self,
        threads: &[Object<'_>],
        depth: usize,
    ) -> Result<Vec<ThreadStack>, JvmtiError> {
        let raw: Vec<sys::jthread> = threads.iter().map(|thread| thread.raw).collect();
        let count = sys::jint::try_from(raw.len()).unwrap_or(sys::jint::MAX);
        let depth = depth.try_into().unwrap_or(sys::jint::MAX);
        let mut stacks = ptr::null_mut();
        // SAFETY: `raw` holds `count` valid references, and `stacks` receives the answer: as many entries, in one
        // block that also holds all frames. `Buffer` frees it.
        unsafe {
            jvmti!(
                self,
                GetThreadListStackTraces,
                count,
                raw.as_ptr(),
                depth,
                &mut stacks
            )?
        };
        let stacks = Buffer::new(self, stacks, count);
        let stack = |info: &sys::jvmtiStackInfo| {
            let frames: &[FrameInfo] = match usize::try_from(info.frame_count) {
                // SAFETY: the VM wrote so many jvmtiFrameInfos there, which have the layout of `FrameInfo`, into the
                // block that `stacks` owns.
                Ok(count @ 1..) => unsafe {
                    std::slice::from_raw_parts(info.frame_buffer.cast(), count)
                },
                _ => &[],
            };
            ThreadStack {
                state: ThreadStateFlags(info.state),
                frames: frames.to_vec(),
            }
        };
        Ok(stacks.iter().map(stack).collect())
    }

    /// Returns the state of a thread, platform or virtual.
    pub fn thread_state(self, thread: Object<'_>) -> Result<ThreadStateFlags, JvmtiError> {
        let mut state = 0;
        // SAFETY: `state` receives the answer.
        unsafe { jvmti!(self, GetThreadState, thread.raw, &mut state)? };
        Ok(ThreadStateFlags(state))
    }

    /// Returns the monitor that a thread wants, or in which it waits to be notified.
    pub fn contended_monitor<'a>(
        self,
        jni: Jni<'a>,
        thread: Object<'_>,
    ) -> Result<Option<LocalRef<'a>>, JvmtiError> {
        let mut monitor = ptr::null_mut();
        // SAFETY: `monitor` receives the answer.
        unsafe { jvmti!(self, GetCurrentContendedMonitor, thread.raw, &mut monitor)? };
        Ok(LocalRef::new(jni, monitor))
    }

    /// Returns the monitors that a thread owns.
    pub fn owned_monitors<'a>(
        self,
        jni: Jni<'a>,
        thread: Object<'_>,
    ) -> Result<Vec<LocalRef<'a>>, JvmtiError> {
        let mut count = 0;
        let mut monitors = ptr::null_mut();
        // SAFETY: both receive answers; `Buffer` frees the array.
        unsafe {
            jvmti!(
                self,
                GetOwnedMonitorInfo,
                thread.raw,
                &mut count,
                &mut monitors
            )?
        };
        Ok(self.locals(jni, monitors, count))
    }

    /// Returns the owner and the waiters of a monitor, from the same moment.
    pub fn monitor_usage<'a>(
        self,
        jni: Jni<'a>,
        monitor: Object<'_>,
    ) -> Result<MonitorUsage<'a>, JvmtiError> {
        let mut usage = sys::jvmtiMonitorUsage::default();
        // SAFETY: `usage` receives the answer; `locals` frees its arrays.
        unsafe { jvmti!(self, GetObjectMonitorUsage, monitor.raw, &mut usage)? };
        Ok(MonitorUsage {
            owner: LocalRef::new(jni, usage.owner),
            entries: u32::try_from(usage.entry_count).unwrap_or(0),
            entering: self.locals(jni, usage.waiters, usage.waiter_count),
            waiting: self.locals(jni, usage.notify_waiters, usage.notify_waiter_count),
        })
    }

    /// Takes ownership of an array of local references, and frees the array.
    fn locals<'a>(
        self,
        jni: Jni<'a>,
        raw: *mut sys::jobject,
        count: sys::jint,
    ) -> Vec<LocalRef<'a>> {
        let raw = Buffer::new(self, raw, count);
        jni.announce_locals(raw.len());
        raw.iter()
            .filter_map(|&raw| LocalRef::new(jni, raw))
            .collect()
    }
}
