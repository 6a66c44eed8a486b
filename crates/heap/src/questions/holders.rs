//! What holds a suspect, if it is held by more than one part of the program: without only one of them it would stay.

use crate::data::classes::Known;
use crate::data::dominators::{Node, TOP};
use crate::data::error::Error;
use crate::data::heap::Heap;
use crate::data::label::{Holder, Reference};
use crate::data::numbers::ObjectNumber;
use crate::data::shortest_paths::{ShortestPaths, Through};
use crate::questions::paths::holder;

/// The most holders that are looked for, each of which takes a search.
const MOST: usize = 4;

impl Heap<'_> {
    /// Returns what else holds an object, besides the holder on the way to it that these paths have: without all of them it
    /// would be free, unless there are very many.
    pub(crate) fn other_holders(
        &self,
        node: Node,
        paths: &ShortestPaths,
    ) -> Result<Vec<Holder>, Error> {
        let object = self.dominators.object(node);
        let Some(first) = self.held_by(&paths.to(object))? else {
            return Ok(Vec::new());
        };
        if self.is_only_holder(first, node) {
            return Ok(Vec::new());
        }
        let (mut references, mut holders) = (vec![first], Vec::new());
        while references.len() < MOST {
            let graph = (&self.graph, &self.objects);
            let through = Through::Without(&references);
            let paths = ShortestPaths::to_wanted(&[object], through, graph, &self.memory)?;
            let Some(path) = self.path(&paths, object)? else {
                break;
            };
            holders.extend(holder(&path));
            match self.held_by(&paths.to(object))? {
                Some(reference) => references.push(reference),
                // It is a root, or only roots are on the way.
                None => break,
            }
        }
        Ok(holders)
    }

    /// Returns the last reference on a way that is one of the program's own: a static field, or a variable of a thread.
    fn held_by(&self, way: &[ObjectNumber]) -> Result<Option<[ObjectNumber; 2]>, Error> {
        for pair in way.windows(2).rev() {
            let &[from, to] = pair else {
                continue;
            };
            let is_class = self.classes.is_class_of_classes(self.objects.class(from));
            if !is_class && !self.is_a(from, Known::Thread) {
                continue;
            }
            let holds = match self.reference(from, to)? {
                Reference::Static(_) | Reference::Local(_) => true,
                Reference::Field(name) => {
                    matches!(&*name, "threadLocals" | "inheritableThreadLocals")
                }
                _ => false,
            };
            if holds {
                return Ok(Some([from, to]));
            }
        }
        Ok(None)
    }

    /// Returns `true` if all ways to a node lead through a reference.
    fn is_only_holder(&self, [from, to]: [ObjectNumber; 2], node: Node) -> bool {
        let Some(held) = self.node(to) else {
            return true;
        };
        let is_below = held <= node && node < self.dominators.end(held);
        let above = self.dominators.above(held);
        is_below && above != TOP && self.dominators.object(above) == from
    }
}
