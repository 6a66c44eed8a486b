//! FRAME.

use super::ids::{ClassSerial, FrameId, Line, StringId};
use super::payload::{Named, Payload, PayloadWriter};
use crate::fields::{Fields, Misfit};

/// A method, and a position in it: four ids, u4 class, i4 line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrameRecord {
    /// The id under which TRACE records name it.
    pub id: FrameId,
    /// The method's name.
    pub method: StringId,
    /// The method's signature, `(I)V`.
    pub signature: StringId,
    /// The source file's name, without folders; 0 or an empty one if the class has none.
    pub source_file: StringId,
    /// The method's class.
    pub class: ClassSerial,
    /// The line, up to 2^31 - 1 in the binary format.
    pub line: Line,
}

impl Line {
    fn decode(fields: &mut Fields<'_>) -> Result<Line, Misfit> {
        match fields.u32()?.cast_signed() {
            0 | -1 => Ok(Line::Unknown),
            -2 => Ok(Line::Compiled),
            -3 => Ok(Line::Native),
            value => u32::try_from(value)
                .map(Line::Number)
                .map_err(|_| Misfit::Value {
                    field: "line number",
                    value: value.into(),
                }),
        }
    }
}

impl<'a> Payload<'a> for FrameRecord {
    type Rows = ();
    type Owned = FrameRecord;

    fn decode(fields: &mut Fields<'a>, (): &'a mut ()) -> Result<Self, Misfit> {
        Ok(FrameRecord {
            id: FrameId(fields.id()?),
            method: StringId(fields.id()?),
            signature: StringId(fields.id()?),
            source_file: StringId(fields.id()?),
            class: ClassSerial(fields.u32()?),
            line: Line::decode(fields)?,
        })
    }

    fn encode(&self, out: &mut PayloadWriter<'_>) {
        out.id(self.id.0);
        out.id(self.method.0);
        out.id(self.signature.0);
        out.id(self.source_file.0);
        out.u32(self.class.0);
        out.line(self.line);
    }

    fn id(&self) -> Option<u64> {
        Some(self.id.0)
    }

    fn each_named<E>(&self, mut visit: impl FnMut(Named) -> Result<(), E>) -> Result<(), E> {
        visit(Named::String(self.method))?;
        visit(Named::String(self.signature))?;
        if self.source_file != StringId(0) {
            visit(Named::String(self.source_file))?;
        }
        visit(Named::Class(self.class))
    }

    fn into_owned(self) -> Self::Owned {
        self
    }
}
