//! Reference objects that let go of what they keep: soft ones, when memory is short, and weak ones that are cleared, whose owner
//! removes them. Phantom ones are none: what they keep waits until somebody has cleaned up.

use fixedbitset::FixedBitSet;
use hprof_format::{ObjectId, Value};

use crate::data::dominators::{Node, TOP};
use crate::data::error::Error;
use crate::data::heap::Heap;
use crate::data::numbers::{ObjectNumber, SiteIndex};

/// The kind of a reference object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Light {
    Soft,
    /// Weak, with a referent that is gone.
    Cleared,
}

/// The live ones of which none is below another, in the order of their nodes.
#[derive(Default)]
pub(crate) struct LightReferences(Vec<(Node, Light)>);

impl LightReferences {
    /// Returns the bytes that they keep, and the kind that keeps more of them.
    pub(crate) fn kept(&self, heap: &Heap<'_>) -> (Light, u64) {
        let (mut soft, mut cleared) = (0_u64, 0_u64);
        for &(at, kind) in &self.0 {
            let sum = match kind {
                Light::Soft => &mut soft,
                Light::Cleared => &mut cleared,
            };
            *sum = sum.saturating_add(heap.retained(at));
        }
        let kind = if soft > cleared {
            Light::Soft
        } else {
            Light::Cleared
        };
        (kind, soft.saturating_add(cleared))
    }

    /// Returns for each node if a cleared reference keeps it, or it is one, or holds nothing else.
    pub(crate) fn cleared(&self, heap: &Heap<'_>) -> FixedBitSet {
        let mut nodes = FixedBitSet::with_capacity(heap.dominators.len() as usize);
        let cleared = self.0.iter().filter(|(_, kind)| *kind == Light::Cleared);
        for &(node, _) in cleared.clone() {
            let end = heap.dominators.end(node);
            nodes.insert_range(node.0 as usize..end.0 as usize);
        }
        // From the last one on, so that of many below one object only the first looks at all of these.
        for &(node, _) in cleared.rev() {
            let mut at = heap.dominators.above(node);
            let is_going = |node: Node| nodes.contains(node.0 as usize);
            let mut above = Vec::new();
            while at != TOP && !is_going(at) {
                let mut below = heap.dominators.children(at);
                if !below.all(|node| is_going(node) || above.last() == Some(&node)) {
                    break;
                }
                above.push(at);
                at = heap.dominators.above(at);
            }
            nodes.extend(above.into_iter().map(|node| node.0 as usize));
        }
        nodes
    }
}

impl Heap<'_> {
    /// Returns the soft and the cleared references below a node, or the node itself. It takes a look at all that is below.
    pub(crate) fn light_references(&self, start: Node) -> Result<LightReferences, Error> {
        let classes = self.classes_of_references();
        let mut found: Vec<(Node, Light)> = Vec::new();
        if classes.iter().all(Option::is_none) {
            return Ok(LightReferences(found));
        }
        let mut end = TOP;
        for (node, object) in self.dominators.all_below(start) {
            let Some(kind) = classes[self.objects.class(object).place()] else {
                continue;
            };
            if node >= end && (kind == Light::Soft || self.is_cleared(object)?) {
                end = self.dominators.end(node);
                found.push((node, kind));
            }
        }
        Ok(LightReferences(found))
    }

    /// Returns `true` if objects of these sites are soft or weak references.
    pub(crate) fn have_references(&self, sites: impl Iterator<Item = SiteIndex>) -> bool {
        let classes = self.classes_of_references();
        let mut classes = sites.map(|site| classes[self.objects.sites.get(site).class.place()]);
        classes.any(|class| class.is_some())
    }

    /// Returns for each class what its objects are, the weak ones if they are cleared.
    fn classes_of_references(&self) -> Vec<Option<Light>> {
        let of_name = |name: &str| match name {
            "java.lang.ref.SoftReference" => Some(Some(Light::Soft)),
            "java.lang.ref.WeakReference" => Some(Some(Light::Cleared)),
            _ => None,
        };
        let classes = self.classes.inherited(|class| of_name(&class.name));
        classes.into_iter().map(Option::flatten).collect()
    }

    fn is_cleared(&self, reference: ObjectNumber) -> Result<bool, Error> {
        Ok(self.field(reference, "referent")? == Some(Value::Object(ObjectId(0))))
    }
}
