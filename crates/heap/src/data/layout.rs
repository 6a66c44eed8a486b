//! The sizes of the VM's objects.

use std::fmt;
use std::str::FromStr;

use hprof_format::ObjectLayout;
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

/// The VM's object layout, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The sizes.
    pub of: ObjectLayout,
    /// The origin of this information.
    pub known: Known,
}

/// The sizes and their origin, side by side.
impl Serialize for Layout {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut layout = serializer.serialize_struct("Layout", 5)?;
        layout.serialize_field("header", &self.of.header)?;
        layout.serialize_field("array_header", &self.of.array_header)?;
        layout.serialize_field("reference", &self.of.reference)?;
        layout.serialize_field("alignment", &self.of.alignment)?;
        layout.serialize_field("known", &self.known)?;
        layout.end()
    }
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
    /// Noted by the agent, which the VM told the sizes of its arrays.
    Noted,
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
        let ObjectLayout {
            header,
            reference,
            alignment,
            ..
        } = self.of;
        let known = match self.known {
            Known::Noted => "as the VM told the agent",
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
        let of = ObjectLayout {
            header,
            // The length of an array follows the header; with one of 16 bytes, elements start at a multiple of 8.
            array_header: if header == 16 { 24 } else { header + 4 },
            reference,
            alignment,
        };
        Layout { of, known }
    }

    /// Returns it in numbers, for an index.
    pub(crate) fn numbers(&self) -> [u64; 5] {
        let of = self.of;
        let sizes = [of.header, of.array_header, of.reference, of.alignment];
        let [header, array_header, reference, alignment] = sizes.map(u64::from);
        let known = self.known as u64;
        [header, array_header, reference, alignment, known]
    }

    /// Returns the layout of these numbers; `None` if there is none.
    pub(crate) fn from_numbers(numbers: [u64; 5]) -> Option<Layout> {
        let [header, array_header, reference, alignment, of] = numbers;
        let known = [
            Known::Found,
            Known::Assumed,
            Known::Given,
            Known::Stated,
            Known::Noted,
        ];
        let known = known.into_iter().find(|&known| known as u64 == of)?;
        let size = |number| u32::try_from(number).ok().filter(|&size| size <= 256);
        let of = ObjectLayout {
            header: size(header)?,
            array_header: size(array_header)?,
            reference: size(reference).filter(|&size| size > 0)?,
            alignment: size(alignment).filter(|size| size.is_power_of_two())?,
        };
        Some(Layout { of, known })
    }

    /// Returns `true` if all sizes are the same as with another one, however it is known.
    pub(crate) fn is_same(&self, other: &Layout) -> bool {
        self.of == other.of
    }

    /// Returns `true` if it is what was asked for: by name, or else by nobody.
    pub(crate) fn is_wanted(&self, wanted: Option<Layout>) -> bool {
        wanted.map_or(self.known != Known::Given, |wanted| wanted == *self)
    }

    /// Returns the size of an instance with that many references and that many bytes of other fields.
    #[inline]
    pub(crate) fn instance(&self, references: u64, others: u64) -> u64 {
        self.of.instance(references, others)
    }

    /// Returns the size of an array with `length` elements of this size.
    #[inline]
    pub(crate) fn array(&self, length: u64, element: u64) -> u64 {
        self.of.array(length, element)
    }

    /// Returns the size of an array with `length` references.
    #[inline]
    pub(crate) fn references(&self, length: u64) -> u64 {
        self.array(length, self.of.reference.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_arrays_follow_from_those_of_objects() {
        let of = |text: &str| text.parse::<Layout>().expect("a layout").of;
        assert_eq!(of("12,4,8"), ObjectLayout::USUAL);
        assert_eq!(of("8,4,8").array_header, 12);
        assert_eq!(of("16,8,16").array_header, 24);
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
