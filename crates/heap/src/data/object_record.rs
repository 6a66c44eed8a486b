//! The content of an object: its record, fields and strings, and a description for people.

use std::sync::Arc;

use hprof_format::bytes::read_id_be;
use hprof_format::{BasicType, HeapKind, HeapRecord, ObjectId, Value};

use crate::data::classes::Known;
use crate::data::dump::Found;
use crate::data::error::Error;
use crate::data::graph::Local;
use crate::data::heap::Heap;
use crate::data::label::{Label, Reference};
use crate::data::names::{Stack, push_printable};
use crate::data::numbers::{ClassIndex, ObjectNumber};
use crate::data::record_offsets::{NewStrides, Strides};
use crate::data::records;

impl Heap<'_> {
    /// Returns the record of an object; `None` if the dump has none.
    pub(crate) fn record(&self, number: ObjectNumber) -> Result<Option<HeapRecord<'_>>, Error> {
        let id = self.objects.ids.id(number);
        if let Some(class) = self.class_of_object(number) {
            let offset = self.classes.get(class).offset;
            return self.record_at(offset, id);
        }
        let offsets = &self.record_offsets;
        let offset = if offsets.ascending {
            offsets.before_id(id.0)
        } else {
            let stride = self.strides()?.get(number.0);
            stride.and_then(|stride| offsets.in_stride(stride))
        };
        let Some(offset) = offset else {
            return Ok(None);
        };
        self.record_at(offset, id)
    }

    /// Returns the record of the object with this id, which is at `offset` or after it.
    fn record_at(
        &self,
        offset: u64,
        ObjectId(id): ObjectId,
    ) -> Result<Option<HeapRecord<'_>>, Error> {
        for found in self.dump.records_from(offset) {
            let found = found?;
            if self.id_of(&found) == Some(id) {
                return found.decode().map(Some);
            }
        }
        Ok(None)
    }

    /// Returns where the record of each object is, for ids that do not ascend. It is determined once.
    pub(crate) fn strides(&self) -> Result<&Strides, Error> {
        if let Some(strides) = self.record_offsets.strides.get() {
            return Ok(strides);
        }
        let mut strides = NewStrides::new(self.objects.count(), &self.memory)?;
        for found in self.dump.records() {
            let found = found?;
            if let Some(number) = self
                .id_of(&found)
                .and_then(|id| self.objects.ids.find(ObjectId(id)))
            {
                strides.add(number.0, found.offset);
            }
        }
        let strides = strides.finish(&self.memory)?;
        Ok(self.record_offsets.strides.get_or_init(|| strides))
    }

    /// Returns the id of the object whose record this is.
    pub(crate) fn id_of(&self, found: &Found<'_>) -> Option<u64> {
        use HeapKind::{Class, Instance, ObjectArray, PrimitiveArray, PrimitiveArrayWithoutData};
        let kind = found.record.kind();
        matches!(
            kind,
            Class | Instance | ObjectArray | PrimitiveArray | PrimitiveArrayWithoutData
        )
        .then(|| read_id_be(found.record.bytes(), 1, self.dump.id_size()))
    }

    /// Returns the class with this object.
    pub(crate) fn class_of_object(&self, number: ObjectNumber) -> Option<ClassIndex> {
        self.classes
            .find(self.objects.ids.id(number).0)
            .filter(|&class| self.classes.get(class).id != 0)
    }

    /// Returns the description of an object.
    pub(crate) fn label(&self, number: ObjectNumber) -> Result<Label, Error> {
        if let Some(class) = self.class_of_object(number) {
            return Ok(Label::Class(Arc::clone(&self.classes.get(class).name)));
        }
        let class = Arc::clone(&self.classes.get(self.objects.class(number)).name);
        let id = self.objects.ids.id(number);
        Ok(match self.thread_name(number)? {
            Some(name) => Label::Thread { class, name, id },
            None => Label::Object { class, id },
        })
    }

    /// Returns an array type with its length: `byte[100]`.
    pub(crate) fn array_type(&self, number: ObjectNumber) -> Result<String, Error> {
        let Some(HeapRecord::PrimitiveArray {
            element, elements, ..
        }) = self.record(number)?
        else {
            return Ok(self.label(number)?.to_string());
        };
        let length = elements.len() / element.size(8);
        Ok(format!("{}[{length}]", element.java_name()))
    }

    /// Returns the name of a thread; `None` for other objects.
    pub(crate) fn thread_name(&self, number: ObjectNumber) -> Result<Option<String>, Error> {
        if !self.is_a(number, Known::Thread) {
            return Ok(None);
        }
        match self.field(number, "name")? {
            Some(Value::Object(name)) => self.string(name, 200),
            _ => Ok(None),
        }
    }

    /// Returns `true` if an object is of this class or of a subclass.
    pub(crate) fn is_a(&self, number: ObjectNumber, known: Known) -> bool {
        self.classes.is(self.objects.class(number), known)
    }

    /// Returns the value of the first field of this name.
    pub(crate) fn field(&self, number: ObjectNumber, name: &str) -> Result<Option<Value>, Error> {
        let Some(HeapRecord::Instance { fields, .. }) = self.record(number)? else {
            return Ok(None);
        };
        let class = self.objects.class(number);
        let mut all = self.classes.fields(class);
        let field = all.find(|field| self.dump.string(field.name) == Some(name.as_bytes()));
        Ok(field.and_then(|field| {
            records::value(fields.get(field.offset..)?, field.kind, self.dump.id_size())
        }))
    }

    /// Returns the names and the values of the fields of an instance; none of another object.
    pub(crate) fn field_values(&self, number: ObjectNumber) -> Result<Vec<(u64, Value)>, Error> {
        let Some(HeapRecord::Instance { fields, .. }) = self.record(number)? else {
            return Ok(Vec::new());
        };
        let all = self.classes.fields(self.objects.class(number));
        let values = all.map_while(|field| {
            let value =
                records::value(fields.get(field.offset..)?, field.kind, self.dump.id_size());
            Some((field.name, value?))
        });
        Ok(values.collect())
    }

    /// Returns the text of a string, printable, truncated after `most` characters; `None` for other objects.
    pub(crate) fn string(&self, id: ObjectId, most: usize) -> Result<Option<String>, Error> {
        let Some(number) = self.objects.ids.find(id) else {
            return Ok(None);
        };
        if !self.is_a(number, Known::String) {
            return Ok(None);
        }
        let Some(Value::Object(value)) = self.field(number, "value")? else {
            return Ok(None);
        };
        let Some(value) = self.objects.ids.find(value) else {
            return Ok(None);
        };
        // Strings of JDK 9 and newer hold bytes, of Latin-1 or of UTF-16 in native byte order.
        let wide = self.field(number, "coder")? == Some(Value::Byte(1));
        let Some(HeapRecord::PrimitiveArray {
            element, elements, ..
        }) = self.record(value)?
        else {
            return Ok(None);
        };
        let units = utf16_units(element, wide, elements);
        let mut text = String::new();
        for (count, character) in char::decode_utf16(units).enumerate() {
            if count == most {
                text.push('…');
                break;
            }
            push_printable(&mut text, character.unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        Ok(Some(text))
    }

    /// Returns the reference by which `from` refers to `to`.
    pub(crate) fn reference(
        &self,
        from: ObjectNumber,
        to: ObjectNumber,
    ) -> Result<Reference, Error> {
        let wanted = self.objects.ids.id(to);
        let id_size = self.dump.id_size();
        let found = match self.record(from)? {
            Some(HeapRecord::Instance { fields, .. }) => {
                let class = self.objects.class(from);
                let mut all = self.classes.fields(class);
                let field = all.find(|field| {
                    field.kind == BasicType::Object
                        && read_id_be(fields, field.offset, id_size) == wanted.0
                });
                field.map(|field| Reference::Field(self.dump.name(field.name)))
            }
            Some(HeapRecord::ObjectArray { elements, .. }) => {
                let size = id_size.bytes() as usize;
                let place = elements
                    .chunks_exact(size)
                    .position(|element| read_id_be(element, 0, id_size) == wanted.0);
                place.map(Reference::Element)
            }
            Some(HeapRecord::Class(class)) => {
                let mut statics = class.statics.iter();
                let field = statics.find(|&&(_, value)| value == Value::Object(wanted));
                Some(match field {
                    Some(&(name, _)) => Reference::Static(self.dump.name(name.0)),
                    None if class.super_class == wanted => Reference::Superclass,
                    None if class.loader == wanted => Reference::ClassLoader,
                    None if class.signers == wanted => Reference::Signers,
                    None if class.protection_domain == wanted => Reference::ProtectionDomain,
                    None => Reference::Constant,
                })
            }
            _ => None,
        };
        if let Some(found) = found {
            return Ok(found);
        }
        let mut locals = self.graph.roots.locals_of(from).iter();
        let local = locals.find(|local| local.object == to);
        Ok(local.map_or(Reference::Class, |local| self.local(*local)))
    }

    /// Returns the reference of a thread to an object in a local variable.
    pub(crate) fn local(&self, local: Local) -> Reference {
        let stack = self.thread_stack(local.thread);
        let frame = usize::try_from(local.frame).ok();
        Reference::Local(frame.and_then(|frame| stack.get(frame).cloned()))
    }

    /// Returns the stack of a thread, innermost frame first.
    pub(crate) fn thread_stack(&self, thread: ObjectNumber) -> Stack {
        let trace = self.graph.roots.traces.get(&thread);
        trace.map_or_else(Stack::default, |&trace| self.dump.stack(trace))
    }
}

/// Returns the UTF-16 code units of a string's array.
pub(crate) fn utf16_units(
    element: BasicType,
    is_wide: bool,
    elements: &[u8],
) -> Box<dyn Iterator<Item = u16> + '_> {
    let pairs = elements.as_chunks().0.iter();
    match element {
        BasicType::Char => Box::new(pairs.map(|unit| u16::from_be_bytes(*unit))),
        _ if is_wide => Box::new(pairs.map(|unit| u16::from_le_bytes(*unit))),
        _ => Box::new(elements.iter().map(|&byte| byte.into())),
    }
}
