//! The encoding of numbers and texts.

mod bytes;
pub(crate) mod encode;

pub(crate) use bytes::{Bytes, RawText};
