//! The ids of methods (`jmethodID`).
//!
//! Up to JDK 25 an id is the address of a word that holds the `Method*` for as long as its class is loaded; the word is
//! never freed. From JDK 26 on (JDK-8268406) it is a number that is never given again, and the classes have lists of
//! those of their methods.

use super::layout::WORD;
use super::probe::MemoryReader;
use super::{LOWEST, VmStructs, read};
use crate::env::Env;
use crate::vm_kind::Release;

/// What an id is in this VM.
#[derive(Clone, Copy)]
pub(in crate::hotspot) enum MethodIds {
    /// An address.
    Addresses,
    /// A number.
    Numbers(NumberedIds),
}

/// Offsets on the way from a method to its id.
#[derive(Clone, Copy)]
pub(in crate::hotspot) struct NumberedIds {
    const_method: usize,
    constants: usize,
    number: usize,
    /// `ConstantPool::_pool_holder`.
    holder: usize,
    /// `InstanceKlass::_methods_jmethod_ids`, null until one of the methods has an id. The list begins with the number of
    /// its places, and a method's place is the one of its own number.
    ids: usize,
    /// `InstanceKlass::_methods`.
    methods: usize,
    /// In an array of methods: their number, and where they begin.
    length: usize,
    first: usize,
}

impl MethodIds {
    /// Returns `None` in a VM that does not export what is needed.
    pub(in crate::hotspot) fn find(env: Env) -> Option<Self> {
        match env.tested_vm() {
            Some(vm) if vm.release() >= Release::Jdk26 => {
                NumberedIds::find(vm.structs()).map(Self::Numbers)
            }
            _ => Some(Self::Addresses),
        }
    }
}

impl NumberedIds {
    fn find(structs: VmStructs) -> Option<Self> {
        let offset = |type_name, name| structs.offset(type_name, name);
        Some(Self {
            const_method: offset(c"Method", c"_constMethod")?,
            constants: offset(c"ConstMethod", c"_constants")?,
            number: offset(c"ConstMethod", c"_method_idnum")?,
            holder: offset(c"ConstantPool", c"_pool_holder")?,
            ids: offset(c"InstanceKlass", c"_methods_jmethod_ids")?,
            methods: offset(c"InstanceKlass", c"_methods")?,
            length: offset(c"Array<int>", c"_length")?,
            first: offset(c"Array<Method*>", c"_data")?,
        })
    }

    /// Returns the id of a method; `None` if the VM has made none.
    ///
    /// # Safety
    /// The method is in a frame of the current thread, which keeps its class loaded.
    #[inline]
    pub(super) unsafe fn of(&self, method: usize) -> Option<usize> {
        if method < LOWEST || !method.is_multiple_of(WORD) {
            return None;
        }
        // SAFETY: the caller's promise; a method has all of these, which are freed after it. Only a redefinition of the
        // class frees the list, once it has put a longer one in its place: what was read counts if the class has the
        // same list afterwards, and the C library keeps a freed list's memory at least for the nanosecond in between.
        unsafe {
            let const_method: usize = read(method + self.const_method);
            let number = usize::from(read::<u16>(const_method + self.number));
            let class: usize = read(read::<usize>(const_method + self.constants) + self.holder);
            let list: usize = read(class + self.ids);
            if list == 0 || number >= read::<usize>(list) {
                return None;
            }
            let id: usize = read(list + (number + 1) * WORD);
            (id != 0 && read::<usize>(class + self.ids) == list).then_some(id)
        }
    }

    /// Returns the numbers of a class's methods, and the ids of those that have one.
    pub(in crate::hotspot) fn of_class(&self, class: usize) -> Vec<(u16, usize)> {
        let memory = MemoryReader::new();
        let word = |address| memory.word_at(address, false);
        let list = word(class + self.ids).filter(|&list| list != 0);
        let places = list.and_then(|list| Some((list, word(list)?)));
        let Some((list, places)) = places else {
            return Vec::new();
        };
        let places = u16::try_from(places).unwrap_or(u16::MAX);
        let id_of = |number| word(list + (usize::from(number) + 1) * WORD).filter(|&id| id != 0);
        let ids = (0..places).filter_map(|number| Some((number, id_of(number)?)));
        let ids = ids.collect();
        // A redefinition may have freed the list meanwhile.
        match word(class + self.ids) == Some(list) {
            true => ids,
            false => Vec::new(),
        }
    }

    /// Returns the address of the word in which a class has the method with this id, for as long as it is not redefined.
    pub(super) fn cell(&self, class: usize, id: usize) -> Option<usize> {
        let ids = self.of_class(class);
        let &(wanted, _) = ids.iter().find(|&&(_, of_method)| of_method == id)?;
        let memory = MemoryReader::new();
        let word = |address| memory.word_at(address, false);
        let number_of = |const_method: usize| memory.short_at(const_method + self.number, false);
        let methods = word(class + self.methods)?;
        // An `int`.
        let length = word(methods + self.length)? as u32 as usize;
        let mut cells = (0..length).map(|index| methods + self.first + index * WORD);
        cells.find(|&cell| {
            let method = word(cell);
            let const_method = method.and_then(|method| word(method + self.const_method));
            const_method.and_then(number_of) == Some(wanted)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDS: NumberedIds = NumberedIds {
        const_method: WORD,
        constants: 0,
        number: WORD + 2,
        holder: WORD,
        ids: 0,
        methods: WORD,
        length: 0,
        first: WORD,
    };

    /// A class with a method of number 1, whose list of ids has places for two.
    struct Memory {
        method: [usize; 2],
        const_method: [usize; 2],
        constants: [usize; 2],
        class: [usize; 2],
        methods: [usize; 2],
        list: [usize; 3],
    }

    fn address(of: &[usize]) -> usize {
        of.as_ptr().expose_provenance()
    }

    fn memory() -> Box<Memory> {
        let mut memory = Box::new(Memory {
            method: [0; 2],
            const_method: [0, 1 << 16],
            constants: [0; 2],
            class: [0; 2],
            methods: [1, 0],
            list: [2, 0, 77],
        });
        memory.method[1] = address(&memory.const_method);
        memory.const_method[0] = address(&memory.constants);
        memory.constants[1] = address(&memory.class);
        memory.class = [address(&memory.list), address(&memory.methods)];
        memory.methods[1] = address(&memory.method);
        memory
    }

    #[test]
    fn a_method_has_the_id_in_the_place_of_its_number() {
        let mut memory = memory();
        // SAFETY: the method is there, with all that it refers to.
        let id = |memory: &Memory| unsafe { IDS.of(address(&memory.method)) };
        assert_eq!(id(&memory), Some(77));
        assert_eq!(IDS.of_class(address(&memory.class)), [(1, 77)]);
        assert_eq!(
            IDS.cell(address(&memory.class), 77),
            Some(address(&memory.methods) + WORD)
        );
        assert_eq!(IDS.cell(address(&memory.class), 78), None);
        memory.list[0] = 1;
        assert_eq!(id(&memory), None, "the list is too short");
        memory.list = [2, 0, 0];
        assert_eq!(id(&memory), None, "it has none");
        memory.class[0] = 0;
        assert_eq!(id(&memory), None, "no method of the class has one");
        assert_eq!(IDS.of_class(address(&memory.class)), []);
    }
}
