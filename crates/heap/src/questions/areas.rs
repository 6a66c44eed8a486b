//! The significant part of the dominator tree from above, as shown by a treemap.

use std::collections::BinaryHeap;

use foldhash::HashMap;
use serde::Serialize;

use crate::data::classes::ClassIndex;
use crate::data::dominators::{Node, TOP};
use crate::data::error::Error;
use crate::data::heap::Heap;

/// Areas below one in this many parts of the whole are omitted.
const LEAST_PART: u64 = 2000;
/// The most single objects below another that are shown; the rest are shown by class.
const MOST_SINGLE: usize = 40;
/// The most levels; a long list would have as many as elements without it.
const DEEPEST: u32 = 32;

/// An object with everything it keeps alive, or the objects of one class that one object keeps alive.
#[derive(Clone, Debug, Serialize)]
pub struct Area {
    /// The object: `java.util.HashMap @ 0x7f00`; a class; `all that is alive`.
    pub label: String,
    /// The id of a single object.
    #[serde(
        serialize_with = "crate::data::names::hex_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub id: Option<u64>,
    /// 1, or the number of objects of the class.
    pub objects: u64,
    /// Bytes that would be freed without it or them. No object is in two areas, so those of a class add up.
    pub retained: u64,
    /// The areas of what it keeps alive, as far as they are significant, largest first. The remainder is the object
    /// itself, or small.
    pub below: Vec<Area>,
}

/// An area before its child areas are put into it.
struct FoundArea {
    /// The area it is in: 0 for the top, then the others from 1 in their order.
    above: usize,
    label: String,
    id: Option<u64>,
    objects: u64,
    retained: u64,
}

/// An object whose children still have to be examined; the one that retains most comes first.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Waiting {
    retained: u64,
    node: Node,
    index: usize,
    level: u32,
}

impl Heap<'_> {
    /// Returns the areas that an object, or all roots together, keep alive: about `most` of them, the largest ones.
    ///
    /// # Errors
    /// [`Error::NoObject`] if no root reaches the object, and those of reading records.
    pub fn areas(&self, of: Option<u64>, most: usize) -> Result<Area, Error> {
        self.dump.unless_changed(|| self.find_areas(of, most))
    }

    fn find_areas(&self, of: Option<u64>, most: usize) -> Result<Area, Error> {
        let node = match of {
            None => TOP,
            Some(id) => self.place_of(id)?,
        };
        let least = (self.retained(node) / LEAST_PART).max(1);
        let mut all = Vec::new();
        let mut waiting = BinaryHeap::new();
        let mut next = Some(Waiting {
            retained: self.retained(node),
            node,
            index: 0,
            level: 0,
        });
        while let Some(at) = next {
            self.look_into(&at, least, &mut all, &mut waiting)?;
            next = waiting.pop().filter(|_| all.len() < most);
        }
        Ok(assemble(self.single(node, 0)?, all))
    }

    fn place_of(&self, id: u64) -> Result<Node, Error> {
        let number = self.objects.ids.find(id);
        let node = number.and_then(|number| self.dominators.node(number));
        node.ok_or(Error::NoObject(id))
    }

    fn single(&self, node: Node, above: usize) -> Result<FoundArea, Error> {
        let (label, id) = match node {
            TOP => ("all that is alive".to_owned(), None),
            node => {
                let object = self.dominators.object(node);
                (
                    self.label(object)?.to_string(),
                    Some(self.objects.ids.id(object)),
                )
            }
        };
        Ok(FoundArea {
            above,
            label,
            id,
            objects: 1,
            retained: self.retained(node),
        })
    }

    fn look_into(
        &self,
        at: &Waiting,
        least: u64,
        all: &mut Vec<FoundArea>,
        waiting: &mut BinaryHeap<Waiting>,
    ) -> Result<(), Error> {
        let retained = |node| self.retained(node);
        let mut single: Vec<Node> = self
            .dominators
            .children(at.node)
            .filter(|&child| retained(child) >= least)
            .collect();
        single.sort_by_key(|&child| (std::cmp::Reverse(retained(child)), child));
        let many = single.split_off(single.len().min(MOST_SINGLE));
        let mut classes: HashMap<ClassIndex, (u64, u64)> = HashMap::default();
        let few = self
            .dominators
            .children(at.node)
            .filter(|&child| retained(child) < least);
        for child in few.chain(many) {
            let class = self.objects.class(self.dominators.object(child));
            let (objects, bytes) = classes.entry(class).or_default();
            *objects += 1;
            *bytes += retained(child);
        }
        for child in single {
            if at.level < DEEPEST {
                waiting.push(Waiting {
                    retained: retained(child),
                    node: child,
                    index: all.len() + 1,
                    level: at.level + 1,
                });
            }
            all.push(self.single(child, at.index)?);
        }
        let mut classes: Vec<_> = classes.into_iter().collect();
        classes.retain(|&(_, (_, bytes))| bytes >= least);
        classes.sort_by_key(|&(class, (_, bytes))| (std::cmp::Reverse(bytes), class));
        all.extend(
            classes
                .into_iter()
                .map(|(class, (objects, retained))| FoundArea {
                    above: at.index,
                    label: self.classes.get(class).name.to_string(),
                    id: None,
                    objects,
                    retained,
                }),
        );
        Ok(())
    }
}

/// Puts areas into their parents, which come before them.
fn assemble(top: FoundArea, rest: Vec<FoundArea>) -> Area {
    let mut below: Vec<Vec<Area>> = (0..=rest.len()).map(|_| Vec::new()).collect();
    for found in rest.into_iter().rev() {
        let inner = below.pop().unwrap_or_default();
        below[found.above].push(found.with(inner));
    }
    top.with(below.pop().unwrap_or_default())
}

impl FoundArea {
    fn with(self, mut below: Vec<Area>) -> Area {
        below.sort_by_key(|area| std::cmp::Reverse(area.retained));
        Area {
            label: self.label,
            id: self.id,
            objects: self.objects,
            retained: self.retained,
            below,
        }
    }
}
