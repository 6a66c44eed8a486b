//! The sizes of the VM's objects.

use std::cmp::Reverse;
use std::fmt;
use std::str::FromStr;

use hprof_format::{HeapRecord, IdSize};
use serde::Serialize;

use crate::classes::Classes;
use crate::dump::Dump;
use crate::{Error, records};

/// The number of objects examined to determine the layout.
const SAMPLE: usize = 200_000;
/// The least number of distances between objects that allows a conclusion.
const ENOUGH: u32 = 100;

/// The VM's object layout, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Layout {
    /// The bytes before the fields: 8, 12 or 16.
    pub header: u32,
    /// The bytes before the elements of a byte array: 12, 16, 20 or 24.
    pub array_header: u32,
    /// The size of a reference: 4 or 8.
    pub reference: u32,
    /// Sizes are multiples of this: 8 to 256.
    pub alignment: u32,
    /// The origin of this information.
    pub known: Known,
}

/// The origin of a layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Known {
    /// From the distances between the objects of the dump.
    Found,
    /// The usual layout, because the dump does not determine it.
    Assumed,
    /// Given by the user.
    Given,
}

/// The reason a layout is invalid.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a layout is HEADER,REFERENCE,ALIGNMENT in bytes: 8, 12 or 16; 4 or 8; 8, 16, 32, 64, 128 or 256; such as 12,4,8"
)]
pub struct LayoutError;

impl FromStr for Layout {
    type Err = LayoutError;

    fn from_str(text: &str) -> Result<Layout, LayoutError> {
        let numbers: Result<Vec<u32>, _> = text.split(',').map(str::parse).collect();
        match numbers.as_deref() {
            Ok(
                &[
                    header @ (8 | 12 | 16),
                    reference @ (4 | 8),
                    alignment @ (8 | 16 | 32 | 64 | 128 | 256),
                ],
            ) => Ok(Layout::new(header, reference, alignment, Known::Given)),
            _ => Err(LayoutError),
        }
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Layout {
            header,
            reference,
            alignment,
            ..
        } = self;
        let known = match self.known {
            Known::Found => "found from the distances between objects",
            Known::Assumed => "assumed; --layout sets another",
            Known::Given => "as --layout says",
        };
        write!(
            formatter,
            "header {header}, references {reference}, alignment {alignment} bytes ({known})"
        )
    }
}

impl Layout {
    fn new(header: u32, reference: u32, alignment: u32, known: Known) -> Layout {
        Layout {
            header,
            // The length of an array follows the header; with one of 16 bytes, elements start at a multiple of 8.
            array_header: if header == 16 { 24 } else { header + 4 },
            reference,
            alignment,
            known,
        }
    }

    /// Returns the size of an instance with that many references and that many bytes of other fields.
    #[inline]
    pub(crate) fn instance(&self, references: u64, others: u64) -> u64 {
        self.align(u64::from(self.header) + references * u64::from(self.reference) + others)
    }

    /// Returns the size of an array with `length` elements of this size.
    #[inline]
    pub(crate) fn array(&self, length: u64, element: u64) -> u64 {
        let base = u64::from(self.array_header).next_multiple_of(element);
        self.align(base + length * element)
    }

    #[inline]
    fn align(&self, size: u64) -> u64 {
        let mask = u64::from(self.alignment) - 1;
        (size + mask) & !mask
    }

    /// Returns the layout of the VM that wrote a dump.
    pub(crate) fn of(dump: &Dump, classes: &mut Classes) -> Result<Layout, Error> {
        if dump.is_android() {
            return Ok(Layout::new(8, 4, 8, Known::Assumed));
        }
        Ok(match find(dump, classes)? {
            Some(layout) => layout,
            None if dump.id_size() == IdSize::Four => Layout::new(8, 4, 8, Known::Assumed),
            None => Layout::new(12, 4, 8, Known::Assumed),
        })
    }
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
                    std::cmp::Ordering::Less => {}
                    std::cmp::Ordering::Equal => *touching += 1,
                    std::cmp::Ordering::Greater => *overlapping += 1,
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
    fn sizes_are_those_of_hotspot() {
        let layout: Layout = "12,4,8".parse().expect("a layout");
        // java.lang.Object, java.lang.Integer, a String of JDK 17 (one reference, an int, two bytes).
        assert_eq!(layout.instance(0, 0), 16);
        assert_eq!(layout.instance(0, 4), 16);
        assert_eq!(layout.instance(1, 6), 24);
        assert_eq!(layout.array(0, 1), 16);
        assert_eq!(layout.array(3, 4), 32);
        assert_eq!(layout.array(3, 8), 40);
        let compact: Layout = "8,4,8".parse().expect("a layout");
        assert_eq!(compact.instance(0, 0), 8);
        assert_eq!(compact.array(4, 1), 16);
        assert_eq!(compact.array(1, 8), 24);
        let wide: Layout = "16,8,16".parse().expect("a layout");
        assert_eq!(wide.instance(1, 0), 32);
        assert_eq!(wide.array(1, 1), 32);
    }

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

    #[test]
    fn what_is_no_layout_is_refused() {
        for text in [
            "", "12", "12,4", "10,4,8", "12,4,8,1", "12,5,8", "12,4,9", "a,b,c",
        ] {
            assert_eq!(text.parse::<Layout>(), Err(LayoutError), "{text}");
        }
    }
}
