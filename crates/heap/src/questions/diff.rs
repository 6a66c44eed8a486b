//! The differences between two dumps.

use std::collections::hash_map::Entry;
use std::sync::Arc;

use foldhash::{HashMap, HashMapExt};
use serde::Serialize;

use crate::data::names::Stack;
use crate::questions::groups::Group;

/// A group in two dumps; if one does not have it, its figures are 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The common property of the objects.
    pub name: Arc<str>,
    /// The stack that allocated them, for groups by site.
    #[serde(skip_serializing_if = "crate::data::names::is_empty")]
    pub stack: Stack,
    /// Objects, before and after.
    pub objects: (u64, u64),
    /// Their shallow sizes in bytes, before and after.
    pub shallow: (u64, u64),
    /// A lower bound for the bytes that would be freed without them, before and after.
    pub retained: (u64, u64),
}

/// Returns the groups whose figures differ, those that grew most first. Groups with the same name and stack, such as
/// classes from two loaders, count as one.
#[must_use]
pub fn diff(old: Vec<Group>, new: Vec<Group>) -> Vec<Change> {
    let mut numbers = Numbers::default();
    let mut changes: HashMap<(u32, u32), Change> = HashMap::new();
    for (groups, is_new) in [(&old, false), (&new, true)] {
        for group in groups {
            let key = (numbers.of_name(&group.name), numbers.of_stack(&group.stack));
            let change = changes.entry(key).or_insert_with(|| Change {
                name: Arc::clone(&group.name),
                stack: Arc::clone(&group.stack),
                ..Change::default()
            });
            for (figures, figure) in [
                (&mut change.objects, group.objects),
                (&mut change.shallow, group.shallow),
                (&mut change.retained, group.retained),
            ] {
                let side = if is_new {
                    &mut figures.1
                } else {
                    &mut figures.0
                };
                *side += figure;
            }
        }
    }
    let mut changes: Vec<((u32, u32), Change)> = changes
        .into_iter()
        .filter(|(_, change)| {
            [change.objects, change.shallow, change.retained]
                .iter()
                .any(|(old, new)| old != new)
        })
        .collect();
    changes.sort_by(|(number, one), (other_number, other)| {
        let growth = |change: &Change| {
            let grown = |(old, new): (u64, u64)| i128::from(new) - i128::from(old);
            (grown(change.shallow), grown(change.retained))
        };
        growth(other)
            .cmp(&growth(one))
            .then_with(|| (&one.name, number).cmp(&(&other.name, other_number)))
    });
    changes.into_iter().map(|(_, change)| change).collect()
}

/// Assigns numbers to names and stacks, equal ones to equal texts. Each shared text is examined once: thousands of
/// groups may have the same stack, as long as the file.
#[derive(Default)]
struct Numbers<'a> {
    names: HashMap<&'a str, u32>,
    /// By the address of the text.
    names_at: HashMap<*const u8, u32>,
    stacks: HashMap<Vec<u32>, u32>,
    stacks_at: HashMap<*const Arc<str>, u32>,
}

impl<'a> Numbers<'a> {
    fn of_name(&mut self, name: &'a Arc<str>) -> u32 {
        match self.names_at.entry(name.as_ptr()) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => {
                let next = self.names.len() as u32;
                *new.insert(*self.names.entry(name).or_insert(next))
            }
        }
    }

    fn of_stack(&mut self, stack: &'a Stack) -> u32 {
        if let Some(&number) = self.stacks_at.get(&stack.as_ptr()) {
            return number;
        }
        let frames = stack.iter().map(|frame| self.of_name(frame)).collect();
        let next = self.stacks.len() as u32;
        let number = *self.stacks.entry(frames).or_insert(next);
        self.stacks_at.insert(stack.as_ptr(), number);
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(name: &str, objects: u64, shallow: u64) -> Group {
        Group {
            name: name.into(),
            objects,
            shallow,
            retained: shallow,
            exact: false,
            stack: Stack::default(),
        }
    }

    #[test]
    fn what_grew_comes_first_and_what_stayed_is_left_out() {
        let old = vec![
            group("Same", 1, 8),
            group("Gone", 2, 16),
            group("Twice", 1, 8),
        ];
        let new = vec![
            group("Same", 1, 8),
            group("Twice", 1, 8),
            group("Twice", 3, 24),
        ];
        let changes = diff(old, new);
        let names: Vec<&str> = changes.iter().map(|change| &*change.name).collect();
        assert_eq!(names, ["Twice", "Gone"]);
        assert_eq!(changes[0].objects, (1, 4));
        assert_eq!(changes[1].shallow, (16, 0));
    }
}
