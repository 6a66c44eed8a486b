//! The pages about a heap dump, without script: one for `hprof report`, many with links for `hprof browse`.

mod html;
mod objects;
mod overview;
mod search;
mod treemap;

use std::fmt::Write;
use std::sync::Arc;

use hprof_format::ObjectId;
use hprof_heap::{Allocated, Path};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use crate::amounts::{exactly, number, percent, size};
pub use html::{Html, page, policy};
pub use objects::{class, object};
pub use overview::{incomplete, overview, threads};
pub use search::{form, search};

/// The most frames of a stack that are shown.
const FRAMES: usize = 24;

/// The location of the pages of objects and classes.
#[derive(Clone, Copy)]
pub enum Links<'a> {
    /// There are none: the page is on its own.
    None,
    /// Under this path, which ends without a slash.
    Under(&'a str),
}

impl Links<'_> {
    /// Adds a link if there are such pages, otherwise only the content.
    fn link(self, out: &mut Html, page: &str, content: impl FnOnce(&mut Html)) {
        match self {
            Links::None => content(out),
            Links::Under(path) => {
                let target = format!("{path}/{page}");
                out.markup("<a href=\"").text(&target).markup("\">");
                content(out);
                out.markup("</a>");
            }
        }
    }

    fn object(self, out: &mut Html, id: Option<ObjectId>, label: &str) {
        match id {
            Some(id) => self.link(out, &object_page(id), |out| {
                out.text(label);
            }),
            None => {
                out.text(label);
            }
        }
    }

    fn class(self, out: &mut Html, name: &str) {
        self.link(out, &class_page(name), |out| {
            out.text(name);
        });
    }
}

fn object_page(id: ObjectId) -> String {
    format!("object/0x{:x}", id.0)
}

fn class_page(name: &str) -> String {
    format!("class/{}", utf8_percent_encode(name, NON_ALPHANUMERIC))
}

/// Adds a stack, innermost frame first.
fn stack(out: &mut Html, frames: &[Arc<str>]) {
    if frames.is_empty() {
        return;
    }
    let mut text = String::new();
    for frame in frames.iter().take(FRAMES) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "at {frame}");
    }
    out.markup("<pre>");
    for line in text.lines() {
        out.text(line).markup("\n");
    }
    if frames.len() > FRAMES {
        out.text(&format!("... {} more\n", frames.len() - FRAMES));
    }
    out.markup("</pre>\n");
}

/// Adds the stacks that allocated something.
fn allocated(out: &mut Html, rows: &[Allocated], links: Links<'_>) {
    for row in rows {
        out.markup("<div>");
        bytes(out, row.shallow);
        out.text(&format!(" in {} ", number(row.objects)));
        links.class(out, &row.class);
        out.markup("</div>\n");
        stack(out, &row.stack);
    }
}

/// Adds a path from a root.
fn path(out: &mut Html, path: &Path, links: Links<'_>) {
    out.markup("<ol>\n");
    for step in &path.steps {
        out.markup("<li>");
        if step.left_out > 0 {
            out.text(&format!("... {} objects, then ", number(step.left_out)));
        }
        if let Some(reference) = &step.reference {
            out.text(&reference.to_string());
        }
        out.markup(" ");
        links.object(out, Some(step.id), &step.object.to_string());
        if step.reference.is_none() {
            out.text(&format!(" ({})", path.root));
        }
        out.markup("</li>\n");
    }
    out.markup("</ol>\n");
}

/// Adds a size, which the exact number of bytes explains.
fn bytes(out: &mut Html, bytes: u64) {
    out.markup("<span title=\"").text(&exactly(bytes));
    out.markup("\">").text(&size(bytes)).markup("</span>");
}

/// Adds a size to a row of a table.
fn size_cell(out: &mut Html, bound: &str, bytes: u64) {
    out.markup("<td class=\"number\">").text(bound);
    self::bytes(out, bytes);
    out.markup("</td>");
}

/// Adds a number to a row of a table.
fn number_cell(out: &mut Html, value: u64) {
    out.markup("<td class=\"number\">")
        .text(&number(value))
        .markup("</td>");
}
