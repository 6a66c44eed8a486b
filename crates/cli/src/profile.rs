//! The arguments common to the commands that show profiles: the file, the dump of the run, the value.

use std::cmp::Reverse;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use hprof_format::{Source, Uncounted, UnknownSection, printable};
use hprof_profile::{By, CommonInterval, HeapDumpForm, Metric, OwnCode, Profile, Wanted, load};

use crate::amounts::percent;
use crate::failure::Failure;
use crate::input;
use crate::span::{self, Part, SpanChoice};
use regex::Regex;

/// The choice of a profile.
#[derive(clap::Args)]
pub struct Choice {
    /// The file, binary or text, compressed or not; `-` is the standard input
    pub file: PathBuf,

    /// The number of the dump in the run, from 1 [default: the last]
    #[arg(long, value_name = "N")]
    section: Option<u32>,

    #[command(flatten)]
    code: CodeChoice,
}

/// The choice of the code whose costs are shown.
#[derive(Default, clap::Args)]
pub struct CodeChoice {
    /// Leave out what the agent itself spent, `java.lang.Thread.<HPROF>`; the shares and totals are then the program's
    /// alone
    #[arg(long)]
    without_agent: bool,

    /// Show only what threads did whose names match this regular expression; the file must tell threads (thread=y)
    #[arg(long, value_name = "REGEX")]
    thread: Option<Regex>,

    #[command(flatten)]
    own: OwnCodeArgument,
}

/// The choice of one's own code.
#[derive(Default, clap::Args)]
pub struct OwnCodeArgument {
    /// Show only code of these packages, and charge it with what it calls; without `=`, all that is neither the JDK's
    /// nor a well-known library's
    #[arg(
        long,
        value_name = "PREFIX:...",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = ""
    )]
    pub mine: Option<OwnCode>,
}

/// A profile, and the reason its file could not be read to the end.
pub struct Opened {
    pub profile: Profile,
    fault: Option<Failure>,
    /// With `--thread`, what other threads had of each metric.
    others: Vec<(Metric, u64)>,
}

/// The most methods that are named because their calls are not counted.
const UNCOUNTED: usize = 5;

impl Choice {
    /// Returns another profile with the same part and code as this one.
    pub fn applied_to(&self, other: Opened, path: &Path) -> Result<Opened, Failure> {
        other.of_code(&self.code, path)
    }

    /// Reads the file.
    pub fn open(&self) -> Result<Opened, Failure> {
        self.applied_to(self.open_whole()?, &self.file)
    }

    /// Reads a part of the run.
    pub fn open_part(&self, span: &SpanChoice) -> Result<Opened, Failure> {
        self.applied_to(self.open_whole()?.within(span, &self.file)?, &self.file)
    }

    /// Reads the file, with all code.
    pub fn open_whole(&self) -> Result<Opened, Failure> {
        open(&self.file, self.section)
    }
}

/// Reads the given section of a file.
pub fn open(path: &Path, section: Option<u32>) -> Result<Opened, Failure> {
    let wanted = section.map_or(Wanted::Last, Wanted::Number);
    opened(input::open_watched(path)?, path, wanted)
}

/// Reads the last section of a file that is open; `path` is its name in messages.
pub fn open_file(file: File, path: &Path) -> Result<Opened, Failure> {
    opened(input::watched(file, path)?, path, Wanted::Last)
}

fn opened(source: Box<dyn Source>, path: &Path, wanted: Wanted) -> Result<Opened, Failure> {
    let about = |error| Failure::about(path, error);
    let loaded = load(source, wanted).map_err(about)?;
    Ok(Opened {
        profile: loaded.profile,
        fault: loaded.fault.map(about),
        others: Vec::new(),
    })
}

/// Returns what is to be said about the metric's parts, each with its share of the total.
pub fn remarks(profile: &Profile, metric: Metric) -> Vec<String> {
    let all = profile.total(metric);
    let remarks = profile.remarks(metric).into_iter();
    let lines = remarks.map(|remark| {
        let share = percent(remark.value, all);
        format!("{share:.2} % of {metric} {}", remark.text)
    });
    let left_out = profile.left_out(metric);
    let left_out = (left_out > 0).then(|| {
        let share = percent(left_out, all.saturating_add(left_out));
        format!(
            "{share:.2} % of {metric} in the file is <HPROF>, the agent's own, and left out here"
        )
    });
    let estimated = profile.standard_error(metric);
    let estimated = estimated.filter(|&error| error > 0).map(|error| {
        let share = percent(error, all);
        // Samples are independent of each other, so the error of a part goes with its root.
        let of_part = 10.0 * share;
        format!(
            "{metric} is estimated: the standard error is {share:.2} % of all, and about {of_part:.2} % of a row that is 1 % of all"
        )
    });
    let uncounted = match metric {
        Metric::Time | Metric::Calls => uncounted(profile),
        _ => None,
    };
    let unknown = profile.unknown_sections.iter();
    let unknown = unknown.map(|name| UnknownSection::remark(name));
    let first = estimated.into_iter().chain(left_out).chain(uncounted);
    let of_parts = first.chain(lines);
    of_parts
        .chain(profile.stated_remarks())
        .chain(unknown)
        .collect()
}

/// Names the methods whose calls were no longer counted because of `budget=`.
fn uncounted(profile: &Profile) -> Option<String> {
    let mut methods: Vec<Uncounted> = profile.uncounted().collect();
    // In a file with several sections, each names those up to then.
    methods.sort_by(|one, other| {
        one.method
            .cmp(&other.method)
            .then(other.calls.cmp(&one.calls))
    });
    methods.dedup_by(|one, other| one.method == other.method);
    methods.sort_by_key(|method| Reverse(method.calls));
    let budget = methods.first()?.budget;
    let named = methods.iter().take(UNCOUNTED).map(|method| &*method.method);
    let mut names = named.collect::<Vec<_>>().join(", ");
    if let Some(more @ 1..) = methods.len().checked_sub(UNCOUNTED) {
        names = format!("{names} and {more} more, which the file names");
    }
    Some(format!(
        "counting all calls cost more than budget={budget}%: from some time on, the calls of these methods are not counted, and their time is that of their callers: {names}"
    ))
}

/// Writes remarks, one a line.
pub fn write_remarks(remarks: &[String], out: &mut dyn Write) -> io::Result<()> {
    remarks
        .iter()
        .try_for_each(|remark| writeln!(out, "{}", printable(remark)))
}

impl Opened {
    /// Returns the wanted metric, or the first that the file has.
    pub fn metric(&self, path: &Path, wanted: Option<Metric>) -> Result<Metric, Failure> {
        let metrics = self.profile.metrics();
        let Some(&first) = metrics.first() else {
            // If the file breaks off before its first cost, that is reported.
            let fault = self.fault.as_ref().and_then(Failure::message);
            let what = match self.profile.heap_dump {
                None => "holds no samples, call times, allocation sites or contended monitors",
                Some(HeapDumpForm::Binary) => {
                    "holds a heap dump and no profile: `hprof heap leaks` and `hprof browse` show heap dumps"
                }
                Some(HeapDumpForm::Text) => {
                    "holds a heap dump as text and no profile: `hprof heap leaks` shows heap dumps in the binary format (format=b)"
                }
            };
            return Err(fault.map_or_else(
                || Failure::about(path, what),
                |fault| Failure::Message(fault.to_owned()),
            ));
        };
        match wanted {
            None => Ok(first),
            Some(wanted) if metrics.contains(&wanted) => Ok(wanted),
            Some(wanted) => {
                let names: Vec<&str> = metrics.iter().map(|metric| metric.name()).collect();
                let names = names.join(", ");
                Err(Failure::about(
                    path,
                    format_args!("has no value `{wanted}`, only {names}"),
                ))
            }
        }
    }

    /// As [`Opened::metric`], for costs by this: only what is live has an age, and only waits for locks have a holder.
    pub fn metric_by(
        &self,
        path: &Path,
        wanted: Option<Metric>,
        by: By,
    ) -> Result<Metric, Failure> {
        if matches!(by, By::Lock | By::Holder | By::Wait) {
            let metric = self.metric(path, wanted.or(Some(Metric::LockWait)))?;
            if metric != Metric::LockWait {
                let what = format!("`{metric}` has no {by}, only lock-wait does");
                return Err(Failure::about(path, what));
            }
            return Ok(metric);
        }
        if by == By::State {
            let metric = self.metric(path, wanted.or(Some(Metric::Wall)))?;
            return match metric {
                Metric::Wall | Metric::Blocked | Metric::Parked | Metric::Pinned => Ok(metric),
                _ => {
                    let what = format!(
                        "`{metric}` has no states, only wall, blocked, parked and pinned do"
                    );
                    Err(Failure::about(path, what))
                }
            };
        }
        if by != By::Age {
            return self.metric(path, wanted);
        }
        let metric = self.metric(path, wanted.or(Some(Metric::LiveBytes)))?;
        if !matches!(metric, Metric::LiveBytes | Metric::LiveObjects) {
            let what = format!("`{metric}` has no ages, only live-bytes and live-objects do");
            return Err(Failure::about(path, what));
        }
        match self.profile.history.ages.is_empty() {
            true => Err(Failure::about(
                path,
                "has no ages, which heap=sites,lifetimes=y records",
            )),
            false => Ok(metric),
        }
    }

    /// Returns what is to be said about the metric's parts, each with its share of the total.
    pub fn remarks(&self, metric: Metric) -> Vec<String> {
        let others = self.others.iter().filter(|(of, _)| *of == metric);
        let others = others.fold(0_u64, |sum, (_, value)| sum.saturating_add(*value));
        let all = self.profile.total(metric).saturating_add(others);
        let others = (others > 0).then(|| {
            let share = percent(others, all);
            format!("{share:.2} % of {metric} is in other threads than those of --thread, and left out here")
        });
        let remarks = remarks(&self.profile, metric);
        let part = span::remark(&self.profile).into_iter();
        part.chain(others).chain(remarks).collect()
    }

    /// Returns the same with the chosen code alone.
    pub fn of_code(mut self, code: &CodeChoice, path: &Path) -> Result<Opened, Failure> {
        if let Some(thread) = &code.thread {
            let others = self.profile.keep_threads(|name| thread.is_match(name));
            self.others = others.ok_or_else(|| {
                let what = "does not tell threads, which --thread needs: the agent writes them with thread=y";
                Failure::about(path, what)
            })?;
        }
        if code.without_agent {
            self.profile = self.profile.without_agent();
        }
        if let Some(own) = &code.own.mine {
            self.profile = self.profile.of_own_code(own);
        }
        Ok(self)
    }

    /// Returns the chosen part of the run.
    pub fn within(self, span: &SpanChoice, path: &Path) -> Result<Opened, Failure> {
        match span.part() {
            Some(part) => self.of_part(part, path),
            None => Ok(self),
        }
    }

    /// Returns this part of the run.
    pub fn of_part(self, part: Part, path: &Path) -> Result<Opened, Failure> {
        Ok(Opened {
            profile: part.limit(self.profile, path)?,
            ..self
        })
    }

    /// Returns the same with stacks that were cut marked as such.
    pub fn with_cut_marked(self) -> Opened {
        Opened {
            profile: self.profile.with_cut_marked(),
            ..self
        }
    }

    /// Returns the same in a form that can be compared with other runs.
    pub fn comparable(self) -> Opened {
        Opened {
            profile: self.profile.comparable(),
            ..self
        }
    }

    /// Counts CPU samples in those of a common interval.
    pub fn count_samples_of(&mut self, common: CommonInterval) {
        self.profile.count_samples_of(common);
    }

    /// Returns the profile, and the reason its file could not be read to the end.
    pub fn into_parts(self) -> (Profile, Option<Failure>) {
        (self.profile, self.fault)
    }

    /// Returns the reason the file could not be read to the end.
    pub fn fault(&self) -> Option<&str> {
        self.fault.as_ref().and_then(Failure::message)
    }

    /// Reports, after everything readable has been shown, why there is no more.
    pub fn finish(self) -> Result<(), Failure> {
        self.fault.map_or(Ok(()), Err)
    }
}
