//! Classes that were loaded between listing the classes and the walk, and objects whose classes do not reveal their
//! fields.

use hprof_format::HeapRecord;

use super::chunk_writer::{write_at, write_bits};
use super::class_prewalk::ClassReferences;
use super::classes::{Candidate, ClassKind, DumpClasses};
use super::describe::Describer;
use super::layout::basic_type;
use super::numbers::Tag;
use super::{Dump, DumpError};

/// Objects and classes that the walk met but could not describe.
pub(super) struct LateClasses {
    pub(super) objects: Vec<UndescribedObject>,
    /// The tags of `java.lang.Class` objects.
    pub(super) classes: Vec<Tag>,
}

/// An object of an unknown class: its values can be interpreted only once the class's fields are known.
#[derive(Debug)]
pub(super) struct UndescribedObject {
    pub(super) tag: Tag,
    pub(super) class: Tag,
    /// By the number of the field or element: an id, or the bits of a primitive value.
    pub(super) values: Vec<(u32, u64)>,
}

impl<'a> Dump<'_, '_, 'a> {
    /// Describes the classes that have not been described, then the objects that waited for them.
    pub(super) fn late_classes(
        &mut self,
        classes: &mut DumpClasses,
        late_classes: LateClasses,
    ) -> Result<(), DumpError> {
        let candidates = self.undescribed(classes)?;
        let (env, jni) = (self.dumper.env, self.jni);
        let first = classes.len();
        let fields = classes.add(env, jni, self.tags, &self.numbers, &candidates)?;
        let mut describer = Describer {
            env,
            jni,
            tags: self.tags,
            numbers: &mut self.numbers,
            classes,
            held: None,
            hidden: Vec::new(),
            primitive_fields: self.subject.primitive_fields,
            constant_entries: self.subject.constant_entries,
            unknown_classes: Vec::new(),
        };
        for (index, (candidate, fields)) in candidates.iter().zip(&fields).enumerate() {
            let (place, fields) = (first + index, fields.as_ref());
            let found = ClassReferences::default();
            describer.class(&mut self.chunks, candidate, place, fields, None, &found)?;
        }
        for undescribed_object in &late_classes.objects {
            self.undescribed_object(classes, undescribed_object);
        }
        for class in late_classes.classes {
            self.dormant_class(classes, class);
        }
        Ok(())
    }

    /// Returns the classes that have tags but no record.
    fn undescribed(&mut self, classes: &DumpClasses) -> Result<Vec<Candidate<'a>>, DumpError> {
        let mut candidates = Vec::new();
        for class in self.dumper.env.loaded_classes(self.jni)? {
            let tag = Tag(self.tags.get(class.object())?);
            let place = classes.place(&self.numbers, tag);
            let is_described = place
                .is_some_and(|place| !matches!(classes.get(place).kind, ClassKind::Unknown(_)));
            if tag == Tag::NONE || is_described {
                continue;
            }
            let (id, name) = self.name_class(class.object())?;
            if place.is_none() {
                self.chunks.output.class(id, self.numbers.object(tag));
            }
            candidates.push(Candidate { class, tag, name });
        }
        Ok(candidates)
    }

    /// Writes a `java.lang.Class` object whose class is in the VM's archive but not loaded, was replaced by the VM
    /// while it was loaded, or has been unloaded since. For all others the class itself is described.
    fn dormant_class(&mut self, classes: &DumpClasses, tag: Tag) {
        let class = classes.class.map(|place| classes.get(place));
        let Some((class, ClassKind::Instances(layout))) = class.map(|class| (class, &class.kind))
        else {
            return;
        };
        if classes.place(&self.numbers, tag).is_some() {
            return;
        }
        self.chunks.put(&HeapRecord::Instance {
            object: self.numbers.object(tag),
            trace: self.numbers.trace(tag),
            class: self.numbers.object(class.tag),
            fields: &vec![0; layout.size as usize],
        });
    }

    /// Writes the record of an object, unless its class has been unloaded.
    fn undescribed_object(
        &mut self,
        classes: &DumpClasses,
        undescribed_object: &UndescribedObject,
    ) {
        let Some(place) = classes.place(&self.numbers, undescribed_object.class) else {
            return;
        };
        let class = classes.get(place);
        let (object, trace) = (
            self.numbers.object(undescribed_object.tag),
            self.numbers.trace(undescribed_object.tag),
        );
        let class_id = self.numbers.object(class.tag);
        let length = undescribed_object.tag.length() as usize;
        let mut content;
        let record = match &class.kind {
            ClassKind::Instances(layout) => {
                content = vec![0; layout.size as usize];
                for &(number, bits) in &undescribed_object.values {
                    match layout.slot(number) {
                        Some(slot) => match slot.kind {
                            None => write_at(&mut content, slot.offset, &bits.to_be_bytes()),
                            Some(kind) => write_bits(&mut content, slot.offset, kind, bits),
                        },
                        None => debug_assert!(false, "every field has a slot"),
                    }
                }
                HeapRecord::Instance {
                    object,
                    trace,
                    class: class_id,
                    fields: &content,
                }
            }
            // The class's record has no fields of its own either.
            ClassKind::Unknown(size) => {
                content = vec![0; *size as usize];
                HeapRecord::Instance {
                    object,
                    trace,
                    class: class_id,
                    fields: &content,
                }
            }
            ClassKind::ObjectArrays => {
                content = vec![0; length * 8];
                for &(index, id) in &undescribed_object.values {
                    write_at(&mut content, index * 8, &id.to_be_bytes());
                }
                HeapRecord::ObjectArray {
                    object,
                    trace,
                    class: class_id,
                    elements: &content,
                }
            }
            // The VM creates all of these classes when it starts.
            ClassKind::PrimitiveArrays(kind) => HeapRecord::PrimitiveArray {
                object,
                trace,
                element: basic_type(Some(*kind)),
                elements: &[],
            },
        };
        self.chunks.put(&record);
    }
}
