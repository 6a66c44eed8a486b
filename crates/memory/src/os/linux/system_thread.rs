//! Threads of the system. The standard library's end the process if there is no memory for their bookkeeping.

use std::ffi::{CStr, c_void};
use std::io;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

/// The size of a thread's stack. The default of some systems is tiny.
const STACK: usize = 1 << 20;

type Body = Box<dyn FnOnce() + Send>;

/// A thread that can be joined. If it is dropped, the thread continues alone.
pub struct SystemThread(libc::pthread_t);

impl SystemThread {
    /// Runs `body` on a new thread, whose name has at most 15 bytes. A panic ends only the thread, and is ignored.
    pub fn start(name: &'static CStr, body: impl FnOnce() + Send + 'static) -> io::Result<Self> {
        let body: Box<Body> = Box::new(Box::new(body));
        let body = Box::into_raw(body);
        let mut thread = 0;
        let mut attributes = MaybeUninit::uninit();
        // SAFETY: the attributes are initialized by the first call, which cannot fail, used by the next two, and
        // destroyed by the last; the stack has more than the least size. `run` takes the box back, once, exactly when
        // the system answers 0.
        let refused = unsafe {
            libc::pthread_attr_init(attributes.as_mut_ptr());
            libc::pthread_attr_setstacksize(attributes.as_mut_ptr(), STACK);
            let body = body.cast::<c_void>();
            let refused = libc::pthread_create(&mut thread, attributes.as_ptr(), run, body);
            libc::pthread_attr_destroy(attributes.as_mut_ptr());
            refused
        };
        if refused != 0 {
            // SAFETY: the system refused, so `run` never gets it.
            drop(unsafe { Box::from_raw(body) });
            return Err(io::Error::from_raw_os_error(refused));
        }
        // SAFETY: the thread has neither been joined nor detached, so this is its number, and the name ends in NUL.
        unsafe { libc::pthread_setname_np(thread, name.as_ptr()) };
        Ok(Self(thread))
    }

    /// Waits for the thread to end.
    pub fn join(self) {
        // SAFETY: it is joined once, here, since `self` ends, and not detached. The answer of the thread is not wanted.
        unsafe { libc::pthread_join(self.0, ptr::null_mut()) };
        std::mem::forget(self);
    }
}

impl Drop for SystemThread {
    fn drop(&mut self) {
        // SAFETY: it is neither joined, which forgets `self`, nor detached before.
        unsafe { libc::pthread_detach(self.0) };
    }
}

extern "C" fn run(body: *mut c_void) -> *mut c_void {
    // SAFETY: `start` made this pointer from a box and hands it to this function alone.
    let body = unsafe { Box::from_raw(body.cast::<Body>()) };
    // The panic hook has reported it.
    let _ = catch_unwind(AssertUnwindSafe(body));
    ptr::null_mut()
}
