//! UNLOAD CLASS.

use super::ids::ClassSerial;
use super::payload::{Payload, PayloadWriter};
use crate::fields::{Fields, Misfit};

/// A class was unloaded: u4 serial. Traces and sites go on naming it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UnloadClassRecord {
    /// The class.
    pub serial: ClassSerial,
}

impl<'a> Payload<'a> for UnloadClassRecord {
    type Rows = ();
    type Owned = UnloadClassRecord;

    fn decode(fields: &mut Fields<'a>, (): &'a mut ()) -> Result<Self, Misfit> {
        Ok(UnloadClassRecord {
            serial: ClassSerial(fields.u32()?),
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
