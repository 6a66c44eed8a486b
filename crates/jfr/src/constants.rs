//! The numbers and names of the format, each with the place that defines it.
//!
//! The format has no specification of its own. It is what the JDK's writer writes and its reader reads; the names of
//! files here are those of OpenJDK 25's sources, `jfr` for `src/hotspot/share/jfr` and `jdk.jfr` for
//! `src/jdk.jfr/share/classes/jdk/jfr`.

/// The first bytes of a chunk: `MAGIC` of `jfr/recorder/repository/jfrChunk.cpp`, checked by
/// `jdk.jfr/internal/consumer/ChunkHeader.java`.
pub const MAGIC: [u8; 4] = *b"FLR\0";
/// The version that is written: `JFR_VERSION_MAJOR` and `JFR_VERSION_MINOR` of `jfr/recorder/repository/jfrChunk.cpp`
/// (2.1 since JDK 14; 2.0 in 11).
pub(crate) const VERSION: (u16, u16) = (2, 1);
/// The major versions that are read: those that `ChunkHeader.java` accepts.
pub(crate) const MAJOR_VERSIONS: [u16; 2] = [1, 2];
/// The length of a chunk's header: `HEADER_SIZE` of `ChunkHeader.java`. The first event follows it.
pub(crate) const HEADER_SIZE: usize = 68;
/// In the header's last field: integers are written with a variable length (`COMPRESSED_INTEGERS` of
/// `jfr/recorder/repository/jfrChunkWriter.cpp`).
pub(crate) const COMPRESSED: u32 = 1;
/// In the header's last field: no chunk follows (`MASK_FINAL_CHUNK` of `ChunkHeader.java`).
pub(crate) const FINAL: u32 = 1 << 1;

/// The type of the event that describes all others: `EVENT_METADATA` of `jfr/metadata/jfrSerializer.hpp`,
/// `METADATA_TYPE_ID` of `ChunkHeader.java`.
pub(crate) const METADATA: u64 = 0;
/// The type of the event that holds constants: `EVENT_CHECKPOINT`, `CONSTANT_POOL_TYPE_ID` of `ChunkParser.java`.
pub(crate) const CHECKPOINT: u64 = 1;
/// The kind of a checkpoint that says nothing about it: `GENERIC` of
/// `jfr/recorder/checkpoint/jfrCheckpointBlob.hpp`'s `JfrCheckpointMode`.
pub(crate) const GENERIC_CHECKPOINT: u8 = 0;

/// The encodings of a text: `StringParser.java`'s `Encoding`, and `StringEncoding` of
/// `jfr/writers/jfrEncoding.hpp`.
pub(crate) mod text {
    /// No text.
    pub(crate) const NULL: u8 = 0;
    /// The text without characters.
    pub(crate) const EMPTY: u8 = 1;
    /// The key of a constant.
    pub(crate) const CONSTANT: u8 = 2;
    /// A length in bytes and UTF-8.
    pub(crate) const UTF8: u8 = 3;
    /// A number of characters, each an integer.
    pub(crate) const CHARS: u8 = 4;
    /// A length in bytes and Latin-1.
    pub(crate) const LATIN1: u8 = 5;
}

/// The names of elements and attributes in the metadata event: `jdk.jfr/internal/MetadataDescriptor.java`.
pub(crate) mod element {
    pub(crate) const ROOT: &str = "root";
    pub(crate) const METADATA: &str = "metadata";
    pub(crate) const REGION: &str = "region";
    pub(crate) const LOCALE: &str = "locale";
    pub(crate) const GMT_OFFSET: &str = "gmtOffset";
    pub(crate) const CLASS: &str = "class";
    pub(crate) const FIELD: &str = "field";
    pub(crate) const ANNOTATION: &str = "annotation";
    pub(crate) const NAME: &str = "name";
    pub(crate) const ID: &str = "id";
    pub(crate) const SUPER_TYPE: &str = "superType";
    pub(crate) const SIMPLE_TYPE: &str = "simpleType";
    pub(crate) const DIMENSION: &str = "dimension";
    pub(crate) const CONSTANT_POOL: &str = "constantPool";
    /// The only value of an attribute that is a mark.
    pub(crate) const TRUE: &str = "true";
    /// The only number of dimensions that a field has: `MetadataDescriptor.java` knows no other.
    pub(crate) const ONE: &str = "1";
    /// The name of an annotation's only value: `value()` of the interfaces in `jdk.jfr`.
    pub(crate) const VALUE: &str = "value";
}

/// The names of types: `jdk.jfr/internal/Type.java`, and the types of `jfr/metadata/metadata.xml`.
pub(crate) mod types {
    /// Of events: `SUPER_TYPE_EVENT`.
    pub(crate) const EVENT: &str = "jdk.jfr.Event";
    /// Of annotations: `SUPER_TYPE_ANNOTATION`.
    pub(crate) const ANNOTATION: &str = "java.lang.annotation.Annotation";
    pub(crate) const BOOLEAN: &str = "boolean";
    pub(crate) const CHAR: &str = "char";
    pub(crate) const FLOAT: &str = "float";
    pub(crate) const DOUBLE: &str = "double";
    pub(crate) const BYTE: &str = "byte";
    pub(crate) const SHORT: &str = "short";
    pub(crate) const INT: &str = "int";
    pub(crate) const LONG: &str = "long";
    pub(crate) const STRING: &str = "java.lang.String";
    pub(crate) const THREAD: &str = "java.lang.Thread";
    pub(crate) const THREAD_GROUP: &str = "jdk.types.ThreadGroup";
    pub(crate) const CLASS: &str = "java.lang.Class";
    pub(crate) const CLASS_LOADER: &str = "jdk.types.ClassLoader";
    pub(crate) const PACKAGE: &str = "jdk.types.Package";
    pub(crate) const MODULE: &str = "jdk.types.Module";
    pub(crate) const SYMBOL: &str = "jdk.types.Symbol";
    pub(crate) const METHOD: &str = "jdk.types.Method";
    pub(crate) const STACK_TRACE: &str = "jdk.types.StackTrace";
    pub(crate) const STACK_FRAME: &str = "jdk.types.StackFrame";
    pub(crate) const FRAME_TYPE: &str = "jdk.types.FrameType";
    pub(crate) const THREAD_STATE: &str = "jdk.types.ThreadState";
}

/// The annotations that are written, from the package `jdk.jfr`.
pub(crate) mod annotations {
    pub(crate) const LABEL: &str = "jdk.jfr.Label";
    pub(crate) const DESCRIPTION: &str = "jdk.jfr.Description";
    pub(crate) const CATEGORY: &str = "jdk.jfr.Category";
    pub(crate) const TIMESTAMP: &str = "jdk.jfr.Timestamp";
    pub(crate) const TIMESPAN: &str = "jdk.jfr.Timespan";
    pub(crate) const DATA_AMOUNT: &str = "jdk.jfr.DataAmount";
    /// Marks the three before it as what gives a number its unit.
    pub(crate) const CONTENT_TYPE: &str = "jdk.jfr.ContentType";
    /// `Timespan.TICKS`, `Timestamp.TICKS`.
    pub(crate) const TICKS: &str = "TICKS";
    /// `Timespan.NANOSECONDS`.
    pub(crate) const NANOSECONDS: &str = "NANOSECONDS";
    /// `Timestamp.MILLISECONDS_SINCE_EPOCH`.
    pub(crate) const MILLISECONDS_SINCE_EPOCH: &str = "MILLISECONDS_SINCE_EPOCH";
    /// `DataAmount.BYTES`.
    pub(crate) const BYTES: &str = "BYTES";
}

/// The fields that every event may have: `jdk.jfr/internal/EventInstrumentation.java` and `Type.java`. The JDK's reader
/// takes the first for the time, and the second, if it has this name, for the duration.
pub(crate) mod fields {
    pub(crate) const START_TIME: &str = "startTime";
    pub(crate) const DURATION: &str = "duration";
    pub(crate) const EVENT_THREAD: &str = "eventThread";
    pub(crate) const STACK_TRACE: &str = "stackTrace";
}

/// The number of bytes with seven bits of an integer; the one after them has eight: `readLong` of
/// `jdk.jfr/internal/consumer/RecordingInput.java`, `Varint128EncoderImpl` of `jfr/writers/jfrEncoders.hpp`.
pub(crate) const SEVEN_BIT_BYTES: usize = 8;
