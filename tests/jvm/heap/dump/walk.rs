//! The walk over the references, `dumper=jvmti`.

use std::fs;

use hprof_format::{Root, ThreadSerial, Value};

use super::graph::{assert_frame, assert_graph, assert_thread_local, graph};
use super::heap::{Dump, File, Thing, id};
use super::traces::assert_traces;
use super::{DUMP, dump, program, read};
use crate::cells::Cell;
use crate::harness::{Jvm, any_jvm};

/// Returns the dumps of a program that prints `ready` and then waits: as many as requested, and one at its end.
fn dumps(jvm: &Jvm, vm_options: &[&str], name: &str, requests: usize) -> (File, String) {
    let options = format!("{DUMP},dumper=jvmti,verbose=y");
    let run = program(jvm, &options, vm_options, name).start();
    run.wait_for_output("ready");
    for number in 1..=requests {
        dump(&run, number);
    }
    fs::write(run.path("go"), "").expect("a file");
    let run = run.wait();
    let text = format!("{}{}", run.stdout, run.stderr);
    assert!(
        run.status.success() && run.stdout.ends_with("done\n"),
        "{text}"
    );
    let (sound, _, fault) = run.hprof("check", "x.hprof");
    assert!(sound, "{fault}");
    let file = read(&run);
    assert_eq!(file.dumps.len(), requests + 1, "{text}");
    (file, text)
}

on_paired_cells!(everything_in_the_graph_is_found_with_its_value, row 1);

fn everything_in_the_graph_is_found_with_its_value(cell: &Cell) {
    let file = graph(cell.jvm, &cell.vm_options(), "dumper=jvmti");
    assert_eq!(file.dumps.len(), 2, "{cell}");
    for dump in &file.dumps {
        assert_graph(dump);
        assert_hidden(dump);
    }
    assert_frame(&file, &file.dumps[0]);
    assert_thread_local(&file.dumps[0]);
    assert_threads(&file, &file.dumps[0]);
}

/// Asserts that references in a `java.lang.Class` object are among its class's static fields, in angle brackets.
fn assert_hidden(dump: &Dump) {
    let module = id(dump.stat("Graph", "<module>"));
    assert_eq!(dump.class_name(module), "java.lang.Module");
    let module = id(dump.stat("java.lang.String[]", "<componentType>"));
    assert_eq!(module, dump.class("java.lang.String").id);
    let int = id(dump.stat("java.lang.Integer", "TYPE"));
    assert_eq!(dump.class_name(int), "java.lang.Class");
    assert!(
        dump.objects.contains_key(&int),
        "the class of a primitive type is an instance"
    );
    let interface = dump.class("Graph$HasConst").super_class;
    assert_eq!(
        interface,
        dump.class("java.lang.Object").id,
        "as the VM's dumper has it"
    );
}

/// Asserts that threads have the ids with which they were announced.
fn assert_threads(file: &File, dump: &Dump) {
    let mut count = 0;
    for &(object, root) in &dump.roots {
        if let Root::Thread { thread, .. } = root {
            let announced = file.thread_objects.get(&thread.0);
            assert_eq!(Some(&object), announced, "{}", file.threads[&thread.0]);
            count += 1;
        }
    }
    assert!(count > 2);
}

#[test]
fn numbers_never_repeat_in_a_file() {
    let (file, _) = dumps(any_jvm(), &[], "Graph", 2);
    let [first, second, third] = &file.dumps[..] else {
        panic!("three dumps")
    };
    for (one, other) in [(first, second), (second, third), (first, third)] {
        for object in one
            .objects
            .keys()
            .filter(|object| other.objects.contains_key(*object))
        {
            let is_thread = file.thread_objects.values().any(|thread| thread == object);
            assert!(is_thread, "{object:x} is a {}", one.class_name(*object));
        }
        // Classes and threads are the same in all of them.
        let class = "Graph$Parent";
        assert_eq!(one.class(class).id, other.class(class).id);
    }
}

on_every_jvm!(objects_know_where_they_were_made, and 25);

fn objects_know_where_they_were_made(jvm: &Jvm) {
    let options = format!("{DUMP},dumper=jvmti");
    let run = program(jvm, &options, &["-XX:+UseG1GC"], "Traces").arg("20000");
    let file = read(&run.run_well());
    assert_eq!(assert_traces(&file, file.dump()), 20_001, "{}", jvm.feature);
}

on_paired_cells!(a_program_that_changes_all_the_time_has_no_reference_that_leads_nowhere, row 2);

fn a_program_that_changes_all_the_time_has_no_reference_that_leads_nowhere(cell: &Cell) {
    let (file, _) = dumps(cell.jvm, &cell.vm_options(), "Changing", 3);
    for dump in &file.dumps[..3] {
        // `next` of the head may be read just then.
        let mut link = id(dump.stat("Changing", "head"));
        let mut length = 0;
        while link != 0 && length < 2_000 {
            length += 1;
            link = dump.reference(link, "Changing$Link", "next");
        }
        assert_eq!(length, 1_000, "{cell}");
        assert_payloads(dump);
    }
}

/// Asserts that there are objects of classes that many loaders have loaded, the last ones possibly while the dump
/// began.
fn assert_payloads(dump: &Dump) {
    let classes = dump.classes.values();
    let payloads: Vec<u64> = classes
        .filter(|class| class.name == "Changing$Payload")
        .map(|class| class.id)
        .collect();
    let mut count = 0;
    for (&object, thing) in &dump.objects {
        let Thing::Instance { class, .. } = thing else {
            continue;
        };
        if payloads.contains(class) {
            count += 1;
            let field = |name| dump.field(object, "Changing$Payload", name);
            // It may not have been set yet.
            assert!([0, object].contains(&id(field("self"))));
            assert!([Value::Int(0), Value::Int(7)].contains(&field("number")));
        }
    }
    assert!(count > 0);
}

on_paired_cells!(a_root_names_a_frame_of_its_method_while_stacks_move, row 3);

fn a_root_names_a_frame_of_its_method_while_stacks_move(cell: &Cell) {
    let (file, _) = dumps(cell.jvm, &cell.vm_options(), "Moving", 3);
    for dump in &file.dumps[..3] {
        let markers = dump.instances("Moving$Marker");
        assert_eq!(markers.len(), 6, "{cell}");
        for marker in markers {
            let found = holders(&file, dump, marker);
            assert!(!found.is_empty(), "{cell}: a root holds each marker");
            for (stack, frame) in found {
                let outside = dump.field(marker, "Moving$Marker", "outside");
                let frame = usize::try_from(frame).unwrap_or_else(|_| panic!("{cell}: {stack:?}"));
                let is_hold = |frame: &&String| frame.starts_with("Moving.hold(");
                assert!(is_hold(&&stack[frame]), "{cell}: {frame} of {stack:?}");
                let others = stack[frame + 1..].iter().filter(is_hold).count();
                assert_eq!(Value::Int(others as i32), outside, "{cell}: {stack:?}");
            }
        }
        for step in dump.instances("Moving$Step") {
            for (stack, frame) in holders(&file, dump, step) {
                let Ok(frame) = usize::try_from(frame) else {
                    continue;
                };
                let is_down = stack[frame].starts_with("Moving.down(");
                assert!(is_down, "{cell}: {frame} of {stack:?}");
            }
        }
    }
}

/// Returns the frames of platform threads that hold an object: the thread's stack, and the frame's number in it.
fn holders<'f>(file: &'f File, dump: &Dump, object: u64) -> Vec<(&'f [String], i32)> {
    let stack = |of: ThreadSerial| {
        let trace = dump.roots.iter().find_map(|&(_, root)| match root {
            Root::Thread { thread, trace } if thread == of => Some(trace),
            _ => None,
        });
        file.frames(trace.expect("the thread is a root").0)
    };
    let roots = dump.roots.iter().filter(|(held, _)| *held == object);
    roots
        .filter_map(|&(_, root)| match root {
            Root::JavaFrame { thread, frame } => Some((stack(thread), frame)),
            _ => None,
        })
        .collect()
}

on_every_jvm!(what_the_frames_of_virtual_threads_hold_is_there from 21, and 26);

fn what_the_frames_of_virtual_threads_hold_is_there(jvm: &Jvm) {
    let (file, _) = dumps(jvm, &[], "Virtual21", 1);
    let dump = &file.dumps[0];
    let [held] = dump.instances("Virtual21$Held")[..] else {
        panic!("one object")
    };
    assert_eq!(dump.field(held, "Virtual21$Held", "mark"), Value::Int(4713));
    let holds =
        |&&(object, root): &&(u64, Root)| object == held && matches!(root, Root::JavaFrame { .. });
    let Some((_, Root::JavaFrame { thread, frame })) = dump.roots.iter().find(holds) else {
        panic!("a root holds it")
    };
    assert!(file.threads[&thread.0].starts_with("virtual #"));
    assert_eq!(*frame, -1, "its trace is not known");
}

on_every_jvm!(primitive_values_may_be_left_out, and 17);

fn primitive_values_may_be_left_out(jvm: &Jvm) {
    let options = format!("{DUMP},dumper=jvmti,primfields=n,primarrays=n");
    let run = program(jvm, &options, &[], "Graph");
    fs::write(run.folder().join("go"), "").expect("a file");
    let file = read(&run.run_well());
    let dump = file.dump();
    let root = id(dump.stat("Graph", "root"));
    assert_eq!(dump.field(root, "Graph$Child", "d"), Value::Double(0.0));
    assert_eq!(dump.reference(root, "Graph$Child", "other"), root);
    assert_eq!(dump.stat("Graph", "jS"), Value::Long(0));
    assert_eq!(dump.primitives(id(dump.stat("Graph", "arrS"))), []);
    assert_eq!(dump.elements(id(dump.stat("Graph", "mixed"))).len(), 14);
}

on_every_jvm!(the_vm_has_nothing_to_say_against_the_calls, and 28);

fn the_vm_has_nothing_to_say_against_the_calls(jvm: &Jvm) {
    let (_, said) = dumps(jvm, &["-Xcheck:jni"], "Shapes", 1);
    assert!(
        !said.contains("WARNING") && !said.contains("FATAL"),
        "{said}"
    );
}

on_every_jvm!(a_text_names_every_class_before_its_objects, and 25);

fn a_text_names_every_class_before_its_objects(jvm: &Jvm) {
    let options = "heap=dump,dumper=jvmti,file=x.txt";
    let run = program(jvm, options, &[], "Graph");
    fs::write(run.folder().join("go"), "").expect("a file");
    let text = run.run_well().read("x.txt");
    assert!(text.contains("HEAP DUMP BEGIN (") && text.contains("HEAP DUMP END"));
    let child = text
        .lines()
        .find(|line| line.starts_with("OBJ ") && line.contains("class=Graph$GrandChild@"));
    assert!(child.is_some(), "{}", jvm.feature);
    assert!(text.contains("\tgrid\t\t"), "fields have their names");
}
