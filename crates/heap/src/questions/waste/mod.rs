//! Waste: equal strings and arrays, and collections with few elements or none.

mod collections;
mod duplicates;
mod gather;
mod kinds;

use std::sync::Arc;

use fixedbitset::FixedBitSet;
use foldhash::HashMap;
use hprof_format::ObjectId;
use serde::Serialize;

use crate::data::error::Error;
use crate::data::findings::{MAKERS, WasteFound, WasteKind, WasteRow, WasteRows};
use crate::data::heap::Heap;
use crate::data::numbers::{ObjectNumber, SiteIndex};
use crate::questions::allocated::Allocated;
use gather::Gathered;

/// The most characters of a string that are returned.
const CHARACTERS: usize = 60;
/// The rows of each kind that are kept.
const KEPT: usize = 100;

/// The waste among the live objects of a dump.
#[derive(Clone, Debug, Serialize)]
pub struct Waste {
    /// Strings of equal text, with the arrays that hold it.
    pub strings: Wasted<Duplicate>,
    /// Arrays of a primitive type with equal elements, except those of strings.
    pub arrays: Wasted<Duplicate>,
    /// Collections of the JDK without elements, or with less than a quarter of their capacity used.
    pub collections: Wasted<Unfilled>,
}

/// One kind of waste.
#[derive(Clone, Debug, Serialize)]
pub struct Wasted<Row> {
    /// Bytes wasted in all rows.
    pub bytes: u64,
    /// The number of rows.
    pub groups: u64,
    /// The rows that waste most.
    pub rows: Vec<Row>,
}

/// Strings or arrays that are equal, according to 64 bits of a hash with a random key.
#[derive(Clone, Debug, Serialize)]
pub struct Duplicate {
    /// A string's text in quotes, or the array's type and length: `byte[100]`.
    pub what: String,
    /// The id of one of them.
    #[serde(serialize_with = "crate::data::names::hex")]
    pub id: ObjectId,
    /// The number of objects.
    pub objects: u64,
    /// Bytes that all but one of them take.
    pub wasted: u64,
    /// The stacks that allocated most of them; empty if the dump does not have them.
    pub allocated: Vec<Allocated>,
}

/// The fill of a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Fill {
    /// No elements. It wastes its whole size, including its array.
    Empty,
    /// Less than a quarter of its slots are used. It wastes the others.
    Sparse,
}

/// Collections of one class with few elements.
#[derive(Clone, Debug, Serialize)]
pub struct Unfilled {
    /// Their class.
    pub class: Arc<str>,
    /// Their fill.
    pub fill: Fill,
    /// The number of objects.
    pub objects: u64,
    /// Bytes wasted.
    pub wasted: u64,
    /// The stacks that allocated most of them; empty if the dump does not have them.
    pub allocated: Vec<Allocated>,
}

impl Heap<'_> {
    /// Returns the waste among the live objects, with at most `most` rows of each kind.
    ///
    /// # Errors
    /// Those of reading records, and of temporary files.
    pub fn waste(&self, most: usize) -> Result<Waste, Error> {
        self.dump.unless_changed(|| {
            if most > KEPT {
                let found = self.find_waste(most)?;
                return self.describe_waste(&found, most);
            }
            self.describe_waste(self.known_waste()?, most)
        })
    }

    /// Returns the waste, with at most [`KEPT`] rows of each kind. It is computed once.
    pub(crate) fn known_waste(&self) -> Result<&WasteFound, Error> {
        if let Some(found) = self.waste.get() {
            return Ok(found);
        }
        let found = self.find_waste(KEPT)?;
        Ok(self.waste.get_or_init(|| found))
    }

    fn find_waste(&self, most: usize) -> Result<WasteFound, Error> {
        let gathered = Gathered::of(self)?;
        let collections = gathered.unfilled(self, most);
        let (strings, arrays) = gathered.duplicates(self, most)?;
        Ok(WasteFound {
            strings,
            arrays,
            collections,
        })
    }

    fn describe_waste(&self, found: &WasteFound, most: usize) -> Result<Waste, Error> {
        let equal = |rows: &WasteRows| {
            let described = rows.rows.iter().take(most);
            let described = described.filter_map(|row| self.equal(row).transpose());
            Ok::<_, Error>(Wasted {
                bytes: rows.bytes,
                groups: rows.groups,
                rows: described.collect::<Result<_, Error>>()?,
            })
        };
        let collections = found.collections.rows.iter().take(most);
        Ok(Waste {
            strings: equal(&found.strings)?,
            arrays: equal(&found.arrays)?,
            collections: Wasted {
                bytes: found.collections.bytes,
                groups: found.collections.groups,
                rows: collections.filter_map(|row| self.unfilled(row)).collect(),
            },
        })
    }

    fn equal(&self, row: &WasteRow) -> Result<Option<Duplicate>, Error> {
        let WasteKind::Equal(number) = row.kind else {
            return Ok(None);
        };
        let id = self.objects.ids.id(number);
        Ok(Some(Duplicate {
            what: match self.string(id, CHARACTERS)? {
                Some(text) => format!("\"{text}\""),
                None => self.array_type(number)?,
            },
            id,
            objects: row.objects,
            wasted: row.wasted,
            allocated: self.makers(row),
        }))
    }

    fn unfilled(&self, row: &WasteRow) -> Option<Unfilled> {
        let (class, fill) = match row.kind {
            WasteKind::Equal(_) => return None,
            WasteKind::Empty(class) => (class, Fill::Empty),
            WasteKind::Sparse(class) => (class, Fill::Sparse),
        };
        Some(Unfilled {
            class: Arc::clone(&self.classes.get(class).name),
            fill,
            objects: row.objects,
            wasted: row.wasted,
            allocated: self.makers(row),
        })
    }

    fn makers(&self, row: &WasteRow) -> Vec<Allocated> {
        let makers = row.makers.iter();
        let makers = makers.map(|&(site, objects, bytes)| self.allocated(site, objects, bytes));
        makers.collect()
    }

    /// Returns the objects that roots reach.
    fn live(&self) -> FixedBitSet {
        let mut live = FixedBitSet::with_capacity(self.objects.count() as usize);
        live.extend(self.dominators.objects().map(ObjectNumber::place));
        live
    }
}

/// Numbers and bytes of objects by the site that allocated them.
#[derive(Default)]
struct Makers(HashMap<SiteIndex, (u64, u64)>);

impl Makers {
    fn add(&mut self, site: SiteIndex, bytes: u64) {
        let (objects, sum) = self.0.entry(site).or_default();
        *objects += 1;
        *sum += bytes;
    }

    /// Returns the sites with the most bytes, as far as the dump has their stacks.
    fn largest(&self, heap: &Heap<'_>) -> Vec<(SiteIndex, u64, u64)> {
        let all = self.0.iter();
        let all = all.map(|(&site, &(objects, bytes))| (site, objects, bytes));
        let mut rows: Vec<_> = all
            .filter(|&(site, ..)| heap.dump.has_stack(heap.objects.sites.get(site).trace))
            .collect();
        rows.sort_by_key(|&(site, _, bytes)| (std::cmp::Reverse(bytes), site));
        rows.truncate(MAKERS);
        rows
    }
}
