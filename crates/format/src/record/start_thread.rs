//! START THREAD.

use super::ids::{ObjectId, StringId, ThreadSerial, TraceSerial};
use super::payload::{Named, Payload, PayloadWriter};
use crate::fields::{Fields, Misfit};

/// A thread began: u4 serial, id, u4 trace, three ids.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StartThreadRecord {
    /// The serial number under which later records name it, above 0.
    pub serial: ThreadSerial,
    /// The `java.lang.Thread` object.
    pub object: ObjectId,
    /// The trace that started it; 300000 if that is unknown.
    pub trace: TraceSerial,
    /// The thread's name; no other record names that string if its id is [`StringId::USED_ONCE`] or above.
    pub name: StringId,
    /// Its group's name, 0 if it has none.
    pub group: StringId,
    /// The name of the parent group, 0 at the top.
    pub parent_group: StringId,
}

impl<'a> Payload<'a> for StartThreadRecord {
    type Rows = ();
    type Owned = StartThreadRecord;

    fn decode(fields: &mut Fields<'a>, (): &'a mut ()) -> Result<Self, Misfit> {
        Ok(StartThreadRecord {
            serial: ThreadSerial(fields.u32()?),
            object: ObjectId(fields.id()?),
            trace: TraceSerial(fields.u32()?),
            name: StringId(fields.id()?),
            group: StringId(fields.id()?),
            parent_group: StringId(fields.id()?),
        })
    }

    fn encode(&self, out: &mut PayloadWriter<'_>) {
        out.u32(self.serial.0);
        out.id(self.object.0);
        out.u32(self.trace.0);
        out.id(self.name.0);
        out.id(self.group.0);
        out.id(self.parent_group.0);
    }

    fn id(&self) -> Option<u64> {
        Some(self.serial.0.into())
    }

    fn each_named<E>(&self, mut visit: impl FnMut(Named) -> Result<(), E>) -> Result<(), E> {
        visit(Named::Trace(self.trace))?;
        visit(Named::String(self.name))?;
        let groups = [self.group, self.parent_group];
        let groups = groups.into_iter().filter(|&id| id != StringId(0));
        groups.map(Named::String).try_for_each(visit)
    }

    fn into_owned(self) -> Self::Owned {
        self
    }
}
