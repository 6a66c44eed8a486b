//! Search for a text: names of classes and strings, and the object with an id.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use hprof_format::bytes::read_id_be;
use hprof_format::{BasicType, HeapRecord, ObjectId};

use crate::data::classes::Known;
use crate::data::error::Error;
use crate::data::heap::Heap;
use crate::data::label::Label;
use crate::data::names::push_printable;
use crate::data::numbers::ObjectNumber;

/// The most characters of a string that are searched.
const CHARACTERS: usize = 10_000;
/// The most units of UTF-16 that those characters have.
const UNITS: usize = 2 * CHARACTERS;
/// The most arrays that may be the characters of strings with the text.
const ARRAYS: usize = 100_000;

/// Classes and objects that a search has found.
#[derive(Clone, Debug, Default)]
pub struct Matches {
    /// The object with the id that the text is.
    pub object: Option<FoundObject>,
    /// The names of classes with the text in them, by name.
    pub classes: Vec<Arc<str>>,
    /// Strings with the text in them, in the order of the dump.
    pub strings: Vec<FoundObject>,
    /// `true` if more classes have it.
    pub more_classes: bool,
    /// `true` if more strings may have it.
    pub more_strings: bool,
}

/// An object that a search has found.
#[derive(Clone, Debug)]
pub struct FoundObject {
    /// Its description.
    pub object: Label,
    /// Its id.
    pub id: ObjectId,
    /// The text of a string, from its beginning.
    pub text: Option<String>,
}

impl Heap<'_> {
    /// Searches the names of classes, the first ten thousand characters of strings, and ids (`0x7f08`); at most `most`
    /// of each are given. The case of ASCII letters does not matter.
    ///
    /// # Errors
    /// Those of reading records.
    pub fn search(&self, text: &str, most: usize) -> Result<Matches, Error> {
        self.dump.unless_changed(|| self.find_text(text, most))
    }

    fn find_text(&self, text: &str, most: usize) -> Result<Matches, Error> {
        let mut wanted = String::new();
        // Names and strings are compared as they are shown.
        text.trim()
            .chars()
            .for_each(|character| push_printable(&mut wanted, character));
        wanted.make_ascii_lowercase();
        let mut found = Matches::default();
        if wanted.is_empty() {
            return Ok(found);
        }
        if let Some(digits) = wanted.strip_prefix("0x")
            && let Ok(id) = u64::from_str_radix(digits, 16)
            && let Some(number) = self.objects.ids.find(ObjectId(id))
        {
            found.object = Some(self.found_object(number)?);
        }
        let has_text = |name: &str| name.to_ascii_lowercase().contains(&wanted);
        let classes = self.classes.iter().map(|(_, class)| &class.name);
        let classes: BTreeSet<&Arc<str>> = classes.filter(|name| has_text(name)).collect();
        found.more_classes = classes.len() > most;
        found.classes = classes.into_iter().take(most).cloned().collect();
        self.find_strings(&has_text, most, &mut found)?;
        Ok(found)
    }

    /// Reads all records twice, in order: looking up each string with its characters would take many times as long.
    fn find_strings(
        &self,
        has_text: &dyn Fn(&str) -> bool,
        most: usize,
        found: &mut Matches,
    ) -> Result<(), Error> {
        let mut arrays = HashSet::new();
        for record in self.dump.records() {
            let record = record?.decode()?;
            if let HeapRecord::PrimitiveArray {
                object,
                element,
                elements,
                ..
            } = record
                && texts(element, elements).any(|text| has_text(&text))
            {
                if arrays.len() == ARRAYS {
                    found.more_strings = true;
                    break;
                }
                arrays.insert(object.0);
            }
        }
        for record in self.dump.records() {
            let record = record?.decode()?;
            let Some(number) = self.string_of(&record, &arrays) else {
                continue;
            };
            let id = self.objects.ids.id(number);
            let content = self.string(id, CHARACTERS)?;
            // The characters may be those of the other encoding.
            if !content.is_some_and(|content| has_text(&content)) {
                continue;
            }
            if found.strings.len() == most {
                found.more_strings = true;
                break;
            }
            found.strings.push(self.found_object(number)?);
        }
        Ok(())
    }

    /// Returns the string of a record, if one of the arrays has its characters.
    fn string_of(&self, record: &HeapRecord<'_>, arrays: &HashSet<u64>) -> Option<ObjectNumber> {
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
        let has_characters = self.classes.fields(class).any(|field| {
            field.kind == BasicType::Object
                && arrays.contains(&read_id_be(fields, field.offset, self.dump.id_size()))
        });
        has_characters.then(|| self.objects.ids.find(*object))?
    }

    fn found_object(&self, number: ObjectNumber) -> Result<FoundObject, Error> {
        let id = self.objects.ids.id(number);
        Ok(FoundObject {
            object: self.label(number)?,
            id,
            text: self.string(id, 200)?,
        })
    }
}

/// Returns what an array says as the characters of a string, in each encoding that it may have.
fn texts(element: BasicType, elements: &[u8]) -> impl Iterator<Item = String> {
    let units = elements.as_chunks().0.iter();
    let (narrow, wide): (Option<Vec<u16>>, Option<Vec<u16>>) = match element {
        BasicType::Byte => {
            let bytes = elements.iter().take(CHARACTERS);
            let narrow = bytes.map(|&byte| byte.into()).collect();
            let wide = units.take(UNITS).map(|unit| u16::from_le_bytes(*unit));
            (Some(narrow), Some(wide.collect()))
        }
        BasicType::Char => {
            let wide = units.take(UNITS).map(|unit| u16::from_be_bytes(*unit));
            (None, Some(wide.collect()))
        }
        _ => (None, None),
    };
    narrow.into_iter().chain(wide).map(|units| {
        let mut text = String::new();
        for character in char::decode_utf16(units) {
            push_printable(&mut text, character.unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        text
    })
}
