//! Methods in frames: their classes and numbers, and the position that a frame is at.

use super::super::layout::WORD;
use super::super::probe::MemoryReader;
use super::super::{LOWEST, VmStructs};

/// Offsets in `Method`, and in what it refers to.
pub(in crate::hotspot) struct MethodLayout {
    const_method: usize,
    /// In `ConstMethod`.
    constants: usize,
    number: usize,
    /// `ConstantPool::_pool_holder`.
    holder: usize,
    /// In `InstanceKlass`: its constants, and its methods.
    class_constants: usize,
    methods: usize,
    /// In an array of methods: their number, and where they begin.
    length: usize,
    first: usize,
}

/// A method by its class and the number that it keeps there, also when the class is redefined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassMethod {
    /// The address of the class in the VM's memory.
    pub class: usize,
    /// `Method::method_idnum`.
    pub number: u16,
}

impl MethodLayout {
    pub(in crate::hotspot) fn find(structs: VmStructs) -> Option<Self> {
        let offset = |type_name, name| structs.offset(type_name, name);
        // By which `FrameClasses` finds the class again.
        structs.field(c"java_lang_Class", c"_klass_offset")?;
        Some(Self {
            const_method: offset(c"Method", c"_constMethod")?,
            constants: offset(c"ConstMethod", c"_constants")?,
            number: offset(c"ConstMethod", c"_method_idnum")?,
            holder: offset(c"ConstantPool", c"_pool_holder")?,
            class_constants: offset(c"InstanceKlass", c"_constants")?,
            methods: offset(c"InstanceKlass", c"_methods")?,
            length: offset(c"Array<int>", c"_length")?,
            first: offset(c"Array<Method*>", c"_data")?,
        })
    }

    /// Returns the class and the number of a method, and its `ConstMethod`; `None` if it is none. `is_kept` says that it is a method in a
    /// frame of the current thread, which keeps its class loaded; otherwise it may be anything, and counts only if its class
    /// leads back to it.
    #[inline(always)]
    pub(super) fn class_method(
        &self,
        memory: &MemoryReader,
        address: usize,
        is_kept: bool,
    ) -> Option<(ClassMethod, usize)> {
        let const_method = pointer_at(memory, address, self.const_method, is_kept)?;
        let constants = pointer_at(memory, const_method, self.constants, is_kept)?;
        let number = memory.short_at(const_method.wrapping_add(self.number), is_kept)?;
        let class = pointer_at(memory, constants, self.holder, is_kept)?;
        if !is_kept && !self.is_method_of(memory, class, address, constants, number) {
            return None;
        }
        Some((ClassMethod { class, number }, const_method))
    }

    /// Returns `true` if a class has this method at the place of its number, as long as it has not been redefined; later,
    /// if it has the constants of the method. All of them may be anything.
    #[inline(always)]
    fn is_method_of(
        &self,
        memory: &MemoryReader,
        class: usize,
        method: usize,
        constants: usize,
        number: u16,
    ) -> bool {
        let distance = usize::from(number).wrapping_mul(WORD);
        let at = self.first.wrapping_add(distance);
        let Some(methods) = pointer_at(memory, class, self.methods, false) else {
            return false;
        };
        // An `int`.
        let Some(length) = memory.word_at(methods.wrapping_add(self.length), false) else {
            return false;
        };
        if u32::from(number) < length as u32
            && memory.word_at(methods.wrapping_add(at), false) == Some(method)
        {
            return true;
        }
        pointer_at(memory, class, self.class_constants, false) == Some(constants)
    }

    /// Returns the class, by its address, of the method that an id is of; `None` if it is of none any more. The class may be
    /// another one by now.
    pub(in crate::hotspot) fn class_of(&self, id: usize) -> Option<usize> {
        let memory = MemoryReader::new();
        let method = pointer_at(&memory, id, 0, false)?;
        let const_method = pointer_at(&memory, method, self.const_method, false)?;
        let constants = pointer_at(&memory, const_method, self.constants, false)?;
        pointer_at(&memory, constants, self.holder, false)
    }

    /// Returns `true` if an id is of a method to which its class leads back, as long as neither has been redefined.
    pub(in crate::hotspot) fn is_of_class(&self, id: usize) -> bool {
        let memory = MemoryReader::new();
        pointer_at(&memory, id, 0, false)
            .is_some_and(|method| self.class_method(&memory, method, false).is_some())
    }

    /// Returns the number of the method that an id is of; `None` if it is of none any more.
    pub(in crate::hotspot) fn number_of(&self, id: usize) -> Option<u16> {
        let memory = MemoryReader::new();
        let method = pointer_at(&memory, id, 0, false)?;
        let const_method = pointer_at(&memory, method, self.const_method, false)?;
        memory.short_at(const_method.wrapping_add(self.number), false)
    }
}

/// Returns a pointer of the VM's in an object.
#[inline(always)]
fn pointer_at(memory: &MemoryReader, object: usize, offset: usize, is_kept: bool) -> Option<usize> {
    if object < LOWEST {
        return None;
    }
    let pointer = memory.word_at(object.wrapping_add(offset), is_kept)?;
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
        constants: 0,
        number: WORD + 2,
        holder: WORD,
        class_constants: 0,
        methods: WORD,
        length: 0,
        first: WORD,
    };

    /// A method of ten bytecodes, with number 1 of two in its class.
    struct Memory {
        method: [usize; 2],
        const_method: [usize; 2],
        constants: [usize; 2],
        holder: [usize; 2],
        methods: [usize; 3],
        id: [usize; 1],
    }

    fn address(of: &[usize]) -> usize {
        of.as_ptr().expose_provenance()
    }

    fn memory() -> Box<Memory> {
        let mut memory = Box::new(Memory {
            method: [0; 2],
            const_method: [0, 1 << 16],
            constants: [0; 2],
            holder: [0; 2],
            methods: [2, 0, 0],
            id: [0],
        });
        memory.method[1] = address(&memory.const_method);
        memory.const_method[0] = address(&memory.constants);
        memory.constants[1] = address(&memory.holder);
        memory.holder = [address(&memory.constants), address(&memory.methods)];
        memory.methods[2] = address(&memory.method);
        memory.id[0] = address(&memory.method);
        memory
    }

    fn found(memory: &Memory) -> Option<ClassMethod> {
        let found = LAYOUT.class_method(&MemoryReader::new(), address(&memory.method), false);
        found.map(|(method, _)| method)
    }

    #[test]
    fn a_method_has_a_class_that_leads_back_to_it() {
        let memory = memory();
        let method = found(&memory).expect("it is one");
        let class = address(&memory.holder);
        assert_eq!(method, ClassMethod { class, number: 1 });
        assert_eq!(LAYOUT.number_of(address(&memory.id)), Some(1));
        assert_eq!(LAYOUT.class_of(address(&memory.id)), Some(class));
        assert!(LAYOUT.is_of_class(address(&memory.id)));
    }

    #[test]
    fn a_method_of_a_redefined_class_may_be_at_another_place() {
        let mut memory = memory();
        memory.methods = [2, address(&memory.method), 0];
        assert!(found(&memory).is_some());
        memory.methods[0] = 1;
        assert!(found(&memory).is_some());
        let other = [0, 0];
        memory.holder[0] = address(&other);
        assert!(found(&memory).is_none(), "it has been replaced");
        assert!(!LAYOUT.is_of_class(address(&memory.id)));
        let holder = address(&memory.holder);
        assert_eq!(LAYOUT.class_of(address(&memory.id)), Some(holder));
    }

    #[test]
    fn what_is_no_method_is_none() {
        const NOWHERE: usize = 0x696d_6f74_612f_7470;
        let breaks: [fn(&mut Memory); 8] = [
            |memory| memory.method[1] = NOWHERE,
            |memory| memory.method[1] = 1,
            |memory| memory.const_method[0] = NOWHERE,
            |memory| memory.constants[1] = NOWHERE,
            |memory| memory.holder[1] = NOWHERE,
            |memory| memory.holder = [0; 2],
            |memory| (memory.holder[0], memory.methods[0]) = (0, 1),
            |memory| (memory.holder[0], memory.methods[2]) = (NOWHERE, 55),
        ];
        for (index, break_it) in breaks.into_iter().enumerate() {
            let mut memory = memory();
            break_it(&mut memory);
            assert!(found(&memory).is_none(), "{index}");
        }
    }

    #[test]
    fn an_id_whose_class_is_gone_has_no_number() {
        let mut memory = memory();
        for gone in [0, 55] {
            memory.id[0] = gone;
            assert_eq!(LAYOUT.number_of(address(&memory.id)), None);
            assert_eq!(LAYOUT.class_of(address(&memory.id)), None);
            assert!(!LAYOUT.is_of_class(address(&memory.id)));
        }
    }
}
