//! The index of a dump: a file that holds its graph and its dominators, so that they need not be found again for each
//! question.
//!
//! It begins with a head: the version of the format, the dump that it was made of, the options, and a checksum of the
//! rest. An index that is not exactly as expected is not used. Whoever forges one can make the checksum right as well,
//! so all numbers in it are checked: where they are read if that takes no time, otherwise where they are used. A forged
//! index can make answers wrong, and does no other harm.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, OnceLock};

use hprof_format::{AccessPoints, HeapRecord, HeapRecords, IdSize, ObjectId, Root};
use hprof_os::files;

use crate::data::classes::Classes;
use crate::data::compressed::{Compressed, CompressedSections};
use crate::data::compressed_sections;
use crate::data::counts::Counts;
use crate::data::dominators::Dominators;
use crate::data::dump::Dump;
use crate::data::error::Error;
use crate::data::findings::{JointSizes, WasteFound};
use crate::data::heap::{Heap, Options};
use crate::data::index_file::{NewFile, check_kind};
use crate::data::index_head::{BLOCK, OF_OPTIONS, START, SoundIndex, add_block, head, sum_of};
use crate::data::layout::Layout;
use crate::data::mapping::Mapped;
use crate::data::memory::Memory;
use crate::data::objects::Objects;
use crate::data::record_offsets::{RecordOffsets, Strides};
use crate::data::reference_pass::{ReferencePass, SecondPass};
use crate::data::references::Excluded;
use crate::data::sections::{SectionReader, SectionWriter};
use crate::data::shortest_paths::ShortestPaths;
use crate::data::turns::at_once;
use crate::data::usual::{Bounds, Usual};
use crate::data::zones::{SearchZones, Zones, zones_of};

/// An index of a dump, whose checksum is right.
pub struct Saved<'a> {
    dump: &'a Dump,
    file: Arc<Mapped>,
    /// How the dump was read.
    options: [u64; OF_OPTIONS],
}

impl<'a> Saved<'a> {
    /// Opens the index of a dump; `None` if there is none that belongs to the dump and is sound.
    #[must_use]
    pub fn open(dump: &'a Dump, index: &Path) -> Option<Saved<'a>> {
        let known = dump
            .compressed()
            .and_then(|compressed| compressed.index_at(index));
        let sound = match known {
            Some(file) => SoundIndex::of(Arc::clone(file))?,
            None => {
                let threads = dump.threads();
                let sound = SoundIndex::open(index, threads);
                sound.filter(|sound| sound.is_of(dump.file(), threads))?
            }
        };
        if sound.of_dump != place_of(dump) {
            return None;
        }
        dump.watch(&sound.file);
        Some(Saved {
            dump,
            file: sound.file,
            options: sound.options,
        })
    }

    pub(crate) fn dump(&self) -> &'a Dump {
        self.dump
    }

    /// Returns the sections after those of a compressed file.
    fn sections(&self, memory: &Memory) -> Option<SectionReader> {
        let mut sections = SectionReader::new(Arc::clone(&self.file), START, memory);
        CompressedSections::load(&mut sections)?;
        Some(sections)
    }

    /// Returns the counts of objects; `None` if they are for another layout.
    pub(crate) fn counts(&self, layout: Option<Layout>) -> Option<Counts> {
        let counts = Counts::load(&mut self.sections(&Memory::unlimited())?)?;
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
        let mut index = self.sections(&options.memory)?;
        let counts = Counts::load(&mut index)?;
        let heap = read(self.dump, options, (layout, counts), &mut index)?;
        (index.is_at_end() && self.file.is_whole()).then_some(heap)
    }
}

impl Dump {
    /// Finds a dump of a gzip file of which all has been unpacked to `content`: the last one, or the one with number
    /// `wanted`, counted from 1.
    ///
    /// # Errors
    /// As [`Dump::open`].
    pub fn of_compressed(
        content: &File,
        wanted: Option<usize>,
        file: &File,
        points: &AccessPoints,
    ) -> Result<Dump, Error> {
        let compressed = Compressed::unpacked(file, content, points, &Memory::unlimited())?;
        Dump::of(content, wanted, Some(compressed))
    }

    /// Finds a dump of a gzip file in its index. `content` is an empty temporary file: what questions need is unpacked
    /// into it. `None` if there is no index that belongs to the file and is sound.
    #[must_use]
    pub fn in_index(
        content: &File,
        wanted: Option<usize>,
        file: &File,
        index: &Path,
    ) -> Option<Dump> {
        let file = Mapped::of(file).ok()?;
        let sound = SoundIndex::open(index, 1).filter(|sound| sound.is_of(&file, 1))?;
        let memory = Memory::unlimited();
        let mut sections = SectionReader::new(Arc::clone(&sound.file), START, &memory);
        let sections = CompressedSections::load(&mut sections)??;
        let index = (index.to_owned(), sound.file);
        let compressed = Compressed::from_index(file, content, sections, index).ok()?;
        Dump::of(content, wanted, Some(compressed)).ok()
    }
}

/// What takes passes over the dump or the graph of it, and an index has.
type Answers<'a> = (&'a Counts, &'a ShortestPaths, &'a WasteFound, &'a Usual);

/// Writes an index. It is published whole, for its owner alone, and replaces the one before. Returns its length.
///
/// # Errors
/// If the file cannot be written; then there is none, or the one before. A file that is not an index is left alone.
pub(crate) fn write(heap: &Heap<'_>, answers: Answers<'_>, index: &Path) -> Result<u64, Error> {
    match check_kind(index) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
        _ => {}
    }
    let new = NewFile::next_to(index)?;
    let file = new.file();
    check_room(file, length_of_sections(heap, answers)?)?;
    files::make_private(file)?;
    let sections = || write_sections(heap, answers, file);
    // The sum takes a pass over the dump's file.
    let (whole, written) = at_once(
        heap.dump.threads(),
        || sum_of(heap.dump.file(), 1),
        sections,
    );
    let (length, sum) = written?;
    let layout = heap.layout.numbers();
    let mut options = [excluded(heap.excluded); OF_OPTIONS];
    options[..layout.len()].copy_from_slice(&layout);
    let dump = (heap.dump.file(), whole, place_of(heap.dump));
    let head = head(dump, options, (length, sum));
    files::write_all_at(file, &head, 0)?;
    // The sum of the file would be that of another one.
    if !heap.dump.file().is_untouched() {
        return Err(Error::Changed);
    }
    heap.dump.unless_changed(|| Ok::<(), Error>(()))?;
    new.publish(index)?;
    Ok(length)
}

/// Returns an error if an index of so many bytes would take more than half of the free room, which other programs need,
/// or more than a file may have: beyond that, the system ends the process.
fn check_room(file: &File, length: u64) -> io::Result<()> {
    let free = files::free_space(file)?;
    match length <= (free / 2).min(files::longest()) {
        true => Ok(()),
        false => Err(io::Error::new(
            io::ErrorKind::StorageFull,
            format!("needs {length} bytes, but may take at most half of the {free} that are free"),
        )),
    }
}

/// Returns the length of an index.
fn length_of_sections(heap: &Heap<'_>, answers: Answers<'_>) -> Result<u64, Error> {
    let mut out = SectionWriter::new(Counted(START as u64));
    save_sections(heap, answers, &mut out)?;
    Ok(out.finish().0)
}

/// Counts bytes, and writes none.
struct Counted(u64);

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes the sections after the head; returns the length of the file and the sum.
fn write_sections(heap: &Heap<'_>, answers: Answers<'_>, file: &File) -> Result<(u64, u64), Error> {
    let mut out = SectionWriter::new(SummedWriter::after_head(file)?);
    save_sections(heap, answers, &mut out)?;
    Ok(out.finish().finish()?)
}

fn save_sections(
    heap: &Heap<'_>,
    (counts, shortest_paths, waste, usual): Answers<'_>,
    out: &mut SectionWriter<impl Write>,
) -> Result<(), Error> {
    compressed_sections::save(heap, out)?;
    counts.save(out)?;
    write_heap(heap, out)?;
    shortest_paths.save(out)?;
    waste.save(out)?;
    heap.joint_sizes.save(out)?;
    usual.save(out)?;
    Ok(())
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
    let record_offsets = heap
        .record_offsets
        .samples
        .iter()
        .map(|&(id, offset)| [id, offset]);
    out.table(&record_offsets.collect::<Vec<[u64; 2]>>())?;
    out.table(&[u64::from(heap.record_offsets.ascending)])?;
    if let Some(strides) = heap.record_offsets.strides.get() {
        strides.save(out)?;
    }
    heap.objects.save(out)?;
    heap.graph.save(out)?;
    heap.dominators.save(out)?;
    let zones = heap.zones()?;
    zones.rows.save(out)?;
    zones.nodes.save(out)
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
    let samples = index.list::<[u64; 2]>()?.into_iter();
    let mut record_offsets = RecordOffsets {
        samples: samples.map(|[id, offset]| (id, offset)).collect(),
        ascending: index.one::<u64>()? != 0,
        ..RecordOffsets::default()
    };
    if !record_offsets.ascending {
        record_offsets.strides = OnceLock::from(Strides::load(index)?);
    }
    let objects = Objects::load(index, classes.len())?;
    let strides = record_offsets.strides.get();
    if strides.is_some_and(|strides| strides.len() != objects.count() as usize) {
        return None;
    }
    let pass = ReferencePass::new(dump, objects, classes, &roots, &layout);
    let SecondPass {
        graph,
        objects,
        classes,
        ..
    } = pass.load(index)?;
    let dominators = Dominators::load(index, &objects)?;
    let count = objects.count();
    let zones = SearchZones {
        rows: Zones::load(index, zones_of(count as usize), count)?,
        nodes: Zones::load(index, zones_of(dominators.live()), count)?,
    };
    let shortest_paths = ShortestPaths::load(index, objects.count())?;
    let waste = WasteFound::load(index, &objects, &classes)?;
    let joint_sizes = JointSizes::load(index)?;
    let bounds = Bounds {
        nodes: dominators.len(),
        objects: objects.count(),
        classes: classes.len(),
        sites: objects.sites.len(),
    };
    let usual = Usual::load(index, &bounds)?;
    Some(Heap {
        dump,
        memory: options.memory.clone(),
        layout,
        excluded: options.excluded,
        classes,
        objects,
        graph,
        roots,
        record_offsets,
        counts: Some(counts),
        dominators,
        shortest_paths: OnceLock::from(Arc::new(shortest_paths)),
        waste: OnceLock::from(waste),
        joint_sizes,
        usual_suspects: OnceLock::new(),
        usual: OnceLock::from(usual),
        zones: OnceLock::from(zones),
        callback_classes: OnceLock::new(),
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

/// Returns the number of a dump among those of its file, and how many there are.
fn place_of(dump: &Dump) -> [u64; 2] {
    let (number, dumps) = dump.number_and_count();
    [number as u64, dumps as u64]
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

/// Writes blocks of a file after the head, and adds them up.
struct SummedWriter<'a> {
    file: &'a File,
    block: Vec<u8>,
    length: u64,
    sum: u64,
}

impl SummedWriter<'_> {
    fn after_head(mut file: &File) -> io::Result<SummedWriter<'_>> {
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

    /// Returns the length of the file and the sum of what was written.
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
