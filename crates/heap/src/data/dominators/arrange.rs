//! Brings the dominator tree into its own preorder.

use std::io;

use crate::data::dominators::semi_nca::SearchTree;
use crate::data::dominators::{Dominators, NewSizes, Node, RetainedSizes, TOP};
use crate::data::graph::NONE;
use crate::data::memory::{Memory, Numbers};
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
fn new_nodes(above: Numbers<Node>, memory: &Memory) -> io::Result<(Numbers<Node>, Packed)> {
    let length = above.len();
    // A dominator comes before all that it dominates.
    let mut sizes: Numbers<Node> = memory.table(length)?;
    for node in (1..length).rev() {
        sizes[node] += 1;
        sizes[above[node] as usize] += sizes[node];
    }
    let mut below = PackedWriter::new(length, memory)?;
    below.push(sizes[TOP as usize].into());
    // The size of a node, which is read for the last time, is replaced by the next free node below it, and its dominator
    // by its own new node.
    let (mut free, mut new) = (sizes, above);
    (free[TOP as usize], new[TOP as usize]) = (TOP + 1, TOP);
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
    for (node, &below) in (TOP..).zip(below) {
        if below > 0 || node == TOP {
            inner.insert(node);
            sizes.push(below.saturating_sub(1).into());
        }
    }
    Ok((inner.rank(memory)?, sizes.finish()))
}

/// The inner nodes on the way down: their ranks and ends, and the bytes of all objects before each. Unused entries are
/// never allocated.
struct Open {
    entries: Numbers<[u64; 2]>,
    depth: usize,
}

impl Open {
    fn push(&mut self, rank: u32, end: u32, before: u64) {
        self.entries[self.depth] = [u64::from(rank) << 32 | u64::from(end), before];
        self.depth += 1;
    }

    /// Removes the last one if it has ended; returns its rank, and the bytes before it.
    fn pop(&mut self, node: Node) -> Option<(u32, u64)> {
        let last = self.depth.checked_sub(1)?;
        let [rank_and_end, before] = self.entries[last];
        (rank_and_end as u32 <= node).then(|| {
            self.depth = last;
            ((rank_and_end >> 32) as u32, before)
        })
    }
}

/// Returns the retained sizes of the inner nodes, by rank. Threads look up the sizes of the objects.
fn add_up(
    order: &Sequence,
    (inner, sizes): (&Ranks, &Packed),
    objects: &Objects,
    (memory, threads): (&Memory, usize),
) -> io::Result<RetainedSizes> {
    let inners = inner.count() as usize;
    let mut retained = NewSizes::new(inners, memory)?;
    let mut open = Open {
        entries: memory.table(inners)?,
        depth: 0,
    };
    let look_up = |piece: usize, found: &mut Vec<u64>| {
        let members = order.iter_from(piece * PIECE).take(PIECE);
        found.clear();
        // The top is no object.
        found.extend(members.map(|object| match object {
            NONE => 0,
            object => objects.size(object),
        }));
        Ok(())
    };
    let (mut node, mut rank, mut bytes) = (TOP, 0_u32, 0);
    let add = |found: &mut Vec<u64>| {
        for &size in &*found {
            while let Some((rank, before)) = open.pop(node) {
                retained.set(rank, bytes - before);
            }
            if inner.contains(node) {
                let end = sizes.get(rank as usize) as u32 + node + 2;
                open.push(rank, end, bytes);
                rank += 1;
            }
            bytes += size;
            node += 1;
        }
        Ok::<(), io::Error>(())
    };
    let pieces = order.len().div_ceil(PIECE);
    in_turn((threads, pieces), look_up, add, |_| {})?;
    while let Some((rank, before)) = open.pop(Node::MAX) {
        retained.set(rank, bytes - before);
    }
    drop(open);
    retained.pack(memory)
}
