//! The tables, as data: docs/reference/tables.md says what they mean.

/// A table. Every table has `run_id` as its first column, which is not listed here.
#[derive(Debug)]
pub struct Table {
    /// Its name, which is also that of its folder.
    pub name: &'static str,
    /// The columns after `run_id`.
    pub columns: &'static [Column],
    /// The columns by which rows are ordered, within a row group.
    pub sort: &'static [&'static str],
}

/// A column.
#[derive(Debug)]
pub struct Column {
    /// Its name, with the unit if it has one.
    pub name: &'static str,
    /// The type and encoding of its values.
    pub kind: Kind,
    /// `true` if it may be null.
    pub nullable: bool,
}

/// The type of a column's values, and their encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// 64 bits, with few different values: dictionary encoding.
    Repeated,
    /// 64 bits, with many different values: delta encoding.
    Distinct,
    /// 32 bits: dictionary encoding.
    Small,
    /// 32 bits that mostly count up: delta encoding.
    Counted,
    /// UTF-8: dictionary encoding.
    Text,
    /// True or false.
    Flag,
    /// A floating-point number of 64 bits: dictionary encoding.
    Real,
}

use Kind::{Counted, Distinct, Flag, Real, Repeated, Small, Text};

const fn column(name: &'static str, kind: Kind) -> Column {
    Column {
        name,
        kind,
        nullable: false,
    }
}

const fn nullable(name: &'static str, kind: Kind) -> Column {
    Column {
        name,
        kind,
        nullable: true,
    }
}

/// Defines the tables and the list of all.
macro_rules! tables {
    ($($(#[$doc:meta])* $constant:ident = $name:literal sorted by [$($sort:literal),*] { $($column:expr,)* })*) => {
        $($(#[$doc])* pub static $constant: Table = Table {
            name: $name,
            columns: &[$($column),*],
            sort: &[$($sort),*],
        };)*
        /// All tables.
        pub static ALL: &[&Table] = &[$(&$constant),*];
    };
}

tables! {
    /// One row: the file.
    RUN = "run" sorted by [] {
        column("file", Text),
        column("format", Text),
        column("file_bytes", Repeated),
        nullable("created_ms", Repeated),
        column("section", Small),
        column("sections", Small),
        nullable("note", Text),
        column("export_version", Small),
    }
    /// The user's labels of the run.
    LABEL = "label" sorted by [] {
        column("name", Text),
        column("value", Text),
    }
    /// Threads.
    THREAD = "thread" sorted by ["thread_id"] {
        column("thread_id", Distinct),
        nullable("name", Text),
        nullable("pool", Text),
        nullable("thread_group", Text),
        nullable("parent_group", Text),
        nullable("object_id", Distinct),
        nullable("trace_id", Repeated),
        nullable("last_name", Text),
    }
    /// Classes.
    CLASS = "class" sorted by ["class_id"] {
        column("class_id", Distinct),
        column("name", Text),
        column("full_name", Text),
        nullable("trace_id", Repeated),
        nullable("object_id", Distinct),
        nullable("super_class_id", Repeated),
        nullable("loader_id", Repeated),
        nullable("instance_bytes", Repeated),
    }
    /// Methods and positions in them.
    FRAME = "frame" sorted by ["frame_id"] {
        column("frame_id", Distinct),
        nullable("class_id", Repeated),
        column("class_name", Text),
        column("method", Text),
        nullable("signature", Text),
        nullable("source_file", Text),
        nullable("line", Small),
        column("kind", Text),
    }
    /// Stacks.
    TRACE = "trace" sorted by ["trace_id"] {
        column("trace_id", Distinct),
        nullable("thread_id", Repeated),
        column("depth", Small),
        column("stack", Text),
        column("stack_hash", Distinct),
        nullable("frame_id", Repeated),
        nullable("host", Text),
        nullable("file", Text),
    }
    /// The frames of stacks.
    TRACE_FRAME = "trace_frame" sorted by ["trace_id", "position"] {
        column("trace_id", Repeated),
        column("position", Small),
        column("frame_id", Repeated),
    }
    /// CPU SAMPLES.
    CPU_SAMPLE = "cpu_sample" sorted by ["trace_id"] {
        column("trace_id", Distinct),
        column("samples", Repeated),
        nullable("cpu_ns", Repeated),
    }
    /// WALL SAMPLES.
    WALL_SAMPLE = "wall_sample" sorted by ["trace_id"] {
        column("trace_id", Distinct),
        column("samples", Repeated),
        column("wall_ns", Repeated),
    }
    /// LOCK WAITS.
    LOCK_WAIT = "lock_wait" sorted by ["class_id", "trace_id"] {
        column("trace_id", Distinct),
        nullable("class_id", Repeated),
        nullable("identity", Repeated),
        nullable("holder_trace_id", Repeated),
        column("samples", Repeated),
        column("wait_ns", Repeated),
    }
    /// CPU TIME, and the old prof format.
    CALL_TIME = "call_time" sorted by ["trace_id"] {
        column("trace_id", Distinct),
        column("calls", Repeated),
        nullable("self_ns", Distinct),
        nullable("inclusive_ns", Distinct),
    }
    /// ALLOC SITES.
    ALLOC_SITE = "alloc_site" sorted by ["class_id", "trace_id"] {
        column("trace_id", Distinct),
        nullable("class_id", Repeated),
        column("alloc_bytes", Repeated),
        column("alloc_objects", Repeated),
        column("live_bytes", Repeated),
        column("live_objects", Repeated),
    }
    /// SITE LIFETIMES.
    SITE_LIFETIME = "site_lifetime" sorted by ["class_id", "trace_id"] {
        nullable("trace_id", Repeated),
        nullable("class_id", Repeated),
        column("state", Text),
        nullable("survived", Text),
        nullable("age", Text),
        column("bytes", Repeated),
        column("objects", Repeated),
    }
    /// LIVE COURSE.
    LIVE_COURSE = "live_course" sorted by ["class_id", "trace_id", "time_ms"] {
        nullable("trace_id", Repeated),
        nullable("class_id", Repeated),
        column("time_ms", Distinct),
        column("collections", Counted),
        column("most_bytes", Repeated),
        column("fewest_objects", Repeated),
        column("alloc_bytes", Repeated),
        column("alloc_objects", Repeated),
    }
    /// MONITOR TIME.
    MONITOR = "monitor" sorted by ["class_id", "trace_id"] {
        column("trace_id", Distinct),
        nullable("class_id", Repeated),
        column("contended_ns", Distinct),
        column("contentions", Repeated),
    }
    /// The objects of a heap dump.
    OBJECT = "object" sorted by ["object_id"] {
        column("object_id", Distinct),
        column("class_id", Repeated),
        column("trace_id", Repeated),
        column("shallow_bytes", Repeated),
        nullable("length", Small),
        nullable("retained_bytes", Repeated),
        nullable("dominator_id", Distinct),
        nullable("born_from_ms", Repeated),
        nullable("born_to_ms", Repeated),
    }
    /// The references between objects.
    REFERENCE = "reference" sorted by ["from_id"] {
        column("from_id", Distinct),
        column("to_id", Distinct),
        nullable("field_id", Small),
        nullable("element", Counted),
    }
    /// The fields of instances and classes, with references and values.
    FIELD = "field" sorted by ["field_id"] {
        column("field_id", Counted),
        nullable("class_id", Repeated),
        column("name", Text),
        column("type", Text),
        column("is_static", Flag),
    }
    /// The values of fields that are not references.
    VALUE = "value" sorted by ["object_id"] {
        column("object_id", Distinct),
        column("field_id", Small),
        nullable("number", Repeated),
        nullable("real", Real),
    }
    /// The texts of strings.
    STRING = "string" sorted by ["object_id"] {
        column("object_id", Distinct),
        column("length", Small),
        column("text", Text),
    }
    /// The roots that keep objects alive.
    ROOT = "root" sorted by ["object_id"] {
        column("object_id", Distinct),
        column("kind", Text),
        nullable("thread_id", Repeated),
        nullable("position", Small),
    }
}
