//! `hprof flame`: a flame graph.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::PathBuf;

use hprof_format::printable;
use hprof_profile::export::{Folding, folded};
use hprof_profile::{Metric, Profile, Unit};
use inferno::flamegraph::{Direction, Options, from_lines};

use crate::failure::Failure;
use crate::output::Output;
use crate::profile::{Choice, open};
use crate::report::{Start, write_flame};
use crate::span::SpanChoice;

/// The most levels of a graph in SVG, and the frame in the place of those beyond.
const DEEPEST: usize = 10_000;
const DEEPER: &str = ";<more frames>";

/// Draw a flame graph, as a page or as SVG
///
/// Every box is a method, as wide as its share of the value; the methods it
/// calls are above it. The file is self-contained: a browser opens it, zooms on
/// a click and searches (Ctrl-F in SVG). With --diff, red or orange boxes have
/// grown since BASE, blue ones have shrunk. In the page boxes are as wide as in
/// both profiles together, so that stacks which have disappeared are shown too;
/// in SVG they are as wide as in FILE, and such stacks are not drawn.
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    #[command(flatten)]
    choice: Choice,

    #[command(flatten)]
    span: SpanChoice,

    /// The file to write, readable only by its owner: NAME.html or NAME.svg
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// The value, as in `hprof top`
    #[arg(long)]
    value: Option<Metric>,

    /// Start at the innermost frames, with their callers below them
    #[arg(long)]
    inverted: bool,

    /// Keep threads apart
    #[arg(long)]
    by_thread: bool,

    /// Colour by the change since this profile
    #[arg(long, value_name = "BASE")]
    diff: Option<PathBuf>,
}

/// Writes the flame graph.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    match arguments.output.extension().and_then(OsStr::to_str) {
        Some("svg") => svg(arguments),
        Some("html") => page(arguments),
        _ => Err(Failure::about(
            &arguments.output,
            "the name of a flame graph ends in .html or .svg",
        )),
    }
}

fn page(arguments: &Arguments) -> Result<(), Failure> {
    let file = &arguments.choice.file;
    let opened = arguments.choice.open_part(&arguments.span)?;
    let metric = opened.metric(file, arguments.value)?;
    let mut profiles = Vec::new();
    if let Some(path) = &arguments.diff {
        let base = arguments.choice.applied_to(open(path, None)?, path)?;
        base.metric(path, Some(metric))?;
        profiles.push((path.as_path(), base));
    }
    profiles.push((file, opened));
    let start = Start {
        flame_only: true,
        metric: Some(metric.name()),
        inverted: arguments.inverted,
        compared: arguments.diff.is_some(),
    };
    write_flame(&arguments.output, profiles, arguments.by_thread, start)
}

fn svg(arguments: &Arguments) -> Result<(), Failure> {
    let file = &arguments.choice.file;
    let mut opened = arguments.choice.open_part(&arguments.span)?;
    if arguments.diff.is_some() {
        opened = opened.comparable();
    }
    let metric = opened.metric(file, arguments.value)?;
    let remarks = opened.remarks(metric);
    let opened = opened.with_cut_marked();
    let folding = Folding {
        inverted: arguments.inverted,
        by_thread: arguments.by_thread,
    };
    let mut lines: Vec<String> = Vec::new();
    let stacks = folded_to_depth(&opened.profile, metric, folding);
    match &arguments.diff {
        None => lines.extend(
            stacks
                .iter()
                .map(|(stack, value)| format!("{stack} {value}")),
        ),
        Some(base_path) => {
            let base = open(base_path, None)?;
            let base = arguments
                .choice
                .applied_to(base, base_path)?
                .comparable()
                .with_cut_marked();
            base.metric(base_path, Some(metric))?;
            lines = both(folded_to_depth(&base.profile, metric, folding), stacks);
            base.finish()?;
        }
    }
    if lines.is_empty() {
        return Err(Failure::about(file, format_args!("has no {metric}")));
    }
    let title = format!("{metric} of {}", file.display());
    let mut options = Options::default();
    options.title = printable(&title).into_owned();
    options.subtitle = (!remarks.is_empty()).then(|| printable(&remarks.join(". ")).into_owned());
    options.count_name = match metric.unit() {
        Unit::Count => metric.name().to_owned(),
        unit => unit.name().to_owned(),
    };
    if arguments.inverted {
        options.direction = Direction::Inverted;
    }
    let output = Output::open(Some(&arguments.output), file)?;
    output.write(|out| draw(&mut options, &lines, out))?;
    opened.finish()
}

/// Returns the stacks as [`folded`] does, without the frames beyond [`DEEPEST`]: a graph of a million levels shows nothing.
fn folded_to_depth(profile: &Profile, metric: Metric, folding: Folding) -> Vec<(String, u64)> {
    let mut stacks: Vec<(String, u64)> = Vec::new();
    for (mut stack, value) in folded(profile, metric, folding) {
        if let Some((end, _)) = stack.match_indices(';').nth(DEEPEST - 1) {
            stack.truncate(end);
            stack.push_str(DEEPER);
        }
        match stacks.last_mut() {
            Some((last, sum)) if *last == stack => *sum = sum.saturating_add(value),
            _ => stacks.push((stack, value)),
        }
    }
    stacks
}

fn draw(options: &mut Options<'_>, lines: &[String], out: &mut dyn Write) -> io::Result<()> {
    let lines = lines.iter().map(String::as_str);
    from_lines(options, lines, out).map_err(io::Error::other)
}

/// Merges two lists of stacks and values, both sorted by stack, into lines with the value in the base and in the new
/// profile.
fn both(base: Vec<(String, u64)>, new: Vec<(String, u64)>) -> Vec<String> {
    let mut base = base.into_iter().peekable();
    let mut lines = Vec::new();
    for (stack, value) in new {
        while base.next_if(|(other, _)| *other < stack).is_some() {}
        let before = base.next_if(|(other, _)| *other == stack);
        let before = before.map_or(0, |(_, value)| value);
        lines.push(format!("{stack} {before} {value}"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_stand_beside_each_other() {
        let list = |stacks: &[(&str, u64)]| {
            let stacks = stacks
                .iter()
                .map(|&(stack, value)| (stack.to_owned(), value));
            stacks.collect::<Vec<_>>()
        };
        let base = list(&[("a", 1), ("b", 2), ("d", 4)]);
        let new = list(&[("b", 3), ("c", 5), ("d", 6)]);
        assert_eq!(both(base, new), ["b 2 3", "c 0 5", "d 4 6"]);
    }
}
