//! Finds a dump of a file: the ranges of its content, and whether it is whole.

use std::io::Cursor;
use std::ops::Range;

use hprof_format::{
    Completeness, Header, HeapError, HeapRecords, IdSize, Item, NoteMeaning, ObjectLayout,
    RECORD_HEADER, ReadError, Reader, Record, RootsSeen, Section, WholeRecords,
};

use crate::data::error::Error;
use crate::data::mapping::Mapped;
use crate::data::tables::Tables;

/// The segments after which the memory of read pages is given back.
const SEGMENTS: usize = 128;

/// A dump of a file, with the names and stacks before it.
pub(crate) struct FoundDump {
    pub(crate) header: Header,
    /// The ranges of its content.
    pub(crate) segments: Vec<Range<usize>>,
    pub(crate) completeness: Completeness,
    /// The number of dumps up to there.
    pub(crate) count: usize,
    pub(crate) tables: Tables,
    /// The layout that the agent noted before it.
    pub(crate) layout: Option<ObjectLayout>,
    /// The time of the last record that was read, in microseconds since the beginning.
    pub(crate) reached: u64,
}

/// The dumps of a file, of which the last one is kept.
#[derive(Default)]
struct Dumps {
    segments: Vec<Range<usize>>,
    count: usize,
    /// `true` if further segments of the last one may follow.
    is_open: bool,
    /// The layout noted before the last one.
    layout: Option<ObjectLayout>,
    /// The layout noted since then, which is that of the next one.
    next_layout: Option<ObjectLayout>,
}

impl Dumps {
    fn add(&mut self, content: Range<usize>, segment: bool) {
        if !segment || !self.is_open {
            self.segments.clear();
            self.count += 1;
            self.layout = self.next_layout.take();
        }
        self.segments.push(content);
        self.is_open = segment;
    }

    /// Takes a record outside of the dumps, which may be about the next one.
    fn note(&mut self, record: &Record<'_>) {
        if let Some(Section::Note(note)) = Section::of(record)
            && let NoteMeaning::Layout(layout) = note.meaning
        {
            self.next_layout = Some(layout);
        }
    }

    fn end(&mut self) {
        self.is_open = false;
    }
}

/// What a fault among the records of a file turns out to be.
enum Fault {
    /// The content of the last dump ends only at this offset, where reading continues.
    LengthWasWrong(usize),
    /// The file was cut; the last whole record ends at this offset.
    Cut(usize),
    /// The file was cut after the last dump, inside the record at this offset.
    CutAfterwards(u64),
    Damage(ReadError),
}

impl FoundDump {
    /// Finds the last dump, or the one with number `wanted`, counted from 1. In content with gaps only a whole one is
    /// found.
    pub(crate) fn find(
        bytes: &Mapped,
        wanted: Option<usize>,
        has_gaps: bool,
    ) -> Result<FoundDump, Error> {
        let mut reader = Reader::new(Cursor::new(&bytes[..]))?;
        let header = reader.header();
        let mut tables = Tables::default();
        let mut dumps = Dumps::default();
        let mut reached = 0;
        let mut completeness = Completeness::Whole;
        loop {
            let fault = match reader.read() {
                Ok(Some(entry)) => {
                    reached = entry.time.0.max(reached);
                    let offset = entry.offset;
                    match entry.item {
                        Item::Record(record) => {
                            dumps.note(&record);
                            tables.add(&record, offset, header.id_size);
                            None
                        }
                        Item::HeapDumpEnd => {
                            dumps.end();
                            None
                        }
                        Item::HeapDump { segment, length } => {
                            let content = content(offset, length);
                            dumps.add(content.start..content.end.min(bytes.len()), segment);
                            // The system maps pages around each one that is read, and few of them are needed.
                            if dumps.segments.len().is_multiple_of(SEGMENTS) {
                                bytes.release();
                            }
                            // Behind the end of the file there is nothing to read.
                            reader.seek(content.end.min(bytes.len()) as u64)?;
                            let missing = content.end.saturating_sub(bytes.len()) as u64;
                            (missing > 0).then_some(ReadError::Truncated { offset, missing })
                        }
                    }
                }
                Ok(None) if dumps.is_open => {
                    completeness = cut(bytes.len(), bytes, &dumps, header.id_size);
                    break;
                }
                Ok(None) => break,
                Err(fault) => Some(fault),
            };
            if fault.is_some() && has_gaps {
                return Err(Error::NoDump);
            }
            match fault.map(|fault| dumps.judge(fault, bytes, header.id_size)) {
                None => {}
                Some(Fault::LengthWasWrong(end)) => reader.seek(end as u64)?,
                Some(Fault::Cut(at)) => {
                    completeness = cut(at, bytes, &dumps, header.id_size);
                    break;
                }
                Some(Fault::CutAfterwards(at)) => {
                    completeness = Completeness::WholeInCutFile { at };
                    break;
                }
                Some(Fault::Damage(fault)) => return Err(fault.into()),
            }
            if wanted.is_some_and(|wanted| dumps.count == wanted && !dumps.is_open) {
                break;
            }
        }
        if dumps.count == 0 || has_gaps && !completeness.is_whole() {
            return Err(Error::NoDump);
        }
        if let Some(wanted) = wanted
            && wanted != dumps.count
        {
            let dumps = dumps.count;
            return Err(Error::NoSuchDump { wanted, dumps });
        }
        Ok(FoundDump {
            header,
            segments: dumps.segments,
            completeness,
            count: dumps.count,
            tables,
            layout: dumps.layout,
            reached,
        })
    }
}

impl Dumps {
    /// Finds out what is behind a fault. The length of the last dump's record may be wrong: JDK 8 writes 0 first and the
    /// length at the end, and the length of a HEAP DUMP above 4 GB does not fit into its field.
    fn judge(&mut self, fault: ReadError, bytes: &[u8], id_size: IdSize) -> Fault {
        let is_truncated = matches!(fault, ReadError::Truncated { .. });
        let Some(last) = self.segments.last_mut() else {
            return Fault::Damage(fault);
        };
        let whole = WholeRecords::of(&bytes[last.start..], id_size, last.len());
        let end = last.start + whole.end;
        let is_inside = last.end == bytes.len() && is_truncated && fault.offset() < last.end as u64;
        let is_cut = matches!(whole.fault, Some(HeapError::Incomplete { .. }));
        if is_inside {
            // What is no record is reported when it is read.
            if is_cut || whole.fault.is_none() {
                last.end = end;
            }
            return Fault::Cut(last.end);
        }
        let declared = last.len();
        let is_longer = whole.end > declared && (declared == 0 || !whole.ends_at_wanted);
        if is_longer {
            last.end = end;
            let fits = declared != 0 && whole.end & LENGTHS == declared;
            return match whole.fault {
                Some(HeapError::Incomplete { .. }) => Fault::Cut(end),
                None if !fits => Fault::Cut(end),
                _ => Fault::LengthWasWrong(end),
            };
        }
        match fault {
            ReadError::Truncated { offset, .. } if self.is_open => Fault::Cut(offset as usize),
            ReadError::Truncated { offset, .. } => Fault::CutAfterwards(offset),
            damage => Fault::Damage(damage),
        }
    }
}

/// The bits of a length in the file.
const LENGTHS: usize = u32::MAX as usize;

/// Returns how much there is of the last dump, whose last whole record ends at `at`.
fn cut(at: usize, bytes: &[u8], dumps: &Dumps, id_size: IdSize) -> Completeness {
    let mut roots = RootsSeen::default();
    for segment in &dumps.segments {
        let records = HeapRecords::new(&bytes[segment.clone()], id_size);
        // A fault is reported when it is read.
        for record in records.map_while(Result::ok) {
            roots.add(record.kind());
        }
    }
    Completeness::Cut {
        at: at as u64,
        rest: (bytes.len() - at) as u64,
        roots: roots.left(),
    }
}

/// Returns the range of the content of a heap dump's record.
pub(crate) fn content(offset: u64, length: u32) -> Range<usize> {
    // The offset is one in a slice.
    let start = offset as usize + RECORD_HEADER;
    start..start + length as usize
}
