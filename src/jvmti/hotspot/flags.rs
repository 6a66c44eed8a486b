//! The VM's flags that the agent asks for, found by the tables that HotSpot exports for debuggers (`gHotSpotVMStructs`): the one way to learn
//! which collector runs that needs no Java module and works on every version, and to set a flag from within.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::{self, NonNull};

use crate::jvmti::env::Env;
use crate::jvmti::jni::Vm;

/// A flag that is a C++ `bool`.
#[derive(Clone, Copy, Debug)]
pub enum BoolFlag {
    /// Threads have allocation buffers.
    UseTlab,
    /// The sizes of allocation buffers follow the threads. The VM reads it at each collection.
    ResizeTlab,
    /// The collector is Serial.
    UseSerialGc,
    /// The collector is Parallel.
    UseParallelGc,
    /// The collector is G1.
    UseG1Gc,
    /// There is no collector.
    UseEpsilonGc,
    /// The collector is Concurrent Mark Sweep (JDK 11).
    UseConcMarkSweepGc,
    /// The collector is ZGC.
    UseZgc,
    /// The collector is Shenandoah.
    UseShenandoahGc,
}

/// A flag that is a `uintx`.
#[derive(Clone, Copy, Debug)]
pub enum NumberFlag {
    /// JDK 11: what is left of an allocation buffer is worth keeping when it is more than its size over this. The VM takes it
    /// over when it gives a thread a buffer of another size.
    TlabRefillWasteFraction,
}

impl BoolFlag {
    fn name(self) -> &'static CStr {
        match self {
            Self::UseTlab => c"UseTLAB",
            Self::ResizeTlab => c"ResizeTLAB",
            Self::UseSerialGc => c"UseSerialGC",
            Self::UseParallelGc => c"UseParallelGC",
            Self::UseG1Gc => c"UseG1GC",
            Self::UseEpsilonGc => c"UseEpsilonGC",
            Self::UseConcMarkSweepGc => c"UseConcMarkSweepGC",
            Self::UseZgc => c"UseZGC",
            Self::UseShenandoahGc => c"UseShenandoahGC",
        }
    }
}

impl NumberFlag {
    fn name(self) -> &'static CStr {
        match self {
            Self::TlabRefillWasteFraction => c"TLABRefillWasteFraction",
        }
    }
}

/// The type of a flag, as the VM's row of it says: a name up to JDK 15, a number of HotSpot's `JVMFlag::TYPE_…` since.
#[derive(Clone, Copy)]
enum FlagType {
    Bool,
    Uintx,
}

impl FlagType {
    fn name(self) -> &'static CStr {
        match self {
            Self::Bool => c"bool",
            Self::Uintx => c"uintx",
        }
    }

    fn number(self) -> c_int {
        match self {
            Self::Bool => 0,
            Self::Uintx => 4,
        }
    }
}

/// Where the type of a flag stands in its row.
#[derive(Clone, Copy)]
enum TypeField {
    Name { offset: usize },
    Number { offset: usize },
}

/// The flags of this VM.
#[derive(Clone, Copy)]
pub struct VmFlags {
    flags: *const u8,
    count: usize,
    size: usize,
    name_offset: usize,
    value_offset: usize,
    type_field: TypeField,
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
            let kind = field(c"_type")?;
            let offset = kind.offset as usize;
            let type_field = match is(kind.type_string, c"int") {
                true => TypeField::Number { offset },
                false => TypeField::Name { offset },
            };
            Some(Self {
                flags: *flags,
                count: *count,
                size: size as usize,
                name_offset: field(c"_name")?.offset as usize,
                value_offset: field(c"_addr")?.offset as usize,
                type_field,
            })
        }
    }

    /// Whether the VM has the flag, and it is on.
    pub fn is_on(&self, flag: BoolFlag) -> bool {
        let value = self.value(flag.name(), FlagType::Bool);
        // SAFETY: `value` has found a C++ bool that lives as long as the VM.
        value.is_some_and(|value| unsafe { value.as_ptr().read_volatile() } != 0)
    }

    /// Switches a flag; `false` where the VM has none of that name and type.
    pub fn switch(&self, flag: BoolFlag, on: bool) -> bool {
        let Some(value) = self.value(flag.name(), FlagType::Bool) else {
            return false;
        };
        // SAFETY: `value` has found a C++ bool that lives as long as the VM. One byte changes at once, and the VM reads it
        // anew whenever it needs it, so it finds the old value or the new one.
        unsafe { value.as_ptr().write_volatile(u8::from(on)) };
        true
    }

    /// The value of a flag; `None` where the VM has none of that name and type.
    pub fn number(&self, flag: NumberFlag) -> Option<usize> {
        let value = self.value(flag.name(), FlagType::Uintx)?;
        // SAFETY: `value` has found a uintx, which has the size and the alignment of a pointer.
        Some(unsafe { value.cast::<usize>().as_ptr().read_volatile() })
    }

    /// Sets a flag; `false` where the VM has none of that name and type.
    pub fn set(&self, flag: NumberFlag, number: usize) -> bool {
        let Some(value) = self.value(flag.name(), FlagType::Uintx) else {
            return false;
        };
        // SAFETY: as in `number`. An aligned word changes at once: the VM finds the old value or the new one.
        unsafe { value.cast::<usize>().as_ptr().write_volatile(number) };
        true
    }

    /// Where the value of a flag is.
    fn value(&self, name: &CStr, kind: FlagType) -> Option<NonNull<u8>> {
        (0..self.count).find_map(|index| {
            // SAFETY: the table has `count` rows of `size` bytes, each with a pointer to its name and to its value.
            unsafe {
                let flag = self.flags.add(index * self.size);
                let flag_name = *flag.add(self.name_offset).cast::<*const c_char>();
                let value = *flag.add(self.value_offset).cast::<*mut u8>();
                (is(flag_name, name) && self.is_of(flag, kind))
                    .then(|| NonNull::new(value))
                    .flatten()
            }
        })
    }

    /// # Safety
    /// `flag` is a row of the table.
    unsafe fn is_of(&self, flag: *const u8, kind: FlagType) -> bool {
        // SAFETY: the tables say that the field is there, and of this type.
        unsafe {
            match self.type_field {
                TypeField::Name { offset } => {
                    is(*flag.add(offset).cast::<*const c_char>(), kind.name())
                }
                TypeField::Number { offset } => *flag.add(offset).cast::<c_int>() == kind.number(),
            }
        }
    }
}

impl Env {
    /// The VM's flags, where it lets us see them.
    pub fn flags(self) -> Option<VmFlags> {
        VmFlags::find(self.vm())
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
