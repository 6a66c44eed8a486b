//! Compares the retained sizes in a generated dump with those that follow from the way it is made.

#[path = "../examples/generate_dump.rs"]
#[allow(dead_code, reason = "the example has a `main`")]
mod generate_dump;
#[allow(dead_code, reason = "other tests use the rest")]
mod model;

use hprof_format::ObjectId;
use hprof_heap::{Excluded, Memory};

fn assert_facts(memory: Memory) {
    let mut bytes = Vec::new();
    let facts = generate_dump::write(60_000, &mut bytes).expect("a vector has room");
    model::with_heap(&bytes, Excluded::NONE, memory, |heap| {
        let summary = heap.summary().expect("a summary");
        assert_eq!(summary.objects + summary.unreachable_objects, facts.objects);
        assert_eq!(facts.retained.len(), 5);
        for &(name, id, bytes) in &facts.retained {
            let shown = heap.show(ObjectId(id), 0).expect("it is in the dump");
            assert_eq!(shown.retained, Some(bytes), "{name}");
        }
        let leaks = heap.leaks(0.3, None).expect("readable records");
        let found: Vec<&str> = leaks
            .suspects
            .iter()
            .filter_map(|suspect| suspect.what.split(' ').next())
            .collect();
        assert_eq!(found, ["java.util.HashMap$Node[]", "shop.Waiting"]);
    });
}

#[test]
fn a_generated_dump_has_the_retained_sizes_that_it_was_made_with() {
    assert_facts(Memory::unlimited());
}

#[test]
fn they_are_the_same_in_temporary_files() {
    assert_facts(Memory::limited(0));
}
