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

mod data;
mod questions;
mod save;

pub use data::births::{Births, MadeAfter, MadeWhen, NoBirths, TimeSince};
pub use data::dump::Dump;
pub use data::error::Error;
pub use data::heap::{Heap, Options};
pub use data::index_file::{remove_index, remove_unfinished};
#[doc(hidden)]
pub use data::index_head::seal_index;
pub use data::label::{Holder, Label, Reference};
pub use data::layout::{Known, Layout, LayoutError};
pub use data::memory::{Memory, is_asking};
pub use data::names::Stack;
pub use data::progress::{Progress, Silent, Stage};
pub use data::references::{Excluded, ExcludedError};
pub use data::saved::Saved;
pub use questions::allocated::{Allocated, Rest};
pub use questions::appeared::Appeared;
pub use questions::areas::Area;
pub use questions::bounds::Bound;
pub use questions::diff::{BeforeAfter, Change, StableClass, diff};
pub use questions::elements::Elements;
pub use questions::groups::{By, Group};
pub use questions::growing::Piling;
pub use questions::histogram::{Histogram, Row, ages, histogram, histogram_of};
pub use questions::keeping::{Keeping, Retained};
pub use questions::leaks::{Kept, Leaks, Suspect};
pub use questions::loaders::{Loader, LoaderHolder, PilingLoaders};
pub use questions::members::Members;
pub use questions::outside_heap::{OutsideHeap, OutsideHolder, OutsideKind};
pub use questions::own_code::{IsOwn, by_own_frame};
pub use questions::paths::{MadeBy, MadeIn, Path, PathStep, Target, root_name};
pub use questions::patterns::Pattern;
pub use questions::search::{FoundObject, Matches};
pub use questions::show::{Named, Shown};
pub use questions::summary::{FrameRow, LocalRow, ObjectRow, Summary, ThreadRow};
pub use questions::suspects::SuspectKind;
pub use questions::texts::Text;
pub use questions::turnover::Turnover;
pub use questions::unreached::{Excluding, Unreached, WaitingClass, WaitingForFinalizer};
pub use questions::walk::{ClassRow, Field, ObjectRecord, Position, Visitor, Walk};
pub use questions::waste::{Duplicate, Fill, Unfilled, Waste, Wasted};
