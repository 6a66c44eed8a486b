//! Piles that are known by their form, however little they retain: a long chain of the program's own objects, and many callbacks
//! in one place.

use std::sync::Arc;

use fixedbitset::FixedBitSet;
use foldhash::HashMap;
use serde::Serialize;

use crate::data::dominators::{Node, TOP};
use crate::data::heap::Heap;
use crate::data::numbers::ClassIndex;
use crate::questions::suspects::{FoundSuspect, SuspectKind};

/// The fewest objects of a pile.
const FEWEST: u64 = 100;
/// Objects of a chain are counted up to this number.
const MOST_COUNTED: u64 = 1_000_000;
/// The share of the threshold from which a pile is a suspect.
const OF_THRESHOLD: u64 = 10;
/// The most suspects that are added.
const MOST: usize = 5;
/// The beginnings of names of classes that are not the program's own.
const JDK: [&str; 5] = ["java.", "javax.", "jdk.", "sun.", "com.sun."];
/// The words in names of classes whose objects wait to be called.
const CALLBACKS: [&str; 8] = [
    "$$Lambda",
    "Listener",
    "Observer",
    "Callback",
    "Handler",
    "Subscriber",
    "Subscription",
    "Watcher",
];

/// The form of a pile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Pattern {
    /// Objects of which each holds the next one.
    Chain {
        /// Their class.
        class: Arc<str>,
        /// Their number, or a million.
        objects: u64,
    },
    /// Callbacks that one object holds.
    Callbacks {
        /// Their class.
        class: Arc<str>,
        /// Their number.
        objects: u64,
    },
    /// Class loaders that pile up.
    Loaders {
        /// Their class.
        class: Arc<str>,
        /// Their number.
        objects: u64,
    },
}

impl Heap<'_> {
    /// Returns piles that retain less than the suspects that were found by their size, and are not below one of these.
    pub(crate) fn small_piles(&self, threshold: u64, found: &[FoundSuspect]) -> Vec<FoundSuspect> {
        let least = (threshold / OF_THRESHOLD).max(1);
        let is_found = |node: Node| found.iter().any(|suspect| suspect.nodes.contains(&node));
        let mut piles = Vec::new();
        let mut waiting = vec![TOP];
        while let Some(node) = waiting.pop() {
            if node != TOP && (is_found(node) || self.is_below(node, found)) {
                continue;
            }
            if node != TOP && self.retained(node) < threshold && self.pattern(node).is_some() {
                piles.push(FoundSuspect {
                    kind: SuspectKind::Object,
                    nodes: vec![node],
                    own: self.retained(node),
                });
                continue;
            }
            let large = self.children(node).filter(|child| child.retained >= least);
            waiting.extend(large.map(|child| child.node));
        }
        piles.sort_by_key(|pile| (std::cmp::Reverse(pile.own), pile.nodes[0]));
        piles.truncate(MOST);
        piles
    }

    /// Returns `true` if a node is below an object that was found by its size.
    fn is_below(&self, node: Node, found: &[FoundSuspect]) -> bool {
        let mut single = found.iter().filter(|suspect| suspect.nodes.len() == 1);
        single.any(|suspect| {
            let above = suspect.nodes[0];
            above <= node && node < self.dominators.end(above)
        })
    }

    /// Returns the form of the pile that an object is the first one of, or holds directly.
    pub(crate) fn pattern(&self, node: Node) -> Option<Pattern> {
        self.chain(node).or_else(|| self.callbacks(node))
    }

    fn chain(&self, node: Node) -> Option<Pattern> {
        let class = self.class_of(node);
        let name = &self.classes.get(class).name;
        if is_of_jdk(name) {
            return None;
        }
        let (mut at, mut objects) = (node, 1);
        while objects < MOST_COUNTED {
            let mut children = self.dominators.children_with_objects(at);
            let next = children.find(|&(_, child)| self.objects.class(child) == class);
            let Some((next, _)) = next else {
                break;
            };
            (at, objects) = (next, objects + 1);
        }
        (objects >= FEWEST).then(|| Pattern::Chain {
            class: Arc::clone(name),
            objects,
        })
    }

    /// The callbacks are the elements of an array, or the values of its entries.
    fn callbacks(&self, node: Node) -> Option<Pattern> {
        let wanted = self.callback_classes();
        if wanted.is_clear() {
            return None;
        }
        let mut classes: HashMap<ClassIndex, u64> = HashMap::default();
        let mut count = |object| {
            let class = self.objects.class(object);
            if wanted.contains(class.place()) {
                *classes.entry(class).or_default() += 1;
            }
        };
        for (child, object) in self.dominators.children_with_objects(node) {
            count(object);
            if self.dominators.is_inner(child) {
                let below = self.dominators.children_with_objects(child);
                below.for_each(|(_, object)| count(object));
            }
        }
        let mut many: Vec<(u64, ClassIndex)> = classes
            .into_iter()
            .filter(|&(_, objects)| objects >= FEWEST)
            .map(|(class, objects)| (objects, class))
            .collect();
        many.sort_unstable();
        let (objects, class) = many.pop()?;
        Some(Pattern::Callbacks {
            class: Arc::clone(&self.classes.get(class).name),
            objects,
        })
    }

    /// Returns the classes of callbacks that have enough objects for a pile. They are found once.
    fn callback_classes(&self) -> &FixedBitSet {
        self.callback_classes.get_or_init(|| {
            let mut found = FixedBitSet::with_capacity(self.classes.len());
            for (class, known) in self.classes.iter() {
                found.set(class.place(), is_callback(&known.name));
            }
            if found.is_clear() {
                return found;
            }
            let kinds = self.objects.kinds();
            let mut objects = vec![0_u64; kinds.len()];
            self.objects
                .each_kind(0..self.objects.count(), |kind| objects[kind] += 1);
            let mut of_classes = vec![0; self.classes.len()];
            for (&site, objects) in kinds.iter().zip(objects) {
                of_classes[self.objects.sites.get(site).class.place()] += objects;
            }
            for (class, objects) in of_classes.into_iter().enumerate() {
                found.set(class, found.contains(class) && objects >= FEWEST);
            }
            found
        })
    }

    fn class_of(&self, node: Node) -> ClassIndex {
        self.objects.class(self.dominators.object(node))
    }
}

/// Returns `true` for classes of the JDK and arrays.
pub(crate) fn is_of_jdk(class: &str) -> bool {
    JDK.iter().any(|of| class.starts_with(of)) || class.ends_with("[]")
}

fn is_callback(class: &str) -> bool {
    !is_of_jdk(class) && CALLBACKS.iter().any(|word| class.contains(word))
}
