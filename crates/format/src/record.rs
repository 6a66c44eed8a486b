//! The records of an HPROF file, as data: what the agent produces, the encoders write and the reader returns.
//!
//! Field order and widths are those of the binary format's specification ("HPROF Agent", section
//! "Binary Dump Format"). Names follow it too.

use std::borrow::Cow;
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

impl StringId {
    /// The string of an id from here on (2^62, which no address and no counter reaches) is named by one record alone.
    /// The agent gives such ids to the names of threads: a program may start millions, and an encoder that remembers
    /// strings forgets these once it has used them.
    pub const USED_ONCE: u64 = 1 << 62;

    /// The id of the first note of a file; see [`StringId::note`].
    pub const NOTE: StringId = StringId(StringId::USED_ONCE - 1);

    /// A STRING under this id stands in place of HEAP DUMP END: the segments before it are a dump that broke off, for
    /// the reason that the text gives in a few words. Without a segment before it, a dump broke off before it began.
    /// The text format has `HEAP DUMP BROKE OFF (reason)` for it.
    pub const BROKE_OFF: StringId = StringId(StringId::USED_ONCE - 2);

    /// The lowest id that a note can have. No other string has an id from here up to [`StringId::USED_ONCE`], but for
    /// [`StringId::BROKE_OFF`].
    const LAST_NOTE: u64 = StringId::BROKE_OFF.0 - u32::MAX as u64;

    /// The id of a file's note with this number, from 0 on. Ids count down from [`StringId::NOTE`]: no two STRING records of
    /// a file share one, which some readers refuse.
    ///
    /// A note is a STRING for whoever reads the file, about the record behind it (that numbers are estimates, say) or about
    /// the file. No record names it. The text format prints it in parentheses, on a line of its own.
    #[must_use]
    pub fn note(number: u32) -> StringId {
        match number {
            0 => StringId::NOTE,
            _ => StringId(StringId::BROKE_OFF.0 - u64::from(number)),
        }
    }

    /// Whether a STRING under this id is a note.
    #[must_use]
    pub fn is_note(self) -> bool {
        self != StringId::BROKE_OFF && (StringId::LAST_NOTE..StringId::USED_ONCE).contains(&self.0)
    }

    /// Whether a record can name the string: it is neither a note nor the end of a dump that broke off.
    #[must_use]
    pub fn is_name(self) -> bool {
        self != StringId::BROKE_OFF && !self.is_note()
    }
}

/// Where in its source file a frame stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Line {
    /// A line number, 1 and up.
    Number(u32),
    /// 0 or -1 in a file: nothing is known, or nothing was asked for (`lineno=n`). Written as -1.
    Unknown,
    /// -2 in a file: a compiled method.
    Compiled,
    /// -3 in a file: a native method.
    Native,
}

/// One row of CPU SAMPLES.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuSample {
    /// How many samples hit the trace.
    pub count: u32,
    /// The trace.
    pub trace: TraceSerial,
}

/// What a field or an array element holds. The values are those of the binary format's "Basic Type", which are those of
/// the operand of the JVM's `newarray` (JVM specification, table 6.5.newarray-A) with 2 for references.
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
    /// The type that a byte of the binary format stands for; `None` where it stands for none.
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

    /// Its name in Java source: `int`; `java.lang.Object` for a reference.
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

    /// What the arrays of a class hold, whose name is as in Java source: `Int` for `int[]`, `Object` for `int[][]` and
    /// `String[]`. `None` where the name is no array's.
    #[must_use]
    pub fn of_array_class(name: &str) -> Option<BasicType> {
        let element = name.strip_suffix("[]")?;
        let primitive = (BasicType::Boolean as u8..=BasicType::Long as u8)
            .filter_map(BasicType::from_byte)
            .find(|kind| kind.java_name() == element);
        Some(primitive.unwrap_or(BasicType::Object))
    }
}

/// One row of ALLOC SITES. Bytes and instances above 2^32 - 1 are written as 2^32 - 1 in the binary format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllocSite {
    /// The type of the elements where the site allocates arrays, `None` where it allocates plain objects.
    pub array_of: Option<BasicType>,
    /// The class of what is allocated, 0 where it is not known.
    pub class: ClassSerial,
    /// Where it is allocated.
    pub trace: TraceSerial,
    /// Bytes that are alive.
    pub live_bytes: u64,
    /// Objects that are alive.
    pub live_instances: u64,
    /// Bytes allocated so far, those of dead objects included.
    pub allocated_bytes: u64,
    /// Objects allocated so far, dead ones included.
    pub allocated_instances: u64,
}

/// `flags` of ALLOC SITES: the rows tell what changed since the last such record.
pub const SITES_INCREMENTAL: u16 = 1;
/// `flags` of ALLOC SITES: the rows are ordered by allocated bytes, without it by live bytes.
pub const SITES_BY_ALLOCATION: u16 = 2;
/// `flags` of ALLOC SITES: a garbage collection was forced before.
pub const SITES_FORCED_GC: u16 = 4;

/// `flags` of CONTROL SETTINGS: allocation sites are traced.
pub const CONTROL_ALLOC_TRACES: u32 = 1;
/// `flags` of CONTROL SETTINGS: CPU samples are taken.
pub const CONTROL_CPU_SAMPLING: u32 = 2;
/// `flags` of CONTROL SETTINGS: a heap dump follows somewhere behind this record, whole or marked by
/// [`StringId::BROKE_OFF`]. A file that ends without one has lost it, unless settings without the flag come later: the dump
/// could not be made. Only this project's agent sets the flag.
pub const CONTROL_HEAP_DUMP_FOLLOWS: u32 = 4;

/// One record, without its tag, time and length.
#[derive(Clone, Debug, PartialEq)]
pub enum Record<'a> {
    /// 0x01. Text as UTF-8; files from other writers may hold modified UTF-8 or worse.
    String {
        /// Its name.
        id: StringId,
        /// Its bytes.
        text: Cow<'a, [u8]>,
    },
    /// 0x02.
    LoadClass {
        /// Its name, > 0.
        serial: ClassSerial,
        /// The `java.lang.Class` object.
        class_object: ObjectId,
        /// Where it was loaded.
        trace: TraceSerial,
        /// The class's name as in Java source: `java.lang.String`, `int[]`, `Foo$Bar[][]`.
        name: StringId,
    },
    /// 0x03.
    UnloadClass {
        /// The class.
        serial: ClassSerial,
    },
    /// 0x04.
    Frame {
        /// Its name.
        id: FrameId,
        /// The method's name.
        method: StringId,
        /// The method's signature, `(I)V`.
        signature: StringId,
        /// The source file's name; 0 or an empty one where the class names none.
        source_file: StringId,
        /// The method's class.
        class: ClassSerial,
        /// The line.
        line: Line,
    },
    /// 0x05.
    Trace {
        /// Its name.
        serial: TraceSerial,
        /// The thread, 0 when traces are shared by all threads (`thread=n`).
        thread: ThreadSerial,
        /// Its frames, innermost first.
        frames: Cow<'a, [FrameId]>,
    },
    /// 0x06. Rows are ordered, and may leave out what fell below the cutoff.
    AllocSites {
        /// `SITES_*` bits.
        flags: u16,
        /// Rows are left out of which every value is a smaller share of its total (0.0 to 1.0); other writers leave anything
        /// here.
        cutoff: f32,
        /// Bytes that are alive, those of rows left out included; at most 2^32 - 1 in the binary format.
        live_bytes: u64,
        /// Objects that are alive; at most 2^32 - 1 in the binary format.
        live_instances: u64,
        /// Bytes allocated so far.
        allocated_bytes: u64,
        /// Objects allocated so far.
        allocated_instances: u64,
        /// The rows.
        sites: Cow<'a, [AllocSite]>,
    },
    /// 0x07.
    HeapSummary {
        /// Bytes that are alive; at most 2^32 - 1 in the binary format.
        live_bytes: u64,
        /// Objects that are alive; at most 2^32 - 1 in the binary format.
        live_instances: u64,
        /// Bytes allocated so far.
        allocated_bytes: u64,
        /// Objects allocated so far.
        allocated_instances: u64,
    },
    /// 0x0A.
    StartThread {
        /// Its name.
        serial: ThreadSerial,
        /// The `java.lang.Thread` object.
        object: ObjectId,
        /// Where it was started.
        trace: TraceSerial,
        /// The thread's name.
        name: StringId,
        /// Its group's name.
        group: StringId,
        /// The name of the group above that one, 0 at the top.
        parent_group: StringId,
    },
    /// 0x0B.
    EndThread {
        /// The thread.
        serial: ThreadSerial,
    },
    /// 0x0D. Rows are ordered by count, and may leave out what fell below the cutoff.
    CpuSamples {
        /// All samples, those of rows left out included.
        total: u32,
        /// The rows.
        rows: Cow<'a, [CpuSample]>,
    },
    /// 0x1C: a part of a heap dump.
    HeapDumpSegment {
        /// Whole [`HeapRecord`](crate::HeapRecord)s, as [`HeapRecord::write`](crate::HeapRecord::write) appends them.
        content: Cow<'a, [u8]>,
    },
    /// 0x2C: the segments so far are a whole heap dump.
    HeapDumpEnd,
    /// 0x0E.
    ControlSettings {
        /// `CONTROL_*` bits.
        flags: u32,
        /// `depth=`.
        depth: u16,
    },
}

impl Record<'_> {
    /// The same record with content of its own, for keeping it beyond the buffer that it was read from.
    #[must_use]
    pub fn into_owned(self) -> Record<'static> {
        match self {
            Record::String { id, text } => Record::String {
                id,
                text: Cow::Owned(text.into_owned()),
            },
            Record::LoadClass {
                serial,
                class_object,
                trace,
                name,
            } => Record::LoadClass {
                serial,
                class_object,
                trace,
                name,
            },
            Record::UnloadClass { serial } => Record::UnloadClass { serial },
            Record::Frame {
                id,
                method,
                signature,
                source_file,
                class,
                line,
            } => Record::Frame {
                id,
                method,
                signature,
                source_file,
                class,
                line,
            },
            Record::Trace {
                serial,
                thread,
                frames,
            } => Record::Trace {
                serial,
                thread,
                frames: Cow::Owned(frames.into_owned()),
            },
            Record::AllocSites {
                flags,
                cutoff,
                live_bytes,
                live_instances,
                allocated_bytes,
                allocated_instances,
                sites,
            } => Record::AllocSites {
                flags,
                cutoff,
                live_bytes,
                live_instances,
                allocated_bytes,
                allocated_instances,
                sites: Cow::Owned(sites.into_owned()),
            },
            Record::HeapSummary {
                live_bytes,
                live_instances,
                allocated_bytes,
                allocated_instances,
            } => Record::HeapSummary {
                live_bytes,
                live_instances,
                allocated_bytes,
                allocated_instances,
            },
            Record::StartThread {
                serial,
                object,
                trace,
                name,
                group,
                parent_group,
            } => Record::StartThread {
                serial,
                object,
                trace,
                name,
                group,
                parent_group,
            },
            Record::EndThread { serial } => Record::EndThread { serial },
            Record::CpuSamples { total, rows } => Record::CpuSamples {
                total,
                rows: Cow::Owned(rows.into_owned()),
            },
            Record::HeapDumpSegment { content } => Record::HeapDumpSegment {
                content: Cow::Owned(content.into_owned()),
            },
            Record::HeapDumpEnd => Record::HeapDumpEnd,
            Record::ControlSettings { flags, depth } => Record::ControlSettings { flags, depth },
        }
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
