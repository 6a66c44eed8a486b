//! Methods in frames: their ids, and the position that a frame is at.

use super::super::layout::WORD;
use super::super::probe::{short_at, word_at};
use super::super::{LOWEST, VmStructs};

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

/// The data of a method that a walk needs.
#[derive(Clone, Copy)]
pub(super) struct InterruptedMethod {
    /// Its id, 0 if it has none.
    pub(super) id: usize,
    pub(super) is_native: bool,
    bytecodes: usize,
    size: usize,
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

    /// Returns what is known of a method; `None` if it is none. One that may be none counts only if its id leads back to
    /// it: the VM never frees what an id points to, and clears it when the class goes. The ids are read without a lock,
    /// as the VM itself reads them.
    ///
    /// # Safety
    /// If `is_kept`, it is a method in a frame of the current thread, which keeps its class loaded. Otherwise it may be
    /// anything.
    #[inline(always)]
    pub(super) unsafe fn method(&self, address: usize, is_kept: bool) -> Option<InterruptedMethod> {
        // SAFETY: the caller's promise; the tables say that the fields are there, and of these types.
        unsafe {
            let const_method = pointer_at(address, self.const_method, is_kept)?;
            let holder = self.holder(const_method, is_kept)?;
            let id = self.id(const_method, holder, is_kept)?;
            if !is_kept && !self.is_id_of(id, address, holder) {
                return None;
            }
            let flags = short_at(address.wrapping_add(self.access_flags), is_kept)?;
            let size = short_at(const_method.wrapping_add(self.code_size), is_kept)?;
            Some(InterruptedMethod {
                id,
                // The flags of the class file are the lower half, in every version.
                is_native: flags & NATIVE != 0,
                bytecodes: const_method.wrapping_add(self.const_method_size),
                size: usize::from(size),
            })
        }
    }

    /// # Safety
    /// As for `method`, of which this is the constant part.
    #[inline(always)]
    unsafe fn holder(&self, const_method: usize, is_kept: bool) -> Option<usize> {
        // SAFETY: the caller's promise.
        unsafe {
            let constants = pointer_at(const_method, self.constants, is_kept)?;
            pointer_at(constants, self.holder, is_kept)
        }
    }

    /// # Safety
    /// As for `method`, of which these are the constant part and the class.
    #[inline(always)]
    unsafe fn id(&self, const_method: usize, holder: usize, is_kept: bool) -> Option<usize> {
        // SAFETY: the caller's promise.
        unsafe {
            let number = short_at(const_method.wrapping_add(self.number), is_kept)?;
            let number = usize::from(number);
            let ids = word_at(holder.wrapping_add(self.ids), is_kept)?;
            if ids == 0 || number >= word_at(ids, is_kept)? {
                return Some(0);
            }
            let before = number.wrapping_add(1).wrapping_mul(WORD);
            word_at(ids.wrapping_add(before), is_kept)
        }
    }

    /// Returns `true` if an id is that of this method, or of the version of it that has replaced it in this class. All
    /// three may be anything.
    #[inline(always)]
    fn is_id_of(&self, id: usize, method: usize, holder: usize) -> bool {
        // SAFETY: nothing is said to be kept.
        unsafe {
            match pointer_at(id, 0, false) {
                Some(now) if now == method => true,
                Some(now) => {
                    let Some(const_method) = pointer_at(now, self.const_method, false) else {
                        return false;
                    };
                    self.holder(const_method, false) == Some(holder)
                }
                None => false,
            }
        }
    }
}

impl InterruptedMethod {
    /// Returns the index of the bytecode at an address; `None` if the address is outside the method's.
    #[inline(always)]
    pub(super) fn index_of(&self, bytecode: usize) -> Option<i32> {
        let index = bytecode.wrapping_sub(self.bytecodes);
        if index < self.size {
            Some(index as i32)
        } else {
            None
        }
    }
}

/// Returns a pointer of the VM's in an object.
///
/// # Safety
/// As for `word_at`.
#[inline(always)]
unsafe fn pointer_at(object: usize, offset: usize, is_kept: bool) -> Option<usize> {
    if object < LOWEST {
        return None;
    }
    // SAFETY: the caller's promise.
    let pointer = unsafe { word_at(object.wrapping_add(offset), is_kept) }?;
    if pointer < LOWEST || !pointer.is_multiple_of(WORD) {
        return None;
    }
    Some(pointer)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAYOUT: MethodLayout = MethodLayout {
        const_method: WORD,
        access_flags: 2 * WORD,
        constants: 0,
        code_size: WORD,
        number: WORD + 2,
        const_method_size: 2 * WORD,
        holder: WORD,
        ids: WORD,
    };

    /// A method of ten bytecodes, with number 1 of two in its class.
    struct Memory {
        method: [usize; 3],
        const_method: [usize; 2],
        constants: [usize; 2],
        holder: [usize; 2],
        ids: [usize; 3],
        id: [usize; 1],
    }

    fn address(of: &[usize]) -> usize {
        of.as_ptr().expose_provenance()
    }

    fn memory() -> Box<Memory> {
        let mut memory = Box::new(Memory {
            method: [0, 0, usize::from(NATIVE)],
            const_method: [0, 1 << 16 | 10],
            constants: [0; 2],
            holder: [0; 2],
            ids: [2, 0, 0],
            id: [0],
        });
        memory.method[1] = address(&memory.const_method);
        memory.const_method[0] = address(&memory.constants);
        memory.constants[1] = address(&memory.holder);
        memory.holder[1] = address(&memory.ids);
        memory.ids[2] = address(&memory.id);
        memory.id[0] = address(&memory.method);
        memory
    }

    fn found(memory: &Memory) -> Option<InterruptedMethod> {
        // SAFETY: nothing is said to be kept.
        unsafe { LAYOUT.method(address(&memory.method), false) }
    }

    #[test]
    fn a_method_has_an_id_that_leads_back_to_it() {
        let memory = memory();
        let method = found(&memory).expect("it is one");
        assert_eq!(method.id, address(&memory.id));
        assert!(method.is_native);
        let first = address(&memory.const_method) + LAYOUT.const_method_size;
        assert_eq!(method.index_of(first), Some(0));
        assert_eq!(method.index_of(first + 9), Some(9));
        assert_eq!(method.index_of(first + 10), None);
        assert_eq!(method.index_of(first - 1), None);
    }

    #[test]
    fn a_method_that_was_replaced_has_the_id_of_the_new_one() {
        let (mut memory, other) = (memory(), memory());
        let (new, mut pool) = ([0, 0, 0], [0, 0]);
        let (mut new, mut new_const) = (new, [0, 0]);
        pool[1] = address(&memory.holder);
        new_const[0] = address(&pool);
        new[1] = address(&new_const);
        memory.id[0] = address(&new);
        assert!(found(&memory).is_some());
        memory.id[0] = address(&other.method);
        assert!(found(&memory).is_none(), "one of another class");
    }

    #[test]
    fn what_is_no_method_is_none() {
        const NOWHERE: usize = 0x696d_6f74_612f_7470;
        let breaks: [fn(&mut Memory); 9] = [
            |memory| memory.method[1] = NOWHERE,
            |memory| memory.method[1] = 1,
            |memory| memory.const_method[0] = NOWHERE,
            |memory| memory.constants[1] = NOWHERE,
            |memory| memory.holder[1] = NOWHERE,
            |memory| memory.holder[1] = 0,
            |memory| memory.ids[0] = 1,
            |memory| memory.ids[2] = NOWHERE,
            // The value of an id whose class is gone.
            |memory| memory.id[0] = 55,
        ];
        for (index, break_it) in breaks.into_iter().enumerate() {
            let mut memory = memory();
            break_it(&mut memory);
            assert!(found(&memory).is_none(), "{index}");
        }
    }
}
