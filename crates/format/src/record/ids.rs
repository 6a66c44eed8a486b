//! The ids and serial numbers in records, and the types of their fields.

use std::fmt;

macro_rules! identifiers {
    ($($(#[$doc:meta])* $name:ident($repr:ty);)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $repr);

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(formatter)
            }
        }
    )*};
}

identifiers! {
    /// Names a STRING record; 0 is "no string" (a class without a source file, a thread without a group).
    StringId(u64);
    /// Names a FRAME record.
    FrameId(u64);
    /// Names an object of the program: a thread, a class object, an instance; 0 is null.
    ObjectId(u64);
    /// Names a LOAD CLASS record; the agent counts from 100001.
    ClassSerial(u32);
    /// Names a START THREAD record; the agent counts from 200001, 200000 is the unknown thread, 0 in a trace is
    /// "any thread".
    ThreadSerial(u32);
    /// Names a TRACE record; the agent counts from 300001, 300000 is the trace without frames.
    TraceSerial(u32);
}

impl ThreadSerial {
    /// "Any thread", in a trace.
    pub const ANY: ThreadSerial = ThreadSerial(0);

    /// The unknown thread, which is never started.
    pub const UNKNOWN: ThreadSerial = ThreadSerial(200_000);

    /// Returns `true` if it stands for a thread that is started: neither for any nor for the unknown one.
    #[must_use]
    pub fn is_started(self) -> bool {
        self != ThreadSerial::ANY && self != ThreadSerial::UNKNOWN
    }
}

impl StringId {
    /// The string of an id from here on (2^62, which no address and no counter reaches) is named by only one record.
    /// The agent gives such ids to the names of threads: a program may start millions, and an encoder that remembers
    /// strings forgets these once it has used them.
    pub const USED_ONCE: u64 = 1 << 62;

    /// The id of the first note of a file; see [`StringId::note`].
    pub const NOTE: StringId = StringId(StringId::USED_ONCE - 1);

    /// A STRING under this id takes the place of HEAP DUMP END: the segments before it are a dump that broke off, and
    /// the text gives the reason in a few words. If there is no segment before it, the dump broke off before it began.
    /// The text format prints `HEAP DUMP BROKE OFF (reason)` for it.
    pub const BROKE_OFF: StringId = StringId(StringId::USED_ONCE - 2);

    /// The lowest id that a note can have. No other string has an id from here up to [`StringId::USED_ONCE`], except
    /// for [`StringId::BROKE_OFF`].
    const LAST_NOTE: u64 = StringId::BROKE_OFF.0 - u32::MAX as u64;

    /// Returns the id of a file's note with this number, from 0. Ids count down from [`StringId::NOTE`], so that no two
    /// STRING records of a file share one, which some readers refuse.
    ///
    /// A note is a STRING for people, about the next record (that numbers are estimates, for example) or about the
    /// file. No record names it. The text format prints it in parentheses, on a line of its own.
    #[must_use]
    pub fn note(number: u32) -> StringId {
        match number {
            0 => StringId::NOTE,
            _ => StringId(StringId::BROKE_OFF.0 - u64::from(number)),
        }
    }

    /// The number of facts that a file can have.
    const FACTS: u64 = 64;

    /// Returns the id of a fact with this number, from 0: a note about the run that comes before all other notes, as
    /// `label: value`. The text format has facts in its head.
    #[must_use]
    pub fn fact(number: u8) -> StringId {
        StringId(StringId::LAST_NOTE + u64::from(number).min(StringId::FACTS - 1))
    }

    /// Returns `true` if a STRING under this id is a fact.
    #[must_use]
    pub fn is_fact(self) -> bool {
        (StringId::LAST_NOTE..StringId::LAST_NOTE + StringId::FACTS).contains(&self.0)
    }

    /// Returns `true` if a STRING under this id is a note.
    #[must_use]
    pub fn is_note(self) -> bool {
        self != StringId::BROKE_OFF && (StringId::LAST_NOTE..StringId::USED_ONCE).contains(&self.0)
    }

    /// Returns `true` if a record can name the string: it is neither a note nor the end of a dump that broke off.
    #[must_use]
    pub fn is_name(self) -> bool {
        self != StringId::BROKE_OFF && !self.is_note()
    }
}

/// The line of a frame in its source file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Line {
    /// A line number, from 1.
    Number(u32),
    /// 0 or -1 in a file: unknown, or not requested (`lineno=n`). Written as -1.
    Unknown,
    /// -2 in a file: a compiled method.
    Compiled,
    /// -3 in a file: a native method.
    Native,
}

/// The type of a field or an array element. The values are those of the binary format's "Basic Type", which are those
/// of the operand of the JVM's `newarray` (JVM specification, table 6.5.newarray-A) with 2 for references.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum BasicType {
    /// A reference.
    Object = 2,
    /// `boolean`.
    Boolean = 4,
    /// `char`.
    Char = 5,
    /// `float`.
    Float = 6,
    /// `double`.
    Double = 7,
    /// `byte`.
    Byte = 8,
    /// `short`.
    Short = 9,
    /// `int`.
    Int = 10,
    /// `long`.
    Long = 11,
}

impl BasicType {
    /// Returns the type for a byte of the binary format; `None` if there is none.
    #[must_use]
    pub fn from_byte(byte: u8) -> Option<BasicType> {
        Some(match byte {
            2 => BasicType::Object,
            4 => BasicType::Boolean,
            5 => BasicType::Char,
            6 => BasicType::Float,
            7 => BasicType::Double,
            8 => BasicType::Byte,
            9 => BasicType::Short,
            10 => BasicType::Int,
            11 => BasicType::Long,
            _ => return None,
        })
    }

    /// Returns its name in Java source: `int`; `java.lang.Object` for a reference.
    #[must_use]
    pub fn java_name(self) -> &'static str {
        match self {
            BasicType::Object => "java.lang.Object",
            BasicType::Boolean => "boolean",
            BasicType::Char => "char",
            BasicType::Float => "float",
            BasicType::Double => "double",
            BasicType::Byte => "byte",
            BasicType::Short => "short",
            BasicType::Int => "int",
            BasicType::Long => "long",
        }
    }

    /// Returns the type of the elements of an array class, whose name is as in Java source: `Int` for `int[]`, `Object`
    /// for `int[][]` and `String[]`. `None` if the name is not that of an array.
    #[must_use]
    pub fn of_array_class(name: &str) -> Option<BasicType> {
        let element = name.strip_suffix("[]")?;
        Some(BasicType::of_java_name(element).unwrap_or(BasicType::Object))
    }

    /// Returns the primitive type of that name in Java source; `None` if there is none.
    #[must_use]
    pub fn of_java_name(name: &str) -> Option<BasicType> {
        (BasicType::Boolean as u8..=BasicType::Long as u8)
            .filter_map(BasicType::from_byte)
            .find(|kind| kind.java_name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_note_has_an_id_of_its_own() {
        let numbers = [0, 1, 2, 3, u32::MAX - 1, u32::MAX];
        let ids = numbers.map(StringId::note);
        assert!(ids.windows(2).all(|pair| pair[0] > pair[1]), "{ids:?}");
        assert!(ids.iter().all(|id| id.is_note() && !id.is_name()));
        let last = StringId::note(u32::MAX);
        for other in [
            StringId(0),
            StringId(last.0 - 1),
            StringId(StringId::USED_ONCE),
        ] {
            assert!(!other.is_note() && other.is_name(), "{other}");
        }
        assert!(!StringId::BROKE_OFF.is_note() && !StringId::BROKE_OFF.is_name());
    }

    #[test]
    fn an_array_class_tells_what_it_holds() {
        for (name, held) in [
            ("int[]", Some(BasicType::Int)),
            ("boolean[]", Some(BasicType::Boolean)),
            ("long[]", Some(BasicType::Long)),
            ("int[][]", Some(BasicType::Object)),
            ("java.lang.Object[]", Some(BasicType::Object)),
            ("Int[]", Some(BasicType::Object)),
            ("int", None),
            ("java.lang.String", None),
        ] {
            assert_eq!(BasicType::of_array_class(name), held, "{name}");
        }
    }
}
