//! `dumper=fork`: the walk in a forked child.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use hprof_format::Value;

use super::heap::{Dump, File};
use super::{DUMP, dump, program};
use crate::cells::Cell;
use crate::harness::{Jvm, Program, Running, any_jvm, c_library};

const CHILD: &str =
    "Java heap (by JVMTI in a forked child: asked for; the program stood still for ";

fn options() -> String {
    format!("{DUMP},dumper=fork,doe=n")
}

/// Returns the children of the program's process, zombies among them.
fn children(run: &Running) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{}/task", run.id())).expect("threads");
    let of_thread = |task: fs::DirEntry| {
        let children = fs::read_to_string(task.path().join("children"));
        // The thread may have ended.
        let children = children.unwrap_or_default();
        let children = children.split_ascii_whitespace();
        children
            .map(|child| child.parse().expect("a number"))
            .collect()
    };
    let tasks = tasks.map(|task| task.expect("a thread"));
    let children: Vec<Vec<u32>> = tasks.map(of_thread).collect();
    children.concat()
}

on_paired_cells!(a_program_goes_on_while_its_child_dumps, row 4);

fn a_program_goes_on_while_its_child_dumps(cell: &Cell) {
    let is_shared = cell.vm_options().contains(&"-XX:+UseZGC");
    let run = program(cell.jvm, &options(), &cell.vm_options(), "Graph").start();
    run.wait_for_output("ready");
    for number in 1..=3 {
        dump(&run, number);
        assert_eq!(
            children(&run),
            [0; 0],
            "{cell}: a child that nobody waits for"
        );
    }
    fs::write(run.path("go"), "").expect("a file");
    let run = run.wait();
    assert!(
        run.status.success() && run.stdout.ends_with("done\n"),
        "{}",
        run.stderr
    );
    let (said, reason) = match is_shared {
        false => (CHILD, ""),
        true => ("Java heap (by the VM's dumper: no fork: ", "shared"),
    };
    assert_eq!(
        run.stderr.matches(said).count(),
        3,
        "{cell}: {}",
        run.stderr
    );
    assert!(run.stderr.contains(reason), "{cell}: {}", run.stderr);
    let (sound, _, fault) = run.hprof("check", "x.hprof");
    assert!(sound, "{cell}: {fault}");
    let file = File::read(&run.path("x.hprof"));
    assert_eq!(file.dumps.len(), 3, "{cell}");
    for dump in &file.dumps {
        assert_eq!(dump.instances("Graph$GrandChild").len(), 1, "{cell}");
        let (objects, _) = dump.totals.expect("HEAP SUMMARY");
        assert_eq!(objects as usize, dump.objects.len(), "{cell}");
    }
}

on_every_jvm!(a_child_that_is_killed_leaves_the_dump_to_the_program, and 17);

fn a_child_that_is_killed_leaves_the_dump_to_the_program(jvm: &Jvm) {
    let run = program(jvm, &options(), &["-XX:+UseSerialGC"], "Shapes").start();
    run.wait_for_output("ready");
    run.send("QUIT");
    run.wait_until(|| match children(&run).first() {
        Some(child) => {
            let mut kill = std::process::Command::new("kill");
            kill.args(["-s", "KILL", &child.to_string()]);
            kill.status().expect("kill").success()
        }
        // It may have been faster.
        None => run.stderr().contains(" done.\n"),
    });
    run.wait_until(|| run.stderr().contains(" done.\n"));
    assert_eq!(children(&run), [0; 0]);
    fs::write(run.path("go"), "").expect("a file");
    let run = run.wait();
    assert!(run.status.success(), "{}", run.stderr);
    let instead = "Java heap (by the VM's dumper: the forked child failed: signal 9 ended it; ";
    let is_instead = run.stderr.contains(instead);
    assert!(is_instead || run.stderr.contains(CHILD), "{}", run.stderr);
    let file = File::read(&run.path("x.hprof"));
    assert_eq!(file.dumps.len(), 1);
    assert_eq!(file.dumps[0].instances("Shapes$Node").len(), 20_000);
    let (sound, _, fault) = run.hprof("check", "x.hprof");
    assert!(sound, "{fault}");
}

#[test]
fn a_program_that_ignores_the_end_of_children_gets_its_dump() {
    let run = program(any_jvm(), &options(), &["-XX:+UseSerialGC"], "Graph");
    let run = run.after("trap '' CHLD").start();
    run.wait_for_output("ready");
    dump(&run, 1);
    assert_eq!(children(&run), [0; 0]);
    fs::write(run.path("go"), "").expect("a file");
    let run = run.wait();
    assert!(run.status.success(), "{}", run.stderr);
    assert!(run.stderr.contains(CHILD), "{}", run.stderr);
}

on_paired_cells!(a_dump_of_a_program_that_changes_is_of_one_moment, row 1);

fn a_dump_of_a_program_that_changes_is_of_one_moment(cell: &Cell) {
    let vm_options = [&["-Xmx128m"], &cell.vm_options()[..]].concat();
    let run = program(cell.jvm, &options(), &vm_options, "Invariants");
    let run = run.args(["collect", "short"]).start();
    run.wait_for_output("ready");
    for number in 1..=2 {
        dump(&run, number);
    }
    fs::write(run.path("go"), "").expect("a file");
    let run = run.wait();
    assert!(run.status.success(), "{cell}: {}", run.stderr);
    assert!(run.stdout.ends_with("done\n"), "{cell}");
    let file = File::read(&run.path("x.hprof"));
    assert_eq!(file.dumps.len(), 2, "{cell}");
    for dump in &file.dumps {
        let counters = dump.instances("Invariants$Counter");
        assert_eq!(counters.len(), 2, "{cell}");
        for counter in counters {
            assert_is_of_one_moment(dump, counter, cell);
        }
    }
}

on_every_jvm!(a_program_that_loads_classes_is_dumped_by_a_child on 17 and 27);

fn a_program_that_loads_classes_is_dumped_by_a_child(jvm: &Jvm) {
    let run = program(jvm, &options(), &["-Xmx128m"], "Invariants");
    let run = run.args(["classes"]).start();
    run.wait_for_output("ready");
    // Each dump may be tried six times, and on a busy machine a class may be loaded during each of them.
    let mut dumps = 0;
    while dumps < 3 || dumps < 30 && !run.stderr().contains(CHILD) {
        dumps += 1;
        dump(&run, dumps);
    }
    fs::write(run.path("go"), "").expect("a file");
    let run = run.wait();
    assert!(run.status.success(), "{}", run.stderr);
    assert!(run.stderr.contains(CHILD), "{}", run.stderr);
    assert_eq!(File::read(&run.path("x.hprof")).dumps.len(), dumps);
}

/// Asserts what `Invariants` says of its counters.
fn assert_is_of_one_moment(dump: &Dump, counter: u64, cell: &Cell) {
    let reference = |name| dump.reference(counter, "Invariants$Counter", name);
    let long = |object, class: &str, name| match dump.field(object, class, name) {
        Value::Long(number) => number,
        other => panic!("{cell}: {other:?}"),
    };
    let version = reference("version");
    let twice = 2 * long(version, "Invariants$Version", "number");
    assert_eq!(long(version, "Invariants$Version", "twice"), twice);
    let copies = dump.reference(version, "Invariants$Version", "copies");
    assert_eq!(dump.primitives(copies), [Value::Long(twice); 5], "{cell}");

    let mut link = reference("head");
    let mut numbers = vec![twice / 2, long(link, "Invariants$Link", "number")];
    let slots = dump.elements(reference("slots")).iter();
    numbers.extend(slots.map(|&slot| long(slot, "Invariants$Slot", "number")));
    assert!(
        numbers.is_sorted_by(|one, next| one >= next),
        "{cell}: {numbers:?}"
    );
    assert!(
        numbers[0] - numbers[numbers.len() - 1] <= 1,
        "{cell}: {numbers:?}"
    );

    let mut links = 1;
    loop {
        let next = dump.reference(link, "Invariants$Link", "next");
        if next == 0 {
            break;
        }
        let number = |link| long(link, "Invariants$Link", "number");
        assert_eq!(number(next), number(link) - 1, "{cell}");
        (link, links) = (next, links + 1);
    }
    assert!((500..=1501).contains(&links), "{cell}: {links} links");
}

#[test]
fn a_program_that_is_killed_takes_its_child_along() {
    let run = program(any_jvm(), &options(), &["-XX:+UseSerialGC"], "Shapes").start();
    run.wait_for_output("ready");
    run.send("QUIT");
    run.wait_until(|| !children(&run).is_empty() || run.stderr().contains(" done.\n"));
    let children = children(&run);
    run.send("KILL");
    let run = run.wait();
    for child in children {
        let is_there = || fs::exists(format!("/proc/{child}/exe")).unwrap_or(false);
        let end = Instant::now() + Duration::from_secs(60);
        while is_there() {
            assert!(Instant::now() < end, "{child} is left");
            thread::sleep(Duration::from_millis(1));
        }
    }
    let (_, found, _) = run.hprof("text", "x.hprof");
    let of = |line: &str| {
        found
            .lines()
            .filter(|found| found.starts_with(line))
            .count()
    };
    assert!(of("HEAP DUMP END") <= 1, "{found}");
}

/// Returns the line about the only dump of a program that is prepared by `prepare`.
fn said_of_dump(vm_options: &[&str], prepare: impl FnOnce(Program) -> Program) -> String {
    let run = program(any_jvm(), &options(), vm_options, "Graph");
    let run = prepare(run).start();
    run.wait_for_output("ready");
    dump(&run, 1);
    fs::write(run.path("go"), "").expect("a file");
    let run = run.wait();
    assert!(run.status.success(), "{}", run.stderr);
    assert_eq!(File::read(&run.path("x.hprof")).dumps.len(), 1);
    let mut lines = run.stderr.lines();
    let line = lines.find(|line| line.starts_with("Java heap ("));
    line.unwrap_or_else(|| panic!("{}", run.stderr)).to_owned()
}

#[test]
fn a_process_that_cannot_fork_dumps_by_itself() {
    let Some(library) = c_library("java-tests/dump/no_fork.c") else {
        return;
    };
    let library = library.display().to_string();
    let said = said_of_dump(&[], |run| run.env("LD_PRELOAD", &library));
    let expected = "Java heap (by the VM's dumper: no fork: the process cannot be forked: Resource temporarily unavailable";
    assert!(said.starts_with(expected), "{said}");
}

#[test]
fn a_heap_in_a_file_is_not_forked() {
    let folder = tempfile::tempdir().expect("a folder");
    let option = format!("-XX:AllocateHeapAt={}", folder.path().display());
    let said = said_of_dump(&[&option, "-Xmx64m"], |run| run);
    let expected = "Java heap (by the VM's dumper: no fork: the heap is mapped shared; ";
    assert!(said.starts_with(expected), "{said}");
}
