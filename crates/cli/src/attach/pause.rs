//! How long a profile stops its program, and what may slow it down: what is said before, and asked on a terminal.

use std::io::{self, BufRead, IsTerminal, Write};
use std::path::Path;

use hprof_format::printable;
use hprof_options::{Dumper, Heap, Options, Request};

use super::perf_data::HeapUse;
use crate::amounts::size;
use crate::failure::Failure;

/// Seconds that the program is stopped for each GB in use. With 2.1 GB in 60 million objects on JDK 17 and two CPUs, it was
/// 2.0 s for a collection, 3.4 s for one with the look at all objects that exact sites need, and 13.7 s for a heap dump.
const COLLECTION: f64 = 1.0;
const SWEEP: f64 = 0.6;
const DUMP: f64 = 6.5;
/// The same for the fork of `dumper=fork`, and what it takes for a small heap: 13 to 36 ms for 16 million objects in 0.9 GB.
const FORK: f64 = 0.05;
const SMALLEST_FORK: f64 = 0.03;
/// Shorter stops are those of any collection, and not worth a word.
const NOTICED: f64 = 0.2;
/// A longer one is asked about on a terminal; one that a fork would avoid, from [`NOTICED`] on.
const LONG: f64 = 1.0;

/// The user's consent to long stops.
#[derive(Default, clap::Args)]
pub struct Consent {
    /// Do not ask before the program is stopped for more than a second, or for a heap dump that a fork could make
    #[arg(long)]
    yes: bool,
}

impl Consent {
    /// Returns `true` if the user has agreed to any stop.
    pub fn is_given(&self) -> bool {
        self.yes
    }
}

/// The way in which the heap is to be dumped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DumpWay {
    /// As the profile's options say.
    Usual,
    /// In a forked copy of the program, which continues.
    Fork,
}

impl DumpWay {
    /// The agent's option.
    pub const FORK: &str = "dumper=fork";

    /// Returns the way that a flag of the command line asks for.
    pub fn of(forks: bool) -> Self {
        if forks { Self::Fork } else { Self::Usual }
    }

    /// Returns options with this way.
    pub fn added_to(self, options: &str) -> String {
        match self {
            Self::Usual => options.to_owned(),
            Self::Fork => format!("{options},{}", Self::FORK),
        }
    }
}

/// A question on a terminal.
enum Question {
    Continue,
    ContinueOrFork,
}

impl Question {
    /// Asks, and returns what is to be done; an error for nothing.
    fn ask(&self) -> Result<DumpWay, Failure> {
        let question = match self {
            Self::Continue => "continue? [y/N]",
            Self::ContinueOrFork => "continue? [y/N, or f to continue with a fork]",
        };
        let _ = write!(io::stderr(), "hprof: {question} ");
        let mut answer = String::new();
        // Whoever cannot answer agrees to nothing.
        let _ = io::stdin().lock().read_line(&mut answer);
        match (answer.trim().to_lowercase().as_str(), self) {
            ("y" | "yes", _) => Ok(DumpWay::Usual),
            ("f" | "fork", Self::ContinueOrFork) => Ok(DumpWay::Fork),
            _ => Err(Failure::Message(
                "nothing was done; --yes skips the question".to_owned(),
            )),
        }
    }
}

/// Says what a profile with these options of the program, `name`, may cost, if that has no bound.
pub fn announce_cost(options: &str, name: &str) {
    let Ok(Request::Profile(options)) = hprof_options::parse(options, None) else {
        return;
    };
    if options.heap.is_none() || options.sample.is_some() || options.budget.is_some() {
        return;
    }
    let line = format!(
        "every allocation of {name} is counted: if it allocates much, it may keep only a few percent of its speed; \
         budget=20% bounds that"
    );
    // If nobody can be told, the profile starts all the same.
    let _ = writeln!(io::stderr(), "hprof: {}", printable(&line));
}

/// Says what a forked copy of the program, `name`, may take to dump the heap into a folder.
pub fn announce_copy(name: &str, heap: &HeapUse, folder: &Path) {
    let most = size(2 * heap.bytes);
    let line = format!(
        "a forked copy of {name} may take {most} of memory, and the dump {most} in {}, for a moment",
        folder.display()
    );
    // If nobody can be told, the dump is made all the same.
    let _ = writeln!(io::stderr(), "hprof: {}", printable(&line));
}

/// A stop that is announced.
struct Stop {
    /// Its length, or that of the longest of several, in seconds.
    longest: f64,
    /// How long it is, and when.
    words: String,
}

/// The stops of a profile, in seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Stops {
    /// When it starts.
    start: f64,
    /// For each dump, and at the end.
    dump: f64,
    /// For a dump by a fork, where that could be had.
    fork: Option<f64>,
    /// The options that avoid them, or a part of them.
    way: &'static str,
}

impl Stops {
    /// Estimates the stops of a profile with these options; `None` if it looks at no heap, or the agent will refuse them.
    pub fn of(options: &str, heap: &HeapUse) -> Option<Stops> {
        let Ok(Request::Profile(options)) = hprof_options::parse(options, None) else {
            return None;
        };
        Stops::of_profile(&options, heap)
    }

    /// Returns that at the start, in seconds.
    pub fn start(&self) -> f64 {
        self.start
    }

    /// Returns that for a dump, in seconds.
    pub fn dump(&self) -> f64 {
        self.dump
    }

    /// Returns `true` if a heap is so large that a dump of its objects would be noticed.
    pub fn may_be_noticed(heap: &HeapUse) -> bool {
        DUMP * heap.bytes as f64 / 1e9 >= NOTICED
    }

    fn of_profile(options: &Options, heap: &HeapUse) -> Option<Stops> {
        let has_objects = match options.heap? {
            Heap::Sites => false,
            Heap::Dump | Heap::All => true,
        };
        let is_exact = options.sample.is_none();
        // The heap of ZGC is mapped shared, which the agent refuses.
        let may_fork = hprof_os::FORKS_PROGRAMS && has_objects && !heap.collector.starts_with('Z');
        let forks = may_fork && matches!(options.dumper, Dumper::Fork | Dumper::ForkOnly);
        let gigabytes = heap.bytes as f64 / 1e9;
        let seconds = |is_done: bool, rate: f64| if is_done { rate * gigabytes } else { 0.0 };
        // Some collectors work while the program runs.
        let collection = |is_done| seconds(is_done && !heap.is_concurrent(), COLLECTION);
        Some(Stops {
            start: match is_exact && heap.starts_concurrently() {
                true => 0.0,
                false => collection(is_exact || options.collect),
            },
            dump: match has_objects {
                true if forks => fork(gigabytes),
                true => seconds(true, DUMP),
                false => collection(options.collect) + seconds(is_exact, SWEEP),
            },
            fork: (may_fork && !forks).then(|| fork(gigabytes)),
            way: match (has_objects, is_exact, options.collect) {
                (true, ..) => "heap=sites writes no objects, which takes less",
                (false, true, _) => "sample=512k,gc=n estimates without a stop",
                (false, false, _) => "gc=n leaves collections out",
            },
        })
    }

    /// Says how long the program, `name`, will be stopped by a profile that is about to start, and asks if that is long.
    /// `fork` is what the user would write for a fork.
    pub fn announce_start(
        &self,
        name: &str,
        heap: &HeapUse,
        fork: &str,
        consent: &Consent,
    ) -> Result<DumpWay, Failure> {
        let stops = [
            (self.start, "at the start"),
            (self.dump, "for each dump and at the end"),
        ];
        let stops = stops.into_iter().filter(|&(seconds, _)| seconds >= NOTICED);
        let stops: Vec<String> = stops
            .map(|(seconds, when)| format!("{} {when}", about(seconds)))
            .collect();
        let stop = Stop {
            longest: self.start.max(self.dump),
            words: stops.join(" and "),
        };
        self.announce(&stop, name, heap, fork, consent)
    }

    /// The same for a dump of a profile that runs.
    pub fn announce_dump(
        &self,
        name: &str,
        heap: &HeapUse,
        fork: &str,
        consent: &Consent,
    ) -> Result<DumpWay, Failure> {
        let stop = Stop {
            longest: self.dump,
            words: about(self.dump),
        };
        self.announce(&stop, name, heap, fork, consent)
    }

    fn announce(
        &self,
        stop: &Stop,
        name: &str,
        heap: &HeapUse,
        fork: &str,
        consent: &Consent,
    ) -> Result<DumpWay, Failure> {
        if stop.longest < NOTICED {
            return Ok(DumpWay::Usual);
        }
        let (used, HeapUse { collector, .. }) = (size(heap.bytes), heap);
        // Nobody would take a fork for less.
        let forked = self.fork.filter(|_| self.dump >= NOTICED);
        let way = match forked {
            Some(forked) => format!(
                "with {fork} {} for a dump, and up to {} of memory for the time of writing",
                about(forked),
                size(2 * heap.bytes),
            ),
            None => self.way.to_owned(),
        };
        let line = format!(
            "{name} will be stopped for {}: its heap has {used} in use ({collector}); {way}",
            stop.words
        );
        let mut stderr = io::stderr();
        // If nobody can be told, nobody waits for it.
        let _ = writeln!(stderr, "hprof: {}", printable(&line));
        if consent.yes || !io::stdin().is_terminal() || !stderr.is_terminal() {
            return Ok(DumpWay::Usual);
        }
        match forked {
            Some(_) => Question::ContinueOrFork.ask(),
            None if stop.longest >= LONG => Question::Continue.ask(),
            None => Ok(DumpWay::Usual),
        }
    }
}

/// Returns the seconds for which a fork stops a program with so many GB in use.
fn fork(gigabytes: f64) -> f64 {
    SMALLEST_FORK + FORK * gigabytes
}

/// Returns a rough time.
fn about(seconds: f64) -> String {
    format!("about {seconds:.1} s")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stops(
        options: &str,
        (collector, jdk): (&'static str, u32),
        bytes: u64,
    ) -> Option<(f64, f64)> {
        let heap = HeapUse {
            bytes,
            collector,
            jdk: Some(jdk),
        };
        let tenths = |seconds: f64| (seconds * 10.0).round() / 10.0;
        let stops = Stops::of(options, &heap)?;
        Some((tenths(stops.start), tenths(stops.dump)))
    }

    #[test]
    fn a_heap_that_was_measured_takes_about_as_long() {
        let bytes = 2_100_000_000;
        let forked = match hprof_os::FORKS_PROGRAMS {
            true => (0.0, 0.1),
            false => (0.0, 13.7),
        };
        for (options, collector, expected) in [
            ("heap=sites", ("G1", 11), (2.1, 3.4)),
            ("heap=sites", ("G1", 17), (0.0, 3.4)),
            ("heap=sites", ("Parallel", 17), (2.1, 3.4)),
            ("heap=dump,format=b", ("G1", 17), (0.0, 13.7)),
            ("heap=dump,dumper=fork,format=b", ("G1", 17), forked),
            ("heap=dump,dumper=fork,format=b", ("Z", 17), (0.0, 13.7)),
            ("heap=sites,gc=n", ("G1", 17), (0.0, 1.3)),
            ("heap=sites,sample=512k", ("G1", 17), (2.1, 2.1)),
            ("heap=sites,sample=512k,gc=n", ("G1", 17), (0.0, 0.0)),
            ("heap=sites", ("Z", 17), (0.0, 1.3)),
        ] {
            assert_eq!(
                stops(options, collector, bytes),
                Some(expected),
                "{options}"
            );
        }
        assert_eq!(stops("cpu=samples", ("G1", 17), bytes), None);
        assert_eq!(stops("heap=everything", ("G1", 17), bytes), None);
    }
}
