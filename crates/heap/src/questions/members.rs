//! The objects of a class, counted once, for pages that show some of them.

use std::cmp::Reverse;
use std::sync::OnceLock;

use fixedbitset::FixedBitSet;

use crate::data::error::Error;
use crate::data::heap::Heap;
use crate::data::numbers::ObjectNumber;
use crate::data::turns::in_turn;
use crate::questions::groups::Group;
use crate::questions::summary::ObjectRow;

/// The most runs of an order that is kept, and the most objects that are in none.
const MOST_RUNS: usize = 1 << 20;
const MOST_SINGLE: usize = 12_000_000;
/// The objects of a piece that retain the same, up to which they are no run.
const FEW: usize = 16;

/// The live objects of a class.
#[derive(Debug)]
pub struct Members {
    class: String,
    /// Their order, found when a page needs objects that no index has; `None` if it takes too much memory.
    order: OnceLock<Option<Order>>,
    /// The sites that allocated them, those that retain most first.
    pub sites: Vec<Group>,
    /// Their number.
    pub count: u64,
}

impl Members {
    /// Returns the bytes that their order takes.
    #[must_use]
    pub fn kept_bytes(&self) -> usize {
        let order = self.order.get().and_then(Option::as_ref);
        order.map_or(0, |order| {
            size_of_val(&order.runs[..]) + size_of_val(&order.single[..])
        })
    }
}

/// The objects of a class, those that retain most first, then in the order of their numbers. Where a class has very many,
/// most of them retain as much as others, and are in runs.
#[derive(Debug)]
struct Order {
    runs: Vec<Run>,
    /// All objects that are in no run.
    single: Vec<ObjectNumber>,
}

/// All objects of a piece that retain the same, which are found again when they are needed.
#[derive(Clone, Copy, Debug)]
struct Run {
    retained: u64,
    /// The objects before it.
    start: u64,
    first: ObjectNumber,
    piece: u32,
    count: u32,
    /// How many of the objects before it are in no run.
    single: u32,
}

impl Run {
    fn end(&self) -> u64 {
        self.start + u64::from(self.count)
    }
}

/// An order while it is found, piece by piece.
#[derive(Default)]
struct NewOrder {
    runs: Vec<Run>,
    /// What the others retain, and their numbers.
    single: Vec<(u64, ObjectNumber)>,
}

impl NewOrder {
    /// Adds the objects of the next piece, with what they retain, those that retain most first.
    fn add_piece(&mut self, piece: usize, members: &[(ObjectNumber, u64)]) {
        for alike in members.chunk_by(|one, next| one.1 == next.1) {
            if alike.len() <= FEW {
                let single = alike.iter().map(|&(object, retained)| (retained, object));
                self.single.extend(single);
                continue;
            }
            let (first, retained) = alike[0];
            self.runs.push(Run {
                retained,
                start: 0,
                first,
                piece: piece as u32,
                count: alike.len() as u32,
                single: 0,
            });
        }
    }

    /// Adds what has been found in the pieces after.
    fn append(&mut self, found: &mut NewOrder) {
        self.runs.append(&mut found.runs);
        self.single.append(&mut found.single);
    }

    fn takes_too_much(&self) -> bool {
        self.runs.len() > MOST_RUNS || self.single.len() > MOST_SINGLE
    }

    fn finish(self) -> Order {
        let NewOrder {
            mut runs,
            mut single,
        } = self;
        // Those that retain as much stay in the order of the pieces.
        runs.sort_by_key(|run| Reverse(run.retained));
        single.sort_by_key(|&(retained, _)| Reverse(retained));
        let mut in_runs = 0;
        for run in &mut runs {
            let key = (Reverse(run.retained), run.first);
            let before =
                single.partition_point(|&(retained, object)| (Reverse(retained), object) < key);
            run.single = before as u32;
            run.start = in_runs + before as u64;
            in_runs += u64::from(run.count);
        }
        let single = single.into_iter().map(|(_, object)| object).collect();
        Order { runs, single }
    }
}

impl Order {
    /// Returns `most` objects from the `first` on. `find` finds those of a run.
    fn objects(
        &self,
        first: u64,
        most: usize,
        find: impl Fn(&Run) -> Vec<ObjectNumber>,
    ) -> Vec<ObjectNumber> {
        let place = self.runs.partition_point(|run| run.end() <= first);
        let in_runs = self.runs[..place].last();
        let in_runs = in_runs.map_or(0, |run| run.end() - u64::from(run.single));
        let mut single = (first - in_runs) as usize;
        let mut found = Vec::new();
        for run in &self.runs[place..] {
            let after = run.single as usize;
            let others = self.single.get(single..after).unwrap_or_default();
            found.extend(others.iter().take(most - found.len()));
            if found.len() == most {
                return found;
            }
            let passed = first.saturating_sub(run.start) as usize;
            found.extend(find(run).into_iter().skip(passed).take(most - found.len()));
            single = after;
        }
        let others = self.single.get(single..).unwrap_or_default();
        found.extend(others.iter().take(most - found.len()));
        found
    }
}

/// The end of a search for an order that takes too much memory.
struct TooMuch;

impl Heap<'_> {
    /// Counts the live objects of a class.
    ///
    /// # Errors
    /// [`Error::NoClass`], and those of [`Heap::groups`].
    pub fn members(&self, class: &str) -> Result<Members, Error> {
        let sites = self.who(class, 0)?;
        let count: u64 = sites.iter().map(|site| site.objects).sum();
        Ok(Members {
            class: class.to_owned(),
            order: OnceLock::new(),
            sites,
            count,
        })
    }

    /// Finds the order of the objects of some kinds; `None` if it takes too much memory.
    fn order(&self, kinds: &FixedBitSet) -> Option<Order> {
        // A thread uses the first list again for each piece.
        let search = |piece, (members, found): &mut (Vec<(ObjectNumber, u64)>, NewOrder)| {
            members.clear();
            self.each_live_in(piece, kinds, |object, retained| {
                members.push((object, retained));
            });
            // Those that retain as much stay in the order of their numbers.
            members.sort_by_key(|&(_, retained)| Reverse(retained));
            found.add_piece(piece, members);
            Ok(())
        };
        let mut order = NewOrder::default();
        let add = |(_, found): &mut (_, NewOrder)| {
            order.append(found);
            (!order.takes_too_much()).then_some(()).ok_or(TooMuch)
        };
        match in_turn((self.dump().threads(), self.pieces()), search, add, |_| {}) {
            Ok(()) => Some(order.finish()),
            Err(TooMuch) => None,
        }
    }

    /// Returns `most` objects of a class from the `first` on, those that retain most first.
    ///
    /// # Errors
    /// Those of reading records.
    pub fn member_rows(
        &self,
        members: &Members,
        first: usize,
        most: usize,
    ) -> Result<Vec<ObjectRow>, Error> {
        let end = first.saturating_add(most);
        let classes = self.classes_named(&members.class)?;
        let rows = |objects: &[ObjectNumber]| {
            let rows = || {
                objects
                    .iter()
                    .map(|&object| self.object_row(object))
                    .collect()
            };
            self.dump().unless_changed(rows)
        };
        if let Some(known) = self.known_largest(&classes, end) {
            return rows(known.get(first..).unwrap_or_default());
        }
        let kinds = self.kinds_of(&classes);
        let Some(order) = members.order.get_or_init(|| self.order(&kinds)) else {
            let mut rows = self.largest(Some(&members.class), end)?;
            return Ok(rows.split_off(first.min(rows.len())));
        };
        rows(&order.objects(first as u64, most, |run| {
            let mut members = Vec::new();
            self.each_live_in(run.piece as usize, &kinds, |object, retained| {
                if retained == run.retained {
                    members.push(object);
                }
            });
            members
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_come_by_what_they_retain_and_then_by_their_numbers() {
        // Three pieces of a hundred objects, most of which retain 8 bytes, and few of the second 16.
        let retained = |ObjectNumber(object)| match object % 100 {
            7 | 57 => 1000,
            _ if (100..200).contains(&object) && !object.is_multiple_of(15) => 8,
            _ if object.is_multiple_of(3) => 16,
            _ => 8,
        };
        let mut order = NewOrder::default();
        for piece in 0..3 {
            let objects = 100 * piece as u32..100 * (piece as u32 + 1);
            let objects = objects.map(ObjectNumber);
            let mut members: Vec<_> = objects.map(|object| (object, retained(object))).collect();
            members.sort_by_key(|&(_, retained)| Reverse(retained));
            let mut found = NewOrder::default();
            found.add_piece(piece, &members);
            order.append(&mut found);
        }
        let order = order.finish();
        assert_eq!((order.runs.len(), order.single.len()), (5, 13));
        let find = |run: &Run| {
            let objects = 100 * run.piece..100 * (run.piece + 1);
            objects
                .map(ObjectNumber)
                .filter(|&object| retained(object) == run.retained)
                .collect()
        };
        let mut expected: Vec<ObjectNumber> = (0..300).map(ObjectNumber).collect();
        expected.sort_by_key(|&object| (Reverse(retained(object)), object));
        for first in 0..=301 {
            for most in [0, 1, 3, 40, 300] {
                let after = expected.get(first..).unwrap_or_default();
                let page = &after[..most.min(after.len())];
                assert_eq!(
                    order.objects(first as u64, most, find),
                    page,
                    "{first}, {most}"
                );
            }
        }
    }
}
