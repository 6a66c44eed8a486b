//! The overview: findings, the treemap of the dominator tree, suspects, classes, sites, waste, threads.

use std::path::Path;

use hprof_heap::{
    Area, By, Duplicate, Error, Fill, Group, Heap, Leaks, Summary, Suspect, SuspectKind, Waste,
};

use super::html::Html;
use super::treemap::{tree, treemap};
use super::{Links, allocated, bytes, number, number_cell, path, percent, size_cell, stack};
use crate::about;
use crate::amounts::Sizes;
use crate::heap::print::{self, NamedRest, allocated_else, kept_else};
use crate::heap::{alive, incomplete, why};

/// The share of the live heap from which an object is suspected.
const THRESHOLD: f64 = 0.1;
const CLASSES: usize = 200;
const SITES: usize = 50;
const WASTE: usize = 15;
/// The most suspects among the findings.
const FINDINGS: usize = 5;
/// The share of the live heap from which a kind of waste is a finding.
const WORTH_A_LOOK: f64 = 0.05;
const THREADS: usize = 100;
/// The most frames of each thread that are shown, with the objects they hold.
const THREAD_FRAMES: usize = 200;

/// Creates the whole overview, with a heading that has the file's name.
pub fn overview(heap: &Heap<'_>, file: &str, links: Links<'_>) -> Result<Html, Error> {
    let summary = heap.summary()?;
    let mut out = Html::default();
    out.markup("<h1>").text(file).markup("</h1>\n");
    if let Some(run) = about::dump(heap.dump()) {
        out.markup("<p>").text(&run).markup("</p>\n");
    }
    self::incomplete(&mut out, file.as_ref(), heap);
    self::summary(&mut out, &summary);
    let (leaks, waste) = (heap.leaks(THRESHOLD, None)?, heap.waste(WASTE)?);
    findings(&mut out, &leaks, &waste, links);
    let areas = heap.areas(None, Area::USUAL)?;
    out.markup("<h2>Dominator tree</h2>\n<p class=\"soft\">Each box is as large as what would be free without it.</p>\n");
    out.part(&treemap(&areas, links)).part(&tree(&areas, links));
    suspects(&mut out, &leaks, links);
    out.markup("<h2>Classes</h2>\n");
    groups(&mut out, &heap.groups(By::Class, 0)?, CLASSES, links);
    if summary.has_stacks {
        out.markup("<h2>Allocation sites</h2>\n");
        groups(&mut out, &heap.groups(By::Site, 0)?, SITES, links);
    }
    self::waste(&mut out, &waste, summary.bytes, links);
    out.markup("<h2>Threads</h2>\n")
        .part(&threads(heap, links)?);
    Ok(out)
}

/// Adds the line about a dump that is not whole.
pub fn incomplete(out: &mut Html, file: &Path, heap: &Heap<'_>) {
    if let Some(line) = incomplete::line(file, heap.dump()) {
        out.markup("<p><strong>")
            .text(&line)
            .markup("</strong></p>\n");
    }
}

fn summary(out: &mut Html, summary: &Summary) {
    let excluded = match summary.excluded[..] {
        [] => "none".to_owned(),
        ref kinds => kinds.join(", "),
    };
    out.markup("<p>");
    bytes(out, summary.bytes);
    let objects = number(summary.objects);
    out.text(&format!(" in {objects} objects are live; "));
    bytes(out, summary.unreachable_bytes);
    out.text(&format!(
        " in {} objects are not. {} classes, {} class loaders, {} allocation sites.",
        number(summary.unreachable_objects),
        number(summary.classes),
        number(summary.loaders),
        number(summary.sites),
    ));
    let not_counted = summary.reached_by_excluded.iter();
    let not_counted = not_counted.map(|kind| alive::excluded(kind, Sizes::default()));
    let waiting = summary.waiting.as_ref();
    let waiting = waiting.map(|waiting| alive::waiting(waiting, Sizes::default()));
    let outside = alive::outside_heap(&summary.outside_heap, Sizes::default());
    for line in not_counted.chain(waiting).chain(outside) {
        out.markup("</p>\n<p>").text(&line).text(".");
    }
    out.markup("</p>\n<p class=\"soft\">").text(&format!(
        "Layout: {}. References that keep nothing: {excluded}.",
        summary.layout
    ));
    if !summary.has_stacks {
        out.text(" The dump does not say who allocated its objects: jmap and jcmd never do, the agent's heap=dump does.");
    }
    out.markup("</p>\n");
}

/// Adds a line for each suspect and each kind of waste that is worth a look.
fn findings(out: &mut Html, leaks: &Leaks, waste: &Waste, links: Links<'_>) {
    out.markup("<h2>Findings</h2>\n");
    let wasted: Vec<(&str, u64)> = kinds_of(waste)
        .into_iter()
        .filter(|&(_, bytes)| percent(bytes, leaks.live_bytes) >= 100.0 * WORTH_A_LOOK)
        .collect();
    if leaks.suspects.is_empty() {
        let share = 100.0 * leaks.threshold;
        let which = print::what_retains(leaks);
        let text = format!("{which} {share} % of what is live or more.");
        out.markup("<p>").text(&text).markup("</p>\n");
    }
    out.markup("<ol class=\"findings\">\n");
    for piling in &leaks.piling_loaders {
        let line = alive::piling_loaders(piling, Sizes::default());
        out.markup("<li>").text(&line).markup("</li>\n");
    }
    for (place, suspect) in (1..).zip(&leaks.suspects).take(FINDINGS) {
        self::large(out, suspect, leaks.live_bytes, "", links);
        detail(out, &format!("suspect-{place}"), links);
        out.markup("</li>\n");
    }
    for (place, large) in (1..).zip(&leaks.not_growing) {
        let why = format!(": {}", why::not_growing(large).to_lowercase());
        self::large(out, large, leaks.live_bytes, &why, links);
        detail(out, &format!("not-growing-{place}"), links);
        out.markup("</li>\n");
    }
    for (place, large) in (1..).zip(&leaks.bounded) {
        let why = large.bound.as_ref().map(why::bound).unwrap_or_default();
        let why = format!(", but is bounded: {why}");
        self::large(out, large, leaks.live_bytes, &why, links);
        detail(out, &format!("bounded-{place}"), links);
        out.markup("</li>\n");
    }
    for (what, bytes) in wasted {
        out.markup("<li>").text(what).text(" waste ");
        share(out, bytes, leaks.live_bytes);
        detail(out, "waste", links);
        out.markup("</li>\n");
    }
    out.markup("</ol>\n");
    if let Some(more @ 1..) = leaks.suspects.len().checked_sub(FINDINGS) {
        let text = format!("... {more} more suspects");
        out.markup("<p class=\"soft\">")
            .text(&text)
            .markup("</p>\n");
    }
}

/// Adds a link to a part of this page. A page without links may be one of several in a document, and has none.
fn detail(out: &mut Html, part: &str, links: Links<'_>) {
    if let Links::Under(_) = links {
        out.markup(" <a href=\"#")
            .text(part)
            .markup("\">details</a>");
    }
}

/// Names a heading that [`detail`] links to.
fn anchor(out: &mut Html, part: &str, links: Links<'_>) {
    if let Links::Under(_) = links {
        out.markup("<a id=\"").text(part).markup("\"></a>");
    }
}

/// Begins the finding about something large.
fn large(out: &mut Html, suspect: &Suspect, live: u64, why: &str, links: Links<'_>) {
    out.markup("<li>");
    name(out, suspect, links);
    out.text(" retains ");
    share(out, suspect.retained, live);
    out.text(why);
    if let Some(holder) = &suspect.holder {
        out.text(&format!("; held by {holder}"));
    }
}

/// Adds a size and its share of what is live.
fn share(out: &mut Html, part: u64, live: u64) {
    bytes(out, part);
    let share = percent(part, live);
    out.text(&format!(", {share:.1} % of what is live"));
}

/// Adds the details of suspects, and of what is large for another reason.
fn suspects(out: &mut Html, leaks: &Leaks, links: Links<'_>) {
    let kinds = [
        ("Suspects", "suspect", &leaks.suspects),
        ("Large, but not growing", "not-growing", &leaks.not_growing),
        ("Large, but bounded", "bounded", &leaks.bounded),
    ];
    for (heading, part, all) in kinds.into_iter().filter(|(_, _, all)| !all.is_empty()) {
        out.markup("<h2>").text(heading).markup("</h2>\n");
        for (place, suspect) in (1..).zip(all) {
            anchor(out, &format!("{part}-{place}"), links);
            out.markup("<h3>").text(&format!("{place}. "));
            name(out, suspect, links);
            out.markup("</h3>\n");
            self::suspect(out, suspect, leaks.live_bytes, links);
        }
    }
}

fn suspect(out: &mut Html, suspect: &Suspect, live: u64, links: Links<'_>) {
    out.markup("<p>").text("retains ");
    share(out, suspect.retained, live);
    if let Some(holder) = &suspect.holder {
        out.text(&format!("; held by {holder}"));
    }
    out.markup("</p>\n");
    if let Some(way) = &suspect.path {
        out.markup("<details open><summary>Shortest path from a root</summary>\n");
        path(out, way, links);
        out.markup("</details>\n");
    }
    out.markup("<details open><summary>Keeps</summary>\n<ul>\n");
    for kept in &suspect.kept {
        out.markup("<li>");
        bytes(out, kept.shallow);
        out.text(&format!(" in {} ", number(kept.objects)));
        links.class(out, &kept.class);
        out.markup("</li>\n");
    }
    rests(out, &[kept_else(suspect)]);
    out.markup("</ul>\n</details>\n");
    if !suspect.allocated.is_empty() {
        out.markup("<details open><summary>Allocated by</summary>\n");
        allocated(out, &suspect.allocated, links);
        out.markup("<ul>\n");
        rests(out, &allocated_else(suspect));
        out.markup("</ul>\n");
        out.markup("</details>\n");
    }
}

/// Writes the sums of rows that are not listed.
fn rests(out: &mut Html, rests: &[NamedRest]) {
    for (rest, name) in rests.iter().filter(|(rest, _)| rest.rows > 0) {
        out.markup("<li>");
        bytes(out, rest.shallow);
        out.text(&format!(" in {} {name}", number(rest.objects)))
            .markup("</li>\n");
    }
}

fn name(out: &mut Html, suspect: &Suspect, links: Links<'_>) {
    let objects = number(suspect.objects);
    match suspect.kind {
        SuspectKind::Object => links.object(out, Some(suspect.id), &suspect.what),
        SuspectKind::Class | SuspectKind::Piling => {
            out.text(&format!("{objects} objects of class "));
            links.class(out, &suspect.what);
        }
        SuspectKind::Site => {
            let text = format!("{objects} objects allocated at {}", suspect.what);
            out.text(&text);
        }
    }
}

/// Adds the groups by class or by site that retain most.
pub fn groups(out: &mut Html, groups: &[Group], most: usize, links: Links<'_>) {
    out.markup("<table>\n<tr><th class=\"number\">Objects</th><th class=\"number\">Shallow</th><th class=\"number\">Retained</th><th>Class</th></tr>\n");
    for group in groups.iter().take(most) {
        let bound = if group.exact { "" } else { "≥ " };
        out.markup("<tr>");
        number_cell(out, group.objects);
        size_cell(out, "", group.shallow);
        size_cell(out, bound, group.retained);
        out.markup("<td>");
        links.class(out, &group.name);
        stack(out, &group.stack);
        out.markup("</td></tr>\n");
    }
    out.markup("</table>\n");
    if groups.len() > most {
        let (most, all) = (number(most as u64), number(groups.len() as u64));
        out.markup("<p class=\"soft\">")
            .text(&format!("{most} of {all} groups"))
            .markup("</p>\n");
    }
}

fn waste(out: &mut Html, waste: &Waste, live: u64, links: Links<'_>) {
    anchor(out, "waste", links);
    out.markup("<h2>Waste</h2>\n");
    let [strings, arrays, collections] = kinds_of(waste);
    for ((what, bytes), wasted) in [(strings, &waste.strings), (arrays, &waste.arrays)] {
        wasted_head(out, what, bytes, live);
        for row in &wasted.rows {
            let Duplicate { what, id, .. } = row;
            out.markup("<details><summary>");
            self::bytes(out, row.wasted);
            out.text(&format!(": {} times ", number(row.objects)));
            links.object(out, Some(*id), what);
            out.markup("</summary>\n");
            allocated(out, &row.allocated, links);
            out.markup("</details>\n");
        }
    }
    wasted_head(out, collections.0, collections.1, live);
    for row in &waste.collections.rows {
        let fill = match row.fill {
            Fill::Empty => "empty",
            Fill::Sparse => "sparse",
        };
        out.markup("<details><summary>");
        bytes(out, row.wasted);
        out.text(&format!(": {} {fill} ", number(row.objects)));
        links.class(out, &row.class);
        out.markup("</summary>\n");
        allocated(out, &row.allocated, links);
        out.markup("</details>\n");
    }
}

/// Names the kinds of waste, with their bytes.
fn kinds_of(waste: &Waste) -> [(&'static str, u64); 3] {
    [
        ("Equal strings", waste.strings.bytes),
        ("Equal arrays of primitive types", waste.arrays.bytes),
        (
            "Collections with little or nothing in them",
            waste.collections.bytes,
        ),
    ]
}

fn wasted_head(out: &mut Html, what: &str, wasted: u64, live: u64) {
    out.markup("<h3>").text(&format!("{what} waste "));
    share(out, wasted, live);
    out.markup("</h3>\n");
}

/// Creates the page of threads with their stacks and the objects in their local variables.
pub fn threads(heap: &Heap<'_>, links: Links<'_>) -> Result<Html, Error> {
    let mut out = Html::default();
    let (threads, all) = heap.threads(THREADS)?;
    for thread in &threads {
        let row = &thread.object;
        out.markup("<details><summary>");
        links.object(&mut out, Some(row.id), &row.object.to_string());
        out.text(" retains ");
        bytes(&mut out, row.retained);
        out.markup("</summary>\n");
        for frame in thread.frames.iter().take(THREAD_FRAMES) {
            let place = match &*frame.frame {
                "" => "no frame that is known",
                frame => frame,
            };
            out.markup("<div>")
                .text(&format!("at {place}"))
                .markup("</div>\n<ul>\n");
            for local in &frame.locals {
                out.markup("<li>");
                links.object(&mut out, Some(local.id), &local.object.to_string());
                out.markup("</li>\n");
            }
            out.markup("</ul>\n");
        }
        if let Some(left_out @ 1..) = thread.frames.len().checked_sub(THREAD_FRAMES) {
            let text = format!("... {left_out} more");
            out.markup("<div>").text(&text).markup("</div>\n");
        }
        out.markup("</details>\n");
    }
    if all > threads.len() {
        let text = format!("{} of {all} threads", threads.len());
        out.markup("<p class=\"soft\">")
            .text(&text)
            .markup("</p>\n");
    }
    Ok(out)
}
