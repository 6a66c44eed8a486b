//! Tests of the handler, called as the kernel calls it.

use std::ptr;
use std::sync::atomic::Ordering;

use super::current_tid;
use super::handler::{MARK, MARK_SHIFT, STATE, on_cpu_timer};
use super::interrupted_threads::InterruptedThreads;
use super::ring::Ring;
use crate::jvmti::hotspot::thread_layout::JavaThread;

/// Delivers the signal of a timer that names a record.
fn interrupt(record: u32) {
    // SAFETY: a `siginfo_t` may be all zeros; the fields are those that a timer's signal has. Without a depth the
    // handler looks at no register.
    unsafe {
        let mut info = std::mem::zeroed::<libc::siginfo_t>();
        info.si_signo = libc::SIGVTALRM;
        info.si_code = libc::SI_TIMER;
        let value = (&raw mut info).byte_add(24).cast::<usize>();
        value.write(MARK << MARK_SHIFT | record as usize);
        on_cpu_timer(libc::SIGVTALRM, &mut info, ptr::null_mut());
    }
}

#[test]
fn a_thread_that_has_left_the_vm_is_not_looked_into() {
    assert!(InterruptedThreads::prepare());
    let records = InterruptedThreads::shared().expect("they have been made");
    let ring = Ring::new(8, 1).expect("memory");
    let in_the_vm = [0_u64; 2];
    let address = |index: usize| ptr::from_ref(&in_the_vm[index]).expose_provenance();
    let thread = |address| JavaThread {
        address,
        tid: current_tid(),
        stack: (0, 0),
    };
    let record = records.take(1, thread(address(0))).expect("a record");
    let is_now_at = |key, address: usize| {
        // SAFETY: the key is there, and nobody follows the value.
        unsafe { libc::pthread_setspecific(key, ptr::without_provenance(address)) };
    };
    let samples = || {
        let mut samples = 0;
        // SAFETY: this thread alone reads.
        unsafe { ring.read(usize::MAX, |_| samples += 1) };
        samples
    };
    let mut key = 0;
    // SAFETY: `key` receives the answer.
    assert_eq!(unsafe { libc::pthread_key_create(&mut key, None) }, 0);
    STATE.thread_key.store(key, Ordering::SeqCst);
    STATE.depth.store(0, Ordering::SeqCst);
    let shared = ptr::from_ref(records).cast_mut();
    STATE.records.store(shared, Ordering::SeqCst);
    STATE
        .ring
        .store((&raw const ring).cast_mut(), Ordering::SeqCst);

    is_now_at(key, address(0));
    interrupt(record);
    assert_eq!(samples(), 1, "it is in the VM");
    is_now_at(key, 0);
    interrupt(record);
    assert_eq!(samples(), 0, "it has left the VM");
    is_now_at(key, address(1));
    interrupt(record);
    assert_eq!(samples(), 0, "it has come back as another one");

    STATE.ring.store(ptr::null_mut(), Ordering::SeqCst);
    records.give_back(record);
    // SAFETY: nobody uses it any more.
    unsafe { libc::pthread_key_delete(key) };
}
