//! One object: its content, and the objects that refer to it.

use hprof_format::bytes::read_id_be;
use hprof_format::{BasicType, HeapRecord, IdSize, ObjectId, Value};
use serde::Serialize;

use crate::data::error::Error;
use crate::data::heap::Heap;
use crate::data::label::Label;
use crate::data::names::Stack;
use crate::data::numbers::ObjectNumber;
use crate::data::records;

/// The most rows of elements and of referrers that are shown.
const MOST: usize = 100;
/// The most characters of a string that are shown.
const CHARACTERS: usize = 1000;

/// One object.
#[derive(Clone, Debug, Serialize)]
pub struct Shown {
    /// `java.lang.Thread "main" @ 0x7f08`.
    pub object: Label,
    /// Its id.
    #[serde(serialize_with = "crate::data::names::hex")]
    pub id: ObjectId,
    /// The name of its class.
    pub class: String,
    /// Its shallow size, in bytes.
    pub shallow: u64,
    /// Bytes that would be freed without it; `None` if no root reaches it.
    pub retained: Option<u64>,
    /// A string's text.
    pub text: Option<String>,
    /// The reasons it is a root, if any.
    pub roots: Vec<String>,
    /// Fields or elements with their values, a hundred of them. Neighbouring elements that are null or 0 are one.
    pub values: Vec<Named>,
    /// The field or element that comes after those; `None` if there is none.
    pub next: Option<u64>,
    /// The number of fields or elements.
    pub length: u64,
    /// The objects that refer to it, the first hundred, in the order of their ids.
    pub referrers: Vec<Named>,
    /// The stack that allocated it, innermost frame first.
    pub stack: Stack,
}

/// A value and its position.
#[derive(Clone, Debug, Serialize)]
pub struct Named {
    /// The field, the index, or the first and the last of several: `[3] to [90]`.
    pub name: String,
    /// The value or the object.
    pub value: String,
    /// The id, if it is an object.
    #[serde(
        serialize_with = "crate::data::names::hex_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub id: Option<ObjectId>,
}

impl Heap<'_> {
    /// Returns the content of an object and the objects that refer to it. Of its fields or elements those from `first`
    /// on are given.
    ///
    /// # Errors
    /// [`Error::NoObject`], and those of reading records.
    pub fn show(&self, id: ObjectId, first: u64) -> Result<Shown, Error> {
        self.dump.unless_changed(|| self.find_shown(id, first))
    }

    fn find_shown(&self, id: ObjectId, first: u64) -> Result<Shown, Error> {
        let number = self.objects.ids.find(id).ok_or(Error::NoObject(id))?;
        let (values, next, length) = self.values(number, first as usize)?;
        let mut roots: Vec<String> = Vec::new();
        for &(object, root) in &self.graph.roots.all {
            let name = || crate::questions::paths::root_name(root);
            if object == number && !roots.contains(&name()) {
                roots.push(name());
            }
        }
        let class = self.objects.class(number);
        Ok(Shown {
            object: self.label(number)?,
            id,
            class: self.classes.get(class).name.to_string(),
            shallow: self.objects.size(number),
            retained: self.retained_of(number),
            text: self.string(id, CHARACTERS)?,
            roots,
            values,
            next: next.map(|next| next as u64),
            length: length as u64,
            referrers: self.referrers(number)?,
            stack: self.dump.stack(self.objects.trace(number)),
        })
    }

    /// Returns the rows from `first` on, the place of the field or element after them, and the number of all.
    fn values(
        &self,
        number: ObjectNumber,
        first: usize,
    ) -> Result<(Vec<Named>, Option<usize>, usize), Error> {
        let id_size = self.dump.id_size();
        let part = match self.record(number)? {
            Some(HeapRecord::Instance { fields, .. }) => {
                let all = self.classes.fields(self.objects.class(number));
                let named = all.skip(first).take(MOST).map(|field| {
                    let bytes = fields.get(field.offset..).unwrap_or_default();
                    (
                        self.dump.text(field.name),
                        records::value(bytes, field.kind, id_size),
                    )
                });
                let length = self.classes.fields(self.objects.class(number)).count();
                Part::of_fields(named.collect(), first, length)
            }
            Some(HeapRecord::ObjectArray { elements, .. }) => {
                Part::of_elements(elements, BasicType::Object, id_size, first)
            }
            Some(HeapRecord::PrimitiveArray {
                element, elements, ..
            }) => Part::of_elements(elements, element, id_size, first),
            Some(HeapRecord::Class(class)) => {
                let shown = class.statics.iter().skip(first).take(MOST);
                let named = shown.map(|&(name, value)| {
                    (format!("static {}", self.dump.text(name.0)), Some(value))
                });
                Part::of_fields(named.collect(), first, class.statics.len())
            }
            _ => Part::default(),
        };
        let mut values = Vec::new();
        for (name, value) in part.rows {
            let id = match value {
                Some(Value::Object(id)) => self.objects.ids.find(id).map(|_| id),
                _ => None,
            };
            let value = match value {
                Some(value) => self.value_text(value)?,
                None => "?".to_owned(),
            };
            values.push(Named { name, value, id });
        }
        let next = Some(part.next).filter(|&next| next < part.length);
        Ok((values, next, part.length))
    }

    fn value_text(&self, value: Value) -> Result<String, Error> {
        Ok(match value {
            Value::Object(ObjectId(0)) => "null".to_owned(),
            Value::Object(id) => match self.objects.ids.find(id) {
                Some(number) => match self.string(id, 80)? {
                    Some(text) => format!("{} \"{text}\"", self.label(number)?),
                    None => self.label(number)?.to_string(),
                },
                None => format!("0x{:x}, which is not in the dump", id.0),
            },
            Value::Boolean(value) => value.to_string(),
            Value::Char(unit) => {
                let mut text = String::new();
                let character = char::from_u32(unit.into()).unwrap_or(char::REPLACEMENT_CHARACTER);
                crate::data::names::push_printable(&mut text, character);
                format!("'{text}' ({unit})")
            }
            Value::Float(value) => value.to_string(),
            Value::Double(value) => value.to_string(),
            Value::Byte(value) => value.to_string(),
            Value::Short(value) => value.to_string(),
            Value::Int(value) => value.to_string(),
            Value::Long(value) => value.to_string(),
        })
    }

    fn referrers(&self, number: ObjectNumber) -> Result<Vec<Named>, Error> {
        let is_class = |object| self.class_of_object(object).is_some();
        let zones = self.zones.get().map(|zones| &zones.rows);
        let search = (self.dump.threads(), zones);
        let known = self.graph.referrers(number, MOST, is_class, search);
        let mut found = Vec::new();
        for from in known.map_or_else(|| self.referrers_in_records(number), Ok)? {
            found.push(Named {
                name: self.reference(from, number)?.to_string(),
                value: self.label(from)?.to_string(),
                id: Some(self.objects.ids.id(from)),
            });
        }
        for &local in &self.graph.roots.locals {
            if local.object == number && found.len() < MOST {
                found.push(Named {
                    name: self.local(local).to_string(),
                    value: self.label(local.thread)?.to_string(),
                    id: Some(self.objects.ids.id(local.thread)),
                });
            }
        }
        Ok(found)
    }

    /// Searches the records, for a graph that omits too many references.
    fn referrers_in_records(&self, number: ObjectNumber) -> Result<Vec<ObjectNumber>, Error> {
        let wanted = self.objects.ids.id(number);
        let mut found = Vec::new();
        for record in self.dump.records() {
            let record = record?.decode()?;
            let from = self.referrer(&record, wanted);
            found.extend(from.and_then(|from| self.objects.ids.find(from)));
        }
        found.sort_unstable();
        found.dedup();
        found.truncate(MOST);
        Ok(found)
    }

    /// Returns the object of a record, if it refers to `wanted`.
    fn referrer(&self, record: &HeapRecord<'_>, wanted: ObjectId) -> Option<ObjectId> {
        let id_size = self.dump.id_size();
        let (object, refers) = match record {
            HeapRecord::Instance {
                object,
                class,
                fields,
                ..
            } => {
                let class = self.classes.find(class.0)?;
                let refers = self.classes.fields(class).any(|field| {
                    field.kind == BasicType::Object
                        && read_id_be(fields, field.offset, id_size) == wanted.0
                });
                (object, refers)
            }
            HeapRecord::ObjectArray {
                object, elements, ..
            } => {
                let mut all = elements.chunks_exact(id_size.bytes() as usize);
                let refers = all.any(|element| read_id_be(element, 0, id_size) == wanted.0);
                (object, refers)
            }
            HeapRecord::Class(class) => {
                let refers = records::class_references(class).any(|id| id == wanted.0);
                (&class.class, refers)
            }
            _ => return None,
        };
        refers.then_some(*object)
    }
}

/// Some of the fields or elements of an object.
#[derive(Default)]
struct Part {
    rows: Vec<(String, Option<Value>)>,
    /// The place of the field or element after the rows.
    next: usize,
    /// The number of all fields or elements.
    length: usize,
}

impl Part {
    fn of_fields(rows: Vec<(String, Option<Value>)>, first: usize, length: usize) -> Self {
        let next = first.saturating_add(rows.len());
        Self { rows, next, length }
    }

    /// Returns the elements from `first` on. Neighbours that are null or 0 share a row.
    fn of_elements(bytes: &[u8], kind: BasicType, id_size: IdSize, first: usize) -> Self {
        let size = kind.size(id_size.bytes() as usize);
        let length = bytes.len() / size;
        let mut rows = Vec::new();
        let mut next = first.min(length);
        while next < length && rows.len() < MOST {
            let place = next;
            let rest = bytes[place * size..].chunks_exact(size);
            let is_empty = |element: &[u8]| element.iter().all(|&byte| byte == 0);
            let alike = rest.take_while(|element| is_empty(element)).count().max(1);
            next += alike;
            let name = match alike {
                1 => format!("[{place}]"),
                _ => format!("[{place}] to [{}]", next - 1),
            };
            let value = records::value(&bytes[place * size..], kind, id_size);
            rows.push((name, value));
        }
        Self { rows, next, length }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(part: &Part) -> Vec<&str> {
        part.rows.iter().map(|(name, _)| name.as_str()).collect()
    }

    #[test]
    fn neighbours_that_are_null_share_a_row() {
        let part = |ids: &[u32], first| {
            let bytes: Vec<u8> = ids.iter().flat_map(|id| id.to_be_bytes()).collect();
            Part::of_elements(&bytes, BasicType::Object, IdSize::Four, first)
        };
        let some = part(&[0, 0, 0, 7, 0, 8, 0, 0], 0);
        let expected = ["[0] to [2]", "[3]", "[4]", "[5]", "[6] to [7]"];
        assert_eq!(names(&some), expected);
        assert_eq!(some.rows[0].1, Some(Value::Object(ObjectId(0))));
        assert_eq!(some.rows[1].1, Some(Value::Object(ObjectId(7))));
        assert_eq!((some.next, some.length), (8, 8));
        assert_eq!(names(&part(&[0, 0, 0, 7], 1)), ["[1] to [2]", "[3]"]);
        assert_eq!(names(&part(&[0, 7], 9)), [""; 0]);
        // An array that is nearly empty fits on a page; after a hundred rows comes the next.
        let mut sparse = vec![0; 10_000];
        sparse[5_000] = 7;
        assert_eq!(part(&sparse, 0).rows.len(), 3);
        let full = part(&[7; 250], 100);
        assert_eq!((full.rows.len(), full.next), (MOST, 200));
    }

    #[test]
    fn neighbours_that_are_zero_share_a_row() {
        let bytes = [0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0];
        let part = Part::of_elements(&bytes, BasicType::Int, IdSize::Four, 0);
        assert_eq!(names(&part), ["[0]", "[1] to [2]"]);
        assert_eq!(part.rows[1].1, Some(Value::Int(0)));
    }
}
