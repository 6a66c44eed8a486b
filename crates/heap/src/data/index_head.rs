//! The head of an index: the file that the index was made of, the options, and a checksum of the rest.
//!
//! The file of a dump is recognized by its length, a hash of samples of it, and a hash of all of it. The latter takes a pass
//! over the file. So an index also holds the file's number and the times of its last changes, which nobody can set: as
//! long as they are the same, all of the file is.

use std::convert::Infallible;
use std::fs::File;
use std::hash::BuildHasher;
use std::io;
use std::path::Path;
use std::sync::Arc;

use foldhash::fast::FixedState;
use hprof_os::files;

use crate::data::mapping::Mapped;
use crate::data::turns::in_turn;

/// The first eight bytes of an index; the last is the version of the format.
pub(crate) const MAGIC: [u8; 8] = *b"hprofixa";
/// The number of these bytes that are the same in all versions.
pub(crate) const ANY: usize = 7;
/// The numbers of a head: those of the file and the dump, those of the options, the length of the index, and the checksum.
const NUMBERS: usize = OF_FILE + OF_DUMP + OF_OPTIONS + 2;
const OF_FILE: usize = 4;
const OF_DUMP: usize = 2;
pub(crate) const OF_OPTIONS: usize = 6;
/// The numbers after the head: those of the file when it was last found to be the same, and their checksum.
const SEEN: usize = 4;
/// Where the sections begin.
pub(crate) const START: usize = (NUMBERS + SEEN) * 8;
/// The number of samples of a file that are hashed to recognize it, and the bytes of each.
const SAMPLES: u64 = 64;
const SAMPLE: usize = 16 << 10;
/// The bytes that are added to a checksum at once: the hash of each block is, so that threads can hash them.
pub(crate) const BLOCK: usize = 1 << 20;
/// The blocks after which the memory of read pages is given back.
const PART: usize = 16;

/// An index whose checksum is right.
pub(crate) struct SoundIndex {
    pub(crate) file: Arc<Mapped>,
    /// The file itself, if it can be written to. Its path may lead to another file by now.
    writable: Option<File>,
    of_file: [u64; OF_FILE],
    /// The number of the dump among those of its file, and how many there are.
    pub(crate) of_dump: [u64; OF_DUMP],
    pub(crate) options: [u64; OF_OPTIONS],
    sum: u64,
}

impl SoundIndex {
    /// Opens an index of this user; `None` if there is none, or it is damaged.
    pub(crate) fn open(index: &Path, threads: usize) -> Option<SoundIndex> {
        let opened = files::open_at_once(File::options().read(true).write(true), index);
        let (file, is_writable) = match opened {
            Ok(file) => (file, true),
            Err(_) => (open_file(index).ok()?, false),
        };
        let found = file.metadata().ok()?;
        // Another user who can write to it could change it while it is read.
        if !files::is_ours_alone(&file) || !found.is_file() || found.len() < START as u64 {
            return None;
        }
        let mut sound = SoundIndex::of(Arc::new(Mapped::of(&file).ok()?))?;
        sound.writable = is_writable.then_some(file);
        (sound_sum(&sound, threads) == sound.sum).then_some(sound)
    }

    /// Reads the head of an index whose checksum has been compared before.
    pub(crate) fn of(file: Arc<Mapped>) -> Option<SoundIndex> {
        let numbers = numbers(file.get(..NUMBERS * 8)?);
        let (&of_file, rest) = numbers.split_first_chunk()?;
        let (&of_dump, rest) = rest.split_first_chunk()?;
        let (&options, rest) = rest.split_first_chunk()?;
        let &[length, sum] = rest else { return None };
        let is_whole = length == file.len() as u64 && of_file[0] == u64::from_ne_bytes(MAGIC);
        is_whole.then_some(SoundIndex {
            file,
            writable: None,
            of_file,
            of_dump,
            options,
            sum,
        })
    }

    /// Returns `true` if it is that of a file. If the whole file had to be read to know, that is noted in the index.
    pub(crate) fn is_of(&self, file: &Mapped, threads: usize) -> bool {
        let [.., whole] = self.of_file;
        if self.of_file != of_file(file, whole) {
            return false;
        }
        let seen = seen(file, self.sum);
        if self.file.get(NUMBERS * 8..START) == Some(&bytes(&seen)[..]) {
            return true;
        }
        // The file was copied, moved or touched, or it is another one that looks the same.
        let is_same = sum_of(file, threads) == whole && file.is_untouched();
        if is_same && let Some(index) = &self.writable {
            // If it cannot be noted, the next question finds it out again.
            let _ = files::write_all_at(index, &bytes(&seen), NUMBERS as u64 * 8);
        }
        is_same
    }
}

/// Returns the head of an index, given the sum of the dump's file and that of the sections.
pub(crate) fn head(
    (file, whole, of_dump): (&Mapped, u64, [u64; OF_DUMP]),
    options: [u64; OF_OPTIONS],
    (length, sum): (u64, u64),
) -> Vec<u8> {
    let mut head = of_file(file, whole).to_vec();
    head.extend(of_dump);
    head.extend(options);
    head.push(length);
    let sum = checksum(&head, sum);
    head.push(sum);
    head.extend(seen(file, sum));
    bytes(&head)
}

/// Opens a file; does not wait, even if it is a pipe without a writer.
pub(crate) fn open_file(path: &Path) -> io::Result<File> {
    files::open_at_once(File::options().read(true), path)
}

/// Returns the facts about a file that must be the same when an index is made and when it is read.
fn of_file(file: &Mapped, whole: u64) -> [u64; OF_FILE] {
    let magic = u64::from_ne_bytes(MAGIC);
    [magic, file.state().length, samples(file), whole]
}

/// Returns the numbers that change whenever the file does.
fn seen(file: &Mapped, index: u64) -> [u64; SEEN] {
    let state = file.state();
    let numbers = [state.number, state.modified, state.changed];
    let [number, modified, changed] = numbers;
    let sum = hasher().hash_one((index, numbers));
    [number, modified, changed, sum]
}

/// Returns a hash of a file's beginning, its end, and samples in between.
fn samples(bytes: &[u8]) -> u64 {
    let state = FixedState::with_seed(SAMPLES);
    let last = bytes.len().saturating_sub(SAMPLE);
    let samples = (0..SAMPLES).map(|place| {
        let start = (last as u128 * u128::from(place) / u128::from(SAMPLES - 1)) as usize;
        &bytes[start..bytes.len().min(start + SAMPLE)]
    });
    samples.fold(0, |sum, sample| state.hash_one((sum, sample)))
}

/// Makes the checksum of an index right, for tests of forged ones.
#[doc(hidden)]
pub fn seal_index(index: &mut [u8]) {
    if let Some((head, rest)) = index.split_at_mut_checked(START) {
        let (head, _) = head.split_at_mut(NUMBERS * 8);
        let (known, sum) = head.split_at_mut(NUMBERS * 8 - 8);
        let rest = rest.chunks(BLOCK).fold(0, add_block);
        sum.copy_from_slice(&checksum(&numbers(known), rest).to_ne_bytes());
    }
}

fn numbers(bytes: &[u8]) -> Vec<u64> {
    let numbers = bytes.as_chunks().0.iter();
    numbers.map(|&number| u64::from_ne_bytes(number)).collect()
}

fn bytes(numbers: &[u64]) -> Vec<u8> {
    let bytes = numbers.iter().map(|number| number.to_ne_bytes());
    bytes.flatten().collect()
}

fn sound_sum(index: &SoundIndex, threads: usize) -> u64 {
    let head = index.file.get(..NUMBERS * 8 - 8).unwrap_or_default();
    checksum(&numbers(head), sum_of_mapped(&index.file, START, threads))
}

/// Returns the checksum of an index, given its head and the sum of the rest.
fn checksum(head: &[u64], rest: u64) -> u64 {
    hasher().hash_one((head, rest))
}

/// Returns the sum of a mapped file.
pub(crate) fn sum_of(file: &Mapped, threads: usize) -> u64 {
    sum_of_mapped(file, 0, threads)
}

/// Returns the sum of a mapped file from a place on. A question needs a part of it, so that no page stays in memory for
/// the sum.
fn sum_of_mapped(file: &Mapped, start: usize, threads: usize) -> u64 {
    let content = &file[start..];
    let mut sum = 0;
    let hash = |block: usize, hash: &mut u64| {
        let start = block * BLOCK;
        *hash = hash_of(&content[start..content.len().min(start + BLOCK)]);
        if (block + 1).is_multiple_of(PART) {
            file.release();
        }
        Ok(())
    };
    let add = |hash: &mut u64| {
        sum = add_hash(sum, *hash);
        Ok(())
    };
    let blocks = content.len().div_ceil(BLOCK);
    let Ok::<(), Infallible>(()) = in_turn((threads, blocks), hash, add, |_| {});
    file.release();
    sum
}

pub(crate) fn add_block(sum: u64, block: &[u8]) -> u64 {
    add_hash(sum, hash_of(block))
}

fn hash_of(block: &[u8]) -> u64 {
    hasher().hash_one(block)
}

fn add_hash(sum: u64, hash: u64) -> u64 {
    hasher().hash_one((sum, hash))
}

fn hasher() -> FixedState {
    FixedState::with_seed(u64::from_ne_bytes(MAGIC))
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::PathBuf;

    use tempfile::TempDir;

    use super::*;

    const DUMP: &[u8] = b"what the index was made of";
    const THEIRS: &[u8] = &[b'x'; 2 * START];

    /// A folder with `dump`, which has changed its times since `index` was made of it.
    fn folder() -> (TempDir, PathBuf, Mapped) {
        let folder = TempDir::new().expect("a folder");
        let dump = folder.path().join("dump");
        let mapped = || Mapped::of(&File::open(&dump).expect("a file")).expect("it can be mapped");
        fs::write(&dump, DUMP).expect("room for it");
        let made = mapped();
        let head = head(
            (&made, sum_of(&made, 1), [1, 1]),
            [0; OF_OPTIONS],
            (START as u64, 0),
        );
        let index = folder.path().join("index");
        fs::write(&index, head).expect("room for it");
        fs::set_permissions(&index, fs::Permissions::from_mode(0o600)).expect("it is ours");
        fs::remove_file(&dump).expect("it is ours");
        fs::write(&dump, DUMP).expect("room for it");
        let touched = mapped();
        (folder, index, touched)
    }

    #[test]
    fn that_a_dump_is_the_same_is_noted_in_the_index_that_was_read() {
        for exchange in ["link", "file", "pipe", "nothing"] {
            let (folder, index, dump) = folder();
            let sound = SoundIndex::open(&index, 1).expect("it is sound");
            let (moved, theirs) = (folder.path().join("moved"), folder.path().join("theirs"));
            fs::write(&theirs, THEIRS).expect("room for it");
            fs::rename(&index, &moved).expect("it is ours");
            match exchange {
                "link" => symlink(&theirs, &index).expect("a link"),
                "file" => fs::hard_link(&theirs, &index).expect("another name"),
                "pipe" => {
                    let made = std::process::Command::new("mkfifo").arg(&index).status();
                    assert!(made.expect("mkfifo").success());
                }
                _ => {}
            }
            assert!(sound.is_of(&dump, 1), "{exchange}");
            assert_eq!(
                fs::read(&theirs).expect("it is there"),
                THEIRS,
                "{exchange}"
            );
            let noted = fs::read(&moved).expect("it is there");
            let seen = bytes(&seen(&dump, sound.sum));
            assert_eq!(noted[NUMBERS * 8..START], seen, "{exchange}");
        }
    }

    #[test]
    fn an_index_that_cannot_be_written_to_is_used() {
        let (_folder, index, dump) = folder();
        fs::set_permissions(&index, fs::Permissions::from_mode(0o400)).expect("it is ours");
        let sound = SoundIndex::open(&index, 1).expect("it is sound");
        assert!(sound.is_of(&dump, 1));
    }
}
