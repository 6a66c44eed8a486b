//! The classes of a heap dump, and the layouts of their instances.

use foldhash::HashMap;

use crate::bytes::{in_memory, saturated};
use crate::fault::HeapFault;
use crate::heap::ClassDump;
use crate::id_size::IdSize;
use crate::record::BasicType;
use crate::record::{ObjectId, StringId};

/// The classes of one dump.
#[derive(Debug, Default)]
pub(crate) struct DumpedClasses {
    index: HashMap<ObjectId, u32>,
    classes: Vec<DumpedClass>,
    last: Option<(ObjectId, u32)>,
    /// The number of classes at the last attempt to lay out all of them.
    tried: usize,
}

/// The index of a class in [`DumpedClasses`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClassIndex(u32);

impl ClassIndex {
    /// Returns the index as a number: classes are counted from 0 in the order in which they are added.
    pub(crate) fn number(self) -> usize {
        self.0 as usize
    }
}

#[derive(Debug)]
struct DumpedClass {
    id: ObjectId,
    /// The offset of its CLASS DUMP.
    offset: u64,
    super_class: ObjectId,
    /// The size of its instances that it states.
    stated: u32,
    /// The size of the fields that it declares, in bytes.
    own: u64,
    /// The offsets of the references among them.
    references: Box<[u32]>,
    /// Known as soon as the layouts of its superclasses are.
    layout: Option<ClassLayout>,
}

/// The fields of an instance that one class declares.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Declared<'a> {
    pub(crate) class: ClassIndex,
    /// The offset in the instance at which they start.
    pub(crate) base: usize,
    /// The offsets of the references among them, relative to that.
    pub(crate) references: &'a [u32],
}

/// The part of a layout that subclasses inherit.
#[derive(Clone, Copy, Debug)]
struct ClassLayout {
    /// The size of all fields of an instance, in bytes.
    size: u64,
    /// The number of fields that are references.
    references: u64,
    /// The nearest superclass that declares fields.
    next: Option<u32>,
}

impl DumpedClasses {
    pub(crate) fn add(&mut self, offset: u64, dump: &ClassDump<'_>, id_size: IdSize) {
        let mut own = 0_u32;
        let mut references = Vec::new();
        for &(_, kind) in dump.fields.iter() {
            if kind == BasicType::Object {
                references.push(own);
            }
            own += saturated(kind.size(id_size.width()));
        }
        let index = saturated(self.classes.len());
        self.classes.push(DumpedClass {
            id: dump.class,
            offset,
            super_class: dump.super_class,
            stated: dump.instance_size,
            own: own.into(),
            references: references.into(),
            layout: None,
        });
        self.index.insert(dump.class, index);
        self.lay_out(index);
    }

    #[inline]
    pub(crate) fn find(&mut self, id: ObjectId) -> Option<ClassIndex> {
        match self.last {
            Some((last, index)) if last == id => Some(ClassIndex(index)),
            _ => {
                let index = *self.index.get(&id)?;
                self.last = Some((id, index));
                Some(ClassIndex(index))
            }
        }
    }

    /// Returns the size of an instance's fields in bytes; `None` if that requires classes that are not known yet.
    #[inline]
    pub(crate) fn size(&mut self, class: ClassIndex) -> Option<u64> {
        match self.classes[class.0 as usize].layout {
            Some(layout) => Some(layout.size),
            None => self.try_size(class),
        }
    }

    fn try_size(&mut self, class: ClassIndex) -> Option<u64> {
        // Trying again only when their number has doubled keeps the cost proportional to it.
        if self.classes.len() >= 2 * self.tried {
            self.lay_out_all();
        }
        let layout = self.classes[class.0 as usize].layout?;
        Some(layout.size)
    }

    /// Lays out every class whose superclasses are all known.
    fn lay_out_all(&mut self) {
        self.tried = self.classes.len();
        let mut seen = vec![false; self.classes.len()];
        let mut chain = Vec::new();
        for class in 0..saturated(self.classes.len()) {
            let mut at = Some(class);
            while let Some(index) = at
                && self.classes[index as usize].layout.is_none()
                && !std::mem::replace(&mut seen[index as usize], true)
            {
                chain.push(index);
                let above = self.classes[index as usize].super_class;
                at = self.index.get(&above).copied();
            }
            while let Some(index) = chain.pop() {
                self.lay_out(index);
            }
        }
    }

    /// Lays out a class, unless its superclass is not laid out.
    fn lay_out(&mut self, class: u32) {
        let above = self.classes[class as usize].super_class;
        let (size, references, next) = if above == ObjectId(0) {
            (0, 0, None)
        } else {
            let above = self.index.get(&above).copied();
            let Some((above, layout)) = above.and_then(|index| {
                let layout = self.classes[index as usize].layout?;
                Some((index, layout))
            }) else {
                return;
            };
            let declares = self.classes[above as usize].own > 0;
            let next = if declares { Some(above) } else { layout.next };
            (layout.size, layout.references, next)
        };
        let class = &mut self.classes[class as usize];
        class.layout = Some(ClassLayout {
            size: size + class.own,
            references: references + class.references.len() as u64,
            next,
        });
    }

    /// Returns the number of references in an instance; 0 if that is unknown.
    pub(crate) fn references(&self, class: ClassIndex) -> u64 {
        let layout = self.classes[class.number()].layout;
        layout.map_or(0, |layout| layout.references)
    }

    /// Returns the class and its superclasses that declare fields, in the order in which an instance holds them. The
    /// class must have a size.
    #[inline]
    pub(crate) fn chain(&self, class: ClassIndex) -> impl Iterator<Item = Declared<'_>> {
        let mut base = 0;
        let mut at = Some(class);
        std::iter::from_fn(move || {
            let index = at?;
            let class = &self.classes[index.number()];
            let declared = Declared {
                class: index,
                base,
                references: &class.references,
            };
            base += in_memory(class.own);
            at = class.layout.and_then(|layout| layout.next).map(ClassIndex);
            Some(declared)
        })
    }

    /// Verifies that the classes are consistent, when all are known. `may_misstate` decides, given the offset of its
    /// CLASS DUMP, whether a class may state a wrong size for its instances.
    pub(crate) fn verify(
        &mut self,
        mut may_misstate: impl FnMut(u64) -> bool,
    ) -> Result<(), (u64, ObjectId, HeapFault)> {
        self.lay_out_all();
        for class in &self.classes {
            let fault = match class.layout {
                Some(ClassLayout { size, .. })
                    if size != u64::from(class.stated) && !may_misstate(class.offset) =>
                {
                    HeapFault::ClassSize {
                        stated: class.stated,
                        size,
                    }
                }
                None if !self.index.contains_key(&class.super_class) => HeapFault::NoClass {
                    role: "superclass",
                    class: class.super_class,
                },
                _ => continue,
            };
            return Err((class.offset, class.id, fault));
        }
        // Every endless chain of superclasses is a cycle.
        match self.classes.iter().find(|class| class.layout.is_none()) {
            Some(class) => Err((class.offset, class.id, HeapFault::SuperCircle)),
            None => Ok(()),
        }
    }
}

/// Calls `visit` with every string that a class dump names.
pub(crate) fn each_name<E>(
    dump: &ClassDump<'_>,
    visit: impl FnMut(StringId) -> Result<(), E>,
) -> Result<(), E> {
    let statics = dump.statics.iter().map(|&(name, _)| name);
    let fields = dump.fields.iter().map(|&(name, _)| name);
    statics.chain(fields).try_for_each(visit)
}
