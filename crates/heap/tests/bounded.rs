//! Suspects, and what is as large but bounded, as a dump without births shows: collections of 200 items with a kilobyte each.

#[allow(dead_code, reason = "other tests use the rest")]
mod model;
#[allow(dead_code, reason = "other tests use the rest")]
mod records;

use hprof_format::{BasicType, HeapRecord, ObjectId, Root, Value};
use hprof_heap::{Bound, Excluded, Leaks, Memory, Pattern, Suspect};
use records::{Class, Writer, to};

const ITEMS: usize = 200;
const OBJECT: (&str, BasicType) = ("value", BasicType::Object);

/// A dump whose class `Holder` has one static field.
struct Built {
    dump: Writer,
    next: u64,
    array_class: u64,
    item_class: u64,
}

impl Built {
    fn new() -> Built {
        let mut dump = Writer::default();
        let array_class = dump.class("[Ljava/lang/Object;", 0, Class::default());
        let fields = &[OBJECT];
        let item = Class {
            fields,
            ..Class::default()
        };
        let item_class = dump.class("Item", 0, item);
        Built {
            dump,
            next: 0x10_0000,
            array_class,
            item_class,
        }
    }

    fn class(&mut self, name: &str, above: u64, fields: &[(&str, BasicType)]) -> u64 {
        let of = Class {
            fields,
            ..Class::default()
        };
        self.dump.class(name, above, of)
    }

    fn id(&mut self) -> u64 {
        self.next += 0x1000;
        self.next
    }

    fn instance(&mut self, class: u64, fields: &[Value]) -> u64 {
        let id = self.id();
        self.dump.instance(id, class, fields);
        id
    }

    fn array(&mut self, elements: &[u64]) -> u64 {
        let id = self.id();
        self.dump.array(id, self.array_class, elements);
        id
    }

    fn bytes(&mut self, length: usize) -> u64 {
        let id = self.id();
        self.dump.bytes(id, length);
        id
    }

    fn item(&mut self) -> u64 {
        let data = self.bytes(1_000);
        self.instance(self.item_class, &[to(data)])
    }

    fn items(&mut self, count: usize) -> Vec<u64> {
        (0..count).map(|_| self.item()).collect()
    }

    /// Returns a map of the JDK whose table has these elements, and more room.
    fn map(&mut self, elements: &[u64]) -> u64 {
        let fields = [("size", BasicType::Int), ("table", BasicType::Object)];
        let class = self.class("java/util/HashMap", 0, &fields);
        self.map_of(class, elements, &[])
    }

    fn map_of(&mut self, class: u64, elements: &[u64], own: &[Value]) -> u64 {
        let mut table = elements.to_vec();
        table.resize(2 * elements.len(), 0);
        let table = self.array(&table);
        let size = i32::try_from(elements.len()).expect("few");
        let fields = [own, &[Value::Int(size), to(table)]].concat();
        self.instance(class, &fields)
    }

    /// Asks about the dump, in which a static field refers to an object.
    fn leaks(mut self, kept: u64) -> Leaks {
        let statics = &[("kept", kept)];
        let holder = Class {
            statics,
            ..Class::default()
        };
        let holder = self.dump.class("Holder", 0, holder);
        self.dump.root(holder);
        let (file, memory) = (self.dump.file(), Memory::unlimited());
        let mut leaks = None;
        model::with_heap(&file, Excluded::default(), memory, |heap| {
            leaks = Some(heap.leaks(0.1, None).expect("it is sound"));
        });
        leaks.expect("it was asked")
    }

    /// Returns the only suspect.
    fn suspect(self, kept: u64) -> Suspect {
        let mut leaks = self.leaks(kept);
        assert!(leaks.bounded.is_empty(), "{leaks:?}");
        assert_eq!(leaks.suspects.len(), 1, "{leaks:?}");
        leaks.suspects.remove(0)
    }

    /// Returns the bound of what is no suspect.
    fn bound(self, kept: u64) -> Bound {
        let mut leaks = self.leaks(kept);
        assert!(leaks.suspects.is_empty(), "{leaks:?}");
        assert_eq!(leaks.bounded.len(), 1, "{leaks:?}");
        leaks.bounded.remove(0).bound.expect("a bound")
    }
}

#[test]
fn a_map_that_nothing_bounds_is_suspected_with_its_elements() {
    let mut built = Built::new();
    let items = built.items(ITEMS);
    let map = built.map(&items);
    let suspect = built.suspect(map);
    assert_eq!(suspect.bound, None);
    let elements = suspect.elements.expect("items");
    assert_eq!((&*elements.class, elements.objects), ("Item", ITEMS as u64));
}

#[test]
fn a_linked_map_is_a_cache_in_the_order_of_access() {
    for in_order in [true, false] {
        let mut built = Built::new();
        let items = built.items(ITEMS);
        let fields = [("size", BasicType::Int), ("table", BasicType::Object)];
        let map = built.class("java/util/HashMap", 0, &fields);
        let own = [("accessOrder", BasicType::Boolean)];
        let linked = built.class("java/util/LinkedHashMap", map, &own);
        let kept = built.map_of(linked, &items, &[Value::Boolean(in_order)]);
        if in_order {
            assert!(matches!(built.bound(kept), Bound::EldestGoes { .. }));
        } else {
            built.suspect(kept);
        }
    }
}

#[test]
fn a_field_states_how_many_there_may_be() {
    for (most, is_full) in [(210, true), (200, true), (2_000, false), (100, false)] {
        let mut built = Built::new();
        let items = built.items(ITEMS);
        let map = built.map(&items);
        let fields = [
            ("maxEntries", BasicType::Int),
            ("entries", BasicType::Object),
        ];
        let cache = built.class("Cache", 0, &fields);
        let cache = built.instance(cache, &[Value::Int(most), to(map)]);
        if is_full {
            let bound = Bound::Capacity {
                class: "Cache".into(),
                field: "maxEntries".into(),
                value: u64::try_from(most).expect("positive"),
                elements: ITEMS as u64,
            };
            assert_eq!(built.bound(cache), bound);
        } else {
            built.suspect(cache);
        }
    }
}

#[test]
fn a_linked_queue_is_bounded_if_it_is_full() {
    let queue = |capacity: i32| {
        let mut built = Built::new();
        let count = built.class(
            "java/util/concurrent/atomic/AtomicInteger",
            0,
            &[("value", BasicType::Int)],
        );
        let fields = [("item", BasicType::Object), ("next", BasicType::Object)];
        let node = built.class("java/util/concurrent/LinkedBlockingQueue$Node", 0, &fields);
        let fields = [
            ("capacity", BasicType::Int),
            ("count", BasicType::Object),
            ("head", BasicType::Object),
        ];
        let queue = built.class("java/util/concurrent/LinkedBlockingQueue", 0, &fields);
        let mut head = 0;
        for item in built.items(ITEMS) {
            head = built.instance(node, &[to(item), to(head)]);
        }
        let elements = Value::Int(i32::try_from(ITEMS).expect("few"));
        let count = built.instance(count, &[elements]);
        let queue = built.instance(queue, &[Value::Int(capacity), to(count), to(head)]);
        built.leaks(queue)
    };
    let full = queue(200);
    assert!(full.suspects.is_empty(), "{:?}", full.suspects);
    assert_eq!(
        full.bounded[0].bound,
        Some(Bound::Capacity {
            class: "java.util.concurrent.LinkedBlockingQueue".into(),
            field: "capacity".into(),
            value: 200,
            elements: 200,
        })
    );
    for capacity in [1_000, i32::MAX] {
        let found = queue(capacity);
        assert!(found.bounded.is_empty(), "{capacity}: {:?}", found.bounded);
        assert_eq!(found.suspects.len(), 1, "{capacity}");
    }
}

#[test]
fn what_is_in_an_unmodifiable_collection_may_grow() {
    let list = |built: &mut Built, element: u64| {
        let class = built.class("java/util/ImmutableCollections$ListN", 0, &[OBJECT]);
        built.instance(class, &[to(element)])
    };
    let mut built = Built::new();
    let items = built.items(ITEMS);
    let map = built.map(&items);
    let document = built.class("Document", 0, &[OBJECT]);
    let document = built.instance(document, &[to(map)]);
    let kept = list(&mut built, document);
    let found = built.leaks(kept);
    assert_eq!(found.suspects.len(), 1, "{:?}", found.bounded);

    let mut built = Built::new();
    let items = built.items(ITEMS);
    let array = built.array(&items);
    let kept = list(&mut built, array);
    let class = "java.util.ImmutableCollections$ListN".into();
    let found = built.leaks(kept);
    assert_eq!(found.bounded[0].bound, Some(Bound::Unmodifiable { class }));
}

#[test]
fn an_array_grows_only_as_part_of_a_collection() {
    let mut built = Built::new();
    let items = built.items(ITEMS);
    let array = built.array(&items);
    let length = ITEMS as u64;
    assert_eq!(built.bound(array), Bound::FixedArray { length });
    // It has no number of elements, and yet the JDK's list copies its array to add one.
    let mut built = Built::new();
    let items = built.items(ITEMS);
    let array = built.array(&items);
    let list = built.class("java/util/concurrent/CopyOnWriteArrayList", 0, &[OBJECT]);
    let list = built.instance(list, &[to(array)]);
    built.suspect(list);
    // A collection of the program's own counts its elements, or knows the place of the next one.
    let mut built = Built::new();
    let mut elements = built.items(ITEMS);
    elements.resize(2 * ITEMS, 0);
    let array = built.array(&elements);
    let fields = [OBJECT, ("position", BasicType::Int)];
    let list = built.class("Ring", 0, &fields);
    let list = built.instance(list, &[to(array), Value::Int(7)]);
    built.suspect(list);
}

#[test]
fn a_table_of_the_vm_is_no_leak() {
    let global = Root::JniGlobal { reference: 1 };
    for (root, has_own_objects, is_table) in [
        (global, false, true),
        (global, true, false),
        (Root::Unknown, false, false),
    ] {
        let mut built = Built::new();
        let items = match has_own_objects {
            true => built.items(ITEMS),
            false => (0..ITEMS).map(|_| built.bytes(1000)).collect(),
        };
        let table = built.array(&items);
        let object = ObjectId(table);
        HeapRecord::Root { object, root }.write(&mut built.dump.content);
        if is_table {
            let length = ITEMS as u64;
            assert_eq!(built.bound(0), Bound::FixedArray { length });
        } else {
            built.suspect(0);
        }
    }
}

#[test]
fn a_buffer_is_no_leak_and_a_builder_of_texts_may_be() {
    for (class, is_suspected) in [("Reader", false), ("java/lang/StringBuilder", true)] {
        let mut built = Built::new();
        let buffer = built.bytes(200_000);
        let fields = [OBJECT, ("position", BasicType::Int)];
        let owner = built.class(class, 0, &fields);
        let owner = built.instance(owner, &[to(buffer), Value::Int(150_000)]);
        if is_suspected {
            built.suspect(owner);
        } else {
            let length = 200_000;
            assert_eq!(built.bound(owner), Bound::FixedArray { length });
        }
    }
}

#[test]
fn what_references_keep_goes_if_they_are_soft_or_cleared() {
    let of = [
        ("java/lang/ref/SoftReference", false, Some(Bound::Soft)),
        ("java/lang/ref/WeakReference", true, Some(Bound::Cleared)),
        ("java/lang/ref/WeakReference", false, None),
        ("java/lang/ref/PhantomReference", true, None),
    ];
    for (class, is_cleared, bound) in of {
        let mut built = Built::new();
        let fields = [("referent", BasicType::Object)];
        let reference = built.class("java/lang/ref/Reference", 0, &fields);
        let reference = built.class(class, reference, &[]);
        let entry = built.class("Entry", reference, &[OBJECT]);
        let entries = (0..ITEMS).map(|_| {
            let key = built.item();
            let key = if is_cleared { 0 } else { key };
            let value = built.item();
            built.instance(entry, &[to(value), to(key)])
        });
        let entries: Vec<u64> = entries.collect();
        let map = built.map(&entries);
        match bound {
            Some(bound) => assert_eq!(built.bound(map), bound),
            None => assert_eq!(built.suspect(map).bound, None),
        }
    }
}

#[test]
fn few_large_elements_are_no_pile() {
    let mut built = Built::new();
    let items = built.items(40);
    let map = built.map(&items);
    assert_eq!(built.bound(map), Bound::Few { elements: 40 });
}

/// Returns contexts of as many class loaders, each of which has loaded their class itself, and keeps a kilobyte.
fn contexts(built: &mut Built, count: usize) -> Vec<u64> {
    let loader_class = built.class("AppLoader", 0, &[OBJECT]);
    let entry = built.class("java/util/HashMap$Node", 0, &[OBJECT]);
    let contexts = (0..count).map(|_| {
        let data = built.bytes(1_000);
        let loader = built.instance(loader_class, &[to(data)]);
        let of_loader = Class {
            loader,
            ..Class::default()
        };
        let class = built.dump.class("job/Context", 0, of_loader);
        let context = built.instance(class, &[]);
        built.instance(entry, &[to(context)])
    });
    contexts.collect()
}

#[test]
fn class_loaders_that_pile_up_are_no_pool() {
    let mut built = Built::new();
    let contexts = contexts(&mut built, 20);
    let map = built.map(&contexts);
    let leaks = built.leaks(map);
    assert!(leaks.bounded.is_empty(), "{leaks:?}");
    let patterns: Vec<Option<Pattern>> = leaks
        .suspects
        .iter()
        .map(|found| found.pattern.clone())
        .collect();
    let (class, objects) = ("AppLoader".into(), 20);
    assert_eq!(patterns, [Some(Pattern::Loaders { class, objects })]);
    let elements = leaks.suspects[0].elements.as_ref();
    let elements = elements.map(|of| (&*of.class, of.objects));
    assert_eq!(elements, Some(("job.Context", 20)));
    assert_eq!(leaks.piling_loaders.len(), 1, "{leaks:?}");
}

#[test]
fn class_loaders_in_a_full_cache_do_not_pile_up() {
    let mut built = Built::new();
    let contexts = contexts(&mut built, 20);
    let fields = [
        ("maxEntries", BasicType::Int),
        ("size", BasicType::Int),
        ("table", BasicType::Object),
    ];
    let class = built.class("Scripts", 0, &fields);
    let cache = built.map_of(class, &contexts, &[Value::Int(20)]);
    let leaks = built.leaks(cache);
    assert!(leaks.suspects.is_empty(), "{leaks:?}");
    assert_eq!(leaks.bounded.len(), 1, "{leaks:?}");
    assert!(leaks.piling_loaders.is_empty(), "{leaks:?}");
}

#[test]
fn a_collection_in_an_atomic_reference_is_replaced_as_a_whole() {
    let mut built = Built::new();
    let items = built.items(ITEMS);
    let map = built.map(&items);
    let class = "java/util/concurrent/atomic/AtomicReference";
    let reference = built.class(class, 0, &[OBJECT]);
    let reference = built.instance(reference, &[to(map)]);
    assert_eq!(built.bound(reference), Bound::Snapshot);
}

#[test]
fn small_piles_are_known_by_their_form() {
    // A chain and callbacks, with a twentieth of the heap each, and a full array.
    for name in ["Link", "CloseListener", "Other"] {
        let mut built = Built::new();
        let items = built.items(ITEMS);
        let array = built.array(&items);
        let fields = [OBJECT, ("next", BasicType::Object)];
        let class = built.class(name, 0, &fields);
        let mut all = Vec::new();
        let mut next = 0;
        for _ in 0..150 {
            let data = built.bytes(60);
            let before = if name == "Link" { next } else { 0 };
            next = built.instance(class, &[to(data), to(before)]);
            all.push(next);
        }
        let pile = match name {
            "Link" => next,
            _ => built.map(&all),
        };
        let pair = built.class("Pair", 0, &fields);
        let pair = built.instance(pair, &[to(array), to(pile)]);
        let leaks = built.leaks(pair);
        let patterns = leaks.suspects.iter().map(|found| found.pattern.clone());
        let patterns: Vec<Option<Pattern>> = patterns.collect();
        let (class, objects) = (name.into(), 150);
        let expected = match name {
            "Link" => vec![Some(Pattern::Chain { class, objects })],
            "CloseListener" => vec![Some(Pattern::Callbacks { class, objects })],
            _ => Vec::new(),
        };
        assert_eq!(patterns, expected, "{leaks:?}");
        assert_eq!(leaks.bounded.len(), 1, "{leaks:?}");
    }
}
