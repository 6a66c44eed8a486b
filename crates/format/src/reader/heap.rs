//! Reads the records inside a heap dump.

use std::io::Read;

use super::{ReadError, Reader, fill};
use crate::bytes::in_memory;
use crate::fields::Misfit;
use crate::heap::{Extent, decode};
use crate::heap::{HeapError, HeapRecord};
use crate::kind::HeapKind;
use crate::record::RecordKind;

/// The size of content, in bytes, above which instances and arrays come in pieces.
const PIECE: u64 = 32 * 1024;

/// A record of a heap dump, or a piece of one, and its position.
#[derive(Clone, Debug, PartialEq)]
pub struct HeapEntry<'a> {
    /// The offset of the record or the piece, in bytes from the start of the file.
    pub offset: u64,
    /// The content.
    pub item: HeapItem<'a>,
    /// The bytes of the record or the piece, as in the file; of a [`HeapItem::Head`] those before its content.
    pub bytes: &'a [u8],
}

/// An item in a heap dump.
#[derive(Clone, Debug, PartialEq)]
pub enum HeapItem<'a> {
    /// A record with all its content.
    Record(HeapRecord<'a>),
    /// An instance or an array too long to be held at once. Pieces with its content follow.
    Head {
        /// The record, with empty `fields` or `elements`.
        record: HeapRecord<'a>,
        /// The size of its content, in bytes.
        length: u64,
    },
    /// The next bytes of the content of the last [`HeapItem::Head`]; a multiple of 8 in all pieces but the last.
    Piece {
        /// The bytes.
        bytes: &'a [u8],
        /// `true` for the last piece.
        last: bool,
    },
}

/// The state of reading a heap dump's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// There is none, or reading cannot continue.
    Closed,
    /// A record starts next.
    Between(RecordKind),
    /// This many bytes of a record's content come next.
    Inside(RecordKind, u64),
}

impl<R: Read> Reader<R> {
    /// Reads the next record inside the heap dump, or segment of one, that [`Reader::read`] returned last; `None` after
    /// the last one, and if that was something else.
    ///
    /// # Errors
    /// [`ReadError`]. After one, [`Reader::read`] continues after the dump's record, if there is more.
    pub fn read_heap(&mut self) -> Result<Option<HeapEntry<'_>>, ReadError> {
        if self.unread == 0 {
            return Ok(None);
        }
        match self.heap {
            State::Closed => Ok(None),
            State::Between(within) => self.read_heap_record(within).map(Some),
            State::Inside(within, left) => self.read_piece(within, left).map(Some),
        }
    }

    fn read_heap_record(&mut self, within: RecordKind) -> Result<HeapEntry<'_>, ReadError> {
        let extent = match self.heap_extent(within) {
            Ok(extent) => extent,
            Err(error) => {
                self.heap = State::Closed;
                return Err(error);
            }
        };
        let offset = self.window.position();
        let content = extent.length - extent.head as u64;
        let whole = content <= PIECE;
        let taken = if whole {
            extent.length
        } else {
            self.heap = State::Inside(within, content);
            extent.head as u64
        };
        self.unread -= taken;
        let bytes = self.window.take(in_memory(taken));
        let record = match decode(extent.kind, bytes, self.header.id_size) {
            Ok(record) => record,
            Err(misfit) => {
                self.heap = State::Closed;
                let kind = extent.kind;
                return Err(match misfit {
                    Misfit::Value { field, value } => ReadError::HeapValue {
                        offset,
                        kind,
                        field,
                        value,
                    },
                    Misfit::Short { needed } | Misfit::Long { needed } => ReadError::HeapTooShort {
                        offset,
                        kind,
                        needed,
                        left: taken,
                        within,
                        start: self.unread_offset,
                    },
                });
            }
        };
        let item = if whole {
            HeapItem::Record(record)
        } else {
            HeapItem::Head {
                record,
                length: content,
            }
        };
        Ok(HeapEntry {
            offset,
            item,
            bytes,
        })
    }

    /// Returns the extent of the next record, which is then in the window: with its content, unless that comes in
    /// pieces.
    fn heap_extent(&mut self, within: RecordKind) -> Result<Extent, ReadError> {
        loop {
            let bytes = self.window.bytes();
            let left =
                usize::try_from(self.unread).map_or(bytes.len(), |left| left.min(bytes.len()));
            let wanted = match Extent::of(&bytes[..left], self.header.id_size) {
                Ok(extent) => {
                    if extent.length > self.unread {
                        return Err(self.heap_too_short(extent.kind, extent.length, within));
                    }
                    let wanted = if extent.length - extent.head as u64 <= PIECE {
                        in_memory(extent.length)
                    } else {
                        extent.head
                    };
                    if wanted <= left {
                        return Ok(extent);
                    }
                    wanted
                }
                Err(HeapError::Incomplete { needed, .. }) => {
                    if needed > self.unread {
                        // At least the tag fits into every body that is not empty.
                        let kind = bytes.first().and_then(|&tag| HeapKind::from_tag(tag));
                        let kind =
                            kind.expect("a record without a tag takes one byte, which is left");
                        return Err(self.heap_too_short(kind, needed, within));
                    }
                    in_memory(needed)
                }
                Err(HeapError::UnknownTag { tag, .. }) => {
                    return Err(ReadError::HeapTag {
                        offset: self.window.position(),
                        tag,
                        within,
                        start: self.unread_offset,
                    });
                }
                Err(HeapError::Value {
                    kind, field, value, ..
                }) => {
                    return Err(ReadError::HeapValue {
                        offset: self.window.position(),
                        kind,
                        field,
                        value,
                    });
                }
            };
            self.need(wanted)?;
        }
    }

    fn read_piece(&mut self, within: RecordKind, left: u64) -> Result<HeapEntry<'_>, ReadError> {
        let offset = self.window.position();
        let length = left.min(PIECE);
        if let Err(error) = self.need(length as usize) {
            self.heap = State::Closed;
            return Err(error);
        }
        let last = length == left;
        self.heap = if last {
            State::Between(within)
        } else {
            State::Inside(within, left - length)
        };
        self.unread -= length;
        let bytes = self.window.take(length as usize);
        let item = HeapItem::Piece { bytes, last };
        Ok(HeapEntry {
            offset,
            item,
            bytes,
        })
    }

    /// Reads the next `count` bytes of the dump's record into the window.
    fn need(&mut self, count: usize) -> Result<(), ReadError> {
        let available = fill(&mut self.window, count)?;
        if available == count {
            return Ok(());
        }
        let missing = self.unread - available as u64;
        self.window.take(available);
        self.unread = 0;
        Err(ReadError::Truncated {
            offset: self.unread_offset,
            missing,
        })
    }

    fn heap_too_short(&self, kind: HeapKind, needed: u64, within: RecordKind) -> ReadError {
        ReadError::HeapTooShort {
            offset: self.window.position(),
            kind,
            needed,
            left: self.unread,
            within,
            start: self.unread_offset,
        }
    }
}
