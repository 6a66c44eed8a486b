//! The births file next to a heap dump: when each object was made, and an identity that it keeps.
//!
//! It is named like the dump with `.births` appended, for the second dump of a file `.2.births` ([`births_path`]).
//!
//! All numbers are big-endian. The head is [`MAGIC`], then the time stamp of the dump's file (8 bytes) and the number of the
//! dump in it (4): the dump that it belongs to. Then the number of the run (8), the first moment after the dump's list of
//! objects was made (4), the time of that list (8), the collections up to it (4), and the number of moments (4), each with its
//! number (4), its time (8), the collections (4) and the bytes (8) counted before it. Times are milliseconds since the
//! profile began.
//!
//! A row for each object follows: its id in the dump (8), its identity (8) and its moment (4). The last row has the id 0,
//! the number of rows before it in place of the identity, and the moment [`u32::MAX`].

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use crate::encode::Millis;
use crate::record::ObjectId;

/// The beginning of each file; the last byte is the version.
const MAGIC: &[u8; 16] = b"HPROF BIRTHS \0\0\x01";
/// The bytes of [`MAGIC`] before the version.
const NAME: usize = MAGIC.len() - 1;
/// The bytes of the head after [`MAGIC`], before the moments.
const HEAD: usize = 8 + 4 + 8 + 4 + 8 + 4 + 4;
/// The bytes of a moment.
const MOMENT: usize = 4 + 8 + 4 + 8;
/// The bytes of a row.
const ROW: usize = 8 + 8 + 4;
/// The most moments: more than the agent ever keeps.
const MOST_MOMENTS: u32 = 1 << 20;

/// A point of the clock of births. An object of this moment was made between it and the next one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BirthMoment {
    /// Its number. Moments are numbered over the whole run; some are left out, and then belong to the one before.
    pub number: u32,
    /// The time since the profile began, in milliseconds.
    pub millis: u64,
    /// The collections since then.
    pub collections: u32,
    /// The bytes allocated since then, as far as the agent had counted them.
    pub bytes: u64,
}

/// The head of a births file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BirthsHead {
    /// The time stamp of the dump's file.
    pub file: u64,
    /// The number of the dump in its file, from 1.
    pub dump: u32,
    /// A number that all dumps of one profile share.
    pub run: u64,
    /// The first moment whose objects are not in the dump: they were made after it.
    pub next: u32,
    /// The time of the dump since the profile began, in milliseconds.
    pub millis: u64,
    /// The collections since then.
    pub collections: u32,
    /// The moments, in their order.
    pub moments: Vec<BirthMoment>,
}

/// The birth of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectBirth {
    /// The object's id in the dump.
    pub object: ObjectId,
    /// A number that the object keeps as long as it lives, whatever a collector does to it. Another object may have it
    /// afterwards, which is of a later moment.
    pub identity: u64,
    /// The number of its moment.
    pub moment: u32,
}

/// The reason a births file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum BirthsError {
    /// The file failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It does not begin like a births file.
    #[error("byte 0: this is not a births file")]
    NoBirths,
    /// It is of a version that is not known.
    #[error("byte {NAME}: the version is {0}; this command reads version 1")]
    Version(u8),
    /// It ends too early.
    #[error("byte {0}: the file is cut off")]
    CutOff(u64),
    /// It has a value that is not possible.
    #[error("byte {offset}: {what}")]
    Damaged {
        /// The position of the value.
        offset: u64,
        /// The fault.
        what: &'static str,
    },
}

/// Returns the path of the births file for the dump with this number, from 1, in this file.
#[must_use]
pub fn births_path(file: &Path, dump: u32) -> PathBuf {
    let mut path = file.as_os_str().to_owned();
    match dump {
        0 | 1 => path.push(".births"),
        _ => path.push(format!(".{dump}.births")),
    }
    path.into()
}

/// Returns `true` if a file that begins so is a births file, of any version.
#[must_use]
pub fn is_births(start: &[u8]) -> bool {
    start.starts_with(&MAGIC[..NAME])
}

/// Writes a births file.
pub struct BirthsWriter<W> {
    to: W,
    rows: u64,
}

impl<W: Write> BirthsWriter<W> {
    /// Begins a file.
    ///
    /// # Errors
    /// Those of writing.
    pub fn new(mut to: W, head: &BirthsHead) -> io::Result<Self> {
        to.write_all(MAGIC)?;
        to.write_all(&head.file.to_be_bytes())?;
        to.write_all(&head.dump.to_be_bytes())?;
        to.write_all(&head.run.to_be_bytes())?;
        to.write_all(&head.next.to_be_bytes())?;
        to.write_all(&head.millis.to_be_bytes())?;
        to.write_all(&head.collections.to_be_bytes())?;
        let moments = u32::try_from(head.moments.len()).unwrap_or(u32::MAX);
        to.write_all(&moments.to_be_bytes())?;
        for moment in &head.moments {
            to.write_all(&moment.number.to_be_bytes())?;
            to.write_all(&moment.millis.to_be_bytes())?;
            to.write_all(&moment.collections.to_be_bytes())?;
            to.write_all(&moment.bytes.to_be_bytes())?;
        }
        Ok(Self { to, rows: 0 })
    }

    /// Adds an object.
    ///
    /// # Errors
    /// Those of writing.
    pub fn add(&mut self, birth: ObjectBirth) -> io::Result<()> {
        self.rows += 1;
        self.row(birth)
    }

    fn row(&mut self, birth: ObjectBirth) -> io::Result<()> {
        self.to.write_all(&birth.object.0.to_be_bytes())?;
        self.to.write_all(&birth.identity.to_be_bytes())?;
        self.to.write_all(&birth.moment.to_be_bytes())
    }

    /// Ends the file, and returns what it was written to.
    ///
    /// # Errors
    /// Those of writing.
    pub fn finish(mut self) -> io::Result<W> {
        self.row(ObjectBirth {
            object: ObjectId(0),
            identity: self.rows,
            moment: u32::MAX,
        })?;
        self.to.flush()?;
        Ok(self.to)
    }
}

/// Reads a births file. It holds one row at a time.
pub struct BirthsReader<R> {
    from: R,
    offset: u64,
    rows: u64,
    head: BirthsHead,
}

impl<R: Read> BirthsReader<R> {
    /// Reads the head.
    ///
    /// # Errors
    /// [`BirthsError`], if the file is damaged or no births file.
    pub fn new(from: R) -> Result<Self, BirthsError> {
        let mut reader = Self {
            from,
            offset: 0,
            rows: 0,
            head: BirthsHead::default(),
        };
        let magic: [u8; MAGIC.len()] = reader.take().map_err(|error| match error {
            BirthsError::CutOff(_) => BirthsError::NoBirths,
            error => error,
        })?;
        match magic.split_at(NAME) {
            (name, _) if name != &MAGIC[..NAME] => return Err(BirthsError::NoBirths),
            (_, version) if version != &MAGIC[NAME..] => {
                return Err(BirthsError::Version(magic[NAME]));
            }
            _ => {}
        }
        let head: [u8; HEAD] = reader.take()?;
        let mut fields = Fields(&head);
        reader.head = BirthsHead {
            file: fields.u64(),
            dump: fields.u32(),
            run: fields.u64(),
            next: fields.u32(),
            millis: fields.u64(),
            collections: fields.u32(),
            moments: Vec::new(),
        };
        let moments = fields.u32();
        if moments == 0 || moments > MOST_MOMENTS {
            return Err(reader.damaged(4, "the number of moments is not possible"));
        }
        for _ in 0..moments {
            let moment = reader.moment()?;
            let last = reader.head.moments.last().copied();
            let is_later = last.is_none_or(|last| {
                moment.number > last.number
                    && moment.millis >= last.millis
                    && moment.collections >= last.collections
                    && moment.bytes >= last.bytes
            });
            if !is_later {
                return Err(reader.damaged(MOMENT, "this moment is not after the one before"));
            }
            reader.head.moments.push(moment);
        }
        Ok(reader)
    }

    /// Returns the head.
    pub fn head(&self) -> &BirthsHead {
        &self.head
    }

    /// Takes the head, for use after the rows have been read.
    pub fn into_head(self) -> BirthsHead {
        self.head
    }

    /// Returns the next object, `None` after the last one.
    ///
    /// # Errors
    /// [`BirthsError`], if the file is damaged.
    pub fn read(&mut self) -> Result<Option<ObjectBirth>, BirthsError> {
        let row: [u8; ROW] = self.take()?;
        let mut fields = Fields(&row);
        let birth = ObjectBirth {
            object: ObjectId(fields.u64()),
            identity: fields.u64(),
            moment: fields.u32(),
        };
        if birth.object == ObjectId(0) {
            if birth.identity != self.rows || birth.moment != u32::MAX {
                return Err(self.damaged(ROW, "the last row does not fit those before it"));
            }
            return Ok(None);
        }
        self.rows += 1;
        Ok(Some(birth))
    }

    fn moment(&mut self) -> Result<BirthMoment, BirthsError> {
        let moment: [u8; MOMENT] = self.take()?;
        let mut fields = Fields(&moment);
        Ok(BirthMoment {
            number: fields.u32(),
            millis: fields.u64(),
            collections: fields.u32(),
            bytes: fields.u64(),
        })
    }

    fn take<const LENGTH: usize>(&mut self) -> Result<[u8; LENGTH], BirthsError> {
        let mut bytes = [0; LENGTH];
        match self.from.read_exact(&mut bytes) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                return Err(BirthsError::CutOff(self.offset));
            }
            Err(error) => return Err(error.into()),
        }
        self.offset += LENGTH as u64;
        Ok(bytes)
    }

    /// Returns the error about the last `length` bytes.
    fn damaged(&self, length: usize, what: &'static str) -> BirthsError {
        BirthsError::Damaged {
            offset: self.offset - length as u64,
            what,
        }
    }
}

impl BirthsHead {
    /// Returns `true` if this is the head for a dump: of a file with this time stamp, with this number.
    #[must_use]
    pub fn is_for(&self, file: Millis, dump: usize) -> bool {
        self.file == file.0 && u32::try_from(dump) == Ok(self.dump)
    }

    /// Returns the position of a moment. One that was left out belongs to the one before.
    #[must_use]
    pub fn moment_index(&self, moment: u32) -> usize {
        let above = self.moments.partition_point(|other| other.number <= moment);
        above.saturating_sub(1)
    }
}

/// The fields of a part of the file, from the front. The caller has exactly as many bytes.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const LENGTH: usize>(&mut self) -> [u8; LENGTH] {
        let Some((field, rest)) = self.0.split_first_chunk() else {
            return [0; LENGTH];
        };
        self.0 = rest;
        *field
    }

    fn u32(&mut self) -> u32 {
        u32::from_be_bytes(self.take())
    }

    fn u64(&mut self) -> u64 {
        u64::from_be_bytes(self.take())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head() -> BirthsHead {
        let moment = |number, millis| BirthMoment {
            number,
            millis,
            collections: number,
            bytes: 100 * millis,
        };
        BirthsHead {
            file: 1_700_000_000_000,
            dump: 2,
            run: 77,
            next: 9,
            millis: 5_000,
            collections: 8,
            moments: vec![moment(0, 0), moment(3, 700), moment(8, 4_000)],
        }
    }

    fn rows() -> [ObjectBirth; 2] {
        [(0x7f00, 0x99, 0), (0x7f10, 0x9a, 8)].map(|(object, identity, moment)| ObjectBirth {
            object: ObjectId(object),
            identity,
            moment,
        })
    }

    fn file() -> Vec<u8> {
        let mut writer = BirthsWriter::new(Vec::new(), &head()).expect("a vector");
        for row in rows() {
            writer.add(row).expect("a vector");
        }
        writer.finish().expect("a vector")
    }

    fn read(file: &[u8]) -> Result<(BirthsHead, Vec<ObjectBirth>), BirthsError> {
        let mut reader = BirthsReader::new(file)?;
        let mut rows = Vec::new();
        while let Some(row) = reader.read()? {
            rows.push(row);
        }
        Ok((reader.into_head(), rows))
    }

    #[test]
    fn what_was_written_is_read() {
        assert_eq!(read(&file()).expect("sound"), (head(), rows().to_vec()));
        assert!(head().is_for(Millis(1_700_000_000_000), 2));
        assert!(!head().is_for(Millis(1_700_000_000_000), 1));
        assert!(!head().is_for(Millis(1_700_000_000_001), 2));
    }

    #[test]
    fn a_moment_that_was_left_out_belongs_to_the_one_before() {
        let indexes = [0, 2, 3, 7, 8, u32::MAX].map(|moment| head().moment_index(moment));
        assert_eq!(indexes, [0, 0, 1, 1, 2, 2]);
    }

    #[test]
    fn every_cut_is_an_error() {
        let file = file();
        for length in 0..file.len() {
            let error = read(&file[..length]).expect_err("cut off").to_string();
            assert!(error.starts_with("byte "), "{length}: {error}");
        }
    }

    #[test]
    fn damage_is_told_with_its_place() {
        let damaged = |at: usize, byte: u8| {
            let mut file = file();
            file[at] = byte;
            read(&file).expect_err("damaged").to_string()
        };
        assert_eq!(damaged(0, 0), "byte 0: this is not a births file");
        assert_eq!(
            damaged(15, 2),
            "byte 15: the version is 2; this command reads version 1"
        );
        let moments = MAGIC.len() + HEAD;
        let many = "byte 52: the number of moments is not possible";
        assert_eq!(damaged(moments - 4, 0xff), many);
        // The second moment gets the number of the first.
        let order = "byte 80: this moment is not after the one before";
        assert_eq!(damaged(moments + MOMENT + 3, 0), order);
        let count = file().len() - 5;
        let last = "byte 168: the last row does not fit those before it";
        assert_eq!(damaged(count, 7), last);
    }

    #[test]
    fn damage_never_panics() {
        let sound = file();
        for at in 0..sound.len() {
            for byte in [0, 1, 0x7f, 0xff] {
                let mut file = sound.clone();
                file[at] = byte;
                let _ = read(&file);
            }
        }
    }
}
