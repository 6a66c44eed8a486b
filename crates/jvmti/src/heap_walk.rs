//! The heap as a graph: every reference, starting from the roots, and the primitive values.
//!
//! All callbacks run on a thread of the VM, while the program is stopped: a [`HeapVisitor`] must not call the VM, nor
//! wait for anything that a thread of the program could hold.

use std::any::Any;
use std::cell::Cell;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::{ptr, slice};

use super::capabilities::Capability;
use super::env::{Env, MethodId, jvmti};
use super::error::JvmtiError;
use super::fields::Primitive;
use super::hotspot::BoolFlag;
use super::jni::{Object, WeakObject};
use super::sys;

/// Numbers attached to objects, by which a walk recognizes them. They belong to this value alone, and are removed when
/// it is dropped.
pub struct Tags {
    env: Env,
    is_fresh: bool,
    are_removed: Cell<bool>,
}

/// Receives the graph in the VM's order: the roots first, then all references and values of one object after those of
/// another. The roots in the stack of an unmounted virtual thread come before the references of its object.
pub trait HeapVisitor: Send {
    /// Called for a root that refers to an object.
    fn root(&mut self, root: RootReference, referee: Referee<'_>) -> Visit;

    /// Called for an object that refers to another. The first reference of an instance or an array is the one to its
    /// class.
    fn reference(
        &mut self,
        referrer: Referrer,
        reference: Reference,
        referee: Referee<'_>,
    ) -> Visit;

    /// Called for a field with a primitive value; fields are numbered as in [`Reference::Field`] and
    /// [`Reference::StaticField`].
    fn primitive_field(&mut self, field: PrimitiveField) -> Visit;

    /// Called for an array of primitive values, which are `elements`, in native byte order.
    fn primitive_array(&mut self, array: Referrer, kind: Primitive, elements: &[u8]) -> Visit;
}

/// The way in which a walk continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visit {
    /// Report the references of the referenced object, too.
    Follow,
    /// Skip the references of this one.
    Pass,
    /// End the walk.
    Stop,
}

/// The object that is referred to.
pub struct Referee<'a> {
    /// Its tag, 0 for none; may be changed.
    pub tag: &'a mut u64,
    /// Its class's tag.
    pub class: u64,
    /// The length, if it is an array.
    pub length: Option<u32>,
    /// The bytes that it takes in the heap.
    pub size: u64,
}

/// The object that refers to another, or that holds a value.
#[derive(Clone, Copy, Debug)]
pub struct Referrer {
    /// Its tag.
    pub tag: u64,
    /// Its class's tag.
    pub class: u64,
}

/// The kind of a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reference {
    /// From an instance or array to its class.
    Class,
    /// A field of an instance. Fields are counted through all interfaces of its class, then from `java.lang.Object`
    /// down to its class, in the order of [`super::ClassFields`].
    Field(u32),
    /// An element of an array.
    Element(u32),
    /// From a class to its signers.
    Signers,
    /// From a class to its protection domain.
    ProtectionDomain,
    /// An entry of a class's constant pool.
    Constant(u32),
    /// Anything else that a class refers to: its loader, superclass, interfaces, static fields.
    Other,
}

/// The kind of a root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RootReference {
    /// A global reference of native code.
    JniGlobal,
    /// A class that is never unloaded.
    SystemClass,
    /// A monitor that has waiters or an owner.
    Monitor,
    /// A local variable or an operand of a method.
    StackLocal(StackPlace),
    /// A local reference of native code.
    JniLocal(StackPlace),
    /// A thread that is alive.
    Thread,
    /// Something else in the VM.
    Other,
}

/// A position in a thread's stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StackPlace {
    /// The thread's tag, 0 for none.
    pub thread: u64,
    /// `Thread.getId()`.
    pub thread_id: i64,
    /// The frame's depth, 0 for the innermost.
    pub depth: i32,
    /// The frame's method; `None` if the thread runs no Java.
    pub method: Option<MethodId>,
    /// The bytecode index in the method, if reported.
    pub location: Option<i64>,
}

/// A field with a primitive value.
#[derive(Clone, Copy, Debug)]
pub struct PrimitiveField {
    /// The instance, or the class.
    pub holder: Referrer,
    /// `true` if it belongs to the class.
    pub is_static: bool,
    /// Its number.
    pub index: u32,
    /// Its type.
    pub kind: Primitive,
    /// Its value, in the low bytes.
    pub bits: u64,
}

/// The values that a walk reports.
#[derive(Clone, Copy, Debug, Default)]
pub struct WantedValues {
    /// Values of fields.
    pub fields: bool,
    /// Elements of arrays.
    pub arrays: bool,
}

impl Tags {
    /// Creates tags; no object has one yet.
    pub fn new(env: Env) -> Result<Self, JvmtiError> {
        let is_fresh = damages_tags(env);
        let own = match is_fresh {
            true => env.fresh(),
            false => env.aside(),
        };
        let own = own.ok_or(JvmtiError {
            function: "GetEnv",
            code: sys::JVMTI_ERROR_OUT_OF_MEMORY,
        })?;
        own.request(&[Capability::HeapWalk])?;
        Ok(Self {
            env: own,
            is_fresh,
            are_removed: Cell::new(false),
        })
    }

    /// Returns the environment that has the tags.
    pub(super) fn env(&self) -> Env {
        self.env
    }

    /// Returns an object's tag, 0 for none.
    pub fn get(&self, object: Object<'_>) -> Result<u64, JvmtiError> {
        let mut tag = 0;
        // SAFETY: the object's reference is valid; `tag` receives the answer.
        unsafe { jvmti!(self.env, GetTag, object.raw, &mut tag)? };
        Ok(tag as u64)
    }

    /// As [`Tags::set`]; an error if the object has been collected.
    pub fn set_weak(&self, object: WeakObject<'_>, tag: u64) -> Result<(), JvmtiError> {
        // SAFETY: the reference is valid, and the VM takes one whose object is gone for null.
        unsafe { jvmti!(self.env, SetTag, object.raw, tag as sys::jlong) }
    }

    /// Sets an object's tag; 0 removes it.
    pub fn set(&self, object: Object<'_>, tag: u64) -> Result<(), JvmtiError> {
        self.env.set_tag(object, tag as sys::jlong)
    }

    /// Stops the program and reports all references to `visitor`, starting from the roots.
    pub fn follow<V: HeapVisitor>(
        &self,
        wanted: WantedValues,
        visitor: &mut V,
    ) -> Result<(), JvmtiError> {
        let callbacks = sys::jvmtiHeapCallbacks {
            heap_reference_callback: Some(on_reference::<V>),
            primitive_field_callback: wanted
                .fields
                .then_some(on_primitive_field::<V> as PrimitiveFieldCallback),
            array_primitive_value_callback: wanted
                .arrays
                .then_some(on_primitive_array::<V> as PrimitiveArrayCallback),
            ..Default::default()
        };
        let mut walk = Walk {
            visitor,
            panic: None,
        };
        let data: *mut Walk<'_, V> = &mut walk;
        // SAFETY: the VM calls the functions during this call only, one after the other, with `data` as their last
        // argument; nobody else uses `walk` meanwhile. No filter; null for all classes, and for the roots.
        let answer = unsafe {
            jvmti!(
                self.env,
                FollowReferences,
                0,
                ptr::null_mut(),
                ptr::null_mut(),
                &callbacks,
                data.cast::<c_void>().cast_const()
            )
        };
        match walk.panic {
            Some(panic) => resume_unwind(panic),
            None => answer,
        }
    }

    /// Removes all tags in one pass over the heap, for which the program is stopped. Removing tags one by one takes
    /// much longer, and disposing of an environment while the program runs is dangerous (see [`super::OwnEnv`]).
    fn untag(&self) {
        let callbacks = sys::jvmtiHeapCallbacks {
            heap_iteration_callback: Some(untag),
            ..Default::default()
        };
        // SAFETY: the VM calls `untag` during this call only; it needs no data. Null stands for all classes.
        let _ = unsafe {
            jvmti!(
                self.env,
                IterateThroughHeap,
                sys::JVMTI_HEAP_FILTER_UNTAGGED as sys::jint,
                ptr::null_mut(),
                &callbacks,
                ptr::null()
            )
        };
        self.env.relinquish();
    }

    /// Notes that all tags have been removed one by one, so that dropping this takes no pass over the heap.
    pub fn are_removed(&self) {
        self.are_removed.set(true);
    }

    /// Leaves the tags in place, for a VM that is about to end: removing them from millions of objects takes seconds.
    pub fn leave(self) {
        std::mem::forget(self);
    }
}

/// Removes all tags.
impl Drop for Tags {
    fn drop(&mut self) {
        if self.is_fresh {
            return self.env.dispose();
        }
        match self.are_removed.get() {
            true => self.env.relinquish(),
            false => self.untag(),
        }
    }
}

/// Returns `true` if removing tags during a heap pass corrupts the VM's memory: with ZGC in JDK 11, where it was
/// experimental.
fn damages_tags(env: Env) -> bool {
    env.vm_kind().damages_tags_with_zgc()
        && env
            .flags()
            .is_none_or(|flags| flags.is_on(BoolFlag::UseZgc))
}

/// Runs while the VM is stopped.
unsafe extern "C" fn untag(
    _class_tag: sys::jlong,
    _size: sys::jlong,
    tag: *mut sys::jlong,
    _length: sys::jint,
    _data: *mut c_void,
) -> sys::jint {
    // SAFETY: the VM passes the address of the object's tag.
    unsafe { *tag = 0 };
    0
}

/// The state that the callbacks share.
struct Walk<'v, V> {
    visitor: &'v mut V,
    panic: Option<Box<dyn Any + Send>>,
}

type PrimitiveFieldCallback = unsafe extern "C" fn(
    sys::jvmtiHeapReferenceKind,
    *const sys::jvmtiHeapReferenceInfo,
    sys::jlong,
    *mut sys::jlong,
    sys::jvalue,
    sys::jvmtiPrimitiveType,
    *mut c_void,
) -> sys::jint;

type PrimitiveArrayCallback = unsafe extern "C" fn(
    sys::jlong,
    sys::jlong,
    *mut sys::jlong,
    sys::jint,
    sys::jvmtiPrimitiveType,
    *const c_void,
    *mut c_void,
) -> sys::jint;

/// Runs the visitor; a panic ends the walk, and is resumed in [`Tags::follow`].
///
/// # Safety
/// `data` must be what `follow::<V>` passed to the VM.
unsafe fn visit<V: HeapVisitor>(
    data: *mut c_void,
    body: impl FnOnce(&mut V) -> Visit,
) -> sys::jint {
    // SAFETY: `follow` passes its own `Walk`, which nobody else uses during the walk.
    let walk = unsafe { &mut *data.cast::<Walk<'_, V>>() };
    if walk.panic.is_some() {
        return sys::JVMTI_VISIT_ABORT as sys::jint;
    }
    match catch_unwind(AssertUnwindSafe(|| body(walk.visitor))) {
        Ok(Visit::Follow) => sys::JVMTI_VISIT_OBJECTS as sys::jint,
        Ok(Visit::Pass) => 0,
        Ok(Visit::Stop) => sys::JVMTI_VISIT_ABORT as sys::jint,
        Err(panic) => {
            walk.panic = Some(panic);
            sys::JVMTI_VISIT_ABORT as sys::jint
        }
    }
}

unsafe extern "C" fn on_reference<V: HeapVisitor>(
    kind: sys::jvmtiHeapReferenceKind,
    info: *const sys::jvmtiHeapReferenceInfo,
    class: sys::jlong,
    referrer_class: sys::jlong,
    size: sys::jlong,
    tag: *mut sys::jlong,
    referrer_tag: *mut sys::jlong,
    length: sys::jint,
    data: *mut c_void,
) -> sys::jint {
    // SAFETY: the referrer's tag is null for roots, and is read before the other is borrowed: an object that refers to
    // itself has one place for both.
    let referrer = unsafe { referrer_tag.as_ref() }.map(|&tag| Referrer {
        tag: tag as u64,
        class: referrer_class as u64,
    });
    // SAFETY: the VM passes a place for the tag that nobody else looks at during the callback.
    let Some(tag) = (unsafe { tag.cast::<u64>().as_mut() }) else {
        return 0;
    };
    let referee = Referee {
        tag,
        class: class as u64,
        length: u32::try_from(length).ok(),
        size: size as u64,
    };
    // SAFETY: the kind says what `info` holds; `data` is `follow`'s.
    unsafe {
        match referrer {
            Some(referrer) => {
                let reference = reference(kind, info);
                visit::<V>(data, |visitor| {
                    visitor.reference(referrer, reference, referee)
                })
            }
            None => {
                let root = root(kind, info);
                visit::<V>(data, |visitor| visitor.root(root, referee))
            }
        }
    }
}

/// # Safety
/// `info` must be what the VM passes with `kind`.
unsafe fn reference(
    kind: sys::jvmtiHeapReferenceKind,
    info: *const sys::jvmtiHeapReferenceInfo,
) -> Reference {
    // SAFETY: these kinds come with the part that is read.
    unsafe {
        match kind {
            sys::JVMTI_HEAP_REFERENCE_CLASS => Reference::Class,
            sys::JVMTI_HEAP_REFERENCE_FIELD => {
                Reference::Field((*info).field.as_ref().index as u32)
            }
            sys::JVMTI_HEAP_REFERENCE_ARRAY_ELEMENT => {
                Reference::Element((*info).array.as_ref().index as u32)
            }
            sys::JVMTI_HEAP_REFERENCE_SIGNERS => Reference::Signers,
            sys::JVMTI_HEAP_REFERENCE_PROTECTION_DOMAIN => Reference::ProtectionDomain,
            sys::JVMTI_HEAP_REFERENCE_CONSTANT_POOL => {
                Reference::Constant((*info).constant_pool.as_ref().index as u32)
            }
            _ => Reference::Other,
        }
    }
}

/// # Safety
/// `info` must be what the VM passes with `kind`.
unsafe fn root(
    kind: sys::jvmtiHeapReferenceKind,
    info: *const sys::jvmtiHeapReferenceInfo,
) -> RootReference {
    match kind {
        sys::JVMTI_HEAP_REFERENCE_JNI_GLOBAL => RootReference::JniGlobal,
        sys::JVMTI_HEAP_REFERENCE_SYSTEM_CLASS => RootReference::SystemClass,
        sys::JVMTI_HEAP_REFERENCE_MONITOR => RootReference::Monitor,
        sys::JVMTI_HEAP_REFERENCE_STACK_LOCAL => {
            // SAFETY: this kind comes with this part.
            let local = unsafe { (*info).stack_local.as_ref() };
            RootReference::StackLocal(StackPlace {
                thread: local.thread_tag as u64,
                thread_id: local.thread_id,
                depth: local.depth,
                method: MethodId::non_null(local.method),
                location: Some(local.location),
            })
        }
        sys::JVMTI_HEAP_REFERENCE_JNI_LOCAL => {
            // SAFETY: this kind comes with this part.
            let local = unsafe { (*info).jni_local.as_ref() };
            RootReference::JniLocal(StackPlace {
                thread: local.thread_tag as u64,
                thread_id: local.thread_id,
                depth: local.depth,
                method: MethodId::non_null(local.method),
                location: None,
            })
        }
        sys::JVMTI_HEAP_REFERENCE_THREAD => RootReference::Thread,
        _ => RootReference::Other,
    }
}

unsafe extern "C" fn on_primitive_field<V: HeapVisitor>(
    kind: sys::jvmtiHeapReferenceKind,
    info: *const sys::jvmtiHeapReferenceInfo,
    class: sys::jlong,
    tag: *mut sys::jlong,
    value: sys::jvalue,
    value_type: sys::jvmtiPrimitiveType,
    data: *mut c_void,
) -> sys::jint {
    let Some(kind_of_value) = Primitive::of_letter(value_type as u8) else {
        return 0;
    };
    // SAFETY: the VM passes a place with the tag, and the part about fields; the value is of the type it names; `data`
    // is `follow`'s.
    unsafe {
        let field = PrimitiveField {
            holder: Referrer {
                tag: *tag as u64,
                class: class as u64,
            },
            is_static: kind == sys::JVMTI_HEAP_REFERENCE_STATIC_FIELD,
            index: (*info).field.as_ref().index as u32,
            kind: kind_of_value,
            bits: kind_of_value.bits(value),
        };
        visit::<V>(data, |visitor| visitor.primitive_field(field))
    }
}

unsafe extern "C" fn on_primitive_array<V: HeapVisitor>(
    class: sys::jlong,
    _size: sys::jlong,
    tag: *mut sys::jlong,
    count: sys::jint,
    element_type: sys::jvmtiPrimitiveType,
    elements: *const c_void,
    data: *mut c_void,
) -> sys::jint {
    let Some(kind) = Primitive::of_letter(element_type as u8) else {
        return 0;
    };
    let bytes = usize::try_from(count).unwrap_or(0) * kind.size();
    let elements = match bytes {
        0 => &[],
        // SAFETY: the VM passes the array itself, with `count` elements of that type; it is not moved meanwhile.
        bytes => unsafe { slice::from_raw_parts(elements.cast::<u8>(), bytes) },
    };
    // SAFETY: the VM passes a place with the tag; `data` is `follow`'s.
    unsafe {
        let array = Referrer {
            tag: *tag as u64,
            class: class as u64,
        };
        visit::<V>(data, |visitor| {
            visitor.primitive_array(array, kind, elements)
        })
    }
}
