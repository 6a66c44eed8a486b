//! The heap is dumped.

use super::Handlers;
use crate::console;
use crate::engines::allocations::Moment;
use crate::engines::heap_dump::report;
use crate::engines::heap_dump::{Done, DumpError, Dumpers, Subject, TrackedObjects, Untracked};
use crate::jvmti::Jni;

impl Handlers {
    /// Dumps the heap, and says how.
    pub(super) fn dump_heap(&self, jni: Jni<'_>, dumpers: &Dumpers, moment: Moment) {
        let dump = || self.try_to_dump(jni, dumpers, moment);
        let answer = match &self.tracker {
            Some(tracker) => tracker.untracked(dump),
            None => dump(),
        };
        match answer {
            Ok(done) => {
                let millis = done.dumped.pause.as_millis();
                let Done { dumper, reason, .. } = done;
                self.say(&format!(
                    "Java heap (by {dumper}: {reason}; the program stood still for {millis} ms)"
                ));
            }
            // The writer has said what happened.
            Err(DumpError::Output) => {}
            Err(error) => {
                console::line(format_args!("no heap dump: {error}; the program goes on"));
            }
        }
    }

    fn try_to_dump(
        &self,
        jni: Jni<'_>,
        dumpers: &Dumpers,
        moment: Moment,
    ) -> Result<Done, DumpError> {
        let threads = dumpers.live_threads(jni)?;
        let tracked = self.tracker.as_ref();
        let subject = Subject {
            tracked: tracked.map_or(&Untracked as &dyn TrackedObjects, |tracker| tracker),
            threads: &threads,
            moment,
            primitive_fields: self.plan.primitive_fields,
            primitive_arrays: self.plan.primitive_arrays,
            constant_entries: self.plan.constant_entries,
        };
        report::heap_dump(&self.journal, self.spool.as_deref(), |output| {
            dumpers.dump(jni, moment, &subject, output)
        })
    }
}
