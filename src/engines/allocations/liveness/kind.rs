//! What tracked objects have in common.

use super::super::budget::{Step, Steps};
use super::super::sites::{SiteId, Weight};

/// The site and the size of objects, 8 bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct Kind {
    /// The site, and above that the step at which the VM chose the object.
    site_and_step: u32,
    /// The size in words of 8 bytes: objects are aligned to that, and the largest array has 2^31 elements of 8 bytes.
    words: u32,
}

/// The bits of a site: more sites than that would take tens of gigabytes.
const SITE_BITS: u32 = u32::BITS - Step::BITS;

impl Kind {
    /// The kind of an object of that size; `None` if there are too many sites.
    pub(in super::super) fn new(site: SiteId, step: Step, bytes: u64) -> Option<Self> {
        Some(Self {
            site_and_step: site.bits(SITE_BITS)? | u32::from(step.number()) << SITE_BITS,
            words: u32::try_from(bytes / 8).unwrap_or(u32::MAX),
        })
    }

    /// The label of such objects among [references](jvmti::ObjectRefs).
    pub(super) fn label(self) -> u64 {
        u64::from(self.site_and_step) << u32::BITS | u64::from(self.words)
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "each half is cut out on purpose"
    )]
    pub(super) fn of_label(label: u64) -> Self {
        Self {
            site_and_step: (label >> u32::BITS) as u32,
            words: label as u32,
        }
    }

    pub(in super::super) fn site(self) -> SiteId {
        SiteId::of_bits(self.site_and_step & ((1 << SITE_BITS) - 1))
    }

    pub(super) fn step(self) -> Step {
        let number = (self.site_and_step >> SITE_BITS) as u8;
        Step::new(number)
    }

    /// Returns what such an object stands for.
    #[inline]
    pub(in super::super) fn weight(self, steps: &Steps) -> Weight {
        steps.weight(self.step()).weight(self.bytes())
    }

    /// Returns the objects' size.
    pub(super) fn bytes(self) -> u64 {
        u64::from(self.words) * 8
    }
}
