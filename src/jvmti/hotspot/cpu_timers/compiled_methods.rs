//! Which method the code is of that a thread has been interrupted in.

use super::super::code_heap::CodeHeaps;
use super::super::vm_structs::{VmStructs, read};

/// Leads from an instruction to the id of its method.
pub(super) struct CompiledMethods {
    heaps: CodeHeaps,
    /// The offset of `CodeBlob::_name`.
    name: usize,
    /// The offset of an nmethod's `Method`.
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

/// What the name of code begins with that was compiled for a method, and of code that was made to call a native one.
const COMPILED: &[u8; 8] = b"nmethod\0";
const NATIVE: &[u8; 8] = b"native n";

const WORD: usize = size_of::<usize>();

impl CompiledMethods {
    /// `None` where the VM does not say where it keeps what is needed. The VM is up.
    pub(super) fn find(structs: VmStructs) -> Option<Self> {
        let offset = |type_name, name| structs.offset(type_name, name);
        let method = offset(c"CompiledMethod", c"_method");
        Some(Self {
            heaps: CodeHeaps::find(structs)?,
            name: offset(c"CodeBlob", c"_name")?,
            method: method.or_else(|| offset(c"nmethod", c"_method"))?,
            const_method: offset(c"Method", c"_constMethod")?,
            constants: offset(c"ConstMethod", c"_constants")?,
            number: offset(c"ConstMethod", c"_method_idnum")?,
            holder: offset(c"ConstantPool", c"_pool_holder")?,
            ids: offset(c"InstanceKlass", c"_methods_jmethod_ids")?,
        })
    }

    /// The id of the method whose code has this instruction; 0 where it is no such code, or the method has no id. For the handler.
    ///
    /// # Safety
    /// The current thread has been interrupted at this instruction, or before it: the VM frees no code that a thread is in, nor
    /// the method and the class of such code.
    #[inline(always)]
    pub(super) unsafe fn id_at(&self, pc: usize) -> usize {
        let Some(blob) = self.heaps.blob(pc) else {
            return 0;
        };
        // SAFETY: the caller's promise. Every code has a name of at least one byte and its end; what has one of these names is an
        // nmethod, so it has a method. The tables say that the fields are there, and of these types.
        unsafe {
            let name: usize = read(blob.0 + self.name);
            let is_method = name != 0 && (begins_with(name, COMPILED) || begins_with(name, NATIVE));
            if !is_method {
                return 0;
            }
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
}

/// Whether the text at an address begins so. Reads nothing behind its end.
///
/// # Safety
/// A text of the VM, ended by a 0.
#[inline(always)]
unsafe fn begins_with(text: usize, begin: &[u8; 8]) -> bool {
    let mut at = text;
    for &byte in begin {
        // SAFETY: all before it are bytes of `begin`, so none of them was the end.
        if unsafe { read::<u8>(at) } != byte {
            return false;
        }
        at += 1;
    }
    true
}
