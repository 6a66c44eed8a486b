//! Objects in the heap that were allocated before the agent could see them.

use memory::{Map, OrStop};

use super::super::liveness::SWEEP_TIMEOUT;
use super::super::sites::Amount;
use super::super::state::TrackerState;
use super::sections::Unseen;
use jvmti::{Jni, JvmtiError, Object};
use names::class::ClassId;
use output::console;

/// The amounts of such objects that previous outputs have reported as allocated.
#[derive(Default)]
pub(in super::super) struct ReportedUnseen(ByClass);

/// Amounts by class.
pub(in super::super) type ByClass = Map<ClassId, Amount>;

impl ReportedUnseen {
    /// Returns, for each class, the part that is new; with `is_last`, the output that reports it ends. Of those that sites
    /// have counted when they were made, `made`, nobody knows which are alive.
    pub(in super::super) fn new_of(
        &mut self,
        seen: Vec<(ClassId, Amount)>,
        made: &ByClass,
        is_last: bool,
    ) -> Vec<Unseen> {
        let unseen = seen.into_iter().map(|(class, live)| {
            let reported = self.0.get(&class).copied().unwrap_or_default();
            let made = made.get(&class).copied().unwrap_or_default();
            let counted = reported + made;
            let new = Amount {
                instances: live.instances.saturating_sub(counted.instances),
                bytes: live.bytes.saturating_sub(counted.bytes),
            };
            if is_last {
                self.0.insert(class, reported + new).or_stop();
            }
            Unseen { class, live, new }
        });
        unseen.collect()
    }
}

/// Returns `true` for the classes with which the VM fills gaps in the heap; no program can see such objects.
fn is_filler(class: &str) -> bool {
    matches!(
        class,
        "jdk.internal.vm.FillerElement[]" | "jdk.internal.vm.FillerObject"
    )
}

fn unknown() -> Vec<(ClassId, Amount)> {
    console::line(format_args!(
        "another thread is examining the objects; those whose allocation was not seen are left out"
    ));
    Vec::new()
}

impl TrackerState {
    /// Counts the objects in the heap that are not tracked. The program may run meanwhile: an object allocated between
    /// the two counts must not be taken for an old one, so the larger of the tracked amounts before and after is
    /// subtracted.
    pub(in super::super) fn unseen(
        &self,
        jni: Jni<'_>,
    ) -> Result<Vec<(ClassId, Amount)>, JvmtiError> {
        let Some(mut tracked) = self.tracked(jni) else {
            return Ok(unknown());
        };
        let classes = self.env.loaded_classes(jni)?;
        let objects: Vec<Object<'_>> = classes.iter().map(|class| class.object()).collect();
        let counts = self.env.class_histogram(&objects)?;
        let Some(after) = self.tracked(jni) else {
            return Ok(unknown());
        };
        for (class, after) in after {
            let before = tracked.get_or_default(class).or_stop();
            before.instances = before.instances.max(after.instances);
            before.bytes = before.bytes.max(after.bytes);
        }
        let mut unseen = Vec::new();
        for (&class, count) in objects
            .iter()
            .zip(&counts)
            .filter(|(_, count)| count.instances > 0)
        {
            let id = self.stacks.class(jni, class)?;
            if is_filler(self.tables.strings.get(self.tables.classes.get(id).name)) {
                continue;
            }
            let tracked = tracked.get(&id).copied().unwrap_or_default();
            let amount = Amount {
                instances: count.instances.saturating_sub(tracked.instances),
                bytes: count.bytes.saturating_sub(tracked.bytes),
            };
            if amount.instances > 0 {
                unseen.push((id, amount));
            }
        }
        Ok(unseen)
    }

    /// Returns what sites have counted of objects without identity, by class.
    pub(in super::super) fn without_identity(&self) -> ByClass {
        let mut sums = ByClass::default();
        for (key, site) in self.sites.iter() {
            let made = site.without_identity();
            if made.instances > 0 {
                let sum = sums.get_or_default(key.class).or_stop();
                *sum = *sum + made;
            }
        }
        sums
    }

    /// Returns the tracked amount that is not known to be dead, by class; `None` if other threads examine objects all the time.
    fn tracked(&self, jni: Jni<'_>) -> Option<ByClass> {
        let mut tracked = ByClass::default();
        if !self.live.count(self.look_at_all(jni), SWEEP_TIMEOUT) {
            return None;
        }
        for (key, site) in self.sites.iter() {
            let sum = tracked.get_or_default(key.class).or_stop();
            *sum = *sum + site.live();
        }
        Some(tracked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use names::Tables;
    use names::loader::LoaderId;
    use names::object::ObjectId;

    #[test]
    fn what_was_there_before_is_new_once() {
        let tables = Tables::default();
        let name = tables.strings.intern("C");
        let class = tables.classes.intern(LoaderId::BOOT, name, || ObjectId(1));
        let class = class.id();
        let amount = |instances| Amount {
            instances,
            bytes: 16 * instances,
        };
        let mut reported = ReportedUnseen::default();
        let mut new_of = |live, is_last| {
            let made = ByClass::default();
            let unseen = reported.new_of(vec![(class, amount(live))], &made, is_last);
            assert_eq!(unseen[0].live, amount(live));
            unseen[0].new
        };
        assert_eq!(new_of(9, false), amount(9));
        assert_eq!(new_of(7, true), amount(7));
        assert_eq!(new_of(5, false), amount(0));
        assert_eq!(new_of(8, true), amount(1));
        assert_eq!(new_of(8, true), amount(0));
    }
}
