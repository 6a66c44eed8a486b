//! Brings the dominator tree into its own preorder.

use std::io;

use foldhash::HashMap;

use crate::data::dominators::semi_nca::SearchTree;
use crate::data::dominators::{Dominators, Place, RetainedSizes, TOP};
use crate::data::memory::{Memory, Numbers};
use crate::data::objects::Objects;
use crate::data::ranks::NewSet;

/// Arranges a tree, and adds the retained sizes up.
pub(super) fn arrange(
    tree: SearchTree,
    objects: &Objects,
    memory: &Memory,
) -> io::Result<Dominators> {
    let length = tree.order.len();
    let Links {
        order,
        mut first,
        next,
        inners,
    } = Links::of(tree, memory)?;
    let mut out = Arranged {
        used: 0,
        inner: NewSet::new(length, memory)?,
        ends: memory.table(inners)?,
        retained: RetainedSizes {
            units: memory.table(inners)?,
            large: HashMap::default(),
        },
        inners: 0,
        bytes: 0,
        open: memory.table(inners)?,
        depth: 0,
    };
    out.all(&order, &mut first, &next, objects);
    drop(next);
    let mut arranged: Numbers<u32> = memory.table(length)?;
    for (&place, &object) in first.iter().zip(&order[..]) {
        arranged[place as usize] = object;
    }
    Ok(Dominators {
        order: arranged,
        inner: out.inner.rank(memory)?,
        ends: out.ends,
        retained: out.retained,
    })
}

/// The tree from above, by the places of the search.
struct Links {
    /// The object at each place.
    order: Numbers<u32>,
    /// The first child of each place; [`TOP`] for none.
    first: Numbers<Place>,
    /// The next child of the same place, which is greater; of the last one the dominator, which is smaller.
    next: Numbers<Place>,
    /// The number of places with children, and of [`TOP`].
    inners: usize,
}

impl Links {
    fn of(tree: SearchTree, memory: &Memory) -> io::Result<Links> {
        let SearchTree { order, above } = tree;
        let mut first: Numbers<Place> = memory.table(order.len())?;
        // Each entry is read for the last time when it is replaced.
        let mut next = above;
        let mut inners = 1;
        for place in (1..order.len()).rev() {
            let above = next[place];
            let beside = std::mem::replace(&mut first[above as usize], place as Place);
            if beside == TOP {
                inners += usize::from(above != TOP);
            } else {
                next[place] = beside;
            }
        }
        Ok(Links {
            order,
            first,
            next,
            inners,
        })
    }
}

/// The arranged tree while it is made.
struct Arranged {
    used: Place,
    inner: NewSet,
    ends: Numbers<Place>,
    retained: RetainedSizes,
    inners: u32,
    /// The bytes of all objects so far.
    bytes: u64,
    /// The inner places on the way down: their ranks, and the bytes before each. Unused entries are never allocated.
    open: Numbers<[u64; 2]>,
    depth: usize,
}

impl Arranged {
    /// Gives every place its new one, which replaces its first child in `first`. See [`Links`].
    fn all(&mut self, order: &[u32], first: &mut [Place], next: &[Place], objects: &Objects) {
        let mut at = TOP;
        loop {
            let below = std::mem::replace(&mut first[at as usize], self.used);
            if below != TOP || at == TOP {
                self.enter();
            }
            self.used += 1;
            if at != TOP {
                self.bytes += objects.size(order[at as usize]);
            }
            if below != TOP {
                at = below;
                continue;
            }
            while at != TOP {
                let onwards = next[at as usize];
                let is_beside = onwards > at;
                at = onwards;
                if is_beside {
                    break;
                }
                self.leave();
            }
            if at == TOP {
                break;
            }
        }
        if self.depth > 0 {
            // No root reaches anything.
            self.leave();
        }
    }

    /// Begins an inner place.
    fn enter(&mut self) {
        self.open[self.depth] = [self.inners.into(), self.bytes];
        self.inner.insert(self.used);
        self.inners += 1;
        self.depth += 1;
    }

    /// Ends the last inner place that has begun.
    fn leave(&mut self) {
        self.depth -= 1;
        let [rank, before] = self.open[self.depth];
        self.ends[rank as usize] = self.used;
        // There are fewer inner places than places.
        self.retained.set(rank as u32, self.bytes - before);
    }
}
