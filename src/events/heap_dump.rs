//! The heap is dumped.

use super::Handlers;
use crate::console;
use crate::engines::alloc::{AllocationTracker, Moment};
use crate::engines::dump::{Done, DumpError, Dumpers, Subject};
use crate::jvmti::Jni;
use crate::snapshot;

impl Handlers {
    /// Dumps the heap, and says how.
    pub(super) fn dump_heap(
        &self,
        jni: Jni<'_>,
        tracker: &AllocationTracker,
        dumpers: &Dumpers,
        moment: Moment,
    ) {
        let answer = tracker.untracked(|| self.try_to_dump(jni, tracker, dumpers, moment));
        match answer {
            Ok(done) => {
                let millis = done.dumped.pause.as_millis();
                let Done { dumper, reason, .. } = done;
                self.say(&format!(
                    " (by {dumper}: {reason}; the program stood still for {millis} ms)"
                ));
            }
            // The writer has said what happened.
            Err(DumpError::Output) => {}
            Err(error) => {
                self.say("\n");
                console::line(format_args!("no heap dump: {error}; the program goes on"));
            }
        }
    }

    fn try_to_dump(
        &self,
        jni: Jni<'_>,
        tracker: &AllocationTracker,
        dumpers: &Dumpers,
        moment: Moment,
    ) -> Result<Done, DumpError> {
        let threads = dumpers.live_threads(jni)?;
        let subject = Subject {
            tracked: tracker,
            threads: &threads,
            moment,
            primitive_fields: self.plan.primitive_fields,
            primitive_arrays: self.plan.primitive_arrays,
        };
        snapshot::heap_dump(&self.journal, self.spool.as_deref(), |output| {
            dumpers.dump(jni, moment, &subject, output)
        })
    }
}
