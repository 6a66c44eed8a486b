//! Waste: equal strings and arrays, and collections with few elements or none.

mod collections;
mod duplicates;
mod gather;
mod kinds;

use std::sync::Arc;

use fixedbitset::FixedBitSet;
use foldhash::HashMap;
use serde::Serialize;

use crate::data::error::Error;
use crate::data::heap::Heap;
use crate::data::objects::SiteIndex;
use crate::questions::allocated::Allocated;
use gather::Gathered;

/// The most characters of a string that are returned.
const CHARACTERS: usize = 60;
/// The most stacks that are returned for each row.
const STACKS: usize = 3;

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
    pub id: u64,
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
            let gathered = Gathered::of(self)?;
            let collections = gathered.unfilled(self, most);
            let (strings, arrays) = gathered.duplicates(self, most)?;
            Ok(Waste {
                strings,
                arrays,
                collections,
            })
        })
    }

    /// Returns the objects that roots reach.
    fn live(&self) -> FixedBitSet {
        let mut live = FixedBitSet::with_capacity(self.objects.count() as usize);
        for place in self.dominators.places() {
            live.insert(self.dominators.object(place) as usize);
        }
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
    fn largest(&self, heap: &Heap<'_>) -> Vec<Allocated> {
        let mut rows: Vec<_> = self
            .0
            .iter()
            .filter(|&(&site, _)| heap.dump.has_stack(heap.objects.sites.get(site).trace))
            .collect();
        rows.sort_by_key(|&(site, &(_, bytes))| (std::cmp::Reverse(bytes), *site));
        let rows = rows.into_iter().take(STACKS);
        rows.map(|(&site, &(objects, shallow))| heap.allocated(site, objects, shallow))
            .collect()
    }
}
