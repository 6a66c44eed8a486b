//! The records of an HPROF file: one model, a binary and a text encoder, a reader and a checker.
//!
//! Nothing here depends on a JVM. The agent feeds the encoders while a program runs; `hprof` reads the files.
//!
//! A file is a header (version, size of ids, time stamp in milliseconds since 1970) followed by records. Each has a
//! tag, a time in microseconds since the time stamp and its content's length in bytes. The format is that of the JDK's
//! own agent: document "HPROF Agent", section "Binary Dump Format".
//!
//! # Example
//!
//! Write a file, then read it:
//!
//! ```
//! use std::borrow::Cow;
//! use hprof_format::{
//!     BinaryEncoder, Encoder, IdSize, Item, Micros, Millis, Reader, Record, StringId, StringRecord,
//!     Version,
//! };
//!
//! let record = Record::String(StringRecord {
//!     id: StringId(1),
//!     text: Cow::Borrowed(b"java/lang/String"),
//! });
//! let mut file = Vec::new();
//! let mut encoder = BinaryEncoder::new();
//! encoder.start(Millis(1_700_000_000_000), &mut file);
//! encoder.record(Micros(250), &record, &mut file);
//!
//! // A file on disk is opened with `File::open`; what is compressed with gzip goes through `decompressed`.
//! let mut reader = Reader::new(file.as_slice())?;
//! let header = reader.header();
//! assert_eq!(header.version, Version::V1_0_2);
//! assert_eq!(header.id_size, IdSize::Eight);
//! assert_eq!(header.time, Millis(1_700_000_000_000));
//!
//! // The header takes 31 bytes.
//! let entry = reader.read()?.expect("one record was written");
//! assert_eq!((entry.offset, entry.time), (31, Micros(250)));
//! assert_eq!(entry.item, Item::Record(record));
//! assert!(reader.read()?.is_none());
//! # Ok::<(), hprof_format::ReadError>(())
//! ```
//!
//! [`Reader::read_heap`] reads the records inside a heap dump, [`check`] verifies that a file conforms to the format,
//! and [`TextReader`] reads the text format.

#![forbid(unsafe_code)]
#![deny(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss
)]
#![warn(clippy::missing_errors_doc)]

mod binary;
mod births;
mod black_box;
pub mod bytes;
mod check;
mod clock;
mod command;
mod completeness;
mod course;
mod ctime;
mod encode;
mod fault;
mod fields;
mod heap;
mod heap_layout;
mod id_size;
mod interval;
mod kind;
mod left_out;
mod lifetimes;
mod lock_waits;
mod memory_look;
mod monitor;
mod monitor_note;
mod monitor_text;
mod names;
mod native_sites;
mod nearest;
mod old_prof;
mod origin;
mod pattern;
mod printable;
mod reader;
mod record;
mod redact;
mod sample_times;
mod section;
mod source;
mod standard_errors;
mod text;
mod text_reader;
mod timing;
mod uncounted;
mod unpack;
mod wall;
mod window;

pub use binary::BinaryEncoder;
pub use births::{
    BirthMoment, BirthsError, BirthsHead, BirthsReader, BirthsWriter, ObjectBirth, births_path,
    is_births,
};
pub use black_box::{
    BLACK_BOX_BYTES, BlackBox, BlackBoxError, GrowthSample, MOST_GROWTH_SAMPLES, Snapshot,
    black_box_head, is_black_box, snapshot_offset,
};
pub use check::{Occurrences, Summary, Warning, check, check_tolerantly};
pub use command::*;
pub use completeness::{Completeness, RootsLeft, RootsSeen, WholeRecords};
pub use course::{CoursePoint, CourseRow, LiveCourse};
pub use encode::{Encoder, Micros, Millis};
pub use fault::{Fault, HeapFault, HeapSubject, Subject};
pub use heap::{ClassDump, HeapError, HeapRecord, HeapRecords, RawHeapRecord, Root, Value};
pub use heap_layout::{ALIGNMENTS, HeapCounter, HeapTotals, ObjectLayout};
pub use id_size::IdSize;
pub use interval::sampling_interval;
pub use kind::HeapKind;
pub use left_out::LeftOut;
pub use lifetimes::{Age, Fate, LifetimeRow, LifetimeSums, Lifetimes, Peak, Survived};
pub use lock_waits::{LockWait, LockWaits};
pub use memory_look::{MemoryLimit, MemoryLook, MemoryPart};
pub use monitor::{
    ContendedTime, MONITORS_BEFORE_LOCKS, MonitorRecord, MonitorState, ONLY_MONITORS, ThreadState,
    ThreadStatus,
};
pub use names::{NameTable, ResolvedName, UNKNOWN_NAME, shared_source_name, source_name};
pub use native_sites::{NativeAmounts, NativeErrors, NativeSite, NativeSites};
pub use nearest::nearest;
pub use old_prof::OldProfEncoder;
pub use origin::Origin;
pub use pattern::matches_pattern;
pub use printable::{printable, shortened};
pub use reader::{
    Entry, Header, HeapEntry, HeapItem, Item, RECORD_HEADER, ReadError, Reader, Version,
};
pub use record::*;
pub use redact::{
    KEPT_FIELDS, RedactError, RedactKey, RedactSelection, RedactTotals, RedactedContent,
    SegmentError, SegmentRedactor, compare_redacted, redact, redacted_fact, without_secrets,
};
pub use sample_times::{SampleTimes, StepCount, TimedLock, TimedRow, TimedSection};
pub use section::{Note, NoteMeaning, Section, UnknownSection};
pub use source::{Source, decompressed, is_compressed};
pub use standard_errors::StandardErrors;
pub use text::TextEncoder;
pub use text_reader::{TextEntry, TextError, TextItem, TextReader, is_text};
pub use timing::{CallTime, Timing, TraceTime};
pub use uncounted::Uncounted;
pub use unpack::{AccessPoint, AccessPoints, ends_early, unpack, unpack_from};
pub use wall::{WallSample, WallSamples};
