//! One look at tracked objects, and what it finds for the sites.

use super::sample_weight::SampleWeight;
use super::sites::{SiteId, Sites, Weight};
use crate::jvmti::{Jni, ObjectRef, WeakSlots};

/// Sites whose sums are kept at a time; a few make most objects.
const SUMS: usize = 2_048;
/// Objects whose slots the CPU fetches while those before them are looked at.
const AHEAD: usize = 64;

/// A tracked object: 16 bytes, and a word in the VM.
pub(super) struct Tracked {
    pub(super) object: ObjectRef,
    pub(super) site: SiteId,
    /// Its size in words of 8 bytes: objects are aligned to that, and the largest array has 2^31 elements of 8 bytes.
    pub(super) words: u32,
}

const _: () = assert!(size_of::<Tracked>() == 16);

impl Tracked {
    /// An object of so many bytes.
    pub(super) fn new(object: ObjectRef, site: SiteId, bytes: u64) -> Self {
        Self {
            object,
            site,
            words: u32::try_from(bytes / 8).unwrap_or(u32::MAX),
        }
    }
}

/// Whether the site of an object has been told of it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Counted {
    Yes,
    No,
}

/// Looks at objects, and adds up by site what was made and what has died: the sites themselves are told at the end.
pub(super) struct Sweep<'a> {
    /// `None` where the VM cannot be asked: references are not given back, and without `slots` nothing is found dead.
    jni: Option<Jni<'a>>,
    slots: Option<WeakSlots>,
    sites: &'a Sites,
    sample_weight: SampleWeight,
    /// Each site has one place here; the one that came last has it.
    sums: Vec<Option<SiteSum>>,
}

#[derive(Clone, Copy)]
struct SiteSum {
    site: SiteId,
    made: Weight,
    dead: Weight,
}

impl<'a> Sweep<'a> {
    pub(super) fn new(
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

    /// The object counts as made.
    pub(super) fn count(&mut self, tracked: &Tracked) {
        let weight = self.weight(tracked);
        self.sum(tracked.site).made += weight;
    }

    /// Looks at objects. Those that are alive are given to `living`, the others are counted as dead and forgotten.
    pub(super) fn look(
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

    /// Counts the object as dead.
    pub(super) fn forget(&mut self, tracked: Tracked) {
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

    /// Tells the sites.
    pub(super) fn finish(self) -> &'a Sites {
        for sum in self.sums.into_iter().flatten() {
            sum.add_to(self.sites);
        }
        self.sites
    }
}

impl SiteSum {
    /// In this order nothing is dead that was not made.
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
