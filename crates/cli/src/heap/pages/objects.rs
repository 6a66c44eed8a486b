//! Pages of single objects and of classes.

use hprof_format::ObjectId;
use hprof_heap::{Error, Heap, Members, Named, Target};

use super::html::Html;
use super::overview::groups;
use super::treemap::{tree, treemap};
use super::{Links, bytes, class_page, number, object_page, path, size_cell, stack};

/// The most boxes of an object's treemap.
const AREAS: usize = 300;
/// The most objects of a class on one page, and the elements that a link back skips.
const ROWS: u64 = 100;
/// The most sites of a class.
const SITES: usize = 20;

/// Creates the page of an object: its fields or elements from the `first` on, the objects that refer to it, those that
/// keep it alive and those it keeps alive.
pub fn object(heap: &Heap<'_>, id: ObjectId, first: u64, links: Links<'_>) -> Result<Html, Error> {
    let shown = heap.show(id, first)?;
    let mut out = Html::default();
    out.markup("<h1>")
        .text(&shown.object.to_string())
        .markup("</h1>\n<p>Class ");
    links.class(&mut out, &shown.class);
    out.text("; takes ");
    bytes(&mut out, shown.shallow);
    out.text(" itself; ");
    match shown.retained {
        Some(retained) => {
            out.text("retains ");
            bytes(&mut out, retained);
        }
        None => {
            out.text("no root reaches it");
        }
    }
    if !shown.roots.is_empty() {
        out.text(&format!("; root: {}", shown.roots.join(", ")));
    }
    out.markup("</p>\n");
    if let Some(text) = &shown.text {
        out.markup("<p>Text: <q>").text(text).markup("</q></p>\n");
    }
    out.markup("<h2>Holds</h2>\n");
    named(&mut out, &shown.values, links);
    let pages = Turn {
        first,
        next: shown.next,
        length: shown.length,
    };
    turn(&mut out, &object_page(id), &pages, links);
    out.markup("<h2>Referred to by</h2>\n");
    named(&mut out, &shown.referrers, links);
    if !shown.stack.is_empty() {
        out.markup("<h2>Allocated</h2>\n");
        stack(&mut out, &shown.stack);
    }
    if shown.retained.is_some() {
        out.markup("<h2>Shortest path from a root</h2>\n");
        for way in &heap.paths(&Target::Object(id), 1)? {
            path(&mut out, way, links);
        }
        out.markup("<h2>Retains</h2>\n");
        let areas = heap.areas(Some(id), AREAS)?;
        if !areas.below.is_empty() {
            out.part(&treemap(&areas, links));
        }
        out.part(&tree(&areas, links));
    }
    Ok(out)
}

fn named(out: &mut Html, rows: &[Named], links: Links<'_>) {
    out.markup("<table>\n");
    for row in rows {
        out.markup("<tr><td>").text(&row.name).markup("</td><td>");
        links.object(out, row.id, &row.value);
        out.markup("</td></tr>\n");
    }
    out.markup("</table>\n");
}

/// The rows of a page among all of its object or class.
struct Turn {
    first: u64,
    /// The first row of the next page; `None` if there is none.
    next: Option<u64>,
    length: u64,
}

/// Adds links to the previous and the next page.
fn turn(out: &mut Html, address: &str, pages: &Turn, links: Links<'_>) {
    let Links::Under(base) = links else { return };
    let before = (pages.first > 0).then(|| (pages.first.saturating_sub(ROWS), "before"));
    let after = pages.next.map(|next| (next, "after"));
    out.markup("<p class=\"soft\">")
        .text(&format!("{} in all ", number(pages.length)));
    for (first, text) in before.into_iter().chain(after) {
        let target = format!("{base}/{address}?first={first}");
        out.markup("<a href=\"")
            .text(&target)
            .markup("\">")
            .text(text)
            .markup("</a> ");
    }
    out.markup("</p>\n");
}

/// Creates the page of a class: its objects from the `first` on, those that retain most, and the stacks that allocated
/// them.
pub fn class(
    heap: &Heap<'_>,
    name: &str,
    members: &Members,
    first: u64,
    links: Links<'_>,
) -> Result<Html, Error> {
    let mut out = Html::default();
    out.markup("<h1>Class ")
        .text(name)
        .markup("</h1>\n<h2>Live objects</h2>\n");
    out.markup("<table>\n<tr><th class=\"number\">Shallow</th><th class=\"number\">Retained</th><th>Object</th></tr>\n");
    let end = first.saturating_add(ROWS);
    let count_of = |rows| usize::try_from(rows).unwrap_or(usize::MAX);
    for row in heap.member_rows(members, count_of(first), count_of(ROWS))? {
        out.markup("<tr>");
        size_cell(&mut out, "", row.shallow);
        size_cell(&mut out, "", row.retained);
        out.markup("<td>");
        links.object(&mut out, Some(row.id), &row.object.to_string());
        out.markup("</td></tr>\n");
    }
    out.markup("</table>\n");
    let pages = Turn {
        first,
        next: Some(end).filter(|&end| end < members.count),
        length: members.count,
    };
    turn(&mut out, &class_page(name), &pages, links);
    out.markup("<h2>Allocation sites</h2>\n");
    groups(&mut out, &members.sites, SITES, links);
    Ok(out)
}
