//! Methods in frames: their ids, and the position that a frame is at.

use super::super::layout::WORD;
use super::super::{LOWEST, VmStructs};
use super::read;

/// Offsets in `Method`, and in what it refers to.
pub(super) struct MethodLayout {
    const_method: usize,
    access_flags: usize,
    /// In `ConstMethod`; the bytecodes follow it.
    constants: usize,
    code_size: usize,
    number: usize,
    const_method_size: usize,
    /// `ConstantPool::_pool_holder`.
    holder: usize,
    /// `InstanceKlass::_methods_jmethod_ids`: their number, then the ids of the methods by their numbers.
    ids: usize,
}

/// The flag of a native method (JVMS 4.6).
const NATIVE: u16 = 0x100;
/// The location of a frame in a native method.
pub(super) const IN_NATIVE: i32 = -3;

impl MethodLayout {
    pub(super) fn find(structs: VmStructs) -> Option<Self> {
        let offset = |type_name, name| structs.offset(type_name, name);
        Some(Self {
            const_method: offset(c"Method", c"_constMethod")?,
            access_flags: offset(c"Method", c"_access_flags")?,
            constants: offset(c"ConstMethod", c"_constants")?,
            code_size: offset(c"ConstMethod", c"_code_size")?,
            number: offset(c"ConstMethod", c"_method_idnum")?,
            const_method_size: structs.size_of(c"ConstMethod")?,
            holder: offset(c"ConstantPool", c"_pool_holder")?,
            ids: offset(c"InstanceKlass", c"_methods_jmethod_ids")?,
        })
    }

    /// Returns the id of a method; 0 if it has none.
    ///
    /// # Safety
    /// A method in a frame of the current thread: that keeps its class loaded. The ids are read without a lock, as the
    /// VM itself reads them.
    #[inline(always)]
    pub(super) unsafe fn id(&self, method: usize) -> usize {
        // SAFETY: the caller's promise; the tables say that the fields are there, and of these types.
        unsafe {
            let const_method: usize = read(method.wrapping_add(self.const_method));
            let constants: usize = read(const_method.wrapping_add(self.constants));
            let number = usize::from(read::<u16>(const_method.wrapping_add(self.number)));
            let holder: usize = read(constants.wrapping_add(self.holder));
            let ids: usize = read(holder.wrapping_add(self.ids));
            if ids == 0 || number >= read::<usize>(ids) {
                return 0;
            }
            read(ids.wrapping_add(number.wrapping_add(1).wrapping_mul(WORD)))
        }
    }

    /// Returns the index of the bytecode at an address; `None` if the address is outside the method's.
    ///
    /// # Safety
    /// As for `id`.
    #[inline(always)]
    pub(super) unsafe fn index_of(&self, method: usize, bytecode: usize) -> Option<i32> {
        // SAFETY: as in `id`.
        unsafe {
            let const_method: usize = read(method.wrapping_add(self.const_method));
            let first = const_method.wrapping_add(self.const_method_size);
            let size = usize::from(read::<u16>(const_method.wrapping_add(self.code_size)));
            let index = bytecode.wrapping_sub(first);
            if index < size {
                Some(index as i32)
            } else {
                None
            }
        }
    }

    /// # Safety
    /// As for `id`.
    #[inline(always)]
    pub(super) unsafe fn is_native(&self, method: usize) -> bool {
        // SAFETY: as in `id`; the flags of the class file are the lower half, in every version.
        unsafe { read::<u16>(method.wrapping_add(self.access_flags)) & NATIVE != 0 }
    }

    /// Returns `true` if everything that the functions above read of a method is memory that can be read. The word may
    /// be anything.
    #[inline(always)]
    pub(super) fn is_readable(&self, method: usize) -> bool {
        let Some(const_method) = field_of(method, self.const_method) else {
            return false;
        };
        if !is_readable(method.wrapping_add(self.access_flags) & !(WORD - 1)) {
            return false;
        }
        let Some(constants) = field_of(const_method, self.constants) else {
            return false;
        };
        if !is_readable(const_method.wrapping_add(self.code_size) & !(WORD - 1))
            || !is_readable(const_method.wrapping_add(self.number) & !(WORD - 1))
        {
            return false;
        }
        let Some(holder) = field_of(constants, self.holder) else {
            return false;
        };
        is_readable(holder.wrapping_add(self.ids))
    }
}

/// Returns a pointer in an object that may not be there.
#[inline(always)]
fn field_of(object: usize, offset: usize) -> Option<usize> {
    let address = object.wrapping_add(offset);
    if object < LOWEST || !object.is_multiple_of(WORD) || !is_readable(address) {
        return None;
    }
    // SAFETY: the kernel has just read it.
    let pointer: usize = unsafe { read(address) };
    if pointer < LOWEST || !pointer.is_multiple_of(WORD) {
        return None;
    }
    Some(pointer)
}

/// Returns `true` if the word at an address can be read. The kernel tries: it reads the new mask of signals before it
/// refuses what to do with it.
#[inline(always)]
pub(super) fn is_readable(address: usize) -> bool {
    const NEITHER_BLOCK_NOR_UNBLOCK_NOR_SET: libc::c_int = -1;
    // SAFETY: the call never succeeds, so it changes nothing but `errno`, which the handler restores.
    unsafe {
        libc::syscall(
            libc::SYS_rt_sigprocmask,
            NEITHER_BLOCK_NOR_UNBLOCK_NOR_SET,
            address,
            0_usize,
            WORD,
        );
        *libc::__errno_location() == libc::EINVAL
    }
}
