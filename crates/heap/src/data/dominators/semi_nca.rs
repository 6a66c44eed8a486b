//! The algorithm "Semi-NCA" (Georgiadis, "Linear-Time Algorithms for Dominators and Related Problems", 2005).

use std::io;

use fixedbitset::FixedBitSet;
use foldhash::HashMap;

use crate::data::dominators::search::Search;
use crate::data::dominators::{Place, Steps, TOP};
use crate::data::graph::{Graph, NONE, To};
use crate::data::memory::{Memory, Numbers, Offsets};
use crate::data::objects::Objects;
use crate::data::varint;

/// References to a smaller place, by their target: the distances between the two, in the form of [`varint`].
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
        place: &[Place],
        least: &mut [Place],
        graph: &Graph,
        objects: &Objects,
        memory: &Memory,
    ) -> io::Result<Backward> {
        let length = least.len();
        let most = graph.most_edges() * varint::width(length as u64);
        let mut rows = Offsets::new(length, most, memory)?;
        let mut instances = Instances::new(length, memory)?;
        graph.each_of_all(objects, |from, to| {
            let (from, target) = (place[from as usize], place[to.number() as usize]);
            if from == TOP {
                return;
            }
            if target > from {
                let least = &mut least[target as usize];
                *least = from.min(*least);
            } else if target < from {
                match to {
                    To::Class(_) => instances.count(target, from),
                    To::Other(_) => {
                        let width = varint::width((from - target).into());
                        rows.set(target as usize, rows.get(target as usize) + width);
                    }
                }
            }
        });
        let mut bytes: Numbers<u8> = memory.table(rows.add_up() as usize)?;
        let all = &mut bytes[..];
        instances.lay_out(memory)?;
        graph.each_of_all(objects, |from, to| {
            let (from, target) = (place[from as usize], place[to.number() as usize]);
            if target >= from {
                return;
            }
            match to {
                To::Class(_) => instances.add(target, from),
                To::Other(_) => {
                    let distance = u64::from(from - target);
                    let start = rows.get(target as usize) - varint::width(distance);
                    rows.set(target as usize, start);
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

    /// Calls `visit` with each greater place that refers to this one.
    #[inline]
    fn each(&self, to: Place, mut visit: impl FnMut(Place)) {
        let row = &self.bytes[self.rows.range(to as usize)];
        let mut at = 0;
        while at < row.len() {
            visit(to + varint::read(row, &mut at) as Place);
        }
        if self.instances.is_class.contains(to as usize) {
            self.instances.each(to, visit);
        }
    }
}

/// The instances of classes, in the order of their numbers, each as its distance from the one before: nearly every
/// object has a class that is far away, but another instance close to it.
struct Instances {
    is_class: FixedBitSet,
    classes: HashMap<Place, ClassInstances>,
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
    fn new(places: usize, memory: &Memory) -> io::Result<Instances> {
        Ok(Instances {
            is_class: FixedBitSet::with_capacity(places),
            classes: HashMap::default(),
            bytes: memory.table(0)?,
        })
    }

    /// Counts an instance, all of which are then added in the same order.
    #[inline]
    fn count(&mut self, class: Place, instance: Place) {
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
    fn add(&mut self, class: Place, instance: Place) {
        if let Some(class) = self.classes.get_mut(&class) {
            let distance = class.distance_to(instance);
            varint::put(distance, &mut self.bytes, &mut class.end);
        }
    }

    /// Calls `visit` with each instance of a class.
    fn each(&self, class: Place, mut visit: impl FnMut(Place)) {
        let Some(class) = self.classes.get(&class) else {
            return;
        };
        let (mut at, mut instance) = (class.start, 0);
        while at < class.end {
            instance += varint::unfold(varint::read(&self.bytes, &mut at));
            visit(instance as Place);
        }
    }
}

/// The parent of each place in the search: its distance, which mostly is small, in the form of [`varint`].
struct Parents(Numbers<u8>);

impl Parents {
    fn of(parent: &[Place], memory: &Memory) -> io::Result<Parents> {
        let distances = || {
            (1..)
                .zip(&parent[1..])
                .map(|(place, &parent)| place - parent)
        };
        let bytes = distances().map(|distance: Place| varint::width(distance.into()));
        let mut packed: Numbers<u8> = memory.table(bytes.sum::<u64>() as usize)?;
        let mut at = 0;
        for distance in distances() {
            varint::put(distance.into(), &mut packed, &mut at);
        }
        Ok(Parents(packed))
    }

    /// Iterates over all places except [`TOP`], in their order, with their parents.
    fn iter(&self) -> impl Iterator<Item = (Place, Place)> {
        let mut at = 0;
        (1..).map_while(move |place: Place| {
            (at < self.0.len()).then(|| (place, place - varint::read(&self.0, &mut at) as Place))
        })
    }
}

/// The dominators, in the preorder of the search.
pub(super) struct SearchTree {
    /// The object at each place.
    pub(super) order: Numbers<u32>,
    /// The place of the direct dominator of each place.
    pub(super) above: Numbers<Place>,
}

/// Finds the dominators.
pub(super) fn semi_nca(
    search: Search,
    graph: &Graph,
    objects: &Objects,
    memory: &Memory,
    steps: &Steps<'_>,
) -> io::Result<SearchTree> {
    let Search {
        order,
        parent: mut label,
        place,
    } = search;
    let length = order.len();
    // It is made again from `place` at the end.
    drop(order);
    let parents = Parents::of(&label, memory)?;
    let mut backward = Backward::of(&place, &mut label, graph, objects, memory)?;
    let mut up: Numbers<Place> = memory.table(length)?;
    for (place, parent) in parents.iter() {
        up[place as usize] = parent;
    }
    let mut forest = Forest {
        up,
        label,
        way: Vec::new(),
    };
    for place in (1..length).rev() {
        let mut least = forest.label[place];
        backward.each(place as Place, |from| {
            least = least.min(forest.least(from, place as Place));
        });
        forest.label[place] = least;
        steps.found(length - place);
        // Only smaller places follow, so the end of this row is not needed any more.
        backward.rows.set(place + 1, least.into());
    }
    let semi = backward.rows;
    drop((backward.bytes, backward.instances, forest.label));
    let mut above = forest.up;
    for (place, mut dominator) in parents.iter() {
        while u64::from(dominator) > semi.get(place as usize + 1) {
            dominator = above[dominator as usize];
        }
        above[place as usize] = dominator;
    }
    drop((semi, parents));
    let mut order: Numbers<u32> = memory.table(length)?;
    order[TOP as usize] = NONE;
    for object in objects.numbers() {
        match place[object as usize] {
            TOP => {}
            place => order[place as usize] = object,
        }
    }
    Ok(SearchTree { order, above })
}

/// The processed part of the search's tree, with compressed paths.
struct Forest {
    up: Numbers<Place>,
    /// The least semidominator on the path up, excluding its end; at first the least place that refers to each one.
    label: Numbers<Place>,
    way: Vec<Place>,
}

impl Forest {
    /// Returns the least semidominator from `place` up to the last place above `end`.
    #[inline]
    fn least(&mut self, place: Place, end: Place) -> Place {
        if self.up[place as usize] > end {
            self.shorten(place, end);
        }
        self.label[place as usize]
    }

    fn shorten(&mut self, place: Place, end: Place) {
        let (up, label) = (&mut self.up[..], &mut self.label[..]);
        let mut at = place;
        while up[at as usize] > end {
            self.way.push(at);
            at = up[at as usize];
        }
        while let Some(below) = self.way.pop() {
            let above = up[below as usize] as usize;
            label[below as usize] = label[below as usize].min(label[above]);
            up[below as usize] = up[above];
        }
    }
}
