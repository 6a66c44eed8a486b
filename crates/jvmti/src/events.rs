//! The VM's events and their receiver.

use std::ffi::CStr;
use std::marker::PhantomData;
use std::sync::OnceLock;

use super::current_thread::CurrentThread;
use super::jni::{Callback, Jni, Object};
use super::sys;

/// The VM's events: the only way from the VM up into the agent. An event may still come when no session runs any more.
pub trait Events: Sync {
    /// Called when the VM is up; `main` has not run yet.
    fn vm_init(&self, jni: Jni<'_>, thread: Object<'_>);

    /// Called when the program has ended, for whatever reason.
    fn vm_death(&self, jni: Jni<'_>);

    /// Called when the current thread has allocated an object.
    fn object_allocated(&self, jni: Jni<'_>, allocation: Allocation<'_>);

    /// Calls `event` with the session that runs, if its gate lets events in. All other events come this way.
    fn pass(&self, event: &mut dyn FnMut(&dyn SessionEvents));
}

/// The events that reach the running session through its gate.
pub trait SessionEvents {
    /// Called on a platform thread that begins.
    fn thread_start(&self, jni: Jni<'_>, thread: CurrentThread<'_>);

    /// Called on a platform thread that is about to end; on a virtual one, if [`super::Event::VirtualThreadEnd`] is
    /// enabled.
    fn thread_end(&self, jni: Jni<'_>, thread: CurrentThread<'_>);

    /// Called when the current thread, platform or virtual, wants a monitor that another thread owns.
    fn monitor_enter(&self, jni: Jni<'_>, thread: CurrentThread<'_>, monitor: Object<'_>);

    /// Called when it has acquired the monitor. A virtual thread may be on another carrier by now.
    fn monitor_entered(&self, jni: Jni<'_>, thread: CurrentThread<'_>);

    /// Called when the current thread, platform or virtual, has called `Object.wait`; `timeout` is in milliseconds, 0
    /// for no limit.
    fn monitor_wait(
        &self,
        jni: Jni<'_>,
        thread: CurrentThread<'_>,
        monitor: Object<'_>,
        timeout: u64,
    );

    /// Called when that wait is over, for whatever reason; the thread may still have to wait for the monitor.
    fn monitor_waited(&self, jni: Jni<'_>, thread: CurrentThread<'_>, monitor: Object<'_>);

    /// Called when a garbage collection is over, while the VM is still paused: the VM must not be called, and nothing
    /// may be waited for.
    fn gc_finished(&self, pause: GcPause<'_>);

    /// Called on the thread that loads a class, before the class is defined; returns the class file to define in its
    /// place.
    fn class_file(&self, jni: Jni<'_>, class: ClassFile<'_>) -> Option<Vec<u8>>;

    /// Called when a class has been prepared: none of its methods has run yet.
    fn class_prepared(&self, jni: Jni<'_>, class: Object<'_>);

    /// Called when the current thread has begun to carry a virtual thread.
    fn virtual_thread_mounted(&self, jni: Jni<'_>, thread: CurrentThread<'_>);

    /// Called when the current thread is about to stop carrying the virtual thread.
    fn virtual_thread_unmounted(&self, jni: Jni<'_>, thread: CurrentThread<'_>);

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

/// Passes an event on, if there is a session whose gate lets it in. This is the only way to the session, and no panic leaves
/// it.
pub(super) fn pass(event: impl FnOnce(&dyn SessionEvents, &Callback)) {
    let Some(events) = receiver() else { return };
    let mut event = Some(event);
    Callback::run(|callback| {
        events.pass(&mut |session| {
            if let Some(event) = event.take() {
                event(session, callback);
            }
        });
    });
}

/// Unpacks the two arguments that most events have, and passes the event on.
///
/// # Safety
/// `jni` and `object` must be what the VM passed to a callback on this thread.
pub(super) unsafe fn pass_with(
    jni: *mut sys::JNIEnv,
    object: sys::jobject,
    event: impl FnOnce(&dyn SessionEvents, Jni<'_>, Object<'_>),
) {
    pass(|session, callback| {
        // SAFETY: the caller's promise.
        if let Some((jni, object)) = unsafe { unpack(jni, object, callback) } {
            event(session, jni, object);
        }
    });
}

/// Unpacks the environment and an object that a callback received; `None` if either is null.
///
/// # Safety
/// `jni` and `object` must be what the VM passed to the callback on this thread.
pub(super) unsafe fn unpack<'a>(
    jni: *mut sys::JNIEnv,
    object: sys::jobject,
    callback: &'a Callback,
) -> Option<(Jni<'a>, Object<'a>)> {
    // SAFETY: the caller passes the VM's arguments, valid until its callback returns, which is after `callback` is gone.
    unsafe {
        Some((
            Jni::from_raw(jni, callback)?,
            Object::from_raw(object, callback)?,
        ))
    }
}

/// Passes an event on that the VM posts on the thread that it is about.
///
/// # Safety
/// `jni` and `thread` must be what the VM passed to a callback on this thread, and `thread` this thread or the virtual
/// thread that it carries.
pub(super) unsafe fn pass_on_thread(
    jni: *mut sys::JNIEnv,
    thread: sys::jthread,
    event: impl FnOnce(&dyn SessionEvents, Jni<'_>, CurrentThread<'_>),
) {
    pass(|session, callback| {
        // SAFETY: the caller's promise.
        if let Some((jni, thread)) = unsafe { unpack_on_thread(jni, thread, callback) } {
            event(session, jni, thread);
        }
    });
}

/// Unpacks the environment and the thread that a callback received; `None` if either is null.
///
/// # Safety
/// As for [`pass_on_thread`].
pub(super) unsafe fn unpack_on_thread<'a>(
    jni: *mut sys::JNIEnv,
    thread: sys::jthread,
    callback: &'a Callback,
) -> Option<(Jni<'a>, CurrentThread<'a>)> {
    // SAFETY: the caller passes the VM's arguments.
    let (jni, thread) = unsafe { unpack(jni, thread, callback)? };
    // SAFETY: the caller's promise.
    Some((jni, unsafe { CurrentThread::of_event(thread) }))
}
