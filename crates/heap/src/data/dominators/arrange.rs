//! Brings the dominator tree into its own preorder.

use std::io;

use crate::data::dominators::retained_sizes::{NewSizes, RetainedSizes};
use crate::data::dominators::semi_nca::SearchTree;
use crate::data::dominators::{Dominators, Position, TOP};
use crate::data::memory::{Memory, Numbers};
use crate::data::numbers::ObjectNumber;
use crate::data::objects::Objects;
use crate::data::packed::{Packed, PackedWriter, Sequence, SequenceWriter};
use crate::data::ranks::{NewSet, Ranks};
use crate::data::turns::in_turn;

/// The nodes whose sizes a thread looks up at a time.
const PIECE: usize = 1 << 16;

/// Arranges a tree, and adds the retained sizes up.
pub(super) fn arrange(
    tree: SearchTree,
    objects: &Objects,
    (memory, threads): (&Memory, usize),
) -> io::Result<Dominators> {
    let SearchTree { order, above } = tree;
    let (new, below) = new_nodes(above, memory)?;
    let length = new.len();
    let mut arranged: Numbers<u32> = memory.table(length)?;
    for (&node, object) in new.iter().zip(order.iter()) {
        arranged[node as usize] = object;
    }
    drop(order);
    let mut order = SequenceWriter::new(length, memory)?;
    arranged.iter().for_each(|&object| order.push(object));
    let order = order.finish();
    let mut at = 0;
    below.each(|below| {
        arranged[new[at] as usize] = below as u32;
        at += 1;
    });
    drop((new, below));
    let (inner, sizes) = inner_places(&arranged, memory)?;
    drop(arranged);
    let retained = add_up(&order, (&inner, &sizes), objects, (memory, threads))?;
    Ok(Dominators {
        order,
        inner,
        sizes,
        retained,
        last: objects.count().saturating_sub(1),
    })
}

/// Returns the new node of each node, and the number of those that it dominates, directly or not. The nodes that one
/// directly dominates keep their order.
fn new_nodes(above: Numbers<Position>, memory: &Memory) -> io::Result<(Numbers<Position>, Packed)> {
    let length = above.len();
    // A dominator comes before all that it dominates.
    let mut sizes: Numbers<Position> = memory.table(length)?;
    for node in (1..length).rev() {
        sizes[node] += 1;
        sizes[above[node] as usize] += sizes[node];
    }
    let mut below = PackedWriter::new(length, memory)?;
    below.push(sizes[TOP.0 as usize].into());
    // The size of a node, which is read for the last time, is replaced by the next free node below it, and its dominator
    // by its own new node.
    let (mut free, mut new) = (sizes, above);
    (free[TOP.0 as usize], new[TOP.0 as usize]) = (TOP.0 + 1, TOP.0);
    for node in 1..length {
        let above = new[node] as usize;
        let own = free[above];
        let size = std::mem::replace(&mut free[node], own + 1);
        free[above] += size;
        new[node] = own;
        below.push((size - 1).into());
    }
    Ok((new, below.finish()))
}

/// Returns the nodes that dominate others, and [`TOP`], and how many each of them dominates, less one.
fn inner_places(below: &[u32], memory: &Memory) -> io::Result<(Ranks, Packed)> {
    let mut inner = NewSet::new(below.len(), memory)?;
    let mut sizes = PackedWriter::new(below.len(), memory)?;
    for (node, &below) in (TOP.0..).zip(below) {
        if below > 0 || node == TOP.0 {
            inner.insert(node);
            sizes.push(below.saturating_sub(1).into());
        }
    }
    Ok((inner.rank(memory)?, sizes.finish()))
}

/// The inner objects on the way down: their numbers, the ends of their nodes, and the bytes of all objects before each.
/// Unused entries are never allocated.
struct Open {
    entries: Numbers<[u64; 2]>,
    depth: usize,
}

impl Open {
    fn push(&mut self, object: ObjectNumber, end: Position, before: u64) {
        self.entries[self.depth] = [u64::from(object.0) << 32 | u64::from(end), before];
        self.depth += 1;
    }

    /// Removes the last one if it has ended; returns its object, and the bytes before it.
    fn pop(&mut self, node: Position) -> Option<(ObjectNumber, u64)> {
        let last = self.depth.checked_sub(1)?;
        let [object_and_end, before] = self.entries[last];
        (object_and_end as u32 <= node).then(|| {
            self.depth = last;
            (ObjectNumber((object_and_end >> 32) as u32), before)
        })
    }
}

/// Returns the objects whose retained sizes are to be stored: all but those that are reached and dominate none.
fn stored(
    order: &Sequence,
    inner: &Ranks,
    count: u32,
    (memory, threads): (&Memory, usize),
) -> io::Result<NewSet> {
    let mut stored = NewSet::all(count as usize, memory)?;
    let find_leaves = |piece: usize, leaves: &mut Vec<u32>| {
        let start = piece * PIECE;
        let members = (start as Position..).zip(order.iter_from(start).take(PIECE));
        let is_leaf = |&(node, _): &(Position, u32)| !inner.contains(node);
        leaves.clear();
        leaves.extend(members.filter(is_leaf).map(|(_, object)| object));
        Ok(())
    };
    let remove = |leaves: &mut Vec<u32>| {
        leaves.iter().for_each(|&object| stored.remove(object));
        Ok::<(), io::Error>(())
    };
    let pieces = order.len().div_ceil(PIECE);
    in_turn((threads, pieces), find_leaves, remove, |_| {})?;
    Ok(stored)
}

/// Returns the retained sizes. Threads look up the sizes of the objects.
fn add_up(
    order: &Sequence,
    (inner, sizes): (&Ranks, &Packed),
    objects: &Objects,
    (memory, threads): (&Memory, usize),
) -> io::Result<RetainedSizes> {
    let stored = stored(order, inner, objects.count(), (memory, threads))?;
    let mut retained = NewSizes::new(stored, memory)?;
    let mut open = Open {
        entries: memory.table(inner.count() as usize)?,
        depth: 0,
    };
    let look_up = |piece: usize, found: &mut Vec<(ObjectNumber, u64)>| {
        let members = order.iter_from(piece * PIECE).take(PIECE);
        found.clear();
        // The top is no object.
        found.extend(members.map(|object| match ObjectNumber(object) {
            ObjectNumber::NONE => (ObjectNumber::NONE, 0),
            object => (object, objects.size(object)),
        }));
        Ok(())
    };
    let (mut node, mut rank, mut bytes) = (TOP.0, 0, 0);
    let add = |found: &mut Vec<(ObjectNumber, u64)>| {
        for &(object, size) in &*found {
            while let Some((object, before)) = open.pop(node) {
                retained.set(object, bytes - before);
            }
            if inner.contains(node) {
                if node != TOP.0 {
                    let end = sizes.get(rank) as u32 + node + 2;
                    open.push(object, end, bytes);
                }
                rank += 1;
            }
            bytes += size;
            node += 1;
        }
        Ok::<(), io::Error>(())
    };
    let pieces = order.len().div_ceil(PIECE);
    in_turn((threads, pieces), look_up, add, |_| {})?;
    while let Some((object, before)) = open.pop(Position::MAX) {
        retained.set(object, bytes - before);
    }
    drop(open);
    retained.pack(bytes, memory)
}
