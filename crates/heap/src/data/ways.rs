//! The shortest paths from roots to all objects.

use std::io::{self, Write};

use crate::data::graph::{Graph, NONE};
use crate::data::memory::{Memory, Numbers};
use crate::data::objects::Objects;
use crate::data::sections::{SectionReader, SectionWriter};

/// The shortest paths from roots to all objects.
#[derive(Debug)]
pub(crate) struct Ways {
    /// The object before each one on its path, plus one: a root itself for roots, 0 for objects that were not reached. So
    /// a new table of zeros has reached nothing.
    from: Numbers<u32>,
}

impl Ways {
    /// Searches from all roots. `most` is the number of objects that they reach.
    pub(crate) fn of(
        graph: &Graph,
        objects: &Objects,
        most: usize,
        memory: &Memory,
    ) -> io::Result<Ways> {
        let mut from: Numbers<u32> = memory.table(objects.count() as usize)?;
        let mut queue: Numbers<u32> = memory.table(most)?;
        let (all, waiting) = (&mut from[..], &mut queue[..]);
        let mut used = 0;
        for &(root, _) in &graph.roots.all {
            if all[root as usize] == 0 {
                all[root as usize] = root + 1;
                waiting[used] = root;
                used += 1;
            }
        }
        let mut next = 0;
        while next < used {
            let object = waiting[next];
            next += 1;
            graph.each(object, objects, |to| {
                if all[to as usize] == 0 {
                    all[to as usize] = object + 1;
                    waiting[used] = to;
                    used += 1;
                }
            });
        }
        drop(queue);
        Ok(Ways { from })
    }

    /// Writes them as a section of an index.
    pub(crate) fn save(&self, out: &mut SectionWriter<impl Write>) -> io::Result<()> {
        out.table(&self.from)
    }

    /// Reads the paths to this many objects; `None` if they are damaged.
    pub(crate) fn load(index: &mut SectionReader, objects: u32) -> Option<Ways> {
        let from: Numbers<u32> = index.table()?;
        let are_objects = from
            .iter()
            .fold(true, |sound, &from| sound & (from <= objects));
        (from.len() == objects as usize && are_objects).then_some(Ways { from })
    }

    pub(crate) fn from(&self, object: u32) -> u32 {
        match self.from[object as usize] {
            0 => NONE,
            from => from - 1,
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

    /// Sorts objects by their distance from the roots, those at the same distance by their number, and removes those
    /// that were not reached.
    pub(crate) fn sort(&self, objects: Vec<u32>, memory: &Memory) -> io::Result<Vec<u32>> {
        // Where it is known, from 1.
        let mut distances: Numbers<u32> = memory.table(self.from.len())?;
        let mut way = Vec::new();
        let mut found: Vec<(u32, u32)> = Vec::new();
        for object in objects {
            if self.from(object) == NONE {
                continue;
            }
            let mut at = Some(object);
            let mut distance = 0;
            while let Some(object) = at {
                distance = distances[object as usize];
                if distance > 0 || way.len() == self.from.len() {
                    break;
                }
                way.push(object);
                at = self.before(object);
            }
            while let Some(object) = way.pop() {
                distance = distance.saturating_add(1);
                distances[object as usize] = distance;
            }
            found.push((distances[object as usize], object));
        }
        found.sort_unstable();
        Ok(found.into_iter().map(|(_, object)| object).collect())
    }
}
