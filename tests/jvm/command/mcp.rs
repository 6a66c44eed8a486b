//! An assistant's whole case over `hprof mcp`: a client of the SDK finds what is wrong with real programs, and proves that
//! it is mended.

#[path = "../../../crates/cli/tests/mcp/client.rs"]
#[allow(dead_code, reason = "the tests of the command use the rest")]
mod client;

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::harness::{Jvm, Program, Running, agent, any_jvm, cli};
use crate::heap::heap_graph;
use client::Client;

/// Returns `File.java:7` for the one line of a test program that is this text.
fn line_of(program: &str, text: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("java-tests")
        .join(program);
    let source = fs::read_to_string(&path).expect("the program");
    let lines = source.lines().zip(1..);
    let mut found = lines.filter_map(|(line, number)| (line.trim() == text).then_some(number));
    let number = found.next().expect("the line");
    assert_eq!(found.next(), None, "{text} is in one line");
    let name = path
        .file_name()
        .and_then(|name| name.to_str())
        .expect("a name");
    format!("{name}:{number}")
}

#[test]
fn the_line_that_leaks_is_found_with_what_holds_it() {
    let run = heap_graph::agent(any_jvm(), "", "Leak", "cache");
    let folder = run.path("x.hprof");
    let client = Client::start(cli(), &[], folder.parent().expect("a folder"));
    let leaks = client.answer("heap_leaks", &json!({"file": "x.hprof"}));
    let suspect = &leaks["answer"]["suspects"][0];
    let holder = suspect["holder"].as_str().expect("a holder");
    assert!(
        holder.starts_with("static field Leak$Cache.entries"),
        "{holder}"
    );
    let line = line_of("heap/Leak.java", "return new byte[100];");
    let allocated = format!("Leak.allocate({line})");
    assert_eq!(suspect["allocated"][0]["stack"][0], allocated);
    assert_eq!(suspect["allocated"][0]["objects"], 40_000);
    // The id of the suspect is a handle for the other questions.
    let id = &suspect["id"];
    let object = client.answer("heap_object", &json!({"file": "x.hprof", "id": id}));
    assert_eq!(object["answer"]["id"], *id);
    assert_eq!(object["answer"]["retained"], suspect["retained"]);
    let paths = client.answer("heap_paths", &json!({"file": "x.hprof", "object": id}));
    let steps = paths["answer"][0]["steps"].as_array().expect("steps");
    assert_eq!(steps.last().expect("the object")["id"], *id);
    let who = client.answer("heap_who", &json!({"file": "x.hprof", "class": "byte[]"}));
    assert_eq!(who["answer"][0]["stack"][0], allocated);
    let arguments = json!({"file": "x.hprof", "by": "object", "rows": 1});
    let retained = client.answer("heap_retained", &arguments);
    assert!(retained["left_out"][0].is_string(), "{retained}");
    client.end();
}

fn steps(jvm: &Jvm, program: Program, step: &str) -> Running {
    let run = program.program("attach", "Steps").arg(step).start();
    run.wait_for_output("ready");
    fs::write(run.path("go1"), "").unwrap_or_else(|error| panic!("{}: {error}", jvm.feature));
    run
}

/// Counts the objects of `Steps` on its whole run.
fn counted(jvm: &Jvm, step: &str, folder: &Path, name: &str) {
    let options = "heap=sites,depth=8,format=b,file=x.hprof";
    let run = steps(jvm, Program::java(jvm, options, &[]), step);
    fs::write(run.path("end"), "").expect("a file");
    let finished = run.wait();
    fs::copy(finished.path("x.hprof"), folder.join(name)).expect("the profile");
}

#[test]
fn the_difference_of_exact_counts_proves_that_a_change_saves_what_it_should() {
    let jvm = any_jvm();
    let folder = tempfile::tempdir().expect("a folder");
    counted(jvm, "make:5000", folder.path(), "before.hprof");
    counted(jvm, "make:700", folder.path(), "after.hprof");
    let client = Client::start(cli(), &[], folder.path());
    let arguments = json!({
        "base": "before.hprof", "new": "after.hprof", "value": "alloc-objects", "by": "line",
    });
    let diff = client.answer("diff", &arguments);
    let rests_on = diff["rests_on"].as_str().expect("a text");
    assert!(rests_on.starts_with("exact: "), "{rests_on}");
    let line = line_of("attach/Steps.java", "kept[i] = new Thing();");
    let first = &diff["answer"]["rows"][0];
    assert_eq!(first["name"], format!("Steps.make({line})"));
    let sums = (&first["base"]["self"], &first["new"]["self"]);
    assert_eq!(sums, (&json!(5000), &json!(700)));
    client.end();
}

fn lines(answer: &Value) -> String {
    let lines = answer["answer"]["lines"].as_array().expect("lines");
    let lines: Vec<&str> = lines.iter().filter_map(Value::as_str).collect();
    lines.join("\n")
}

#[test]
fn a_running_program_is_profiled_and_its_hot_method_named() {
    let jvm = any_jvm();
    let run = steps(jvm, Program::bare_java(jvm, &[]), "busy:600000");
    let folder = run.path("go1");
    let folder = folder.parent().expect("a folder");
    let library = agent().display().to_string();
    let client = Client::start(cli(), &["--allow-attach", "--agent", &library], folder);
    let pid = run.id();
    let jvms = client.answer("jvms", &json!({"rows": 1000, "limit": 262_144}));
    let programs = jvms["answer"]["programs"].as_array().expect("programs");
    let found = programs.iter().find(|program| program["pid"] == pid);
    let found = found.unwrap_or_else(|| panic!("{pid} is not in {jvms}"));
    assert_eq!(found["main"], "Steps");
    assert_eq!(found.get("command"), None, "arguments may hold passwords");
    let start = json!({"pid": pid, "measure": "cpu", "file": "cpu.hprof"});
    client.answer("start_profile", &start);
    let status = lines(&client.answer("profile_status", &json!({"pid": pid})));
    assert!(status.contains("cpu=samples"), "{status}");
    let ask = json!({"file": "cpu.hprof", "total": true, "filter": "^Steps"});
    let top = || client.ask("top", &ask).unwrap_or_default();
    run.wait_until(|| {
        client.answer("dump_profile", &json!({"pid": pid}));
        top().contains("Steps.burn")
    });
    let top = top();
    assert!(top.contains(r#""rests_on":"samples: "#), "{top}");
    let stopped = lines(&client.answer("stop_profile", &json!({"pid": pid})));
    assert!(stopped.contains("cpu.hprof"), "{stopped}");
    let callers = json!({"file": "cpu.hprof", "callers": "Steps.burn"});
    let tree = client.answer("tree", &callers);
    let called = tree["answer"]["nodes"].as_array().expect("nodes");
    assert!(
        called.iter().any(|node| node["name"] == "Steps.busy"),
        "{tree}"
    );
    // The file is there now, and is not replaced.
    let line = client.refused("start_profile", &start);
    assert!(line.ends_with("is not replaced"), "{line}");
    client.end();
}
