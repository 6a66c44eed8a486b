//! The handler's data about the VM: the function, and the offsets in threads.

use std::ffi::{CStr, c_void};

use super::async_call_trace::AsyncGetCallTrace;
use crate::env::Env;
use crate::hotspot::stack_walk::InterruptedWalker;
use crate::hotspot::thread_layout::{THREAD_TYPES, ThreadLayout, UNTESTED};
use crate::jni::Jni;
use crate::vm_kind::vm_structs::VmStructs;
use crate::vm_library::VmLibrary;

/// Offsets and addresses within the VM, from the tables that it exports for debuggers.
#[derive(Clone, Copy)]
pub(in crate::hotspot) struct VmLayout {
    /// The function.
    pub(super) get_call_trace: AsyncGetCallTrace,
    /// The beginning and the end of the code cache; it may grow within.
    pub(super) code: (usize, usize),
    /// The offsets of the stack pointer of a thread's last Java frame, and of its instruction.
    pub(super) last_java_sp: usize,
    pub(super) last_java_pc: usize,
    pub(in crate::hotspot) threads: ThreadLayout,
    /// Offsets in a thread.
    pub(in crate::hotspot) stack_base: usize,
    pub(in crate::hotspot) stack_size: usize,
}

/// The reason why there are no samples by AsyncGetCallTrace.
pub(super) const UNSOUND_CALL_TRACE: &str = "the agent does not know this VM's stacks, and its AsyncGetCallTrace has faults that can end the process";

impl VmLayout {
    /// Looks everything up; the error names what is missing.
    pub(in crate::hotspot) fn find(env: Env) -> Result<Self, &'static str> {
        let structs = env.vm_structs().ok_or(UNTESTED)?;
        if !InterruptedWalker::is_expected(env) && !env.vm_kind().has_sound_call_trace() {
            return Err(UNSOUND_CALL_TRACE);
        }
        let library = VmLibrary::of(env.vm()).ok_or("the library of the VM cannot be found")?;
        let function = library
            .symbol::<c_void>(c"AsyncGetCallTrace")
            .ok_or("this VM has no AsyncGetCallTrace")?;
        // SAFETY: HotSpot exports a function of this type under this name, and its library is never unloaded.
        let get_call_trace =
            unsafe { std::mem::transmute::<*const c_void, AsyncGetCallTrace>(function) };
        Self::with(structs, get_call_trace)
            .ok_or("this VM does not tell where its threads keep their stacks")
    }

    fn with(structs: VmStructs, get_call_trace: AsyncGetCallTrace) -> Option<Self> {
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
            threads: ThreadLayout::find(structs)?,
            stack_base: offset(&THREAD_TYPES, c"_stack_base")?,
            stack_size: offset(&THREAD_TYPES, c"_stack_size")?,
        })
    }

    /// Adds the code cache, which does not exist yet while the agent is loaded.
    pub(super) fn with_code_cache(self, env: Env) -> Option<Self> {
        Self::with(env.vm_structs()?, self.get_call_trace)
            .filter(|layout| layout.code.0 < layout.code.1)
    }

    /// Determines how the current thread, which must be a platform thread, is found in the VM's memory; `None` if it is
    /// not found.
    pub(in crate::hotspot) fn own_thread(env: Env, jni: Jni<'_>) -> Option<OwnThread> {
        let current = env.current_thread(jni).ok()??;
        let address = jni.native_thread(current.object())?.addr();
        Some(OwnThread {
            environment: jni.as_raw().addr().checked_sub(address)?,
            key: key_of(address)?,
        })
    }
}

/// The means by which a thread finds itself in the VM's memory.
#[derive(Clone, Copy)]
pub(in crate::hotspot) struct OwnThread {
    /// The distance from the thread's start to its JNI environment.
    pub(in crate::hotspot) environment: usize,
    /// The key of the C library's thread-specific data under which the VM keeps its address, for its own signal
    /// handlers (`ThreadLocalStorage`): set when a thread becomes one of the VM, and cleared before its memory is
    /// freed.
    pub(in crate::hotspot) key: libc::pthread_key_t,
}

/// Returns the key under which the current thread has this address; `None` if there are several, as another library may keep
/// it, too, and longer than the VM.
fn key_of(address: usize) -> Option<libc::pthread_key_t> {
    // SAFETY: sysconf takes a number.
    let count = unsafe { libc::sysconf(libc::_SC_THREAD_KEYS_MAX) };
    let keys = 0..libc::pthread_key_t::try_from(count).ok()?;
    // SAFETY: the number is one of a key. One that nobody has made holds null in the C libraries that there are.
    let is_at =
        |&key: &libc::pthread_key_t| unsafe { libc::pthread_getspecific(key) }.addr() == address;
    let mut found = keys.into_iter().filter(is_at);
    let key = found.next()?;
    found.next().is_none().then_some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_of_an_address_is_found() {
        let value = 0_u64;
        let address = (&raw const value).cast::<c_void>();
        assert_eq!(key_of(address.addr()), None);
        let mut key = 0;
        // SAFETY: the key is made before it is used, and this thread's value is never followed.
        unsafe {
            assert_eq!(libc::pthread_key_create(&mut key, None), 0);
            assert_eq!(libc::pthread_setspecific(key, address), 0);
            assert_eq!(key_of(address.addr()), Some(key));
            let mut other = 0;
            assert_eq!(libc::pthread_key_create(&mut other, None), 0);
            assert_eq!(libc::pthread_setspecific(other, address), 0);
            assert_eq!(key_of(address.addr()), None, "which of them?");
            libc::pthread_key_delete(other);
            libc::pthread_key_delete(key);
        }
    }
}
