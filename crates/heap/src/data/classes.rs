//! The classes of a dump: names, hierarchy, and the offsets of references in instances.

use std::sync::{Arc, OnceLock};

use foldhash::HashMap;
use hprof_format::{BasicType, ClassDump, HeapRecord, IdSize, ObjectId};

use crate::data::dump::Dump;
use crate::data::error::Error;
use crate::data::layout::{Known as Origin, Layout};
use crate::data::numbers::ClassIndex;
use crate::data::references::{Excluded, Strength};

/// No class.
pub(crate) const NO_CLASS: ClassIndex = ClassIndex(u32::MAX);

const OBJECT_CLASS: &str = "java.lang.Object";
/// The name of `java.lang.Class` in a dump that does not have it.
const CLASS: &str = "java.lang.Class";

/// A class of the JDK with a special meaning here, which its subclasses share.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Known {
    ClassLoader = 1,
    String = 2,
    Thread = 4,
}

impl Known {
    fn of_class(name: &str) -> Option<Known> {
        Some(match name {
            "java.lang.ClassLoader" => Known::ClassLoader,
            "java.lang.String" => Known::String,
            "java.lang.Thread" => Known::Thread,
            _ => return None,
        })
    }
}

/// A class of the dump, or one that objects refer to and the dump lacks.
#[derive(Debug)]
pub(crate) struct Class {
    /// The id of its object; 0 if the dump lacks the class.
    pub(crate) id: u64,
    /// The id of its object, even if the dump lacks the class; 0 if unknown.
    pub(crate) object: u64,
    pub(crate) name: Arc<str>,
    pub(crate) super_id: u64,
    /// The superclass, [`NO_CLASS`] if there is none.
    above: ClassIndex,
    /// The nearest superclass that declares fields: a chain of thousands of classes may have few fields or none, and an
    /// instance few bytes.
    declaring_above: ClassIndex,
    /// The classes of the JDK that it is or extends: [`Known`] as bits.
    known: u8,
    pub(crate) loader: u64,
    /// Names and types of the fields that it declares.
    pub(crate) declared: Box<[(u64, BasicType)]>,
    /// The number of references among its static fields, and the bytes of the others.
    statics: (u64, u64),
    /// The offset of its CLASS DUMP.
    pub(crate) offset: u64,
    /// The number of references among all of an instance's fields, and the bytes of the others.
    fields: (u64, u64),
    strength: Strength,
    /// Computed when the first instance is seen, so that the memory is proportional to that instance.
    references: OnceLock<ReferenceOffsets>,
    /// The size of an instance according to its CLASS DUMP, in bytes.
    pub(crate) stated: u32,
    /// The size of an instance in the VM, in bytes.
    pub(crate) instance_size: u64,
}

/// The offsets of the references in an instance.
#[derive(Debug, Default)]
pub(crate) struct ReferenceOffsets {
    /// Those that count.
    pub(crate) counting: Box<[u32]>,
    /// The others, of reference objects to their referents.
    pub(crate) omitted: Box<[u32]>,
}

/// The class of an object: its index, or what it is known by if the dump lacks it and it has no index yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ClassOf {
    Known(ClassIndex),
    /// The class with this object.
    Object(u64),
    /// That of arrays of a primitive type.
    Primitives(BasicType),
    /// That of classes.
    Classes,
}

#[derive(Debug)]
pub(crate) struct Classes {
    index: HashMap<u64, ClassIndex>,
    pub(super) all: Vec<Class>,
    /// The classes of the dump, each after its superclass.
    pub(super) downwards: Vec<ClassIndex>,
    /// The classes of arrays of primitive types, by the type's byte.
    primitive_arrays: [ClassIndex; 12],
    class_class: ClassIndex,
    id_size: IdSize,
    excluded: Excluded,
    /// The end of the last CLASS DUMP that was read by its offset.
    end: u64,
}

impl Classes {
    pub(crate) fn new(id_size: IdSize, excluded: Excluded) -> Classes {
        Classes {
            index: HashMap::default(),
            all: Vec::new(),
            downwards: Vec::new(),
            primitive_arrays: [NO_CLASS; 12],
            class_class: NO_CLASS,
            id_size,
            excluded,
            end: 0,
        }
    }

    /// Adds a class; if two have the same id, the first one counts.
    pub(crate) fn add(&mut self, offset: u64, class: &ClassDump<'_>, dump: &Dump) {
        let next = ClassIndex::at(self.all.len());
        if *self.index.entry(class.class.0).or_insert(next) != next {
            return;
        }
        let id = class.class.0;
        let name = dump.class_name(id).unwrap_or_else(|| unknown(id));
        let mut added = Class::named(name);
        added.id = id;
        added.object = id;
        added.super_id = class.super_class.0;
        added.stated = class.instance_size;
        added.loader = class.loader.0;
        added.declared = class
            .fields
            .iter()
            .map(|&(name, kind)| (name.0, kind))
            .collect();
        added.statics = sum(class.statics.iter().map(|&(_, value)| value.basic_type()));
        added.offset = offset;
        self.all.push(added);
    }

    /// Adds the class whose CLASS DUMP is at this offset, after those added before. One that begins within another, as
    /// only a damaged index has it, is left out: all of them together are no larger than the dump.
    pub(crate) fn add_at(&mut self, offset: u64, dump: &Dump) -> Result<(), Error> {
        let Some(found) = dump.records_from(offset).next() else {
            return Ok(());
        };
        let found = found?;
        if found.offset >= self.end
            && let HeapRecord::Class(class) = found.decode()?
        {
            self.end = found.offset + found.record.bytes().len() as u64;
            self.add(offset, &class, dump);
        }
        Ok(())
    }

    /// Builds the hierarchy, when all classes are known.
    pub(crate) fn resolve(&mut self) -> Result<(), Error> {
        for class in &mut self.all {
            class.above = self.index.get(&class.super_id).copied().unwrap_or(NO_CLASS);
        }
        let mut is_placed = vec![false; self.all.len()];
        let mut chain = Vec::new();
        for start in 0..self.all.len() {
            let mut at = ClassIndex::at(start);
            while at != NO_CLASS && !is_placed[at.place()] {
                chain.push(at);
                if chain.len() > self.all.len() {
                    let Class { offset, id, .. } = self.all[start];
                    return Err(Error::SuperCircle {
                        offset,
                        class: ObjectId(id),
                    });
                }
                at = self.all[at.place()].above;
            }
            while let Some(index) = chain.pop() {
                is_placed[index.place()] = true;
                self.downwards.push(index);
                self.inherit(index);
            }
        }
        self.find_known();
        Ok(())
    }

    fn inherit(&mut self, index: ClassIndex) {
        let class = &self.all[index.place()];
        let (references, others) = sum(class.declared.iter().map(|&(_, kind)| kind));
        let (inherited, strength, known, declaring_above) = match self.all.get(class.above.place())
        {
            None => ((0, 0), Strength::Strong, 0, NO_CLASS),
            Some(above) if above.declared.is_empty() => (
                above.fields,
                above.strength,
                above.known,
                above.declaring_above,
            ),
            Some(above) => (above.fields, above.strength, above.known, class.above),
        };
        let class = &mut self.all[index.place()];
        class.fields = (inherited.0 + references, inherited.1 + others);
        class.strength = Strength::of_class(&class.name).unwrap_or(strength);
        class.known |= known;
        class.declaring_above = declaring_above;
    }

    /// Returns for each class its value from `own`, or that of the nearest superclass that has one.
    pub(crate) fn inherited<T: Copy>(&self, own: impl Fn(&Class) -> Option<T>) -> Vec<Option<T>> {
        let mut found: Vec<Option<T>> = self.all.iter().map(own).collect();
        for &index in &self.downwards {
            let above = self.get(index).above;
            if found[index.place()].is_none() && above != NO_CLASS {
                found[index.place()] = found[above.place()];
            }
        }
        found
    }

    /// Returns for each class the first one of its name.
    pub(crate) fn first_of_names(&self) -> Vec<ClassIndex> {
        let mut first: HashMap<&str, ClassIndex> = HashMap::default();
        let all = self.iter();
        all.map(|(index, class)| *first.entry(&class.name).or_insert(index))
            .collect()
    }

    /// Returns `true` for `java.lang.Class`.
    pub(crate) fn is_class_of_classes(&self, index: ClassIndex) -> bool {
        index == self.class_class
    }

    /// Returns `true` if it is this class or a subclass.
    pub(crate) fn is(&self, index: ClassIndex, known: Known) -> bool {
        self.get(index).known & known as u8 != 0
    }

    fn find_known(&mut self) {
        let mut arrays = [NO_CLASS; 12];
        for (index, class) in self.all.iter().enumerate() {
            if &*class.name == CLASS {
                self.class_class = ClassIndex::at(index);
            }
            if let Some(element) = class.name.strip_suffix("[]").and_then(primitive) {
                arrays[element as usize] = ClassIndex::at(index);
            }
        }
        self.primitive_arrays = arrays;
    }

    /// Returns the size of an object without fields, if the dump states the true sizes of instances: HotSpot's state the sum
    /// of their fields, which is 0 for it.
    pub(crate) fn stated_header(&self) -> Option<u64> {
        let object = self.all.iter().find(|class| &*class.name == OBJECT_CLASS)?;
        let is_true = object.stated > 0 && object.fields == (0, 0);
        is_true.then_some(object.stated.into())
    }

    /// Computes the sizes of instances.
    pub(crate) fn lay_out(&mut self, layout: &Layout) {
        for class in &mut self.all {
            class.instance_size = match layout.known {
                Origin::Stated if class.stated > 0 => class.stated.into(),
                _ => layout.instance(class.fields.0, class.fields.1),
            };
        }
    }

    /// Returns the size of a class's object, in bytes: an instance of `java.lang.Class` that holds its static fields.
    pub(crate) fn class_object_size(&self, index: Option<ClassIndex>, layout: &Layout) -> u64 {
        let own = self
            .all
            .get(self.class_class.place())
            .map_or((0, 0), |class| class.fields);
        let statics = index.map_or((0, 0), |index| self.get(index).statics);
        layout.instance(own.0 + statics.0, own.1 + statics.1)
    }

    #[inline]
    pub(crate) fn get(&self, index: ClassIndex) -> &Class {
        &self.all[index.place()]
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (ClassIndex, &Class)> {
        self.all
            .iter()
            .enumerate()
            .map(|(index, class)| (ClassIndex::at(index), class))
    }

    /// Iterates over the classes of the dump, in the order in which they were added.
    pub(crate) fn dumped(&self) -> impl Iterator<Item = &Class> {
        self.all.iter().take(self.downwards.len())
    }

    /// Returns the index of a class, which is added if it has none.
    #[inline]
    pub(crate) fn index_of(&mut self, class: ClassOf, dump: &Dump) -> ClassIndex {
        match class {
            ClassOf::Known(index) => index,
            ClassOf::Object(id) => self.find_or_add(id, dump),
            ClassOf::Primitives(element) => self.primitive_array(element),
            ClassOf::Classes => self.class_class(),
        }
    }

    /// Returns a class with its index, if it has one.
    #[inline]
    pub(crate) fn known(&self, class: ClassOf) -> ClassOf {
        let index = match class {
            ClassOf::Known(index) => index,
            ClassOf::Object(id) => self.find(id).unwrap_or(NO_CLASS),
            ClassOf::Primitives(element) => self.primitive_arrays[element as usize],
            ClassOf::Classes => self.class_class,
        };
        match index {
            NO_CLASS => class,
            index => ClassOf::Known(index),
        }
    }

    #[inline]
    pub(crate) fn find(&self, id: u64) -> Option<ClassIndex> {
        self.index.get(&id).copied()
    }

    /// Returns the class with this object; one that the dump lacks is added without fields.
    pub(crate) fn find_or_add(&mut self, id: u64, dump: &Dump) -> ClassIndex {
        if let Some(index) = self.find(id) {
            return index;
        }
        let name = dump.class_name(id).unwrap_or_else(|| unknown(id));
        let mut added = Class::named(name);
        added.object = id;
        let index = self.push(added);
        self.index.insert(id, index);
        index
    }

    pub(crate) fn primitive_array(&mut self, element: BasicType) -> ClassIndex {
        let index = self.primitive_arrays[element as usize];
        if index != NO_CLASS {
            return index;
        }
        let index = self.push(Class::named(format!("{}[]", element.java_name()).into()));
        self.primitive_arrays[element as usize] = index;
        index
    }

    pub(crate) fn class_class(&mut self) -> ClassIndex {
        if self.class_class == NO_CLASS {
            self.class_class = self.push(Class::named(CLASS.into()));
        }
        self.class_class
    }

    fn push(&mut self, class: Class) -> ClassIndex {
        self.all.push(class);
        ClassIndex::at(self.all.len() - 1)
    }

    /// Returns the strength with which the reference objects of a class hold their referents.
    pub(crate) fn strength(&self, index: ClassIndex) -> Strength {
        let class = self.all.get(index.place());
        class.map_or(Strength::Strong, |class| class.strength)
    }

    /// Returns `true` if the instances of a class keep alive what nothing else does.
    pub(crate) fn is_finalizer(&self, index: ClassIndex) -> bool {
        !self.excluded.finalizer && self.strength(index) == Strength::Final
    }

    /// Returns the number of references in an instance, and the bytes of its other fields.
    pub(crate) fn field_sizes(&self, index: ClassIndex) -> (u64, u64) {
        self.get(index).fields
    }

    /// Returns the size of an instance's fields in the dump, in bytes; `None` if the dump lacks the class.
    #[inline]
    pub(crate) fn dumped_bytes(&self, index: ClassIndex) -> Option<u64> {
        let class = self.get(index);
        (class.id != 0).then(|| class.fields.0 * self.id_size.bytes() + class.fields.1)
    }

    /// Returns the offsets of the references in an instance.
    #[inline]
    pub(crate) fn references(&self, index: ClassIndex) -> &ReferenceOffsets {
        let known = &self.get(index).references;
        known.get_or_init(|| self.find_references(index))
    }

    fn find_references(&self, index: ClassIndex) -> ReferenceOffsets {
        let strength = self.get(index).strength;
        let (mut counting, mut omitted) = (Vec::new(), Vec::new());
        for field in self.fields(index) {
            let weak = &*self.get(field.class).name == "java.lang.ref.Reference"
                && self.excluded.omits(strength);
            if field.kind == BasicType::Object {
                let offsets = if weak { &mut omitted } else { &mut counting };
                offsets.push(field.offset as u32);
            }
        }
        ReferenceOffsets {
            counting: counting.into(),
            omitted: omitted.into(),
        }
    }

    /// Iterates over the fields of an instance, in the order of the dump.
    pub(crate) fn fields(&self, index: ClassIndex) -> impl Iterator<Item = InstanceField> {
        let id_size = self.id_size.bytes() as usize;
        let mut offset = 0;
        self.declaring(index)
            .flat_map(|class| {
                let fields = self.get(class).declared.iter();
                fields.map(move |&(name, kind)| (class, name, kind))
            })
            .map(move |(class, name, kind)| {
                let field = InstanceField {
                    class,
                    name,
                    kind,
                    offset,
                };
                offset += kind.size(id_size);
                field
            })
    }

    /// Iterates over a class and its superclasses that declare fields. An instance has at least a byte for each field,
    /// so there are no more of them than it has bytes.
    pub(crate) fn declaring(&self, index: ClassIndex) -> impl Iterator<Item = ClassIndex> {
        std::iter::successors(Some(index), |&index| {
            Some(self.get(index).declaring_above).filter(|&above| above != NO_CLASS)
        })
    }
}

/// A field of an instance.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InstanceField {
    /// The class that declares it.
    pub(crate) class: ClassIndex,
    pub(crate) name: u64,
    pub(crate) kind: BasicType,
    /// The offset of its value in the instance's bytes.
    pub(crate) offset: usize,
}

impl Class {
    fn named(name: Arc<str>) -> Class {
        let known = Known::of_class(&name).map_or(0, |known| known as u8);
        Class {
            id: 0,
            object: 0,
            name,
            super_id: 0,
            above: NO_CLASS,
            declaring_above: NO_CLASS,
            known,
            loader: 0,
            declared: Box::default(),
            statics: (0, 0),
            offset: 0,
            fields: (0, 0),
            strength: Strength::Strong,
            references: OnceLock::new(),
            stated: 0,
            instance_size: 0,
        }
    }
}

/// Returns the number of references, and the bytes of the rest.
fn sum(kinds: impl Iterator<Item = BasicType>) -> (u64, u64) {
    kinds.fold((0, 0), |(references, others), kind| match kind {
        BasicType::Object => (references + 1, others),
        _ => (references, others + kind.size(8) as u64),
    })
}

fn unknown(id: u64) -> Arc<str> {
    format!("<class 0x{id:x} without a name>").into()
}

/// Returns the primitive type of this name.
pub(crate) fn primitive(name: &str) -> Option<BasicType> {
    (4..12)
        .filter_map(BasicType::from_byte)
        .find(|&kind| kind.java_name() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a chain of classes, every thousandth of which declares a field; the first is a class loader.
    fn chain(length: u64) -> Classes {
        let mut classes = Classes::new(IdSize::Eight, Excluded::NONE);
        for number in 0..length {
            let name = if number == 0 {
                "java.lang.ClassLoader"
            } else {
                "Below"
            };
            let mut class = Class::named(name.into());
            class.id = number + 1;
            // The file may have them in any order.
            class.super_id = number;
            if number % 1000 == 0 {
                class.declared = Box::new([(7, BasicType::Object)]);
            }
            let index = classes.push(class);
            classes.index.insert(number + 1, index);
        }
        classes.resolve().expect("they end");
        classes
    }

    #[test]
    fn a_long_chain_is_as_long_as_the_fields_in_it() {
        let classes = chain(40_000);
        let last = ClassIndex::at(classes.len() - 1);
        assert_eq!(classes.declaring(last).count(), 1 + 40);
        assert_eq!(classes.fields(last).count(), 40);
        assert_eq!(classes.field_sizes(last), (40, 0));
        assert!(classes.is(last, Known::ClassLoader) && !classes.is(last, Known::Thread));
        let nearest = classes.inherited(|class| (class.id % 100 == 1).then_some(class.id));
        assert_eq!(nearest[39_950], Some(39_901));
        assert_eq!(nearest[39_900], Some(39_901));
    }
}
