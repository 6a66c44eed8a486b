//! `hprof diff`: compares two runs.

mod gate;

use std::borrow::Cow;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use hprof_profile::{Basis, By, Change, CommonInterval, Costs, Metric, Profile, Scale, changes};
use serde::Serialize;

use crate::about;
use crate::amounts::{Amounts, Sizes, interval_ns};
use crate::failure::Failure;
use crate::output::Output;
use crate::pair;
use crate::profile::{CodeChoice, Opened, open, write_remarks};
use crate::span::Part;
use crate::table::{Style, Table};
use crate::top::not_shown;
use gate::Condition;

/// Compare two profiles: rows that grew, shrank, appeared or disappeared
///
/// Changes are those of the cost of a row itself, or with --total of its cost
/// including everything it called. `hprof diff FILE --section 1 --section 3`
/// compares two dumps of one run, `hprof diff FILE --between 10:00..10:01 --and
/// 10:03..10:04` two parts of one. With --normalise the base is scaled to the
/// total of the new profile, for runs of different length. With --fail-if, the
/// exit status is 3 if a total has changed as specified:
///   --fail-if 'alloc-bytes > 5%'     more than 5 % above the base
///   --fail-if 'cpu < -100'           more than 100 below the base
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    /// The profile to compare with; `-` is the standard input
    base: PathBuf,

    /// The profile to compare; `-` is the standard input [default: the same file, with --section BASE --section NEW]
    new: Option<PathBuf>,

    /// The number of the dump in a run with several, from 1; twice for the base and the new one [default: the last]
    #[arg(long, value_name = "N")]
    section: Vec<u32>,

    /// Compare this part of the base's run, such as 10:03..10:04 or +30s..+90s, as in `hprof top --from --until`; with --and, of the
    /// same file unless there are two
    #[arg(
        long,
        value_name = "TIME..TIME",
        requires = "and",
        allow_hyphen_values = true
    )]
    between: Option<Part>,

    /// Compare it with this part of the new one's run
    #[arg(
        long,
        value_name = "TIME..TIME",
        requires = "between",
        allow_hyphen_values = true
    )]
    and: Option<Part>,

    /// The value, as in `hprof top`
    #[arg(long)]
    value: Option<Metric>,

    /// The grouping of rows, as in `hprof top`
    #[arg(long, default_value_t)]
    by: By,

    #[command(flatten)]
    code: CodeChoice,

    /// Compare the costs of rows including everything they called
    #[arg(long)]
    total: bool,

    /// Scale the base to the total of the new profile
    #[arg(long)]
    normalise: bool,

    /// Fail if this holds: VALUE > N, VALUE > N%, or with <
    #[arg(long, value_name = "CONDITION")]
    fail_if: Vec<Condition>,

    /// The most rows; 0 for all
    #[arg(short, value_name = "N", default_value_t = 20)]
    number: usize,

    #[command(flatten)]
    sizes: Sizes,

    /// Write JSON
    #[arg(long, conflicts_with = "markdown")]
    json: bool,

    /// Write a table for a pull request
    #[arg(long)]
    markdown: bool,
}

#[derive(Serialize)]
struct DiffDocument<'a> {
    format: &'static str,
    version: u32,
    value: &'a str,
    unit: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    interval_ns: Option<u64>,
    basis: &'a str,
    by: &'a str,
    normalised: bool,
    base_total: u64,
    new_total: u64,
    rows: Vec<DiffRow<'a>>,
    failed: &'a [String],
    remarks: &'a [String],
}

#[derive(Serialize)]
struct DiffRow<'a> {
    name: &'a str,
    base: Option<DiffSums>,
    new: Option<DiffSums>,
}

#[derive(Serialize)]
struct DiffSums {
    #[serde(rename = "self")]
    own: u64,
    total: u64,
}

/// Two profiles and the value to compare.
struct Compared {
    metric: Metric,
    /// That of the less reliable one.
    basis: Basis,
    /// The CPU time that a sample of both stands for, in nanoseconds, where the value is samples.
    interval_ns: Option<u64>,
    amounts: Amounts,
    base: u64,
    new: u64,
    changes: Vec<Change>,
    /// The number of all rows that changed.
    all: usize,
}

/// Compares the profiles and prints the changes.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let (base, new) = (&arguments.base, arguments.new_file());
    let (base_section, new_section) = match (arguments.between, arguments.section.as_slice()) {
        (None, _) | (_, [_, _, ..]) => pair::of(&arguments.section, "--section", base, new)?,
        // Two parts of one dump are no dump compared with itself.
        (Some(_), sections) => (sections.first().copied(), sections.first().copied()),
    };
    let open = |path, section, part: Option<Part>| {
        let whole = open(path, section)?;
        let opened = match part {
            Some(part) => whole.of_part(part, path)?,
            None => whole,
        };
        Ok::<Opened, Failure>(opened.of_code(&arguments.code, path)?.comparable())
    };
    let mut base = open(base, base_section, arguments.between)?;
    let mut new = open(new, new_section, arguments.and)?;
    arguments.count_in_common(&mut base, &mut new)?;
    let compared = arguments.compare(&base, &new)?;
    let failed = arguments.failed(&base.profile, &new.profile)?;
    let remarks = both_remarks(&base, &new, compared.metric);
    let runs = runs(&base.profile, &new.profile);
    let output = Output::open(None, arguments.new_file())?;
    output.write(|out| {
        if arguments.json {
            arguments.json(&compared, &failed, &remarks, out)
        } else if arguments.markdown {
            arguments.markdown(&compared, &runs, &remarks, out)
        } else {
            runs.iter()
                .try_for_each(|(side, run)| writeln!(out, "{side}: {run}"))?;
            arguments.table(&compared, out)?;
            not_shown(compared.changes.len(), compared.all, out)?;
            write_remarks(&remarks, out)
        }
    })?;
    base.finish()?;
    new.finish()?;
    if failed.is_empty() {
        return Ok(());
    }
    Err(Failure::Condition(failed.join("; ")))
}

impl Arguments {
    fn new_file(&self) -> &Path {
        self.new.as_deref().unwrap_or(&self.base)
    }

    /// Counts the CPU samples of both in those of a common interval, so that times are compared.
    fn count_in_common(&self, base: &mut Opened, new: &mut Opened) -> Result<(), Failure> {
        let mut common = CommonInterval::default();
        let both = [
            (&*self.base, &base.profile),
            (self.new_file(), &new.profile),
        ];
        for (path, profile) in both {
            if let Err(error) = common.add(profile) {
                let is_wanted = match self.value {
                    Some(value) => value == Metric::Cpu,
                    None => new.profile.metrics().first() == Some(&Metric::Cpu),
                };
                let is_judged = self.fail_if.iter().any(|gate| gate.metric == Metric::Cpu);
                return match is_wanted && !self.normalise || is_judged {
                    true => Err(Failure::about(
                        path,
                        format_args!("{error}; --normalise compares shares"),
                    )),
                    false => Ok(()),
                };
            }
        }
        base.count_samples_of(common);
        new.count_samples_of(common);
        Ok(())
    }

    fn compare(&self, base: &Opened, new: &Opened) -> Result<Compared, Failure> {
        let metric = new.metric_by(self.new_file(), self.value, self.by)?;
        base.metric_by(&self.base, Some(metric), self.by)?;
        let (base, new) = (&base.profile, &new.profile);
        let (before, after) = (base.total(metric), new.total(metric));
        let scale = if self.normalise {
            Scale {
                numerator: after,
                denominator: before,
            }
        } else {
            Scale::ONE
        };
        let mut changes = changes(base, new, metric, self.by, scale);
        if self.total {
            changes.sort_by_key(|change| {
                std::cmp::Reverse(change.difference(|costs| costs.total).unsigned_abs())
            });
        }
        changes.retain(|change| change.difference(self.cost()) != 0);
        let all = changes.len();
        if self.number > 0 {
            changes.truncate(self.number);
        }
        Ok(Compared {
            metric,
            basis: base.basis(metric).min(new.basis(metric)),
            interval_ns: interval_ns(new, metric),
            amounts: Amounts::of_both(metric, base, new, self.sizes),
            base: scale.of(before),
            new: after,
            changes,
            all,
        })
    }

    /// Returns the messages of the conditions that hold.
    fn failed(&self, base: &Profile, new: &Profile) -> Result<Vec<String>, Failure> {
        let mut failed = Vec::new();
        for gate in &self.fail_if {
            for (path, profile) in [(&*self.base, base), (self.new_file(), new)] {
                if !profile.metrics().contains(&gate.metric) {
                    let metric = gate.metric;
                    let what = format_args!("has no value `{metric}`, which --fail-if names");
                    return Err(Failure::about(path, what));
                }
            }
            let (before, after) = (base.total(gate.metric), new.total(gate.metric));
            if gate.holds(before, after) {
                let amounts = Amounts::of_both(gate.metric, base, new, self.sizes);
                failed.push(match amounts.are_sampled_times() {
                    true => format!(
                        "{gate}: from {} to {}",
                        amounts.cell(before),
                        amounts.cell(after)
                    ),
                    false => format!("{gate}: from {before} to {after}"),
                });
            }
        }
        Ok(failed)
    }

    fn cost(&self) -> fn(&Costs) -> u64 {
        match self.total {
            true => |costs| costs.total,
            false => |costs| costs.own,
        }
    }

    fn table(&self, compared: &Compared, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{}", compared.summary())?;
        let style = Style::of_output();
        let mut table = Table::new(&["base", "new", "change", "%", "", self.by.name()]);
        for change in &compared.changes {
            let columns = compared.columns(change, self.cost());
            match self.by {
                By::Trace => table.stack(columns.to_vec(), &change.name),
                _ => table.row(columns.to_vec(), change.name.clone()),
            }
        }
        table.write(&style, out)
    }

    fn markdown(
        &self,
        compared: &Compared,
        runs: &[(&str, String)],
        remarks: &[String],
        out: &mut dyn Write,
    ) -> io::Result<()> {
        for (side, run) in runs {
            writeln!(out, "{side}: {}\n", markdown_text(run))?;
        }
        writeln!(out, "{}\n", compared.summary())?;
        writeln!(out, "| base | new | change | % | | {} |", self.by)?;
        writeln!(out, "|---:|---:|---:|---:|---|---|")?;
        for change in &compared.changes {
            let columns = compared.columns(change, self.cost()).join(" | ");
            let name = match self.by {
                By::Trace => change.name.replace('\n', " ← ").into(),
                _ => Cow::from(&change.name),
            };
            writeln!(out, "| {columns} | {} |", markdown_text(&name))?;
        }
        for remark in remarks {
            writeln!(out, "\n{}", markdown_text(remark))?;
        }
        Ok(())
    }

    fn json(
        &self,
        compared: &Compared,
        failed: &[String],
        remarks: &[String],
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let sums = |costs: Costs| DiffSums {
            own: costs.own,
            total: costs.total,
        };
        let document = DiffDocument {
            format: "hprof-diff",
            version: 1,
            value: compared.metric.name(),
            unit: compared.metric.unit().name(),
            interval_ns: compared.interval_ns,
            basis: compared.basis.name(),
            by: self.by.name(),
            normalised: self.normalise,
            base_total: compared.base,
            new_total: compared.new,
            rows: compared
                .changes
                .iter()
                .map(|change| DiffRow {
                    name: &change.name,
                    base: change.base.map(sums),
                    new: change.new.map(sums),
                })
                .collect(),
            failed,
            remarks,
        };
        serde_json::to_writer(&mut *out, &document)?;
        writeln!(out)
    }
}

impl Compared {
    fn summary(&self) -> String {
        let change = i128::from(self.new) - i128::from(self.base);
        format!(
            "{}: from {} to {}, {} ({})",
            self.metric,
            self.amounts.text(self.base),
            self.amounts.text(self.new),
            self.amounts.signed(change),
            relative(self.base, self.new),
        )
    }

    fn columns(&self, change: &Change, cost: fn(&Costs) -> u64) -> [String; 5] {
        let value = |costs: Option<Costs>| costs.map_or(0, |costs| cost(&costs));
        let (base, new) = (value(change.base), value(change.new));
        let seen = match (change.base, change.new) {
            (None, _) => "appeared",
            (_, None) => "vanished",
            _ => "",
        };
        [
            self.amounts.cell(base),
            self.amounts.cell(new),
            self.amounts.signed(change.difference(cost)),
            relative(base, new),
            seen.to_owned(),
        ]
    }
}

/// Returns what each of both runs was, as far as their files tell.
fn runs(base: &Profile, new: &Profile) -> Vec<(&'static str, String)> {
    let sides = [("base", base), ("new", new)].into_iter();
    let runs = sides.filter_map(|(side, profile)| Some((side, about::profile(profile)?)));
    runs.collect()
}

/// Returns the remarks on both profiles, each with the profile that it is about.
fn both_remarks(base: &Opened, new: &Opened, metric: Metric) -> Vec<String> {
    let named = |name: &'static str, opened: &Opened| {
        let remarks = opened.remarks(metric).into_iter();
        remarks.map(move |remark| format!("{name}: {remark}"))
    };
    named("base", base).chain(named("new", new)).collect()
}

fn relative(base: u64, new: u64) -> String {
    match base {
        0 if new == 0 => "0.00%".to_owned(),
        0 => "new".to_owned(),
        _ => format!("{:+.2}%", (new as f64 - base as f64) * 100.0 / base as f64),
    }
}

/// Formats a name for a Markdown table: as code, so that nothing in it is markup.
fn markdown_text(name: &str) -> String {
    let name = hprof_format::printable(name)
        .replace('`', "'")
        .replace('|', "\\|");
    format!("`{name}`")
}
