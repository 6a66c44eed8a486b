//! Compares the committed JVMTI bindings with the headers of every available JDK.
//!
//! The JDK version that they were generated from must yield the same text. Others may differ only in slots that one
//! version reserves and a later one fills.

#[path = "../build/bindings.rs"]
mod generator;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use syn::{Fields, ImplItem, Item};

/// Constants that are higher in every later version, and are not used by the agent.
const GROWING: [&str; 2] = ["JVMTI_VERSION", "JVMTI_MAX_EVENT_TYPE_VAL"];

const COMMITTED: &str = "src/sys/bindings.rs";

fn generate(include: &Path) -> String {
    generator::generate(include, Path::new("include/wrapper.h"))
        .expect("bindgen reads the header; is libclang there?")
}

/// Returns the `include` folders of all available JDKs, oldest version first.
fn headers() -> Vec<PathBuf> {
    let script = "source scripts/lib/common.sh && find_jvms";
    let found = Command::new("bash")
        .args(["-c", script])
        .current_dir("../..")
        .output()
        .expect("bash");
    String::from_utf8(found.stdout)
        .expect("UTF-8")
        .lines()
        .filter_map(|line| line.split(' ').nth(1))
        .map(|home| Path::new(home).join("include"))
        .filter(|include| include.join("jvmti.h").exists())
        .collect()
}

#[test]
fn every_jdk_agrees_with_the_committed_bindings() {
    let headers = headers();
    assert!(
        !headers.is_empty(),
        "there is no JDK with headers to compare with"
    );
    let committed = fs::read_to_string(COMMITTED).expect("the committed bindings");
    for include in headers {
        let generated = generate(&include);
        println!("{}", include.display());
        if version(&generated) == version(&committed) {
            assert!(
                generated == committed,
                "{}: scripts/bindings makes other bindings",
                include.display()
            );
        }
        assert_eq!(
            differences(&generated, &committed),
            [""; 0],
            "{}",
            include.display()
        );
    }
}

#[test]
fn a_difference_that_matters_is_found() {
    let committed = fs::read_to_string(COMMITTED).expect("the committed bindings");
    let changes = [
        (
            "pub const JVMTI_ERROR_NONE: jvmtiError = 0;",
            "pub const JVMTI_ERROR_NONE: jvmtiError = 7;",
        ),
        (
            "pub start_location: jlocation,",
            "pub start_location: jint,",
        ),
        ("pub priority: jint,", "pub urgency: jint,"),
        ("pub type jthread = jobject;", "pub type jthread = jclass;"),
        (
            "pub fn can_tag_objects(&self) -> ::std::os::raw::c_uint {",
            "pub fn can_tag(&self) -> ::std::os::raw::c_uint {",
        ),
    ];
    for (here, there) in changes {
        assert!(committed.contains(here), "{here}");
        assert_ne!(
            differences(&committed.replace(here, there), &committed),
            [""; 0],
            "{there}"
        );
    }
    assert_eq!(differences(&committed, &committed), [""; 0]);
}

/// Generates the committed file again, from the newest JDK: `scripts/bindings` runs this.
#[test]
#[ignore = "writes the committed file"]
fn regenerate() {
    let newest = headers().pop().expect("a JDK with headers");
    fs::write(COMMITTED, generate(&newest)).expect("the committed file can be written");
    println!("{COMMITTED} is made from {}", newest.display());
}

fn version(bindings: &str) -> Option<&str> {
    bindings
        .lines()
        .find(|line| line.starts_with("pub const JVMTI_VERSION:"))
}

/// Returns the declarations in `one` that `committed` lacks or has in another form.
fn differences(one: &str, committed: &str) -> Vec<String> {
    let committed = declarations(committed);
    let mut differences = Vec::new();
    for (name, declaration) in declarations(one) {
        match committed.get(&name) {
            None => differences.push(format!("{name} is missing")),
            Some(other) if !agree(&name, &declaration, other) => {
                differences.push(format!("{name}: {declaration:?} against {other:?}"));
            }
            Some(_) => {}
        }
    }
    differences
}

/// Returns the parts of each declaration, in order.
fn declarations(bindings: &str) -> BTreeMap<String, Vec<String>> {
    let mut declarations = BTreeMap::new();
    for item in syn::parse_file(bindings).expect("Rust").items {
        match item {
            Item::Const(item) if !GROWING.iter().any(|name| item.ident == name) => {
                declarations.insert(
                    item.ident.to_string(),
                    vec![text(&item.ty), text(&item.expr)],
                );
            }
            Item::Type(item) => {
                declarations.insert(item.ident.to_string(), vec![text(&item.ty)]);
            }
            Item::Struct(item) => {
                declarations.insert(item.ident.to_string(), fields(&item.fields));
            }
            Item::Impl(item) if item.trait_.is_none() => {
                let of = text(&item.self_ty);
                for method in item.items {
                    let ImplItem::Fn(method) = method else {
                        continue;
                    };
                    // The constructor of a bit field takes every bit that its version has.
                    if !method.sig.ident.to_string().starts_with("new_bitfield") {
                        let name = format!("{of}::{}", method.sig.ident);
                        declarations.insert(name, vec![text(&method.sig), text(&method.block)]);
                    }
                }
            }
            _ => {}
        }
    }
    declarations
}

fn fields(fields: &Fields) -> Vec<String> {
    fields
        .iter()
        .map(|field| {
            format!(
                "{}: {}",
                field.ident.as_ref().map(text).unwrap_or_default(),
                text(&field.ty)
            )
        })
        .collect()
}

fn text(tokens: &impl quote::ToTokens) -> String {
    tokens.to_token_stream().to_string()
}

/// Returns whether two slots agree. A reserved slot agrees with anything in its place. The callbacks may have more at
/// their end, because the VM is told the length of the structure.
fn agree(name: &str, one: &[String], other: &[String]) -> bool {
    let reserved = |field: &str| field.starts_with("reserved");
    let as_long =
        one.len() == other.len() || (name == "jvmtiEventCallbacks" && one.len() < other.len());
    as_long
        && one
            .iter()
            .zip(other)
            .all(|(one, other)| one == other || reserved(one) || reserved(other))
}
