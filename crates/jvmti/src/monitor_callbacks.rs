//! The functions that the VM calls for monitors, and for the end of virtual threads: see `callbacks`.

use super::current_thread::CurrentThread;
use super::events::{SessionEvents, pass, pass_on_thread, unpack_on_thread};
use super::jni::{Jni, Object};
use super::sys;

pub(super) unsafe extern "C" fn on_virtual_thread_end(
    _: *mut sys::jvmtiEnv,
    jni: *mut sys::JNIEnv,
    thread: sys::jthread,
) {
    // SAFETY: the VM's arguments; it posts the event on the thread that it is about.
    unsafe {
        pass_on_thread(jni, thread, |session, jni, thread| {
            session.thread_end(jni, thread)
        })
    }
}

/// As [`pass_on_thread`], with an additional monitor.
///
/// # Safety
/// `jni`, `thread` and `monitor` must be what the VM passed to a callback on this thread, and `thread` this thread or the
/// virtual thread that it carries.
unsafe fn pass_with_monitor(
    jni: *mut sys::JNIEnv,
    thread: sys::jthread,
    monitor: sys::jobject,
    event: impl FnOnce(&dyn SessionEvents, Jni<'_>, CurrentThread<'_>, Object<'_>),
) {
    pass(|session, callback| {
        // SAFETY: the caller passes the VM's arguments, valid until the callback returns.
        let monitor = unsafe { Object::from_raw(monitor, callback) };
        // SAFETY: as above.
        let arguments = unsafe { unpack_on_thread(jni, thread, callback) };
        if let (Some((jni, thread)), Some(monitor)) = (arguments, monitor) {
            event(session, jni, thread, monitor);
        }
    });
}

pub(super) unsafe extern "C" fn on_monitor_contended_enter(
    _: *mut sys::jvmtiEnv,
    jni: *mut sys::JNIEnv,
    thread: sys::jthread,
    monitor: sys::jobject,
) {
    // SAFETY: the VM's arguments; it posts the event on the thread that it is about.
    unsafe {
        pass_with_monitor(jni, thread, monitor, |session, jni, thread, monitor| {
            session.monitor_enter(jni, thread, monitor)
        })
    }
}

pub(super) unsafe extern "C" fn on_monitor_contended_entered(
    _: *mut sys::jvmtiEnv,
    jni: *mut sys::JNIEnv,
    thread: sys::jthread,
    _: sys::jobject,
) {
    // SAFETY: the VM's arguments; it posts the event on the thread that it is about.
    unsafe {
        pass_on_thread(jni, thread, |session, jni, thread| {
            session.monitor_entered(jni, thread)
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
    // SAFETY: the VM's arguments; it posts the event on the thread that it is about.
    unsafe {
        pass_with_monitor(jni, thread, monitor, |session, jni, thread, monitor| {
            session.monitor_wait(jni, thread, monitor, timeout)
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
    // SAFETY: the VM's arguments; it posts the event on the thread that it is about.
    unsafe {
        pass_with_monitor(jni, thread, monitor, |session, jni, thread, monitor| {
            session.monitor_waited(jni, thread, monitor)
        })
    }
}
