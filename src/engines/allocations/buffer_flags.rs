//! Works around lost allocation events in JDK 11. If an object does not fit into the rest of a thread's allocation
//! buffer and the VM considers that rest worth keeping, the object is allocated outside, and later allocations in the
//! rest send no events. A rest is worth keeping if it is larger than the buffer's size divided by
//! `TLABRefillWasteFraction`: with a fraction of 1, and buffers of constant size, that is never the case.

use jvmti::{BoolFlag, Env, NumberFlag, SettableFlags};
use locks::{Mutex, rank};

const WASTE: NumberFlag = NumberFlag::TlabRefillWasteFraction;
const RESIZE: BoolFlag = BoolFlag::ResizeTlab;

/// The VM flags that are changed for a session; restored on drop.
#[derive(Default)]
pub(super) struct BufferFlags(Mutex<Option<FlagsBefore>, rank::BufferFlags>);

/// The flags' previous values.
struct FlagsBefore {
    flags: SettableFlags,
    waste: usize,
    resize: bool,
}

impl BufferFlags {
    /// Makes the VM never keep the rest of a buffer, before it has any buffers; returns `false` if that is not
    /// possible.
    pub(super) fn keep_no_buffer(&self, env: Env) -> bool {
        self.keep_none_after_resizing(env) && self.resize_no_more()
    }

    /// As above, in a running VM: a thread that has buffers adopts the new fraction at the first collection that
    /// resizes them, so resizing stays on until [`BufferFlags::resize_no_more`].
    pub(super) fn keep_none_after_resizing(&self, env: Env) -> bool {
        let Some(flags) = env.settable_flags() else {
            return false;
        };
        let mut before = self.0.lock();
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

    /// Fixes the size of buffers from now on; returns `false` if there was nothing to do or it is not possible.
    pub(super) fn resize_no_more(&self) -> bool {
        let before = self.0.lock();
        let flags = before.as_ref().map(|before| before.flags);
        flags.is_some_and(|flags| flags.switch(RESIZE, false))
    }

    /// Restores the flags.
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
