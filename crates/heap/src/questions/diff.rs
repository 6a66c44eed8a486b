//! The differences between two dumps.

use std::borrow::Cow;
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
    pub objects: BeforeAfter,
    /// Their shallow sizes in bytes, before and after.
    pub shallow: BeforeAfter,
    /// A lower bound for the bytes that would be freed without them, before and after.
    pub retained: BeforeAfter,
}

/// A value in two dumps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(into = "[u64; 2]")]
pub struct BeforeAfter {
    /// That of the first dump.
    pub before: u64,
    /// That of the second one.
    pub after: u64,
}

impl BeforeAfter {
    /// Returns the difference.
    #[must_use]
    pub fn growth(self) -> i128 {
        i128::from(self.after) - i128::from(self.before)
    }
}

impl From<BeforeAfter> for [u64; 2] {
    fn from(value: BeforeAfter) -> Self {
        [value.before, value.after]
    }
}

/// Returns a name of a class that is the same in every run.
pub type StableClass = fn(&str) -> Cow<'_, str>;

/// Returns the groups whose figures differ, those that grew most first. Groups with the same name and stack, such as
/// classes from two loaders, count as one; names are those that `stable` returns for them.
#[must_use]
pub fn diff(old: Vec<Group>, new: Vec<Group>, stable: StableClass) -> Vec<Change> {
    let mut names = StableNames {
        stable,
        names: HashMap::new(),
        stacks: HashMap::new(),
    };
    let [old, new] = [&old, &new].map(|groups| names.of_groups(groups));
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
                    &mut figures.after
                } else {
                    &mut figures.before
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
                .any(|figures| figures.growth() != 0)
        })
        .collect();
    changes.sort_by(|(number, one), (other_number, other)| {
        let growth = |change: &Change| (change.shallow.growth(), change.retained.growth());
        growth(other)
            .cmp(&growth(one))
            .then_with(|| (&one.name, number).cmp(&(&other.name, other_number)))
    });
    changes.into_iter().map(|(_, change)| change).collect()
}

/// The names of classes in all runs. Each shared text is examined once: thousands of groups may have the same stack, as long
/// as the file.
struct StableNames {
    stable: StableClass,
    /// By the text, and `true` for a frame.
    names: HashMap<(Arc<str>, bool), Arc<str>>,
    /// By the address of the stack.
    stacks: HashMap<*const Arc<str>, Stack>,
}

impl StableNames {
    fn of_groups(&mut self, groups: &[Group]) -> Vec<Group> {
        let groups = groups.iter().map(|group| Group {
            name: self.of_name(&group.name, false),
            stack: self.of_stack(&group.stack),
            ..group.clone()
        });
        groups.collect()
    }

    fn of_stack(&mut self, stack: &Stack) -> Stack {
        if let Some(known) = self.stacks.get(&stack.as_ptr()) {
            return Arc::clone(known);
        }
        let frames = stack.iter().map(|frame| self.of_name(frame, true));
        let frames: Stack = frames.collect();
        self.stacks.insert(stack.as_ptr(), Arc::clone(&frames));
        frames
    }

    /// Returns the name for that of a class, or for a frame, `Class.method(File.java:12)`.
    fn of_name(&mut self, name: &Arc<str>, is_frame: bool) -> Arc<str> {
        let key = (Arc::clone(name), is_frame);
        if let Some(known) = self.names.get(&key) {
            return Arc::clone(known);
        }
        let class = match is_frame {
            true => name.split('(').next().and_then(|at| at.rsplit_once('.')),
            false => Some((&**name, "")),
        };
        let class = class.map_or("", |(class, _)| class);
        let stable = match (self.stable)(class) {
            Cow::Borrowed(_) => Arc::clone(name),
            Cow::Owned(stable) => (stable + &name[class.len()..]).into(),
        };
        self.names.insert(key, Arc::clone(&stable));
        stable
    }
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
        let changes = diff(old, new, |name| name.into());
        let names: Vec<&str> = changes.iter().map(|change| &*change.name).collect();
        assert_eq!(names, ["Twice", "Gone"]);
        assert_eq!(<[u64; 2]>::from(changes[0].objects), [1, 4]);
        assert_eq!(<[u64; 2]>::from(changes[1].shallow), [16, 0]);
    }

    #[test]
    fn names_that_differ_from_run_to_run_are_the_same() {
        let site = |run: &str| Group {
            stack: [format!("Main$$Lambda/{run}.get(Unknown Source)").into()].into(),
            ..group(&format!("Main$$Lambda/{run}"), 1, 8)
        };
        let stable: StableClass = |name| match name.split_once('/') {
            Some((name, _)) => Cow::Owned(name.to_owned()),
            None => Cow::Borrowed(name),
        };
        let changes = diff(vec![site("0x1")], vec![site("0x2"), site("0x3")], stable);
        let [change] = &changes[..] else {
            panic!("{changes:?}");
        };
        let objects = <[u64; 2]>::from(change.objects);
        assert_eq!((&*change.name, objects), ("Main$$Lambda", [1, 2]));
        assert_eq!(&*change.stack[0], "Main$$Lambda.get(Unknown Source)");
        assert!(diff(vec![site("0x1")], vec![site("0x2")], stable).is_empty());
    }
}
