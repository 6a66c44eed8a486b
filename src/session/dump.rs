//! A dump of all that the options ask for.

use super::Handlers;
use crate::console;
use crate::engines::allocations::report::{HeapState, SitesRequest};
use crate::engines::allocations::{AllocationTracker, Moment};
use crate::engines::cpu_times::MethodTimer;
use crate::engines::{allocations, cpu_samples, cpu_times};
use crate::jvmti::Jni;
use crate::names::cost::Totals;

impl Handlers {
    /// Called with `dumping` held: dumps stand one after the other.
    ///
    /// The words are the original's, which scripts look for. They are said twice, whole: in pieces they would mix with what
    /// the program says meanwhile.
    pub(super) fn dump(&self, jni: Jni<'_>, moment: Moment, totals: Totals) {
        let sections = self.sections();
        if sections.is_empty() {
            return;
        }
        let dumping = format!("Dumping {} ...", sections.join(" ... "));
        self.say(&dumping);
        if let Some(monitors) = &self.monitors {
            self.dump_monitors(jni, monitors, totals);
        }
        if let Some(tracker) = &self.tracker {
            self.dump_objects(jni, tracker, moment);
        }
        if self.sampler.is_some() {
            cpu_samples::report::cpu_samples(&self.journal, self.plan.cutoff, totals);
        }
        if let Some(timer) = &self.timer {
            self.dump_times(jni, timer, totals);
        }
        self.say(&format!("{dumping} done."));
    }

    /// What a dump of this run has, in the order of the file.
    fn sections(&self) -> Vec<&'static str> {
        let tracks = self.tracker.is_some();
        let heap_dump = tracks && self.plan.heap_dump && self.dumpers.is_some();
        let times = match self.plan.old_prof {
            true => "CPU usage in old prof format",
            false => "CPU usage by timing methods",
        };
        let sections = [
            (self.monitors.is_some(), "contended monitor usage"),
            (heap_dump, "Java heap"),
            (tracks && self.plan.sites, "allocation sites"),
            (
                self.sampler.is_some(),
                "CPU usage by sampling running threads",
            ),
            (self.timer.is_some(), times),
        ];
        let wanted = sections.into_iter().filter(|&(is_wanted, _)| is_wanted);
        wanted.map(|(_, section)| section).collect()
    }

    fn dump_times(&self, jni: Jni<'_>, timer: &MethodTimer, totals: Totals) {
        let costs = timer.costs(totals);
        let notes = match self.plan.verbose {
            true => timer.left_out(jni),
            false => Vec::new(),
        };
        if !self.plan.old_prof {
            cpu_times::report::cpu_times(&self.journal, costs, self.plan.cutoff, &notes);
            return;
        }
        cpu_times::report::old_prof(&self.journal, &costs);
        // That format has no place for them.
        for note in notes {
            self.say(&format!("({note})"));
        }
    }

    fn dump_objects(&self, jni: Jni<'_>, tracker: &AllocationTracker, moment: Moment) {
        let mut collected = self.settle(jni, tracker, moment, self.plan.collect);
        if self.plan.heap_dump
            && let Some(dumpers) = &self.dumpers
        {
            self.dump_heap(jni, dumpers, moment);
            // A dump takes its time: the program has gone on meanwhile, unless it has ended.
            if self.plan.sites && moment == Moment::Running {
                collected = self.settle(jni, tracker, moment, self.plan.collect);
            }
        }
        if self.plan.sites {
            let request = SitesRequest {
                cutoff: self.plan.cutoff,
                by_allocation: self.plan.by_allocation,
                incremental: false,
            };
            self.dump_sites(jni, tracker, request, collected);
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

    /// Reports the sites as they are; `collected` is what [`Handlers::settle`] answered.
    pub(super) fn dump_sites(
        &self,
        jni: Jni<'_>,
        tracker: &AllocationTracker,
        request: SitesRequest,
        collected: bool,
    ) {
        let unseen = tracker.unseen(jni).unwrap_or_else(|error| {
            console::line(format_args!(
                "{error}; objects that nobody saw being made are left out"
            ));
            Vec::new()
        });
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
            unseen: &unseen,
            // Traces without frames tell nothing apart.
            unseen_last: tracker.is_late() && self.stacks.depth() > 0,
            note: note.as_deref(),
        };
        allocations::report::sites(&self.journal, request, state);
    }

    /// Says a line.
    pub(super) fn say(&self, text: &str) {
        if self.plan.verbose {
            console::plain(text);
        }
    }
}
