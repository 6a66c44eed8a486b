//! The kinds of records and their tags.

use std::fmt;

use crate::Record;

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident = $tag:literal, $name:literal;)*) => {
        /// The kind of a record: what its tag says. Ordered by tag.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum RecordKind {
            $($(#[$doc])* $kind = $tag,)*
        }

        impl RecordKind {
            /// Every kind, ordered by tag.
            pub const ALL: &[RecordKind] = &[$(RecordKind::$kind,)*];

            /// The kind that a tag stands for; `None` for a tag that the format does not know.
            #[must_use]
            pub fn from_tag(tag: u8) -> Option<RecordKind> {
                match tag {
                    $($tag => Some(RecordKind::$kind),)*
                    _ => None,
                }
            }

            /// The kind's name as the format's description writes it: `LOAD CLASS`.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(RecordKind::$kind => $name,)*
                }
            }
        }
    };
}

kinds! {
    /// Text under an id.
    String = 0x01, "STRING";
    /// A class was loaded.
    LoadClass = 0x02, "LOAD CLASS";
    /// A class was unloaded.
    UnloadClass = 0x03, "UNLOAD CLASS";
    /// A place in a method.
    Frame = 0x04, "FRAME";
    /// A call stack.
    Trace = 0x05, "TRACE";
    /// Where objects were allocated.
    AllocSites = 0x06, "ALLOC SITES";
    /// Totals of the heap.
    HeapSummary = 0x07, "HEAP SUMMARY";
    /// A thread began.
    StartThread = 0x0A, "START THREAD";
    /// A thread ended.
    EndThread = 0x0B, "END THREAD";
    /// A heap dump in one record.
    HeapDump = 0x0C, "HEAP DUMP";
    /// Where CPU time was used.
    CpuSamples = 0x0D, "CPU SAMPLES";
    /// What the profiler was asked for.
    ControlSettings = 0x0E, "CONTROL SETTINGS";
    /// A part of a heap dump.
    HeapDumpSegment = 0x1C, "HEAP DUMP SEGMENT";
    /// The end of the parts of a heap dump.
    HeapDumpEnd = 0x2C, "HEAP DUMP END";
}

impl RecordKind {
    /// The tag that opens a record of this kind.
    #[must_use]
    pub fn tag(self) -> u8 {
        self as u8
    }
}

impl fmt::Display for RecordKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

impl Record<'_> {
    /// The record's kind.
    #[must_use]
    pub fn kind(&self) -> RecordKind {
        match self {
            Record::String { .. } => RecordKind::String,
            Record::LoadClass { .. } => RecordKind::LoadClass,
            Record::UnloadClass { .. } => RecordKind::UnloadClass,
            Record::Frame { .. } => RecordKind::Frame,
            Record::Trace { .. } => RecordKind::Trace,
            Record::AllocSites { .. } => RecordKind::AllocSites,
            Record::HeapSummary { .. } => RecordKind::HeapSummary,
            Record::StartThread { .. } => RecordKind::StartThread,
            Record::EndThread { .. } => RecordKind::EndThread,
            Record::CpuSamples { .. } => RecordKind::CpuSamples,
            Record::HeapDumpSegment { .. } => RecordKind::HeapDumpSegment,
            Record::HeapDumpEnd => RecordKind::HeapDumpEnd,
            Record::ControlSettings { .. } => RecordKind::ControlSettings,
        }
    }
}
