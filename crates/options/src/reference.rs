//! The page `docs/reference/options.md` against the table. `HPROF_BLESS=1` writes the page's table anew.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use crate::rows::ROWS;

const BEGIN: &str = "<!-- The table of crates/options/src/rows.rs; a test compares them. HPROF_BLESS=1 writes it. -->\n";
const END: &str = "<!-- The end of the table. -->\n";

/// The options as a Markdown table, in the order of the page's sections; each links to the section that explains it.
fn table(page: &str) -> String {
    let mut rows: Vec<_> = ROWS
        .iter()
        .filter(|row| !row.description.is_empty())
        .collect();
    rows.sort_by_key(|row| page.find(&format!("\n### `{}`\n", row.name)));
    let mut table = String::from("| option | values | default | |\n|---|---|---|---|\n");
    for row in rows {
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

#[test]
fn the_options_page_has_the_table_of_the_code() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/options.md");
    let page = fs::read_to_string(&path).expect("the page");
    let (head, rest) = page.split_once(BEGIN).expect("the beginning of the table");
    let (found, tail) = rest.split_once(END).expect("the end of the table");
    let table = table(tail);
    if std::env::var_os("HPROF_BLESS").is_some() {
        let page = [head, BEGIN, &table, END, tail].concat();
        fs::write(&path, page).expect("the page");
        return;
    }
    assert_eq!(found, table, "HPROF_BLESS=1 writes the table anew");
}

#[test]
fn the_options_page_explains_each_option() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/options.md");
    let page = fs::read_to_string(path).expect("the page");
    let explained: Vec<&str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("### `")?.strip_suffix('`'))
        .collect();
    let described = ROWS.iter().filter(|row| !row.description.is_empty());
    for row in described {
        assert!(explained.contains(&row.name), "no section `{}`", row.name);
    }
    for name in explained {
        assert!(
            ROWS.iter().any(|row| row.name == name),
            "{name} is no option"
        );
    }
}
