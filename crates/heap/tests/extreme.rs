//! Dumps with very many of one thing. `examples/generate_extreme.rs` writes larger ones.

#[path = "../examples/generate_extreme.rs"]
#[allow(dead_code, reason = "the example has a `main`")]
mod generate_extreme;
#[allow(dead_code, reason = "other tests use the rest")]
mod model;

use generate_extreme::{Shape, write};
use hprof_heap::{By, Excluded, Heap, Memory};

/// More than a thread adds up at a time.
const COUNT: u64 = 300_000;
const CLASSES: u64 = 100_000;

fn with_heap<T>(shape: Shape, count: u64, then: impl FnOnce(&Heap<'_>) -> T) -> T {
    let mut bytes = Vec::new();
    write(shape, count, &mut bytes).expect("a vector has room");
    model::with_heap(&bytes, Excluded::default(), Memory::unlimited(), then)
}

/// Asserts that the only suspect retains so many bytes, and that its list of what it keeps has them.
fn assert_suspect(shape: Shape, bytes: u64) {
    with_heap(shape, COUNT, |heap| {
        let leaks = heap.leaks(0.5, None).expect("readable records");
        let [suspect] = &leaks.suspects[..] else {
            panic!("{leaks:?}");
        };
        let kept = suspect.kept.iter().map(|kept| kept.shallow);
        assert_eq!((suspect.retained, kept.sum()), (bytes, bytes));
    });
}

#[test]
fn a_list_is_a_suspect() {
    assert_suspect(Shape::List, 16 * COUNT);
}

/// Each element retains all after it, so none retains as much as another.
#[test]
fn elements_of_a_list_are_on_their_pages() {
    with_heap(Shape::List, COUNT, |heap| {
        let members = heap.members("many.Element").expect("its class");
        for first in [0, COUNT / 2, COUNT - 10] {
            let rows = heap.member_rows(&members, first as usize, 100);
            let retained = rows.expect("readable records").into_iter();
            let retained: Vec<u64> = retained.map(|row| row.retained).collect();
            let expected = (first..COUNT).take(100).map(|place| 16 * (COUNT - place));
            assert_eq!(retained, expected.collect::<Vec<u64>>());
        }
        assert_eq!(members.kept_bytes() as u64, 4 * COUNT);
    });
}

#[test]
fn an_array_is_a_suspect() {
    assert_suspect(Shape::Array, 16 + (4 + 16) * COUNT);
}

#[test]
fn classes_are_counted() {
    with_heap(Shape::Classes, CLASSES, |heap| {
        let groups = heap.groups(By::Class, 0).expect("groups");
        let many = groups
            .iter()
            .filter(|group| group.name.starts_with("many.Class"));
        assert_eq!(many.count() as u64, CLASSES);
    });
}
