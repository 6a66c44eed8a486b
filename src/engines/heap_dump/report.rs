//! A heap dump's records: first those that the dump names, then the dump itself, in segments.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::path::Path;

use hprof_format::{
    HeapDumpEndRecord, HeapDumpSegmentRecord, HeapSummaryRecord, ObjectBirth, ObjectId,
    ObjectLayout, Record, SegmentRedactor, StringId, StringRecord, TraceSerial,
};

use super::choice::Done;
use super::{Births, DumpError, DumpOutput};
use jvmti::caught;
use memory::{List, OrStop, OutOfMemory};
use names::class::ClassId;
use names::thread::ThreadSerial;
use names::trace::TraceId;
use output::serials;
use output::{Journal, ThreadNames, create_private};
use std::panic::resume_unwind;

/// The size at which a segment is written, in bytes. A larger record has its own segment.
const SEGMENT: usize = 1024 * 1024;

/// The size from which data becomes a segment at once, without being copied.
const DIRECT: usize = SEGMENT / 8;

/// Writes a heap dump. `spool` is a folder for a temporary copy, for an output whose format needs the totals first and
/// a dumper that does not know them in advance.
///
/// `redactor` removes the content of objects before anything is written, also into the spool.
///
/// `births` takes the births of the objects, whose file is there once the dump is whole.
///
/// Anything written before an error stays. In place of the record that would end the dump there is then one with the
/// reason why it broke off.
pub fn heap_dump(
    journal: &Journal,
    spool: Option<&Path>,
    redactor: Option<SegmentRedactor>,
    births: Option<Births<'_>>,
    dump: impl FnOnce(&mut dyn DumpOutput) -> Result<Done, DumpError>,
) -> Result<Done, DumpError> {
    let _holding = journal.hold_events();
    journal.entry(|entry| entry.announce_dump());
    // The announcement must be in the file before the dump takes up room on the disk.
    if !journal.drain() {
        return Err(DumpError::Output);
    }
    let mut output = SegmentWriter {
        journal,
        spool,
        spooled: None,
        redaction: redactor.map(|redactor| Redaction {
            redactor,
            redacted: Vec::new(),
        }),
        births,
        error: None,
        naming: true,
        segment: List::new(),
    };
    let answer = match caught(|| dump(&mut output).and_then(|done| output.finish(done))) {
        Ok(answer) => answer,
        Err(_) if memory::is_out() => Err(DumpError::Memory(OutOfMemory)),
        // The panic continues, without being reported again.
        Err(panicked) => resume_unwind(Box::new(panicked)),
    };
    // A dumper knows only that the output has failed.
    let answer = match output.error.take() {
        Some(error) => Err(error),
        None => answer,
    };
    if let Err(error) = &answer {
        journal.entry(|entry| {
            entry.records.write(&Record::String(StringRecord {
                id: StringId::BROKE_OFF,
                text: Cow::Owned(error.to_string().into_bytes()),
            }));
            entry.dump_ended();
        });
    }
    answer
}

struct SegmentWriter<'a> {
    journal: &'a Journal,
    /// `Some` until the totals are known.
    spool: Option<&'a Path>,
    spooled: Option<Spool>,
    redaction: Option<Redaction>,
    births: Option<Births<'a>>,
    error: Option<DumpError>,
    /// `true` while segments wait for the records that they name.
    naming: bool,
    segment: List<u8>,
}

/// Removes content from segments.
struct Redaction {
    redactor: SegmentRedactor,
    /// The last segment, without content.
    redacted: Vec<u8>,
}

impl DumpOutput for SegmentWriter<'_> {
    fn class(&mut self, class: ClassId, object: ObjectId) {
        self.journal.entry(|entry| {
            entry.class_at(class, object);
            if let Some(Redaction { redactor, .. }) = &mut self.redaction {
                let name = entry.tables.classes.get(class).name;
                redactor.class(object, entry.tables.strings.get(name));
            }
        });
    }

    fn string(&mut self, text: &str) -> StringId {
        let id = self.journal.entry(|entry| entry.interned(text));
        if let Some(Redaction { redactor, .. }) = &mut self.redaction {
            redactor.string(id, text);
        }
        id
    }

    fn trace(&mut self, trace: TraceId) -> TraceSerial {
        self.journal.entry(|entry| entry.trace(trace));
        serials::trace(trace)
    }

    fn virtual_thread(&mut self, name: &str) -> ThreadSerial {
        let names = ThreadNames {
            name: name.to_owned(),
            ..ThreadNames::default()
        };
        self.journal.entry(|entry| {
            let serial = entry.tables.threads.add();
            entry.thread_started(serial, &names);
            serial
        })
    }

    fn layout(&mut self, layout: ObjectLayout) {
        self.journal.entry(|entry| entry.note(&layout.note()));
    }

    fn totals(&mut self, objects: u64, bytes: u64) {
        self.spool = None;
        self.summary(objects, bytes);
    }

    fn all_is_named(&mut self) {
        self.naming = false;
    }

    fn begin_again(&mut self) {
        self.segment.clear();
        self.spooled = None;
        self.naming = true;
    }

    fn births(&mut self, next: u32) {
        let journal = self.journal;
        if let Some(births) = &mut self.births {
            let (file, dumps) = journal.entry(|entry| (entry.records.time(), entry.dumps()));
            births.begin(next, |head| {
                head.file = file.0;
                head.dump = dumps + 1;
            });
        }
    }

    fn born(&mut self, birth: ObjectBirth) {
        if let Some(births) = &mut self.births {
            births.file.add(birth);
        }
    }

    fn records(&mut self, content: &[u8]) -> bool {
        if self.naming {
            self.segment.extend_from_slice(content).or_stop();
            return true;
        }
        let is_direct = content.len() >= DIRECT;
        let is_full = self.segment.len() + content.len() > SEGMENT;
        if !self.segment.is_empty() && (is_direct || is_full) {
            let segment = std::mem::take(&mut self.segment);
            if !self.put(&segment) {
                return false;
            }
            // The memory is kept for the next one.
            self.segment = segment;
            self.segment.clear();
        }
        if is_direct {
            return self.put(content);
        }
        self.segment.extend_from_slice(content).or_stop();
        true
    }
}

impl SegmentWriter<'_> {
    fn finish(&mut self, done: Done) -> Result<Done, DumpError> {
        let rest = std::mem::take(&mut self.segment);
        let mut sound = rest.is_empty() || self.put(&rest);
        if let Some(spooled) = self.spooled.take().filter(|_| sound) {
            self.spool = None;
            self.summary(done.dumped.objects, done.dumped.bytes);
            spooled.for_each(|segment| {
                sound = self.put_redacted(segment);
                sound
            })?;
        }
        if !sound {
            return Err(DumpError::Output);
        }
        self.journal.entry(|entry| {
            entry.records.write(&Record::HeapDumpEnd(HeapDumpEndRecord));
            entry.dump_ended();
            entry.dump_is_whole();
            entry.note(&format!("heap dump {done}"));
        });
        if let Some(births) = &mut self.births {
            births.file.finish();
        }
        Ok(done)
    }

    fn summary(&mut self, objects: u64, bytes: u64) {
        self.journal.entry(|entry| {
            entry.records.write(&Record::HeapSummary(HeapSummaryRecord {
                live_bytes: bytes,
                live_instances: objects,
                allocated_bytes: bytes,
                allocated_instances: objects,
            }))
        });
    }

    /// Writes a segment, or spools it until the totals are known; without its content, if that is to go.
    fn put(&mut self, content: &[u8]) -> bool {
        let Some(mut redaction) = self.redaction.take() else {
            return self.put_redacted(content);
        };
        memory::need(content.len());
        redaction.redacted.clear();
        let answer = redaction.redactor.redact(content, &mut redaction.redacted);
        let is_sound = match answer {
            Ok(()) => self.put_redacted(&redaction.redacted),
            Err(error) => {
                self.error = Some(error.into());
                false
            }
        };
        redaction.redacted.shrink_to(2 * SEGMENT);
        self.redaction = Some(redaction);
        is_sound
    }

    fn put_redacted(&mut self, content: &[u8]) -> bool {
        if let Some(folder) = self.spool {
            let answer = match &mut self.spooled {
                Some(spooled) => spooled.push(content),
                None => Spool::new(folder)
                    .and_then(|spooled| self.spooled.insert(spooled).push(content)),
            };
            self.error = answer.err().map(DumpError::from);
            return self.error.is_none();
        }
        // The output copies it.
        memory::need(2 * content.len());
        self.journal.count_segment();
        self.journal.entry(|entry| {
            entry
                .records
                .write(&Record::HeapDumpSegment(HeapDumpSegmentRecord {
                    content: Cow::Borrowed(content),
                }));
            entry.records.is_sound()
        })
    }
}

/// Segments spooled to a file without a name.
struct Spool {
    file: BufWriter<File>,
    lengths: List<usize>,
}

impl Spool {
    fn new(folder: &Path) -> io::Result<Self> {
        for number in 0.. {
            let name = format!(".hprof.{}.{number}.spool", std::process::id());
            let path = folder.join(name);
            match create_private(&path) {
                // The file was left by a killed program with this number, or belongs to one in another container.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
                Ok(file) => {
                    fs::remove_file(&path)?;
                    return Ok(Self {
                        file: BufWriter::new(file),
                        lengths: List::new(),
                    });
                }
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    fn push(&mut self, segment: &[u8]) -> io::Result<()> {
        self.lengths.push(segment.len()).or_stop();
        self.file.write_all(segment)
    }

    /// Calls `look` with each segment, until it returns `false`.
    fn for_each(self, mut look: impl FnMut(&[u8]) -> bool) -> io::Result<()> {
        let mut file = self.file.into_inner().map_err(|error| error.into_error())?;
        file.rewind()?;
        let mut file = BufReader::new(file);
        let mut segment = List::new();
        for length in self.lengths {
            segment.resize(length, 0).or_stop();
            file.read_exact(&mut segment)?;
            if !look(&segment) {
                break;
            }
        }
        Ok(())
    }
}
