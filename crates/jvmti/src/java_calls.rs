//! The few calls of Java code that the agent makes, and what it asks of Java's own classes; none on a hot path.
//!
//! A call begins only where no exception is pending, and one that it leaves behind is cleared: the program never sees it.

use std::ffi::{CStr, CString};
use std::ptr;

use super::events::unpack;
use super::jni::{Callback, Jni, LocalRef, Object, Vm, jni};
use super::sys;

/// An array that a native method returns to Java: one that [`Jni::bytes_to_return`] has just made, or null.
pub struct ReturnedBytes(pub(super) sys::jbyteArray);

impl ReturnedBytes {
    /// The answer of a method that has thrown an exception.
    pub const NULL: Self = Self(ptr::null_mut());
}

impl<'a> Jni<'a> {
    /// Creates a `java.lang.Thread` that has not started; `None` if the VM refuses (out of memory).
    pub(super) fn new_thread(self, name: &str) -> Option<LocalRef<'a>> {
        let class = self.class_for_calls(c"java/lang/Thread")?;
        let constructor = self.method(class.object(), c"<init>", c"(Ljava/lang/String;)V")?;
        let name = self.new_string(name)?;
        let arguments = [sys::jvalue { l: name.raw }];
        // SAFETY: the constructor is one of the class's, and takes a string.
        let raw = unsafe { jni!(self, NewObjectA, class.raw, constructor, arguments.as_ptr()) };
        self.returned(raw)
    }

    /// Calls `System.exit`: the shutdown hooks run, then VMDeath comes, on this thread. Returns only if the program's
    /// security manager forbids it (`false`).
    pub fn exit(self, status: i32) -> bool {
        let arguments = [sys::jvalue { i: status }];
        self.call_of_system(c"exit", c"(I)V", &arguments)
    }

    /// Calls `System.gc`, and waits until the collection is over. With `-XX:+DisableExplicitGC` there is none.
    pub fn collect_garbage(self) {
        // If it fails, there was no collection, which is no error for those who call this.
        self.call_of_system(c"gc", c"()V", &[]);
    }

    /// Calls a static method of `java.lang.System`, whose parameters are those of the signature. Returns `true` if it
    /// threw nothing.
    fn call_of_system(self, name: &CStr, signature: &CStr, arguments: &[sys::jvalue]) -> bool {
        let call = || {
            let class = self.class_for_calls(c"java/lang/System")?;
            let method = self.static_method(class.object(), name, signature)?;
            // SAFETY: the method is one of the class's, and both callers give what it takes.
            unsafe {
                jni!(
                    self,
                    CallStaticVoidMethodA,
                    class.raw,
                    method,
                    arguments.as_ptr()
                );
            }
            (!self.clear_exception()).then_some(())
        };
        call().is_some()
    }

    /// Links a class that was only loaded, so that the VM reveals its fields. Asking for its public fields links it
    /// without running any of its code. Returns `true` if the VM did it.
    pub fn link(self, class: Object<'_>) -> bool {
        let link = || {
            let class_of_classes = self.class_for_calls(c"java/lang/Class")?;
            let method = self.method(
                class_of_classes.object(),
                c"getDeclaredFields0",
                c"(Z)[Ljava/lang/reflect/Field;",
            )?;
            let arguments = [sys::jvalue { z: true }];
            // SAFETY: the object is a class, the method one of java.lang.Class, and it takes a boolean.
            let raw = unsafe {
                jni!(
                    self,
                    CallObjectMethodA,
                    class.raw,
                    method,
                    arguments.as_ptr()
                )
            };
            self.returned(raw)
        };
        link().is_some()
    }

    /// Initializes a class of the boot loader by `Class.forName`. Returns `true` if the VM did it.
    pub(super) fn initialize_class(self, name: &str) -> bool {
        let initialize = || {
            let class = self.class_for_calls(c"java/lang/Class")?;
            let method = self.static_method(
                class.object(),
                c"forName",
                c"(Ljava/lang/String;ZLjava/lang/ClassLoader;)Ljava/lang/Class;",
            )?;
            let name = self.new_string(name)?;
            let arguments = [
                sys::jvalue { l: name.raw },
                sys::jvalue { z: true },
                sys::jvalue { l: ptr::null_mut() },
            ];
            // SAFETY: the method is one of the class's, and takes a string, a boolean and a loader.
            let raw = unsafe {
                jni!(
                    self,
                    CallStaticObjectMethodA,
                    class.raw,
                    method,
                    arguments.as_ptr()
                )
            };
            self.returned(raw)
        };
        initialize().is_some()
    }

    /// Returns the object that reads any field of an object, and its method for a `long`, which takes the object and the
    /// offset of the field.
    pub(super) fn reader_of_fields(self) -> Option<(LocalRef<'a>, sys::jmethodID)> {
        let class = self.class_for_calls(c"jdk/internal/misc/Unsafe")?;
        let signature = c"Ljdk/internal/misc/Unsafe;";
        let field = self.static_field(class.object(), c"theUnsafe", signature)?;
        // SAFETY: the field is a static one of the class, and of an object.
        let reader = unsafe { jni!(self, GetStaticObjectField, class.raw, field) };
        let reader = LocalRef::new(self, reader)?;
        let method = self.method(class.object(), c"getLong", c"(Ljava/lang/Object;J)J")?;
        Some((reader, method))
    }

    /// Returns the VM's own object behind a `java.lang.Thread`; `None` for a thread that does not run, or if the VM
    /// keeps it elsewhere.
    pub(super) fn native_thread(self, thread: Object<'_>) -> Option<*const u8> {
        let class = self.class_for_calls(c"java/lang/Thread")?;
        let field = self.field(class.object(), c"eetop", c"J")?;
        // SAFETY: the field is one of java.lang.Thread, and a long.
        let address = unsafe { jni!(self, GetLongField, thread.raw, field) };
        let address = ptr::with_exposed_provenance::<u8>(usize::try_from(address).ok()?);
        (!address.is_null()).then_some(address)
    }

    /// Returns the text of a `java.lang.String`.
    pub(super) fn text(self, string: Object<'_>) -> Option<String> {
        // SAFETY: the object is a string; the characters are given back below.
        unsafe {
            let characters = jni!(self, GetStringUTFChars, string.raw, ptr::null_mut());
            if characters.is_null() {
                self.clear_exception();
                return None;
            }
            let bytes = CStr::from_ptr(characters).to_bytes();
            let text = simd_cesu8::mutf8::decode_lossy(bytes).into_owned();
            jni!(self, ReleaseStringUTFChars, string.raw, characters);
            Some(text)
        }
    }

    /// Returns an instance field of a class; `None` if it has none like that.
    pub(super) fn field(
        self,
        class: Object<'_>,
        name: &CStr,
        signature: &CStr,
    ) -> Option<sys::jfieldID> {
        let (name, signature) = (name.as_ptr(), signature.as_ptr());
        // SAFETY: the reference is of a class, and both texts are NUL-terminated.
        let id = unsafe { jni!(self, GetFieldID, class.raw, name, signature) };
        (!self.clear_exception() && !id.is_null()).then_some(id)
    }

    /// Returns a static field of a class; `None` if it has none like that.
    pub(super) fn static_field(
        self,
        class: Object<'_>,
        name: &CStr,
        signature: &CStr,
    ) -> Option<sys::jfieldID> {
        let (name, signature) = (name.as_ptr(), signature.as_ptr());
        // SAFETY: the reference is of a class, and both texts are NUL-terminated.
        let id = unsafe { jni!(self, GetStaticFieldID, class.raw, name, signature) };
        (!self.clear_exception() && !id.is_null()).then_some(id)
    }

    fn method(self, class: Object<'_>, name: &CStr, signature: &CStr) -> Option<sys::jmethodID> {
        let (name, signature) = (name.as_ptr(), signature.as_ptr());
        // SAFETY: the reference is of a class, and both texts are NUL-terminated.
        let id = unsafe { jni!(self, GetMethodID, class.raw, name, signature) };
        (!self.clear_exception() && !id.is_null()).then_some(id)
    }

    /// Returns a static method of a class; `None` if it has none like that.
    pub(super) fn static_method(
        self,
        class: Object<'_>,
        name: &CStr,
        signature: &CStr,
    ) -> Option<sys::jmethodID> {
        let (name, signature) = (name.as_ptr(), signature.as_ptr());
        // SAFETY: the reference is of a class, and both texts are NUL-terminated.
        let id = unsafe { jni!(self, GetStaticMethodID, class.raw, name, signature) };
        (!self.clear_exception() && !id.is_null()).then_some(id)
    }

    /// Returns a class of the boot loader; `None` while an exception is pending, with which nothing may be called.
    fn class_for_calls(self, name: &CStr) -> Option<LocalRef<'a>> {
        // SAFETY: may be called with an exception pending.
        let is_pending = unsafe { jni!(self, ExceptionCheck) };
        if is_pending {
            return None;
        }
        self.find_class(name)
    }

    /// Throws an `IllegalStateException` in the native method that the current thread is in, when it returns.
    pub fn throw_illegal_state(self, text: &str) {
        let Some(class) = self.class_for_calls(c"java/lang/IllegalStateException") else {
            return;
        };
        // In the VM's form no zero is left.
        let text = CString::new(simd_cesu8::mutf8::encode(text)).unwrap_or_default();
        // SAFETY: the class is one of exceptions, and the text NUL-terminated and in the VM's form of UTF-8. If there is no
        // memory for the exception, another one is thrown.
        unsafe { jni!(self, ThrowNew, class.raw, text.as_ptr()) };
    }

    /// Returns an array for a native method to return; null with an `OutOfMemoryError`, which the program gets, if there is
    /// no memory for it.
    pub fn bytes_to_return(self, bytes: &[u8]) -> ReturnedBytes {
        let length = sys::jsize::try_from(bytes.len()).unwrap_or(sys::jsize::MAX);
        // SAFETY: the region is the whole array, or the first 2 GB of the bytes.
        unsafe {
            let array = jni!(self, NewByteArray, length);
            if !array.is_null() {
                let bytes = bytes.as_ptr().cast::<sys::jbyte>();
                jni!(self, SetByteArrayRegion, array, 0, length, bytes);
            }
            ReturnedBytes(array)
        }
    }

    fn new_string(self, text: &str) -> Option<LocalRef<'a>> {
        // In the VM's form no zero is left.
        let text = CString::new(simd_cesu8::mutf8::encode(text)).ok()?;
        // SAFETY: NUL-terminated, and in the VM's form of UTF-8.
        let raw = unsafe { jni!(self, NewStringUTF, text.as_ptr()) };
        self.returned(raw)
    }

    /// Takes what a call returned; `None` if it threw.
    fn returned(self, raw: sys::jobject) -> Option<LocalRef<'a>> {
        let thrown = self.clear_exception();
        LocalRef::new(self, raw).filter(|_| !thrown)
    }
}

/// Runs the body of a native method.
///
/// # Safety
/// Only for the first argument of a native method that the VM has called, and within it.
pub(super) unsafe fn in_native_method<T>(
    env: *mut sys::JNIEnv,
    body: impl FnOnce(Jni<'_>) -> T,
) -> Option<T> {
    Callback::run(|callback| {
        // SAFETY: the caller's promise.
        let jni = unsafe { Jni::from_raw(env, callback) }?;
        Some(body(jni))
    })?
}

/// Returns the VM, and the text that a Java program gave to a native method.
///
/// # Safety
/// Only for the arguments of a native method that the VM has called: the environment of the current thread, and a string or
/// null.
pub(super) unsafe fn text_argument(
    env: *mut sys::JNIEnv,
    text: sys::jstring,
) -> Option<(Vm, String)> {
    Callback::run(|callback| {
        // SAFETY: the caller's promise; both are valid until the native method returns.
        let (jni, text) = unsafe { unpack(env, text, callback) }?;
        Some((Vm::of(jni)?, jni.text(text)?))
    })?
}
