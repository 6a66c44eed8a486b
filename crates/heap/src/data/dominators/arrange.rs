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
    let mut links = Links::of(tree, memory)?;
    let mut out = Arranged {
        order: memory.table(length)?,
        used: 0,
        inner: NewSet::new(length, memory)?,
        ends: memory.table(links.inners)?,
        retained: RetainedSizes {
            units: memory.table(links.inners)?,
            large: HashMap::default(),
        },
        inners: 0,
        bytes: 0,
        before: memory.table(links.inners)?,
        depth: 0,
    };
    out.all(&mut links, objects);
    drop(links);
    if out.depth > 0 {
        // No root reaches anything.
        out.leave(TOP);
    }
    Ok(Dominators {
        order: out.order,
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
    order: Numbers<u32>,
    used: Place,
    inner: NewSet,
    ends: Numbers<Place>,
    retained: RetainedSizes,
    inners: u32,
    /// The bytes of all objects so far.
    bytes: u64,
    /// The same when each inner place on the way down was entered; unused entries are never allocated.
    before: Numbers<u64>,
    depth: usize,
}

impl Arranged {
    /// Adds everything. When an inner place is entered, its rank replaces its first child in `first`, so that it is
    /// known when everything below has been added.
    fn all(&mut self, links: &mut Links, objects: &Objects) {
        let (order, first, next) = (&links.order[..], &mut links.first[..], &links.next[..]);
        let mut at = TOP;
        loop {
            let below = first[at as usize];
            if below != TOP || at == TOP {
                first[at as usize] = self.enter();
            }
            let object = order[at as usize];
            self.order[self.used as usize] = object;
            self.used += 1;
            if at != TOP {
                self.bytes += objects.size(object);
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
                self.leave(first[at as usize]);
            }
            if at == TOP {
                return;
            }
        }
    }

    /// Begins an inner place; returns its rank.
    fn enter(&mut self) -> u32 {
        let rank = self.inners;
        self.inner.insert(self.used);
        self.inners += 1;
        self.before[self.depth] = self.bytes;
        self.depth += 1;
        rank
    }

    /// Ends the inner place with this rank.
    fn leave(&mut self, rank: u32) {
        self.depth -= 1;
        self.ends[rank as usize] = self.used;
        self.retained
            .set(rank, self.bytes - self.before[self.depth]);
    }
}
