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

use super::call_contexts::no_slot;
use super::env::{Env, jvmti};
use super::error::JvmtiError;
use super::events::unpack;
use super::jni::{Callback, Jni, LocalRef, Object, jni};
use super::sys;

/// A class whose native methods call the agent.
#[derive(Clone, Copy, Debug)]
pub struct HookClass {
    /// Its name, as class files have it. It is in `java.lang` because that package is visible to every class, regardless of
    /// module and loader.
    pub name: &'static CStr,
    /// The native methods.
    methods: &'static [HookMethod],
}

/// A native method of such a class.
#[derive(Clone, Copy, Debug)]
struct HookMethod {
    name: &'static CStr,
    descriptor: &'static CStr,
    function: *const c_void,
}

// SAFETY: the function is part of the library.
unsafe impl Sync for HookMethod {}
// SAFETY: as above.
unsafe impl Send for HookMethod {}

/// The class whose methods time calls: `methodEntry(int)`, `methodExit(int)` and `exceptionExit(int)`.
pub static CALL_HOOKS: HookClass = HookClass {
    name: c"java/lang/HprofTracker",
    methods: &[
        HookMethod {
            name: c"methodEntry",
            descriptor: c"(I)V",
            function: Java_java_lang_HprofTracker_methodEntry as *const c_void,
        },
        HookMethod {
            name: c"methodExit",
            descriptor: c"(I)V",
            function: Java_java_lang_HprofTracker_methodExit as *const c_void,
        },
        HookMethod {
            name: c"exceptionExit",
            descriptor: c"(I)V",
            function: Java_java_lang_HprofTracker_exceptionExit as *const c_void,
        },
    ],
};

/// The class whose methods count calls: its native ones are for what it does not count itself.
pub static COUNT_HOOKS: HookClass = HookClass {
    name: c"java/lang/HprofCounter",
    methods: &[
        HookMethod {
            name: c"slowEntry",
            descriptor: c"(IJ)J",
            function: Java_java_lang_HprofCounter_slowEntry as *const c_void,
        },
        HookMethod {
            name: c"slowExit",
            descriptor: c"(JJ)V",
            function: Java_java_lang_HprofCounter_slowExit as *const c_void,
        },
        HookMethod {
            name: c"slowLeafEntry",
            descriptor: c"(IJ)J",
            function: Java_java_lang_HprofCounter_slowLeafEntry as *const c_void,
        },
    ],
};

static HOOKS: OnceLock<CallHooks> = OnceLock::new();
static COUNTING: OnceLock<CountHooks> = OnceLock::new();

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

/// As [`CallHooks`], for calls that are only counted. The last argument is the number of the thread.
#[derive(Clone, Copy)]
pub struct CountHooks {
    /// Called when the current thread has entered a method; returns what its exit is passed.
    pub entry: fn(u32, u64) -> u64,
    /// Called when the current thread is about to leave a method.
    pub exit: fn(u64, u64),
    /// As `entry`, for a leaf. The result is the address of the thread's slot; `None` if the call is not counted.
    pub leaf_entry: fn(u32, u64) -> Option<u64>,
    /// Called when one of the above has panicked; they must do nothing from here on.
    pub panicked: fn(),
}

/// What an entry returns that was not counted: no position of any stack.
const NOT_COUNTED: i64 = -1;

#[unsafe(no_mangle)]
extern "system" fn Java_java_lang_HprofCounter_slowEntry(
    _: *mut sys::JNIEnv,
    _: sys::jclass,
    method: i32,
    thread: i64,
) -> i64 {
    let Some(hooks) = COUNTING.get() else {
        return NOT_COUNTED;
    };
    let entry = || (hooks.entry)(method.cast_unsigned(), thread.cast_unsigned());
    match catch_unwind(entry) {
        Ok(position) => position.cast_signed(),
        Err(_) => {
            give_up(hooks.panicked);
            NOT_COUNTED
        }
    }
}

#[unsafe(no_mangle)]
extern "system" fn Java_java_lang_HprofCounter_slowExit(
    _: *mut sys::JNIEnv,
    _: sys::jclass,
    position: i64,
    thread: i64,
) {
    let Some(hooks) = COUNTING.get() else { return };
    let exit = || (hooks.exit)(position.cast_unsigned(), thread.cast_unsigned());
    if catch_unwind(exit).is_err() {
        give_up(hooks.panicked);
    }
}

#[unsafe(no_mangle)]
extern "system" fn Java_java_lang_HprofCounter_slowLeafEntry(
    _: *mut sys::JNIEnv,
    _: sys::jclass,
    method: i32,
    thread: i64,
) -> i64 {
    let slot = COUNTING.get().and_then(|hooks| {
        let entry = || (hooks.leaf_entry)(method.cast_unsigned(), thread.cast_unsigned());
        catch_unwind(entry).unwrap_or_else(|_| {
            give_up(hooks.panicked);
            None
        })
    });
    slot.unwrap_or_else(no_slot).cast_signed()
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
        give_up(hooks.panicked);
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
        give_up(hooks.panicked);
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
fn give_up(panicked: fn()) {
    let _ = catch_unwind(AssertUnwindSafe(panicked));
}

/// Defines [`CALL_HOOKS`], whose file is `bytes`, in the boot loader, and makes it call `hooks`. These are permanent: later
/// calls do not replace them.
pub fn define_call_hooks(
    env: Env,
    jni: Jni<'_>,
    bytes: &[u8],
    hooks: CallHooks,
) -> Result<(), JvmtiError> {
    HOOKS.get_or_init(|| hooks);
    define_hooks(env, jni, &CALL_HOOKS, bytes)
}

/// As [`define_call_hooks`], for [`COUNT_HOOKS`].
pub fn define_count_hooks(
    env: Env,
    jni: Jni<'_>,
    bytes: &[u8],
    hooks: CountHooks,
) -> Result<(), JvmtiError> {
    COUNTING.get_or_init(|| hooks);
    define_hooks(env, jni, &COUNT_HOOKS, bytes)
}

fn define_hooks(
    env: Env,
    jni: Jni<'_>,
    hooks: &'static HookClass,
    bytes: &[u8],
) -> Result<(), JvmtiError> {
    let failed = |function| JvmtiError {
        function,
        code: sys::JVMTI_ERROR_INTERNAL,
    };
    // On a second start in the same VM the class exists already.
    let class = match jni.find_class(hooks.name) {
        Some(class) => class,
        None => {
            let class = define(jni, hooks, bytes).ok_or(failed("DefineClass"))?;
            // If the VM refuses the event, it prints its warning below.
            let _ = register_when_prepared(env, jni, hooks);
            class
        }
    };
    if works(jni, class.object(), hooks) || register(jni, class.object(), hooks) {
        return Ok(());
    }
    Err(failed("RegisterNatives"))
}

/// Makes a method of the boot loader link the class, and registers the functions meanwhile.
fn register_when_prepared(env: Env, jni: Jni<'_>, hooks: &HookClass) -> Result<(), JvmtiError> {
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
    jni.initialize_class(&hooks.name.to_string_lossy().replace('/', "."));
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
            for hooks in [&CALL_HOOKS, &COUNT_HOOKS] {
                register(jni, class, hooks);
            }
        }
    });
}

fn define<'a>(jni: Jni<'a>, hooks: &HookClass, bytes: &[u8]) -> Option<LocalRef<'a>> {
    let length = sys::jsize::try_from(bytes.len()).ok()?;
    // SAFETY: the name is NUL-terminated, a null loader is the boot loader, and the VM copies the bytes.
    let raw = unsafe {
        jni!(
            jni,
            DefineClass,
            hooks.name.as_ptr(),
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
fn works(jni: Jni<'_>, class: Object<'_>, hooks: &HookClass) -> bool {
    // As many as any of them takes; the first is the method or the position.
    let arguments = [sys::jvalue { j: -1 }, sys::jvalue { j: 0 }];
    hooks.methods.iter().all(|hook| {
        let Some(method) = jni.static_method(class, hook.name, hook.descriptor) else {
            return false;
        };
        let arguments = arguments.as_ptr();
        // SAFETY: the method is one of the class's, and takes an int or a long, and perhaps a long, which `arguments` holds: an
        // int has the lower half.
        unsafe {
            match hook.descriptor.to_bytes() {
                [.., b'J'] => {
                    jni!(jni, CallStaticLongMethodA, class.raw, method, arguments);
                }
                _ => jni!(jni, CallStaticVoidMethodA, class.raw, method, arguments),
            }
        }
        !jni.clear_exception()
    })
}

fn register(jni: Jni<'_>, class: Object<'_>, hooks: &HookClass) -> bool {
    let method = |hook: &HookMethod| sys::JNINativeMethod {
        name: hook.name.as_ptr().cast_mut(),
        signature: hook.descriptor.as_ptr().cast_mut(),
        fnPtr: hook.function.cast_mut(),
    };
    let methods: Vec<sys::JNINativeMethod> = hooks.methods.iter().map(method).collect();
    // SAFETY: the VM does not write to the names; the functions have the parameters of static native methods of these
    // descriptors, and live as long as the library.
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
