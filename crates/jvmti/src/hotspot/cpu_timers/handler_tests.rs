//! Tests of the handler, called as the kernel calls it.

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use super::async_call_trace::{AsyncGetCallTrace, CallTrace};
use super::handler::{MARK, MARK_SHIFT, SHARE, STATE, SignalInfo, on_cpu_timer, set_apart};
use super::interrupted_threads::{InterruptedThreads, JavaThread};
use crate::clock::current_tid;
use crate::hotspot::sample_ring::Ring;

use crate::sys;

/// Delivers the signal of a timer that names a record.
fn interrupt(record: u32) {
    deliver(libc::SI_TIMER, record);
}

fn deliver(code: i32, record: u32) {
    let mut info = SignalInfo {
        number: libc::SIGVTALRM,
        code,
        value: MARK << MARK_SHIFT | record as usize,
        ..SignalInfo::default()
    };
    // SAFETY: zero is a value of all its fields.
    let mut context: libc::ucontext_t = unsafe { std::mem::zeroed() };
    // SAFETY: the structures are those of the kernel.
    unsafe {
        on_cpu_timer(
            libc::SIGVTALRM,
            (&raw mut info).cast(),
            (&raw mut context).cast(),
        );
    }
}

/// The time for which a thread is without a processor, or a sample takes.
const LONG: Duration = Duration::from_millis(100);

/// Finds no stack, on a thread that has lost its processor.
unsafe extern "C" fn lose_the_processor(
    trace: *mut CallTrace,
    _depth: sys::jint,
    _context: *mut c_void,
) {
    thread::sleep(LONG);
    // SAFETY: the handler's.
    unsafe { (*trace).count = -1 };
}

#[test]
fn only_threads_in_the_vm_are_looked_into_and_none_too_often() {
    assert!(InterruptedThreads::prepare());
    let records = InterruptedThreads::shared().expect("they have been made");
    let ring = Ring::new(8, 1).expect("memory");
    let in_the_vm = [0_u64; 2];
    let address = |index: usize| ptr::from_ref(&in_the_vm[index]).expose_provenance();
    let thread = |address| JavaThread {
        address,
        tid: current_tid(),
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

    is_now_at(key, address(0));
    let weights = || {
        let mut weights = Vec::new();
        // SAFETY: this thread alone reads.
        unsafe { ring.read(usize::MAX, |sample| weights.push(sample.head.weight)) };
        weights
    };
    let state = records.get(record as usize).expect("it is taken");
    let charged = state.charged.load(Ordering::SeqCst);
    STATE.interval.store(10_000_000, Ordering::SeqCst);
    state.apart.store(3, Ordering::SeqCst);
    interrupt(record);
    interrupt(record);
    assert_eq!(weights(), [], "it is too early");
    interrupt(record);
    assert_eq!(weights(), [3]);
    let charged = state.charged.load(Ordering::SeqCst) - charged;
    assert_eq!(charged, 3, "nothing is charged without a sample");
    interrupt(record);
    assert_eq!(weights(), [1], "the last one took no time");

    const SLOW: u64 = 2_000_000;
    for took in [6_000, SLOW, SLOW, SLOW, 6_000, SLOW] {
        set_apart(state, took);
        let apart = state.apart.load(Ordering::SeqCst);
        assert_eq!(apart, 0, "some slow samples do not make a deep stack");
    }
    for _ in 0..40 {
        set_apart(state, SLOW);
    }
    let share = SLOW * SHARE / STATE.interval.load(Ordering::SeqCst);
    assert_eq!(u64::from(state.apart.load(Ordering::SeqCst)), share);
    for _ in 0..40 {
        set_apart(state, 6_000);
    }
    assert_eq!(state.apart.load(Ordering::SeqCst), 0);

    let no_stack: AsyncGetCallTrace = lose_the_processor;
    STATE
        .get_call_trace
        .store(no_stack as *mut c_void, Ordering::SeqCst);
    STATE.depth.store(1, Ordering::SeqCst);
    for _ in 0..3 {
        interrupt(record);
    }
    assert_eq!(weights(), [1, 1, 1], "they took no CPU time");
    STATE.depth.store(0, Ordering::SeqCst);

    state.asked.store(5, Ordering::SeqCst);
    deliver(libc::SI_QUEUE, record);
    deliver(libc::SI_QUEUE, record);
    assert_eq!(weights(), [5], "asked for once");

    STATE.ring.store(ptr::null_mut(), Ordering::SeqCst);
    records.give_back(record);
    // SAFETY: nobody uses it any more.
    unsafe { libc::pthread_key_delete(key) };
}
