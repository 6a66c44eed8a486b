//! The significant part of the dominator tree from above, as shown by a treemap.

use std::collections::BinaryHeap;

use foldhash::HashMap;
use hprof_format::ObjectId;
use serde::Serialize;

use crate::data::dominators::{Node, TOP};
use crate::data::error::Error;
use crate::data::heap::Heap;
use crate::data::numbers::ClassIndex;
use crate::data::usual::{AreaOf, UsualArea};

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
    pub id: Option<ObjectId>,
    /// 1, or the number of objects of the class.
    pub objects: u64,
    /// Bytes that would be freed without it or them. No object is in two areas, so those of a class add up.
    pub retained: u64,
    /// The areas of what it keeps alive, as far as they are significant, largest first. The remainder is the object
    /// itself, or small.
    pub below: Vec<Area>,
}

impl Area {
    /// The number of areas of all that is alive that an index has.
    pub const USUAL: usize = 1500;
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
    pub fn areas(&self, of: Option<ObjectId>, most: usize) -> Result<Area, Error> {
        self.dump.unless_changed(|| self.find_areas(of, most))
    }

    fn find_areas(&self, of: Option<ObjectId>, most: usize) -> Result<Area, Error> {
        let node = of.map_or(Ok(TOP), |id| self.place_of(id))?;
        match self.usual.get() {
            Some(usual) if node == TOP && most == Area::USUAL => self.assemble(node, &usual.areas),
            _ => self.assemble(node, &self.areas_below(node, most)),
        }
    }

    /// Returns the areas below a node: about `most` of them, the largest ones.
    pub(crate) fn areas_below(&self, node: Node, most: usize) -> Vec<UsualArea> {
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
            self.look_into(&at, least, &mut all, &mut waiting);
            next = waiting.pop().filter(|_| all.len() < most);
        }
        all
    }

    fn place_of(&self, id: ObjectId) -> Result<Node, Error> {
        let number = self.objects.ids.find(id);
        let node = number.and_then(|number| self.node(number));
        node.ok_or(Error::NoObject(id))
    }

    fn look_into(
        &self,
        at: &Waiting,
        least: u64,
        all: &mut Vec<UsualArea>,
        waiting: &mut BinaryHeap<Waiting>,
    ) {
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
            all.push(UsualArea {
                above: at.index,
                of: AreaOf::Node(child),
                objects: 1,
                retained: retained(child),
            });
        }
        let mut classes: Vec<_> = classes.into_iter().collect();
        classes.retain(|&(_, (_, bytes))| bytes >= least);
        classes.sort_by_key(|&(class, (_, bytes))| (std::cmp::Reverse(bytes), class));
        let classes = classes.into_iter();
        all.extend(classes.map(|(class, (objects, retained))| UsualArea {
            above: at.index,
            of: AreaOf::Class(class),
            objects,
            retained,
        }));
    }

    /// Puts areas into their parents, which come before them.
    fn assemble(&self, top: Node, rest: &[UsualArea]) -> Result<Area, Error> {
        let top = UsualArea {
            above: 0,
            of: AreaOf::Node(top),
            objects: 1,
            retained: self.retained(top),
        };
        let mut below: Vec<Vec<Area>> = (0..=rest.len()).map(|_| Vec::new()).collect();
        for found in rest.iter().rev() {
            let inner = below.pop().unwrap_or_default();
            below[found.above].push(self.area(found, inner)?);
        }
        self.area(&top, below.pop().unwrap_or_default())
    }

    fn area(&self, found: &UsualArea, mut below: Vec<Area>) -> Result<Area, Error> {
        let (label, id) = match found.of {
            AreaOf::Node(TOP) => ("all that is alive".to_owned(), None),
            AreaOf::Node(node) => {
                let object = self.dominators.object(node);
                let id = self.objects.ids.id(object);
                (self.label(object)?.to_string(), Some(id))
            }
            AreaOf::Class(class) => (self.classes.get(class).name.to_string(), None),
        };
        below.sort_by_key(|area| std::cmp::Reverse(area.retained));
        Ok(Area {
            label,
            id,
            objects: found.objects,
            retained: found.retained,
            below,
        })
    }
}
