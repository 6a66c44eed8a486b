//! `oom=`: the file that is written when a program runs out of memory. The programs are in `java-tests/oom`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use rustix::process::{Pid, Resource, Rlimit, prlimit};

use crate::cells::Cell;
use crate::harness::{Finished, Jvm, Program, Running, any_jvm, cli, skip};
use crate::heap::heap_graph::heap;
use crate::heap::sites::count;
use crate::profile::Profile;

const FILE: &str = "x.oom-1.hprof";

/// A program of `java-tests/oom` with the agent and a heap of 64 MB.
fn program(jvm: &Jvm, options: &str, vm_options: &[&str], name: &str) -> Program {
    let options = format!("{options},file=x.txt,verbose=n");
    let mut all = vm_options.to_vec();
    all.push("-Xmx64m");
    Program::java(jvm, &options, &all).program("oom", name)
}

/// Returns the profile in the file that was written when memory ran out, which must be whole and private.
fn exhausted(run: &Finished, file: &str) -> Profile {
    let mode = fs::metadata(run.path(file))
        .expect("the file")
        .permissions();
    assert_eq!(mode.mode() & 0o777, 0o600);
    Profile::parse(&run.checked_text(file))
}

/// Asserts that the file, which has a heap dump, is whole.
fn is_whole(run: &Finished, what: &str) {
    let (is_whole, _, fault) = run.hprof("check", FILE);
    assert!(is_whole, "{what}: {fault}");
}

/// Asserts that the head names the limit, the thread and the failed request of `Leak`.
fn names_the_request(profile: &Profile, limit: &str, thread: &str, what: &str) {
    let fact = |label: &str| profile.head[label].clone();
    assert!(
        fact("Exhausted").starts_with(limit),
        "{what}: {}",
        fact("Exhausted")
    );
    assert!(
        fact("Thread").starts_with(thread),
        "{what}: {}",
        fact("Thread")
    );
    assert!(
        fact("Stack").contains("Leak.fill(Leak.java:"),
        "{what}: {}",
        fact("Stack")
    );
    assert!(
        fact("Heap").ends_with(" bytes in use"),
        "{what}: {}",
        fact("Heap")
    );
}

/// Asserts that the sites say that most of the heap was made by `Leak.order`.
fn blames_the_leak(profile: &Profile, cell: &Cell, what: &str) {
    let of_heap: u64 = match (cell.jvm.feature, cell.collector) {
        // JDK 11's Z keeps 36 of the 64 MB for itself.
        (11, "Z") => 25 << 20,
        _ => 40 << 20,
    };
    let arrays = count(profile, profile.one_sites(), "byte[]", "Leak$Order.<init>");
    let orders = count(profile, profile.one_sites(), "Leak$Order", "Leak.order");
    assert!(arrays.live * 20_000 > of_heap, "{what}: {arrays:?}");
    assert!(
        arrays.live.abs_diff(orders.live) <= 60,
        "{what}: {arrays:?}, {orders:?}"
    );
}

/// Asserts what `hprof heap leaks` says: the request that failed on its first line, the leak, and who made it.
fn leaks_name_it(path: &Path, thread: &str, what: &str) {
    let answer = heap(&["leaks"], path);
    let first = answer.lines().next().expect("a line");
    let begin = "Out of memory: Java heap space: the Java heap is full (";
    assert!(first.starts_with(begin), "{what}: {first}");
    let place = format!("in thread \"{thread}");
    assert!(first.contains(&place), "{what}: {first}");
    assert!(first.contains(" at Leak"), "{what}: {first}");
    let suspect = answer.split("Suspect 1: ").nth(1).expect("a suspect");
    let suspect = suspect.split("Suspect 2: ").next().expect("its part");
    assert!(suspect.contains(" Leak$Order\n"), "{what}: {answer}");
    assert!(
        suspect.contains("at Leak.order(Leak.java:"),
        "{what}: {answer}"
    );
}

on_paired_cells!(a_leak_is_named_when_the_program_dies_of_it, row 8);

fn a_leak_is_named_when_the_program_dies_of_it(cell: &Cell) {
    let run = program(cell.jvm, "heap=sites", &cell.vm_options(), "Leak")
        .arg("die")
        .run();
    let what = cell.to_string();
    assert_eq!(run.status.code(), Some(1), "{what}: {}", run.stderr);
    assert_eq!(run.files(), [FILE, "x.txt"], "{what}: {}", run.stderr);
    let profile = exhausted(&run, FILE);
    names_the_request(
        &profile,
        "Java heap space: the Java heap is full",
        "main",
        &what,
    );
    assert_eq!(profile.head["Collector"], cell.collector);
    let memory = &profile.head["Memory"];
    assert!(
        memory.contains(" bytes resident: ") && memory.contains("Java heap "),
        "{what}: {memory}"
    );
    blames_the_leak(&profile, cell, &what);
    let told = "in thread \"main\": the allocation sites are in ";
    assert!(run.stderr.contains(told), "{what}: {}", run.stderr);
}

on_paired_cells!(a_full_heap_is_dumped_and_the_program_goes_on, row 9);

fn a_full_heap_is_dumped_and_the_program_goes_on(cell: &Cell) {
    let run = program(cell.jvm, "heap=sites,oom=dump", &cell.vm_options(), "Leak")
        .arg("catch")
        .run_well();
    let what = cell.to_string();
    assert!(run.stdout.ends_with("went on\n"), "{what}: {}", run.stdout);
    assert_eq!(run.files(), [FILE, "x.txt"], "{what}");
    is_whole(&run, &what);
    leaks_name_it(&run.path(FILE), "main", &what);
    // The profile continues, and knows that all of it is garbage by now.
    if cell.ends_with_a_gc() {
        let end = Profile::parse(&run.read("x.txt"));
        let arrays = count(&end, end.one_sites(), "byte[]", "Leak$Order.<init>");
        assert_eq!(arrays.live, 0, "{what}: {arrays:?}");
    }
}

on_paired_cells!(threads_that_run_out_together_all_go_on, row 0);

fn threads_that_run_out_together_all_go_on(cell: &Cell) {
    let run = program(cell.jvm, "heap=sites,oom=dump", &cell.vm_options(), "Leak")
        .args(["threads", "50"])
        .run_well();
    let what = cell.to_string();
    assert!(run.stdout.contains("ended 50\n"), "{what}: {}", run.stdout);
    assert_eq!(run.files(), [FILE, "x.txt"], "{what}");
    is_whole(&run, &what);
    let answer = heap(&["leaks"], &run.path(FILE));
    assert!(answer.contains("in thread \"filler-"), "{what}: {answer}");
}

on_paired_cells!(errors_in_a_row_leave_as_many_files_as_wanted, row 1);

fn errors_in_a_row_leave_as_many_files_as_wanted(cell: &Cell) {
    let rows = [
        ("", 40, vec![FILE]),
        (",oom_count=2", 20, vec![FILE, "x.oom-2.hprof"]),
    ];
    for (option, errors, files) in rows {
        let options = format!("heap=sites{option}");
        let run = program(cell.jvm, &options, &cell.vm_options(), "Leak")
            .args(["again", &errors.to_string()])
            .run_well();
        assert!(run.stdout.ends_with("went on\n"), "{cell}: {}", run.stdout);
        let mut expected = files.clone();
        expected.push("x.txt");
        assert_eq!(run.files(), expected, "{cell}");
        for file in files {
            let profile = exhausted(&run, file);
            names_the_request(&profile, "Java heap space", "main", &cell.to_string());
        }
        let tally = Profile::parse(&run.read("x.txt"));
        let arrays = count(&tally, tally.one_sites(), "byte[]", "Leak$Order.<init>");
        assert!(
            arrays.allocated > errors * 100,
            "{cell}: all were counted: {arrays:?}"
        );
    }
}

on_every_jvm!(virtual_threads_run_out_as_others_do from 21, and 28);

fn virtual_threads_run_out_as_others_do(jvm: &Jvm) {
    let run = program(jvm, "heap=sites,oom=dump", &[], "LeakVirtual21").run_well();
    assert!(run.stdout.contains("ended 4\n"), "{}", run.stdout);
    is_whole(&run, &jvm.feature.to_string());
    let answer = heap(&["leaks"], &run.path(FILE));
    assert!(answer.contains("in thread \"virtual-"), "{answer}");
    assert!(answer.contains("called by LeakVirtual21.fill("), "{answer}");
    assert!(answer.contains("at LeakVirtual21.page("), "{answer}");
}

on_every_jvm!(an_agent_that_was_attached_writes_the_file_too, and 25);

fn an_agent_that_was_attached_writes_the_file_too(jvm: &Jvm) {
    let run = Program::bare_java(jvm, &["-Xmx64m"])
        .program("oom", "Leak")
        .arg("wait")
        .start();
    run.wait_for_output("ready");
    run.hprof_well("attach", &["heap=sites,oom=dump,verbose=n,file=x.txt"]);
    fs::write(run.path("go"), "").expect("a file");
    let run = run.wait();
    assert!(run.status.success(), "{}", run.stderr);
    let what = jvm.feature.to_string();
    is_whole(&run, &what);
    leaks_name_it(&run.path(FILE), "main", &what);
}

on_every_jvm!(what_is_not_the_heap_is_named_and_not_dumped, and 26);

fn what_is_not_the_heap_is_named_and_not_dumped(jvm: &Jvm) {
    let cases = [
        (
            "Leak",
            "array",
            "Requested array size exceeds VM limit: ",
            "Leak.large(",
        ),
        (
            "Leak",
            "large",
            "Java heap space: one object is larger than ",
            "Leak.large(",
        ),
        ("Limits", "metaspace", "Metaspace: ", "Limits.classes("),
    ];
    for (name, way, limit, place) in cases {
        let vm_options = ["-XX:MaxMetaspaceSize=24m"];
        let run = program(jvm, "heap=all", &vm_options, name)
            .arg(way)
            .run_well();
        let what = format!("{} {way}", jvm.feature);
        assert!(run.stdout.ends_with("went on\n"), "{what}: {}", run.stdout);
        let profile = exhausted(&run, FILE);
        let limit_told = &profile.head["Exhausted"];
        assert!(limit_told.starts_with(limit), "{what}: {limit_told}");
        let stack = &profile.head["Stack"];
        assert!(stack.contains(place), "{what}: {stack}");
        let (_, text, _) = run.hprof("text", FILE);
        assert!(!text.contains("HEAP DUMP BEGIN"), "{what}");
        let output = Command::new(cli())
            .args(["heap", "leaks"])
            .arg(run.path(FILE))
            .output()
            .expect("hprof");
        assert_eq!(output.status.code(), Some(1), "{what}");
        let told = String::from_utf8(output.stdout).expect("UTF-8");
        assert!(
            told.starts_with(&format!("Out of memory: {limit}")),
            "{what}: {told}"
        );
    }
}

on_every_jvm!(a_lack_of_threads_is_named_without_a_further_thread, and 17);

/// The limit on processes is a user's, and root has none: the memory for the stacks of threads is limited instead.
fn a_lack_of_threads_is_named_without_a_further_thread(jvm: &Jvm) {
    let vm_options = ["-Xss256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"];
    let run = program(jvm, "heap=sites", &vm_options, "Limits")
        .arg("threads")
        .after("ulimit -v 12000000")
        .run();
    if !run.stdout.contains("went on") {
        skip(&format!(
            "the lack of threads on JVM {}: {} {}",
            jvm.feature, run.stdout, run.stderr
        ));
        return;
    }
    let profile = exhausted(&run, FILE);
    let limit = &profile.head["Exhausted"];
    assert!(
        limit.ends_with(": the system gives no further thread"),
        "{limit}"
    );
    let stack = &profile.head["Stack"];
    assert!(stack.contains("Limits.threads("), "{stack}");
}

on_every_jvm!(the_vms_own_ways_go_together_with_it, and 28);

fn the_vms_own_ways_go_together_with_it(jvm: &Jvm) {
    let vm_options = [
        "-XX:+HeapDumpOnOutOfMemoryError",
        "-XX:HeapDumpPath=vm.hprof",
        "-XX:OnOutOfMemoryError=touch noticed",
    ];
    let run = program(jvm, "heap=sites,oom=dump", &vm_options, "Leak")
        .arg("catch")
        .run_well();
    let files = ["noticed", "vm.hprof", FILE, "x.txt"];
    assert_eq!(run.files(), files, "{}", run.stderr);
    leaks_name_it(&run.path(FILE), "main", &jvm.feature.to_string());
    for flag in ["ExitOnOutOfMemoryError", "CrashOnOutOfMemoryError"] {
        let flag_on = format!("-XX:+{flag}");
        let run = program(jvm, "heap=sites", &[&flag_on], "Leak")
            .arg("array")
            .run();
        let told = format!("hprof: -XX:+{flag} ends the VM before oom= can write a file");
        assert_eq!(run.stderr.matches(&told).count(), 1, "{}", run.stderr);
        assert!(!run.path(FILE).exists());
        assert!(!run.status.success());
    }
}

on_every_jvm!(a_dump_has_memory_that_was_set_aside, and 25);

/// The limit is set when the VM is up, and leaves less than a dump of so many objects takes: the VM's tags alone are 76
/// bytes for each of about 540,000.
fn a_dump_has_memory_that_was_set_aside(jvm: &Jvm) {
    let options = "heap=dump,oom=dump,doe=n";
    let run = program(jvm, options, &["-XX:+UseSerialGC"], "Leak")
        .args(["wait", "200"])
        .start();
    run.wait_for_output("ready");
    limit_address_space(&run, 16 << 20);
    fs::write(run.path("go"), "").expect("a file");
    let run = run.wait();
    let what = format!("{}: {}", jvm.feature, run.stderr);
    assert!(run.status.success(), "{what}{}", run.stdout);
    assert!(run.stdout.ends_with("went on\n"), "{what}{}", run.stdout);
    is_whole(&run, &what);
    let told = "the allocation sites and the heap are in ";
    assert!(run.stderr.contains(told), "{what}");
    let answer = heap(&["histogram"], &run.path(FILE));
    assert!(answer.contains("Leak$Order"), "{what}{answer}");
}

/// Limits the address space of a running program to so many bytes more than it has.
fn limit_address_space(run: &Running, more: u64) {
    let pages = fs::read_to_string(format!("/proc/{}/statm", run.id())).expect("it runs");
    let pages = pages.split(' ').next().and_then(|size| size.parse().ok());
    let bytes: u64 = pages.map(|pages: u64| pages * 4096).expect("a number");
    let pid = i32::try_from(run.id()).ok().and_then(Pid::from_raw);
    let limit = Rlimit {
        current: Some(bytes + more),
        maximum: Some(bytes + more),
    };
    prlimit(pid, Resource::As, limit).expect("it is ours");
}

on_every_jvm!(a_file_of_another_kind_stays on 17 and 27);

fn a_file_of_another_kind_stays(jvm: &Jvm) {
    let start = || program(jvm, "heap=sites", &[], "Leak").arg("array");
    let other = start();
    let path = other.folder().join(FILE);
    fs::write(&path, "mine").expect("a file");
    let run = other.run_well();
    assert_eq!(run.read(FILE), "mine");
    let files = run.files();
    assert_eq!(files.len(), 3, "{files:?}");
    let numbered = files.iter().find(|file| file.starts_with("x.oom-1."));
    exhausted(&run, numbered.expect("a file with a number"));
    // An older file of the same kind is replaced.
    let again = start();
    let path = again.folder().join(FILE);
    fs::write(&path, "JAVA PROFILE 1.0.2\0").expect("a file");
    let run = again.run_well();
    assert_eq!(run.files(), [FILE, "x.txt"]);
    exhausted(&run, FILE);
}

on_every_jvm!(nothing_is_written_where_it_is_not_wanted on 17 and 27);

fn nothing_is_written_where_it_is_not_wanted(jvm: &Jvm) {
    for options in ["heap=sites,oom=n", "cpu=samples"] {
        let run = program(jvm, options, &[], "Leak").arg("array").run_well();
        assert_eq!(run.files(), ["x.txt"], "{options}");
        assert_eq!(run.stdout, "went on\n", "{options}");
        assert_eq!(run.stderr, "", "{options}");
    }
}

#[test]
fn a_full_heap_is_dumped_without_its_content() {
    let secret = "Zq7xK2vW";
    let vm_options = ["-XX:+UseSerialGC", &format!("-Dkey={secret}")];
    let options = "heap=sites,oom=dump";
    let dump = |options: &str| {
        let run = program(any_jvm(), options, &vm_options, "Leak");
        let run = run.arg("catch").run_well();
        is_whole(&run, options);
        leaks_name_it(&run.path(FILE), "main", options);
        fs::read(run.path(FILE)).expect("the file")
    };
    let has_secret = |dump: &[u8]| dump.windows(secret.len()).any(|at| at == secret.as_bytes());
    assert!(has_secret(&dump(options)));
    assert!(!has_secret(&dump(&format!("{options},redact=y"))));
}
