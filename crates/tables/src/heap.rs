//! The tables of a heap dump.

use std::fs::File;

use hprof_format::{Completeness, ObjectId, Root};
use hprof_heap::{
    Births, Dump, Heap, Keeping, NoBirths, ObjectRecord, Options, Position, Progress, Visitor,
    Walk, root_name,
};

use crate::contents::{at_the_same_time, write_strings, write_values};
use crate::error::Error;
use crate::names::{MADE_UP, NamedClass, Names, id};
use crate::output::{HeapTables, Output};

/// A heap dump whose tables have been written.
pub(crate) struct Written {
    /// The reason the births file next to it was not used, if there is one.
    pub(crate) births_fault: Option<NoBirths>,
    /// How much of it the file has.
    pub(crate) completeness: Completeness,
}

/// Writes the tables; returns `None` if the file has no heap dump, in which case they have no rows.
pub(crate) fn write(
    file: &File,
    options: &crate::Options,
    names: &mut Names,
    out: &mut Output,
    progress: &dyn Progress,
) -> Result<Option<Written>, Error> {
    let wanted = options.section.map(|wanted| wanted as usize);
    let dump = match Dump::open(file, wanted) {
        Err(hprof_heap::Error::NoDump | hprof_heap::Error::NoSuchDump { .. }) => return Ok(None),
        dump => dump?,
    };
    let births = options
        .path
        .as_ref()
        .map(|path| Births::next_to(path, &dump));
    let (births, births_fault) = match births {
        None => (None, None),
        Some(Ok(births)) => (Some(births), None),
        Some(Err(fault)) => (None, Some(fault).filter(|fault| !fault.is_missing())),
    };
    let births = births.as_ref();
    match &options.retained {
        None => walk(
            &dump,
            None,
            births,
            names,
            &mut out.heap_tables().0,
            progress,
        )?,
        Some(memory) => {
            let of_heap = Options {
                layout: None,
                excluded: hprof_heap::Excluded::default(),
                memory: memory.clone(),
            };
            let read = || Ok(Heap::of(&dump, &of_heap, progress)?);
            let heap = match options.values {
                false => read()?,
                true => at_the_same_time(|| write_values(&dump, &mut out.value), read)?,
            };
            let keeping = Keeping::of(&heap)?;
            let (mut tables, string) = out.heap_tables();
            let mut walked = || walk(&dump, Some(&keeping), births, names, &mut tables, progress);
            match options.values {
                false => walked()?,
                true => at_the_same_time(|| write_strings(&heap, string), walked)?,
            }
        }
    }
    Ok(Some(Written {
        births_fault,
        completeness: dump.completeness(),
    }))
}

fn walk(
    dump: &Dump,
    keeping: Option<&Keeping<'_>>,
    births: Option<&Births>,
    names: &mut Names,
    out: &mut HeapTables<'_>,
    progress: &dyn Progress,
) -> Result<(), Error> {
    let mut walk = Walk::of(dump, None, progress)?;
    let mut tables = Tables {
        classes: Vec::new(),
        keeping,
        births,
        out,
        names,
    };
    walk.visit(&mut tables, progress)?;
    let Tables { classes, .. } = tables;
    write_fields(&walk, &classes, out)?;
    add_classes(&walk, &classes, names);
    Ok(())
}

fn write_fields(walk: &Walk<'_>, classes: &[i64], out: &mut HeapTables<'_>) -> Result<(), Error> {
    for (number, field) in (0..).zip(walk.fields()) {
        out.field.row(|row| {
            row.int(number)
                .long(field.class.map(|class| classes[class as usize]))
                .text(&*field.name)
                .text(field.kind.java_name())
                .flag(field.is_static);
        })?;
    }
    Ok(())
}

/// Adds the facts about classes in the dump.
fn add_classes(walk: &Walk<'_>, classes: &[i64], names: &mut Names) {
    for (index, row) in walk.classes().enumerate() {
        let super_class = names
            .class_of_object(row.super_object)
            .map(|class| class.id);
        let mut added = None;
        let class = match names.class_of_object(row.object) {
            Some(class) => class,
            None => added.insert(NamedClass::named(classes[index], row.name)),
        };
        if row.object != ObjectId(0) {
            class.object = Some(id(row.object.0));
        }
        if row.is_dumped {
            class.super_class = super_class;
            class.loader = Some(id(row.loader.0));
            class.instance_bytes = row.instance_size.map(u64::cast_signed);
        }
        if let Some(class) = added {
            names.add_class(class);
        }
    }
}

struct Tables<'a, 't> {
    /// The id of each class.
    classes: Vec<i64>,
    keeping: Option<&'a Keeping<'a>>,
    births: Option<&'a Births>,
    names: &'a mut Names,
    out: &'a mut HeapTables<'t>,
}

/// Returns the length of an array, which Java has below 2^31, for its column.
fn length(of_array: u64) -> i32 {
    i32::try_from(of_array).unwrap_or(i32::MAX)
}

impl Visitor for Tables<'_, '_> {
    type Error = Error;

    fn class(&mut self, class: u32, object: ObjectId) {
        let known = self.names.class_of_object(object).map(|class| class.id);
        self.classes
            .push(known.unwrap_or(MADE_UP + i64::from(class)));
    }

    #[inline]
    fn object(&mut self, object: &ObjectRecord) -> Result<(), Error> {
        let kept = self.keeping.and_then(|keeping| keeping.find(object.id));
        let born = self
            .births
            .and_then(|births| births.made_between(object.id));
        let class = self.classes[object.class as usize];
        self.out.object.row(|row| {
            row.long(id(object.id.0))
                .long(class)
                .long(i64::from(object.trace))
                .long(object.shallow.cast_signed())
                .int(object.length.map(length))
                .long(kept.map(|kept| kept.bytes.cast_signed()))
                .long(kept.and_then(|kept| kept.dominator.map(|object| id(object.0))))
                .long(born.map(|(from, _)| from.cast_signed()))
                .long(born.map(|(_, to)| to.cast_signed()));
        })?;
        Ok(())
    }

    #[inline]
    fn reference(&mut self, from: ObjectId, to: ObjectId, position: Position) -> Result<(), Error> {
        let (field, element) = match position {
            Position::Field(field) => (Some(field.cast_signed()), None),
            Position::Element(element) => (None, Some(element.cast_signed())),
        };
        self.out.reference.row(|row| {
            row.long(id(from.0)).long(id(to.0)).int(field).int(element);
        })?;
        Ok(())
    }

    fn root(&mut self, object: ObjectId, root: Root) -> Result<(), Error> {
        let (thread, position) = match root {
            Root::JniLocal { thread, frame }
            | Root::JavaFrame { thread, frame }
            | Root::JniMonitor { thread, frame } => (Some(thread), Some(frame)),
            Root::NativeStack { thread }
            | Root::ThreadBlock { thread }
            | Root::Thread { thread, .. } => (Some(thread), None),
            _ => (None, None),
        };
        let thread_id = thread.and_then(|thread| self.names.thread_id(thread));
        self.out.root.row(|row| {
            row.long(id(object.0))
                .text(&*root_name(root))
                .long(thread_id)
                .int(position.filter(|&position| position >= 0));
        })?;
        if let Root::Thread { thread, .. } = root
            && thread_id.is_some()
        {
            // The VM's own dumps have no START THREAD.
            self.names.unnamed_thread(thread, object);
        }
        Ok(())
    }
}
