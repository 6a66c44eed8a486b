//! A dump of all that the options ask for.

use super::Handlers;
use crate::console;
use crate::engines::allocations::report::{HeapState, SitesRequest};
use crate::engines::allocations::{AllocationTracker, Moment};
use crate::engines::cpu_times::MethodTimer;
use crate::engines::{allocations, cpu_samples, cpu_times};
use crate::jvmti::Jni;
use crate::names::class::ClassId;
use crate::names::site::Amount;

impl Handlers {
    /// Called with `dumping` held: dumps stand one after the other.
    pub(super) fn dump(&self, jni: Jni<'_>, moment: Moment) {
        let measures_cpu = self.sampler.is_some() || self.timer.is_some();
        if self.tracker.is_none() && self.monitors.is_none() && !measures_cpu {
            return;
        }
        self.say("Dumping");
        if let Some(monitors) = &self.monitors {
            self.say(" contended monitor usage ...");
            self.dump_monitors(jni, monitors);
        }
        if let Some(tracker) = &self.tracker {
            self.dump_objects(jni, tracker, moment);
        }
        if self.sampler.is_some() {
            self.say(" CPU usage by sampling running threads ...");
            cpu_samples::report::cpu_samples(&self.journal, self.plan.cutoff);
        }
        if let Some(timer) = &self.timer {
            self.dump_times(jni, timer);
        }
        self.say(" done.\n");
    }

    fn dump_times(&self, jni: Jni<'_>, timer: &MethodTimer) {
        let costs = timer.take_costs();
        let notes = match self.plan.verbose {
            true => timer.left_out(jni),
            false => Vec::new(),
        };
        if !self.plan.old_prof {
            self.say(" CPU usage by timing methods ...");
            cpu_times::report::cpu_times(&self.journal, costs, self.plan.cutoff, &notes);
            return;
        }
        self.say(" CPU usage in old prof format ...");
        cpu_times::report::old_prof(&self.journal, &costs);
        // That format has no place for them.
        for note in notes {
            self.say(&format!(" ({note})"));
        }
    }

    fn dump_objects(&self, jni: Jni<'_>, tracker: &AllocationTracker, moment: Moment) {
        let mut collected = self.settle(jni, tracker, moment, self.plan.collect);
        // Before the heap dump: that leaves garbage and fillers behind, which are nobody's.
        let unseen = self.plan.sites.then(|| self.unseen(jni, tracker));
        if self.plan.heap_dump
            && let Some(dumpers) = &self.dumpers
        {
            self.say(" Java heap ...");
            self.dump_heap(jni, dumpers, moment);
            // A dump takes its time: the program has gone on meanwhile, unless it has ended.
            if self.plan.sites && moment == Moment::Running {
                collected = self.settle(jni, tracker, moment, self.plan.collect);
            }
        }
        if let Some(unseen) = unseen {
            self.say(" allocation sites ...");
            let request = SitesRequest {
                cutoff: self.plan.cutoff,
                ..SitesRequest::default()
            };
            self.dump_sites(request, collected, &unseen);
        }
    }

    /// Looks which objects are alive; `collect` says whether garbage may be collected for it. `false` where what is alive
    /// is only known as of the last collection.
    pub(super) fn settle(
        &self,
        jni: Jni<'_>,
        tracker: &AllocationTracker,
        moment: Moment,
        collect: bool,
    ) -> bool {
        let answer = tracker.settle(jni, moment, collect);
        answer.unwrap_or_else(|error| {
            console::line(format_args!(
                "{error}; live objects are those of the last look"
            ));
            false
        })
    }

    /// What is in the heap and was made before the agent could see it, by class.
    pub(super) fn unseen(
        &self,
        jni: Jni<'_>,
        tracker: &AllocationTracker,
    ) -> Vec<(ClassId, Amount)> {
        tracker.unseen(jni).unwrap_or_else(|error| {
            console::line(format_args!(
                "{error}; objects that nobody saw being made are left out"
            ));
            Vec::new()
        })
    }

    /// Reports the sites as they are; `collected` is what [`Handlers::settle`] answered.
    pub(super) fn dump_sites(
        &self,
        request: SitesRequest,
        collected: bool,
        unseen: &[(ClassId, Amount)],
    ) {
        let mut notes = Vec::new();
        if let Some(bytes) = self.plan.sampled {
            notes.push(format!("sampled every {bytes} bytes"));
        }
        if !collected {
            notes.push("live as of the last garbage collection".to_owned());
        }
        let note = (!notes.is_empty()).then(|| notes.join("; "));
        let state = HeapState {
            collected,
            unseen,
            note: note.as_deref(),
        };
        allocations::report::sites(&self.journal, request, state);
    }

    pub(super) fn say(&self, text: &str) {
        if self.plan.verbose {
            console::plain(format_args!("{text}"));
        }
    }
}
