//! Reads a file in the text format, and returns the records of the binary one.

mod course;
mod cpu;
mod error;
mod head;
mod heap;
mod lifetimes;
mod lines;
mod lock_waits;
mod monitor;
mod names;
mod native_sites;
mod old_prof;
mod row;
mod shares;
mod sites;
mod thread;
mod trace;
mod unknown;
mod wall;

use std::collections::VecDeque;
use std::io::Read;

use crate::encode::{Micros, Millis};
use crate::monitor::MonitorRecord;
use crate::record::StringId;
use crate::record::{Record, StringRecord};
use crate::section::{NoteMeaning, TextSection, UnknownSection};
use crate::timing::Timing;
pub use error::TextError;
use head::Head;
use lines::Lines;
pub(crate) use monitor::read_monitor_dump;
use names::AssignedIds;

/// An item in a text file.
#[derive(Clone, Debug, PartialEq)]
pub enum TextItem {
    /// A record that the binary format has too. Strings, classes and frames come before the records that name them.
    Record(Record<'static>),
    /// A record of `monitor=y`.
    Monitor(MonitorRecord<'static>),
    /// The result of timing calls.
    Timing(Timing<'static>),
    /// A heap dump, which is skipped; only its form is checked.
    HeapDump {
        /// The number in its first line.
        objects: u64,
        /// The number in its first line.
        bytes: u64,
    },
}

/// An item in a text file, and its position.
#[derive(Clone, Debug, PartialEq)]
pub struct TextEntry {
    /// The line at which it begins, from 1.
    pub line: u64,
    /// The time at which it was written, as far as the file reveals it: after [`TextReader::time`].
    pub time: Micros,
    /// The content.
    pub item: TextItem,
}

/// Reads a text profile, or a file in the old prof format, from its start to its end.
///
/// Files of this agent and of the JDK's own are treated alike. Times that a file gives as a share of a total are
/// computed from it, so that they print as the same share. `SLEEP` and `EXIT` lines of old VMs are skipped.
#[derive(Debug)]
pub struct TextReader<R> {
    lines: Lines<R>,
    names: AssignedIds,
    head: Head,
    /// The number of notes so far.
    notes: u32,
    /// The note with the sum of rows that the next section omits.
    left_out: Option<String>,
    pending: VecDeque<TextEntry>,
}

/// Returns `true` if a file that starts with these bytes (20 or more, unless it is shorter) is for [`TextReader`].
#[must_use]
pub fn is_text(start: &[u8]) -> bool {
    let profile = start
        .strip_prefix(head::MAGIC.as_bytes())
        .is_some_and(|rest| !rest.iter().take(7).any(|&byte| byte == 0) && !rest.is_empty());
    profile || start.starts_with(&old_prof::HEAD.as_bytes()[..20])
}

impl<R: Read> TextReader<R> {
    /// Reads the beginning of a file.
    ///
    /// # Errors
    /// [`TextError`], if `source` fails or does not start like a text profile.
    pub fn new(source: R) -> Result<TextReader<R>, TextError> {
        let mut lines = Lines::new(source);
        let head = head::read(&mut lines)?;
        Ok(TextReader {
            lines,
            names: AssignedIds::default(),
            head,
            notes: 0,
            left_out: None,
            pending: VecDeque::new(),
        })
    }

    /// Returns the file's time stamp; 0 if it has none.
    pub fn time(&self) -> Millis {
        self.head.created
    }

    /// Returns the id of the profiled process, if the file has it.
    pub fn process(&self) -> Option<u32> {
        self.head.process
    }

    /// Returns the facts about the run, with their labels, in the order of the file.
    pub fn facts(&self) -> &[(String, String)] {
        &self.head.facts
    }

    /// Returns the limit on the frames of traces, if the file has the options of its run.
    pub fn depth(&self) -> Option<u32> {
        self.head.depth
    }

    /// Returns `true` if the file is in the old prof format.
    pub fn is_old_prof(&self) -> bool {
        self.head.old_prof
    }

    /// Reads the next item; `None` after the last one.
    ///
    /// # Errors
    /// [`TextError`]. If it is about one line, the next call continues after that line.
    pub fn read(&mut self) -> Result<Option<TextEntry>, TextError> {
        loop {
            if let Some(entry) = self.pending.pop_front() {
                return Ok(Some(entry));
            }
            if self.lines.next()?.is_none() {
                return Ok(None);
            }
            let line = self.lines.number();
            let found = self.record()?;
            for record in self.names.take() {
                self.push(line, Micros(0), TextItem::Record(record));
            }
            if let Some((time, item)) = found {
                self.push(line, time, item);
            }
        }
    }

    fn push(&mut self, line: u64, time: Micros, item: TextItem) {
        self.pending.push_back(TextEntry { line, time, item });
    }

    /// Reads the item that begins with the line that was just read.
    fn record(&mut self) -> Result<Option<(Micros, TextItem)>, TextError> {
        let mut left_out = self.left_out.take();
        let TextReader {
            lines, names, head, ..
        } = self;
        if head.old_prof {
            let calls = old_prof::read(lines, names)?;
            return Ok(Some((Micros(0), TextItem::Timing(calls))));
        }
        let line = lines.text();
        let first = line.split([' ', ':']).next().unwrap_or_default();
        if let Some(section) = TextSection::begun_by(line) {
            return self.section(section, left_out);
        }
        let untimed = |item| Some((Micros(0), item));
        Ok(match first {
            "" if line.trim().is_empty() => {
                self.left_out = left_out;
                None
            }
            "THREAD" => untimed(TextItem::Record(thread::read(lines, names)?)),
            "TRACE" => untimed(TextItem::Record(trace::read(lines, names)?)),
            "WAIT" | "WAITED" => untimed(TextItem::Monitor(monitor::wait(lines)?)),
            "SLEEP" | "EXIT" => None,
            "HEAP" => Some(heap::read(lines, head)?),
            _ => match line.strip_prefix('(').and_then(|l| l.strip_suffix(')')) {
                Some(note) => {
                    if NoteMeaning::of(note).is_of_left_out_rows() {
                        left_out = Some(note.to_owned());
                    }
                    let record = self::note(&mut self.notes, note.to_owned());
                    self.left_out = left_out;
                    untimed(TextItem::Record(record))
                }
                None => {
                    let unknown = UnknownSection::begun_by(line)
                        .ok_or_else(|| lines.unexpected("the first line of a record"))?;
                    unknown::skip(lines, &unknown.name)?;
                    let record = self::note(&mut self.notes, unknown.text.into_owned());
                    untimed(TextItem::Record(record))
                }
            },
        })
    }

    /// Reads the section whose first line was just read.
    fn section(
        &mut self,
        section: TextSection,
        left_out: Option<String>,
    ) -> Result<Option<(Micros, TextItem)>, TextError> {
        let TextReader {
            lines, names, head, ..
        } = self;
        let left_out = left_out.as_deref();
        let (time, noted) = match section {
            TextSection::CpuSamples | TextSection::CallTimes => {
                return Ok(Some(cpu::read(lines, head, left_out)?));
            }
            TextSection::Sites => {
                let (time, record) = sites::read(lines, names, head, left_out)?;
                return Ok(Some((time, TextItem::Record(record))));
            }
            TextSection::Monitors => {
                return Ok(Some((Micros(0), TextItem::Monitor(monitor::dump(lines)?))));
            }
            TextSection::Contention => {
                let (time, record) = monitor::times(lines, names, head, left_out)?;
                return Ok(Some((time, TextItem::Monitor(record))));
            }
            TextSection::Lifetimes => {
                let (time, lifetimes) = lifetimes::read(lines, names, head)?;
                (time, lifetimes.note())
            }
            TextSection::WallSamples => {
                let (time, samples) = wall::read(lines, head)?;
                (time, samples.note())
            }
            TextSection::LockWaits => {
                let (time, waits) = lock_waits::read(lines, names, head)?;
                (time, waits.note())
            }
            TextSection::NativeSites => {
                let (time, sites) = native_sites::read(lines, head)?;
                (time, sites.note())
            }
            TextSection::Course => {
                let (time, course) = course::read(lines, names, head)?;
                (time, course.note())
            }
        };
        let record = note(&mut self.notes, noted);
        Ok(Some((time, TextItem::Record(record))))
    }
}

/// Returns the record of a note; `notes` is the number of notes so far.
fn note(notes: &mut u32, text: String) -> Record<'static> {
    let id = StringId::note(*notes);
    *notes = notes.saturating_add(1);
    let text = text.into_bytes().into();
    Record::String(StringRecord { id, text })
}
