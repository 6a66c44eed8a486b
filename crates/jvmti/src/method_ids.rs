//! The ids of methods. Where AsyncGetCallTrace takes stacks in a signal handler they must exist before: it cannot create any.

use std::ptr;

use super::env::{Buffer, Env, MethodId, jvmti};
use super::error::JvmtiError;
use super::events::pass_with;
use super::jni::{Jni, Object};
use super::sys;

impl Env {
    /// Makes the VM create the ids of all methods of all loaded classes.
    pub fn make_method_ids(self, jni: Jni<'_>) -> Result<(), JvmtiError> {
        for class in self.loaded_classes(jni)? {
            drop(self.methods_of(class.object()));
        }
        Ok(())
    }

    /// Returns the ids of a class's methods, which the VM creates where there are none. A class that is not prepared has
    /// no methods yet.
    pub(super) fn methods_of(self, class: Object<'_>) -> Vec<MethodId> {
        let mut count = 0;
        let mut methods = ptr::null_mut();
        // SAFETY: both receive answers; `Buffer` frees the array.
        let answer = unsafe { jvmti!(self, GetClassMethods, class.raw, &mut count, &mut methods) };
        if answer.is_err() {
            return Vec::new();
        }
        let methods = Buffer::new(self, methods, count);
        methods.iter().map(|&id| MethodId::from_raw(id)).collect()
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
    _: *mut sys::jvmtiEnv,
    jni: *mut sys::JNIEnv,
    _: sys::jthread,
    class: sys::jclass,
) {
    // SAFETY: the VM's arguments.
    unsafe {
        pass_with(jni, class, |session, jni, class| {
            session.class_prepared(jni, class)
        })
    }
}
