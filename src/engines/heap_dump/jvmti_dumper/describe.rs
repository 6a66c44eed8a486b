//! The records of classes.

use std::borrow::Cow;

use hprof_format::{ClassDump, HeapRecord, ObjectId, StringId, Value};

use super::chunk_writer::{ChunkWriter, value, write_at, write_bits};
use super::class_prewalk::ClassReferences;
use super::classes::{Candidate, ClassKind, DumpClasses};
use super::held::HeldObjects;
use super::layout::basic_type;
use super::numbers::{Numbers, Tag};
use crate::engines::heap_dump::DumpError;
use jvmti::{ClassFields, Env, FieldValue, Jni, Object, Tags};

/// The most fields of a class, which the format counts with two bytes.
const MOST_FIELDS: usize = u16::MAX as usize;

/// Describes classes: reads their static fields, and keeps the objects that these refer to alive until the walk.
pub(super) struct Describer<'d, 'a> {
    pub(super) env: Env,
    pub(super) jni: Jni<'a>,
    pub(super) tags: &'d Tags,
    pub(super) numbers: &'d mut Numbers,
    pub(super) classes: &'d DumpClasses,
    /// `None` once the walk is over: objects not met by then are omitted.
    pub(super) held: Option<&'d mut HeldObjects>,
    /// The fields of `java.lang.Class` that a class's record has no place for, with names that no static field has.
    pub(super) hidden: Vec<(usize, StringId)>,
    pub(super) primitive_fields: bool,
    /// `true` to write constants as the constant pool, and not as static fields.
    pub(super) constant_entries: bool,
    /// `java.lang.Class` objects that were referred to but belong to no known class.
    pub(super) unknown_classes: Vec<Tag>,
}

impl<'a> Describer<'_, 'a> {
    /// Writes the record of one class. `of_class` are the fields of `java.lang.Class`.
    pub(super) fn class(
        &mut self,
        chunks: &mut ChunkWriter<'_>,
        candidate: &Candidate<'_>,
        place: usize,
        fields: Option<&ClassFields<'_>>,
        of_class: Option<&ClassFields<'_>>,
        found: &ClassReferences,
    ) -> Result<(), DumpError> {
        let mirror = candidate.class.object();
        let class = self.classes.get(place);
        let loader = self.env.class_loader(self.jni, mirror)?;
        let loader = match &loader {
            Some(loader) => self.tag(loader.object())?,
            None => Tag::NONE,
        };
        let loader = self.id_of(loader);
        let super_class = class.super_class.map_or(ObjectId(0), |place| {
            self.numbers.object(self.classes.get(place).tag)
        });
        let mut statics = Vec::new();
        let mut instance_fields = Vec::new();
        for (index, field) in fields
            .iter()
            .flat_map(|fields| fields.as_slice().iter().enumerate())
        {
            let name = chunks.output.string(&field.name);
            if !field.is_static {
                instance_fields.push((name, basic_type(field.kind)));
            } else if let Some(held) = fields.and_then(|fields| fields.value(self.jni, index, None))
            {
                statics.push((name, self.value(held)?));
            }
        }
        if statics.len() + self.hidden.len() <= MOST_FIELDS {
            self.hidden_fields(of_class, mirror, &mut statics)?;
        }
        if !self.constant_entries {
            let room = MOST_FIELDS - statics.len().min(MOST_FIELDS);
            for &(index, tag) in found.constants.iter().take(room) {
                let name = format!("<constant pool entry {index}>");
                let value = Value::Object(self.numbers.object(tag));
                statics.push((chunks.output.string(&name), value));
            }
        }
        let numbers = &*self.numbers;
        let id = |tag: Option<Tag>| tag.map_or(ObjectId(0), |tag| numbers.object(tag));
        let constant = |&(index, tag): &(u16, Tag)| (index, Value::Object(numbers.object(tag)));
        let constants = match self.constant_entries {
            true => found.constants.iter().map(constant).collect(),
            false => Cow::default(),
        };
        chunks.put(&HeapRecord::Class(ClassDump {
            class: numbers.object(candidate.tag),
            trace: numbers.trace(candidate.tag),
            super_class,
            loader,
            signers: id(found.signers),
            protection_domain: id(found.protection_domain),
            instance_size: class.kind.size(),
            constants,
            statics: Cow::Owned(statics),
            fields: Cow::Owned(instance_fields),
        }));
        Ok(())
    }

    /// Writes the record of a primitive type's class, which is written as an instance and has no class record.
    pub(super) fn primitive_type(
        &mut self,
        chunks: &mut ChunkWriter<'_>,
        mirror: Object<'_>,
        of_class: &ClassFields<'_>,
    ) -> Result<(), DumpError> {
        let Some(place) = self.classes.class else {
            return Ok(());
        };
        let ClassKind::Instances(layout) = &self.classes.get(place).kind else {
            return Ok(());
        };
        let mut content = vec![0; layout.size as usize];
        self.own_fields(&mut content, 0, of_class, mirror)?;
        let tag = Tag(self.tags.get(mirror)?);
        chunks.put(&HeapRecord::Instance {
            object: self.numbers.object(tag),
            trace: self.numbers.trace(tag),
            class: self.numbers.object(self.classes.get(place).tag),
            fields: &content,
        });
        Ok(())
    }

    /// Writes the record of an instance, before the walk; `fields` are those of all classes. Returns `false` if its class is
    /// not described.
    pub(super) fn instance(
        &mut self,
        chunks: &mut ChunkWriter<'_>,
        object: Object<'_>,
        fields: &[Option<ClassFields<'_>>],
    ) -> Result<bool, DumpError> {
        let Some(class) = self.jni.class_of(object) else {
            return Ok(false);
        };
        let class = Tag(self.tags.get(class.object())?);
        let Some(place) = self.classes.place(self.numbers, class) else {
            return Ok(false);
        };
        let ClassKind::Instances(layout) = &self.classes.get(place).kind else {
            return Ok(false);
        };
        let mut content = vec![0; layout.size as usize];
        let (mut offset, mut declaring) = (0, Some(place));
        while let Some(place) = declaring {
            let Some(fields) = &fields[place] else {
                return Ok(false);
            };
            offset = self.own_fields(&mut content, offset, fields, object)?;
            declaring = self.classes.get(place).super_class;
        }
        let tag = Tag(self.tags.get(object)?);
        chunks.put(&HeapRecord::Instance {
            object: self.numbers.object(tag),
            trace: self.numbers.trace(tag),
            class: self.numbers.object(class),
            fields: &content,
        });
        Ok(true)
    }

    /// Writes the values of the fields that one class declares, from an offset on. Returns the offset of the next class's.
    fn own_fields(
        &mut self,
        content: &mut [u8],
        mut offset: u32,
        fields: &ClassFields<'_>,
        object: Object<'_>,
    ) -> Result<u32, DumpError> {
        for (index, field) in fields.as_slice().iter().enumerate() {
            if field.is_static {
                continue;
            }
            match fields.value(self.jni, index, Some(object)) {
                Some(FieldValue::Object(Some(value))) => {
                    let id = self.hold(value.object())?;
                    write_at(content, offset, &id.0.to_be_bytes());
                }
                Some(FieldValue::Primitive(kind, bits)) if self.primitive_fields => {
                    write_bits(content, offset, kind, bits);
                }
                _ => {}
            }
            #[expect(clippy::cast_possible_truncation, reason = "a value has 1 to 8 bytes")]
            let size = basic_type(field.kind).size(8) as u32;
            offset += size;
        }
        Ok(offset)
    }

    /// Adds the references that only the fields of the `java.lang.Class` object hold. The walk does not follow them,
    /// and a class's record has no place for them except among the static fields.
    fn hidden_fields(
        &mut self,
        of_class: Option<&ClassFields<'_>>,
        mirror: Object<'_>,
        statics: &mut Vec<(StringId, Value)>,
    ) -> Result<(), DumpError> {
        let Some(of_class) = of_class else {
            return Ok(());
        };
        for index in 0..self.hidden.len() {
            let (field, name) = self.hidden[index];
            if let Some(FieldValue::Object(Some(object))) =
                of_class.value(self.jni, field, Some(mirror))
            {
                let id = self.hold(object.object())?;
                statics.push((name, Value::Object(id)));
            }
        }
        Ok(())
    }

    fn value(&mut self, held: FieldValue<'a>) -> Result<Value, DumpError> {
        Ok(match held {
            FieldValue::Object(None) => Value::Object(ObjectId(0)),
            FieldValue::Object(Some(object)) => Value::Object(self.hold(object.object())?),
            FieldValue::Primitive(kind, bits) if self.primitive_fields => value(kind, bits),
            FieldValue::Primitive(kind, _) => value(kind, 0),
        })
    }

    /// Returns the id of an object, and makes sure that the walk meets it, even if the reference to it changes
    /// meanwhile.
    fn hold(&mut self, object: Object<'_>) -> Result<ObjectId, DumpError> {
        let tag = self.tag(object)?;
        if let Some(held) = &mut self.held {
            held.hold(self.jni, object, tag)?;
        }
        Ok(self.id_of(tag))
    }

    fn id_of(&self, tag: Tag) -> ObjectId {
        match tag {
            Tag::NONE => ObjectId(0),
            tag => self.numbers.object(tag),
        }
    }

    fn tag(&mut self, object: Object<'_>) -> Result<Tag, DumpError> {
        let tag = Tag(self.tags.get(object)?);
        if tag != Tag::NONE || self.held.is_none() {
            return Ok(tag);
        }
        let tag = self.numbers.add(0).ok_or(TOO_MANY)?;
        self.tags.set(object, tag.0)?;
        if self.is_class(object)? {
            self.unknown_classes.push(tag);
        }
        Ok(tag)
    }

    fn is_class(&self, object: Object<'_>) -> Result<bool, DumpError> {
        let (Some(place), Some(class)) = (self.classes.class, self.jni.class_of(object)) else {
            return Ok(false);
        };
        let tag = Tag(self.tags.get(class.object())?);
        Ok(tag.number() == self.classes.get(place).tag.number())
    }
}

pub(super) const TOO_MANY: DumpError = DumpError::Walk("more than 8589934591 objects");
