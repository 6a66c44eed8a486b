//! Stacks as trees: who calls a method, and what it calls.

use foldhash::HashMap;

use crate::{By, FrameId, Groups, Metric, Profile};

/// Which way a tree grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the outermost callers to what they call.
    Callees,
    /// From the innermost frames to their callers.
    Callers,
}

/// A place in a tree.
#[derive(Clone, Debug)]
pub struct Node {
    /// The group of [`Tree::names`].
    pub group: u32,
    /// The node's place in [`Tree::nodes`] above this one; the root's is its own, 0.
    pub parent: u32,
    /// The samples that end here.
    pub own: u64,
    /// The samples that end here or further down.
    pub total: u64,
    /// The nodes below, the costliest first.
    pub children: Vec<u32>,
}

/// Stacks that begin alike stand together.
#[derive(Debug)]
pub struct Tree {
    /// The names of the groups.
    pub names: Vec<String>,
    /// Every node after its parent; the first is the root, which stands for everything.
    pub nodes: Vec<Node>,
}

impl Tree {
    /// The tree of a metric. With `from`, it begins at the methods whose name this takes: a stack counts once, from the
    /// outermost such frame on to its callees, from the innermost on to its callers.
    #[must_use]
    pub fn new(
        profile: &Profile,
        metric: Metric,
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
        for sample in profile.samples(metric).filter(|sample| sample.value > 0) {
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

    /// The name of a node's group.
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
            let next = self.nodes.len() as u32;
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

    /// Adds up what is below each node, and sorts it.
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
