//! The variables that the standard library and other crates declare with `thread_local!`. The C library allocates one when
//! a thread first uses it, and ends the process if there is no memory then. This module makes it do neither. The agent's
//! own values are in [`crate::PerThread`].

use std::arch::global_asm;
use std::ffi::{c_int, c_void};

use crate::PerThread;

type Destructor = unsafe extern "C" fn(*mut c_void);

/// The destructors of a thread's values, with the values, in the order of their registration.
#[derive(Default)]
struct Destructors(Vec<(Destructor, *mut c_void)>);

static DESTRUCTORS: PerThread<Destructors> = PerThread::new();

// glibc allocates each thread together with some room for the data of libraries that are loaded later. It places a
// library's data there if the data fit and the library has a relocation of the type TLSDESC. This code has that
// relocation, and is never run; the flag R keeps it in the library. On aarch64 the compiler uses this relocation anyway.
// musl allocates the data for all threads when it loads a library.
#[cfg(all(target_env = "gnu", target_arch = "x86_64"))]
global_asm!(
    ".pushsection .tbss.hprof_with_thread, \"awT\", @nobits",
    "hprof_with_thread: .zero 1",
    ".popsection",
    ".pushsection .text.hprof_with_thread, \"axR\", @progbits",
    "leaq hprof_with_thread@tlsdesc(%rip), %rax",
    "call *hprof_with_thread@tlscall(%rax)",
    "ret",
    ".popsection",
    options(att_syntax)
);

// The standard library registers destructors with the function of this name, for which both glibc and itself allocate in
// ways that end the process. For this library, and no other, the name stands for `register`.
global_asm!(
    ".pushsection .text.__cxa_thread_atexit_impl, \"ax\", @progbits",
    ".globl __cxa_thread_atexit_impl",
    ".hidden __cxa_thread_atexit_impl",
    ".type __cxa_thread_atexit_impl, @function",
    "__cxa_thread_atexit_impl:",
    #[cfg(target_arch = "x86_64")]
    "jmp {register}",
    #[cfg(target_arch = "aarch64")]
    "b {register}",
    ".popsection",
    register = sym register,
);

unsafe extern "C" {
    /// The name above.
    fn __cxa_thread_atexit_impl(
        destructor: Destructor,
        value: *mut c_void,
        library: *mut c_void,
    ) -> c_int;
}

/// The standard library's reference is weak, so it would not bring the name out of this crate's archive. This one does.
#[used]
static TAKEN_ALONG: unsafe extern "C" fn(Destructor, *mut c_void, *mut c_void) -> c_int =
    __cxa_thread_atexit_impl;

/// Has `destructor` called with `value` when the current thread ends. Without memory for that, the value is leaked.
///
/// # Safety
/// `destructor` may be called with `value` on this thread, once, at any time until the thread ends: until then the value
/// is there, and nothing else drops it.
unsafe extern "C" fn register(
    destructor: Destructor,
    value: *mut c_void,
    _library: *mut c_void,
) -> c_int {
    let registered = DESTRUCTORS.with(|destructors| {
        let Destructors(list) = destructors.get_or_insert_default();
        list.push((destructor, value));
    });
    if registered.is_some() { 0 } else { -1 }
}

impl Drop for Destructors {
    fn drop(&mut self) {
        while let Some((destructor, value)) = self.0.pop() {
            // SAFETY: `register` was promised that it may be called on this thread, which ends here; it was taken off the
            // list, so it is called once.
            unsafe { destructor(value) };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::thread;

    use super::*;

    #[test]
    fn values_of_the_standard_library_are_dropped_when_their_thread_ends() {
        static DROPPED: AtomicU32 = AtomicU32::new(0);

        struct Counted;

        impl Drop for Counted {
            fn drop(&mut self) {
                DROPPED.fetch_add(1, Ordering::Relaxed);
            }
        }

        thread_local! {
            static VALUE: Counted = const { Counted };
        }

        let registered = thread::spawn(|| {
            let count = || DESTRUCTORS.with(|list| list.as_ref().map_or(0, |list| list.0.len()));
            let before = count();
            VALUE.with(|_| ());
            Some(count()? - before?)
        });
        assert_eq!(registered.join().expect("it ends well"), Some(1));
        assert_eq!(DROPPED.load(Ordering::Relaxed), 1);
    }
}
