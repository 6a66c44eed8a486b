//! The dominator tree, which shows the objects that keep others alive, by the algorithm "Semi-NCA" (Georgiadis,
//! "Linear-Time Algorithms for Dominators and Related Problems", 2005), with objects numbered in the preorder of a
//! depth-first search.

use std::io;

use fixedbitset::FixedBitSet;
use foldhash::HashMap;

use crate::data::graph::{Graph, NONE, To};
use crate::data::memory::{Memory, Numbers, Offsets};
use crate::data::objects::{Objects, UNIT};
use crate::data::varint;

/// The position of an object in preorder; [`TOP`] is the virtual parent of all roots.
pub(crate) type Place = u32;

/// The virtual object that refers to all roots.
pub(crate) const TOP: Place = 0;

/// The dominator tree of the objects that roots reach.
#[derive(Debug)]
pub(crate) struct Dominators {
    /// The object at each place.
    order: Numbers<u32>,
    /// The place of the direct dominator of each place.
    above: Numbers<Place>,
    /// The retained size of each place, including itself.
    retained: RetainedSizes,
}

impl Dominators {
    pub(crate) fn of(graph: &Graph, objects: &Objects, memory: &Memory) -> io::Result<Dominators> {
        let search = Search::of(graph, objects, memory)?;
        let (order, above) = semi_nca(search, graph, objects, memory)?;
        let mut retained = RetainedSizes {
            units: memory.table(order.len())?,
            large: HashMap::default(),
        };
        for place in (1..order.len()).rev() {
            retained.add(place as Place, objects.size(order[place]));
            retained.add(above[place], retained.get(place as Place));
        }
        Ok(Dominators {
            order,
            above,
            retained,
        })
    }

    /// Returns the number of places, including [`TOP`].
    pub(crate) fn len(&self) -> u32 {
        self.order.len() as u32
    }

    /// Returns all places except [`TOP`].
    pub(crate) fn places(&self) -> std::ops::Range<Place> {
        1..self.len()
    }

    #[inline]
    pub(crate) fn object(&self, place: Place) -> u32 {
        self.order[place as usize]
    }

    #[inline]
    pub(crate) fn above(&self, place: Place) -> Place {
        self.above[place as usize]
    }

    /// Returns the bytes that would be freed with it; for [`TOP`], all live bytes.
    #[inline]
    pub(crate) fn retained(&self, place: Place) -> u64 {
        self.retained.get(place)
    }

    /// Returns the place of an object; `None` if no root reaches it.
    pub(crate) fn place(&self, object: u32) -> Option<Place> {
        self.places().find(|&place| self.object(place) == object)
    }

    /// Returns the tree of what each place directly dominates.
    pub(crate) fn tree(&self, memory: &Memory) -> io::Result<DominatorTree> {
        let mut first: Numbers<Place> = memory.table(self.order.len())?;
        let mut next: Numbers<Place> = memory.table(self.order.len())?;
        for place in self.places().rev() {
            let above = self.above(place) as usize;
            next[place as usize] = first[above];
            first[above] = place;
        }
        Ok(DominatorTree { first, next })
    }
}

/// The retained sizes of all places, in bytes. Like shallow sizes they are multiples of [`UNIT`].
#[derive(Debug)]
struct RetainedSizes {
    /// In units; [`LARGE`] if the size is in `large`.
    units: Numbers<u32>,
    large: HashMap<Place, u64>,
}

/// The marker that a size is stored elsewhere.
const LARGE: u32 = u32::MAX;

impl RetainedSizes {
    #[inline]
    fn get(&self, place: Place) -> u64 {
        match self.units[place as usize] {
            LARGE => self.large.get(&place).copied().unwrap_or_default(),
            units => u64::from(units) * UNIT,
        }
    }

    #[inline]
    fn add(&mut self, place: Place, bytes: u64) {
        let sum = self.get(place) + bytes;
        self.units[place as usize] = match u32::try_from(sum / UNIT) {
            Ok(units) if units < LARGE => units,
            _ => {
                self.large.insert(place, sum);
                LARGE
            }
        };
    }
}

/// The dominator tree from above. [`TOP`] stands for none, because it has no parent.
#[derive(Debug)]
pub(crate) struct DominatorTree {
    first: Numbers<Place>,
    next: Numbers<Place>,
}

/// A step of a walk.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    Enter(Place),
    Leave(Place),
}

impl DominatorTree {
    /// Iterates over the places that a place directly dominates.
    pub(crate) fn children(&self, place: Place) -> impl Iterator<Item = Place> {
        let one = |place: Place| Some(place).filter(|&place| place != TOP);
        std::iter::successors(one(self.first[place as usize]), move |&place| {
            one(self.next[place as usize])
        })
    }

    /// Visits `start` and everything below it. It climbs back by the dominators, and so needs no memory however deep
    /// the tree is.
    pub(crate) fn walk(&self, dominators: &Dominators, start: Place, mut visit: impl FnMut(Step)) {
        let mut at = start;
        visit(Step::Enter(at));
        loop {
            let below = self.first[at as usize];
            if below != TOP {
                at = below;
                visit(Step::Enter(at));
                continue;
            }
            loop {
                visit(Step::Leave(at));
                if at == start {
                    return;
                }
                let beside = self.next[at as usize];
                if beside != TOP {
                    at = beside;
                    visit(Step::Enter(at));
                    break;
                }
                at = dominators.above(at);
            }
        }
    }
}

/// A depth-first search from all roots.
struct Search {
    order: Numbers<u32>,
    /// The place from which each place was found.
    parent: Numbers<Place>,
    /// The place of each object, 0 for those not found.
    place: Numbers<Place>,
}

impl Search {
    fn of(graph: &Graph, objects: &Objects, memory: &Memory) -> io::Result<Search> {
        let count = objects.count() as usize;
        let mut search = Search {
            order: memory.table(count + 1)?,
            parent: memory.table(count + 1)?,
            place: memory.table(count)?,
        };
        // How far the references were followed, for each object on the way down; unused entries are never allocated.
        let mut followed: Numbers<u64> = memory.table(count + 1)?;
        let used = search.run(graph, objects, &mut followed);
        search.order.truncate(used);
        search.parent.truncate(used);
        Ok(search)
    }

    fn run(&mut self, graph: &Graph, objects: &Objects, followed: &mut [u64]) -> usize {
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

/// Returns the object at each place, and the dominator of each place.
fn semi_nca(
    search: Search,
    graph: &Graph,
    objects: &Objects,
    memory: &Memory,
) -> io::Result<(Numbers<u32>, Numbers<Place>)> {
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
    Ok((order, above))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_beyond_32_gb_are_kept() {
        let mut sizes = RetainedSizes {
            units: Memory::unlimited().table(2).expect("there is memory"),
            large: HashMap::default(),
        };
        let most = u64::from(LARGE - 1) * UNIT;
        sizes.add(1, most);
        assert_eq!((sizes.get(1), sizes.large.len()), (most, 0));
        for more in 1..4 {
            sizes.add(1, UNIT);
            assert_eq!(sizes.get(1), most + more * UNIT);
        }
        assert_eq!(sizes.get(0), 0);
    }
}
