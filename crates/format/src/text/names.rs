//! The names that a text profile prints.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use foldhash::HashMap;

use crate::printable::{printable, shortened};
use crate::record::BasicType;
use crate::record::{ClassSerial, StringId};

/// Strings and classes by their ids. Everything with a name shares it with this table: a few bytes of a file may name a
/// long string, and do so any number of times.
#[derive(Debug, Default)]
pub(super) struct TextNames {
    strings: HashMap<StringId, Name>,
    classes: HashMap<ClassSerial, StringId>,
    empty: Arc<str>,
}

#[derive(Debug)]
struct Name {
    text: Arc<str>,
    /// The text as the name of a class, set when a class uses it.
    class: OnceLock<Arc<str>>,
}

impl TextNames {
    /// Sets the string's text from now on.
    pub(super) fn add(&mut self, id: StringId, text: &[u8]) {
        let name = Name {
            text: shortened(&printable(text)).into(),
            class: OnceLock::new(),
        };
        self.strings.insert(id, name);
    }

    /// Forgets a string that will not be named again.
    pub(super) fn forget(&mut self, id: StringId) {
        self.strings.remove(&id);
    }

    /// Sets the class's name from now on.
    pub(super) fn load(&mut self, class: ClassSerial, name: StringId) {
        self.classes.insert(class, name);
    }

    /// Returns a string, the empty one for id 0; `None` if it is unknown.
    pub(super) fn string(&self, id: StringId) -> Option<&Arc<str>> {
        match id {
            StringId(0) => Some(&self.empty),
            _ => self.strings.get(&id).map(|name| &name.text),
        }
    }

    /// Returns a class's name as in Java source.
    pub(super) fn class(&self, class: ClassSerial) -> Option<&Arc<str>> {
        let id = self.classes.get(&class)?;
        let Some(name) = self.strings.get(id) else {
            return self.string(*id);
        };
        let source = || match source_name(&name.text) {
            Cow::Borrowed(_) => Arc::clone(&name.text),
            Cow::Owned(source) => source.into(),
        };
        Some(name.class.get_or_init(source))
    }

    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.strings.len()
    }
}

/// Converts a class's name to Java source: `java.lang.String`, `int[][]`. Binary files have it as in class files
/// (`java/lang/String`, `[[I`); any other text is returned unchanged.
#[must_use]
pub fn source_name(name: &str) -> Cow<'_, str> {
    let element = name.trim_start_matches('[');
    let dimensions = name.len() - element.len();
    if dimensions == 0 {
        return if name.contains('/') {
            name.replace('/', ".").into()
        } else {
            name.into()
        };
    }
    let kind = match element {
        "Z" => BasicType::Boolean,
        "C" => BasicType::Char,
        "F" => BasicType::Float,
        "D" => BasicType::Double,
        "B" => BasicType::Byte,
        "S" => BasicType::Short,
        "I" => BasicType::Int,
        "J" => BasicType::Long,
        _ => BasicType::Object,
    };
    let element = match element.strip_prefix('L').and_then(|e| e.strip_suffix(';')) {
        Some(class) => class.replace('/', "."),
        None if kind == BasicType::Object => return name.into(),
        None => kind.java_name().to_owned(),
    };
    (element + &"[]".repeat(dimensions)).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_source() {
        for (name, source) in [
            ("java/lang/String", "java.lang.String"),
            ("java.lang.String", "java.lang.String"),
            ("[I", "int[]"),
            ("[[Z", "boolean[][]"),
            ("[[Ljava/util/Map$Entry;", "java.util.Map$Entry[][]"),
            ("int[]", "int[]"),
            ("Main$$Lambda+0x00007f/12", "Main$$Lambda+0x00007f.12"),
            ("[", "["),
            ("[Ljava", "[Ljava"),
            ("", ""),
        ] {
            assert_eq!(source_name(name), source);
        }
    }
}
