//! The file that keeps what is known of a run for the case that its process is killed (`blackbox=y`).
//!
//! The file has a head and two halves. Each half holds a snapshot: a header, the growth of the process, and a complete
//! profile in the binary or the text format. Snapshots are written to the two halves in turn, and each has a checksum.
//! So whenever the process ends, one half is whole: a snapshot that was only partly written has the wrong checksum, and
//! the other half is one snapshot older.
//!
//! All numbers are big-endian. A snapshot's header has eight of them, of 64 bits each: its sequence number, the time at
//! which it was made, the time at which live objects were last counted (0 if never), the number of growth samples, the
//! length of the profile in bytes, that of the accounts of memory, which follow the profile as text, a zero, and the CRC-32 of
//! everything before and of what follows.

use std::io::{self, Read, SeekFrom};

use flate2::Crc;

use crate::encode::Millis;
use crate::source::Source;

/// The first bytes of the file, with its version.
const MAGIC: &[u8; 18] = b"HPROF BLACK BOX 1\n";
/// The length of the file's head: a page, so that each half begins with one.
const HEAD: u64 = 4096;
/// The length of a half.
const HALF: u64 = 2 << 20;
/// The length of the whole file, which never changes.
pub const BLACK_BOX_BYTES: u64 = HEAD + 2 * HALF;
/// The most growth samples in a snapshot: one a second for ten minutes.
pub const MOST_GROWTH_SAMPLES: usize = 600;

const NUMBER: usize = size_of::<u64>();
/// The numbers in a snapshot's header.
const HEADER: usize = 8;
/// The numbers in a growth sample.
const GROWTH: usize = 9;
/// A number that is unknown.
const UNKNOWN: u64 = u64::MAX;

/// The size of the process and of its parts at one moment; `None` for what is unknown. Everything but the number of
/// threads is in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GrowthSample {
    /// The time.
    pub time: Millis,
    /// The live objects that are known.
    pub live: Option<u64>,
    /// The Java heap in use; garbage counts.
    pub heap_used: Option<u64>,
    /// The Java heap that the VM has got from the system.
    pub heap_committed: Option<u64>,
    /// The most that the Java heap may have.
    pub heap_limit: Option<u64>,
    /// The process's memory that is in RAM.
    pub resident: Option<u64>,
    /// The memory for classes.
    pub metaspace: Option<u64>,
    /// The memory for compiled code.
    pub code: Option<u64>,
    /// The threads of the process, those of the VM too.
    pub threads: Option<u64>,
}

impl GrowthSample {
    fn numbers(&self) -> [u64; GROWTH] {
        let known = |number: Option<u64>| number.unwrap_or(UNKNOWN);
        [
            self.time.0,
            known(self.live),
            known(self.heap_used),
            known(self.heap_committed),
            known(self.heap_limit),
            known(self.resident),
            known(self.metaspace),
            known(self.code),
            known(self.threads),
        ]
    }

    fn of(numbers: [u64; GROWTH]) -> Self {
        let [time, parts @ ..] = numbers;
        let [
            live,
            heap_used,
            heap_committed,
            heap_limit,
            resident,
            metaspace,
            code,
            threads,
        ] = parts.map(|number| (number != UNKNOWN).then_some(number));
        Self {
            time: Millis(time),
            live,
            heap_used,
            heap_committed,
            heap_limit,
            resident,
            metaspace,
            code,
            threads,
        }
    }
}

/// The content at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Snapshot<'a> {
    /// Its number, from 1: the larger of two is the newer.
    pub sequence: u64,
    /// The moment.
    pub time: Millis,
    /// The moment at which live objects were last counted.
    pub swept: Option<Millis>,
    /// The growth of the process, the oldest sample first; at most [`MOST_GROWTH_SAMPLES`] are written.
    pub growth: &'a [GrowthSample],
    /// A complete profile.
    pub profile: &'a [u8],
    /// Accounts of the process's memory as text, the oldest first.
    pub memory: &'a [u8],
}

impl Snapshot<'_> {
    /// Returns the bytes to be written at [`snapshot_offset`]; `None` if they do not fit there.
    #[must_use]
    pub fn encode(&self) -> Option<Vec<u8>> {
        let oldest = self.growth.len().saturating_sub(MOST_GROWTH_SAMPLES);
        let growth = &self.growth[oldest..];
        let (profile, memory) = (self.profile.len() as u64, self.memory.len() as u64);
        let length = length(growth.len() as u64, profile, memory)?;
        let mut bytes = Vec::with_capacity(usize::try_from(length).ok()?);
        let header = [
            self.sequence,
            self.time.0,
            self.swept.map_or(0, |swept| swept.0),
            growth.len() as u64,
            profile,
            memory,
            0,
        ];
        put(&mut bytes, &header);
        put(&mut bytes, &[0]);
        for sample in growth {
            put(&mut bytes, &sample.numbers());
        }
        bytes.extend_from_slice(self.profile);
        bytes.extend_from_slice(self.memory);
        let checksum = checksum(&bytes);
        bytes[CHECKSUM..HEADER * NUMBER].copy_from_slice(&checksum.to_be_bytes());
        Some(bytes)
    }
}

/// The place of the checksum in a snapshot.
const CHECKSUM: usize = (HEADER - 1) * NUMBER;

/// Returns the checksum of a snapshot: of all of its bytes but the checksum's own.
fn checksum(bytes: &[u8]) -> u64 {
    let mut crc = Crc::new();
    crc.update(&bytes[..CHECKSUM]);
    crc.update(&bytes[HEADER * NUMBER..]);
    u64::from(crc.sum())
}

/// Returns the length of a snapshot with so many samples of growth, and so many bytes of its texts; `None` if a half has no room
/// for it.
fn length(samples: u64, profile: u64, memory: u64) -> Option<u64> {
    let growth = samples.checked_mul((GROWTH * NUMBER) as u64)?;
    let length = growth
        .checked_add(profile)?
        .checked_add(memory)?
        .checked_add((HEADER * NUMBER) as u64)?;
    (length <= HALF).then_some(length)
}

fn put(bytes: &mut Vec<u8>, numbers: &[u64]) {
    bytes.extend(numbers.iter().flat_map(|number| number.to_be_bytes()));
}

/// Returns the first bytes of a file without snapshots.
#[must_use]
pub fn black_box_head() -> &'static [u8] {
    MAGIC
}

/// Returns the position in the file at which the snapshot with this number is written.
#[must_use]
pub fn snapshot_offset(sequence: u64) -> u64 {
    HEAD + sequence % 2 * HALF
}

/// Returns `true` if a file begins with these bytes because it is a black box.
#[must_use]
pub fn is_black_box(first: &[u8]) -> bool {
    first.starts_with(MAGIC)
}

/// The newest whole snapshot of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlackBox {
    /// The moment at which it was made.
    pub time: Millis,
    /// The moment at which live objects were last counted.
    pub swept: Option<Millis>,
    /// The growth of the process, the oldest sample first.
    pub growth: Vec<GrowthSample>,
    /// A complete profile, in the binary or the text format.
    pub profile: Vec<u8>,
    /// Accounts of the process's memory as text, the oldest first; empty if the agent did not write any.
    pub memory: Vec<u8>,
}

/// The reason there is no snapshot.
#[derive(Debug, thiserror::Error)]
pub enum BlackBoxError {
    /// The file cannot be read.
    #[error(transparent)]
    Read(#[from] io::Error),
    /// The file is of another kind.
    #[error(
        "byte 0: not a black box, the file that blackbox=y writes: it must begin with \"HPROF BLACK BOX 1\""
    )]
    Other,
    /// Neither half has a snapshot whose checksum is right.
    #[error(
        "bytes {HEAD} and {}: neither half holds a whole snapshot; the program ended within its first second, or the file is damaged",
        HEAD + HALF
    )]
    NoSnapshot,
}

impl BlackBox {
    /// Reads the newest whole snapshot of a file from its start.
    ///
    /// # Errors
    /// If the file cannot be read, is of another kind, or has no whole snapshot.
    pub fn read(file: &mut impl Source) -> Result<Self, BlackBoxError> {
        let mut first = Vec::with_capacity(MAGIC.len());
        file.seek(SeekFrom::Start(0))?;
        file.by_ref()
            .take(MAGIC.len() as u64)
            .read_to_end(&mut first)?;
        if !is_black_box(&first) {
            return Err(BlackBoxError::Other);
        }
        let mut newest: Option<(u64, Self)> = None;
        for half in 0..2 {
            let found = read_half(file, half)?;
            let is_newer = |found: &(u64, Self)| {
                newest
                    .as_ref()
                    .is_none_or(|(sequence, _)| found.0 > *sequence)
            };
            if let Some(found) = found.filter(is_newer) {
                newest = Some(found);
            }
        }
        let (_, newest) = newest.ok_or(BlackBoxError::NoSnapshot)?;
        Ok(newest)
    }
}

/// Reads the snapshot in a half, with its number; `None` if there is no whole one.
fn read_half(file: &mut impl Source, half: u64) -> io::Result<Option<(u64, BlackBox)>> {
    file.seek(SeekFrom::Start(snapshot_offset(half)))?;
    let mut bytes = Vec::new();
    file.by_ref()
        .take((HEADER * NUMBER) as u64)
        .read_to_end(&mut bytes)?;
    let Some(header) = numbers::<HEADER>(&bytes) else {
        return Ok(None);
    };
    let [sequence, time, swept, samples, profile, memory, _, expected] = header;
    let Some(length) = length(samples, profile, memory).filter(|_| sequence % 2 == half) else {
        return Ok(None);
    };
    file.by_ref()
        .take(length - (HEADER * NUMBER) as u64)
        .read_to_end(&mut bytes)?;
    // A number of samples that fits in a half fits in memory.
    let growth = HEADER * NUMBER + usize::try_from(samples).unwrap_or(0) * GROWTH * NUMBER;
    if bytes.len() as u64 != length || checksum(&bytes) != expected {
        return Ok(None);
    }
    let mut profile = bytes.split_off(growth);
    let memory = profile.split_off(profile.len() - usize::try_from(memory).unwrap_or(0));
    let samples = bytes[HEADER * NUMBER..].chunks_exact(GROWTH * NUMBER);
    let growth = samples.filter_map(numbers).map(GrowthSample::of).collect();
    let found = BlackBox {
        time: Millis(time),
        swept: (swept != 0).then_some(Millis(swept)),
        growth,
        profile,
        memory,
    };
    Ok(Some((sequence, found)))
}

fn numbers<const N: usize>(bytes: &[u8]) -> Option<[u64; N]> {
    let (numbers, []) = bytes.as_chunks::<NUMBER>() else {
        return None;
    };
    let numbers: &[[u8; NUMBER]; N] = numbers.try_into().ok()?;
    Some(numbers.map(u64::from_be_bytes))
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    /// A file into which snapshots with these numbers were written, the profile of each its number as text.
    fn file(sequences: &[u64]) -> Vec<u8> {
        let mut file = vec![0; usize::try_from(BLACK_BOX_BYTES).expect("it fits")];
        file[..MAGIC.len()].copy_from_slice(black_box_head());
        for &sequence in sequences {
            let bytes = snapshot(sequence, &sequence.to_string());
            let start = usize::try_from(snapshot_offset(sequence)).expect("it fits");
            file[start..start + bytes.len()].copy_from_slice(&bytes);
        }
        file
    }

    fn sample(number: u64) -> GrowthSample {
        GrowthSample {
            time: Millis(number),
            live: Some(number + 1),
            code: None,
            threads: Some(0),
            ..GrowthSample::default()
        }
    }

    fn snapshot(sequence: u64, profile: &str) -> Vec<u8> {
        let snapshot = Snapshot {
            sequence,
            time: Millis(1_000 + sequence),
            swept: (sequence > 1).then_some(Millis(999 + sequence)),
            growth: &[sample(sequence), sample(sequence + 1)],
            profile: profile.as_bytes(),
            memory: b"where",
        };
        snapshot.encode().expect("it fits")
    }

    fn read(file: &[u8]) -> Result<BlackBox, String> {
        BlackBox::read(&mut Cursor::new(file)).map_err(|error| error.to_string())
    }

    #[test]
    fn the_newest_snapshot_is_read() {
        assert!(
            read(&file(&[]))
                .expect_err("empty")
                .contains("neither half")
        );
        let first = read(&file(&[1])).expect("one");
        assert_eq!((first.time, first.swept), (Millis(1_001), None));
        for sequences in [&[1, 2][..], &[1, 2, 3], &[4, 3]] {
            let newest = *sequences.iter().max().expect("some");
            let found = read(&file(sequences)).expect("two");
            let expected = BlackBox {
                time: Millis(1_000 + newest),
                swept: Some(Millis(999 + newest)),
                growth: vec![sample(newest), sample(newest + 1)],
                profile: newest.to_string().into_bytes(),
                memory: b"where".to_vec(),
            };
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn a_snapshot_that_is_partly_written_is_no_snapshot() {
        let whole = snapshot(4, "four");
        let start = usize::try_from(snapshot_offset(4)).expect("it fits");
        for written in (0..whole.len()).step_by(3) {
            let mut file = file(&[2, 3]);
            file[start..start + written].copy_from_slice(&whole[..written]);
            let found = read(&file).expect("the other half");
            // The last bytes of the header are zeros in both, and so may others be.
            let expected: &[u8] = if file[start..].starts_with(&whole) {
                b"four"
            } else {
                b"3"
            };
            assert_eq!(found.profile, expected, "{written}");
        }
    }

    #[test]
    fn damage_is_an_error_or_leaves_the_other_half() {
        let whole = file(&[7, 8]);
        for half in [7, 8] {
            let start = usize::try_from(snapshot_offset(half)).expect("it fits");
            for place in (start..start + snapshot(half, "7").len()).step_by(5) {
                let mut file = whole.clone();
                file[place] ^= 0x40;
                let found = read(&file).expect("the other half");
                assert_eq!(
                    found.profile,
                    (15 - half).to_string().into_bytes(),
                    "{place}"
                );
            }
        }
        let other = read(b"JAVA PROFILE 1.0.2\0").expect_err("a profile");
        assert!(other.starts_with("byte 0: not a black box"), "{other}");
        for length in [0, MAGIC.len(), 4095, 4097, 4096 + 64] {
            read(&whole[..length]).expect_err("cut");
        }
    }

    #[test]
    fn what_is_too_large_is_not_written_and_old_growth_is_left_out() {
        let half = usize::try_from(HALF).expect("it fits");
        let snapshot = Snapshot {
            sequence: 1,
            time: Millis(0),
            swept: None,
            growth: &[],
            profile: &vec![0; half - HEADER * NUMBER],
            memory: &[],
        };
        assert_eq!(snapshot.encode().map(|bytes| bytes.len()), Some(half));
        let growth: Vec<GrowthSample> = (0..700).map(sample).collect();
        assert_eq!(
            Snapshot {
                growth: &growth,
                ..snapshot
            }
            .encode(),
            None
        );
        let bytes = Snapshot {
            growth: &growth,
            profile: b"",
            ..snapshot
        }
        .encode();
        let mut file = file(&[]);
        let start = usize::try_from(snapshot_offset(1)).expect("it fits");
        let bytes = bytes.expect("it fits");
        file[start..start + bytes.len()].copy_from_slice(&bytes);
        assert_eq!(read(&file).expect("whole").growth, growth[100..]);
    }
}
