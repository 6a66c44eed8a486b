//! The JNI calls of hot paths and of VMDeath, and references to the program's objects that free themselves. They use
//! the function table directly, because wrappers that attach threads or allocate are not acceptable there. Calls of
//! Java code are in `java_calls`.

use std::marker::PhantomData;
use std::ptr::{self, NonNull};

use super::gate::caught;
use super::sys;
use super::vm_call::before_call;

/// The JNI environment of the current thread, for the duration of a callback.
#[derive(Clone, Copy)]
pub struct Jni<'a> {
    pub(super) env: NonNull<sys::JNIEnv>,
    callback: PhantomData<&'a sys::JNIEnv>,
}

/// A call from the VM, or another period of time in which the current thread is attached and its arguments are valid.
/// It lives on the stack of the called function, so that anything borrowing from it cannot outlive the call.
///
/// A function that the VM calls needs one to use its arguments, and gets it only where panics are caught.
pub(super) struct Callback(());

impl Callback {
    /// Runs the body of a function that the VM calls. No panic leaves it, nor the unwinding of a thread without memory: then
    /// the answer is `None`.
    pub(super) fn run<T>(body: impl FnOnce(&Callback) -> T) -> Option<T> {
        caught(|| body(&Callback(()))).ok()
    }
}

/// Calls a function of the JNI table.
macro_rules! jni {
    ($jni:expr, $function:ident $(, $argument:expr)*) => {{
        $crate::vm_call::before_call(stringify!($function));
        let env = $jni.as_raw();
        ((**env).v1_6.$function)(env $(, $argument)*)
    }};
}
pub(super) use jni;

impl<'a> Jni<'a> {
    pub(super) fn as_raw(self) -> *mut sys::JNIEnv {
        self.env.as_ptr()
    }

    /// Wraps the environment that the VM passes to a callback, for as long as `_callback` is borrowed.
    ///
    /// # Safety
    /// `env` must be the current thread's environment, or null, and stay so while `_callback` lives.
    pub(super) unsafe fn from_raw(env: *mut sys::JNIEnv, _callback: &'a Callback) -> Option<Self> {
        Some(Self {
            env: NonNull::new(env)?,
            callback: PhantomData,
        })
    }

    /// Announces the number of local references that this thread is going to hold, which the VM requires beyond 16.
    pub fn announce_locals(self, count: usize) {
        let count = sys::jint::try_from(count).unwrap_or(sys::jint::MAX);
        // SAFETY: a plain number. If there is no memory for them the VM throws; the exception is cleared, because it is
        // not the program's.
        unsafe { jni!(self, EnsureLocalCapacity, count) };
        self.clear_exception();
    }

    /// Returns `true` if both references refer to the same object.
    pub fn is_same(self, left: Object<'_>, right: Object<'_>) -> bool {
        // SAFETY: both references are valid: `Object` borrows from what keeps them so.
        unsafe { jni!(self, IsSameObject, left.raw, right.raw) }
    }

    /// Returns `true` if the thread is virtual.
    pub(super) fn is_virtual(self, thread: Object<'_>) -> bool {
        before_call("IsVirtualThread");
        let env = self.as_raw();
        // SAFETY: every table has GetVersion; IsVirtualThread lies beyond the end of those before JNI 19, which is
        // asked first. The reference is valid.
        unsafe {
            jni!(self, GetVersion) >= sys::JNI_VERSION_19
                && ((**env).v19.IsVirtualThread)(env, thread.raw)
        }
    }

    /// Returns the class of an object.
    pub fn class_of(self, object: Object<'_>) -> Option<LocalRef<'a>> {
        // SAFETY: the object's reference is valid.
        let raw = unsafe { jni!(self, GetObjectClass, object.raw) };
        LocalRef::new(self, raw)
    }

    /// Returns the superclass; `None` for `java.lang.Object`, interfaces and primitive types.
    pub fn superclass(self, class: Object<'_>) -> Option<LocalRef<'a>> {
        // SAFETY: the reference is valid, and of a class: JNI answers null for what has no superclass.
        LocalRef::new(self, unsafe { jni!(self, GetSuperclass, class.raw) })
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

/// A reference to an object of the program, borrowed from a callback's argument or from one of the owning references
/// below.
#[derive(Clone, Copy)]
pub struct Object<'a> {
    pub(super) raw: sys::jobject,
    owner: PhantomData<&'a ()>,
}

impl<'a> Object<'a> {
    /// Wraps an argument of a callback; `None` for null.
    ///
    /// # Safety
    /// `raw` must be null or a reference that is valid while `_callback` lives.
    pub(super) unsafe fn from_raw(raw: sys::jobject, _callback: &'a Callback) -> Option<Self> {
        (!raw.is_null()).then_some(Object {
            raw,
            owner: PhantomData,
        })
    }
}

/// An object that may have been collected: the VM takes it for null then. It saves a local reference for each of millions of
/// objects where that does not matter.
#[derive(Clone, Copy)]
pub struct WeakObject<'a> {
    pub(super) raw: sys::jweak,
    owner: PhantomData<&'a ()>,
}

/// A local reference, deleted on drop: a thread of the agent never returns to Java, which would free it otherwise.
pub struct LocalRef<'a> {
    jni: Jni<'a>,
    pub(super) raw: sys::jobject,
}

impl<'a> LocalRef<'a> {
    /// Takes ownership of a local reference that a call returned; `None` for null.
    pub(super) fn new(jni: Jni<'a>, raw: sys::jobject) -> Option<Self> {
        (!raw.is_null()).then_some(Self { jni, raw })
    }

    /// Returns the object, for the lifetime of this reference.
    pub fn object(&self) -> Object<'_> {
        Object {
            raw: self.raw,
            owner: PhantomData,
        }
    }
}

impl Drop for LocalRef<'_> {
    fn drop(&mut self) {
        // SAFETY: the reference is local to this thread (`Jni` is not `Send`) and owned by this value alone.
        unsafe { jni!(self.jni, DeleteLocalRef, self.raw) }
    }
}

/// A reference that keeps its object alive and may be used on every thread; deleted on drop.
pub struct GlobalRef {
    pub(super) raw: sys::jobject,
    vm: Vm,
}

// SAFETY: the JNI specification lets global references be used on every thread.
unsafe impl Send for GlobalRef {}
// SAFETY: as above; the value itself is never changed.
unsafe impl Sync for GlobalRef {}

impl GlobalRef {
    /// Creates a global reference to the object; `None` if the VM is out of memory.
    pub fn new(jni: Jni<'_>, object: Object<'_>) -> Option<Self> {
        let vm = Vm::of(jni)?;
        // SAFETY: the object's reference is valid.
        let raw = unsafe { jni!(jni, NewGlobalRef, object.raw) };
        (!raw.is_null()).then_some(Self { raw, vm })
    }

    /// Returns the object, for the lifetime of this reference.
    pub fn object(&self) -> Object<'_> {
        Object {
            raw: self.raw,
            owner: PhantomData,
        }
    }
}

impl Drop for GlobalRef {
    fn drop(&mut self) {
        // If the thread is not attached, or the VM is gone, the reference goes with the VM.
        self.vm.with_current(|jni| {
            // SAFETY: the reference is global and owned by this value alone.
            unsafe { jni!(jni, DeleteGlobalRef, self.raw) }
        });
    }
}

/// A reference that does not keep its object alive; may be used on every thread; deleted on drop.
pub struct WeakRef {
    raw: sys::jweak,
    vm: Vm,
}

// SAFETY: the JNI specification lets weak global references be used on every thread.
unsafe impl Send for WeakRef {}
// SAFETY: as above; the value itself is never changed.
unsafe impl Sync for WeakRef {}

impl WeakRef {
    /// Creates a weak reference to the object; `None` if the VM is out of memory.
    pub fn new(jni: Jni<'_>, object: Object<'_>) -> Option<Self> {
        let vm = Vm::of(jni)?;
        // SAFETY: the object's reference is valid.
        let raw = unsafe { jni!(jni, NewWeakGlobalRef, object.raw) };
        if jni.clear_exception() || raw.is_null() {
            return None;
        }
        Some(Self { raw, vm })
    }

    /// Returns `true` if the object has been collected.
    pub fn is_dead(&self, jni: Jni<'_>) -> bool {
        // SAFETY: a weak reference may be compared at any time; it equals null once its object is gone.
        unsafe { jni!(jni, IsSameObject, self.raw, ptr::null_mut()) }
    }

    /// Returns the object, unless it has been collected.
    pub fn upgrade<'a>(&self, jni: Jni<'a>) -> Option<LocalRef<'a>> {
        // SAFETY: a weak reference may be resolved at any time; the answer is null once its object is gone.
        let raw = unsafe { jni!(jni, NewLocalRef, self.raw) };
        LocalRef::new(jni, raw)
    }

    /// Returns the VM's address of the reference.
    pub(super) fn address(&self) -> usize {
        self.raw.expose_provenance()
    }

    /// Returns `true` if this still refers to the object.
    pub fn is(&self, jni: Jni<'_>, object: Object<'_>) -> bool {
        // SAFETY: as above, and the object's reference is valid.
        unsafe { jni!(jni, IsSameObject, self.raw, object.raw) }
    }
}

impl Drop for WeakRef {
    fn drop(&mut self) {
        self.vm.with_current(|jni| {
            // SAFETY: the reference is a weak global and owned by this value alone.
            unsafe { jni!(jni, DeleteWeakGlobalRef, self.raw) }
        });
    }
}

/// A weak reference of one word, for millions of objects: it does not know the VM, so it is not deleted on drop but by
/// [`ObjectRef::delete`]. If it is dropped, the VM keeps it until it ends.
pub struct ObjectRef(NonNull<sys::_jobject>);

// SAFETY: as for `WeakRef`.
unsafe impl Send for ObjectRef {}

impl ObjectRef {
    /// Creates a weak reference to the object; `None` if the VM is out of memory.
    pub fn new(jni: Jni<'_>, object: Object<'_>) -> Option<Self> {
        // SAFETY: the object's reference is valid.
        let raw = unsafe { jni!(jni, NewWeakGlobalRef, object.raw) };
        match NonNull::new(raw) {
            Some(raw) => Some(Self(raw)),
            None => {
                // The VM throws OutOfMemoryError, which the program must not see.
                jni.clear_exception();
                None
            }
        }
    }

    /// Returns `true` if the object has been collected.
    pub fn is_dead(&self, jni: Jni<'_>) -> bool {
        // SAFETY: a weak reference may be compared at any time; it equals null once its object is gone.
        unsafe { jni!(jni, IsSameObject, self.0.as_ptr(), ptr::null_mut()) }
    }

    /// Returns the object, unless it has been collected.
    pub fn upgrade<'a>(&self, jni: Jni<'a>) -> Option<LocalRef<'a>> {
        // SAFETY: a weak reference may be resolved at any time; the answer is null once its object is gone.
        let raw = unsafe { jni!(jni, NewLocalRef, self.0.as_ptr()) };
        LocalRef::new(jni, raw)
    }

    /// Returns the VM's address of the reference.
    pub(super) fn address(&self) -> usize {
        self.0.as_ptr().expose_provenance()
    }

    /// Makes a reference of its address; `None` for 0.
    ///
    /// # Safety
    /// The address is that of a weak reference that has not been deleted. If another [`ObjectRef`] has the same address, only one of
    /// them may be deleted, and the other must not be used after that.
    #[inline]
    pub(super) unsafe fn at(address: usize) -> Option<Self> {
        NonNull::new(ptr::with_exposed_provenance_mut(address)).map(Self)
    }

    /// Returns a number that no other reference has until this one is deleted.
    pub fn identity(&self) -> u64 {
        self.address() as u64
    }

    /// Returns the object, which may have been collected, for the calls that can take one.
    pub fn weak_object(&self) -> WeakObject<'_> {
        WeakObject {
            raw: self.0.as_ptr(),
            owner: PhantomData,
        }
    }

    /// Deletes the reference.
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
    /// Wraps the VM that `Agent_OnLoad` receives.
    ///
    /// # Safety
    /// `vm` must be null or the process's VM.
    pub(super) unsafe fn from_raw(vm: *mut sys::JavaVM) -> Option<Self> {
        NonNull::new(vm).map(Self)
    }

    pub(super) fn of(jni: Jni<'_>) -> Option<Self> {
        let mut vm = ptr::null_mut();
        // SAFETY: `vm` receives the answer.
        let status = unsafe { jni!(jni, GetJavaVM, &mut vm) };
        NonNull::new(vm).filter(|_| status == sys::JNI_OK).map(Self)
    }

    /// Runs `body` with the current thread's environment; `None` if the thread is not attached.
    pub fn with_current<T>(self, body: impl FnOnce(Jni<'_>) -> T) -> Option<T> {
        let env = self.interface(sys::JNI_VERSION_1_6).ok()?;
        let callback = Callback(());
        // SAFETY: GetEnv answers the current thread's environment; nothing detaches the thread before `body` returns.
        let jni = unsafe { Jni::from_raw(env.as_ptr().cast(), &callback) }?;
        Some(body(jni))
    }

    /// Returns the address of one of the VM's functions, by which its library can be found.
    pub(crate) fn function_address(self) -> *const std::ffi::c_void {
        // SAFETY: the VM's function table is complete.
        let function = unsafe { (**self.0.as_ptr()).v1_4.GetEnv };
        function as *const std::ffi::c_void
    }

    /// Returns an interface of the VM, by its version number; or the VM's reason for having none.
    pub(super) fn interface(
        self,
        version: sys::jint,
    ) -> Result<NonNull<std::ffi::c_void>, sys::jint> {
        let mut interface = ptr::null_mut();
        // SAFETY: the VM's function table is complete, and `interface` receives the answer.
        let status =
            unsafe { ((**self.0.as_ptr()).v1_4.GetEnv)(self.0.as_ptr(), &mut interface, version) };
        match NonNull::new(interface) {
            Some(interface) if status == sys::JNI_OK => Ok(interface),
            _ => Err(status),
        }
    }
}
