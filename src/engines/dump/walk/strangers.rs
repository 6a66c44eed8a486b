//! Classes that were loaded between the look at all classes and the walk, and objects whose classes do not tell of their
//! fields.

use hprof_format::HeapRecord;

use super::classes::{Candidate, Classes, Kind};
use super::describe::Describer;
use super::layout::basic_type;
use super::numbers::Tag;
use super::pieces::{write_at, write_bits};
use super::recorder::Stranger;
use super::survey::Found;
use super::{Dump, DumpError};

impl<'a> Dump<'_, '_, 'a> {
    /// Describes the classes that the walk was the first to meet, then the objects that waited for them; answers how many
    /// these are.
    pub(super) fn strangers(
        &mut self,
        classes: &mut Classes,
        strangers: Vec<Stranger>,
    ) -> Result<u64, DumpError> {
        let candidates = self.late_classes(classes)?;
        let first = classes.len();
        let (env, jni) = (self.engine.env, self.jni);
        let fields = classes.add(env, jni, self.tags, &self.numbers, &candidates)?;
        let mut describer = Describer {
            env,
            jni,
            tags: self.tags,
            numbers: &mut self.numbers,
            classes,
            kept: None,
            hidden: Vec::new(),
            primitive_fields: self.subject.primitive_fields,
        };
        for (index, (candidate, fields)) in candidates.iter().zip(&fields).enumerate() {
            let (place, fields) = (first + index, fields.as_ref());
            let found = Found::default();
            describer.class(&mut self.pieces, candidate, place, fields, None, &found)?;
        }
        let mut count = 0;
        for stranger in &strangers {
            count += u64::from(self.stranger(classes, stranger));
        }
        Ok(count)
    }

    /// The classes that have tags and no place.
    fn late_classes(&mut self, classes: &Classes) -> Result<Vec<Candidate<'a>>, DumpError> {
        let mut candidates = Vec::new();
        for class in self.engine.env.loaded_classes(self.jni)? {
            let tag = Tag(self.tags.get(class.object())?);
            if tag == Tag::NONE || classes.place(&self.numbers, tag).is_some() {
                continue;
            }
            let (id, name) = self.name_class(class.object())?;
            self.pieces.output.class(id, self.numbers.object(tag));
            candidates.push(Candidate { class, tag, name });
        }
        Ok(candidates)
    }

    /// Writes the record of an object; `false` where its class is gone.
    fn stranger(&mut self, classes: &Classes, stranger: &Stranger) -> bool {
        let Some(place) = classes.place(&self.numbers, stranger.class) else {
            return false;
        };
        let class = classes.get(place);
        let (object, trace) = (
            self.numbers.object(stranger.tag),
            self.numbers.trace(stranger.tag),
        );
        let class_id = self.numbers.object(class.tag);
        let length = stranger.tag.length() as usize;
        let mut content;
        let record = match &class.kind {
            Kind::Instances(layout) => {
                content = vec![0; layout.size as usize];
                for &(number, bits) in &stranger.values {
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
            // Its class's record has no fields either.
            Kind::Unknown => HeapRecord::Instance {
                object,
                trace,
                class: class_id,
                fields: &[],
            },
            Kind::ObjectArrays => {
                content = vec![0; length * 8];
                for &(index, id) in &stranger.values {
                    write_at(&mut content, index * 8, &id.to_be_bytes());
                }
                HeapRecord::ObjectArray {
                    object,
                    trace,
                    class: class_id,
                    elements: &content,
                }
            }
            // The VM makes all of these classes when it starts.
            Kind::PrimitiveArrays(kind) => HeapRecord::PrimitiveArray {
                object,
                trace,
                element: basic_type(Some(*kind)),
                elements: &[],
            },
        };
        self.pieces.put(&record);
        true
    }
}
