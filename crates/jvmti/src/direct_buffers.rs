//! The direct buffers of `java.nio`: which of them own memory, and how much.

use super::env::Env;
use super::fields::{ClassFields, FieldValue, Primitive};
use super::jni::{Jni, LocalRef, ObjectRef, jni};

/// The number of bytes of a buffer.
const CAPACITY: &str = "capacity";
/// What frees the memory when the buffer dies; a slice or a duplicate has none.
const CLEANER: &str = "cleaner";
/// The file that is mapped.
const FILE: &str = "fd";

/// The classes of direct buffers.
pub struct BufferClasses<'a> {
    buffer: LocalRef<'a>,
    direct: LocalRef<'a>,
    mapped: LocalRef<'a>,
}

/// The fields of direct buffers.
pub struct BufferFields<'a> {
    capacity: PlacedField<'a>,
    cleaner: PlacedField<'a>,
    file: PlacedField<'a>,
}

struct PlacedField<'a> {
    fields: ClassFields<'a>,
    place: usize,
}

impl<'a> BufferClasses<'a> {
    /// Finds the classes; `None` if an exception is pending, or if this JDK has others.
    pub fn find(jni: Jni<'a>) -> Option<Self> {
        // SAFETY: may be called with an exception pending.
        if unsafe { jni!(jni, ExceptionCheck) } {
            return None;
        }
        Some(Self {
            buffer: jni.find_class(c"java/nio/Buffer")?,
            direct: jni.find_class(c"java/nio/DirectByteBuffer")?,
            mapped: jni.find_class(c"java/nio/MappedByteBuffer")?,
        })
    }

    /// Finds the fields; `None` if this JDK has others.
    pub fn fields(&self, env: Env) -> Option<BufferFields<'_>> {
        Some(BufferFields {
            capacity: PlacedField::find(env, &self.buffer, CAPACITY)?,
            cleaner: PlacedField::find(env, &self.direct, CLEANER)?,
            file: PlacedField::find(env, &self.mapped, FILE)?,
        })
    }
}

impl<'a> PlacedField<'a> {
    fn find(env: Env, class: &'a LocalRef<'_>, name: &str) -> Option<Self> {
        let fields = env.class_fields(class.object()).ok()?;
        let mut all = fields.as_slice().iter();
        let place = all.position(|field| field.name == name && !field.is_static)?;
        Some(Self { fields, place })
    }

    fn value<'b>(&self, jni: Jni<'b>, buffer: &LocalRef<'b>) -> Option<FieldValue<'b>> {
        self.fields.value(jni, self.place, Some(buffer.object()))
    }
}

impl BufferFields<'_> {
    /// Returns the bytes of memory that a buffer owns; `None` if it has been collected, shares the memory of another one, or maps a
    /// file.
    pub fn owned(&self, jni: Jni<'_>, buffer: &ObjectRef) -> Option<u64> {
        let buffer = buffer.upgrade(jni)?;
        let is_set = |field: &PlacedField<'_>| {
            matches!(field.value(jni, &buffer), Some(FieldValue::Object(Some(_))))
        };
        if !is_set(&self.cleaner) || is_set(&self.file) {
            return None;
        }
        match self.capacity.value(jni, &buffer)? {
            FieldValue::Primitive(Primitive::Int | Primitive::Long, bytes) => Some(bytes),
            _ => None,
        }
    }
}
