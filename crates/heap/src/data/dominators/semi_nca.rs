//! The algorithm "Semi-NCA" (Georgiadis, "Linear-Time Algorithms for Dominators and Related Problems", 2005).

use std::io;

use fixedbitset::FixedBitSet;
use foldhash::HashMap;

use crate::data::dominators::search::Search;
use crate::data::dominators::{Position, Steps, TOP};
use crate::data::graph::{Graph, To};
use crate::data::memory::{Memory, Numbers};
use crate::data::numbers::ObjectNumber;
use crate::data::objects::Objects;
use crate::data::offsets::Offsets;
use crate::data::packed::Sequence;
use crate::data::ranks::{NewSet, Ranks};
use crate::data::turns::in_turn;
use crate::data::varint;

/// The bytes of a part's rows up to which all of their references are kept at once, in 16 bytes each.
const MOST_BYTES: u64 = 256 << 10;

/// What the search has found out about the objects.
struct Found<'a> {
    node: &'a [Position],
    /// The objects that several references lead to.
    joined_objects: &'a NewSet,
    joined: &'a Ranks,
    /// The class of each kind of objects, if several references lead to it.
    classes: Vec<Option<JoinedClass>>,
    graph: &'a Graph,
    objects: &'a Objects,
}

/// A class that several references lead to.
#[derive(Clone, Copy)]
struct JoinedClass {
    /// Its place among such classes.
    place: u32,
    rank: u32,
    node: Position,
}

/// A reference to another node that several references lead to.
#[derive(Clone, Copy)]
struct Joined {
    /// The rank of the target among such nodes.
    rank: u32,
    from: Position,
    target: Position,
    /// Of the reference of an object to its class, the place of the class; otherwise [`NO_CLASS`].
    class: u32,
}

const NO_CLASS: u32 = u32::MAX;

/// The references of a part of the objects.
#[derive(Default)]
struct JoinedPart {
    part: usize,
    /// `None` if they are not kept.
    found: Option<Vec<Joined>>,
}

impl<'a> Found<'a> {
    fn new(
        (node, joined_objects, joined): (&'a [Position], &'a NewSet, &'a Ranks),
        graph: &'a Graph,
        objects: &'a Objects,
    ) -> Found<'a> {
        let mut places = HashMap::default();
        let classes = graph.classes().iter().map(|&class| {
            let known = Some(class).filter(|&class| class != ObjectNumber::NONE)?;
            let node = node[known.place()];
            let rank = joined.find(node)?;
            let next = places.len() as u32;
            let place = *places.entry(rank).or_insert(next);
            Some(JoinedClass { place, rank, node })
        });
        Found {
            classes: classes.collect(),
            node,
            joined_objects,
            joined,
            graph,
            objects,
        }
    }

    /// Calls `visit` with all references from live objects to other nodes that several references lead to, in the order of
    /// the objects. Threads look up the nodes.
    fn each(&self, threads: usize, mut visit: impl FnMut(Joined) + Send) -> io::Result<()> {
        let read = |part: usize, read: &mut JoinedPart| {
            let mut found = read.found.take().unwrap_or_default();
            found.clear();
            read.part = part;
            // One thread alone need not keep any.
            if threads > 1 && self.graph.bytes_of_part(part) <= MOST_BYTES {
                self.each_in_part(part, |joined| found.push(joined));
                read.found = Some(found);
            }
            Ok(())
        };
        let visit_all = |read: &mut JoinedPart| {
            match &read.found {
                Some(found) => found.iter().for_each(|&joined| visit(joined)),
                None => self.each_in_part(read.part, &mut visit),
            }
            Ok(())
        };
        in_turn((threads, self.graph.parts()), read, visit_all, |_| {})
    }

    #[inline]
    fn each_in_part(&self, part: usize, mut visit: impl FnMut(Joined)) {
        self.graph.each_in_part(part, self.objects, |from, to| {
            let (class, rank, target) = match to {
                To::ClassOfKind(kind) => match self.classes[kind] {
                    Some(JoinedClass { place, rank, node }) => (place, rank, node),
                    None => return,
                },
                // Most objects have only one reference, and then the set, which is small, is all that is read of them.
                To::Other(to) if self.joined_objects.contains(to.0) => {
                    let target = self.node[to.place()];
                    (NO_CLASS, self.joined.rank(target), target)
                }
                To::Other(_) => return,
            };
            let from = self.node[from.place()];
            if from != TOP.0 && from != target {
                visit(Joined {
                    rank,
                    from,
                    target,
                    class,
                });
            }
        });
    }
}

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
        found: &Found<'_>,
        least: &mut [Position],
        memory: &Memory,
        threads: usize,
    ) -> io::Result<Backward> {
        let most = found.graph.most_edges() * varint::width(found.node.len() as u64);
        let mut rows = Offsets::new(least.len(), most, memory)?;
        let mut instances = Instances::new(&found.classes, least.len(), memory)?;
        found.each(threads, |to: Joined| {
            if to.target > to.from {
                let least = &mut least[to.rank as usize];
                *least = to.from.min(*least);
            } else if to.class != NO_CLASS {
                instances.count(to.class, to.from);
            } else {
                let width = varint::width((to.from - to.target).into());
                rows.set(to.rank as usize, rows.get(to.rank as usize) + width);
            }
        })?;
        let total = rows.add_up();
        let mut rows = rows.narrow(memory)?;
        let mut bytes: Numbers<u8> = memory.table(total as usize)?;
        let all = &mut bytes[..];
        instances.lay_out(memory)?;
        found.each(threads, |to: Joined| {
            if to.target > to.from {
                return;
            }
            if to.class != NO_CLASS {
                instances.add(to.class, to.from);
                return;
            }
            let distance = u64::from(to.from - to.target);
            let start = rows.get(to.rank as usize) - varint::width(distance);
            rows.set(to.rank as usize, start);
            varint::put(distance, all, &mut (start as usize));
        })?;
        Ok(Backward {
            rows,
            bytes,
            instances,
        })
    }

    /// Calls `visit` with each greater node that refers to this one, as long as it returns `true`.
    #[inline]
    fn each(&self, rank: u32, to: Position, mut visit: impl FnMut(Position) -> bool) {
        let row = &self.bytes[self.rows.range(rank as usize)];
        let mut at = 0;
        while at < row.len() {
            if !visit(to + varint::read(row, &mut at) as Position) {
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
    /// The place of each class, by its rank.
    places: HashMap<u32, u32>,
    classes: Vec<ClassInstances>,
    bytes: Numbers<u8>,
}

#[derive(Default)]
struct ClassInstances {
    /// The last instance that was counted or added.
    last: Position,
    start: usize,
    end: usize,
}

impl ClassInstances {
    /// Returns the distance of an instance from the last one, with the sign in the lowest bit.
    fn distance_to(&mut self, instance: Position) -> u64 {
        let distance = i64::from(instance) - i64::from(self.last);
        self.last = instance;
        varint::fold(distance)
    }
}

impl Instances {
    fn new(
        classes: &[Option<JoinedClass>],
        ranks: usize,
        memory: &Memory,
    ) -> io::Result<Instances> {
        let known = classes.iter().flatten();
        let places: HashMap<u32, u32> = known.map(|class| (class.rank, class.place)).collect();
        let mut is_class = FixedBitSet::with_capacity(ranks);
        is_class.extend(places.keys().map(|&rank| rank as usize));
        Ok(Instances {
            is_class,
            classes: places.iter().map(|_| ClassInstances::default()).collect(),
            places,
            bytes: memory.table(0)?,
        })
    }

    /// Counts an instance, all of which are then added in the same order.
    #[inline]
    fn count(&mut self, class: u32, instance: Position) {
        let class = &mut self.classes[class as usize];
        class.end += varint::width(class.distance_to(instance)) as usize;
    }

    /// Makes room for those that were counted.
    fn lay_out(&mut self, memory: &Memory) -> io::Result<()> {
        let mut total = 0;
        for class in &mut self.classes {
            let length = class.end;
            (class.last, class.start, class.end) = (0, total, total);
            total += length;
        }
        self.bytes = memory.table(total)?;
        Ok(())
    }

    #[inline]
    fn add(&mut self, class: u32, instance: Position) {
        let class = &mut self.classes[class as usize];
        let distance = class.distance_to(instance);
        varint::put(distance, &mut self.bytes, &mut class.end);
    }

    /// Calls `visit` with each instance of the class with a rank, as long as it returns `true`.
    fn each(&self, rank: u32, mut visit: impl FnMut(Position) -> bool) {
        let place = self.places.get(&rank);
        let Some(class) = place.and_then(|&place| self.classes.get(place as usize)) else {
            return;
        };
        let (mut at, mut instance) = (class.start, 0);
        while at < class.end {
            instance += varint::unfold(varint::read(&self.bytes, &mut at));
            if !visit(instance as Position) {
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
    pub(super) above: Numbers<Position>,
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
        joined_objects,
        joined,
    } = search;
    let length = order.len();
    let mut label: Numbers<Position> = memory.table(joined.count() as usize)?;
    label.fill(Position::MAX);
    let found = Found::new((&node, &joined_objects, &joined), graph, objects);
    let backward = Backward::of(&found, &mut label, memory, steps.threads)?;
    drop((node, joined_objects));
    let mut up: Numbers<Position> = memory.table(length)?;
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
    up: Numbers<Position>,
    joined: Ranks,
    /// The least semidominator of the joined nodes on the path up, excluding its end, by rank; at first the least node
    /// that refers to each one.
    label: Numbers<Position>,
    way: Vec<Position>,
}

impl Forest {
    /// Finds the semidominator of each joined node; returns it at the node after its rank.
    fn semidominators(&mut self, mut backward: Backward, steps: &Steps<'_>) -> Offsets {
        let length = self.up.len();
        let mut rank = self.joined.count();
        let mut done = 0;
        let mut node = length as Position;
        while rank > 0 {
            node = self.joined.before(node);
            rank -= 1;
            let mut least = self.label[rank as usize];
            backward.each(rank, node, |from| {
                least = least.min(self.least(from, node));
                // There is none below.
                least != TOP.0
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
    fn label_at(&self, node: Position) -> usize {
        self.joined.rank(node) as usize
    }

    /// Returns the least semidominator from `node` up to the last node above `end`, or that of a node between.
    #[inline]
    fn least(&mut self, node: Position, end: Position) -> Position {
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
    fn climb(&mut self, node: Position, end: Position) -> Position {
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

    fn shorten(&mut self, node: Position, end: Position) {
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
