//! The records of an HPROF file: one model, a binary and a text encoder, a reader and a checker.
//!
//! Nothing here knows of a JVM. The agent feeds the encoders while a program runs; `hprof` reads what it wrote.

#![forbid(unsafe_code)]

mod binary;
pub mod bytes;
mod check;
mod clock;
mod command;
mod ctime;
mod decode;
mod encode;
mod fault;
mod heap;
mod kind;
mod monitor;
mod monitor_text;
mod old_prof;
mod printable;
mod reader;
mod record;
mod source;
mod text;
mod text_reader;
mod timing;
mod window;

pub use binary::BinaryEncoder;
pub use check::{Occurrences, Summary, Warning, check, check_tolerantly};
pub use command::*;
pub use encode::{Encoder, Micros, Millis};
pub use fault::{Fault, HeapFault, HeapSubject, Named, Subject};
pub use heap::{
    ClassDump, HeapCounter, HeapError, HeapRecord, HeapRecords, HeapTotals, RawHeapRecord, Root,
    Value,
};
pub use kind::{HeapKind, RecordKind};
pub use monitor::{ContendedTime, MonitorRecord, MonitorState, ThreadState, ThreadStatus};
pub use old_prof::OldProfEncoder;
pub use printable::printable;
pub use reader::{Entry, Header, HeapEntry, HeapItem, IdSize, Item, ReadError, Reader, Version};
pub use record::*;
pub use source::{Source, decompressed, is_compressed};
pub use text::{TextEncoder, source_name};
pub use text_reader::{TextEntry, TextError, TextItem, TextReader, is_text};
pub use timing::{CallTime, Timing, TraceTime};
