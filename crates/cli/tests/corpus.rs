//! Genuine heap dumps of other tools: the JDK's own agent, jmap and jcmd of many JDKs, Android.
//!
//! They are among the test files of Eclipse MAT and hprof-slurp. `$HPROF_DUMPS` names folders (colon between them) that
//! have some of them, at any depth: a checkout of one of these projects will do. `scripts/test` fetches those on
//! crates.io.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use hprof_testing::skip;
use serde_json::Value;

/// The habits of the JDK's own agent and old versions of jmap, in the words of `hprof check`.
const THREADS: &str = "a record names a thread that no START THREAD before it starts";
const SIZES: &str = "CLASS DUMP states another size of instances than its fields take";
const UNLOADED: &str = "UNLOAD CLASS of a class that is not loaded here";
const GLOBALS: &str = "ROOT JNI GLOBAL has an object that is not in its heap dump";
const ELEMENTS: &str = "an array has an element that is not in its heap dump";

/// Each file, and the expected warnings.
const DUMPS: [(&str, &[&str]); 19] = [
    // The JDK's own agent.
    ("hprof-32.bin", &[THREADS, SIZES]),
    ("oracle_jdk7_21_hprofagent.hprof", &[THREADS, SIZES]),
    (
        "sun_jdk6_31_hprofagent_compressedOops.hprof",
        &[THREADS, UNLOADED, SIZES],
    ),
    (
        "sun_jdk6_31_hprofagent_nocompressedOops.hprof",
        &[THREADS, SIZES],
    ),
    // jmap, and HeapDumpOnOutOfMemoryError.
    ("sun_jdk5_13_x32.hprof", &[ELEMENTS]),
    ("sun_jdk5_64bit.hprof", &[]),
    ("HeapDumpSample.hprof", &[ELEMENTS, GLOBALS]),
    ("sun_jdk6_32bit.hprof", &[ELEMENTS, GLOBALS]),
    ("sun_jdk6_18_x32.hprof", &[ELEMENTS, GLOBALS]),
    ("sun_jdk6_18_x64.hprof", &[ELEMENTS]),
    ("sun_jdk6_30_x64_compressedOops.hprof", &[]),
    ("sun_jdk6_30_x64_nocompressedOops.hprof", &[]),
    ("oracle_jdk7_21_x64.hprof", &[ELEMENTS]),
    ("oracle_jdk7_75_x64_directmemory.hprof", &[ELEMENTS]),
    ("oracle_jdk8_05_x64.hprof", &[]),
    ("openjdk_jdk11_04_x64.hprof.gz", &[]),
    ("java_pid1884.0001.hprof.gz", &[]),
    ("hprof-64.bin", &[]),
    // Android.
    ("hprof-android.bin", &[]),
];

/// Returns the available dumps, with their entries in [`DUMPS`].
fn dumps() -> Vec<(PathBuf, &'static [&'static str])> {
    let Some(folders) = std::env::var_os("HPROF_DUMPS") else {
        skip("heap dumps of other tools: $HPROF_DUMPS is not set");
        return Vec::new();
    };
    let mut files = HashMap::new();
    for folder in std::env::split_paths(&folders) {
        collect(&folder, &mut files);
    }
    let mut found = Vec::new();
    let mut missing = Vec::new();
    for (name, warnings) in DUMPS {
        match files.remove(name) {
            Some(path) => found.push((path, warnings)),
            None => missing.push(name),
        }
    }
    if !missing.is_empty() {
        skip(&format!(
            "heap dumps that are not in $HPROF_DUMPS: {}",
            missing.join(", ")
        ));
    }
    found
}

fn collect(folder: &Path, files: &mut HashMap<String, PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for entry in entries.filter_map(Result::ok) {
        let kind = entry.file_type();
        if kind.is_ok_and(|kind| kind.is_dir()) {
            collect(&entry.path(), files);
        } else {
            files.insert(
                entry.file_name().to_string_lossy().into_owned(),
                entry.path(),
            );
        }
    }
}

fn hprof(arguments: &[&str], dump: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_hprof"))
        .args(arguments)
        .arg(dump)
        .stdin(Stdio::null())
        .output()
        .expect("the tool starts")
}

fn answer(arguments: &[&str], dump: &Path) -> String {
    let output = hprof(arguments, dump);
    assert!(
        output.status.success(),
        "{arguments:?} {}: {output:?}",
        dump.display()
    );
    String::from_utf8(output.stdout).expect("the tool writes UTF-8")
}

#[test]
fn genuine_dumps_are_sound_but_for_what_their_writers_always_did() {
    for (dump, expected) in dumps() {
        let name = dump.display();
        let output = hprof(&["check"], &dump);
        let said = String::from_utf8(output.stderr).expect("the tool writes UTF-8");
        assert!(output.status.success(), "{name}: {said}");
        let warnings: Vec<&str> = said
            .lines()
            .filter_map(|line| line.split_once("warning: ")?.1.split_once(" ("))
            .map(|(warning, _)| warning)
            .collect();
        assert_eq!(warnings, expected, "{name}");
        let strict = hprof(&["check", "--strict"], &dump).status.code();
        assert_eq!(strict, Some(i32::from(!expected.is_empty())), "{name}");
    }
}

#[test]
fn genuine_dumps_are_printed_and_counted() {
    for (dump, _) in dumps() {
        let name = dump.display();
        // Counted by two readers: record by record, and class by class.
        let objects: u64 = answer(&["check"], &dump)
            .lines()
            .filter_map(|line| line.trim_start().split_once("   "))
            .filter(|(_, kind)| kind.ends_with(" DUMP"))
            .map(|(count, _)| count.parse::<u64>().expect("a count"))
            .sum();
        let histogram = answer(&["heap", "histogram", "--json", "--top", "1000000"], &dump);
        let histogram: Value = serde_json::from_str(&histogram).expect("JSON");
        let counted: u64 = histogram["rows"]
            .as_array()
            .expect("rows")
            .iter()
            .map(|row| row["objects"].as_u64().expect("a count"))
            .sum();
        assert!(objects > 0, "{name}");
        // Of two dumps in a file the last one is shown.
        let is_one = answer(&["text"], &dump)
            .matches("\nHEAP DUMP BEGIN")
            .count()
            == 1;
        assert!(counted == objects || !is_one && counted < objects, "{name}");
        answer(&["heap", "summary"], &dump);
        let text = answer(&["text"], &dump);
        assert!(
            text.contains("HEAP DUMP BEGIN") && text.contains("HEAP DUMP END"),
            "{name}"
        );
    }
}

/// Returns the first row of a question's answer as JSON.
fn first_row(question: &[&str], rows: &str, dump: &Path) -> Value {
    let asked = [question, &["--no-index", "--json", "--top", "1"]].concat();
    let found: Value = serde_json::from_str(&answer(&asked, dump)).expect("JSON");
    found.pointer(rows).expect("a row").clone()
}

fn text<'a>(row: &'a Value, name: &str) -> &'a str {
    row[name].as_str().expect("a text")
}

#[test]
fn every_question_about_genuine_dumps_has_an_answer() {
    for (dump, _) in dumps() {
        let name = dump.display();
        let group = first_row(&["heap", "histogram"], "/rows/0", &dump);
        let class = text(&group, "name");
        let object = first_row(&["heap", "retained", "--by", "object"], "/0", &dump);
        let id = text(&object, "id");
        for question in [
            &["summary"][..],
            &["leaks"],
            &["retained", "--by", "object"],
            &["retained", "--by", "object", "--class", class],
            &["retained", "--by", "class"],
            &["retained", "--by", "loader"],
            &["retained", "--by", "package"],
            &["retained", "--by", "site"],
            &["histogram", "--by", "loader"],
            &["histogram", "--by", "package"],
            &["histogram", "--by", "site"],
            &["histogram", "--retained"],
            &["paths", "--class", class],
            &["paths", "--object", id],
            &["who", "--class", class],
            &["threads"],
            &["loaders"],
        ] {
            let asked = [&["heap"], question, &["--no-index", "--json"]].concat();
            let output = hprof(&asked, &dump);
            let said = String::from_utf8_lossy(&output.stderr);
            // What the dump cannot answer is said in one line, and nothing else.
            match output.status.code() {
                Some(0) => {
                    serde_json::from_slice::<Value>(&output.stdout).expect("JSON");
                }
                Some(1) => {
                    assert!(said.starts_with("hprof: "), "{name}: {asked:?}: {said}");
                    assert_eq!(said.lines().count(), 1, "{name}: {asked:?}: {said}");
                }
                _ => panic!("{name}: {asked:?}: {said}"),
            }
        }
    }
}

#[test]
fn what_retains_most_in_genuine_dumps_has_a_path_and_is_shown() {
    for (dump, _) in dumps() {
        let name = dump.display();
        let object = first_row(&["heap", "retained", "--by", "object"], "/0", &dump);
        let id = text(&object, "id");
        let path = dump.to_str().expect("UTF-8");
        let shown = hprof(
            &["heap", "show", "--no-index", "--json", path],
            Path::new(id),
        );
        assert!(shown.status.success(), "{name}: {shown:?}");
        let shown: Value = serde_json::from_slice(&shown.stdout).expect("JSON");
        for size in ["shallow", "retained"] {
            assert_eq!(shown[size], object[size], "{name}: {shown}");
        }
        let path = first_row(&["heap", "paths", "--object", id], "/0", &dump);
        let last = path["steps"].as_array().and_then(|steps| steps.last());
        let last = last.unwrap_or_else(|| panic!("{name}: {path}"));
        assert_eq!(text(last, "object"), text(&object, "object"), "{name}");
    }
}

/// Returns the dumps that are small enough to be copied, and to be read many times; a packed one may be large.
fn small_dumps() -> Vec<PathBuf> {
    let is_small = |dump: &Path| {
        let is_packed = dump.extension().is_some_and(|end| end == "gz");
        !is_packed && dump.metadata().is_ok_and(|found| found.len() < 1_000_000)
    };
    let dumps = dumps().into_iter().map(|(dump, _)| dump);
    dumps.filter(|dump| is_small(dump)).collect()
}

/// Copies a dump into a folder of a test.
fn copy(dump: &Path, test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    std::fs::create_dir_all(&folder).expect("the target directory can be written");
    let copy = folder.join(dump.file_name().expect("a name"));
    std::fs::copy(dump, &copy).expect("a copy");
    copy
}

#[test]
fn genuine_dumps_do_not_differ_from_their_copies() {
    for dump in small_dumps() {
        let copy = copy(&dump, "genuine-copies");
        let old = copy.to_str().expect("UTF-8");
        let found = answer(&["heap", "diff", "--no-index", "--json", old], &dump);
        let found: Value = serde_json::from_str(&found).expect("JSON");
        for kind in found.as_array().expect("kinds") {
            assert_eq!(kind["changes"], Value::Array(Vec::new()), "{old}");
        }
        // An empty table would say nothing.
        let text = answer(&["heap", "diff", "--by", "class", "--no-index", old], &dump);
        let line = "No class differs in its live objects.\n";
        assert!(text.ends_with(line), "{text}");
        std::fs::remove_file(&copy).expect("it is there");
    }
}

#[test]
fn an_index_of_a_genuine_dump_answers_as_the_dump_does() {
    for dump in small_dumps() {
        let copy = copy(&dump, "genuine-indexes");
        answer(&["heap", "index"], &copy);
        let group = first_row(&["heap", "histogram"], "/rows/0", &dump);
        let class = text(&group, "name");
        for question in [
            &["summary"][..],
            &["leaks"],
            &["retained", "--by", "object"],
            &["retained", "--by", "class"],
            &["paths", "--class", class],
            &["who", "--class", class],
            &["threads"],
            &["loaders"],
        ] {
            let asked = [&["heap"], question, &["--json"]].concat();
            let without = answer(&[&asked[..], &["--no-index"]].concat(), &copy);
            assert_eq!(
                answer(&asked, &copy),
                without,
                "{}: {asked:?}",
                dump.display()
            );
        }
        answer(&["heap", "index", "--remove"], &copy);
        std::fs::remove_file(&copy).expect("it is there");
    }
}
