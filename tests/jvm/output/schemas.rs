//! The JSON of every command is valid by its schema in `docs/reference/schemas/`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::harness::{Program, any_jvm, cli};

/// The schemas of documents with `format` and `version`, and that of `hprof heap`, which `heap_json` tests.
const SCHEMAS: [&str; 8] = [
    "hprof-diff",
    "hprof-growth",
    "hprof-heap",
    "hprof-list",
    "hprof-memory",
    "hprof-profile",
    "hprof-top",
    "hprof-tree",
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reference/schemas")
}

/// Returns a schema.
pub fn read(name: &str) -> Value {
    let schema = fs::read(folder().join(format!("{name}.json"))).expect("the schema");
    serde_json::from_slice(&schema).expect("JSON")
}

/// Forbids fields that the schema does not name. Readers must take them, since new ones may be added; a new one without a
/// description is a mistake.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            fields.values_mut().for_each(close);
            if fields.contains_key("properties") && fields.contains_key("required") {
                fields.insert("additionalProperties".to_owned(), Value::Bool(false));
            }
        }
        Value::Array(list) => list.iter_mut().for_each(close),
        _ => {}
    }
}

fn assert_is(mut schema: Value, name: &str, document: &Value) {
    close(&mut schema);
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let faults = validator.iter_errors(document);
    let faults: Vec<String> = faults
        .map(|fault| format!("{}: {fault}", fault.instance_path()))
        .collect();
    assert!(faults.is_empty(), "{name}: {faults:#?}");
}

/// Asserts that a document with a `format` is valid by the schema of that name.
pub fn assert_valid(document: &Value) {
    let name = document["format"].as_str().expect("a format");
    assert_is(read(name), name, document);
}

/// Asserts that a value is valid by a definition in the schema of `hprof heap`.
pub fn assert_heap(definition: &str, value: &Value) {
    let mut schema = read("hprof-heap");
    assert!(schema["$defs"].get(definition).is_some(), "{definition}");
    schema["$ref"] = json!(format!("#/$defs/{definition}"));
    assert_is(schema, definition, value);
}

/// Returns the JSON that a command prints.
fn hprof(arguments: &[&str], files: &[&Path]) -> Value {
    let output = Command::new(cli())
        .args(arguments)
        .args(files)
        .output()
        .expect("hprof");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {error}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn every_schema_is_one_and_is_tested() {
    let files = fs::read_dir(folder()).expect("the folder");
    let files = files.map(|file| file.expect("a file").path());
    let names: BTreeSet<String> = files
        .map(|path| {
            path.file_stem()
                .expect("a name")
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    assert_eq!(names, SCHEMAS.map(str::to_owned).into());
    for name in SCHEMAS {
        let schema = read(name);
        jsonschema::meta::validate(&schema).unwrap_or_else(|fault| panic!("{name}: {fault}"));
    }
}

#[test]
fn a_wrong_document_is_not_valid() {
    let document = json!({"format": "hprof-list", "version": 1, "programs": []});
    assert_valid(&document);
    for (field, value) in [
        ("version", json!(2)),
        ("programs", json!([{"pid": 1}])),
        ("more", json!(1)),
    ] {
        let mut wrong = document.clone();
        wrong[field] = value;
        let is_valid = std::panic::catch_unwind(|| assert_valid(&wrong));
        assert!(is_valid.is_err(), "{wrong}");
    }
}

#[test]
fn the_json_of_every_command_on_profiles_is_valid() {
    let jvm = any_jvm();
    for (options, feature, program) in [
        (
            "cpu=samples,interval=1,thread=y,format=b",
            "samples",
            "TwoBusy",
        ),
        ("cpu=times", "times", "Calls"),
        ("cpu=old", "times", "Calls"),
        ("heap=sites,lifetimes=y,depth=2,format=b", "sites", "Alloc"),
        ("heap=sites,sample=1k,format=b", "sites", "Alloc"),
        ("monitor=y", "monitor", "Held"),
        ("wall=y,format=b", "samples", "TwoBusy"),
    ] {
        let run = Program::java(jvm, &format!("{options},file=x"), &[]);
        let run = run.program(feature, program).run_well();
        let file = run.path("x");
        let file = file.as_path();
        let same = run.path("y");
        fs::copy(file, &same).expect("a copy");
        let is_valid = |arguments: &[&str], files: &[&Path]| assert_valid(&hprof(arguments, files));
        for by in ["method", "line", "class", "package", "trace", "type"] {
            is_valid(&["top", "--json", "--by", by], &[file]);
        }
        if feature == "monitor" {
            for by in ["lock", "holder", "wait"] {
                is_valid(&["top", "--json", "--by", by], &[file]);
            }
        }
        is_valid(&["tree", "--json"], &[file]);
        is_valid(&["diff", "--json"], &[file, &same]);
        is_valid(&["export", "--to", "json"], &[file]);
    }
    assert_valid(&hprof(&["list", "--json"], &[]));
}
