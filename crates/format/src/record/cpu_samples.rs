//! CPU SAMPLES.

use std::borrow::Cow;

use super::ids::TraceSerial;
use super::payload::{Named, Payload, PayloadWriter};
use crate::fields::{Fields, Misfit};

/// A row of CPU SAMPLES: u4 count, u4 trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuSample {
    /// The number of samples that hit the trace.
    pub count: u32,
    /// The trace.
    pub trace: TraceSerial,
}

/// The traces that used CPU time: u4 total, u4 number of rows, rows of 8 bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct CpuSamplesRecord<'a> {
    /// The number of all samples, including those of omitted rows.
    pub total: u32,
    /// Rows, ordered by count; those below the cutoff may be omitted.
    pub rows: Cow<'a, [CpuSample]>,
}

impl CpuSample {
    fn decode(row: &mut Fields<'_>) -> Result<CpuSample, Misfit> {
        Ok(CpuSample {
            count: row.u32()?,
            trace: TraceSerial(row.u32()?),
        })
    }
}

impl<'a> Payload<'a> for CpuSamplesRecord<'a> {
    type Rows = Vec<CpuSample>;
    type Owned = CpuSamplesRecord<'static>;

    fn decode(fields: &mut Fields<'a>, rows: &'a mut Vec<CpuSample>) -> Result<Self, Misfit> {
        let total = fields.u32()?;
        fields.rows(8, rows, CpuSample::decode)?;
        Ok(CpuSamplesRecord {
            total,
            rows: Cow::Borrowed(rows),
        })
    }

    fn encode(&self, out: &mut PayloadWriter<'_>) {
        out.u32(self.total);
        let rows = PayloadWriter::fitting(&self.rows, 8, 8);
        out.count(rows);
        for row in rows {
            out.u32(row.count);
            out.u32(row.trace.0);
        }
    }

    fn each_named<E>(&self, mut visit: impl FnMut(Named) -> Result<(), E>) -> Result<(), E> {
        let mut rows = self.rows.iter();
        rows.try_for_each(|row| visit(Named::Trace(row.trace)))
    }

    fn into_owned(self) -> Self::Owned {
        CpuSamplesRecord {
            rows: Cow::Owned(self.rows.into_owned()),
            ..self
        }
    }
}
