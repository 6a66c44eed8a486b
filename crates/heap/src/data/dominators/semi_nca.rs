//! The algorithm "Semi-NCA" (Georgiadis, "Linear-Time Algorithms for Dominators and Related Problems", 2005).

use std::io;

use fixedbitset::FixedBitSet;
use foldhash::HashMap;

use crate::data::dominators::search::Search;
use crate::data::dominators::{Node, Steps, TOP};
use crate::data::graph::{Graph, To};
use crate::data::memory::{Memory, Numbers};
use crate::data::objects::Objects;
use crate::data::offsets::Offsets;
use crate::data::packed::Sequence;
use crate::data::ranks::Ranks;
use crate::data::varint;

/// References to a smaller node that several references lead to, by their target: the distances between the two, in the
/// form of [`varint`]. All is by the rank of the target among such nodes.
struct Backward {
    rows: Offsets,
    bytes: Numbers<u8>,
    /// Those of objects to their classes.
    instances: Instances,
}

impl Backward {
    /// Collects the references. Those to a greater node go into `least`, the least node that refers to each one: its
    /// path is never compressed, so only the source counts.
    fn of(
        (node, joined): (&[Node], &Ranks),
        least: &mut [Node],
        graph: &Graph,
        objects: &Objects,
        memory: &Memory,
    ) -> io::Result<Backward> {
        let most = graph.most_edges() * varint::width(node.len() as u64);
        let mut rows = Offsets::new(least.len(), most, memory)?;
        let mut instances = Instances::new(least.len(), memory)?;
        graph.each_of_all(objects, |from, to| {
            let (from, target) = (node[from as usize], node[to.number() as usize]);
            let Some(rank) = joined.find(target).filter(|_| from != TOP) else {
                return;
            };
            if target > from {
                let least = &mut least[rank as usize];
                *least = from.min(*least);
            } else if target < from {
                match to {
                    To::Class(_) => instances.count(rank, from),
                    To::Other(_) => {
                        let width = varint::width((from - target).into());
                        rows.set(rank as usize, rows.get(rank as usize) + width);
                    }
                }
            }
        });
        let mut bytes: Numbers<u8> = memory.table(rows.add_up() as usize)?;
        let all = &mut bytes[..];
        instances.lay_out(memory)?;
        graph.each_of_all(objects, |from, to| {
            let (from, target) = (node[from as usize], node[to.number() as usize]);
            let Some(rank) = joined.find(target).filter(|_| target < from) else {
                return;
            };
            match to {
                To::Class(_) => instances.add(rank, from),
                To::Other(_) => {
                    let distance = u64::from(from - target);
                    let start = rows.get(rank as usize) - varint::width(distance);
                    rows.set(rank as usize, start);
                    varint::put(distance, all, &mut (start as usize));
                }
            }
        });
        Ok(Backward {
            rows,
            bytes,
            instances,
        })
    }

    /// Calls `visit` with each greater node that refers to this one, as long as it returns `true`.
    #[inline]
    fn each(&self, rank: u32, to: Node, mut visit: impl FnMut(Node) -> bool) {
        let row = &self.bytes[self.rows.range(rank as usize)];
        let mut at = 0;
        while at < row.len() {
            if !visit(to + varint::read(row, &mut at) as Node) {
                return;
            }
        }
        if self.instances.is_class.contains(rank as usize) {
            self.instances.each(rank, visit);
        }
    }
}

/// The instances of classes, in the order of their numbers, each as its distance from the one before: nearly every
/// object has a class that is far away, but another instance close to it.
struct Instances {
    is_class: FixedBitSet,
    classes: HashMap<u32, ClassInstances>,
    bytes: Numbers<u8>,
}

#[derive(Default)]
struct ClassInstances {
    /// The last instance that was counted or added.
    last: Node,
    start: usize,
    end: usize,
}

impl ClassInstances {
    /// Returns the distance of an instance from the last one, with the sign in the lowest bit.
    fn distance_to(&mut self, instance: Node) -> u64 {
        let distance = i64::from(instance) - i64::from(self.last);
        self.last = instance;
        varint::fold(distance)
    }
}

impl Instances {
    fn new(ranks: usize, memory: &Memory) -> io::Result<Instances> {
        Ok(Instances {
            is_class: FixedBitSet::with_capacity(ranks),
            classes: HashMap::default(),
            bytes: memory.table(0)?,
        })
    }

    /// Counts an instance, all of which are then added in the same order.
    #[inline]
    fn count(&mut self, class: u32, instance: Node) {
        self.is_class.insert(class as usize);
        let class = self.classes.entry(class).or_default();
        class.end += varint::width(class.distance_to(instance)) as usize;
    }

    /// Makes room for those that were counted.
    fn lay_out(&mut self, memory: &Memory) -> io::Result<()> {
        let mut total = 0;
        for class in self.classes.values_mut() {
            let length = class.end;
            (class.last, class.start, class.end) = (0, total, total);
            total += length;
        }
        self.bytes = memory.table(total)?;
        Ok(())
    }

    #[inline]
    fn add(&mut self, class: u32, instance: Node) {
        if let Some(class) = self.classes.get_mut(&class) {
            let distance = class.distance_to(instance);
            varint::put(distance, &mut self.bytes, &mut class.end);
        }
    }

    /// Calls `visit` with each instance of a class, as long as it returns `true`.
    fn each(&self, class: u32, mut visit: impl FnMut(Node) -> bool) {
        let Some(class) = self.classes.get(&class) else {
            return;
        };
        let (mut at, mut instance) = (class.start, 0);
        while at < class.end {
            instance += varint::unfold(varint::read(&self.bytes, &mut at));
            if !visit(instance as Node) {
                return;
            }
        }
    }
}

/// The dominators, in the preorder of the search.
pub(super) struct SearchTree {
    /// The object at each node.
    pub(super) order: Sequence,
    /// The node of the direct dominator of each node.
    pub(super) above: Numbers<Node>,
}

/// Finds the dominators.
///
/// Only nodes that several references lead to, the joined ones, have a semidominator of their own: that of all others is
/// their parent, which is their dominator, too.
pub(super) fn semi_nca(
    search: Search,
    graph: &Graph,
    objects: &Objects,
    memory: &Memory,
    steps: &Steps<'_>,
) -> io::Result<SearchTree> {
    let Search {
        order,
        parents,
        node,
        joined,
    } = search;
    let length = order.len();
    let mut label: Numbers<Node> = memory.table(joined.count() as usize)?;
    label.fill(Node::MAX);
    let backward = Backward::of((&node, &joined), &mut label, graph, objects, memory)?;
    drop(node);
    let mut up: Numbers<Node> = memory.table(length)?;
    parents.each(|node, parent| up[node as usize] = parent);
    let mut forest = Forest {
        up,
        joined,
        label,
        way: Vec::new(),
    };
    let semi = forest.semidominators(backward, steps);
    let Forest {
        up, joined, label, ..
    } = forest;
    drop(label);
    let mut above = up;
    let mut rank = 0;
    parents.each(|node, parent| {
        let mut dominator = parent;
        if joined.contains(node) {
            let semi = semi.get(rank + 1);
            while u64::from(dominator) > semi {
                dominator = above[dominator as usize];
            }
            rank += 1;
        }
        above[node as usize] = dominator;
    });
    Ok(SearchTree { order, above })
}

/// The processed part of the search's tree, with compressed paths.
struct Forest {
    /// A node above each one. No joined node is between the two if the lower one is not joined.
    up: Numbers<Node>,
    joined: Ranks,
    /// The least semidominator of the joined nodes on the path up, excluding its end, by rank; at first the least node
    /// that refers to each one.
    label: Numbers<Node>,
    way: Vec<Node>,
}

impl Forest {
    /// Finds the semidominator of each joined node; returns it at the node behind its rank.
    fn semidominators(&mut self, mut backward: Backward, steps: &Steps<'_>) -> Offsets {
        let length = self.up.len();
        let mut rank = self.joined.count();
        let mut done = 0;
        let mut node = length as Node;
        while rank > 0 {
            node = self.joined.before(node);
            rank -= 1;
            let mut least = self.label[rank as usize];
            backward.each(rank, node, |from| {
                least = least.min(self.least(from, node));
                // There is none below.
                least != TOP
            });
            self.label[rank as usize] = least;
            // Only smaller nodes follow, so the end of this row is not needed any more.
            backward.rows.set(rank as usize + 1, least.into());
            while done < length - node as usize {
                done += 1;
                steps.found(done);
            }
        }
        backward.rows
    }

    #[inline]
    fn label_at(&self, node: Node) -> usize {
        self.joined.rank(node) as usize
    }

    /// Returns the least semidominator from `node` up to the last node above `end`, or that of a node between.
    #[inline]
    fn least(&mut self, node: Node, end: Node) -> Node {
        let joined = self.climb(node, end);
        if joined <= end {
            // It is the parent of the last node above `end`, which is its semidominator.
            return joined;
        }
        if self.up[joined as usize] > end {
            self.shorten(joined, end);
        }
        // The last node above `end` may not be joined.
        let above = self.up[joined as usize];
        self.label[self.label_at(joined)].min(above)
    }

    /// Returns the first node from `node` on up that is joined, or not above `end`.
    #[inline]
    fn climb(&mut self, node: Node, end: Node) -> Node {
        if node <= end || self.joined.contains(node) {
            return node;
        }
        let first = self.up[node as usize];
        if first <= end || self.joined.contains(first) {
            return first;
        }
        let mut at = first;
        while at > end && !self.joined.contains(at) {
            at = self.up[at as usize];
        }
        let mut below = node;
        while below > at {
            below = std::mem::replace(&mut self.up[below as usize], at);
        }
        at
    }

    fn shorten(&mut self, node: Node, end: Node) {
        let mut at = node;
        loop {
            let above = self.climb(self.up[at as usize], end);
            self.up[at as usize] = above;
            if above <= end {
                break;
            }
            self.way.push(at);
            at = above;
        }
        while let Some(below) = self.way.pop() {
            let above = self.up[below as usize];
            let (label, other) = (self.label_at(below), self.label_at(above));
            self.label[label] = self.label[label].min(self.label[other]);
            self.up[below as usize] = self.up[above as usize];
        }
    }
}
