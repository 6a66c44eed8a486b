//! A chunk, with its types and the places of its constants.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::constants::HEADER_SIZE;
use crate::encoding::Bytes;
use crate::header::Header;
use crate::metadata::Metadata;

/// A part of a recording, which describes itself.
#[derive(Debug)]
pub struct Chunk {
    pub(super) header: Header,
    /// Its place in the file.
    pub(super) offset: u64,
    pub(super) bytes: Vec<u8>,
    pub(super) metadata: Metadata,
    /// The place of each constant's value.
    pub(super) constants: HashMap<(u64, u64), usize, RandomState>,
}

impl Chunk {
    pub(super) fn all(&self) -> Bytes<'_> {
        Bytes::new(&self.bytes, self.offset, self.header.is_compressed())
    }

    /// Returns what follows the header.
    pub(super) fn content(&self) -> Bytes<'_> {
        self.all().from(HEADER_SIZE)
    }

    /// Returns its header.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Returns the types of its events and values.
    #[must_use]
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }
}
