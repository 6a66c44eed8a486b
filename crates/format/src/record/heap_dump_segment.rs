//! HEAP DUMP SEGMENT.

use std::borrow::Cow;

use super::payload::{Payload, PayloadWriter};
use crate::fields::{Fields, Misfit};

/// A part of a heap dump.
#[derive(Clone, Debug, PartialEq)]
pub struct HeapDumpSegmentRecord<'a> {
    /// Whole [`HeapRecord`](crate::HeapRecord)s, as [`HeapRecord::write`](crate::HeapRecord::write) appends them; fewer
    /// than 2^32 bytes.
    pub content: Cow<'a, [u8]>,
}

impl<'a> Payload<'a> for HeapDumpSegmentRecord<'a> {
    type Rows = ();
    type Owned = HeapDumpSegmentRecord<'static>;

    fn decode(fields: &mut Fields<'a>, (): &'a mut ()) -> Result<Self, Misfit> {
        Ok(HeapDumpSegmentRecord {
            content: Cow::Borrowed(fields.take_rest()),
        })
    }

    fn encode(&self, out: &mut PayloadWriter<'_>) {
        out.bytes(&self.content);
    }

    fn into_owned(self) -> Self::Owned {
        HeapDumpSegmentRecord {
            content: Cow::Owned(self.content.into_owned()),
        }
    }
}
