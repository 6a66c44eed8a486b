//! Reads the text format, and insists on its layout: column for column, because scripts parse it.

use std::collections::BTreeMap;

/// What a text file says.
#[derive(Default, Debug)]
pub struct Profile {
    pub threads: Vec<Thread>,
    pub ended: Vec<u32>,
    pub traces: BTreeMap<u32, Trace>,
    pub dumps: Vec<CpuSamples>,
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

impl Profile {
    pub fn parse(text: &str) -> Self {
        let mut lines = text.lines().peekable();
        let first = lines.next().expect("a first line");
        let created = first
            .strip_prefix("JAVA PROFILE 1.0.1, created ")
            .unwrap_or_else(|| panic!("{first}"));
        assert_ctime(created);
        assert_eq!(lines.next(), Some(""), "a blank line, then the description");
        lines
            .find(|line| *line == "--------")
            .expect("the line of dashes ends the description");
        assert_eq!(lines.next(), Some(""));

        let mut profile = Self::default();
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
            } else {
                panic!("no line of the text format: {line:?}");
            }
        }
        profile.assert_references();
        profile
    }

    /// The one dump of a run.
    pub fn samples(&self) -> &CpuSamples {
        assert_eq!(self.dumps.len(), 1, "one dump");
        &self.dumps[0]
    }

    /// How often a method was on top, over all its traces.
    pub fn count(&self, method: &str) -> u32 {
        self.samples()
            .rows
            .iter()
            .filter(|row| row.method == method)
            .map(|row| row.count)
            .sum()
    }

    /// The share of a method in all samples.
    pub fn share(&self, method: &str) -> f64 {
        f64::from(self.count(method)) / f64::from(self.samples().total)
    }

    /// The methods by their samples, the costliest first.
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

    /// How many samples the thread of that name has (`thread=y`).
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

    fn assert_references(&self) {
        for row in self.dumps.iter().flat_map(|dump| &dump.rows) {
            let top = &self
                .traces
                .get(&row.trace)
                .unwrap_or_else(|| panic!("TRACE {} is missing", row.trace))
                .frames[0];
            let method = top
                .split_once('(')
                .map_or(top.as_str(), |(method, _)| method);
            assert_eq!(method, row.method, "a row names the top frame of its trace");
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

/// `Fri Nov 20 10:39:11 2026`, the day of the month padded with a space.
fn assert_ctime(text: &str) {
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
