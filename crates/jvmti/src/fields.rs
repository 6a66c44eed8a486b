//! The fields of classes, and the values in them.

use std::ffi::c_char;
use std::mem;
use std::ptr;

use super::env::{Buffer, Env, jvmti};
use super::error::JvmtiError;
use super::jni::{Jni, LocalRef, Object, jni};
use super::sys;
use super::vm_call::before_call;

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

/// The state of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassState {
    /// Loaded, but the VM does not reveal its fields.
    Loaded,
    /// Prepared: its fields are known.
    Prepared,
    /// The class of an array.
    Array,
    /// A primitive type.
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
    /// `true` if it belongs to the class.
    pub is_static: bool,
}

/// The fields that a class declares, in the order of its class file.
pub struct ClassFields<'a> {
    class: Object<'a>,
    /// Fields of `class` only.
    fields: Vec<Field>,
}

/// The value of a field.
pub enum FieldValue<'a> {
    /// A reference, or null.
    Object(Option<LocalRef<'a>>),
    /// A value of a primitive type, in the low bytes.
    Primitive(Primitive, u64),
}

impl Primitive {
    /// Returns the type that signatures write as this letter.
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

    /// Returns the type of that name in Java source.
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

    /// Returns the number of bytes of a value.
    pub fn size(self) -> usize {
        match self {
            Self::Boolean | Self::Byte => 1,
            Self::Char | Self::Short => 2,
            Self::Int | Self::Float => 4,
            Self::Long | Self::Double => 8,
        }
    }

    /// Returns the bits of a value of this type.
    ///
    /// # Safety
    /// `value` must hold one.
    pub(super) unsafe fn bits(self, value: sys::jvalue) -> u64 {
        // SAFETY: the caller's promise, by size: a boolean is read as a byte, because native code may have stored any
        // value.
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
    /// Returns the state of a class.
    pub fn class_state(self, class: Object<'_>) -> Result<ClassState, JvmtiError> {
        let mut status = 0;
        // SAFETY: `status` receives the answer.
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

    /// Returns `true` if the class has been initialized: reading a static field of another class would initialize it.
    pub(super) fn is_initialized(self, class: Object<'_>) -> bool {
        let mut status = 0;
        // SAFETY: `status` receives the answer.
        let answer = unsafe { jvmti!(self, GetClassStatus, class.raw, &mut status) };
        answer.is_ok() && status as u32 & sys::JVMTI_CLASS_STATUS_INITIALIZED != 0
    }

    /// Returns the interfaces that a class declares itself.
    pub fn interfaces<'a>(
        self,
        jni: Jni<'a>,
        class: Object<'_>,
    ) -> Result<Vec<LocalRef<'a>>, JvmtiError> {
        let mut count = 0;
        let mut interfaces = ptr::null_mut();
        // SAFETY: both receive answers; `Buffer` frees the array.
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
            .filter_map(|&raw| LocalRef::new(jni, raw))
            .collect())
    }

    /// Returns the fields that a class declares and that a heap walk reports; an error if it is not prepared.
    pub fn class_fields(self, class: Object<'_>) -> Result<ClassFields<'_>, JvmtiError> {
        let mut count = 0;
        let mut ids = ptr::null_mut();
        // SAFETY: both receive answers; `Buffer` frees the array.
        unsafe { jvmti!(self, GetClassFields, class.raw, &mut count, &mut ids)? };
        let ids = Buffer::new(self, ids, count);
        let fields: Result<Vec<Field>, _> = ids.iter().map(|&id| self.field(class, id)).collect();
        let mut fields = fields?;
        if let Some(hidden) = self.hidden_field(class, &fields)? {
            fields.remove(hidden);
        }
        Ok(ClassFields { class, fields })
    }

    /// Returns the position of a field that heap walks skip and do not count, although the VM lists it.
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
        // SAFETY: all receive answers; the id is one of this class's.
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

/// A field of HotSpot's (`FilteredFieldsMap`) that walks omit in objects of subclasses; this class has no other fields.
/// `GetClassFields` omits such a field as well, except if it is the last of its class.
const HIDDEN_FIELD: (&str, &str) = (
    "Ljdk/internal/reflect/UnsafeStaticFieldAccessorImpl;",
    "base",
);

/// The flag of static members in a class file.
const ACC_STATIC: sys::jint = 0x0008;

impl ClassFields<'_> {
    /// Returns the fields, in the VM's order.
    pub fn as_slice(&self) -> &[Field] {
        &self.fields
    }

    /// Returns the value of a field: the class's own if the field is static, otherwise that of `holder`; `None` if
    /// `holder` is not an instance of the class. Runs no code of the program.
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
        // SAFETY: the field is not static, and the holder has it.
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
                    None => FieldValue::Object(LocalRef::new(jni, jni!(jni, $object, holder.raw, field.id))),
                    Some(Primitive::Boolean) => {
                        before_call(stringify!($boolean));
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

/// Turns a function that reads a `boolean` into one that reads any byte: a program can put 2 there, which a `bool` must
/// not be.
fn byte_reader(
    read: unsafe extern "system" fn(*mut sys::JNIEnv, sys::jobject, sys::jfieldID) -> sys::jboolean,
) -> ByteReader {
    // SAFETY: the types differ in what is returned alone. The VM returns a byte, as C's jboolean is one; a u8 is
    // returned the same way as a bool and may have any value.
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
