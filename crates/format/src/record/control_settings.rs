//! CONTROL SETTINGS.

use super::payload::{Payload, PayloadWriter};
use crate::fields::{Fields, Misfit};

/// `flags` of CONTROL SETTINGS: allocation sites are traced.
pub const CONTROL_ALLOC_TRACES: u32 = 1;
/// `flags` of CONTROL SETTINGS: CPU samples are taken.
pub const CONTROL_CPU_SAMPLING: u32 = 2;
/// `flags` of CONTROL SETTINGS: a heap dump follows later in the file, complete or marked by [`StringId::BROKE_OFF`](super::StringId::BROKE_OFF). A
/// file that ends without one has lost it, unless later settings lack the flag because the dump could not be made. Only
/// this project's agent sets the flag.
pub const CONTROL_HEAP_DUMP_FOLLOWS: u32 = 4;

/// The profiler's settings from now on: u4 flags, u2 depth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ControlSettingsRecord {
    /// `CONTROL_*` bits.
    pub flags: u32,
    /// `depth=`, in frames.
    pub depth: u16,
}

impl<'a> Payload<'a> for ControlSettingsRecord {
    type Rows = ();
    type Owned = ControlSettingsRecord;

    fn decode(fields: &mut Fields<'a>, (): &'a mut ()) -> Result<Self, Misfit> {
        Ok(ControlSettingsRecord {
            flags: fields.u32()?,
            depth: fields.u16()?,
        })
    }

    fn encode(&self, out: &mut PayloadWriter<'_>) {
        out.u32(self.flags);
        out.u16(self.depth);
    }

    fn into_owned(self) -> Self::Owned {
        self
    }
}
