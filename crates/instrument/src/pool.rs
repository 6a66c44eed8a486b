//! The constant pool: the offsets of its entries, and the entries appended to it. No entry is ever changed or moved, so
//! every reference to it stays valid.

use std::collections::HashMap;

use crate::error::Error;
use crate::reader::{Reader, u16_at};

const UTF8: u8 = 1;
const INTEGER: u8 = 3;
const FLOAT: u8 = 4;
const LONG: u8 = 5;
const DOUBLE: u8 = 6;
const CLASS: u8 = 7;
const STRING: u8 = 8;
const FIELDREF: u8 = 9;
const METHODREF: u8 = 10;
const NAME_AND_TYPE: u8 = 12;

/// A class file's constant pool.
pub(crate) struct Pool<'a> {
    class: &'a [u8],
    /// The offset of each index's entry, at its tag; 0 for an unused index.
    offsets: Vec<u32>,
    /// The offset of the first byte after the pool.
    pub(crate) end: usize,
}

impl<'a> Pool<'a> {
    /// Parses the pool that starts with its count at `offset` of the class file.
    pub(crate) fn parse(class: &'a [u8], offset: usize) -> Result<Self, Error> {
        let mut reader = Reader::at(class, offset);
        let count = reader.u16()?;
        let mut offsets = Vec::with_capacity(usize::from(count));
        offsets.push(0);
        while offsets.len() < usize::from(count) {
            let start = reader.offset();
            let tag = reader.u8()?;
            let length = match tag {
                UTF8 => usize::from(reader.u16()?),
                INTEGER | FLOAT | FIELDREF | METHODREF | 11 | NAME_AND_TYPE | 17 | 18 => 4,
                LONG | DOUBLE => 8,
                CLASS | STRING | 16 | 19 | 20 => 2,
                15 => 3,
                _ => {
                    let index = u16::try_from(offsets.len()).unwrap_or(u16::MAX);
                    return Err(Error::UnknownConstant { index, tag });
                }
            };
            reader.take(length)?;
            // A class file of 4 GB has been refused already.
            offsets.push(u32::try_from(start).unwrap_or(0));
            if matches!(tag, LONG | DOUBLE) {
                offsets.push(0);
            }
        }
        Ok(Self {
            class,
            offsets,
            end: reader.offset(),
        })
    }

    /// Returns one more than the highest index.
    pub(crate) fn count(&self) -> usize {
        self.offsets.len()
    }

    /// Returns the bytes of an entry after its tag, and everything that follows.
    fn entry(&self, index: u16, tag: u8) -> Option<&'a [u8]> {
        let offset = *self.offsets.get(usize::from(index))? as usize;
        let entry = self.class.get(offset..)?;
        (offset != 0 && *entry.first()? == tag).then(|| &entry[1..])
    }

    pub(crate) fn utf8(&self, index: u16) -> Result<&'a [u8], Error> {
        let wanted = "a string of characters";
        let entry = self
            .entry(index, UTF8)
            .ok_or(Error::WrongConstant { index, wanted })?;
        let length = u16_at(entry, 0).map(usize::from);
        length
            .and_then(|length| entry.get(2..2 + length))
            .ok_or(Error::WrongConstant { index, wanted })
    }

    pub(crate) fn class_name(&self, index: u16) -> Result<&'a [u8], Error> {
        let wanted = "a class";
        let name = self.entry(index, CLASS).and_then(|entry| u16_at(entry, 0));
        self.utf8(name.ok_or(Error::WrongConstant { index, wanted })?)
    }

    /// Returns the name and the descriptor of the field or method that an instruction refers to.
    pub(crate) fn member(&self, index: u16) -> Result<(&'a [u8], &'a [u8]), Error> {
        let wanted = "a field, a method or a call site";
        // A field, a method, an interface's method; a dynamic constant, a call site.
        let pair = [FIELDREF, METHODREF, 11, 17, 18]
            .into_iter()
            .find_map(|tag| self.entry(index, tag))
            .and_then(|entry| u16_at(entry, 2))
            .and_then(|pair| self.entry(pair, NAME_AND_TYPE));
        let (name, descriptor) = pair
            .and_then(|pair| Some((u16_at(pair, 0)?, u16_at(pair, 2)?)))
            .ok_or(Error::WrongConstant { index, wanted })?;
        Ok((self.utf8(name)?, self.utf8(descriptor)?))
    }

    /// Returns an int or a long.
    #[cfg(test)]
    pub(crate) fn number(&self, index: u16) -> Option<i64> {
        use crate::reader::i32_at;
        if let Some(entry) = self.entry(index, INTEGER) {
            return i32_at(entry, 0).map(i64::from);
        }
        let bytes = self.entry(index, LONG)?.first_chunk()?;
        Some(i64::from_be_bytes(*bytes))
    }

    /// Returns `true` if loading this constant runs no code and fails only for lack of memory.
    pub(crate) fn is_plain_value(&self, index: u16) -> bool {
        [INTEGER, FLOAT, LONG, DOUBLE, STRING]
            .into_iter()
            .any(|tag| self.entry(index, tag).is_some())
    }
}

/// Entries that are appended to a pool.
pub(crate) struct Additions {
    pub(crate) bytes: Vec<u8>,
    /// The index of the next entry.
    next: usize,
    /// The classes that [`Additions::known_class`] has added.
    classes: HashMap<Vec<u8>, u16>,
}

impl Additions {
    /// Creates additions to a pool with `count` entries, including index 0.
    pub(crate) fn after(count: usize) -> Self {
        Self {
            bytes: Vec::new(),
            next: count,
            classes: HashMap::new(),
        }
    }

    /// Returns the count of the pool with these.
    pub(crate) fn count(&self) -> u16 {
        // `index` refuses entries that would not fit.
        u16::try_from(self.next).unwrap_or(u16::MAX)
    }

    /// Returns the index for one more entry; `None` if the pool is full.
    fn index(&mut self) -> Option<u16> {
        // The count is one more than the last index and must fit too.
        let index = u16::try_from(self.next)
            .ok()
            .filter(|&index| index < u16::MAX)?;
        self.next += 1;
        Some(index)
    }

    pub(crate) fn utf8(&mut self, text: &[u8]) -> Option<u16> {
        let length = u16::try_from(text.len()).ok()?;
        let index = self.index()?;
        self.bytes.push(UTF8);
        self.bytes.extend_from_slice(&length.to_be_bytes());
        self.bytes.extend_from_slice(text);
        Some(index)
    }

    pub(crate) fn integer(&mut self, value: u32) -> Option<u16> {
        let index = self.index()?;
        self.bytes.push(INTEGER);
        self.bytes.extend_from_slice(&value.to_be_bytes());
        Some(index)
    }

    pub(crate) fn long(&mut self, value: u64) -> Option<u16> {
        let index = self.index()?;
        // It takes two.
        self.index()?;
        self.bytes.push(LONG);
        self.bytes.extend_from_slice(&value.to_be_bytes());
        Some(index)
    }

    pub(crate) fn string(&mut self, text: &[u8]) -> Option<u16> {
        let text = self.utf8(text)?;
        let index = self.index()?;
        self.bytes.push(STRING);
        self.bytes.extend_from_slice(&text.to_be_bytes());
        Some(index)
    }

    /// Adds a field; `name` and `descriptor` are strings of the pool.
    pub(crate) fn field(&mut self, class: u16, name: u16, descriptor: u16) -> Option<u16> {
        let pair = self.pair(NAME_AND_TYPE, name, descriptor)?;
        self.pair(FIELDREF, class, pair)
    }

    pub(crate) fn class(&mut self, name: &[u8]) -> Option<u16> {
        let name = self.utf8(name)?;
        let index = self.index()?;
        self.bytes.push(CLASS);
        self.bytes.extend_from_slice(&name.to_be_bytes());
        Some(index)
    }

    /// As `class`, for a name that may come several times.
    pub(crate) fn known_class(&mut self, name: &[u8]) -> Option<u16> {
        if let Some(&known) = self.classes.get(name) {
            return Some(known);
        }
        let index = self.class(name)?;
        self.classes.insert(name.to_vec(), index);
        Some(index)
    }

    pub(crate) fn method(&mut self, class: u16, name: &[u8], descriptor: u16) -> Option<u16> {
        let name = self.utf8(name)?;
        let pair = self.pair(NAME_AND_TYPE, name, descriptor)?;
        self.pair(METHODREF, class, pair)
    }

    fn pair(&mut self, tag: u8, first: u16, second: u16) -> Option<u16> {
        let index = self.index()?;
        self.bytes.push(tag);
        self.bytes.extend_from_slice(&first.to_be_bytes());
        self.bytes.extend_from_slice(&second.to_be_bytes());
        Some(index)
    }
}
