//! The functions of the library that the VM calls by their names: the entry points of an agent, and the native methods of
//! the jar's class `io.hprof.Agent`.

use std::borrow::Cow;
use std::ffi::CStr;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::java_calls::{ReturnedBytes, in_native_method, text_argument};
use super::jni::{Jni, Vm};
use super::sys::{JNI_ERR, JNI_OK};

// The types of the functions that the macro declares.
pub use super::sys::{JNIEnv, JavaVM, jboolean, jbyteArray, jclass, jint, jlong, jstring};
pub use std::ffi::{c_char, c_void};

/// What the VM and `io.hprof.Agent` ask of an agent. [`export_agent!`](crate::export_agent) makes a type the library's.
pub trait Agent {
    /// The VM starts with the agent. Returns `false` if it must not start.
    fn on_load(vm: Vm, options: &str) -> bool;

    /// The VM is running and someone sends the agent a command, usually to start. Returns `false` if it was refused,
    /// which is reported to the sender; the VM continues.
    fn on_attach(vm: Vm, command: &str) -> bool;

    /// Begins a count of allocations. Returns its number; 0 if no profile runs.
    fn begin_count(jni: Jni<'_>, all_threads: bool) -> i64;

    /// Ends a count. Returns what was allocated since it began.
    fn end_count(jni: Jni<'_>, number: i64) -> ReturnedBytes;

    /// Collects garbage. Returns the live objects of the sites that a count has met.
    fn live_of_count(jni: Jni<'_>, number: i64) -> ReturnedBytes;
}

/// Exports the entry points of the library. They call `$agent`, a type with the trait [`Agent`]; no panic leaves them.
#[macro_export]
macro_rules! export_agent {
    ($agent:ty) => {
        $crate::export_agent! {
            $agent:
            Agent_OnLoad = on_load(vm: *mut JavaVM, options: *const c_char, reserved: *mut c_void) -> jint;
            Agent_OnAttach = on_attach(vm: *mut JavaVM, options: *const c_char, reserved: *mut c_void) -> jint;
            Java_io_hprof_Agent_command = on_command(env: *mut JNIEnv, class: jclass, command: jstring) -> jboolean;
            Java_io_hprof_Agent_beginCount = begin_count(env: *mut JNIEnv, class: jclass, all_threads: jboolean) -> jlong;
            Java_io_hprof_Agent_endCount = end_count(env: *mut JNIEnv, class: jclass, number: jlong) -> jbyteArray;
            Java_io_hprof_Agent_liveOfCount = live_of_count(env: *mut JNIEnv, class: jclass, number: jlong) -> jbyteArray;
        }
    };
    ($agent:ty: $($name:ident = $function:ident($($argument:ident: $type:ty),*) -> $answer:ty;)*) => {
        mod exported {
            use $crate::entry_points::*;

            $(
                #[doc = concat!("See `jvmti::entry_points::", stringify!($function), "`.")]
                ///
                /// # Safety
                /// Only the VM may call this, with the arguments of the function of this name.
                #[unsafe(no_mangle)]
                pub unsafe extern "system" fn $name($($argument: $type),*) -> $answer {
                    // SAFETY: the VM's arguments.
                    unsafe { $function::<$agent>($($argument),*) }
                }
            )*
        }
    };
}

/// # Safety
/// Only for the arguments of `Agent_OnLoad`: the process's VM, and null or a NUL-terminated string.
pub unsafe fn on_load<A: Agent>(
    vm: *mut JavaVM,
    options: *const c_char,
    _reserved: *mut c_void,
) -> jint {
    // SAFETY: the caller's promise.
    unsafe { run(vm, options, A::on_load) }
}

/// # Safety
/// Only for the arguments of `Agent_OnAttach`, which are those of `Agent_OnLoad`, on a thread of the VM.
pub unsafe fn on_attach<A: Agent>(
    vm: *mut JavaVM,
    command: *const c_char,
    _reserved: *mut c_void,
) -> jint {
    // SAFETY: the caller's promise.
    unsafe { run(vm, command, A::on_attach) }
}

/// Carries out a command of a Java program for the agent that it loaded itself.
///
/// # Safety
/// Only for the arguments of the native method.
pub unsafe fn on_command<A: Agent>(env: *mut JNIEnv, _class: jclass, command: jstring) -> jboolean {
    let carry_out = || {
        // SAFETY: the caller's promise.
        let argument = unsafe { text_argument(env, command) };
        argument.is_some_and(|(vm, command)| A::on_attach(vm, &command))
    };
    // The user has been told why not; of a panic by its hook.
    catch_unwind(AssertUnwindSafe(carry_out)).unwrap_or(false)
}

/// # Safety
/// Only for the arguments of the native method.
pub unsafe fn begin_count<A: Agent>(
    env: *mut JNIEnv,
    _class: jclass,
    all_threads: jboolean,
) -> jlong {
    // SAFETY: the caller's promise.
    let begin = || unsafe { in_native_method(env, |jni| A::begin_count(jni, all_threads)) };
    catch_unwind(begin).ok().flatten().unwrap_or(0)
}

/// # Safety
/// Only for the arguments of the native method.
pub unsafe fn end_count<A: Agent>(env: *mut JNIEnv, _class: jclass, number: jlong) -> jbyteArray {
    // SAFETY: the caller's promise.
    unsafe { bytes(env, |jni| A::end_count(jni, number)) }
}

/// # Safety
/// Only for the arguments of the native method.
pub unsafe fn live_of_count<A: Agent>(
    env: *mut JNIEnv,
    _class: jclass,
    number: jlong,
) -> jbyteArray {
    // SAFETY: the caller's promise.
    unsafe { bytes(env, |jni| A::live_of_count(jni, number)) }
}

/// Runs an entry point of the VM.
///
/// # Safety
/// `vm` is null or the process's VM, `text` null or NUL-terminated.
unsafe fn run(vm: *mut JavaVM, text: *const c_char, body: fn(Vm, &str) -> bool) -> jint {
    // SAFETY: the caller's promise.
    let (vm, text) = unsafe { (Vm::from_raw(vm), string(text)) };
    let Some(vm) = vm else { return JNI_ERR };
    match catch_unwind(AssertUnwindSafe(|| body(vm, &text))) {
        Ok(true) => JNI_OK,
        // The user has been told why not; of a panic by its hook.
        Ok(false) | Err(_) => JNI_ERR,
    }
}

/// Runs a native method that returns an array.
///
/// # Safety
/// `env` is the first argument of the native method.
unsafe fn bytes(env: *mut JNIEnv, body: impl FnOnce(Jni<'_>) -> ReturnedBytes) -> jbyteArray {
    // SAFETY: the caller's promise.
    let body = || unsafe { in_native_method(env, body) };
    let bytes = catch_unwind(AssertUnwindSafe(body)).ok().flatten();
    bytes.unwrap_or(ReturnedBytes::NULL).0
}

/// Reads a string of the VM; bytes that are not UTF-8 are replaced.
///
/// # Safety
/// `raw` is null or NUL-terminated, and stays so for `'a`.
unsafe fn string<'a>(raw: *const c_char) -> Cow<'a, str> {
    if raw.is_null() {
        return Cow::Borrowed("");
    }
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(raw) }.to_string_lossy()
}
