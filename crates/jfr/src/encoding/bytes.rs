//! Reads numbers and texts, never beyond the end.

use std::borrow::Cow;
use std::ops::Range;

use crate::constants::{SEVEN_BIT_BYTES, text};
use crate::error::{Fault, ReadError};

/// A place in a chunk, and the end of what may be read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bytes<'a> {
    chunk: &'a [u8],
    at: usize,
    end: usize,
    /// The place of the chunk in the file.
    start: u64,
    compressed: bool,
}

/// A text, or the key of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RawText<'a> {
    Null,
    Constant(u64),
    Text(Cow<'a, str>),
}

impl<'a> Bytes<'a> {
    pub(crate) fn new(chunk: &'a [u8], start: u64, compressed: bool) -> Bytes<'a> {
        Bytes {
            chunk,
            at: 0,
            end: chunk.len(),
            start,
            compressed,
        }
    }

    /// Returns the same from another place on.
    pub(crate) fn from(self, at: usize) -> Bytes<'a> {
        let at = at.min(self.end);
        Bytes { at, ..self }
    }

    /// Returns a part of it.
    pub(crate) fn within(self, place: Range<usize>) -> Bytes<'a> {
        let end = place.end.min(self.end);
        let at = place.start.min(end);
        Bytes { at, end, ..self }
    }

    pub(crate) fn at(&self) -> usize {
        self.at
    }

    pub(crate) fn end(&self) -> usize {
        self.end
    }

    pub(crate) fn left(&self) -> usize {
        self.end - self.at
    }

    /// Returns the error of this fault at a place in the chunk.
    pub(crate) fn fault_at(&self, at: usize, fault: Fault) -> ReadError {
        let offset = self.start + at as u64;
        ReadError::Format { offset, fault }
    }

    /// Returns the next event's content, with its size and type already read; `self` is then after it.
    pub(crate) fn event(&mut self) -> Result<(u64, Bytes<'a>), ReadError> {
        let start = self.at;
        let size = self.int()?;
        if size == 0 {
            return Err(self.fault_at(start, Fault::EmptyEvent));
        }
        let left = (self.end - start) as u64;
        if size > left {
            let fault = Fault::Truncated { wanted: size, left };
            return Err(self.fault_at(start, fault));
        }
        let end = start + usize::try_from(size).unwrap_or(usize::MAX);
        let mut content = Bytes { end, ..*self };
        if content.at > end {
            return Err(self.fault_at(start, Fault::Truncated { wanted: 1, left: 0 }));
        }
        let kind = content.long()?;
        self.at = end;
        Ok((kind, content))
    }

    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], ReadError> {
        if count > self.left() {
            let fault = Fault::Truncated {
                wanted: count as u64,
                left: self.left() as u64,
            };
            return Err(self.fault_at(self.at, fault));
        }
        let taken = &self.chunk[self.at..self.at + count];
        self.at += count;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], ReadError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, ReadError> {
        Ok(self.array::<1>()?[0])
    }

    fn varint(&mut self) -> Result<u64, ReadError> {
        let mut number = 0;
        for place in 0..SEVEN_BIT_BYTES {
            let byte = self.u8()?;
            number |= u64::from(byte & 0x7F) << (7 * place);
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Ok(number | u64::from(self.u8()?) << (7 * SEVEN_BIT_BYTES))
    }

    pub(crate) fn long(&mut self) -> Result<u64, ReadError> {
        match self.compressed {
            true => self.varint(),
            false => Ok(u64::from_be_bytes(self.array()?)),
        }
    }

    /// Reads an integer of 32 bits. One that is negative may have the bits above them too.
    pub(crate) fn int(&mut self) -> Result<u64, ReadError> {
        match self.compressed {
            true => Ok(self.varint()? & 0xFFFF_FFFF),
            false => Ok(u32::from_be_bytes(self.array()?).into()),
        }
    }

    pub(crate) fn short(&mut self) -> Result<u16, ReadError> {
        match self.compressed {
            true => {
                let [.., high, low] = self.varint()?.to_be_bytes();
                Ok(u16::from_be_bytes([high, low]))
            }
            false => Ok(u16::from_be_bytes(self.array()?)),
        }
    }

    pub(crate) fn float(&mut self) -> Result<f32, ReadError> {
        Ok(f32::from_be_bytes(self.array()?))
    }

    pub(crate) fn double(&mut self) -> Result<f64, ReadError> {
        Ok(f64::from_be_bytes(self.array()?))
    }

    /// Reads a number of things, each of which takes a byte or more.
    pub(crate) fn count(&mut self) -> Result<usize, ReadError> {
        let at = self.at;
        let wanted = self.int()?;
        let left = self.left();
        match usize::try_from(wanted) {
            Ok(count) if count <= left => Ok(count),
            _ => {
                let left = left as u64;
                Err(self.fault_at(at, Fault::Truncated { wanted, left }))
            }
        }
    }

    pub(crate) fn text(&mut self) -> Result<RawText<'a>, ReadError> {
        let at = self.at;
        Ok(match self.u8()? {
            text::NULL => RawText::Null,
            text::EMPTY => RawText::Text("".into()),
            text::CONSTANT => RawText::Constant(self.long()?),
            text::UTF8 => {
                let count = self.count()?;
                RawText::Text(String::from_utf8_lossy(self.take(count)?))
            }
            text::LATIN1 => {
                let count = self.count()?;
                let bytes = self.take(count)?;
                let text = match std::str::from_utf8(bytes) {
                    Ok(text) if text.is_ascii() => text.into(),
                    _ => bytes.iter().map(|&byte| char::from(byte)).collect(),
                };
                RawText::Text(text)
            }
            text::CHARS => {
                let count = self.count()?;
                let mut chars = Vec::with_capacity(count);
                for _ in 0..count {
                    chars.push(self.short()?);
                }
                RawText::Text(String::from_utf16_lossy(&chars).into())
            }
            encoding => return Err(self.fault_at(at, Fault::Encoding(encoding))),
        })
    }
}
