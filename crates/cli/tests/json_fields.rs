//! The page `docs/reference/json-fields.md`: the fields of the JSON that `hprof` prints, as the schemas in
//! `docs/reference/schemas/` have them. `HPROF_BLESS=1` writes it anew.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

const HEAD: &str = "\
---
search:
  exclude: true
---

# The fields of JSON

<!-- Made of the schemas in docs/reference/schemas; a test compares them. HPROF_BLESS=1 writes this page. -->

[JSON](json.md) says what they have in common. `[]` stands for each element of a list.
";
const DEFINITION: &str = "#/$defs/";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference")
}

fn text<'a>(schema: &'a Value, key: &str) -> &'a str {
    schema[key].as_str().unwrap_or_default()
}

/// Returns what a value is, in words, with links to the kinds of objects.
fn kind(schema: &Value) -> String {
    if let Some(name) = text(schema, "$ref").strip_prefix(DEFINITION) {
        return format!("[{name}](#{name})");
    }
    if let Some(choices) = schema["anyOf"].as_array() {
        return choices.iter().map(kind).collect::<Vec<_>>().join(" or ");
    }
    if let Some(words) = schema["enum"].as_array() {
        let words: Vec<String> = words
            .iter()
            .filter_map(Value::as_str)
            .map(|word| format!("`{word}`"))
            .collect();
        return words.join(", ");
    }
    if let Some(constant) = schema.get("const") {
        return format!("`{constant}`").replace('"', "");
    }
    if schema.get("pattern").is_some() {
        return "id".to_owned();
    }
    let kinds: Vec<&str> = match &schema["type"] {
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        kind => kind.as_str().into_iter().collect(),
    };
    let kinds = kinds.join(" or ");
    match schema.get("items") {
        Some(items) if items.is_object() => format!("list of {}", kind(items)),
        _ if kinds == "array" => "list".to_owned(),
        _ => kinds,
    }
}

/// Adds a row for each field of an object, and those of the objects in it after it.
fn describe(schema: &Value, prefix: &str, page: &mut String) {
    let Some(fields) = schema["properties"].as_object() else {
        return;
    };
    let required = schema["required"].as_array();
    for (name, field) in fields {
        let is_required = required.is_none_or(|names| names.iter().any(|other| other == name));
        let optional = if is_required { "" } else { "optional: " };
        let meaning = text(field, "description");
        // Writing to a String cannot fail.
        let _ = writeln!(
            page,
            "| `{prefix}{name}` | {} | {optional}{meaning} |",
            kind(field)
        );
        describe(field, &format!("{prefix}{name}."), page);
        if let Some(items) = field.get("items") {
            describe(items, &format!("{prefix}{name}[]."), page);
        }
    }
}

fn table(schema: &Value, page: &mut String) {
    page.push_str("| field | type | meaning |\n|---|---|---|\n");
    describe(schema, "", page);
}

/// Adds the kinds of objects that a schema defines; first, what each command answers.
fn definitions(schema: &Value, page: &mut String) {
    let Some(kinds) = schema["$defs"].as_object() else {
        return;
    };
    let answers = kinds.iter().filter_map(|(name, answer)| {
        let command = name.strip_prefix("answer-")?;
        Some(format!("| `{command}` | {} |\n", kind(answer)))
    });
    page.push_str("\n| command | answer |\n|---|---|\n");
    page.extend(answers);
    for (name, schema) in kinds {
        if schema.get("properties").is_none() {
            continue;
        }
        let _ = write!(page, "\n### {name}\n\n");
        let about = text(schema, "description");
        if !about.is_empty() {
            let _ = write!(page, "{about}\n\n");
        }
        table(schema, page);
    }
}

#[test]
fn the_fields_page_is_what_the_schemas_say() {
    let entries = fs::read_dir(folder().join("schemas")).expect("the schemas");
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.expect("a schema").path())
        .collect();
    paths.sort();
    let mut page = HEAD.to_owned();
    for path in &paths {
        let schema = fs::read(path).expect("a schema");
        let schema: Value = serde_json::from_slice(&schema).expect("JSON");
        let name = path.file_stem().expect("a name").to_string_lossy();
        let _ = write!(page, "\n## {name}\n\n`{}`\n", text(&schema, "title"));
        if schema.get("properties").is_some() {
            page.push('\n');
            table(&schema, &mut page);
        } else {
            definitions(&schema, &mut page);
        }
    }
    let path = folder().join("json-fields.md");
    if std::env::var_os("HPROF_BLESS").is_some() {
        fs::write(path, page).expect("the page");
        return;
    }
    let found = fs::read_to_string(path).expect("the page");
    // Not compared by `assert_eq`, which would print both.
    assert!(found == page, "HPROF_BLESS=1 writes the page anew");
}
