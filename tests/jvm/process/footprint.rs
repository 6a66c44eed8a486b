//! `hprof memory`, and what `hprof autopsy` says first: where the memory of a process is, compared with programs that use a known
//! amount of one kind (`java-tests/memory/Uses.java`).

use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::Value;

use crate::cells::Cell;
use crate::harness::{Jvm, Program, Running, any_jvm, skip};
use crate::output::schemas::assert_valid;

const MB: f64 = 1e6;
/// The most that a part may be wrong: this share of the truth, or these bytes.
const SHARE: f64 = 0.05;
const LITTLE: f64 = 4.0 * MB;
/// The most that the sum may differ from the system's own number.
const SHARE_OF_SUM: f64 = 0.02;

/// What is compared with what a program has used.
struct Use {
    kind: &'static str,
    parts: &'static [&'static str],
    vm_options: &'static [&'static str],
}

fn uses(kind: &'static str, parts: &'static [&'static str]) -> Use {
    Use {
        kind,
        parts,
        vm_options: &[],
    }
}

/// Returns what `hprof memory` prints as JSON.
fn look(run: &Running) -> Value {
    let document = serde_json::from_str(&run.hprof_well("memory", &["--json"])).expect("JSON");
    assert_valid(&document);
    document
}

fn part(document: &Value, name: &str, value: &str) -> f64 {
    let mut parts = document["parts"].as_array().expect("parts").iter();
    let part = parts.find(|part| part["part"] == name);
    let bytes = part.unwrap_or_else(|| panic!("{name}: {document}"))[value].as_f64();
    bytes.expect("a number")
}

fn resident(document: &Value, parts: &[&str]) -> f64 {
    parts
        .iter()
        .map(|name| part(document, name, "resident"))
        .sum()
}

fn assert_adds_up(document: &Value, what: &str) {
    let sum = document["resident"].as_f64().expect("a number");
    let system = document["system_resident"].as_f64().expect("a number");
    let difference = (sum - system).abs() / system;
    assert!(
        difference < SHARE_OF_SUM,
        "{what}: {sum} of {system}: {document}"
    );
}

/// Runs the program, and compares what it has used with what has been added to the parts.
fn compare(cell: &Cell, of: &Use) {
    let what = format!("{cell} {}", of.kind);
    let options = [&cell.vm_options()[..], of.vm_options, &["-Xmx1g"]].concat();
    let run = Program::bare_java(cell.jvm, &options)
        .program("memory", "Uses")
        .arg(of.kind)
        .start();
    run.wait_for_output("begun");
    let before = look(&run);
    assert_adds_up(&before, &what);
    fs::write(run.path("go"), "").expect("a file");
    run.wait_for_output("uses ");
    let after = look(&run);
    assert_adds_up(&after, &what);
    let (least, most) = truth(&run, of.kind);
    let added = resident(&after, of.parts) - resident(&before, of.parts);
    let tolerance = LITTLE.max(most * SHARE);
    assert!(
        (least - tolerance..most + tolerance).contains(&added),
        "{what}: {added} for {least} to {most}: before {before}, after {after}"
    );
    fs::write(run.path("end"), "").expect("a file");
    assert!(run.wait().status.success());
}

/// Returns the bytes that the program says it has used, least and most. What its stacks have only the system knows.
fn truth(run: &Running, kind: &str) -> (f64, f64) {
    if kind == "threads" {
        let bytes = of_large_stacks(run);
        return (bytes, bytes);
    }
    let output = run.output("stdout");
    let number = |what: &str| -> Option<f64> {
        let mut lines = output.lines().filter_map(|line| line.strip_prefix(what));
        Some(lines.next()?.parse().expect("a number"))
    };
    let used = number("uses ").expect("a line");
    // Of what is committed for classes, not every page has been touched.
    (used, number("commits ").unwrap_or(used))
}

/// Returns what is resident in mappings of the size of the program's own stacks, 2 MB but for the guard below.
fn of_large_stacks(run: &Running) -> f64 {
    let smaps = fs::read_to_string(format!("/proc/{}/smaps", run.id())).expect("Linux");
    let number = |line: &str| -> f64 {
        let number = line.split_whitespace().nth(1);
        number.expect("a number").parse().expect("a number")
    };
    let (mut size, mut sum, mut count) = (0.0, 0.0, 0);
    for line in smaps.lines() {
        if line.starts_with("Size:") {
            size = number(line);
        }
        if line.starts_with("Rss:") && (1_900.0..2_049.0).contains(&size) {
            sum += number(line) * 1024.0;
            count += 1;
        }
    }
    assert!((300..310).contains(&count), "{count} stacks");
    sum
}

on_paired_cells!(what_the_java_heap_keeps_is_counted, row 1);

fn what_the_java_heap_keeps_is_counted(cell: &Cell) {
    let run = Program::bare_java(cell.jvm, &[&cell.vm_options()[..], &["-Xmx1g"]].concat())
        .program("memory", "Uses")
        .arg("heap")
        .start();
    run.wait_for_output("begun");
    fs::write(run.path("go"), "").expect("a file");
    run.wait_for_output("uses ");
    let document = look(&run);
    let what = format!("{cell}: {document}");
    assert_adds_up(&document, &what);
    let (truth, _) = truth(&run, "heap");
    let heap = |value: &str| document["heap"][value].as_f64();
    let committed = heap("committed").expect("a number");
    // What has been made since the last collection is in use, too.
    let used = heap("used").expect("a number");
    assert!((truth..=committed).contains(&used), "used: {what}");
    // Besides what the program keeps there is a list of it, and what the VM has made.
    // Pages of Z are in use as a whole, with the garbage in them.
    let most = match cell.ends_with_a_gc() {
        true => truth + 8.0 * MB,
        false => truth * 1.3,
    };
    // What a full collection of Serial leaves in Eden is not known before 25.
    let least = match cell.collector {
        "Serial" if cell.jvm.feature < 25 => truth * 0.7,
        _ => truth,
    };
    // Shenandoah's pool says nothing of its collections.
    match heap("after_collection") {
        Some(bytes) => assert!((least..most).contains(&bytes), "after_collection: {what}"),
        None => assert_eq!(cell.collector, "Shenandoah", "{what}"),
    }
    let resident = part(&document, "java_heap", "resident");
    assert!((truth..=committed + LITTLE).contains(&resident), "{what}");
    fs::write(run.path("end"), "").expect("a file");
    assert!(run.wait().status.success());
}

on_paired_cells!(direct_buffers_are_counted, row 2);

fn direct_buffers_are_counted(cell: &Cell) {
    compare(cell, &uses("direct", &["direct_buffers"]));
}

on_every_jvm!(mapped_files_are_counted, and 25);

fn mapped_files_are_counted(jvm: &'static Jvm) {
    compare(&serial(jvm), &uses("mapped", &["mapped_files"]));
}

on_every_jvm!(stacks_are_counted, and 26);

fn stacks_are_counted(jvm: &'static Jvm) {
    compare(&serial(jvm), &uses("threads", &["thread_stacks"]));
}

on_paired_cells!(classes_are_counted, row 3);

fn classes_are_counted(cell: &Cell) {
    compare(cell, &uses("classes", &["metaspace", "class_space"]));
}

on_every_jvm!(small_blocks_of_malloc_are_counted, and 28);

fn small_blocks_of_malloc_are_counted(jvm: &'static Jvm) {
    compare(&serial(jvm), &uses("blocks", &["malloc"]));
}

on_every_jvm!(large_blocks_of_malloc_are_counted, and 17);

fn large_blocks_of_malloc_are_counted(jvm: &'static Jvm) {
    compare(&serial(jvm), &uses("chunks", &["malloc"]));
}

on_every_jvm!(what_malloc_keeps_though_it_is_free_is_found, and 28);

fn what_malloc_keeps_though_it_is_free_is_found(jvm: &'static Jvm) {
    let run = Program::bare_java(jvm, &["-Xmx64m"])
        .program("memory", "Uses")
        .arg("fragments")
        // Where there are more, or fewer, the threads of the program still have one each.
        .env("MALLOC_ARENA_MAX", "64")
        .start();
    run.wait_for_output("begun");
    fs::write(run.path("go"), "").expect("a file");
    run.wait_for_output("uses ");
    let document = look(&run);
    assert_adds_up(&document, "fragments");
    let (freed, _) = truth(&run, "fragments");
    let free = document["malloc_free"].as_f64().expect("glibc counts it");
    let tolerance = LITTLE.max(freed * SHARE);
    assert!(
        (free - freed).abs() < tolerance,
        "{free} of {freed}: {document}"
    );
    let findings = document["findings"].as_array().expect("findings");
    let malloc = findings.iter().find(|found| found["rule"] == "malloc");
    let text = malloc.and_then(|found| found["text"].as_str());
    assert!(
        text.is_some_and(
            |text| text.contains(" of it is free") && text.contains("MALLOC_ARENA_MAX")
        ),
        "{document}"
    );
    fs::write(run.path("end"), "").expect("a file");
    assert!(run.wait().status.success());
}

fn serial(jvm: &'static Jvm) -> Cell {
    Cell {
        jvm,
        collector: "Serial",
    }
}

#[test]
fn native_memory_tracking_changes_nothing() {
    for kind in ["blocks", "chunks"] {
        let of = Use {
            kind,
            parts: &["malloc"],
            vm_options: &["-XX:NativeMemoryTracking=summary"],
        };
        compare(&Cell::any(), &of);
    }
}

on_paired_cells!(a_heap_that_is_committed_and_free_is_told_from_one_in_use, row 5);

fn a_heap_that_is_committed_and_free_is_told_from_one_in_use(cell: &Cell) {
    let options = [
        &cell.vm_options()[..],
        &["-Xms256m", "-Xmx256m", "-XX:+AlwaysPreTouch"],
    ]
    .concat();
    let run = Program::bare_java(cell.jvm, &options)
        .program("memory", "Uses")
        .arg("heap")
        .start();
    run.wait_for_output("begun");
    let document = look(&run);
    assert_adds_up(&document, &cell.to_string());
    let heap = &document["heap"];
    let committed = heap["committed"].as_f64().expect("a number");
    let used = heap["used"].as_f64().expect("a number");
    assert!(used < 60.0 * MB, "{cell}: {heap}");
    let resident = part(&document, "java_heap", "resident");
    let error = (resident - committed).abs();
    // Serial and Parallel have a survivor space that no object may be in.
    assert!(
        error < LITTLE || error < 0.13 * committed,
        "{cell}: {resident} of {committed}: {document}"
    );
    // It would fill the heap if it went on.
    run.send("KILL");
    run.wait();
}

#[test]
fn a_profile_that_runs_goes_on() {
    let run = Program::java(any_jvm(), "cpu=samples,file=x.txt,verbose=n", &[])
        .program("memory", "Uses")
        .arg("direct")
        .start();
    run.wait_for_output("begun");
    fs::write(run.path("go"), "").expect("a file");
    run.wait_for_output("uses ");
    let text = run.hprof_well("memory", &[]);
    for line in [
        " resident: Java heap ",
        "direct buffers: 125.0 MB in 500",
        " the resident set",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    fs::write(run.path("end"), "").expect("a file");
    let run = run.wait();
    assert!(run.status.success(), "{}", run.stderr);
    assert!(run.read("x.txt").contains("CPU SAMPLES END"));
    assert_eq!(run.stderr, "");
}

on_every_jvm!(a_killed_program_leaves_its_account, and 25);

fn a_killed_program_leaves_its_account(jvm: &'static Jvm) {
    let options = "heap=sites,sample=512k,blackbox=y,file=x.txt,verbose=n";
    let run = Program::java(jvm, options, &[])
        .program("memory", "Uses")
        .arg("direct")
        .start();
    run.wait_for_output("begun");
    fs::write(run.path("go"), "").expect("a file");
    run.wait_for_output("uses ");
    let file = run.path("x.txt.blackbox");
    let file = file.to_str().expect("a path").to_owned();
    run.wait_until(|| {
        let output = std::process::Command::new(crate::harness::cli())
            .args(["autopsy", &file])
            .output()
            .expect("hprof");
        String::from_utf8_lossy(&output.stderr).contains("direct buffers: 125.0 MB in 500")
    });
    run.send("KILL");
    let run = run.wait();
    let (is_well, _, said) = run.hprof("autopsy", "x.txt.blackbox");
    assert!(is_well, "{said}");
    let lines: Vec<&str> = said.lines().collect();
    assert!(
        lines[0].starts_with("hprof: the process had ")
            && lines[0].contains(", direct buffers 125."),
        "{said}"
    );
    assert!(
        lines[1].starts_with("hprof: - direct buffers: 125.0 MB in 500"),
        "{said}"
    );
}

#[test]
fn a_profile_has_the_memory_over_time() {
    for (format, name) in [("a", "x.txt"), ("b", "x.hprof")] {
        let options = format!("cpu=samples,blackbox=y,format={format},file={name},verbose=n");
        let run = Program::java(any_jvm(), &options, &[])
            .program("memory", "Uses")
            .arg("direct")
            .start();
        run.wait_for_output("begun");
        let black_box = run.path(&format!("{name}.blackbox"));
        let wait_for_look = |wanted: &dyn Fn(&[Look]) -> bool| {
            run.wait_until(|| {
                let output = Command::new(crate::harness::cli())
                    .arg("autopsy")
                    .arg(&black_box)
                    .output()
                    .expect("hprof");
                wanted(&looks(&String::from_utf8_lossy(&output.stdout)))
            });
        };
        wait_for_look(&|looks| !looks.is_empty());
        fs::write(run.path("go"), "").expect("a file");
        run.wait_for_output("uses ");
        // It has grown at once, so it is looked at again soon.
        wait_for_look(&|looks| looks.last().is_some_and(|look| look.direct > 120e6));
        fs::write(run.path("end"), "").expect("a file");
        let run = run.wait();
        assert!(run.status.success(), "{}", run.stderr);
        let text = match format {
            "a" => fs::read_to_string(run.path(name)).expect("a profile"),
            _ => {
                let (is_well, text, said) = run.hprof("text", name);
                assert!(is_well, "{said}");
                text
            }
        };
        let looks = looks(&text);
        let (first, last) = (
            looks.first().expect("a look"),
            looks.last().expect("a look"),
        );
        assert_eq!(first.direct, 0.0, "{text}");
        assert!((121e6..129e6).contains(&last.direct), "{text}");
        for look in &looks {
            assert_eq!(look.sum, look.resident, "{text}");
        }
    }
}

/// A note of a profile: `memory after 1.2 s: 70 bytes resident: Java heap 40, malloc 30; 90 of a limit of 100 bytes`.
struct Look {
    resident: f64,
    sum: f64,
    direct: f64,
}

fn looks(text: &str) -> Vec<Look> {
    let notes = text.lines().filter_map(|line| {
        let (_, look) = line.strip_prefix("(memory after ")?.split_once(" s: ")?;
        let (resident, parts) = look.split_once(" bytes resident: ")?;
        let (parts, _) = parts.split_once([';', ')'])?;
        // The name of a part may have a comma.
        let parts: Vec<(&str, f64)> = parts
            .split(", ")
            .filter_map(|part| {
                let (name, bytes) = part.rsplit_once(' ')?;
                Some((name, bytes.parse().ok()?))
            })
            .collect();
        let direct = parts.iter().find(|(name, _)| *name == "direct buffers");
        Some(Look {
            resident: resident.parse().expect("a number"),
            sum: parts.iter().map(|(_, bytes)| bytes).sum(),
            direct: direct.map_or(0.0, |(_, bytes)| *bytes),
        })
    });
    notes.collect()
}

on_every_jvm!(direct_buffers_have_makers, and 25);

fn direct_buffers_have_makers(jvm: &'static Jvm) {
    let run = Program::java(jvm, "heap=sites,file=x.txt,verbose=n", &[])
        .program("memory", "Uses")
        .arg("direct")
        .start();
    run.wait_for_output("begun");
    fs::write(run.path("go"), "").expect("a file");
    run.wait_for_output("uses ");
    let document = look(&run);
    let sites = document["buffer_sites"].as_array().expect("sites");
    let maker = |site: &Value| site["maker"].as_str().expect("a name").to_owned();
    let of = |method: &str| -> Vec<u64> {
        let start = format!("Uses.{method} (Uses.java:");
        let site = sites.iter().find(|site| maker(site).starts_with(&start));
        let site = site.unwrap_or_else(|| panic!("{method}: {document}"));
        let number = |name: &str| site[name].as_u64().expect("a number");
        ["bytes", "buffers", "seen"].map(number).to_vec()
    };
    assert_eq!(of("large"), [100_000_000, 250, 250]);
    assert_eq!(of("small"), [25_000_000, 250, 250]);
    let text = document["findings"][0]["text"].as_str().expect("a finding");
    assert!(
        text.contains("direct buffers: 125.0 MB in 500; 100.0 MB from Uses.large (Uses.java:"),
        "{text}"
    );
    fs::write(run.path("end"), "").expect("a file");
    assert!(run.wait().status.success());
}

on_every_jvm!(loaders_are_counted_by_their_class, and 17);

fn loaders_are_counted_by_their_class(jvm: &'static Jvm) {
    let run = Program::bare_java(jvm, &[])
        .program("memory", "Uses")
        .arg("classes")
        .start();
    run.wait_for_output("begun");
    fs::write(run.path("go"), "").expect("a file");
    run.wait_for_output("uses ");
    let document = look(&run);
    let kinds = document["loader_kinds"].as_array().expect("kinds");
    let kind = kinds.iter().find(|kind| kind["name"] == "Uses$Loader");
    let kind = kind.unwrap_or_else(|| panic!("{document}"));
    assert_eq!(
        (&kind["loaders"], &kind["classes"]),
        (&50.into(), &20_000.into())
    );
    // With those of the JDK they are all.
    let sum: u64 = kinds
        .iter()
        .filter_map(|kind| kind["classes"].as_u64())
        .sum();
    let all = document["classes"].as_u64().expect("a number");
    assert!(sum.abs_diff(all) < all / 20, "{sum} of {all}: {document}");
    fs::write(run.path("end"), "").expect("a file");
    assert!(run.wait().status.success());
}

#[test]
fn the_page_of_hprof_live_has_the_parts() {
    let run = Program::bare_java(any_jvm(), &[])
        .program("memory", "Uses")
        .arg("direct")
        .start();
    run.wait_for_output("begun");
    fs::write(run.path("go"), "").expect("a file");
    run.wait_for_output("uses ");
    let text = run.hprof_well("live", &["--once", "--for", "3s"]);
    let (_, page) = text.split_once("\nMemory: a look every ").expect("a page");
    for line in [
        " resident: Java heap ",
        "direct buffers: 125.0 MB in 500",
        "  D  direct buffers",
    ] {
        assert!(page.contains(line), "{line}: {text}");
    }
    fs::write(run.path("end"), "").expect("a file");
    assert!(run.wait().status.success());
}

#[test]
fn prometheus_gets_the_parts() {
    let run = Program::bare_java(any_jvm(), &[])
        .program("memory", "Uses")
        .arg("direct")
        .start();
    run.wait_for_output("begun");
    fs::write(run.path("go"), "").expect("a file");
    run.wait_for_output("uses ");
    let mut server = Command::new(crate::harness::cli())
        .args(["live", "--metrics", "0", "--agent"])
        .arg(crate::harness::agent())
        .arg(run.id().to_string())
        .stdout(Stdio::piped())
        .spawn()
        .expect("hprof");
    let mut out = BufReader::new(server.stdout.take().expect("a pipe"));
    let mut address = String::new();
    out.read_line(&mut address).expect("an address");
    let address = address.trim_end();
    let host = address
        .strip_prefix("http://")
        .and_then(|rest| rest.strip_suffix("/metrics"));
    let host = host.expect("an address").to_owned();
    let ask = || {
        let mut stream = TcpStream::connect(&host).expect("it listens");
        write!(stream, "GET /metrics HTTP/1.1\r\nHost: {host}\r\n\r\n").expect("it reads");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("an answer");
        text
    };
    run.wait_until(|| ask().contains("\nhprof_resident_bytes "));
    let text = ask();
    let value = |line: &str| -> f64 {
        let (_, value) = line.rsplit_once(' ').expect("a value");
        value.parse().expect("a number")
    };
    let parts = text
        .lines()
        .filter(|line| line.starts_with("hprof_memory_resident_bytes{"));
    let sum: f64 = parts.map(value).sum();
    let resident = text
        .lines()
        .find(|line| line.starts_with("hprof_resident_bytes "));
    assert_eq!(Some(sum), resident.map(value), "{text}");
    assert!(
        text.contains("{part=\"direct_buffers\"} 125000000\n"),
        "{text}"
    );
    // It ends with the program.
    fs::write(run.path("end"), "").expect("a file");
    assert!(run.wait().status.success());
    assert_eq!(server.wait().expect("it ends").code(), Some(1));
}

#[test]
fn growth_says_when_the_heap_is_full() {
    let options = "heap=sites,lifetimes=y,every=50ms,file=x.txt,timeout=15s,verbose=n";
    let run = Program::java(any_jvm(), options, &["-Xmx1g"])
        .program("memory", "Uses")
        .arg("ever")
        .start();
    run.wait_for_output("begun");
    fs::write(run.path("go"), "").expect("a file");
    run.wait_until(|| run.hprof_well("status", &[]).starts_with("no profile"));
    run.send("KILL");
    let run = run.wait();
    let file = run.path("x.txt");
    let output = Command::new(crate::harness::cli())
        .args(["growth", "--json"])
        .arg(&file)
        .output()
        .expect("hprof");
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_valid(&document);
    let outlook = &document["outlook"];
    let text = outlook["text"].as_str().expect("a sentence");
    assert!(
        text.starts_with("at this rate the heap is full in "),
        "{document}"
    );
    let number = |name: &str| outlook[name].as_f64().expect("a number");
    // It makes at most 5 MB a second, and on a busy machine less: what is right is the time for what is said to grow.
    let (least, most) = (
        number("least_bytes_per_minute"),
        number("most_bytes_per_minute"),
    );
    assert!(
        0.0 < least && least <= most && least < 310.0 * MB,
        "{document}"
    );
    let left = number("least_seconds") * most / 60.0;
    assert!((500.0 * MB..1_080.0 * MB).contains(&left), "{document}");
}

/// A group with a limit on memory that kills, which is removed on drop. Only root can make one, and not on each system.
struct Limited(PathBuf);

/// The files of a version of cgroups.
struct Files {
    root: &'static str,
    limit: &'static str,
    /// What holds back swapping, and its value; the file is not there if the system has no swap.
    swap: (&'static str, SwapLimit),
}

enum SwapLimit {
    /// Memory and swap are counted as one.
    Both,
    /// Swap is counted alone.
    None,
}

const VERSIONS: [Files; 2] = [
    Files {
        root: "/sys/fs/cgroup/memory",
        limit: "memory.limit_in_bytes",
        swap: ("memory.memsw.limit_in_bytes", SwapLimit::Both),
    },
    Files {
        root: "/sys/fs/cgroup",
        limit: "memory.max",
        swap: ("memory.swap.max", SwapLimit::None),
    },
];

impl Limited {
    /// Makes a group, and sees to it that a process which takes more is killed.
    ///
    /// # Errors
    /// What the system does not offer.
    fn new(bytes: u64) -> Result<Self, String> {
        // Where version 1 is mounted, the folder of version 2 has plain files.
        let is_there = |files: &&Files| Path::new(files.root).join("cgroup.procs").exists();
        let files = VERSIONS.iter().find(is_there);
        let files = files.ok_or("no cgroups are mounted in /sys/fs/cgroup")?;
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("hprof-test-{}-{number}", std::process::id());
        let group = Self(Path::new(files.root).join(name));
        fs::create_dir(&group.0).map_err(|error| format!("{}: {error}", group.0.display()))?;
        // Version 2 has no such file if the groups around it do not hand memory down.
        group.put(files.limit, bytes)?;
        let (swap, limit) = &files.swap;
        if group.0.join(swap).exists() {
            group.put(
                swap,
                match limit {
                    SwapLimit::Both => bytes,
                    SwapLimit::None => 0,
                },
            )?;
        }
        group.kills(bytes)?;
        Ok(group)
    }

    fn put(&self, name: &str, value: u64) -> Result<(), String> {
        let path = self.0.join(name);
        let file = OpenOptions::new().write(true).open(&path);
        let written = file.and_then(|mut file| write!(file, "{value}"));
        written.map_err(|error| format!("{}: {error}", path.display()))
    }

    /// Returns the command of a shell that puts itself into the group.
    fn enter(&self) -> String {
        format!("echo $$ > {}/cgroup.procs || exit", self.0.display())
    }

    fn kills(&self, limit: u64) -> Result<(), String> {
        // `tail` keeps a line as long as it does not end.
        let takes_more = format!("exec tail -n 1 < <(head -c {} /dev/zero)", limit * 2);
        let output = Command::new("bash")
            .args(["-c", &format!("{}\n{takes_more}", self.enter())])
            .stdout(Stdio::null())
            .output()
            .map_err(|error| format!("bash: {error}"))?;
        match output.status.signal() {
            Some(9) => Ok(()),
            _ => Err(format!(
                "a process that takes twice the limit ends with {}: {}",
                output.status,
                String::from_utf8_lossy(&output.stderr)
            )),
        }
    }

    /// Returns what the group's files say, for a test that has failed.
    fn state(&self) -> String {
        let files = fs::read_dir(&self.0).into_iter().flatten().flatten();
        let files = files.filter_map(|file| {
            let name = file.file_name().into_string().ok()?;
            let text = fs::read_to_string(file.path()).ok()?;
            name.starts_with("memory.")
                .then(|| format!("{name}: {text}"))
        });
        files.collect()
    }
}

impl Drop for Limited {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

on_every_jvm!(a_limit_that_kills_leaves_the_culprit, and 17);

fn a_limit_that_kills_leaves_the_culprit(jvm: &'static Jvm) {
    let group = match Limited::new(400 << 20) {
        Ok(group) => group,
        Err(missing) => {
            skip(&format!("a cgroup with a limit that kills: {missing}"));
            return;
        }
    };
    let options = "heap=sites,blackbox=y,file=x.txt,verbose=n";
    let vm_options = ["-Xmx1g", "-XX:MaxDirectMemorySize=4g"];
    let run = Program::java(jvm, options, &vm_options)
        .program("memory", "Uses")
        .arg("ever")
        .after(&group.enter())
        .start();
    run.wait_for_output("begun");
    fs::write(run.path("go"), "").expect("a file");
    let run = run.wait();
    let (is_well, _, said) = run.hprof("autopsy", "x.txt.blackbox");
    let all = format!(
        "JDK {}: {}\nstdout: {}\nstderr: {}\nautopsy: {said}\n{}",
        jvm.feature,
        run.status,
        run.stdout,
        run.stderr,
        group.state()
    );
    assert_eq!(run.signal(), Some(9), "{all}");
    assert!(is_well, "{all}");
    let lines: Vec<&str> = said.lines().collect();
    assert!(
        lines[0].contains(" of a limit of 419.4 MB: Java heap "),
        "{all}"
    );
    let culprit = lines
        .iter()
        .find(|line| line.starts_with("hprof: - direct buffers: "));
    assert!(
        culprit.is_some_and(|line| line.contains(" from Uses.large (Uses.java:")),
        "{all}"
    );
    // Serial leaves one of its spaces out of it.
    let heap = lines
        .iter()
        .find(|line| line.starts_with("hprof: - the largest Java heap (1."));
    let heap = heap.filter(|line| line.ends_with(", -Xmx) is larger than the limit of 419.4 MB"));
    assert!(heap.is_some(), "{all}");
    // What is wrong comes before how the process has grown.
    let [.., course, age] = lines[..] else {
        panic!("{all}");
    };
    assert!(course.starts_with("hprof: in the last "), "{all}");
    assert!(age.contains("the profile as of "), "{all}");
}

on_every_jvm!(what_the_vm_tracks_is_what_jcmd_says);

fn what_the_vm_tracks_is_what_jcmd_says(jvm: &'static Jvm) {
    let options = ["-Xmx512m", "-XX:NativeMemoryTracking=summary"];
    let run = Program::bare_java(jvm, &options)
        .program("memory", "Uses")
        .arg("direct")
        .start();
    run.wait_for_output("begun");
    fs::write(run.path("go"), "").expect("a file");
    run.wait_for_output("uses ");
    let document = look(&run);
    let report = run.jcmd("VM.native_memory summary scale=B");
    let kinds = document["tracked"].as_array().expect("kinds");
    for name in ["GC", "Code", "Symbol", "Other"] {
        // `-   GC (reserved=57199KB, committed=52639KB)`
        let start = format!(" {name} (reserved=");
        let committed = report.split_once(&start).and_then(|(_, rest)| {
            let (_, committed) = rest.split_once("committed=")?;
            committed.split_once(['B', ')'])?.0.parse::<f64>().ok()
        });
        let committed = committed.unwrap_or_else(|| panic!("{name}: {report}"));
        let kind = kinds.iter().find(|kind| kind["name"] == name);
        let kind = kind.unwrap_or_else(|| panic!("{name}: {document}"));
        let number = |value: &str| kind[value].as_f64().expect("a number");
        let bytes = number("malloc") + number("mapped");
        assert!(
            (bytes - committed).abs() < committed * SHARE,
            "{name}: {bytes} of {committed}: {document}"
        );
    }
    let text = run.hprof_well("memory", &[]);
    for line in [
        "the VM itself without the Java heap (NativeMemoryTracking): ",
        "  Other: 125.0 MB by malloc, 0 B mapped",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    fs::write(run.path("end"), "").expect("a file");
    assert!(run.wait().status.success());
}

#[test]
fn nothing_is_said_of_tracking_that_is_off() {
    let run = Program::bare_java(any_jvm(), &[])
        .program("memory", "Uses")
        .arg("direct")
        .start();
    run.wait_for_output("begun");
    assert_eq!(look(&run)["tracked"], serde_json::json!([]));
    assert!(!run.hprof_well("memory", &[]).contains("the VM itself"));
    fs::write(run.path("go"), "").expect("a file");
    fs::write(run.path("end"), "").expect("a file");
    assert!(run.wait().status.success());
}
