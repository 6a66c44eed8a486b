//! The settings of the run that go into CONTROL SETTINGS.

use hprof_format::{
    CONTROL_ALLOC_TRACES, CONTROL_CPU_SAMPLING, CONTROL_HEAP_DUMP_FOLLOWS, ControlSettingsRecord,
    Record,
};

use super::announced::KeptThreads;

/// The settings of the run that go into CONTROL SETTINGS.
#[derive(Clone, Copy)]
pub struct ControlSettings {
    /// `true` if allocations are tracked.
    pub allocations: bool,
    /// `true` if CPU samples are taken.
    pub cpu_samples: bool,
    /// `true` if each output gets a heap dump before its end.
    pub heap_dump: bool,
    /// `depth=`.
    pub depth: u16,
    /// `true` if the output says which threads start and end.
    pub threads: bool,
    /// The threads that the next output will have to name.
    pub kept_threads: KeptThreads,
}

impl ControlSettings {
    /// The CONTROL SETTINGS record, which also says whether a heap dump follows.
    pub(super) fn record(self, dump_follows: bool) -> Record<'static> {
        let flags = [
            (self.allocations, CONTROL_ALLOC_TRACES),
            (self.cpu_samples, CONTROL_CPU_SAMPLING),
            (dump_follows, CONTROL_HEAP_DUMP_FOLLOWS),
        ];
        let set = flags.iter().filter(|(is_set, _)| *is_set);
        Record::ControlSettings(ControlSettingsRecord {
            flags: set.map(|(_, flag)| flag).sum(),
            depth: self.depth,
        })
    }
}
