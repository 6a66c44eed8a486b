//! END THREAD.

use super::ids::ThreadSerial;
use super::payload::{Payload, PayloadWriter};
use crate::fields::{Fields, Misfit};

/// A thread ended: u4 serial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EndThreadRecord {
    /// The thread.
    pub serial: ThreadSerial,
}

impl<'a> Payload<'a> for EndThreadRecord {
    type Rows = ();
    type Owned = EndThreadRecord;

    fn decode(fields: &mut Fields<'a>, (): &'a mut ()) -> Result<Self, Misfit> {
        Ok(EndThreadRecord {
            serial: ThreadSerial(fields.u32()?),
        })
    }

    fn encode(&self, out: &mut PayloadWriter<'_>) {
        out.u32(self.serial.0);
    }

    fn id(&self) -> Option<u64> {
        Some(self.serial.0.into())
    }

    fn into_owned(self) -> Self::Owned {
        self
    }
}
