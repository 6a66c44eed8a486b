//! The class of the elements of a collection: what a suspect is made of, however few bytes its objects have themselves.

use std::cmp::Reverse;
use std::sync::Arc;

use foldhash::HashMap;
use serde::Serialize;

use crate::data::dominators::Node;
use crate::data::heap::Heap;
use crate::data::numbers::{ClassIndex, SiteIndex};
use crate::questions::patterns::is_of_jdk;

/// The most elements that are looked at.
const MOST: usize = 1000;
/// An element is below so many objects of the JDK, such as an entry of a map, at most.
const DEEPEST: usize = 4;

/// Objects of a class of the program's own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Elements {
    /// Their class.
    pub class: Arc<str>,
    /// All of the class that the suspect keeps alive.
    pub objects: u64,
}

impl Heap<'_> {
    /// Returns the class of most of what is below an object, given the objects and bytes of each site that it keeps alive.
    pub(crate) fn elements_of(
        &self,
        node: Node,
        sites: &HashMap<SiteIndex, (u64, u64)>,
    ) -> Option<Elements> {
        let name = |class: ClassIndex| &self.classes.get(class).name;
        // Several loaders may have loaded a class.
        let mut bytes: HashMap<&Arc<str>, u64> = HashMap::default();
        for child in self.dominators.children(node).take(MOST) {
            if let Some((class, retained)) = self.element(child) {
                let sum = bytes.entry(name(class)).or_default();
                *sum = sum.saturating_add(retained);
            }
        }
        let bytes = bytes.into_iter();
        let (class, _) = bytes.max_by_key(|&(class, bytes)| (bytes, Reverse(class)))?;
        let of_class = sites
            .iter()
            .filter(|&(&site, _)| name(self.objects.sites.get(site).class) == class);
        Some(Elements {
            class: Arc::clone(class),
            objects: of_class.map(|(_, &(objects, _))| objects).sum(),
        })
    }

    /// Returns `true` if objects of a class of the program's own are below an object.
    pub(crate) fn holds_own_objects(&self, node: Node) -> bool {
        let mut children = self.dominators.children(node).take(MOST);
        children.any(|child| self.element(child).is_some())
    }

    /// Returns the first class of the program's own on the way down to what retains most.
    fn element(&self, node: Node) -> Option<(ClassIndex, u64)> {
        let largest = |node: Node| {
            let children = self.dominators.children(node).take(MOST);
            children.max_by_key(|&child| (self.retained(child), Reverse(child)))
        };
        let mut way = std::iter::successors(Some(node), |&node| largest(node)).take(DEEPEST);
        way.find_map(|node| {
            let class = self.objects.class(self.dominators.object(node));
            let is_own = !is_of_jdk(&self.classes.get(class).name);
            is_own.then(|| (class, self.retained(node)))
        })
    }
}
