//! The shortest paths from roots to all objects.

use std::io::{self, Write};

use foldhash::HashSet;

use crate::data::graph::{Graph, NONE};
use crate::data::memory::{Memory, Numbers};
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
        PathSearch::of(graph, objects, memory, |_| false)?.pack(memory)
    }

    /// Searches from all roots until all wanted objects are found. The paths to others may be missing.
    pub(crate) fn to_wanted(
        wanted: &[u32],
        graph: &Graph,
        objects: &Objects,
        memory: &Memory,
    ) -> io::Result<ShortestPaths> {
        let mut missing: HashSet<u32> = wanted.iter().copied().collect();
        let found_all = |object| missing.remove(&object) && missing.is_empty();
        PathSearch::of(graph, objects, memory, found_all)?.pack(memory)
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

    /// Returns the object before this one: itself for roots, [`NONE`] for objects that were not reached.
    pub(crate) fn from(&self, object: u32) -> u32 {
        self.unfold(object, self.from.get(object as usize))
    }

    /// Calls `visit` with each object that was reached, and the one before it, which is itself for roots.
    pub(crate) fn each(&self, mut visit: impl FnMut(u32, u32)) {
        let mut object = 0;
        self.from.each(|folded| {
            let from = self.unfold(object, folded);
            if from != NONE {
                visit(object, from);
            }
            object += 1;
        });
    }

    #[inline]
    fn unfold(&self, object: u32, folded: u64) -> u32 {
        let Some(folded) = folded.checked_sub(1) else {
            return NONE;
        };
        let from = i64::from(object).wrapping_add(varint::unfold(folded));
        // That of a damaged index may be any.
        let from = u32::try_from(from).unwrap_or(NONE);
        if (from as usize) < self.from.len() {
            from
        } else {
            NONE
        }
    }

    /// Returns the object before this one; `None` for roots and for objects that were not reached.
    pub(crate) fn before(&self, object: u32) -> Option<u32> {
        Some(self.from(object)).filter(|&from| from != object && from != NONE)
    }

    /// Returns the objects from a root to `object`.
    pub(crate) fn to(&self, object: u32) -> Vec<u32> {
        let way = std::iter::successors(Some(object), |&at| self.before(at));
        // Paths of a damaged index may lead in a circle.
        let mut way: Vec<u32> = way.take(self.from.len()).collect();
        way.reverse();
        way
    }
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
        mut is_last: impl FnMut(u32) -> bool,
    ) -> io::Result<PathSearch> {
        let count = objects.count() as usize;
        let mut from: Numbers<u32> = memory.table(count)?;
        let mut is_done = false;
        // The objects at one distance, and at the next. What is not used is never allocated.
        let (mut near, mut far) = (memory.table::<u32>(count)?, memory.table::<u32>(count)?);
        let (mut used, mut found) = (0, 0);
        for &(root, _) in &graph.roots.all {
            if from[root as usize] == 0 {
                from[root as usize] = root + 1;
                near[used] = root;
                used += 1;
                is_done |= is_last(root);
            }
        }
        while used > 0 && !is_done {
            let (all, waiting) = (&mut from[..], &mut far[..]);
            for &object in &near[..used] {
                graph.each(object, objects, |to| {
                    if all[to as usize] == 0 {
                        all[to as usize] = object + 1;
                        waiting[found] = to;
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
