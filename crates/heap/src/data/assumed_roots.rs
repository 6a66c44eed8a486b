//! The objects that are taken for roots in a dump that was cut: those that hold them may be missing, as may roots.

use fixedbitset::FixedBitSet;

use crate::data::classes::{Classes, Known};
use crate::data::graph::Graph;
use crate::data::numbers::ObjectNumber;
use crate::data::objects::Objects;

/// Returns the ids of threads, of objects that nothing refers to, and of one object of each cycle that nothing else reaches:
/// with these roots, everything in the dump is alive.
pub(crate) fn assumed_roots(graph: &Graph, objects: &Objects, classes: &Classes) -> Vec<u64> {
    let count = objects.count() as usize;
    let mut is_referred_to = FixedBitSet::with_capacity(count);
    for object in objects.numbers() {
        graph.each(object, objects, |to| is_referred_to.insert(to.place()));
    }
    let mut search = Search {
        reached: FixedBitSet::with_capacity(count),
        assumed: Vec::new(),
    };
    for &(root, _) in &graph.roots.all {
        search.reach(root, graph, objects);
    }
    let is_thread = |&object: &ObjectNumber| classes.is(objects.class(object), Known::Thread);
    let is_first = |&object: &ObjectNumber| !is_referred_to.contains(object.place());
    let threads = objects.numbers().filter(is_thread);
    let first = objects.numbers().filter(is_first);
    for object in threads.chain(first).chain(objects.numbers()) {
        if !search.reached.contains(object.place()) {
            search.assumed.push(objects.ids.id(object).0);
            search.reach(object, graph, objects);
        }
    }
    search.assumed
}

struct Search {
    reached: FixedBitSet,
    assumed: Vec<u64>,
}

impl Search {
    fn reach(&mut self, start: ObjectNumber, graph: &Graph, objects: &Objects) {
        let mut waiting = vec![start];
        while let Some(object) = waiting.pop() {
            if !self.reached.put(object.place()) {
                graph.each(object, objects, |to| {
                    if !self.reached.contains(to.place()) {
                        waiting.push(to);
                    }
                });
            }
        }
    }
}
