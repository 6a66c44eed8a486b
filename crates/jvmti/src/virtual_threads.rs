//! Finds the virtual thread that runs on a carrier, by HotSpot's extension function `GetVirtualThread` (from JDK 21).
//!
//! A carrier's own stack ends where it mounted the virtual thread, so without this a sample of a virtual thread would
//! show only `VirtualThread.runContinuation`.
//!
//! HotSpot's extension events report when a virtual thread is mounted on a carrier, and when it is unmounted.

use std::ffi::CStr;
use std::ptr;

use super::env::{Buffer, Env, checked, jvmti};
use super::error::JvmtiError;
use super::events::pass_on_thread;
use super::jni::{Jni, LocalRef, Object};
use super::sys;
use super::vm_call::before_call;

const GET_VIRTUAL_THREAD: &CStr = c"com.sun.hotspot.functions.GetVirtualThread";

const MOUNTED: &CStr = c"com.sun.hotspot.events.VirtualThreadMount";
const UNMOUNTED: &CStr = c"com.sun.hotspot.events.VirtualThreadUnmount";

type GetVirtualThread = unsafe extern "C" fn(*mut sys::jvmtiEnv, ...) -> sys::jvmtiError;

/// Finds the virtual thread that a carrier runs.
#[derive(Clone, Copy)]
pub struct VirtualThreads {
    env: Env,
    get_virtual_thread: GetVirtualThread,
}

impl Env {
    /// Returns `true` if the current thread is virtual.
    pub fn is_on_virtual_thread(self, jni: Jni<'_>) -> bool {
        let current = self.current_thread(jni).ok().flatten();
        current.is_some_and(|thread| jni.is_virtual(thread.object()))
    }
}

impl VirtualThreads {
    /// Takes the capability and looks up the function; `None` if the VM has no virtual threads.
    pub fn new(env: Env) -> Option<Self> {
        let mut potential = sys::jvmtiCapabilities::default();
        // SAFETY: `potential` receives the answer.
        unsafe { jvmti!(env, GetPotentialCapabilities, &mut potential) }.ok()?;
        if potential.can_support_virtual_threads() == 0 {
            return None;
        }
        let get_virtual_thread = find(env)?;
        let mut wanted = sys::jvmtiCapabilities::default();
        wanted.set_can_support_virtual_threads(1);
        env.add_capabilities(&wanted).ok()?;
        Some(Self {
            env,
            get_virtual_thread,
        })
    }

    /// Returns the virtual thread mounted on the carrier; `None` if there is none, or the thread is not a carrier.
    pub fn mounted_on<'a>(
        self,
        jni: Jni<'a>,
        carrier: Object<'_>,
    ) -> Result<Option<LocalRef<'a>>, JvmtiError> {
        let mut thread: sys::jthread = ptr::null_mut();
        let answer: *mut sys::jthread = &mut thread;
        before_call("GetVirtualThread");
        // SAFETY: the function takes the carrier and where the answer goes (its parameter list, as
        // GetExtensionFunctions describes it).
        let code = unsafe { (self.get_virtual_thread)(self.env.as_raw(), carrier.raw, answer) };
        checked("GetVirtualThread", code)?;
        Ok(LocalRef::new(jni, thread))
    }

    /// Returns `true` if the thread is virtual.
    pub fn is_virtual(self, jni: Jni<'_>, thread: Object<'_>) -> bool {
        jni.is_virtual(thread)
    }

    /// Enables the events [`super::SessionEvents::virtual_thread_mounted`] and [`super::SessionEvents::virtual_thread_unmounted`].
    pub fn enable_mount_events(self) -> Result<(), JvmtiError> {
        self.watch_mounts(true)
    }

    /// Disables them.
    pub fn disable_mount_events(self) -> Result<(), JvmtiError> {
        self.watch_mounts(false)
    }

    fn watch_mounts(self, on: bool) -> Result<(), JvmtiError> {
        for (id, callback) in [
            (MOUNTED, on_mounted as MountCallback),
            (UNMOUNTED, on_unmounted as MountCallback),
        ] {
            let index = find_event(self.env, id)?;
            // SAFETY: the VM calls the function with the parameters that `MountCallback` has (its parameter list, as
            // GetExtensionEvents describes it), and on every ABI here these are passed as to a variadic function.
            let callback = unsafe {
                std::mem::transmute::<MountCallback, unsafe extern "C" fn(*mut sys::jvmtiEnv, ...)>(
                    callback,
                )
            };
            let callback = on.then_some(callback);
            // SAFETY: the function lives as long as the library; without one the event is off.
            unsafe { jvmti!(self.env, SetExtensionEventCallback, index, callback)? };
            let mode = if on {
                sys::JVMTI_ENABLE
            } else {
                sys::JVMTI_DISABLE
            };
            // SAFETY: a null thread stands for all threads; extension events have numbers among those of the others.
            unsafe {
                jvmti!(
                    self.env,
                    SetEventNotificationMode,
                    mode,
                    index as sys::jvmtiEvent,
                    ptr::null_mut()
                )?
            };
        }
        Ok(())
    }
}

type MountCallback = unsafe extern "C" fn(*mut sys::jvmtiEnv, *mut sys::JNIEnv, sys::jthread);

unsafe extern "C" fn on_mounted(
    _: *mut sys::jvmtiEnv,
    jni: *mut sys::JNIEnv,
    thread: sys::jthread,
) {
    // SAFETY: the VM's arguments; it posts the event on the thread that it is about.
    unsafe {
        pass_on_thread(jni, thread, |session, jni, thread| {
            session.virtual_thread_mounted(jni, thread)
        })
    }
}

unsafe extern "C" fn on_unmounted(
    _: *mut sys::jvmtiEnv,
    jni: *mut sys::JNIEnv,
    thread: sys::jthread,
) {
    // SAFETY: the VM's arguments; it posts the event on the thread that it is about.
    unsafe {
        pass_on_thread(jni, thread, |session, jni, thread| {
            session.virtual_thread_unmounted(jni, thread)
        })
    }
}

/// Returns the number of an extension event.
fn find_event(env: Env, id: &CStr) -> Result<sys::jint, JvmtiError> {
    let mut count = 0;
    let mut events = ptr::null_mut();
    // SAFETY: both receive answers; `Buffer` frees the array.
    unsafe { jvmti!(env, GetExtensionEvents, &mut count, &mut events)? };
    let events = Buffer::new(env, events, count);
    let mut found = None;
    for event in events.iter() {
        // SAFETY: every id is a NUL-terminated string, freed only below.
        if unsafe { CStr::from_ptr(event.id) } == id {
            found = Some(event.extension_event_index);
        }
        let parameters = Buffer::new(env, event.params, event.param_count);
        for parameter in parameters.iter() {
            drop(Buffer::new(env, parameter.name, 0));
        }
        drop(Buffer::new(env, event.id, 0));
        drop(Buffer::new(env, event.short_description, 0));
    }
    found.ok_or(JvmtiError {
        function: "GetExtensionEvents",
        code: sys::JVMTI_ERROR_NOT_AVAILABLE,
    })
}

fn find(env: Env) -> Option<GetVirtualThread> {
    let mut count = 0;
    let mut functions = ptr::null_mut();
    // SAFETY: both receive answers; `Buffer` frees the array.
    unsafe { jvmti!(env, GetExtensionFunctions, &mut count, &mut functions) }.ok()?;
    let functions = Buffer::new(env, functions, count);
    let mut found = None;
    for function in functions.iter() {
        // SAFETY: every id is a NUL-terminated string, freed only below.
        if unsafe { CStr::from_ptr(function.id) } == GET_VIRTUAL_THREAD {
            found = function.func;
        }
        free(env, function);
    }
    found
}

/// Frees the memory that an entry of the list refers to.
fn free(env: Env, function: &sys::jvmtiExtensionFunctionInfo) {
    let parameters = Buffer::new(env, function.params, function.param_count);
    for parameter in parameters.iter() {
        drop(Buffer::new(env, parameter.name, 0));
    }
    drop(Buffer::new(env, function.id, 0));
    drop(Buffer::new(env, function.short_description, 0));
    drop(Buffer::new(env, function.errors, 0));
}
