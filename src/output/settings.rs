//! What the output says of the run in CONTROL SETTINGS.

use hprof_format::{CONTROL_ALLOC_TRACES, CONTROL_CPU_SAMPLING, CONTROL_HEAP_DUMP_FOLLOWS, Record};

use super::announced::KeptThreads;

/// What CONTROL SETTINGS says of the run.
#[derive(Clone, Copy)]
pub struct ControlSettings {
    /// Whether allocations are tracked.
    pub allocations: bool,
    /// Whether CPU samples are taken.
    pub cpu_samples: bool,
    /// Whether each output gets a heap dump before its end.
    pub heap_dump: bool,
    /// `depth=`.
    pub depth: u16,
    /// The threads that the next output will have to name.
    pub kept_threads: KeptThreads,
}

impl ControlSettings {
    /// The record, which also says whether a heap dump follows.
    pub(super) fn record(self, dump_follows: bool) -> Record<'static> {
        let flags = [
            (self.allocations, CONTROL_ALLOC_TRACES),
            (self.cpu_samples, CONTROL_CPU_SAMPLING),
            (dump_follows, CONTROL_HEAP_DUMP_FOLLOWS),
        ];
        let set = flags.iter().filter(|(is_set, _)| *is_set);
        Record::ControlSettings {
            flags: set.map(|(_, flag)| flag).sum(),
            depth: self.depth,
        }
    }
}
