//! TRACE.

use std::borrow::Cow;

use super::ids::{FrameId, ThreadSerial, TraceSerial};
use super::payload::{Named, Payload, PayloadWriter};
use crate::fields::{Fields, Misfit};

/// A call stack: u4 serial, u4 thread, u4 number of frames, their ids.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceRecord<'a> {
    /// The serial number under which later records name it, above 0.
    pub serial: TraceSerial,
    /// The thread, [`ThreadSerial::ANY`] if traces are shared by all threads (`thread=n`).
    pub thread: ThreadSerial,
    /// The frames, innermost first; at most `depth=` of them.
    pub frames: Cow<'a, [FrameId]>,
}

impl<'a> Payload<'a> for TraceRecord<'a> {
    type Rows = Vec<FrameId>;
    type Owned = TraceRecord<'static>;

    fn decode(fields: &mut Fields<'a>, rows: &'a mut Vec<FrameId>) -> Result<Self, Misfit> {
        let serial = TraceSerial(fields.u32()?);
        let thread = ThreadSerial(fields.u32()?);
        fields.rows(fields.id_bytes(), rows, |row| Ok(FrameId(row.id()?)))?;
        Ok(TraceRecord {
            serial,
            thread,
            frames: Cow::Borrowed(rows),
        })
    }

    fn encode(&self, out: &mut PayloadWriter<'_>) {
        out.u32(self.serial.0);
        out.u32(self.thread.0);
        let rows = PayloadWriter::fitting(&self.frames, 12, PayloadWriter::ID_SIZE);
        out.count(rows);
        for row in rows {
            out.id(row.0);
        }
    }

    fn id(&self) -> Option<u64> {
        Some(self.serial.0.into())
    }

    fn each_named<E>(&self, mut visit: impl FnMut(Named) -> Result<(), E>) -> Result<(), E> {
        visit(Named::Thread(self.thread))?;
        let mut frames = self.frames.iter();
        frames.try_for_each(|&frame| visit(Named::Frame(frame)))
    }

    fn into_owned(self) -> Self::Owned {
        TraceRecord {
            frames: Cow::Owned(self.frames.into_owned()),
            ..self
        }
    }
}
