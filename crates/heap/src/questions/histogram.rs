//! The numbers of objects by group, in one pass without the graph.

use std::sync::Arc;

use foldhash::HashMap;
use hprof_format::{Age, BasicType};
use serde::Serialize;

use crate::data::births::Births;
use crate::data::classes::Classes;
use crate::data::counts::Counts;
use crate::data::dump::Dump;
use crate::data::error::Error;
use crate::data::heap::Heap;
use crate::data::layout::Layout;
use crate::data::names::{self, Stack};
use crate::data::numbers::ClassIndex;
use crate::data::progress::Progress;
use crate::data::references::Excluded;
use crate::data::saved::Saved;
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
    /// The id of the loader, for groups by loader.
    #[serde(skip)]
    pub loader: u64,
    /// The stack that allocated them, for groups by site.
    #[serde(skip_serializing_if = "crate::data::names::is_empty")]
    pub stack: Stack,
}

/// Counts the objects of a dump. Groups by loader have the loaders' ids as names; [`Histogram::name_loaders`] gives them others.
///
/// # Errors
/// [`Error`], if the dump is damaged.
pub fn histogram(
    dump: &Dump,
    by: By,
    layout: Option<Layout>,
    progress: &dyn Progress,
) -> Result<Histogram, Error> {
    dump.unless_changed(|| {
        let counts = Counts::of(dump, None, layout, progress)?;
        Histogram::of(counts, dump, Some(by))
    })
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
    dump.unless_changed(|| {
        let counts = Counts::of(dump, Some(births), layout, progress)?;
        Histogram::of(counts, dump, None)
    })
}

/// Returns the histogram of a dump from its index; `None` if that is for another layout.
///
/// # Errors
/// As [`histogram`].
pub fn histogram_of(
    index: &Saved<'_>,
    by: By,
    layout: Option<Layout>,
) -> Option<Result<Histogram, Error>> {
    let counts = index.counts(layout)?;
    let dump = index.dump();
    Some(dump.unless_changed(|| Histogram::of(counts, dump, Some(by))))
}

impl Histogram {
    /// Names groups by loader for people.
    ///
    /// # Errors
    /// Those of reading records.
    pub fn name_loaders(&mut self, heap: &Heap<'_>) -> Result<(), Error> {
        let labels = heap.loader_labels()?;
        for row in &mut self.rows {
            if let Some(label) = labels.get(&row.loader) {
                row.name = Arc::clone(label);
            }
        }
        Ok(())
    }

    /// Groups what was counted by a property; by age, if it is `None`.
    fn of(counts: Counts, dump: &Dump, by: Option<By>) -> Result<Histogram, Error> {
        let layout = counts.layout;
        let mut classes = Classes::new(dump.id_size(), Excluded::NONE);
        for offset in counts.classes {
            classes.add_at(offset, dump)?;
        }
        classes.resolve()?;
        classes.lay_out(&layout);
        let class_class = classes.class_class();
        let mut groups = Groups {
            dump,
            by,
            rows: HashMap::default(),
        };
        for (id, trace, age) in counts.objects {
            let class = classes.find(id);
            let size = class.map_or(0, |_| classes.class_object_size(class, &layout));
            groups.add(&classes, class_class, (trace, age), 1, size);
        }
        for (made, sum) in counts.all {
            let class = match BasicType::from_byte(made.class as u8) {
                Some(element) if made.is_primitive => classes.primitive_array(element),
                _ => classes.find_or_add(made.class, dump),
            };
            let bytes = match (sum.instances, classes.get(class)) {
                (0, _) => sum.bytes,
                // The size of the fields in the dump is the best estimate for an unknown class.
                (instances, class) if class.id == 0 => {
                    instances.saturating_mul(layout.instance(0, sum.bytes / instances))
                }
                (instances, class) => instances.saturating_mul(class.instance_size),
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
        class: ClassIndex,
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
            loader: match by {
                Some(By::Loader) => class_data.loader,
                _ => 0,
            },
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
        // Those of a damaged index may be any.
        row.shallow = row.shallow.saturating_add(bytes);
    }
}
