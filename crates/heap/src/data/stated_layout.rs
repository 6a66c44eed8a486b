//! The layout of a native image. Its dumps state the true size of each class's instances, where HotSpot's have the sum of
//! their fields.

use hprof_format::ObjectLayout;

use crate::data::classes::Classes;
use crate::data::layout::{Known, Layout};

/// The bytes that the hash code and the length of an array take.
const HASH_AND_LENGTH: u32 = 8;
const ALIGNMENT: u32 = 8;

/// Returns the layout that the sizes of classes follow; `None` unless these are the true ones.
pub(crate) fn stated(classes: &Classes) -> Option<Layout> {
    let header = u32::try_from(classes.stated_header()?).ok()?;
    let layouts = [4, 8].map(|reference| Layout {
        of: ObjectLayout {
            header,
            array_header: header + HASH_AND_LENGTH,
            reference,
            alignment: ALIGNMENT,
        },
        known: Known::Stated,
    });
    let fitting = |layout: &Layout| {
        let instances = classes.iter().filter(|(_, class)| class.stated > 0);
        let sizes = instances.map(|(index, class)| (classes.field_sizes(index), class.stated));
        sizes
            .filter(|&((references, others), stated)| {
                layout.instance(references, others) == u64::from(stated)
            })
            .count()
    };
    layouts.into_iter().max_by_key(fitting)
}
