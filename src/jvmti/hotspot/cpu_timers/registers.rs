//! The registers of an interrupted thread, from which AsyncGetCallTrace starts. Used in the handler: nothing here calls
//! anything.

use std::ffi::c_void;

use super::super::stack_walk::Interrupted;

/// The starting point of a stack walk.
#[derive(Clone, Copy)]
pub(super) struct StackPosition {
    /// The program counter.
    pub(super) pc: usize,
    /// The stack pointer.
    pub(super) sp: usize,
    /// The frame pointer, or any other value that the code keeps in its register.
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

    /// Returns the thread's position.
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

    /// Moves the thread to another position. The original must be restored before the handler returns.
    #[inline(always)]
    pub(super) fn set_place(self, place: StackPosition) {
        // SAFETY: as in `register`.
        unsafe {
            *self.register(libc::REG_RIP) = place.pc as libc::greg_t;
            *self.register(libc::REG_RSP) = place.sp as libc::greg_t;
            *self.register(libc::REG_RBP) = place.fp as libc::greg_t;
        }
    }

    /// Returns what a walk begins with.
    #[inline(always)]
    pub(super) fn interrupted(self) -> Interrupted {
        let StackPosition { pc, sp, fp } = self.place();
        // SAFETY: as in `register`.
        let r13 = unsafe { *self.register(libc::REG_R13) as usize };
        Interrupted {
            pc,
            sp,
            fp,
            link: 0,
            bytecode: r13,
            sender_sp: r13,
        }
    }
}

#[cfg(target_arch = "aarch64")]
impl Registers {
    const FRAME_POINTER: usize = 29;
    const LINK: usize = 30;
    const BYTECODE: usize = 22;
    const SENDER_SP: usize = 19;

    /// Returns the thread's position.
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

    /// Moves the thread to another position. The original must be restored before the handler returns.
    #[inline(always)]
    pub(super) fn set_place(self, place: StackPosition) {
        // SAFETY: as in `place`.
        let machine = unsafe { &mut (*self.0).uc_mcontext };
        machine.pc = place.pc as u64;
        machine.sp = place.sp as u64;
        machine.regs[Self::FRAME_POINTER] = place.fp as u64;
    }

    /// Returns what a walk begins with.
    #[inline(always)]
    pub(super) fn interrupted(self) -> Interrupted {
        let StackPosition { pc, sp, fp } = self.place();
        // SAFETY: as in `place`.
        let register = |number| unsafe { (*self.0).uc_mcontext.regs[number] as usize };
        Interrupted {
            pc,
            sp,
            fp,
            link: register(Self::LINK),
            bytecode: register(Self::BYTECODE),
            sender_sp: register(Self::SENDER_SP),
        }
    }
}
