//! The layout of the objects in a heap dump: the fields of its classes, and the sizes of its objects.

mod classes;
mod object_layout;
mod totals;

pub(crate) use classes::{ClassIndex, DumpedClasses, each_name};
pub use object_layout::{ALIGNMENTS, ObjectLayout};
pub use totals::{HeapCounter, HeapTotals};
pub(crate) use totals::{array_size, class_of, instance_size};
