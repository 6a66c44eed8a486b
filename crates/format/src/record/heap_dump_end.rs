//! HEAP DUMP END.

use super::payload::{Payload, PayloadWriter};
use crate::fields::{Fields, Misfit};

/// The segments so far are a complete heap dump. It has no content.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeapDumpEndRecord;

impl<'a> Payload<'a> for HeapDumpEndRecord {
    type Rows = ();
    type Owned = HeapDumpEndRecord;

    fn decode(_fields: &mut Fields<'a>, (): &'a mut ()) -> Result<Self, Misfit> {
        Ok(HeapDumpEndRecord)
    }

    fn encode(&self, _out: &mut PayloadWriter<'_>) {}

    fn into_owned(self) -> Self::Owned {
        self
    }
}
