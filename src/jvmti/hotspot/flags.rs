//! The VM's flags, found by the tables that HotSpot exports for debuggers (`gHotSpotVMStructs`): the one way to learn
//! which collector runs that needs no Java module and works on every version, and to set a flag from within.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;

use crate::jvmti::jni::Vm;

/// The flags of this VM.
#[derive(Clone, Copy)]
pub struct VmFlags {
    flags: *const u8,
    count: usize,
    size: usize,
    name_offset: usize,
    value_offset: usize,
}

// SAFETY: the tables are constants of the VM's library, which is never unloaded.
unsafe impl Send for VmFlags {}
// SAFETY: as above.
unsafe impl Sync for VmFlags {}

/// One row of `gHotSpotVMStructs`: HotSpot's `VMStructEntry`.
#[repr(C)]
struct StructEntry {
    type_name: *const c_char,
    field_name: *const c_char,
    type_string: *const c_char,
    is_static: c_int,
    offset: u64,
    address: *const c_void,
}

/// One row of `gHotSpotVMTypes`: HotSpot's `VMTypeEntry`.
#[repr(C)]
struct TypeEntry {
    type_name: *const c_char,
    superclass_name: *const c_char,
    is_oop_type: c_int,
    is_integer_type: c_int,
    is_unsigned: c_int,
    size: u64,
}

impl VmFlags {
    /// Finds the tables; `None` in a VM that exports none, or others.
    pub fn find(vm: Vm) -> Option<Self> {
        let library = Library::of(vm)?;
        // SAFETY: both symbols are pointers to tables of the types above, ended by a row without a type name.
        unsafe {
            let structs: *const StructEntry = *library.symbol(c"gHotSpotVMStructs")?;
            let types: *const TypeEntry = *library.symbol(c"gHotSpotVMTypes")?;
            let field = |name: &CStr| {
                rows(structs, |row| row.type_name)
                    .find(|row| is(row.field_name, name) && is(row.type_name, c"JVMFlag"))
            };
            let flags = field(c"flags")?.address.cast::<*const u8>();
            let count = field(c"numFlags")?.address.cast::<usize>();
            let size = rows(types, |row| row.type_name)
                .find(|row| is(row.type_name, c"JVMFlag"))?
                .size;
            if flags.is_null() || count.is_null() {
                return None;
            }
            Some(Self {
                flags: *flags,
                count: *count,
                size: size as usize,
                name_offset: field(c"_name")?.offset as usize,
                value_offset: field(c"_addr")?.offset as usize,
            })
        }
    }

    /// Whether the VM has a flag of that name, and it is on.
    pub fn is_on(&self, name: &CStr) -> bool {
        // SAFETY: the value of a flag that is asked for here is a C++ bool.
        self.value(name).is_some_and(|value| unsafe { *value } != 0)
    }

    /// The value of a flag that is a `uintx`.
    pub fn number(&self, name: &CStr) -> Option<usize> {
        // SAFETY: the value of a flag that is asked for here is a uintx, which has the size and alignment of a pointer.
        self.value(name)
            .map(|value| unsafe { *value.cast::<usize>() })
    }

    /// Switches a flag on or off while the program runs; `false` where there is none of that name. Only for a `bool` that
    /// the VM reads again and again, and that it can bear to find changed.
    pub fn switch(&self, name: &CStr, on: bool) -> bool {
        // SAFETY: flags are variables of the VM; this one is a byte, which changes at once.
        self.value(name)
            .map(|value| unsafe { value.write_volatile(u8::from(on)) })
            .is_some()
    }

    /// Switches a flag off, as `-XX:-name` would have; `false` where there is none of that name.
    ///
    /// Only while the VM starts (in `Agent_OnLoad`), before it has read the flag, and only for a flag that is a `bool`.
    pub fn switch_off(&self, name: &CStr) -> bool {
        // SAFETY: flags are variables of the VM, and its one thread is waiting for us.
        self.value(name)
            .map(|value| unsafe { *value = 0 })
            .is_some()
    }

    /// Sets a flag, as `-XX:name=number` would have; `false` where there is none of that name.
    ///
    /// As [`VmFlags::switch_off`] or [`VmFlags::switch`], for a flag that is a `uintx`.
    pub fn set(&self, name: &CStr, number: usize) -> bool {
        // SAFETY: as above; a uintx has the size and the alignment of a pointer.
        self.value(name)
            .map(|value| unsafe { *value.cast::<usize>() = number })
            .is_some()
    }

    /// Where the value of a flag is.
    fn value(&self, name: &CStr) -> Option<*mut u8> {
        (0..self.count).find_map(|index| {
            // SAFETY: the table has `count` rows of `size` bytes, each with a pointer to its name and to its value.
            unsafe {
                let flag = self.flags.add(index * self.size);
                let flag_name = *flag.add(self.name_offset).cast::<*const c_char>();
                let value = *flag.add(self.value_offset).cast::<*mut u8>();
                (is(flag_name, name) && !value.is_null()).then_some(value)
            }
        })
    }
}

/// A field of one of the VM's own types, as the tables have it.
pub(super) struct Field {
    /// Where it is in the object, unless it is static.
    pub(super) offset: usize,
    /// Where it is, if it is static; null otherwise.
    address: *const c_void,
}

impl Field {
    /// Looks a field up; `None` where the VM does not export it.
    pub(super) fn find(vm: Vm, type_name: &CStr, name: &CStr) -> Option<Self> {
        // SAFETY: as in `VmFlags::find`.
        let row = unsafe {
            let structs: *const StructEntry = *Library::of(vm)?.symbol(c"gHotSpotVMStructs")?;
            rows(structs, |row| row.type_name)
                .find(|row| is(row.field_name, name) && is(row.type_name, type_name))?
        };
        Some(Self {
            offset: row.offset as usize,
            address: row.address,
        })
    }

    /// Where a static field is.
    pub(super) fn not_null(&self) -> Option<*const c_void> {
        (!self.address.is_null()).then_some(self.address)
    }
}

/// The rows of a table that ends with a row without a name.
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

fn is(text: *const c_char, name: &CStr) -> bool {
    // SAFETY: the tables hold null or NUL-terminated constants.
    !text.is_null() && unsafe { CStr::from_ptr(text) } == name
}

/// The VM's library, already loaded.
pub(super) struct Library(*mut c_void);

impl Library {
    /// The library that the VM's functions belong to.
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

    /// Where a symbol is; `None` where the library has none of that name.
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
