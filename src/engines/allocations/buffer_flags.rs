//! JDK 11 loses events: where an object does not fit into what is left of a thread's allocation buffer, and the buffer is worth
//! keeping, it is made outside, and what is made in the rest of the buffer goes untold. A buffer is worth keeping when it has
//! more left than its size over `TLABRefillWasteFraction`: with 1, and buffers of one size for good, none ever is.

use crate::jvmti::{BoolFlag, Env, NumberFlag, SettableFlags};
use crate::lock_order::{Mutex, rank};

const WASTE: NumberFlag = NumberFlag::TlabRefillWasteFraction;
const RESIZE: BoolFlag = BoolFlag::ResizeTlab;

/// The flags, set for a session; they are put back when this is dropped.
#[derive(Default)]
pub(super) struct BufferFlags(Mutex<Option<FlagsBefore>, rank::BufferFlags>);

/// The flags as they were.
struct FlagsBefore {
    flags: SettableFlags,
    waste: usize,
    resize: bool,
}

impl BufferFlags {
    /// Has no thread keep a buffer, in a VM in which none has one yet; `false` where that cannot be done.
    pub(super) fn keep_no_buffer(&self, env: Env) -> bool {
        self.keep_none_after_resizing(env) && self.resize_no_more()
    }

    /// As above, in a VM that runs: a thread that has buffers takes the waste over with the first collection that gives buffers
    /// another size, so that goes on until [`BufferFlags::resize_no_more`].
    pub(super) fn keep_none_after_resizing(&self, env: Env) -> bool {
        let mut before = self.0.lock();
        let Some(flags) = env.settable_flags() else {
            return false;
        };
        let Some(waste) = flags.flags().number(WASTE) else {
            return false;
        };
        let resize = flags.flags().is_on(RESIZE);
        let is_set = flags.set(WASTE, 1) && flags.switch(RESIZE, true);
        before.get_or_insert(FlagsBefore {
            flags,
            waste,
            resize,
        });
        is_set
    }

    /// Buffers keep their size from here on; `false` where they did not have to, or cannot.
    pub(super) fn resize_no_more(&self) -> bool {
        let before = self.0.lock();
        let flags = before.as_ref().map(|before| before.flags);
        flags.is_some_and(|flags| flags.switch(RESIZE, false))
    }

    /// Puts the flags back.
    pub(super) fn give_back(&self) {
        if let Some(before) = self.0.lock().take() {
            before.flags.set(WASTE, before.waste);
            before.flags.switch(RESIZE, before.resize);
        }
    }
}

impl Drop for BufferFlags {
    fn drop(&mut self) {
        self.give_back();
    }
}
