//! The few calls of Java code that the agent makes, none of them on a hot path. They use the `jni` crate, which looks
//! up classes, methods and fields, and checks types.

use jni::objects::{JObject, JValue};
use jni::{jni_sig, jni_str};

use super::jni::{Jni, LocalRef, Object};

impl<'a> Jni<'a> {
    /// Creates a `java.lang.Thread` that has not started; `None` if the VM refuses (out of memory).
    pub(super) fn new_thread(self, name: &str) -> Option<LocalRef<'a>> {
        let thread = self.call(|env| {
            let name = env.new_string(name)?;
            let thread = env.new_object(
                jni_str!("java/lang/Thread"),
                jni_sig!("(Ljava/lang/String;)V"),
                &[JValue::Object(&name)],
            )?;
            env.delete_local_ref(name);
            Ok(thread.into_raw())
        })?;
        LocalRef::new(self, thread)
    }

    /// Calls `System.exit`: the shutdown hooks run, then VMDeath comes, on this thread. Returns only if the program's
    /// security manager forbids it (`false`).
    pub fn exit(self, status: i32) -> bool {
        let exited = self.call(|env| {
            env.call_static_method(
                jni_str!("java/lang/System"),
                jni_str!("exit"),
                jni_sig!("(I)V"),
                &[JValue::Int(status)],
            )?;
            Ok(())
        });
        exited.is_some()
    }

    /// Calls `System.gc`, and waits until the collection is over. With `-XX:+DisableExplicitGC` there is none.
    pub fn collect_garbage(self) {
        // If it fails, there was no collection, which is no error for those who call this.
        let _ = self.call(|env| {
            env.call_static_method(
                jni_str!("java/lang/System"),
                jni_str!("gc"),
                jni_sig!("()V"),
                &[],
            )?;
            Ok(())
        });
    }

    /// Links a class that was only loaded, so that the VM reveals its fields. Asking for its public fields links it
    /// without running any of its code. Returns `true` if the VM did it.
    pub fn link(self, class: Object<'_>) -> bool {
        let linked = self.call(|env| {
            // SAFETY: `class` is a valid reference that its owner deletes; `JObject` has no drop.
            let class = unsafe { JObject::from_raw(env, class.raw) };
            let fields = env.call_method(
                &class,
                jni_str!("getDeclaredFields0"),
                jni_sig!("(Z)[Ljava/lang/reflect/Field;"),
                &[JValue::Bool(true)],
            )?;
            env.delete_local_ref(fields.into_object()?);
            Ok(())
        });
        linked.is_some()
    }

    /// Initializes a class of the boot loader by `Class.forName`. Returns `true` if the VM did it.
    pub(super) fn initialize_class(self, name: &str) -> bool {
        let initialized = self.call(|env| {
            let name = env.new_string(name)?;
            let class = env.call_static_method(
                jni_str!("java/lang/Class"),
                jni_str!("forName"),
                jni_sig!("(Ljava/lang/String;ZLjava/lang/ClassLoader;)Ljava/lang/Class;"),
                &[
                    JValue::Object(&name),
                    JValue::Bool(true),
                    JValue::Object(&JObject::null()),
                ],
            )?;
            env.delete_local_ref(class.into_object()?);
            env.delete_local_ref(name);
            Ok(())
        });
        initialized.is_some()
    }

    /// Returns the VM's own object behind a `java.lang.Thread`; `None` for a thread that does not run, or if the VM
    /// keeps it elsewhere.
    pub(super) fn native_thread(self, thread: Object<'_>) -> Option<*const u8> {
        let address = self.call(|env| {
            // SAFETY: as in `link`.
            let thread = unsafe { JObject::from_raw(env, thread.raw) };
            env.get_field(&thread, jni_str!("eetop"), jni_sig!("J"))?
                .j()
        })?;
        let address = std::ptr::with_exposed_provenance::<u8>(address as usize);
        (!address.is_null()).then_some(address)
    }

    /// Runs `body` with the crate's environment of this thread. Returns `None` if a call fails; a pending exception is
    /// cleared, so that the program never sees it.
    fn call<T>(self, body: impl FnOnce(&mut jni::Env<'_>) -> jni::errors::Result<T>) -> Option<T> {
        // SAFETY: `Jni` is the environment of the current thread, which is attached and stays so until this returns;
        // the guard does not leave this function.
        let mut guard = unsafe { jni::AttachGuard::from_unowned(self.as_raw()) };
        let answer = body(guard.borrow_env_mut());
        let thrown = self.clear_exception();
        answer.ok().filter(|_| !thrown)
    }
}
