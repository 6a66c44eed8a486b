//! The offsets of an instance's fields in its record.

use std::sync::Arc;

use hprof_format::BasicType;

use jvmti::{ClassFields, Primitive};

/// The layout of the instances of a class.
#[derive(Clone, Debug, Default)]
pub(super) struct RecordLayout {
    /// All interfaces of the class and of its superclasses, by index; sorted.
    pub(super) interfaces: Arc<[usize]>,
    /// The number of the first field of `java.lang.Object`, which is the number of fields in those interfaces.
    first: u32,
    /// Fields from `java.lang.Object` down to the class; `None` for static ones.
    slots: Box<[Option<FieldSlot>]>,
    /// The number of bytes of an instance's fields.
    pub(super) size: u32,
}

/// A field of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FieldSlot {
    /// The offset of its value among the instance's values.
    pub(super) offset: u32,
    /// Its type; `None` for a reference.
    pub(super) kind: Option<Primitive>,
}

impl FieldSlot {
    #[expect(clippy::cast_possible_truncation, reason = "a value has 1 to 8 bytes")]
    fn size(kind: Option<Primitive>) -> u32 {
        kind.map_or(8, Primitive::size) as u32
    }
}

impl RecordLayout {
    /// Creates the layout of a class that declares `fields`, `None` for a static one; `above` is the layout of its
    /// superclass, and `interface_fields` the number of fields in all its interfaces. An instance's record begins with
    /// the fields of its class, and ends with those of `java.lang.Object`.
    pub(super) fn new(
        fields: impl Iterator<Item = Option<Option<Primitive>>>,
        above: Option<&Self>,
        interfaces: Arc<[usize]>,
        interface_fields: u32,
    ) -> Self {
        let mut size = 0;
        let own: Vec<Option<FieldSlot>> = fields
            .map(|field| {
                field.map(|kind| {
                    let offset = size;
                    size += FieldSlot::size(kind);
                    FieldSlot { offset, kind }
                })
            })
            .collect();
        let inherited = above.map(|above| &*above.slots).unwrap_or_default();
        let below = |slot: &Option<FieldSlot>| {
            slot.map(|slot| FieldSlot {
                offset: slot.offset + size,
                ..slot
            })
        };
        Self {
            interfaces,
            first: interface_fields,
            slots: inherited.iter().map(below).chain(own).collect(),
            size: size + above.map_or(0, |above| above.size),
        }
    }

    /// Returns the field with that number; `None` if instances have no such field.
    pub(super) fn slot(&self, number: u32) -> Option<FieldSlot> {
        let index = number.checked_sub(self.first)?;
        *self.slots.get(index as usize)?
    }
}

/// Returns the fields of a class as [`RecordLayout::new`] takes them.
pub(super) fn declared(
    fields: &ClassFields<'_>,
) -> impl Iterator<Item = Option<Option<Primitive>>> {
    let fields = fields.as_slice().iter();
    fields.map(|field| (!field.is_static).then_some(field.kind))
}

/// Converts a type to the format's; `None` is a reference.
pub(super) fn basic_type(kind: Option<Primitive>) -> BasicType {
    match kind {
        None => BasicType::Object,
        Some(Primitive::Boolean) => BasicType::Boolean,
        Some(Primitive::Byte) => BasicType::Byte,
        Some(Primitive::Char) => BasicType::Char,
        Some(Primitive::Short) => BasicType::Short,
        Some(Primitive::Int) => BasicType::Int,
        Some(Primitive::Long) => BasicType::Long,
        Some(Primitive::Float) => BasicType::Float,
        Some(Primitive::Double) => BasicType::Double,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REFERENCE: Option<Option<Primitive>> = Some(None);
    const STATIC: Option<Option<Primitive>> = None;

    fn field(kind: Primitive) -> Option<Option<Primitive>> {
        Some(Some(kind))
    }

    #[test]
    fn fields_count_from_object_down_and_stand_from_the_class_up() {
        let no_interfaces: Arc<[usize]> = Arc::default();
        let object = RecordLayout::new([].into_iter(), None, no_interfaces.clone(), 0);
        let parent = [field(Primitive::Int), STATIC, REFERENCE];
        let parent = RecordLayout::new(parent.into_iter(), Some(&object), no_interfaces.clone(), 0);
        let child = [field(Primitive::Byte), field(Primitive::Double)];
        // Its interfaces have two fields.
        let child = RecordLayout::new(child.into_iter(), Some(&parent), no_interfaces, 2);
        let offset = |layout: &RecordLayout, number| layout.slot(number).map(|slot| slot.offset);
        assert_eq!((parent.size, child.size), (12, 21));
        assert_eq!(
            [0, 1, 2, 3].map(|n| offset(&parent, n)),
            [Some(0), None, Some(4), None]
        );
        assert_eq!(
            [0, 1, 2, 3, 4, 5, 6, 7].map(|n| offset(&child, n)),
            [None, None, Some(9), None, Some(13), Some(0), Some(1), None]
        );
        assert_eq!(
            child.slot(6).and_then(|slot| slot.kind),
            Some(Primitive::Double)
        );
        assert_eq!(child.slot(u32::MAX), None);
    }
}
