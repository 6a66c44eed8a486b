//! What the VM tells, and who is told.

use std::marker::PhantomData;
use std::sync::OnceLock;

use super::jni::{Callback, Jni, Object};
use super::sys;

/// The VM's events: the only way from the VM up into the agent. No panic may leave a function of it, for its caller is
/// the VM; an event may come when nobody waits for it any more.
pub trait Events: Sync {
    /// The VM is up; `main` has not run yet.
    fn vm_init(&self, jni: Jni<'_>, thread: Object<'_>);

    /// The program has ended, in whatever way.
    fn vm_death(&self, jni: Jni<'_>);

    /// A platform thread begins; called on that thread.
    fn thread_start(&self, jni: Jni<'_>, thread: Object<'_>);

    /// A platform thread is about to end, or a virtual one where [`super::Event::VirtualThreadEnd`] is on; called on that thread.
    fn thread_end(&self, jni: Jni<'_>, thread: Object<'_>);

    /// The current thread has made an object.
    fn object_allocated(&self, jni: Jni<'_>, allocation: Allocation<'_>);

    /// The current thread, platform or virtual, wants a monitor that another thread has.
    fn monitor_enter(&self, jni: Jni<'_>, thread: Object<'_>, monitor: Object<'_>);

    /// It has got it. A virtual thread may be on another carrier by now.
    fn monitor_entered(&self, jni: Jni<'_>, thread: Object<'_>);

    /// The current thread, platform or virtual, has called `Object.wait`; `timeout` is in milliseconds, 0 for ever.
    fn monitor_wait(&self, jni: Jni<'_>, thread: Object<'_>, monitor: Object<'_>, timeout: u64);

    /// It waits no more, for whatever reason; it may have to wait for the monitor still.
    fn monitor_waited(&self, jni: Jni<'_>, thread: Object<'_>, monitor: Object<'_>);

    /// A garbage collection is over, and the VM is still paused: nothing of it may be called, and nothing waited for.
    fn gc_finished(&self, pause: GcPause<'_>);

    /// A class is about to be defined; answers what is to be defined in its place. Called on the thread that loads it.
    fn class_file(&self, jni: Jni<'_>, class: ClassFile<'_>) -> Option<Vec<u8>>;

    /// The current thread has begun to carry a virtual thread.
    fn virtual_thread_mounted(&self, jni: Jni<'_>, thread: Object<'_>);

    /// The current thread is about to carry the virtual thread no longer.
    fn virtual_thread_unmounted(&self, jni: Jni<'_>, thread: Object<'_>);

    /// The user asked for a dump (SIGQUIT).
    fn data_dump_request(&self);
}

/// Who receives the events, once somebody does.
static RECEIVER: OnceLock<&'static dyn Events> = OnceLock::new();

/// The pause of a garbage collection: no thread of the program runs while it lasts. Only the VM's event makes one.
#[derive(Clone, Copy)]
pub struct GcPause<'a>(PhantomData<&'a Callback>);

impl<'a> GcPause<'a> {
    /// Only for the event of the VM, and for as long as it lasts.
    pub(super) fn new(_event: &'a Callback) -> Self {
        Self(PhantomData)
    }
}

/// An object that has just been made.
#[derive(Clone, Copy)]
pub struct Allocation<'a> {
    /// The thread that made it, platform or virtual; a thread that is being made a thread of the VM has none yet.
    pub thread: Option<Object<'a>>,
    /// The object.
    pub object: Object<'a>,
    /// Its class.
    pub class: Object<'a>,
    /// Its size in the heap, in bytes.
    pub size: u64,
}

/// A class that the VM is about to define, or to define anew.
#[derive(Clone, Copy)]
pub struct ClassFile<'a> {
    /// Its name as its file writes it, `java/lang/String`, in modified UTF-8; not all classes have one.
    pub name: Option<&'a [u8]>,
    /// Its loader, `None` for the boot loader.
    pub loader: Option<Object<'a>>,
    /// Its bytes, which other agents may have changed.
    pub bytes: &'a [u8],
}

/// From here on `receiver` gets the events; the first one is the one for good.
pub(super) fn receive(receiver: &'static dyn Events) {
    RECEIVER.get_or_init(|| receiver);
}

/// The receiver of the events.
pub(super) fn receiver() -> Option<&'static dyn Events> {
    RECEIVER.get().copied()
}

/// Unpacks the two arguments most events have, and runs the event.
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

/// Unpacks the environment and an object that a callback has got; null for either is no event of ours.
///
/// # Safety
/// `jni` and `object` must be what the VM passed to a callback on this thread.
pub(super) unsafe fn with_object(
    jni: *mut sys::JNIEnv,
    object: sys::jobject,
    body: impl FnOnce(Jni<'_>, Object<'_>),
) {
    let callback = Callback;
    // SAFETY: the caller passes the VM's arguments, valid until its callback returns, which is after this function does.
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
