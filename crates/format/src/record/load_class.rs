//! LOAD CLASS.

use super::ids::{ClassSerial, ObjectId, StringId, TraceSerial};
use super::payload::{Named, Payload, PayloadWriter};
use crate::fields::{Fields, Misfit};

/// A class was loaded, or its object has another id since the last heap dump: u4 serial, id, u4 trace, id.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoadClassRecord {
    /// The serial number under which later records name it, above 0.
    pub serial: ClassSerial,
    /// The `java.lang.Class` object, as CLASS DUMP names it.
    pub class_object: ObjectId,
    /// The trace that loaded it; 300000 if that is unknown.
    pub trace: TraceSerial,
    /// The class's name: `java/lang/String`, `[[I` in binary files, as in class files; `java.lang.String`, `int[][]` in
    /// others. [`source_name`](crate::source_name) takes both.
    pub name: StringId,
}

impl<'a> Payload<'a> for LoadClassRecord {
    type Rows = ();
    type Owned = LoadClassRecord;

    fn decode(fields: &mut Fields<'a>, (): &'a mut ()) -> Result<Self, Misfit> {
        Ok(LoadClassRecord {
            serial: ClassSerial(fields.u32()?),
            class_object: ObjectId(fields.id()?),
            trace: TraceSerial(fields.u32()?),
            name: StringId(fields.id()?),
        })
    }

    fn encode(&self, out: &mut PayloadWriter<'_>) {
        out.u32(self.serial.0);
        out.id(self.class_object.0);
        out.u32(self.trace.0);
        out.id(self.name.0);
    }

    fn id(&self) -> Option<u64> {
        Some(self.serial.0.into())
    }

    fn each_named<E>(&self, mut visit: impl FnMut(Named) -> Result<(), E>) -> Result<(), E> {
        visit(Named::Trace(self.trace))?;
        visit(Named::String(self.name))
    }

    fn into_owned(self) -> Self::Owned {
        self
    }
}
