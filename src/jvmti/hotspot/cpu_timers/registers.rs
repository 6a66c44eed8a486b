//! The registers of a thread that a signal interrupted, which AsyncGetCallTrace starts from. Used in the handler: nothing here
//! calls anything.

use std::ffi::c_void;

/// What a stack is walked from.
#[derive(Clone, Copy)]
pub(super) struct StackPosition {
    /// The instruction.
    pub(super) pc: usize,
    /// The stack pointer.
    pub(super) sp: usize,
    /// The frame pointer, or whatever else the code keeps in its register.
    pub(super) fp: usize,
}

/// The registers in the `ucontext_t` that the kernel passes to a handler.
#[derive(Clone, Copy)]
pub(super) struct Registers(*mut libc::ucontext_t);

impl Registers {
    /// # Safety
    /// `context` is what the kernel passed to the handler, which is still running.
    #[inline(always)]
    pub(super) unsafe fn from_context(context: *mut c_void) -> Self {
        Self(context.cast())
    }
}

#[cfg(target_arch = "x86_64")]
impl Registers {
    #[inline(always)]
    fn register(self, number: libc::c_int) -> *mut libc::greg_t {
        // SAFETY: `of` was promised a context, and the numbers below are of registers that it has.
        unsafe {
            let registers = &raw mut (*self.0).uc_mcontext.gregs;
            registers.cast::<libc::greg_t>().add(number as usize)
        }
    }

    /// Where the thread is.
    #[inline(always)]
    pub(super) fn place(self) -> StackPosition {
        // SAFETY: as in `register`.
        unsafe {
            StackPosition {
                pc: *self.register(libc::REG_RIP) as usize,
                sp: *self.register(libc::REG_RSP) as usize,
                fp: *self.register(libc::REG_RBP) as usize,
            }
        }
    }

    /// Lets the thread seem to be elsewhere. What was there has to be set again before the handler returns.
    #[inline(always)]
    pub(super) fn set_place(self, place: StackPosition) {
        // SAFETY: as in `register`.
        unsafe {
            *self.register(libc::REG_RIP) = place.pc as libc::greg_t;
            *self.register(libc::REG_RSP) = place.sp as libc::greg_t;
            *self.register(libc::REG_RBP) = place.fp as libc::greg_t;
        }
    }

    /// The return address of a function that has not saved it: this processor's calls always do.
    #[inline(always)]
    pub(super) fn link(self) -> usize {
        0
    }
}

#[cfg(target_arch = "aarch64")]
impl Registers {
    const FRAME_POINTER: usize = 29;
    const LINK: usize = 30;

    /// Where the thread is.
    #[inline(always)]
    pub(super) fn place(self) -> StackPosition {
        // SAFETY: `of` was promised a context.
        let machine = unsafe { &(*self.0).uc_mcontext };
        StackPosition {
            pc: machine.pc as usize,
            sp: machine.sp as usize,
            fp: machine.regs[Self::FRAME_POINTER] as usize,
        }
    }

    /// Lets the thread seem to be elsewhere. What was there has to be set again before the handler returns.
    #[inline(always)]
    pub(super) fn set_place(self, place: StackPosition) {
        // SAFETY: as in `place`.
        let machine = unsafe { &mut (*self.0).uc_mcontext };
        machine.pc = place.pc as u64;
        machine.sp = place.sp as u64;
        machine.regs[Self::FRAME_POINTER] = place.fp as u64;
    }

    /// The return address of a function that has not saved it.
    #[inline(always)]
    pub(super) fn link(self) -> usize {
        // SAFETY: as in `place`.
        unsafe { (*self.0).uc_mcontext.regs[Self::LINK] as usize }
    }
}
