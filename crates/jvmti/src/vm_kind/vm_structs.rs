//! The tables that HotSpot exports for debuggers (`gHotSpotVMStructs` and its kin): the offsets of the fields of the
//! VM's own types, the sizes of the types, and the values of constants. They are the only source for that which needs
//! no Java module and works on every version. The shape of their own rows is exported, too.
//!
//! What a field means is not in them, so only the parent module can find them: it decides in which VMs the agent
//! knows that.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;

use crate::jni::Vm;
use crate::vm_library::VmLibrary;

/// The tables of a VM that is known.
#[derive(Clone, Copy)]
pub(crate) struct VmStructs {
    fields: FieldTable,
    types: TypeTable,
    ints: IntTable,
}

/// A field of one of the VM's own types.
pub(crate) struct VmField {
    /// Its offset in the object, unless it is static.
    pub(crate) offset: usize,
    /// Its address, if it is static; null otherwise.
    address: *const c_void,
    type_name: *const c_char,
}

/// The rows of a table, which ends with one without a name.
#[derive(Clone, Copy)]
struct Rows {
    first: *const u8,
    /// The bytes from one row to the next.
    stride: usize,
    /// The offset of the name.
    name: usize,
}

/// `gHotSpotVMStructs`, and the offsets of what its rows hold. The rows are named by the type of the object.
#[derive(Clone, Copy)]
struct FieldTable {
    rows: Rows,
    field_name: usize,
    type_string: usize,
    offset: usize,
    address: usize,
}

/// `gHotSpotVMTypes`.
#[derive(Clone, Copy)]
struct TypeTable {
    rows: Rows,
    size: usize,
}

/// `gHotSpotVMIntConstants`.
#[derive(Clone, Copy)]
struct IntTable {
    rows: Rows,
    value: usize,
}

impl VmStructs {
    /// Finds the tables, whatever VM it is; `None` in one that exports none.
    pub(super) fn exported(vm: Vm) -> Option<Self> {
        let library = VmLibrary::of(vm)?;
        // SAFETY: HotSpot exports these numbers as `uint64_t`.
        let number = |name| Some(unsafe { *library.symbol::<u64>(name)? } as usize);
        let rows = |table, stride, name| {
            Some(Rows {
                // SAFETY: HotSpot exports a pointer to the table.
                first: unsafe { *library.symbol::<*const u8>(table)? },
                stride: number(stride)?,
                name: number(name)?,
            })
        };
        Some(Self {
            fields: FieldTable {
                rows: rows(
                    c"gHotSpotVMStructs",
                    c"gHotSpotVMStructEntryArrayStride",
                    c"gHotSpotVMStructEntryTypeNameOffset",
                )?,
                field_name: number(c"gHotSpotVMStructEntryFieldNameOffset")?,
                type_string: number(c"gHotSpotVMStructEntryTypeStringOffset")?,
                offset: number(c"gHotSpotVMStructEntryOffsetOffset")?,
                address: number(c"gHotSpotVMStructEntryAddressOffset")?,
            },
            types: TypeTable {
                rows: rows(
                    c"gHotSpotVMTypes",
                    c"gHotSpotVMTypeEntryArrayStride",
                    c"gHotSpotVMTypeEntryTypeNameOffset",
                )?,
                size: number(c"gHotSpotVMTypeEntrySizeOffset")?,
            },
            ints: IntTable {
                rows: rows(
                    c"gHotSpotVMIntConstants",
                    c"gHotSpotVMIntConstantEntryArrayStride",
                    c"gHotSpotVMIntConstantEntryNameOffset",
                )?,
                value: number(c"gHotSpotVMIntConstantEntryValueOffset")?,
            },
        })
    }

    /// Returns the address of `gHotSpotVMStructs`.
    pub(crate) fn exported_address(vm: Vm) -> Option<usize> {
        let table = VmLibrary::of(vm)?.symbol::<*const u8>(c"gHotSpotVMStructs")?;
        Some(table.addr())
    }

    /// Looks up a field; `None` if the VM does not export it.
    pub(crate) fn field(self, type_name: &CStr, name: &CStr) -> Option<VmField> {
        let table = self.fields;
        let mut rows = table.rows.named(type_name);
        // SAFETY: the tables say that a row has these parts, which are of these types; `offset` is a `uint64_t`.
        unsafe {
            let row = rows.find(|row| {
                is(
                    row.add(table.field_name).cast::<*const c_char>().read(),
                    name,
                )
            })?;
            Some(VmField {
                offset: row.add(table.offset).cast::<u64>().read() as usize,
                address: row.add(table.address).cast::<*const c_void>().read(),
                type_name: row.add(table.type_string).cast::<*const c_char>().read(),
            })
        }
    }

    /// Returns the offset of a field in its object.
    pub(crate) fn offset(self, type_name: &CStr, name: &CStr) -> Option<usize> {
        let field = self.field(type_name, name)?;
        field.address.is_null().then_some(field.offset)
    }

    /// Returns the size of a type, in bytes.
    pub(crate) fn size_of(self, type_name: &CStr) -> Option<usize> {
        let row = self.types.rows.named(type_name).next()?;
        // SAFETY: the tables say that a row has this `uint64_t`.
        Some(unsafe { row.add(self.types.size).cast::<u64>().read() } as usize)
    }

    /// Returns the value of a constant.
    pub(crate) fn constant(self, name: &CStr) -> Option<isize> {
        let row = self.ints.rows.named(name).next()?;
        // SAFETY: the tables say that a row has this `int32_t`.
        Some(unsafe { row.add(self.ints.value).cast::<i32>().read() } as isize)
    }

    /// Returns the version of the VM: 11, 17, ...
    pub(super) fn version(self) -> Option<u32> {
        let field = self.field(c"Abstract_VM_Version", c"_vm_major_version")?;
        let address = field.not_null().filter(|_| field.is_of(c"int"))?;
        // SAFETY: the tables say that this static field is there, and of this type.
        let version = unsafe { address.cast::<c_int>().read() };
        version.try_into().ok()
    }
}

impl VmField {
    /// Returns the address of a static field.
    pub(crate) fn not_null(&self) -> Option<*const c_void> {
        (!self.address.is_null()).then_some(self.address)
    }

    /// Returns `true` if the field has that C++ type.
    pub(crate) fn is_of(&self, type_name: &CStr) -> bool {
        is(self.type_name, type_name)
    }
}

impl Rows {
    /// Iterates over the rows of that name.
    fn named(self, name: &CStr) -> impl Iterator<Item = *const u8> {
        // SAFETY: the table is a constant of the VM's library, which is never unloaded; the walk stops at its last row.
        let rows = (0..).map(move |index| unsafe { self.first.add(index * self.stride) });
        // SAFETY: the tables say that a row has its name there.
        let name_of =
            move |row: *const u8| unsafe { row.add(self.name).cast::<*const c_char>().read() };
        rows.take_while(move |&row| !name_of(row).is_null())
            .filter(move |&row| is(name_of(row), name))
    }
}

/// Returns `true` if a name of the VM's equals `name`.
pub(crate) fn is(text: *const c_char, name: &CStr) -> bool {
    // SAFETY: the tables hold null or NUL-terminated constants.
    !text.is_null() && unsafe { CStr::from_ptr(text) } == name
}

/// Reads a value in the VM's memory.
///
/// # Safety
/// The address is that of readable memory, aligned for `T`. Other threads may write it concurrently.
#[inline(always)]
pub(crate) unsafe fn read<T: Copy>(address: usize) -> T {
    // SAFETY: the caller's promise.
    unsafe { ptr::with_exposed_provenance::<T>(address).read_volatile() }
}
