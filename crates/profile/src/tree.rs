//! Stacks as trees: the callers of a method, and the methods it calls.

use foldhash::HashMap;

use crate::group::{By, Groups};
use crate::metric::Metric;
use crate::model::{FrameId, Profile, Sample};
use crate::number::number;

/// The direction in which a tree grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the outermost callers to the methods they call.
    Callees,
    /// From the innermost frames to their callers.
    Callers,
}

/// A node of a tree.
#[derive(Clone, Debug)]
pub struct Node {
    /// The group, an index into [`Tree::names`].
    pub group: u32,
    /// The parent, an index into [`Tree::nodes`]; the root's is 0, itself.
    pub parent: u32,
    /// The value of the samples that end here.
    pub own: u64,
    /// The value of the samples that end here or further down.
    pub total: u64,
    /// The child nodes, the costliest first.
    pub children: Vec<u32>,
}

/// A tree in which stacks with the same beginning share nodes.
#[derive(Debug)]
pub struct Tree {
    /// The names of the groups.
    pub names: Vec<String>,
    /// All nodes, each after its parent; the first is the root, which stands for everything.
    pub nodes: Vec<Node>,
}

impl Tree {
    /// Creates the tree of a metric. With `from`, it begins at the methods whose names this accepts: a stack counts
    /// once, from the outermost such frame to its callees, or from the innermost to its callers.
    #[must_use]
    pub fn new(
        profile: &Profile,
        metric: Metric,
        by: By,
        direction: Direction,
        from: Option<&dyn Fn(&str) -> bool>,
    ) -> Tree {
        Tree::of_samples(profile, profile.samples(metric), by, direction, from)
    }

    /// As [`Tree::new`], of samples whose stacks are the profile's.
    #[must_use]
    pub fn of_samples(
        profile: &Profile,
        samples: impl Iterator<Item = Sample>,
        by: By,
        direction: Direction,
        from: Option<&dyn Fn(&str) -> bool>,
    ) -> Tree {
        let groups = Groups::of_frames(profile, by);
        let wanted: Option<Vec<bool>> =
            from.map(|from| groups.names.iter().map(|name| from(name)).collect());
        let mut builder = Builder::default();
        builder.add_root();
        let mut path = Vec::new();
        for sample in samples.filter(|sample| sample.value > 0) {
            let frames = profile.stacks.frames(sample.stack).iter();
            let group = |frame: &FrameId| groups.of[frame.0 as usize];
            path.clear();
            match direction {
                Direction::Callees => path.extend(frames.rev().map(group)),
                Direction::Callers => path.extend(frames.map(group)),
            }
            let start = match &wanted {
                None => 0,
                Some(wanted) => match path.iter().position(|&g| wanted[g as usize]) {
                    Some(start) => start,
                    None => continue,
                },
            };
            builder.add(&path[start..], sample.value);
        }
        Tree {
            names: groups.names,
            nodes: builder.finish(),
        }
    }

    /// Returns the name of a node's group.
    #[must_use]
    pub fn name(&self, node: &Node) -> &str {
        &self.names[node.group as usize]
    }
}

#[derive(Default)]
struct Builder {
    nodes: Vec<Node>,
    children: HashMap<(u32, u32), u32>,
}

impl Builder {
    fn add_root(&mut self) {
        self.nodes.push(Node {
            group: u32::MAX,
            parent: 0,
            own: 0,
            total: 0,
            children: Vec::new(),
        });
    }

    fn add(&mut self, path: &[u32], value: u64) {
        let mut at = 0;
        for &group in path {
            let next = number(self.nodes.len());
            let child = *self.children.entry((at, group)).or_insert(next);
            if child == next {
                self.nodes.push(Node {
                    group,
                    parent: at,
                    own: 0,
                    total: 0,
                    children: Vec::new(),
                });
                self.nodes[at as usize].children.push(child);
            }
            at = child;
        }
        let own = &mut self.nodes[at as usize].own;
        *own = own.saturating_add(value);
    }

    /// Adds up the values below each node, and sorts it.
    fn finish(mut self) -> Vec<Node> {
        for index in (0..self.nodes.len()).rev() {
            let node = &mut self.nodes[index];
            node.total = node.total.saturating_add(node.own);
            let (total, parent) = (node.total, node.parent as usize);
            if index > 0 {
                let above = &mut self.nodes[parent].total;
                *above = above.saturating_add(total);
            }
        }
        for index in 0..self.nodes.len() {
            let mut children = std::mem::take(&mut self.nodes[index].children);
            children.sort_by_key(|&child| std::cmp::Reverse(self.nodes[child as usize].total));
            self.nodes[index].children = children;
        }
        self.nodes
    }
}
