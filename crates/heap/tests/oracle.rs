//! Compares dominators, retained sizes, groups and paths with their definitions: remove the object and see what becomes
//! unreachable.

mod model;

use std::collections::{BTreeMap, BTreeSet};

use hprof_format::ObjectId;
use hprof_heap::{By, Dump, Excluded, Heap, Memory, Silent, Suspect, Target, histogram};
use model::{Model, Truth, model, with_heap};
use proptest::prelude::*;

fn assert_objects(heap: &Heap<'_>, truth: &Truth) {
    let live = truth.reached(|_| false);
    let rows = heap.largest(None, usize::MAX).expect("readable records");
    let found: BTreeMap<u64, u64> = rows.iter().map(|row| (row.id.0, row.retained)).collect();
    let expected: BTreeMap<u64, u64> = live
        .keys()
        .map(|&object| (object, truth.retained(|other| other == object)))
        .collect();
    assert_eq!(found, expected);
    let summary = heap.summary().expect("a summary");
    assert_eq!(summary.objects, live.len() as u64);
    assert_eq!(summary.bytes, truth.bytes(&live));
    assert_eq!(
        summary.unreachable_objects,
        (truth.sizes.len() - live.len()) as u64
    );
    let all: u64 = truth.sizes.values().sum();
    assert_eq!(summary.unreachable_bytes, all - truth.bytes(&live));
}

/// Name, objects, bytes, retained; those of sites lack their traces, so this is a multiset.
type Rows = Vec<(String, u64, u64, u64)>;

fn assert_groups(
    heap: &Heap<'_>,
    truth: &Truth,
    by: By,
    key: impl Fn(&(String, u32)) -> (String, u32),
) {
    let live = truth.reached(|_| false);
    let keys: BTreeSet<(String, u32)> = live.keys().map(|id| key(&truth.sites[id])).collect();
    let mut expected: Rows = keys
        .into_iter()
        .map(|group| {
            let members: Vec<u64> = live
                .keys()
                .copied()
                .filter(|id| key(&truth.sites[id]) == group)
                .collect();
            let shallow = members.iter().map(|id| truth.sizes[id]).sum();
            let retained = truth.retained(|object| key(&truth.sites[&object]) == group);
            (group.0, members.len() as u64, shallow, retained)
        })
        .collect();
    expected.sort();
    let exact = heap.groups(by, usize::MAX).expect("groups");
    let mut found: Rows = exact
        .iter()
        .map(|group| {
            (
                group.name.to_string(),
                group.objects,
                group.shallow,
                group.retained,
            )
        })
        .collect();
    found.sort();
    assert_eq!(found, expected);
    // A lower bound, and never below the shallow size of the members.
    let mut bounds: Vec<_> = heap
        .groups(by, 0)
        .expect("groups")
        .into_iter()
        .map(|group| {
            (
                group.name.to_string(),
                group.objects,
                group.shallow,
                group.retained,
            )
        })
        .collect();
    bounds.sort();
    for name in found.iter().map(|row| &row.0) {
        let sum = |rows: &Rows| -> u64 {
            rows.iter()
                .filter(|row| &row.0 == name)
                .map(|row| row.3)
                .sum()
        };
        assert!(sum(&bounds) <= sum(&found), "{name}");
    }
    for bound in &bounds {
        assert!(bound.3 >= bound.2, "{bound:?}");
    }
}

fn assert_paths(heap: &Heap<'_>, truth: &Truth) {
    let live = truth.reached(|_| false);
    for &object in truth.sizes.keys() {
        let paths = heap
            .paths(&Target::Object(ObjectId(object)), 1)
            .expect("readable records");
        let Some(&distance) = live.get(&object) else {
            assert!(paths.is_empty());
            continue;
        };
        let steps: Vec<u64> = paths[0].steps.iter().map(|step| step.id.0).collect();
        assert_eq!(steps.len(), distance);
        assert!(truth.roots.contains(&steps[0]));
        assert_eq!(steps.last(), Some(&object));
        for pair in steps.windows(2) {
            assert!(truth.to[&pair[0]].contains(&pair[1]), "{pair:x?}");
        }
    }
}

fn assert_all(model: &Model, excluded: Excluded, memory: Memory) {
    let truth = model.truth(excluded);
    with_heap(&model.write(), excluded, memory, |heap| {
        assert_objects(heap, &truth);
        assert_groups(heap, &truth, By::Class, |(class, _)| (class.clone(), 0));
        assert_groups(heap, &truth, By::Site, Clone::clone);
        assert_groups(heap, &truth, By::Package, |(class, _)| {
            let package = class
                .rsplit_once('.')
                .map_or("<no package>", |(package, _)| package);
            (package.to_owned(), 0)
        });
        assert_paths(heap, &truth);
        let leaks = heap.leaks(0.1, None).expect("readable records");
        for suspect in leaks.suspects.iter().chain(&leaks.bounded) {
            if suspect.objects == 1 {
                assert_eq!(
                    suspect.retained,
                    truth.retained(|object| object == suspect.id.0)
                );
                assert_adds_up(suspect);
            }
        }
    });
}

/// Checks that both lists about what a suspect keeps are complete with what they do not list.
fn assert_adds_up(suspect: &Suspect) {
    let kept = suspect.kept.iter().map(|kept| kept.shallow).sum::<u64>();
    assert_eq!(kept + suspect.kept_else.shallow, suspect.retained);
    let listed = suspect.allocated.iter().map(|row| row.shallow).sum::<u64>();
    let others = [suspect.allocated_else, suspect.without_stack];
    let others: u64 = others.iter().map(|rest| rest.shallow).sum();
    assert_eq!(listed + others, suspect.retained);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn what_is_said_of_a_graph_is_what_the_definitions_say(model in model(), follow_weak in any::<bool>()) {
        let excluded = if follow_weak { Excluded::NONE } else { Excluded::default() };
        assert_all(&model, excluded, Memory::unlimited());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn tables_in_files_give_the_same_answers(model in model(), bytes in 0..2000_u64) {
        assert_all(&model, Excluded::default(), Memory::limited(bytes));
    }
}

/// The size of a list's element in the dump: tag, id, trace, class, length, one field.
const NODE: usize = 1 + 8 + 4 + 8 + 4 + 8;

/// Returns a linked list whose first element is a root; the class comes last.
fn list(length: u64) -> Vec<u8> {
    use hprof_format::{
        BasicType, BinaryEncoder, ClassDump, Encoder, HeapDumpEndRecord, HeapDumpSegmentRecord,
        HeapRecord, Micros, Millis, ObjectId, Record, Root, StringId, TraceSerial,
    };
    let node = |number: u64| ObjectId((number + 100) * 8);
    let class = ObjectId(8);
    let mut content = Vec::with_capacity(length as usize * NODE + 100);
    for number in 0..length {
        let next = if number + 1 < length {
            node(number + 1).0
        } else {
            0
        };
        HeapRecord::Instance {
            object: node(number),
            trace: TraceSerial(1),
            class,
            fields: &next.to_be_bytes(),
        }
        .write(&mut content);
    }
    let nodes = content.len();
    assert_eq!(nodes, length as usize * NODE);
    HeapRecord::Class(ClassDump {
        class,
        fields: [(StringId(1), BasicType::Object)][..].into(),
        ..ClassDump::default()
    })
    .write(&mut content);
    HeapRecord::Root {
        object: node(0),
        root: Root::StickyClass,
    }
    .write(&mut content);
    let mut out = Vec::new();
    let mut encoder = BinaryEncoder::new();
    encoder.start(Millis(0), &mut out);
    // Segments of about a megabyte, of whole records, so that several cores have something to do.
    let records = content.split_at(nodes).0.chunks(NODE * 30_000);
    for content in records.chain([content.split_at(nodes).1]) {
        let content = content.into();
        encoder.record(
            Micros(0),
            &Record::HeapDumpSegment(HeapDumpSegmentRecord { content }),
            &mut out,
        );
    }
    encoder.record(Micros(0), &Record::HeapDumpEnd(HeapDumpEndRecord), &mut out);
    out
}

/// Asserts that there are nodes of 16 bytes in every part of the file.
fn assert_histogram(list: &[u8], length: u64) {
    let dump = Dump::open(&model::file(list), None).expect("a dump");
    let layout = Some("12,4,8".parse().expect("a layout"));
    let counted = histogram(&dump, By::Class, layout, &Silent).expect("readable records");
    let nodes = &counted.rows[0];
    assert_eq!((nodes.objects, nodes.shallow), (length, length * 16));
}

/// Answers every question on a thread with a small stack: nothing may recurse once for each element.
fn assert_list(length: u64) {
    let ask = move || {
        let file = list(length);
        assert_histogram(&file, length);
        with_heap(&file, Excluded::default(), Memory::unlimited(), |heap| {
            // Nodes of 16 bytes; the class object of 16 and its java.lang.Class are kept alive by every node.
            let first = heap.largest(None, 1).expect("readable records").remove(0);
            assert_eq!((first.id.0, first.retained), (800, length * 16 + 16));
            let last = (length - 1 + 100) * 8;
            let path = heap
                .paths(&Target::Object(ObjectId(last)), 1)
                .expect("readable")
                .remove(0);
            let left_out: u64 = path.steps.iter().map(|step| step.left_out).sum();
            assert_eq!(path.steps.len() as u64 + left_out, length);
            assert!(path.steps.len() <= 100);
            assert_eq!(
                heap.leaks(0.1, None).expect("readable").suspects[0].id.0,
                800
            );
            let groups = heap.groups(By::Class, 1).expect("groups");
            assert_eq!(groups[0].objects, length);
            heap.areas(None, 1000).expect("readable");
            heap.waste(10).expect("readable");
        });
    };
    let thread = std::thread::Builder::new().stack_size(256 << 10).spawn(ask);
    thread.expect("a thread").join().expect("the answers");
}

#[test]
fn a_long_list_needs_no_deep_stack() {
    assert_list(200_000);
}

/// `cargo test --release -p hprof-heap --test oracle ten_million -- --ignored`
#[test]
#[ignore = "needs 1.5 GB"]
fn a_list_of_ten_million_needs_no_deep_stack() {
    assert_list(10_000_000);
}
