//! The VM's events and their receiver.

use std::ffi::CStr;
use std::marker::PhantomData;
use std::sync::OnceLock;

use super::jni::{Callback, Jni, Object};
use super::sys;

/// The VM's events: the only way from the VM up into the agent. No panic may leave one of these functions, because the
/// VM is the caller. An event may still come when no session runs any more.
pub trait Events: Sync {
    /// Called when the VM is up; `main` has not run yet.
    fn vm_init(&self, jni: Jni<'_>, thread: Object<'_>);

    /// Called when the program has ended, for whatever reason.
    fn vm_death(&self, jni: Jni<'_>);

    /// Called on a platform thread that begins.
    fn thread_start(&self, jni: Jni<'_>, thread: Object<'_>);

    /// Called on a platform thread that is about to end; on a virtual one, if [`super::Event::VirtualThreadEnd`] is
    /// enabled.
    fn thread_end(&self, jni: Jni<'_>, thread: Object<'_>);

    /// Called when the current thread has allocated an object.
    fn object_allocated(&self, jni: Jni<'_>, allocation: Allocation<'_>);

    /// Called when the current thread, platform or virtual, wants a monitor that another thread owns.
    fn monitor_enter(&self, jni: Jni<'_>, thread: Object<'_>, monitor: Object<'_>);

    /// Called when it has acquired the monitor. A virtual thread may be on another carrier by now.
    fn monitor_entered(&self, jni: Jni<'_>, thread: Object<'_>);

    /// Called when the current thread, platform or virtual, has called `Object.wait`; `timeout` is in milliseconds, 0
    /// for no limit.
    fn monitor_wait(&self, jni: Jni<'_>, thread: Object<'_>, monitor: Object<'_>, timeout: u64);

    /// Called when that wait is over, for whatever reason; the thread may still have to wait for the monitor.
    fn monitor_waited(&self, jni: Jni<'_>, thread: Object<'_>, monitor: Object<'_>);

    /// Called when a garbage collection is over, while the VM is still paused: the VM must not be called, and nothing
    /// may be waited for.
    fn gc_finished(&self, pause: GcPause<'_>);

    /// Called on the thread that loads a class, before the class is defined; returns the class file to define in its
    /// place.
    fn class_file(&self, jni: Jni<'_>, class: ClassFile<'_>) -> Option<Vec<u8>>;

    /// Called when the current thread has begun to carry a virtual thread.
    fn virtual_thread_mounted(&self, jni: Jni<'_>, thread: Object<'_>);

    /// Called when the current thread is about to stop carrying the virtual thread.
    fn virtual_thread_unmounted(&self, jni: Jni<'_>, thread: Object<'_>);

    /// Called when the current thread, platform or virtual, could not get something, before the VM throws an
    /// OutOfMemoryError there. `description` is the VM's word for it, which becomes the error's message.
    fn resource_exhausted(&self, jni: Jni<'_>, resource: Resource, description: &CStr);

    /// Called when the user requests a dump (SIGQUIT).
    fn data_dump_request(&self);
}

/// The receiver of the events, once there is one.
static RECEIVER: OnceLock<&'static dyn Events> = OnceLock::new();

/// The pause of a garbage collection, during which no thread of the program runs. Created only for the VM's event.
#[derive(Clone, Copy)]
pub struct GcPause<'a>(PhantomData<&'a Callback>);

impl<'a> GcPause<'a> {
    /// Creates the pause during the VM's event, for the duration of that event.
    pub(super) fn new(_event: &'a Callback) -> Self {
        Self(PhantomData)
    }
}

/// An object that has just been allocated.
#[derive(Clone, Copy)]
pub struct Allocation<'a> {
    /// The thread that allocated it, platform or virtual; `None` while a native thread is being attached to the VM.
    pub thread: Option<Object<'a>>,
    /// The object; `None` for one without identity.
    pub object: Option<Object<'a>>,
    /// Its class.
    pub class: Object<'a>,
    /// Its size in the heap, in bytes.
    pub size: u64,
}

/// The resource that the VM has run out of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// Room in the Java heap.
    JavaHeap,
    /// Threads.
    Threads,
    /// Something else: metaspace, or the length of arrays.
    Other,
}

/// A class that the VM is about to define or redefine.
#[derive(Clone, Copy)]
pub struct ClassFile<'a> {
    /// Its name as in class files, `java/lang/String`, in modified UTF-8; not all classes have one.
    pub name: Option<&'a [u8]>,
    /// Its loader, `None` for the boot loader.
    pub loader: Option<Object<'a>>,
    /// Its class file, which other agents may have changed.
    pub bytes: &'a [u8],
}

/// Sends the events to `receiver` from here on; only the first call has an effect.
pub(super) fn receive(receiver: &'static dyn Events) {
    RECEIVER.get_or_init(|| receiver);
}

/// Returns the receiver of the events.
pub(super) fn receiver() -> Option<&'static dyn Events> {
    RECEIVER.get().copied()
}

/// Unpacks the two arguments that most events have, and runs the event.
///
/// # Safety
/// As for [`with_object`].
pub(super) unsafe fn with_thread(
    jni: *mut sys::JNIEnv,
    thread: sys::jthread,
    body: impl FnOnce(&dyn Events, Jni<'_>, Object<'_>),
) {
    let Some(events) = receiver() else { return };
    // SAFETY: the caller's promise.
    unsafe { with_object(jni, thread, |jni, thread| body(events, jni, thread)) }
}

/// Unpacks the environment and an object that a callback received; does nothing if either is null.
///
/// # Safety
/// `jni` and `object` must be what the VM passed to a callback on this thread.
pub(super) unsafe fn with_object(
    jni: *mut sys::JNIEnv,
    object: sys::jobject,
    body: impl FnOnce(Jni<'_>, Object<'_>),
) {
    let callback = Callback;
    // SAFETY: the caller passes the VM's arguments, valid until its callback returns, which is after this function
    // does.
    let arguments = unsafe {
        (
            Jni::from_raw(jni, &callback),
            Object::from_raw(object, &callback),
        )
    };
    if let (Some(jni), Some(object)) = arguments {
        body(jni, object);
    }
}
