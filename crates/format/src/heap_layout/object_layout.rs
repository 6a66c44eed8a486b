//! The sizes of a VM's objects.

/// The numbers that determine how many bytes a VM takes for an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectLayout {
    /// The bytes before the fields: 8, 12 or 16.
    pub header: u32,
    /// The bytes before the elements of a byte array: 12, 16, 20 or 24.
    pub array_header: u32,
    /// The size of a reference: 4 or 8.
    pub reference: u32,
    /// Sizes are multiples of this: 8 to 256.
    pub alignment: u32,
}

/// The headers that HotSpot's objects and arrays have: compact ones, those with a compressed pointer to the class, and
/// those with a whole one, up to JDK 22 and later.
const HEADERS: [(u32, u32); 4] = [(8, 12), (12, 16), (16, 24), (16, 20)];

impl ObjectLayout {
    /// That of a 64-bit VM with default settings before JDK 27: compressed pointers, objects at multiples of 8.
    pub const USUAL: ObjectLayout = ObjectLayout {
        header: 12,
        array_header: 16,
        reference: 4,
        alignment: 8,
    };

    /// Iterates over the layouts that HotSpot has with these alignments.
    pub fn all(alignments: &[u32]) -> impl Iterator<Item = ObjectLayout> {
        HEADERS.into_iter().flat_map(move |(header, array_header)| {
            [4, 8].into_iter().flat_map(move |reference| {
                alignments.iter().map(move |&alignment| ObjectLayout {
                    header,
                    array_header,
                    reference,
                    alignment,
                })
            })
        })
    }

    /// Returns the size of an instance with that many references and that many bytes of other fields.
    #[inline]
    #[must_use]
    pub fn instance(&self, references: u64, others: u64) -> u64 {
        let references = references.saturating_mul(self.reference.into());
        self.align(
            u64::from(self.header)
                .saturating_add(references)
                .saturating_add(others),
        )
    }

    /// Returns the size of an array with `length` elements of this size.
    #[inline]
    #[must_use]
    pub fn array(&self, length: u64, element: u64) -> u64 {
        let base = u64::from(self.array_header).next_multiple_of(element);
        self.align(base.saturating_add(length.saturating_mul(element)))
    }

    #[inline]
    fn align(&self, size: u64) -> u64 {
        let mask = u64::from(self.alignment) - 1;
        size.saturating_add(mask) & !mask
    }

    /// Formats the note before a heap dump.
    #[must_use]
    pub fn note(&self) -> String {
        let ObjectLayout {
            header,
            array_header,
            reference,
            alignment,
        } = self;
        format!("{START}{header} {array_header} {reference} {alignment}")
    }

    /// Parses the text of [`ObjectLayout::note`]; `None` for any other note.
    pub(crate) fn of_note(note: &str) -> Option<ObjectLayout> {
        let numbers = note.strip_prefix(START)?.split(' ');
        let numbers: Result<Vec<u32>, _> = numbers.map(str::parse).collect();
        let &[header, array_header, reference, alignment] = numbers.ok()?.as_slice() else {
            return None;
        };
        let layout = ObjectLayout {
            header,
            array_header,
            reference,
            alignment,
        };
        let is_known = ObjectLayout::all(&ALIGNMENTS).any(|known| known == layout);
        is_known.then_some(layout)
    }
}

/// The alignments that HotSpot can be told.
pub const ALIGNMENTS: [u32; 6] = [8, 16, 32, 64, 128, 256];

/// The text before the numbers in a note.
const START: &str =
    "bytes of the object header, the array header, a reference, and the alignment: ";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_has_all_numbers() {
        for layout in ObjectLayout::all(&ALIGNMENTS) {
            assert_eq!(ObjectLayout::of_note(&layout.note()), Some(layout));
        }
        let note = ObjectLayout::USUAL.note();
        assert!(note.ends_with(": 12 16 4 8"), "{note}");
        for wrong in [
            "12 16 4",
            "12 16 4 8 8",
            "12 16 4 0",
            "1 16 4 8",
            "12 16 4 8.",
            "",
        ] {
            let note = note.replace("12 16 4 8", wrong);
            assert_eq!(ObjectLayout::of_note(&note), None, "{note}");
        }
    }

    #[test]
    fn sizes_are_those_of_hotspot() {
        // java.lang.Object, java.lang.Integer, a String of JDK 17 (one reference, an int, two bytes).
        let usual = ObjectLayout::USUAL;
        assert_eq!(
            [
                usual.instance(0, 0),
                usual.instance(0, 4),
                usual.instance(1, 6)
            ],
            [16, 16, 24]
        );
        assert_eq!(
            [usual.array(0, 1), usual.array(3, 4), usual.array(3, 8)],
            [16, 32, 40]
        );
        let compact = ObjectLayout {
            header: 8,
            array_header: 12,
            ..usual
        };
        // The same, and a HashMap.Node (three references, an int).
        assert_eq!(
            [
                compact.instance(0, 0),
                compact.instance(0, 4),
                compact.instance(3, 4)
            ],
            [8, 16, 24]
        );
        assert_eq!([compact.array(4, 1), compact.array(1, 8)], [16, 24]);
        let wide = ObjectLayout {
            header: 16,
            array_header: 24,
            reference: 8,
            alignment: 16,
        };
        assert_eq!([wide.instance(1, 0), wide.array(1, 1)], [32, 32]);
        assert_eq!(wide.array(u64::MAX, 8), u64::MAX - 15);
    }
}
