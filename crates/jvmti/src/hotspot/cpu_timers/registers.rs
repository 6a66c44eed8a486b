//! The registers of an interrupted thread, from which AsyncGetCallTrace starts. Used in the handler: nothing here calls
//! anything.

use std::ffi::c_void;
use std::ptr;

use super::super::stack_walk::Interrupted;
use crate::stack_bounds::StackBounds;

/// Where the context is in the frame that the kernel makes for a handler: after the return address.
#[cfg(target_arch = "x86_64")]
const CONTEXT_IN_FRAME: usize = size_of::<usize>();
/// Where the context is in the frame that the kernel makes for a handler: after the `siginfo_t`.
#[cfg(target_arch = "aarch64")]
const CONTEXT_IN_FRAME: usize = size_of::<libc::siginfo_t>();
/// The highest number of a signal.
const HIGHEST_SIGNAL: usize = 64;
/// The most handlers of other signals that are passed over.
const MOST_HANDLERS: usize = 8;
/// The most functions that such a handler has called.
#[cfg(target_arch = "x86_64")]
const MOST_CALLED: usize = 16;

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

    /// Returns the registers of the code that was interrupted, not those of the handlers of other signals. The kernel delivers
    /// several signals at once by putting the frame of one handler onto that of the next, so the thread seems to have been
    /// interrupted at the first instruction of a handler, as of Flight Recorder's, which stops threads by signals. And another
    /// profiler's handler can be interrupted anywhere. `info` is the address of this handler's `siginfo_t`.
    ///
    /// # Safety
    /// As for `from_context`; `stack` are the bounds of the current thread's stack.
    #[unsafe(link_section = "hprof_handler")]
    #[inline(never)]
    pub(super) unsafe fn below_handlers(self, info: usize, stack: StackBounds) -> Self {
        let mut registers = self;
        let mut passed = 0;
        while passed < MOST_HANDLERS {
            // SAFETY: the caller's promise.
            let below = unsafe {
                match registers.below_entry(self, info, stack) {
                    Some(below) => Some(below),
                    None => registers.below_running(self, stack),
                }
            };
            let Some(below) = below else {
                break;
            };
            registers = below;
            passed = passed.wrapping_add(1);
        }
        registers
    }

    /// Returns the registers below a handler that has not begun.
    ///
    /// # Safety
    /// As for `below_handlers`; `own` is the context of the handler that is running.
    #[inline(always)]
    unsafe fn below_entry(self, own: Self, info: usize, stack: StackBounds) -> Option<Self> {
        let (sp, context) = (self.place().sp, self.context_at_entry()?);
        let after = context.wrapping_add(size_of::<libc::ucontext_t>());
        if sp < stack.begin || context < sp || after < context || after > stack.end {
            return None;
        }
        // SAFETY: the words at and after the stack pointer of interrupted code are there, up to the stack's end.
        if !unsafe { self.is_at_entry(own, info) } {
            return None;
        }
        Some(Self(ptr::with_exposed_provenance_mut(context)))
    }

    /// Returns the address of the context that a handler gets, if the registers may be those of its first instruction: its
    /// arguments are the number of the signal, and two places in the frame that the kernel has put onto the stack.
    #[inline(always)]
    fn context_at_entry(self) -> Option<usize> {
        let (signal, _, context) = self.arguments();
        let is_entry = signal.wrapping_sub(1) < HIGHEST_SIGNAL
            && context == self.place().sp.wrapping_add(CONTEXT_IN_FRAME)
            && context.is_multiple_of(size_of::<usize>());
        if is_entry { Some(context) } else { None }
    }
}

#[cfg(target_arch = "x86_64")]
impl Registers {
    /// Returns the first three arguments of a function that begins here.
    #[inline(always)]
    fn arguments(self) -> (usize, usize, usize) {
        // SAFETY: as in `register`.
        let argument = |number| unsafe { *self.register(number) as usize };
        (
            argument(libc::REG_RDI),
            argument(libc::REG_RSI),
            argument(libc::REG_RDX),
        )
    }

    /// Returns `true` if the frame of a handler is like that of this one: it returns to the same address, and its `siginfo_t` is
    /// at the same distance.
    ///
    /// # Safety
    /// The word at the stack pointer is there; `own` is the context of the handler that is running, `info` its `siginfo_t`.
    #[inline(always)]
    unsafe fn is_at_entry(self, own: Self, info: usize) -> bool {
        let (_, its_info, context) = self.arguments();
        // SAFETY: the kernel puts the return address right before the context; the other is promised.
        let (its_return, own_return) = unsafe {
            let at_sp: *const usize = ptr::with_exposed_provenance(self.place().sp);
            (*at_sp, *own.0.cast::<usize>().sub(1))
        };
        its_return == own_return
            && its_info.wrapping_sub(context) == info.wrapping_sub(own.0.addr())
    }

    /// Returns the registers below a handler that is running: of the functions on the stack, by their frame pointers, the one
    /// that returns to where this handler does. If it has no frame pointer, there is none.
    ///
    /// # Safety
    /// As for `below_entry`.
    #[inline(always)]
    unsafe fn below_running(self, own: Self, stack: StackBounds) -> Option<Self> {
        const WORD: usize = size_of::<usize>();
        let StackPosition { sp, mut fp, .. } = self.place();
        if !stack.contains(sp) {
            return None;
        }
        let end = stack.end;
        // SAFETY: as in `is_at_entry`.
        let own_return = unsafe { *own.0.cast::<usize>().sub(1) };
        let mut least = sp;
        let mut called = 0;
        while called < MOST_CALLED && fp >= least && fp < end && fp.is_multiple_of(WORD) {
            if end.wrapping_sub(fp) < 2 * WORD + size_of::<libc::ucontext_t>() {
                break;
            }
            let frame: *const usize = ptr::with_exposed_provenance(fp);
            // SAFETY: two words at or after the stack pointer of interrupted code, before the end of the stack.
            let (outer, its_return) = unsafe { (*frame, *frame.add(1)) };
            if its_return == own_return {
                let context = fp.wrapping_add(2 * WORD);
                let below = Self(ptr::with_exposed_provenance_mut(context));
                // The words may be left from an earlier handler. A context has its selectors, and a stack that continues
                // after it.
                // SAFETY: as in `register`: there is room for a context before the end of the stack.
                let (selectors, own_selectors) = unsafe {
                    (
                        *below.register(libc::REG_CSGSFS),
                        *own.register(libc::REG_CSGSFS),
                    )
                };
                let below_sp = below.place().sp;
                let after = context.wrapping_add(size_of::<libc::ucontext_t>());
                let is_context = selectors == own_selectors && below_sp >= after && below_sp < end;
                return if is_context { Some(below) } else { None };
            }
            least = fp.wrapping_add(2 * WORD);
            fp = outer;
            called = called.wrapping_add(1);
        }
        None
    }

    #[inline(always)]
    fn register(self, number: libc::c_int) -> *mut libc::greg_t {
        // SAFETY: `from_context` was promised a context, and the numbers below are of registers that it has.
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

    /// Returns the first three arguments of a function that begins here.
    #[inline(always)]
    fn arguments(self) -> (usize, usize, usize) {
        // SAFETY: `from_context` was promised a context.
        let argument = |number| unsafe { (*self.0).uc_mcontext.regs[number] as usize };
        (argument(0), argument(1), argument(2))
    }

    /// Returns `true` if the frame of a handler is like that of this one, with its `siginfo_t` at the same distance.
    ///
    /// # Safety
    /// `own` is the context of the handler that is running, `info` its `siginfo_t`.
    #[inline(always)]
    unsafe fn is_at_entry(self, own: Self, info: usize) -> bool {
        let (_, its_info, context) = self.arguments();
        its_info == self.place().sp
            && its_info.wrapping_sub(context) == info.wrapping_sub(own.0.addr())
    }

    /// There are no registers below a handler that is running: its frame does not say where the kernel has put them.
    ///
    /// # Safety
    /// None is needed.
    #[inline(always)]
    unsafe fn below_running(self, _own: Self, _stack: StackBounds) -> Option<Self> {
        None
    }

    /// Returns the thread's position.
    #[inline(always)]
    pub(super) fn place(self) -> StackPosition {
        // SAFETY: `from_context` was promised a context.
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

#[cfg(test)]
mod tests {
    use super::*;

    const RETURN: usize = 77;
    const FRAME_AT: usize = 64;

    /// The frame of a handler as the kernel makes it, and room after it.
    struct Frame([usize; 1024]);

    impl Frame {
        fn new() -> Box<Self> {
            let mut frame = Box::new(Self([0; 1024]));
            frame.0[FRAME_AT] = RETURN;
            frame
        }

        fn sp(&self) -> usize {
            (&raw const self.0[FRAME_AT]).expose_provenance()
        }

        fn context(&self) -> usize {
            self.sp() + CONTEXT_IN_FRAME
        }

        fn info(&self) -> usize {
            match CONTEXT_IN_FRAME == size_of::<libc::siginfo_t>() {
                true => self.sp(),
                false => self.context() + 304,
            }
        }

        fn bounds(&self) -> StackBounds {
            let begin = self.0.as_ptr().addr();
            let end = begin + size_of_val(&self.0);
            StackBounds { begin, end }
        }

        /// Sets the registers in its context to those at the first instruction of the handler of `other`.
        fn is_before(&mut self, other: &Self, signal: usize) {
            let context: *mut libc::ucontext_t =
                ptr::with_exposed_provenance_mut(self.0.as_mut_ptr().expose_provenance());
            // SAFETY: the frame has room for a context there, and every number is one.
            let machine = unsafe {
                let context = context.byte_add(self.context() - self.bounds().begin);
                &mut (*context).uc_mcontext
            };
            let arguments = [signal, other.info(), other.context()];
            #[cfg(target_arch = "x86_64")]
            {
                machine.gregs[libc::REG_RSP as usize] = other.sp() as libc::greg_t;
                let registers = [libc::REG_RDI, libc::REG_RSI, libc::REG_RDX];
                for (register, argument) in registers.into_iter().zip(arguments) {
                    machine.gregs[register as usize] = argument as libc::greg_t;
                }
            }
            #[cfg(target_arch = "aarch64")]
            {
                machine.sp = other.sp() as u64;
                for (register, argument) in arguments.into_iter().enumerate() {
                    machine.regs[register] = argument as u64;
                }
            }
        }

        /// Sets the stack pointer and the frame pointer in its context.
        #[cfg(target_arch = "x86_64")]
        fn is_running(&mut self, sp: usize, fp: usize) {
            let context: *mut c_void = ptr::with_exposed_provenance_mut(self.context());
            // SAFETY: the frame has room for a context there, and every number is one.
            let registers = unsafe { Registers::from_context(context) };
            registers.set_place(StackPosition { pc: 1, sp, fp });
        }

        /// Returns the context at which a walk begins, if this is the frame of the handler that runs.
        fn begins_at(&self, stack: StackBounds) -> usize {
            let context: *mut c_void = ptr::with_exposed_provenance_mut(self.context());
            // SAFETY: a context, and the bounds of memory that is there.
            let below =
                unsafe { Registers::from_context(context).below_handlers(self.info(), stack) };
            below.0.addr()
        }
    }

    #[test]
    fn a_handler_that_has_not_begun_is_passed_over() {
        let (mut own, mut pending, last) = (Frame::new(), Frame::new(), Frame::new());
        own.is_before(&pending, 12);
        assert_eq!(own.begins_at(pending.bounds()), pending.context());
        assert_eq!(own.begins_at(last.bounds()), own.context(), "another stack");
        // Two of them.
        let (one, other) = (pending.bounds(), last.bounds());
        let all = StackBounds {
            begin: one.begin.min(other.begin),
            end: one.end.max(other.end),
        };
        pending.is_before(&last, 64);
        assert_eq!(own.begins_at(all), last.context());
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn a_handler_that_is_running_is_passed_over() {
        // The frame of the handler, which ends with its return address, is where the kernel has left room for it.
        let (mut own, mut running) = (Frame::new(), Frame::new());
        own.0[FRAME_AT] = RETURN;
        let stack = running.bounds();
        let word = |index: usize| stack.begin + 8 * index;
        running.0[FRAME_AT - 1] = word(4);
        // It has called a function.
        running.0[FRAME_AT - 21] = word(FRAME_AT - 1);
        running.0[FRAME_AT - 20] = RETURN + 5;
        own.is_running(word(FRAME_AT - 30), word(FRAME_AT - 21));
        running.is_running(word(1000), 0);
        assert_eq!(own.begins_at(stack), running.context());
        // Without frame pointers, at another return address, and where no context is.
        own.is_running(word(FRAME_AT - 30), 1);
        assert_eq!(own.begins_at(stack), own.context());
        own.is_running(word(FRAME_AT - 30), word(FRAME_AT - 1));
        assert_eq!(own.begins_at(stack), running.context());
        running.is_running(word(2), 0);
        assert_eq!(own.begins_at(stack), own.context());
        running.is_running(word(1000), 0);
        running.0[FRAME_AT] = RETURN + 1;
        assert_eq!(own.begins_at(stack), own.context());
    }

    #[test]
    fn code_that_is_no_handler_keeps_its_registers() {
        let (mut own, mut pending) = (Frame::new(), Frame::new());
        let stack = pending.bounds();
        for signal in [0, 65] {
            own.is_before(&pending, signal);
            assert_eq!(own.begins_at(stack), own.context(), "no signal");
        }
        own.is_before(&pending, 12);
        if cfg!(target_arch = "x86_64") {
            pending.0[FRAME_AT] = RETURN + 1;
            assert_eq!(own.begins_at(stack), own.context(), "it returns elsewhere");
        }
    }
}
