//! The sum of several profiles.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use foldhash::fast::RandomState;
use hprof_format::{NoteMeaning, StandardErrors};
use indexmap::IndexMap;

use crate::comparable::stable_class;
use crate::interval::{CommonInterval, UnknownInterval, recounted, samples_of};
use crate::metric::Metric;
use crate::model::{FrameId, Labels, LabelsId, Profile, StackId, TimelineRow};
use crate::names::Name;
use crate::steps::Steps;

/// Adds up profiles by stack and labels, made [comparable](Profile::comparable). The result does not depend on their
/// order.
#[derive(Default)]
pub struct Merger {
    profile: Profile,
    stacks: HashMap<Box<[FrameId]>, StackId, RandomState>,
    sums: Vec<MergedSums>,
    times: BTreeMap<Metric, Steps>,
    /// The metrics of which some profile has samples whose times are not known.
    untimed: BTreeSet<Metric>,
    /// That of the CPU samples so far.
    interval: CommonInterval,
    /// Those of the profiles with CPU samples.
    intervals: BTreeSet<Duration>,
}

/// The sums of metrics that were measured together.
struct MergedSums {
    metrics: Vec<Metric>,
    rows: IndexMap<(StackId, LabelsId), Vec<u64>, RandomState>,
}

impl MergedSums {
    fn multiply(&mut self, factor: u64) {
        for value in self.rows.values_mut().flatten() {
            *value = value.saturating_mul(factor);
        }
    }
}

/// Labels to add to all samples of a profile.
#[derive(Clone, Debug, Default)]
pub struct Added {
    /// The machine it comes from.
    pub host: Option<String>,
    /// The file it comes from.
    pub file: Option<String>,
}

impl Merger {
    /// Adds one profile. Its CPU samples are counted in those of a common interval, so that times are added up.
    ///
    /// # Errors
    /// [`UnknownInterval`], if its file does not say which CPU time its samples stand for, and others do, or the other way
    /// round. Nothing is added then.
    pub fn add(&mut self, other: &Profile, added: &Added) -> Result<(), UnknownInterval> {
        let before = self.interval.interval();
        self.interval.add(other)?;
        let unit = self.interval.interval();
        self.profile.interval = unit;
        if other.total(Metric::Cpu) > 0 {
            self.intervals.extend(other.interval());
        }
        let is_cpu = |metrics: &[Metric]| metrics == [Metric::Cpu];
        if let (Some(before), Some(unit)) = (before, unit) {
            let factor = samples_of(before, unit);
            let cpu = self.sums.iter_mut().filter(|sums| is_cpu(&sums.metrics));
            cpu.for_each(|sums| sums.multiply(factor));
            if let Some(times) = self.times.get_mut(&Metric::Cpu) {
                times.multiply(factor);
            }
        }
        let factor_of_cpu = match (other.interval(), unit) {
            (Some(interval), Some(unit)) => samples_of(interval, unit),
            _ => 1,
        };
        let created = match self.profile.created {
            0 => other.created,
            created => created.min(other.created),
        };
        self.profile.created = created;
        for &depth in &other.depths {
            if let Err(place) = self.profile.depths.binary_search(&depth) {
                self.profile.depths.insert(place, depth);
            }
        }
        for name in &other.unknown_sections {
            if !self.profile.unknown_sections.contains(name) {
                self.profile.unknown_sections.push(name.clone());
            }
        }
        for note in &other.notes {
            // What is true of one of the profiles, and not of the sum.
            let is_of_one = matches!(
                NoteMeaning::of(note),
                NoteMeaning::End(_) | NoteMeaning::ProcessCpu(_)
            );
            if !is_of_one && !self.profile.notes.contains(note) {
                self.profile.notes.push(note.clone());
            }
        }
        let errors = [self.profile.errors, other.errors].into_iter().flatten();
        self.profile.errors = errors.reduce(StandardErrors::and);
        self.profile.native = match (self.profile.native, other.native) {
            (Some(one), Some(other)) => Some(one.and(other)),
            (one, other) => one.or(other),
        };
        for &metric in &other.estimated {
            if !self.profile.estimated.contains(&metric) {
                self.profile.estimated.push(metric);
            }
        }
        let frames: Vec<FrameId> = other
            .frame_ids()
            .map(|frame| self.frame(other, frame))
            .collect();
        let labels: Vec<LabelsId> = other
            .label_ids()
            .map(|labels| self.labels(other, labels, &frames, added))
            .collect();
        let mut stack_of: Vec<Option<StackId>> = vec![None; other.stacks.len()];
        let mut mapped = Vec::new();
        for table in other.tables() {
            let known = self.sums.iter().position(|s| s.metrics == table.metrics());
            let place = known.unwrap_or_else(|| {
                self.sums.push(MergedSums {
                    metrics: table.metrics().to_vec(),
                    rows: IndexMap::default(),
                });
                self.sums.len() - 1
            });
            for (stack, of, values) in table.rows() {
                let known = &mut stack_of[stack.0 as usize];
                let stack = *known.get_or_insert_with(|| {
                    mapped.clear();
                    let old = other.stacks.frames(stack).iter();
                    mapped.extend(old.map(|frame| frames[frame.0 as usize]));
                    self.stack(&mapped)
                });
                let rows = &mut self.sums[place].rows;
                let sums = rows.entry((stack, labels[of.0 as usize]));
                let sums = sums.or_insert_with(|| vec![0; values.len()]);
                let factor = if is_cpu(table.metrics()) {
                    factor_of_cpu
                } else {
                    1
                };
                for (sum, &value) in sums.iter_mut().zip(values) {
                    *sum = sum.saturating_add(value.saturating_mul(factor));
                }
            }
        }
        for metric in other.metrics() {
            if other.timeline(metric).is_none() {
                self.untimed.insert(metric);
            }
        }
        for timeline in other.timelines() {
            let factor = if timeline.metric == Metric::Cpu {
                factor_of_cpu
            } else {
                1
            };
            let mut times = self.times.remove(&timeline.metric).unwrap_or_default();
            times.at_least(timeline.step);
            times.cover(timeline.span());
            for row in &timeline.rows {
                mapped.clear();
                let old = other.stacks.frames(row.stack).iter();
                mapped.extend(old.map(|frame| frames[frame.0 as usize]));
                let key = (self.stack(&mapped), labels[row.labels.0 as usize]);
                for &(step, value) in &row.values {
                    let middle = timeline.middle(step);
                    times.add(key, middle, value.saturating_mul(factor));
                }
            }
            self.times.insert(timeline.metric, times);
        }
        Ok(())
    }

    /// Returns the metrics of which only some of the profiles have times, so that the sum has none.
    #[must_use]
    pub fn without_times(&self) -> Vec<Metric> {
        let lost = self
            .times
            .keys()
            .filter(|metric| self.untimed.contains(metric));
        lost.copied().collect()
    }

    /// Returns the sum.
    #[must_use]
    pub fn finish(mut self) -> Profile {
        self.sums.sort_by(|a, b| a.metrics.cmp(&b.metrics));
        for sums in self.sums {
            let mut rows: Vec<_> = sums.rows.into_iter().collect();
            let profile = &self.profile;
            // Sorted by content, because ids depend on the order of the inputs.
            rows.sort_unstable_by(|(a, a_values), (b, b_values)| {
                let by_value = b_values.cmp(a_values);
                by_value.then_with(|| by_text(profile, *a, *b))
            });
            let table = self.profile.table(&sums.metrics);
            for ((stack, labels), values) in rows {
                table.push(stack, labels, &values);
            }
        }
        self.times
            .retain(|metric, _| !self.untimed.contains(metric));
        for (metric, times) in self.times {
            let timeline = times.timeline(metric, |stack, labels| (stack, labels));
            let Some(mut timeline) = timeline else {
                continue;
            };
            let profile = &self.profile;
            let by_text = |row: &TimelineRow, other: &TimelineRow| {
                by_text(
                    profile,
                    (row.stack, row.labels),
                    (other.stack, other.labels),
                )
            };
            timeline.rows.sort_by(by_text);
            self.profile.timelines.push(timeline);
        }
        if let Some(unit) = self.interval.interval() {
            for remark in self.intervals.iter().filter_map(|&of| recounted(of, unit)) {
                self.profile.remark(remark);
            }
        }
        self.profile.notes.sort_unstable();
        (self.profile.section, self.profile.sections) = (1, 1);
        self.profile
    }

    fn stack(&mut self, frames: &[FrameId]) -> StackId {
        if let Some(&stack) = self.stacks.get(frames) {
            return stack;
        }
        let stack = self.profile.stacks.push(frames.iter().copied());
        self.stacks.insert(frames.into(), stack);
        stack
    }

    fn name(&mut self, other: &Profile, name: Name) -> Name {
        self.profile.names.intern(other.names.text(name))
    }

    fn class(&mut self, other: &Profile, class: Name) -> Name {
        let class = stable_class(other.names.text(class));
        self.profile.names.intern(&class)
    }

    fn frame(&mut self, other: &Profile, frame: FrameId) -> FrameId {
        let mut frame = *other.frame(frame);
        frame.class = self.class(other, frame.class);
        frame.method = self.name(other, frame.method);
        frame.signature = frame.signature.map(|name| self.name(other, name));
        frame.source = frame.source.map(|name| self.name(other, name));
        self.profile.intern_frame(frame)
    }

    fn labels(
        &mut self,
        other: &Profile,
        labels: LabelsId,
        frames: &[FrameId],
        added: &Added,
    ) -> LabelsId {
        let labels = *other.labels(labels);
        let holder = labels.holder.map(|holder| {
            let holder = other.stacks.frames(holder).iter();
            let holder: Vec<FrameId> = holder.map(|frame| frames[frame.0 as usize]).collect();
            self.stack(&holder)
        });
        let class = labels.class.map(|class| self.class(other, class));
        let mut same = |name: Option<Name>| name.map(|name| self.name(other, name));
        let mut labels = Labels {
            thread: same(labels.thread),
            class,
            lock: same(labels.lock),
            holder,
            host: same(labels.host),
            file: same(labels.file),
        };
        if let Some(host) = &added.host {
            labels.host = Some(self.profile.names.intern(host));
        }
        if let Some(file) = &added.file {
            labels.file = Some(self.profile.names.intern(file));
        }
        self.profile.intern_labels(labels)
    }
}

/// Compares two samples by their texts, independent of their ids. Equal frames have the same id, so only the first frame that
/// differs is compared by text.
fn by_text(
    profile: &Profile,
    (a, a_labels): (StackId, LabelsId),
    (b, b_labels): (StackId, LabelsId),
) -> Ordering {
    let text = |name: Option<Name>| name.map_or("", |name| profile.names.text(name));
    let labels = |labels| {
        let labels = profile.labels(labels);
        [
            labels.thread,
            labels.class,
            labels.lock,
            labels.host,
            labels.file,
        ]
        .map(text)
    };
    let frame = |&frame: &FrameId| {
        let frame = profile.frame(frame);
        let (class, method) = (Some(frame.class), Some(frame.method));
        let names = [class, method, frame.signature, frame.source].map(text);
        (names, frame.line.unwrap_or_default(), frame.kind)
    };
    let by_stack = |a: Option<StackId>, b: Option<StackId>| {
        let frames = |stack: Option<StackId>| stack.map_or(&[][..], |s| profile.stacks.frames(s));
        let (a, b) = (frames(a), frames(b));
        let mut pairs = a.iter().zip(b);
        let differing = pairs.find(|(a, b)| a != b);
        let by_frame = differing.map(|(a, b)| frame(a).cmp(&frame(b)));
        by_frame.unwrap_or_else(|| a.len().cmp(&b.len()))
    };
    let holder = |labels| profile.labels(labels).holder;
    labels(a_labels)
        .cmp(&labels(b_labels))
        .then_with(|| by_stack(Some(a), Some(b)))
        .then_with(|| by_stack(holder(a_labels), holder(b_labels)))
}
