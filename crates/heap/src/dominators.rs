//! The dominator tree, which shows the objects that keep others alive, by the algorithm "Semi-NCA" (Georgiadis,
//! "Linear-Time Algorithms for Dominators and Related Problems", 2005), with objects numbered in the preorder of a
//! depth-first search.

use std::io;

use crate::graph::{Graph, NONE};
use crate::memory::{Memory, Offsets, Table};
use crate::objects::Objects;

/// The position of an object in preorder; [`TOP`] is the virtual parent of all roots.
pub(crate) type Place = u32;

/// The virtual object that refers to all roots.
pub(crate) const TOP: Place = 0;

/// The dominator tree of the objects that roots reach.
#[derive(Debug)]
pub(crate) struct Dominators {
    /// The object at each place.
    order: Table<u32>,
    /// The place of the direct dominator of each place.
    above: Table<Place>,
    /// The retained size of each place, including itself.
    retained: Table<u64>,
}

impl Dominators {
    pub(crate) fn of(graph: &Graph, objects: &Objects, memory: &Memory) -> io::Result<Dominators> {
        let search = Search::of(graph, objects, memory)?;
        let (order, above) = semi_nca(search, graph, objects, memory)?;
        let mut retained: Table<u64> = memory.table(order.len())?;
        for place in (1..order.len()).rev() {
            retained[place] += objects.size(order[place]);
            let bytes = retained[place];
            retained[above[place] as usize] += bytes;
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
        self.retained[place as usize]
    }

    /// Returns the place of an object; `None` if no root reaches it.
    pub(crate) fn place(&self, object: u32) -> Option<Place> {
        self.places().find(|&place| self.object(place) == object)
    }

    /// Returns the tree of what each place directly dominates.
    pub(crate) fn tree(&self, memory: &Memory) -> io::Result<Tree> {
        let mut first: Table<Place> = memory.table(self.order.len())?;
        let mut next: Table<Place> = memory.table(self.order.len())?;
        for place in self.places().rev() {
            let above = self.above(place) as usize;
            next[place as usize] = first[above];
            first[above] = place;
        }
        Ok(Tree { first, next })
    }
}

/// The dominator tree from above. [`TOP`] stands for none, because it has no parent.
#[derive(Debug)]
pub(crate) struct Tree {
    first: Table<Place>,
    next: Table<Place>,
}

/// A step of a walk.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    Enter(Place),
    Leave(Place),
}

impl Tree {
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
    order: Table<u32>,
    /// The place from which each place was found.
    parent: Table<Place>,
    /// The place of each object, 0 for those not found.
    place: Table<Place>,
}

impl Search {
    fn of(graph: &Graph, objects: &Objects, memory: &Memory) -> io::Result<Search> {
        let count = objects.count() as usize;
        let mut search = Search {
            order: memory.table(count + 1)?,
            parent: memory.table(count + 1)?,
            place: memory.table(count)?,
        };
        // The number of references followed so far, for each object on the way down; unused entries are never
        // allocated.
        let mut followed: Table<u32> = memory.table(count + 1)?;
        let used = search.run(graph, objects, &mut followed);
        search.order.truncate(used);
        search.parent.truncate(used);
        Ok(search)
    }

    fn run(&mut self, graph: &Graph, objects: &Objects, followed: &mut [u32]) -> usize {
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

/// References to a smaller place, by their target.
struct Backward {
    rows: Offsets,
    from: Table<Place>,
}

impl Backward {
    /// Collects the references. Those to a greater place go into `least`, the least place that refers to each one: its
    /// path is never compressed, so only the source counts.
    fn of(
        search: &Search,
        least: &mut [Place],
        graph: &Graph,
        objects: &Objects,
        memory: &Memory,
    ) -> io::Result<Backward> {
        let length = search.order.len();
        let mut rows = Offsets::new(length, graph.most_edges(), memory)?;
        let place = &search.place[..];
        for from in 1..length as Place {
            graph.each(search.order[from as usize], objects, |to| {
                let to = place[to as usize];
                if to < from {
                    rows.set(to as usize, rows.get(to as usize) + 1);
                } else if to > from {
                    let least = &mut least[to as usize];
                    *least = from.min(*least);
                }
            });
        }
        let total = rows.add_up();
        let mut from_table: Table<Place> = memory.table(total as usize)?;
        for from in 1..length as Place {
            graph.each(search.order[from as usize], objects, |to| {
                let to = place[to as usize];
                if to < from {
                    let at = rows.get(to as usize) - 1;
                    rows.set(to as usize, at);
                    from_table[at as usize] = from;
                }
            });
        }
        Ok(Backward {
            rows,
            from: from_table,
        })
    }

    fn row(&self, to: usize) -> &[Place] {
        &self.from[self.rows.range(to)]
    }
}

/// Returns the object at each place, and the dominator of each place.
fn semi_nca(
    search: Search,
    graph: &Graph,
    objects: &Objects,
    memory: &Memory,
) -> io::Result<(Table<u32>, Table<Place>)> {
    let length = search.order.len();
    let mut label: Table<Place> = memory.table(length)?;
    label.copy_from_slice(&search.parent);
    let mut backward = Backward::of(&search, &mut label, graph, objects, memory)?;
    let Search {
        order,
        parent: mut above,
        place,
    } = search;
    drop(place);
    let mut up: Table<Place> = memory.table(length)?;
    up.copy_from_slice(&above);
    let mut forest = Forest {
        up,
        label,
        way: Vec::new(),
    };
    for place in (1..length).rev() {
        let mut least = forest.label[place];
        for &from in backward.row(place) {
            least = least.min(forest.least(from, place as Place));
        }
        forest.label[place] = least;
        // Only smaller places follow, so the end of this row is not needed any more.
        backward.rows.set(place + 1, least.into());
    }
    let semi = backward.rows;
    drop((backward.from, forest));
    for place in 1..length {
        let mut dominator = above[place];
        while u64::from(dominator) > semi.get(place + 1) {
            dominator = above[dominator as usize];
        }
        above[place] = dominator;
    }
    Ok((order, above))
}

/// The processed part of the search's tree, with compressed paths.
struct Forest {
    up: Table<Place>,
    /// The least semidominator on the path up, excluding its end; at first the least place that refers to each one.
    label: Table<Place>,
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
