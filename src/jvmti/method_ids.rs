//! The ids of methods, which must exist before a signal handler takes stacks: it cannot create any.

use std::ptr;

use super::env::{Buffer, Env, jvmti};
use super::error::JvmtiError;
use super::events::with_object;
use super::jni::{Jni, Object};
use super::sys;

impl Env {
    /// Makes the VM create the ids of all methods of all loaded classes.
    pub fn make_method_ids(self, jni: Jni<'_>) -> Result<(), JvmtiError> {
        for class in self.loaded_classes(jni)? {
            self.make_method_ids_of(class.object());
        }
        Ok(())
    }

    /// Makes the VM create the ids of a class's methods. A class that is not prepared has none yet.
    fn make_method_ids_of(self, class: Object<'_>) {
        let mut count = 0;
        let mut methods = ptr::null_mut();
        // SAFETY: both receive answers; `Buffer` frees the array.
        let answer = unsafe { jvmti!(self, GetClassMethods, class.raw, &mut count, &mut methods) };
        if answer.is_ok() {
            drop(Buffer::new(self, methods, count));
        }
    }
}

pub(super) unsafe extern "C" fn on_class_load(
    _: *mut sys::jvmtiEnv,
    _: *mut sys::JNIEnv,
    _: sys::jthread,
    _: sys::jclass,
) {
}

pub(super) unsafe extern "C" fn on_class_prepare(
    env: *mut sys::jvmtiEnv,
    jni: *mut sys::JNIEnv,
    _: sys::jthread,
    class: sys::jclass,
) {
    // SAFETY: the VM's arguments.
    unsafe {
        with_object(jni, class, |jni, class| {
            if let Some(env) = Env::of_callback(env, jni) {
                env.make_method_ids_of(class);
            }
        })
    }
}
