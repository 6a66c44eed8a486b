//! The names of threads, as the heap has them: the arrays of the strings that thread objects name.

use foldhash::HashSet;

use super::instance::{Layouts, Member};
use crate::heap::{ClassDump, HeapRecord};
use crate::record::{BasicType, ObjectId, StringId};

/// The most threads whose names are found, so that memory is bounded. The names of others go.
const MOST: usize = 100_000;

/// Finds the arrays that hold the names of threads, in two readings of a dump: strings are found by the threads, and
/// arrays by the strings.
#[derive(Debug, Default)]
pub(super) struct ThreadNames {
    /// The field `name` of `java.lang.Thread`.
    name: Option<Member>,
    /// The field `value` of `java.lang.String`.
    value: Option<Member>,
    strings: HashSet<ObjectId>,
    arrays: HashSet<ObjectId>,
}

impl ThreadNames {
    /// Learns a class that `layouts` knows; `text` resolves the names of fields.
    pub(super) fn class<'t>(
        &mut self,
        class: &ClassDump<'_>,
        name: Option<&str>,
        layouts: &mut Layouts,
        text: impl Fn(StringId) -> &'t str,
    ) {
        let (member, field) = match name {
            Some("java.lang.Thread") => (&mut self.name, "name"),
            Some("java.lang.String") => (&mut self.value, "value"),
            _ => return,
        };
        *member = layouts.member(class, |name, kind| {
            kind == BasicType::Object && text(name) == field
        });
    }

    /// Finds the name of a thread; strings are found by it in the next reading.
    pub(super) fn find_string(&mut self, record: &HeapRecord<'_>, layouts: &mut Layouts) {
        if self.strings.len() < MOST
            && let (HeapRecord::Instance { class, fields, .. }, Some(name)) = (record, self.name)
            && let Some(string) = layouts.reference(*class, fields, name)
        {
            self.strings.insert(string);
        }
    }

    /// Returns `true` if the name of a thread has been found.
    pub(super) fn has_strings(&self) -> bool {
        !self.strings.is_empty()
    }

    /// Finds the array of a string that is the name of a thread.
    pub(super) fn find_array(&mut self, record: &HeapRecord<'_>, layouts: &mut Layouts) {
        let HeapRecord::Instance {
            object,
            class,
            fields,
            ..
        } = record
        else {
            return;
        };
        // A file that defines a string again and again must not take memory each time.
        if self.arrays.len() < MOST
            && let Some(value) = self.value
            && self.strings.contains(object)
            && let Some(array) = layouts.reference(*class, fields, value)
        {
            self.arrays.insert(array);
        }
    }

    /// Returns `true` if an array holds the name of a thread.
    pub(super) fn has_array(&self, array: ObjectId) -> bool {
        self.arrays.contains(&array)
    }
}
