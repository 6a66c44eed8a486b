//! Where the VM calls us. Every function here counts itself in, catches panics, and hands over to the one [`Events`].

use super::classes::{ClassFile, on_class_file_load_hook};
use super::door::Door;
use super::env::{Env, jvmti};
use super::error::JvmtiError;
use super::jni::{Jni, Object};
use super::sys;

/// What happens on each event. The only way from the VM up into the agent.
pub trait Events: Send + Sync {
    /// The VM is up; `main` has not run yet.
    fn vm_init(&self, jni: Jni<'_>, thread: Object<'_>);

    /// The program has ended, in whatever way; no other event is running, and none will come.
    fn vm_death(&self, jni: Jni<'_>);

    /// A platform thread begins; called on that thread.
    fn thread_start(&self, jni: Jni<'_>, thread: Object<'_>);

    /// A platform thread is about to end; called on that thread.
    fn thread_end(&self, jni: Jni<'_>, thread: Object<'_>);

    /// The current thread has made an object.
    fn allocated(&self, jni: Jni<'_>, allocation: Allocation<'_>);

    /// A garbage collection is over. The VM stands still: nothing of it may be called, and nothing waited for.
    fn gc_finished(&self);

    /// A class is about to be defined; answers what is to be defined in its place. Called on the thread that loads it.
    fn class_file(&self, _jni: Jni<'_>, _class: ClassFile<'_>) -> Option<Vec<u8>> {
        None
    }

    /// The current thread has begun to carry a virtual thread.
    fn virtual_thread_mounted(&self, _jni: Jni<'_>, _thread: Object<'_>) {}

    /// The current thread is about to carry the virtual thread no longer.
    fn virtual_thread_unmounted(&self, _jni: Jni<'_>, _thread: Object<'_>) {}

    /// The user asked for a dump (SIGQUIT).
    fn data_dump_request(&self);

    /// A panic was caught on its way to the VM, in the event named; the agent must leave the program alone from here.
    fn panicked(&self, event: &'static str);
}

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

/// Tells the VM where to call, and switches on the events of its life.
pub(super) fn register(env: Env) -> Result<(), JvmtiError> {
    let callbacks = sys::jvmtiEventCallbacks {
        VMInit: Some(on_vm_init),
        VMDeath: Some(on_vm_death),
        ThreadStart: Some(on_thread_start),
        ThreadEnd: Some(on_thread_end),
        SampledObjectAlloc: Some(on_sampled_object_alloc),
        GarbageCollectionFinish: Some(on_garbage_collection_finish),
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

/// Unpacks the two arguments most events have, and runs the event.
///
/// # Safety
/// `jni` and `thread` must be what the VM passed to a callback on this thread.
unsafe fn with_thread(
    event: &'static str,
    jni: *mut sys::JNIEnv,
    thread: sys::jthread,
    body: impl FnOnce(&dyn Events, Jni<'_>, Object<'_>),
) {
    let Some(door) = Door::get() else { return };
    // SAFETY: the caller passes the VM's arguments, valid until the callback returns.
    let (Some(jni), Some(thread)) = (unsafe { (Jni::from_raw(jni), Object::from_raw(thread)) })
    else {
        return;
    };
    door.run(event, |events| body(events, jni, thread));
}

unsafe extern "C" fn on_vm_init(
    _: *mut sys::jvmtiEnv,
    jni: *mut sys::JNIEnv,
    thread: sys::jthread,
) {
    // SAFETY: the VM's arguments.
    unsafe {
        with_thread("VMInit", jni, thread, |events, jni, thread| {
            events.vm_init(jni, thread)
        })
    }
}

unsafe extern "C" fn on_vm_death(_: *mut sys::jvmtiEnv, jni: *mut sys::JNIEnv) {
    let Some(door) = Door::get() else { return };
    // SAFETY: the VM's argument, valid until the callback returns.
    let Some(jni) = (unsafe { Jni::from_raw(jni) }) else {
        return;
    };
    door.close();
    door.guard("VMDeath", |events| events.vm_death(jni));
}

unsafe extern "C" fn on_thread_start(
    _: *mut sys::jvmtiEnv,
    jni: *mut sys::JNIEnv,
    thread: sys::jthread,
) {
    // SAFETY: the VM's arguments.
    unsafe {
        with_thread("ThreadStart", jni, thread, |events, jni, thread| {
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
        with_thread("ThreadEnd", jni, thread, |events, jni, thread| {
            events.thread_end(jni, thread)
        })
    }
}

unsafe extern "C" fn on_data_dump_request(_: *mut sys::jvmtiEnv) {
    let Some(door) = Door::get() else { return };
    door.run("DataDumpRequest", |events| events.data_dump_request());
}

unsafe extern "C" fn on_sampled_object_alloc(
    _: *mut sys::jvmtiEnv,
    jni: *mut sys::JNIEnv,
    thread: sys::jthread,
    object: sys::jobject,
    class: sys::jclass,
    size: sys::jlong,
) {
    let Some(door) = Door::get() else { return };
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
    door.run("SampledObjectAlloc", |events| {
        events.allocated(jni, allocation)
    });
}

unsafe extern "C" fn on_garbage_collection_finish(_: *mut sys::jvmtiEnv) {
    let Some(door) = Door::get() else { return };
    door.run("GarbageCollectionFinish", |events| events.gc_finished());
}
