//! Results that questions find by a pass over the dump or the graph, kept for the index.

use std::hash::BuildHasher;
use std::io::{self, Write};
use std::ops::DerefMut;
use std::sync::{Mutex, PoisonError};

use foldhash::HashMap;
use foldhash::fast::FixedState;

use crate::data::classes::Classes;
use crate::data::numbers::{ClassIndex, ObjectNumber, SiteIndex};
use crate::data::objects::{MOST_BYTES, Objects};
use crate::data::sections::{SectionReader, SectionWriter};

/// The most sites that are kept for a row of waste.
pub(crate) const MAKERS: usize = 3;

/// The waste of all objects: the rows that waste most of each kind, and sums.
#[derive(Clone, Debug)]
pub(crate) struct WasteFound {
    pub(crate) strings: WasteRows,
    pub(crate) arrays: WasteRows,
    pub(crate) collections: WasteRows,
}

/// Waste of one kind.
#[derive(Clone, Debug, Default)]
pub(crate) struct WasteRows {
    /// Bytes of all rows, whether they are kept or not.
    pub(crate) bytes: u64,
    /// The number of all rows.
    pub(crate) groups: u64,
    pub(crate) rows: Vec<WasteRow>,
}

/// Objects that are waste for the same reason.
#[derive(Clone, Debug)]
pub(crate) struct WasteRow {
    pub(crate) kind: WasteKind,
    pub(crate) objects: u64,
    pub(crate) wasted: u64,
    /// The sites that allocated most of them, each with the number of objects and bytes.
    pub(crate) makers: Vec<(SiteIndex, u64, u64)>,
}

/// The reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WasteKind {
    /// They are equal to this one.
    Equal(ObjectNumber),
    /// They are collections of a class without elements.
    Empty(ClassIndex),
    /// They are collections of a class with few elements.
    Sparse(ClassIndex),
}

/// The retained sizes of several objects joint_sizes, each of which took a pass over the graph, by a hash of the objects.
#[derive(Debug, Default)]
pub(crate) struct JointSizes(Mutex<HashMap<u64, u64>>);

impl JointSizes {
    /// Returns the size of these objects, which is computed once.
    pub(crate) fn get<E>(
        &self,
        objects: &[ObjectNumber],
        compute: impl FnOnce() -> Result<u64, E>,
    ) -> Result<u64, E> {
        let key = FixedState::with_seed(0).hash_one(objects);
        if let Some(&known) = self.all().get(&key) {
            return Ok(known);
        }
        let bytes = compute()?;
        self.all().insert(key, bytes);
        Ok(bytes)
    }

    fn all(&self) -> impl DerefMut<Target = HashMap<u64, u64>> {
        // An entry is complete when it is inserted: a panic leaves none half made.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes them as a section of an index.
    pub(crate) fn save(&self, out: &mut SectionWriter<impl Write>) -> io::Result<()> {
        let mut all: Vec<[u64; 2]> = self.all().iter().map(|(&key, &size)| [key, size]).collect();
        all.sort_unstable();
        out.table(&all)
    }

    /// Reads them; `None` if they are damaged.
    pub(crate) fn load(index: &mut SectionReader) -> Option<JointSizes> {
        let all = index.list::<[u64; 2]>()?.into_iter();
        let all = all.map(|[key, size]| (size <= MOST_BYTES).then_some((key, size)));
        Some(JointSizes(Mutex::new(all.collect::<Option<_>>()?)))
    }
}

/// The numbers of a row in an index.
const ROW: usize = 4 + 3 * MAKERS;

impl WasteFound {
    /// Writes it as sections of an index.
    pub(crate) fn save(&self, out: &mut SectionWriter<impl Write>) -> io::Result<()> {
        for rows in [&self.strings, &self.arrays, &self.collections] {
            out.table(&[[rows.bytes, rows.groups]])?;
            let rows = rows.rows.iter().map(WasteRow::numbers);
            out.table(&rows.collect::<Vec<[u64; ROW]>>())?;
        }
        Ok(())
    }

    /// Reads it; `None` if it is damaged.
    pub(crate) fn load(
        index: &mut SectionReader,
        objects: &Objects,
        classes: &Classes,
    ) -> Option<WasteFound> {
        let mut rows = || {
            let [bytes, groups] = index.one()?;
            let rows = index.list::<[u64; ROW]>()?.into_iter();
            let rows = rows.map(|numbers| WasteRow::of(numbers, objects, classes));
            Some(WasteRows {
                bytes,
                groups,
                rows: rows.collect::<Option<_>>()?,
            })
        };
        Some(WasteFound {
            strings: rows()?,
            arrays: rows()?,
            collections: rows()?,
        })
    }
}

impl WasteRow {
    fn numbers(&self) -> [u64; ROW] {
        let (kind, of) = match self.kind {
            WasteKind::Equal(object) => (0, object.0),
            WasteKind::Empty(class) => (1, class.0),
            WasteKind::Sparse(class) => (2, class.0),
        };
        let mut numbers = [0; ROW];
        numbers[..4].copy_from_slice(&[kind, of.into(), self.objects, self.wasted]);
        for (&(site, objects, bytes), place) in self.makers.iter().zip(0..) {
            numbers[4 + 3 * place..][..3].copy_from_slice(&[site.0.into(), objects, bytes]);
        }
        numbers
    }

    fn of(numbers: [u64; ROW], objects: &Objects, classes: &Classes) -> Option<WasteRow> {
        let [kind, of, count, wasted] = *numbers.first_chunk()?;
        let of = u32::try_from(of).ok()?;
        let object = Some(ObjectNumber(of)).filter(|_| of < objects.count());
        let class = Some(of).filter(|&class| (class as usize) < classes.len());
        let kind = match kind {
            0 => WasteKind::Equal(object?),
            1 => WasteKind::Empty(ClassIndex(class?)),
            2 => WasteKind::Sparse(ClassIndex(class?)),
            _ => return None,
        };
        let makers = numbers[4..].as_chunks::<3>().0.iter();
        // 0 is not a site.
        let makers = makers.filter(|&&[site, ..]| site != 0);
        let makers = makers.map(|&[site, objects_of, bytes]| {
            let site = SiteIndex(u32::try_from(site).ok()?);
            let is_site = site.place() < objects.sites.len();
            is_site.then_some((site, objects_of, bytes))
        });
        Some(WasteRow {
            kind,
            objects: count,
            wasted,
            makers: makers.collect::<Option<_>>()?,
        })
    }
}
