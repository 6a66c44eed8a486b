//! What there is more of than there need be: equal strings and arrays, collections with little or nothing in them.

mod collections;
mod duplicates;
mod gather;

use std::sync::Arc;

use fixedbitset::FixedBitSet;
use foldhash::HashMap;
use serde::Serialize;

use crate::Error;
use crate::heap::Heap;
use crate::leaks::Allocated;
use crate::objects::SiteIndex;
use gather::Gathered;

/// Characters of a string that are given.
const CHARACTERS: usize = 60;
/// Stacks that are given for each row.
const STACKS: usize = 3;

/// What the live objects of a dump waste.
#[derive(Clone, Debug, Serialize)]
pub struct Waste {
    /// Strings of equal text, with the arrays that hold it.
    pub strings: Wasted<Duplicate>,
    /// Arrays of a primitive type with equal elements, those of strings left out.
    pub arrays: Wasted<Duplicate>,
    /// Collections of the JDK with nothing in them, or less than a quarter of what they have room for.
    pub collections: Wasted<Unfilled>,
}

/// One kind of waste.
#[derive(Clone, Debug, Serialize)]
pub struct Wasted<Row> {
    /// Bytes, of all rows.
    pub bytes: u64,
    /// How many rows there are.
    pub groups: u64,
    /// Those that waste most.
    pub rows: Vec<Row>,
}

/// Strings or arrays that are equal. Equal means that 64 bits of a hash with a random key are.
#[derive(Clone, Debug, Serialize)]
pub struct Duplicate {
    /// A string's text in quotes, or the array's type and length: `byte[100]`.
    pub what: String,
    /// The id of one of them.
    #[serde(serialize_with = "crate::names::hex")]
    pub id: u64,
    /// How many there are.
    pub objects: u64,
    /// Bytes that all but one take.
    pub wasted: u64,
    /// Who allocated most of them; empty where the dump does not tell.
    pub allocated: Vec<Allocated>,
}

/// How little is in a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Fill {
    /// Nothing. It wastes all that it takes, its array included.
    Empty,
    /// Less than a quarter of its places. It wastes the others.
    Sparse,
}

/// Collections of one class with little in them.
#[derive(Clone, Debug, Serialize)]
pub struct Unfilled {
    /// Their class.
    pub class: Arc<str>,
    /// How little.
    pub fill: Fill,
    /// How many there are.
    pub objects: u64,
    /// Bytes.
    pub wasted: u64,
    /// Who allocated most of them; empty where the dump does not tell.
    pub allocated: Vec<Allocated>,
}

impl Heap<'_> {
    /// What the live objects waste, as many rows of each kind as `most`.
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

    /// The objects that roots reach.
    fn live(&self) -> FixedBitSet {
        let mut live = FixedBitSet::with_capacity(self.objects.count() as usize);
        for place in self.dominators.places() {
            live.insert(self.dominators.object(place) as usize);
        }
        live
    }
}

/// Objects and bytes by the site that allocated them.
#[derive(Default)]
struct Makers(HashMap<SiteIndex, (u64, u64)>);

impl Makers {
    fn add(&mut self, site: SiteIndex, bytes: u64) {
        let (objects, sum) = self.0.entry(site).or_default();
        *objects += 1;
        *sum += bytes;
    }

    /// The sites with most bytes, as far as the dump knows their stacks.
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
