//! Allocation sites: a class and the trace that allocated objects of it, with the amounts allocated and dead.

use std::sync::atomic::{AtomicU64, Ordering};

use names::class::ClassId;
use names::intern::Interner;
use names::trace::TraceId;

/// The id of an allocation site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SiteId(u32);

impl SiteId {
    /// The position in its table, from 0.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// The number of bits that hold it, if that many do.
    pub(super) fn bits(self, bits: u32) -> Option<u32> {
        (self.0 >> bits == 0).then_some(self.0)
    }

    /// Returns the id that [`SiteId::bits`] has made a number of.
    pub(super) fn of_bits(number: u32) -> Self {
        Self(number)
    }
}

/// The values that identify a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SiteKey {
    /// The class of the objects.
    pub class: ClassId,
    /// The trace that allocated them.
    pub trace: TraceId,
}

/// An allocation site.
#[derive(Default)]
pub struct Site {
    allocated: SiteTally,
    dead: SiteTally,
    /// The part of `dead` that [`Site::forget_dead`] has forgotten.
    forgotten: SiteTally,
    /// The part of `allocated` that previous outputs have reported.
    reported: SiteTally,
    /// The part of `allocated` that has no identity.
    without_identity: SiteTally,
    /// The sum of objects allocated and dead at the last [`Site::take_change`].
    known: AtomicU64,
}

/// The weight of an allocation: one object and its bytes or, with sampling, the number of allocations it stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Weight {
    /// Objects, in units of 1 / [`Weight::ONE`].
    pub instances: u64,
    /// Bytes.
    pub bytes: u64,
}

/// Objects and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// Objects.
    pub instances: u64,
    /// Bytes.
    pub bytes: u64,
}

impl std::ops::Add for Amount {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            instances: self.instances + other.instances,
            bytes: self.bytes + other.bytes,
        }
    }
}

#[derive(Default)]
struct SiteTally {
    instances: AtomicU64,
    bytes: AtomicU64,
}

impl Weight {
    /// One object. The fraction bits matter to estimates, and 2^48 objects still fit.
    pub const ONE: u64 = 1 << 16;

    /// Returns the weight of one object of that size.
    pub fn exact(bytes: u64) -> Self {
        Self {
            instances: Self::ONE,
            bytes,
        }
    }

    fn most(self, other: Self) -> Self {
        Self {
            instances: self.instances.max(other.instances),
            bytes: self.bytes.max(other.bytes),
        }
    }

    /// Returns the part of this weight beyond the other.
    pub fn less(self, other: Self) -> Self {
        Self {
            instances: self.instances.saturating_sub(other.instances),
            bytes: self.bytes.saturating_sub(other.bytes),
        }
    }
}

impl std::ops::AddAssign for Weight {
    fn add_assign(&mut self, other: Self) {
        self.instances += other.instances;
        self.bytes += other.bytes;
    }
}

impl SiteTally {
    fn set(&self, weight: Weight) {
        self.instances.store(weight.instances, Ordering::Relaxed);
        self.bytes.store(weight.bytes, Ordering::Relaxed);
    }

    fn add(&self, weight: Weight) {
        self.instances
            .fetch_add(weight.instances, Ordering::Relaxed);
        self.bytes.fetch_add(weight.bytes, Ordering::Relaxed);
    }

    fn get(&self) -> Weight {
        Weight {
            instances: self.instances.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
        }
    }
}

impl Site {
    /// Counts an object allocated here.
    pub fn add_allocated(&self, weight: Weight) {
        self.allocated.add(weight);
    }

    /// Counts an object allocated here that has no identity. Nobody can tell when it dies, so it is never alive here.
    pub fn add_without_identity(&self, weight: Weight) {
        self.without_identity.add(weight);
        self.dead.add(weight);
        self.allocated.add(weight);
    }

    /// Returns the amount allocated here that has no identity, whatever previous outputs have reported.
    pub fn without_identity(&self) -> Amount {
        amount(self.without_identity.get())
    }

    /// Counts an object as dead that was allocated here with this weight.
    pub fn add_dead(&self, weight: Weight) {
        self.dead.add(weight);
    }

    /// Returns `true` if objects were allocated here or have died since the last call.
    pub fn take_change(&self) -> bool {
        let now = self
            .allocated
            .get()
            .instances
            .wrapping_add(self.dead.get().instances);
        self.known.swap(now, Ordering::Relaxed) != now
    }

    /// Subtracts dead objects from the allocated ones. Nothing may be added concurrently.
    pub fn forget_dead(&self) {
        self.forgotten.set(self.dead.get());
    }

    /// Returns the amount allocated here since the output began.
    pub fn allocated(&self) -> Amount {
        // Reading in this order never subtracts more than was allocated.
        let before = self.before();
        difference(self.allocated.get(), before)
    }

    /// Returns the weight of what was allocated here, whatever previous outputs have reported.
    pub fn made(&self) -> Weight {
        let forgotten = self.forgotten.get();
        self.allocated.get().less(forgotten)
    }

    /// As [`Site::allocated`], at the end of the output: later allocations belong to the next one. The outputs' values
    /// add up to the total.
    pub fn take_allocated(&self) -> Amount {
        let before = self.before();
        let now = self.allocated.get();
        self.reported.set(now);
        difference(now, before)
    }

    /// Returns the part of the allocated amount that no longer counts.
    fn before(&self) -> Weight {
        self.forgotten.get().most(self.reported.get())
    }

    /// Returns the weight that is known to be dead.
    pub fn dead(&self) -> Weight {
        // Reading in this order never subtracts more than has died.
        let forgotten = self.forgotten.get();
        self.dead.get().less(forgotten)
    }

    /// Returns the amount that is not known to be dead.
    pub fn live(&self) -> Amount {
        // Reading in this order never subtracts more than was allocated.
        let dead = self.dead.get();
        amount(self.allocated.get().less(dead))
    }
}

impl From<Weight> for Amount {
    fn from(weight: Weight) -> Self {
        amount(weight)
    }
}

/// Rounds before subtracting, so that differences add up.
fn difference(now: Weight, before: Weight) -> Amount {
    let (now, before) = (amount(now), amount(before));
    Amount {
        instances: now.instances.saturating_sub(before.instances),
        bytes: now.bytes.saturating_sub(before.bytes),
    }
}

fn amount(weight: Weight) -> Amount {
    Amount {
        instances: (weight.instances + Weight::ONE / 2) / Weight::ONE,
        bytes: weight.bytes,
    }
}

/// The site table.
#[derive(Default)]
pub struct Sites(Interner<SiteEntry>);

struct SiteEntry {
    key: SiteKey,
    site: Site,
}

impl PartialEq for SiteEntry {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for SiteEntry {}

impl std::hash::Hash for SiteEntry {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.key.hash(state);
    }
}

impl hashbrown::Equivalent<SiteEntry> for SiteKey {
    fn equivalent(&self, entry: &SiteEntry) -> bool {
        *self == entry.key
    }
}

impl Sites {
    /// Returns the id of a site, adding it if it is new.
    pub fn intern(&self, key: SiteKey) -> SiteId {
        SiteId(self.0.intern(&key, || SiteEntry {
            key,
            site: Site::default(),
        }))
    }

    /// Returns the site with this id.
    pub fn get(&self, id: SiteId) -> &Site {
        &self.0.get(id.0).site
    }

    /// Returns the key of a site.
    pub fn key(&self, id: SiteId) -> SiteKey {
        self.0.get(id.0).key
    }

    /// Returns the number of sites.
    pub fn count(&self) -> usize {
        self.0.count()
    }

    /// Iterates over all sites with their ids.
    pub fn entries(&self) -> impl Iterator<Item = (SiteId, SiteKey, &Site)> {
        let entries = self.0.iter();
        entries.map(|(index, entry)| (SiteId(index), entry.key, &entry.site))
    }

    /// Iterates over all sites.
    pub fn iter(&self) -> impl Iterator<Item = (SiteKey, &Site)> {
        self.0.iter().map(|(_, entry)| (entry.key, &entry.site))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_live_is_what_was_made_less_what_died() {
        let site = Site::default();
        for bytes in [16, 24, 32] {
            site.add_allocated(Weight::exact(bytes));
        }
        site.add_dead(Weight::exact(24));
        assert_eq!(
            site.allocated(),
            Amount {
                instances: 3,
                bytes: 72
            }
        );
        assert_eq!(
            site.live(),
            Amount {
                instances: 2,
                bytes: 48
            }
        );
    }

    #[test]
    fn what_has_no_identity_is_made_and_never_alive() {
        let site = Site::default();
        site.add_allocated(Weight::exact(16));
        site.add_without_identity(Weight::exact(24));
        assert_eq!(site.allocated().bytes, 40);
        assert_eq!(site.live().bytes, 16);
        assert_eq!(site.without_identity().instances, 1);
    }

    #[test]
    fn what_is_forgotten_was_never_made() {
        let site = Site::default();
        for _ in 0..3 {
            site.add_allocated(Weight::exact(16));
        }
        site.add_dead(Weight::exact(16));
        site.add_dead(Weight::exact(16));
        site.forget_dead();
        let left = Amount {
            instances: 1,
            bytes: 16,
        };
        assert_eq!((site.allocated(), site.live()), (left, left));
    }

    #[test]
    fn what_outputs_have_adds_up_to_what_was_made() {
        let site = Site::default();
        let mut reported = Amount::default();
        for round in 0..10 {
            for _ in 0..round {
                site.add_allocated(Weight {
                    instances: Weight::ONE * 13 / 10,
                    bytes: 24,
                });
            }
            site.add_dead(Weight::exact(24));
            assert_eq!(site.allocated(), site.allocated());
            reported = reported + site.take_allocated();
            assert_eq!(site.allocated(), Amount::default());
        }
        // 45 allocations of 1.3 objects each.
        let made = Amount {
            instances: 58,
            bytes: 45 * 24,
        };
        assert_eq!(reported, made);
        assert_eq!(
            site.live().bytes,
            35 * 24,
            "what is alive is so for every output"
        );
    }

    #[test]
    fn estimates_add_up_before_they_are_rounded() {
        let site = Site::default();
        for _ in 0..10 {
            site.add_allocated(Weight {
                instances: Weight::ONE * 14 / 10,
                bytes: 100,
            });
        }
        assert_eq!(
            site.allocated(),
            Amount {
                instances: 14,
                bytes: 1_000
            }
        );
    }
}
