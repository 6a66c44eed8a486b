//! Compares equal strings and arrays, and empty and sparse collections, with a count by the definition.

#[allow(dead_code, reason = "each test uses a part")]
mod model;

use std::collections::{BTreeMap, BTreeSet};

use hprof_format::{BasicType, ClassDump, HeapRecord, ObjectId, Root, StringId, TraceSerial};
use hprof_heap::{Excluded, Fill, Memory, Waste};
use model::{dump, with_heap};
use proptest::prelude::*;

/// The strings of one text, and their arrays.
type Strings = (Vec<usize>, BTreeSet<usize>);

const CLASSES: [&str; 6] = [
    "java/lang/Class",
    "java/lang/Object",
    "java/lang/String",
    "java/util/ArrayList",
    "my/List",
    "[Ljava/lang/Object;",
];
const STRING: usize = 2;
const LIST: usize = 3;
const MY_LIST: usize = 4;
const OBJECTS: usize = 5;

/// Objects, each of which may be a root.
#[derive(Clone, Debug)]
enum Kind {
    Bytes(Vec<u8>),
    Longs(Vec<u8>),
    /// The index of its value among the preceding byte arrays, and the coder.
    String(usize, u8),
    /// Capacity, and the used part of it.
    Array(u32, u32),
    /// The index of its array among the preceding ones; `None` if it has no array.
    List(bool, Option<usize>),
}

fn kinds() -> impl Strategy<Value = Vec<(Kind, bool)>> {
    let few = || proptest::collection::vec(0..2_u8, 0..4);
    let kind = prop_oneof![
        3 => few().prop_map(Kind::Bytes),
        1 => few().prop_map(Kind::Longs),
        3 => (any::<prop::sample::Index>(), 0..2_u8).prop_map(|(at, coder)| Kind::String(at.index(64), coder)),
        2 => (0..12_u32, 0..4_u32).prop_map(|(room, used)| Kind::Array(room, used.min(room))),
        2 => (any::<bool>(), prop::option::of(0..64_usize)).prop_map(|(mine, at)| Kind::List(mine, at)),
    ];
    proptest::collection::vec((kind, prop::bool::weighted(0.8)), 1..60)
}

/// Returns the target of a list or string: the preceding objects that fit are counted cyclically.
fn target(kinds: &[(Kind, bool)], place: usize, at: usize) -> Option<usize> {
    let fits = |kind: &Kind| match kinds[place].0 {
        Kind::String(..) => matches!(kind, Kind::Bytes(_)),
        _ => matches!(kind, Kind::Array(..)),
    };
    let all: Vec<usize> = (0..place).filter(|&other| fits(&kinds[other].0)).collect();
    (!all.is_empty()).then(|| all[at % all.len()])
}

fn led_to(kinds: &[(Kind, bool)], place: usize) -> Option<usize> {
    match kinds[place].0 {
        Kind::String(at, _) | Kind::List(_, Some(at)) => target(kinds, place, at),
        _ => None,
    }
}

fn class_id(class: usize) -> u64 {
    (class as u64 + 1) * 8
}

/// Returns an object's id. Descending ids make sorting of the tables necessary.
fn object_id(place: usize, reversed: bool) -> u64 {
    let place = if reversed { 500 - place } else { place };
    (100 + place as u64) * 8
}

fn write(kinds: &[(Kind, bool)], reversed: bool) -> Vec<u8> {
    let mut content = Vec::new();
    for class in 0..CLASSES.len() {
        let fields = match class {
            STRING => vec![
                (StringId(1), BasicType::Object),
                (StringId(2), BasicType::Byte),
            ],
            LIST => vec![(StringId(3), BasicType::Object)],
            _ => Vec::new(),
        };
        let above = match class {
            1 => 0,
            MY_LIST => class_id(LIST),
            _ => class_id(1),
        };
        HeapRecord::Class(ClassDump {
            class: ObjectId(class_id(class)),
            super_class: ObjectId(above),
            fields: fields.into(),
            ..ClassDump::default()
        })
        .write(&mut content);
    }
    for place in 0..kinds.len() {
        write_object(kinds, place, reversed, &mut content);
    }
    let names = (1..).zip(["value", "coder", "elementData"]);
    let texts = names.chain((10..).zip(CLASSES));
    let classes = (0..CLASSES.len()).map(|class| (class_id(class), 10 + class as u64));
    dump(texts, classes, &content)
}

fn write_object(kinds: &[(Kind, bool)], place: usize, reversed: bool, content: &mut Vec<u8>) {
    let object = ObjectId(object_id(place, reversed));
    let trace = TraceSerial(1);
    let led = led_to(kinds, place).map_or(0, |place| object_id(place, reversed));
    let led = led.to_be_bytes();
    let instance = |class: usize, fields: &[u8], content: &mut Vec<u8>| {
        HeapRecord::Instance {
            object,
            trace,
            class: ObjectId(class_id(class)),
            fields,
        }
        .write(content);
    };
    let array = |element, elements: &[u8], content: &mut Vec<u8>| {
        HeapRecord::PrimitiveArray {
            object,
            trace,
            element,
            elements,
        }
        .write(content);
    };
    match &kinds[place].0 {
        Kind::Bytes(bytes) => array(BasicType::Byte, bytes, content),
        Kind::Longs(bytes) => {
            let longs: Vec<u8> = bytes.iter().flat_map(|&byte| [byte; 8]).collect();
            array(BasicType::Long, &longs, content);
        }
        Kind::String(_, coder) => instance(STRING, &[&led[..], &[*coder]].concat(), content),
        Kind::List(mine, _) => instance(if *mine { MY_LIST } else { LIST }, &led, content),
        &Kind::Array(room, used) => {
            let used = (0..used).flat_map(|_| class_id(1).to_be_bytes());
            let mut elements: Vec<u8> = used.collect();
            elements.resize(room as usize * 8, 0);
            HeapRecord::ObjectArray {
                object,
                trace,
                class: ObjectId(class_id(OBJECTS)),
                elements: &elements,
            }
            .write(content);
        }
    }
    if kinds[place].1 {
        HeapRecord::Root {
            object,
            root: Root::JniGlobal { reference: 0 },
        }
        .write(content);
    }
}

/// Objects and wasted bytes of each group that wastes something, without the groups' names.
type Rows = Vec<(u64, u64)>;

struct Truth {
    strings: Rows,
    arrays: Rows,
    lists: BTreeMap<(bool, Fill), (u64, u64)>,
}

fn size(kind: &Kind) -> u64 {
    let align = |size: usize| size.div_ceil(8) as u64 * 8;
    match kind {
        Kind::Bytes(bytes) => align(16 + bytes.len()),
        Kind::Longs(longs) => align(16 + 8 * longs.len()),
        Kind::String(..) => align(12 + 4 + 1),
        Kind::Array(room, _) => align(16 + 4 * *room as usize),
        Kind::List(..) => align(12 + 4),
    }
}

fn truth(kinds: &[(Kind, bool)]) -> Truth {
    let roots = (0..kinds.len()).filter(|&place| kinds[place].1);
    let live: BTreeSet<usize> = roots
        .flat_map(|place| std::iter::once(place).chain(led_to(kinds, place)))
        .collect();
    // By text: strings, and the arrays that they use.
    let mut strings: BTreeMap<(Vec<u8>, u8), Strings> = BTreeMap::new();
    let mut in_strings = BTreeSet::new();
    let mut lists = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for &place in &live {
        match (&kinds[place].0, led_to(kinds, place)) {
            (&Kind::String(_, coder), Some(array)) => {
                let Kind::Bytes(bytes) = &kinds[array].0 else {
                    continue;
                };
                let group = strings.entry((bytes.clone(), coder)).or_default();
                group.0.push(place);
                group.1.insert(array);
                in_strings.insert(array);
            }
            (&Kind::List(mine, _), array) => {
                let is_first = array.is_none_or(|array| seen.insert(array));
                let array_size = |array: usize| if is_first { size(&kinds[array].0) } else { 0 };
                let own = size(&kinds[place].0);
                let (fill, wasted) = match array.map(|array| (array, &kinds[array].0)) {
                    None | Some((_, Kind::Array(0, _))) => (Fill::Empty, own),
                    Some((array, Kind::Array(_, 0))) => (Fill::Empty, own + array_size(array)),
                    Some((_, &Kind::Array(room, used))) if used * 4 < room => {
                        let unused = if is_first { room - used } else { 0 };
                        (Fill::Sparse, u64::from(unused) * 4)
                    }
                    _ => continue,
                };
                let sum: &mut (u64, u64) = lists.entry((mine, fill)).or_default();
                sum.0 += 1;
                sum.1 += wasted;
            }
            _ => {}
        }
    }
    let mut arrays: BTreeMap<(bool, &[u8]), Vec<usize>> = BTreeMap::new();
    for &place in live.difference(&in_strings) {
        if let Kind::Bytes(content) | Kind::Longs(content) = &kinds[place].0 {
            let is_long = matches!(kinds[place].0, Kind::Longs(_));
            arrays.entry((is_long, content)).or_default().push(place);
        }
    }
    let several = |sizes: Vec<u64>| sizes[1..].iter().sum::<u64>();
    let sizes = |places: &mut dyn Iterator<Item = usize>| -> Vec<u64> {
        places.map(|place| size(&kinds[place].0)).collect()
    };
    let strings = strings
        .into_values()
        .filter(|(strings, _)| strings.len() > 1);
    let strings = strings.map(|(strings, arrays)| {
        let wasted =
            several(sizes(&mut strings.iter().copied())) + several(sizes(&mut arrays.into_iter()));
        (strings.len() as u64, wasted)
    });
    let arrays = arrays.into_values().filter(|arrays| arrays.len() > 1);
    let arrays = arrays.map(|arrays| {
        let wasted = several(sizes(&mut arrays.iter().copied()));
        (arrays.len() as u64, wasted)
    });
    Truth {
        strings: sorted(strings.collect()),
        arrays: sorted(arrays.collect()),
        lists,
    }
}

fn sorted(mut rows: Rows) -> Rows {
    rows.sort_unstable();
    rows
}

fn assert_waste(waste: &Waste, truth: &Truth) {
    for (found, expected) in [
        (&waste.strings, &truth.strings),
        (&waste.arrays, &truth.arrays),
    ] {
        let rows = found.rows.iter().map(|row| (row.objects, row.wasted));
        assert_eq!(&sorted(rows.collect()), expected);
        assert_eq!(found.bytes, expected.iter().map(|row| row.1).sum::<u64>());
        assert_eq!(found.groups, expected.len() as u64);
    }
    let rows = waste.collections.rows.iter().map(|row| {
        let key = (&*row.class == "my.List", row.fill);
        (key, (row.objects, row.wasted))
    });
    assert_eq!(rows.collect::<BTreeMap<_, _>>(), truth.lists);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn waste_is_what_the_definitions_say(kinds in kinds(), reversed in any::<bool>(), limited in any::<bool>()) {
        let memory = if limited { Memory::limited(0) } else { Memory::unlimited() };
        // If several lists share an array, the order of ids determines which one counts it; the sum is independent of
        // that if all are of one class.
        let one_class = kinds.iter().all(|(kind, _)| !matches!(kind, Kind::List(true, _)));
        prop_assume!(!reversed || one_class);
        with_heap(&write(&kinds, reversed), Excluded::default(), memory, |heap| {
            assert_waste(&heap.waste(usize::MAX).expect("readable records"), &truth(&kinds));
        });
    }
}

#[test]
fn of_groups_that_waste_as_much_the_first_objects_come_first() {
    // Ten pairs of arrays of one byte.
    let kinds: Vec<(Kind, bool)> = (0..20_u8)
        .map(|place| (Kind::Bytes(vec![place / 2]), true))
        .collect();
    let bytes = write(&kinds, false);
    for _ in 0..5 {
        with_heap(&bytes, Excluded::default(), Memory::unlimited(), |heap| {
            let waste = heap.waste(3).expect("readable records");
            let ids: Vec<u64> = waste.arrays.rows.iter().map(|row| row.id.0).collect();
            assert_eq!(ids, [0, 2, 4].map(|place| object_id(place, false)));
        });
    }
}
