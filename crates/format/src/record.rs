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

    /// A STRING under this id is a note to whoever reads the file, about the record behind it (that numbers are
    /// estimates, say) or about the file. No record names it, and it may come again with another text. The text format prints it in
    /// parentheses, on a line of its own.
    pub const NOTE: StringId = StringId(StringId::USED_ONCE - 1);

    /// A STRING under this id stands in place of HEAP DUMP END: the segments before it are a dump that broke off, for
    /// the reason that the text gives in a few words. Without a segment before it, a dump broke off before it began.
    /// The text format has `HEAP DUMP BROKE OFF (reason)` for it.
    pub const BROKE_OFF: StringId = StringId(StringId::USED_ONCE - 2);
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
/// [`StringId::BROKE_OFF`]. A file that ends without one has lost it. Only this project's agent sets the flag.
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
        /// The source file's name, 0 where the class names none.
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
        /// Rows with a smaller share of the live bytes (0.0 to 1.0) are left out; other writers leave anything here.
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
