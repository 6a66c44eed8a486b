//! The depth-first search from all roots.

use std::io;

use crate::data::dominators::{Place, Steps, TOP};
use crate::data::graph::{Graph, NONE};
use crate::data::memory::{Memory, Numbers};
use crate::data::objects::Objects;

/// A depth-first search from all roots.
pub(super) struct Search {
    pub(super) order: Numbers<u32>,
    /// The place from which each place was found.
    pub(super) parent: Numbers<Place>,
    /// The place of each object, 0 for those not found.
    pub(super) place: Numbers<Place>,
}

impl Search {
    pub(super) fn of(
        graph: &Graph,
        objects: &Objects,
        memory: &Memory,
        steps: &Steps<'_>,
    ) -> io::Result<Search> {
        let count = objects.count() as usize;
        let mut search = Search {
            order: memory.table(count + 1)?,
            parent: memory.table(count + 1)?,
            place: memory.table(count)?,
        };
        // How far the references were followed, for each object on the way down; unused entries are never allocated.
        let mut followed: Numbers<u64> = memory.table(count + 1)?;
        let used = search.run(graph, objects, &mut followed, steps);
        search.order.truncate(used);
        search.parent.truncate(used);
        Ok(search)
    }

    fn run(
        &mut self,
        graph: &Graph,
        objects: &Objects,
        followed: &mut [u64],
        steps: &Steps<'_>,
    ) -> usize {
        let order = &mut self.order[..];
        let parent = &mut self.parent[..];
        let place = &mut self.place[..];
        order[0] = NONE;
        let mut used = 1;
        for &(root, _) in &graph.roots.all {
            if place[root as usize] != 0 {
                continue;
            }
            let (mut at, mut depth) = (used, 0);
            (order[at], place[root as usize], parent[at]) = (root, at as Place, TOP);
            followed[0] = 0;
            used += 1;
            loop {
                let object = order[at];
                let targets = graph.targets(object, objects);
                let new = |to: u32| place[to as usize] == 0;
                if let Some(found) = targets.find_from(&mut followed[depth], new) {
                    (order[used], place[found as usize], parent[used]) =
                        (found, used as Place, at as Place);
                    at = used;
                    used += 1;
                    steps.searched(used);
                    depth += 1;
                    followed[depth] = 0;
                } else if depth == 0 {
                    break;
                } else {
                    depth -= 1;
                    at = parent[at] as usize;
                }
            }
        }
        used
    }
}
