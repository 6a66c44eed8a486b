//! Takes the stack of the current thread in a signal handler, or of one that is suspended (Windows): the methods and positions of its frames, by the VM's own
//! data, without calling the VM.
//!
//! A thread in the VM, in native code or in a callback has left word of its last Java frame (`JavaFrameAnchor`), from
//! which the walk begins. A thread in Java has been interrupted at any instruction, so its innermost frame may be half
//! made or half given up (`top`): the instructions around it say which part is there (`machine`).
//!
//! # What is read, and why it can be
//!
//! The parent module describes the rules for the stack, for code and for methods; they hold here, too. In addition:
//!
//! - **Certain places**: the last Java frame of a thread that has left Java, and its callers: the VM walks them
//!   by the same rules. Each keeps its method, the method's class, and its code with the debug information.
//! - **Likely places**: the callers of an interrupted instruction, because what that code has put on the stack is told
//!   by a few instructions around it. Such a place may be a number that was left on the stack, of a frame and code long
//!   gone. So each word is read in such a way that missing memory is an answer (`probe`), except for those of the stack and
//!   of code heaps, which are there. A method counts only if its class leads back to it (`method`), and the bytecode pointer must
//!   lie within the method's code. The reader asks the VM only about methods of classes that it knows otherwise
//!   (`FrameClasses`).
//!
//! A likely place counts only if the whole walk from there on arrives at the end of the stack, or at the depth wanted.
//! A stack that does not fit these rules is refused, with the reason. One that takes too long is cut, and marked as cut.
//!
//! Signal handlers call this, so all of its functions are in the handler's section, or inlined into those that are.

mod callers;
mod code;
mod frame_method;
mod interrupted_stack;
mod machine;
#[cfg(all(test, target_arch = "aarch64"))]
mod machine_aarch64_tests;
#[cfg(all(test, target_arch = "x86_64"))]
mod machine_tests;
mod method;
#[cfg_attr(windows, path = "native_windows.rs")]
mod native;
mod top;
mod walk;

use super::super::super::native_code::UnwindTable;
use super::super::cpu_timers::{CallFrame, refused};
use super::layout::WORD;
use super::own_stack::unsigned;
use super::probe::{self, MemoryReader};
use super::{
    Env, Jni, Layout, MOST_FRAMES, NoRecord, Object, OwnStack, Place, StackWalker, VmStructs, read,
};
use crate::stack_bounds::StackBounds;
use code::CodeLayout;
use frame_method::FrameMethodLayout;
pub(crate) use method::ClassMethod;
pub(in crate::hotspot) use method::MethodLayout;
use walk::Walk;

/// The registers of an interrupted thread.
#[derive(Clone, Copy)]
pub(crate) struct Interrupted {
    /// The program counter.
    pub pc: usize,
    /// The stack pointer.
    pub sp: usize,
    /// The frame pointer, or whatever the code keeps in its register.
    pub fp: usize,
    /// The return address of a function that has not saved it; 0 on processors whose calls save it.
    pub link: usize,
    /// The interpreter's registers for the current bytecode, and for the stack pointer of the caller.
    pub bytecode: usize,
    /// See above.
    pub sender_sp: usize,
}

/// Walks the current thread's stack in a signal handler.
pub(crate) struct InterruptedWalker {
    walker: StackWalker,
    code: CodeLayout,
    methods: FrameMethodLayout,
    thread_state: usize,
    /// `_thread_in_Java` of `JavaThreadState`, whose numbers are others from JDK 28 on.
    in_java: i32,
    /// `None` in a VM that does not export it: before 25.0.3.
    continuation: Option<ContinuationLayout>,
}

/// Offsets of fields that lead to the frame by which a thread runs a virtual one.
struct ContinuationLayout {
    /// `JavaThread::_cont_entry`, the place of that frame.
    entry: usize,
    /// `Method::_code`, which the method of that frame always has.
    code: usize,
}

/// The CPU time that a walk may take, in nanoseconds: a hundred times what most take.
const MOST_TIME: u64 = 1_000_000;

impl InterruptedWalker {
    /// Returns `true` if `find` will find what it needs, as far as that can be told while the VM is loading.
    pub(crate) fn is_expected(env: Env) -> bool {
        let layouts = || {
            let vm = env.walked_vm()?;
            Layout::find(vm)?;
            CodeLayout::find(vm.structs())?;
            FrameMethodLayout::find(vm.structs())
        };
        layouts().is_some()
    }

    /// Creates a walker; `None` in a VM that is not known well enough, or where a wrong guess could be a fault. `thread` is the current thread, and a platform
    /// thread.
    pub(crate) fn find(env: Env, jni: Jni<'_>, thread: Object<'_>) -> Option<Self> {
        let vm = env.walked_vm()?;
        let structs = vm.structs();
        if !probe::is_reliable() {
            return None;
        }
        Some(Self {
            walker: StackWalker::find_in(vm, env, jni, thread)?,
            code: CodeLayout::find(structs)?,
            methods: FrameMethodLayout::find(structs)?,
            thread_state: structs.offset(c"JavaThread", c"_thread_state")?,
            in_java: i32::try_from(structs.constant(c"_thread_in_Java")?).ok()?,
            continuation: continuation(structs),
        })
    }

    /// Writes the innermost `depth` frames of the current thread to `frames`, innermost first; returns their number, 0
    /// if it runs no Java, or the reason why it is refused. With `native`, frames of native code are among them, also of a
    /// thread that runs no Java.
    ///
    /// # Safety
    /// `thread` is the current thread in the VM's memory, or one that is suspended and was not ending; `stack` are the bounds of its stack, the registers are those
    /// that the signal interrupted, or that it was suspended at, and `frames` has room for `depth` of them.
    #[unsafe(link_section = "hprof_handler")]
    #[inline(never)]
    pub(crate) unsafe fn walk(
        &self,
        thread: usize,
        stack: StackBounds,
        mut interrupted: Interrupted,
        (frames, depth): (*mut CallFrame, usize),
        native: Option<&UnwindTable>,
    ) -> i32 {
        interrupted.link = unsigned(interrupted.link);
        let anchor = thread.wrapping_add(self.walker.layout.thread.anchor);
        // SAFETY: fields of the current thread.
        let (last_sp, state) = unsafe {
            (
                read::<usize>(anchor.wrapping_add(self.walker.layout.anchor.sp)),
                read::<i32>(thread.wrapping_add(self.thread_state)),
            )
        };
        let mut own = OwnStack::interrupted(interrupted.sp, stack);
        if own.is_none() && last_sp != 0 && state != self.in_java {
            // Native code may run on a stack of its own, as goroutines do. The call from Java has left its return address
            // below the last Java frame.
            interrupted.sp = last_sp.wrapping_sub(WORD);
            own = OwnStack::interrupted(interrupted.sp, stack);
        }
        let Some(stack) = own else {
            return refused::OTHER_STACK;
        };
        let mut walk = Walk {
            walker: self,
            thread,
            stack,
            memory: &MemoryReader::new(),
            deadline: 0,
            frames,
            depth,
            count: 0,
            is_certain: true,
            native,
            called_at: None,
        };
        let end = if last_sp != 0 { last_sp } else { stack.base() };
        let natives = walk.begin_native(interrupted, end);
        if natives >= depth {
            return natives as i32;
        }
        let count = if last_sp != 0 {
            // SAFETY: the caller's promise.
            unsafe { walk.begin_at_last_java_frame((anchor, state == self.in_java), interrupted) }
        } else if state != self.in_java && self.walker.code.blob(interrupted.pc).is_none() {
            0
        } else {
            // SAFETY: as above.
            unsafe { walk.begin_at_instruction(interrupted) }
        };
        if count < 0 {
            return count;
        }
        count.wrapping_add(natives as i32)
    }

    #[cfg(unix)]
    /// Returns the word at an address that may not be there.
    pub(crate) fn word_at(address: usize) -> Option<usize> {
        MemoryReader::new().word_at(address, false)
    }
}

fn continuation(structs: VmStructs) -> Option<ContinuationLayout> {
    Some(ContinuationLayout {
        entry: structs.offset(c"JavaThread", c"_cont_entry")?,
        code: structs.offset(c"Method", c"_code")?,
    })
}
