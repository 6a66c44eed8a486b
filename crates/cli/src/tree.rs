//! `hprof tree`: the callers of a method, and the methods it calls.

use std::io::{self, Write};

use hprof_profile::{By, Direction, Metric, Profile, Tree};
use serde::Serialize;

use crate::amounts::{Amounts, Sizes, interval_ns, percent};
use crate::failure::Failure;
use crate::output::Output;
use crate::profile::{Choice, write_remarks};
use crate::span::SpanChoice;
use crate::table::{Style, Table};
use crate::top::heading;

/// The most levels that are indented.
const INDENTED: usize = 100;

/// Show stacks as a tree, with the share of every branch
///
/// Without --callers and --callees the tree has all stacks from their outermost
/// frames. METHOD is `Class.method`, or `method` alone. A stack that contains the
/// method several times counts once.
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    #[command(flatten)]
    choice: Choice,

    #[command(flatten)]
    span: SpanChoice,

    /// The value, as in `hprof top`
    #[arg(long)]
    value: Option<Metric>,

    /// The grouping of nodes: method, line, class or package
    #[arg(long, default_value_t)]
    by: By,

    /// Show the callers of this method
    #[arg(long, value_name = "METHOD", conflicts_with = "callees")]
    callers: Option<String>,

    /// Show the methods that this one calls
    #[arg(long, value_name = "METHOD")]
    callees: Option<String>,

    /// Leave out branches with a smaller share of the tree, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 0.5)]
    min: f64,

    /// The most levels
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    depth: usize,

    #[command(flatten)]
    sizes: Sizes,

    /// Write JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct TreeDocument<'a> {
    format: &'static str,
    version: u32,
    value: &'a str,
    unit: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    interval_ns: Option<u64>,
    basis: &'a str,
    direction: &'a str,
    section: u32,
    sections: u32,
    total: u64,
    nodes: Vec<TreeRow<'a>>,
    remarks: &'a [String],
}

/// A node, directly after its parent or a sibling's last descendant.
#[derive(Serialize)]
struct TreeRow<'a> {
    depth: usize,
    name: &'a str,
    #[serde(rename = "self")]
    own: u64,
    total: u64,
}

/// Prints the tree.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let file = &arguments.choice.file;
    if !matches!(
        arguments.by,
        By::Method | By::Line | By::Class | By::Package
    ) {
        let by = arguments.by;
        return Err(Failure::Message(format!(
            "--by {by}: a tree has method, line, class or package"
        )));
    }
    let opened = arguments.choice.open_part(&arguments.span)?;
    let metric = opened.metric(file, arguments.value)?;
    let remarks = opened.remarks(metric);
    let opened = opened.with_cut_marked();
    let tree = arguments.tree(&opened.profile, metric);
    let method = arguments.callers.as_ref().or(arguments.callees.as_ref());
    if let (Some(method), [_]) = (method, tree.nodes.as_slice()) {
        return Err(Failure::about(
            file,
            format_args!("no stack with {metric} has a method `{method}`"),
        ));
    }
    let rows = arguments.rows(&tree);
    let left_out = tree.nodes.len().saturating_sub(1 + rows.len());
    let output = Output::open(None, file)?;
    output.write(|out| match arguments.json {
        true => arguments.json(&opened.profile, metric, rows, &remarks, out),
        false => {
            table(&opened.profile, metric, &rows, arguments.sizes, out)?;
            if left_out > 0 {
                let limits = arguments.limits();
                writeln!(out, "{left_out} nodes are left out by {limits}")?;
            }
            write_remarks(&remarks, out)
        }
    })?;
    opened.finish()
}

impl Arguments {
    fn tree(&self, profile: &Profile, metric: Metric) -> Tree {
        let build = |direction, method: Option<&String>| match method {
            Some(method) => {
                let from = |name: &str| is_method(name, method);
                Tree::new(profile, metric, self.by, direction, Some(&from))
            }
            None => Tree::new(profile, metric, self.by, direction, None),
        };
        match &self.callers {
            Some(method) => build(Direction::Callers, Some(method)),
            None => build(Direction::Callees, self.callees.as_ref()),
        }
    }

    /// Returns the nodes that are shown, in order.
    fn rows<'a>(&self, tree: &'a Tree) -> Vec<TreeRow<'a>> {
        let Some(root) = tree.nodes.first() else {
            return Vec::new();
        };
        let mut rows = Vec::new();
        let mut open: Vec<(usize, u32)> = root.children.iter().rev().map(|&c| (0, c)).collect();
        while let Some((depth, index)) = open.pop() {
            let node = &tree.nodes[index as usize];
            if depth >= self.depth || percent(node.total, root.total) < self.min {
                continue;
            }
            rows.push(TreeRow {
                depth,
                name: tree.name(node),
                own: node.own,
                total: node.total,
            });
            open.extend(node.children.iter().rev().map(|&child| (depth + 1, child)));
        }
        rows
    }

    /// Returns the options that leave nodes out.
    fn limits(&self) -> String {
        format!("--min {} and --depth {}", self.min, self.depth)
    }

    fn json(
        &self,
        profile: &Profile,
        metric: Metric,
        nodes: Vec<TreeRow<'_>>,
        remarks: &[String],
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let document = TreeDocument {
            format: "hprof-tree",
            version: 1,
            value: metric.name(),
            unit: metric.unit().name(),
            interval_ns: interval_ns(profile, metric),
            basis: profile.basis(metric).name(),
            direction: match self.callers {
                Some(_) => "callers",
                None => "callees",
            },
            section: profile.section,
            sections: profile.sections,
            total: profile.total(metric),
            nodes,
            remarks,
        };
        serde_json::to_writer(&mut *out, &document)?;
        writeln!(out)
    }
}

fn table(
    profile: &Profile,
    metric: Metric,
    rows: &[TreeRow<'_>],
    sizes: Sizes,
    out: &mut dyn Write,
) -> io::Result<()> {
    let all = profile.total(metric);
    heading(profile, metric, all, sizes, out)?;
    let amounts = Amounts::of(metric, profile, sizes);
    let with_samples = amounts.are_sampled_times();
    let style = Style::of_output();
    let heads: &[&str] = match with_samples {
        true => &["total", "samples", "%", "self", "stack"],
        false => &["total", "%", "self", "stack"],
    };
    let mut table = Table::new(heads);
    for row in rows {
        let mut numbers = vec![amounts.cell(row.total)];
        numbers.extend(with_samples.then(|| row.total.to_string()));
        numbers.extend([
            format!("{:.2}", percent(row.total, all)),
            amounts.cell(row.own),
        ]);
        table.row(numbers, indented(row));
    }
    table.write(&style, out)
}

/// Formats a node's name at its level. Nodes deeper than [`INDENTED`] are not indented further but print their level: a
/// stack of thousands of frames would be mostly blanks.
fn indented(row: &TreeRow<'_>) -> String {
    let name = row.name;
    match row.depth {
        depth @ 0..=INDENTED => format!("{:width$}{name}", "", width = 2 * depth),
        depth => format!("{:width$}[{}] {name}", "", depth + 1, width = 2 * INDENTED),
    }
}

/// Returns `true` if a group, `Class.method` or that with a line, is the requested method.
fn is_method(name: &str, method: &str) -> bool {
    let name = match name.find('(') {
        Some(place) if !method.contains('(') => &name[..place],
        _ => name,
    };
    match name.strip_suffix(method) {
        Some(class) => class.is_empty() || class.ends_with('.'),
        None => false,
    }
}
