//! Allocations of objects: sums by class and stack, the largest and the rest.

use std::sync::Arc;

use foldhash::HashMap;
use serde::Serialize;

use crate::data::heap::Heap;
use crate::data::names::Stack;
use crate::data::numbers::SiteIndex;

/// The most rows about what a suspect retains, and the most stacks.
const ROWS: usize = 5;

/// The sum of rows that are not listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Rest {
    /// The number of rows.
    pub rows: u64,
    /// The number of objects.
    pub objects: u64,
    /// Their shallow size, in bytes.
    pub shallow: u64,
}

impl Rest {
    pub(crate) fn add(&mut self, objects: u64, shallow: u64) {
        self.rows += 1;
        self.objects += objects;
        self.shallow += shallow;
    }
}

/// Objects of one class and one stack below a suspect.
#[derive(Clone, Debug, Serialize)]
pub struct Allocated {
    /// The class.
    pub class: Arc<str>,
    /// The number of objects.
    pub objects: u64,
    /// Their shallow size, in bytes.
    pub shallow: u64,
    /// The stack that allocated them, innermost frame first.
    pub stack: Stack,
}

/// Returns those with the most bytes, and the sum of the others.
pub(crate) fn largest<K: Copy + Ord>(sums: &HashMap<K, (u64, u64)>) -> (Vec<(K, u64, u64)>, Rest) {
    let mut rows: Vec<(K, u64, u64)> = sums
        .iter()
        .map(|(&key, &(objects, shallow))| (key, objects, shallow))
        .collect();
    rows.sort_by_key(|&(key, _, shallow)| (std::cmp::Reverse(shallow), key));
    let mut rest = Rest::default();
    for &(_, objects, shallow) in rows.iter().skip(ROWS) {
        rest.add(objects, shallow);
    }
    rows.truncate(ROWS);
    (rows, rest)
}

impl Heap<'_> {
    /// Returns the description of objects that a site has allocated.
    pub(crate) fn allocated(&self, site: SiteIndex, objects: u64, shallow: u64) -> Allocated {
        let site = self.objects.sites.get(site);
        Allocated {
            class: Arc::clone(&self.classes.get(site.class).name),
            objects,
            shallow,
            stack: self.dump.stack(site.trace),
        }
    }
}
