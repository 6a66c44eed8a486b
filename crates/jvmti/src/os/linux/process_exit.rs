//! The end of the process by `exit`.

use std::ffi::{CStr, c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr;

/// Has a function called when the process calls `exit` or its `main` returns. It must not unwind.
pub(crate) fn at_exit(function: extern "C" fn()) {
    // SAFETY: the function takes nothing, does not unwind, and stays where it is: the VM unloads no agent that has
    // begun. If the system has no room for the handler, the process ends without it.
    unsafe { libc::atexit(function) };
}

/// Returns `true` if the VM has called `exit`, by the stack of the current thread, which is in a function of [`at_exit`].
pub(crate) fn vm_calls_exit() -> bool {
    let mut found = false;
    let data = (&raw mut found).cast::<c_void>();
    // SAFETY: the unwinder calls `look_at_frame` with this pointer before it returns, and unwinds nothing.
    unsafe { _Unwind_Backtrace(look_at_frame, data) };
    found
}

/// The unwinder's context of a frame.
#[repr(C)]
struct FrameContext {
    _opaque: [u8; 0],
}

// The unwinder that the standard library uses for panics.
unsafe extern "C" {
    fn _Unwind_Backtrace(
        look: unsafe extern "C" fn(*mut FrameContext, *mut c_void) -> c_int,
        data: *mut c_void,
    ) -> c_int;
    fn _Unwind_GetIP(frame: *mut FrameContext) -> usize;
}

/// The unwinder's answer to go on with the next frame.
const GO_ON: c_int = 0;
/// One to go no further.
const STOP: c_int = 4;

/// Looks at a frame, the innermost first, up to one that is neither the agent's nor in the C library.
///
/// # Safety
/// The unwinder calls it, with the answer of [`vm_calls_exit`].
unsafe extern "C" fn look_at_frame(frame: *mut FrameContext, data: *mut c_void) -> c_int {
    // SAFETY: the unwinder's frame.
    let address = unsafe { _Unwind_GetIP(frame) };
    let own = library_of(look_at_frame as *const c_void);
    let c_library = library_of(libc::exit as *const c_void);
    let library = library_of(ptr::without_provenance(address));
    match library {
        Some(library) if Some(library) == own || Some(library) == c_library => GO_ON,
        Some(library) if is_hotspot(library) => {
            // SAFETY: the caller's promise.
            unsafe { *data.cast() = true };
            STOP
        }
        _ => STOP,
    }
}

/// Returns the path of the library that has this address.
fn library_of(address: *const c_void) -> Option<&'static CStr> {
    let mut info = MaybeUninit::<libc::Dl_info>::uninit();
    // SAFETY: `dladdr` fills the structure or answers 0; the path is the dynamic linker's, which keeps it as long as the
    // library is loaded. All of those on the stack are.
    unsafe {
        if libc::dladdr(address, info.as_mut_ptr()) == 0 {
            return None;
        }
        let path = info.assume_init().dli_fname;
        (!path.is_null()).then(|| CStr::from_ptr(path))
    }
}

fn is_hotspot(library: &CStr) -> bool {
    library.to_bytes().ends_with(b"/libjvm.so")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_hotspot_is_the_vm() {
        assert!(is_hotspot(c"/usr/lib/jvm/lib/server/libjvm.so"));
        assert!(!is_hotspot(c"/usr/lib/libmyjvm.so"));
    }
}
