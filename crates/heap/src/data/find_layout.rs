//! Finds the VM's object layout from the distances between the objects of a dump.

use std::cmp::{Ordering, Reverse};

use hprof_format::{HeapRecord, IdSize, ObjectLayout};

use crate::data::classes::Classes;
use crate::data::dump::Dump;
use crate::data::error::Error;
use crate::data::layout::{Known, Layout};
use crate::data::stated_layout::stated;

/// The number of objects examined to determine the layout.
const SAMPLE: usize = 200_000;
/// The least number of distances between objects that allows a conclusion.
const ENOUGH: u32 = 100;

/// Returns the layout of the VM that wrote a dump.
pub(crate) fn layout_of(dump: &Dump, classes: &mut Classes) -> Result<Layout, Error> {
    if let Some(layout) = stated(classes) {
        return Ok(layout);
    }
    if dump.is_android() {
        return Ok(Layout::new(8, 4, 8, Known::Assumed));
    }
    if let Some(of) = dump.noted_layout() {
        let known = Known::Noted;
        return Ok(Layout { of, known });
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
            Shape::References { length } => layout.references(length),
            Shape::Primitives { length, element } => layout.array(length, element),
        }
    }
}

/// Finds the layout. A heap has its objects side by side, and their ids are addresses: the layout is the one under
/// which no two overlap and most touch.
fn find(dump: &Dump, classes: &mut Classes) -> Result<Option<Layout>, Error> {
    let mut objects = Vec::new();
    for found in dump.records().take(SAMPLE) {
        objects.extend(shape(&found?.decode()?, dump, classes));
    }
    // ZGC and Shenandoah dump a heap object by object as references lead to them, so neighbors are far apart in the file.
    objects.sort_by_key(|&(id, _)| id);
    Ok(best(&objects))
}

/// Returns the candidate that fits objects, which are in the order of their ids; `None` if too few are neighbors.
fn best(objects: &[(u64, Shape)]) -> Option<Layout> {
    let mut candidates: Vec<Candidate> = candidates().map(Candidate::new).collect();
    let largest = Layout::new(16, 8, 32, Known::Found);
    let mut distances = 0;
    for pair in objects.windows(2) {
        let (distance, shape) = (pair[1].0 - pair[0].0, pair[0].1);
        // Where objects were left out in between, the distance says nothing.
        if distance == 0 || distance > shape.size(&largest) {
            continue;
        }
        distances += 1;
        for candidate in &mut candidates {
            match shape.size(&candidate.layout).cmp(&distance) {
                Ordering::Less => {}
                Ordering::Equal => candidate.touching += 1,
                Ordering::Greater => candidate.overlapping += 1,
            }
        }
    }
    // If all objects have the same size, several candidates fit equally well.
    let best = candidates
        .iter()
        // HotSpot adds its own fields to some classes, and dumps without them make objects look too small, never too
        // large; a few in a thousand may be wrong nonetheless.
        .filter(|of| of.touching >= distances / 4 && of.overlapping <= distances / 500)
        .max_by_key(|of| {
            let overlapping = Reverse(of.overlapping);
            let alignment = Reverse(of.layout.of.alignment);
            let is_usual = of.layout.of == ObjectLayout::USUAL;
            (of.touching, overlapping, is_usual, alignment)
        });
    best.filter(|_| distances >= ENOUGH).map(|best| best.layout)
}

/// A layout, with the number of distances at which objects touch, and at which they overlap.
struct Candidate {
    layout: Layout,
    touching: u32,
    overlapping: u32,
}

impl Candidate {
    fn new(layout: Layout) -> Candidate {
        Candidate {
            layout,
            touching: 0,
            overlapping: 0,
        }
    }
}

fn candidates() -> impl Iterator<Item = Layout> {
    let known = Known::Found;
    ObjectLayout::all(&[8, 16, 32]).map(move |of| Layout { of, known })
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

    /// So many objects with one reference, 16 bytes apart, as in a list.
    fn list(length: u64) -> Vec<(u64, Shape)> {
        let link = Shape::Instance {
            references: 1,
            others: 0,
        };
        (0..length).map(|at| (0x1000 + 16 * at, link)).collect()
    }

    fn sizes(layout: Layout) -> (u32, u32, u32) {
        (layout.of.header, layout.of.reference, layout.of.alignment)
    }

    #[test]
    fn of_layouts_that_fit_alike_the_usual_one_is_found() {
        let objects = list(1000);
        let size = |layout: &Layout| objects[0].1.size(layout);
        assert!(candidates().filter(|layout| size(layout) == 16).count() > 1);
        assert_eq!(best(&objects).map(sizes), Some((12, 4, 8)));
        assert_eq!(best(&objects[..ENOUGH as usize]), None);
    }

    #[test]
    fn a_few_neighbors_among_objects_that_lie_far_apart_are_enough() {
        let wide: Layout = "12,8,8".parse().expect("a layout");
        let mut objects = Vec::new();
        for at in 0..10_000 {
            let (references, others) = (at % 3, at % 7);
            let shape = Shape::Instance { references, others };
            objects.push((at << 20, shape));
            // The neighbor of one in twenty.
            if at % 20 == 0 {
                objects.push(((at << 20) + shape.size(&wide), shape));
            }
        }
        assert_eq!(best(&objects).map(sizes), Some((12, 8, 8)));
    }
}
