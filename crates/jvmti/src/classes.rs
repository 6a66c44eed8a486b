//! Class files: the VM passes each one to the agent before defining the class, and again on request.

use std::ffi::CStr;
use std::ptr;

use super::env::{Buffer, Env, jvmti};
use super::error::JvmtiError;
use super::events::{ClassFile, pass};
use super::jni::{Jni, Object};
use super::sys;

const ACC_NATIVE: sys::jint = 0x0100;
const ACC_ABSTRACT: sys::jint = 0x0400;

impl Env {
    /// Returns `true` if the VM can redefine the class: it cannot for arrays and hidden classes.
    pub fn is_modifiable(self, class: Object<'_>) -> bool {
        let mut modifiable = false;
        // SAFETY: `modifiable` receives the answer.
        let answer = unsafe { jvmti!(self, IsModifiableClass, class.raw, &mut modifiable) };
        answer.is_ok() && modifiable
    }

    /// Returns `true` if a method of the class has bytecode, or if that is unknown because the class has not been
    /// linked.
    pub fn has_code(self, class: Object<'_>) -> bool {
        let mut count = 0;
        let mut methods = ptr::null_mut();
        // SAFETY: both receive answers; `Buffer` frees the array.
        let answer = unsafe { jvmti!(self, GetClassMethods, class.raw, &mut count, &mut methods) };
        if answer.is_err() {
            return true;
        }
        let methods = Buffer::new(self, methods, count);
        methods.iter().any(|&method| {
            let mut modifiers = 0;
            // SAFETY: `modifiers` receives the answer, and the reference to the class keeps its methods.
            let answer = unsafe { jvmti!(self, GetMethodModifiers, method, &mut modifiers) };
            answer.is_err() || modifiers & (ACC_ABSTRACT | ACC_NATIVE) == 0
        })
    }

    /// Makes the VM pass the classes to [`super::SessionEvents::class_file`] again and redefine them, all or none. Needs
    /// [`super::Capability::Retransform`].
    pub fn retransform(self, classes: &[Object<'_>]) -> Result<(), JvmtiError> {
        let raw: Vec<sys::jclass> = classes.iter().map(|class| class.raw).collect();
        let count = sys::jint::try_from(raw.len()).unwrap_or(sys::jint::MAX);
        // SAFETY: the references are valid: `Object` borrows from what keeps them so.
        unsafe { jvmti!(self, RetransformClasses, count, raw.as_ptr()) }
    }

    /// Copies bytes into memory that the VM frees; `None` if it has no memory.
    fn for_the_vm(self, bytes: &[u8]) -> Option<(*mut u8, sys::jint)> {
        let length = sys::jint::try_from(bytes.len()).ok()?;
        let mut copy = ptr::null_mut();
        // SAFETY: `copy` receives the answer, memory for that many bytes.
        unsafe {
            jvmti!(self, Allocate, length.into(), &mut copy).ok()?;
            ptr::copy_nonoverlapping(bytes.as_ptr(), copy, bytes.len());
        }
        Some((copy, length))
    }
}

#[allow(clippy::too_many_arguments)] // The parameters are the VM's.
pub(super) unsafe extern "C" fn on_class_file_load_hook(
    env: *mut sys::jvmtiEnv,
    jni: *mut sys::JNIEnv,
    _: sys::jclass,
    loader: sys::jobject,
    name: *const std::ffi::c_char,
    _: sys::jobject,
    length: sys::jint,
    bytes: *const u8,
    new_length: *mut sys::jint,
    new_bytes: *mut *mut u8,
) {
    let Ok(length) = usize::try_from(length) else {
        return;
    };
    pass(|session, callback| {
        // SAFETY: the VM's arguments, valid until the callback returns; the name is null or NUL-terminated, the bytes are
        // as many as it says.
        let (jni, class) = unsafe {
            let name = (!name.is_null()).then(|| CStr::from_ptr(name).to_bytes());
            let loader = Object::from_raw(loader, callback);
            let bytes = std::slice::from_raw_parts(bytes, length);
            (
                Jni::from_raw(jni, callback),
                ClassFile {
                    name,
                    loader,
                    bytes,
                },
            )
        };
        let Some(jni) = jni else { return };
        let Some(rewritten) = session.class_file(jni, class) else {
            return;
        };
        let Some(env) = Env::of_callback(env, jni) else {
            return;
        };
        if let Some((copy, length)) = env.for_the_vm(&rewritten) {
            // SAFETY: both are where the VM looks for the answer.
            unsafe {
                *new_bytes = copy;
                *new_length = length;
            }
        }
    });
}
