//! The texts of all strings, for conversion to another form.

use hprof_format::{BasicType, HeapKind, HeapRecord, ObjectId, Value};

use crate::data::classes::Known;
use crate::data::error::Error;
use crate::data::heap::Heap;
use crate::data::memory::Numbers;
use crate::data::numbers::{ClassIndex, ObjectNumber};
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

/// A string: the id of its array, and twice the string's number, plus 1 if its characters have two bytes.
type StringOfArray = [u64; 2];

impl Heap<'_> {
    /// Passes the text of each string to `visit`, in the order in which their arrays are in the file; at most so many characters of
    /// it. Strings whose array is not in the dump are left out. Takes 16 bytes for each string.
    ///
    /// # Errors
    /// Those of `visit`, and [`Error`] if the dump is damaged, or there is no memory.
    pub fn visit_texts<E: From<Error>>(
        &self,
        most: usize,
        mut visit: impl FnMut(Text<'_>) -> Result<(), E>,
        progress: &dyn Progress,
    ) -> Result<(), E> {
        self.dump.unless_changed(|| {
            let strings = self.strings_by_array()?;
            let (mut text, mut bytes) = (String::new(), 0);
            for (count, found) in (0_u64..).zip(self.dump.records()) {
                let found = found?;
                bytes += found.record.bytes().len() as u64;
                if count % STEP == 0 {
                    progress.at(Stage::References, bytes, self.dump.length());
                }
                if found.record.kind() != HeapKind::PrimitiveArray {
                    continue;
                }
                let Some(array) = self.id_of(&found) else {
                    continue;
                };
                let first = strings.partition_point(|&[of, _]| of < array);
                let of_array = strings[first..].iter().take_while(|&&[of, _]| of == array);
                for &[_, string] in of_array {
                    let array = found.decode()?;
                    text.clear();
                    let length = push_text(&array, string & 1 == 1, most, &mut text);
                    // The number of an object has 32 bits.
                    let number = ObjectNumber((string >> 1) as u32);
                    visit(Text {
                        object: self.objects.ids.id(number),
                        text: &text,
                        length,
                    })?;
                }
            }
            Ok(())
        })
    }

    /// Finds all strings, and sorts them by their arrays. To look for the array of each string would read a part of the file for it.
    fn strings_by_array(&self) -> Result<Numbers<StringOfArray>, Error> {
        let mut known = None;
        let mut strings = self.memory.growing();
        for found in self.dump.records() {
            let found = found?;
            if found.record.kind() == HeapKind::Instance {
                let record = found.decode()?;
                if let Some(string) = self.string_of_array(&record, &mut known) {
                    strings.extend(&[string]);
                }
            }
        }
        let mut strings = strings.finish()?;
        strings.sort_unstable();
        Ok(strings)
    }

    /// Returns the string in a record; `None` for other objects.
    fn string_of_array(
        &self,
        record: &HeapRecord<'_>,
        known: &mut Option<StringFields>,
    ) -> Option<StringOfArray> {
        let HeapRecord::Instance {
            object,
            class,
            fields,
            ..
        } = record
        else {
            return None;
        };
        let class = self.classes.find(class.0)?;
        if !self.classes.is(class, Known::String) {
            return None;
        }
        if known.as_ref().is_none_or(|known| known.class != class) {
            *known = self.string_fields(class);
        }
        let known = known.as_ref()?;
        let value = |offset, kind| records::value(fields.get(offset..)?, kind, self.dump.id_size());
        let Some(Value::Object(array)) = value(known.value, BasicType::Object) else {
            return None;
        };
        let coder = known.coder.and_then(|coder| value(coder, BasicType::Byte));
        let is_wide = coder == Some(Value::Byte(1));
        let number = self.objects.ids.find(*object)?;
        Some([array.0, u64::from(number.0) << 1 | u64::from(is_wide)])
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

/// Appends the first characters of an array to `text`, and returns its length in UTF-16 code units.
fn push_text(array: &HeapRecord<'_>, is_wide: bool, most: usize, text: &mut String) -> u64 {
    let &HeapRecord::PrimitiveArray {
        element, elements, ..
    } = array
    else {
        return 0;
    };
    let units = utf16_units(element, is_wide, elements);
    let characters = char::decode_utf16(units).take(most);
    text.extend(characters.map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)));
    let has_two_bytes = is_wide || element == BasicType::Char;
    let bytes_of_unit = if has_two_bytes { 2 } else { 1 };
    (elements.len() / bytes_of_unit) as u64
}
