//! The records in a heap dump: roots, classes, objects and arrays, as data and as bytes.
//!
//! Tags, field order and widths are those of the binary format's specification ("HPROF Agent", HEAP DUMP).

mod records;

use std::borrow::Cow;

pub(crate) use records::{Extent, decode};
pub use records::{HeapError, HeapRecords, RawHeapRecord};

use crate::bytes::saturated;
use crate::kind::HeapKind;
use crate::record::BasicType;
use crate::record::{ObjectId, StringId, ThreadSerial, TraceSerial};

/// A record of a heap dump.
#[derive(Clone, Debug, PartialEq)]
pub enum HeapRecord<'a> {
    /// Something that keeps an object alive.
    Root {
        /// The object.
        object: ObjectId,
        /// The reason it is alive.
        root: Root,
    },
    /// 0x20.
    Class(ClassDump<'a>),
    /// 0x21.
    Instance {
        /// The object.
        object: ObjectId,
        /// The trace that allocated it.
        trace: TraceSerial,
        /// Its class.
        class: ObjectId,
        /// The values of its fields, those of its class first, then its superclass's, and so on; big-endian, ids in the
        /// file's id size.
        fields: &'a [u8],
    },
    /// 0x22.
    ObjectArray {
        /// The array.
        object: ObjectId,
        /// The trace that allocated it.
        trace: TraceSerial,
        /// The array's class (not its elements').
        class: ObjectId,
        /// The ids of its elements, big-endian, in the file's id size.
        elements: &'a [u8],
    },
    /// 0x23.
    PrimitiveArray {
        /// The array.
        object: ObjectId,
        /// The trace that allocated it.
        trace: TraceSerial,
        /// The type of its elements; never [`BasicType::Object`].
        element: BasicType,
        /// Its elements, big-endian.
        elements: &'a [u8],
    },
    /// 0xC3, Android's; the agent never writes one.
    PrimitiveArrayWithoutData {
        /// The array.
        object: ObjectId,
        /// The trace that allocated it.
        trace: TraceSerial,
        /// The type of its elements; never [`BasicType::Object`].
        element: BasicType,
        /// The number of its elements.
        length: u32,
    },
    /// 0xFE, Android's: the following objects belong to this heap. The agent never writes one.
    HeapInfo {
        /// The heap's number.
        heap: u32,
        /// Its name.
        name: StringId,
    },
}

/// The reason an object is alive. The agent writes those with tags up to 0x08, and 0xFF; the others are Android's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Root {
    /// 0xFF.
    Unknown,
    /// 0x01, a global reference of native code.
    JniGlobal {
        /// The reference.
        reference: u64,
    },
    /// 0x02, a local reference of native code.
    JniLocal {
        /// The thread.
        thread: ThreadSerial,
        /// The frame's position in the thread's trace, 0 for the innermost, -1 if unknown.
        frame: i32,
    },
    /// 0x03, a local variable of a Java method.
    JavaFrame {
        /// The thread.
        thread: ThreadSerial,
        /// The frame's position in the thread's trace, 0 for the innermost, -1 if unknown.
        frame: i32,
    },
    /// 0x04.
    NativeStack {
        /// The thread.
        thread: ThreadSerial,
    },
    /// 0x05, a class of the system.
    StickyClass,
    /// 0x06.
    ThreadBlock {
        /// The thread.
        thread: ThreadSerial,
    },
    /// 0x07, a monitor that a thread owns.
    MonitorUsed,
    /// 0x08, a thread that is alive.
    Thread {
        /// The thread.
        thread: ThreadSerial,
        /// Its stack.
        trace: TraceSerial,
    },
    /// 0x89, a string literal.
    InternedString,
    /// 0x8A, an object that waits for its finalizer.
    Finalizing,
    /// 0x8B, an object that a debugger holds.
    Debugger,
    /// 0x8C, an object that is being cleaned up after its reference was cleared.
    ReferenceCleanup,
    /// 0x8D, an object that the VM holds.
    VmInternal,
    /// 0x8E, a monitor that native code holds.
    JniMonitor {
        /// The thread.
        thread: ThreadSerial,
        /// The frame's position in the thread's trace, 0 for the innermost, -1 if unknown.
        frame: i32,
    },
    /// 0x90, an object that nothing keeps alive.
    Unreachable,
}

impl Root {
    /// Returns the kind of the record.
    #[must_use]
    pub fn kind(self) -> HeapKind {
        match self {
            Root::Unknown => HeapKind::RootUnknown,
            Root::JniGlobal { .. } => HeapKind::RootJniGlobal,
            Root::JniLocal { .. } => HeapKind::RootJniLocal,
            Root::JavaFrame { .. } => HeapKind::RootJavaFrame,
            Root::NativeStack { .. } => HeapKind::RootNativeStack,
            Root::StickyClass => HeapKind::RootStickyClass,
            Root::ThreadBlock { .. } => HeapKind::RootThreadBlock,
            Root::MonitorUsed => HeapKind::RootMonitorUsed,
            Root::Thread { .. } => HeapKind::RootThread,
            Root::InternedString => HeapKind::RootInternedString,
            Root::Finalizing => HeapKind::RootFinalizing,
            Root::Debugger => HeapKind::RootDebugger,
            Root::ReferenceCleanup => HeapKind::RootReferenceCleanup,
            Root::VmInternal => HeapKind::RootVmInternal,
            Root::JniMonitor { .. } => HeapKind::RootJniMonitor,
            Root::Unreachable => HeapKind::RootUnreachable,
        }
    }
}

/// A class, its statics and the layout of its instances.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClassDump<'a> {
    /// The `java.lang.Class` object.
    pub class: ObjectId,
    /// The trace that loaded it.
    pub trace: TraceSerial,
    /// 0 for `java.lang.Object`, interfaces and primitive types.
    pub super_class: ObjectId,
    /// Its class loader, 0 for the boot loader.
    pub loader: ObjectId,
    /// Its signers, or 0.
    pub signers: ObjectId,
    /// Its protection domain, or 0.
    pub protection_domain: ObjectId,
    /// The size of an instance's field values, including those of superclasses, in bytes; 0 for arrays.
    pub instance_size: u32,
    /// Constant pool entries that hold objects, by index.
    pub constants: Cow<'a, [(u16, Value)]>,
    /// Static fields with their values.
    pub statics: Cow<'a, [(StringId, Value)]>,
    /// Instance fields that this class declares, in the order in which instances hold them.
    pub fields: Cow<'a, [(StringId, BasicType)]>,
}

/// A typed value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A reference, 0 for null.
    Object(ObjectId),
    /// A `boolean`.
    Boolean(bool),
    /// A `char`, a UTF-16 unit.
    Char(u16),
    /// A `float`.
    Float(f32),
    /// A `double`.
    Double(f64),
    /// A `byte`.
    Byte(i8),
    /// A `short`.
    Short(i16),
    /// An `int`.
    Int(i32),
    /// A `long`.
    Long(i64),
}

impl HeapRecord<'_> {
    /// Returns the record's kind.
    #[must_use]
    pub fn kind(&self) -> HeapKind {
        match self {
            HeapRecord::Root { root, .. } => root.kind(),
            HeapRecord::Class(_) => HeapKind::Class,
            HeapRecord::Instance { .. } => HeapKind::Instance,
            HeapRecord::ObjectArray { .. } => HeapKind::ObjectArray,
            HeapRecord::PrimitiveArray { .. } => HeapKind::PrimitiveArray,
            HeapRecord::PrimitiveArrayWithoutData { .. } => HeapKind::PrimitiveArrayWithoutData,
            HeapRecord::HeapInfo { .. } => HeapKind::HeapInfo,
        }
    }

    /// Appends the record in the binary format, with ids of 8 bytes.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.push(self.kind().tag());
        match *self {
            HeapRecord::Root { object, root } => write_root(out, object, root),
            HeapRecord::Class(ref class) => write_class(out, class),
            HeapRecord::Instance {
                object,
                trace,
                class,
                fields,
            } => {
                put(out, object.0.to_be_bytes());
                put(out, trace.0.to_be_bytes());
                put(out, class.0.to_be_bytes());
                put(out, saturated(fields.len()).to_be_bytes());
                out.extend_from_slice(fields);
            }
            HeapRecord::ObjectArray {
                object,
                trace,
                class,
                elements,
            } => {
                put(out, object.0.to_be_bytes());
                put(out, trace.0.to_be_bytes());
                put(out, saturated(elements.len() / 8).to_be_bytes());
                put(out, class.0.to_be_bytes());
                out.extend_from_slice(elements);
            }
            HeapRecord::PrimitiveArray {
                object,
                trace,
                element,
                elements,
            } => {
                let length = saturated(elements.len() / element.size(8));
                write_primitive_array(out, object, trace, length, element);
                out.extend_from_slice(elements);
            }
            HeapRecord::PrimitiveArrayWithoutData {
                object,
                trace,
                element,
                length,
            } => write_primitive_array(out, object, trace, length, element),
            HeapRecord::HeapInfo { heap, name } => {
                put(out, heap.to_be_bytes());
                put(out, name.0.to_be_bytes());
            }
        }
    }
}

impl BasicType {
    /// Returns the size of a value of this type, in bytes, with ids of `id_size` bytes.
    #[must_use]
    pub fn size(self, id_size: usize) -> usize {
        match self {
            BasicType::Object => id_size,
            BasicType::Boolean | BasicType::Byte => 1,
            BasicType::Char | BasicType::Short => 2,
            BasicType::Float | BasicType::Int => 4,
            BasicType::Double | BasicType::Long => 8,
        }
    }
}

impl Value {
    /// Returns the object that it refers to, 0 for null; `None` if it is not a reference.
    #[must_use]
    pub fn object(self) -> Option<u64> {
        match self {
            Value::Object(object) => Some(object.0),
            _ => None,
        }
    }

    /// Returns the value's type.
    #[must_use]
    pub fn basic_type(self) -> BasicType {
        match self {
            Value::Object(_) => BasicType::Object,
            Value::Boolean(_) => BasicType::Boolean,
            Value::Char(_) => BasicType::Char,
            Value::Float(_) => BasicType::Float,
            Value::Double(_) => BasicType::Double,
            Value::Byte(_) => BasicType::Byte,
            Value::Short(_) => BasicType::Short,
            Value::Int(_) => BasicType::Int,
            Value::Long(_) => BasicType::Long,
        }
    }

    /// Appends the value, big-endian, ids as 8 bytes.
    pub fn write(self, out: &mut Vec<u8>) {
        match self {
            Value::Object(object) => put(out, object.0.to_be_bytes()),
            Value::Boolean(value) => put(out, [u8::from(value)]),
            Value::Char(value) => put(out, value.to_be_bytes()),
            Value::Float(value) => put(out, value.to_be_bytes()),
            Value::Double(value) => put(out, value.to_be_bytes()),
            Value::Byte(value) => put(out, value.to_be_bytes()),
            Value::Short(value) => put(out, value.to_be_bytes()),
            Value::Int(value) => put(out, value.to_be_bytes()),
            Value::Long(value) => put(out, value.to_be_bytes()),
        }
    }
}

fn write_root(out: &mut Vec<u8>, object: ObjectId, root: Root) {
    put(out, object.0.to_be_bytes());
    match root {
        Root::Unknown
        | Root::StickyClass
        | Root::MonitorUsed
        | Root::InternedString
        | Root::Finalizing
        | Root::Debugger
        | Root::ReferenceCleanup
        | Root::VmInternal
        | Root::Unreachable => {}
        Root::JniGlobal { reference } => put(out, reference.to_be_bytes()),
        Root::JniLocal { thread, frame }
        | Root::JavaFrame { thread, frame }
        | Root::JniMonitor { thread, frame } => {
            put(out, thread.0.to_be_bytes());
            put(out, frame.to_be_bytes());
        }
        Root::NativeStack { thread } | Root::ThreadBlock { thread } => {
            put(out, thread.0.to_be_bytes());
        }
        Root::Thread { thread, trace } => {
            put(out, thread.0.to_be_bytes());
            put(out, trace.0.to_be_bytes());
        }
    }
}

fn write_primitive_array(
    out: &mut Vec<u8>,
    object: ObjectId,
    trace: TraceSerial,
    length: u32,
    element: BasicType,
) {
    put(out, object.0.to_be_bytes());
    put(out, trace.0.to_be_bytes());
    put(out, length.to_be_bytes());
    out.push(element as u8);
}

fn write_class(out: &mut Vec<u8>, class: &ClassDump<'_>) {
    put(out, class.class.0.to_be_bytes());
    put(out, class.trace.0.to_be_bytes());
    for object in [
        class.super_class,
        class.loader,
        class.signers,
        class.protection_domain,
        ObjectId(0),
        ObjectId(0),
    ] {
        put(out, object.0.to_be_bytes());
    }
    put(out, class.instance_size.to_be_bytes());
    put(out, count(class.constants.len()).to_be_bytes());
    for &(index, value) in class.constants.iter() {
        put(out, index.to_be_bytes());
        out.push(value.basic_type() as u8);
        value.write(out);
    }
    put(out, count(class.statics.len()).to_be_bytes());
    for &(name, value) in class.statics.iter() {
        put(out, name.0.to_be_bytes());
        out.push(value.basic_type() as u8);
        value.write(out);
    }
    put(out, count(class.fields.len()).to_be_bytes());
    for &(name, kind) in class.fields.iter() {
        put(out, name.0.to_be_bytes());
        out.push(kind as u8);
    }
}

/// Returns the number of fields or constants of a class; a class file has at most 65535 of each.
fn count(number: usize) -> u16 {
    u16::try_from(number).unwrap_or(u16::MAX)
}

fn put<const N: usize>(out: &mut Vec<u8>, bytes: [u8; N]) {
    out.extend_from_slice(&bytes);
}
