//! HPROF, the heap and CPU profiling agent, for current JVMs.
//!
//! The VM loads this library and calls [`Agent_OnLoad`], or [`Agent_OnAttach`] when it is already running. `agent`
//! reads the options and builds the session from the other folders: `jvmti` wraps the VM, `session` is one profile from
//! beginning to end, `engines` measure, `stacks` takes stacks, `names` keeps the names in them, `output` writes the
//! records.

#![deny(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        clippy::cast_sign_loss
    )
)]

mod agent;
mod engines;
mod session;

use std::borrow::Cow;
use std::ffi::{CStr, c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use agent::Started;
use jvmti::{JNI_ERR, JNI_OK, JNIEnv, JavaVM, Vm, jboolean, jbyteArray, jclass, jlong, jstring};
use output::console;

/// Called when the VM starts with the agent: reads the options and prepares the session. A result other than `JNI_OK`
/// ends the VM.
///
/// # Safety
/// Only the VM may call this: `vm` is the process's VM, `options` null or a NUL-terminated string.
#[allow(unsafe_code)] // The name is the VM's contract, and its arguments are raw.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Agent_OnLoad(
    vm: *mut JavaVM,
    options: *const c_char,
    _reserved: *mut c_void,
) -> i32 {
    // SAFETY: the VM's arguments.
    let (vm, options) = unsafe { (Vm::from_raw(vm), text(options)) };
    let Some(vm) = vm else { return JNI_ERR };
    match catch_unwind(AssertUnwindSafe(|| agent::start(vm, &options))) {
        Ok(Ok(Started::Running)) => JNI_OK,
        Ok(Ok(Started::Help(help))) => {
            console::to_stdout(&help);
            std::process::exit(0)
        }
        Ok(Err(error)) if error.is_lack_of_descriptors() => {
            console::line(format_args!(
                "{error}; the program goes on without a profile"
            ));
            JNI_OK
        }
        Ok(Err(error)) => {
            console::line(format_args!("{error}"));
            JNI_ERR
        }
        // The hook has reported the panic.
        Err(_) => JNI_ERR,
    }
}

/// Called when the VM is running and someone sends the agent a command, usually to start. A result other than `JNI_OK`
/// is reported to the sender; the VM goes on.
///
/// # Safety
/// As for [`Agent_OnLoad`], on a thread of the VM.
#[allow(unsafe_code)] // The name is the VM's contract, and its arguments are raw.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Agent_OnAttach(
    vm: *mut JavaVM,
    options: *const c_char,
    _reserved: *mut c_void,
) -> i32 {
    // SAFETY: the VM's arguments.
    let (vm, options) = unsafe { (Vm::from_raw(vm), text(options)) };
    let Some(vm) = vm else { return JNI_ERR };
    match catch_unwind(AssertUnwindSafe(|| agent::attach(vm, &options))) {
        Ok(true) => JNI_OK,
        // The user has been told why not; of a panic by its hook.
        Ok(false) | Err(_) => JNI_ERR,
    }
}

/// Carries out a command of a Java program for the agent that it loaded itself: `io.hprof.Agent` of the jar. The commands
/// are those of [`Agent_OnAttach`]. Returns `true` if it was carried out.
///
/// # Safety
/// Only the VM may call this, for the native method of that class.
#[allow(unsafe_code)] // The name is Java's contract, and its arguments are raw.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Java_io_hprof_Agent_command(
    env: *mut JNIEnv,
    _class: jclass,
    command: jstring,
) -> bool {
    let carry_out = || {
        // SAFETY: the VM's arguments.
        let argument = unsafe { jvmti::text_argument(env, command) };
        argument.is_some_and(|(vm, command)| agent::attach(vm, &command))
    };
    // The user has been told why not; of a panic by its hook.
    catch_unwind(AssertUnwindSafe(carry_out)).unwrap_or(false)
}

/// Begins a count of allocations, for `io.hprof.Agent` of the jar. Returns its number; 0 if no profile runs.
///
/// # Safety
/// Only the VM may call this, for the native method of that class.
#[allow(unsafe_code)] // The name is Java's contract, and its arguments are raw.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Java_io_hprof_Agent_beginCount(
    env: *mut JNIEnv,
    _class: jclass,
    all_threads: jboolean,
) -> jlong {
    let begin = || {
        // SAFETY: the VM's argument.
        unsafe { jvmti::in_native_method(env, |jni| agent::begin_count(jni, all_threads)) }
    };
    catch_unwind(begin).ok().flatten().unwrap_or(0)
}

/// Ends a count, for `io.hprof.Agent` of the jar. Returns what was allocated since it began.
///
/// # Safety
/// Only the VM may call this, for the native method of that class.
#[allow(unsafe_code)] // The name is Java's contract, and its arguments are raw.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Java_io_hprof_Agent_endCount(
    env: *mut JNIEnv,
    _class: jclass,
    number: jlong,
) -> jbyteArray {
    // SAFETY: the VM's argument.
    let end = || unsafe { jvmti::in_native_method(env, |jni| agent::end_count(jni, number)) };
    catch_unwind(end).ok().flatten().unwrap_or(ptr::null_mut())
}

/// Collects garbage, for `io.hprof.Agent` of the jar. Returns the live objects of the sites that a count has met.
///
/// # Safety
/// Only the VM may call this, for the native method of that class.
#[allow(unsafe_code)] // The name is Java's contract, and its arguments are raw.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Java_io_hprof_Agent_liveOfCount(
    env: *mut JNIEnv,
    _class: jclass,
    number: jlong,
) -> jbyteArray {
    // SAFETY: the VM's argument.
    let live = || unsafe { jvmti::in_native_method(env, |jni| agent::live_of_count(jni, number)) };
    catch_unwind(live).ok().flatten().unwrap_or(ptr::null_mut())
}

/// Reads a string of the VM; bytes that are not UTF-8 are replaced.
///
/// # Safety
/// `raw` is null or NUL-terminated, and stays so for `'a`.
#[allow(unsafe_code)] // The one place that reads the options' raw string.
unsafe fn text<'a>(raw: *const c_char) -> Cow<'a, str> {
    if raw.is_null() {
        return Cow::Borrowed("");
    }
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(raw) }.to_string_lossy()
}
