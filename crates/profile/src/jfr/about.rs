//! The events of a recording about the run and about itself.

use std::collections::HashMap;
use std::time::Duration;

use foldhash::fast::RandomState;
use hprof_format::{printable, without_secrets};
use hprof_jfr::{Event, Header, ReadError, Value};

use crate::model::{Profile, Span};
use crate::records::NANOS_PER_MILLI;

/// The most facts about a run that are kept, and the most notes.
const MOST_FACTS: usize = 64;
/// The length of texts after which no more are taken.
const MOST_TEXT: usize = 16 << 20;
/// The time between two samples of a thread in native code, where the recording does not tell it: that of the JDK's
/// `default.jfc` and `profile.jfc`.
const NATIVE_INTERVAL: Duration = Duration::from_millis(20);
/// The same of async-profiler's samples of all threads, and of those of CPU time.
const WALL_INTERVAL: Duration = Duration::from_millis(50);
const CPU_INTERVAL: Duration = Duration::from_millis(10);

/// Facts and settings.
#[derive(Default)]
pub(super) struct About {
    /// The beginning and the end, in nanoseconds since 1970.
    time: Option<(u64, u64)>,
    /// From the recording's own events about the JVM.
    jvm: Vec<(&'static str, String)>,
    process: Option<u32>,
    /// The lines of the head of the HPROF file that the recording was made of.
    facts: Vec<(String, String)>,
    notes: Vec<String>,
    /// The length of all texts that were taken.
    text_bytes: usize,
    /// The number of the type of native samples, and the periods that were set for types.
    native: Option<u64>,
    periods: HashMap<u64, Duration, RandomState>,
    /// async-profiler's settings.
    event: Option<String>,
    interval: Option<Duration>,
    wall: Option<Duration>,
}

impl About {
    /// Returns `true` before the first chunk.
    pub(super) fn is_empty(&self) -> bool {
        self.time.is_none()
    }

    /// Takes the time of a chunk.
    pub(super) fn reached(&mut self, header: &Header) {
        let end = header.start_nanos.saturating_add(header.duration_nanos);
        self.time = Some(match self.time {
            None => (header.start_nanos, end),
            Some((start, last)) => (start.min(header.start_nanos), last.max(end)),
        });
    }

    /// Returns the time from the beginning to the end.
    pub(super) fn span(&self) -> Option<Span> {
        let (from, to) = self.time?;
        let (from, to) = (from / NANOS_PER_MILLI, to.div_ceil(NANOS_PER_MILLI));
        Some(Span { from, to })
    }

    /// Takes an event; returns `false` for one that is about something else.
    pub(super) fn event(&mut self, event: &Event<'_>) -> Result<bool, ReadError> {
        let values = event.values();
        let mut get = |field: &str| {
            // Few bytes can name a long text any number of times.
            if self.text_bytes >= MOST_TEXT {
                return Ok::<_, ReadError>(String::new());
            }
            let text = match values.get(field)? {
                Value::Text(text) => text.into_owned(),
                _ => String::new(),
            };
            self.text_bytes += text.len();
            Ok(text)
        };
        match &*event.of().name {
            "jdk.NativeMethodSample" => {
                self.native = Some(event.of().id);
                return Ok(false);
            }
            "jdk.JVMInformation" => {
                let jdk = jdk(&get("jvmName")?, &get("jvmVersion")?);
                let flags = get("jvmArguments")?;
                let program = get("javaArguments")?;
                self.jvm = vec![
                    ("JDK", jdk),
                    ("Flags", words_without_secrets(&flags, 0)),
                    // Whatever it is called, the main class is no secret.
                    ("Program", words_without_secrets(&program, 1)),
                ];
                if let Value::Integer(pid) = values.get("pid")? {
                    self.process = u32::try_from(pid).ok().filter(|&pid| pid > 0);
                }
            }
            "hprof.Fact" => match get("key")?.as_str() {
                "Note" if self.notes.len() < MOST_FACTS => self.notes.push(get("value")?),
                "Note" => {}
                key if self.facts.len() < MOST_FACTS => {
                    self.facts.push((key.to_owned(), get("value")?));
                }
                _ => {}
            },
            "jdk.ActiveSetting" => {
                let of = match values.get("id")? {
                    Value::Integer(id) => id.cast_unsigned(),
                    _ => 0,
                };
                let (name, value) = (get("name")?, get("value")?);
                self.setting(of, &name, &value);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn setting(&mut self, of: u64, name: &str, value: &str) {
        let nanos = || value.parse().ok().filter(|&nanos| nanos > 0);
        match name {
            "period" => self
                .periods
                .extend(period(value).map(|period| (of, period))),
            "event" => self.event = Some(value.to_owned()),
            "interval" => self.interval = nanos().map(Duration::from_nanos).or(self.interval),
            "wall" => self.wall = nanos().map(Duration::from_nanos),
            _ => {}
        }
    }

    /// Returns the CPU time that a sample of async-profiler stands for.
    pub(super) fn cpu_interval(&self) -> Option<Duration> {
        let event = self.event.as_deref()?;
        let is_of_time = matches!(event, "cpu" | "ctimer" | "itimer");
        is_of_time.then(|| self.interval.unwrap_or(CPU_INTERVAL))
    }

    /// Returns the time between two samples of any thread, in nanoseconds.
    pub(super) fn wall_interval(&self) -> u64 {
        let alone = self
            .interval
            .filter(|_| self.event.as_deref() == Some("wall"));
        nanos(self.wall.or(alone).unwrap_or(WALL_INTERVAL))
    }

    /// Returns the time between two samples of threads in native code, in nanoseconds.
    pub(super) fn native_interval(&self) -> u64 {
        let set = self.native.and_then(|native| self.periods.get(&native));
        nanos(set.copied().unwrap_or(NATIVE_INTERVAL))
    }

    /// Tells the profile about the run.
    pub(super) fn tell(&self, profile: &mut Profile) {
        if let Some((start, end)) = self.time {
            profile.created = start / 1_000_000;
            profile.length = (end - start) / 1_000;
        }
        profile.process = self.process;
        (profile.section, profile.sections) = (1, 1);
        let clean = |text: &str| printable(text).into_owned();
        profile.notes = self.notes.clone();
        let own = self
            .facts
            .iter()
            .map(|(key, value)| (clean(key), clean(value)));
        profile.facts = own.collect();
        if profile.facts.is_empty() {
            let jvm = self.jvm.iter().filter(|(_, value)| !value.is_empty());
            let jvm = jvm.map(|(key, value)| ((*key).to_owned(), clean(value)));
            profile.facts = jvm.collect();
        }
    }
}

/// Returns the JVM as the head of an HPROF file has it, `17.0.15+6 (OpenJDK 64-Bit Server VM)`. The JDK's own recordings
/// have the version in parentheses after the name.
fn jdk(name: &str, version: &str) -> String {
    let in_parentheses = version
        .split_once('(')
        .and_then(|(_, rest)| rest.split_once(')'));
    let version = in_parentheses.map_or(version, |(version, _)| version);
    match (version, name) {
        ("", "") => String::new(),
        (version, "") => version.to_owned(),
        _ => format!("{version} ({name})"),
    }
}

/// Returns a command line in which the words that look like secrets are replaced, but for the first ones.
fn words_without_secrets(line: &str, kept: usize) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (kept, rest) = words.split_at(kept.min(words.len()));
    let kept = kept.iter().map(|&word| word.to_owned());
    kept.chain(without_secrets(rest))
        .collect::<Vec<_>>()
        .join(" ")
}

/// Parses a period such as `20 ms`.
fn period(text: &str) -> Option<Duration> {
    let (number, unit) = text.split_once(' ')?;
    let number: u64 = number.parse().ok()?;
    match unit {
        "ns" => Some(Duration::from_nanos(number)),
        "us" => Some(Duration::from_micros(number)),
        "ms" => Some(Duration::from_millis(number)),
        "s" => Some(Duration::from_secs(number)),
        _ => None,
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
