//! Methods in the frames of a stack that a signal handler walks.

use super::super::probe::MemoryReader;
use super::VmStructs;
use super::method::{ClassMethod, MethodLayout};

/// Offsets in `Method`, and in what it refers to.
pub(super) struct FrameMethodLayout {
    methods: MethodLayout,
    access_flags: usize,
    /// In `ConstMethod`; the bytecodes follow it.
    code_size: usize,
    const_method_size: usize,
}

/// The data of a method that a walk needs.
#[derive(Clone, Copy)]
pub(super) struct InterruptedMethod {
    pub(super) method: ClassMethod,
    pub(super) is_native: bool,
    bytecodes: usize,
    size: usize,
}

/// The flag of a native method (JVMS 4.6).
const NATIVE: u16 = 0x100;
/// The location of a frame in a native method.
pub(super) const IN_NATIVE: i32 = -3;

impl FrameMethodLayout {
    pub(super) fn find(structs: VmStructs) -> Option<Self> {
        Some(Self {
            methods: MethodLayout::find(structs)?,
            access_flags: structs.offset(c"Method", c"_access_flags")?,
            code_size: structs.offset(c"ConstMethod", c"_code_size")?,
            const_method_size: structs.size_of(c"ConstMethod")?,
        })
    }

    /// Returns what is known of a method; `None` if it is none. See [`MethodLayout::class_method`].
    #[inline(always)]
    pub(super) fn method(
        &self,
        memory: &MemoryReader,
        address: usize,
        is_kept: bool,
    ) -> Option<InterruptedMethod> {
        let (method, const_method) = self.methods.class_method(memory, address, is_kept)?;
        let flags = memory.short_at(address.wrapping_add(self.access_flags), is_kept)?;
        let size = memory.short_at(const_method.wrapping_add(self.code_size), is_kept)?;
        Some(InterruptedMethod {
            method,
            // The flags of the class file are the lower half, in every version.
            is_native: flags & NATIVE != 0,
            bytecodes: const_method.wrapping_add(self.const_method_size),
            size: usize::from(size),
        })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_in_a_method_is_within_its_bytecodes() {
        const FIRST: usize = 1_000;
        let method = InterruptedMethod {
            method: ClassMethod {
                class: 0,
                number: 1,
            },
            is_native: false,
            bytecodes: FIRST,
            size: 10,
        };
        assert_eq!(method.index_of(FIRST), Some(0));
        assert_eq!(method.index_of(FIRST + 9), Some(9));
        assert_eq!(method.index_of(FIRST + 10), None);
        assert_eq!(method.index_of(FIRST - 1), None);
    }
}
