//! The functions that the VM calls for monitors, and for the end of virtual threads: see `callbacks`.

use super::events::{Events, with_thread};
use super::jni::{Callback, Jni, Object};
use super::sys;

pub(super) unsafe extern "C" fn on_virtual_thread_end(
    _: *mut sys::jvmtiEnv,
    jni: *mut sys::JNIEnv,
    thread: sys::jthread,
) {
    // SAFETY: the VM's arguments.
    unsafe {
        with_thread(jni, thread, |events, jni, thread| {
            events.thread_end(jni, thread)
        })
    }
}

/// As [`with_thread`], with an additional monitor.
///
/// # Safety
/// `jni`, `thread` and `monitor` must be what the VM passed to a callback on this thread.
unsafe fn with_monitor(
    jni: *mut sys::JNIEnv,
    thread: sys::jthread,
    monitor: sys::jobject,
    body: impl FnOnce(&dyn Events, Jni<'_>, Object<'_>, Object<'_>),
) {
    let callback = Callback;
    // SAFETY: the caller passes the VM's arguments, valid until the callback returns.
    let Some(monitor) = (unsafe { Object::from_raw(monitor, &callback) }) else {
        return;
    };
    // SAFETY: as above.
    unsafe {
        with_thread(jni, thread, |events, jni, thread| {
            body(events, jni, thread, monitor)
        })
    }
}

pub(super) unsafe extern "C" fn on_monitor_contended_enter(
    _: *mut sys::jvmtiEnv,
    jni: *mut sys::JNIEnv,
    thread: sys::jthread,
    monitor: sys::jobject,
) {
    // SAFETY: the VM's arguments.
    unsafe {
        with_monitor(jni, thread, monitor, |events, jni, thread, monitor| {
            events.monitor_enter(jni, thread, monitor)
        })
    }
}

pub(super) unsafe extern "C" fn on_monitor_contended_entered(
    _: *mut sys::jvmtiEnv,
    jni: *mut sys::JNIEnv,
    thread: sys::jthread,
    _: sys::jobject,
) {
    // SAFETY: the VM's arguments.
    unsafe {
        with_thread(jni, thread, |events, jni, thread| {
            events.monitor_entered(jni, thread)
        })
    }
}

pub(super) unsafe extern "C" fn on_monitor_wait(
    _: *mut sys::jvmtiEnv,
    jni: *mut sys::JNIEnv,
    thread: sys::jthread,
    monitor: sys::jobject,
    timeout: sys::jlong,
) {
    let timeout = u64::try_from(timeout).unwrap_or(0);
    // SAFETY: the VM's arguments.
    unsafe {
        with_monitor(jni, thread, monitor, |events, jni, thread, monitor| {
            events.monitor_wait(jni, thread, monitor, timeout)
        })
    }
}

pub(super) unsafe extern "C" fn on_monitor_waited(
    _: *mut sys::jvmtiEnv,
    jni: *mut sys::JNIEnv,
    thread: sys::jthread,
    monitor: sys::jobject,
    _timed_out: sys::jboolean,
) {
    // SAFETY: the VM's arguments.
    unsafe {
        with_monitor(jni, thread, monitor, |events, jni, thread, monitor| {
            events.monitor_waited(jni, thread, monitor)
        })
    }
}
