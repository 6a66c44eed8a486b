//! Finds the method of the code in which a thread has been interrupted.

use super::super::code_heap::{CodeBlob, CodeHeaps};
use super::super::vm_structs::{VmStructs, read};

/// Maps an instruction to its method. The numbers are offsets.
pub(super) struct CompiledMethods {
    heaps: CodeHeaps,
    /// `CodeBlob::_name` and `CodeBlob::_frame_size`.
    name: usize,
    frame_size: usize,
    /// `nmethod::_method`.
    method: usize,
    /// `Method::_constMethod`, and in that the constants and the method's number in its class.
    const_method: usize,
    constants: usize,
    number: usize,
    /// `ConstantPool::_pool_holder`.
    holder: usize,
    /// `InstanceKlass::_methods_jmethod_ids`: their number, then the ids of the methods by their numbers.
    ids: usize,
}

/// The beginnings of the names of code that was compiled for a method, and of code that calls a native one.
const COMPILED: &[u8; 8] = b"nmethod\0";
const NATIVE: &[u8; 8] = b"native n";

const WORD: usize = size_of::<usize>();

impl CompiledMethods {
    /// Finds the offsets; `None` if the VM does not export them. The VM must be up.
    pub(super) fn find(structs: VmStructs) -> Option<Self> {
        let offset = |type_name, name| structs.offset(type_name, name);
        let method = offset(c"CompiledMethod", c"_method");
        Some(Self {
            heaps: CodeHeaps::find(structs)?,
            name: offset(c"CodeBlob", c"_name")?,
            frame_size: offset(c"CodeBlob", c"_frame_size")?,
            method: method.or_else(|| offset(c"nmethod", c"_method"))?,
            const_method: offset(c"Method", c"_constMethod")?,
            constants: offset(c"ConstMethod", c"_constants")?,
            number: offset(c"ConstMethod", c"_method_idnum")?,
            holder: offset(c"ConstantPool", c"_pool_holder")?,
            ids: offset(c"InstanceKlass", c"_methods_jmethod_ids")?,
        })
    }

    /// Returns the id of the method whose code has this instruction; 0 if it is not code of a method, or the method has
    /// no id. For the handler.
    ///
    /// # Safety
    /// The current thread must have been interrupted at this instruction: the VM frees neither code that a thread is
    /// in, nor its method and class. Their ids are read without a lock, as AsyncGetCallTrace reads them.
    #[inline(always)]
    pub(super) unsafe fn id_at(&self, pc: usize) -> usize {
        // SAFETY: the caller's promise; what is found is an nmethod, so it has a method. The tables say that the fields
        // are there, and of these types.
        unsafe {
            let Some(blob) = self.nmethod_at(pc) else {
                return 0;
            };
            let method: usize = read(blob.0 + self.method);
            if method == 0 {
                return 0;
            }
            let const_method: usize = read(method + self.const_method);
            let constants: usize = read(const_method + self.constants);
            let number = usize::from(read::<u16>(const_method + self.number));
            let holder: usize = read(constants + self.holder);
            let ids: usize = read(holder + self.ids);
            if ids == 0 || number >= read::<usize>(ids) {
                return 0;
            }
            read(ids + (number + 1) * WORD)
        }
    }
    /// Returns the size in bytes of the frame of this code, including the return address at its end; 0 if it is not a
    /// method's. For the handler.
    ///
    /// # Safety
    /// As for `id_at`.
    #[inline(always)]
    pub(super) unsafe fn frame_size_at(&self, pc: usize) -> usize {
        // SAFETY: the caller's promise. Every code has this field.
        let words = unsafe {
            match self.nmethod_at(pc) {
                Some(blob) => read::<i32>(blob.0 + self.frame_size),
                None => 0,
            }
        };
        words.max(0) as usize * WORD
    }

    /// # Safety
    /// As for `id_at`.
    #[inline(always)]
    unsafe fn nmethod_at(&self, pc: usize) -> Option<CodeBlob> {
        let blob = self.heaps.blob(pc)?;
        // SAFETY: the caller's promise. Every code has a name, which ends with a 0.
        let is_nmethod = unsafe {
            let name: usize = read(blob.0 + self.name);
            name != 0 && (begins_with(name, COMPILED) || begins_with(name, NATIVE))
        };
        if is_nmethod { Some(blob) } else { None }
    }
}

/// Returns `true` if the text at an address begins with `begin`. Reads nothing beyond its end.
///
/// # Safety
/// A text of the VM, ended by a 0.
#[inline(always)]
unsafe fn begins_with(text: usize, begin: &[u8; 8]) -> bool {
    for (at, &byte) in begin.iter().enumerate() {
        // SAFETY: all before it are bytes of `begin`, so none of them was the end.
        if unsafe { read::<u8>(text + at) } != byte {
            return false;
        }
    }
    true
}
