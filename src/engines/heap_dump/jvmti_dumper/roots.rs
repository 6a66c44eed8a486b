//! Converts the VM's roots to the format's.

use hprof_format::{ObjectId, Root, ThreadSerial};
use memory::{Map, OrStop, Set};

use super::numbers::{Numbers, Special, Tag};
use super::stack_roots::{RootOfFrame, StackRoots, ThreadRoot};
use crate::engines::heap_dump::DumpOutput;
use jvmti::{RootReference, StackPlace};

/// Describes roots.
pub(super) struct Roots<'r> {
    threads: &'r [ThreadRoot<'r>],
    in_stacks: StackRoots,
    /// The thread that dumps: its local references to threads are the agent's.
    own: Tag,
    /// Threads that started too late to be known, by the numbers of their tags.
    late: Set<u64>,
    /// Virtual threads whose stacks have roots, by `Thread.getId()`.
    virtual_threads: Map<i64, ThreadSerial>,
    /// The thread reported last, and whether it is virtual: its tag may have been assigned after that was asked.
    last: Option<(Tag, bool)>,
    /// The number of native references reported so far.
    globals: u64,
}

impl<'r> Roots<'r> {
    pub(super) fn new(threads: &'r [ThreadRoot<'r>], own: Tag) -> Self {
        Self {
            threads,
            in_stacks: StackRoots::default(),
            own,
            late: Set::default(),
            virtual_threads: Map::default(),
            last: None,
            globals: 0,
        }
    }

    /// Returns the root's record for the object with the given tag, without the object's id; `None` if it is the
    /// agent's, or among [`Roots::in_stacks`].
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
            RootReference::StackLocal(place) => {
                let root = |thread, frame| Root::JavaFrame { thread, frame };
                return self.in_stack(numbers, output, tag, place, root);
            }
            RootReference::JniLocal(place) => {
                let is_thread = matches!(numbers.special(tag), Some(Special::Thread(_)));
                if is_thread && place.thread == self.own.0 {
                    return None;
                }
                let root = |thread, frame| Root::JniLocal { thread, frame };
                return self.in_stack(numbers, output, tag, place, root);
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
            self.late.insert(tag.number()).or_stop();
            return Root::Unknown;
        };
        let ThreadRoot { serial, trace, .. } = self.threads[index];
        serial.map_or(Root::Unknown, |thread| Root::Thread { thread, trace })
    }

    /// Returns the roots in stacks that have traces, once all have been reported.
    pub(super) fn in_stacks(&mut self) -> Vec<(ObjectId, Root)> {
        self.in_stacks.take(self.threads)
    }

    /// Returns a root in a stack; the thread may have no number.
    fn in_stack(
        &mut self,
        numbers: &Numbers,
        output: &mut dyn DumpOutput,
        tag: Tag,
        place: StackPlace,
        root: RootOfFrame,
    ) -> Option<Root> {
        let thread = Tag(place.thread);
        if let Some(Special::Thread(index)) = numbers.special(thread) {
            self.in_stacks.add(index, numbers.object(tag), place, root);
            return None;
        }
        let is_virtual = match thread {
            Tag::NONE => self.last.is_some_and(|(_, is_virtual)| is_virtual),
            thread => !self.late.contains(&thread.number()),
        };
        if !is_virtual {
            return Some(Root::Unknown);
        }
        let serial = self
            .virtual_threads
            .get_or_insert_with(place.thread_id, || {
                let name = format!("virtual #{}", place.thread_id);
                ThreadSerial(output.virtual_thread(&name).0)
            });
        Some(root(*serial.or_stop(), -1))
    }
}
