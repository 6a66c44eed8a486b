//! The numbers of objects by class and stack, in one pass without the graph.

use std::io::{self, Write};
use std::ops::Range;

use foldhash::HashMap;
use hprof_format::{Age, HeapKind, HeapRecord, ObjectId};

use crate::data::births::Births;
use crate::data::classes::Classes;
use crate::data::dump::Dump;
use crate::data::error::Error;
use crate::data::find_layout::layout_of;
use crate::data::layout::Layout;
use crate::data::progress::{Progress, STEP, Stage};
use crate::data::references::Excluded;
use crate::data::sections::{SectionReader, SectionWriter};

/// The class and stack of an object, according to its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Made {
    /// The id of the class; for arrays of primitive types, the byte of the type.
    pub(crate) class: u64,
    pub(crate) is_primitive: bool,
    pub(crate) trace: u32,
    /// `None` if it is not known, or not asked for.
    pub(crate) age: Option<Age>,
}

/// The sum of objects.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CountSum {
    pub(crate) objects: u64,
    /// The size in bytes, for arrays and for instances without a class.
    pub(crate) bytes: u64,
    pub(crate) instances: u64,
}

/// The objects of a dump, whether roots reach them or not.
#[derive(Clone, Debug)]
pub(crate) struct Counts {
    /// The layout from which sizes are computed.
    pub(crate) layout: Layout,
    /// The offsets of the CLASS DUMPs.
    pub(crate) classes: Vec<u64>,
    /// Class objects, with their traces.
    pub(crate) objects: Vec<(u64, u32, Option<Age>)>,
    /// All other objects.
    pub(crate) all: Vec<(Made, CountSum)>,
}

impl Counts {
    /// Counts the objects of a dump, by their ages as well if their births are given.
    pub(crate) fn of(
        dump: &Dump,
        ages: Option<&Births>,
        layout: Option<Layout>,
        progress: &dyn Progress,
    ) -> Result<Counts, Error> {
        let layout = Counts::layout_of(dump, layout)?;
        let parts = dump.in_parts(progress, |part, progress| {
            let mut pass = CountPass::new(dump, layout, ages);
            pass.read(part, progress)?;
            Ok(pass)
        })?;
        let pass = parts.into_iter().reduce(CountPass::followed_by);
        let pass = pass.unwrap_or_else(|| CountPass::new(dump, layout, ages));
        Ok(Counts {
            layout,
            classes: pass.classes,
            objects: pass.objects,
            all: pass.all,
        })
    }

    /// Returns the layout from which sizes are computed, if this one is given or none.
    pub(crate) fn layout_of(dump: &Dump, given: Option<Layout>) -> Result<Layout, Error> {
        match given {
            Some(layout) => Ok(layout),
            None => layout_of(dump, &mut first_classes(dump)?),
        }
    }

    /// Writes them as sections of an index, without ages.
    pub(crate) fn save(&self, out: &mut SectionWriter<impl Write>) -> io::Result<()> {
        out.table(&[self.layout.numbers()])?;
        out.table(&self.classes)?;
        let objects = self.objects.iter();
        let objects = objects.map(|&(object, trace, _)| [object, trace.into()]);
        out.table(&objects.collect::<Vec<[u64; 2]>>())?;
        let all = self.all.iter().map(|(made, sum)| {
            let kind = u64::from(made.trace) << 1 | u64::from(made.is_primitive);
            [made.class, kind, sum.objects, sum.bytes, sum.instances]
        });
        out.table(&all.collect::<Vec<[u64; SUM]>>())
    }

    /// Reads them; `None` if they are damaged.
    pub(crate) fn load(index: &mut SectionReader) -> Option<Counts> {
        let layout = Layout::from_numbers(index.one()?)?;
        let classes = index.list()?;
        let objects = index.list::<[u64; 2]>()?.into_iter();
        let objects =
            objects.map(|[object, trace]| Some((object, u32::try_from(trace).ok()?, None)));
        let objects = objects.collect::<Option<Vec<_>>>()?;
        let all = index.list::<[u64; SUM]>()?.into_iter();
        let all = all.map(|[class, kind, objects, bytes, instances]| {
            let made = Made {
                class,
                is_primitive: kind & 1 != 0,
                trace: u32::try_from(kind >> 1).ok()?,
                age: None,
            };
            let sum = CountSum {
                objects,
                bytes,
                instances,
            };
            // No file has so many records, and no sum of them overflows.
            let is_possible = [objects, bytes, instances].iter().all(|&sum| sum < MOST);
            is_possible.then_some((made, sum))
        });
        Some(Counts {
            layout,
            classes,
            objects,
            all: all.collect::<Option<Vec<_>>>()?,
        })
    }
}

/// The numbers that a sum takes in an index.
const SUM: usize = 5;
/// All sums are below.
const MOST: u64 = 1 << 40;

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
            && let HeapRecord::Class(class) = found.decode()?
        {
            classes.add(found.offset, &class, dump);
        }
    }
    classes.resolve()?;
    Ok(classes)
}

struct CountPass<'a> {
    dump: &'a Dump,
    layout: Layout,
    ages: Option<&'a Births>,
    classes: Vec<u64>,
    objects: Vec<(u64, u32, Option<Age>)>,
    sums: HashMap<Made, usize>,
    last: (Made, usize),
    all: Vec<(Made, CountSum)>,
}

impl<'a> CountPass<'a> {
    fn new(dump: &'a Dump, layout: Layout, ages: Option<&'a Births>) -> CountPass<'a> {
        CountPass {
            dump,
            layout,
            ages,
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
                self.add(found.offset, &found.decode()?);
            }
        }
        Ok(())
    }

    /// Adds the results of the next part.
    fn followed_by(mut self, next: CountPass<'a>) -> CountPass<'a> {
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
                let size = self.layout.references(length);
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
    fn sum(
        &mut self,
        object: ObjectId,
        class: u64,
        is_primitive: bool,
        trace: u32,
    ) -> &mut CountSum {
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
        self.ages?.age(object)
    }

    #[inline]
    fn sum_of(&mut self, made: Made) -> &mut CountSum {
        if self.last.0 != made || self.all.is_empty() {
            let next = self.all.len();
            let index = *self.sums.entry(made).or_insert(next);
            if index == next {
                self.all.push((made, CountSum::default()));
            }
            self.last = (made, index);
        }
        &mut self.all[self.last.1].1
    }
}
