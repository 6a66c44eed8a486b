//! What holds a suspect, if it is held by more than one part of the program: without only one of them it would stay.

use crate::data::classes::Known;
use crate::data::dominators::{Node, TOP};
use crate::data::error::Error;
use crate::data::heap::Heap;
use crate::data::label::Holder;
use crate::data::numbers::ObjectNumber;
use crate::data::shortest_paths::{ShortestPaths, Through};
use crate::questions::paths::{holder, holder_by};

/// The most holders that are named.
const MOST: usize = 4;
/// The most searches for a path past the holders that are known.
const SEARCHES: usize = 8;
/// The most references of the program that a path may have.
const ON_A_WAY: usize = 16;

/// A reference of the program's own: from a class by its static fields, or from a thread by its variables. Several fields of a
/// class that refer to the same object are one.
type Owned = [ObjectNumber; 2];

/// The holders of an object.
pub(crate) struct Holders {
    /// The last one on the first path, and then others; `None` if only a root holds it.
    pub(crate) first: Option<Holder>,
    pub(crate) others: Vec<Holder>,
    /// `true` if the object would be freed without all of them, and would not without fewer, whichever these were.
    pub(crate) are_fewest: bool,
}

impl Holders {
    fn of_root() -> Holders {
        Holders {
            first: None,
            others: Vec::new(),
            are_fewest: false,
        }
    }
}

impl Heap<'_> {
    /// Returns the fewest holders of an object without which it would be free, beginning with the one on the way to it that
    /// these paths have.
    ///
    /// Every way from a root to the object has references of the program's own, one of which must go. As few as possible that
    /// are on all known ways are chosen; if a search without them finds another way, that is known from then on. If
    /// it finds none, fewer cannot do: they would miss one of the known ways.
    pub(crate) fn fewest_holders(
        &self,
        node: Node,
        paths: &ShortestPaths,
    ) -> Result<Holders, Error> {
        let object = self.dominators.object(node);
        let mut named = Vec::new();
        let mut ways = vec![self.owned_on(&paths.to(object), &mut named)?];
        let Some(&last) = ways[0].first() else {
            return Ok(Holders::of_root());
        };
        if self.is_only_holder(last, node) {
            let first = named.into_iter().map(|(_, holder)| holder).next();
            return Ok(Holders {
                first,
                others: Vec::new(),
                are_fewest: true,
            });
        }
        let mut chosen = vec![last];
        let (mut are_fewest, mut root) = (false, None);
        for _ in 0..SEARCHES {
            let graph = (&self.graph, &self.objects);
            let through = Through::Without(&chosen);
            let paths = ShortestPaths::to_wanted(&[object], through, graph, &self.memory)?;
            let Some(path) = self.path(&paths, object)? else {
                are_fewest = true;
                break;
            };
            let way = self.owned_on(&paths.to(object), &mut named)?;
            if way.is_empty() {
                // A root holds it past everything of the program's.
                root = holder(&path);
                break;
            }
            ways.push(way);
            let Some(fewest) = fewest_on_all(&ways) else {
                break;
            };
            chosen = fewest;
        }
        let name = |wanted: &Owned| {
            let mut named = named.iter();
            named.find_map(|(owned, holder)| (owned == wanted).then(|| holder.clone()))
        };
        // One of them is on the first way.
        let is_on_first = |owned: &Owned| ways[0].contains(owned);
        let first = chosen.iter().position(is_on_first).unwrap_or_default();
        let first = chosen.remove(first);
        let others = chosen.iter().filter_map(name).chain(root);
        Ok(Holders {
            first: name(&first),
            others: others.collect(),
            are_fewest,
        })
    }

    /// Returns the references of the program's own on a way, the last one first, and adds their names.
    fn owned_on(
        &self,
        way: &[ObjectNumber],
        named: &mut Vec<(Owned, Holder)>,
    ) -> Result<Vec<Owned>, Error> {
        let mut owned = Vec::new();
        for pair in way.windows(2).rev() {
            let &[from, to] = pair else {
                continue;
            };
            if let Some(holder) = self.holder_by([from, to])? {
                owned.push([from, to]);
                named.push(([from, to], holder));
            }
            if owned.len() == ON_A_WAY {
                break;
            }
        }
        Ok(owned)
    }

    fn holder_by(&self, [from, to]: Owned) -> Result<Option<Holder>, Error> {
        let is_class = self.classes.is_class_of_classes(self.objects.class(from));
        if !is_class && !self.is_a(from, Known::Thread) {
            return Ok(None);
        }
        Ok(holder_by(&self.reference(from, to)?, &self.label(from)?))
    }

    /// Returns `true` if all ways to a node lead through a reference.
    fn is_only_holder(&self, [from, to]: Owned, node: Node) -> bool {
        let Some(held) = self.node(to) else {
            return true;
        };
        let is_below = held <= node && node < self.dominators.end(held);
        let above = self.dominators.above(held);
        is_below && above != TOP && self.dominators.object(above) == from
    }
}

/// Returns as few references as possible of which one is on each of the ways; `None` if these are more than [`MOST`].
fn fewest_on_all(ways: &[Vec<Owned>]) -> Option<Vec<Owned>> {
    (1..=MOST).find_map(|most| {
        let mut chosen = Vec::new();
        on_all(ways, most, &mut chosen).then_some(chosen)
    })
}

/// Adds references to those chosen until one is on each of the ways; returns `false` if that takes more than `most`.
fn on_all(ways: &[Vec<Owned>], most: usize, chosen: &mut Vec<Owned>) -> bool {
    let is_missed = |way: &&Vec<Owned>| !way.iter().any(|owned| chosen.contains(owned));
    let Some(missed) = ways.iter().find(is_missed) else {
        return true;
    };
    if chosen.len() == most {
        return false;
    }
    missed.iter().any(|&owned| {
        chosen.push(owned);
        let found = on_all(ways, most, chosen);
        if !found {
            chosen.pop();
        }
        found
    })
}
