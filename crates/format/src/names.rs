//! The texts that records name by ids: strings, and the names of classes.

use std::borrow::Cow;
use std::sync::Arc;

use foldhash::HashMap;

use crate::record::{BasicType, ClassSerial, StringId};

/// Stands for an id whose text is not in the file so far.
pub const UNKNOWN_NAME: &str = "<unknown>";

/// The name under an id: a text of the file, or what stands for a missing one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResolvedName<T> {
    /// The text.
    Text(T),
    /// Empty for id 0, which is no string, and [`UNKNOWN_NAME`] for an id that no record so far defines.
    Missing(&'static str),
}

impl<T> ResolvedName<T> {
    /// Returns the text, or what `missing` makes of the one that stands for it.
    pub fn unwrap_or_else(self, missing: impl FnOnce(&'static str) -> T) -> T {
        match self {
            ResolvedName::Text(text) => text,
            ResolvedName::Missing(text) => missing(text),
        }
    }
}

impl<T: Clone> ResolvedName<&T> {
    /// Returns the same name with a copy of its text.
    #[must_use]
    pub fn cloned(self) -> ResolvedName<T> {
        match self {
            ResolvedName::Text(text) => ResolvedName::Text(text.clone()),
            ResolvedName::Missing(text) => ResolvedName::Missing(text),
        }
    }
}

impl<'a> ResolvedName<&'a Arc<str>> {
    /// Returns the text.
    #[must_use]
    pub fn as_str(self) -> &'a str {
        match self {
            ResolvedName::Text(text) => text,
            ResolvedName::Missing(text) => text,
        }
    }
}

impl ResolvedName<Arc<str>> {
    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            ResolvedName::Text(text) => text,
            ResolvedName::Missing(text) => text,
        }
    }
}

/// The strings and the names of classes in a file, by the ids under which later records name them.
///
/// `T` is what a reader keeps of a text; it should be cheap to copy. Classes of the same name share one `T`: a few
/// bytes of a file may name a long string, and do so any number of times.
#[derive(Debug)]
pub struct NameTable<T = Arc<str>> {
    strings: HashMap<StringId, TableText<T>>,
    classes: HashMap<ClassSerial, ResolvedName<T>>,
}

#[derive(Debug)]
struct TableText<T> {
    text: T,
    /// The text as the name of a class, set when a class uses it.
    class: Option<T>,
}

impl<T> Default for NameTable<T> {
    fn default() -> NameTable<T> {
        NameTable {
            strings: HashMap::default(),
            classes: HashMap::default(),
        }
    }
}

impl<T: Clone> NameTable<T> {
    /// Sets the text of a STRING from now on.
    pub fn define_string(&mut self, id: StringId, text: T) {
        self.strings.insert(id, TableText { text, class: None });
    }

    /// Sets the name of a class, from its LOAD CLASS, from now on. `source` converts a text by [`source_name`].
    pub fn define_class(
        &mut self,
        class: ClassSerial,
        name: StringId,
        source: impl FnOnce(&T) -> T,
    ) {
        let name = match self.strings.get_mut(&name) {
            Some(TableText { text, class }) if name != StringId(0) => {
                ResolvedName::Text(class.get_or_insert_with(|| source(text)).clone())
            }
            _ => missing(name),
        };
        self.classes.insert(class, name);
    }

    /// Forgets a string that no further record names: see [`StringId::USED_ONCE`].
    pub fn forget_used(&mut self, id: StringId) {
        if id.0 >= StringId::USED_ONCE {
            self.strings.remove(&id);
        }
    }

    /// Returns a string.
    #[must_use]
    pub fn string(&self, id: StringId) -> ResolvedName<&T> {
        match self.strings.get(&id) {
            Some(found) if id != StringId(0) => ResolvedName::Text(&found.text),
            _ => missing(id),
        }
    }

    /// Returns the name of a class, as in Java source.
    #[must_use]
    pub fn class(&self, class: ClassSerial) -> ResolvedName<&T> {
        match self.classes.get(&class) {
            Some(ResolvedName::Text(name)) => ResolvedName::Text(name),
            Some(&ResolvedName::Missing(name)) => ResolvedName::Missing(name),
            None => ResolvedName::Missing(UNKNOWN_NAME),
        }
    }

    #[cfg(test)]
    pub(crate) fn strings(&self) -> usize {
        self.strings.len()
    }
}

fn missing<T>(id: StringId) -> ResolvedName<T> {
    ResolvedName::Missing(match id {
        StringId(0) => "",
        _ => UNKNOWN_NAME,
    })
}

/// As [`source_name`], for texts that are shared: one that stays as it is stays shared.
#[must_use]
pub fn shared_source_name(name: &Arc<str>) -> Arc<str> {
    match source_name(name) {
        Cow::Borrowed(_) => Arc::clone(name),
        Cow::Owned(source) => source.into(),
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
    fn a_name_is_that_of_the_last_record_before() {
        let mut names: NameTable = NameTable::default();
        let (text, class) = (StringId(1), ClassSerial(7));
        assert_eq!(names.string(text).as_str(), UNKNOWN_NAME);
        names.define_class(class, text, shared_source_name);
        assert_eq!(names.class(class).as_str(), UNKNOWN_NAME);
        names.define_string(text, "java/lang/String".into());
        names.define_class(class, text, shared_source_name);
        names.define_class(ClassSerial(8), text, |_| unreachable!("the name is shared"));
        names.define_string(text, "other".into());
        assert_eq!(names.string(text).as_str(), "other");
        for class in [class, ClassSerial(8)] {
            assert_eq!(names.class(class).as_str(), "java.lang.String");
        }
        names.define_class(class, StringId(0), shared_source_name);
        assert_eq!(names.class(class).as_str(), "");
        assert_eq!(names.string(StringId(0)).as_str(), "");
        assert_eq!(names.class(ClassSerial(9)).as_str(), UNKNOWN_NAME);
    }

    #[test]
    fn a_string_is_forgotten_only_if_it_is_used_once() {
        let mut names = NameTable::default();
        let once = StringId(StringId::USED_ONCE + 9);
        for id in [StringId(9), once] {
            names.define_string(id, 'a');
            names.forget_used(id);
        }
        assert_eq!(names.string(StringId(9)), ResolvedName::Text(&'a'));
        assert_eq!(names.string(once), ResolvedName::Missing(UNKNOWN_NAME));
    }

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
