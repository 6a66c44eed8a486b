//! HEAP SUMMARY.

use super::payload::{Payload, PayloadWriter};
use crate::fields::{Fields, Misfit};

/// Totals of the heap: u4 live bytes and instances, u8 allocated bytes and instances. Directly before a heap dump, those of
/// the dump.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeapSummaryRecord {
    /// The number of live bytes; at most 2^32 - 1 in the binary format.
    pub live_bytes: u64,
    /// The number of live objects; at most 2^32 - 1 in the binary format.
    pub live_instances: u64,
    /// Bytes allocated so far, including those of dead objects.
    pub allocated_bytes: u64,
    /// Objects allocated so far, including dead ones.
    pub allocated_instances: u64,
}

impl<'a> Payload<'a> for HeapSummaryRecord {
    type Rows = ();
    type Owned = HeapSummaryRecord;

    fn decode(fields: &mut Fields<'a>, (): &'a mut ()) -> Result<Self, Misfit> {
        Ok(HeapSummaryRecord {
            live_bytes: fields.u32()?.into(),
            live_instances: fields.u32()?.into(),
            allocated_bytes: fields.u64()?,
            allocated_instances: fields.u64()?,
        })
    }

    fn encode(&self, out: &mut PayloadWriter<'_>) {
        out.u32(PayloadWriter::saturated(self.live_bytes));
        out.u32(PayloadWriter::saturated(self.live_instances));
        out.u64(self.allocated_bytes);
        out.u64(self.allocated_instances);
    }

    fn into_owned(self) -> Self::Owned {
        self
    }
}
