//! ALLOC SITES.

use std::borrow::Cow;

use super::ids::{BasicType, ClassSerial, TraceSerial};
use super::payload::{Named, Payload, PayloadWriter};
use crate::fields::{Fields, Misfit};

/// A row of ALLOC SITES: u1 type, u4 class and trace, u4 live and allocated bytes and instances. Bytes and instances above 2^32 - 1 are written as 2^32 - 1 in the binary format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllocSite {
    /// The type of the elements if the site allocates arrays, `None` if it allocates plain objects.
    pub array_of: Option<BasicType>,
    /// The class of the objects, 0 if unknown.
    pub class: ClassSerial,
    /// The trace that allocates them.
    pub trace: TraceSerial,
    /// The number of live bytes.
    pub live_bytes: u64,
    /// The number of live objects.
    pub live_instances: u64,
    /// Bytes allocated so far, including those of dead objects.
    pub allocated_bytes: u64,
    /// Objects allocated so far, including dead ones.
    pub allocated_instances: u64,
}

/// `flags` of ALLOC SITES: the rows contain the changes since the last such record.
pub const SITES_INCREMENTAL: u16 = 1;
/// `flags` of ALLOC SITES: the rows are ordered by allocated bytes, otherwise by live bytes.
pub const SITES_BY_ALLOCATION: u16 = 2;
/// `flags` of ALLOC SITES: a garbage collection was forced first.
pub const SITES_FORCED_GC: u16 = 4;

/// The allocation sites: u2 flags, f4 cutoff, u4 live bytes and instances, u8 allocated bytes and instances, u4 number of
/// rows, rows of 25 bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct AllocSitesRecord<'a> {
    /// `SITES_*` bits.
    pub flags: u16,
    /// Rows are omitted if each of their values is a smaller share of its total (0.0 to 1.0); other writers store
    /// arbitrary values here.
    pub cutoff: f32,
    /// The number of live bytes, including those of omitted rows; at most 2^32 - 1 in the binary format.
    pub live_bytes: u64,
    /// The number of live objects; at most 2^32 - 1 in the binary format.
    pub live_instances: u64,
    /// Bytes allocated so far.
    pub allocated_bytes: u64,
    /// Objects allocated so far.
    pub allocated_instances: u64,
    /// Rows, ordered by live bytes or, with [`SITES_BY_ALLOCATION`], by allocated bytes; those below the cutoff may be
    /// omitted.
    pub sites: Cow<'a, [AllocSite]>,
}

impl AllocSite {
    fn decode(row: &mut Fields<'_>) -> Result<AllocSite, Misfit> {
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
}

impl<'a> Payload<'a> for AllocSitesRecord<'a> {
    type Rows = Vec<AllocSite>;
    type Owned = AllocSitesRecord<'static>;

    fn decode(fields: &mut Fields<'a>, rows: &'a mut Vec<AllocSite>) -> Result<Self, Misfit> {
        let flags = fields.u16()?;
        let cutoff = f32::from_bits(fields.u32()?);
        let live_bytes = fields.u32()?.into();
        let live_instances = fields.u32()?.into();
        let allocated_bytes = fields.u64()?;
        let allocated_instances = fields.u64()?;
        fields.rows(25, rows, AllocSite::decode)?;
        Ok(AllocSitesRecord {
            flags,
            cutoff,
            live_bytes,
            live_instances,
            allocated_bytes,
            allocated_instances,
            sites: Cow::Borrowed(rows),
        })
    }

    fn encode(&self, out: &mut PayloadWriter<'_>) {
        out.u16(self.flags);
        out.u32(self.cutoff.to_bits());
        out.u32(PayloadWriter::saturated(self.live_bytes));
        out.u32(PayloadWriter::saturated(self.live_instances));
        out.u64(self.allocated_bytes);
        out.u64(self.allocated_instances);
        let rows = PayloadWriter::fitting(&self.sites, 34, 25);
        out.count(rows);
        for row in rows {
            out.u8(row.array_of.map_or(0, |basic_type| basic_type as u8));
            out.u32(row.class.0);
            out.u32(row.trace.0);
            out.u32(PayloadWriter::saturated(row.live_bytes));
            out.u32(PayloadWriter::saturated(row.live_instances));
            out.u32(PayloadWriter::saturated(row.allocated_bytes));
            out.u32(PayloadWriter::saturated(row.allocated_instances));
        }
    }

    fn each_named<E>(&self, mut visit: impl FnMut(Named) -> Result<(), E>) -> Result<(), E> {
        let mut sites = self.sites.iter();
        sites.try_for_each(|site| {
            if site.class != ClassSerial(0) {
                visit(Named::Class(site.class))?;
            }
            visit(Named::Trace(site.trace))
        })
    }

    fn into_owned(self) -> Self::Owned {
        AllocSitesRecord {
            sites: Cow::Owned(self.sites.into_owned()),
            ..self
        }
    }
}
