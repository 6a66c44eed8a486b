//! `hprof heap --json` prints what docs/reference/json.md says.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::harness::{Program, any_jvm};
use crate::heap_graph::{agent, heap};
use crate::schemas;

/// The fields of each kind of object, and the field's type, as in the page.
struct Documented {
    kinds: BTreeMap<String, BTreeMap<String, String>>,
    optional: BTreeSet<(String, String)>,
    /// The type of each command's answer.
    answers: BTreeMap<String, String>,
}

/// The kinds that only the answers about special programs have.
const ELSEWHERE: [&str; 13] = [
    "appeared",
    "bound",
    "excluding",
    "loader_holder",
    "outside_holder",
    "outside_kind",
    "piling",
    "piling_loaders",
    "softly_reached",
    "turnover",
    "unreached",
    "waiting",
    "waiting_class",
];

/// Checks that a list has objects of the documented kind, with all of its fields.
pub fn assert_documented(list: &Value, kind: &str) {
    let documented = Documented::read();
    let mut seen = BTreeSet::new();
    let values = list.as_array().expect("a list").iter();
    values.for_each(|value| schemas::assert_heap(kind, value));
    documented.check(list, &format!("list of [{kind}](#{kind})"), &mut seen);
    for name in [kind].into_iter().chain(ELSEWHERE) {
        if seen.iter().any(|(seen, _)| seen == name) {
            documented.assert_seen(name, &seen);
        }
    }
    assert!(!seen.is_empty(), "{kind}: {list}");
}

impl Documented {
    /// Asserts that each field of a kind has been seen.
    fn assert_seen(&self, name: &str, seen: &BTreeSet<(String, String)>) {
        for field in self.kinds[name].keys() {
            let key = (name.to_owned(), field.clone());
            // Not every dump has what is optional: a path too long to print, the stack that made a thread.
            let is_seen = seen.contains(&key) || self.optional.contains(&key);
            assert!(is_seen, "{name} never has {field}");
        }
    }

    fn read() -> Self {
        let page = page();
        let (answers, kinds) = page.split_once("\n### ").expect("the kinds");
        let mut documented = Self {
            kinds: BTreeMap::new(),
            optional: BTreeSet::new(),
            answers: rows(answers)
                .map(|row| (row[0].clone(), row[1].clone()))
                .collect(),
        };
        for kind in kinds.split("\n### ") {
            let (name, table) = kind.split_once('\n').expect("a table");
            let mut fields = BTreeMap::new();
            for row in rows(table) {
                if row[2].starts_with("optional: ") {
                    documented
                        .optional
                        .insert((name.to_owned(), row[0].clone()));
                }
                fields.insert(row[0].clone(), row[1].clone());
            }
            documented.kinds.insert(name.to_owned(), fields);
        }
        documented
    }

    /// Compares a value with its type; notes in `seen` which fields were there.
    fn check(&self, value: &Value, kind: &str, seen: &mut BTreeSet<(String, String)>) {
        if let Some(kind) = kind.split_once("list of ").map(|(_, kind)| kind) {
            let values = value
                .as_array()
                .unwrap_or_else(|| panic!("{kind}: {value}"));
            values
                .iter()
                .for_each(|value| self.check(value, kind, seen));
        } else if let Some(kind) = kind.strip_prefix("pair of ") {
            let pair = value.as_array().expect("a pair");
            assert_eq!(pair.len(), 2, "{value}");
            pair.iter().for_each(|value| self.check(value, kind, seen));
        } else if let Some((_, name)) = kind.split_once("](#") {
            let name = name.split_once(')').expect("a link").0;
            if !value.is_null() {
                self.check_fields(value, name, seen);
            }
        } else {
            let fits = match kind {
                "text" => value.is_string() || value.is_null(),
                "id" => value.as_str().is_some_and(|id| id.starts_with("0x")),
                "count" | "bytes" | "milliseconds" => value.is_u64() || value.is_null(),
                "share" | "rate" => value.is_f64(),
                "boolean" => value.is_boolean(),
                "counts" => value
                    .as_object()
                    .is_some_and(|counts| counts.values().all(Value::is_u64)),
                _ => panic!("{kind} is no type"),
            };
            assert!(fits, "{value} is not of type {kind}");
        }
    }

    fn check_fields(&self, value: &Value, name: &str, seen: &mut BTreeSet<(String, String)>) {
        let fields = &self.kinds[name];
        let value = value
            .as_object()
            .unwrap_or_else(|| panic!("{name}: {value}"));
        for (field, value) in value {
            let kind = fields
                .get(field)
                .unwrap_or_else(|| panic!("the page does not have {field} of {name}"));
            self.check(value, kind, seen);
            seen.insert((name.to_owned(), field.clone()));
        }
        for field in fields.keys() {
            let key = (name.to_owned(), field.clone());
            let is_there = value.contains_key(field) || self.optional.contains(&key);
            assert!(is_there, "{name} has no {field}, which the page has");
        }
    }
}

/// Returns the part of the page that is about `hprof heap`.
fn page() -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reference/json.md");
    let page = fs::read_to_string(page).expect("the page");
    let (_, page) = page.split_once("## `hprof heap`\n").expect("its part");
    let (page, _) = page.split_once("\n## ").expect("another part");
    page.to_owned()
}

/// The cells of each row of the tables in a text, without its heads; the first cell without its quotes.
fn rows(text: &str) -> impl Iterator<Item = Vec<String>> {
    text.lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| {
            let mut cells: Vec<String> = line
                .trim_matches('|')
                .split('|')
                .map(|cell| cell.trim().to_owned())
                .collect();
            cells[0] = cells[0].trim_matches('`').to_owned();
            cells
        })
}

/// Returns a text with the words of its links alone.
fn unlinked(text: &str) -> String {
    let Some((before, rest)) = text.split_once("](") else {
        return text.to_owned();
    };
    let (before, link) = before.rsplit_once('[').expect("a link");
    let (_, rest) = rest.split_once(')').expect("its end");
    format!("{before}{link}{}", unlinked(rest))
}

#[test]
fn the_schema_describes_fields_as_the_page_does() {
    let schema = schemas::read("hprof-heap");
    let page = page();
    let mut described = 0;
    for kind in page.split("\n### ").skip(1) {
        let (name, table) = kind.split_once('\n').expect("a table");
        for row in rows(table) {
            let field = &schema["$defs"][name]["properties"][&row[0]];
            let meaning = row[2].trim_start_matches("optional: ");
            assert_eq!(field["description"], unlinked(meaning), "{name} {}", row[0]);
            described += 1;
        }
    }
    assert!(described > 100, "{described}");
}

#[test]
fn the_answers_of_hprof_heap_have_the_documented_fields_and_no_others() {
    let documented = Documented::read();
    let jvm = any_jvm();
    let leak = agent(jvm, ",heap=all,lifetimes=y", "Leak", "cache");
    let waste = agent(jvm, "", "Waste", "");
    let full = Program::java(jvm, "heap=sites,oom=dump,file=x.txt", &["-Xmx64m"])
        .program("oom", "Leak")
        .arg("catch")
        .run_well();
    let full = full.path("x.oom-1.hprof");
    let (leak, waste) = (leak.path("x.hprof"), waste.path("x.hprof"));
    let other = waste.to_str().expect("UTF-8");
    let largest = ["retained", "--by", "object", "--json"];
    let largest: Value = serde_json::from_str(&heap(&largest, &leak)).expect("JSON");
    let id = largest[0]["id"].as_str().expect("an id");
    let mut seen = BTreeSet::new();
    for (file, arguments) in [
        (&leak, &["summary"][..]),
        (&leak, &["histogram", "--by", "site"]),
        (&leak, &["leaks"]),
        (&waste, &["leaks"]),
        (&full, &["leaks"]),
        (&leak, &["retained", "--by", "object"]),
        (&leak, &["paths", "--class", "byte[]"]),
        (&leak, &["who", "--class", "byte[]"]),
        (&leak, &["show", id]),
        (&leak, &["loaders"]),
        (&leak, &["threads"]),
        (&leak, &["diff", other]),
    ] {
        let answer = heap(&[arguments, &["--json"]].concat(), file);
        let answer: Value = serde_json::from_str(&answer).expect("JSON");
        let kind = &documented.answers[arguments[0]];
        let kind = match arguments[0] {
            // What another option brings is behind a semicolon.
            "histogram" | "diff" => kind.split(';').next().expect("the first"),
            "retained" => kind.split(',').next().expect("the first"),
            _ => kind,
        };
        documented.check(&answer, kind, &mut seen);
        schemas::assert_heap(&format!("answer-{}", arguments[0]), &answer);
    }
    for by in ["class", "site"] {
        let groups = heap(&["retained", "--by", by, "--json"], &leak);
        let groups = serde_json::from_str(&groups).expect("JSON");
        documented.check(&groups, "list of [group](#group)", &mut seen);
        schemas::assert_heap("answer-retained", &groups);
    }
    let kinds = documented.kinds.keys().map(String::as_str);
    for name in kinds.filter(|name| !ELSEWHERE.contains(name)) {
        documented.assert_seen(name, &seen);
    }
}
