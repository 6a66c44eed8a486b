//! Parses the part of the text format that `monitor=y` adds, and insists on its layout.

use std::iter::Peekable;
use std::str::Lines;

use crate::profile::assert_ctime;

/// The monitors in a text file.
#[derive(Default, Debug)]
pub struct Monitors {
    /// WAIT and WAITED, in order.
    pub waits: Vec<Wait>,
    pub dumps: Vec<MonitorDump>,
    pub times: Vec<MonitorTime>,
    pub locks: Vec<LockWaits>,
}

/// A WAIT, and the WAITED of the same thread if there was one.
#[derive(Debug)]
pub struct Wait {
    pub signature: String,
    pub timeout: u64,
    pub thread: Option<u32>,
    pub time_waited: Option<u64>,
}

#[derive(Debug)]
pub struct MonitorDump {
    pub threads: Vec<ThreadState>,
    pub monitors: Vec<Monitor>,
}

#[derive(Debug)]
pub struct ThreadState {
    pub thread: u32,
    pub name: Option<String>,
    pub trace: u32,
    pub status: String,
}

#[derive(Debug)]
pub struct Monitor {
    pub signature: String,
    /// The owner (`None` if unknown) and the entry count.
    pub owner: Option<(Option<u32>, u32)>,
    pub entering: Vec<Option<u32>>,
    pub waiting: Vec<Option<u32>>,
}

#[derive(Debug)]
pub struct MonitorTime {
    pub total_ms: u64,
    pub rows: Vec<Contended>,
}

#[derive(Debug)]
pub struct LockWaits {
    pub total: u64,
    pub known: u64,
    pub rows: Vec<LockWait>,
}

#[derive(Debug)]
pub struct LockWait {
    pub count: u64,
    pub trace: u32,
    pub holder: Option<u32>,
    pub lock: String,
}

#[derive(Debug, Clone)]
pub struct Contended {
    /// A percentage of the total.
    pub share: f64,
    pub count: u64,
    pub trace: u32,
    pub class: String,
}

impl Monitors {
    /// Parses a line, and the lines that belong to it; returns `false` if it is about something else.
    pub fn take(&mut self, line: &str, lines: &mut Peekable<Lines<'_>>) -> bool {
        if let Some(rest) = line.strip_prefix("WAIT: MONITOR ") {
            self.waits.push(Wait::parse(rest, "timeout="));
        } else if let Some(rest) = line.strip_prefix("WAITED: MONITOR ") {
            let waited = Wait::parse(rest, "time_waited=");
            let own = |wait: &&mut Wait| wait.thread == waited.thread && wait.time_waited.is_none();
            let wait = self.waits.iter_mut().rev().find(own);
            let wait = wait.unwrap_or_else(|| panic!("no WAIT before {line}"));
            assert_eq!(wait.signature, waited.signature, "{line}");
            wait.time_waited = Some(waited.timeout);
        } else if line == "MONITOR DUMP BEGIN" {
            self.dumps.push(MonitorDump::parse(lines));
        } else if let Some(rest) = line.strip_prefix("LOCK WAITS BEGIN (total = ") {
            self.locks.push(LockWaits::parse(rest, lines));
        } else if let Some(rest) = line.strip_prefix("MONITOR TIME BEGIN (total = ") {
            self.times.push(MonitorTime::parse(rest, lines));
        } else {
            return false;
        }
        true
    }

    /// Returns the threads that the last wait, and the last dump, name.
    pub fn last_threads(&self) -> Vec<u32> {
        let mut threads: Vec<u32> = Vec::new();
        threads.extend(self.waits.last().and_then(|wait| wait.thread));
        if let Some(dump) = self.dumps.last() {
            threads.extend(dump.threads.iter().map(|state| state.thread));
            for monitor in &dump.monitors {
                threads.extend(monitor.owner.and_then(|(owner, _)| owner));
                threads.extend(monitor.entering.iter().chain(&monitor.waiting).flatten());
            }
        }
        threads
    }

    /// Returns the traces that the last dump, and the last section of times, name.
    pub fn last_traces(&self) -> Vec<u32> {
        let states = self.dumps.last().map(|dump| dump.threads.iter());
        let rows = self.times.last().map(|time| time.rows.iter());
        let states = states.into_iter().flatten().map(|state| state.trace);
        states
            .chain(rows.into_iter().flatten().map(|row| row.trace))
            .collect()
    }
}

impl Wait {
    /// `Lsig;, timeout=%d, thread %d`.
    fn parse(text: &str, key: &str) -> Self {
        let (rest, thread) = text.rsplit_once(", ").expect("a thread");
        let (signature, number) = rest.rsplit_once(", ").expect("a number");
        let number = number.strip_prefix(key).expect(key);
        assert!(
            signature.starts_with('[') || signature.starts_with('L') && signature.ends_with(';'),
            "a signature as the VM gives it: {signature}"
        );
        Self {
            signature: signature.to_owned(),
            timeout: number.parse().expect("a number"),
            thread: thread_id(thread),
            time_waited: None,
        }
    }
}

fn thread_id(text: &str) -> Option<u32> {
    match text {
        "<unknown thread>" => None,
        text => {
            let id = text.strip_prefix("thread ").expect("thread");
            Some(id.parse().expect("a number"))
        }
    }
}

impl MonitorDump {
    fn parse(lines: &mut Peekable<Lines<'_>>) -> Self {
        let mut dump = Self {
            threads: Vec::new(),
            monitors: Vec::new(),
        };
        loop {
            let line = lines.next().expect("MONITOR DUMP END");
            if line == "MONITOR DUMP END" {
                break;
            }
            if let Some(rest) = line.strip_prefix("    THREAD ") {
                assert!(dump.monitors.is_empty(), "threads come first");
                dump.threads.push(ThreadState::parse(rest));
            } else if let Some(rest) = line.strip_prefix("    MONITOR ") {
                dump.monitors.push(Monitor::parse(rest, lines));
            } else {
                panic!("no line of MONITOR DUMP: {line:?}");
            }
        }
        let ids: Vec<u32> = dump.threads.iter().map(|state| state.thread).collect();
        assert!(ids.is_sorted_by(|left, right| left < right), "{ids:?}");
        dump
    }

    /// Returns the only monitor of a class.
    pub fn monitor(&self, signature: &str) -> &Monitor {
        let mut all = self.monitors.iter();
        let mut of_class = all
            .by_ref()
            .filter(|monitor| monitor.signature == signature);
        let found = of_class.next();
        assert!(of_class.next().is_none(), "one monitor of {signature}");
        found.unwrap_or_else(|| panic!("no {signature} in {:?}", self.monitors))
    }
}

impl ThreadState {
    /// Parses `%d, trace %d, status: R`, and the name after it.
    fn parse(text: &str) -> Self {
        let (thread, rest) = text.split_once(", trace ").expect("trace");
        let (trace, status) = rest.split_once(", status: ").expect("status");
        let (status, name) = match status.split_once(' ') {
            Some((status, name)) => {
                let name = name
                    .strip_prefix('"')
                    .and_then(|name| name.strip_suffix('"'));
                (status, Some(name.expect("a name in quotes").to_owned()))
            }
            None => (status, None),
        };
        let mut rest = status;
        for prefix in ["S|", "intr|", "native|"] {
            rest = rest.strip_prefix(prefix).unwrap_or(rest);
        }
        assert!(
            ["R", "SL", "MW", "CW", "ZO", "NS", "UN"].contains(&rest),
            "{status}"
        );
        Self {
            thread: thread.parse().expect("a number"),
            name,
            trace: trace.parse().expect("a number"),
            status: status.to_owned(),
        }
    }
}

impl Monitor {
    fn parse(head: &str, lines: &mut Peekable<Lines<'_>>) -> Self {
        let (signature, owner) = match head.strip_suffix(" unowned") {
            Some(signature) => (signature, None),
            None => {
                let line = lines.next().expect("the owner");
                let rest = line.strip_prefix("\towner: ").expect("the owner");
                let (owner, count) = rest.split_once(", entry count: ").expect("a count");
                let count = count.parse().expect("a number");
                assert!(count > 0, "{line}");
                (head, Some((thread_id(owner), count)))
            }
        };
        assert!(signature.starts_with(['L', '[']), "{head}");
        let mut list = |what: &str| -> Vec<Option<u32>> {
            let line = lines.next().expect(what);
            let rest = line
                .strip_prefix(&format!("\t{what}:"))
                .unwrap_or_else(|| panic!("{line}"));
            match rest {
                "" => Vec::new(),
                rest => {
                    let threads = rest.strip_prefix(' ').expect("a space");
                    threads.split(", ").map(thread_id).collect()
                }
            }
        };
        let entering = list("waiting to enter");
        let waiting = list("waiting to be notified");
        Self {
            signature: signature.to_owned(),
            owner,
            entering,
            waiting,
        }
    }
}

impl MonitorTime {
    fn parse(head: &str, lines: &mut Peekable<Lines<'_>>) -> Self {
        let (total, date) = head.split_once(" ms) ").expect("total ms) date");
        assert_ctime(date);
        assert_eq!(
            lines.next(),
            Some("rank   self  accum   count trace monitor")
        );
        let mut rows: Vec<Contended> = Vec::new();
        let mut accumulated = 0.0;
        loop {
            let line = lines.next().expect("MONITOR TIME END");
            if line == "MONITOR TIME END" {
                break;
            }
            let (row, accum) = Contended::parse(rows.len() + 1, line);
            accumulated += row.share;
            let slack = 0.005_001 * (rows.len() + 2) as f64;
            assert!((accumulated - accum).abs() <= slack, "{line}");
            assert!(
                rows.last().is_none_or(|last| last.share >= row.share),
                "the longest first"
            );
            rows.push(row);
        }
        Self {
            total_ms: total.parse().expect("a number"),
            rows,
        }
    }

    /// Returns the rows of a class.
    pub fn of(&self, class: &str) -> Vec<&Contended> {
        let rows = self.rows.iter();
        rows.filter(|row| row.class == class).collect()
    }

    /// Returns the number of times that threads waited for monitors of a class.
    pub fn count(&self, class: &str) -> u64 {
        self.of(class).iter().map(|row| row.count).sum()
    }
}

impl Contended {
    /// `rank   self  accum   count trace monitor`.
    fn parse(rank: usize, line: &str) -> (Self, f64) {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [_, own, accum, count, trace, class, "(Java)"] = fields[..] else {
            panic!("seven columns: {line}")
        };
        let percent = |text: &str| -> f64 {
            let number = text.strip_suffix('%').expect("a percentage");
            number.parse().expect("a number")
        };
        let (share, accum) = (percent(own), percent(accum));
        let row = Self {
            share,
            count: count.parse().expect("a number"),
            trace: trace.parse().expect("a number"),
            class: class.to_owned(),
        };
        let (count, trace) = (row.count, row.trace);
        let exact =
            format!("{rank:4} {share:5.2}% {accum:5.2}% {count:7} {trace:5} {class} (Java)");
        assert_eq!(line, exact, "the layout of a row");
        assert!(count > 0, "{line}");
        (row, accum)
    }
}

impl LockWaits {
    fn parse(head: &str, lines: &mut Peekable<Lines<'_>>) -> Self {
        let (total, rest) = head
            .split_once(", interval = 10 ms, ")
            .expect("an interval");
        let rest = rest.strip_prefix("holder known = ").expect("the known");
        let (known, date) = rest.split_once(") ").expect("a date");
        assert_ctime(date);
        let columns = "rank   self  accum   count trace holder lock";
        assert_eq!(lines.next(), Some(columns));
        let rows = lines.take_while(|line| *line != "LOCK WAITS END");
        let row = |line: &str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            assert_eq!(words.len(), 7, "{line}");
            let holder: u32 = words[5].parse().expect("a number");
            LockWait {
                count: words[3].parse().expect("a number"),
                trace: words[4].parse().expect("a number"),
                holder: (holder != 0).then_some(holder),
                lock: words[6].to_owned(),
            }
        };
        Self {
            total: total.parse().expect("a number"),
            known: known.parse().expect("a number"),
            rows: rows.map(row).collect(),
        }
    }
}
