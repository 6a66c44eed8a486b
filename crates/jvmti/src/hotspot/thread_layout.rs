//! Where the VM keeps what the system knows of its threads.

use std::ffi::CStr;

use crate::env::Env;
use crate::jni::{Jni, Object};
use crate::os::Peek;
use crate::vm_kind::vm_structs::VmStructs;

/// The types in which a field of threads may be found, depending on the JDK.
pub(super) const THREAD_TYPES: [&CStr; 2] = [c"JavaThread", c"Thread"];

/// The reason why nothing is known of the VM's threads.
pub(super) const UNTESTED: &str = "the agent is not tested on this VM";

/// Offsets in the VM's threads, from the tables that it exports for debuggers.
#[derive(Clone, Copy)]
pub(super) struct ThreadLayout {
    os_thread: usize,
    thread_id: usize,
}

impl ThreadLayout {
    /// Looks the offsets up; `None` if the VM does not export all of them.
    pub(super) fn find(structs: VmStructs) -> Option<Self> {
        let offset = |types: &[&CStr], name| {
            let mut types = types.iter();
            types.find_map(|type_name| structs.offset(type_name, name))
        };
        Some(Self {
            os_thread: offset(&THREAD_TYPES, c"_osthread")?,
            thread_id: offset(&[c"OSThread"], c"_thread_id")?,
        })
    }

    /// Returns where a thread, which may be ending, is in the VM's memory, and its id in the system; `None` if it has ended, or is so near
    /// its end that the VM hides it.
    ///
    /// Nothing keeps another thread from ending (`JavaThread::exit`): it asks whether ThreadEnd is wanted, posts the
    /// event, clears the field `eetop` of its `java.lang.Thread`, leaves the VM's list of threads and frees its memory,
    /// in this order. A thread that asked before the event was switched on is still in the list. So its memory is read
    /// in a way that cannot fault, and the values count only if the field still names that memory afterwards: then it
    /// was the thread's all the time.
    pub(super) fn thread(&self, jni: Jni<'_>, thread: Object<'_>) -> Option<(usize, i32)> {
        let address = jni.native_thread(thread)?.addr();
        let peek = Peek::new().ok()?;
        let os_thread = peek.word(address + self.os_thread)?;
        // A thread of the VM has its OSThread until it has ended. The number is half a word.
        let tid = peek.word(os_thread.checked_add(self.thread_id)?)? as i32;
        let is_sound = os_thread != 0 && tid > 0;
        (is_sound && self.is_at(jni, thread, address)).then_some((address, tid))
    }

    /// Returns `true` if the thread has not ended and is at that address in the VM's memory.
    pub(super) fn is_at(&self, jni: Jni<'_>, thread: Object<'_>, address: usize) -> bool {
        jni.native_thread(thread)
            .is_some_and(|now| now.addr() == address)
    }
}

/// Finds the system's ids of the VM's threads.
#[derive(Clone, Copy)]
pub struct SystemThreads(ThreadLayout);

impl SystemThreads {
    /// Looks up what is needed in this VM; the error names what is missing.
    pub fn find(env: Env) -> Result<Self, &'static str> {
        let structs = env.vm_structs().ok_or(UNTESTED)?;
        ThreadLayout::find(structs)
            .map(Self)
            .ok_or("this VM does not tell which threads of the system are its own")
    }

    /// Returns the system's id of a platform thread; `None` if the thread has ended.
    pub fn tid(self, jni: Jni<'_>, thread: Object<'_>) -> Option<i32> {
        let (_, tid) = self.0.thread(jni, thread)?;
        Some(tid)
    }
}
