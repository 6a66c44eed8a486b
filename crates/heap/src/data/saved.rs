//! The index of a dump: a file that holds its graph and its dominators, so that they need not be found again for each
//! question.
//!
//! It begins with a head: the version of the format, the dump that it was made of, the options, and a checksum of the
//! rest. An index that is not exactly as expected is not used. Whoever forges one can make the checksum right as well,
//! so all numbers in it are checked: where they are read if that takes no time, otherwise where they are used. A forged
//! index can make answers wrong, and does no other harm.

use std::fs::{self, File, Permissions};
use std::hash::BuildHasher;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use foldhash::fast::FixedState;
use hprof_format::{HeapRecord, HeapRecords, IdSize, ObjectId, Root};
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};
use tempfile::NamedTempFile;

use crate::data::classes::Classes;
use crate::data::counts::Counts;
use crate::data::dominators::Dominators;
use crate::data::dump::Dump;
use crate::data::error::Error;
use crate::data::findings::{Together, WasteFound};
use crate::data::heap::{Heap, Options};
use crate::data::layout::Layout;
use crate::data::mapping::Mapped;
use crate::data::memory::Memory;
use crate::data::objects::Objects;
use crate::data::places::Places;
use crate::data::reference_pass::{ReferencePass, SecondPass};
use crate::data::references::Excluded;
use crate::data::sections::{SectionReader, SectionWriter};
use crate::data::ways::Ways;

/// The most bytes that an object takes, besides its references.
const AN_OBJECT: u64 = 24;
/// The first eight bytes of an index; the last is the version of the format.
const MAGIC: [u8; 8] = *b"hprofix3";
/// The number of these bytes that are the same in all versions.
const ANY: usize = 7;
/// The numbers of a head: those of the dump, those of the options, the length of the index, and the checksum.
const NUMBERS: usize = OF_DUMP + OF_OPTIONS + 2;
const OF_DUMP: usize = 7;
const OF_OPTIONS: usize = 6;
/// Where the sections begin.
const START: usize = NUMBERS * 8;
/// The bytes after which the memory of read pages is given back, a multiple of [`BLOCK`].
const PART: usize = 16 * BLOCK;
/// The number of samples of a dump that are hashed to recognize it, and the bytes of each.
const SAMPLES: u64 = 64;
const SAMPLE: usize = 16 << 10;
/// How often an index that another process has published meanwhile is replaced.
const TRIES: usize = 8;
/// The bytes of the rest that are added to the checksum at once.
const BLOCK: usize = 1 << 20;

/// An index of a dump, whose checksum is right.
pub struct Saved<'a> {
    dump: &'a Dump,
    file: Arc<Mapped>,
    /// How the dump was read.
    options: [u64; OF_OPTIONS],
}

/// Removes an index.
///
/// # Errors
/// If there is no such file, or it is not an index.
pub fn remove_index(index: &Path) -> io::Result<()> {
    check_kind(index)?;
    fs::remove_file(index)
}

/// Removes the index that is to be replaced, if it is still there.
fn remove_old(index: &Path) -> io::Result<()> {
    match remove_index(index) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Returns an error unless the file is an index.
fn check_kind(index: &Path) -> io::Result<()> {
    let mut head = Vec::new();
    open_file(index)?.take(ANY as u64).read_to_end(&mut head)?;
    match head == MAGIC[..ANY] {
        true => Ok(()),
        false => Err(io::Error::new(
            io::ErrorKind::AlreadyExists,
            "is not an index, and is left alone",
        )),
    }
}

/// Opens a file; does not wait, even if it is a pipe without a writer.
fn open_file(path: &Path) -> io::Result<File> {
    let flags = (rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::CLOEXEC).bits();
    let flags = i32::try_from(flags).unwrap_or_default();
    File::options().read(true).custom_flags(flags).open(path)
}

impl<'a> Saved<'a> {
    /// Opens the index of a dump; `None` if there is none that belongs to the dump and is sound.
    #[must_use]
    pub fn open(dump: &'a Dump, index: &Path) -> Option<Saved<'a>> {
        let file = open_file(index).ok()?;
        let found = file.metadata().ok()?;
        // Another user who can write to it could change it while it is read.
        let is_own =
            found.uid() == rustix::process::geteuid().as_raw() && found.mode() & 0o022 == 0;
        if !is_own || !found.is_file() || found.len() < START as u64 {
            return None;
        }
        let file = Arc::new(Mapped::of(&file).ok()?);
        let head: &[[u8; 8]] = file.get(..START)?.as_chunks().0;
        let head: Vec<u64> = head
            .iter()
            .map(|number| u64::from_ne_bytes(*number))
            .collect();
        let (&of_dump, rest) = head.split_first_chunk::<OF_DUMP>()?;
        let (&options, rest) = rest.split_first_chunk::<OF_OPTIONS>()?;
        let length = file.len() as u64;
        if of_dump != facts(dump) || rest.first() != Some(&length) {
            return None;
        }
        let sum = checksum(
            &[&of_dump[..], &options[..], &[length]].concat(),
            sum_of_mapped(&file),
        );
        if rest.last() != Some(&sum) {
            return None;
        }
        dump.watch(&file);
        Some(Saved {
            dump,
            file,
            options,
        })
    }

    pub(crate) fn dump(&self) -> &'a Dump {
        self.dump
    }

    fn sections(&self, memory: &Memory) -> SectionReader {
        SectionReader::new(Arc::clone(&self.file), START, memory)
    }

    /// Returns the counts of objects; `None` if they are for another layout.
    pub(crate) fn counts(&self, layout: Option<Layout>) -> Option<Counts> {
        let counts = Counts::load(&mut self.sections(&Memory::unlimited()))?;
        counts.layout.is_wanted(layout).then_some(counts)
    }

    /// Reads the graph; `None` if the index is for other options, or has impossible numbers.
    #[must_use]
    pub fn heap(&self, options: &Options) -> Option<Heap<'a>> {
        let (layout, rest) = self.options.split_first_chunk::<5>()?;
        let layout = Layout::from_numbers(*layout)?;
        let is_wanted = layout.is_wanted(options.layout) && rest == [excluded(options.excluded)];
        if !is_wanted {
            return None;
        }
        let mut index = self.sections(&options.memory);
        let counts = Counts::load(&mut index)?;
        let heap = read(self.dump, options, (layout, counts), &mut index)?;
        (index.is_at_end() && self.file.is_whole()).then_some(heap)
    }
}

/// Writes an index. It is published whole, for its owner alone, and replaces the one before. Returns its length.
///
/// # Errors
/// If the file cannot be written; then there is none, or the one before. A file that is not an index is left alone.
pub(crate) fn write(
    heap: &Heap<'_>,
    (counts, ways, waste): (&Counts, &Ways, &WasteFound),
    index: &Path,
) -> Result<u64, Error> {
    match check_kind(index) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
        _ => {}
    }
    let new = NewFile::beside(index)?;
    let file = new.file();
    check_room(file, heap)?;
    file.set_permissions(Permissions::from_mode(0o600))?;
    let mut out = SectionWriter::new(SummedWriter::behind_head(file)?);
    counts.save(&mut out)?;
    write_heap(heap, &mut out)?;
    ways.save(&mut out)?;
    waste.save(&mut out)?;
    heap.together.save(&mut out)?;
    let (length, sum) = out.finish().finish()?;
    let mut head = facts(heap.dump).to_vec();
    head.extend(heap.layout.numbers());
    head.extend([excluded(heap.excluded), length]);
    head.push(checksum(&head, sum));
    let head = head.iter().map(|number| number.to_ne_bytes());
    file.write_all_at(&head.flatten().collect::<Vec<u8>>(), 0)?;
    heap.dump.unless_changed(|| Ok::<(), Error>(()))?;
    new.publish(index)?;
    Ok(length)
}

/// Returns an error if the index would take more than half of the free room, which other programs need, or more than a
/// file may have: beyond that, the system ends the process.
fn check_room(file: &File, heap: &Heap<'_>) -> io::Result<()> {
    let found = rustix::fs::fstatvfs(file)?;
    let free = found.f_bavail.saturating_mul(found.f_frsize);
    let most = getrlimit(Resource::Fsize).current.unwrap_or(u64::MAX);
    let about = u64::from(heap.objects.count()) * AN_OBJECT + heap.graph.most_edges();
    match about <= (free / 2).min(most) {
        true => Ok(()),
        false => Err(io::Error::new(
            io::ErrorKind::StorageFull,
            format!("needs about {about} bytes, at most half of the {free} that are free"),
        )),
    }
}

fn write_heap(heap: &Heap<'_>, out: &mut SectionWriter<impl Write>) -> io::Result<()> {
    let classes: Vec<u64> = heap.classes.dumped().map(|class| class.offset).collect();
    out.table(&classes)?;
    out.table(&heap.classes.others())?;
    let mut roots = Vec::new();
    for &(object, root) in &heap.roots {
        let object = ObjectId(object);
        HeapRecord::Root { object, root }.write(&mut roots);
    }
    out.table(&roots)?;
    let places = heap.places.some.iter().map(|&(id, offset)| [id, offset]);
    out.table(&places.collect::<Vec<[u64; 2]>>())?;
    out.table(&[u64::from(heap.places.ascending)])?;
    let all = heap.places.all.get();
    out.table(all.map_or(&[][..], Vec::as_slice))?;
    heap.objects.save(out)?;
    heap.graph.save(out)?;
    heap.dominators.save(out)
}

fn read<'a>(
    dump: &'a Dump,
    options: &Options,
    (layout, counts): (Layout, Counts),
    index: &mut SectionReader,
) -> Option<Heap<'a>> {
    let mut classes = Classes::new(dump.id_size(), options.excluded);
    for offset in index.list()? {
        classes.add_at(offset, dump).ok()?;
    }
    classes.resolve().ok()?;
    classes.lay_out(&layout);
    for other in index.list()? {
        classes.add_other(other, dump)?;
    }
    let roots = roots(&index.list::<u8>()?)?;
    let some = index.list::<[u64; 2]>()?.into_iter();
    let mut places = Places {
        some: some.map(|[id, offset]| (id, offset)).collect(),
        ascending: index.one::<u64>()? != 0,
        ..Places::default()
    };
    let all: Vec<u64> = index.list()?;
    let objects = Objects::load(index, classes.len())?;
    if !places.ascending && !all.is_empty() {
        places.all = (all.len() == objects.count() as usize).then(|| OnceLock::from(all))?;
    }
    let pass = ReferencePass::new(dump, objects, classes, &roots, &layout);
    let SecondPass {
        graph,
        objects,
        classes,
        ..
    } = pass.load(index)?;
    let dominators = Dominators::load(index, &objects)?;
    let ways = Ways::load(index, objects.count())?;
    let waste = WasteFound::load(index, &objects, &classes)?;
    Some(Heap {
        dump,
        memory: options.memory.clone(),
        layout,
        excluded: options.excluded,
        classes,
        objects,
        graph,
        roots,
        places,
        counts: Some(counts),
        dominators,
        ways: OnceLock::from(Arc::new(ways)),
        waste: OnceLock::from(waste),
        together: Together::load(index)?,
    })
}

fn roots(bytes: &[u8]) -> Option<Vec<(u64, Root)>> {
    let mut roots = Vec::new();
    for record in HeapRecords::new(bytes, IdSize::Eight) {
        match record.ok()?.decode().ok()? {
            HeapRecord::Root { object, root } => roots.push((object.0, root)),
            _ => return None,
        }
    }
    Some(roots)
}

/// Returns the facts about a dump that must be the same when an index is made and when it is read.
///
/// They are those of the moment at which the dump was opened: an index of a dump that has been changed meanwhile fits no
/// dump.
fn facts(dump: &Dump) -> [u64; OF_DUMP] {
    let file = dump.file_facts();
    let (number, dumps) = dump.place();
    [
        u64::from_ne_bytes(MAGIC),
        file.len(),
        file.mtime() as u64,
        file.mtime_nsec() as u64,
        samples(dump.file_bytes()),
        number as u64,
        dumps as u64,
    ]
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

fn excluded(excluded: Excluded) -> u64 {
    let Excluded {
        soft,
        weak,
        phantom,
        finalizer,
    } = excluded;
    let kinds = [soft, weak, phantom, finalizer];
    kinds
        .iter()
        .fold(0, |bits, &kind| bits << 1 | u64::from(kind))
}

/// Makes the checksum of an index right, for tests of forged ones.
#[doc(hidden)]
pub fn seal_index(index: &mut [u8]) {
    if let Some((head, rest)) = index.split_at_mut_checked(START) {
        let (numbers, sum) = head.split_at_mut(START - 8);
        let numbers = numbers.as_chunks().0.iter();
        let numbers: Vec<u64> = numbers.map(|&number| u64::from_ne_bytes(number)).collect();
        sum.copy_from_slice(&checksum(&numbers, sum_of(rest)).to_ne_bytes());
    }
}

/// Returns the checksum of an index, given its head and the sum of the rest.
fn checksum(head: &[u64], rest: u64) -> u64 {
    hasher().hash_one((head, rest))
}

fn sum_of(bytes: &[u8]) -> u64 {
    bytes.chunks(BLOCK).fold(0, add_block)
}

/// Returns the sum of a mapped index. A question needs a part of it, so that no page stays in memory for the sum.
fn sum_of_mapped(file: &Mapped) -> u64 {
    let parts = file[START..].chunks(PART);
    parts.fold(0, |sum, part| {
        let sum = part.chunks(BLOCK).fold(sum, add_block);
        file.release();
        sum
    })
}

fn add_block(sum: u64, block: &[u8]) -> u64 {
    hasher().hash_one((sum, block))
}

fn hasher() -> FixedState {
    FixedState::with_seed(u64::from_ne_bytes(MAGIC))
}

/// Writes blocks of a file behind the head, and adds them up.
struct SummedWriter<'a> {
    file: &'a File,
    block: Vec<u8>,
    length: u64,
    sum: u64,
}

impl SummedWriter<'_> {
    fn behind_head(mut file: &File) -> io::Result<SummedWriter<'_>> {
        file.write_all(&[0; START])?;
        Ok(SummedWriter {
            file,
            block: Vec::with_capacity(BLOCK),
            length: START as u64,
            sum: 0,
        })
    }

    fn write_block(&mut self) -> io::Result<()> {
        self.sum = add_block(self.sum, &self.block);
        self.file.write_all(&self.block)?;
        self.length += self.block.len() as u64;
        self.block.clear();
        Ok(())
    }

    /// Returns the length of the file and the sum, as [`sum_of`] does.
    fn finish(mut self) -> io::Result<(u64, u64)> {
        if !self.block.is_empty() {
            self.write_block()?;
        }
        Ok((self.length, self.sum))
    }
}

impl Write for SummedWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = bytes.len().min(BLOCK - self.block.len());
        self.block.extend_from_slice(&bytes[..count]);
        if self.block.len() == BLOCK {
            self.write_block()?;
        }
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A file that is being written, in the folder where it will be.
enum NewFile {
    /// It has no name: nothing is left behind, however the process ends.
    Unnamed(File),
    /// On file systems without such files.
    Named(NamedTempFile),
}

impl NewFile {
    fn beside(path: &Path) -> io::Result<NewFile> {
        use rustix::fs::{Mode, OFlags};
        let folder = match path.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        let (flags, mode) = (OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC, Mode::RUSR);
        if let Ok(file) = rustix::fs::open(folder, flags, mode | Mode::WUSR) {
            return Ok(NewFile::Unnamed(file.into()));
        }
        let named = tempfile::Builder::new()
            .prefix(".hprof-index-")
            .tempfile_in(folder)?;
        Ok(NewFile::Named(named))
    }

    fn file(&self) -> &File {
        match self {
            NewFile::Unnamed(file) => file,
            NewFile::Named(named) => named.as_file(),
        }
    }

    fn publish(self, path: &Path) -> io::Result<()> {
        let file = match self {
            NewFile::Unnamed(file) => file,
            NewFile::Named(named) => {
                named.persist(path)?;
                return Ok(());
            }
        };
        let own = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
        let (here, flags) = (rustix::fs::CWD, rustix::fs::AtFlags::SYMLINK_FOLLOW);
        let mut tries = 0..TRIES;
        loop {
            match rustix::fs::linkat(here, &own, here, path, flags) {
                // A link cannot replace a file. Meanwhile there is no index, which is no harm, but another process may
                // publish its own.
                Err(Errno::EXIST) if tries.next().is_some() => remove_old(path)?,
                published => return Ok(published?),
            }
        }
    }
}
