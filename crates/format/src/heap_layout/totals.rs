//! The number of objects in a heap dump, and their size.

use std::io::{Read, Seek};

use super::{ClassIndex, DumpedClasses, ObjectLayout};
use crate::heap::HeapRecord;
use crate::id_size::IdSize;
use crate::reader::{HeapItem, Item, ReadError, Reader};
use crate::record::RecordKind;
use crate::record::{BasicType, Record, StringRecord};
use crate::record::{ObjectId, StringId};

/// The totals of a heap dump.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeapTotals {
    /// Instances and arrays; classes are not counted.
    pub objects: u64,
    /// Their size in bytes: the sum of the `sz` values that the text format prints.
    pub bytes: u64,
}

/// Returns the size in bytes of an instance in the heap, as far as the binary format reveals it: the VM may leave gaps
/// between fields. `content` is the size of its fields in a file with ids of `id_size`.
#[inline]
pub(crate) fn instance_size(
    layout: &ObjectLayout,
    content: u64,
    references: u64,
    id_size: IdSize,
) -> u64 {
    let others = content.saturating_sub(references.saturating_mul(id_size.bytes()));
    layout.instance(references, others)
}

/// As [`instance_size`], for an array of `length` elements.
#[inline]
pub(crate) fn array_size(layout: &ObjectLayout, element: BasicType, length: u64) -> u64 {
    let element = match element {
        BasicType::Object => layout.reference.into(),
        primitive => primitive.size(IdSize::Eight.width()) as u64,
    };
    layout.array(length, element)
}

/// Counts a heap dump's objects while its records are read. For exact numbers, classes must come before their
/// instances.
#[derive(Debug)]
pub struct HeapCounter {
    id_size: IdSize,
    layout: ObjectLayout,
    classes: DumpedClasses,
    totals: HeapTotals,
}

impl HeapCounter {
    /// Creates a counter for one dump in a file with ids of `id_size`, from a VM whose objects have this layout.
    #[must_use]
    pub fn new(id_size: IdSize, layout: ObjectLayout) -> HeapCounter {
        HeapCounter {
            id_size,
            layout,
            classes: DumpedClasses::default(),
            totals: HeapTotals::default(),
        }
    }

    /// Sets the layout, before the first object is counted.
    pub fn set_layout(&mut self, layout: ObjectLayout) {
        self.layout = layout;
    }

    /// Counts a record.
    pub fn record(&mut self, record: &HeapRecord<'_>) {
        self.count(record, None);
    }

    /// Returns the totals so far.
    #[must_use]
    pub fn totals(&self) -> HeapTotals {
        self.totals
    }

    /// Counts a record, or the header of one whose content is elsewhere.
    #[inline]
    pub fn item(&mut self, item: &HeapItem<'_>) {
        match *item {
            HeapItem::Record(ref record) => self.count(record, None),
            HeapItem::Head { ref record, length } => self.count(record, Some(length)),
            HeapItem::Piece { .. } => {}
        }
    }

    /// Subtracts an object that was counted, given its record or its header.
    pub fn remove(&mut self, item: &HeapItem<'_>) {
        let bytes = match *item {
            HeapItem::Record(ref record) => self.size(record, None),
            HeapItem::Head { ref record, length } => self.size(record, Some(length)),
            HeapItem::Piece { .. } => None,
        };
        if let Some(bytes) = bytes {
            self.totals.objects = self.totals.objects.saturating_sub(1);
            self.totals.bytes = self.totals.bytes.saturating_sub(bytes);
        }
    }

    #[inline]
    fn count(&mut self, record: &HeapRecord<'_>, length: Option<u64>) {
        if let HeapRecord::Class(class) = record {
            self.classes.add(0, class, self.id_size);
        } else if let Some(bytes) = self.size(record, length) {
            self.totals.objects += 1;
            self.totals.bytes = self.totals.bytes.saturating_add(bytes);
        }
    }

    /// Returns the size of an object in bytes; `None` if the record is not an object.
    #[inline]
    fn size(&mut self, record: &HeapRecord<'_>, length: Option<u64>) -> Option<u64> {
        let content = |bytes: &[u8]| length.unwrap_or(bytes.len() as u64);
        let (id_size, layout) = (self.id_size, self.layout);
        Some(match *record {
            HeapRecord::Root { .. } | HeapRecord::HeapInfo { .. } | HeapRecord::Class(_) => {
                return None;
            }
            HeapRecord::Instance { class, fields, .. } => {
                let content = content(fields);
                let class = class_of(&mut self.classes, class, content);
                let references = class.map_or(0, |class| self.classes.references(class));
                instance_size(&layout, content, references, id_size)
            }
            HeapRecord::ObjectArray { elements, .. } => array_size(
                &layout,
                BasicType::Object,
                content(elements) / id_size.bytes(),
            ),
            HeapRecord::PrimitiveArray {
                element, elements, ..
            } => array_size(&layout, element, content(elements) / element.size(8) as u64),
            HeapRecord::PrimitiveArrayWithoutData {
                element, length, ..
            } => array_size(&layout, element, length.into()),
        })
    }
}

/// Returns the class of an instance with `content` bytes of fields, if it is known by now and agrees with that.
#[inline]
pub(crate) fn class_of(
    classes: &mut DumpedClasses,
    class: ObjectId,
    content: u64,
) -> Option<ClassIndex> {
    let index = classes.find(class)?;
    (classes.size(index)? == content).then_some(index)
}

impl<R: Read + Seek> Reader<R> {
    /// Counts the heap dump whose first record [`Reader::read`] has found at `offset`, and goes back to directly after
    /// that record's header. Sizes are those of `layout`. Unreadable parts are not counted: they are an error when they
    /// are read again.
    ///
    /// # Errors
    /// [`ReadError::Io`], if the source cannot be read again.
    pub fn count_heap_dump(
        &mut self,
        offset: u64,
        layout: ObjectLayout,
    ) -> Result<HeapTotals, ReadError> {
        let mut counter = HeapCounter::new(self.header().id_size, layout);
        self.seek(offset)?;
        while let Ok(Some(entry)) = self.read() {
            let kind = match entry.item {
                Item::HeapDumpEnd => break,
                Item::Record(Record::String(StringRecord {
                    id: StringId::BROKE_OFF,
                    ..
                })) => break,
                Item::HeapDump { .. } => entry.item.kind(),
                Item::Record(_) => continue,
            };
            while let Ok(Some(entry)) = self.read_heap() {
                counter.item(&entry.item);
            }
            if kind == RecordKind::HeapDump {
                break;
            }
        }
        self.seek(offset)?;
        self.read()?;
        Ok(counter.totals())
    }
}
