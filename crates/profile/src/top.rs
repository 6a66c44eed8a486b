//! Costs, added up by method, line, class, package, type, thread, state or stack.

use foldhash::HashMap;
use hprof_format::Age;

use crate::group::{By, Groups};
use crate::locks::Wait;
use crate::metric::Metric;
use crate::model::{FrameId, Profile, Sample};

/// The cost of a group of frames or samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cost {
    /// The group's name; for a stack, its frames, innermost first, separated by line breaks.
    pub name: String,
    /// The cost of the group itself: the samples whose innermost frame is in the group.
    pub own: u64,
    /// The cost including everything it calls: the samples that have a frame in the group, counted once.
    pub total: u64,
}

/// Returns the costs of all groups that have any, the largest own cost first.
#[must_use]
pub fn costs(profile: &Profile, metric: Metric, by: By) -> Vec<Cost> {
    let mut costs = match by {
        By::Thread | By::ThreadGroup | By::Type | By::Lock | By::Holder => {
            by_labels(profile, metric, by)
        }
        By::Wait => by_wait(profile),
        By::Trace => by_stack(profile, metric),
        By::Age => by_age(profile, metric),
        By::State => by_state(profile, metric),
        By::Method | By::Line | By::Class | By::Package => {
            return costs_of_samples(profile, profile.samples(metric), by);
        }
    };
    sort(&mut costs);
    costs
}

/// As [`costs`], of samples whose stacks are the profile's; `by` is method, line, class or package.
#[must_use]
pub fn costs_of_samples(
    profile: &Profile,
    samples: impl Iterator<Item = Sample>,
    by: By,
) -> Vec<Cost> {
    let mut costs = by_frame(profile, samples, by);
    sort(&mut costs);
    costs
}

/// Leaves out what costs nothing, and puts the largest own cost first.
fn sort(costs: &mut Vec<Cost>) {
    costs.retain(|cost| cost.total > 0);
    costs.sort_unstable_by(|a, b| (b.own, b.total, &a.name).cmp(&(a.own, a.total, &b.name)));
}

/// Own and total costs of one group.
#[derive(Clone, Copy, Default)]
struct MethodSums {
    own: u64,
    total: u64,
    /// The last sample that was counted, from 1.
    seen: u32,
}

fn by_frame(profile: &Profile, samples: impl Iterator<Item = Sample>, by: By) -> Vec<Cost> {
    let groups = Groups::of_frames(profile, by);
    let mut sums = vec![MethodSums::default(); groups.names.len()];
    let samples = samples.filter(|sample| sample.value > 0);
    for (number, sample) in (1..).zip(samples) {
        let frames = profile.stacks.frames(sample.stack);
        let group = |frame: &FrameId| groups.of[frame.0 as usize] as usize;
        if let Some(innermost) = frames.first().map(group) {
            sums[innermost].own = sums[innermost].own.saturating_add(sample.value);
        }
        for frame in frames {
            let sums = &mut sums[group(frame)];
            if sums.seen != number {
                sums.seen = number;
                sums.total = sums.total.saturating_add(sample.value);
            }
        }
    }
    let named = groups.names.into_iter().zip(sums);
    let cost = |(name, sums): (String, MethodSums)| Cost {
        name,
        own: sums.own,
        total: sums.total,
    };
    named.map(cost).collect()
}

fn by_labels(profile: &Profile, metric: Metric, by: By) -> Vec<Cost> {
    let groups = Groups::of_labels(profile, by);
    let mut sums = vec![0_u64; groups.names.len()];
    for sample in profile.samples(metric) {
        let sum = &mut sums[groups.of[sample.labels.0 as usize] as usize];
        *sum = sum.saturating_add(sample.value);
    }
    let named = groups.names.into_iter().zip(sums);
    let cost = |(name, own)| Cost {
        name,
        own,
        total: own,
    };
    named.map(cost).collect()
}

fn by_wait(profile: &Profile) -> Vec<Cost> {
    let cost = |wait: Wait| Cost {
        name: wait.text(),
        own: wait.nanos,
        total: wait.nanos,
    };
    profile.waits().into_iter().map(cost).collect()
}

/// The state of threads of which the profile does not tell it.
const UNKNOWN_STATE: &str = "<unknown>";

fn by_state(profile: &Profile, metric: Metric) -> Vec<Cost> {
    let mut sums: HashMap<&str, u64> = HashMap::default();
    for sample in profile.samples(metric) {
        let state = profile.state(sample.stack);
        let state = state.map_or(UNKNOWN_STATE, |state| state.trim_matches(['<', '>']));
        let sum = sums.entry(state).or_default();
        *sum = sum.saturating_add(sample.value);
    }
    let cost = |(name, own): (&str, u64)| Cost {
        name: name.to_owned(),
        own,
        total: own,
    };
    sums.into_iter().map(cost).collect()
}

fn by_stack(profile: &Profile, metric: Metric) -> Vec<Cost> {
    let mut sums: HashMap<&[FrameId], u64> = HashMap::default();
    for sample in profile.samples(metric).filter(|sample| sample.value > 0) {
        let sum = sums.entry(profile.stacks.frames(sample.stack)).or_default();
        *sum = sum.saturating_add(sample.value);
    }
    let groups = Groups::of_frames(profile, By::Line);
    let text = |frame: &FrameId| groups.names[groups.of[frame.0 as usize] as usize].as_str();
    let cost = |(frames, own): (&[FrameId], u64)| {
        // A line is a frame, whatever its name.
        let lines: Vec<String> = frames
            .iter()
            .map(|frame| text(frame).replace('\n', "?"))
            .collect();
        Cost {
            name: lines.join("\n"),
            own,
            total: own,
        }
    };
    sums.into_iter().map(cost).collect()
}

/// The age of objects that the profile says nothing about.
const UNKNOWN_AGE: &str = "<unknown>";
/// The age of objects from before the profile.
const BEFORE: &str = "<before the profile>";

fn by_age(profile: &Profile, metric: Metric) -> Vec<Cost> {
    let mut sums: HashMap<Option<Age>, u64> = HashMap::default();
    for age in &profile.history.ages {
        let value = match metric {
            Metric::LiveBytes => age.bytes,
            Metric::LiveObjects => age.objects,
            _ => continue,
        };
        let sum = sums.entry(age.age).or_default();
        *sum = sum.saturating_add(value);
    }
    let known = sums
        .values()
        .fold(0_u64, |sum, &own| sum.saturating_add(own));
    let unknown = profile.total(metric).saturating_sub(known);
    let named = sums.into_iter().map(|(age, own)| {
        let name = age.map_or_else(|| BEFORE.to_owned(), |age| age.to_string());
        (name, own)
    });
    let all = named.chain([(UNKNOWN_AGE.to_owned(), unknown)]);
    let cost = |(name, own)| Cost {
        name,
        own,
        total: own,
    };
    all.map(cost).collect()
}
