//! Which virtual thread runs on a carrier: HotSpot's extension function `GetVirtualThread` (JDK 21 on).
//!
//! A carrier's own stack ends where it mounted the virtual thread, so without this a sample of a virtual thread would
//! say no more than `VirtualThread.runContinuation`.

use std::ffi::CStr;
use std::ptr;

use super::env::{Buffer, Env, checked, jvmti};
use super::error::JvmtiError;
use super::jni::{Jni, Local, Object};
use super::sys;

const GET_VIRTUAL_THREAD: &CStr = c"com.sun.hotspot.functions.GetVirtualThread";

type GetVirtualThread = unsafe extern "C" fn(*mut sys::jvmtiEnv, ...) -> sys::jvmtiError;

/// Finds the virtual thread that a carrier runs.
#[derive(Clone, Copy)]
pub struct VirtualThreads {
    env: Env,
    get_virtual_thread: GetVirtualThread,
}

impl VirtualThreads {
    /// Takes the capability and looks the function up; `None` where the VM has no virtual threads.
    pub(super) fn new(env: Env) -> Option<Self> {
        let mut potential = sys::jvmtiCapabilities::default();
        // SAFETY: `potential` is where the answer goes.
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

    /// The virtual thread mounted on the carrier; `None` when there is none, or the thread is no carrier.
    pub fn mounted_on<'a>(
        self,
        jni: Jni<'a>,
        carrier: Object<'_>,
    ) -> Result<Option<Local<'a>>, JvmtiError> {
        let mut thread: sys::jthread = ptr::null_mut();
        let answer: *mut sys::jthread = &mut thread;
        // SAFETY: the function takes the carrier and where the answer goes (its parameter list, as
        // GetExtensionFunctions describes it).
        let code = unsafe { (self.get_virtual_thread)(self.env.as_raw(), carrier.raw, answer) };
        checked("GetVirtualThread", code)?;
        Ok(Local::new(jni, thread))
    }

    /// Whether the thread is a virtual one.
    pub fn is_virtual(self, jni: Jni<'_>, thread: Object<'_>) -> bool {
        jni.is_virtual(thread)
    }
}

fn find(env: Env) -> Option<GetVirtualThread> {
    let mut count = 0;
    let mut functions = ptr::null_mut();
    // SAFETY: both are where answers go; `Buffer` frees the array.
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

/// Frees what hangs on one entry of the list.
fn free(env: Env, function: &sys::jvmtiExtensionFunctionInfo) {
    let parameters = Buffer::new(env, function.params, function.param_count);
    for parameter in parameters.iter() {
        drop(Buffer::new(env, parameter.name, 0));
    }
    drop(Buffer::new(env, function.id, 0));
    drop(Buffer::new(env, function.short_description, 0));
    drop(Buffer::new(env, function.errors, 0));
}
