//! Reads big-endian numbers from a byte slice, with every read checked.

use crate::error::Error;

/// A position in a class file. Offsets in errors count from the start of the slice passed to `Reader::new`.
#[derive(Clone)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, offset: 0 }
    }

    pub(crate) fn at(bytes: &'a [u8], offset: usize) -> Self {
        Self { bytes, offset }
    }

    pub(crate) fn offset(&self) -> usize {
        self.offset
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.offset >= self.bytes.len()
    }

    /// Returns the next `length` bytes.
    pub(crate) fn take(&mut self, length: usize) -> Result<&'a [u8], Error> {
        let taken = self
            .bytes
            .get(self.offset..)
            .and_then(|rest| rest.get(..length))
            .ok_or(Error::Truncated {
                offset: self.offset,
            })?;
        self.offset += length;
        Ok(taken)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, Error> {
        Ok(self.take(1)?[0])
    }

    pub(crate) fn u16(&mut self) -> Result<u16, Error> {
        let bytes = self.take(2)?;
        Ok(u16::from_be_bytes([bytes[0], bytes[1]]))
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Error> {
        let bytes = self.take(4)?;
        Ok(u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    /// Returns the contents of an attribute whose name has been read: a length and that many bytes.
    pub(crate) fn sized(&mut self) -> Result<&'a [u8], Error> {
        let length = self.u32()?;
        self.take(length as usize)
    }
}

/// Returns the number at `offset`, if the slice is long enough.
pub(crate) fn u16_at(bytes: &[u8], offset: usize) -> Option<u16> {
    let bytes = bytes.get(offset..)?.first_chunk::<2>()?;
    Some(u16::from_be_bytes(*bytes))
}

/// Returns the number at `offset`, if the slice is long enough.
pub(crate) fn i32_at(bytes: &[u8], offset: usize) -> Option<i32> {
    let bytes = bytes.get(offset..)?.first_chunk::<4>()?;
    Some(i32::from_be_bytes(*bytes))
}
