//! The few JNI calls the agent makes, and references to the program's objects that free themselves.

use std::ffi::CStr;
use std::marker::PhantomData;
use std::ptr::{self, NonNull};

use super::sys;

/// The JNI environment of the current thread, for as long as a callback runs.
#[derive(Clone, Copy)]
pub struct Jni<'a> {
    pub(super) env: NonNull<sys::JNIEnv>,
    callback: PhantomData<&'a sys::JNIEnv>,
}

/// Calls a function of the JNI table.
macro_rules! jni {
    ($jni:expr, $function:ident $(, $argument:expr)*) => {{
        let env = $jni.as_raw();
        ((**env).v1_6.$function)(env $(, $argument)*)
    }};
}
pub(super) use jni;

impl<'a> Jni<'a> {
    pub(super) fn as_raw(self) -> *mut sys::JNIEnv {
        self.env.as_ptr()
    }

    /// Wraps what the VM hands to a callback.
    ///
    /// # Safety
    /// `env` must be the current thread's environment, or null, and stay so for `'a`.
    pub unsafe fn from_raw(env: *mut sys::JNIEnv) -> Option<Self> {
        Some(Self {
            env: NonNull::new(env)?,
            callback: PhantomData,
        })
    }

    /// Says how many local references this thread is going to hold, which the VM wants to know beyond 16.
    pub(super) fn announce_locals(self, count: usize) {
        let count = sys::jint::try_from(count).unwrap_or(sys::jint::MAX);
        // SAFETY: a plain number. Where there is no memory for them the VM throws, which is not the program's concern.
        unsafe { jni!(self, EnsureLocalCapacity, count) };
        self.clear_exception();
    }

    /// Whether both references name one object.
    pub fn is_same(self, left: Object<'_>, right: Object<'_>) -> bool {
        // SAFETY: both references are valid: `Object` borrows from what keeps them so.
        unsafe { jni!(self, IsSameObject, left.raw, right.raw) }
    }

    /// Whether the thread is virtual. Only for a VM that has virtual threads: the function tables of others end before.
    pub(super) fn is_virtual(self, thread: Object<'_>) -> bool {
        let env = self.env.as_ptr();
        // SAFETY: the reference is valid, and the caller knows that the table has the function.
        unsafe { ((**env).v19.IsVirtualThread)(env, thread.raw) }
    }

    /// The class of an object.
    pub fn class_of(self, object: Object<'_>) -> Option<Local<'a>> {
        // SAFETY: the object's reference is valid.
        let raw = unsafe { jni!(self, GetObjectClass, object.raw) };
        Local::new(self, raw)
    }

    /// The class above a class; `None` for `java.lang.Object`, interfaces and primitive types.
    pub fn superclass(self, class: Object<'_>) -> Option<Local<'a>> {
        // SAFETY: the reference is valid, and of a class: JNI answers null for what has no superclass.
        Local::new(self, unsafe { jni!(self, GetSuperclass, class.raw) })
    }

    /// Has a class linked, which a class that was only loaded is not, so that the VM tells of its fields. None of its code
    /// runs: it is linked by being asked for its public fields. Answers whether the VM did it.
    pub fn link(self, class: Object<'_>) -> bool {
        let Some(of_class) = self.find_class(c"java/lang/Class") else {
            return false;
        };
        // SAFETY: `class` is a valid reference to a `java.lang.Class`; names are NUL-terminated; the method takes a
        // boolean, which `arguments` holds.
        let fields = unsafe {
            let name = c"getDeclaredFields0".as_ptr();
            let signature = c"(Z)[Ljava/lang/reflect/Field;".as_ptr();
            let method = jni!(self, GetMethodID, of_class.raw, name, signature);
            if self.clear_exception() || method.is_null() {
                return false;
            }
            let arguments = [sys::jvalue { z: true }];
            jni!(
                self,
                CallObjectMethodA,
                class.raw,
                method,
                arguments.as_ptr()
            )
        };
        let failed = self.clear_exception();
        Local::new(self, fields).is_some() && !failed
    }

    /// Creates a `java.lang.Thread` that has not started; `None` when the VM refuses (out of memory).
    pub(super) fn new_thread(self, name: &CStr) -> Option<Local<'a>> {
        let class = self.find_class(c"java/lang/Thread")?;
        // SAFETY: `class` is a live class reference; names and signatures are NUL-terminated; the constructor takes
        // one string, which `arguments` holds.
        let raw = unsafe {
            let constructor = jni!(
                self,
                GetMethodID,
                class.raw,
                c"<init>".as_ptr(),
                c"(Ljava/lang/String;)V".as_ptr()
            );
            if self.clear_exception() || constructor.is_null() {
                return None;
            }
            let text = Local::new(self, jni!(self, NewStringUTF, name.as_ptr()))?;
            let arguments = [sys::jvalue { l: text.raw }];
            jni!(self, NewObjectA, class.raw, constructor, arguments.as_ptr())
        };
        if self.clear_exception() {
            return None;
        }
        Local::new(self, raw)
    }

    /// Calls `System.exit`: the shutdown hooks run, then VMDeath comes, on this thread. Returns only where the program's
    /// security manager forbids it (`false`).
    pub fn exit(self, status: i32) -> bool {
        let Some(class) = self.find_class(c"java/lang/System") else {
            return false;
        };
        // SAFETY: `class` is a live class reference; the name and signature are NUL-terminated; the method takes one
        // number, which `arguments` holds.
        unsafe {
            let exit = jni!(
                self,
                GetStaticMethodID,
                class.raw,
                c"exit".as_ptr(),
                c"(I)V".as_ptr()
            );
            if self.clear_exception() || exit.is_null() {
                return false;
            }
            let arguments = [sys::jvalue { i: status }];
            jni!(
                self,
                CallStaticVoidMethodA,
                class.raw,
                exit,
                arguments.as_ptr()
            );
        }
        !self.clear_exception()
    }

    /// The VM's own object behind a `java.lang.Thread`; `None` for one that does not run, or where the VM keeps it elsewhere.
    pub(super) fn native_thread(self, thread: Object<'_>) -> Option<*const u8> {
        let class = self.find_class(c"java/lang/Thread")?;
        // SAFETY: `class` is a live class reference, and the thread is of that class; a field that is there is a long.
        let address = unsafe {
            let field = jni!(
                self,
                GetFieldID,
                class.raw,
                c"eetop".as_ptr(),
                c"J".as_ptr()
            );
            if self.clear_exception() || field.is_null() {
                return None;
            }
            jni!(self, GetLongField, thread.raw, field)
        };
        let address = std::ptr::with_exposed_provenance::<u8>(address as usize);
        (!address.is_null()).then_some(address)
    }

    /// A class that every class can see; `None` where the VM refuses.
    pub(super) fn find_class(self, name: &CStr) -> Option<Local<'a>> {
        // SAFETY: the name is NUL-terminated.
        let raw = unsafe { jni!(self, FindClass, name.as_ptr()) };
        if self.clear_exception() {
            return None;
        }
        Local::new(self, raw)
    }

    /// Clears an exception that a call left behind, so that the program never sees it.
    pub(super) fn clear_exception(self) -> bool {
        // SAFETY: both functions may be called with an exception pending.
        unsafe {
            let pending = jni!(self, ExceptionCheck);
            if pending {
                jni!(self, ExceptionClear);
            }
            pending
        }
    }
}

/// A reference to an object of the program, borrowed from a callback's argument or from one of the owners below.
#[derive(Clone, Copy)]
pub struct Object<'a> {
    pub(super) raw: sys::jobject,
    owner: PhantomData<&'a ()>,
}

impl Object<'_> {
    /// Wraps a callback's argument; `None` for null.
    ///
    /// # Safety
    /// `raw` must be null or a reference that is valid for the returned lifetime.
    pub(super) unsafe fn from_raw<'a>(raw: sys::jobject) -> Option<Object<'a>> {
        (!raw.is_null()).then_some(Object {
            raw,
            owner: PhantomData,
        })
    }
}

/// A local reference, deleted on drop: an agent thread never returns to Java, so nobody else would free it.
pub struct Local<'a> {
    jni: Jni<'a>,
    pub(super) raw: sys::jobject,
}

impl<'a> Local<'a> {
    /// Takes over a local reference that a call returned; `None` for null.
    pub(super) fn new(jni: Jni<'a>, raw: sys::jobject) -> Option<Self> {
        (!raw.is_null()).then_some(Self { jni, raw })
    }

    /// The object, while this reference lives.
    pub fn object(&self) -> Object<'_> {
        Object {
            raw: self.raw,
            owner: PhantomData,
        }
    }
}

impl Drop for Local<'_> {
    fn drop(&mut self) {
        // SAFETY: the reference is local to this thread (`Jni` is not `Send`) and owned by this value alone.
        unsafe { jni!(self.jni, DeleteLocalRef, self.raw) }
    }
}

/// A reference that keeps its object alive and may be used on every thread; deleted on drop.
pub struct Global {
    pub(super) raw: sys::jobject,
    vm: Vm,
}

// SAFETY: the JNI specification lets global references be used on every thread.
unsafe impl Send for Global {}
// SAFETY: as above; the value itself is never changed.
unsafe impl Sync for Global {}

impl Global {
    /// A global reference to the object; `None` when the VM is out of memory.
    pub fn new(jni: Jni<'_>, object: Object<'_>) -> Option<Self> {
        let vm = Vm::of(jni)?;
        // SAFETY: the object's reference is valid.
        let raw = unsafe { jni!(jni, NewGlobalRef, object.raw) };
        (!raw.is_null()).then_some(Self { raw, vm })
    }

    /// The object, while this reference lives.
    pub fn object(&self) -> Object<'_> {
        Object {
            raw: self.raw,
            owner: PhantomData,
        }
    }
}

impl Drop for Global {
    fn drop(&mut self) {
        // A thread that is not attached, or a VM that is gone: the reference goes with the VM.
        if let Some(jni) = self.vm.current() {
            // SAFETY: the reference is global and owned by this value alone.
            unsafe { jni!(jni, DeleteGlobalRef, self.raw) }
        }
    }
}

/// A reference that does not keep its object alive; may be used on every thread; deleted on drop.
pub struct Weak {
    raw: sys::jweak,
    vm: Vm,
}

// SAFETY: the JNI specification lets weak global references be used on every thread.
unsafe impl Send for Weak {}
// SAFETY: as above; the value itself is never changed.
unsafe impl Sync for Weak {}

impl Weak {
    /// A weak reference to the object; `None` when the VM is out of memory.
    pub fn new(jni: Jni<'_>, object: Object<'_>) -> Option<Self> {
        let vm = Vm::of(jni)?;
        // SAFETY: the object's reference is valid.
        let raw = unsafe { jni!(jni, NewWeakGlobalRef, object.raw) };
        if jni.clear_exception() || raw.is_null() {
            return None;
        }
        Some(Self { raw, vm })
    }

    /// Whether the object has been collected.
    pub fn is_dead(&self, jni: Jni<'_>) -> bool {
        // SAFETY: a weak reference may be compared at any time; it equals null once its object is gone.
        unsafe { jni!(jni, IsSameObject, self.raw, ptr::null_mut()) }
    }

    /// The object, unless it has been collected.
    pub fn get<'a>(&self, jni: Jni<'a>) -> Option<Local<'a>> {
        // SAFETY: a weak reference may be resolved at any time; the answer is null once its object is gone.
        let raw = unsafe { jni!(jni, NewLocalRef, self.raw) };
        Local::new(jni, raw)
    }

    /// Whether this still refers to the object.
    pub fn is(&self, jni: Jni<'_>, object: Object<'_>) -> bool {
        // SAFETY: as above, and the object's reference is valid.
        unsafe { jni!(jni, IsSameObject, self.raw, object.raw) }
    }
}

impl Drop for Weak {
    fn drop(&mut self) {
        if let Some(jni) = self.vm.current() {
            // SAFETY: the reference is a weak global and owned by this value alone.
            unsafe { jni!(jni, DeleteWeakGlobalRef, self.raw) }
        }
    }
}

/// A weak reference of one word, for the millions: it knows no VM, so it is not deleted on drop but by
/// [`ObjectRef::delete`]. One that is dropped is lost to the VM until it ends.
pub struct ObjectRef(NonNull<sys::_jobject>);

// SAFETY: as for `Weak`.
unsafe impl Send for ObjectRef {}

impl ObjectRef {
    /// A weak reference to the object; `None` when the VM is out of memory.
    pub fn new(jni: Jni<'_>, object: Object<'_>) -> Option<Self> {
        // SAFETY: the object's reference is valid.
        let raw = unsafe { jni!(jni, NewWeakGlobalRef, object.raw) };
        match NonNull::new(raw) {
            Some(raw) => Some(Self(raw)),
            None => {
                // The VM throws OutOfMemoryError, which is not the program's.
                jni.clear_exception();
                None
            }
        }
    }

    /// Whether the object has been collected.
    pub fn is_dead(&self, jni: Jni<'_>) -> bool {
        // SAFETY: a weak reference may be compared at any time; it equals null once its object is gone.
        unsafe { jni!(jni, IsSameObject, self.0.as_ptr(), ptr::null_mut()) }
    }

    /// The object, while this reference lives; what is asked of one that has been collected is asked of null.
    pub fn object(&self) -> Object<'_> {
        Object {
            raw: self.0.as_ptr(),
            owner: PhantomData,
        }
    }

    /// Gives the reference back.
    pub fn delete(self, jni: Jni<'_>) {
        // SAFETY: the reference is a weak global and owned by this value, which ends here.
        unsafe { jni!(jni, DeleteWeakGlobalRef, self.0.as_ptr()) }
    }
}

/// The virtual machine.
#[derive(Clone, Copy)]
pub struct Vm(NonNull<sys::JavaVM>);

// SAFETY: the invocation interface may be called on every thread, and lives as long as the process.
unsafe impl Send for Vm {}
// SAFETY: as above.
unsafe impl Sync for Vm {}

impl Vm {
    /// Wraps what the VM hands to `Agent_OnLoad`.
    ///
    /// # Safety
    /// `vm` must be null or the process's VM.
    pub unsafe fn from_raw(vm: *mut sys::JavaVM) -> Option<Self> {
        NonNull::new(vm).map(Self)
    }

    pub(super) fn of(jni: Jni<'_>) -> Option<Self> {
        let mut vm = ptr::null_mut();
        // SAFETY: `vm` is where the answer goes.
        let status = unsafe { jni!(jni, GetJavaVM, &mut vm) };
        NonNull::new(vm).filter(|_| status == sys::JNI_OK).map(Self)
    }

    /// The current thread's environment, if it is attached.
    pub fn current<'a>(self) -> Option<Jni<'a>> {
        let env = self.interface(sys::JNI_VERSION_1_6)?;
        // SAFETY: GetEnv answers the current thread's environment; `Jni` does not leave the thread.
        unsafe { Jni::from_raw(env.as_ptr().cast()) }
    }

    /// The address of one of the VM's functions, by which its library can be found.
    pub(super) fn function_address(self) -> *const std::ffi::c_void {
        // SAFETY: the VM's function table is complete.
        let function = unsafe { (**self.0.as_ptr()).v1_4.GetEnv };
        function as *const std::ffi::c_void
    }

    /// An interface of the VM, by its version number.
    pub(super) fn interface(self, version: sys::jint) -> Option<NonNull<std::ffi::c_void>> {
        let mut interface = ptr::null_mut();
        // SAFETY: the VM's function table is complete, and `interface` is where the answer goes.
        let status =
            unsafe { ((**self.0.as_ptr()).v1_4.GetEnv)(self.0.as_ptr(), &mut interface, version) };
        NonNull::new(interface).filter(|_| status == sys::JNI_OK)
    }
}
