//! The objects that have been looked at and were alive, by birth and last look.

use std::collections::BTreeMap;

use hprof_format::Survived;
use jvmti::{BorrowedRef, ObjectRefs};
use memory::OrStop;

use super::super::lifetimes::{Birth, Moments};
use super::kind::Kind;

/// The number of cohorts at which those of neighbouring moments are joined.
const MANY: usize = 8_192;

/// The properties that objects of one cohort have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in super::super) struct Cohort {
    /// The moment in which they were made.
    pub(in super::super) birth: Birth,
    /// The number of collections since the beginning of the profile that they had survived at the last look.
    pub(in super::super) seen: u32,
}

/// The objects of each cohort; the labels are those of their [kinds](Kind).
#[derive(Default)]
pub(super) struct Cohorts(BTreeMap<Cohort, ObjectRefs>);

impl Cohort {
    /// Objects that have not been looked at.
    pub(super) fn new(birth: Birth) -> Self {
        Self {
            birth,
            seen: birth.collections,
        }
    }

    /// The cohort of objects that are found alive when so many collections have ended.
    pub(super) fn seen_at(self, ended: u32) -> Self {
        let seen = self.seen.max(ended);
        match seen - self.birth.collections < Survived::LONGEST {
            true => Self { seen, ..self },
            false => self.old(),
        }
    }

    /// The cohort of objects that have survived so many collections that it does not matter how many. Those of one
    /// tick are together.
    pub(super) fn old(self) -> Self {
        let birth = Birth {
            collections: 0,
            ..self.birth
        };
        let seen = Survived::LONGEST;
        Self { birth, seen }
    }

    /// Returns `true` if a look at the objects, when so many collections have begun, can tell more about when they died
    /// than the last one.
    pub(super) fn is_due(self, begun: u32) -> bool {
        !self.is_old() && self.survived(self.seen) != self.survived(begun.max(self.seen))
    }

    /// Returns `true` if the collections they have survived are not counted any more.
    pub(super) fn is_old(self) -> bool {
        self.seen - self.birth.collections >= Survived::LONGEST
    }

    /// Returns `true` if they were alive after a collection.
    pub(super) fn has_survived(self) -> bool {
        self.seen > self.birth.collections
    }

    /// Returns the number of collections that they have survived, if they survive so many since the beginning.
    fn survived(self, ended: u32) -> Survived {
        let survived = ended - self.birth.collections;
        Survived::between(survived, survived)
    }

    /// Returns the number of collections survived by objects that are dead now, when so many have begun.
    pub(super) fn survived_by_dead(self, begun: u32) -> Survived {
        let least = self.seen - self.birth.collections;
        let most = begun.saturating_sub(self.birth.collections + 1);
        match self.is_old() {
            true => Survived::between(least, least),
            false => Survived::between(least, most),
        }
    }

    /// As [`Cohort::survived_by_dead`], of those that are alive, when so many collections have ended.
    pub(in super::super) fn survived_by_living(self, ended: u32) -> Survived {
        let least = self.seen - self.birth.collections;
        match self.is_old() {
            true => Survived::between(least, least),
            false => Survived::between(least, ended.saturating_sub(self.birth.collections)),
        }
    }
}

impl Cohorts {
    /// Returns the number of objects.
    pub(super) fn len(&self) -> usize {
        self.0.values().map(ObjectRefs::len).sum()
    }

    /// Returns the number of objects that are old.
    pub(super) fn old(&self) -> usize {
        let old = self.0.iter().filter(|(cohort, _)| cohort.is_old());
        old.map(|(_, objects)| objects.len()).sum()
    }

    /// Removes and returns the objects of one cohort.
    pub(super) fn take(&mut self, cohort: Cohort) -> ObjectRefs {
        self.0.remove(&cohort).unwrap_or_default()
    }

    /// Removes and returns some of the cohorts.
    pub(super) fn take_if(
        &mut self,
        is_taken: impl Fn(Cohort) -> bool,
    ) -> Vec<(Cohort, ObjectRefs)> {
        let taken = self.0.extract_if(.., |&cohort, _| is_taken(cohort));
        taken.collect()
    }

    /// Adds objects to a cohort.
    pub(super) fn put(&mut self, cohort: Cohort, objects: ObjectRefs) {
        if !objects.is_empty() {
            let all = self.0.entry(cohort).or_default();
            all.append(objects).or_stop();
        }
    }

    /// Iterates over the cohorts and their objects.
    pub(super) fn cohorts(
        &self,
    ) -> impl Iterator<Item = (Cohort, impl Iterator<Item = (Kind, BorrowedRef<'_>)>)> {
        let cohorts = self.0.iter();
        cohorts.map(|(&cohort, objects)| {
            let objects = objects.iter();
            (
                cohort,
                objects.map(|(label, object)| (Kind::of_label(label), object)),
            )
        })
    }

    /// Gives back memory that the objects left do not need.
    pub(super) fn close(&mut self) {
        let all = self.0.values_mut();
        all.for_each(|objects| objects.close().or_stop());
    }

    /// Joins cohorts if there are many, or if `moments` has forgotten some of theirs.
    pub(super) fn join(&mut self, moments: &mut Moments, have_changed: bool) {
        let are_many = self.0.len() > MANY;
        if are_many {
            moments.thin();
        }
        if are_many || have_changed {
            for (cohort, objects) in std::mem::take(&mut self.0) {
                let birth = moments.known(cohort.birth);
                self.put(Cohort { birth, ..cohort }, objects);
            }
        }
    }
}

impl IntoIterator for Cohorts {
    type Item = (Cohort, ObjectRefs);
    type IntoIter = std::collections::btree_map::IntoIter<Cohort, ObjectRefs>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn born(collections: u32, tick: u32) -> Cohort {
        Cohort::new(Birth { collections, tick })
    }

    #[test]
    fn a_look_at_each_class_of_ages_tells_when_objects_died() {
        let mut cohort = born(7, 0);
        let mut looks = Vec::new();
        for ended in 8..60 {
            if cohort.is_due(ended) {
                // What died since the last look had survived a number of collections of one class.
                let survived = cohort.survived_by_dead(ended);
                let least = cohort.seen - cohort.birth.collections;
                assert_eq!(survived, Survived::between(least, least));
                looks.push(ended - 7);
                cohort = cohort.seen_at(ended);
            }
        }
        assert_eq!(looks, [1, 2, 3, 5, 10, 20]);
        assert!(cohort.is_old() && cohort.survived_by_dead(99).to_string() == "20+");
    }

    #[test]
    fn a_missed_look_leaves_an_interval() {
        let cohort = born(3, 0);
        assert_eq!(cohort.survived_by_dead(4), Survived::TEMPORARY);
        assert_eq!(cohort.survived_by_dead(7).to_string(), "0..3-4");
        assert_eq!(cohort.seen_at(4).survived_by_dead(7).to_string(), "1..3-4");
    }

    #[test]
    fn old_objects_of_one_tick_are_together() {
        let old = [0, 1, 2].map(|collections| born(collections, 5).seen_at(collections + 20));
        assert!(old.iter().all(|cohort| cohort.is_old()));
        assert_eq!(old, [old[0]; 3]);
        assert_ne!(born(0, 6).seen_at(20), old[0]);
    }
}
