//! The classes of a heap dump, and how their instances are laid out.

use foldhash::HashMap;

use crate::{BasicType, ClassDump, HeapFault, IdSize, ObjectId, StringId};

/// The classes of one dump.
#[derive(Debug, Default)]
pub(crate) struct Classes {
    index: HashMap<ObjectId, u32>,
    classes: Vec<DumpedClass>,
    last: Option<(ObjectId, u32)>,
    /// How many classes there were when all were last tried to be laid out.
    tried: usize,
}

/// A class, by its place in [`Classes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClassIndex(u32);

impl ClassIndex {
    /// The index as a number: classes are counted from 0 as they are added.
    pub(crate) fn number(self) -> usize {
        self.0 as usize
    }
}

#[derive(Debug)]
struct DumpedClass {
    id: ObjectId,
    /// Where its CLASS DUMP stands.
    offset: u64,
    super_class: ObjectId,
    /// What it says about the size of its instances.
    stated: u32,
    /// Bytes of the fields that it declares.
    own: u64,
    /// Where among them the references are.
    references: Box<[u32]>,
    /// Known as soon as those of the classes above are.
    layout: Option<ClassLayout>,
}

/// The fields of an instance that one class declares.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Declared<'a> {
    pub(crate) class: ClassIndex,
    /// Where in the instance they start.
    pub(crate) base: usize,
    /// Where behind that the references among them are.
    pub(crate) references: &'a [u32],
}

/// What a class inherits.
#[derive(Clone, Copy, Debug)]
struct ClassLayout {
    /// Bytes of all fields of an instance.
    size: u64,
    /// How many of the fields are references.
    references: u64,
    /// The next class above that declares fields.
    next: Option<u32>,
}

impl Classes {
    pub(crate) fn add(&mut self, offset: u64, dump: &ClassDump<'_>, id_size: IdSize) {
        let mut own = 0;
        let mut references = Vec::new();
        for &(_, kind) in dump.fields.iter() {
            if kind == BasicType::Object {
                references.push(own as u32);
            }
            own += kind.size(id_size.bytes() as usize) as u64;
        }
        let index = self.classes.len() as u32;
        self.classes.push(DumpedClass {
            id: dump.class,
            offset,
            super_class: dump.super_class,
            stated: dump.instance_size,
            own,
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

    /// Bytes that the fields of an instance take; `None` where that cannot be told before more classes are known.
    #[inline]
    pub(crate) fn size(&mut self, class: ClassIndex) -> Option<u64> {
        match self.classes[class.0 as usize].layout {
            Some(layout) => Some(layout.size),
            None => self.try_size(class),
        }
    }

    fn try_size(&mut self, class: ClassIndex) -> Option<u64> {
        // Trying only when there are twice as many keeps the cost in proportion to their number.
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
        for class in 0..self.classes.len() as u32 {
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

    /// Lays a class out, unless the one above it is not.
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

    /// How many references an instance holds; 0 where that cannot be told.
    pub(crate) fn references(&self, class: ClassIndex) -> u64 {
        let layout = self.classes[class.number()].layout;
        layout.map_or(0, |layout| layout.references)
    }

    /// The class and those above that declare fields, in the order in which an instance holds these. The class must have a
    /// size.
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
            base += class.own as usize;
            at = class.layout.and_then(|layout| layout.next).map(ClassIndex);
            Some(declared)
        })
    }

    /// Verifies what the classes say of each other, when all are known. `may_misstate` is asked, with the place of its CLASS
    /// DUMP, whether a class may be wrong about the size of its instances.
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
        // Every chain of superclasses that goes on for ever goes round.
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
