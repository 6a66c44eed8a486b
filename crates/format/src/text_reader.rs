//! Reads a file in the text format, into the records of the binary one.

mod cpu;
mod error;
mod head;
mod heap;
mod lines;
mod monitor;
mod names;
mod old_prof;
mod row;
mod shares;
mod sites;
mod thread;
mod trace;

use std::collections::VecDeque;
use std::io::Read;

use crate::left_out::tells_what_is_left_out;
use crate::{Micros, Millis, MonitorRecord, Record, StringId, Timing};
pub use error::TextError;
use head::Head;
use lines::Lines;
use names::AssignedIds;

/// What stands in a text file.
#[derive(Clone, Debug, PartialEq)]
pub enum TextItem {
    /// A record that the binary format has too. Strings, classes and frames come before what names them.
    Record(Record<'static>),
    /// What `monitor=y` tells.
    Monitor(MonitorRecord<'static>),
    /// What timing calls yields.
    Timing(Timing<'static>),
    /// A heap dump, which is passed over; only its form is looked at.
    HeapDump {
        /// What its first line says.
        objects: u64,
        /// What its first line says.
        bytes: u64,
    },
}

/// Something in a text file, and where it was found.
#[derive(Clone, Debug, PartialEq)]
pub struct TextEntry {
    /// The line where it begins, from 1 on.
    pub line: u64,
    /// When it was written, as far as the file tells: after [`TextReader::time`].
    pub time: Micros,
    /// What was found.
    pub item: TextItem,
}

/// Reads a text profile, or a file in the old prof format, from its start to its end.
///
/// Files of this agent and of the JDK's own are read alike. Times that a file gives as a share of a total are worked out
/// from it, so that they print as the same share. `SLEEP` and `EXIT` lines of old VMs are passed over.
#[derive(Debug)]
pub struct TextReader<R> {
    lines: Lines<R>,
    names: AssignedIds,
    head: Head,
    /// How many notes there were.
    notes: u32,
    /// The note that says what the next section leaves out.
    left_out: Option<String>,
    pending: VecDeque<TextEntry>,
}

/// Whether a file that starts with these bytes (20 or more, unless it is shorter) is for [`TextReader`].
#[must_use]
pub fn is_text(start: &[u8]) -> bool {
    let profile = start
        .strip_prefix(head::MAGIC.as_bytes())
        .is_some_and(|rest| !rest.iter().take(7).any(|&byte| byte == 0) && !rest.is_empty());
    profile || start.starts_with(&old_prof::HEAD.as_bytes()[..20])
}

impl<R: Read> TextReader<R> {
    /// Reads what a file starts with.
    ///
    /// # Errors
    /// [`TextError`], where `source` fails or does not start like a text profile.
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

    /// The file's time stamp; 0 where it has none.
    pub fn time(&self) -> Millis {
        self.head.created
    }

    /// The number of the process that was profiled, where the file tells it.
    pub fn process(&self) -> Option<u32> {
        self.head.process
    }

    /// Whether the file is in the old prof format.
    pub fn is_old_prof(&self) -> bool {
        self.head.old_prof
    }

    /// Reads what comes next; `None` behind the last record.
    ///
    /// # Errors
    /// [`TextError`]. Where it is about one line, the next call goes on behind that line.
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

    /// What begins with the line that was just read.
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
            "CPU" => Some(cpu::read(lines, head, left_out.as_deref())?),
            "SITES" => {
                let (time, record) = sites::read(lines, names, head, left_out.as_deref())?;
                Some((time, TextItem::Record(record)))
            }
            "MONITOR" if line.starts_with(monitor::DUMP) => {
                untimed(TextItem::Monitor(monitor::dump(lines)?))
            }
            "MONITOR" => {
                let (time, record) = monitor::times(lines, names, head, left_out.as_deref())?;
                Some((time, TextItem::Monitor(record)))
            }
            "HEAP" => Some(heap::read(lines, head)?),
            _ => match line.strip_prefix('(').and_then(|l| l.strip_suffix(')')) {
                Some(note) => {
                    if tells_what_is_left_out(note) {
                        left_out = Some(note.to_owned());
                    }
                    let id = StringId::note(self.notes);
                    let text = note.as_bytes().to_vec().into();
                    self.notes = self.notes.saturating_add(1);
                    self.left_out = left_out;
                    untimed(TextItem::Record(Record::String { id, text }))
                }
                None => return Err(lines.unexpected("the first line of a record")),
            },
        })
    }
}
