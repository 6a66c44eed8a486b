//! Reads a word of memory that may not be there, or that may go away at any moment: a fault is an answer.
//!
//! [`load`] has one instruction that reads. If it faults, the agent's handler of SIGSEGV and SIGBUS continues the thread
//! where `load` returns that there is nothing. Every other fault is passed on with its arguments as they are to the handler
//! that was installed before, which is HotSpot's, or one that passes on what is HotSpot's.
//!
//! A program may install a handler of its own later, as the runtime of Go does, and that one may take a fault in `load`
//! for a fault in its own code. So a reader that expects faults asks [`is_in_front`] first. The handler is never installed
//! a second time: the later one may call it, and the two would call each other for ever. With `-Xcheck:jni` it is not
//! installed, because the VM then complains about handlers other than its own.
//!
//! Signal handlers call `load` and `is_in_front`. (Copying by `process_vm_readv` cannot fault either, but takes a
//! thousand times as long as `load`, and some filters of system calls end the process for it.)

use std::arch::naked_asm;
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use crate::env::Env;
use crate::hotspot::{BoolFlag, VmFlags};

type Handler = unsafe extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);

/// The handlers that were installed before.
static BEFORE_SEGV: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
static BEFORE_BUS: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

/// Set at the first attempt to install the handlers. They are never removed.
static TRIED: AtomicBool = AtomicBool::new(false);

/// What [`load_word`] returns, in two registers.
#[repr(C)]
struct Loaded {
    word: usize,
    is_there: usize,
}

/// Returns the word at an address; `None` if there is no memory. While the handler is not installed, a fault ends the
/// process.
///
/// # Safety
/// The memory is there, or [`is_in_front`] has just returned `true`, or the memory was there a moment ago.
#[inline(always)]
pub(super) unsafe fn load(address: usize) -> Option<usize> {
    // SAFETY: it reads one word, whose fault is an answer if the handler is installed; the caller has a reason to expect
    // none if it is not.
    let loaded = unsafe { load_word(address) };
    if loaded.is_there == 0 {
        return None;
    }
    Some(loaded.word)
}

/// Returns the word at an address. Its first instruction is the one that may fault.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
#[unsafe(link_section = "hprof_handler")]
unsafe extern "C" fn load_word(address: usize) -> Loaded {
    naked_asm!("mov rax, [rdi]", "mov edx, 1", "ret")
}

/// Returns from [`load_word`] after a fault, which has changed no register.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
#[unsafe(link_section = "hprof_handler")]
extern "C" fn load_failed() -> Loaded {
    naked_asm!("xor eax, eax", "xor edx, edx", "ret")
}

/// Returns the word at an address. Its first instruction is the one that may fault.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
#[unsafe(link_section = "hprof_handler")]
unsafe extern "C" fn load_word(address: usize) -> Loaded {
    naked_asm!("ldr x0, [x0]", "mov x1, #1", "ret")
}

/// Returns from [`load_word`] after a fault, which has changed no register.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
#[unsafe(link_section = "hprof_handler")]
extern "C" fn load_failed() -> Loaded {
    naked_asm!("mov x0, #0", "mov x1, #0", "ret")
}

/// The handler of SIGSEGV and SIGBUS, called by the kernel, or by a handler that was installed later.
///
/// # Safety
/// The arguments are those of the kernel.
#[unsafe(link_section = "hprof_handler")]
unsafe extern "C" fn on_fault(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel's context, which is this handler's until it returns.
    let pc = unsafe { program_counter(context) };
    let load_word: unsafe extern "C" fn(usize) -> Loaded = load_word;
    let load_failed: extern "C" fn() -> Loaded = load_failed;
    // SAFETY: as above. Nothing else is at this address, and the function continued returns what this one returns.
    unsafe {
        if *pc == load_word as usize as Word {
            *pc = load_failed as usize as Word;
            return;
        }
    }
    let before = match signal {
        libc::SIGSEGV => BEFORE_SEGV.load(Ordering::Acquire),
        _ => BEFORE_BUS.load(Ordering::Acquire),
    };
    // SAFETY: a handler with three arguments, as `install_for` has found.
    unsafe {
        let before = std::mem::transmute::<*mut c_void, Handler>(before);
        before(signal, info, context);
    }
}

/// # Safety
/// `context` is what the kernel passed to a handler that is still running.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn program_counter(context: *mut c_void) -> *mut Word {
    let context = context.cast::<libc::ucontext_t>();
    // SAFETY: the caller's promise.
    unsafe { &raw mut (*context).uc_mcontext.gregs[libc::REG_RIP as usize] }
}

/// # Safety
/// As above.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
unsafe fn program_counter(context: *mut c_void) -> *mut Word {
    let context = context.cast::<libc::ucontext_t>();
    // SAFETY: the caller's promise.
    unsafe { &raw mut (*context).uc_mcontext.pc }
}

#[cfg(target_arch = "x86_64")]
type Word = i64;
#[cfg(target_arch = "aarch64")]
type Word = u64;

/// Installs the handlers in front of the VM's, unless the VM would complain. They stay.
pub(super) fn install(env: Env) {
    let flags = env.vm_structs().and_then(VmFlags::find);
    let checks_handlers = flags.is_none_or(|flags| flags.is_on(BoolFlag::CheckJniCalls));
    if !checks_handlers {
        install_once();
    }
}

fn install_once() {
    if TRIED.swap(true, Ordering::Relaxed) {
        return;
    }
    install_for(libc::SIGSEGV, &BEFORE_SEGV);
    install_for(libc::SIGBUS, &BEFORE_BUS);
}

/// Installs the handler in front of one that takes three arguments; elsewhere there is nothing to pass faults on to.
fn install_for(signal: c_int, place: &AtomicPtr<c_void>) {
    // SAFETY: the structure may be all zeros, and receives the answer.
    let mut action = unsafe { std::mem::zeroed::<libc::sigaction>() };
    // SAFETY: as above.
    if unsafe { libc::sigaction(signal, ptr::null(), &mut action) } != 0 {
        return;
    }
    let is_handler = |action: &libc::sigaction| {
        !matches!(action.sa_sigaction, libc::SIG_DFL | libc::SIG_IGN)
            && action.sa_flags & libc::SA_SIGINFO != 0
    };
    if !is_handler(&action) {
        return;
    }
    place.store(
        ptr::with_exposed_provenance_mut(action.sa_sigaction),
        Ordering::Release,
    );
    // With the flags and the mask of the one before, which runs as part of this one.
    let handler: Handler = on_fault;
    action.sa_sigaction = handler as usize;
    // SAFETY: the handler keeps to what handlers may do, and the library is never unloaded.
    unsafe { libc::sigaction(signal, &action, ptr::null_mut()) };
}

/// Returns `true` if the kernel calls the handler of this file for a fault. It is asked itself: the library `libjsig` tells
/// programs something else. SIGBUS is not looked at: it comes only where a mapped file has become shorter.
#[inline(always)]
pub(super) fn is_in_front() -> bool {
    // The kernel's structure begins with the handler, and is smaller.
    let mut action = [0_usize; 8];
    let mask_size = 8_usize;
    // SAFETY: the kernel writes the structure there, and changes nothing.
    let status = unsafe {
        libc::syscall(
            libc::SYS_rt_sigaction,
            libc::SIGSEGV,
            ptr::null_mut::<c_void>(),
            action.as_mut_ptr(),
            mask_size,
        )
    };
    let handler: Handler = on_fault;
    status == 0 && action[0] == handler as usize
}

/// Installs the handlers as in a VM: the test's runtime has handlers that take three arguments.
#[cfg(test)]
pub(super) fn install_for_test() {
    install_once();
    assert!(is_in_front());
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: usize = 4096;

    /// Puts a page at a place of the system's choice, or instead of the one at that address.
    fn map(at: usize, protection: c_int) -> usize {
        let fixed = if at == 0 { 0 } else { libc::MAP_FIXED };
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | fixed;
        let at = ptr::with_exposed_provenance_mut(at);
        // SAFETY: a mapping of the test's own, to which nothing refers but reads that may fault.
        let mapped = unsafe { libc::mmap(at, PAGE, protection, flags, -1, 0) };
        assert_ne!(mapped, libc::MAP_FAILED);
        mapped.expose_provenance()
    }

    fn bring(at: usize) -> usize {
        map(at, libc::PROT_READ | libc::PROT_WRITE)
    }

    /// Takes a page away, without leaving its place to another thread.
    fn take_away(at: usize) {
        map(at, libc::PROT_NONE);
    }

    #[test]
    fn a_fault_is_an_answer() {
        install_for_test();
        let page = bring(0);
        let words = [7_usize];
        let there = (&raw const words[0]).expose_provenance();
        // SAFETY: the handler is in front.
        unsafe {
            assert_eq!(load(there), Some(7));
            assert_eq!(load(page), Some(0));
            take_away(page);
            assert_eq!(load(page), None);
            assert_eq!(load(0), None);
            assert_eq!(load(0x696d_6f74_612f_7470), None, "no address");
            assert_eq!(load(usize::MAX - 7), None);
        }
    }

    const ROUNDS: usize = 10_000;

    #[test]
    fn memory_may_go_between_the_question_and_the_read() {
        install_for_test();
        let page = bring(0);
        for _ in 0..ROUNDS {
            bring(page);
            // SAFETY: the memory is there.
            assert_eq!(unsafe { load(page) }, Some(0));
            take_away(page);
            // SAFETY: the memory was there a moment ago, and the handler is in front.
            assert_eq!(unsafe { load(page) }, None);
        }
    }

    #[test]
    fn another_thread_may_take_memory_away_at_any_moment() {
        install_for_test();
        let page = bring(0);
        let is_done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_done.load(Ordering::Relaxed) {
                    take_away(page);
                    bring(page);
                }
            });
            for _ in 0..ROUNDS {
                // SAFETY: the handler is in front.
                let word = unsafe { load(page) };
                assert!(matches!(word, None | Some(0)), "{word:?}");
            }
            is_done.store(true, Ordering::Relaxed);
        });
    }
}
