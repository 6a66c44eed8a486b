//! What the agent itself puts into the Java heap. It is nobody's but the agent's, and stays in the heap until the VM next
//! collects garbage.

use super::env::Env;
use super::jni::{Jni, Object, WeakRef};
use super::sys;
use crate::lock_order::{Mutex, rank};

/// The tag of the agent's objects in its own environment: [`Env::class_histogram`] passes over them.
pub(super) const OWN_TAG: sys::jlong = sys::jlong::MIN;

/// The agent's objects in the Java heap.
pub struct OwnObjects {
    env: Env,
    objects: Mutex<Vec<WeakRef>, rank::OwnObjects>,
}

impl OwnObjects {
    /// None yet.
    pub fn new(env: Env) -> Self {
        Self {
            env,
            objects: Mutex::default(),
        }
    }

    /// Remembers an object that the agent has made. It may die at any time.
    pub fn add(&self, jni: Jni<'_>, object: Object<'_>) {
        // Where the VM is out of memory the object counts as the program's.
        let _ = self.env.set_tag(object, OWN_TAG);
        self.objects.lock().extend(WeakRef::new(jni, object));
    }

    /// Shows each one that is still there.
    pub fn for_each(&self, jni: Jni<'_>, mut look: impl FnMut(Object<'_>)) {
        self.objects.lock().retain(|object| {
            let object = object.get(jni);
            if let Some(object) = &object {
                look(object.object());
            }
            object.is_some()
        });
    }
}
