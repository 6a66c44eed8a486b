//! The page `docs/reference/options.md` against the rows: its table and its sections come from them. `HPROF_BLESS=1` writes both.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use crate::page::{Page, Part};
use crate::rows::{Options, PAGES, ROWS};
use crate::table::OptionRow;

const PARTS: [(Part, &str); 7] = [
    (Part::Measured, "What is measured"),
    (Part::Output, "Where it goes"),
    (Part::Detail, "How much detail"),
    (Part::BadEnd, "When the program ends badly"),
    (Part::Dumps, "Heap dumps"),
    (Part::Rare, "Rarely needed"),
    (Part::Original, "Of the original"),
];

const BEGIN: &str =
    "<!-- From crates/options/src/rows.rs; a test compares. HPROF_BLESS=1 writes it. -->\n";
const END: &str = "<!-- The end of the table. -->\n";
const SECTIONS: &str = "<!-- And its sections. -->\n";

/// Returns the options that are documented, in the order of the page.
fn documented() -> impl Iterator<Item = (Part, &'static OptionRow<Options>, &'static Page<Options>)>
{
    PARTS.into_iter().flat_map(|(part, _)| {
        let all = ROWS.iter().zip(PAGES);
        let its = all.filter(move |(row, page)| page.part == part && !row.description.is_empty());
        its.map(move |(row, page)| (part, row, page))
    })
}

/// The options as a Markdown table; each links to the section that explains it.
fn table() -> String {
    let mut table = String::from("| option | values | default | |\n|---|---|---|---|\n");
    for (_, row, _) in documented() {
        let values = row.values.replace('|', "`, `");
        // Writing to a String cannot fail.
        let _ = writeln!(
            table,
            "| [`{0}`](#{0}) | `{values}` | {1} | {2} |",
            row.name,
            row.default,
            row.description.replace('|', "\\|")
        );
    }
    table
}

fn sections() -> String {
    let mut sections = String::new();
    let mut current = None;
    for (part, row, page) in documented() {
        if current != Some(part) {
            let (_, title) = PARTS.iter().find(|(known, _)| *known == part).expect("all");
            // Writing to a String cannot fail.
            let _ = write!(sections, "\n## {title}\n");
            current = Some(part);
        }
        let _ = write!(sections, "\n### `{}`\n\n{}\n", row.name, page.text);
    }
    sections
}

#[test]
fn the_options_page_is_that_of_the_rows() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/options.md");
    let page = fs::read_to_string(&path).expect("the page");
    let (head, rest) = page.split_once(BEGIN).expect("the beginning of the table");
    let (found, rest) = rest.split_once(END).expect("the end of the table");
    let (between, explained) = rest.split_once(SECTIONS).expect("the sections");
    let (table, sections) = (table(), sections());
    if std::env::var_os("HPROF_BLESS").is_some() {
        let page = [head, BEGIN, &table, END, between, SECTIONS, &sections].concat();
        fs::write(&path, page).expect("the page");
        return;
    }
    assert_eq!(found, table, "HPROF_BLESS=1 writes the table anew");
    assert_eq!(
        explained, sections,
        "HPROF_BLESS=1 writes the sections anew"
    );
}

#[test]
fn each_option_of_the_help_is_explained() {
    for (row, page) in ROWS.iter().zip(PAGES) {
        let is_in_help = !row.description.is_empty();
        assert_eq!(!page.text.is_empty(), is_in_help, "{}", row.name);
    }
}

/// `hprof options NAME` prints the text of a link alone, line by line.
#[test]
fn no_link_is_broken_over_two_lines() {
    for line in PAGES.iter().flat_map(|page| page.text.lines()) {
        let begun = line.matches('[').count();
        assert_eq!(begun, line.matches("](").count(), "{line}");
    }
}
