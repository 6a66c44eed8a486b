//! `dumper=fork`: the walk in a forked child.

use std::fs;

use super::heap::File;
use super::{DUMP, dump, program};
use crate::cells::Cell;
use crate::harness::{Jvm, Running, any_jvm};

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
