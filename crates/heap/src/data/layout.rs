//! The sizes of the VM's objects.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

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
    /// Stated by the classes of the dump, as in those of native images.
    Stated,
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
            Known::Stated => "as the classes state",
        };
        write!(
            formatter,
            "header {header}, references {reference}, alignment {alignment} bytes ({known})"
        )
    }
}

impl Layout {
    pub(crate) fn new(header: u32, reference: u32, alignment: u32, known: Known) -> Layout {
        Layout {
            header,
            // The length of an array follows the header; with one of 16 bytes, elements start at a multiple of 8.
            array_header: if header == 16 { 24 } else { header + 4 },
            reference,
            alignment,
            known,
        }
    }

    /// Returns it in numbers, for an index.
    pub(crate) fn numbers(&self) -> [u64; 5] {
        let sizes = [
            self.header,
            self.array_header,
            self.reference,
            self.alignment,
        ];
        let [header, array_header, reference, alignment] = sizes.map(u64::from);
        let known = self.known as u64;
        [header, array_header, reference, alignment, known]
    }

    /// Returns the layout of these numbers; `None` if there is none.
    pub(crate) fn from_numbers(numbers: [u64; 5]) -> Option<Layout> {
        let [header, array_header, reference, alignment, of] = numbers;
        let known = [Known::Found, Known::Assumed, Known::Given, Known::Stated];
        let known = known.into_iter().find(|&known| known as u64 == of)?;
        let size = |number| u32::try_from(number).ok().filter(|&size| size <= 256);
        Some(Layout {
            header: size(header)?,
            array_header: size(array_header)?,
            reference: size(reference).filter(|&size| size > 0)?,
            alignment: size(alignment).filter(|size| size.is_power_of_two())?,
            known,
        })
    }

    /// Returns `true` if all sizes are the same as with another one, however it is known.
    pub(crate) fn is_same(&self, other: &Layout) -> bool {
        let known = self.known;
        *self == Layout { known, ..*other }
    }

    /// Returns `true` if it is what was asked for: by name, or else by nobody.
    pub(crate) fn is_wanted(&self, wanted: Option<Layout>) -> bool {
        wanted.map_or(self.known != Known::Given, |wanted| wanted == *self)
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
    fn what_is_no_layout_is_refused() {
        for text in [
            "", "12", "12,4", "10,4,8", "12,4,8,1", "12,5,8", "12,4,9", "a,b,c",
        ] {
            assert_eq!(text.parse::<Layout>(), Err(LayoutError), "{text}");
        }
    }
}
