//! Reads the fields of a record.

use crate::id_size::IdSize;

/// The reason a body does not fit its kind.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Misfit {
    /// It ends before its content, which takes at least this many bytes.
    Short { needed: u64 },
    /// It continues after its content, which takes this many bytes.
    Long { needed: u64 },
    /// A field has a value without a meaning in the format.
    Value { field: &'static str, value: i64 },
}

/// Reads a body field by field, in the format's own units.
pub(crate) struct Fields<'a> {
    rest: &'a [u8],
    length: usize,
    id_size: IdSize,
}

impl<'a> Fields<'a> {
    #[inline]
    pub(crate) fn new(body: &'a [u8], id_size: IdSize) -> Fields<'a> {
        Fields {
            rest: body,
            length: body.len(),
            id_size,
        }
    }

    #[inline]
    pub(crate) fn u8(&mut self) -> Result<u8, Misfit> {
        self.array::<1>().map(|[byte]| byte)
    }

    #[inline]
    pub(crate) fn u16(&mut self) -> Result<u16, Misfit> {
        self.array().map(u16::from_be_bytes)
    }

    #[inline]
    pub(crate) fn u32(&mut self) -> Result<u32, Misfit> {
        self.array().map(u32::from_be_bytes)
    }

    #[inline]
    pub(crate) fn u64(&mut self) -> Result<u64, Misfit> {
        self.array().map(u64::from_be_bytes)
    }

    #[inline]
    pub(crate) fn id(&mut self) -> Result<u64, Misfit> {
        match self.id_size {
            IdSize::Four => self.u32().map(u64::from),
            IdSize::Eight => self.u64(),
        }
    }

    /// Returns the size of an id in bytes.
    pub(crate) fn id_bytes(&self) -> u64 {
        self.id_size.bytes()
    }

    /// Reads a u4 count and that many rows of `size` bytes, which must be all that is left.
    pub(crate) fn rows<T>(
        &mut self,
        size: u64,
        into: &mut Vec<T>,
        read: impl Fn(&mut Fields<'a>) -> Result<T, Misfit>,
    ) -> Result<(), Misfit> {
        let count = self.u32()?;
        let needed = self.consumed() + u64::from(count) * size;
        if needed > self.length as u64 {
            return Err(Misfit::Short { needed });
        }
        // The body is as long as the rows, so memory is reserved only for bytes that exist.
        into.clear();
        into.reserve(count as usize);
        for _ in 0..count {
            into.push(read(self)?);
        }
        Ok(())
    }

    #[inline]
    pub(crate) fn take_rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }

    #[inline]
    pub(crate) fn skip(&mut self, count: usize) -> Result<(), Misfit> {
        let Some(rest) = self.rest.get(count..) else {
            return Err(Misfit::Short {
                needed: self.consumed() + count as u64,
            });
        };
        self.rest = rest;
        Ok(())
    }

    pub(crate) fn end(&self) -> Result<(), Misfit> {
        if self.rest.is_empty() {
            return Ok(());
        }
        Err(Misfit::Long {
            needed: self.consumed(),
        })
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N], Misfit> {
        let Some((array, rest)) = self.rest.split_first_chunk() else {
            return Err(Misfit::Short {
                needed: self.consumed() + N as u64,
            });
        };
        self.rest = rest;
        Ok(*array)
    }

    pub(crate) fn consumed(&self) -> u64 {
        (self.length - self.rest.len()) as u64
    }
}
