//! The page of a search, and the form that asks for it.

use hprof_heap::{Error, FoundObject, Heap};

use super::html::Html;
use super::{Links, object_page};

/// The most classes and strings that are shown.
const MOST: usize = 100;

/// Adds a form that searches for a text, which is in it already. Pages that stand alone have none.
pub fn form(out: &mut Html, text: &str, links: Links<'_>) {
    let Links::Under(base) = links else { return };
    out.markup("<form action=\"").text(base);
    out.markup("/search\"><input type=\"search\" name=\"text\" size=\"40\" aria-label=\"Search\" placeholder=\"class, 0x… id, or text of a string\" value=\"");
    out.text(text);
    out.markup("\"><button>Search</button></form>\n");
}

/// Creates the page with the classes, strings and the object that a text finds.
pub fn search(heap: &Heap<'_>, text: &str, links: Links<'_>) -> Result<Html, Error> {
    let found = heap.search(text, MOST)?;
    let mut out = Html::default();
    out.markup("<h1>Search for <q>")
        .text(text)
        .markup("</q></h1>\n");
    if let Some(object) = &found.object {
        out.markup("<h2>Object</h2>\n<ul>\n");
        row(&mut out, object, links);
        out.markup("</ul>\n");
    }
    out.markup("<h2>Classes</h2>\n<ul>\n");
    for name in &found.classes {
        out.markup("<li>");
        links.class(&mut out, name);
        out.markup("</li>\n");
    }
    out.markup("</ul>\n");
    rest(&mut out, "class", found.classes.len(), found.more_classes);
    out.markup("<h2>Strings</h2>\n<ul>\n");
    for string in &found.strings {
        row(&mut out, string, links);
    }
    out.markup("</ul>\n");
    rest(&mut out, "string", found.strings.len(), found.more_strings);
    Ok(out)
}

fn row(out: &mut Html, found: &FoundObject, links: Links<'_>) {
    out.markup("<li>");
    links.link(out, &object_page(found.id), |out| {
        out.text(&found.object.to_string());
    });
    if let Some(text) = &found.text {
        out.markup(" <q>").text(text).markup("</q>");
    }
    out.markup("</li>\n");
}

/// Says that nothing was found, or that there is more.
fn rest(out: &mut Html, what: &str, shown: usize, more: bool) {
    let text = match (shown, more) {
        (0, _) => format!("No {what} has this text."),
        (_, true) => format!("These are the first {shown}; a longer text finds fewer."),
        (_, false) => return,
    };
    out.markup("<p class=\"soft\">")
        .text(&text)
        .markup("</p>\n");
}
