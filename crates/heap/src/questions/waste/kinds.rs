//! The collections of the JDK, and the arrays in which they keep their elements.

use crate::data::numbers::ObjectNumber;

/// The number that means a collection without an array.
pub(super) const NO_ARRAY: ObjectNumber = ObjectNumber::NONE;

/// Classes whose objects keep their elements in an array, a list or a tree, and the field that leads there.
const FIELDS: [(&str, &str); 14] = [
    ("java.util.ArrayDeque", "elements"),
    ("java.util.ArrayList", "elementData"),
    ("java.util.HashMap", "table"),
    ("java.util.Hashtable", "table"),
    ("java.util.IdentityHashMap", "table"),
    ("java.util.LinkedList", "first"),
    ("java.util.PriorityQueue", "queue"),
    ("java.util.TreeMap", "root"),
    ("java.util.Vector", "elementData"),
    ("java.util.WeakHashMap", "table"),
    ("java.util.concurrent.ArrayBlockingQueue", "items"),
    ("java.util.concurrent.ConcurrentHashMap", "table"),
    ("java.util.concurrent.CopyOnWriteArrayList", "array"),
    ("java.util.concurrent.PriorityBlockingQueue", "queue"),
];

/// The arrays that they use.
pub(super) const ARRAYS: [&str; 5] = [
    "java.lang.Object[]",
    "java.util.HashMap$Node[]",
    "java.util.Hashtable$Entry[]",
    "java.util.WeakHashMap$Entry[]",
    "java.util.concurrent.ConcurrentHashMap$Node[]",
];

/// Returns the field in which a class of the JDK keeps its elements; `None` for a class that is not a collection.
pub(super) fn field(class: &str) -> Option<&'static str> {
    let place = FIELDS.binary_search_by_key(&class, |&(name, _)| name);
    place.ok().map(|place| FIELDS[place].1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_collection_is_found_by_its_name() {
        for (class, name) in FIELDS {
            assert_eq!(field(class), Some(name));
        }
        assert_eq!(field("java.util.ArrayList$Itr"), None);
    }
}
