//! The functions that rewritten methods call: native methods of a class that the agent defines in the VM.
//!
//! They are called at every entry and every exit of a method, so there is little between them and the engine: one call
//! through a pointer, and a guard against panics that costs nothing unless there is one, because the unwinder finds it
//! in its tables.
//!
//! The VM finds them by name, like all native methods, in a library that it was started with. In a library that is
//! being attached it does not search yet, so there they are registered. From JDK 17 on RegisterNatives prints a
//! warning, on the program's stdout, when the class belongs to a named module of the boot loader and the call comes
//! from no method of that loader. So the call is made in the ClassPrepare event, which comes while `Class.forName`
//! links the class.

use std::ffi::{CStr, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::OnceLock;

use super::env::{Env, jvmti};
use super::error::JvmtiError;
use super::events::unpack;
use super::jni::{Callback, Jni, LocalRef, Object, jni};
use super::sys;

/// The class with the hooks, as class files name it. It is in `java.lang` because that package is visible to every
/// class, regardless of module and loader.
pub const HOOK_CLASS: &[u8] = HOOK_CLASS_NAME.to_bytes();
const HOOK_CLASS_NAME: &CStr = c"java/lang/HprofTracker";
/// The hook for entries, `static native void methodEntry(int)`.
pub const HOOK_METHOD_ENTRY: &[u8] = b"methodEntry";
/// The hook for exits.
pub const HOOK_METHOD_EXIT: &[u8] = b"methodExit";
/// The hook for exits by exception.
pub const HOOK_EXCEPTION_EXIT: &[u8] = b"exceptionExit";

static HOOKS: OnceLock<CallHooks> = OnceLock::new();

/// The actions at the entry and the exit of a rewritten method, on the thread that runs it.
#[derive(Clone, Copy)]
pub struct CallHooks {
    /// Called when the current thread has entered a method. The second argument is an address in the stack frame of
    /// this call, which is higher than those of deeper calls.
    pub entry: fn(u32, usize),
    /// Called when the current thread is about to leave a method, by an exception or otherwise.
    pub exit: fn(u32),
    /// Called when one of the above has panicked; they must do nothing from here on.
    pub panicked: fn(),
}

#[unsafe(no_mangle)]
extern "system" fn Java_java_lang_HprofTracker_methodEntry(
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
extern "system" fn Java_java_lang_HprofTracker_methodExit(
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
extern "system" fn Java_java_lang_HprofTracker_exceptionExit(
    env: *mut sys::JNIEnv,
    class: sys::jclass,
    method: i32,
) {
    Java_java_lang_HprofTracker_methodExit(env, class, method);
}

#[cold]
fn give_up(hooks: &CallHooks) {
    let _ = catch_unwind(AssertUnwindSafe(hooks.panicked));
}

/// Defines the class with the hooks, whose file is `bytes`, in the boot loader, and makes it call `hooks`. These are
/// permanent: later calls do not replace them.
pub fn define_hooks(
    env: Env,
    jni: Jni<'_>,
    bytes: &[u8],
    hooks: CallHooks,
) -> Result<(), JvmtiError> {
    let failed = |function| JvmtiError {
        function,
        code: sys::JVMTI_ERROR_INTERNAL,
    };
    HOOKS.get_or_init(|| hooks);
    // On a second start in the same VM the class exists already.
    let class = match jni.find_class(HOOK_CLASS_NAME) {
        Some(class) => class,
        None => {
            let class = define(jni, bytes).ok_or(failed("DefineClass"))?;
            // If the VM refuses the event, it prints its warning below.
            let _ = register_when_prepared(env, jni);
            class
        }
    };
    if works(jni, class.object()) || register(jni, class.object()) {
        return Ok(());
    }
    Err(failed("RegisterNatives"))
}

/// Makes a method of the boot loader link the class, and registers the functions meanwhile.
fn register_when_prepared(env: Env, jni: Jni<'_>) -> Result<(), JvmtiError> {
    let Some(env) = env.aside() else {
        return Ok(());
    };
    let callbacks = sys::jvmtiEventCallbacks {
        ClassPrepare: Some(on_class_prepare),
        ..Default::default()
    };
    let length = size_of_val(&callbacks) as sys::jint;
    // SAFETY: the VM copies the structure; its function lives as long as the library.
    unsafe { jvmti!(env, SetEventCallbacks, &callbacks, length)? };
    let Some(thread) = env.current_thread(jni)? else {
        return Ok(());
    };
    let switch = |mode| {
        // SAFETY: `thread` holds a reference to a thread that runs: this one.
        unsafe {
            jvmti!(
                env,
                SetEventNotificationMode,
                mode,
                sys::JVMTI_EVENT_CLASS_PREPARE,
                thread.object().raw
            )
        }
    };
    switch(sys::JVMTI_ENABLE)?;
    jni.initialize_class("java.lang.HprofTracker");
    switch(sys::JVMTI_DISABLE)
}

/// Handles ClassPrepare, on the thread that is in [`register_when_prepared`].
unsafe extern "C" fn on_class_prepare(
    _: *mut sys::jvmtiEnv,
    jni: *mut sys::JNIEnv,
    _: sys::jthread,
    class: sys::jclass,
) {
    Callback::run(|callback| {
        // A class that is linked along the way has no such methods: the VM refuses, and changes nothing.
        // SAFETY: the VM's arguments.
        if let Some((jni, class)) = unsafe { unpack(jni, class, callback) } {
            register(jni, class);
        }
    });
}

fn define<'a>(jni: Jni<'a>, bytes: &[u8]) -> Option<LocalRef<'a>> {
    let length = sys::jsize::try_from(bytes.len()).ok()?;
    // SAFETY: the name is NUL-terminated, a null loader is the boot loader, and the VM copies the bytes.
    let raw = unsafe {
        jni!(
            jni,
            DefineClass,
            HOOK_CLASS_NAME.as_ptr(),
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

/// Returns `true` if the VM finds the functions. It searches agents too, but not one that is just being attached.
fn works(jni: Jni<'_>, class: Object<'_>) -> bool {
    let arguments = [sys::jvalue { i: -1 }];
    [c"methodEntry", c"methodExit", c"exceptionExit"]
        .iter()
        .all(|name| {
            let Some(method) = jni.static_method(class, name, c"(I)V") else {
                return false;
            };
            // SAFETY: the method is one of the class's, and takes one int, which `arguments` holds.
            unsafe {
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
    let method = |name: &'static CStr, function: *mut c_void| sys::JNINativeMethod {
        name: name.as_ptr().cast_mut(),
        signature: c"(I)V".as_ptr().cast_mut(),
        fnPtr: function,
    };
    let methods = [
        method(
            c"methodEntry",
            Java_java_lang_HprofTracker_methodEntry as *mut c_void,
        ),
        method(
            c"methodExit",
            Java_java_lang_HprofTracker_methodExit as *mut c_void,
        ),
        method(
            c"exceptionExit",
            Java_java_lang_HprofTracker_exceptionExit as *mut c_void,
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
