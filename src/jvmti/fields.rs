//! What classes are made of, and the values in their fields.

use std::ffi::c_char;
use std::mem;
use std::ptr;

use super::env::{Buffer, Env, jvmti};
use super::error::JvmtiError;
use super::jni::{Jni, Local, Object, jni};
use super::sys;

/// A primitive type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Primitive {
    /// `boolean`.
    Boolean,
    /// `byte`.
    Byte,
    /// `char`.
    Char,
    /// `short`.
    Short,
    /// `int`.
    Int,
    /// `long`.
    Long,
    /// `float`.
    Float,
    /// `double`.
    Double,
}

/// How far a class has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassState {
    /// It is loaded, but the VM does not tell of its fields.
    Loaded,
    /// Its fields are known.
    Prepared,
    /// It is the class of an array.
    Array,
    /// It is a primitive type.
    Primitive,
}

/// A field.
#[derive(Clone, Debug)]
pub struct Field {
    id: sys::jfieldID,
    /// Its name.
    pub name: String,
    /// Its type; `None` for a reference.
    pub kind: Option<Primitive>,
    /// Whether it belongs to the class.
    pub is_static: bool,
}

/// The fields that a class declares, in the order of its class file.
pub struct ClassFields<'a> {
    class: Object<'a>,
    /// Fields of `class`, and of no other.
    fields: Vec<Field>,
}

/// What a field holds.
pub enum FieldValue<'a> {
    /// A reference, or null.
    Object(Option<Local<'a>>),
    /// A value of a primitive type, in the low bytes.
    Primitive(Primitive, u64),
}

impl Primitive {
    /// The type that signatures write with this letter.
    pub(super) fn of_letter(letter: u8) -> Option<Self> {
        Some(match letter {
            b'Z' => Self::Boolean,
            b'B' => Self::Byte,
            b'C' => Self::Char,
            b'S' => Self::Short,
            b'I' => Self::Int,
            b'J' => Self::Long,
            b'F' => Self::Float,
            b'D' => Self::Double,
            _ => return None,
        })
    }

    /// The type of that name in Java source.
    pub fn of_name(name: &str) -> Option<Self> {
        Some(match name {
            "boolean" => Self::Boolean,
            "byte" => Self::Byte,
            "char" => Self::Char,
            "short" => Self::Short,
            "int" => Self::Int,
            "long" => Self::Long,
            "float" => Self::Float,
            "double" => Self::Double,
            _ => return None,
        })
    }

    /// Bytes of a value.
    pub fn size(self) -> usize {
        match self {
            Self::Boolean | Self::Byte => 1,
            Self::Char | Self::Short => 2,
            Self::Int | Self::Float => 4,
            Self::Long | Self::Double => 8,
        }
    }

    /// The bits of a value of this type.
    ///
    /// # Safety
    /// `value` must hold one.
    pub(super) unsafe fn bits(self, value: sys::jvalue) -> u64 {
        // SAFETY: the caller's promise, by size: a boolean is read as a byte, because native code may have left any.
        unsafe {
            match self.size() {
                1 => u64::from(value.b as u8),
                2 => u64::from(value.c),
                4 => u64::from(value.i as u32),
                _ => value.j as u64,
            }
        }
    }
}

impl Env {
    /// How far a class has come.
    pub fn class_state(self, class: Object<'_>) -> Result<ClassState, JvmtiError> {
        let mut status = 0;
        // SAFETY: `status` is where the answer goes.
        unsafe { jvmti!(self, GetClassStatus, class.raw, &mut status)? };
        let has = |flag: u32| status as u32 & flag != 0;
        Ok(if has(sys::JVMTI_CLASS_STATUS_ARRAY) {
            ClassState::Array
        } else if has(sys::JVMTI_CLASS_STATUS_PRIMITIVE) {
            ClassState::Primitive
        } else if has(sys::JVMTI_CLASS_STATUS_PREPARED) {
            ClassState::Prepared
        } else {
            ClassState::Loaded
        })
    }

    /// The interfaces that a class names itself.
    pub fn interfaces<'a>(
        self,
        jni: Jni<'a>,
        class: Object<'_>,
    ) -> Result<Vec<Local<'a>>, JvmtiError> {
        let mut count = 0;
        let mut interfaces = ptr::null_mut();
        // SAFETY: both are where answers go; `Buffer` frees the array.
        unsafe {
            jvmti!(
                self,
                GetImplementedInterfaces,
                class.raw,
                &mut count,
                &mut interfaces
            )?
        };
        let interfaces = Buffer::new(self, interfaces, count);
        Ok(interfaces
            .iter()
            .filter_map(|&raw| Local::new(jni, raw))
            .collect())
    }

    /// The fields that a class declares and that a walk over the heap tells of; an error where it is not prepared.
    pub fn class_fields(self, class: Object<'_>) -> Result<ClassFields<'_>, JvmtiError> {
        let mut count = 0;
        let mut ids = ptr::null_mut();
        // SAFETY: both are where answers go; `Buffer` frees the array.
        unsafe { jvmti!(self, GetClassFields, class.raw, &mut count, &mut ids)? };
        let ids = Buffer::new(self, ids, count);
        let fields: Result<Vec<Field>, _> = ids.iter().map(|&id| self.field(class, id)).collect();
        let mut fields = fields?;
        if let Some(hidden) = self.hidden_field(class, &fields)? {
            fields.remove(hidden);
        }
        Ok(ClassFields { class, fields })
    }

    /// The place of a field that heap walks pass over and do not count, where the VM names it all the same.
    fn hidden_field(
        self,
        class: Object<'_>,
        fields: &[Field],
    ) -> Result<Option<usize>, JvmtiError> {
        let (signature, name) = HIDDEN_FIELD;
        let place = fields.iter().position(|field| field.name == name);
        Ok(match place {
            Some(_) if self.class_signature(class)? == signature => place,
            _ => None,
        })
    }

    fn field(self, class: Object<'_>, id: sys::jfieldID) -> Result<Field, JvmtiError> {
        let mut name: *mut c_char = ptr::null_mut();
        let mut signature: *mut c_char = ptr::null_mut();
        let mut modifiers = 0;
        // SAFETY: all are where answers go; the id is one of this class's.
        unsafe {
            jvmti!(self, GetFieldModifiers, class.raw, id, &mut modifiers)?;
            jvmti!(
                self,
                GetFieldName,
                class.raw,
                id,
                &mut name,
                &mut signature,
                ptr::null_mut()
            )?;
        }
        let name = self.text(name);
        let signature = self.text(signature);
        Ok(Field {
            id,
            name,
            kind: signature.bytes().next().and_then(Primitive::of_letter),
            is_static: modifiers & ACC_STATIC != 0,
        })
    }
}

/// A field of HotSpot's (`FilteredFieldsMap`) that walks leave out of objects of subclasses, and this class has no others.
/// `GetClassFields` leaves such a field out as well, but not where it is the last of its class.
const HIDDEN_FIELD: (&str, &str) = (
    "Ljdk/internal/reflect/UnsafeStaticFieldAccessorImpl;",
    "base",
);

/// The flag of static members in a class file.
const ACC_STATIC: sys::jint = 0x0008;

impl ClassFields<'_> {
    /// The fields, in the VM's order.
    pub fn as_slice(&self) -> &[Field] {
        &self.fields
    }

    /// What a field holds: the class's own where it is static, else that of `holder`, which must be an instance of the
    /// class; `None` where it is not. No code of the program runs.
    pub fn value<'a>(
        &self,
        jni: Jni<'a>,
        index: usize,
        holder: Option<Object<'_>>,
    ) -> Option<FieldValue<'a>> {
        let field = self.fields.get(index)?;
        if field.is_static {
            // SAFETY: the field is static, and one of this class.
            return Some(unsafe { static_value(jni, self.class, field) });
        }
        let holder = holder?;
        // SAFETY: both references are valid.
        if !unsafe { jni!(jni, IsInstanceOf, holder.raw, self.class.raw) } {
            return None;
        }
        // SAFETY: the field is none of the static ones, and the holder has it.
        Some(unsafe { instance_value(jni, holder, field) })
    }
}

/// Declares a function that reads a field by its type.
macro_rules! reader {
    ($name:ident: $object:ident $boolean:ident $($kind:ident $function:ident)*) => {
        /// # Safety
        /// `holder` must have the field.
        unsafe fn $name<'a>(jni: Jni<'a>, holder: Object<'_>, field: &Field) -> FieldValue<'a> {
            // SAFETY: the caller's promise; the function is the one for the field's type.
            unsafe {
                match field.kind {
                    None => FieldValue::Object(Local::new(jni, jni!(jni, $object, holder.raw, field.id))),
                    Some(Primitive::Boolean) => {
                        let read = byte_reader((**jni.as_raw()).v1_6.$boolean);
                        let value = read(jni.as_raw(), holder.raw, field.id);
                        FieldValue::Primitive(Primitive::Boolean, value.into())
                    }
                    $(Some(Primitive::$kind) => {
                        let value = jni!(jni, $function, holder.raw, field.id);
                        FieldValue::Primitive(Primitive::$kind, value.low_bits())
                    })*
                }
            }
        }
    };
}

reader! { static_value: GetStaticObjectField GetStaticBooleanField
    Byte GetStaticByteField Char GetStaticCharField Short GetStaticShortField
    Int GetStaticIntField Long GetStaticLongField Float GetStaticFloatField Double GetStaticDoubleField
}
reader! { instance_value: GetObjectField GetBooleanField
    Byte GetByteField Char GetCharField Short GetShortField
    Int GetIntField Long GetLongField Float GetFloatField Double GetDoubleField
}

/// Reads a field of one byte.
type ByteReader = unsafe extern "system" fn(*mut sys::JNIEnv, sys::jobject, sys::jfieldID) -> u8;

/// A function that reads a `boolean`, for whatever the byte holds: a program can put 2 there, which no `bool` may be.
fn byte_reader(
    read: unsafe extern "system" fn(*mut sys::JNIEnv, sys::jobject, sys::jfieldID) -> sys::jboolean,
) -> ByteReader {
    // SAFETY: the types differ in what is returned alone. The VM returns a byte, as C's jboolean is one; a u8 is returned
    // the same way as a bool and may have any value.
    unsafe { mem::transmute(read) }
}

/// The bits of a value, in the low bytes.
trait LowBits {
    fn low_bits(self) -> u64;
}

macro_rules! low_bits {
    ($($kind:ty, $unsigned:ty, $value:ident => $bits:expr;)*) => {
        $(impl LowBits for $kind {
            fn low_bits(self) -> u64 {
                let $value = self;
                let bits: $unsigned = $bits;
                u64::from(bits)
            }
        })*
    };
}

low_bits! {
    i8, u8, value => value as u8;
    u16, u16, value => value;
    i16, u16, value => value as u16;
    i32, u32, value => value as u32;
    i64, u64, value => value as u64;
    f32, u32, value => f32::to_bits(value);
    f64, u64, value => f64::to_bits(value);
}
