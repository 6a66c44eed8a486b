//! What has changed between two dumps.

use std::collections::HashMap;

use serde::Serialize;

use crate::groups::Group;

/// A group in two dumps; where one does not have it, its figures are 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Change {
    /// What the objects have in common.
    pub name: String,
    /// The stack that allocated them, for groups by site.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<String>,
    /// Objects, before and after.
    pub objects: (u64, u64),
    /// Bytes that they take themselves, before and after.
    pub shallow: (u64, u64),
    /// Bytes that would be free without them, at least so many, before and after.
    pub retained: (u64, u64),
}

/// The groups whose figures differ, those that grew most first. Groups with the same name and stack, as those of classes that
/// two loaders have, count as one.
#[must_use]
pub fn diff(old: Vec<Group>, new: Vec<Group>) -> Vec<Change> {
    let mut changes: HashMap<(String, Vec<String>), Change> = HashMap::new();
    for (groups, is_new) in [(old, false), (new, true)] {
        for group in groups {
            let key = (group.name, group.stack);
            let change = changes.entry(key).or_default();
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
    let mut changes: Vec<Change> = changes
        .into_iter()
        .map(|((name, stack), change)| Change {
            name,
            stack,
            ..change
        })
        .filter(|change| {
            [change.objects, change.shallow, change.retained]
                .iter()
                .any(|(old, new)| old != new)
        })
        .collect();
    changes.sort_by(|one, other| {
        let growth = |change: &Change| {
            let grown = |(old, new): (u64, u64)| i128::from(new) - i128::from(old);
            (grown(change.shallow), grown(change.retained))
        };
        growth(other)
            .cmp(&growth(one))
            .then_with(|| (&one.name, &one.stack).cmp(&(&other.name, &other.stack)))
    });
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(name: &str, objects: u64, shallow: u64) -> Group {
        Group {
            name: name.to_owned(),
            objects,
            shallow,
            retained: shallow,
            exact: false,
            stack: Vec::new(),
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
        let names: Vec<&str> = changes.iter().map(|change| change.name.as_str()).collect();
        assert_eq!(names, ["Twice", "Gone"]);
        assert_eq!(changes[0].objects, (1, 4));
        assert_eq!(changes[1].shallow, (16, 0));
    }
}
