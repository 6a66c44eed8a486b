//! The objects of a class, counted once, for pages that show some of them.

use std::cmp::Reverse;
use std::sync::OnceLock;

use fixedbitset::FixedBitSet;

use crate::data::dominators::Node;
use crate::data::error::Error;
use crate::data::heap::Heap;
use crate::data::turns::in_turn;
use crate::questions::groups::Group;
use crate::questions::summary::ObjectRow;

/// The most runs of an order that is kept.
const MOST: usize = 1 << 20;
/// The objects of a run up to which their nodes are kept; those of others are found again, in the piece of the run.
const FEW: usize = 16;

/// The live objects of a class.
#[derive(Debug)]
pub struct Members {
    class: String,
    /// Their order, found when a page needs objects that no index has; `None` if it has too many runs.
    order: OnceLock<Option<Order>>,
    /// The sites that allocated them, those that retain most first.
    pub sites: Vec<Group>,
    /// Their number.
    pub count: u64,
}

impl Members {
    /// Returns the bytes that their order takes.
    #[must_use]
    pub fn kept_bytes(&self) -> usize {
        let order = self.order.get().and_then(Option::as_ref);
        order.map_or(0, |order| {
            size_of_val(&order.runs[..]) + size_of_val(&order.nodes[..])
        })
    }
}

/// The objects of a class, those that retain most first, then in the order of their nodes. Most objects of a class
/// with very many retain as much as others, so there are far fewer runs than objects.
#[derive(Debug, Default)]
struct Order {
    runs: Vec<Run>,
    /// The nodes of all runs of at most [`FEW`].
    nodes: Vec<Node>,
}

/// All objects of a piece of the dominator tree that retain the same.
#[derive(Clone, Copy, Debug)]
struct Run {
    retained: u64,
    /// The objects in the runs before.
    start: u64,
    piece: u32,
    count: u32,
    /// The place of the first of its nodes, if these are kept.
    nodes: u32,
}

impl Order {
    /// Adds the objects of a piece, with what they retain, those that retain most first.
    fn add_piece(&mut self, piece: usize, members: &[(Node, u64)]) {
        for run in members.chunk_by(|one, next| one.1 == next.1) {
            self.runs.push(Run {
                retained: run[0].1,
                start: 0,
                piece: piece as u32,
                count: run.len() as u32,
                nodes: self.nodes.len() as u32,
            });
            if run.len() <= FEW {
                self.nodes.extend(run.iter().map(|&(node, _)| node));
            }
        }
    }

    /// Adds what has been found in a later piece.
    fn append(&mut self, found: &mut Order) {
        for run in &mut found.runs {
            run.nodes += self.nodes.len() as u32;
        }
        self.runs.append(&mut found.runs);
        self.nodes.append(&mut found.nodes);
    }

    /// Brings the runs of all pieces into their order.
    fn finish(mut self) -> Order {
        // The pieces stay in theirs.
        self.runs.sort_by_key(|run| Reverse(run.retained));
        let mut start = 0;
        for run in &mut self.runs {
            run.start = start;
            start += u64::from(run.count);
        }
        self
    }

    /// Returns the nodes of `most` objects from the `first` on. `find` finds those of a run.
    fn nodes(&self, first: u64, most: usize, find: impl Fn(&Run) -> Vec<Node>) -> Vec<Node> {
        let mut found = Vec::new();
        let is_before = |run: &Run| run.start + u64::from(run.count) <= first;
        for run in &self.runs[self.runs.partition_point(is_before)..] {
            if found.len() >= most {
                break;
            }
            let count = run.count as usize;
            let nodes = match count <= FEW {
                true => self.nodes[run.nodes as usize..][..count].to_vec(),
                false => find(run),
            };
            let before = first.saturating_sub(run.start) as usize;
            let nodes = nodes.into_iter().skip(before);
            found.extend(nodes.take(most - found.len()));
        }
        found
    }
}

/// The end of a search for an order that has too many runs.
struct TooMany;

impl Heap<'_> {
    /// Counts the live objects of a class.
    ///
    /// # Errors
    /// [`Error::NoClass`], and those of [`Heap::groups`].
    pub fn members(&self, class: &str) -> Result<Members, Error> {
        let sites = self.who(class, 0)?;
        let count: u64 = sites.iter().map(|site| site.objects).sum();
        Ok(Members {
            class: class.to_owned(),
            order: OnceLock::new(),
            sites,
            count,
        })
    }

    /// Iterates over the objects of some kinds in a piece of the dominator tree: their nodes, and what they retain.
    fn members_in(&self, piece: usize, kinds: &FixedBitSet) -> impl Iterator<Item = (Node, u64)> {
        let is_member = |object| kinds.contains(self.objects.kind(object));
        self.dominators.retained_in(piece, &self.objects, is_member)
    }

    /// Finds the order of the objects of some kinds; `None` if it has too many runs.
    fn order(&self, kinds: &FixedBitSet) -> Option<Order> {
        let search = |piece, found: &mut Order| {
            let mut members: Vec<(Node, u64)> = self.members_in(piece, kinds).collect();
            // Those that retain as much stay in the order of their nodes.
            members.sort_by_key(|&(_, retained)| Reverse(retained));
            found.add_piece(piece, &members);
            Ok(())
        };
        let mut order = Order::default();
        let add = |found: &mut Order| {
            order.append(found);
            (order.runs.len() <= MOST).then_some(()).ok_or(TooMany)
        };
        let work = (self.dump().threads(), self.dominators.pieces());
        match in_turn(work, search, add, |_| {}) {
            Ok(()) => Some(order.finish()),
            Err(TooMany) => None,
        }
    }

    /// Returns `most` objects of a class from the `first` on, those that retain most first.
    ///
    /// # Errors
    /// Those of reading records.
    pub fn member_rows(
        &self,
        members: &Members,
        first: usize,
        most: usize,
    ) -> Result<Vec<ObjectRow>, Error> {
        let end = first.saturating_add(most);
        let classes = self.classes_named(&members.class)?;
        let rows = |nodes: &[Node]| {
            let rows = || nodes.iter().map(|&node| self.object_row(node)).collect();
            self.dump().unless_changed(rows)
        };
        if let Some(known) = self.known_largest(&classes, end) {
            return rows(known.get(first..).unwrap_or_default());
        }
        let kinds = self.kinds_of(&classes);
        let Some(order) = members.order.get_or_init(|| self.order(&kinds)) else {
            let mut rows = self.largest(Some(&members.class), end)?;
            return Ok(rows.split_off(first.min(rows.len())));
        };
        rows(&order.nodes(first as u64, most, |run| {
            let members = self.members_in(run.piece as usize, &kinds);
            let members = members.filter(|&(_, retained)| retained == run.retained);
            members.map(|(node, _)| node).collect()
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_come_by_what_they_retain_and_then_by_their_nodes() {
        // Three pieces of a hundred nodes, most of which retain 8 bytes.
        let retained = |node: Node| match node % 100 {
            7 | 57 => 1000,
            _ if node.is_multiple_of(3) => 16,
            _ => 8,
        };
        let mut order = Order::default();
        for piece in 0..3 {
            let nodes = 100 * piece as Node..100 * (piece as Node + 1);
            let mut members: Vec<_> = nodes.map(|node| (node, retained(node))).collect();
            members.sort_by_key(|&(_, retained)| Reverse(retained));
            let mut found = Order::default();
            found.add_piece(piece, &members);
            order.append(&mut found);
        }
        let order = order.finish();
        assert_eq!((order.runs.len(), order.nodes.len()), (9, 6));
        let find = |run: &Run| {
            let nodes = 100 * run.piece..100 * (run.piece + 1);
            nodes
                .filter(|&node| retained(node) == run.retained)
                .collect()
        };
        let mut expected: Vec<Node> = (0..300).collect();
        expected.sort_by_key(|&node| (Reverse(retained(node)), node));
        for first in 0..=301 {
            for most in [0, 1, 3, 40, 300] {
                let behind = expected.get(first..).unwrap_or_default();
                let page = &behind[..most.min(behind.len())];
                assert_eq!(
                    order.nodes(first as u64, most, find),
                    page,
                    "{first}, {most}"
                );
            }
        }
    }
}
