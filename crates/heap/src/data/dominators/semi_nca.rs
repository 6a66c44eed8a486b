//! The algorithm "Semi-NCA" (Georgiadis, "Linear-Time Algorithms for Dominators and Related Problems", 2005).

use std::io;

use fixedbitset::FixedBitSet;
use foldhash::HashMap;

use crate::data::dominators::search::Search;
use crate::data::dominators::{Place, Steps, TOP};
use crate::data::graph::{Graph, To};
use crate::data::memory::{Memory, Numbers};
use crate::data::objects::Objects;
use crate::data::offsets::Offsets;
use crate::data::packed::Sequence;
use crate::data::ranks::Ranks;
use crate::data::varint;

/// References to a smaller place that several references lead to, by their target: the distances between the two, in the
/// form of [`varint`]. All is by the rank of the target among such places.
struct Backward {
    rows: Offsets,
    bytes: Numbers<u8>,
    /// Those of objects to their classes.
    instances: Instances,
}

impl Backward {
    /// Collects the references. Those to a greater place go into `least`, the least place that refers to each one: its
    /// path is never compressed, so only the source counts.
    fn of(
        (place, joined): (&[Place], &Ranks),
        least: &mut [Place],
        graph: &Graph,
        objects: &Objects,
        memory: &Memory,
    ) -> io::Result<Backward> {
        let most = graph.most_edges() * varint::width(place.len() as u64);
        let mut rows = Offsets::new(least.len(), most, memory)?;
        let mut instances = Instances::new(least.len(), memory)?;
        graph.each_of_all(objects, |from, to| {
            let (from, target) = (place[from as usize], place[to.number() as usize]);
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
            let (from, target) = (place[from as usize], place[to.number() as usize]);
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

    /// Calls `visit` with each greater place that refers to this one, as long as it returns `true`.
    #[inline]
    fn each(&self, rank: u32, to: Place, mut visit: impl FnMut(Place) -> bool) {
        let row = &self.bytes[self.rows.range(rank as usize)];
        let mut at = 0;
        while at < row.len() {
            if !visit(to + varint::read(row, &mut at) as Place) {
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
    last: Place,
    start: usize,
    end: usize,
}

impl ClassInstances {
    /// Returns the distance of an instance from the last one, with the sign in the lowest bit.
    fn distance_to(&mut self, instance: Place) -> u64 {
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
    fn count(&mut self, class: u32, instance: Place) {
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
    fn add(&mut self, class: u32, instance: Place) {
        if let Some(class) = self.classes.get_mut(&class) {
            let distance = class.distance_to(instance);
            varint::put(distance, &mut self.bytes, &mut class.end);
        }
    }

    /// Calls `visit` with each instance of a class, as long as it returns `true`.
    fn each(&self, class: u32, mut visit: impl FnMut(Place) -> bool) {
        let Some(class) = self.classes.get(&class) else {
            return;
        };
        let (mut at, mut instance) = (class.start, 0);
        while at < class.end {
            instance += varint::unfold(varint::read(&self.bytes, &mut at));
            if !visit(instance as Place) {
                return;
            }
        }
    }
}

/// The dominators, in the preorder of the search.
pub(super) struct SearchTree {
    /// The object at each place.
    pub(super) order: Sequence,
    /// The place of the direct dominator of each place.
    pub(super) above: Numbers<Place>,
}

/// Finds the dominators.
///
/// Only places that several references lead to, the joined ones, have a semidominator of their own: that of all others is
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
        place,
        joined,
    } = search;
    let length = order.len();
    let mut label: Numbers<Place> = memory.table(joined.count() as usize)?;
    label.fill(Place::MAX);
    let backward = Backward::of((&place, &joined), &mut label, graph, objects, memory)?;
    drop(place);
    let mut up: Numbers<Place> = memory.table(length)?;
    parents.each(|place, parent| up[place as usize] = parent);
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
    parents.each(|place, parent| {
        let mut dominator = parent;
        if joined.contains(place) {
            let semi = semi.get(rank + 1);
            while u64::from(dominator) > semi {
                dominator = above[dominator as usize];
            }
            rank += 1;
        }
        above[place as usize] = dominator;
    });
    Ok(SearchTree { order, above })
}

/// The processed part of the search's tree, with compressed paths.
struct Forest {
    /// A place above each one. No joined place is between the two if the lower one is not joined.
    up: Numbers<Place>,
    joined: Ranks,
    /// The least semidominator of the joined places on the path up, excluding its end, by rank; at first the least place
    /// that refers to each one.
    label: Numbers<Place>,
    way: Vec<Place>,
}

impl Forest {
    /// Finds the semidominator of each joined place; returns it at the place behind its rank.
    fn semidominators(&mut self, mut backward: Backward, steps: &Steps<'_>) -> Offsets {
        let length = self.up.len();
        let mut rank = self.joined.count();
        let mut done = 0;
        let mut place = length as Place;
        while rank > 0 {
            place = self.joined.before(place);
            rank -= 1;
            let mut least = self.label[rank as usize];
            backward.each(rank, place, |from| {
                least = least.min(self.least(from, place));
                // There is none below.
                least != TOP
            });
            self.label[rank as usize] = least;
            // Only smaller places follow, so the end of this row is not needed any more.
            backward.rows.set(rank as usize + 1, least.into());
            while done < length - place as usize {
                done += 1;
                steps.found(done);
            }
        }
        backward.rows
    }

    #[inline]
    fn label_at(&self, place: Place) -> usize {
        self.joined.rank(place) as usize
    }

    /// Returns the least semidominator from `place` up to the last place above `end`, or that of a place between.
    #[inline]
    fn least(&mut self, place: Place, end: Place) -> Place {
        let joined = self.climb(place, end);
        if joined <= end {
            // It is the parent of the last place above `end`, which is its semidominator.
            return joined;
        }
        if self.up[joined as usize] > end {
            self.shorten(joined, end);
        }
        // The last place above `end` may not be joined.
        let above = self.up[joined as usize];
        self.label[self.label_at(joined)].min(above)
    }

    /// Returns the first place from `place` on up that is joined, or not above `end`.
    #[inline]
    fn climb(&mut self, place: Place, end: Place) -> Place {
        if place <= end || self.joined.contains(place) {
            return place;
        }
        let first = self.up[place as usize];
        if first <= end || self.joined.contains(first) {
            return first;
        }
        let mut at = first;
        while at > end && !self.joined.contains(at) {
            at = self.up[at as usize];
        }
        let mut below = place;
        while below > at {
            below = std::mem::replace(&mut self.up[below as usize], at);
        }
        at
    }

    fn shorten(&mut self, place: Place, end: Place) {
        let mut at = place;
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
