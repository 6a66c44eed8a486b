//! The functions that the VM calls. Each unpacks the VM's arguments and hands them over to the one [`super::Events`].

use std::ffi::{CStr, c_char, c_void};

use super::classes::on_class_file_load_hook;
use super::collections;
use super::env::{Env, jvmti};
use super::error::JvmtiError;
use super::events::{
    Allocation, Events, GcPause, Resource, pass, pass_on_thread, receive, receiver, unpack,
};
use super::jni::{Callback, Jni, Object};
use super::method_ids;
use super::monitor_callbacks;
use super::sys;

/// The events that can be enabled, in addition to the VM's start and end, which always come.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// [`super::SessionEvents::thread_start`].
    ThreadStart,
    /// [`super::SessionEvents::thread_end`].
    ThreadEnd,
    /// [`super::Events::object_allocated`]; needs [`super::Capability::AllocationEvents`].
    Allocation,
    /// [`super::SessionEvents::gc_finished`]; needs [`super::Capability::GarbageCollectionEvents`].
    GarbageCollection,
    /// Not delivered: while it is enabled, the slots of references can be read ([`super::WeakSlots`]).
    GarbageCollectionStart,
    /// [`super::SessionEvents::thread_end`] of virtual threads; only for a VM that has them.
    VirtualThreadEnd,
    /// [`super::SessionEvents::monitor_enter`]; needs [`super::Capability::MonitorEvents`], as do those below.
    MonitorEnter,
    /// [`super::SessionEvents::monitor_entered`].
    MonitorEntered,
    /// [`super::SessionEvents::monitor_wait`].
    MonitorWait,
    /// [`super::SessionEvents::monitor_waited`].
    MonitorWaited,
    /// [`super::SessionEvents::class_file`].
    ClassFile,
    /// [`super::SessionEvents::resource_exhausted`]; needs [`super::Capability::ResourceExhaustedEvents`].
    ResourceExhausted,
    /// Not delivered: AsyncGetCallTrace refuses unless it is enabled.
    ClassLoad,
    /// [`super::SessionEvents::class_prepared`].
    ClassPrepare,
}

/// Registers the callbacks, and enables the events of the VM's start and end. Every session must pass the same
/// receiver.
pub(super) fn register(env: Env, receiver: &'static dyn Events) -> Result<(), JvmtiError> {
    receive(receiver);
    let callbacks = sys::jvmtiEventCallbacks {
        VMInit: Some(on_vm_init),
        VMDeath: Some(on_vm_death),
        ThreadStart: Some(on_thread_start),
        ThreadEnd: Some(on_thread_end),
        SampledObjectAlloc: Some(on_sampled_object_alloc),
        GarbageCollectionStart: Some(on_garbage_collection_start),
        GarbageCollectionFinish: Some(on_garbage_collection_finish),
        VirtualThreadEnd: Some(monitor_callbacks::on_virtual_thread_end),
        MonitorContendedEnter: Some(monitor_callbacks::on_monitor_contended_enter),
        MonitorContendedEntered: Some(monitor_callbacks::on_monitor_contended_entered),
        MonitorWait: Some(monitor_callbacks::on_monitor_wait),
        MonitorWaited: Some(monitor_callbacks::on_monitor_waited),
        DataDumpRequest: Some(on_data_dump_request),
        ResourceExhausted: Some(on_resource_exhausted),
        ClassFileLoadHook: Some(on_class_file_load_hook),
        ClassLoad: Some(method_ids::on_class_load),
        ClassPrepare: Some(method_ids::on_class_prepare),
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

/// Disables all events and callbacks. A call that is already under way still arrives.
pub(super) fn silence(env: Env) {
    for event in sys::JVMTI_MIN_EVENT_TYPE_VAL..=sys::JVMTI_MAX_EVENT_TYPE_VAL {
        // Not every number in between is an event.
        let _ = switch(env, event, sys::JVMTI_DISABLE);
    }
    // SAFETY: null means no callbacks. If the VM refuses, it calls a closed gate.
    let _ = unsafe { jvmti!(env, SetEventCallbacks, std::ptr::null(), 0) };
}

impl Env {
    /// Enables an event for all threads.
    pub fn enable(self, event: Event) -> Result<(), JvmtiError> {
        switch(self, event.number(), sys::JVMTI_ENABLE)
    }

    /// Disables an event for all threads.
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
            Event::GarbageCollectionStart => sys::JVMTI_EVENT_GARBAGE_COLLECTION_START,
            Event::VirtualThreadEnd => sys::JVMTI_EVENT_VIRTUAL_THREAD_END,
            Event::MonitorEnter => sys::JVMTI_EVENT_MONITOR_CONTENDED_ENTER,
            Event::MonitorEntered => sys::JVMTI_EVENT_MONITOR_CONTENDED_ENTERED,
            Event::MonitorWait => sys::JVMTI_EVENT_MONITOR_WAIT,
            Event::MonitorWaited => sys::JVMTI_EVENT_MONITOR_WAITED,
            Event::ResourceExhausted => sys::JVMTI_EVENT_RESOURCE_EXHAUSTED,
            Event::ClassFile => sys::JVMTI_EVENT_CLASS_FILE_LOAD_HOOK,
            Event::ClassLoad => sys::JVMTI_EVENT_CLASS_LOAD,
            Event::ClassPrepare => sys::JVMTI_EVENT_CLASS_PREPARE,
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

unsafe extern "C" fn on_vm_init(
    _: *mut sys::jvmtiEnv,
    jni: *mut sys::JNIEnv,
    thread: sys::jthread,
) {
    let Some(events) = receiver() else { return };
    Callback::run(|callback| {
        // SAFETY: the VM's arguments.
        if let Some((jni, thread)) = unsafe { unpack(jni, thread, callback) } {
            events.vm_init(jni, thread);
        }
    });
}

unsafe extern "C" fn on_vm_death(_: *mut sys::jvmtiEnv, jni: *mut sys::JNIEnv) {
    let Some(events) = receiver() else { return };
    Callback::run(|callback| {
        // SAFETY: the VM's argument, valid until the callback returns.
        if let Some(jni) = unsafe { Jni::from_raw(jni, callback) } {
            events.vm_death(jni);
        }
    });
}

unsafe extern "C" fn on_thread_start(
    _: *mut sys::jvmtiEnv,
    jni: *mut sys::JNIEnv,
    thread: sys::jthread,
) {
    // SAFETY: the VM's arguments; it posts the event on the thread that it is about.
    unsafe {
        pass_on_thread(jni, thread, |session, jni, thread| {
            session.thread_start(jni, thread)
        })
    }
}

unsafe extern "C" fn on_thread_end(
    _: *mut sys::jvmtiEnv,
    jni: *mut sys::JNIEnv,
    thread: sys::jthread,
) {
    // SAFETY: the VM's arguments; it posts the event on the thread that it is about.
    unsafe {
        pass_on_thread(jni, thread, |session, jni, thread| {
            session.thread_end(jni, thread)
        })
    }
}

unsafe extern "C" fn on_data_dump_request(_: *mut sys::jvmtiEnv) {
    pass(|session, _| session.data_dump_request());
}

unsafe extern "C" fn on_resource_exhausted(
    _: *mut sys::jvmtiEnv,
    jni: *mut sys::JNIEnv,
    flags: sys::jint,
    _: *const c_void,
    description: *const c_char,
) {
    let has = |flag: u32| flags & flag as sys::jint != 0;
    let resource = match () {
        () if has(sys::JVMTI_RESOURCE_EXHAUSTED_THREADS) => Resource::Threads,
        () if has(sys::JVMTI_RESOURCE_EXHAUSTED_JAVA_HEAP) => Resource::JavaHeap,
        () => Resource::Other,
    };
    pass(|session, callback| {
        let description = match description.is_null() {
            true => c"",
            // SAFETY: the VM's argument, which ends with a NUL and is valid until the callback returns.
            false => unsafe { CStr::from_ptr(description) },
        };
        // SAFETY: the VM's argument, valid until the callback returns.
        if let Some(jni) = unsafe { Jni::from_raw(jni, callback) } {
            session.resource_exhausted(jni, resource, description);
        }
    });
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
    Callback::run(|callback| {
        // SAFETY: the VM's arguments, valid until the callback returns.
        let (jni, thread, object, class) = unsafe {
            (
                Jni::from_raw(jni, callback),
                Object::from_raw(thread, callback),
                Object::from_raw(object, callback),
                Object::from_raw(class, callback),
            )
        };
        let (Some(jni), Some(class)) = (jni, class) else {
            return;
        };
        let allocation = Allocation {
            thread,
            object,
            class,
            size: size as u64,
        };
        events.object_allocated(jni, allocation);
    });
}

unsafe extern "C" fn on_garbage_collection_start(_: *mut sys::jvmtiEnv) {
    collections::begin();
}

unsafe extern "C" fn on_garbage_collection_finish(_: *mut sys::jvmtiEnv) {
    collections::end();
    pass(|session, callback| session.gc_finished(GcPause::new(callback)));
}
