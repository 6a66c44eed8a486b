//! The VM's own heap dumper, which `jmap` and `HotSpotDiagnosticMXBean` call: `DumpHeap0` of the table that
//! `JVM_GetManagement` returns. No Java module is needed for it.

use std::ffi::{CStr, c_void};

use super::heap_size::{HeapFill, HeapSize};
use crate::env::Env;
use crate::jni::{Jni, LocalRef, Vm, jni};
use crate::os::base_of;
use crate::sys;
use crate::vm_call::before_call;
use crate::vm_kind::Release;
use crate::vm_library::VmLibrary;

/// Returns the version of the table that this release accepts, and the position of `DumpHeap0` in it.
fn place_of_dump_heap(release: Release) -> (sys::jint, usize) {
    match release {
        Release::Jdk11 => (0x2002_0000, 28),
        Release::Jdk17 => (0x2003_0000, 29),
        Release::Jdk21 | Release::Jdk25 => (0x2004_0000, 30),
        Release::Jdk26 | Release::Jdk27 | Release::Jdk28 => (0x2005_0000, 30),
    }
}

type GetManagement = unsafe extern "C" fn(sys::jint) -> *const *const c_void;
type DumpHeap0 = unsafe extern "C" fn(*mut sys::JNIEnv, sys::jstring, sys::jboolean) -> sys::jint;

/// The VM's own dumper.
#[derive(Clone, Copy)]
pub struct VmDumper {
    dump_heap: DumpHeap0,
    heap_size: HeapSize,
}

impl VmDumper {
    /// Finds it; `None` in a VM that has none, or one that the agent does not know how to call.
    pub fn find(env: Env) -> Option<Self> {
        let vm = env.vm();
        let (version, slot) = place_of_dump_heap(env.tested_vm()?.release());
        let library = VmLibrary::of(vm)?;
        let get_management = library.symbol::<c_void>(c"JVM_GetManagement")?;
        // SAFETY: the exported function takes a version and gives the table, or null where it does not know the
        // version.
        let get_management =
            unsafe { std::mem::transmute::<*const c_void, GetManagement>(get_management) };
        // SAFETY: as above; in this release the table of that version has more entries than `slot`.
        let dump_heap = unsafe {
            let table = get_management(version);
            (!table.is_null()).then(|| *table.add(slot))
        }?;
        if !is_in_library(vm, dump_heap) {
            return None;
        }
        Some(Self {
            // SAFETY: the slot holds `DumpHeap0`, whose arguments these are.
            dump_heap: unsafe { std::mem::transmute::<*const c_void, DumpHeap0>(dump_heap) },
            heap_size: HeapSize::of(&library)?,
        })
    }

    /// Returns how full the Java heap is.
    pub fn heap(self) -> HeapFill {
        self.heap_size.fill()
    }

    /// Creates the name of a file for [`VmDumper::dump`]. It is an object in the Java heap.
    pub fn path<'a>(self, jni: Jni<'a>, path: &CStr) -> Option<LocalRef<'a>> {
        // SAFETY: the path is NUL-terminated; the VM throws where it has no memory for the string.
        let raw = unsafe { jni!(jni, NewStringUTF, path.as_ptr()) };
        let thrown = jni.clear_exception();
        LocalRef::new(jni, raw).filter(|_| !thrown)
    }

    /// Writes everything in the heap, including garbage, to a new file. The error is the VM's message.
    pub fn dump(self, jni: Jni<'_>, path: &LocalRef<'_>) -> Result<(), String> {
        before_call("DumpHeap0");
        // SAFETY: the current thread's environment and a live string; `false` asks for no collection before.
        let code = unsafe { (self.dump_heap)(jni.as_raw(), path.raw, false) };
        match take_message(jni) {
            Some(message) => Err(message),
            None if code != 0 => Err(format!("code {code}")),
            None => Ok(()),
        }
    }
}

/// Returns the array with the characters of a `java.lang.String`.
pub fn characters<'a>(jni: Jni<'a>, string: &LocalRef<'_>) -> Option<LocalRef<'a>> {
    let class = jni.find_class(c"java/lang/String")?;
    let field = jni.field(class.object(), c"value", c"[B")?;
    // SAFETY: both references are live, and the field is one of the object's class.
    let raw = unsafe { jni!(jni, GetObjectField, string.raw, field) };
    LocalRef::new(jni, raw)
}

/// Returns `true` if a function is one of the VM's.
fn is_in_library(vm: Vm, function: *const c_void) -> bool {
    base_of(function).is_some_and(|library| Some(library) == base_of(vm.function_address()))
}

/// Clears the pending exception, if there is one, and returns its message. Runs no Java code.
fn take_message(jni: Jni<'_>) -> Option<String> {
    // SAFETY: may be called with an exception pending; the answer is a local reference or null.
    let thrown = LocalRef::new(jni, unsafe { jni!(jni, ExceptionOccurred) })?;
    jni.clear_exception();
    let message = message_of(jni, &thrown).unwrap_or_else(|| "no reason is given".to_owned());
    jni.clear_exception();
    Some(message)
}

fn message_of(jni: Jni<'_>, thrown: &LocalRef<'_>) -> Option<String> {
    let class = jni.find_class(c"java/lang/Throwable")?;
    let field = jni.field(class.object(), c"detailMessage", c"Ljava/lang/String;")?;
    // SAFETY: both references are live, and the field is one of the object's class.
    let message = unsafe { jni!(jni, GetObjectField, thrown.raw, field) };
    let message = LocalRef::new(jni, message)?;
    jni.text(message.object())
}
