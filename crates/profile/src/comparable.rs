//! Names that are the same in every run.

use std::borrow::Cow;

use foldhash::fast::RandomState;
use indexmap::IndexSet;

use crate::model::{FrameId, LabelsId, Profile};
use crate::names::{Name, Names};
use crate::number::number;

/// Returns a name of a class that is the same in every run: without the number of a lambda and the address of a hidden
/// class, as in `Main$$Lambda$14.0x00007f12a4000a08`.
#[must_use]
pub fn stable_class(class: &str) -> Cow<'_, str> {
    let element = class.trim_end_matches("[]");
    let stable = without_number(without_address(element));
    if stable.len() == element.len() {
        return Cow::Borrowed(class);
    }
    Cow::Owned(format!("{stable}{}", &class[element.len()..]))
}

fn without_address(class: &str) -> &str {
    match class.rsplit_once(['.', '/', '+']) {
        Some((name, address)) if address.starts_with("0x") => name,
        _ => class,
    }
}

fn without_number(class: &str) -> &str {
    match class.rsplit_once('$') {
        Some((lambda, number)) if lambda.ends_with("$$Lambda") && number.parse::<u64>().is_ok() => {
            lambda
        }
        _ => class,
    }
}

impl Profile {
    /// Returns the profile in a form that can be compared with other runs: the names of lambdas and hidden classes lose
    /// the parts that differ from run to run, so that several may become one.
    #[must_use]
    pub fn comparable(mut self) -> Profile {
        let count = number(self.names.iter().len());
        let stable: Vec<Option<Name>> = (0..count)
            .map(|name| self.names.stable(Name(name)))
            .collect();
        if stable.iter().all(Option::is_none) {
            return self;
        }
        let renamed = |name: Name| stable[name.index()].unwrap_or(name);
        let (frames, frame_of) = again(&self.frames, |mut frame| {
            frame.class = renamed(frame.class);
            frame
        });
        let (labels, labels_of) = again(&self.labels, |mut labels| {
            labels.class = labels.class.map(renamed);
            labels
        });
        self.frames = frames;
        self.labels = labels;
        self.stacks
            .rename(|frame| FrameId(frame_of[frame.0 as usize]));
        let relabelled = |labels: LabelsId| LabelsId(labels_of[labels.0 as usize]);
        for table in &mut self.tables {
            table.relabel(relabelled);
        }
        self.history.relabel(relabelled);
        for row in self.timelines.iter_mut().flat_map(|it| &mut it.rows) {
            row.labels = relabelled(row.labels);
        }
        self
    }
}

impl Names {
    /// Returns the name that a class has in every run, if it is different.
    fn stable(&mut self, class: Name) -> Option<Name> {
        let stable = match stable_class(self.text(class)) {
            Cow::Borrowed(_) => return None,
            Cow::Owned(stable) => stable,
        };
        Some(self.intern(&stable))
    }
}

/// Returns the changed values, each once, and the new index of each old one.
fn again<T: Copy + Eq + std::hash::Hash>(
    all: &IndexSet<T, RandomState>,
    change: impl Fn(T) -> T,
) -> (IndexSet<T, RandomState>, Vec<u32>) {
    let mut changed = IndexSet::with_capacity_and_hasher(all.len(), RandomState::default());
    let places = all
        .iter()
        .map(|&one| number(changed.insert_full(change(one)).0));
    let places = places.collect();
    (changed, places)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_of_lambdas_are_the_same_in_every_run() {
        for (name, kept) in [
            ("a.Main$$Lambda$14.0x00007f12a4000a08", "a.Main$$Lambda"),
            ("a.Main$$Lambda/0x00007f12a4000a08", "a.Main$$Lambda"),
            ("a.Main$$Lambda$14", "a.Main$$Lambda"),
            (
                "a.Main$$Lambda.0x00007f12a4000a08[][]",
                "a.Main$$Lambda[][]",
            ),
            ("a.LambdaForm$MH.0x00007f12a4000a08", "a.LambdaForm$MH"),
            ("a.Main$14", "a.Main$14"),
            ("a.Main", "a.Main"),
            ("int[]", "int[]"),
            ("x0x1", "x0x1"),
        ] {
            assert_eq!(stable_class(name), kept);
        }
    }
}
