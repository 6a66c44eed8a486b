//! The records of an HPROF file, as data: the agent produces them, the encoders write them and the readers return them.
//!
//! Field order and widths are those of the binary format's specification ("HPROF Agent", section
//! "Binary Dump Format"). Names follow it too. The documentation of each struct gives the fields in the order of the file
//! with their widths: `u4` is an unsigned number of 4 bytes, `id` one of the header's size of ids.
//!
//! A new kind of record takes a file for its content in this folder, a row in the list below, and the code that uses it.

mod alloc_sites;
mod control_settings;
mod cpu_samples;
mod end_thread;
mod frame;
mod heap_dump_end;
mod heap_dump_segment;
mod heap_summary;
mod ids;
mod load_class;
mod payload;
mod start_thread;
mod string;
mod trace;
mod unload_class;

use crate::fields::{Fields, Misfit};
use crate::id_size::IdSize;
use crate::kind::kinds;
use payload::Payload;

pub use alloc_sites::*;
pub use control_settings::*;
pub use cpu_samples::*;
pub use end_thread::*;
pub use frame::*;
pub use heap_dump_end::*;
pub use heap_dump_segment::*;
pub use heap_summary::*;
pub use ids::*;
pub use load_class::*;
pub use payload::Named;
pub(crate) use payload::PayloadWriter;
pub use start_thread::*;
pub use string::*;
pub use trace::*;
pub use unload_class::*;

macro_rules! rows_of {
    ($payload:ident) => {
        <$payload as Payload<'static>>::Rows
    };
    ($payload:ident $lifetime:lifetime) => {
        <$payload<'static> as Payload<'static>>::Rows
    };
}

macro_rules! records {
    ($($(#[$doc:meta])* $kind:ident $(($rows:ident: $payload:ident $(<$lifetime:lifetime>)?))? = $tag:literal, $name:literal;)*) => {
        kinds! {
            /// The kind of a record, according to its tag. Ordered by tag.
            RecordKind:
            $($(#[$doc])* $kind = $tag, $name;)*
        }

        /// A record, without its tag, time and length.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Record<'a> {
            $($(#[doc = $name] $kind($payload $(<$lifetime>)?),)?)*
        }

        /// Memory for the rows of one record of each kind, reused for the next.
        #[derive(Debug, Default)]
        pub(crate) struct Rows {
            $($($rows: rows_of!($payload $($lifetime)?),)?)*
        }

        impl<'a> Record<'a> {
            /// Reads the body of a record; `None` for a kind that is only read piece by piece.
            pub(crate) fn decode(
                kind: RecordKind,
                id_size: IdSize,
                body: &'a [u8],
                rows: &'a mut Rows,
            ) -> Result<Option<Record<'a>>, Misfit> {
                let mut fields = Fields::new(body, id_size);
                let record = match kind {
                    $($(RecordKind::$kind => {
                        let payload = <$payload $(<$lifetime>)? as Payload<'a>>::decode(&mut fields, &mut rows.$rows)?;
                        Record::$kind(payload)
                    })?)*
                    RecordKind::HeapDump => return Ok(None),
                };
                fields.end()?;
                Ok(Some(record))
            }

            /// Appends the body of a record.
            pub(crate) fn encode(&self, out: &mut PayloadWriter<'_>) {
                match self {
                    $($(Record::$kind(payload) => <$payload $(<$lifetime>)? as Payload<'_>>::encode(payload, out),)?)*
                }
            }

            /// Returns the record's kind.
            #[must_use]
            pub fn kind(&self) -> RecordKind {
                match self {
                    $($(Record::$kind(payload) => {
                        let _: &$payload $(<$lifetime>)? = payload;
                        RecordKind::$kind
                    })?)*
                }
            }

            /// Returns the id or serial number that the record defines or ends, if it has one.
            pub(crate) fn id(&self) -> Option<u64> {
                match self {
                    $($(Record::$kind(payload) => <$payload $(<$lifetime>)? as Payload<'_>>::id(payload),)?)*
                }
            }

            /// Calls `visit` with everything that the record names, as opposed to defines or ends, until it fails.
            pub(crate) fn each_named<E>(
                &self,
                visit: impl FnMut(Named) -> Result<(), E>,
            ) -> Result<(), E> {
                match self {
                    $($(Record::$kind(payload) => <$payload $(<$lifetime>)? as Payload<'_>>::each_named(payload, visit),)?)*
                }
            }

            /// Returns the same record with owned content, which can outlive the buffer it was read from.
            #[must_use]
            pub fn into_owned(self) -> Record<'static> {
                match self {
                    $($(Record::$kind(payload) => Record::$kind(<$payload $(<$lifetime>)? as Payload<'_>>::into_owned(payload)),)?)*
                }
            }
        }
    };
}

records! {
    /// A text under an id.
    String(string: StringRecord<'a>) = 0x01, "STRING";
    /// A class was loaded.
    LoadClass(load_class: LoadClassRecord) = 0x02, "LOAD CLASS";
    /// A class was unloaded.
    UnloadClass(unload_class: UnloadClassRecord) = 0x03, "UNLOAD CLASS";
    /// A method and a position in it.
    Frame(frame: FrameRecord) = 0x04, "FRAME";
    /// A call stack.
    Trace(trace: TraceRecord<'a>) = 0x05, "TRACE";
    /// The allocation sites.
    AllocSites(alloc_sites: AllocSitesRecord<'a>) = 0x06, "ALLOC SITES";
    /// Totals of the heap.
    HeapSummary(heap_summary: HeapSummaryRecord) = 0x07, "HEAP SUMMARY";
    /// A thread began.
    StartThread(start_thread: StartThreadRecord) = 0x0A, "START THREAD";
    /// A thread ended.
    EndThread(end_thread: EndThreadRecord) = 0x0B, "END THREAD";
    /// A heap dump in a single record.
    HeapDump = 0x0C, "HEAP DUMP";
    /// The traces that used CPU time.
    CpuSamples(cpu_samples: CpuSamplesRecord<'a>) = 0x0D, "CPU SAMPLES";
    /// The profiler's settings.
    ControlSettings(control_settings: ControlSettingsRecord) = 0x0E, "CONTROL SETTINGS";
    /// A part of a heap dump.
    HeapDumpSegment(heap_dump_segment: HeapDumpSegmentRecord<'a>) = 0x1C, "HEAP DUMP SEGMENT";
    /// The end of a heap dump's segments.
    HeapDumpEnd(heap_dump_end: HeapDumpEndRecord) = 0x2C, "HEAP DUMP END";
}
