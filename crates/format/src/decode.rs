//! Decodes the body of a record.

use std::borrow::Cow;

use crate::id_size::IdSize;
use crate::kind::RecordKind;
use crate::record::{AllocSite, BasicType, CpuSample, Line, Record};
use crate::record::{ClassSerial, FrameId, ObjectId, StringId, ThreadSerial, TraceSerial};

/// The reason a body does not fit its kind.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Misfit {
    /// It ends before its content, which takes at least this many bytes.
    Short { needed: u64 },
    /// It goes on after its content, which takes this many bytes.
    Long { needed: u64 },
    /// A field has a value without a meaning in the format.
    Value { field: &'static str, value: i64 },
}

/// Memory for the rows of one record, reused for the next.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    frames: Vec<FrameId>,
    cpu_samples: Vec<CpuSample>,
    sites: Vec<AllocSite>,
}

/// Decodes the body of a record of any kind except a heap dump.
pub(crate) fn record<'a>(
    kind: RecordKind,
    id_size: IdSize,
    body: &'a [u8],
    rows: &'a mut Rows,
) -> Result<Option<Record<'a>>, Misfit> {
    let mut fields = Fields::new(body, id_size);
    let record = match kind {
        RecordKind::String => {
            let id = StringId(fields.id()?);
            Record::String {
                id,
                text: Cow::Borrowed(fields.take_rest()),
            }
        }
        RecordKind::LoadClass => Record::LoadClass {
            serial: ClassSerial(fields.u32()?),
            class_object: ObjectId(fields.id()?),
            trace: TraceSerial(fields.u32()?),
            name: StringId(fields.id()?),
        },
        RecordKind::UnloadClass => Record::UnloadClass {
            serial: ClassSerial(fields.u32()?),
        },
        RecordKind::Frame => Record::Frame {
            id: FrameId(fields.id()?),
            method: StringId(fields.id()?),
            signature: StringId(fields.id()?),
            source_file: StringId(fields.id()?),
            class: ClassSerial(fields.u32()?),
            line: line(fields.u32()? as i32)?,
        },
        RecordKind::Trace => {
            let serial = TraceSerial(fields.u32()?);
            let thread = ThreadSerial(fields.u32()?);
            fields.rows(id_size.bytes(), &mut rows.frames, |row| {
                Ok(FrameId(row.id()?))
            })?;
            Record::Trace {
                serial,
                thread,
                frames: Cow::Borrowed(&rows.frames),
            }
        }
        RecordKind::AllocSites => {
            let flags = fields.u16()?;
            let cutoff = f32::from_bits(fields.u32()?);
            let live_bytes = fields.u32()?.into();
            let live_instances = fields.u32()?.into();
            let allocated_bytes = fields.u64()?;
            let allocated_instances = fields.u64()?;
            fields.rows(25, &mut rows.sites, alloc_site)?;
            Record::AllocSites {
                flags,
                cutoff,
                live_bytes,
                live_instances,
                allocated_bytes,
                allocated_instances,
                sites: Cow::Borrowed(&rows.sites),
            }
        }
        RecordKind::HeapSummary => Record::HeapSummary {
            live_bytes: fields.u32()?.into(),
            live_instances: fields.u32()?.into(),
            allocated_bytes: fields.u64()?,
            allocated_instances: fields.u64()?,
        },
        RecordKind::StartThread => Record::StartThread {
            serial: ThreadSerial(fields.u32()?),
            object: ObjectId(fields.id()?),
            trace: TraceSerial(fields.u32()?),
            name: StringId(fields.id()?),
            group: StringId(fields.id()?),
            parent_group: StringId(fields.id()?),
        },
        RecordKind::EndThread => Record::EndThread {
            serial: ThreadSerial(fields.u32()?),
        },
        RecordKind::CpuSamples => {
            let total = fields.u32()?;
            fields.rows(8, &mut rows.cpu_samples, cpu_sample)?;
            Record::CpuSamples {
                total,
                rows: Cow::Borrowed(&rows.cpu_samples),
            }
        }
        RecordKind::ControlSettings => Record::ControlSettings {
            flags: fields.u32()?,
            depth: fields.u16()?,
        },
        RecordKind::HeapDumpEnd => {
            fields.end()?;
            return Ok(None);
        }
        RecordKind::HeapDump | RecordKind::HeapDumpSegment => return Ok(None),
    };
    fields.end()?;
    Ok(Some(record))
}

fn line(value: i32) -> Result<Line, Misfit> {
    match value {
        0 | -1 => Ok(Line::Unknown),
        -2 => Ok(Line::Compiled),
        -3 => Ok(Line::Native),
        _ => u32::try_from(value)
            .map(Line::Number)
            .map_err(|_| Misfit::Value {
                field: "line number",
                value: value.into(),
            }),
    }
}

fn cpu_sample(row: &mut Fields<'_>) -> Result<CpuSample, Misfit> {
    Ok(CpuSample {
        count: row.u32()?,
        trace: TraceSerial(row.u32()?),
    })
}

fn alloc_site(row: &mut Fields<'_>) -> Result<AllocSite, Misfit> {
    let indicator = row.u8()?;
    let array_of = match indicator {
        0 => None,
        _ => Some(BasicType::from_byte(indicator).ok_or(Misfit::Value {
            field: "array indicator",
            value: indicator.into(),
        })?),
    };
    Ok(AllocSite {
        array_of,
        class: ClassSerial(row.u32()?),
        trace: TraceSerial(row.u32()?),
        live_bytes: row.u32()?.into(),
        live_instances: row.u32()?.into(),
        allocated_bytes: row.u32()?.into(),
        allocated_instances: row.u32()?.into(),
    })
}

/// Reads a body field by field, in the format's own units.
pub(crate) struct Fields<'a> {
    rest: &'a [u8],
    length: usize,
    id_size: IdSize,
}

impl<'a> Fields<'a> {
    #[inline]
    pub(crate) fn new(body: &'a [u8], id_size: IdSize) -> Fields<'a> {
        Fields {
            rest: body,
            length: body.len(),
            id_size,
        }
    }

    #[inline]
    pub(crate) fn u8(&mut self) -> Result<u8, Misfit> {
        self.array::<1>().map(|[byte]| byte)
    }

    #[inline]
    pub(crate) fn u16(&mut self) -> Result<u16, Misfit> {
        self.array().map(u16::from_be_bytes)
    }

    #[inline]
    pub(crate) fn u32(&mut self) -> Result<u32, Misfit> {
        self.array().map(u32::from_be_bytes)
    }

    #[inline]
    pub(crate) fn u64(&mut self) -> Result<u64, Misfit> {
        self.array().map(u64::from_be_bytes)
    }

    #[inline]
    pub(crate) fn id(&mut self) -> Result<u64, Misfit> {
        match self.id_size {
            IdSize::Four => self.u32().map(u64::from),
            IdSize::Eight => self.u64(),
        }
    }

    /// Reads a u4 count and that many rows of `size` bytes, which must be all that is left.
    fn rows<T>(
        &mut self,
        size: u64,
        into: &mut Vec<T>,
        read: impl Fn(&mut Fields<'a>) -> Result<T, Misfit>,
    ) -> Result<(), Misfit> {
        let count = self.u32()?;
        let needed = self.consumed() + u64::from(count) * size;
        if needed > self.length as u64 {
            return Err(Misfit::Short { needed });
        }
        // The body is as long as the rows, so memory is reserved only for bytes that exist.
        into.clear();
        into.reserve(count as usize);
        for _ in 0..count {
            into.push(read(self)?);
        }
        Ok(())
    }

    #[inline]
    pub(crate) fn take_rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }

    #[inline]
    pub(crate) fn skip(&mut self, count: usize) -> Result<(), Misfit> {
        let Some(rest) = self.rest.get(count..) else {
            return Err(Misfit::Short {
                needed: self.consumed() + count as u64,
            });
        };
        self.rest = rest;
        Ok(())
    }

    fn end(&self) -> Result<(), Misfit> {
        if self.rest.is_empty() {
            return Ok(());
        }
        Err(Misfit::Long {
            needed: self.consumed(),
        })
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N], Misfit> {
        let Some((array, rest)) = self.rest.split_first_chunk() else {
            return Err(Misfit::Short {
                needed: self.consumed() + N as u64,
            });
        };
        self.rest = rest;
        Ok(*array)
    }

    pub(crate) fn consumed(&self) -> u64 {
        (self.length - self.rest.len()) as u64
    }
}
