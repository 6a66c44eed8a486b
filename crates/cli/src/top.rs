//! `hprof top`: the methods, lines, classes or stacks that cost most.

use std::collections::HashSet;
use std::io::{self, Write};

use hprof_format::ONLY_MONITORS;
use hprof_profile::{By, Cost, Metric, Profile, costs};
use regex::Regex;
use serde::Serialize;

use crate::about;
use crate::amounts::{Amounts, Sizes, hundredths, interval_ns, percent, shares};
use crate::failure::Failure;
use crate::output::Output;
use crate::profile::{Choice, write_remarks};
use crate::span::SpanChoice;
use crate::table::{Style, Table};

/// Show what costs most: methods, lines, classes, packages, threads or stacks
///
/// `self` is the cost of a row itself, `total` its cost including everything it
/// called; a method that calls itself counts once in its total. CPU samples are
/// shown as times, too, if the file has their interval. Costs that are in the
/// file's totals but in no row, because they were below the cutoff, are the row
/// `<not listed>`.
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    #[command(flatten)]
    choice: Choice,

    #[command(flatten)]
    span: SpanChoice,

    /// The grouping of rows: method, line, class, package, thread, thread-group (`http-exec-*`), trace, type (the class that was
    /// allocated, or whose monitor was wanted), age (of what is live, in a file of lifetimes=y), state (of time that passed: running, parked, blocked), or of lock-wait also lock, holder
    /// (the method that held it) or wait (who waited, which lock, who held it) [default: wait for lock-wait, otherwise method]
    #[arg(long)]
    by: Option<By>,

    /// The value: cpu, wall, blocked, parked, pinned, time, inclusive-time, calls, alloc-bytes, alloc-objects, live-bytes, live-objects, temporary-bytes, temporary-objects, survived-bytes, survived-objects, peak-bytes, peak-objects, contention,
    /// contentions or lock-wait [default: the first of these that the file has]
    #[arg(long)]
    value: Option<Metric>,

    /// Order by the cost of the row itself (the default)
    #[arg(long = "self", conflicts_with = "total")]
    own: bool,

    /// Order by the cost of the row including everything it called
    #[arg(long)]
    total: bool,

    /// Only rows whose name matches this regular expression
    #[arg(long, value_name = "REGEX")]
    filter: Option<Regex>,

    /// With --value wall, blocked, parked or pinned, include threads that wait for work, such as those of a pool
    #[arg(long)]
    idle: bool,

    /// The most rows; 0 for all
    #[arg(short, value_name = "N", default_value_t = 20)]
    number: usize,

    #[command(flatten)]
    sizes: Sizes,

    /// Write JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct TopDocument<'a> {
    format: &'static str,
    version: u32,
    value: &'a str,
    unit: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    interval_ns: Option<u64>,
    basis: &'a str,
    by: &'a str,
    section: u32,
    sections: u32,
    total: u64,
    rows: Vec<TopRow<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    waits: Vec<WaitRow<'a>>,
    remarks: &'a [String],
}

#[derive(Serialize)]
struct TopRow<'a> {
    name: &'a str,
    #[serde(rename = "self")]
    own: u64,
    total: u64,
}

#[derive(Serialize)]
struct WaitRow<'a> {
    waiter: &'a str,
    lock: &'a str,
    holder: &'a [String],
    time: u64,
}

/// Prints the table.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let file = &arguments.choice.file;
    let mut opened = arguments
        .choice
        .open_whole()?
        .within(&arguments.span, file)?;
    let idle = match arguments.idle {
        true => Vec::new(),
        false => opened.profile.remove_idle(),
    };
    let opened = arguments.choice.applied_to(opened, file)?;
    let wanted = arguments.by.unwrap_or_default();
    let metric = opened.metric_by(file, arguments.value, wanted)?;
    let by = arguments.by.unwrap_or(match metric {
        Metric::LockWait => By::Wait,
        _ => By::default(),
    });
    let (rows, all) = arguments.rows(&opened.profile, metric, by);
    let mut remarks = opened.remarks(metric);
    let idle = idle.iter().filter(|(of, _)| *of == metric);
    let idle = idle.fold(0_u64, |sum, (_, value)| sum.saturating_add(*value));
    if idle > 0 {
        let idle = Amounts::of(metric, &opened.profile, arguments.sizes).text(idle);
        remarks.push(format!(
            "{idle} of threads that waited for work, or ran no Java, are left out; --idle shows them"
        ));
    }
    if by == By::Thread {
        remarks.extend(shared_names(&opened.profile, &rows));
    }
    let output = Output::open(None, file)?;
    output.write(|out| match arguments.json {
        true => arguments.json(&opened.profile, metric, by, &rows, &remarks, out),
        false => {
            arguments.table(&opened.profile, metric, by, &rows, all, out)?;
            write_remarks(&remarks, out)?;
            other_values(&opened.profile, metric, out)
        }
    })?;
    opened.finish()
}

impl Arguments {
    /// Returns the rows to show, and the number of all.
    fn rows(&self, profile: &Profile, metric: Metric, by: By) -> (Vec<Cost>, usize) {
        let mut rows = costs(profile, metric, by);
        if let Some(filter) = &self.filter {
            rows.retain(|row| filter.is_match(&row.name));
        }
        if self.total {
            rows.sort_by_key(|row| std::cmp::Reverse((row.total, row.own)));
        }
        let all = rows.len();
        if self.number > 0 {
            rows.truncate(self.number);
        }
        (rows, all)
    }

    fn table(
        &self,
        profile: &Profile,
        metric: Metric,
        by: By,
        rows: &[Cost],
        count: usize,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let all = profile.total(metric);
        heading(profile, metric, all, self.sizes, out)?;
        let amounts = Amounts::of(metric, profile, self.sizes);
        let with_samples = amounts.are_sampled_times();
        let own: Vec<u64> = rows.iter().map(|row| row.own).collect();
        let (own_shares, other_share) = shares(&own, all);
        let mut heads = vec!["self", "%", "total", "%", "", by.name()];
        if with_samples {
            heads.insert(1, "samples");
        }
        let style = Style::of_output();
        let mut table = Table::new(&heads);
        for (row, share) in rows.iter().zip(own_shares) {
            let shown = if self.total { row.total } else { row.own };
            let mut numbers = vec![amounts.cell(row.own)];
            numbers.extend(with_samples.then(|| row.own.to_string()));
            numbers.extend([
                hundredths(share),
                amounts.cell(row.total),
                format!("{:.2}", percent(row.total, all)),
                style.bar(shown, all),
            ]);
            match by {
                By::Trace => table.stack(numbers, &row.name),
                _ => table.row(numbers, row.name.clone()),
            }
        }
        table.write(&style, out)?;
        let others = own.iter().fold(all, |rest, &own| rest.saturating_sub(own));
        if rows.len() < count && self.filter.is_none() && !self.total {
            let (others, share) = (amounts.cell(others), hundredths(other_share));
            write!(out, "the others have {others}, {share} %; ")?;
        }
        not_shown(rows.len(), count, out)
    }

    fn json(
        &self,
        profile: &Profile,
        metric: Metric,
        by: By,
        rows: &[Cost],
        remarks: &[String],
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let mut waits = match by {
            By::Wait => profile.waits(),
            _ => Vec::new(),
        };
        let shown: HashSet<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        waits.retain(|wait| shown.contains(&*wait.text()));
        let waits = waits.iter().map(|wait| WaitRow {
            waiter: &wait.waiter,
            lock: &wait.lock,
            holder: &wait.holder,
            time: wait.nanos,
        });
        let document = TopDocument {
            format: "hprof-top",
            version: 1,
            value: metric.name(),
            unit: metric.unit().name(),
            interval_ns: interval_ns(profile, metric),
            basis: profile.basis(metric).name(),
            by: by.name(),
            section: profile.section,
            sections: profile.sections,
            total: profile.total(metric),
            rows: rows.iter().map(row).collect(),
            waits: waits.collect(),
            remarks,
        };
        serde_json::to_writer(&mut *out, &document)?;
        writeln!(out)
    }
}

fn row(cost: &Cost) -> TopRow<'_> {
    TopRow {
        name: &cost.name,
        own: cost.own,
        total: cost.total,
    }
}

/// The most names that are said to be those of several threads.
const SHARED_NAMES: usize = 3;

/// Returns which rows are several threads with one name.
fn shared_names(profile: &Profile, rows: &[Cost]) -> Option<String> {
    let counted = rows
        .iter()
        .map(|row| (row, profile.threads_named(&row.name)));
    let shared: Vec<String> = counted
        .filter(|(_, threads)| *threads > 1)
        .map(|(row, threads)| format!("{} ({threads} threads)", row.name))
        .collect();
    let more = match shared.len().saturating_sub(SHARED_NAMES) {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    let named = shared.get(..SHARED_NAMES.min(shared.len()))?.join(", ");
    (!shared.is_empty()).then(|| format!("threads with one name are one row: {named}{more}"))
}

/// Writes how many of all rows were shown, unless all were.
pub fn not_shown(shown: usize, all: usize, out: &mut dyn Write) -> io::Result<()> {
    if shown < all {
        writeln!(out, "{shown} of {all} rows; -n 0 shows all")?;
    }
    Ok(())
}

/// Names the other values of the profile, with the option that shows them.
fn other_values(profile: &Profile, shown: Metric, out: &mut dyn Write) -> io::Result<()> {
    let mut others = profile.metrics();
    others.retain(|&metric| metric != shown);
    let others: Vec<&str> = others.into_iter().map(Metric::name).collect();
    match others.is_empty() {
        true => Ok(()),
        false => writeln!(out, "also: --value {}", others.join(", ")),
    }
}

/// Writes what the run was, the metric, its total, and the dump's number; without any contention also which the agent
/// cannot see.
pub fn heading(
    profile: &Profile,
    metric: Metric,
    all: u64,
    sizes: Sizes,
    out: &mut dyn Write,
) -> io::Result<()> {
    if let Some(about) = about::profile(profile) {
        writeln!(out, "{about}")?;
    }
    let total = Amounts::of(metric, profile, sizes).text(all);
    match (profile.section, profile.sections) {
        (section, sections @ 2..) => {
            writeln!(out, "{metric}: {total} (section {section} of {sections})")?;
        }
        _ => writeln!(out, "{metric}: {total}")?,
    }
    match metric {
        Metric::Contention | Metric::Contentions if all == 0 => writeln!(out, "{ONLY_MONITORS}"),
        _ => Ok(()),
    }
}
