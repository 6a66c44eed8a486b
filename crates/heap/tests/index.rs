//! Compares the answers from an index with those from the dump itself, and damages indexes.

#[path = "../examples/generate_dump.rs"]
#[allow(dead_code, reason = "the example has a `main`")]
mod generate_dump;
#[allow(dead_code, reason = "other tests use the rest")]
mod model;

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::num::NonZero;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use hprof_format::ObjectId;
use hprof_heap::{
    Area, By, Dump, Excluded, Heap, Memory, Options, Saved, Silent, Target, histogram,
    histogram_of, remove_index, seal_index,
};
use model::{CLASSES, Model, model};
use proptest::prelude::*;
use tempfile::TempDir;

const ALL_BY: [By; 4] = [By::Class, By::Loader, By::Package, By::Site];

fn options(excluded: Excluded) -> Options {
    Options {
        layout: Some("12,4,8".parse().expect("a layout")),
        excluded,
        memory: Memory::unlimited(),
    }
}

/// Returns the answers to all questions, as text.
fn answers(heap: &Heap<'_>) -> String {
    let groups = ALL_BY.map(|by| heap.groups(by, 3));
    let largest = heap.largest(None, 30);
    let ids = largest.as_ref().into_iter().flatten().map(|row| row.id);
    let shown: Vec<_> = ids.map(|id| heap.show(id, 0)).collect();
    // An index has the first ten.
    let paths = |class: &str, most| heap.paths(&Target::Class(class.to_owned()), most);
    let paths = CLASSES.map(|class| [1, 9, 30].map(|most| paths(class, most)));
    let who = CLASSES.map(|class| heap.who(class, 1));
    let members = CLASSES.map(|class| {
        let members = heap.members(class)?;
        let rows = |(first, most)| heap.member_rows(&members, first, most);
        Ok::<_, hprof_heap::Error>([(0, 5), (3, 97), (90, 200)].map(rows))
    });
    format!(
        "{:?}\n{groups:?}\n{largest:?}\n{shown:?}\n{paths:?}\n{who:?}\n{members:?}\n{:?}\n{:?}\n{:?}\n{:?}",
        heap.summary(),
        [0.05, 0.1].map(|threshold| heap.leaks(threshold, None)),
        heap.waste(5),
        [50, Area::USUAL].map(|most| heap.areas(None, most)),
        heap.threads(1000),
    )
}

fn open(file: &Path) -> Dump {
    let file = fs::File::open(file).expect("it is there");
    Dump::open(&file, None).expect("a dump")
}

/// A dump in a folder of its own, with its index.
struct Indexed {
    folder: TempDir,
    file: PathBuf,
    index: PathBuf,
}

impl Indexed {
    fn new(bytes: &[u8], excluded: Excluded) -> Indexed {
        let folder = TempDir::new().expect("a folder");
        let (file, index) = (folder.path().join("x"), folder.path().join("x.index"));
        fs::write(&file, bytes).expect("room for it");
        let dump = open(&file);
        let heap = Heap::of(&dump, &options(excluded), &Silent).expect("a sound dump");
        let length = heap.save_index(&index, &Silent).expect("room for it");
        let found = fs::metadata(&index).expect("it was published");
        assert_eq!(found.len(), length);
        assert_eq!(found.permissions().mode() & 0o777, 0o600);
        Indexed {
            folder,
            file,
            index,
        }
    }
}

fn assert_same(bytes: &[u8]) {
    for excluded in [Excluded::NONE, Excluded::default()] {
        let indexed = Indexed::new(bytes, excluded);
        let dump = open(&indexed.file);
        let wanted = options(excluded);
        let heap = Heap::of(&dump, &wanted, &Silent).expect("a sound dump");
        let saved = Saved::open(&dump, &indexed.index).expect("an index of the dump");
        let from_index = saved.heap(&wanted).expect("an index that fits");
        let again = indexed.folder.path().join("again");
        from_index.save_index(&again, &Silent).expect("room for it");
        assert!(fs::read(&again).ok() == fs::read(&indexed.index).ok());
        assert_eq!(answers(&from_index), answers(&heap));
        for by in ALL_BY {
            let counted = histogram(&dump, by, wanted.layout, &Silent);
            let known = histogram_of(&saved, by, wanted.layout).expect("the same layout");
            let rows = |found: Result<hprof_heap::Histogram, _>| found.expect("readable").rows;
            assert_eq!(format!("{:?}", rows(known)), format!("{:?}", rows(counted)));
        }
        // The dump, two indexes, and nothing else.
        let files = fs::read_dir(&indexed.folder).expect("a folder");
        assert_eq!(files.count(), 3);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn answers_from_an_index_are_those_from_the_dump(model in model()) {
        assert_same(&model.write());
    }
}

#[test]
fn answers_about_a_generated_dump_are_the_same() {
    assert_same(&generated(4_000));
}

/// Searches in an index look at no more than they must, which takes more objects than other dumps of these tests have.
#[test]
fn objects_of_a_larger_dump_are_shown_the_same() {
    const OBJECTS: u64 = 300_000;
    let sound = generated(OBJECTS);
    let length = assert_shown_the_same(&sound);
    let other = assert_shown_the_same(&backwards(&sound));
    // The strides of the records take little, because neighbours are mostly in the same one.
    assert!(other < length + OBJECTS, "{other} and {length} bytes");
}

/// Asserts that objects of many classes are shown the same from an index; returns its length.
fn assert_shown_the_same(bytes: &[u8]) -> u64 {
    let indexed = Indexed::new(bytes, Excluded::NONE);
    let dump = open(&indexed.file);
    let wanted = options(Excluded::NONE);
    let heap = Heap::of(&dump, &wanted, &Silent).expect("a sound dump");
    let saved = Saved::open(&dump, &indexed.index).expect("an index of the dump");
    let from_index = saved.heap(&wanted).expect("an index that fits");
    let largest = heap.largest(None, 100_000).expect("readable records");
    let mut classes = HashSet::new();
    for id in largest.iter().step_by(997).map(|row| row.id) {
        let shown = heap.show(id, 0).expect("it is in the dump");
        assert!(shown.retained.is_some() && !shown.referrers.is_empty());
        let known = from_index.show(id, 0).expect("it is in the dump");
        assert_eq!(format!("{known:?}"), format!("{shown:?}"));
        classes.insert(shown.class);
    }
    assert!(classes.len() > 5, "{classes:?}");
    fs::metadata(&indexed.index).expect("an index").len()
}

fn generated(objects: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    generate_dump::write(objects, &mut bytes).expect("a vector has room");
    bytes
}

/// Returns a dump with its segments in the opposite order, so that its objects are not in the order of their ids.
fn backwards(bytes: &[u8]) -> Vec<u8> {
    const SEGMENT: u8 = 0x1c;
    // The head of the file, and then records with the kind, a time, and the length of what follows.
    let first = bytes.iter().position(|&byte| byte == 0).expect("a head") + 13;
    let mut records: Vec<&[u8]> = Vec::new();
    let mut rest = &bytes[first..];
    while let Some(&length) = rest.get(5..).and_then(|rest| rest.first_chunk()) {
        let (record, after) = rest.split_at(9 + u32::from_be_bytes(length) as usize);
        records.push(record);
        rest = after;
    }
    let segments = records.iter().filter(|record| record[0] == SEGMENT);
    let mut segments: Vec<&[u8]> = segments.copied().collect();
    assert!(segments.len() > 1);
    for record in &mut records {
        if record[0] == SEGMENT {
            *record = segments.pop().unwrap_or_default();
        }
    }
    [&bytes[..first], &records.concat()].concat()
}

#[test]
fn an_index_is_the_same_whatever_the_number_of_threads() {
    let sound = generated(60_000);
    for bytes in [&backwards(&sound), &sound] {
        let indexed = Indexed::new(bytes, Excluded::default());
        let expected = fs::read(&indexed.index).ok();
        for threads in [1, 2, 3, 8] {
            let mut dump = open(&indexed.file);
            dump.use_threads(NonZero::new(threads).expect("not 0"));
            let heap = Heap::of(&dump, &options(Excluded::default()), &Silent).expect("a dump");
            heap.save_index(&indexed.index, &Silent)
                .expect("room for it");
            let found = fs::read(&indexed.index).ok();
            assert!(found == expected, "{threads} threads");
        }
    }
}

#[test]
fn a_damaged_index_counts_as_none() {
    let indexed = Indexed::new(&generated(2_000), Excluded::NONE);
    let index = &indexed.index;
    let dump = open(&indexed.file);
    let is_used = || Saved::open(&dump, index).is_some();
    let sound = fs::read(index).expect("it is there");
    for place in (0..sound.len()).step_by(97).chain(0..160) {
        let mut damaged = sound.clone();
        damaged[place] ^= 1 << (place % 8);
        fs::write(index, &damaged).expect("room for it");
        // These tell how the dump's file was found last time; if they are wrong, all of it is compared.
        let is_needed = !(112..144).contains(&place);
        assert_eq!(is_used(), !is_needed, "byte {place}");
    }
    for length in (0..sound.len()).step_by(997).chain(0..160) {
        fs::write(index, &sound[..length]).expect("room for it");
        assert!(!is_used(), "{length} bytes");
    }
    fs::write(index, [&sound[..], &[0; 8]].concat()).expect("room for it");
    assert!(!is_used());
    fs::write(index, &sound).expect("room for it");
    assert!(is_used());
    // Others can write to it.
    fs::set_permissions(index, fs::Permissions::from_mode(0o622)).expect("it is ours");
    assert!(!is_used());
}

#[test]
fn a_file_that_is_no_index_is_left_alone() {
    let indexed = Indexed::new(&generated(500), Excluded::NONE);
    let index = &indexed.index;
    let dump = open(&indexed.file);
    let heap = Heap::of(&dump, &options(Excluded::NONE), &Silent).expect("a sound dump");
    heap.save_index(index, &Silent)
        .expect("one index replaces another");
    remove_index(index).expect("it is an index");
    assert!(!index.exists());
    fs::write(index, "mine").expect("room for it");
    let saved = heap.save_index(index, &Silent).map(drop);
    for refused in [
        saved.map_err(|error| error.to_string()),
        remove_index(index).map_err(|error| error.to_string()),
    ] {
        let message = refused.expect_err("it is no index");
        assert!(message.contains("left alone"), "{message}");
    }
    assert_eq!(fs::read(index).ok().as_deref(), Some(&b"mine"[..]));
}

#[test]
fn a_pipe_in_the_place_of_an_index_holds_nobody_up() {
    let indexed = Indexed::new(&generated(500), Excluded::NONE);
    let dump = open(&indexed.file);
    let pipe = indexed.folder.path().join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status();
    assert!(made.is_ok_and(|status| status.success()));
    assert!(Saved::open(&dump, &pipe).is_none());
    let heap = Heap::of(&dump, &options(Excluded::NONE), &Silent).expect("a sound dump");
    heap.save_index(&pipe, &Silent).expect_err("it is no index");
    remove_index(&pipe).expect_err("it is no index");
}

#[test]
fn an_index_is_of_one_dump_and_of_one_way_to_read_it() {
    let indexed = Indexed::new(&generated(2_000), Excluded::NONE);
    let dump = open(&indexed.file);
    let saved = Saved::open(&dump, &indexed.index).expect("an index of the dump");
    assert!(saved.heap(&options(Excluded::NONE)).is_some());
    assert!(saved.heap(&options(Excluded::default())).is_none());
    let found = Options {
        layout: None,
        ..options(Excluded::NONE)
    };
    assert!(saved.heap(&found).is_none());
    assert!(histogram_of(&saved, By::Class, None).is_none());
}

#[test]
fn the_first_page_of_a_class_takes_no_look_at_all_objects() {
    let indexed = Indexed::new(&generated(4_000), Excluded::NONE);
    let dump = open(&indexed.file);
    let saved = Saved::open(&dump, &indexed.index).expect("an index of the dump");
    let heap = saved
        .heap(&options(Excluded::NONE))
        .expect("an index that fits");
    let groups = heap.groups(By::Class, 0).expect("groups");
    let largest = groups.iter().max_by_key(|group| group.objects);
    let largest = largest.expect("there are objects");
    assert!(largest.objects > 200);
    let members = heap.members(&largest.name).expect("it is there");
    let first = heap.member_rows(&members, 0, 100).expect("rows");
    assert_eq!((first.len(), members.kept_bytes()), (100, 0));
    let next = heap.member_rows(&members, 100, 100).expect("rows");
    // Less than the numbers of all of them would take.
    assert!((1..4 * largest.objects).contains(&(members.kept_bytes() as u64)));
    let all = heap.member_rows(&members, 0, 200).expect("rows");
    let ids =
        |rows: &[hprof_heap::ObjectRow]| rows.iter().map(|row| row.id).collect::<Vec<ObjectId>>();
    assert_eq!(ids(&all), [ids(&first), ids(&next)].concat());
    let places: Vec<_> = all
        .iter()
        .map(|row| (Reverse(row.retained), row.id))
        .collect();
    assert!(
        places.is_sorted(),
        "those that retain as much are in the order of their ids"
    );
    let retained = places.iter().map(|&(retained, _)| retained);
    let different: BTreeSet<_> = retained.collect();
    assert!(different.len() < places.len(), "some retain as much");
}

#[test]
fn only_live_objects_are_among_those_that_retain_most() {
    let indexed = Indexed::new(&generated(30_000), Excluded::NONE);
    let dump = open(&indexed.file);
    let read = Heap::of(&dump, &options(Excluded::NONE), &Silent).expect("a heap");
    let saved = Saved::open(&dump, &indexed.index).expect("an index of the dump");
    let saved = saved.heap(&options(Excluded::NONE));
    for heap in [read, saved.expect("an index that fits")] {
        let summary = heap.summary().expect("a summary");
        assert!(summary.unreachable_objects > 0);
        let live = heap.largest(None, usize::MAX).expect("rows");
        let ids: HashSet<ObjectId> = live.iter().map(|row| row.id).collect();
        assert_eq!([live.len() as u64, ids.len() as u64], [summary.objects; 2]);
    }
}

#[test]
fn an_index_belongs_to_the_content_of_a_file() {
    let indexed = Indexed::new(&generated(60_000), Excluded::NONE);
    let is_used = |file: &Path| Saved::open(&open(file), &indexed.index).is_some();
    let time = fs::metadata(&indexed.file).and_then(|found| found.modified());
    let time = time.expect("it is there");
    // The same bytes at another time, at another place.
    let set = |file: &Path, time| {
        let file = fs::File::options().append(true).open(file);
        file.and_then(|file| file.set_modified(time))
            .expect("it is ours");
    };
    set(&indexed.file, std::time::UNIX_EPOCH);
    assert!(is_used(&indexed.file));
    let copy = indexed.folder.path().join("copy");
    fs::copy(&indexed.file, &copy).expect("room for it");
    assert!(is_used(&copy));
    assert!(is_used(&indexed.file));
    // Every byte counts, whatever the time is, also those between the samples that are compared first.
    let sound = fs::read(&indexed.file).expect("it is there");
    for place in (0..sound.len()).step_by(sound.len() / 200) {
        let mut changed = sound.clone();
        // The content of the last bytes of a value, mostly: it need not be a dump.
        changed[place] ^= 1;
        let file = fs::File::options().write(true).open(&indexed.file);
        let file = file.expect("it is ours");
        file.write_all_at(&changed, 0).expect("room for it");
        set(&indexed.file, time);
        let file = fs::File::open(&indexed.file).expect("it is there");
        if let Ok(dump) = Dump::open(&file, None) {
            assert!(Saved::open(&dump, &indexed.index).is_none(), "byte {place}");
        }
    }
    fs::write(&indexed.file, &sound).expect("room for it");
    assert!(is_used(&indexed.file));
}

#[test]
fn several_may_write_the_index_at_once() {
    let indexed = Indexed::new(&generated(500), Excluded::NONE);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let dump = open(&indexed.file);
                let heap = Heap::of(&dump, &options(Excluded::NONE), &Silent).expect("a dump");
                for _ in 0..20 {
                    heap.save_index(&indexed.index, &Silent)
                        .expect("room for it");
                }
            });
        }
    });
    let dump = open(&indexed.file);
    assert!(Saved::open(&dump, &indexed.index).is_some());
}

#[test]
fn a_dump_that_has_been_changed_meanwhile_gets_no_index() {
    let indexed = Indexed::new(&generated(2_000), Excluded::NONE);
    let dump = open(&indexed.file);
    let heap = Heap::of(&dump, &options(Excluded::NONE), &Silent).expect("a sound dump");
    // Somebody writes to it, but not to its beginning.
    let file = fs::File::options().append(true).open(&indexed.file);
    let written = file.and_then(|file| file.set_modified(std::time::UNIX_EPOCH));
    written.expect("it is ours");
    let again = indexed.folder.path().join("again");
    heap.save_index(&again, &Silent)
        .expect_err("nobody knows what was read");
    assert!(!again.exists());
}

/// Changes of numbers of 1, 2, 4 or 8 bytes at places of an index, each to a value or by a difference.
type Damage = Vec<(prop::sample::Index, u8, u64, bool)>;

fn damage() -> impl Strategy<Value = Damage> {
    let value = prop_oneof![0..40_u64, Just(u64::MAX), Just(1 << 31), any::<u64>()];
    let change = (any::<prop::sample::Index>(), 0..4_u8, value, any::<bool>());
    proptest::collection::vec(change, 1..5)
}

fn assert_harmless(model: &Model, damage: Damage) {
    let indexed = Indexed::new(&model.write(), Excluded::NONE);
    let dump = open(&indexed.file);
    let mut bytes = fs::read(&indexed.index).expect("it is there");
    for (place, width, value, is_difference) in damage {
        let width = 1 << width;
        let place = place.index(bytes.len()) / width * width;
        let Some(number) = bytes.get_mut(place..place + width) else {
            continue;
        };
        let mut wide = [0; 8];
        wide[..width].copy_from_slice(number);
        let before = u64::from_ne_bytes(wide);
        let after = if is_difference {
            before.wrapping_add(value)
        } else {
            value
        };
        number.copy_from_slice(&after.to_ne_bytes()[..width]);
    }
    seal_index(&mut bytes);
    fs::write(&indexed.index, &bytes).expect("room for it");
    let Some(saved) = Saved::open(&dump, &indexed.index) else {
        return;
    };
    for by in ALL_BY {
        let _ = histogram_of(&saved, by, options(Excluded::NONE).layout);
    }
    if let Some(heap) = saved.heap(&options(Excluded::NONE)) {
        let _ = answers(&heap);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn a_hostile_index_does_no_harm(model in model(), damage in damage()) {
        assert_harmless(&model, damage);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000_000))]

    /// `cargo test --release -p hprof-heap --test index a_million -- --ignored`
    #[test]
    #[ignore = "takes minutes"]
    fn a_million_hostile_indexes_do_no_harm(model in model(), damage in damage()) {
        assert_harmless(&model, damage);
    }
}
