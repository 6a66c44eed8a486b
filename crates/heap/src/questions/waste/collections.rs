//! Collections of the JDK with few elements.

use foldhash::HashMap;

use super::gather::{Gathered, first, second};
use super::kinds::NO_ARRAY;
use super::{Fill, Makers};
use crate::data::findings::{WasteKind, WasteRow, WasteRows};
use crate::data::heap::Heap;
use crate::data::numbers::{ClassIndex, ObjectNumber};

/// A collection that uses less than one slot in this many is sparse.
const SPARSE: u32 = 4;

#[derive(Default)]
struct Sum {
    objects: u64,
    wasted: u64,
    makers: Makers,
}

impl Gathered {
    /// Processes collections and arrays together, both in the order of the arrays' numbers.
    pub(super) fn unfilled(&self, heap: &Heap<'_>, most: usize) -> WasteRows {
        let mut sums: HashMap<(ClassIndex, Fill), Sum> = HashMap::default();
        let mut arrays = self.elements.iter().peekable();
        let mut before = NO_ARRAY;
        for &collection in &self.collections[..] {
            let (array, number) = (first(collection), second(collection));
            while arrays.next_if(|&&[at, ..]| at < array.0).is_some() {}
            let found = arrays.peek().filter(|&&&[at, ..]| at == array.0);
            // An array that several collections share counts with one of them.
            let is_shared = array == before;
            before = array;
            let Some((fill, array_waste)) = judge(heap, array, found.copied()) else {
                continue;
            };
            let own = match fill {
                Fill::Empty => heap.objects.size(number),
                Fill::Sparse => 0,
            };
            let wasted = own + if is_shared { 0 } else { array_waste };
            let sum = sums.entry((heap.objects.class(number), fill)).or_default();
            sum.objects += 1;
            sum.wasted += wasted;
            sum.makers.add(heap.objects.site(number), wasted);
        }
        unfilled_rows(heap, sums, most)
    }
}

/// Returns the fill of a collection, and the waste of its array; `None` if it is full enough.
fn judge(heap: &Heap<'_>, array: ObjectNumber, found: Option<&[u32; 3]>) -> Option<(Fill, u64)> {
    match found {
        None if array == NO_ARRAY => Some((Fill::Empty, 0)),
        // It leads not to an array but to the first element.
        None => None,
        // All empty lists of the JDK share one array without elements.
        Some([_, 0, _]) => Some((Fill::Empty, 0)),
        Some([_, _, 0]) => Some((Fill::Empty, heap.objects.size(array))),
        Some(&[_, length, used]) if used < length.div_ceil(SPARSE) => {
            let unused = u64::from(length - used);
            Some((Fill::Sparse, unused * u64::from(heap.layout.of.reference)))
        }
        Some(_) => None,
    }
}

fn unfilled_rows(
    heap: &Heap<'_>,
    sums: HashMap<(ClassIndex, Fill), Sum>,
    most: usize,
) -> WasteRows {
    let bytes = sums.values().map(|sum| sum.wasted).sum();
    let groups = sums.len() as u64;
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_by_key(|(key, sum)| (std::cmp::Reverse(sum.wasted), *key));
    let rows = sums.into_iter().take(most);
    let rows = rows.map(|((class, fill), sum)| WasteRow {
        kind: match fill {
            Fill::Empty => WasteKind::Empty(class),
            Fill::Sparse => WasteKind::Sparse(class),
        },
        objects: sum.objects,
        wasted: sum.wasted,
        makers: sum.makers.largest(heap),
    });
    WasteRows {
        bytes,
        groups,
        rows: rows.collect(),
    }
}
