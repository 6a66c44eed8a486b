//! Profiles of programs with known answers, as shown by `hprof`. The programs are in `java-tests`: `alloc.hprof.gz` is
//! `sites/Alloc.java` with `heap=sites,cutoff=0,depth=4,format=b`, `agent-calls-*.txt` are `times/Calls.java`,
//! `agent-monitor.txt` is `monitor/Contend.java`; `original-*` are files of the JDK's own agent.

#[path = "profiles/every_section.rs"]
mod every_section;
#[path = "profiles/sample_times.rs"]
mod sample_times;
#[path = "profiles/viewers.rs"]
mod viewers;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use hprof_testing::{empty_folder, text};
use serde_json::Value;

fn profile(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/profiles")
        .join(name)
}

fn hprof(arguments: &[&str], files: &[&Path]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_hprof"))
        .args(arguments)
        .args(files)
        .stdin(Stdio::null())
        .output()
        .expect("the tool starts")
}

fn shown(arguments: &[&str], files: &[&Path]) -> String {
    let output = hprof(arguments, files);
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        text(&output.stderr)
    );
    text(&output.stdout).to_owned()
}

fn json(arguments: &[&str], files: &[&Path]) -> Value {
    serde_json::from_str(&shown(arguments, files)).expect("it is JSON")
}

/// Returns the own and total cost of a row of `hprof top`; 0 if there is no such row.
fn cost(file: &Path, value: &str, by: &str, name: &str) -> (u64, u64) {
    let arguments = ["top", "--json", "-n", "0", "--value", value, "--by", by];
    let document = json(&arguments, &[file]);
    let rows = document["rows"].as_array().expect("rows");
    let number = |value: &Value| value.as_u64().expect("a number");
    let found = rows.iter().find(|row| row["name"] == name);
    found.map_or((0, 0), |row| (number(&row["self"]), number(&row["total"])))
}

#[test]
fn allocations_are_those_of_the_program() {
    let file = profile("alloc.hprof.gz");
    for (class, allocated, live) in [
        ("Alloc$Kept", 1070, 1070),
        ("Alloc$Dropped", 5000, 0),
        ("Alloc$Derived", 200, 200),
        ("long[][]", 50, 50),
    ] {
        let of = |value| cost(&file, value, "type", class).0;
        assert_eq!(of("alloc-objects"), allocated, "{class}");
        assert_eq!(of("live-objects"), live, "{class}");
    }
    // Every `make` allocates a StringBuilder, whose constructor allocates an array: 40 by way of viaA and 80 by way of
    // viaB.
    let constructor = "AbstractStringBuilder.<init>";
    let value = ["--value", "alloc-objects", "--min", "0"];
    let arguments = [&["tree", "--json", "--callers", constructor], &value[..]].concat();
    let tree = json(&arguments, &[&file]);
    let nodes = tree["nodes"].as_array().expect("nodes").iter();
    let of = |name: &str| {
        let mut nodes = nodes.clone();
        let node = nodes.find(|node| node["name"] == name).expect(name);
        node["total"].as_u64().expect("a number")
    };
    assert_eq!(of("Alloc.make"), 120);
    assert_eq!((of("Alloc.viaA"), of("Alloc.viaB")), (40, 80));
}

#[test]
fn calls_are_those_of_the_program() {
    for file in ["agent-calls-times.txt", "agent-calls-old.txt"] {
        for (method, calls) in [
            ("Calls.fib", 1973),
            ("Calls.leaf", 300),
            ("Calls.spin", 300),
            ("Calls.middle", 100),
            ("Calls.thrower", 220),
            ("Calls.locked", 50),
            ("Calls.main", 1),
        ] {
            let counted = cost(&profile(file), "calls", "method", method).0;
            assert_eq!(counted, calls, "{method} in {file}");
        }
    }
}

#[test]
fn samples_are_those_that_the_file_counts() {
    let file = profile("original-spin-samples-thread.txt");
    assert_eq!(cost(&file, "cpu", "method", "Spin.hot"), (107, 107));
    assert_eq!(cost(&file, "cpu", "method", "Spin.main"), (0, 141));
    assert_eq!(cost(&file, "cpu", "thread", "blocked"), (141, 141));
    let table = shown(&["top", "-n", "1"], &[&file]);
    let expected = "\
cpu: 282 samples
self      %  total      %              method
 141  50.00    141  50.00  █████       sun.nio.ch.Net.accept
the others have 141, 50.00 %; 1 of 9 rows; -n 0 shows all
";
    assert_eq!(table, expected);
    let filtered = shown(&["top", "--filter", "warm$"], &[&file]);
    assert!(filtered.contains("Spin.warm") && !filtered.contains("Spin.hot"));
}

#[test]
fn contention_adds_up_to_the_total() {
    let file = profile("agent-monitor.txt");
    let content = fs::read_to_string(&file).expect("it is text");
    let (_, rest) = content
        .split_once("MONITOR TIME BEGIN (total = ")
        .expect("there was contention");
    let millis: u64 = rest
        .split_once(" ms")
        .expect("a total")
        .0
        .parse()
        .expect("a number");
    let (own, _) = cost(&file, "contention", "type", "java.lang.Object");
    assert_eq!(own, millis * 1_000_000, "it fought for one monitor");
}

#[test]
fn a_file_comes_through_a_pipe_too() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_hprof"))
        .args(["top", "-", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the tool starts");
    let content = fs::read(profile("alloc.hprof.gz")).expect("it is there");
    let mut stdin = child.stdin.take().expect("it is piped");
    stdin.write_all(&content).expect("the tool reads it all");
    drop(stdin);
    let output = child.wait_with_output().expect("the tool ends");
    assert!(output.status.success());
    let document: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    assert_eq!(document["value"], "alloc-bytes");
}

#[test]
fn some_threads_can_be_shown_alone() {
    let file = profile("original-spin-samples-thread.txt");
    let top = shown(&["top", "--thread", "^ma", "--json"], &[&file]);
    let document: Value = serde_json::from_str(&top).expect("it is JSON");
    assert_eq!(document["total"], 141);
    let remark = "50.00 % of cpu is in other threads than those of --thread, and left out here";
    assert_eq!(document["remarks"][0], remark);
    let groups = shown(&["top", "--by", "thread-group", "--json"], &[&file]);
    let document: Value = serde_json::from_str(&groups).expect("it is JSON");
    let names = document["rows"].as_array().expect("rows").iter();
    let names: Vec<&str> = names.filter_map(|row| row["name"].as_str()).collect();
    assert_eq!(names, ["blocked", "main"]);
    let output = hprof(&["top", "--thread", "main"], &[&profile("alloc.hprof.gz")]);
    assert!(!output.status.success());
    assert!(text(&output.stderr).contains("does not tell threads, which --thread needs"));
}

#[test]
fn a_gate_that_holds_is_exit_status_3() {
    let file = profile("alloc.hprof.gz");
    let directory = empty_folder!("gate");
    let twice = directory.join("twice.hprof");
    let arguments = ["merge", "-o", twice.to_str().expect("UTF-8")];
    shown(&arguments, &[&file, &file]);
    let gates = ["diff", "--by", "type", "--fail-if", "live-bytes > 100%"];
    shown(&gates, &[&file, &twice]);
    let gates = ["diff", "--by", "type", "--fail-if", "live-bytes > 99.9%"];
    let output = hprof(&gates, &[&file, &twice]);
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).starts_with("hprof: live-bytes > 99.9%: from "));
    assert!(text(&output.stdout).contains("Alloc$Kept"));
    let normalised = shown(&["diff", "--normalise", "--json"], &[&file, &twice]);
    let document: Value = serde_json::from_str(&normalised).expect("it is JSON");
    assert_eq!(document["rows"].as_array().map(Vec::len), Some(0));
    let markdown = shown(&["diff", "--markdown", "--by", "type"], &[&file, &twice]);
    assert!(markdown.contains("| `Alloc$Dropped` |"), "{markdown}");
    let checked = hprof(&["check"], &[&twice]);
    assert!(checked.status.success(), "{}", text(&checked.stderr));
}

#[test]
fn merged_files_add_up_in_any_order() {
    let directory = empty_folder!("merged");
    let one = profile("agent-calls-times.txt");
    let two = profile("original-spin-samples-thread.txt");
    let merge = |name: &str, files: &[&Path]| {
        let path = directory.join(name);
        let arguments = ["merge", "-o", path.to_str().expect("UTF-8")];
        shown(&arguments, files);
        path
    };
    let sum = merge("a.txt", &[&one, &two, &two]);
    let same = merge("b.txt", &[&two, &one, &two]);
    for file in [sum, same] {
        assert_eq!(cost(&file, "calls", "method", "Calls.fib").0, 1973);
        assert_eq!(cost(&file, "cpu", "method", "Spin.hot"), (214, 214));
        assert_eq!(cost(&file, "cpu", "thread", "blocked"), (282, 282));
    }
    let old = profile("agent-calls-old.txt");
    let refused = hprof(&["merge", "-o", "/nonexistent/x"], &[&old, &two]);
    assert!(text(&refused.stderr).contains("cannot be in one file"));
}

#[test]
fn an_input_is_never_written_over() {
    let directory = empty_folder!("kept");
    let copy = directory.join("alloc.hprof.gz");
    fs::copy(profile("alloc.hprof.gz"), &copy).expect("it can be copied");
    let path = copy.to_str().expect("UTF-8");
    for arguments in [
        &["merge", "-o", path][..],
        &["export", "--to", "pprof", "-o", path],
    ] {
        let output = hprof(arguments, &[&copy]);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert!(text(&output.stderr).contains("would be lost"));
    }
    let length = |path: &Path| fs::metadata(path).expect("it is there").len();
    assert_eq!(length(&copy), length(&profile("alloc.hprof.gz")));
}

#[test]
fn what_is_wrong_is_said_in_one_line() {
    let file = profile("original-spin-samples-thread.txt");
    for (arguments, said) in [
        (
            &["top", "--value", "calls"][..],
            "has no value `calls`, only cpu",
        ),
        (
            &["top", "--section", "2"],
            "there is no section 2; the file has 1",
        ),
        (
            &["tree", "--callers", "nobody"],
            "no stack with cpu has a method `nobody`",
        ),
        (&["flame", "-o", "x.png"], "ends in .html or .svg"),
        (
            &["export", "--to", "pprof", "--value", "cpu"],
            "--value is for collapsed",
        ),
        (&["autopsy"], "there is no black box next to it"),
    ] {
        let output = hprof(arguments, &[&file]);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        let stderr = text(&output.stderr);
        assert!(
            stderr.contains(said) && stderr.lines().count() == 1,
            "{stderr}"
        );
    }
    let directory = empty_folder!("broken");
    let broken = directory.join("broken.txt");
    let content = fs::read_to_string(&file).expect("it is text");
    let content = content.replace("CPU SAMPLES END", "CPU SAMPLES");
    fs::write(&broken, content).expect("the target directory can be written");
    let output = hprof(&["top"], &[&broken]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output.stderr).contains("line 33: "),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn a_flame_graph_shows_names_as_text() {
    let directory = empty_folder!("flame");
    let hostile = directory.join("hostile.txt");
    let content = fs::read_to_string(profile("original-spin-samples-thread.txt"));
    let content = content.expect("it is text");
    let content = content.replace("Spin.hot(", "Spin.<script>alert(1)</script>;\u{202e}(");
    fs::write(&hostile, content).expect("the target directory can be written");
    let svg = directory.join("x.svg");
    let path = svg.to_str().expect("UTF-8");
    shown(&["flame", "--by-thread", "-o", path], &[&hostile]);
    let drawn = fs::read_to_string(&svg).expect("it is text");
    assert!(drawn.contains("Spin.&lt;script&gt;alert(1)&lt;/script&gt;:?"));
    assert!(drawn.contains("282") && drawn.contains("blocked"));
    assert!(!drawn.contains("<script>alert"));
    shown(
        &[
            "flame",
            "--inverted",
            "--diff",
            path_of("original-spin-samples-thread.txt").as_str(),
            "-o",
            path,
        ],
        &[&hostile],
    );
}

fn path_of(name: &str) -> String {
    profile(name).display().to_string()
}

#[test]
fn packagers_get_completions_and_manual_pages() {
    assert!(shown(&["completions", "bash"], &[]).contains("flame"));
    let directory = empty_folder!("manual");
    shown(&["manual"], &[&directory]);
    let page = fs::read_to_string(directory.join("hprof-top.1")).expect("it is written");
    assert!(page.contains("hprof\\-top"), "{page}");
}

/// Returns a text profile with samples of the program and of the agent.
fn samples(program: u32, agent: u32) -> String {
    let date = "Fri Nov 20 10:39:12 2026";
    let total = program + agent;
    format!(
        "JAVA PROFILE 1.0.1, created {date}\n\nx\n--------\n\n\
         TRACE 300001:\n\tMain.main(Main.java:1)\n\
         TRACE 300002:\n\tjava.lang.Thread.<HPROF>(Thread.java:Native method)\n\tMain.main(Main.java:1)\n\
         CPU SAMPLES BEGIN (total = {total}) {date}\nrank   self  accum   count trace method\n   \
         1 75.00% 75.00% {program:7} 300001 Main.main\n   \
         2 25.00% 100.00% {agent:7} 300002 java.lang.Thread.<HPROF>\nCPU SAMPLES END\n"
    )
}

#[test]
fn the_agents_own_time_is_left_out_of_differences_and_pages() {
    let folder = empty_folder!("without-agent");
    let (base, new) = (folder.join("base.txt"), folder.join("new.txt"));
    fs::write(&base, samples(30, 10)).expect("a file");
    fs::write(&new, samples(60, 10)).expect("a file");
    let all = json(&["diff", "--json"], &[&base, &new]);
    assert_eq!(
        (&all["base_total"], &all["new_total"]),
        (&40.into(), &70.into()),
        "{all}"
    );
    let arguments = ["diff", "--json", "--without-agent"];
    let program = json(&arguments, &[&base, &new]);
    assert_eq!(
        (&program["base_total"], &program["new_total"]),
        (&30.into(), &60.into()),
        "{program}"
    );
    let page = |arguments: &[&str]| {
        let page = folder.join("page.html");
        shown(arguments, &[&base, Path::new("-o"), &page]);
        fs::read(&page).expect("the page")
    };
    let all = page(&["report"]);
    assert!(
        all == page(&["report"]),
        "the page of one file is always the same"
    );
    assert!(all != page(&["report", "--without-agent"]));
}
