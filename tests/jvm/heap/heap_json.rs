//! `hprof heap --json` prints what its schema says, each field of it.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::harness::{Program, any_jvm};
use crate::heap::heap_graph::{agent, heap};
use crate::output::schemas;

/// The kinds of objects in the answers, as the schema has them.
struct Documented {
    schema: Value,
}

/// The kinds and their fields that answers had.
type Seen = BTreeSet<(String, String)>;

/// The kinds that only the answers about special programs have.
const ELSEWHERE: [&str; 14] = [
    "appeared",
    "bound",
    "excluding",
    "loader_holder",
    "objects_made",
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
    for value in list.as_array().expect("a list") {
        schemas::assert_heap(kind, value);
        documented.note_fields(value, kind, &mut seen);
    }
    for name in [kind].into_iter().chain(ELSEWHERE) {
        if seen.iter().any(|(seen, _)| seen == name) {
            documented.assert_seen(name, &seen);
        }
    }
    assert!(!seen.is_empty(), "{kind}: {list}");
}

impl Documented {
    fn read() -> Self {
        Self {
            schema: schemas::read("hprof-heap"),
        }
    }

    fn definition(&self, name: &str) -> &Value {
        let definition = &self.schema["$defs"][name];
        assert!(definition.is_object(), "the schema does not have {name}");
        definition
    }

    /// The kinds of objects with fields.
    fn kinds(&self) -> impl Iterator<Item = &str> {
        let definitions = self.schema["$defs"].as_object().expect("the definitions");
        let kinds = definitions
            .iter()
            .filter(|(_, kind)| kind["properties"].is_object());
        kinds.map(|(name, _)| name.as_str())
    }

    /// Asserts that each field of a kind has been seen.
    fn assert_seen(&self, name: &str, seen: &Seen) {
        let definition = self.definition(name);
        let required = definition["required"].as_array().expect("a list");
        let fields = definition["properties"].as_object().expect("the fields");
        for field in fields.keys() {
            let key = (name.to_owned(), field.clone());
            // Not every dump has what is optional: a path too long to print, the stack that made a thread.
            let is_optional = !required.iter().any(|name| name == field);
            assert!(
                seen.contains(&key) || is_optional,
                "{name} never has {field}"
            );
        }
    }

    /// Whether a value may be of a schema: for lists, its first element; for objects, by the names of the fields.
    fn may_be(&self, value: &Value, schema: &Value) -> bool {
        if let Some(name) = definition_name(schema) {
            return self.may_be(value, self.definition(name));
        }
        match value {
            Value::Array(list) => {
                schema["type"] == "array"
                    && list
                        .first()
                        .is_none_or(|first| self.may_be(first, &schema["items"]))
            }
            Value::Object(fields) => {
                let required = schema["required"].as_array();
                required.is_some_and(|names| {
                    let mut names = names.iter().filter_map(Value::as_str);
                    names.all(|name| fields.contains_key(name))
                })
            }
            _ => schema["type"] == "null" && value.is_null(),
        }
    }

    /// Notes the fields of all objects in a value. That they are of the right types, and no others there, the schema asserts.
    fn note(&self, value: &Value, schema: &Value, seen: &mut Seen) {
        if value.is_null() {
            return;
        }
        if let Some(name) = definition_name(schema) {
            if self.definition(name)["properties"].is_object() {
                return self.note_fields(value, name, seen);
            }
            return self.note(value, self.definition(name), seen);
        }
        if let Some(choices) = schema["anyOf"].as_array() {
            let chosen = choices.iter().find(|choice| self.may_be(value, choice));
            let chosen = chosen.unwrap_or_else(|| panic!("{value} is none of {choices:?}"));
            return self.note(value, chosen, seen);
        }
        if schema["type"] == "number" {
            assert!(value.is_f64(), "{value} is no share");
        }
        for element in value.as_array().into_iter().flatten() {
            self.note(element, &schema["items"], seen);
        }
    }

    fn note_fields(&self, value: &Value, name: &str, seen: &mut Seen) {
        let definition = self.definition(name);
        let value = value
            .as_object()
            .unwrap_or_else(|| panic!("{name}: {value}"));
        for (field, value) in value {
            self.note(value, &definition["properties"][field], seen);
            seen.insert((name.to_owned(), field.clone()));
        }
    }
}

/// Returns the definition that a schema refers to.
fn definition_name(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str()?.strip_prefix("#/$defs/")
}

#[test]
fn the_schema_says_what_each_field_means() {
    let documented = Documented::read();
    let mut described = 0;
    for name in documented.kinds() {
        let fields = documented.definition(name)["properties"].as_object();
        for (field, schema) in fields.expect("the fields") {
            let meaning = schema["description"].as_str().unwrap_or_default();
            let is_named = definition_name(schema).is_some();
            assert!(!meaning.is_empty() || is_named, "{name} {field}");
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
        let kind = format!("answer-{}", arguments[0]);
        schemas::assert_heap(&kind, &answer);
        documented.note(&answer, documented.definition(&kind), &mut seen);
    }
    for by in ["class", "site"] {
        let groups = heap(&["retained", "--by", by, "--json"], &leak);
        let groups: Value = serde_json::from_str(&groups).expect("JSON");
        schemas::assert_heap("answer-retained", &groups);
        documented.note(&groups, documented.definition("answer-retained"), &mut seen);
    }
    for name in documented.kinds().filter(|name| !ELSEWHERE.contains(name)) {
        documented.assert_seen(name, &seen);
    }
}
