//! `hprof growth`: the allocation sites whose objects pile up.

mod paths;

use std::io::{self, Write};
use std::iter;
use std::path::PathBuf;
use std::time::Duration;

use hprof_footprint::{Fate, Forecast, Point, Trend, trend};
use hprof_profile::{Course, Growth, Judgement, MANY_POINTS, Profile, growth};
use serde::Serialize;

use crate::about;
use crate::accounts;
use crate::amounts::{number, size, time};
use crate::attach::{Consent, Library};
use crate::duration;
use crate::failure::Failure;
use crate::output::Output;
use crate::profile::{Choice, write_remarks};
use crate::record::{self, budget::BudgetArgument, what::What};
use crate::table::{Style, Table};
use crate::top::not_shown;
use paths::Keepers;

/// Show the allocation sites whose objects pile up, with the evidence
///
/// Of a file of heap=sites,lifetimes=y, as `hprof record alloc` writes it. A site
/// is suspected when each generation of its objects keeps surviving, however few
/// they are: without the first quarter of its time, what was alive and stayed so
/// rises along a straight line, in each third of the time; and three quarters of
/// what was alive some time ago still are, or more than half of what was made
/// stays, as in a queue that is emptied too slowly. Four looks at all objects are
/// enough, if one of them is in each third; each is made after a garbage
/// collection.
/// Sites are ordered by bytes a minute. Before them is when the heap is full if all
/// sites together continue so, with 95 % confidence; of a program that was attached to,
/// which has older objects, only the growth.
///
/// With --for, the name or process id of a running program takes the place of FILE:
/// it is recorded for that time first, into a file that stays. With --paths, a heap
/// dump comes at the end of the recording, by a forked copy of the program where
/// there can be one, and the answer also says what keeps the objects of each site.
///
/// The columns: `bytes/min` and `objs/min` are what is more alive after each minute,
/// `made/min` and `died/min` how many objects are made and die in one; `alive` are
/// those at the end, `oldest` is the least age of the oldest. `line` says how
/// straight the line is, from 0 to 1, and `still alive` how many of those that were
/// alive so long ago are so at the end.
#[derive(clap::Args)]
#[command(verbatim_doc_comment, mut_arg("budget", |budget| budget.requires("length")))]
pub struct Arguments {
    #[command(flatten)]
    choice: Choice,

    /// The most rows; 0 for all
    #[arg(short, value_name = "N", default_value_t = 20)]
    number: usize,

    /// Also print the paths from roots to most of the objects of each site; needs a file of heap=all,lifetimes=y,format=b, or --for
    #[arg(long)]
    paths: bool,

    /// FILE is a running program: record it for so long first, such as 5m
    #[arg(long = "for", value_name = "TIME", value_parser = duration::parse)]
    length: Option<Duration>,

    /// With --for, the folder for the recording; it is created if it is missing
    #[arg(
        short,
        long,
        value_name = "FOLDER",
        default_value = ".",
        requires = "length"
    )]
    dir: PathBuf,

    /// Write JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    budget: BudgetArgument,

    #[command(flatten)]
    consent: Consent,

    #[command(flatten)]
    library: Library,
}

#[derive(Serialize)]
struct GrowthDocument {
    format: &'static str,
    version: u32,
    known_ms: u64,
    collections: u32,
    sites: usize,
    looks: usize,
    open: usize,
    estimated: bool,
    outlook: Option<Outlook>,
    rows: Vec<GrowthRow>,
}

/// The growth of all live objects, with 95 % confidence.
#[derive(Serialize)]
struct Outlook {
    text: String,
    least_bytes_per_minute: Option<f64>,
    most_bytes_per_minute: Option<f64>,
    least_seconds: Option<f64>,
    most_seconds: Option<f64>,
}

#[derive(Serialize)]
struct GrowthRow {
    class: String,
    stack: Vec<String>,
    bytes_per_minute: f64,
    objects_per_minute: f64,
    births_per_minute: f64,
    deaths_per_minute: f64,
    live_objects: u64,
    oldest_seconds: u64,
    straightness: f64,
    surviving: f64,
    surviving_seconds: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    kept_by: Option<Keepers>,
}

/// What a profile says about growth.
struct Answer<'a> {
    profile: &'a Profile,
    course: &'a Course,
    judgement: Judgement,
    /// What keeps the objects of each growing site that is shown; nothing if nobody asked.
    keepers: Vec<Keepers>,
}

/// Prints the table.
pub fn run(mut arguments: Arguments) -> Result<(), Failure> {
    if let Some(length) = arguments.length {
        arguments.choice.file = arguments.record(length)?;
    }
    arguments.answer()
}

/// Returns the time that everything is known to, in milliseconds.
fn known(course: &Course) -> u64 {
    course.all.last().map_or(0, |last| last.millis)
}

fn class(profile: &Profile, row: &Growth) -> String {
    let class = profile.labels(row.labels).class;
    class
        .map_or("<unknown>", |class| profile.names.text(class))
        .to_owned()
}

fn stack(profile: &Profile, row: &Growth) -> Vec<String> {
    let frames = profile.stacks.frames(row.stack).iter();
    frames.map(|&frame| profile.method(frame)).collect()
}

/// Rounds a number of objects or bytes a minute.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "not negative, and what is too large is the largest number"
)]
pub fn whole(rate: f64) -> u64 {
    rate.round() as u64
}

/// Returns why a site is suspected, in one sentence.
pub fn evidence(row: &Growth) -> String {
    let surviving = (row.surviving * 100.0).floor();
    format!(
        "{} objects a minute more ({}), {} made and {} dead a minute, {surviving:.0} % of those alive {} ago still are, the oldest for {} or longer; a straight line explains {:.1} %",
        number(whole(row.objects_per_minute)),
        size(whole(row.bytes_per_minute)),
        number(whole(row.births_per_minute)),
        number(whole(row.deaths_per_minute)),
        time(row.surviving_seconds as f64),
        time(row.oldest_seconds as f64),
        100.0 * row.straightness,
    )
}

/// The labels of facts about the run: the most bytes of the heap, and when a program was profiled from its start.
const HEAP_LIMIT: &str = "Xmx";
const STARTED: &str = "Started";

/// Returns how all live objects grow, and when the heap is full if that is known.
fn forecast(profile: &Profile, course: &Course) -> Forecast {
    let points: Vec<Point> = course
        .all
        .iter()
        .map(|point| Point {
            time: point.millis,
            bytes: point.most_bytes,
        })
        .collect();
    let trend = trend(&points);
    let fact = |wanted: &str| {
        let mut facts = profile.facts.iter();
        facts
            .find(|(label, _)| label == wanted)
            .map(|(_, value)| value.as_str())
    };
    let limit =
        fact(HEAP_LIMIT).and_then(|limit| limit.strip_suffix(" bytes")?.parse::<u64>().ok());
    let knows_all = fact(STARTED).is_some();
    let left = match trend {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "bytes of live objects"
        )]
        Trend::Grows { now, .. } => limit.map(|limit| limit.saturating_sub(now as u64)),
        Trend::Unknown { .. } => limit,
    };
    Forecast {
        fate: Fate::HeapIsFull,
        trend,
        left: left.filter(|_| knows_all),
    }
}

/// Returns when the heap is full, in a sentence.
pub fn outlook(profile: &Profile, course: &Course) -> Option<String> {
    accounts::forecast(&forecast(profile, course))
}

/// Returns what may change with more looks.
fn doubts(judgement: &Judgement) -> Vec<String> {
    let Judgement {
        open,
        looks,
        is_estimated,
        ..
    } = *judgement;
    let cannot_tell = (open > 0).then(|| {
        let sites = if open == 1 { "site" } else { "sites" };
        format!(
            "cannot tell yet: {open} {sites} with live objects, which were looked at too seldom or for too short a time, or grew unevenly"
        )
    });
    let few = (looks < MANY_POINTS).then(|| {
        format!("judged by {looks} looks, each after a garbage collection; more make it surer")
    });
    let sampled = is_estimated.then(|| {
        "allocations were sampled: a slow leak of small objects may have no sample; --budget none counts all".to_owned()
    });
    cannot_tell.into_iter().chain(few).chain(sampled).collect()
}

impl Arguments {
    /// Records the program, and returns the file.
    fn record(&self, length: Duration) -> Result<PathBuf, Failure> {
        let what = if self.paths {
            What::Growth
        } else {
            What::Alloc
        };
        let program = self.choice.file.to_string_lossy();
        record::running(
            &program,
            &what,
            self.budget,
            length,
            &self.dir,
            &self.consent,
            &self.library,
        )
    }

    fn answer(&self) -> Result<(), Failure> {
        let file = &self.choice.file;
        let opened = self.choice.open()?;
        let profile = &opened.profile;
        let judgement = growth(profile).map_err(|error| Failure::about(file, error))?;
        let course = profile.history.course.as_ref();
        let course = course.ok_or_else(|| Failure::about(file, "has no course"))?;
        let keepers = match self.paths {
            true => paths::keepers(file, profile, &judgement.growing[..self.shown(&judgement)])?,
            false => Vec::new(),
        };
        let answer = Answer {
            profile,
            course,
            judgement,
            keepers,
        };
        let output = Output::open(None, file)?;
        output.write(|out| match self.json {
            true => json(answer, out),
            false => self.table(&answer, out),
        })?;
        opened.finish()
    }

    /// Returns the number of rows.
    fn shown(&self, judgement: &Judgement) -> usize {
        let found = judgement.growing.len();
        match self.number {
            0 => found,
            most => most.min(found),
        }
    }

    fn table(&self, answer: &Answer<'_>, out: &mut dyn Write) -> io::Result<()> {
        let Answer {
            profile,
            course,
            judgement,
            keepers,
        } = answer;
        let found = &judgement.growing;
        if let Some(about) = about::profile(profile) {
            writeln!(out, "{about}")?;
        }
        let (collections, sites) = (number(course.collections.into()), course.sites.len());
        writeln!(
            out,
            "growth: {} of {sites} sites with a course, known to {} of {}, {collections} collections",
            found.len(),
            time(known(course) as f64 / 1e3),
            time(course.millis as f64 / 1e3),
        )?;
        if let Some(outlook) = outlook(profile, course) {
            writeln!(out, "{outlook}")?;
        }
        let doubts = doubts(judgement);
        if found.is_empty() {
            let site = match (judgement.open > 0, judgement.is_estimated) {
                (true, _) => "site that can be judged",
                (false, true) => "sampled site",
                (false, false) => "site",
            };
            writeln!(out, "no {site} keeps what it makes")?;
            return write_remarks(&doubts, out);
        }
        let shown = self.shown(judgement);
        let heads = [
            "bytes/min",
            "objs/min",
            "made/min",
            "died/min",
            "alive",
            "oldest",
            "line",
            "still alive",
            "class, made in",
        ];
        let mut table = Table::new(&heads);
        for row in &found[..shown] {
            let made_in = stack(profile, row).into_iter().next().unwrap_or_default();
            let surviving = (row.surviving * 100.0).floor();
            let numbers = vec![
                size(whole(row.bytes_per_minute)),
                number(whole(row.objects_per_minute)),
                number(whole(row.births_per_minute)),
                number(whole(row.deaths_per_minute)),
                number(row.live_objects),
                format!("{}+", time(row.oldest_seconds as f64)),
                format!("{:.3}", row.straightness),
                format!(
                    "{surviving:.0}% of {} ago",
                    time(row.surviving_seconds as f64)
                ),
            ];
            table.row(numbers, format!("{}, {made_in}", class(profile, row)));
        }
        table.write(&Style::of_output(), out)?;
        not_shown(shown, found.len(), out)?;
        write_remarks(&doubts, out)?;
        let mut kept = found.iter().zip(keepers);
        kept.try_for_each(|(site, keepers)| paths::write(profile, site, keepers, out))
    }
}

fn json(answer: Answer<'_>, out: &mut dyn Write) -> io::Result<()> {
    let Answer {
        profile,
        course,
        judgement,
        keepers,
    } = answer;
    let kept_by = keepers
        .into_iter()
        .map(Some)
        .chain(iter::repeat_with(|| None));
    let row = |(row, kept_by): (&Growth, Option<Keepers>)| GrowthRow {
        class: class(profile, row),
        stack: stack(profile, row),
        bytes_per_minute: row.bytes_per_minute,
        objects_per_minute: row.objects_per_minute,
        births_per_minute: row.births_per_minute,
        deaths_per_minute: row.deaths_per_minute,
        live_objects: row.live_objects,
        oldest_seconds: row.oldest_seconds,
        straightness: row.straightness,
        surviving: row.surviving,
        surviving_seconds: row.surviving_seconds,
        kept_by,
    };
    let forecast = forecast(profile, course);
    let rate = |end: fn(&std::ops::RangeInclusive<f64>) -> f64| match &forecast.trend {
        Trend::Grows { rate, .. } => Some(end(rate) * 60e3),
        Trend::Unknown { .. } => None,
    };
    let millis = forecast
        .left
        .and_then(|left| forecast.trend.millis_until(left as f64));
    let document = GrowthDocument {
        format: "hprof-growth",
        version: 1,
        known_ms: known(course),
        collections: course.collections,
        sites: course.sites.len(),
        looks: judgement.looks,
        open: judgement.open,
        estimated: judgement.is_estimated,
        outlook: accounts::forecast(&forecast).map(|text| Outlook {
            text,
            least_bytes_per_minute: rate(|rate| *rate.start()),
            most_bytes_per_minute: rate(|rate| *rate.end()),
            least_seconds: millis.as_ref().map(|millis| millis.start() / 1e3),
            most_seconds: millis.as_ref().map(|millis| millis.end() / 1e3),
        }),
        rows: judgement.growing.iter().zip(kept_by).map(row).collect(),
    };
    serde_json::to_writer(&mut *out, &document)?;
    writeln!(out)
}
