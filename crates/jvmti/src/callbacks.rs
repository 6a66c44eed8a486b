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

/// Declares the events that can be enabled, in addition to the VM's start and end, which always come. Each is one row: its name
/// here, in the VM's table of callbacks and as a number, the function that the VM calls, and that function, unless it is another
/// file's. The rows look like a list of blocks, so that `rustfmt` can format them.
macro_rules! events {
    ($({
        $(#[$doc:meta])*
        let $event:ident: ($field:ident, $number:ident $(,)?) = $callback:path;
        $(unsafe extern "C" fn $function:ident $arguments:tt $body:block)?
    },)*) => {
        /// The events that can be enabled, in addition to the VM's start and end, which always come.
        #[derive(Clone, Copy, Debug)]
        pub enum Event {
            $($(#[$doc])* $event,)*
        }

        impl Event {
            fn number(self) -> sys::jvmtiEvent {
                match self {
                    $(Self::$event => sys::$number,)*
                }
            }
        }

        /// Returns the functions of all of them.
        fn callbacks() -> sys::jvmtiEventCallbacks {
            sys::jvmtiEventCallbacks {
                $($field: Some($callback),)*
                ..Default::default()
            }
        }

        $($(unsafe extern "C" fn $function $arguments $body)?)*
    };
}

events!(
    {
        /// [`super::SessionEvents::thread_start`].
        let ThreadStart: (ThreadStart, JVMTI_EVENT_THREAD_START) = on_thread_start;
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
    },
    {
        /// [`super::SessionEvents::thread_end`].
        let ThreadEnd: (ThreadEnd, JVMTI_EVENT_THREAD_END) = on_thread_end;
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
    },
    {
        /// [`super::Events::object_allocated`]; needs [`super::Capability::AllocationEvents`].
        let Allocation: (SampledObjectAlloc, JVMTI_EVENT_SAMPLED_OBJECT_ALLOC) =
            on_sampled_object_alloc;
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
    },
    {
        /// [`super::SessionEvents::gc_finished`]; needs [`super::Capability::GarbageCollectionEvents`].
        let GarbageCollection: (
            GarbageCollectionFinish,
            JVMTI_EVENT_GARBAGE_COLLECTION_FINISH,
        ) = on_garbage_collection_finish;
        unsafe extern "C" fn on_garbage_collection_finish(_: *mut sys::jvmtiEnv) {
            collections::end();
            pass(|session, callback| session.gc_finished(GcPause::new(callback)));
        }
    },
    {
        /// Not delivered: while it is enabled, the slots of references can be read ([`super::WeakSlots`]).
        let GarbageCollectionStart: (
            GarbageCollectionStart,
            JVMTI_EVENT_GARBAGE_COLLECTION_START,
        ) = on_garbage_collection_start;
        unsafe extern "C" fn on_garbage_collection_start(_: *mut sys::jvmtiEnv) {
            collections::begin();
        }
    },
    {
        /// [`super::SessionEvents::thread_end`] of virtual threads; only for a VM that has them.
        let VirtualThreadEnd: (VirtualThreadEnd, JVMTI_EVENT_VIRTUAL_THREAD_END) =
            monitor_callbacks::on_virtual_thread_end;
    },
    {
        /// [`super::SessionEvents::monitor_enter`]; needs [`super::Capability::MonitorEvents`], as do those below.
        let MonitorEnter: (MonitorContendedEnter, JVMTI_EVENT_MONITOR_CONTENDED_ENTER) =
            monitor_callbacks::on_monitor_contended_enter;
    },
    {
        /// [`super::SessionEvents::monitor_entered`].
        let MonitorEntered: (
            MonitorContendedEntered,
            JVMTI_EVENT_MONITOR_CONTENDED_ENTERED,
        ) = monitor_callbacks::on_monitor_contended_entered;
    },
    {
        /// [`super::SessionEvents::monitor_wait`].
        let MonitorWait: (MonitorWait, JVMTI_EVENT_MONITOR_WAIT) =
            monitor_callbacks::on_monitor_wait;
    },
    {
        /// [`super::SessionEvents::monitor_waited`].
        let MonitorWaited: (MonitorWaited, JVMTI_EVENT_MONITOR_WAITED) =
            monitor_callbacks::on_monitor_waited;
    },
    {
        /// [`super::SessionEvents::class_file`].
        let ClassFile: (ClassFileLoadHook, JVMTI_EVENT_CLASS_FILE_LOAD_HOOK) =
            on_class_file_load_hook;
    },
    {
        /// [`super::SessionEvents::resource_exhausted`]; needs [`super::Capability::ResourceExhaustedEvents`].
        let ResourceExhausted: (ResourceExhausted, JVMTI_EVENT_RESOURCE_EXHAUSTED) =
            on_resource_exhausted;
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
    },
    {
        /// Not delivered: AsyncGetCallTrace refuses unless it is enabled.
        let ClassLoad: (ClassLoad, JVMTI_EVENT_CLASS_LOAD) = method_ids::on_class_load;
    },
    {
        /// [`super::SessionEvents::class_prepared`].
        let ClassPrepare: (ClassPrepare, JVMTI_EVENT_CLASS_PREPARE) = method_ids::on_class_prepare;
    },
);

/// Registers the callbacks, and enables the events of the VM's start and end. Every session must pass the same
/// receiver.
pub(super) fn register(env: Env, receiver: &'static dyn Events) -> Result<(), JvmtiError> {
    receive(receiver);
    let callbacks = sys::jvmtiEventCallbacks {
        VMInit: Some(on_vm_init),
        VMDeath: Some(on_vm_death),
        DataDumpRequest: Some(on_data_dump_request),
        ..callbacks()
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

unsafe extern "C" fn on_data_dump_request(_: *mut sys::jvmtiEnv) {
    pass(|session, _| session.data_dump_request());
}
