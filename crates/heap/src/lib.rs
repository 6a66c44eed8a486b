//! The object graph of an HPROF heap dump: the objects that are alive, the objects that keep them alive, and the stacks
//! that allocated them.
//!
//! [`Dump::open`] maps a file, [`Heap::of`] reads the graph of one dump. Objects are numbered in the order of their
//! ids; all tables are indexed by these numbers.
//!
//! # Example
//!
//! ```
//! use std::io::Write;
//! use hprof_format::{
//!     BasicType, BinaryEncoder, Encoder, HeapDumpEndRecord, HeapDumpSegmentRecord, HeapRecord, Micros, Millis,
//!     ObjectId, Record, TraceSerial,
//! };
//! use hprof_heap::{By, Dump, Silent, histogram};
//!
//! let mut content = Vec::new();
//! for object in [ObjectId(0x100), ObjectId(0x200)] {
//!     let elements = &[0; 40];
//!     let (trace, element) = (TraceSerial(0), BasicType::Byte);
//!     HeapRecord::PrimitiveArray { object, trace, element, elements }.write(&mut content);
//! }
//! let mut bytes = Vec::new();
//! let mut encoder = BinaryEncoder::new();
//! encoder.start(Millis(0), &mut bytes);
//! let content = content.as_slice().into();
//! let segment = Record::HeapDumpSegment(HeapDumpSegmentRecord { content });
//! encoder.record(Micros(0), &segment, &mut bytes);
//! encoder.record(Micros(0), &Record::HeapDumpEnd(HeapDumpEndRecord), &mut bytes);
//! let mut file = tempfile::tempfile()?;
//! file.write_all(&bytes)?;
//!
//! let dump = Dump::open(&file, None)?;
//! let histogram = histogram(&dump, By::Class, None, &Silent)?;
//! assert_eq!((&*histogram.rows[0].name, histogram.rows[0].objects), ("byte[]", 2));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod allocated;
mod areas;
mod classes;
mod contents;
mod diff;
mod dominators;
mod dump;
mod error;
mod graph;
mod groups;
mod heap;
mod histogram;
mod ids;
mod index;
mod keeping;
mod label;
mod layout;
mod leaks;
mod locate;
mod mapping;
mod memory;
mod names;
mod objects;
mod own_code;
mod paths;
mod progress;
mod records;
mod references;
mod show;
mod summary;
mod walk;
mod waste;

pub use allocated::{Allocated, Rest};
pub use areas::Area;
pub use diff::{Change, diff};
pub use dump::Dump;
pub use error::Error;
pub use groups::{By, Group};
pub use heap::{Heap, Options};
pub use histogram::{Histogram, Row, histogram};
pub use keeping::{Keeping, Retained};
pub use label::{Holder, Label, Reference};
pub use layout::{Known, Layout, LayoutError};
pub use leaks::{Kept, Leaks, Suspect, SuspectKind};
pub use memory::{Memory, is_asking};
pub use names::Stack;
pub use own_code::{IsOwn, by_own_frame};
pub use paths::{Path, PathStep, Target, root_name};
pub use progress::{Progress, Silent, Stage};
pub use references::{Excluded, ExcludedError};
pub use show::{Named, Shown};
pub use summary::{FrameRow, LocalRow, ObjectRow, Summary, ThreadRow};
pub use walk::{ClassRow, Field, ObjectRecord, Place, Visitor, Walk};
pub use waste::{Duplicate, Fill, Unfilled, Waste, Wasted};
