//! One pass over tracked objects, which counts them at their sites.

use hprof_format::Survived;

use super::super::budget::{EstimateErrors, Steps, Uncertainty};
use super::super::lifetimes::{Clock, Deaths};
use super::super::sites::{SiteId, Sites, Weight};
use super::cohorts::Cohort;
use super::kind::Kind;
use super::nursery::Tracked;
use jvmti::{Jni, ObjectRef, ObjectRefs, WeakSlots};

/// The number of sites whose sums are kept at a time; few sites allocate most objects.
const SUMS: usize = 2_048;
/// The number of objects whose slots are prefetched ahead of the one being examined.
const AHEAD: usize = 64;

/// `Yes` once an object has been counted at its site.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Counted {
    Yes,
    No,
}

/// Examines objects, and sums up by site the amounts allocated and dead; the sites themselves are updated at the end.
pub(in super::super) struct Sweep<'a> {
    /// `None` if the VM cannot be asked: references are not freed, and without `slots` no object is found dead.
    jni: Option<Jni<'a>>,
    slots: Option<WeakSlots>,
    sites: &'a Sites,
    steps: &'a Steps,
    errors: &'a EstimateErrors,
    uncertainty: Uncertainty,
    clock: &'a Clock,
    /// The collections survived by those dead objects in the sums that were not temporary.
    survived: Survived,
    deaths: Deaths,
    /// The change of the bytes alive, by the sums that have been added to the sites.
    change: i64,
    /// The bytes counted as allocated, as `change`.
    made: u64,
    /// The number of collections that must have ended for the dead objects to be found dead.
    proven: u32,
    /// Each site maps to one slot, which the most recent one occupies.
    sums: Vec<Option<SiteSum>>,
}

/// The result of a sweep.
pub(super) struct Swept {
    /// The dead objects that were not temporary.
    pub(super) deaths: Deaths,
    /// The change of the bytes alive.
    pub(super) change: i64,
    /// The bytes counted as allocated.
    pub(super) made: u64,
}

#[derive(Clone, Copy)]
struct SiteSum {
    site: SiteId,
    made: Weight,
    dead: Weight,
    /// The part of `dead` that is also in [`Sweep::deaths`].
    survived: Weight,
}

impl<'a> Sweep<'a> {
    pub(in super::super) fn new(
        jni: Option<Jni<'a>>,
        slots: Option<WeakSlots>,
        sites: &'a Sites,
        steps: &'a Steps,
        errors: &'a EstimateErrors,
        clock: &'a Clock,
    ) -> Self {
        Self {
            jni,
            slots,
            sites,
            steps,
            errors,
            uncertainty: Uncertainty::default(),
            clock,
            survived: Survived::TEMPORARY,
            deaths: Deaths::default(),
            change: 0,
            made: 0,
            proven: 0,
            sums: vec![None; SUMS],
        }
    }

    /// Counts the object as allocated.
    pub(in super::super) fn count(&mut self, tracked: &Tracked) {
        let weight = self.weigh(tracked.kind, Counted::No, false);
        self.sum(tracked.kind.site()).made += weight;
    }

    /// Examines objects of one cohort. Live ones are passed to `living`; the others are counted as dead and forgotten.
    pub(in super::super) fn look(
        &mut self,
        objects: Vec<Tracked>,
        counted: Counted,
        cohort: Cohort,
        mut living: impl FnMut(Tracked),
    ) {
        let mut objects = objects.into_iter();
        while objects.len() > 0 {
            let group = objects.as_slice().iter().take(AHEAD);
            if let Some(slots) = self.slots {
                for tracked in group.clone() {
                    slots.prefetch(&tracked.object);
                }
            }
            let mut dead = 0_u64;
            for (place, tracked) in group.enumerate() {
                let is_dead = is_dead(&tracked.object, self.slots, self.jni);
                dead |= u64::from(is_dead) << place;
            }
            if dead != 0 {
                self.died(cohort);
            }
            for (place, tracked) in objects.by_ref().take(AHEAD).enumerate() {
                let is_dead = dead >> place & 1 == 1;
                if let Some(tracked) = self.count_look(tracked, counted, is_dead) {
                    living(tracked);
                }
            }
        }
    }

    /// Examines objects of one cohort that were alive before, and have been counted. Dead ones are counted as dead and forgotten.
    pub(in super::super) fn look_again(&mut self, objects: &mut ObjectRefs, cohort: Cohort) {
        let (jni, slots) = (self.jni, self.slots);
        objects.take_dead(
            |object| slots.iter().for_each(|slots| slots.prefetch(object)),
            |object| is_dead(object, slots, jni),
            |label, object| {
                self.died(cohort);
                let kind = Kind::of_label(label);
                self.count_dead(kind);
                self.give_back(object);
            },
        );
    }

    /// Notes that objects have been found dead; what they survived depends on the collections that have begun by now.
    fn died(&mut self, cohort: Cohort) {
        self.proven = self.proven.max(cohort.seen + 1);
        let survived = cohort.survived_by_dead(self.clock.begun());
        if survived != self.survived {
            self.add_deaths();
            self.survived = survived;
        }
    }

    #[inline]
    fn count_look(&mut self, tracked: Tracked, counted: Counted, is_dead: bool) -> Option<Tracked> {
        if counted == Counted::Yes && !is_dead {
            return Some(tracked);
        }
        if counted == Counted::No {
            let weight = self.weigh(tracked.kind, counted, false);
            self.sum(tracked.kind.site()).made += weight;
        }
        if !is_dead {
            return Some(tracked);
        }
        self.count_dead(tracked.kind);
        self.give_back(tracked.object);
        None
    }

    /// Counts an object as dead; [`Sweep::died`] has been called.
    #[inline]
    fn count_dead(&mut self, kind: Kind) {
        let weight = self.weigh(kind, Counted::Yes, true);
        let is_temporary = self.survived == Survived::TEMPORARY;
        let sum = self.sum(kind.site());
        sum.dead += weight;
        if !is_temporary {
            sum.survived += weight;
        }
    }

    /// Counts the object as dead and frees its reference.
    pub(in super::super) fn forget(&mut self, kind: Kind, object: ObjectRef) {
        let weight = self.weigh(kind, Counted::Yes, true);
        self.sum(kind.site()).dead += weight;
        self.give_back(object);
    }

    #[inline]
    fn give_back(&self, object: ObjectRef) {
        if let Some(jni) = self.jni {
            object.delete(jni);
        }
    }

    /// Returns the weight of an object, and notes what is uncertain about it: as allocated if it had not been counted, and
    /// as dead.
    #[inline]
    fn weigh(&mut self, kind: Kind, counted: Counted, is_dead: bool) -> Weight {
        if let Some(variance) = self.steps.weight(kind.step()).variance(kind.bytes()) {
            if counted == Counted::No {
                self.uncertainty.made += variance;
            }
            if is_dead {
                self.uncertainty.dead += variance;
            }
        }
        self.weight(kind)
    }

    /// Returns the weight of an object of this kind.
    #[inline]
    pub(super) fn weight(&self, kind: Kind) -> Weight {
        kind.weight(self.steps)
    }

    #[inline]
    fn sum(&mut self, site: SiteId) -> &mut SiteSum {
        let place = &mut self.sums[site.index() % SUMS];
        if let Some(other) = place.take_if(|sum| sum.site != site) {
            self.change += other.change();
            self.made += other.made.bytes;
            other.add_to(self.sites);
            other.add_survived(self.survived, &mut self.deaths);
        }
        place.get_or_insert(SiteSum {
            site,
            made: Weight::default(),
            dead: Weight::default(),
            survived: Weight::default(),
        })
    }

    /// Adds the part of the sums that belongs to `self.survived` to the deaths.
    fn add_deaths(&mut self) {
        if self.survived != Survived::TEMPORARY {
            for sum in self.sums.iter_mut().flatten() {
                sum.add_survived(self.survived, &mut self.deaths);
                sum.survived = Weight::default();
            }
        }
    }

    /// Returns the sites, to which [`Sweep::finish`] adds the sums.
    pub(super) fn sites(&self) -> &'a Sites {
        self.sites
    }

    /// Returns the number of collections that the objects found dead prove to have ended.
    pub(super) fn proven(&self) -> u32 {
        self.proven
    }

    /// Returns the change of the bytes alive so far.
    pub(super) fn change(&self) -> i64 {
        let sums = self.sums.iter().flatten().map(SiteSum::change);
        self.change + sums.sum::<i64>()
    }

    /// Adds the sums to the sites.
    pub(super) fn finish(mut self) -> Swept {
        let change = self.change();
        let sums = self.sums.iter().flatten();
        let made = self.made + sums.map(|sum| sum.made.bytes).sum::<u64>();
        self.add_deaths();
        for sum in self.sums.into_iter().flatten() {
            sum.add_to(self.sites);
        }
        self.errors.add(self.uncertainty);
        Swept {
            deaths: self.deaths,
            change,
            made,
        }
    }
}

#[inline]
fn is_dead(object: &ObjectRef, slots: Option<WeakSlots>, jni: Option<Jni<'_>>) -> bool {
    match slots {
        Some(slots) => slots.is_dead(object),
        None => jni.is_some_and(|jni| object.is_dead(jni)),
    }
}

impl SiteSum {
    fn change(&self) -> i64 {
        self.made.bytes.cast_signed() - self.dead.bytes.cast_signed()
    }

    /// In this order the dead never outnumber the allocated.
    fn add_to(self, sites: &Sites) {
        let site = sites.get(self.site);
        if self.made != Weight::default() {
            site.add_allocated(self.made);
        }
        if self.dead != Weight::default() {
            site.add_dead(self.dead);
        }
    }

    fn add_survived(&self, survived: Survived, deaths: &mut Deaths) {
        if self.survived != Weight::default() {
            deaths.add(self.site, survived, self.survived);
        }
    }
}
