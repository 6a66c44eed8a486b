//! The search for the objects that keep most of the heap alive.

use fixedbitset::FixedBitSet;
use foldhash::{HashMap, HashSet};
use hprof_format::Value;
use serde::Serialize;

use crate::data::births::{Births, MadeWhen};
use crate::data::classes::Known;
use crate::data::dominators::{Node, TOP};
use crate::data::error::Error;
use crate::data::heap::Heap;
use crate::data::numbers::{ClassIndex, ObjectNumber, SiteIndex};
use crate::data::turns::in_turn;
use crate::questions::own_code::OwnSites;

/// An object with this many others of the same class above it is an element of one structure, a linked list.
const REPEATS: u32 = 16;

/// The kind of a suspect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SuspectKind {
    /// One object.
    Object,
    /// Several objects of a class.
    Class,
    /// Several objects, of more than one class, that one stack allocated, or one frame of the reader's own code.
    Site,
    /// Several objects of one class, allocated by one stack, that pile up, however little they retain.
    Piling,
}

/// A suspect before it is described.
pub(crate) struct FoundSuspect {
    pub(crate) kind: SuspectKind,
    /// One, or several with the largest first.
    pub(crate) nodes: Vec<Node>,
    /// The retained size without the suspects below.
    pub(crate) own: u64,
}

/// The common property of a group's objects.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Common {
    Class(ClassIndex),
    /// The number of a site in [`OwnSites`].
    Site(u32),
}

impl Common {
    fn kind(self) -> SuspectKind {
        match self {
            Common::Class(_) => SuspectKind::Class,
            Common::Site(_) => SuspectKind::Site,
        }
    }
}

/// What nodes keep alive.
#[derive(Default)]
pub(crate) struct KeptBy {
    /// The objects by site, and their bytes.
    pub(crate) sites: HashMap<SiteIndex, (u64, u64)>,
    /// When they were made, as far as that is known.
    pub(crate) made: MadeWhen,
}

impl KeptBy {
    #[inline]
    fn add_to_site(&mut self, site: SiteIndex, objects: u64, bytes: u64) {
        let sum = self.sites.entry(site).or_default();
        sum.0 += objects;
        sum.1 += bytes;
    }
}

impl Heap<'_> {
    /// Returns the bytes that would be freed without the objects of nodes.
    pub(crate) fn retained_by(&self, nodes: &[Node]) -> Result<u64, Error> {
        let objects = nodes.iter().map(|&node| self.dominators.object(node));
        let mut objects: Vec<ObjectNumber> = objects.collect();
        objects.sort_unstable();
        self.joint_sizes.get(&objects, || {
            let mut members = FixedBitSet::with_capacity(self.objects.count() as usize);
            members.extend(objects.iter().map(|object| object.place()));
            self.retained_without(|object| members.contains(object.place()))
        })
    }

    /// Descends from the roots as long as one object keeps enough alive. An object that then keeps much alive in many
    /// small parts is a suspect.
    pub(crate) fn suspects(
        &self,
        least: u64,
        sites: &mut OwnSites<'_>,
    ) -> Result<Vec<FoundSuspect>, Error> {
        let mut found = Vec::new();
        let mut waiting = vec![TOP];
        while let Some(node) = waiting.pop() {
            let (at, large) = self.descend(node, least);
            let children: u64 = large.iter().map(|&child| self.retained(child)).sum();
            // Those of a damaged index may be any.
            let own = self.retained(at).saturating_sub(children);
            if own >= least {
                if self.holds_whatever_there_is(at)? {
                    found.extend(self.groups_below(at, least, sites));
                } else {
                    found.push(FoundSuspect {
                        kind: SuspectKind::Object,
                        nodes: vec![at],
                        own,
                    });
                }
            }
            waiting.extend(large);
        }
        Ok(found)
    }

    /// Follows the only large object below, down to the last one; returns that and the large ones below it.
    fn descend(&self, start: Node, least: u64) -> (Node, Vec<Node>) {
        let mut at = start;
        let mut classes: HashMap<ClassIndex, (Node, u32)> = HashMap::default();
        loop {
            let retained = self.retained(at);
            let large = self.children(at).filter(|child| child.retained >= least);
            let large: Vec<Node> = large.map(|child| child.node).collect();
            let [only] = large[..] else {
                return (at, large);
            };
            // Most of it is not below.
            if at != TOP && retained.saturating_sub(self.retained(only)) >= least {
                return (at, large);
            }
            let class = self.objects.class(self.dominators.object(only));
            let (first, count) = classes.entry(class).or_insert((only, 0));
            *count += 1;
            if *count == REPEATS {
                return (*first, Vec::new());
            }
            at = only;
        }
    }

    /// Returns `true` for class loaders, with the lists of their classes, and for the roots together, which keep
    /// unrelated objects alive.
    fn holds_whatever_there_is(&self, node: Node) -> Result<bool, Error> {
        let is_loader =
            |node: Node| node != TOP && self.is_a(self.dominators.object(node), Known::ClassLoader);
        if node == TOP || is_loader(node) {
            return Ok(true);
        }
        let list = self.dominators.above(node);
        if list == TOP || !is_loader(self.dominators.above(list)) {
            return Ok(false);
        }
        let loader = self.dominators.object(self.dominators.above(list));
        let classes = self.field(loader, "classes")?;
        let list = self.objects.ids.id(self.dominators.object(list));
        Ok(classes == Some(Value::Object(list)))
    }

    /// Returns groups of objects of one class, or of one stack that allocated several classes, that together keep
    /// enough alive. Each object is in one group, the largest of those it fits.
    fn groups_below(&self, node: Node, least: u64, sites: &mut OwnSites<'_>) -> Vec<FoundSuspect> {
        let mut groups: HashMap<Common, FoundSuspect> = HashMap::default();
        for child in self.children(node) {
            if child.retained >= least {
                continue;
            }
            for common in self.common(child.object, sites) {
                let group = groups.entry(common).or_insert_with(|| FoundSuspect {
                    kind: common.kind(),
                    nodes: Vec::new(),
                    own: 0,
                });
                group.nodes.push(child.node);
                group.own += child.retained;
            }
        }
        let mut large: Vec<(Common, FoundSuspect)> = groups
            .into_iter()
            .filter(|(_, group)| group.own >= least)
            .collect();
        // A group by site counts if it has more than those by class, which come before it.
        large.sort_by_key(|&(common, ref group)| (std::cmp::Reverse(group.own), common));
        let mut taken = HashSet::default();
        let mut found = Vec::new();
        for (_, mut group) in large {
            group.nodes.retain(|node| !taken.contains(node));
            let members = group.nodes.iter();
            group.own = members.map(|&node| self.retained(node)).sum();
            if group.own < least {
                continue;
            }
            taken.extend(group.nodes.iter().copied());
            group
                .nodes
                .sort_by_key(|&node| (std::cmp::Reverse(self.retained(node)), node));
            if group.nodes.len() == 1 {
                group.kind = SuspectKind::Object;
            }
            found.push(group);
        }
        found
    }

    /// Returns the properties that an object may have in common with others.
    fn common(
        &self,
        object: ObjectNumber,
        sites: &mut OwnSites<'_>,
    ) -> impl Iterator<Item = Common> + use<> {
        let site = self.objects.sites.get(self.objects.site(object));
        let trace = Some(site.trace).filter(|&trace| self.dump.has_stack(trace));
        let class = std::iter::once(Common::Class(site.class));
        let site = trace.and_then(|trace| sites.of(self, trace));
        class.chain(site.map(Common::Site))
    }

    /// Returns what nodes keep alive, themselves included. Threads add it up.
    pub(crate) fn kept_by(&self, nodes: &[Node], births: Option<&Births>) -> Result<KeptBy, Error> {
        let pieces = self.dominators.pieces_below(nodes);
        let read = |piece: usize, kept: &mut KeptBy| {
            for nodes in &pieces[piece] {
                for object in self.dominators.objects_of(nodes) {
                    let size = self.objects.size(object);
                    kept.add_to_site(self.objects.site(object), 1, size);
                    if let Some(births) = births {
                        births.add_to(&mut kept.made, self.objects.ids.id(object), size);
                    }
                }
            }
            Ok(())
        };
        let mut all = KeptBy::default();
        let add = |kept: &mut KeptBy| {
            for (site, (objects, bytes)) in kept.sites.drain() {
                all.add_to_site(site, objects, bytes);
            }
            all.made.add(&std::mem::take(&mut kept.made));
            Ok::<(), Error>(())
        };
        in_turn((self.dump.threads(), pieces.len()), read, add, |_| {})?;
        Ok(all)
    }
}
