//! The form in which the rows of a count go to Java, which `io.hprof.Site` reads: lines with tabs between their parts.
//! `f`, the text of a frame, comes before the first line that names it by its place among these lines, from 0. `s` is a
//! site: objects, bytes, the places of its frames, innermost first, and its class.

use std::fmt::{self, Write};

use hprof_format::printable;
use memory::{Map, OrStop};

use super::super::sites::{Amount, SiteKey};
use names::Tables;
use names::class::ClassId;
use names::frame::{FrameId, Line};

/// A site with an amount.
pub(in super::super) type Row = (SiteKey, Amount);

/// The most bytes that a row is expected to take.
const ROW: usize = 1_024;

/// Returns the rows as text.
pub(in super::super) fn text(tables: &Tables, rows: &[Row]) -> String {
    memory::need(rows.len() * ROW);
    let mut out = String::new();
    let mut known = Map::<FrameId, usize>::default();
    for &(key, amount) in rows {
        let frames = tables.traces.get(key.trace).frames;
        for &frame in &frames {
            let next = known.len();
            let known = known.get_or_insert_with(frame, || {
                add(&mut out, format_args!("f\t{}\n", FrameText(tables, frame)));
                next
            });
            known.or_stop();
        }
        let places: Vec<String> = frames
            .iter()
            .filter_map(|frame| known.get(frame))
            .map(usize::to_string)
            .collect();
        let Amount { instances, bytes } = amount;
        let (places, class) = (places.join(" "), class_name(tables, key.class));
        add(
            &mut out,
            format_args!("s\t{instances}\t{bytes}\t{places}\t{}\n", printable(class)),
        );
    }
    out
}

fn add(out: &mut String, text: fmt::Arguments<'_>) {
    out.write_fmt(text)
        .expect("writing to a string does not fail");
}

fn class_name(tables: &Tables, class: ClassId) -> &str {
    tables.strings.get(tables.classes.get(class).name)
}

/// `Class.method(File.java:12)`, as in the text format.
struct FrameText<'a>(&'a Tables, FrameId);

impl fmt::Display for FrameText<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(tables, id) = *self;
        let frame = tables.frames.get(id);
        let name = |id| printable(tables.strings.get(id));
        let class = printable(class_name(tables, frame.method.class));
        let file = frame.method.source_file.map(name);
        let file = file.unwrap_or_else(|| "<Unknown Source>".into());
        write!(out, "{class}.{}({file}:", name(frame.method.name))?;
        match frame.line {
            Line::Number(number) => write!(out, "{number})"),
            Line::Unknown | Line::Native => out.write_str("Unknown line)"),
        }
    }
}
