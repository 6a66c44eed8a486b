//! The depth-first search from all roots.

use std::io;

use crate::data::dominators::{Position, Steps};
use crate::data::graph::{Followed, Graph, Targets};
use crate::data::memory::{Memory, Numbers};
use crate::data::numbers::ObjectNumber;
use crate::data::objects::Objects;
use crate::data::packed::{Packed, PackedWriter, Sequence, SequenceWriter};
use crate::data::ranks::{NewSet, Ranks};

/// A depth-first search from all roots.
pub(super) struct Search {
    /// The object at each node.
    pub(super) order: Sequence,
    pub(super) parents: Parents,
    /// The node of each object, 0 for those not found.
    pub(super) node: Numbers<Position>,
    /// The objects that several references lead to.
    pub(super) joined_objects: NewSet,
    /// The nodes that several references lead to. All others are dominated by their parents.
    pub(super) joined: Ranks,
}

/// The node from which each node was found: their distance, less one.
pub(super) struct Parents(Packed);

impl Parents {
    /// Calls `visit` with each node except the top, in their order, and its parent.
    #[inline]
    pub(super) fn each(&self, mut visit: impl FnMut(Position, Position)) {
        let mut node = 0;
        self.0.each(|distance| {
            node += 1;
            visit(node, node - 1 - distance as Position);
        });
    }
}

/// An object on the way down, and how far its references were followed.
#[derive(Clone, Copy)]
struct Open {
    object: ObjectNumber,
    followed: Followed,
}

impl Open {
    fn of(object: ObjectNumber) -> Open {
        let followed = Followed::default();
        Open { object, followed }
    }
}

/// The objects on the way down. Unused entries are never allocated.
struct Way {
    entries: Numbers<[u64; 2]>,
    depth: usize,
}

impl Way {
    #[inline]
    fn push(&mut self, open: Open) {
        let Followed { next, last } = open.followed;
        self.entries[self.depth] = [u64::from(open.object.0) << 32 | u64::from(last), next];
        self.depth += 1;
    }

    #[inline]
    fn pop(&mut self) -> Option<Open> {
        self.depth = self.depth.checked_sub(1)?;
        let [objects, next] = self.entries[self.depth];
        Some(Open {
            object: ObjectNumber((objects >> 32) as u32),
            followed: Followed {
                next,
                last: objects as u32,
            },
        })
    }
}

impl Search {
    pub(super) fn of(
        graph: &Graph,
        objects: &Objects,
        memory: &Memory,
        steps: &Steps<'_>,
    ) -> io::Result<Search> {
        let count = objects.count() as usize;
        let mut run = Run {
            used: 0,
            order: SequenceWriter::new(count + 1, memory)?,
            parents: PackedWriter::new(count, memory)?,
            node: memory.table(count)?,
            joined_objects: NewSet::new(count, memory)?,
            joined: NewSet::new(count + 1, memory)?,
        };
        let mut way = Way {
            entries: memory.table(count)?,
            depth: 0,
        };
        run.all(graph, objects, &mut way, steps);
        drop(way);
        Ok(Search {
            order: run.order.finish(),
            parents: Parents(run.parents.finish()),
            node: run.node,
            joined_objects: run.joined_objects,
            joined: run.joined.rank(memory)?,
        })
    }
}

/// The search while it is made.
struct Run {
    used: usize,
    order: SequenceWriter,
    parents: PackedWriter,
    node: Numbers<Position>,
    joined_objects: NewSet,
    joined: NewSet,
}

impl Run {
    fn all(&mut self, graph: &Graph, objects: &Objects, way: &mut Way, steps: &Steps<'_>) {
        self.order.push(ObjectNumber::NONE.0);
        for &(root, _) in &graph.roots.all {
            if self.node[root.place()] == 0 {
                self.find(root, 0);
                self.all_below(root, (graph, objects), way, steps);
            }
        }
    }

    /// Finds what is below a root.
    fn all_below(
        &mut self,
        root: ObjectNumber,
        (graph, objects): (&Graph, &Objects),
        way: &mut Way,
        steps: &Steps<'_>,
    ) {
        let mut open = Open::of(root);
        let mut targets = graph.targets(root, objects);
        let mut next = self.next(&targets, &mut open);
        loop {
            let Some(found) = next else {
                let Some(above) = way.pop() else {
                    return;
                };
                open = above;
                targets = graph.targets(open.object, objects);
                next = self.next(&targets, &mut open);
                continue;
            };
            self.find(found, self.node[open.object.place()]);
            steps.searched(self.used);
            // Most objects lead to nothing new, and need not be opened.
            let mut below = Open::of(found);
            let targets_below = graph.targets(found, objects);
            next = self.next(&targets_below, &mut below);
            if next.is_some() {
                way.push(open);
                (open, targets) = (below, targets_below);
            } else {
                next = self.next(&targets, &mut open);
            }
        }
    }

    /// Returns the next object below the open one that was not found yet.
    #[inline]
    fn next(&mut self, targets: &Targets<'_>, open: &mut Open) -> Option<ObjectNumber> {
        let node = &self.node[..];
        targets.find_from(&mut open.followed, |to| match node[to.place()] {
            0 => true,
            found => {
                self.joined.insert(found);
                self.joined_objects.insert(to.0);
                false
            }
        })
    }

    /// Gives an object the next node.
    #[inline]
    fn find(&mut self, object: ObjectNumber, parent: Position) {
        self.parents.push(self.used as u64 - u64::from(parent));
        self.used += 1;
        self.node[object.place()] = self.used as Position;
        self.order.push(object.0);
    }
}
