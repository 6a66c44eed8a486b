//! What the VM calls a root, in the format's words.

use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashSet};
use hprof_format::{Root, ThreadSerial, TraceSerial};

use super::numbers::{Numbers, Special, Tag};
use crate::engines::heap_dump::DumpOutput;
use crate::jvmti::{RootReference, StackPlace};

/// A thread that was alive when the walk began.
#[derive(Clone, Copy)]
pub(super) struct ThreadRoot {
    /// `None` for one of the agent's own.
    pub(super) serial: Option<ThreadSerial>,
    pub(super) trace: TraceSerial,
    /// Frames of the trace.
    pub(super) depth: usize,
}

/// Names roots.
pub(super) struct Roots<'r> {
    threads: &'r [ThreadRoot],
    /// The thread that dumps: its local references to threads are the agent's.
    own: Tag,
    /// Threads that began too late to be known, by the numbers of their tags.
    late: HashSet<u64, FixedState>,
    /// Virtual threads whose stacks have roots, by `Thread.getId()`.
    virtual_threads: HashMap<i64, ThreadSerial, FixedState>,
    /// The thread that was told of last, and whether it is virtual: its tag may be younger than the question for it.
    last: Option<(Tag, bool)>,
    /// References of native code that have been told.
    globals: u64,
}

impl<'r> Roots<'r> {
    pub(super) fn new(threads: &'r [ThreadRoot], own: Tag) -> Self {
        Self {
            threads,
            own,
            late: HashSet::default(),
            virtual_threads: HashMap::default(),
            last: None,
            globals: 0,
        }
    }

    /// The root's record, but for its object, whose tag is `tag`; `None` where it is the agent's.
    pub(super) fn describe(
        &mut self,
        numbers: &Numbers,
        output: &mut dyn DumpOutput,
        root: RootReference,
        tag: Tag,
        is_class: bool,
        is_virtual_thread: bool,
    ) -> Option<Root> {
        Some(match root {
            RootReference::JniGlobal => {
                self.globals += 1;
                Root::JniGlobal {
                    reference: self.globals,
                }
            }
            RootReference::SystemClass if is_class => Root::StickyClass,
            RootReference::Monitor => Root::MonitorUsed,
            RootReference::Thread => self.thread(numbers, tag),
            RootReference::StackLocal(place) => match self.place(numbers, output, place) {
                Some((thread, frame)) => Root::JavaFrame { thread, frame },
                None => Root::Unknown,
            },
            RootReference::JniLocal(place) => {
                let is_thread = matches!(numbers.special(tag), Some(Special::Thread(_)));
                if is_thread && place.thread == self.own.0 {
                    return None;
                }
                match self.place(numbers, output, place) {
                    Some((thread, frame)) => Root::JniLocal { thread, frame },
                    None => Root::Unknown,
                }
            }
            RootReference::SystemClass | RootReference::Other => {
                if is_virtual_thread {
                    self.last = Some((tag, true));
                }
                Root::Unknown
            }
        })
    }

    fn thread(&mut self, numbers: &Numbers, tag: Tag) -> Root {
        self.last = Some((tag, false));
        let Some(Special::Thread(index)) = numbers.special(tag) else {
            self.late.insert(tag.number());
            return Root::Unknown;
        };
        let ThreadRoot { serial, trace, .. } = self.threads[index];
        serial.map_or(Root::Unknown, |thread| Root::Thread { thread, trace })
    }

    /// The thread and the frame of a place in a stack; `None` where the thread has no number.
    fn place(
        &mut self,
        numbers: &Numbers,
        output: &mut dyn DumpOutput,
        place: StackPlace,
    ) -> Option<(ThreadSerial, i32)> {
        let tag = Tag(place.thread);
        if let Some(Special::Thread(index)) = numbers.special(tag) {
            let thread = &self.threads[index];
            let in_trace = usize::try_from(place.depth).is_ok_and(|depth| depth < thread.depth);
            let frame = if in_trace { place.depth } else { -1 };
            return thread.serial.map(|serial| (serial, frame));
        }
        let is_virtual = match tag {
            Tag::NONE => self.last.is_some_and(|(_, is_virtual)| is_virtual),
            tag => !self.late.contains(&tag.number()),
        };
        if !is_virtual {
            return None;
        }
        let serial = *self
            .virtual_threads
            .entry(place.thread_id)
            .or_insert_with(|| {
                let name = format!("virtual #{}", place.thread_id);
                ThreadSerial(output.virtual_thread(&name).0)
            });
        Some((serial, -1))
    }
}
