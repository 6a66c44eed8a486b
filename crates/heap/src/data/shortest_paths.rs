//! The shortest paths from roots to all objects.

use std::io::{self, Write};

use foldhash::HashSet;
use hprof_format::Root;

use crate::data::graph::{Graph, Local};
use crate::data::memory::{Memory, Numbers};
use crate::data::numbers::ObjectNumber;
use crate::data::objects::Objects;
use crate::data::packed::{Packed, PackedWriter};
use crate::data::sections::{SectionReader, SectionWriter};
use crate::data::varint;

/// The shortest paths from roots to objects.
#[derive(Debug)]
pub(crate) struct ShortestPaths {
    /// The object before each one on its path, as the folded difference from it, plus one: a root itself for roots, 0 for
    /// objects that were not reached.
    from: Packed,
}

impl ShortestPaths {
    /// Searches from all roots for all objects.
    pub(crate) fn of(
        graph: &Graph,
        objects: &Objects,
        memory: &Memory,
    ) -> io::Result<ShortestPaths> {
        PathSearch::of(graph, objects, memory, Through::All, |_| false)?.pack(memory)
    }

    /// Searches from all roots until all wanted objects are found. The paths to others may be missing.
    pub(crate) fn to_wanted(
        wanted: &[ObjectNumber],
        through: Through<'_>,
        (graph, objects): (&Graph, &Objects),
        memory: &Memory,
    ) -> io::Result<ShortestPaths> {
        let mut missing: HashSet<ObjectNumber> = wanted.iter().copied().collect();
        let found_all = |object| missing.remove(&object) && missing.is_empty();
        PathSearch::of(graph, objects, memory, through, found_all)?.pack(memory)
    }

    /// Writes them as sections of an index.
    pub(crate) fn save(&self, out: &mut SectionWriter<impl Write>) -> io::Result<()> {
        self.from.save(out)
    }

    /// Reads the paths to this many objects; `None` if they are damaged.
    pub(crate) fn load(index: &mut SectionReader, objects: u32) -> Option<ShortestPaths> {
        let from = Packed::load(index)?;
        (from.len() == objects as usize).then_some(ShortestPaths { from })
    }

    /// Returns the object before this one: itself for roots, [`ObjectNumber::NONE`] for objects that were not reached.
    pub(crate) fn from(&self, object: ObjectNumber) -> ObjectNumber {
        self.unfold(object, self.from.get(object.place()))
    }

    /// Calls `visit` with each object that was reached, and the one before it, which is itself for roots.
    pub(crate) fn each(&self, mut visit: impl FnMut(ObjectNumber, ObjectNumber)) {
        let mut object = ObjectNumber(0);
        self.from.each(|folded| {
            let from = self.unfold(object, folded);
            if from != ObjectNumber::NONE {
                visit(object, from);
            }
            object.0 += 1;
        });
    }

    #[inline]
    fn unfold(&self, object: ObjectNumber, folded: u64) -> ObjectNumber {
        let Some(folded) = folded.checked_sub(1) else {
            return ObjectNumber::NONE;
        };
        let from = i64::from(object.0).wrapping_add(varint::unfold(folded));
        // That of a damaged index may be any.
        let from = u32::try_from(from).map_or(ObjectNumber::NONE, ObjectNumber);
        if from.place() < self.from.len() {
            from
        } else {
            ObjectNumber::NONE
        }
    }

    /// Returns the object before this one; `None` for roots and for objects that were not reached.
    pub(crate) fn before(&self, object: ObjectNumber) -> Option<ObjectNumber> {
        Some(self.from(object)).filter(|&from| from != object && from != ObjectNumber::NONE)
    }

    /// Returns the objects from a root to `object`.
    pub(crate) fn to(&self, object: ObjectNumber) -> Vec<ObjectNumber> {
        let way = std::iter::successors(Some(object), |&at| self.before(at));
        // Paths of a damaged index may lead in a circle.
        let mut way: Vec<ObjectNumber> = way.take(self.from.len()).collect();
        way.reverse();
        way
    }
}

/// What paths may lead through.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Through<'a> {
    All,
    /// All but the stacks of threads, which end with the calls that they are in.
    Lasting,
    /// All but these references.
    Without(&'a [[ObjectNumber; 2]]),
}

impl Through<'_> {
    /// Returns `true` if a path may lead from an object to another, given the local variables of the first.
    fn includes(self, from: ObjectNumber, to: ObjectNumber, locals: &[Local]) -> bool {
        match self {
            Through::All => true,
            Through::Lasting => !locals.iter().any(|local| local.object == to),
            Through::Without(references) => !references.contains(&[from, to]),
        }
    }
}

/// Returns `true` unless a root is one because of a call that a thread is in.
fn lasts(root: Root) -> bool {
    !matches!(
        root,
        Root::JavaFrame { .. }
            | Root::JniLocal { .. }
            | Root::NativeStack { .. }
            | Root::ThreadBlock { .. }
            | Root::JniMonitor { .. }
            | Root::MonitorUsed
    )
}

/// A breadth-first search from all roots.
struct PathSearch {
    /// The object before each one, plus one; 0 for objects that were not reached. So a new table of zeros has reached
    /// nothing.
    from: Numbers<u32>,
}

impl PathSearch {
    /// Searches until `is_last` returns `true` for an object that was found.
    fn of(
        graph: &Graph,
        objects: &Objects,
        memory: &Memory,
        through: Through<'_>,
        mut is_last: impl FnMut(ObjectNumber) -> bool,
    ) -> io::Result<PathSearch> {
        let count = objects.count() as usize;
        let mut from: Numbers<u32> = memory.table(count)?;
        let mut is_done = false;
        // The objects at one distance, and at the next. What is not used is never allocated.
        let (mut near, mut far) = (memory.table::<u32>(count)?, memory.table::<u32>(count)?);
        let (mut used, mut found) = (0, 0);
        for &(root, reason) in &graph.roots.all {
            if from[root.place()] == 0 && (through != Through::Lasting || lasts(reason)) {
                from[root.place()] = root.0 + 1;
                near[used] = root.0;
                used += 1;
                is_done |= is_last(root);
            }
        }
        while used > 0 && !is_done {
            let (all, waiting) = (&mut from[..], &mut far[..]);
            for &object in &near[..used] {
                let own = ObjectNumber(object);
                let locals = match through {
                    Through::Lasting => graph.roots.locals_of(own),
                    Through::All | Through::Without(_) => &[],
                };
                graph.each(own, objects, |to| {
                    if all[to.place()] == 0 && through.includes(own, to, locals) {
                        all[to.place()] = object + 1;
                        waiting[found] = to.0;
                        found += 1;
                        is_done |= is_last(to);
                    }
                });
                if is_done {
                    break;
                }
            }
            std::mem::swap(&mut near, &mut far);
            (used, found) = (found, 0);
        }
        Ok(PathSearch { from })
    }

    fn pack(self, memory: &Memory) -> io::Result<ShortestPaths> {
        let mut packed = PackedWriter::new(self.from.len(), memory)?;
        for (object, &from) in (0..).zip(&self.from[..]) {
            packed.push(match from.checked_sub(1) {
                Some(from) => varint::fold(i64::from(from) - object) + 1,
                None => 0,
            });
        }
        Ok(ShortestPaths {
            from: packed.finish(),
        })
    }
}
