//! The dominator tree, which shows the objects that keep others alive.
//!
//! A depth-first search from all roots ([`search`]) and the algorithm Semi-NCA ([`semi_nca`]) find the dominators. The
//! tree is then kept in its own preorder ([`arrange`]): everything that an object dominates follows directly after it,
//! so that a walk needs no table of children. Most objects dominate none, and need neither an end nor a retained size.

mod arrange;
mod retained_sizes;
mod search;
mod semi_nca;

use std::io::{self, Write};
use std::ops::Range;

use crate::data::dominators::retained_sizes::{NearSizes, RetainedSizes};
use crate::data::dominators::search::Search;
use crate::data::graph::Graph;
use crate::data::memory::{Memory, Numbers};
use crate::data::numbers::ObjectNumber;
use crate::data::objects::Objects;
use crate::data::packed::{Packed, Sequence};
use crate::data::progress::{Progress, STEP, Stage};
use crate::data::ranks::Ranks;
use crate::data::sections::{SectionReader, SectionWriter};
use crate::data::turns::find_in_turn;
use crate::data::zones::{Zones, entries_in, entries_of, zones_of, zones_with};

/// A node of the dominator tree, as the position of its object in preorder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Node(pub(crate) u32);

/// Nodes that follow each other.
#[derive(Clone, Debug)]
pub(crate) struct Nodes(Range<Position>);

/// A position in preorder, in tables and loops: of the search's tree or the dominator tree.
type Position = u32;

/// The nodes whose objects a thread adds up at a time.
const PIECE: u32 = 1 << 18;

/// The virtual object that refers to all roots.
pub(crate) const TOP: Node = Node(0);

/// The dominator tree of the objects that roots reach, in preorder.
#[derive(Debug)]
pub(crate) struct Dominators {
    /// The object at each node.
    order: Sequence,
    /// The nodes that dominate others, and [`TOP`].
    inner: Ranks,
    /// The number of nodes that each inner one dominates, less one, by its rank among them.
    sizes: Packed,
    retained: RetainedSizes,
    /// The greatest number of an object. What a damaged index has beyond it is taken for it.
    last: u32,
}

impl Dominators {
    pub(crate) fn of(
        graph: &Graph,
        objects: &Objects,
        (memory, threads): (&Memory, usize),
        progress: &dyn Progress,
    ) -> io::Result<Dominators> {
        let steps = Steps {
            progress,
            threads,
            all: u64::from(objects.count()),
        };
        let search = Search::of(graph, objects, memory, &steps)?;
        let tree = semi_nca::semi_nca(search, graph, objects, memory, &steps)?;
        arrange::arrange(tree, objects, (memory, threads))
    }

    /// Writes it as sections of an index.
    pub(crate) fn save(&self, out: &mut SectionWriter<impl Write>) -> io::Result<()> {
        self.order.save(out)?;
        self.inner.save(out)?;
        self.sizes.save(out)?;
        self.retained.save(out)
    }

    /// Reads it; `None` if it is damaged.
    pub(crate) fn load(index: &mut SectionReader, objects: &Objects) -> Option<Dominators> {
        let order = Sequence::load(index)?;
        let inner = Ranks::load(index, order.len())?;
        let count = objects.count();
        let dominators = Dominators {
            sizes: Packed::load(index)?,
            retained: RetainedSizes::load(index, count as usize)?,
            order,
            inner,
            last: count.saturating_sub(1),
        };
        let inners = dominators.inner.count() as usize;
        let length = dominators.order.len();
        let is_sound = inners > 0
            && (1..=count as usize + 1).contains(&length)
            && dominators.inner.contains(TOP.0)
            && dominators.sizes.len() == inners
            && dominators.end(TOP) == Node(length as u32);
        is_sound.then_some(dominators)
    }

    /// Returns the number of nodes, including [`TOP`].
    pub(crate) fn len(&self) -> u32 {
        self.order.len() as u32
    }

    /// Returns the number of objects, which is that of all nodes except [`TOP`].
    pub(crate) fn live(&self) -> usize {
        self.order.len() - 1
    }

    #[inline]
    pub(crate) fn object(&self, node: Node) -> ObjectNumber {
        ObjectNumber(self.order.get(node.0 as usize).min(self.last))
    }

    /// Iterates over all objects of the tree, in the order of their nodes, from 1.
    pub(crate) fn objects(&self) -> impl Iterator<Item = ObjectNumber> {
        self.objects_from(1)
    }

    fn objects_from(&self, start: Position) -> impl Iterator<Item = ObjectNumber> {
        let objects = self.order.iter_from(start as usize);
        objects.map(|object| ObjectNumber(object.min(self.last)))
    }

    /// Iterates over all nodes except [`TOP`] with their objects.
    pub(crate) fn all(&self) -> impl Iterator<Item = (Node, ObjectNumber)> {
        (1..).map(Node).zip(self.objects())
    }

    /// Iterates over a node and all that it dominates with their objects, without [`TOP`].
    pub(crate) fn all_below(&self, start: Node) -> impl Iterator<Item = (Node, ObjectNumber)> {
        let nodes = start.0.max(1)..self.end(start).0;
        let first = nodes.start;
        nodes.map(Node).zip(self.objects_from(first))
    }

    /// Returns the node of the direct dominator; [`TOP`] for the roots, and for itself. It searches backwards, so
    /// [`Dominators::all_above`] is better for many nodes.
    pub(crate) fn above(&self, node: Node) -> Node {
        let mut inner = self.inner.below(node.0).map(Node);
        inner.find(|&above| self.end(above) > node).unwrap_or(TOP)
    }

    /// Returns the position of the direct dominator of each node.
    pub(crate) fn all_above(&self, memory: &Memory) -> io::Result<Numbers<u32>> {
        let mut all: Numbers<Position> = memory.table(self.order.len())?;
        let mut open = Vec::new();
        self.walk(TOP, |step| match step {
            Step::Enter(node, _) => {
                let above: Option<&Node> = open.last();
                all[node.0 as usize] = above.unwrap_or(&TOP).0;
                open.push(node);
            }
            Step::Leave(..) => {
                open.pop();
            }
        });
        Ok(all)
    }

    /// Returns `true` if a node dominates others, or is the [`TOP`].
    #[inline]
    pub(crate) fn is_inner(&self, node: Node) -> bool {
        self.inner.contains(node.0)
    }

    /// Returns the node after everything that a node dominates.
    #[inline]
    pub(crate) fn end(&self, node: Node) -> Node {
        match self.inner.find(node.0) {
            Some(rank) => self.end_of_inner(node, rank),
            None => Node(node.0 + 1),
        }
    }

    /// Returns the same of an inner node with this rank.
    #[inline]
    fn end_of_inner(&self, node: Node, rank: u32) -> Node {
        self.end_with(node, self.sizes.get(self.place(rank)))
    }

    /// Returns the place of a size with this rank. That of a damaged index may be any.
    #[inline]
    fn place(&self, rank: u32) -> usize {
        (rank as usize).min(self.sizes.len() - 1)
    }

    /// Returns the node after everything that an inner node dominates, given what is stored of its size. That of a damaged
    /// index may be anywhere.
    #[inline]
    fn end_with(&self, node: Node, size: u64) -> Node {
        let end = size + u64::from(node.0) + 2;
        Node(end.min(self.len().into()) as u32)
    }

    /// Returns the bytes that would be freed with the object at a node; for [`TOP`], all live bytes.
    #[inline]
    pub(crate) fn retained(&self, node: Node, objects: &Objects) -> u64 {
        match node {
            TOP => self.retained.all(),
            node => self
                .retained_of(self.object(node), objects)
                .unwrap_or_default(),
        }
    }

    /// Returns the bytes that would be freed with an object; `None` if no root reaches it.
    #[inline]
    pub(crate) fn retained_of(&self, object: ObjectNumber, objects: &Objects) -> Option<u64> {
        self.retained.get(object, objects)
    }

    /// Returns a reader of the same for objects most of which are near the one before.
    pub(crate) fn retained_near(&self) -> NearSizes<'_> {
        self.retained.near()
    }

    /// Returns the node of an object; `None` if no root reaches it. The search takes so many threads, and looks only at
    /// zones that can have the object if these are known, otherwise at half of the nodes on average.
    pub(crate) fn node(
        &self,
        object: ObjectNumber,
        (threads, known): (usize, Option<&Zones>),
    ) -> Option<Node> {
        let groups = zones_with(object.0, zones_of(self.live()), known);
        let find_in = |zone| {
            let Range { start, end } = self.zone(zone);
            let mut objects = self.objects_from(start as u32).take(end - start);
            let found = objects.position(|at| at == object);
            Some(Node((start + found?) as u32))
        };
        find_in_turn((threads, groups.len()), |place| {
            let group = &groups[place];
            let found = group.iter().find_map(|&zone| find_in(zone));
            if let Some(nodes) = entries_of(group, |zone| self.zone(zone)) {
                self.order.release(nodes);
            }
            found
        })
    }

    /// Returns the nodes of a zone.
    fn zone(&self, zone: usize) -> Range<usize> {
        entries_in(zone, 1..self.order.len())
    }

    /// Finds the zones of the objects in each zone of nodes. The objects are below `count`.
    pub(crate) fn zones(&self, count: u32, threads: usize, memory: &Memory) -> io::Result<Zones> {
        let objects_in = |zone| {
            let Range { start, end } = self.zone(zone);
            let objects = self.objects_from(start as u32).take(end - start);
            objects.map(|object| object.0)
        };
        let zones = zones_of(self.live());
        Zones::of((threads, zones), count, objects_in, memory)
    }

    /// Returns nodes with all that they dominate, which follow them, in pieces for threads.
    pub(crate) fn pieces_below(&self, nodes: &[Node]) -> Vec<Vec<Nodes>> {
        let (mut pieces, mut piece, mut room) = (Vec::new(), Vec::new(), PIECE);
        for &node in nodes {
            let (mut start, Node(end)) = (node.0, self.end(node));
            while start < end {
                let next = end.min(start.saturating_add(room));
                piece.push(Nodes(start..next));
                room -= next - start;
                start = next;
                if room == 0 {
                    pieces.push(std::mem::take(&mut piece));
                    room = PIECE;
                }
            }
        }
        pieces.push(piece);
        pieces
    }

    /// Iterates over the objects of nodes.
    pub(crate) fn objects_of(&self, Nodes(nodes): &Nodes) -> impl Iterator<Item = ObjectNumber> {
        self.objects_from(nodes.start).take(nodes.len())
    }

    /// Iterates over the nodes that a node directly dominates.
    pub(crate) fn children(&self, node: Node) -> impl Iterator<Item = Node> {
        let end = self.end(node);
        let mut sizes = self.sizes.near();
        let mut next = Node(node.0 + 1);
        std::iter::from_fn(move || {
            let child = Some(next).filter(|&child| child < end)?;
            next = match self.inner.find(child.0) {
                Some(rank) => self.end_with(child, sizes.get(self.place(rank))),
                None => Node(child.0 + 1),
            };
            Some(child)
        })
    }

    /// Iterates over the same with their objects, which takes less time than looking them up one by one.
    pub(crate) fn children_with_objects(
        &self,
        node: Node,
    ) -> impl Iterator<Item = (Node, ObjectNumber)> {
        let mut objects = self.order.near();
        let children = self.children(node);
        children.map(move |child| {
            let object = objects.get(child.0 as usize).min(self.last);
            (child, ObjectNumber(object))
        })
    }

    /// Visits `start` and everything below it. Its memory is proportional to the depth of the tree.
    pub(crate) fn walk(&self, start: Node, mut visit: impl FnMut(Step)) {
        // The inner nodes above the current one, with their objects and ends.
        let mut open: Vec<(Node, ObjectNumber, Node)> = Vec::new();
        let mut rank = self.inner.rank(start.0);
        let objects = self.objects_from(start.0);
        for (node, object) in (start.0..self.end(start).0).map(Node).zip(objects) {
            while let Some((above, object, _)) = open.pop_if(|&mut (.., end)| end <= node) {
                visit(Step::Leave(above, object));
            }
            visit(Step::Enter(node, object));
            if self.is_inner(node) {
                open.push((node, object, self.end_of_inner(node, rank)));
                rank = rank.wrapping_add(1);
            } else {
                visit(Step::Leave(node, object));
            }
        }
        while let Some((above, object, _)) = open.pop() {
            visit(Step::Leave(above, object));
        }
    }
}

/// Reports how far the dominators are: the search is the first half, Semi-NCA the second.
struct Steps<'a> {
    progress: &'a dyn Progress,
    /// The most threads that look at references at the same time.
    threads: usize,
    all: u64,
}

impl Steps<'_> {
    #[inline]
    fn searched(&self, nodes: usize) {
        self.at(nodes as u64);
    }

    #[inline]
    fn found(&self, nodes: usize) {
        self.at(self.all + nodes as u64);
    }

    #[inline]
    fn at(&self, done: u64) {
        if done.is_multiple_of(STEP) {
            self.progress.at(Stage::Dominators, done, 2 * self.all);
        }
    }
}

/// A step of a walk: a node, and its object.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    Enter(Node, ObjectNumber),
    Leave(Node, ObjectNumber),
}
