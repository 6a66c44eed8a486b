//! What the handler has to know of the VM: the function, and where a thread keeps what.

use std::ffi::{CStr, c_void};

use super::trace::AsyncGetCallTrace;
use crate::jvmti::env::Env;
use crate::jvmti::hotspot::vm_structs::{Library, VmStructs};
use crate::jvmti::jni::{Jni, Object, Vm};

/// Offsets and addresses within the VM, from the tables that it exports for debuggers.
#[derive(Clone, Copy)]
pub(super) struct VmLayout {
    /// The function.
    pub(super) get_call_trace: AsyncGetCallTrace,
    /// Where the code cache begins and ends; it may grow within.
    pub(super) code: (usize, usize),
    /// Where a thread keeps the stack pointer of its last Java frame, and the instruction.
    pub(super) last_java_sp: usize,
    pub(super) last_java_pc: usize,
    os_thread: usize,
    thread_id: usize,
    stack_base: usize,
    stack_size: usize,
}

/// A live thread in the VM's memory.
#[derive(Clone, Copy)]
pub(super) struct JavaThread {
    pub(super) address: usize,
    /// What the system calls it.
    pub(super) tid: libc::pid_t,
    /// Its stack, from the lowest address to the end.
    pub(super) stack: (usize, usize),
}

/// The types that a field of threads is found in, from JDK to JDK.
const THREAD_TYPES: [&CStr; 2] = [c"JavaThread", c"Thread"];

impl VmLayout {
    /// Looks everything up; otherwise answers what is missing.
    pub(super) fn find(vm: Vm) -> Result<Self, &'static str> {
        let library = Library::of(vm).ok_or("the library of the VM cannot be found")?;
        let function = library
            .symbol::<c_void>(c"AsyncGetCallTrace")
            .ok_or("this VM has no AsyncGetCallTrace")?;
        // SAFETY: HotSpot exports a function of this type under this name, and its library is never unloaded.
        let get_call_trace =
            unsafe { std::mem::transmute::<*const c_void, AsyncGetCallTrace>(function) };
        Self::with(vm, get_call_trace)
            .ok_or("this VM does not tell where its threads keep their stacks")
    }

    fn with(vm: Vm, get_call_trace: AsyncGetCallTrace) -> Option<Self> {
        let structs = VmStructs::find(vm)?;
        let offset = |types: &[&CStr], name| {
            types
                .iter()
                .find_map(|type_name| structs.offset(type_name, name))
        };
        let bound = |name| {
            let field = structs.field(c"CodeCache", name)?.not_null()?;
            Some(field.cast::<usize>())
        };
        let (low, high) = (bound(c"_low_bound")?, bound(c"_high_bound")?);
        let anchor = offset(&THREAD_TYPES, c"_anchor")?;
        Some(Self {
            get_call_trace,
            // SAFETY: both are static fields of the size of a pointer.
            code: unsafe { (low.read(), high.read()) },
            last_java_sp: anchor + offset(&[c"JavaFrameAnchor"], c"_last_Java_sp")?,
            last_java_pc: anchor + offset(&[c"JavaFrameAnchor"], c"_last_Java_pc")?,
            os_thread: offset(&THREAD_TYPES, c"_osthread")?,
            thread_id: offset(&[c"OSThread"], c"_thread_id")?,
            stack_base: offset(&THREAD_TYPES, c"_stack_base")?,
            stack_size: offset(&THREAD_TYPES, c"_stack_size")?,
        })
    }

    /// The code cache, which is not there yet while the agent is loaded.
    pub(super) fn with_code_cache(self, vm: Vm) -> Option<Self> {
        Self::with(vm, self.get_call_trace).filter(|layout| layout.code.0 < layout.code.1)
    }

    /// A thread that is alive and stays so meanwhile.
    pub(super) fn thread(&self, jni: Jni<'_>, thread: Object<'_>) -> Option<JavaThread> {
        let address = jni.native_thread(thread)?;
        // SAFETY: the VM's tables have these offsets, and the caller keeps the thread from ending.
        let (os_thread, base, size) = unsafe {
            (
                address.add(self.os_thread).cast::<*const u8>().read(),
                address.add(self.stack_base).cast::<usize>().read(),
                address.add(self.stack_size).cast::<usize>().read(),
            )
        };
        if os_thread.is_null() || size == 0 || base <= size {
            return None;
        }
        // SAFETY: as above; a thread of the VM has its OSThread until it has ended.
        let tid = unsafe { os_thread.add(self.thread_id).cast::<libc::pid_t>().read() };
        Some(JavaThread {
            address: address.addr(),
            tid,
            stack: (base - size, base),
        })
    }

    /// How far a thread's JNI environment is from its begin in the VM's memory; `None` on a virtual thread.
    pub(super) fn environment_offset(env: Env, jni: Jni<'_>) -> Option<usize> {
        let current = env.current_thread(jni).ok()??;
        let address = jni.native_thread(current.object())?;
        jni.as_raw().addr().checked_sub(address.addr())
    }
}
