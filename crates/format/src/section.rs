//! The sections of a file: the results of measurements, and what is said about them.
//!
//! The binary format has records for allocation sites and CPU samples alone. Other results are notes in it: STRING records
//! that no record names, which readers of others pass over. [`Section::of`] reads all of them, [`Section::note`] writes those
//! that are notes. Code that takes sections matches all of them, so that a new one cannot be forgotten.

use std::borrow::Cow;
use std::time::Duration;

use crate::course::LiveCourse;
use crate::heap_layout::ObjectLayout;
use crate::left_out::LeftOut;
use crate::lifetimes::Lifetimes;
use crate::lock_waits::LockWaits;
use crate::memory_look::MemoryLook;
use crate::monitor::{ContendedTime, END_OF_SNAPSHOT, MonitorRecord, MonitorState, ThreadState};
use crate::native_sites::NativeSites;
use crate::origin::Origin;
use crate::printable::printable;
use crate::record::{AllocSitesRecord, CpuSamplesRecord, Record, StringRecord, ThreadSerial};
use crate::sample_times::SampleTimes;
use crate::standard_errors::StandardErrors;
use crate::timing::Timing;
use crate::uncounted::Uncounted;
use crate::wall::WallSamples;

/// A section of a file.
#[derive(Clone, Debug, PartialEq)]
pub enum Section<'a> {
    /// ALLOC SITES.
    Sites(&'a AllocSitesRecord<'a>),
    /// CPU SAMPLES.
    CpuSamples(&'a CpuSamplesRecord<'a>),
    /// CPU TIME, or the calls of the old prof format.
    CallTimes(&'a Timing<'a>),
    /// WALL SAMPLES.
    WallSamples(WallSamples),
    /// LOCK WAITS.
    LockWaits(LockWaits),
    /// NATIVE SITES.
    NativeSites(NativeSites),
    /// MONITOR DUMP.
    Monitors {
        /// All live threads.
        threads: Cow<'a, [ThreadState]>,
        /// All monitors that threads want or wait for.
        monitors: Cow<'a, [MonitorState]>,
    },
    /// MONITOR TIME.
    Contention {
        /// The time of all rows, including omitted ones, in nanoseconds.
        total: u64,
        /// The number of waits in all rows, including omitted ones.
        count: u64,
        /// The rows.
        rows: Cow<'a, [ContendedTime]>,
    },
    /// SITE LIFETIMES.
    Lifetimes(Lifetimes),
    /// LIVE COURSE.
    Course(LiveCourse),
    /// SAMPLE TIMES.
    SampleTimes(SampleTimes),
    /// The end of a snapshot for `hprof live`.
    EndOfSnapshot,
    /// A note.
    Note(Note<'a>),
    /// A section of a newer agent, or a damaged one.
    Unknown(UnknownSection<'a>),
}

/// Defines the results that have a form of their own in text.
macro_rules! text_sections {
    ($($kind:ident = $name:literal,)*) => {
        /// A result that has a form of its own in text.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum TextSection {
            $($kind,)*
        }

        impl TextSection {
            /// Returns the section that begins with a line.
            pub(crate) fn begun_by(line: &str) -> Option<TextSection> {
                let sections = [$((TextSection::$kind, $name),)*];
                let of_line = sections.into_iter().find(|(_, name)| line.starts_with(name));
                of_line.map(|(section, _)| section)
            }
        }
    };
}

text_sections! {
    Sites = "SITES",
    CpuSamples = "CPU SAMPLES",
    CallTimes = "CPU TIME",
    WallSamples = "WALL SAMPLES",
    LockWaits = "LOCK WAITS",
    NativeSites = "NATIVE SITES",
    Monitors = "MONITOR DUMP",
    Contention = "MONITOR TIME",
    Lifetimes = "SITE LIFETIMES",
    Course = "LIVE COURSE",
}

/// A line for people, about the next section or about the file.
#[derive(Clone, Debug, PartialEq)]
pub struct Note<'a> {
    /// The line.
    pub text: Cow<'a, str>,
    /// What it says to a program.
    pub meaning: NoteMeaning,
}

/// What a note says to a program.
#[derive(Clone, Debug, PartialEq)]
pub enum NoteMeaning {
    /// The sums of the rows that the next ALLOC SITES omit.
    LeftOutSites(LeftOut<4>),
    /// The sums of the rows that the next CPU TIME omits.
    LeftOutCallTimes(LeftOut<2>),
    /// The sums of the rows that the next MONITOR TIME omits.
    LeftOutContentions(LeftOut<2>),
    /// How far the totals of the next ALLOC SITES may be off.
    StandardErrors(StandardErrors),
    /// A method whose calls are no longer counted.
    Uncounted(Uncounted),
    /// The limits on the frames of stacks, of several runs.
    Depths(Vec<u32>),
    /// The CPU time that each of the next CPU SAMPLES stands for.
    Interval(Duration),
    /// The layout of the objects in the next heap dump.
    Layout(ObjectLayout),
    /// The run that the next traces come from.
    Origin(Origin),
    /// The name that a thread got after its START THREAD was written.
    Renamed {
        /// Its serial number.
        thread: ThreadSerial,
        /// The new name.
        name: String,
    },
    /// What readers should know about the numbers, to be shown with them.
    Remark(String),
    /// The CPU time that the process used while it was profiled, in whole milliseconds.
    ProcessCpu(Duration),
    /// Where the memory of the process was at a moment of the profile.
    Memory(MemoryLook),
    /// The end of the profile, so long after its beginning, in whole milliseconds.
    End(Duration),
    /// Nothing.
    None,
}

/// A section that this version cannot read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownSection<'a> {
    /// Its name, such as `GC PAUSES`.
    pub name: Cow<'a, str>,
    /// All of it.
    pub text: Cow<'a, str>,
}

/// The beginning of [`NoteMeaning::Depths`], and the separator between two limits.
const DEPTHS: &str = "depth: ";
const DEPTH_SEPARATOR: &str = ", ";
/// The beginning and the end of [`NoteMeaning::Interval`].
const INTERVAL: &str = "a CPU sample stands for ";
const INTERVAL_UNIT: &str = " ns";
/// The beginning of [`NoteMeaning::Renamed`], and what is between the thread and its name.
const RENAMED: &str = "thread ";
const NEW_NAME: &str = " was renamed: ";
/// The beginning of [`NoteMeaning::Remark`].
const REMARK: &str = "remark: ";
/// The beginning and the end of [`NoteMeaning::ProcessCpu`].
const PROCESS_CPU: &str = "the process used ";
const PROCESS_CPU_UNIT: &str = " s of CPU time";
/// The beginning and the end of [`NoteMeaning::End`].
const END: &str = "end of the profile, after ";
const END_UNIT: &str = " s";

impl<'a> Section<'a> {
    /// Returns the section that a record is; `None` for any other record, such as a name, a stack or a fact about the run.
    #[must_use]
    pub fn of(record: &'a Record<'a>) -> Option<Section<'a>> {
        match record {
            Record::AllocSites(sites) => Some(Section::Sites(sites)),
            Record::CpuSamples(samples) => Some(Section::CpuSamples(samples)),
            Record::String(StringRecord { id, text }) if id.is_note() && !id.is_fact() => {
                Some(Section::of_note(String::from_utf8_lossy(text)))
            }
            _ => None,
        }
    }

    /// Returns the section that a record about monitors is; `None` for a single wait.
    #[must_use]
    pub fn of_monitor(record: &'a MonitorRecord<'a>) -> Option<Section<'a>> {
        match record {
            MonitorRecord::Wait { .. } | MonitorRecord::Waited { .. } => None,
            MonitorRecord::Dump { threads, monitors } => Some(Section::Monitors {
                threads: Cow::Borrowed(threads),
                monitors: Cow::Borrowed(monitors),
            }),
            MonitorRecord::Time { total, count, rows } => Some(Section::Contention {
                total: *total,
                count: *count,
                rows: Cow::Borrowed(rows),
            }),
        }
    }

    fn of_note(text: Cow<'a, str>) -> Section<'a> {
        if let Some(samples) = WallSamples::of_note(&text) {
            return Section::WallSamples(samples);
        }
        if let Some(waits) = LockWaits::of_note(&text) {
            return Section::LockWaits(waits);
        }
        if let Some(sites) = NativeSites::of_note(&text) {
            return Section::NativeSites(sites);
        }
        if let Some(lifetimes) = Lifetimes::of_note(&text) {
            return Section::Lifetimes(lifetimes);
        }
        if let Some(course) = LiveCourse::of_note(&text) {
            return Section::Course(course);
        }
        if let Some(times) = SampleTimes::of_note(&text) {
            return Section::SampleTimes(times);
        }
        match MonitorRecord::of_note(&text) {
            Some(MonitorRecord::Dump { threads, monitors }) => {
                return Section::Monitors { threads, monitors };
            }
            Some(MonitorRecord::Time { total, count, rows }) => {
                return Section::Contention { total, count, rows };
            }
            Some(MonitorRecord::Wait { .. } | MonitorRecord::Waited { .. }) | None => {}
        }
        if text == END_OF_SNAPSHOT {
            return Section::EndOfSnapshot;
        }
        match UnknownSection::name_in(&text) {
            Some(name) => Section::Unknown(UnknownSection {
                name: Cow::Owned(name.to_owned()),
                text,
            }),
            None => Section::Note(Note {
                meaning: NoteMeaning::of(&text),
                text,
            }),
        }
    }

    /// Returns the note that a binary file has for the section; `None` if it has a record for it, or cannot have it at all.
    #[must_use]
    pub fn note(&self) -> Option<Cow<'_, str>> {
        Some(match self {
            Section::Sites(_) | Section::CpuSamples(_) | Section::CallTimes(_) => return None,
            Section::WallSamples(samples) => samples.note().into(),
            Section::LockWaits(waits) => waits.note().into(),
            Section::NativeSites(sites) => sites.note().into(),
            Section::Monitors { threads, monitors } => {
                let record = MonitorRecord::Dump {
                    threads: Cow::Borrowed(threads),
                    monitors: Cow::Borrowed(monitors),
                };
                record.note()?.into()
            }
            Section::Contention { total, count, rows } => {
                let record = MonitorRecord::Time {
                    total: *total,
                    count: *count,
                    rows: Cow::Borrowed(rows),
                };
                record.note()?.into()
            }
            Section::Lifetimes(lifetimes) => lifetimes.note().into(),
            Section::Course(course) => course.note().into(),
            Section::SampleTimes(times) => times.note().into(),
            Section::EndOfSnapshot => END_OF_SNAPSHOT.into(),
            Section::Note(note) => Cow::Borrowed(&note.text),
            Section::Unknown(unknown) => Cow::Borrowed(&unknown.text),
        })
    }
}

impl Note<'_> {
    /// Returns the note that the process used so much CPU time.
    #[must_use]
    pub fn of_process_cpu(used: Duration) -> Note<'static> {
        let seconds = used.as_secs_f64();
        Note {
            text: format!("{PROCESS_CPU}{seconds:.3}{PROCESS_CPU_UNIT}").into(),
            meaning: NoteMeaning::ProcessCpu(used),
        }
    }

    /// Returns the last note of a profile that is so long.
    #[must_use]
    pub fn of_end(length: Duration) -> Note<'static> {
        Note {
            text: format!("{END}{:.3}{END_UNIT}", length.as_secs_f64()).into(),
            meaning: NoteMeaning::End(length),
        }
    }

    /// Returns the note with this meaning, which [`NoteMeaning::Depths`], [`NoteMeaning::Interval`], [`NoteMeaning::Layout`], [`NoteMeaning::Origin`],
    /// [`NoteMeaning::Renamed`], [`NoteMeaning::Remark`], [`NoteMeaning::ProcessCpu`], [`NoteMeaning::Memory`], [`NoteMeaning::End`], [`NoteMeaning::StandardErrors`] and [`NoteMeaning::Uncounted`] determine; `None` for the others.
    #[must_use]
    pub fn of_meaning(meaning: NoteMeaning) -> Option<Note<'static>> {
        let text = match &meaning {
            NoteMeaning::Depths(depths) => {
                let depths: Vec<String> = depths.iter().map(u32::to_string).collect();
                format!("{DEPTHS}{}", depths.join(DEPTH_SEPARATOR))
            }
            NoteMeaning::Interval(interval) => {
                format!("{INTERVAL}{}{INTERVAL_UNIT}", interval.as_nanos())
            }
            NoteMeaning::Origin(origin) => origin.note(),
            NoteMeaning::Renamed { thread, name } => {
                format!("{RENAMED}{thread}{NEW_NAME}{}", printable(name))
            }
            NoteMeaning::Remark(remark) => format!("{REMARK}{}", printable(remark)),
            NoteMeaning::ProcessCpu(used) => return Some(Note::of_process_cpu(*used)),
            NoteMeaning::Memory(look) => look.note(),
            NoteMeaning::End(length) => return Some(Note::of_end(*length)),
            NoteMeaning::StandardErrors(errors) => errors.note(),
            NoteMeaning::Uncounted(uncounted) => uncounted.note(),
            NoteMeaning::Layout(layout) => layout.note(),
            // The cutoff is part of the text.
            NoteMeaning::LeftOutSites(_)
            | NoteMeaning::LeftOutCallTimes(_)
            | NoteMeaning::LeftOutContentions(_)
            | NoteMeaning::None => return None,
        };
        Some(Note {
            text: text.into(),
            meaning,
        })
    }
}

impl NoteMeaning {
    /// Returns what a note says.
    #[must_use]
    pub fn of(note: &str) -> NoteMeaning {
        if let Some(left_out) = LeftOut::of_sites(note) {
            return NoteMeaning::LeftOutSites(left_out);
        }
        if let Some(left_out) = LeftOut::of_call_times(note) {
            return NoteMeaning::LeftOutCallTimes(left_out);
        }
        if let Some(left_out) = LeftOut::of_contentions(note) {
            return NoteMeaning::LeftOutContentions(left_out);
        }
        if let Some(errors) = StandardErrors::of_note(note) {
            return NoteMeaning::StandardErrors(errors);
        }
        if let Some(uncounted) = Uncounted::of_note(note) {
            return NoteMeaning::Uncounted(uncounted);
        }
        if let Some(layout) = ObjectLayout::of_note(note) {
            return NoteMeaning::Layout(layout);
        }
        if let Some(depths) = note.strip_prefix(DEPTHS) {
            let depths = depths.split(DEPTH_SEPARATOR).map(str::parse);
            if let Ok(depths) = depths.collect() {
                return NoteMeaning::Depths(depths);
            }
        }
        if let Some(nanos) = note.strip_prefix(INTERVAL)
            && let Some(Ok(nanos)) = nanos.strip_suffix(INTERVAL_UNIT).map(str::parse)
        {
            return NoteMeaning::Interval(Duration::from_nanos(nanos));
        }
        if let Some((thread, name)) = note
            .strip_prefix(RENAMED)
            .and_then(|rest| rest.split_once(NEW_NAME))
            && let Ok(thread) = thread.parse().map(ThreadSerial)
        {
            let name = name.to_owned();
            return NoteMeaning::Renamed { thread, name };
        }
        if let Some(remark) = note.strip_prefix(REMARK) {
            return NoteMeaning::Remark(remark.to_owned());
        }
        if let Some(used) = seconds(note, PROCESS_CPU, PROCESS_CPU_UNIT) {
            return NoteMeaning::ProcessCpu(used);
        }
        if let Some(look) = MemoryLook::of_note(note) {
            return NoteMeaning::Memory(look);
        }
        if let Some(length) = seconds(note, END, END_UNIT) {
            return NoteMeaning::End(length);
        }
        Origin::of_note(note).map_or(NoteMeaning::None, NoteMeaning::Origin)
    }

    /// Returns `true` if the note states the sum of omitted rows: a caller that adds the sum to the rows does not need it.
    #[must_use]
    pub fn is_of_left_out_rows(&self) -> bool {
        match self {
            NoteMeaning::LeftOutSites(_)
            | NoteMeaning::LeftOutCallTimes(_)
            | NoteMeaning::LeftOutContentions(_) => true,
            NoteMeaning::StandardErrors(_)
            | NoteMeaning::Uncounted(_)
            | NoteMeaning::Depths(_)
            | NoteMeaning::Interval(_)
            | NoteMeaning::Layout(_)
            | NoteMeaning::Origin(_)
            | NoteMeaning::Renamed { .. }
            | NoteMeaning::Remark(_)
            | NoteMeaning::ProcessCpu(_)
            | NoteMeaning::Memory(_)
            | NoteMeaning::End(_)
            | NoteMeaning::None => false,
        }
    }
}

impl UnknownSection<'_> {
    /// Returns what is said of a section with this name.
    #[must_use]
    pub fn remark(name: &str) -> String {
        format!("the file has a section {name}, which this version of hprof cannot read")
    }

    /// Returns the name of the section that a note is: its first line is the name in capitals, and facts in parentheses, or
    /// `BEGIN`.
    fn name_in(note: &str) -> Option<&str> {
        let first = note.lines().next()?;
        let name = match first.split_once(" (") {
            Some((name, facts)) if facts.ends_with(')') => name,
            _ => first.strip_suffix(" BEGIN")?,
        };
        is_section_name(name).then_some(name)
    }

    /// Returns the section of a text file that begins with this line, `GC PAUSES BEGIN (total = 7) Fri Nov 20 10:39:11 2026`,
    /// as far as this line gives it.
    pub(crate) fn begun_by(line: &str) -> Option<UnknownSection<'static>> {
        let (name, rest) = line.split_once(" BEGIN")?;
        let is_begin = is_section_name(name) && (rest.is_empty() || rest.starts_with(' '));
        let facts = rest
            .split_once('(')
            .and_then(|(_, rest)| rest.split_once(')'));
        let facts = facts.map_or("", |(facts, _)| facts);
        is_begin.then(|| UnknownSection {
            name: Cow::Owned(name.to_owned()),
            text: Cow::Owned(format!("{name} ({facts})")),
        })
    }
}

/// Returns the seconds between the beginning and the end of a note.
fn seconds(note: &str, beginning: &str, end: &str) -> Option<Duration> {
    let seconds = note.strip_prefix(beginning)?.strip_suffix(end)?;
    Duration::try_from_secs_f64(seconds.parse().ok()?).ok()
}

/// Returns `true` for words in capitals.
fn is_section_name(name: &str) -> bool {
    let is_word = |word: &str| word.len() > 1 && word.bytes().all(|b| b.is_ascii_uppercase());
    name.split(' ').all(is_word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{StringId, TraceSerial};
    use crate::wall::WallSample;

    fn section(text: &str) -> Section<'_> {
        Section::of_note(Cow::Borrowed(text))
    }

    #[test]
    fn a_section_is_read_as_it_was_written() {
        let samples = Section::WallSamples(WallSamples {
            total: 3,
            interval: 20,
            threads: Some(1),
            rows: vec![WallSample {
                count: 3,
                trace: TraceSerial(300_001),
            }],
        });
        let sections = [
            samples,
            Section::LockWaits(LockWaits::default()),
            Section::NativeSites(NativeSites::default()),
            Section::Monitors {
                threads: Cow::Borrowed(&[]),
                monitors: Cow::Borrowed(&[]),
            },
            Section::Contention {
                total: 7,
                count: 1,
                rows: Cow::Borrowed(&[]),
            },
            Section::Lifetimes(Lifetimes::default()),
            Section::Course(LiveCourse::default()),
            Section::SampleTimes(SampleTimes {
                step: 250,
                ..SampleTimes::default()
            }),
            Section::EndOfSnapshot,
            Section::Note(Note {
                text: "as of the last collection".into(),
                meaning: NoteMeaning::None,
            }),
        ];
        for section in sections {
            let note = section.note().expect("a note").into_owned();
            assert_eq!(super::Section::of_note(Cow::Owned(note)), section);
        }
    }

    #[test]
    fn a_note_with_a_meaning_is_read_as_it_was_written() {
        for meaning in [
            NoteMeaning::Depths(vec![4, 512]),
            NoteMeaning::Interval(Duration::from_micros(2_500)),
            NoteMeaning::Origin(Origin {
                host: Some("web-1".to_owned()),
                file: None,
            }),
            NoteMeaning::End(Duration::from_millis(2_345)),
            NoteMeaning::ProcessCpu(Duration::from_millis(5_070)),
            NoteMeaning::Renamed {
                thread: ThreadSerial(200_005),
                name: "worker was renamed: 3".to_owned(),
            },
            NoteMeaning::Remark("1 of 3 chunks is damaged".to_owned()),
            NoteMeaning::Layout(ObjectLayout::USUAL),
            NoteMeaning::StandardErrors(StandardErrors([1, 2, 3, 4])),
        ] {
            let note = Note::of_meaning(meaning.clone()).expect("a note");
            assert_eq!(NoteMeaning::of(&note.text), meaning);
        }
    }

    #[test]
    fn what_is_not_known_is_named() {
        for (text, name) in [
            ("GC PAUSES (total = 7)\n1 2 3", "GC PAUSES"),
            ("GC PAUSES BEGIN\n1 2 3", "GC PAUSES"),
            // A damaged one of those that are known.
            ("WALL SAMPLES (total = x)\n1 2", "WALL SAMPLES"),
            ("SAMPLE TIMES (of = CPU SAMPLES)\n", "SAMPLE TIMES"),
        ] {
            let Section::Unknown(unknown) = section(text) else {
                panic!("{text}");
            };
            assert_eq!((&*unknown.name, &*unknown.text), (name, text));
        }
        for note in [
            "WALL SAMPLES have a virtual thread while a carrier runs it",
            "left out below the cutoff of 0.1",
            "A B (c)",
            "Main (1) ended",
        ] {
            assert!(matches!(section(note), Section::Note(_)), "{note}");
        }
    }

    #[test]
    fn only_notes_and_results_are_sections() {
        let record = |id| {
            Record::String(StringRecord {
                id,
                text: Cow::Borrowed(b"JDK: 17"),
            })
        };
        assert_eq!(Section::of(&record(StringId::fact(0))), None);
        assert_eq!(Section::of(&record(StringId(7))), None);
        assert!(Section::of(&record(StringId::note(1))).is_some());
    }
}
