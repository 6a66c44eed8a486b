//! `docs/places.md`: what it tells people to type.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use super::{has, run};
use crate::harness::{Program, agent, any_jvm, cli, skip};
use crate::profile::Profile;

fn page() -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/places.md");
    fs::read_to_string(page).expect("the page")
}

/// The text of the page between a heading and the next.
fn section(heading: &str) -> String {
    let page = page();
    let begin = format!("\n## {heading}\n");
    let (_, text) = page.split_once(&begin).expect("the heading");
    text.split("\n## ").next().expect("a section").to_owned()
}

/// The options of the agent that stand on the page: behind the library, the jar, or the number of a process.
fn options() -> Vec<String> {
    let page = page();
    let starts = ["heap=", "cpu=", "monitor="];
    let ends = |c: char| c.is_whitespace() || "\"`)".contains(c);
    let is_start = |at: usize| matches!(page.as_bytes()[at - 1], b'=' | b' ');
    let mut found: Vec<String> = starts
        .iter()
        .flat_map(|start| page.match_indices(start))
        .filter(|&(at, _)| is_start(at))
        .map(|(at, _)| page[at..].split(ends).next().expect("options").to_owned())
        // JMH's own are separated by semicolons.
        .filter(|options| !options.contains(';'))
        .collect();
    found.sort();
    found.dedup();
    found
}

#[test]
fn all_options_on_the_page_are_the_agents() {
    let found = options();
    assert!(found.len() >= 6, "{found:?}");
    for options in found {
        let measured = options.split(",file=").next().expect("what to measure");
        let options = format!("{measured},file=x.txt");
        let run = Program::new(any_jvm(), &options, "Hello").run_well();
        assert_eq!(run.files(), ["x.txt"], "{options}");
    }
}

/// The files that a folder has, which are profiles.
fn profiles(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder");
    let files: Vec<_> = entries.map(|entry| entry.expect("a file").path()).collect();
    for file in &files {
        Profile::parse(&fs::read_to_string(file).expect("a profile"));
    }
    files
}

/// Runs a program with the options that a page puts into the environment, with this library and folder.
fn assert_profiled_by_environment(options: &str, page_folder: &str) {
    let folder = TempDir::new().expect("a folder");
    let options = options
        .replace("/usr/lib/libhprof.so", &agent().display().to_string())
        .replace(page_folder, &format!("{}/", folder.path().display()));
    Program::bare_java(any_jvm(), &[])
        .program("samples", "Hello")
        .env("JAVA_TOOL_OPTIONS", &options)
        .run_well();
    assert_eq!(profiles(folder.path()).len(), 1, "{options}");
}

/// What stands in the quotes of the line that begins so.
fn quoted(section: &str, begin: &str) -> String {
    let line = section
        .lines()
        .find_map(|line| line.trim().strip_prefix(begin));
    line.expect("the line").trim_matches('"').to_owned()
}

#[test]
fn a_containers_environment_profiles_what_runs_in_it() {
    let options = quoted(&section("Docker"), "ENV JAVA_TOOL_OPTIONS=");
    assert_profiled_by_environment(&options, "/profiles/");
}

#[test]
fn a_services_environment_profiles_it() {
    let text = section("systemd");
    let options = quoted(&text, "Environment=").replace("%%", "%");
    let options = options
        .strip_prefix("JAVA_TOOL_OPTIONS=")
        .expect("it is that");
    assert_profiled_by_environment(options, "/var/lib/app/");
}

#[test]
fn systemd_takes_the_drop_in() {
    if !has("systemd-analyze") {
        return;
    }
    let units = TempDir::new().expect("a folder");
    let drop_ins = units.path().join("app.service.d");
    fs::create_dir(&drop_ins).expect("a folder");
    let lines: Vec<_> = section("systemd")
        .lines()
        .filter_map(|line| line.strip_prefix("    ").map(str::to_owned))
        .collect();
    let service = units.path().join("app.service");
    fs::write(&service, "[Service]\nExecStart=/bin/true\n").expect("a file");
    fs::write(drop_ins.join("hprof.conf"), lines.join("\n")).expect("a file");
    let mut verify = Command::new("systemd-analyze");
    let path = format!("{}:", units.path().display());
    let verify = verify
        .env("SYSTEMD_UNIT_PATH", path)
        .arg("verify")
        .arg(&service);
    let said = verify.output().expect("systemd-analyze");
    let said = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(!said.contains("hprof.conf"), "{said}");
}

/// What enters a container: with `docker exec`, or as an ephemeral container of Kubernetes, which has files of its own.
const WAYS_IN: [(&str, &[&str]); 2] = [
    ("exec", &["--mount", "--pid", "--"]),
    (
        "debug",
        &["--pid", "--", "unshare", "--mount", "--mount-proc"],
    ),
];

#[test]
fn the_first_process_of_a_container_is_attached_to() {
    if !has("nsenter") {
        return;
    }
    let folder = TempDir::new().expect("a folder");
    let container = "unshare --mount --pid --fork --kill-child --mount-proc";
    let program = Program::bare_java(any_jvm(), &[])
        .program("attach", "Steps")
        .arg("make:1")
        .behind(container)
        .start();
    let said = |name: &str| program.output(name);
    program.wait_until(|| said("stdout").contains("ready") || !said("stderr").is_empty());
    if !said("stdout").contains("ready") {
        return skip(&format!("a container: {}", said("stderr").trim()));
    }
    let id = program.id();
    let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children"));
    let first = children.expect("its child").trim().to_owned();
    let library = agent().display().to_string();
    for (name, way) in WAYS_IN {
        let file = folder.path().join(name);
        let hprof = |arguments: &[&str]| {
            let mut enter = Command::new("nsenter");
            enter.args(["--target", &first]).args(way).arg(cli());
            run(enter.args(arguments).args(["--agent", &library]))
        };
        hprof(&[
            "attach",
            "1",
            &format!("cpu=samples,file={}", file.display()),
        ]);
        hprof(&["stop", "1"]);
        assert!(file.is_file(), "{name}");
    }
    assert_eq!(profiles(folder.path()).len(), WAYS_IN.len());
    fs::write(program.path("go1"), "").expect("a file");
    fs::write(program.path("end"), "").expect("a file");
    assert!(program.wait().status.success());
}
