//! Parses the text format, and insists on its layout: column for column, because scripts parse it.

mod sites;

use std::collections::BTreeMap;

use crate::waiting::monitor::text::Monitors;

use sites::SitesNotes;
pub use sites::{Site, Sites};

/// The content of a text file.
#[derive(Default, Debug)]
pub struct Profile {
    pub threads: Vec<Thread>,
    pub ended: Vec<u32>,
    pub traces: BTreeMap<u32, Trace>,
    pub dumps: Vec<CpuSamples>,
    pub sites: Vec<Sites>,
    pub monitors: Monitors,
    pub times: Vec<CpuTimes>,
    /// The facts in the header: `JDK: 17.0.15`.
    pub head: BTreeMap<String, String>,
    /// The length of the profile, in seconds; `None` if it has no end.
    pub length: Option<f64>,
    /// The facts that are missing because the VM could not be asked at the end; `None` if it was asked.
    pub without_vm: Option<String>,
    /// `true` if it ends because the agent got no more memory.
    pub no_memory: bool,
}

#[derive(Debug)]
pub struct Thread {
    pub id: u32,
    pub name: String,
    pub group: String,
}

#[derive(Debug)]
pub struct Trace {
    pub thread: Option<u32>,
    pub frames: Vec<String>,
}

#[derive(Debug)]
pub struct CpuSamples {
    pub total: u32,
    pub rows: Vec<Row>,
}

#[derive(Debug, Clone)]
pub struct Row {
    pub count: u32,
    pub trace: u32,
    pub method: String,
}

/// A CPU TIME section.
#[derive(Debug)]
pub struct CpuTimes {
    /// Milliseconds.
    pub total: u64,
    /// The notes before it about methods that are not timed.
    pub not_timed: Vec<String>,
    /// The methods that are no longer counted, with the calls until then.
    pub uncounted: Vec<(String, u64)>,
    pub rows: Vec<Time>,
}

/// A row of it.
#[derive(Debug, Clone)]
pub struct Time {
    /// Percent of the total.
    pub own: f64,
    pub calls: u64,
    pub trace: u32,
    pub method: String,
}

/// The beginnings of notes about CPU TIME and MONITOR TIME.
const OF_TIMES: [&str; 3] = [
    "(only waiting for monitors",
    "(remark: counts are exact; times are sampled",
    "(in no method that is counted, ",
];

impl Profile {
    pub fn parse(text: &str) -> Self {
        let mut lines = text.lines().peekable();
        let first = lines.next().expect("a first line");
        let created = first
            .strip_prefix("JAVA PROFILE 1.0.1, created ")
            .unwrap_or_else(|| panic!("{first}"));
        assert_ctime(created);
        assert_eq!(lines.next(), Some(""), "a blank line, then the description");
        let description: Vec<&str> = lines
            .by_ref()
            .take_while(|line| *line != "--------")
            .collect();
        let facts = description.iter().take_while(|line| !line.is_empty());
        let facts = facts.filter_map(|line| line.split_once(':'));
        let head = facts.map(|(label, text)| (label.to_owned(), text.trim().to_owned()));
        let mut profile = Self {
            head: head.collect(),
            ..Self::default()
        };
        assert_eq!(
            lines.next(),
            Some(""),
            "a line of dashes ends the description"
        );

        let mut notes = SitesNotes::default();
        let mut not_timed = Vec::new();
        let mut uncounted = Vec::new();
        while let Some(line) = lines.next() {
            if let Some(rest) = line.strip_prefix("THREAD START (") {
                profile.threads.push(Thread::parse(rest));
            } else if let Some(rest) = line.strip_prefix("THREAD END (id = ") {
                profile.ended.push(
                    rest.strip_suffix(')')
                        .expect("the end")
                        .parse()
                        .expect("a number"),
                );
            } else if let Some(rest) = line.strip_prefix("TRACE ") {
                let (serial, mut trace) = Trace::parse(rest);
                while let Some(frame) = lines.next_if(|line| line.starts_with('\t')) {
                    trace.frames.push(frame[1..].to_owned());
                }
                assert!(!trace.frames.is_empty(), "a trace shows a frame or <empty>");
                assert!(
                    profile.traces.insert(serial, trace).is_none(),
                    "TRACE {serial} is written once"
                );
            } else if let Some(rest) = line.strip_prefix("CPU SAMPLES BEGIN (total = ") {
                let rows: Vec<&str> = lines
                    .by_ref()
                    .take_while(|line| *line != "CPU SAMPLES END")
                    .collect();
                profile.dumps.push(CpuSamples::parse(rest, &rows));
            } else if let Some(rest) = line.strip_prefix("CPU TIME (ms) BEGIN (total = ") {
                let rows = lines
                    .by_ref()
                    .take_while(|line| *line != "CPU TIME (ms) END");
                let mut times = CpuTimes::parse(rest, &rows.collect::<Vec<_>>());
                times.not_timed = std::mem::take(&mut not_timed);
                times.uncounted = std::mem::take(&mut uncounted);
                profile.times.push(times);
            } else if let Some(note) = line.strip_prefix("(no longer counted after ") {
                let note = note.strip_suffix(')').expect("the end");
                let (calls, method) = note
                    .split_once(" calls, because of budget=")
                    .expect("calls");
                let (_, method) = method.split_once("%: ").expect("a percentage");
                uncounted.push((method.to_owned(), calls.parse().expect("a number")));
            } else if let Some(note) = line.strip_prefix("(not timed: ") {
                not_timed.push(note.strip_suffix(')').expect("the end").to_owned());
            } else if let Some((_, rest)) = line
                .strip_prefix("(end of ")
                .and_then(|rest| rest.split_once("the profile, after "))
            {
                let seconds = rest.strip_suffix(" s)").expect("seconds");
                profile.length = Some(seconds.parse().expect("a number"));
            } else if let Some(rest) = line.strip_prefix("(the process used ") {
                let seconds = rest.strip_suffix(" s of CPU time)").expect("seconds");
                let seconds: f64 = seconds.parse().expect("a number");
                assert!(seconds >= 0.0, "{line}");
            } else if let Some(rest) = line.strip_prefix("(heap dump by ") {
                let (dumper, millis) = rest
                    .split_once("; the program stood still for ")
                    .expect("how long");
                assert!(dumper.contains(": "), "a dumper and the reason: {line}");
                let millis = millis.strip_suffix(" ms)").expect("milliseconds");
                let _: u64 = millis.parse().expect("a number");
            } else if let Some(rest) = line
                .strip_prefix("(the process ends without VMDeath, and the VM could not be asked")
            {
                let rest = rest.strip_suffix(')').expect("one line");
                profile.without_vm = Some(rest.to_owned());
            } else if line
                .starts_with("(the system gives the agent no memory; the profile ends here")
            {
                profile.no_memory = true;
            } else if OF_TIMES.iter().any(|begin| line.starts_with(begin))
                || line.starts_with("(left out below") && !line.contains(" live bytes")
            {
                let is_of_times = |next: &&str| {
                    ["CPU TIME", "MONITOR TIME", "("]
                        .iter()
                        .any(|head| next.starts_with(head))
                };
                assert!(
                    lines.peek().is_some_and(is_of_times),
                    "times follow: {line}"
                );
            } else if line.starts_with('(') {
                notes.take(line);
                let is_of_sites = |next: &&str| next.starts_with(['(', 'S']);
                assert!(
                    lines.peek().is_some_and(is_of_sites),
                    "sites follow: {line}"
                );
            } else if let Some(rest) = line.strip_prefix("SITES BEGIN (ordered by ") {
                let rows: Vec<&str> = lines
                    .by_ref()
                    .take_while(|line| *line != "SITES END")
                    .collect();
                let has_value_objects = notes.value_objects;
                let sites = Sites::parse(rest, &rows, std::mem::take(&mut notes));
                for row in &sites.rows {
                    // In a later period, live objects may have been allocated earlier.
                    let is_possible =
                        row.live <= row.allocated && row.live_bytes <= row.allocated_bytes;
                    assert!(
                        is_possible
                            || profile.head.contains_key("Continues")
                            || has_value_objects && row.trace == 300_000,
                        "{row:?}"
                    );
                    assert!(
                        profile.traces.contains_key(&row.trace),
                        "TRACE {} stands before the row that names it",
                        row.trace
                    );
                }
                profile.sites.push(sites);
            } else if profile.monitors.take(line, &mut lines) {
                profile.assert_known();
            } else {
                panic!("no line of the text format: {line:?}");
            }
        }
        profile.assert_references();
        profile
    }

    /// Returns the only dump of a run.
    pub fn samples(&self) -> &CpuSamples {
        assert_eq!(self.dumps.len(), 1, "one dump");
        &self.dumps[0]
    }

    /// Returns the only SITES section of a run.
    pub fn one_sites(&self) -> &Sites {
        assert_eq!(self.sites.len(), 1, "one section");
        &self.sites[0]
    }

    /// Returns the number of samples with a method on top, over all its traces.
    pub fn count(&self, method: &str) -> u32 {
        self.samples()
            .rows
            .iter()
            .filter(|row| row.method == method)
            .map(|row| row.count)
            .sum()
    }

    /// Returns the share of a method in all samples.
    pub fn share(&self, method: &str) -> f64 {
        f64::from(self.count(method)) / f64::from(self.samples().total)
    }

    /// Returns the methods by their samples, the costliest first.
    pub fn methods(&self) -> Vec<(String, u32)> {
        let mut counts = BTreeMap::<&str, u32>::new();
        for row in &self.samples().rows {
            *counts.entry(&row.method).or_default() += row.count;
        }
        let mut methods: Vec<_> = counts
            .into_iter()
            .map(|(method, count)| (method.to_owned(), count))
            .collect();
        methods.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
        methods
    }

    /// Returns the number of samples of the thread of that name (`thread=y`).
    pub fn count_of_thread(&self, name: &str) -> u32 {
        let ids: Vec<u32> = self
            .threads
            .iter()
            .filter(|thread| thread.name == name)
            .map(|thread| thread.id)
            .collect();
        let rows = self.samples().rows.iter();
        rows.filter(|row| {
            self.traces[&row.trace]
                .thread
                .is_some_and(|id| ids.contains(&id))
        })
        .map(|row| row.count)
        .sum()
    }

    /// Asserts that the threads and traces in the last record about monitors are defined before it.
    fn assert_known(&self) {
        for thread in self.monitors.last_threads() {
            assert!(
                self.threads.iter().rev().any(|known| known.id == thread),
                "thread {thread} has begun"
            );
        }
        for trace in self.monitors.last_traces() {
            assert!(self.traces.contains_key(&trace), "TRACE {trace} is there");
        }
    }

    /// Returns the number of the thread of that name.
    pub fn thread(&self, name: &str) -> u32 {
        let mut named = self.threads.iter().filter(|thread| thread.name == name);
        let id = named.next().unwrap_or_else(|| panic!("no {name}")).id;
        assert!(named.next().is_none(), "one {name}");
        id
    }

    fn assert_references(&self) {
        let samples = self.dumps.iter().flat_map(|dump| &dump.rows);
        let times = self.times.iter().flat_map(|times| &times.rows);
        let samples = samples.map(|row| (row.trace, &row.method));
        for (trace, method) in samples.chain(times.map(|row| (row.trace, &row.method))) {
            let top = &self
                .traces
                .get(&trace)
                .unwrap_or_else(|| panic!("TRACE {trace} is missing"))
                .frames[0];
            let of_trace = top.split_once('(').map_or(top.as_str(), |(name, _)| name);
            assert_eq!(of_trace, method, "a row names the top frame of its trace");
        }
        for id in &self.ended {
            assert!(
                self.threads.iter().any(|thread| thread.id == *id),
                "thread {id} ends, so it has begun"
            );
        }
    }
}

impl Thread {
    /// `obj=%x, id = %d, name="%s", group="%s")`; names may hold anything, quotes too.
    fn parse(text: &str) -> Self {
        let (object, text) = text
            .strip_prefix("obj=")
            .and_then(|text| text.split_once(", id = "))
            .expect("obj, id");
        assert!(
            u64::from_str_radix(object, 16).is_ok_and(|object| object > 0),
            "{object}"
        );
        let (id, text) = text.split_once(", name=\"").expect("id, name");
        let (name, group) = text
            .strip_suffix("\")")
            .expect("the end")
            .rsplit_once("\", group=\"")
            .expect("name, group");
        Self {
            id: id.parse().expect("a number"),
            name: name.to_owned(),
            group: group.to_owned(),
        }
    }
}

impl Trace {
    /// `300001:`, or `300001: (thread=200001)`.
    fn parse(text: &str) -> (u32, Self) {
        let (serial, thread) = text.split_once(':').expect("a colon");
        let thread = match thread {
            "" => None,
            thread => {
                let id = thread
                    .strip_prefix(" (thread=")
                    .and_then(|text| text.strip_suffix(')'))
                    .expect("a thread");
                Some(id.parse().expect("a number"))
            }
        };
        (
            serial.parse().expect("a number"),
            Self {
                thread,
                frames: Vec::new(),
            },
        )
    }
}

impl CpuSamples {
    fn parse(head: &str, lines: &[&str]) -> Self {
        let (total, date) = head.split_once(") ").expect("total) date");
        assert_ctime(date);
        let total: u32 = total.parse().expect("a number");
        assert_eq!(
            lines.first(),
            Some(&"rank   self  accum   count trace method")
        );
        let mut accumulated = 0;
        let rows = lines[1..].iter().enumerate().map(|(index, line)| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let [_, _, _, count, trace, method] = fields[..] else {
                panic!("six columns: {line}")
            };
            let (count, trace): (u32, u32) =
                (count.parse().expect("count"), trace.parse().expect("trace"));
            accumulated += count;
            let share = |count: u32| f64::from(count) * 100.0 / f64::from(total);
            let exact = format!(
                "{:4} {:5.2}% {:5.2}% {count:7} {trace:5} {method}",
                index + 1,
                share(count),
                share(accumulated)
            );
            assert_eq!(**line, exact, "the layout of a row");
            Row {
                count,
                trace,
                method: method.to_owned(),
            }
        });
        let rows: Vec<Row> = rows.collect();
        assert!(
            rows.is_sorted_by(|left, right| left.count >= right.count),
            "the costliest first"
        );
        assert!(accumulated <= total);
        Self { total, rows }
    }
}

impl CpuTimes {
    fn parse(head: &str, lines: &[&str]) -> Self {
        let (total, date) = head.split_once(") ").expect("total) date");
        assert_ctime(date);
        let [heading, rows @ ..] = lines else {
            panic!("a line of headings")
        };
        assert_eq!(*heading, "rank   self  accum   count trace method");
        let mut last = (f64::INFINITY, 0.0);
        let rows = (1..).zip(rows).map(|(rank, line)| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let [_, own, accum, calls, trace, method] = fields[..] else {
                panic!("six columns: {line}")
            };
            let percent = |text: &str| -> f64 {
                let number = text.strip_suffix('%').expect("percent");
                number.parse().expect("a number")
            };
            let (own, accum) = (percent(own), percent(accum));
            let (calls, trace) = (calls.parse().expect("calls"), trace.parse().expect("trace"));
            let exact = format!("{rank:4} {own:5.2}% {accum:5.2}% {calls:7} {trace:5} {method}");
            assert_eq!(**line, exact, "the layout of a row");
            assert!(own <= last.0, "the costliest first: {line}");
            assert!(accum >= last.1 && accum < 100.01, "accum adds up: {line}");
            last = (own, accum);
            let method = method.to_owned();
            Time {
                own,
                calls,
                trace,
                method,
            }
        });
        Self {
            total: total.parse().expect("a number"),
            not_timed: Vec::new(),
            uncounted: Vec::new(),
            rows: rows.collect(),
        }
    }
}

/// Checks the percentages of a section. The total of all bytes is not in the text, because rows may be omitted: so
/// there must be a number for which all of them are right.
struct Shares {
    accumulated: u64,
    least: f64,
    most: f64,
}

impl Default for Shares {
    fn default() -> Self {
        Self {
            accumulated: 0,
            least: 0.0,
            most: f64::INFINITY,
        }
    }
}

impl Shares {
    fn add(&mut self, bytes: u64, own: f64, accum: f64, line: &str) {
        /// Half of the last digit, and a little for the arithmetic.
        const ROUNDING: f64 = 0.005_001;
        self.accumulated += bytes;
        for (bytes, share) in [(bytes, own), (self.accumulated, accum)] {
            let hundredfold = bytes as f64 * 100.0;
            self.least = self.least.max(hundredfold / (share + ROUNDING));
            if share > ROUNDING {
                self.most = self.most.min(hundredfold / (share - ROUNDING));
            }
        }
        self.least = self.least.max(self.accumulated as f64);
        assert!(
            self.least <= self.most,
            "the percentages have no common whole: {line}"
        );
    }
}

/// `Fri Nov 20 10:39:11 2026`, the day of the month padded with a space.
pub fn assert_ctime(text: &str) {
    let is_time =
        |time: &str| time.len() == 8 && time.split(':').all(|part| part.parse::<u32>().is_ok());
    let fields: Vec<&str> = text.split_whitespace().collect();
    let [weekday, month, day, time, year] = fields[..] else {
        panic!("{text:?}")
    };
    assert!(
        text.len() == 24 && weekday.len() == 3 && month.len() == 3,
        "{text:?}"
    );
    assert!(
        text[8..10].trim_start() == day && day.parse::<u32>().is_ok() && year.len() == 4,
        "{text:?}"
    );
    assert!(is_time(time), "{text:?}");
}
