//! The tables that HotSpot exports for debuggers (`gHotSpotVMStructs` and its kin): the offsets of the fields of the
//! VM's own types, the sizes of the types, and the values of constants. They are the only source for that which needs
//! no Java module and works on every version.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;

use crate::jvmti::jni::Vm;

/// The tables of this VM.
#[derive(Clone, Copy)]
pub(super) struct VmStructs {
    fields: *const FieldRow,
    types: *const TypeRow,
    ints: *const IntRow,
}

/// A field of one of the VM's own types.
pub(super) struct VmField {
    /// Its offset in the object, unless it is static.
    pub(super) offset: usize,
    /// Its address, if it is static; null otherwise.
    address: *const c_void,
    type_name: *const c_char,
}

/// One row of `gHotSpotVMStructs`: HotSpot's `VMStructEntry`.
#[repr(C)]
struct FieldRow {
    type_name: *const c_char,
    field_name: *const c_char,
    type_string: *const c_char,
    is_static: c_int,
    offset: u64,
    address: *const c_void,
}

/// One row of `gHotSpotVMTypes`: HotSpot's `VMTypeEntry`.
#[repr(C)]
struct TypeRow {
    type_name: *const c_char,
    superclass_name: *const c_char,
    is_oop_type: c_int,
    is_integer_type: c_int,
    is_unsigned: c_int,
    size: u64,
}

/// One row of `gHotSpotVMIntConstants`: HotSpot's `VMIntConstantEntry`.
#[repr(C)]
struct IntRow {
    name: *const c_char,
    value: i32,
}

impl VmStructs {
    /// Finds the tables; `None` in a VM that exports none.
    pub(super) fn find(vm: Vm) -> Option<Self> {
        let library = Library::of(vm)?;
        // SAFETY: the symbols are pointers to tables of the types above, each ended by a row without a name.
        unsafe {
            Some(Self {
                fields: *library.symbol(c"gHotSpotVMStructs")?,
                types: *library.symbol(c"gHotSpotVMTypes")?,
                ints: *library.symbol(c"gHotSpotVMIntConstants")?,
            })
        }
    }

    /// Looks up a field; `None` if the VM does not export it.
    pub(super) fn field(self, type_name: &CStr, name: &CStr) -> Option<VmField> {
        // SAFETY: the tables are constants of the VM's library, which is never unloaded.
        let row = unsafe { rows(self.fields, |row| row.type_name) }
            .find(|row| is(row.field_name, name) && is(row.type_name, type_name))?;
        Some(VmField {
            offset: row.offset as usize,
            address: row.address,
            type_name: row.type_string,
        })
    }

    /// Returns the offset of a field in its object.
    pub(super) fn offset(self, type_name: &CStr, name: &CStr) -> Option<usize> {
        let field = self.field(type_name, name)?;
        field.address.is_null().then_some(field.offset)
    }

    /// Returns the size of a type, in bytes.
    pub(super) fn size_of(self, type_name: &CStr) -> Option<usize> {
        // SAFETY: as in `field`.
        unsafe { rows(self.types, |row| row.type_name) }
            .find(|row| is(row.type_name, type_name))
            .map(|row| row.size as usize)
    }

    /// Returns the value of a constant.
    pub(super) fn constant(self, name: &CStr) -> Option<isize> {
        // SAFETY: as in `field`.
        unsafe { rows(self.ints, |row| row.name) }
            .find(|row| is(row.name, name))
            .map(|row| row.value as isize)
    }
}

impl VmField {
    /// Looks up a field; `None` if the VM does not export it.
    pub(super) fn find(vm: Vm, type_name: &CStr, name: &CStr) -> Option<Self> {
        VmStructs::find(vm)?.field(type_name, name)
    }

    /// Returns the address of a static field.
    pub(super) fn not_null(&self) -> Option<*const c_void> {
        (!self.address.is_null()).then_some(self.address)
    }

    /// Returns `true` if the field has that C++ type.
    pub(super) fn is_of(&self, type_name: &CStr) -> bool {
        is(self.type_name, type_name)
    }
}

/// Returns the version of the VM by its own tables: 11, 17, ...; `None` in a VM that is not HotSpot.
pub(in crate::jvmti) fn own_version(vm: Vm) -> Option<u32> {
    let field = VmField::find(vm, c"Abstract_VM_Version", c"_vm_major_version")?;
    let address = field.not_null().filter(|_| field.is_of(c"int"))?;
    // SAFETY: the tables say that this static field is there, and of this type.
    let version = unsafe { address.cast::<c_int>().read() };
    version.try_into().ok()
}

/// Reads a value in the VM's memory.
///
/// # Safety
/// The address is that of readable memory, aligned for `T`. Other threads may write it concurrently.
#[inline(always)]
pub(super) unsafe fn read<T: Copy>(address: usize) -> T {
    // SAFETY: the caller's promise.
    unsafe { ptr::with_exposed_provenance::<T>(address).read_volatile() }
}

/// Iterates over the rows of a table that ends with a row without a name.
///
/// # Safety
/// `table` is such a table, and lives for ever.
unsafe fn rows<T: 'static>(
    table: *const T,
    name: fn(&T) -> *const c_char,
) -> impl Iterator<Item = &'static T> {
    // SAFETY: the caller's promise; the walk stops at the last row.
    let row = move |index| unsafe { &*table.add(index) };
    (0..).map(row).take_while(move |row| !name(row).is_null())
}

/// Returns `true` if a name of the VM's equals `name`.
pub(super) fn is(text: *const c_char, name: &CStr) -> bool {
    // SAFETY: the tables hold null or NUL-terminated constants.
    !text.is_null() && unsafe { CStr::from_ptr(text) } == name
}

/// The VM's library, which is already loaded.
pub(super) struct Library(*mut c_void);

impl Library {
    /// Returns the library that the VM's functions belong to.
    pub(super) fn of(vm: Vm) -> Option<Self> {
        // SAFETY: `dladdr` fills the structure or answers 0; RTLD_NOLOAD loads nothing.
        let handle = unsafe {
            let mut info = std::mem::zeroed::<libc::Dl_info>();
            if libc::dladdr(vm.function_address(), &mut info) == 0 || info.dli_fname.is_null() {
                return None;
            }
            libc::dlopen(info.dli_fname, libc::RTLD_LAZY | libc::RTLD_NOLOAD)
        };
        (!handle.is_null()).then_some(Self(handle))
    }

    /// Returns the address of a symbol; `None` if the library has none of that name.
    pub(super) fn symbol<T>(&self, name: &CStr) -> Option<*const T> {
        // SAFETY: the handle is open and the name NUL-terminated.
        let symbol = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        (!ptr::eq(symbol, ptr::null())).then_some(symbol.cast::<T>().cast_const())
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        // SAFETY: the handle was opened by `of`; the VM's own keeps the library loaded.
        unsafe { libc::dlclose(self.0) };
    }
}
