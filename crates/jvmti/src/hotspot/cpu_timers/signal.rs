//! The handler of the signal, and the program's previous use of it.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};

use super::handler::{STATE, on_cpu_timer};
use super::timer::SIGNAL;

/// Set once the handler has been installed. It is never removed: a late signal of a timer would end the process if
/// there were no handler.
static INSTALLED: AtomicBool = AtomicBool::new(false);

/// Installs the agent's handler; the previous one is called for any signal that is not from the agent's timers. Returns
/// `false` if the program has replaced the agent's handler since: the program's may call it in turn, so it must not be
/// installed again.
pub(super) fn install() -> bool {
    if is_ours() {
        return true;
    }
    if INSTALLED.load(Ordering::Relaxed) {
        return false;
    }
    let Some(before) = current() else {
        return false;
    };
    let handler = match before.sa_sigaction {
        libc::SIG_DFL | libc::SIG_IGN => std::ptr::null_mut(),
        handler => std::ptr::with_exposed_provenance_mut::<c_void>(handler),
    };
    let takes_info = before.sa_flags & libc::SA_SIGINFO != 0;
    STATE
        .before_takes_info
        .store(takes_info.into(), Ordering::Relaxed);
    STATE.before.store(handler, Ordering::Release);
    let handler: unsafe extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut c_void) =
        on_cpu_timer;
    // SAFETY: the structure may be all zeros before it is filled in, and is read during the call only; the handler
    // keeps to what handlers may do and lives as long as the library, which the VM never unloads.
    let status = unsafe {
        let mut action = std::mem::zeroed::<libc::sigaction>();
        action.sa_sigaction = handler as usize;
        // Where a thread has a stack for signals, it may have interrupted a small one: that of a goroutine.
        action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_ONSTACK;
        action.sa_mask = before.sa_mask;
        // Flight Recorder's samples come at the same ticks of the kernel: its handler would find the thread in the
        // agent's.
        libc::sigaddset(&mut action.sa_mask, libc::SIGPROF);
        libc::sigaction(SIGNAL, &action, std::ptr::null_mut())
    };
    INSTALLED.store(status == 0, Ordering::Relaxed);
    status == 0
}

/// Returns `true` if nobody has replaced the agent's handler.
pub(super) fn is_ours() -> bool {
    let handler: unsafe extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut c_void) =
        on_cpu_timer;
    current().is_some_and(|action| action.sa_sigaction == handler as usize)
}

fn current() -> Option<libc::sigaction> {
    // SAFETY: the structure may be all zeros, and receives the answer.
    unsafe {
        let mut action = std::mem::zeroed::<libc::sigaction>();
        (libc::sigaction(SIGNAL, std::ptr::null(), &mut action) == 0).then_some(action)
    }
}
