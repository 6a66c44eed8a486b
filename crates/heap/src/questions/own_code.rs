//! Answers by the innermost frame of the reader's own code: who called the library that allocated an object.

use std::collections::hash_map::Entry;
use std::sync::Arc;

use foldhash::HashMap;

use crate::data::heap::Heap;
use crate::data::names::Stack;
use crate::data::numbers::SiteIndex;
use crate::questions::allocated::{Allocated, Rest, largest};
use crate::questions::groups::Group;

/// Tells whether a frame, such as `a.B.c(B.java:7)`, is of the reader's own code.
pub type IsOwn<'a> = &'a dyn Fn(&str) -> bool;

/// The only frame of stacks that have no frame of the reader's own code.
const OTHER: &str = "<other code>";

/// Returns a stack from its innermost own frame on.
pub(crate) fn own_part(stack: &Stack, is_own: IsOwn<'_>) -> Stack {
    match stack.iter().position(|frame| is_own(frame)) {
        Some(0) => Arc::clone(stack),
        Some(place) => stack[place..].into(),
        None => [Arc::from(OTHER)].into(),
    }
}

/// The sites of traces: each trace is one, or all that have the same innermost own frame are.
pub(crate) struct OwnSites<'a> {
    is_own: Option<IsOwn<'a>>,
    of_traces: HashMap<u32, Option<u32>>,
    of_frames: HashMap<Arc<str>, u32>,
}

impl<'a> OwnSites<'a> {
    pub(crate) fn new(is_own: Option<IsOwn<'a>>) -> Self {
        Self {
            is_own,
            of_traces: HashMap::default(),
            of_frames: HashMap::default(),
        }
    }

    /// Returns the number of the trace's site; `None` if it has no own frame.
    pub(crate) fn of(&mut self, heap: &Heap<'_>, trace: u32) -> Option<u32> {
        let Some(is_own) = self.is_own else {
            return Some(trace);
        };
        if let Some(&known) = self.of_traces.get(&trace) {
            return known;
        }
        let stack = heap.dump.stack(trace);
        let frame = stack.iter().find(|frame| is_own(frame));
        let next = self.of_frames.len() as u32;
        let site = frame.map(|frame| *self.of_frames.entry(Arc::clone(frame)).or_insert(next));
        self.of_traces.insert(trace, site);
        site
    }
}

/// Returns the innermost frames that two stacks have in common.
fn common_part(one: &Stack, other: &Stack) -> Stack {
    let pairs = one.iter().zip(other.iter());
    let common = pairs.take_while(|(one, other)| one == other).count();
    one[..common].into()
}

/// Adds groups by site up that have the same class and the same innermost own frame; those that retain most come first.
/// A sum retains at least as much as its largest part, and as its objects alone.
#[must_use]
pub fn by_own_frame(groups: Vec<Group>, is_own: IsOwn<'_>) -> Vec<Group> {
    let mut sums: HashMap<(Arc<str>, Arc<str>), Group> = HashMap::default();
    let mut without_stack = Vec::new();
    for mut group in groups {
        if group.stack.is_empty() {
            without_stack.push(group);
            continue;
        }
        group.stack = own_part(&group.stack, is_own);
        match sums.entry((Arc::clone(&group.name), Arc::clone(&group.stack[0]))) {
            Entry::Vacant(place) => {
                place.insert(group);
            }
            Entry::Occupied(mut place) => {
                let sum = place.get_mut();
                sum.objects += group.objects;
                sum.shallow += group.shallow;
                sum.retained = sum.retained.max(group.retained).max(sum.shallow);
                sum.exact = false;
                sum.stack = common_part(&sum.stack, &group.stack);
            }
        }
    }
    let mut groups: Vec<Group> = sums.into_values().chain(without_stack).collect();
    groups.sort_by(|a, b| {
        let by_size = b.retained.cmp(&a.retained);
        by_size.then_with(|| (&a.name, &a.stack).cmp(&(&b.name, &b.stack)))
    });
    groups
}

impl Heap<'_> {
    /// Returns the objects of sites by class and innermost own frame: the largest sums, and the rest.
    pub(crate) fn allocated_by_own(
        &self,
        sites: &HashMap<SiteIndex, (u64, u64)>,
        is_own: IsOwn<'_>,
    ) -> (Vec<Allocated>, Rest) {
        let mut places: HashMap<(Arc<str>, Arc<str>), u32> = HashMap::default();
        let mut rows: Vec<Allocated> = Vec::new();
        let mut sums: HashMap<u32, (u64, u64)> = HashMap::default();
        let mut order: Vec<(SiteIndex, (u64, u64))> =
            sites.iter().map(|(&s, &sum)| (s, sum)).collect();
        order.sort_unstable();
        for (site, (objects, shallow)) in order {
            let mut row = self.allocated(site, 0, 0);
            row.stack = own_part(&row.stack, is_own);
            let key = (Arc::clone(&row.class), Arc::clone(&row.stack[0]));
            let next = rows.len() as u32;
            let place = *places.entry(key).or_insert(next);
            if place == next {
                rows.push(row);
            } else {
                let known = &mut rows[place as usize].stack;
                *known = common_part(known, &row.stack);
            }
            let sum = sums.entry(place).or_default();
            sum.0 += objects;
            sum.1 += shallow;
        }
        let (largest, rest) = largest(&sums);
        let largest = largest
            .into_iter()
            .map(|(place, objects, shallow)| Allocated {
                objects,
                shallow,
                ..rows[place as usize].clone()
            });
        (largest.collect(), rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(name: &str, shallow: u64, stack: &[&str]) -> Group {
        Group {
            name: name.into(),
            objects: 1,
            shallow,
            retained: 2 * shallow,
            exact: true,
            stack: stack.iter().map(|&frame| Arc::from(frame)).collect(),
        }
    }

    #[test]
    fn groups_are_added_up_by_the_innermost_own_frame() {
        let is_own = |frame: &str| frame.starts_with("a.");
        let groups = vec![
            group(
                "D",
                10,
                &["java.X.new(X.java:1)", "a.B.c(B.java:2)", "a.Main.one()"],
            ),
            group(
                "D",
                30,
                &["java.Y.new(Y.java:1)", "a.B.c(B.java:2)", "a.Main.two()"],
            ),
            group("E", 5, &["a.B.c(B.java:2)", "a.Main.two()"]),
            group("D", 1, &["java.Z.run()"]),
            group("D", 2, &[]),
        ];
        let found = by_own_frame(groups, &is_own);
        let found: Vec<_> = found
            .iter()
            .map(|group| {
                let stack: Vec<&str> = group.stack.iter().map(|frame| &**frame).collect();
                (
                    &*group.name,
                    group.objects,
                    group.shallow,
                    group.retained,
                    group.exact,
                    stack,
                )
            })
            .collect();
        let expected = [
            ("D", 2, 40, 60, false, vec!["a.B.c(B.java:2)"]),
            ("E", 1, 5, 10, true, vec!["a.B.c(B.java:2)", "a.Main.two()"]),
            ("D", 1, 2, 4, true, vec![]),
            ("D", 1, 1, 2, true, vec![OTHER]),
        ];
        assert_eq!(found, expected);
    }
}
