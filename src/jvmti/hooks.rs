//! The functions that rewritten methods call: native methods of a class of ours that is defined into the VM.
//!
//! They are called at every entry and every exit of a method, so little stands between them and the engine: one call
//! through a pointer, and a guard against panics that costs nothing while there is none, because the unwinder finds it in
//! its tables.
//!
//! The VM finds them by their names, as it finds every native method; RegisterNatives on a class of `java.lang` would have it
//! print a warning.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::OnceLock;

use super::error::JvmtiError;
use super::jni::{Jni, LocalRef, Object, jni};
use super::sys;

/// The class that has the hooks, as a class file names it. It stands in `java.lang` because every class, of whatever module
/// and loader, sees that package.
pub const HOOK_CLASS: &[u8] = b"java/lang/HprofTracker";
/// The hook for entries, `static native void entered(int)`.
pub const HOOK_METHOD_ENTRY: &[u8] = b"entered";
/// The hook for exits.
pub const HOOK_METHOD_EXIT: &[u8] = b"left";
/// The hook for exits by exception.
pub const HOOK_EXCEPTION_EXIT: &[u8] = b"unwound";

static HOOKS: OnceLock<CallHooks> = OnceLock::new();

/// What happens at the entry and the exit of a rewritten method, on the thread that runs it.
#[derive(Clone, Copy)]
pub struct CallHooks {
    /// The current thread has entered a method. The second argument is an address in the stack frame of this call: it is
    /// above those of deeper calls.
    pub entry: fn(u32, usize),
    /// The current thread is about to leave a method, by an exception or otherwise.
    pub exit: fn(u32),
    /// One of the above has panicked; they must do nothing from here on.
    pub panicked: fn(),
}

#[unsafe(no_mangle)]
extern "system" fn Java_java_lang_HprofTracker_entered(
    _: *mut sys::JNIEnv,
    _: sys::jclass,
    method: i32,
) {
    let Some(hooks) = HOOKS.get() else { return };
    let here = 0_u8;
    let at = ptr::from_ref(&here).addr();
    if catch_unwind(|| (hooks.entry)(method.cast_unsigned(), at)).is_err() {
        give_up(hooks);
    }
}

#[unsafe(no_mangle)]
extern "system" fn Java_java_lang_HprofTracker_left(
    _: *mut sys::JNIEnv,
    _: sys::jclass,
    method: i32,
) {
    let Some(hooks) = HOOKS.get() else { return };
    if catch_unwind(|| (hooks.exit)(method.cast_unsigned())).is_err() {
        give_up(hooks);
    }
}

#[unsafe(no_mangle)]
extern "system" fn Java_java_lang_HprofTracker_unwound(
    env: *mut sys::JNIEnv,
    class: sys::jclass,
    method: i32,
) {
    Java_java_lang_HprofTracker_left(env, class, method);
}

#[cold]
fn give_up(hooks: &CallHooks) {
    let _ = catch_unwind(AssertUnwindSafe(hooks.panicked));
}

/// Defines the class with the hooks, whose file is `bytes`, in the boot loader, and has it call `hooks`. These stay for good:
/// others are not taken later.
pub fn define_hooks(jni: Jni<'_>, bytes: &[u8], hooks: CallHooks) -> Result<(), JvmtiError> {
    let failed = |function| JvmtiError {
        function,
        code: sys::JVMTI_ERROR_INTERNAL,
    };
    HOOKS.get_or_init(|| hooks);
    // A second start in one VM: the class is there from the first.
    let class = match jni.find_class(c"java/lang/HprofTracker") {
        Some(class) => class,
        None => define(jni, bytes).ok_or(failed("DefineClass"))?,
    };
    if works(jni, class.object()) || register(jni, class.object()) {
        return Ok(());
    }
    Err(failed("RegisterNatives"))
}

fn define<'a>(jni: Jni<'a>, bytes: &[u8]) -> Option<LocalRef<'a>> {
    let length = sys::jsize::try_from(bytes.len()).ok()?;
    // SAFETY: the name is NUL-terminated, a null loader is the boot loader, and the VM copies the bytes.
    let raw = unsafe {
        jni!(
            jni,
            DefineClass,
            c"java/lang/HprofTracker".as_ptr(),
            ptr::null_mut(),
            bytes.as_ptr().cast(),
            length
        )
    };
    if jni.clear_exception() {
        return None;
    }
    LocalRef::new(jni, raw)
}

/// Whether the VM finds the functions. It looks for them in agents too, but not in one that is just being attached.
fn works(jni: Jni<'_>, class: Object<'_>) -> bool {
    let arguments = [sys::jvalue { i: -1 }];
    [c"entered", c"left", c"unwound"].iter().all(|name| {
        // SAFETY: the class reference is valid, name and signature are NUL-terminated; the method takes one int, which
        // `arguments` holds, and is called when it was found.
        unsafe {
            let method = jni!(
                jni,
                GetStaticMethodID,
                class.raw,
                name.as_ptr(),
                c"(I)V".as_ptr()
            );
            if jni.clear_exception() || method.is_null() {
                return false;
            }
            jni!(
                jni,
                CallStaticVoidMethodA,
                class.raw,
                method,
                arguments.as_ptr()
            );
        }
        !jni.clear_exception()
    })
}

fn register(jni: Jni<'_>, class: Object<'_>) -> bool {
    let method = |name: &'static std::ffi::CStr, function: *mut c_void| sys::JNINativeMethod {
        name: name.as_ptr().cast_mut(),
        signature: c"(I)V".as_ptr().cast_mut(),
        fnPtr: function,
    };
    let methods = [
        method(
            c"entered",
            Java_java_lang_HprofTracker_entered as *mut c_void,
        ),
        method(c"left", Java_java_lang_HprofTracker_left as *mut c_void),
        method(
            c"unwound",
            Java_java_lang_HprofTracker_unwound as *mut c_void,
        ),
    ];
    // SAFETY: the VM does not write to the names; the functions have the parameters of static native methods that take
    // an int, and live as long as the library.
    let status = unsafe {
        jni!(
            jni,
            RegisterNatives,
            class.raw,
            methods.as_ptr(),
            methods.len() as sys::jint
        )
    };
    !jni.clear_exception() && status == sys::JNI_OK
}
