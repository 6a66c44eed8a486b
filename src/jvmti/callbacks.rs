//! Where the VM calls us. Every function here unpacks the VM's arguments and hands them over to the one [`Events`].

use std::marker::PhantomData;
use std::sync::OnceLock;

use super::classes::{ClassFile, on_class_file_load_hook};
use super::env::{Env, jvmti};
use super::error::JvmtiError;
use super::jni::{Jni, Object};
use super::monitor_callbacks;
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

    /// A platform thread is about to end, or a virtual one where [`Event::VirtualThreadEnd`] is on; called on that thread.
    fn thread_end(&self, jni: Jni<'_>, thread: Object<'_>);

    /// The current thread has made an object.
    fn allocated(&self, jni: Jni<'_>, allocation: Allocation<'_>);

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
pub struct GcPause<'a>(PhantomData<&'a ()>);

/// The events that can be switched on beside those of the VM's life, which always come.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// [`Events::thread_start`].
    ThreadStart,
    /// [`Events::thread_end`].
    ThreadEnd,
    /// [`Events::allocated`]; needs [`super::Capability::AllocationEvents`].
    Allocation,
    /// [`Events::gc_finished`]; needs [`super::Capability::GarbageCollectionEvents`].
    GarbageCollection,
    /// [`Events::thread_end`] of virtual threads; only for a VM that has them.
    VirtualThreadEnd,
    /// [`Events::monitor_enter`]; needs [`super::Capability::MonitorEvents`], as those below do.
    MonitorEnter,
    /// [`Events::monitor_entered`].
    MonitorEntered,
    /// [`Events::monitor_wait`].
    MonitorWait,
    /// [`Events::monitor_waited`].
    MonitorWaited,
    /// [`Events::class_file`].
    ClassFile,
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

/// Tells the VM where to call, and switches on the events of its life. Every session has the same receiver.
pub(super) fn register(env: Env, receiver: &'static dyn Events) -> Result<(), JvmtiError> {
    RECEIVER.get_or_init(|| receiver);
    let callbacks = sys::jvmtiEventCallbacks {
        VMInit: Some(on_vm_init),
        VMDeath: Some(on_vm_death),
        ThreadStart: Some(on_thread_start),
        ThreadEnd: Some(on_thread_end),
        SampledObjectAlloc: Some(on_sampled_object_alloc),
        GarbageCollectionFinish: Some(on_garbage_collection_finish),
        VirtualThreadEnd: Some(monitor_callbacks::on_virtual_thread_end),
        MonitorContendedEnter: Some(monitor_callbacks::on_monitor_contended_enter),
        MonitorContendedEntered: Some(monitor_callbacks::on_monitor_contended_entered),
        MonitorWait: Some(monitor_callbacks::on_monitor_wait),
        MonitorWaited: Some(monitor_callbacks::on_monitor_waited),
        DataDumpRequest: Some(on_data_dump_request),
        ClassFileLoadHook: Some(on_class_file_load_hook),
        ..Default::default()
    };
    // SAFETY: the VM copies the structure; its functions live as long as the library.
    unsafe {
        jvmti!(
            env,
            SetEventCallbacks,
            &callbacks,
            size_of_val(&callbacks) as sys::jint
        )?
    };
    for event in [
        sys::JVMTI_EVENT_VM_INIT,
        sys::JVMTI_EVENT_VM_DEATH,
        sys::JVMTI_EVENT_DATA_DUMP_REQUEST,
    ] {
        switch(env, event, sys::JVMTI_ENABLE)?;
    }
    Ok(())
}

/// Tells the VM to call no more. A call that is on its way arrives all the same.
pub(super) fn silence(env: Env) {
    for event in sys::JVMTI_MIN_EVENT_TYPE_VAL..=sys::JVMTI_MAX_EVENT_TYPE_VAL {
        // Not every number in between is an event.
        let _ = switch(env, event, sys::JVMTI_DISABLE);
    }
    // SAFETY: null stands for no callbacks. A VM that refuses calls a closed gate.
    let _ = unsafe { jvmti!(env, SetEventCallbacks, std::ptr::null(), 0) };
}

impl Env {
    /// Switches an event on for all threads.
    pub fn enable(self, event: Event) -> Result<(), JvmtiError> {
        switch(self, event.number(), sys::JVMTI_ENABLE)
    }

    /// Switches an event off for all threads.
    pub fn disable(self, event: Event) -> Result<(), JvmtiError> {
        switch(self, event.number(), sys::JVMTI_DISABLE)
    }
}

impl Event {
    fn number(self) -> sys::jvmtiEvent {
        match self {
            Event::ThreadStart => sys::JVMTI_EVENT_THREAD_START,
            Event::ThreadEnd => sys::JVMTI_EVENT_THREAD_END,
            Event::Allocation => sys::JVMTI_EVENT_SAMPLED_OBJECT_ALLOC,
            Event::GarbageCollection => sys::JVMTI_EVENT_GARBAGE_COLLECTION_FINISH,
            Event::VirtualThreadEnd => sys::JVMTI_EVENT_VIRTUAL_THREAD_END,
            Event::MonitorEnter => sys::JVMTI_EVENT_MONITOR_CONTENDED_ENTER,
            Event::MonitorEntered => sys::JVMTI_EVENT_MONITOR_CONTENDED_ENTERED,
            Event::MonitorWait => sys::JVMTI_EVENT_MONITOR_WAIT,
            Event::MonitorWaited => sys::JVMTI_EVENT_MONITOR_WAITED,
            Event::ClassFile => sys::JVMTI_EVENT_CLASS_FILE_LOAD_HOOK,
        }
    }
}

fn switch(env: Env, event: sys::jvmtiEvent, mode: sys::jvmtiEventMode) -> Result<(), JvmtiError> {
    // SAFETY: a null thread stands for all threads.
    unsafe {
        jvmti!(
            env,
            SetEventNotificationMode,
            mode,
            event,
            std::ptr::null_mut()
        )
    }
}

/// The receiver of the events.
pub(super) fn receiver() -> Option<&'static dyn Events> {
    RECEIVER.get().copied()
}

/// Unpacks the two arguments most events have, and runs the event.
///
/// # Safety
/// `jni` and `thread` must be what the VM passed to a callback on this thread.
pub(super) unsafe fn with_thread(
    jni: *mut sys::JNIEnv,
    thread: sys::jthread,
    body: impl FnOnce(&dyn Events, Jni<'_>, Object<'_>),
) {
    let Some(events) = receiver() else { return };
    // SAFETY: the caller passes the VM's arguments, valid until the callback returns.
    let (Some(jni), Some(thread)) = (unsafe { (Jni::from_raw(jni), Object::from_raw(thread)) })
    else {
        return;
    };
    body(events, jni, thread);
}

unsafe extern "C" fn on_vm_init(
    _: *mut sys::jvmtiEnv,
    jni: *mut sys::JNIEnv,
    thread: sys::jthread,
) {
    // SAFETY: the VM's arguments.
    unsafe {
        with_thread(jni, thread, |events, jni, thread| {
            events.vm_init(jni, thread)
        })
    }
}

unsafe extern "C" fn on_vm_death(_: *mut sys::jvmtiEnv, jni: *mut sys::JNIEnv) {
    // SAFETY: the VM's argument, valid until the callback returns.
    if let (Some(events), Some(jni)) = (receiver(), unsafe { Jni::from_raw(jni) }) {
        events.vm_death(jni);
    }
}

unsafe extern "C" fn on_thread_start(
    _: *mut sys::jvmtiEnv,
    jni: *mut sys::JNIEnv,
    thread: sys::jthread,
) {
    // SAFETY: the VM's arguments.
    unsafe {
        with_thread(jni, thread, |events, jni, thread| {
            events.thread_start(jni, thread)
        })
    }
}

unsafe extern "C" fn on_thread_end(
    _: *mut sys::jvmtiEnv,
    jni: *mut sys::JNIEnv,
    thread: sys::jthread,
) {
    // SAFETY: the VM's arguments.
    unsafe {
        with_thread(jni, thread, |events, jni, thread| {
            events.thread_end(jni, thread)
        })
    }
}

unsafe extern "C" fn on_data_dump_request(_: *mut sys::jvmtiEnv) {
    if let Some(events) = receiver() {
        events.data_dump_request();
    }
}

unsafe extern "C" fn on_sampled_object_alloc(
    _: *mut sys::jvmtiEnv,
    jni: *mut sys::JNIEnv,
    thread: sys::jthread,
    object: sys::jobject,
    class: sys::jclass,
    size: sys::jlong,
) {
    let Some(events) = receiver() else { return };
    // SAFETY: the VM's arguments, valid until the callback returns.
    let (jni, thread, object, class) = unsafe {
        (
            Jni::from_raw(jni),
            Object::from_raw(thread),
            Object::from_raw(object),
            Object::from_raw(class),
        )
    };
    let (Some(jni), Some(object), Some(class)) = (jni, object, class) else {
        return;
    };
    let allocation = Allocation {
        thread,
        object,
        class,
        size: size as u64,
    };
    events.allocated(jni, allocation);
}

unsafe extern "C" fn on_garbage_collection_finish(_: *mut sys::jvmtiEnv) {
    if let Some(events) = receiver() {
        events.gc_finished(GcPause(PhantomData));
    }
}
