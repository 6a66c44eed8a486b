//! The records of a heap dump, from bytes: their boundaries and their content.

use crate::bytes::{in_memory, read_u32_be};
use crate::fields::{Fields, Misfit};
use crate::heap::{ClassDump, HeapRecord, Root, Value};
use crate::id_size::IdSize;
use crate::kind::HeapKind;
use crate::record::BasicType;
use crate::record::{ObjectId, StringId, ThreadSerial, TraceSerial};

/// The reason bytes are not a record of a heap dump. Offsets count from the start of the given bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeapError {
    /// The bytes end inside the record: with more of them it may be complete.
    #[error("byte {offset}: the bytes end inside a record that takes {needed} or more")]
    Incomplete {
        /// The offset of the record.
        offset: usize,
        /// The size of the record in bytes, including its tag, as far as it is known. For anything except a CLASS DUMP
        /// it is exact as soon as everything before the content is available.
        needed: u64,
    },
    /// A tag that the format does not have. The start of the next record is unknown.
    #[error("byte {offset}: unknown tag 0x{tag:02X} in a heap dump")]
    UnknownTag {
        /// The offset of the record.
        offset: usize,
        /// Its tag.
        tag: u8,
    },
    /// A field has a value without a meaning.
    #[error("byte {offset}: {kind} has the {field} {value}, which means nothing")]
    Value {
        /// The offset of the record.
        offset: usize,
        /// Its kind.
        kind: HeapKind,
        /// The field.
        field: &'static str,
        /// The value.
        value: i64,
    },
}

impl HeapError {
    fn of(misfit: Misfit, offset: usize, kind: HeapKind) -> HeapError {
        match misfit {
            Misfit::Short { needed } | Misfit::Long { needed } => {
                HeapError::Incomplete { offset, needed }
            }
            Misfit::Value { field, value } => HeapError::Value {
                offset,
                kind,
                field,
                value,
            },
        }
    }
}

/// Walks the records of a heap dump, or of a piece of one that starts with a record.
///
/// After an error every further call returns the same error: [`HeapRecords::offset`] stays at the start of that record.
/// On [`HeapError::Incomplete`] the caller continues with a slice that starts there and is longer.
#[derive(Clone, Debug)]
pub struct HeapRecords<'a> {
    content: &'a [u8],
    offset: usize,
    id_size: IdSize,
}

impl<'a> HeapRecords<'a> {
    /// Iterates over the records of `content`, the body of a HEAP DUMP or HEAP DUMP SEGMENT, in a file with ids of
    /// `id_size`.
    #[must_use]
    pub fn new(content: &'a [u8], id_size: IdSize) -> HeapRecords<'a> {
        HeapRecords {
            content,
            offset: 0,
            id_size,
        }
    }

    /// Returns the offset of the next record in the content.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.offset
    }
}

impl<'a> Iterator for HeapRecords<'a> {
    type Item = Result<RawHeapRecord<'a>, HeapError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let rest = &self.content[self.offset..];
        if rest.is_empty() {
            return None;
        }
        let extent = match Extent::of(rest, self.id_size) {
            Ok(extent) => extent,
            Err(error) => return Some(Err(error.moved(self.offset))),
        };
        let Some(bytes) = rest.get(..in_memory(extent.length)) else {
            return Some(Err(HeapError::Incomplete {
                offset: self.offset,
                needed: extent.length,
            }));
        };
        self.offset += bytes.len();
        Some(Ok(RawHeapRecord {
            kind: extent.kind,
            id_size: self.id_size,
            head: extent.head,
            bytes,
        }))
    }
}

/// The extent of a record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    pub(crate) kind: HeapKind,
    /// The number of bytes before the content of an instance or an array, including the tag; all bytes for other
    /// records.
    pub(crate) head: usize,
    /// The size of the whole record in bytes, including the tag.
    pub(crate) length: u64,
}

impl Extent {
    /// Returns the extent of the record that `bytes` start with; for an instance or an array, its header suffices.
    // Inlined, so that it becomes a few instructions if the size of ids is a constant: it is called for every record.
    #[inline(always)]
    pub(crate) fn of(bytes: &[u8], id_size: IdSize) -> Result<Extent, HeapError> {
        let Some(&tag) = bytes.first() else {
            return Err(HeapError::Incomplete {
                offset: 0,
                needed: 1,
            });
        };
        let Some(kind) = kind_of(tag) else {
            return Err(HeapError::UnknownTag { offset: 0, tag });
        };
        let id = id_size.width();
        let (head, content) = match kind {
            HeapKind::Instance => {
                let head = 1 + id + 4 + id + 4;
                (head, u64::from(u32_in_head(bytes, head, head - 4)?))
            }
            HeapKind::ObjectArray => {
                let head = 1 + id + 4 + 4 + id;
                let count = u32_in_head(bytes, head, 1 + id + 4)?;
                (head, u64::from(count) * id as u64)
            }
            HeapKind::PrimitiveArray => {
                let head = 1 + id + 4 + 4 + 1;
                let count = u32_in_head(bytes, head, 1 + id + 4)?;
                let element = element(bytes[head - 1], kind)?;
                (head, u64::from(count) * element.size(id) as u64)
            }
            HeapKind::PrimitiveArrayWithoutData => {
                let head = 1 + id + 4 + 4 + 1;
                u32_in_head(bytes, head, 1 + id + 4)?;
                element(bytes[head - 1], kind)?;
                (head, 0)
            }
            HeapKind::HeapInfo => (1 + 4 + id, 0),
            HeapKind::Class => (class_length(bytes, id_size)?, 0),
            root => (1 + id + after_root(root, id), 0),
        };
        Ok(Extent {
            kind,
            head,
            length: head as u64 + content,
        })
    }
}

impl HeapError {
    /// Returns the error for a record that starts `by` bytes later.
    fn moved(mut self, by: usize) -> HeapError {
        match &mut self {
            HeapError::Incomplete { offset, .. }
            | HeapError::UnknownTag { offset, .. }
            | HeapError::Value { offset, .. } => *offset += by,
        }
        self
    }
}

/// Reads the number at `at` of a header; the `head` bytes must be available.
#[inline]
fn u32_in_head(bytes: &[u8], head: usize, at: usize) -> Result<u32, HeapError> {
    let Some(bytes) = bytes.get(..head) else {
        return Err(HeapError::Incomplete {
            offset: 0,
            needed: head as u64,
        });
    };
    Ok(read_u32_be(bytes, at))
}

/// As [`HeapKind::from_tag`], but fastest for the most frequent kinds.
#[inline]
fn kind_of(tag: u8) -> Option<HeapKind> {
    const INSTANCE: u8 = HeapKind::Instance as u8;
    const OBJECT_ARRAY: u8 = HeapKind::ObjectArray as u8;
    const PRIMITIVE_ARRAY: u8 = HeapKind::PrimitiveArray as u8;
    match tag {
        INSTANCE => Some(HeapKind::Instance),
        OBJECT_ARRAY => Some(HeapKind::ObjectArray),
        PRIMITIVE_ARRAY => Some(HeapKind::PrimitiveArray),
        _ => other_kind_of(tag),
    }
}

#[inline(never)]
fn other_kind_of(tag: u8) -> Option<HeapKind> {
    HeapKind::from_tag(tag)
}

/// Returns the number of bytes of a root after the id of its object. A separate function, so that the one for the
/// extent of objects, which nearly all records are, is short enough to be inlined.
#[inline(never)]
fn after_root(root: HeapKind, id: usize) -> usize {
    match root {
        HeapKind::RootJniGlobal => id,
        HeapKind::RootJniLocal
        | HeapKind::RootJavaFrame
        | HeapKind::RootThread
        | HeapKind::RootJniMonitor => 4 + 4,
        HeapKind::RootNativeStack | HeapKind::RootThreadBlock => 4,
        HeapKind::RootUnknown
        | HeapKind::RootStickyClass
        | HeapKind::RootMonitorUsed
        | HeapKind::RootInternedString
        | HeapKind::RootFinalizing
        | HeapKind::RootDebugger
        | HeapKind::RootReferenceCleanup
        | HeapKind::RootVmInternal
        | HeapKind::RootUnreachable => 0,
        // Not roots.
        HeapKind::Class
        | HeapKind::Instance
        | HeapKind::ObjectArray
        | HeapKind::PrimitiveArray
        | HeapKind::PrimitiveArrayWithoutData
        | HeapKind::HeapInfo => 0,
    }
}

#[inline]
fn element(byte: u8, kind: HeapKind) -> Result<BasicType, HeapError> {
    primitive(byte).map_err(|misfit| HeapError::of(misfit, 0, kind))
}

#[inline(never)]
fn class_length(bytes: &[u8], id_size: IdSize) -> Result<usize, HeapError> {
    let id = id_size.width();
    let measure = || {
        let mut fields = Fields::new(bytes, id_size);
        // Tag, class, trace, the six objects, instance size.
        fields.skip(1 + id + 4 + 6 * id + 4)?;
        for _ in 0..fields.u16()? {
            fields.skip(2)?;
            skip_value(&mut fields, id)?;
        }
        for _ in 0..fields.u16()? {
            fields.skip(id)?;
            skip_value(&mut fields, id)?;
        }
        let count = fields.u16()?;
        fields.skip(usize::from(count) * (id + 1))?;
        Ok(in_memory(fields.consumed()))
    };
    measure().map_err(|misfit| HeapError::of(misfit, 0, HeapKind::Class))
}

fn skip_value(fields: &mut Fields<'_>, id: usize) -> Result<(), Misfit> {
    let kind = basic_type(fields.u8()?)?;
    fields.skip(kind.size(id))
}

/// A record of a heap dump whose content is not decoded yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawHeapRecord<'a> {
    kind: HeapKind,
    id_size: IdSize,
    head: usize,
    bytes: &'a [u8],
}

impl<'a> RawHeapRecord<'a> {
    /// Returns the kind, according to its tag.
    #[inline]
    #[must_use]
    pub fn kind(&self) -> HeapKind {
        self.kind
    }

    /// Returns the whole record, including its tag, as in the file.
    #[inline]
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Returns the field values of an instance or the elements of an array; empty for other records.
    #[inline]
    #[must_use]
    pub fn content(&self) -> &'a [u8] {
        &self.bytes[self.head..]
    }

    /// Decodes the record.
    ///
    /// # Errors
    /// [`HeapError::Value`], with the offset 0.
    #[inline]
    pub fn decode(&self) -> Result<HeapRecord<'a>, HeapError> {
        decode(self.kind, self.bytes, self.id_size)
            .map_err(|misfit| HeapError::of(misfit, 0, self.kind))
    }
}

/// Decodes a record that is as long as its extent. The content of an instance or an array may be missing or truncated:
/// the record then has the part that is available.
#[inline]
pub(crate) fn decode<'a>(
    kind: HeapKind,
    bytes: &'a [u8],
    id_size: IdSize,
) -> Result<HeapRecord<'a>, Misfit> {
    let mut fields = Fields::new(bytes, id_size);
    fields.skip(1)?;
    let record = match kind {
        HeapKind::Instance => {
            let object = ObjectId(fields.id()?);
            let trace = TraceSerial(fields.u32()?);
            let class = ObjectId(fields.id()?);
            fields.skip(4)?;
            HeapRecord::Instance {
                object,
                trace,
                class,
                fields: fields.take_rest(),
            }
        }
        HeapKind::ObjectArray => {
            let object = ObjectId(fields.id()?);
            let trace = TraceSerial(fields.u32()?);
            fields.skip(4)?;
            HeapRecord::ObjectArray {
                object,
                trace,
                class: ObjectId(fields.id()?),
                elements: fields.take_rest(),
            }
        }
        HeapKind::PrimitiveArray => {
            let object = ObjectId(fields.id()?);
            let trace = TraceSerial(fields.u32()?);
            fields.skip(4)?;
            HeapRecord::PrimitiveArray {
                object,
                trace,
                element: primitive(fields.u8()?)?,
                elements: fields.take_rest(),
            }
        }
        HeapKind::PrimitiveArrayWithoutData => {
            let object = ObjectId(fields.id()?);
            let trace = TraceSerial(fields.u32()?);
            let length = fields.u32()?;
            HeapRecord::PrimitiveArrayWithoutData {
                object,
                trace,
                element: primitive(fields.u8()?)?,
                length,
            }
        }
        HeapKind::HeapInfo => HeapRecord::HeapInfo {
            heap: fields.u32()?,
            name: StringId(fields.id()?),
        },
        HeapKind::Class => HeapRecord::Class(class(&mut fields)?),
        _ => HeapRecord::Root {
            object: ObjectId(fields.id()?),
            root: root(kind, &mut fields)?,
        },
    };
    Ok(record)
}

fn root(kind: HeapKind, fields: &mut Fields<'_>) -> Result<Root, Misfit> {
    Ok(match kind {
        HeapKind::RootJniGlobal => Root::JniGlobal {
            reference: fields.id()?,
        },
        HeapKind::RootJniLocal => Root::JniLocal {
            thread: ThreadSerial(fields.u32()?),
            frame: fields.u32()?.cast_signed(),
        },
        HeapKind::RootJavaFrame => Root::JavaFrame {
            thread: ThreadSerial(fields.u32()?),
            frame: fields.u32()?.cast_signed(),
        },
        HeapKind::RootNativeStack => Root::NativeStack {
            thread: ThreadSerial(fields.u32()?),
        },
        HeapKind::RootStickyClass => Root::StickyClass,
        HeapKind::RootThreadBlock => Root::ThreadBlock {
            thread: ThreadSerial(fields.u32()?),
        },
        HeapKind::RootMonitorUsed => Root::MonitorUsed,
        HeapKind::RootThread => Root::Thread {
            thread: ThreadSerial(fields.u32()?),
            trace: TraceSerial(fields.u32()?),
        },
        HeapKind::RootInternedString => Root::InternedString,
        HeapKind::RootFinalizing => Root::Finalizing,
        HeapKind::RootDebugger => Root::Debugger,
        HeapKind::RootReferenceCleanup => Root::ReferenceCleanup,
        HeapKind::RootVmInternal => Root::VmInternal,
        HeapKind::RootJniMonitor => Root::JniMonitor {
            thread: ThreadSerial(fields.u32()?),
            frame: fields.u32()?.cast_signed(),
        },
        HeapKind::RootUnreachable => Root::Unreachable,
        HeapKind::RootUnknown
        | HeapKind::Class
        | HeapKind::Instance
        | HeapKind::ObjectArray
        | HeapKind::PrimitiveArray
        | HeapKind::PrimitiveArrayWithoutData
        | HeapKind::HeapInfo => Root::Unknown,
    })
}

fn class(fields: &mut Fields<'_>) -> Result<ClassDump<'static>, Misfit> {
    let class = ObjectId(fields.id()?);
    let trace = TraceSerial(fields.u32()?);
    let super_class = ObjectId(fields.id()?);
    let loader = ObjectId(fields.id()?);
    let signers = ObjectId(fields.id()?);
    let protection_domain = ObjectId(fields.id()?);
    // Reserved.
    fields.id()?;
    fields.id()?;
    let instance_size = fields.u32()?;
    // The bytes of each entry are available, because the record has been measured.
    let constants = each(fields, |fields| Ok((fields.u16()?, value(fields)?)))?;
    let statics = each(fields, |fields| {
        Ok((StringId(fields.id()?), value(fields)?))
    })?;
    let instance_fields = each(fields, |fields| {
        Ok((StringId(fields.id()?), basic_type(fields.u8()?)?))
    })?;
    Ok(ClassDump {
        class,
        trace,
        super_class,
        loader,
        signers,
        protection_domain,
        instance_size,
        constants: constants.into(),
        statics: statics.into(),
        fields: instance_fields.into(),
    })
}

fn each<'a, T>(
    fields: &mut Fields<'a>,
    read: impl Fn(&mut Fields<'a>) -> Result<T, Misfit>,
) -> Result<Vec<T>, Misfit> {
    (0..fields.u16()?).map(|_| read(fields)).collect()
}

fn value(fields: &mut Fields<'_>) -> Result<Value, Misfit> {
    Ok(match basic_type(fields.u8()?)? {
        BasicType::Object => Value::Object(ObjectId(fields.id()?)),
        BasicType::Boolean => Value::Boolean(fields.u8()? != 0),
        BasicType::Char => Value::Char(fields.u16()?),
        BasicType::Float => Value::Float(f32::from_bits(fields.u32()?)),
        BasicType::Double => Value::Double(f64::from_bits(fields.u64()?)),
        BasicType::Byte => Value::Byte(fields.u8()?.cast_signed()),
        BasicType::Short => Value::Short(fields.u16()?.cast_signed()),
        BasicType::Int => Value::Int(fields.u32()?.cast_signed()),
        BasicType::Long => Value::Long(fields.u64()?.cast_signed()),
    })
}

fn basic_type(byte: u8) -> Result<BasicType, Misfit> {
    BasicType::from_byte(byte).ok_or(Misfit::Value {
        field: "type",
        value: byte.into(),
    })
}

fn primitive(byte: u8) -> Result<BasicType, Misfit> {
    match basic_type(byte)? {
        BasicType::Object => Err(Misfit::Value {
            field: "element type",
            value: byte.into(),
        }),
        element => Ok(element),
    }
}
