//! The texts of all strings, for conversion to another form.

use hprof_format::{BasicType, HeapKind, HeapRecord, ObjectId, Value};

use crate::data::classes::Known;
use crate::data::error::Error;
use crate::data::heap::Heap;
use crate::data::numbers::ClassIndex;
use crate::data::object_record::utf16_units;
use crate::data::progress::{Progress, STEP, Stage};
use crate::data::records;

/// The text of a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text<'t> {
    /// The string.
    pub object: ObjectId,
    /// Its characters as they are, control characters among them; only the first ones of a long text.
    pub text: &'t str,
    /// Its length, in UTF-16 code units, as `String.length()` returns it.
    pub length: u64,
}

/// The fields of a class of strings, by their offsets in an instance's bytes.
struct StringFields {
    class: ClassIndex,
    value: usize,
    /// JDK 9 and newer have it.
    coder: Option<usize>,
}

impl Heap<'_> {
    /// Passes the text of each string to `visit`, in the order of the file; at most so many characters of it. Strings whose
    /// array is not in the dump are left out.
    ///
    /// # Errors
    /// Those of `visit`, and [`Error`] if the dump is damaged.
    pub fn visit_texts<E: From<Error>>(
        &self,
        most: usize,
        mut visit: impl FnMut(Text<'_>) -> Result<(), E>,
        progress: &dyn Progress,
    ) -> Result<(), E> {
        self.dump.unless_changed(|| {
            let (mut known, mut text, mut bytes) = (None, String::new(), 0);
            for (count, found) in (0_u64..).zip(self.dump.records()) {
                let found = found?;
                bytes += found.record.bytes().len() as u64;
                if count % STEP == 0 {
                    progress.at(Stage::References, bytes, self.dump.length());
                }
                if found.record.kind() == HeapKind::Instance {
                    let record = records::decode(&found)?;
                    text.clear();
                    if let Some((object, length)) =
                        self.push_text(&record, most, &mut known, &mut text)?
                    {
                        visit(Text {
                            object,
                            text: &text,
                            length,
                        })?;
                    }
                }
            }
            Ok(())
        })
    }

    /// Appends the text of a string to `out`, and returns its id and length; `None` for other objects.
    fn push_text(
        &self,
        record: &HeapRecord<'_>,
        most: usize,
        known: &mut Option<StringFields>,
        out: &mut String,
    ) -> Result<Option<(ObjectId, u64)>, Error> {
        let HeapRecord::Instance {
            object,
            class,
            fields,
            ..
        } = record
        else {
            return Ok(None);
        };
        let class = self.classes.find(class.0);
        let Some(class) = class.filter(|&class| self.classes.is(class, Known::String)) else {
            return Ok(None);
        };
        if known.as_ref().is_none_or(|known| known.class != class) {
            *known = self.string_fields(class);
        }
        let Some(known) = known else {
            return Ok(None);
        };
        let value = |offset, kind| records::value(fields.get(offset..)?, kind, self.dump.id_size());
        let array = match value(known.value, BasicType::Object) {
            Some(Value::Object(array)) => self.objects.ids.find(array),
            _ => None,
        };
        let Some(array) = array else {
            return Ok(None);
        };
        let coder = known.coder.and_then(|coder| value(coder, BasicType::Byte));
        let is_wide = coder == Some(Value::Byte(1));
        let Some(HeapRecord::PrimitiveArray {
            element, elements, ..
        }) = self.record(array)?
        else {
            return Ok(None);
        };
        let units = utf16_units(element, is_wide, elements);
        let characters = char::decode_utf16(units).take(most);
        out.extend(characters.map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)));
        let bytes_of_unit = if is_wide || element == BasicType::Char {
            2
        } else {
            1
        };
        Ok(Some((*object, (elements.len() / bytes_of_unit) as u64)))
    }

    fn string_fields(&self, class: ClassIndex) -> Option<StringFields> {
        let offset = |name: &[u8], kind| {
            let mut all = self.classes.fields(class);
            let field =
                all.find(|field| field.kind == kind && self.dump.string(field.name) == Some(name));
            field.map(|field| field.offset)
        };
        Some(StringFields {
            class,
            value: offset(b"value", BasicType::Object)?,
            coder: offset(b"coder", BasicType::Byte),
        })
    }
}
