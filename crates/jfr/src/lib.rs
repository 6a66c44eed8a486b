//! Recordings of the JDK Flight Recorder: a writer with typed tables, and a reader that takes every recording as it
//! describes itself. No JVM is needed.
//!
//! A recording is a sequence of chunks, each of which can be read alone. A chunk is a header of 68 bytes and events. An
//! event is its size, the number of its type, and the values of its fields. Two types are known: the *metadata*
//! describes all others, with the names, types, units and labels of their fields; a *checkpoint* has constants, such as
//! classes and stack traces, which events name by their keys. Integers are written with seven bits a byte.
//!
//! # Example
//!
//! Write a recording of one sample, then read it:
//!
//! ```
//! use hprof_jfr::{
//!     Chunks, EventField, EventType, FieldKind, FieldValue, Frame, Method, Recording, Value,
//! };
//!
//! let mut recording = Recording::new(1_700_000_000_000_000_000, 5_000_000_000);
//! let class = recording.classes.intern(&mut recording.symbols, "com/acme/Shop");
//! let method = recording.methods.intern(Method {
//!     class,
//!     name: recording.symbols.intern("main"),
//!     signature: recording.symbols.intern("([Ljava/lang/String;)V"),
//! });
//! let frame_type = recording.frame_types.intern("Interpreted");
//! let frame = Frame { method, line: Some(7), frame_type };
//! let stack = recording.stacks.push(&[frame], false);
//! let thread = recording.threads.intern("main");
//!
//! let sample = recording.event_type(EventType {
//!     name: "acme.Sample",
//!     label: "Sample",
//!     fields: vec![
//!         EventField::THREAD,
//!         EventField::STACK,
//!         EventField { name: "bytes", label: "Bytes", kind: FieldKind::Bytes },
//!     ],
//!     ..EventType::default()
//! });
//! let values = [
//!     FieldValue::Thread(Some(thread)),
//!     FieldValue::Stack(Some(stack)),
//!     FieldValue::Number(48),
//! ];
//! recording.event(sample, 1_000_000, &values)?;
//! let mut file = Vec::new();
//! recording.write(&mut file)?;
//!
//! // A file on disk is opened with `File::open`.
//! let mut chunks = Chunks::new(file.as_slice());
//! let chunk = chunks.read()?.expect("there is one");
//! let event = chunk.events().next().expect("there is one")?;
//! assert_eq!(&*event.of().name, "acme.Sample");
//! assert!(matches!(event.values().get("bytes")?, Value::Integer(48)));
//! let Value::Struct(thread) = event.values().get("eventThread")? else {
//!     panic!("a thread has fields");
//! };
//! let Value::Text(name) = thread.get("javaName")? else {
//!     panic!("a name is a text");
//! };
//! assert_eq!(name, "main");
//! assert!(chunks.read()?.is_none());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! What is read may be anybody's: a fault is an error with its place in the file, and memory is in proportion to the
//! length of a chunk.

#![forbid(unsafe_code)]
#![deny(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss
)]
#![warn(clippy::missing_errors_doc)]

mod constants;
mod element;
mod encoding;
mod error;
mod header;
mod metadata;
mod read;
mod write;

pub use constants::MAGIC;
pub use error::{Fault, ReadError, WriteError};
pub use header::Header;
pub use metadata::{Annotation, Field, Metadata, Type};
pub use read::{Chunk, Chunks, Constant, Event, Events, Struct, Value, Values};
pub use write::{
    ClassId, Classes, EventField, EventType, EventTypeId, FieldKind, FieldValue, Frame, LabelId,
    Labels, Method, MethodId, Methods, Recording, StackId, Stacks, SymbolId, Symbols, ThreadId,
    Threads,
};
