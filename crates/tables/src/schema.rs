//! The tables, as data. docs/reference/table-columns.md is made of them.

/// A table. Every table has `run_id` as its first column, which is not listed here.
#[derive(Debug)]
pub struct Table {
    /// Its name, which is also that of its folder.
    pub name: &'static str,
    /// What its rows are, and their key.
    pub about: &'static str,
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
    /// What its values mean, in Markdown.
    pub meaning: &'static str,
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

const fn column(name: &'static str, kind: Kind, meaning: &'static str) -> Column {
    Column {
        name,
        kind,
        nullable: false,
        meaning,
    }
}

const fn nullable(name: &'static str, kind: Kind, meaning: &'static str) -> Column {
    Column {
        name,
        kind,
        nullable: true,
        meaning,
    }
}

/// Defines the tables and the list of all.
macro_rules! tables {
    ($($(#[$doc:meta])* $constant:ident = $name:literal sorted by [$($sort:literal),*] $about:literal { $($column:expr,)* })*) => {
        $($(#[$doc])* pub static $constant: Table = Table {
            name: $name,
            about: $about,
            columns: &[$($column),*],
            sort: &[$($sort),*],
        };)*
        /// All tables.
        pub static ALL: &[&Table] = &[$(&$constant),*];
    };
}

tables! {
    /// One row: the file.
    RUN = "run" sorted by []
        "One row for each input." {
        column("file", Text, "the input's name, as it was given"),
        column("format", Text, "`1.0.1`, `1.0.2` or `1.0.3` for the binary format, `text`"),
        column("file_bytes", Repeated, "its bytes, decompressed"),
        nullable("created_ms", Repeated, "when the run began, in milliseconds since 1970 UTC"),
        column("section", Small, "which dump of the run's values, from 1; 0 where there is none"),
        column("sections", Small, "how many it has"),
        nullable("note", Text, "the input's notes, one line each; for example that numbers are estimates"),
        column("export_version", Small, "1; it is increased when a column changes its meaning or is removed"),
    }
    /// The user's labels of the run.
    LABEL = "label" sorted by []
        "One row for each `--label`; the key is `run_id`, `name`." {
        column("name", Text, "`host`, `build`, ..."),
        column("value", Text, "its value"),
    }
    /// Threads.
    THREAD = "thread" sorted by ["thread_id"]
        "Threads; the key is `run_id`, `thread_id`. A heap dump of the VM's own names no threads: `name` is null." {
        column("thread_id", Distinct, "its serial number"),
        nullable("name", Text, "its name, the first one if it was renamed"),
        nullable("pool", Text, "the name with each number as `#`: what the threads of a pool have in common"),
        nullable("thread_group", Text, "the name of its group"),
        nullable("parent_group", Text, "the name of the group above"),
        nullable("object_id", Distinct, "its object"),
        nullable("trace_id", Repeated, "where it was started"),
        nullable("last_name", Text, "the name that it had last; null if it was not renamed"),
    }
    /// Classes.
    CLASS = "class" sorted by ["class_id"]
        "Classes; the key is `run_id`, `class_id`." {
        column("class_id", Distinct, "its serial number"),
        column("name", Text, "its name as Java source has it, the same in every run"),
        column("full_name", Text, "the same with the number or address of a hidden class"),
        nullable("trace_id", Repeated, "where it was loaded"),
        nullable("object_id", Distinct, "its object"),
        nullable("super_class_id", Repeated, "its superclass; known only from a heap dump, like the columns below"),
        nullable("loader_id", Repeated, "the object of its loader, 0 for the boot loader"),
        nullable("instance_bytes", Repeated, "the size of an instance in the VM; null for arrays"),
    }
    /// Methods and positions in them.
    FRAME = "frame" sorted by ["frame_id"]
        "A method with a line; the key is `run_id`, `frame_id`." {
        column("frame_id", Distinct, "its number"),
        nullable("class_id", Repeated, "the method's class"),
        column("class_name", Text, "its name, as in `class.name`"),
        column("method", Text, "the method"),
        nullable("signature", Text, "its signature, `(I)V`; the text format has none"),
        nullable("source_file", Text, "the source file"),
        nullable("line", Small, "the line"),
        column("kind", Text, "`java`, `native`, `compiled` (nothing more is known), or `marker` for what is not a method"),
    }
    /// Stacks.
    TRACE = "trace" sorted by ["trace_id"]
        "Stacks; the key is `run_id`, `trace_id`." {
        column("trace_id", Distinct, "its serial number"),
        nullable("thread_id", Repeated, "the thread; null where all threads share stacks (`thread=n`)"),
        column("depth", Small, "how many frames it has"),
        column("stack", Text, "`Class.method` of all frames, outermost first, `;` between them: what `export --to collapsed` writes"),
        column("stack_hash", Distinct, "XXH3-64 of `stack`"),
        nullable("frame_id", Repeated, "the innermost frame"),
        nullable("host", Text, "the label that `hprof merge --label` put there, or that of `--label host=`"),
        nullable("file", Text, "the same for `--label file` of `hprof merge`"),
    }
    /// The frames of stacks.
    TRACE_FRAME = "trace_frame" sorted by ["trace_id", "position"]
        "The frames of the stacks; the key is `run_id`, `trace_id`, `position`." {
        column("trace_id", Repeated, "the stack"),
        column("position", Small, "0 for the innermost frame"),
        column("frame_id", Repeated, "the frame"),
    }
    /// CPU SAMPLES.
    CPU_SAMPLE = "cpu_sample" sorted by ["trace_id"]
        "`cpu=samples`; the key is `run_id`, `trace_id`." {
        column("trace_id", Distinct, "the stack"),
        column("samples", Repeated, "how often it was seen"),
        nullable("cpu_ns", Repeated, "the CPU time that these samples stand for; null if the file does not say it"),
    }
    /// WALL SAMPLES.
    WALL_SAMPLE = "wall_sample" sorted by ["trace_id"]
        "`wall=y`; the key is `run_id`, `trace_id`. The innermost frame of a stack is the thread's state." {
        column("trace_id", Distinct, "the stack"),
        column("samples", Repeated, "how often it was seen"),
        column("wall_ns", Repeated, "the time that these samples stand for"),
    }
    /// LOCK WAITS.
    LOCK_WAIT = "lock_wait" sorted by ["class_id", "trace_id"]
        "`monitor=y`: who waited for which lock, and who held it then." {
        column("trace_id", Distinct, "the stack of the waiting threads"),
        nullable("class_id", Repeated, "the class of the lock"),
        nullable("identity", Repeated, "the identity hash code of the lock; null for locks that are not distinguished"),
        nullable("holder_trace_id", Repeated, "the stack of the thread that held it; null if it is not known"),
        column("samples", Repeated, "how often this was seen"),
        column("wait_ns", Repeated, "the time that these samples stand for"),
    }
    /// SAMPLE TIMES.
    SAMPLE_TIME = "sample_time" sorted by ["trace_id", "begin_ms"]
        "When the samples of binary files were taken (`cpu=samples`, `wall=`, `monitor=y`): a row for each stack and each step of time in which it was seen." {
        column("of", Text, "the table with the sums: `cpu_sample`, `wall_sample` or `lock_wait`"),
        column("trace_id", Repeated, "as there"),
        nullable("class_id", Repeated, "as in `lock_wait`"),
        nullable("identity", Repeated, "as in `lock_wait`"),
        nullable("holder_trace_id", Repeated, "as in `lock_wait`"),
        column("begin_ms", Repeated, "when the step begins, in milliseconds since 1970 UTC"),
        column("step_s", Real, "the length of the step in seconds, the same in all rows of a run and an `of`"),
        column("samples", Repeated, "how often the stack was seen in it"),
        column("time_ns", Repeated, "the time that these samples stand for"),
    }
    /// CPU TIME, and the old prof format.
    CALL_TIME = "call_time" sorted by ["trace_id"]
        "`cpu=times` and `cpu=old`; the key is `run_id`, `trace_id`. The text format rounds times to milliseconds." {
        column("trace_id", Distinct, "the stack; for `cpu=old` the called method and its caller"),
        column("calls", Repeated, "calls of the innermost method"),
        nullable("self_ns", Distinct, "time in that method itself; null for `cpu=old`"),
        nullable("inclusive_ns", Distinct, "time until it returned; null except for `cpu=old`"),
    }
    /// ALLOC SITES.
    ALLOC_SITE = "alloc_site" sorted by ["class_id", "trace_id"]
        "`heap=sites`; the key is `run_id`, `trace_id`, `class_id`." {
        column("trace_id", Distinct, "the stack that allocates"),
        nullable("class_id", Repeated, "the class of the objects"),
        column("alloc_bytes", Repeated, "bytes allocated, dead objects included"),
        column("alloc_objects", Repeated, "objects allocated"),
        column("live_bytes", Repeated, "bytes that are alive"),
        column("live_objects", Repeated, "objects that are alive"),
    }
    /// SITE LIFETIMES.
    SITE_LIFETIME = "site_lifetime" sorted by ["class_id", "trace_id"]
        "`heap=sites,lifetimes=y`: how long objects lived. Sums over all sites have null in `trace_id` and `class_id`." {
        nullable("trace_id", Repeated, "the stack that allocates"),
        nullable("class_id", Repeated, "the class of the objects"),
        column("state", Text, "`dead`, `live`, `before`, `any` or `peak`"),
        nullable("survived", Text, "collections survived, such as `3-4` or `0..2`"),
        nullable("age", Text, "age of live objects, such as `<10s` or `<1s..<10s`"),
        column("bytes", Repeated, "bytes"),
        column("objects", Repeated, "objects"),
    }
    /// LIVE COURSE.
    LIVE_COURSE = "live_course" sorted by ["class_id", "trace_id", "time_ms"]
        "`heap=sites,lifetimes=y`: what was alive over time. Sums over all sites have null in `trace_id` and `class_id`." {
        nullable("trace_id", Repeated, "the stack that allocates"),
        nullable("class_id", Repeated, "the class of the objects"),
        column("time_ms", Distinct, "time of the last look in the step, since the profile began"),
        column("collections", Counted, "collections by then"),
        column("most_bytes", Repeated, "the most bytes that a look in the step found alive"),
        column("fewest_objects", Repeated, "the fewest objects that a look in the step found alive"),
        column("alloc_bytes", Repeated, "bytes allocated by the last look"),
        column("alloc_objects", Repeated, "objects allocated by then"),
    }
    /// NATIVE SITES.
    NATIVE_SITE = "native_site" sorted by ["trace_id"]
        "`native=malloc`: memory of native code, estimated from samples; the key is `run_id`, `trace_id`." {
        column("trace_id", Distinct, "the stack that allocates"),
        column("native_live_bytes", Repeated, "bytes that are not freed"),
        column("native_live_blocks", Repeated, "blocks that are not freed"),
        nullable("native_live_error", Repeated, "the standard error of `native_live_bytes`; null if the file does not say it"),
        column("old_s", Small, "the age from which on a block is old, in seconds"),
        column("native_old_bytes", Repeated, "bytes of blocks that are not freed and old"),
        column("native_old_blocks", Repeated, "such blocks"),
        column("native_bytes", Repeated, "bytes allocated, those that are freed included"),
        column("native_blocks", Repeated, "blocks allocated"),
    }
    /// MONITOR TIME.
    MONITOR = "monitor" sorted by ["class_id", "trace_id"]
        "`monitor=y`; the key is `run_id`, `trace_id`, `class_id`." {
        column("trace_id", Distinct, "the stack that waits"),
        nullable("class_id", Repeated, "the class of the monitor"),
        column("contended_ns", Distinct, "time until the monitor was entered"),
        column("contentions", Repeated, "how often a thread had to wait for it"),
    }
    /// The objects of a heap dump.
    OBJECT = "object" sorted by ["object_id"]
        "The objects of a heap dump, class objects among them; the key is `run_id`, `object_id`." {
        column("object_id", Distinct, "its id: its address"),
        column("class_id", Repeated, "its class"),
        column("trace_id", Repeated, "the stack that allocated it; 0 or a stack without frames where that is not known"),
        column("shallow_bytes", Repeated, "its own size in the VM"),
        nullable("length", Small, "elements of an array; null for others"),
        nullable("retained_bytes", Repeated, "what would be freed without it; null without `--retained` and if no root reaches it"),
        nullable("dominator_id", Distinct, "its immediate dominator; null as above, and if only several roots together keep it"),
        nullable("born_from_ms", Repeated, "it was made at this time since the profile began or later; null without a births file, and where that does not have the object"),
        nullable("born_to_ms", Repeated, "and at this time or before"),
    }
    /// The references between objects.
    REFERENCE = "reference" sorted by ["from_id"]
        "The references between them; null ones have no row. An object's class is `object.class_id`." {
        column("from_id", Distinct, "the object that refers"),
        column("to_id", Distinct, "the object it refers to"),
        nullable("field_id", Small, "through which field; null for elements of arrays"),
        nullable("element", Counted, "through which element; null for fields"),
    }
    /// The fields of instances and classes, with references and values.
    FIELD = "field" sorted by ["field_id"]
        "Fields; the key is `run_id`, `field_id`." {
        column("field_id", Counted, "made here, from 0 on"),
        nullable("class_id", Repeated, "the class that declares it; null for what every class object refers to: `<superclass>`, `<class loader>`, `<signers>`, `<protection domain>`, `<constant>`"),
        column("name", Text, "its name"),
        column("type", Text, "`int`, `boolean`, ...; `java.lang.Object` for every reference"),
        column("is_static", Flag, "whether it belongs to the class object"),
    }
    /// The values of fields that are not references.
    VALUE = "value" sorted by ["object_id"]
        "The values of fields that are not references; only with `--values`." {
        column("object_id", Distinct, "the object, or the class object of a static field"),
        column("field_id", Small, "the field, with its type in `field.type`"),
        nullable("number", Repeated, "its value: `boolean` as 0 or 1, `char` as its code; null for `float` and `double`"),
        nullable("real", Real, "its value, if it is `float` or `double`"),
    }
    /// The texts of strings.
    STRING = "string" sorted by ["object_id"]
        "The texts of instances of `java.lang.String`; only with `--values`." {
        column("object_id", Distinct, "the string"),
        column("length", Small, "its length, as `String.length()`"),
        column("text", Text, "its text, of which more than 10,000 characters are cut; half of a surrogate pair is U+FFFD"),
    }
    /// The roots that keep objects alive.
    ROOT = "root" sorted by ["object_id"]
        "What keeps objects alive from outside; an object may have several rows." {
        column("object_id", Distinct, "the object"),
        column("kind", Text, "`sticky class`, `java frame`, `jni global`, `thread object`, ..."),
        nullable("thread_id", Repeated, "the thread it belongs to"),
        nullable("position", Small, "the frame in the thread's stack, 0 the innermost"),
    }
}
