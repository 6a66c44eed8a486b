//! The numbers of objects by group, in one pass without the graph.

use std::ops::Range;
use std::sync::Arc;

use foldhash::HashMap;
use hprof_format::{Age, BasicType, HeapKind, HeapRecord, ObjectId};
use serde::Serialize;

use crate::data::births::Births;
use crate::data::classes::Classes;
use crate::data::dump::Dump;
use crate::data::error::Error;
use crate::data::find_layout::layout_of;
use crate::data::layout::Layout;
use crate::data::names::{self, Stack};
use crate::data::progress::{Progress, STEP, Stage};
use crate::data::records;
use crate::data::references::Excluded;
use crate::questions::groups::{By, Key};

/// All objects of a dump, whether roots reach them or not.
#[derive(Clone, Debug, Serialize)]
pub struct Histogram {
    /// The layout from which sizes were computed.
    pub layout: Layout,
    /// Groups, those with the most bytes first.
    pub rows: Vec<Row>,
}

/// A group of objects.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Their common property.
    pub name: Arc<str>,
    /// The number of objects.
    pub objects: u64,
    /// Their shallow size, in bytes.
    pub shallow: u64,
    /// The stack that allocated them, for groups by site.
    #[serde(skip_serializing_if = "crate::data::names::is_empty")]
    pub stack: Stack,
}

/// The class and stack of an object, according to its record.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Made {
    /// The id of the class; for arrays of primitive types, the byte of the type.
    class: u64,
    is_primitive: bool,
    trace: u32,
    /// `None` if it is not known, or not asked for.
    age: Option<Age>,
}

#[derive(Default)]
struct Sum {
    objects: u64,
    /// The size in bytes, for arrays and for instances without a class.
    bytes: u64,
    instances: u64,
}

/// The objects to count, and the way to group them.
#[derive(Clone, Copy, Default)]
struct Question<'a> {
    /// The property that the objects of a group have in common; `None` for their age.
    by: Option<By>,
    /// The ages by which objects are told apart.
    ages: Option<&'a Births>,
}

/// Counts the objects of a dump. Groups by loader have the loaders' ids as names.
///
/// # Errors
/// [`Error`], if the dump is damaged.
pub fn histogram(
    dump: &Dump,
    by: By,
    layout: Option<Layout>,
    progress: &dyn Progress,
) -> Result<Histogram, Error> {
    let question = Question {
        by: Some(by),
        ..Question::default()
    };
    count(dump, question, layout, progress)
}

/// Counts the objects of a dump by their age.
///
/// # Errors
/// As [`histogram`].
pub fn ages(
    dump: &Dump,
    births: &Births,
    layout: Option<Layout>,
    progress: &dyn Progress,
) -> Result<Histogram, Error> {
    let question = Question {
        ages: Some(births),
        ..Question::default()
    };
    count(dump, question, layout, progress)
}

fn count(
    dump: &Dump,
    question: Question<'_>,
    layout: Option<Layout>,
    progress: &dyn Progress,
) -> Result<Histogram, Error> {
    dump.unless_changed(|| {
        let layout = match layout {
            Some(layout) => layout,
            None => layout_of(dump, &mut first_classes(dump)?)?,
        };
        let parts = dump.in_parts(progress, |part, progress| {
            let mut pass = Pass::new(dump, layout, question);
            pass.read(part, progress)?;
            Ok(pass)
        })?;
        let pass = parts.into_iter().reduce(Pass::followed_by);
        pass.unwrap_or_else(|| Pass::new(dump, layout, question))
            .rows()
    })
}

/// The value for records that are not objects.
const NOT_AN_OBJECT: Made = Made {
    class: 0,
    is_primitive: true,
    trace: 0,
    age: None,
};

fn is_object(kind: HeapKind) -> bool {
    matches!(
        kind,
        HeapKind::Instance
            | HeapKind::ObjectArray
            | HeapKind::PrimitiveArray
            | HeapKind::PrimitiveArrayWithoutData
    )
}

/// Returns the classes among the first hundred thousand records; if other classes come later, only arrays determine the
/// layout.
fn first_classes(dump: &Dump) -> Result<Classes, Error> {
    let mut classes = Classes::new(dump.id_size(), Excluded::NONE);
    for found in dump.records().take(100_000) {
        let found = found?;
        if found.record.kind() == HeapKind::Class
            && let HeapRecord::Class(class) = records::decode(&found)?
        {
            classes.add(found.offset, &class, dump);
        }
    }
    classes.resolve()?;
    Ok(classes)
}

struct Pass<'a> {
    dump: &'a Dump,
    layout: Layout,
    question: Question<'a>,
    /// The offsets of the CLASS DUMPs.
    classes: Vec<u64>,
    /// Class objects, and their traces.
    objects: Vec<(u64, u32, Option<Age>)>,
    sums: HashMap<Made, usize>,
    last: (Made, usize),
    all: Vec<(Made, Sum)>,
}

impl<'a> Pass<'a> {
    fn new(dump: &'a Dump, layout: Layout, question: Question<'a>) -> Pass<'a> {
        Pass {
            dump,
            layout,
            question,
            classes: Vec::new(),
            objects: Vec::new(),
            sums: HashMap::default(),
            last: (NOT_AN_OBJECT, 0),
            all: Vec::new(),
        }
    }

    fn read(&mut self, part: &[Range<usize>], progress: &dyn Progress) -> Result<(), Error> {
        let all = part.iter().map(|segment| segment.len() as u64).sum();
        let mut bytes = 0;
        for (count, found) in (0_u64..).zip(self.dump.records_of(part)) {
            let found = found?;
            bytes += found.record.bytes().len() as u64;
            if count % STEP == 0 {
                progress.at(Stage::Index, bytes, all);
            }
            if found.record.kind() == HeapKind::Class || is_object(found.record.kind()) {
                self.add(found.offset, &records::decode(&found)?);
            }
        }
        Ok(())
    }

    /// Adds the results of the next part.
    fn followed_by(mut self, next: Pass<'_>) -> Pass<'a> {
        self.classes.extend(next.classes);
        self.objects.extend(next.objects);
        for (made, sum) in next.all {
            let own = self.sum_of(made);
            own.objects += sum.objects;
            own.bytes += sum.bytes;
            own.instances += sum.instances;
        }
        self
    }

    #[inline]
    fn add(&mut self, offset: u64, record: &HeapRecord<'_>) {
        match *record {
            HeapRecord::Instance {
                object,
                trace,
                class,
                fields,
                ..
            } => {
                let sum = self.sum(object, class.0, false, trace.0);
                sum.instances += 1;
                sum.bytes += fields.len() as u64;
                sum.objects += 1;
            }
            HeapRecord::ObjectArray {
                object,
                trace,
                class,
                elements,
                ..
            } => {
                let length = elements.len() as u64 / self.dump.id_size().bytes();
                let size = self.layout.array(length, self.layout.reference.into());
                let sum = self.sum(object, class.0, false, trace.0);
                sum.objects += 1;
                sum.bytes += size;
            }
            HeapRecord::PrimitiveArray {
                object,
                trace,
                element,
                elements,
                ..
            } => {
                let width = element.size(8) as u64;
                let size = self.layout.array(elements.len() as u64 / width, width);
                let sum = self.sum(object, element as u64, true, trace.0);
                sum.objects += 1;
                sum.bytes += size;
            }
            HeapRecord::PrimitiveArrayWithoutData {
                object,
                trace,
                element,
                length,
                ..
            } => {
                let size = self.layout.array(length.into(), element.size(8) as u64);
                let sum = self.sum(object, element as u64, true, trace.0);
                sum.objects += 1;
                sum.bytes += size;
            }
            HeapRecord::Class(ref class) => {
                self.classes.push(offset);
                let age = self.age(class.class);
                self.objects.push((class.class.0, class.trace.0, age));
            }
            HeapRecord::Root { .. } | HeapRecord::HeapInfo { .. } => {}
        }
    }

    #[inline]
    fn sum(&mut self, object: ObjectId, class: u64, is_primitive: bool, trace: u32) -> &mut Sum {
        let age = self.age(object);
        self.sum_of(Made {
            class,
            is_primitive,
            trace,
            age,
        })
    }

    #[inline]
    fn age(&self, object: ObjectId) -> Option<Age> {
        self.question.ages?.age(object.0)
    }

    #[inline]
    fn sum_of(&mut self, made: Made) -> &mut Sum {
        if self.last.0 != made || self.all.is_empty() {
            let next = self.all.len();
            let index = *self.sums.entry(made).or_insert(next);
            if index == next {
                self.all.push((made, Sum::default()));
            }
            self.last = (made, index);
        }
        &mut self.all[self.last.1].1
    }

    fn rows(self) -> Result<Histogram, Error> {
        let (dump, layout) = (self.dump, self.layout);
        let mut classes = Classes::new(dump.id_size(), Excluded::NONE);
        for offset in self.classes {
            classes.add_at(offset, dump)?;
        }
        classes.resolve()?;
        classes.lay_out(&layout);
        let class_class = classes.class_class();
        let mut groups = Groups {
            dump,
            by: self.question.by,
            rows: HashMap::default(),
        };
        for (id, trace, age) in self.objects {
            let class = classes.find(id);
            let size = class.map_or(0, |class| classes.class_object_size(class, &layout));
            groups.add(&classes, class_class, (trace, age), 1, size);
        }
        for (made, sum) in self.all {
            let class = match BasicType::from_byte(made.class as u8) {
                Some(element) if made.is_primitive => classes.primitive_array(element),
                _ => classes.find_or_add(made.class, dump),
            };
            let bytes = match (sum.instances, classes.get(class)) {
                (0, _) => sum.bytes,
                // The size of the fields in the dump is the best estimate for an unknown class.
                (instances, class) if class.id == 0 => {
                    instances * layout.instance(0, sum.bytes / instances)
                }
                (instances, class) => instances * class.instance_size,
            };
            groups.add(&classes, class, (made.trace, made.age), sum.objects, bytes);
        }
        let mut rows: Vec<(Row, u32)> = groups.rows.into_values().collect();
        // Not sorted by stacks: thousands of sites may have one as long as the file.
        rows.sort_by(|(one, trace), (other, other_trace)| {
            let by_size = other.shallow.cmp(&one.shallow);
            by_size.then_with(|| (&one.name, trace).cmp(&(&other.name, other_trace)))
        });
        let rows = rows.into_iter().map(|(row, _)| row).collect();
        Ok(Histogram { layout, rows })
    }
}

/// The counts, by their common property.
struct Groups<'a> {
    dump: &'a Dump,
    by: Option<By>,
    /// Each with the trace of one of its objects.
    rows: HashMap<Key, (Row, u32)>,
}

impl Groups<'_> {
    fn add(
        &mut self,
        classes: &Classes,
        class: u32,
        (trace, age): (u32, Option<Age>),
        objects: u64,
        bytes: u64,
    ) {
        let (by, dump) = (self.by, self.dump);
        let class_data = classes.get(class);
        let new_row = || Row {
            name: match by {
                Some(By::Class | By::Site) => Arc::clone(&class_data.name),
                Some(By::Package) => names::package_label(&class_data.name).into(),
                Some(By::Loader) if class_data.loader == 0 => "<boot loader>".into(),
                None => age.map_or("<not tracked>".into(), |age| age.to_string().into()),
                Some(By::Loader) => format!("0x{:x}", class_data.loader).into(),
            },
            objects: 0,
            shallow: 0,
            stack: match by {
                Some(By::Site) => dump.stack(trace),
                _ => Stack::default(),
            },
        };
        let key = match by {
            None => Key::Age(age),
            Some(by) => Key::of(by, class, class_data, trace),
        };
        let (row, _) = self.rows.entry(key).or_insert_with(|| (new_row(), trace));
        row.objects += objects;
        row.shallow += bytes;
    }
}
