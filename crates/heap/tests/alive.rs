//! What is alive for an unusual reason: objects that wait for their finalizer, class loaders that pile up, and memory outside
//! of the heap.

#[allow(dead_code, reason = "other tests use the rest")]
mod model;
#[allow(dead_code, reason = "other tests use the rest")]
mod records;

use hprof_format::{BasicType, HeapRecord, ObjectId, Root, ThreadSerial, TraceSerial, Value};
use hprof_heap::{By, Dump, Excluded, Heap, Memory, Options, Saved, Silent, Target};
use records::{Class, Writer, to};

/// The ids of a finalizer of an object that only it keeps, of one whose object a static field holds, and of these objects.
const ALONE: u64 = 0x10_000;
const HELD: u64 = 0x10_100;
const WAITING: u64 = 0x20_000;
const KEPT: u64 = 0x20_100;
const BUFFER: u64 = 0x30_000;
const OTHER_BUFFER: u64 = 0x40_000;

/// Two connections with a buffer of 1,000 bytes each.
fn finalizers() -> Vec<u8> {
    let object = [("referent", BasicType::Object), ("next", BasicType::Object)];
    let mut dump = Writer::default();
    let fields = |fields| Class {
        fields,
        ..Class::default()
    };
    let reference = dump.class("java/lang/ref/Reference", 0, fields(&object));
    let last = dump.class("java/lang/ref/FinalReference", reference, Class::default());
    let unfinalized = Class {
        statics: &[("next", ALONE)],
        fields: &[("next", BasicType::Object)],
        ..Class::default()
    };
    let finalizer = dump.class("java/lang/ref/Finalizer", last, unfinalized);
    let connection = [("value", BasicType::Object)];
    let connection = dump.class("Connection", 0, fields(&connection));
    let holder = Class {
        statics: &[("kept", KEPT)],
        ..Class::default()
    };
    let holder = dump.class("Holder", 0, holder);
    dump.instance(ALONE, finalizer, &[to(HELD), to(WAITING), to(0)]);
    dump.instance(HELD, finalizer, &[to(0), to(KEPT), to(0)]);
    dump.instance(WAITING, connection, &[to(BUFFER)]);
    dump.instance(KEPT, connection, &[to(OTHER_BUFFER)]);
    dump.bytes(BUFFER, 1_000);
    dump.bytes(OTHER_BUFFER, 1_000);
    dump.root(finalizer);
    dump.root(holder);
    dump.file()
}

/// The size of a connection with its buffer.
const CONNECTION: u64 = 16 + 1_016;

#[test]
fn what_only_a_finalizer_keeps_is_alive_and_waits() {
    let bytes = finalizers();
    model::with_heap(&bytes, Excluded::default(), Memory::unlimited(), |heap| {
        let waiting = heap.waiting_for_finalizer().expect("it is sound");
        let waiting = waiting.expect("one waits");
        assert_eq!((waiting.objects, waiting.bytes), (1, CONNECTION));
        assert_eq!(&*waiting.classes[0].class, "Connection");
        assert_eq!(heap.unreached().objects, 0);
        // That it has a finalizer, too, does not change who keeps it.
        let kept = heap.show(ObjectId(KEPT), 0).expect("it is there").retained;
        assert_eq!(kept, Some(CONNECTION));
        let path = heap.paths(&Target::Object(ObjectId(WAITING)), 1);
        let path = path.expect("it is sound").remove(0);
        let reference = path.steps.last().and_then(|step| step.reference.clone());
        assert_eq!(
            reference.map(|by| by.to_string()).as_deref(),
            Some(".referent")
        );
    });
}

#[test]
fn what_is_excluded_is_named() {
    let excluded = Excluded {
        finalizer: true,
        ..Excluded::default()
    };
    model::with_heap(&finalizers(), excluded, Memory::unlimited(), |heap| {
        assert!(heap.waiting_for_finalizer().expect("it is sound").is_none());
        let unreached = heap.unreached();
        assert_eq!((unreached.objects, unreached.bytes), (2, CONNECTION));
        let [excluding] = &unreached.excluded[..] else {
            panic!("{unreached:?}");
        };
        assert_eq!((excluding.kind, excluding.bytes), ("finalizer", CONNECTION));
    });
}

#[test]
fn an_index_knows_what_waits() {
    let file = model::file(&finalizers());
    let folder = tempfile::tempdir().expect("a folder");
    let index = folder.path().join("index");
    let dump = Dump::open(&file, None).expect("a dump");
    let options = Options {
        layout: None,
        excluded: Excluded::default(),
        memory: Memory::unlimited(),
    };
    let heap = Heap::of(&dump, &options, &Silent).expect("it is sound");
    heap.save_index(&index, &Silent).expect("there is room");
    let saved = Saved::open(&dump, &index).expect("its index");
    let again = saved.heap(&options).expect("for these options");
    let summary = |heap: &Heap<'_>| format!("{:?}", heap.summary().expect("it is sound"));
    assert_eq!(summary(&again), summary(&heap));
    assert!(summary(&again).contains("waiting: Some"));
    let kept = again.show(ObjectId(WAITING), 0).expect("it is there");
    assert_eq!(kept.retained, Some(CONNECTION));
}

#[test]
fn memory_outside_of_the_heap_counts_once() {
    let mut dump = Writer::default();
    let fields = [
        ("address", BasicType::Long),
        ("capacity", BasicType::Int),
        ("att", BasicType::Object),
        ("fd", BasicType::Object),
    ];
    let buffer = Class {
        fields: &fields,
        ..Class::default()
    };
    let buffer = dump.class("java/nio/DirectByteBuffer", 0, buffer);
    let next = [("value", BasicType::Object), ("next", BasicType::Object)];
    let node = Class {
        fields: &next,
        ..Class::default()
    };
    let node = dump.class("Node", 0, node);
    let holder = Class {
        statics: &[("kept", 0x10_000)],
        ..Class::default()
    };
    let holder = dump.class("Holder", 0, holder);
    let [first, view, mapped, garbage] = [0x20_000, 0x20_100, 0x20_200, 0x20_300];
    dump.instance(0x10_000, node, &[to(first), to(0x10_100)]);
    dump.instance(0x10_100, node, &[to(view), to(0x10_200)]);
    dump.instance(0x10_200, node, &[to(mapped), to(0)]);
    let long = Value::Long;
    let capacity = Value::Int(1_000_000);
    dump.instance(first, buffer, &[long(0x7000_0000), capacity, to(0), to(0)]);
    dump.instance(
        view,
        buffer,
        &[long(0x7000_0000), capacity, to(first), to(0)],
    );
    dump.instance(
        mapped,
        buffer,
        &[long(0x7900_0000), capacity, to(0), to(node)],
    );
    dump.instance(
        garbage,
        buffer,
        &[long(0x7800_0000), capacity, to(0), to(0)],
    );
    dump.root(holder);
    model::with_heap(
        &dump.file(),
        Excluded::default(),
        Memory::unlimited(),
        |heap| {
            let outside = heap.outside_heap().expect("it is sound");
            let kinds = outside
                .kinds
                .iter()
                .map(|kind| (kind.kind, kind.objects, kind.bytes));
            let kinds: Vec<_> = kinds.collect();
            assert_eq!(
                kinds,
                [
                    ("direct buffers", 1, 1_000_000),
                    ("mapped files", 1, 1_000_000)
                ]
            );
            assert_eq!(outside.bytes, 2_000_000);
            let [held] = &outside.holders[..] else {
                panic!("{outside:?}");
            };
            assert_eq!(held.holder, "static field Holder.kept");
            assert_eq!((held.objects, held.bytes), (2, 2_000_000));
        },
    );
}

/// The JDK maps its file of classes by native code: the buffer refers to no file.
#[test]
fn the_file_of_the_jdk_s_classes_is_a_mapped_file() {
    let mut dump = Writer::default();
    let fields = [
        ("address", BasicType::Long),
        ("capacity", BasicType::Int),
        ("att", BasicType::Object),
        ("fd", BasicType::Object),
    ];
    let buffer = Class {
        fields: &fields,
        ..Class::default()
    };
    let buffer = dump.class("java/nio/DirectByteBuffer", 0, buffer);
    let reader = Class {
        fields: &[("memoryMap", BasicType::Object)],
        ..Class::default()
    };
    let reader = dump.class("jdk/internal/jimage/BasicImageReader", 0, reader);
    let shared = dump.class(
        "jdk/internal/jimage/ImageReader$SharedImageReader",
        reader,
        Class::default(),
    );
    let holder = Class {
        statics: &[("reader", 0x10_000), ("other", 0x20_300)],
        ..Class::default()
    };
    let holder = dump.class("Holder", 0, holder);
    let [view, image, other] = [0x20_100, 0x20_200, 0x20_300];
    dump.instance(0x10_000, shared, &[to(view)]);
    let long = Value::Long;
    for (id, address, megabytes, of) in [
        (view, 0x7000_0000, 140, image),
        (image, 0x7000_0000, 140, 0),
        (other, 0x7f00_0000, 1, 0),
    ] {
        let capacity = Value::Int(megabytes * 1_000_000);
        dump.instance(id, buffer, &[long(address), capacity, to(of), to(0)]);
    }
    dump.root(holder);
    model::with_heap(
        &dump.file(),
        Excluded::default(),
        Memory::unlimited(),
        |heap| {
            let outside = heap.outside_heap().expect("it is sound");
            let kinds = outside.kinds.iter();
            let kinds: Vec<_> = kinds
                .map(|kind| (kind.kind, kind.objects, kind.bytes))
                .collect();
            let expected = [
                ("mapped files", 1, 140_000_000),
                ("direct buffers", 1, 1_000_000),
            ];
            assert_eq!(kinds, expected);
        },
    );
}

#[test]
fn loaders_that_load_the_same_class_again_pile_up() {
    let mut dump = Writer::default();
    let loader_class = dump.class("AppLoader", 0, Class::default());
    let next = [("value", BasicType::Object), ("next", BasicType::Object)];
    let node = Class {
        fields: &next,
        ..Class::default()
    };
    let node = dump.class("Node", 0, node);
    let holder = Class {
        statics: &[("kept", 0x10_000)],
        ..Class::default()
    };
    let holder = dump.class("Holder", 0, holder);
    for at in 0..5 {
        let loader = 0x20_000 + 0x100 * at;
        let next = if at < 4 {
            0x10_000 + 0x100 * (at + 1)
        } else {
            0
        };
        dump.instance(0x10_000 + 0x100 * at, node, &[to(loader), to(next)]);
        dump.instance(loader, loader_class, &[]);
        let of_loader = Class {
            loader,
            ..Class::default()
        };
        let class = dump.class("job/Job", 0, of_loader);
        dump.instance(0x30_000 + 0x100 * at, class, &[]);
        dump.root(0x30_000 + 0x100 * at);
    }
    dump.root(holder);
    model::with_heap(
        &dump.file(),
        Excluded::default(),
        Memory::unlimited(),
        |heap| {
            let piling = heap.piling_loaders().expect("it is sound");
            let [piling] = &piling[..] else {
                panic!("{piling:?}");
            };
            assert_eq!((&*piling.class, piling.loaders), ("AppLoader", 5));
            assert_eq!(&*piling.loaded, "job.Job");
            let loaders = heap.loaders().expect("it is sound");
            assert_eq!(loaders.len(), 6);
            let own = loaders.iter().filter(|loader| loader.id != ObjectId(0));
            for loader in own {
                assert_eq!(
                    (loader.classes, loader.duplicates, loader.instances),
                    (1, 1, 1)
                );
            }
            // An id distinguishes loaders that have no names, and no other.
            let groups = heap.groups(By::Loader, 0).expect("it is sound");
            let mut names: Vec<&str> = groups.iter().map(|group| &*group.name).collect();
            names.sort_unstable();
            let expected = [
                "<boot loader>",
                "AppLoader @ 0x20000",
                "AppLoader @ 0x20100",
                "AppLoader @ 0x20200",
                "AppLoader @ 0x20300",
                "AppLoader @ 0x20400",
            ];
            assert_eq!(names, expected);
            // Paths through classes of one name are alike.
            let target = Target::Class("AppLoader".to_owned());
            let (paths, all) = heap.paths_of_all(&target, 10).expect("it is sound");
            assert_eq!((paths.len(), all), (1, 1));
            assert_eq!(paths[0].alike, 4);
        },
    );
}

#[test]
fn two_holders_are_both_named() {
    let mut dump = Writer::default();
    let next = [("value", BasicType::Object)];
    let fields = &next;
    let statics = &[("kept", 0x10_000)];
    let node = Class {
        fields,
        ..Class::default()
    };
    let node = dump.class("Node", 0, node);
    let holder = Class {
        statics,
        ..Class::default()
    };
    for name in ["ByName", "ByTime"] {
        let holder = dump.class(name, 0, holder);
        dump.root(holder);
    }
    dump.instance(0x10_000, node, &[to(0x20_000)]);
    dump.bytes(0x20_000, 100_000);
    model::with_heap(
        &dump.file(),
        Excluded::default(),
        Memory::unlimited(),
        |heap| {
            let leaks = heap.leaks(0.1, None).expect("it is sound");
            // A buffer is bounded, and has its holders all the same.
            let [suspect] = &leaks.bounded[..] else {
                panic!("{leaks:?}");
            };
            let also = suspect.also_held_by.iter().map(ToString::to_string);
            let mut holders: Vec<String> = also.collect();
            holders.extend(suspect.holder.as_ref().map(ToString::to_string));
            holders.sort();
            assert_eq!(
                holders,
                ["static field ByName.kept", "static field ByTime.kept"]
            );
            assert!(suspect.holders_are_fewest);
        },
    );
}

/// The objects of random graphs: a target, and those that hold it.
const TARGET: u64 = 0x90_000;
const OTHERS: [u64; 5] = [0x50_000, 0x50_100, 0x50_200, 0x50_300, 0x50_400];

/// Returns the least number of static fields of classes without which no root reaches the target; `None` if none suffices. `edges`
/// are the references, and those from the first `classes` objects are static fields.
fn fewest(edges: &[(u64, u64)], classes: &[u64]) -> Option<u32> {
    let fields: Vec<usize> = (0..edges.len())
        .filter(|&edge| classes.contains(&edges[edge].0))
        .collect();
    let is_reached = |without: u32| {
        let mut reached = classes[..2].to_vec();
        let mut next = 0;
        while let Some(&from) = reached.get(next) {
            next += 1;
            for (edge, &(of, to)) in edges.iter().enumerate() {
                let field = fields.iter().position(|&field| field == edge);
                let is_gone = field.is_some_and(|field| without >> field & 1 == 1);
                if of == from && !is_gone && !reached.contains(&to) {
                    reached.push(to);
                }
            }
        }
        reached.contains(&TARGET)
    };
    let all = 0..1_u32 << fields.len();
    all.filter(|&without| !is_reached(without))
        .map(u32::count_ones)
        .min()
}

#[test]
fn no_fewer_holders_would_do() {
    let mut state = 1_u64;
    let mut random = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let (mut compared, mut several) = (0, 0);
    for _ in 0..300 {
        // Four classes of which two are roots, with a static field each; five objects with two fields each.
        let classes = [0x200, 0x300, 0x400, 0x500];
        let (mut statics, mut fields) = (Vec::new(), Vec::new());
        for class in classes {
            statics.push((class, OTHERS[random(OTHERS.len())]));
        }
        for (place, &object) in OTHERS.iter().enumerate() {
            for _ in 0..2 {
                let to = match random(3) {
                    0 => TARGET,
                    1 => classes[2 + random(2)],
                    _ => OTHERS[random(place + 1)],
                };
                fields.push((object, to));
            }
        }
        let edges: Vec<(u64, u64)> = statics.iter().chain(&fields).copied().collect();
        let mut dump = Writer::default();
        let object = [("value", BasicType::Object), ("next", BasicType::Object)];
        let node = Class {
            fields: &object,
            ..Class::default()
        };
        let node = dump.class("Node", 0, node);
        for (place, &(class, held)) in statics.iter().enumerate() {
            let of = Class {
                statics: &[("kept", held)],
                ..Class::default()
            };
            assert_eq!(dump.class(&format!("Holder{place}"), 0, of), class);
        }
        for (place, &object) in OTHERS.iter().enumerate() {
            let values = [to(fields[2 * place].1), to(fields[2 * place + 1].1)];
            dump.instance(object, node, &values);
        }
        dump.bytes(TARGET, 100_000);
        dump.root(classes[0]);
        dump.root(classes[1]);
        let (all, none) = (Excluded::default(), Memory::unlimited());
        model::with_heap(&dump.file(), all, none, |heap| {
            let leaks = heap.leaks(0.5, None).expect("it is sound");
            let found = leaks
                .suspects
                .iter()
                .find(|found| found.id == ObjectId(TARGET));
            let Some(found) = found.filter(|found| found.holders_are_fewest) else {
                return;
            };
            let holders = 1 + found.also_held_by.len() as u32;
            assert_eq!(Some(holders), fewest(&edges, &classes), "{edges:x?}");
            compared += 1;
            several += u32::from(holders > 1);
        });
    }
    assert!(compared > 50 && several > 10, "{compared} {several}");
}

#[test]
fn a_static_field_is_a_holder_rather_than_a_local_variable() {
    let mut dump = Writer::default();
    let next = [("value", BasicType::Object)];
    let node = Class {
        fields: &next,
        ..Class::default()
    };
    let node = dump.class("Node", 0, node);
    let thread_class = dump.class("java/lang/Thread", 0, Class::default());
    let holder = Class {
        statics: &[("kept", 0x10_000)],
        ..Class::default()
    };
    let holder = dump.class("Holder", 0, holder);
    dump.root(holder);
    dump.instance(0x10_000, node, &[to(0x10_100)]);
    dump.instance(0x10_100, node, &[to(0x20_000)]);
    dump.bytes(0x20_000, 100_000);
    dump.instance(0x30_000, thread_class, &[]);
    let (thread, trace) = (ThreadSerial(1), TraceSerial(0));
    for (object, root) in [
        (0x30_000, Root::Thread { thread, trace }),
        (0x20_000, Root::JavaFrame { thread, frame: 0 }),
    ] {
        let object = ObjectId(object);
        HeapRecord::Root { object, root }.write(&mut dump.content);
    }
    model::with_heap(
        &dump.file(),
        Excluded::default(),
        Memory::unlimited(),
        |heap| {
            let leaks = heap.leaks(0.1, None).expect("it is sound");
            let suspect = &leaks.suspects[0];
            assert_eq!(suspect.id, ObjectId(0x20_000));
            let holder = suspect.holder.as_ref().map(ToString::to_string);
            assert_eq!(holder.as_deref(), Some("static field Holder.kept"));
            // That the call holds it, too, is said.
            assert_eq!(suspect.also_held_by.len(), 1);
        },
    );
}
