//! One pass over tracked objects, which counts them at their sites.

use super::super::sample_weight::SampleWeight;
use super::super::sites::{SiteId, Sites, Weight};
use crate::jvmti::{Jni, ObjectRef, WeakSlots};

/// The number of sites whose sums are kept at a time; few sites allocate most objects.
const SUMS: usize = 2_048;
/// The number of objects whose slots are prefetched ahead of the one being examined.
const AHEAD: usize = 64;

/// A tracked object: 16 bytes, and a word in the VM.
pub(in super::super) struct Tracked {
    pub(in super::super) object: ObjectRef,
    pub(in super::super) site: SiteId,
    /// Its size in words of 8 bytes: objects are aligned to that, and the largest array has 2^31 elements of 8 bytes.
    pub(in super::super) words: u32,
}

const _: () = assert!(size_of::<Tracked>() == 16);

impl Tracked {
    /// Creates an entry for an object of that size.
    pub(in super::super) fn new(object: ObjectRef, site: SiteId, bytes: u64) -> Self {
        Self {
            object,
            site,
            words: u32::try_from(bytes / 8).unwrap_or(u32::MAX),
        }
    }
}

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
    sample_weight: SampleWeight,
    /// Each site maps to one slot, which the most recent one occupies.
    sums: Vec<Option<SiteSum>>,
}

#[derive(Clone, Copy)]
struct SiteSum {
    site: SiteId,
    made: Weight,
    dead: Weight,
}

impl<'a> Sweep<'a> {
    pub(in super::super) fn new(
        jni: Option<Jni<'a>>,
        slots: Option<WeakSlots>,
        sites: &'a Sites,
        sample_weight: SampleWeight,
    ) -> Self {
        Self {
            jni,
            slots,
            sites,
            sample_weight,
            sums: vec![None; SUMS],
        }
    }

    /// Counts the object as allocated.
    pub(in super::super) fn count(&mut self, tracked: &Tracked) {
        let weight = self.weight(tracked);
        self.sum(tracked.site).made += weight;
    }

    /// Examines objects. Live ones are passed to `living`; the others are counted as dead and forgotten.
    pub(in super::super) fn look(
        &mut self,
        objects: Vec<Tracked>,
        counted: Counted,
        mut living: impl FnMut(Tracked),
    ) {
        let mut objects = objects.into_iter();
        while objects.len() > 0 {
            if let Some(slots) = self.slots {
                for tracked in objects.as_slice().iter().take(AHEAD) {
                    slots.prefetch(&tracked.object);
                }
            }
            for tracked in objects.by_ref().take(AHEAD) {
                if let Some(tracked) = self.look_at(tracked, counted) {
                    living(tracked);
                }
            }
        }
    }

    #[inline]
    fn look_at(&mut self, tracked: Tracked, counted: Counted) -> Option<Tracked> {
        let is_dead = match self.slots {
            Some(slots) => slots.is_dead(&tracked.object),
            None => self.jni.is_some_and(|jni| tracked.object.is_dead(jni)),
        };
        if counted == Counted::Yes && !is_dead {
            return Some(tracked);
        }
        let weight = self.weight(&tracked);
        let sum = self.sum(tracked.site);
        if counted == Counted::No {
            sum.made += weight;
        }
        if !is_dead {
            return Some(tracked);
        }
        sum.dead += weight;
        self.give_back(tracked);
        None
    }

    /// Counts the object as dead and frees its reference.
    pub(in super::super) fn forget(&mut self, tracked: Tracked) {
        let weight = self.weight(&tracked);
        self.sum(tracked.site).dead += weight;
        self.give_back(tracked);
    }

    #[inline]
    fn give_back(&self, tracked: Tracked) {
        if let Some(jni) = self.jni {
            tracked.object.delete(jni);
        }
    }

    fn weight(&self, tracked: &Tracked) -> Weight {
        self.sample_weight.weight(u64::from(tracked.words) * 8)
    }

    #[inline]
    fn sum(&mut self, site: SiteId) -> &mut SiteSum {
        let place = &mut self.sums[site.index() % SUMS];
        if let Some(other) = place.take_if(|sum| sum.site != site) {
            other.add_to(self.sites);
        }
        place.get_or_insert(SiteSum {
            site,
            made: Weight::default(),
            dead: Weight::default(),
        })
    }

    /// Adds the sums to the sites.
    pub(in super::super) fn finish(self) -> &'a Sites {
        for sum in self.sums.into_iter().flatten() {
            sum.add_to(self.sites);
        }
        self.sites
    }
}

impl SiteSum {
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
}
