//! The addresses of classes in the VM's memory.

use crate::env::Env;
use crate::jni::{GlobalRef, Jni, Object, jni};
use crate::sys;

/// Where the VM keeps its own address of a class: in the `java.lang.Class`, in a field that Java does not see.
pub(super) struct ClassAddresses {
    /// `jdk.internal.misc.Unsafe.theUnsafe`, whose `getLong` reads such a field as the collector in use requires.
    reader: GlobalRef,
    get_long: sys::jmethodID,
    offset: i64,
}

// SAFETY: a method's id may be used on every thread, as long as its class is loaded; the boot loader's always are.
unsafe impl Send for ClassAddresses {}
// SAFETY: as above.
unsafe impl Sync for ClassAddresses {}

impl ClassAddresses {
    /// Finds the place; `None` in a VM that does not tell it.
    pub(super) fn find(env: Env, jni: Jni<'_>) -> Option<Self> {
        let field = env
            .vm_structs()?
            .field(c"java_lang_Class", c"_klass_offset")?;
        let address = field.not_null().filter(|_| field.is_of(c"int"))?;
        // SAFETY: the tables say that this static field is there, and of this type.
        let offset = unsafe { address.cast::<i32>().read() };
        let (reader, get_long) = jni.reader_of_fields()?;
        let addresses = Self {
            reader: GlobalRef::new(jni, reader.object())?,
            get_long,
            offset: i64::from(offset),
        };
        (offset > 0).then_some(addresses)
    }

    /// Returns the address of a class; `None` for a primitive type.
    pub(super) fn of(&self, jni: Jni<'_>, class: Object<'_>) -> Option<usize> {
        let arguments = [sys::jvalue { l: class.raw }, sys::jvalue { j: self.offset }];
        // SAFETY: the method is one of the object's class, and takes an object and a long; every `java.lang.Class` has
        // eight bytes at this place.
        let address = unsafe {
            jni!(
                jni,
                CallLongMethodA,
                self.reader.raw,
                self.get_long,
                arguments.as_ptr()
            )
        };
        if jni.clear_exception() {
            return None;
        }
        usize::try_from(address)
            .ok()
            .filter(|&address| address != 0)
    }
}
