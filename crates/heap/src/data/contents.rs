//! Objects as described by the records of a dump.

use hprof_format::{BasicType, HeapRecord};

use crate::data::classes::{ClassOf, Classes};
use crate::data::dump::{Dump, Found};
use crate::data::error::Error;
use crate::data::layout::Layout;
use crate::data::records;

/// The data needed to interpret the records of objects.
pub(crate) struct Contents<'a> {
    pub(crate) dump: &'a Dump,
    pub(crate) layout: Layout,
    pub(crate) classes: Classes,
}

/// An object as described by its record.
pub(crate) struct Object<'a> {
    pub(crate) id: u64,
    pub(crate) class: ClassOf,
    pub(crate) trace: u32,
    pub(crate) size: u64,
    pub(crate) content: Content<'a>,
}

/// The content of an object's record.
pub(crate) enum Content<'a> {
    Fields(&'a [u8]),
    Elements(&'a [u8]),
    /// An array with that many elements of a primitive type.
    Primitives(u64),
    Class(Vec<u64>),
}

impl<'a> Contents<'a> {
    /// Returns the object of a record; `None` if the record is not about an object.
    #[inline]
    pub(crate) fn object(&self, found: &Found<'a>) -> Result<Option<Object<'a>>, Error> {
        Ok(Some(match found.decode()? {
            HeapRecord::Instance {
                object,
                trace,
                class,
                fields,
            } => {
                let object_class = self.class(class.0);
                let (declared, size) = match object_class {
                    ClassOf::Known(index) => (
                        self.classes.dumped_bytes(index),
                        self.classes.get(index).instance_size,
                    ),
                    _ => (None, 0),
                };
                if declared.is_some_and(|declared| declared != fields.len() as u64) {
                    return Err(Error::Fields {
                        offset: found.offset,
                        kind: found.record.kind(),
                        class,
                        found: fields.len(),
                        declared: declared.unwrap_or_default() as usize,
                    });
                }
                let size = match declared {
                    Some(_) => size,
                    None => self.layout.instance(0, fields.len() as u64),
                };
                Object {
                    id: object.0,
                    class: object_class,
                    trace: trace.0,
                    size,
                    content: Content::Fields(fields),
                }
            }
            HeapRecord::ObjectArray {
                object,
                trace,
                class,
                elements,
            } => {
                let length = elements.len() as u64 / self.dump.id_size().bytes();
                Object {
                    id: object.0,
                    class: self.class(class.0),
                    trace: trace.0,
                    size: self.layout.references(length),
                    content: Content::Elements(elements),
                }
            }
            HeapRecord::PrimitiveArray {
                object,
                trace,
                element,
                elements,
            } => {
                let length = elements.len() / element.size(8);
                self.primitive_array(object.0, trace.0, element, length as u64)
            }
            HeapRecord::PrimitiveArrayWithoutData {
                object,
                trace,
                element,
                length,
            } => self.primitive_array(object.0, trace.0, element, length.into()),
            HeapRecord::Class(class) => {
                let own = self.classes.find(class.class.0);
                Object {
                    id: class.class.0,
                    class: self.classes.known(ClassOf::Classes),
                    trace: class.trace.0,
                    size: self.classes.class_object_size(own, &self.layout),
                    content: Content::Class(records::class_references(&class).collect()),
                }
            }
            HeapRecord::Root { .. } | HeapRecord::HeapInfo { .. } => return Ok(None),
        }))
    }

    #[inline]
    fn class(&self, id: u64) -> ClassOf {
        self.classes.known(ClassOf::Object(id))
    }

    fn primitive_array(&self, id: u64, trace: u32, element: BasicType, length: u64) -> Object<'a> {
        Object {
            id,
            class: self.classes.known(ClassOf::Primitives(element)),
            trace,
            size: self.layout.array(length, element.size(8) as u64),
            content: Content::Primitives(length),
        }
    }
}
