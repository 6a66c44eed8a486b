//! The events in which a recording has a profile as it is. `docs/guide/jfr.md` describes them.

use crate::metric::Metric;

/// A type of events, each of which is a sample with the values of some metrics.
pub(crate) struct OwnEvent {
    /// Its name, in the namespace of this project.
    pub(crate) name: &'static str,
    /// The name for people.
    pub(crate) label: &'static str,
    /// The meaning.
    pub(crate) description: &'static str,
    /// The metrics, in the order of a table's.
    pub(crate) metrics: &'static [Metric],
    /// The name of the type of events that have the same values by time.
    pub(crate) in_step: &'static str,
}

/// The type of events that say in which time the samples of a value were taken, and in which steps.
pub(crate) const SAMPLED_TIME: &str = "hprof.SampledTime";

/// The types, one for each kind of table.
pub(crate) const OWN: [OwnEvent; 9] = [
    OwnEvent {
        name: "hprof.CpuSamples",
        label: "CPU Samples",
        description: "The number of CPU samples with this stack",
        metrics: &[Metric::Cpu],
        in_step: "hprof.CpuSamplesInStep",
    },
    OwnEvent {
        name: "hprof.WallTime",
        label: "Elapsed Time",
        description: "Time that passed for threads with this stack, whether they ran or waited",
        metrics: &[
            Metric::Wall,
            Metric::Blocked,
            Metric::Parked,
            Metric::Pinned,
        ],
        in_step: "hprof.WallTimeInStep",
    },
    OwnEvent {
        name: "hprof.CallTime",
        label: "Call Times",
        description: "The time in the innermost method itself, and its calls, exact",
        metrics: &[Metric::Time, Metric::Calls],
        in_step: "hprof.CallTimeInStep",
    },
    OwnEvent {
        name: "hprof.InclusiveCallTime",
        label: "Call Times by Caller",
        description: "The time until the innermost method returned to its caller, and its calls",
        metrics: &[Metric::InclusiveTime, Metric::Calls],
        in_step: "hprof.InclusiveCallTimeInStep",
    },
    OwnEvent {
        name: "hprof.AllocationSite",
        label: "Allocation Sites",
        description: "Objects of a class that were allocated with this stack, and those that are alive",
        metrics: &[
            Metric::LiveBytes,
            Metric::LiveObjects,
            Metric::AllocBytes,
            Metric::AllocObjects,
        ],
        in_step: "hprof.AllocationSiteInStep",
    },
    OwnEvent {
        name: "hprof.SiteLifetimes",
        label: "Lifetimes by Site",
        description: "How long the objects of a site lived",
        metrics: &[
            Metric::TemporaryBytes,
            Metric::TemporaryObjects,
            Metric::SurvivedBytes,
            Metric::SurvivedObjects,
            Metric::PeakBytes,
            Metric::PeakObjects,
        ],
        in_step: "hprof.SiteLifetimesInStep",
    },
    OwnEvent {
        name: "hprof.MonitorContention",
        label: "Contended Monitors",
        description: "The time that threads waited for monitors of a class with this stack, and the number of waits",
        metrics: &[Metric::Contention, Metric::Contentions],
        in_step: "hprof.MonitorContentionInStep",
    },
    OwnEvent {
        name: "hprof.LockWait",
        label: "Waits for Locks",
        description: "Time that threads waited for locks of a class with this stack, from samples",
        metrics: &[Metric::LockWait],
        in_step: "hprof.LockWaitInStep",
    },
    OwnEvent {
        name: "hprof.NativeSite",
        label: "Native Memory",
        description: "Memory that native code allocated with this stack, and what of it is not freed; estimates",
        metrics: &[
            Metric::NativeLiveBytes,
            Metric::NativeLiveBlocks,
            Metric::NativeOldBytes,
            Metric::NativeOldBlocks,
            Metric::NativeBytes,
            Metric::NativeBlocks,
        ],
        in_step: "hprof.NativeSiteInStep",
    },
];

impl OwnEvent {
    /// Returns the place in [`OWN`] of the type with this name.
    pub(crate) fn place(name: &str) -> Option<usize> {
        OWN.iter().position(|own| own.name == name)
    }

    /// Returns the place in [`OWN`] of the type whose values by time have this name.
    pub(crate) fn place_in_step(name: &str) -> Option<usize> {
        OWN.iter().position(|own| own.in_step == name)
    }

    /// Returns the type for a table of these metrics.
    pub(crate) fn of(metrics: &[Metric]) -> Option<&'static OwnEvent> {
        OWN.iter()
            .find(|own| metrics.iter().all(|metric| own.metrics.contains(metric)))
    }
}

/// Returns the name of a metric's field, and that for people.
pub(crate) fn field_name(metric: Metric) -> (&'static str, &'static str) {
    match metric {
        Metric::Cpu => ("samples", "Samples"),
        Metric::Wall => ("elapsedTime", "Elapsed Time"),
        Metric::Blocked => ("blockedTime", "Blocked Time"),
        Metric::Parked => ("parkedTime", "Parked Time"),
        Metric::Pinned => ("pinnedTime", "Pinned Time"),
        Metric::Time => ("ownTime", "Own Time"),
        Metric::InclusiveTime => ("inclusiveTime", "Inclusive Time"),
        Metric::AllocBytes => ("allocatedBytes", "Allocated"),
        Metric::AllocObjects => ("allocatedObjects", "Allocated Objects"),
        Metric::LiveBytes => ("liveBytes", "Live"),
        Metric::LiveObjects => ("liveObjects", "Live Objects"),
        Metric::TemporaryBytes => ("temporaryBytes", "Temporary"),
        Metric::TemporaryObjects => ("temporaryObjects", "Temporary Objects"),
        Metric::SurvivedBytes => ("survivedBytes", "Survived"),
        Metric::SurvivedObjects => ("survivedObjects", "Survived Objects"),
        Metric::PeakBytes => ("peakBytes", "At the Peak"),
        Metric::PeakObjects => ("peakObjects", "Objects at the Peak"),
        Metric::Contention => ("waitTime", "Wait Time"),
        Metric::Contentions => ("waits", "Waits"),
        Metric::LockWait => ("lockWaitTime", "Lock Wait Time"),
        Metric::NativeLiveBytes => ("nativeLiveBytes", "Native, Not Freed"),
        Metric::NativeLiveBlocks => ("nativeLiveBlocks", "Native Blocks, Not Freed"),
        Metric::NativeOldBytes => ("nativeOldBytes", "Native, Old"),
        Metric::NativeOldBlocks => ("nativeOldBlocks", "Native Blocks, Old"),
        Metric::NativeBytes => ("nativeBytes", "Native"),
        Metric::NativeBlocks => ("nativeBlocks", "Native Blocks"),
        Metric::Calls => ("calls", "Calls"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_has_an_event_that_the_page_describes() {
        let page = include_str!("../../../../docs/guide/jfr.md");
        for metric in Metric::ALL {
            let own = OwnEvent::of(&[metric]).expect("a table has it");
            assert!(page.contains(&format!("`{}`", own.name)), "{}", own.name);
            let (field, _) = field_name(metric);
            assert!(page.contains(&format!("`{field}`")), "{field}");
        }
        for name in [SAMPLED_TIME, "InStep"] {
            assert!(page.contains(name), "{name}");
        }
        let named = |own: &OwnEvent| own.in_step == format!("{}InStep", own.name);
        assert!(OWN.iter().all(named));
    }
}
