//! The records of an HPROF file: one model, a binary and a text encoder, a reader and a checker.
//!
//! Nothing here knows of a JVM. The agent feeds the encoders while a program runs; `hprof` reads what it wrote.

#![forbid(unsafe_code)]

mod binary;
mod check;
mod clock;
mod ctime;
mod decode;
mod encode;
mod fault;
mod heap;
mod kind;
mod reader;
mod record;
mod text;
mod window;

pub use binary::BinaryEncoder;
pub use check::{Summary, check};
pub use encode::{Encoder, Micros, Millis};
pub use fault::{Fault, Named, Subject};
pub use heap::{ClassDump, HeapRecord, Root, Value};
pub use kind::RecordKind;
pub use reader::{Entry, Header, IdSize, Item, ReadError, Reader, Version};
pub use record::*;
pub use text::TextEncoder;
