//! What is known of live objects without a collection, for the black box.

use hprof_format::Millis;

use super::tracker::AllocationTracker;
use jvmti::Jni;

impl AllocationTracker {
    /// Counts what was allocated since the last sweep at its sites, as alive: also the objects that threads still keep to
    /// themselves, of which a thread that allocates slowly, or is sampled rarely, may have all. Only those of a thread that is
    /// just recording one, and does not finish soon, are left for the next time.
    pub fn count_recent(&self, jni: Jni<'_>) {
        self.shared.count_recent(jni);
    }

    /// Finds out which objects the last collection has left, if the last sweep has examined the young ones alone.
    pub fn sweep_old(&self, jni: Jni<'_>) {
        self.shared.live.sweep_old(self.shared.look(jni));
    }

    /// Returns the bytes of the objects that are alive as of the last sweep, and when that was.
    pub fn known_live(&self) -> (u64, Option<Millis>) {
        let sites = self.shared.sites.iter();
        let live = sites.map(|(_, site)| site.live().bytes).sum();
        (live, self.shared.live.swept_at())
    }
}
