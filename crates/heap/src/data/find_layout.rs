//! Finds the VM's object layout from the distances between the objects of a dump.

use std::cmp::{Ordering, Reverse};

use hprof_format::{HeapRecord, IdSize};

use crate::data::classes::Classes;
use crate::data::dump::Dump;
use crate::data::error::Error;
use crate::data::layout::{Known, Layout};
use crate::data::records;

/// The number of objects examined to determine the layout.
const SAMPLE: usize = 200_000;
/// The least number of distances between objects that allows a conclusion.
const ENOUGH: u32 = 100;

/// Returns the layout of the VM that wrote a dump.
pub(crate) fn layout_of(dump: &Dump, classes: &mut Classes) -> Result<Layout, Error> {
    if dump.is_android() {
        return Ok(Layout::new(8, 4, 8, Known::Assumed));
    }
    Ok(match find(dump, classes)? {
        Some(layout) => layout,
        None if dump.id_size() == IdSize::Four => Layout::new(8, 4, 8, Known::Assumed),
        None => Layout::new(12, 4, 8, Known::Assumed),
    })
}

/// The properties of an object that determine its size.
#[derive(Clone, Copy)]
enum Shape {
    Instance { references: u64, others: u64 },
    References { length: u64 },
    Primitives { length: u64, element: u64 },
}

impl Shape {
    fn size(self, layout: &Layout) -> u64 {
        match self {
            Shape::Instance { references, others } => layout.instance(references, others),
            Shape::References { length } => layout.array(length, layout.reference.into()),
            Shape::Primitives { length, element } => layout.array(length, element),
        }
    }
}

/// Finds the layout. A heap has its objects side by side, and their ids are addresses: the layout is the one under
/// which no two overlap and most touch.
fn find(dump: &Dump, classes: &mut Classes) -> Result<Option<Layout>, Error> {
    let mut candidates: Vec<(Layout, u32, u32)> =
        candidates().map(|layout| (layout, 0, 0)).collect();
    let mut distances = 0;
    let mut last: Option<(u64, Shape)> = None;
    for found in dump.records().take(SAMPLE) {
        let found = found?;
        let Some((id, shape)) = shape(&records::decode(&found)?, dump, classes) else {
            continue;
        };
        if let Some((before, shape)) = last
            && id > before
        {
            distances += 1;
            for (layout, touching, overlapping) in &mut candidates {
                match shape.size(layout).cmp(&(id - before)) {
                    Ordering::Less => {}
                    Ordering::Equal => *touching += 1,
                    Ordering::Greater => *overlapping += 1,
                }
            }
        }
        last = Some((id, shape));
    }
    Ok(best(&candidates, distances))
}

/// Returns the candidate that fits, if there are enough distances. Each candidate has the number of distances at which
/// objects touch, and at which they overlap.
fn best(candidates: &[(Layout, u32, u32)], distances: u32) -> Option<Layout> {
    // If all objects have the same size, several candidates fit equally well.
    let usual = |layout: &Layout| (layout.header, layout.reference, layout.alignment) == (12, 4, 8);
    let best = candidates
        .iter()
        // HotSpot adds its own fields to some classes, and dumps without them make objects look too small, never too
        // large; a few in a thousand may be wrong nonetheless.
        .filter(|&&(_, touching, overlapping)| {
            touching >= distances / 4 && overlapping <= distances / 500
        })
        .max_by_key(|(layout, touching, overlapping)| {
            let overlapping = Reverse(*overlapping);
            (
                *touching,
                overlapping,
                usual(layout),
                Reverse(layout.alignment),
            )
        });
    best.filter(|_| distances >= ENOUGH).map(|best| best.0)
}

fn candidates() -> impl Iterator<Item = Layout> {
    let headers = [(8, 12), (12, 16), (16, 24), (16, 20)];
    headers.into_iter().flat_map(|(header, array_header)| {
        let sizes = [4, 8].into_iter().flat_map(move |reference| {
            [8, 16, 32]
                .map(move |alignment| Layout::new(header, reference, alignment, Known::Found))
        });
        sizes.map(move |layout| Layout {
            array_header,
            ..layout
        })
    })
}

fn shape(record: &HeapRecord<'_>, dump: &Dump, classes: &mut Classes) -> Option<(u64, Shape)> {
    let id_size = dump.id_size().bytes();
    Some(match *record {
        HeapRecord::Instance { object, class, .. } => {
            let (references, others) = classes.field_sizes(classes.find(class.0)?);
            (object.0, Shape::Instance { references, others })
        }
        HeapRecord::ObjectArray {
            object, elements, ..
        } => {
            let length = elements.len() as u64 / id_size;
            (object.0, Shape::References { length })
        }
        HeapRecord::PrimitiveArray {
            object,
            element,
            elements,
            ..
        } => {
            let element = element.size(8) as u64;
            let length = elements.len() as u64 / element;
            (object.0, Shape::Primitives { length, element })
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_layouts_that_fit_alike_the_usual_one_is_found() {
        // A list whose elements, with one reference, are 16 bytes apart.
        let link = Shape::Instance {
            references: 1,
            others: 0,
        };
        let fitting: Vec<(Layout, u32, u32)> = candidates()
            .map(|layout| match link.size(&layout) {
                16 => (layout, 1000, 0),
                ..16 => (layout, 0, 0),
                _ => (layout, 0, 1000),
            })
            .collect();
        assert!(fitting.iter().filter(|fitting| fitting.1 > 0).count() > 1);
        let found = best(&fitting, 1000).expect("one that fits");
        assert_eq!((found.header, found.reference, found.alignment), (12, 4, 8));
        assert_eq!(best(&fitting, ENOUGH - 1), None);
    }
}
