//! Dumps on request and at the end, in one file.

use std::fs;

use hprof_format::Root;

use super::heap::File;
use super::{DUMP, dump, program, read};
use crate::harness::{Jvm, any_jvm};

on_every_jvm!(each_request_adds_a_whole_dump_and_the_end_another, and 26);

fn each_request_adds_a_whole_dump_and_the_end_another(jvm: &Jvm) {
    let options = "heap=all,format=b,file=x.hprof,logflags=4";
    let run = program(jvm, options, &["-XX:+UseG1GC"], "Graph").start();
    run.wait_for_output("ready");
    dump(&run, 1);
    dump(&run, 2);
    fs::write(run.path("go"), "").expect("a file");
    let run = run.wait();
    assert!(run.stdout.ends_with("done\n"), "{}", run.stderr);
    let file = read(&run);
    assert_eq!((file.dumps.len(), file.sites), (3, 3), "{}", jvm.feature);
    let one = [
        "HEAP SUMMARY",
        "HEAP DUMP SEGMENT",
        "HEAP DUMP END",
        "HEAP SUMMARY",
        "ALLOC SITES",
    ];
    assert_eq!(
        file.order,
        one.repeat(3),
        "as the original: the heap, then the sites"
    );
    for dump in &file.dumps {
        assert_eq!(dump.instances("Graph$GrandChild").len(), 1);
        let (objects, _) = dump.totals.expect("HEAP SUMMARY");
        assert_eq!(objects as usize, dump.objects.len());
    }
    let (sound, _, fault) = run.hprof("check", "x.hprof");
    assert!(sound, "{fault}");
    assert!(run.read("java.hprof.check.txt").contains("HEAP DUMP END"));
    let said = "Java heap (by the VM's dumper: the fastest; the program stood still for ";
    assert_eq!(run.stderr.matches(said).count(), 3, "{}", run.stderr);
}

#[test]
fn a_dump_alone_has_no_sites_but_traces() {
    let run = program(any_jvm(), DUMP, &[], "Traces").arg("10").run_well();
    let file = read(&run);
    assert_eq!((file.sites, file.dumps.len()), (0, 1));
    assert!(file.traces.len() > 8);
}

on_every_jvm!(threads_that_come_and_go_do_not_get_into_a_dump, and 17);

fn threads_that_come_and_go_do_not_get_into_a_dump(jvm: &Jvm) {
    let run = program(jvm, DUMP, &[], "Starting").start();
    run.wait_for_output("ready");
    dump(&run, 1);
    dump(&run, 2);
    fs::write(run.path("go"), "").expect("a file");
    let run = run.wait();
    assert!(run.stdout.ends_with("done\n"), "{}", run.stderr);
    // The reader fails if a thread starts or ends inside a dump.
    let file = read(&run);
    assert_eq!(file.dumps.len(), 3);
    let (sound, _, fault) = run.hprof("check", "x.hprof");
    assert!(sound, "{fault}");
}

/// Returns the stacks of the program's threads, by their names.
fn stacks(file: &File) -> Vec<(&str, &[String])> {
    let threads = file.dumps[0].roots.iter();
    let stack = |&(_, root): &(u64, Root)| match root {
        Root::Thread { thread, trace } if thread.0 != 200_000 => {
            Some((&*file.threads[&thread.0], file.frames(trace.0)))
        }
        _ => None,
    };
    threads.filter_map(stack).collect()
}

on_every_jvm!(stacks_of_threads_are_whole_whatever_the_depth, and 28);

fn stacks_of_threads_are_whole_whatever_the_depth(jvm: &Jvm) {
    let options = format!("{DUMP},depth=1");
    let run = program(jvm, &options, &[], "Graph").start();
    run.wait_for_output("ready");
    dump(&run, 1);
    run.send("TERM");
    let file = read(&run.wait());
    let stacks = stacks(&file);
    let (_, main) = stacks
        .iter()
        .find(|(name, _)| *name == "main")
        .expect("main");
    assert!(main.len() > 1 && main.last().expect("one").starts_with("Graph.main("));
    let names: Vec<&str> = stacks.iter().map(|&(name, _)| name).collect();
    assert!(names.contains(&"Finalizer"), "{names:?}");
    assert!(
        !names.iter().any(|name| name.starts_with("HPROF")),
        "{names:?}"
    );
    let traces = file.traces.iter();
    let deep = traces.filter(|(_, (thread, frames))| *thread == 0 && frames.len() > 1);
    assert_eq!(deep.count(), 0, "objects have traces of one frame");
}

on_every_jvm!(what_the_frames_of_virtual_threads_hold_is_there from 21, and 25);

fn what_the_frames_of_virtual_threads_hold_is_there(jvm: &Jvm) {
    let run = program(jvm, DUMP, &[], "Virtual21").start();
    run.wait_for_output("ready");
    dump(&run, 1);
    fs::write(run.path("go"), "").expect("a file");
    let file = read(&run.wait());
    let dump = &file.dumps[0];
    let [held] = dump.instances("Virtual21$Held")[..] else {
        panic!("one object")
    };
    let mark = dump.field(held, "Virtual21$Held", "mark");
    assert_eq!(mark, hprof_format::Value::Int(4713));
}
