//! Finds the VM's object layout from the sizes of arrays, which it reports with their lengths.

use hprof_format::{ALIGNMENTS, ObjectLayout};

use jvmti::Primitive;

/// The layouts under which all arrays so far have the sizes that the VM reported.
pub(super) struct ArraySizes {
    possible: Vec<ObjectLayout>,
}

impl ArraySizes {
    pub(super) fn new() -> Self {
        Self {
            possible: ObjectLayout::all(&ALIGNMENTS).collect(),
        }
    }

    /// Takes an array of references (`None`) or of primitive values, with its length and its size in bytes.
    pub(super) fn add(&mut self, elements: Option<Primitive>, length: u32, size: u64) {
        self.possible.retain(|layout| {
            let element = elements.map_or(u64::from(layout.reference), |kind| kind.size() as u64);
            layout.array(length.into(), element) == size
        });
    }

    /// Returns the only layout that is possible; `None` if there are others, or none.
    pub(super) fn layout(&self) -> Option<ObjectLayout> {
        match *self.possible {
            [layout] => Some(layout),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Arrays of two references and of three bytes to nine.
    fn layout_of(references: u64, bytes: [u64; 7]) -> Option<ObjectLayout> {
        let mut sizes = ArraySizes::new();
        sizes.add(None, 2, references);
        for (length, size) in (3..).zip(bytes) {
            sizes.add(Some(Primitive::Byte), length, size);
        }
        sizes.layout()
    }

    #[test]
    fn the_sizes_of_arrays_tell_the_layout() {
        let sizes = |layout: ObjectLayout| {
            let ObjectLayout {
                header,
                array_header,
                reference,
                alignment,
            } = layout;
            (header, array_header, reference, alignment)
        };
        let usual = layout_of(24, [24, 24, 24, 24, 24, 24, 32]);
        assert_eq!(usual.map(sizes), Some((12, 16, 4, 8)));
        // -XX:+UseCompactObjectHeaders
        let compact = layout_of(24, [16, 16, 24, 24, 24, 24, 24]);
        assert_eq!(compact.map(sizes), Some((8, 12, 4, 8)));
        // ZGC with compact headers: references start at a multiple of 8.
        let compact = layout_of(32, [16, 16, 24, 24, 24, 24, 24]);
        assert_eq!(compact.map(sizes), Some((8, 12, 8, 8)));
        // -XX:ObjectAlignmentInBytes=16
        let wide = layout_of(32, [32, 32, 32, 32, 32, 32, 32]);
        assert_eq!(wide, None, "a header of 12 bytes would fit, too");
    }

    #[test]
    fn of_a_vm_with_other_sizes_nothing_is_said() {
        assert_eq!(layout_of(25, [24; 7]), None);
        assert_eq!(ArraySizes::new().layout(), None);
    }
}
