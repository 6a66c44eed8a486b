//! Compares the answers about a compressed dump, from its index, with those about the dump itself, and damages such
//! indexes.

#[path = "../examples/generate_dump.rs"]
#[allow(dead_code, reason = "the example has a `main`")]
mod generate_dump;
#[allow(dead_code, reason = "other tests use the rest")]
mod model;

use std::fs::{self, File};
use std::io::{Cursor, Write};
use std::path::PathBuf;

use flate2::Compression;
use flate2::write::GzEncoder;
use hprof_format::unpack;
use hprof_heap::{
    By, Dump, Excluded, Heap, Memory, Options, Saved, Silent, Target, histogram_of, seal_index,
};
use model::{CLASSES, Model, model};
use proptest::prelude::*;
use tempfile::{TempDir, tempfile};

fn options() -> Options {
    Options {
        layout: Some("12,4,8".parse().expect("a layout")),
        excluded: Excluded::NONE,
        memory: Memory::unlimited(),
    }
}

/// Returns the answers to questions of which some need the content of objects, as text.
fn answers(heap: &Heap<'_>) -> String {
    let largest = heap.largest(None, 30);
    let ids = largest.as_ref().into_iter().flatten().map(|row| row.id);
    let shown: Vec<_> = ids.map(|id| heap.show(id, 0)).collect();
    let paths = CLASSES.map(|class| heap.paths(&Target::Class(class.to_owned()), 9));
    format!(
        "{:?}\n{largest:?}\n{shown:?}\n{paths:?}\n{:?}\n{:?}\n{:?}\n{:?}",
        heap.summary(),
        heap.groups(By::Site, 3),
        heap.leaks(0.05, None),
        heap.waste(5),
        heap.threads(1000),
    )
}

/// Compresses with a member for each so many bytes.
fn compressed(content: &[u8], member: usize) -> Vec<u8> {
    let members = content.chunks(member).flat_map(|member| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::new(6));
        encoder.write_all(member).expect("a vector has room");
        encoder.finish().expect("a vector has room")
    });
    members.collect()
}

/// A compressed dump in a folder of its own, with its index.
struct Indexed {
    _folder: TempDir,
    file: File,
    index: PathBuf,
}

impl Indexed {
    /// Also returns the answers from the dump itself.
    fn new(content: &[u8], member: usize) -> (Indexed, String) {
        let folder = TempDir::new().expect("a folder");
        let (path, index) = (folder.path().join("x.gz"), folder.path().join("x.gz.index"));
        let packed = compressed(content, member);
        fs::write(&path, &packed).expect("room for it");
        let file = File::open(&path).expect("it is there");
        let mut whole = tempfile().expect("a temporary file");
        let points = unpack(Cursor::new(&packed), |piece| whole.write_all(piece));
        let points = points.expect("a sound file");
        let dump = Dump::of_compressed(&whole, None, &file, &points).expect("a dump");
        let heap = Heap::of(&dump, &options(), &Silent).expect("a sound dump");
        heap.save_index(&index, &Silent).expect("room for it");
        let answers = answers(&heap);
        let indexed = Indexed {
            _folder: folder,
            file,
            index,
        };
        (indexed, answers)
    }

    /// Returns the answers from the index; `None` if it is not used.
    fn answers(&self) -> Option<String> {
        let content = tempfile().expect("a temporary file");
        let dump = Dump::in_index(&content, None, &self.file, &self.index)?;
        let saved = Saved::open(&dump, &self.index)?;
        let _ = histogram_of(&saved, By::Class, options().layout);
        Some(answers(&saved.heap(&options())?))
    }
}

fn generated(objects: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    generate_dump::write(objects, &mut bytes).expect("a vector has room");
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(50))]

    #[test]
    fn answers_about_a_compressed_dump_are_those_about_the_dump(
        model in model(),
        member in prop_oneof![Just(usize::MAX), 100..5_000_usize],
    ) {
        let (indexed, expected) = Indexed::new(&model.write(), member);
        prop_assert_eq!(indexed.answers(), Some(expected));
    }
}

#[test]
fn a_large_one_is_unpacked_where_a_question_needs_it() {
    let content = generated(400_000);
    for member in [usize::MAX, 1 << 20] {
        let (indexed, expected) = Indexed::new(&content, member);
        assert_eq!(indexed.answers(), Some(expected));
        // A question about one object needs a small part.
        let part = tempfile().expect("a temporary file");
        let dump = Dump::in_index(&part, None, &indexed.file, &indexed.index);
        let dump = dump.expect("it is sound");
        let saved = Saved::open(&dump, &indexed.index).expect("it is sound");
        let heap = saved.heap(&options()).expect("it is sound");
        let id = heap.largest(None, 1).expect("there is one")[0].id;
        heap.show(id, 0).expect("it is there");
        let found = std::os::unix::fs::MetadataExt::blocks(&part.metadata().expect("a file"));
        assert!(found * 512 < content.len() as u64, "{found} blocks");
    }
}

#[test]
fn an_index_of_another_compressed_file_is_not_used() {
    let content = generated(2_000);
    let (mut indexed, _) = Indexed::new(&content, usize::MAX);
    assert!(indexed.answers().is_some());
    let other = compressed(&content, 10_000);
    let mut file = tempfile().expect("a temporary file");
    file.write_all(&other).expect("room for it");
    indexed.file = file;
    assert_eq!(indexed.answers(), None);
}

#[test]
fn a_damaged_index_counts_as_none() {
    let (indexed, _) = Indexed::new(&generated(2_000), 50_000);
    let sound = fs::read(&indexed.index).expect("it is there");
    for place in (144..sound.len()).step_by(997) {
        let mut damaged = sound.clone();
        damaged[place] ^= 1 << (place % 8);
        fs::write(&indexed.index, &damaged).expect("room for it");
        assert_eq!(indexed.answers(), None, "byte {place}");
    }
}

/// Changes of numbers of 1 or 8 bytes among the first of an index, where the places in the compressed file are.
type Damage = Vec<(usize, bool, u64)>;

fn damage() -> impl Strategy<Value = Damage> {
    let value = prop_oneof![0..40_u64, Just(u64::MAX), Just(1 << 40), any::<u64>()];
    proptest::collection::vec((144..2_000_usize, any::<bool>(), value), 1..5)
}

fn assert_harmless(model: &Model, member: usize, damage: Damage) {
    let (indexed, _) = Indexed::new(&model.write(), member);
    let mut bytes = fs::read(&indexed.index).expect("it is there");
    for (place, is_wide, value) in damage {
        let (width, place) = if is_wide {
            (8, place / 8 * 8)
        } else {
            (1, place)
        };
        if let Some(number) = bytes.get_mut(place..place + width) {
            number.copy_from_slice(&value.to_ne_bytes()[..width]);
        }
    }
    seal_index(&mut bytes);
    fs::write(&indexed.index, &bytes).expect("room for it");
    let _ = indexed.answers();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn a_hostile_index_does_no_harm(
        model in model(),
        member in prop_oneof![Just(usize::MAX), 100..5_000_usize],
        damage in damage(),
    ) {
        assert_harmless(&model, member, damage);
    }
}
