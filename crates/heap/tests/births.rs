//! Answers that rest on the births file, on a dump whose births are known: 1,000 arrays of bytes from the first second of a
//! minute, an array of each second that holds one of bytes, and 100 of bytes from the last second, each kind in a list of its own
//! from the first second.

#[expect(dead_code, reason = "other tests use the rest")]
mod model;

use std::path::{Path, PathBuf};
use std::time::Duration;

use hprof_format::{
    AllocSite, AllocSitesRecord, BasicType, BinaryEncoder, BirthMoment, BirthsHead, BirthsWriter,
    ClassSerial, Encoder, Micros, Millis, ObjectBirth, ObjectId, Record, SITES_INCREMENTAL,
    TraceSerial, births_path,
};
use hprof_heap::{
    Births, By, Dump, Excluded, Heap, MadeWhen, Memory, Options, Silent, Suspect, SuspectKind,
    Turnover, ages,
};
use model::{Kind, Model, Object, Rooted};

/// The seconds of the profile, and of its moments.
const SECONDS: u32 = 60;
const CACHED: u32 = 1_000;
const RECENT: u32 = 100;
/// The traces of lists, cached, leaked and recent arrays, and of what the leaked ones hold.
const LISTS: u32 = 2;
const CACHE: u32 = 3;
const LEAK: u32 = 4;
const LATE: u32 = 5;
const HELD: u32 = 6;

/// The heap, and the second in which each object was made.
fn heap() -> (Model, Vec<u32>) {
    let kinds = [
        (CACHE, vec![0; CACHED as usize]),
        (LEAK, (0..SECONDS).collect()),
        (LATE, vec![SECONDS - 1; RECENT as usize]),
    ];
    let list = |references: Vec<usize>| Object {
        kind: Kind::Array,
        references,
        trace: LISTS,
    };
    let mut objects = vec![
        list(vec![1, 2, 3]),
        list(vec![]),
        list(vec![]),
        list(vec![]),
    ];
    let mut born = vec![0; 4];
    let bytes = |trace| Object {
        kind: Kind::Bytes(16),
        references: Vec::new(),
        trace,
    };
    for (place, (trace, seconds)) in kinds.into_iter().enumerate() {
        for second in seconds {
            let next = objects.len();
            objects[place + 1].references.push(next);
            objects.push(match trace {
                LEAK => Object {
                    trace,
                    ..list(vec![next + 1])
                },
                _ => bytes(trace),
            });
            born.push(second);
            if trace == LEAK {
                objects.push(bytes(HELD));
                born.push(second);
            }
        }
    }
    let model = Model {
        objects,
        statics: Vec::new(),
        loader: usize::MAX,
        roots: vec![(0, Rooted::Global)],
        sticky: false,
        step: 64,
        reversed: false,
    };
    (model, born)
}

/// Writes the births file of a dump in a second, with objects made before.
fn write_births(file: &Path, model: &Model, born: &[u32], second: u32) {
    let moments = (0..=second).map(|number| BirthMoment {
        number,
        millis: u64::from(number) * 1_000,
        collections: number,
        bytes: 0,
    });
    let head = BirthsHead {
        file: 0,
        dump: 1,
        run: 7,
        next: second,
        millis: u64::from(second) * 1_000,
        collections: second,
        moments: moments.collect(),
    };
    let mut writer = BirthsWriter::new(Vec::new(), &head).expect("a vector");
    for (object, &moment) in born.iter().enumerate() {
        if moment < second {
            let birth = ObjectBirth {
                object: ObjectId(model.object_id(object)),
                identity: object as u64,
                moment,
            };
            writer.add(birth).expect("a vector");
        }
    }
    let births = writer.finish().expect("a vector");
    std::fs::write(births_path(file, 1), births).expect("a file");
}

/// Asks about the heap, given the births of its dump and of one in the middle of the minute.
fn ask(then: impl FnOnce(&Heap<'_>, &Births, &Births)) {
    let (model, born) = heap();
    ask_about(&model, &born, then);
}

fn ask_about(model: &Model, born: &[u32], then: impl FnOnce(&Heap<'_>, &Births, &Births)) {
    ask_about_file(&model.write(), model, born, then);
}

fn ask_about_file(
    file: &[u8],
    model: &Model,
    born: &[u32],
    then: impl FnOnce(&Heap<'_>, &Births, &Births),
) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = model::file(file);
    let dump = Dump::open(&file, None).expect("a dump");
    let births = |name: &str, second| {
        let path: PathBuf = folder.path().join(name);
        write_births(&path, model, born, second);
        Births::next_to(&path, &dump).expect("its births")
    };
    let (old, new) = (births("old", SECONDS / 2), births("new", SECONDS));
    let options = Options {
        layout: Some("12,4,8".parse().expect("a layout")),
        excluded: Excluded::default(),
        memory: Memory::unlimited(),
    };
    let heap = Heap::of(&dump, &options, &Silent).expect("a sound dump");
    then(&heap, &old, &new);
}

#[test]
fn what_piles_up_is_the_first_suspect_with_its_births() {
    ask(|heap, _, births| {
        let leaks = heap.leaks_and_ages(0.5, None, Some(births)).expect("leaks");
        assert_eq!(leaks.piling_else, 0);
        let ([leak], [cache]) = (&leaks.suspects[..], &leaks.not_growing[..]) else {
            panic!("{leaks:?}");
        };
        assert_eq!((leak.kind, leak.objects), (SuspectKind::Piling, 60));
        // Each has 24 bytes and holds 32, which pile up, too, and are no suspect of their own.
        assert_eq!(leak.retained, 60 * (24 + 32));
        let piling = leak.piling.as_ref().expect("the evidence");
        assert_eq!((&*piling.class, piling.objects), ("java.lang.Object[]", 60));
        assert!((piling.objects_per_minute - 60.0).abs() < 1.0, "{piling:?}");
        assert!(piling.straightness > 0.99, "{piling:?}");
        let made = MadeWhen {
            objects: 120,
            second_half: 60,
            youngest_millis: 0,
            oldest_millis: 60_000,
            bytes: 60 * (24 + 32),
            first_quarter_bytes: 15 * (24 + 32),
        };
        assert_eq!(leak.made, Some(made));

        assert_eq!(cache.kind, SuspectKind::Object);
        assert!(cache.piling.is_none());
        let made = MadeWhen {
            objects: 1_001,
            second_half: 0,
            youngest_millis: 59_000,
            oldest_millis: 60_000,
            bytes: 16 + 1_000 * 36,
            first_quarter_bytes: 16 + 1_000 * 36,
        };
        assert_eq!(cache.made, Some(made));
    });
}

#[test]
fn a_suspect_that_keeps_what_piles_up_has_the_evidence_itself() {
    ask(|heap, _, births| {
        let leaks = heap.leaks_and_ages(0.04, None, Some(births));
        let leaks = leaks.expect("leaks");
        let found = |suspects: &[Suspect]| -> Vec<(u64, bool)> {
            let found = suspects.iter();
            found
                .map(|suspect| (suspect.retained, suspect.piling.is_some()))
                .collect()
        };
        // Lists have 16 bytes and 4 for each element.
        let list = |elements: u64, bytes: u64| 16 + (4 + bytes) * elements;
        let growing = [(list(60, 24 + 32), true), (list(100, 32), false)];
        assert_eq!(found(&leaks.suspects), growing);
        assert_eq!(found(&leaks.not_growing), [(list(1_000, 32), false)]);
    });
}

/// Asks about the heap, with allocation sites that were reported after the dump: the recent arrays are all that are alive of so
/// many.
fn ask_with_sites(made: u64, flags: u16, then: impl FnOnce(&Heap<'_>, &Births)) {
    let (model, born) = heap();
    let mut file = model.write();
    let byte_arrays = model::CLASSES.iter().position(|&name| name == "byte[]");
    let row = AllocSite {
        array_of: Some(BasicType::Byte),
        class: ClassSerial(1 + byte_arrays.expect("a class") as u32),
        trace: TraceSerial(LATE),
        live_bytes: u64::from(RECENT) * 32,
        live_instances: RECENT.into(),
        allocated_bytes: made * 32,
        allocated_instances: made,
    };
    let sites = Record::AllocSites(AllocSitesRecord {
        flags,
        cutoff: 0.0,
        live_bytes: row.live_bytes,
        live_instances: row.live_instances,
        allocated_bytes: row.allocated_bytes,
        allocated_instances: row.allocated_instances,
        sites: vec![row].into(),
    });
    let mut encoder = BinaryEncoder::new();
    encoder.start(Millis(0), &mut Vec::new());
    encoder.record(Micros(0), &sites, &mut file);
    ask_about_file(&file, &model, &born, |heap, _, births| then(heap, births));
}

#[test]
fn what_is_young_is_no_suspect_if_most_of_its_site_is_gone() {
    let recent = 16 + (4 + 32) * u64::from(RECENT);
    let turnover = |made| Some(Turnover { made, alive: 100 });
    for (made, flags, expected) in [
        (1_000, 0, Some(turnover(1_000))),
        (200, 0, Some(turnover(200))),
        (199, 0, None),
        (1_000, SITES_INCREMENTAL, None),
    ] {
        ask_with_sites(made, flags, |heap, births| {
            let leaks = heap.leaks_and_ages(0.04, None, Some(births));
            let leaks = leaks.expect("leaks");
            let of_recent = |suspects: &[Suspect]| {
                let mut found = suspects.iter();
                found
                    .find(|suspect| suspect.retained == recent && suspect.piling.is_none())
                    .map(|suspect| suspect.turnover)
            };
            assert_eq!(of_recent(&leaks.not_growing), expected, "{made} {flags}");
            let suspected = expected.is_none().then_some(None);
            assert_eq!(of_recent(&leaks.suspects), suspected, "{made} {flags}");
            // What piles up and what was there from the start stay what they are.
            assert!(leaks.suspects[0].piling.is_some());
            assert_eq!(leaks.not_growing.len(), 1 + usize::from(expected.is_some()));
            // Without births, nothing is known of its age.
            let leaks = heap.leaks(0.04, None).expect("leaks");
            assert!(leaks.not_growing.is_empty());
            assert!(
                leaks
                    .suspects
                    .iter()
                    .all(|suspect| suspect.turnover.is_none())
            );
        });
    }
}

#[test]
fn without_births_nothing_piles_up() {
    ask(|heap, _, _| {
        let leaks = heap.leaks(0.5, None).expect("leaks");
        assert_eq!(leaks.suspects.len(), 1);
        assert!(leaks.suspects[0].made.is_none() && leaks.suspects[0].piling.is_none());
    });
}

#[test]
fn ages_are_counted_as_far_as_they_are_certain() {
    ask(|heap, _, births| {
        let who = |seconds| {
            let least = Duration::from_secs(seconds);
            let groups = heap.who_is_older(None, births, least).expect("groups");
            let mut objects: Vec<u64> = groups.iter().map(|group| group.objects).collect();
            objects.sort_unstable();
            objects
        };
        // Of the leak, those of the seconds 0 to 29; then the lists and the cache.
        assert_eq!(who(30), [4, 30, 30, 1_000]);
        assert_eq!(who(59), [1, 1, 4, 1_000]);
        assert_eq!(who(60), [0; 0]);
        let layout = Some("12,4,8".parse().expect("a layout"));
        let ages = ages(heap.dump(), births, layout, &Silent).expect("ages");
        let mut rows: Vec<(&str, u64)> = ages
            .rows
            .iter()
            .map(|row| (&*row.name, row.objects))
            .collect();
        rows.sort_unstable();
        // An age that ends at a limit may be on either side; the classes have no births.
        let expected = [
            ("<10s", 16),
            ("<10s..<1m", 2),
            ("<1m", 98),
            ("<1m..<10m", 1_006),
            ("<1s..<10s", 102),
            ("<not tracked>", 9),
        ];
        assert_eq!(rows, expected);
    });
}

#[test]
fn what_was_made_between_two_dumps_is_counted_by_what_holds_it() {
    ask(|heap, old, new| {
        let made = new.made_after(old).expect("the same profile");
        let groups = heap.groups_made_after(By::Site, made).expect("groups");
        let groups: Vec<(&str, u64, u64)> = groups
            .iter()
            .map(|group| (&*group.name, group.objects, group.retained))
            .collect();
        let expected = [
            ("byte[]", 100, 3_200),
            ("java.lang.Object[]", 30, 30 * 56),
            ("byte[]", 30, 960),
        ];
        assert_eq!(groups, expected);
        // The two lists are elements of one array.
        let (rows, all) = heap.appeared(made, 1).expect("holders");
        assert_eq!((rows.len(), all), (1, 1));
        let [row] = &rows[..] else {
            panic!("{rows:?}");
        };
        assert_eq!((&*row.what, row.older), ("java.lang.Object[]", 2));
        let sums = (row.objects, row.shallow, row.retained);
        assert_eq!(sums, (160, 3_200 + 30 * 56, 3_200 + 30 * 56));
        let holder = row.holder.as_ref().expect("a root").to_string();
        assert!(holder.ends_with("(jni global)"), "{holder}");
        assert!(old.made_after(new).is_none(), "it is the earlier one");
    });
}

#[test]
fn older_objects_that_are_held_alike_are_one_row() {
    let object = |kind, references| Object {
        kind,
        references,
        trace: LISTS,
    };
    let node = |value| object(Kind::Instance(0), vec![value]);
    let bytes = || object(Kind::Bytes(16), Vec::new());
    // Its fields refer to a table of nodes, the last of which has a next one, and to two lists of new arrays.
    let owner = object(Kind::Instance(1), vec![1, 2, 3]);
    let table = object(Kind::Array, vec![4, 5, 6, 7]);
    let lists = [vec![13, 14, 15], vec![16]].map(|elements| object(Kind::Array, elements));
    let nodes = [9, 10, 11, 8, 12].map(node);
    let old = [owner, table].into_iter().chain(lists).chain(nodes);
    let objects: Vec<Object> = old.chain((0..8).map(|_| bytes())).collect();
    let born: Vec<u32> = (0..17)
        .map(|object| if object < 9 { 0 } else { 45 })
        .collect();
    let model = Model {
        objects,
        ..heap().0
    };
    ask_about(&model, &born, |heap, old, new| {
        let made = new.made_after(old).expect("the same profile");
        let (rows, all) = heap.appeared(made, usize::MAX).expect("holders");
        let rows: Vec<(&str, u64, u64, u64)> = rows
            .iter()
            .map(|row| {
                let what = row.what.split(" @ ").next().unwrap_or_default();
                (what, row.older, row.objects, row.retained)
            })
            .collect();
        let expected = [
            ("app.Small", 4, 4, 4 * 32),
            ("java.lang.Object[]", 1, 3, 3 * 32),
            ("java.lang.Object[]", 1, 1, 32),
        ];
        assert_eq!((&rows[..], all), (&expected[..], 3));
    });
}
