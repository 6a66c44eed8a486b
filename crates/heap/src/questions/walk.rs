//! Reads a dump record by record, in the file's order, with names and sizes but without a graph, for conversion to
//! another form.

use std::sync::Arc;

use foldhash::HashSet;
use hprof_format::bytes::read_id_be;
use hprof_format::{BasicType, ClassDump, HeapKind, HeapRecord, ObjectId, Root, Value};

use crate::data::classes::Classes;
use crate::data::contents::{Content, Contents};
use crate::data::dump::{Dump, Found};
use crate::data::error::Error;
use crate::data::find_layout::layout_of;
use crate::data::layout::Layout;
use crate::data::numbers::ClassIndex;
use crate::data::progress::{Progress, STEP, Stage};
use crate::data::records;
use crate::data::references::Excluded;

/// The references of a class other than its static fields, in the order of their numbers among all fields.
const OF_CLASSES: [&str; 5] = [
    "<superclass>",
    "<class loader>",
    "<signers>",
    "<protection domain>",
    "<constant>",
];
/// The last of them.
const CONSTANT: u32 = OF_CLASSES.len() as u32 - 1;

/// A walk over a dump. Its memory grows only with the number of classes.
pub struct Walk<'a> {
    contents: Contents<'a>,
    fields: Vec<Field>,
    /// The number of the first field of each class.
    first_fields: Vec<u32>,
    /// The references in an instance of each class; computed at the first instance.
    references: PlacedFields,
    /// The number of classes passed to the visitor so far.
    told: usize,
}

/// A field, and where instances have its value.
#[derive(Clone, Copy)]
struct PlacedField {
    /// Its offset in the instance's bytes.
    offset: usize,
    field: u32,
    kind: BasicType,
}

/// Some fields of the instances of each class.
type PlacedFields = Vec<Option<Box<[PlacedField]>>>;

/// A field, identified by its index in [`Walk::fields`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// The class that declares it, as an index into [`Walk::classes`]; `None` for references that every class has.
    pub class: Option<u32>,
    /// Its name.
    pub name: Arc<str>,
    /// The type of its value.
    pub kind: BasicType,
    /// `true` if it belongs to the class and not to each instance.
    pub is_static: bool,
}

/// A class of the dump, or one that objects refer to and the dump lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassRow<'a> {
    /// The id of its object; 0 if unknown.
    pub object: ObjectId,
    /// `true` if the dump describes it.
    pub is_dumped: bool,
    /// Its name as in Java source.
    pub name: &'a str,
    /// The object of the superclass; 0 for none.
    pub super_object: ObjectId,
    /// The object of its loader; 0 for the boot loader.
    pub loader: ObjectId,
    /// The size of an instance in the VM, in bytes; `None` for arrays.
    pub instance_size: Option<u64>,
}

/// An object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectRecord {
    /// Its id.
    pub id: ObjectId,
    /// Its class, as an index into [`Walk::classes`].
    pub class: u32,
    /// The serial number in the file of the stack that allocated it.
    pub trace: u32,
    /// Its shallow size, in bytes.
    pub shallow: u64,
    /// The number of elements of an array.
    pub length: Option<u64>,
}

/// The position of a reference in an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// In a field, as an index into [`Walk::fields`].
    Field(u32),
    /// In this element of an array.
    Element(u32),
}

/// Receives everything in a dump. An object comes before its references.
pub trait Visitor {
    /// The reason it does not go on.
    type Error: From<Error>;

    /// Called with a class, as an index into [`Walk::classes`], and its object, 0 if unknown. Classes come in the order
    /// of their indexes, and before all of their objects.
    fn class(&mut self, class: u32, object: ObjectId);

    /// Called with an object.
    ///
    /// # Errors
    /// Those of the visitor.
    fn object(&mut self, object: &ObjectRecord) -> Result<(), Self::Error>;

    /// Called with a reference of the last object, `from`; never null. `to` need not be in the dump.
    ///
    /// # Errors
    /// Those of the visitor.
    fn reference(
        &mut self,
        from: ObjectId,
        to: ObjectId,
        position: Position,
    ) -> Result<(), Self::Error>;

    /// Called with a root that keeps an object alive.
    ///
    /// # Errors
    /// Those of the visitor.
    fn root(&mut self, object: ObjectId, root: Root) -> Result<(), Self::Error>;
}

impl<'a> Walk<'a> {
    /// Reads the classes of a dump.
    ///
    /// # Errors
    /// [`Error`], with the offset, if the dump is damaged.
    pub fn of(
        dump: &'a Dump,
        layout: Option<Layout>,
        progress: &dyn Progress,
    ) -> Result<Walk<'a>, Error> {
        dump.unless_changed(|| Walk::read(dump, layout, progress))
    }

    fn read(
        dump: &'a Dump,
        layout: Option<Layout>,
        progress: &dyn Progress,
    ) -> Result<Walk<'a>, Error> {
        let mut classes = Classes::new(dump.id_size(), Excluded::NONE);
        let mut fields: Vec<Field> = OF_CLASSES.map(Field::of_classes).into();
        let mut first_fields = Vec::new();
        let mut seen = HashSet::default();
        each_record(dump, progress, Stage::Index, |found| {
            if found.record.kind() == HeapKind::Class
                && let HeapRecord::Class(class) = found.decode()?
                && seen.insert(class.class.0)
            {
                classes.add(found.offset, &class, dump);
                first_fields.push(fields.len() as u32);
                fields.extend(fields_of(first_fields.len() as u32 - 1, &class, dump));
            }
            Ok::<_, Error>(())
        })?;
        classes.resolve()?;
        let layout = match layout {
            Some(layout) => layout,
            None => layout_of(dump, &mut classes)?,
        };
        classes.lay_out(&layout);
        Ok(Walk {
            contents: Contents {
                dump,
                layout,
                classes,
            },
            fields,
            first_fields,
            references: Vec::new(),
            told: 0,
        })
    }

    /// Returns all fields, including entries for the references that every class has.
    #[must_use]
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// Iterates over all classes; those that the dump lacks follow once one of their objects has occurred.
    pub fn classes(&self) -> impl Iterator<Item = ClassRow<'_>> {
        self.contents.classes.iter().map(|(_, class)| ClassRow {
            object: ObjectId(class.object),
            is_dumped: class.id != 0,
            name: &class.name,
            super_object: ObjectId(class.super_id),
            loader: ObjectId(class.loader),
            instance_size: (class.id != 0 && !class.name.ends_with("[]"))
                .then_some(class.instance_size),
        })
    }

    /// Passes everything in the dump to `visitor`.
    ///
    /// # Errors
    /// Those of the visitor, and [`Error`] if the dump is damaged.
    pub fn visit<V: Visitor>(
        &mut self,
        visitor: &mut V,
        progress: &dyn Progress,
    ) -> Result<(), V::Error> {
        let dump = self.contents.dump;
        dump.unless_changed(|| {
            self.told = 0;
            self.report_classes(visitor);
            each_record(dump, progress, Stage::References, |found| {
                self.record(found, visitor)
            })
        })
    }

    #[inline]
    fn report_classes<V: Visitor>(&mut self, visitor: &mut V) {
        while self.told < self.contents.classes.len() {
            let class = ClassIndex::at(self.told);
            let object = ObjectId(self.contents.classes.get(class).object);
            visitor.class(class.0, object);
            self.told += 1;
        }
    }

    #[inline]
    fn record<V: Visitor>(&mut self, found: &Found<'a>, visitor: &mut V) -> Result<(), V::Error> {
        let Some(object) = self.contents.object(found)? else {
            if let HeapRecord::Root { object, root } = found.decode()? {
                visitor.root(object, root)?;
            }
            return Ok(());
        };
        let dump = self.contents.dump;
        let object_class = self.contents.classes.index_of(object.class, dump);
        self.report_classes(visitor);
        let id_size = dump.id_size();
        let width = id_size.bytes() as usize;
        let length = match object.content {
            Content::Elements(elements) => Some((elements.len() / width) as u64),
            Content::Primitives(length) => Some(length),
            Content::Fields(_) | Content::Class(_) => None,
        };
        let id = ObjectId(object.id);
        visitor.object(&ObjectRecord {
            id,
            class: object_class.0,
            trace: object.trace,
            shallow: object.size,
            length,
        })?;
        match object.content {
            Content::Fields(fields) => {
                for &PlacedField { offset, field, .. } in self.references(object_class) {
                    let to = read_id_be(fields, offset, id_size);
                    if to != 0 {
                        visitor.reference(id, ObjectId(to), Position::Field(field))?;
                    }
                }
            }
            Content::Elements(elements) => {
                for (element, bytes) in (0..).zip(elements.chunks_exact(width)) {
                    let to = read_id_be(bytes, 0, id_size);
                    if to != 0 {
                        visitor.reference(id, ObjectId(to), Position::Element(element))?;
                    }
                }
            }
            Content::Class(_) => {
                if let HeapRecord::Class(class) = found.decode()? {
                    self.class(&class, visitor)?;
                }
            }
            Content::Primitives(_) => {}
        }
        Ok(())
    }

    fn class<V: Visitor>(&self, class: &ClassDump<'_>, visitor: &mut V) -> Result<(), V::Error> {
        let every = [
            class.super_class,
            class.loader,
            class.signers,
            class.protection_domain,
        ];
        let every = every.iter().map(|object| Some(object.0)).zip(0..);
        let constants = class.constants.iter();
        let constants = constants.map(|(_, value)| (value.object(), CONSTANT));
        let statics = self.statics(class);
        let statics = statics.map(|(value, field)| (value.object(), field));
        for (to, field) in every.chain(constants).chain(statics) {
            if let Some(to) = to.filter(|&to| to != 0) {
                visitor.reference(class.class, ObjectId(to), Position::Field(field))?;
            }
        }
        Ok(())
    }

    /// Iterates over the values of a class's static fields, with their numbers.
    fn statics(&self, class: &ClassDump<'_>) -> impl Iterator<Item = (Value, u32)> {
        let index = self.contents.classes.find(class.class.0);
        let first = index.and_then(|index| self.first_fields.get(index.place()));
        let first = first.map_or(0, |first| first + class.fields.len() as u32);
        class.statics.iter().map(|&(_, value)| value).zip(first..)
    }

    /// Passes the values of all fields that are not references to `visit`: the object, the field as an index into
    /// [`Walk::fields`], and its value.
    ///
    /// # Errors
    /// Those of `visit`, and [`Error`] if the dump is damaged.
    pub fn visit_values<E: From<Error>>(
        &mut self,
        mut visit: impl FnMut(ObjectId, u32, Value) -> Result<(), E>,
        progress: &dyn Progress,
    ) -> Result<(), E> {
        let dump = self.contents.dump;
        let mut fields = PlacedFields::new();
        dump.unless_changed(|| {
            each_record(dump, progress, Stage::References, |found| {
                self.values(found, &mut fields, &mut visit)
            })
        })
    }

    #[inline]
    fn values<E: From<Error>>(
        &mut self,
        found: &Found<'a>,
        fields: &mut PlacedFields,
        visit: &mut impl FnMut(ObjectId, u32, Value) -> Result<(), E>,
    ) -> Result<(), E> {
        let dump = self.contents.dump;
        if !matches!(found.record.kind(), HeapKind::Instance | HeapKind::Class) {
            return Ok(());
        }
        let Some(object) = self.contents.object(found)? else {
            return Ok(());
        };
        match object.content {
            Content::Fields(bytes) => {
                let class = self.contents.classes.index_of(object.class, dump);
                let placed = || {
                    find_fields(&self.contents, &self.first_fields, class, |kind| {
                        kind != BasicType::Object
                    })
                };
                for &PlacedField {
                    offset,
                    field,
                    kind,
                } in of_class(fields, class, placed)
                {
                    let value = bytes.get(offset..);
                    let value = value.and_then(|at| records::value(at, kind, dump.id_size()));
                    if let Some(value) = value {
                        visit(ObjectId(object.id), field, value)?;
                    }
                }
            }
            Content::Class(_) => {
                if let HeapRecord::Class(class) = found.decode()? {
                    for (value, field) in self.statics(&class) {
                        if value.object().is_none() {
                            visit(class.class, field, value)?;
                        }
                    }
                }
            }
            Content::Elements(_) | Content::Primitives(_) => {}
        }
        Ok(())
    }

    #[inline]
    fn references(&mut self, class: ClassIndex) -> &[PlacedField] {
        let Walk {
            contents,
            first_fields,
            references,
            ..
        } = self;
        of_class(references, class, || {
            find_fields(contents, first_fields, class, |kind| {
                kind == BasicType::Object
            })
        })
    }
}

/// Returns the fields of a class's instances that have a type.
fn find_fields(
    contents: &Contents<'_>,
    first_fields: &[u32],
    class: ClassIndex,
    is_wanted: impl Fn(BasicType) -> bool,
) -> Box<[PlacedField]> {
    let width = contents.dump.id_size().bytes() as usize;
    let mut fields = Vec::new();
    let mut offset = 0;
    for index in contents.classes.declaring(class) {
        let first = first_fields.get(index.place()).copied();
        let declared = contents.classes.get(index).declared.iter();
        for (field, &(_, kind)) in (first.unwrap_or_default()..).zip(declared) {
            if is_wanted(kind) {
                fields.push(PlacedField {
                    offset,
                    field,
                    kind,
                });
            }
            offset += kind.size(width);
        }
    }
    fields.into()
}

/// Returns the fields of a class; they are found at its first instance.
#[inline]
fn of_class(
    fields: &mut PlacedFields,
    class: ClassIndex,
    find: impl FnOnce() -> Box<[PlacedField]>,
) -> &[PlacedField] {
    let index = class.place();
    if fields.len() <= index {
        fields.resize(index + 1, None);
    }
    fields[index].get_or_insert_with(find)
}

impl Field {
    fn of_classes(name: &str) -> Field {
        Field {
            class: None,
            name: name.into(),
            kind: BasicType::Object,
            is_static: true,
        }
    }
}

/// Returns the fields of instances, then the static ones.
fn fields_of(index: u32, class: &ClassDump<'_>, dump: &Dump) -> Vec<Field> {
    let field = |name, kind, is_static| Field {
        class: Some(index),
        name: dump.name(name),
        kind,
        is_static,
    };
    let own = class.fields.iter();
    let own = own.map(|&(name, kind)| field(name.0, kind, false));
    let statics = class.statics.iter();
    let statics = statics.map(|&(name, value)| field(name.0, value.basic_type(), true));
    own.chain(statics).collect()
}

fn each_record<'a, E: From<Error>>(
    dump: &'a Dump,
    progress: &dyn Progress,
    stage: Stage,
    mut visit: impl FnMut(&Found<'a>) -> Result<(), E>,
) -> Result<(), E> {
    let mut bytes = 0;
    for (count, found) in (0_u64..).zip(dump.records()) {
        let found = found?;
        bytes += found.record.bytes().len() as u64;
        if count % STEP == 0 {
            progress.at(stage, bytes, dump.length());
        }
        visit(&found)?;
    }
    Ok(())
}
