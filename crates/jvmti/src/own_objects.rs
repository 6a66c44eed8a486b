//! The agent's own objects in the Java heap, which stay there until the VM next collects garbage.

use std::sync::Arc;

use super::env::Env;
use super::jni::{Jni, Object, WeakRef};
use super::sys;
use locks::{Mutex, rank};

/// The tag of the agent's objects in its own environment: [`Env::class_histogram`] skips them.
pub(super) const OWN_TAG: sys::jlong = sys::jlong::MIN;

/// The agent's objects in the Java heap.
pub struct OwnObjects {
    env: Env,
    objects: Mutex<Vec<Arc<WeakRef>>, rank::OwnObjects>,
}

impl OwnObjects {
    /// Creates an empty set.
    pub fn new(env: Env) -> Self {
        Self {
            env,
            objects: Mutex::default(),
        }
    }

    /// Adds an object that the agent has allocated. It may die at any time.
    pub fn add(&self, jni: Jni<'_>, object: Object<'_>) {
        // If the VM is out of memory, the object counts as the program's.
        let _ = self.env.set_tag(object, OWN_TAG);
        let object = WeakRef::new(jni, object).map(Arc::new);
        self.objects.lock().extend(object);
    }

    /// Calls `look` with each one that is still alive.
    pub fn for_each(&self, jni: Jni<'_>, mut look: impl FnMut(Object<'_>)) {
        let all = self.objects.lock().clone();
        let mut dead = Vec::new();
        for object in &all {
            match object.upgrade(jni) {
                Some(object) => look(object.object()),
                None => dead.push(object),
            }
        }
        let is_dead = |object: &Arc<WeakRef>| dead.iter().any(|dead| Arc::ptr_eq(dead, object));
        // `all` frees the references, after the lock.
        self.objects.lock().retain(|object| !is_dead(object));
    }
}
