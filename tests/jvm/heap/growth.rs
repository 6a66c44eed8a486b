//! LIVE COURSE and `hprof growth`, on programs of `java-tests/growth` whose first comments tell which sites leak.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cells::{Cell, cells};
use crate::harness::{Finished, Jvm, Program, cli, skip};
use crate::heap::dump::heap::File;
use crate::heap::heap_json::assert_documented;
use crate::output::schemas;

const OPTIONS: &str = "heap=all,format=b,lifetimes=y,every=50ms,cutoff=0,depth=8,file=x.hprof";
/// No collection but those that the program forces.
const ROOM: [&str; 2] = ["-Xmx512m", "-Xms512m"];
const LEAKS: [&str; 3] = ["Growth$Burst", "Growth$OneOfMany", "Growth$Slow"];

/// Runs `hprof` on a file.
fn hprof(args: &[&str], file: &Path) -> String {
    let mut command = Command::new(cli());
    let output = command.args(args).arg(file).output().expect("hprof");
    assert!(output.status.success(), "{args:?}: {output:?}");
    String::from_utf8(output.stdout).expect("text")
}

/// The time, the most bytes, the fewest objects and the objects allocated of each point of a class, or of `all`.
fn course(text: &str, of: &str) -> Vec<[u64; 4]> {
    let (_, section) = text
        .split_once("\nLIVE COURSE BEGIN (")
        .expect("the section");
    let (section, _) = section.split_once("\nLIVE COURSE END\n").expect("its end");
    let rows = section.lines().skip(2).filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |at: usize| words[at].parse().expect("a number");
        (words.last() == Some(&of)).then(|| [number(0), number(2), number(3), number(5)])
    });
    rows.collect()
}

/// Returns the classes of the sites that `hprof growth` lists, in its order.
fn growing(file: &Path) -> Vec<String> {
    let found = hprof(&["growth", "--json"], file);
    let found: serde_json::Value = serde_json::from_str(&found).expect("JSON");
    schemas::assert_valid(&found);
    let rows = found["rows"].as_array().expect("rows");
    let classes = rows.iter().map(|row| row["class"].as_str());
    classes
        .map(|class| class.expect("a class").to_owned())
        .collect()
}

fn suspected(file: &Path) -> BTreeSet<String> {
    let classes = growing(file).into_iter();
    classes
        .filter(|class| class.starts_with("Growth"))
        .collect()
}

/// Returns the program's classes whose objects pile up, as a heap dump says.
fn suspected_in_dump(file: &Path) -> BTreeSet<String> {
    let found = hprof(&["heap", "leaks", "--json"], file);
    let found: serde_json::Value = serde_json::from_str(&found).expect("JSON");
    assert_documented(&found["suspects"], "suspect");
    let suspects = found["suspects"].as_array().expect("suspects");
    let piling = |suspect: &serde_json::Value| !suspect["piling"].is_null();
    // They come before all others.
    let first = suspects.iter().take_while(|suspect| piling(suspect));
    assert_eq!(
        first.clone().count(),
        suspects.iter().filter(|suspect| piling(suspect)).count()
    );
    let classes = first.map(|suspect| suspect["piling"]["class"].as_str());
    let classes = classes.map(|class| class.expect("a class").to_owned());
    classes
        .filter(|class| class.starts_with("Growth"))
        .collect()
}

/// Returns what `hprof growth --paths` says about what keeps the objects of a class: each path as text, and how many further objects
/// it stands for.
fn keepers(file: &Path, class: &str) -> Vec<(String, u64)> {
    let found = hprof(&["growth", "--paths", "--json", "-n", "0"], file);
    let found: serde_json::Value = serde_json::from_str(&found).expect("JSON");
    schemas::assert_valid(&found);
    let rows = found["rows"].as_array().expect("rows").iter();
    let of_class = rows.filter(|row| row["class"] == class);
    let paths = of_class.flat_map(|row| row["kept_by"]["paths"].as_array().expect("paths"));
    let paths = paths.map(|path| {
        schemas::assert_heap("path", path);
        let steps = path["steps"].as_array().expect("steps").iter();
        let steps = steps.map(|step| {
            let text = |name: &str| step[name].as_str().unwrap_or_default().to_owned();
            format!("{} {}", text("reference"), text("object"))
        });
        let alike = path["alike"].as_u64().unwrap_or_default();
        (steps.collect::<Vec<_>>().join("\n"), alike)
    });
    paths.collect()
}

fn leaks_are_told_from_what_looks_like_them(feature: u32, collector: &str) {
    let wanted = |cell: &&Cell| cell.jvm.feature == feature && cell.collector == collector;
    let Some(cell) = cells().iter().find(wanted) else {
        return skip(&format!("growth on JVM {feature} with {collector}"));
    };
    let vm_options = [&cell.vm_options()[..], &ROOM].concat();
    let run = Program::java(cell.jvm, OPTIONS, &vm_options)
        .program("growth", "Growth")
        .run_well();
    let file = run.path("x.hprof");
    let leaks: BTreeSet<String> = LEAKS.map(str::to_owned).into();
    let found = suspected(&file);
    match cell.ends_with_a_gc() {
        true => assert_eq!(found, leaks, "{cell}"),
        // What the last collection has left counts as alive.
        false => {
            for class in ["Growth$Slow", "Growth$Burst"] {
                assert!(found.contains(class), "{cell}: {found:?}");
            }
            for class in ["Growth$Cached", "Growth$Garbage"] {
                assert!(!found.contains(class), "{cell}: {found:?}");
            }
        }
    }
    assert_eq!(suspected_in_dump(&file), leaks, "{cell}: in the dump");
    // One object of forty made by that line stays: the paths are those of its class alone.
    for (class, field, objects) in [
        ("Growth$Slow", "slow", 300),
        ("Growth$Burst", "burst", 480),
        ("Growth$OneOfMany", "oneOfMany", 300),
    ] {
        if found.contains(class) {
            let keepers = keepers(&file, class);
            let held = format!("class Growth\nstatic {field} java.util.ArrayList @ ");
            let kept = keepers.iter().find(|(path, _)| path.contains(&held));
            let (_, alike) = kept.unwrap_or_else(|| panic!("{cell}: {class}: {keepers:?}"));
            assert_eq!(alike + 1, objects, "{cell}: {class}: {keepers:?}");
        }
    }
    let text = hprof(&["growth", "--paths", "-n", "0"], &file);
    assert!(
        text.contains("\nwhat keeps Growth$Slow, Growth.tick:\n"),
        "{text}"
    );
    let text = hprof(&["text"], &file);
    assert!(!text.contains("(LIVE COURSE"), "it is a section in text");
    fs::write(run.path("x.txt"), &text).expect("a file");
    assert_eq!(suspected(&run.path("x.txt")), found, "{cell}: as text");
    for class in ["Growth$Slow", "Growth$Cached"] {
        let points = course(&text, class);
        assert!(points.len() >= 10, "{cell}: {class} {points:?}");
        let times = points.windows(2);
        assert!(times.into_iter().all(|pair| pair[0][0] < pair[1][0]));
        for [_, bytes, objects, made] in points {
            assert!(objects <= made && 24 * objects <= bytes, "{cell}: {class}");
            assert!(bytes <= 24 * made, "{cell}: {class}");
        }
    }
    let last = |class: &str| course(&text, class).last().map(|point| point[3]);
    assert_eq!(last("Growth$Slow"), Some(300), "{cell}");
    assert_eq!(last("Growth$Cached"), Some(5_000), "{cell}");
    let full = course(&text, "Growth$Cached");
    // The first may be from before its objects had survived a collection.
    assert!(full[1..].iter().all(|point| point[2] == 5_000), "{full:?}");
    assert!(course(&text, "all").len() >= full.len());
    hprof(&["check"], &file);
}

#[test]
fn leaks_are_told_on_17_with_g1() {
    leaks_are_told_from_what_looks_like_them(17, "G1");
}

#[test]
fn leaks_are_told_on_11_with_serial() {
    leaks_are_told_from_what_looks_like_them(11, "Serial");
}

#[test]
fn leaks_are_told_on_25_with_z() {
    leaks_are_told_from_what_looks_like_them(25, "Z");
}

/// Runs parts of `Leaks` for ten seconds, in ticks of 20 ms.
fn leaks(parts: &[&str]) -> Finished {
    let cell = Cell::any();
    let vm_options = [&cell.vm_options()[..], &ROOM].concat();
    let program = Program::java(cell.jvm, OPTIONS, &vm_options).program("growth", "Leaks");
    let program = program.args(["20", "500", "2000", "5"]);
    let program = parts
        .iter()
        .fold(program, |program, part| program.arg(part));
    program.run_well()
}

on_every_jvm!(a_running_program_is_recorded_and_its_growth_explained, and 26);

fn a_running_program_is_recorded_and_its_growth_explained(jvm: &Jvm) {
    let vm_options = [&["-XX:+UseSerialGC"][..], &ROOM].concat();
    let program = Program::bare_java(jvm, &vm_options).program("growth", "Leaks");
    let arguments = ["20", "100000", "0", "25", "blobs", "cache=5000"];
    let run = arguments.into_iter().fold(program, Program::arg).start();
    run.wait_for_output("ready");
    let folder = run.path("recorded");
    let folder = folder.to_str().expect("UTF-8");
    let options = ["--for", "12s", "--paths", "--dir", folder];
    let said = run.hprof_well("growth", &options);
    assert!(said.contains(" byte[], Leaks.blobs\n"), "{said}");
    let (_, kept) = said
        .split_once("what keeps byte[], Leaks.blobs:\n")
        .unwrap_or_else(|| panic!("{said}"));
    assert!(
        kept.contains("    static blobs -> java.util.ArrayList @ "),
        "{said}"
    );
    assert!(!said.contains("what keeps Leaks$Cached"), "{said}");
    let status = run.hprof_well("status", &[]);
    assert!(status.starts_with("no profile is running; "), "{status}");
    let files: Vec<PathBuf> = fs::read_dir(folder)
        .expect("the folder")
        .map(|file| file.expect("a file").path())
        .filter(|file| file.extension() == Some("hprof".as_ref()))
        .collect();
    let [file] = &files[..] else {
        panic!("{files:?}");
    };
    assert!(
        said.contains(&format!("the profile is {}", file.display())),
        "{said}"
    );
    let forked = "heap dump by JVMTI in a forked child: asked for; the program stood still for ";
    let notes = File::read(file).notes;
    assert!(
        notes.iter().any(|note| note.starts_with(forked)),
        "{notes:?}"
    );
}

#[test]
fn a_file_without_objects_has_no_paths() {
    let cell = Cell::any();
    let options = OPTIONS.replace("heap=all", "heap=sites");
    let program = Program::java(cell.jvm, &options, &ROOM).program("growth", "Leaks");
    let arguments = ["20", "300", "2000", "5", "slow"];
    let run = arguments.into_iter().fold(program, Program::arg).run_well();
    let file = run.path("x.hprof");
    let output = Command::new(cli())
        .args(["growth", "--paths"])
        .arg(&file)
        .output();
    let output = output.expect("hprof");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("x.hprof: has no heap dump: --paths needs a file of heap=all,"),
        "{said}"
    );
    assert!(output.stdout.is_empty(), "{output:?}");
}

/// Returns what `hprof heap leaks` suspects, and what is large but does not grow.
fn suspects_in_dump(file: &Path) -> [Vec<serde_json::Value>; 2] {
    let found = hprof(&["heap", "leaks", "--json"], file);
    let found: serde_json::Value = serde_json::from_str(&found).expect("JSON");
    ["suspects", "not_growing"].map(|list| found[list].as_array().expect("suspects").clone())
}

#[test]
fn a_slow_leak_is_first_before_a_full_cache_and_much_garbage() {
    let run = leaks(&["slow", "cache=5000"]);
    let file = run.path("x.hprof");
    let classes = growing(&file);
    assert_eq!(classes.first().map(|class| &**class), Some("Leaks$Slow"));
    let others = classes[1..].iter();
    assert!(
        others.clone().all(|class| !class.starts_with("Leaks")),
        "{classes:?}"
    );

    let [suspects, not_growing] = suspects_in_dump(&file);
    let first = &suspects[0];
    assert_eq!(first["piling"]["class"], "Leaks$Slow", "{first}");
    assert_eq!(first["piling"]["objects"], 500, "{first}");
    let is_cache = |suspect: &&serde_json::Value| suspect["holder"] == "static field Leaks.cache";
    assert!(
        !suspects.iter().any(|suspect| is_cache(&suspect)),
        "{suspects:?}"
    );
    let cache = not_growing.iter().find(is_cache);
    assert!(cache.expect("what retains most")["piling"].is_null());
    let piling = suspects
        .iter()
        .filter_map(|suspect| suspect["piling"]["class"].as_str());
    let piling: Vec<&str> = piling.filter(|class| class.starts_with("Leaks")).collect();
    assert_eq!(piling, ["Leaks$Slow"]);
}

#[test]
fn what_is_replaced_all_the_time_is_large_but_does_not_grow() {
    let run = leaks(&["lru"]);
    let file = run.path("x.hprof");
    let arguments = ["heap", "leaks", "--threshold", "5", "--json"];
    let found: serde_json::Value = serde_json::from_str(&hprof(&arguments, &file)).expect("JSON");
    assert_documented(&found["not_growing"], "suspect");
    let used = |list: &str| -> Vec<serde_json::Value> {
        let suspects = found[list].as_array().expect("suspects").iter();
        let of_lru = suspects.filter(|suspect| suspect["holder"] == "static field Leaks.lru");
        of_lru.cloned().collect()
    };
    assert_eq!(used("suspects"), [] as [serde_json::Value; 0]);
    let [lru] = &used("not_growing")[..] else {
        panic!("{} rows", used("not_growing").len());
    };
    let count = |name: &str| lru["turnover"][name].as_u64().expect("a count");
    // At each of its sites 12,000 were made, 2,000 of which are alive.
    assert!(count("made") >= 12_000 && count("alive") >= 2_000, "{lru}");
    assert!(count("made") >= 5 * count("alive"), "{lru}");
}

#[test]
fn usual_leaks_are_told_from_usual_caches_and_pools() {
    let looks_like_leaks = ["lru", "weak", "pool", "reload"];
    let leaking = ["sessions", "listeners", "threads", "backlog"];
    let run = leaks(&[leaking, looks_like_leaks].concat());
    let file = run.path("x.hprof");
    let classes = growing(&file).into_iter();
    let own: BTreeSet<String> = classes
        .filter(|class| class.starts_with("Leaks$"))
        .collect();
    let expected = [
        "Leaks$Entry",
        "Leaks$Listener",
        "Leaks$Session",
        "Leaks$Task",
    ];
    assert_eq!(own, expected.map(str::to_owned).into());

    let [suspects, _] = suspects_in_dump(&file);
    let piling = suspects
        .iter()
        .filter(|suspect| !suspect["piling"].is_null());
    let holders: BTreeSet<&str> = piling
        .filter_map(|suspect| suspect["holder"].as_str())
        .filter_map(|holder| match holder.strip_prefix("static field Leaks.") {
            None if holder.contains("\"worker ") => Some("threads"),
            field => field,
        })
        // The dump has the tasks of the last part of the time alone.
        .filter(|&holder| holder != "backlog")
        .collect();
    assert_eq!(holders, ["listeners", "sessions", "threads"].into());
}
