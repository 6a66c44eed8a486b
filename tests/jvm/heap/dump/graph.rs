//! Every field, element and root of a known graph.

use std::fs;

use hprof_format::{Root, Value};

use super::heap::{Dump, File, id};
use super::{DUMP, dump, program, read};
use crate::cells::Cell;
use crate::harness::Jvm;

/// Runs `Graph`, with a dump while `main` runs and one at the end.
pub(super) fn graph(jvm: &Jvm, vm_options: &[&str], options: &str) -> File {
    let options = format!("{DUMP},{options}");
    let run = program(jvm, options.trim_end_matches(','), vm_options, "Graph").start();
    run.wait_for_output("ready");
    dump(&run, 1);
    fs::write(run.path("go"), "").expect("a file");
    let run = run.wait();
    assert!(
        run.status.success() && run.stdout.ends_with("done\n"),
        "{}",
        run.stderr
    );
    assert_eq!(run.files(), ["go", "x.hprof"], "{}", run.stderr);
    read(&run)
}

/// Asserts the properties that hold for as long as the program runs.
pub(super) fn assert_graph(dump: &Dump) {
    let stat = |name| dump.stat("Graph", name);
    assert_eq!(stat("zS"), Value::Boolean(true));
    assert_eq!(stat("bS"), Value::Byte(-2));
    assert_eq!(stat("cS"), Value::Char(0xe9));
    assert_eq!(stat("sS"), Value::Short(-300));
    assert_eq!(stat("iS"), Value::Int(123_456_789));
    assert_eq!(stat("jS"), Value::Long(-1_234_567_890_123_456_789));
    assert_eq!(stat("fS"), Value::Float(1.5));
    assert_eq!(stat("dS"), Value::Double(-2.25));
    assert_eq!(dump.text(id(stat("strS"))), "stat\u{ef}que");
    assert_eq!(dump.text(id(stat("wide"))), "\u{4e16}\u{754c}");
    assert_eq!(id(stat("nullS")), 0);
    let ints = [1, 2, 3].map(Value::Int);
    assert_eq!(dump.primitives(id(stat("arrS"))), ints);
    let shared = id(dump.stat("Graph$HasConst", "SHARED"));
    assert_eq!(dump.class_name(shared), "java.lang.Object");
    assert_eq!(dump.stat("Graph$HasConst", "N"), Value::Int(7));
    assert_root(dump, id(stat("root")));
    assert_mixed(dump, id(stat("mixed")), id(stat("root")));
    let lambda = dump.class_name(id(stat("lambda")));
    assert!(lambda.starts_with("Graph$$Lambda"), "{lambda}");
    let [red, green] = ["RED", "GREEN"].map(|name| id(dump.stat("Graph$Colour", name)));
    assert_eq!(
        dump.elements(id(dump.stat("Graph$Colour", "$VALUES"))),
        [red, green]
    );
    let name = dump.reference(green, "java.lang.Enum", "name");
    assert_eq!(dump.text(name), "GREEN");
    assert_eq!(
        dump.field(green, "java.lang.Enum", "ordinal"),
        Value::Int(1)
    );
}

fn assert_root(dump: &Dump, root: u64) {
    assert_eq!(dump.class_name(root), "Graph$GrandChild");
    let value = |class: &str, name| dump.field(root, &format!("Graph${class}"), name);
    assert_eq!(value("Parent", "i"), Value::Int(1));
    assert_eq!(value("Parent", "j"), Value::Long(2));
    assert_eq!(value("Parent", "z"), Value::Boolean(true));
    assert_eq!(dump.text(id(value("Parent", "shadow"))), "parent");
    assert_eq!(dump.text(id(value("Child", "shadow"))), "child");
    assert_eq!(value("Child", "b"), Value::Byte(3));
    assert_eq!(value("Child", "c"), Value::Char(120));
    assert_eq!(value("Child", "d"), Value::Double(4.5));
    assert_eq!(id(value("Child", "other")), root, "a cycle");
    assert_eq!(value("GrandChild", "s"), Value::Short(5));
    assert_eq!(value("GrandChild", "f"), Value::Float(6.5));
    assert_eq!(id(value("GrandChild", "nul")), 0);
    let grid = id(value("GrandChild", "grid"));
    assert_eq!(dump.class_name(grid), "int[][]");
    let &[one, two, three] = dump.elements(grid) else {
        panic!("three rows")
    };
    assert_eq!(dump.primitives(one), [Value::Int(1)]);
    assert_eq!(dump.primitives(two), [Value::Int(2), Value::Int(3)]);
    assert_eq!(three, 0);
    let fields = dump.fields(root);
    let declaring: Vec<&str> = fields.iter().map(|field| field.0).collect();
    let position = |class: &str| declaring.iter().position(|&name| name == class);
    assert!(
        position("Graph$GrandChild") < position("Graph$Child")
            && position("Graph$Child") < position("Graph$Parent"),
        "the class first, then its super"
    );
}

fn assert_mixed(dump: &Dump, mixed: u64, root: u64) {
    let elements = dump.elements(mixed);
    assert_eq!(elements.len(), 14);
    assert_eq!(elements[0], root);
    assert_eq!(dump.text(elements[1]), "s");
    assert_eq!(elements[2], 0);
    assert_eq!(elements[3], id(dump.stat("Graph$Colour", "GREEN")));
    let primitives = [
        vec![Value::Boolean(true), Value::Boolean(false)],
        vec![Value::Byte(-1)],
        vec![Value::Char(121)],
        vec![Value::Short(-7)],
        vec![Value::Int(8)],
        vec![Value::Long(9)],
        vec![Value::Float(1.0)],
        vec![Value::Double(2.0)],
    ];
    for (&element, right) in elements[4..].iter().zip(primitives) {
        assert_eq!(dump.primitives(element), right);
    }
    assert_eq!(dump.elements(elements[12]), [0; 0]);
    assert_eq!(dump.class_name(elements[13]), "java.lang.String[][]");
    let strings = dump.elements(elements[13])[0];
    assert_eq!(dump.class_name(strings), "java.lang.String[]");
    assert_eq!(dump.text(dump.elements(strings)[0]), "q");
}

/// Asserts that the frame of `main` holds an object that nothing else does.
pub(super) fn assert_frame(file: &File, dump: &Dump) {
    let [held] = dump.instances("Graph$InFrame")[..] else {
        panic!("one object")
    };
    assert_eq!(dump.field(held, "Graph$InFrame", "mark"), Value::Int(4711));
    let in_frame = |&(object, root): &(u64, Root)| match root {
        Root::JavaFrame { thread, frame } if object == held => Some((thread, frame)),
        _ => None,
    };
    let (thread, frame) = dump.roots.iter().find_map(in_frame).expect("a root");
    assert_eq!(file.threads[&thread.0], "main");
    let of_main = |&(_, root): &(u64, Root)| match root {
        Root::Thread {
            thread: other,
            trace,
        } if other == thread => Some(trace),
        _ => None,
    };
    let trace = dump.roots.iter().find_map(of_main).expect("main is a root");
    assert_eq!(
        file.traces[&trace.0].0, thread.0,
        "a thread's trace names it"
    );
    let frames = file.frames(trace.0);
    let holder = &frames[usize::try_from(frame).expect("a frame")];
    assert!(holder.starts_with("Graph.main(Graph.java:"), "{frames:?}");
    assert_eq!(frames.last(), Some(holder), "the stack is whole");
}

/// Asserts that the main thread's thread-local holds an object.
pub(super) fn assert_thread_local(dump: &Dump) {
    let [held] = dump.instances("Graph$PerThread")[..] else {
        panic!("one object")
    };
    assert_eq!(
        dump.field(held, "Graph$PerThread", "mark"),
        Value::Int(4712)
    );
    let entry = "java.lang.ThreadLocal$ThreadLocalMap$Entry";
    let holds = |&&object: &&u64| dump.reference(object, entry, "value") == held;
    let entries = dump.instances(entry);
    assert_eq!(entries.iter().filter(holds).count(), 1);
}

on_paired_cells!(everything_in_the_graph_is_found_with_its_value, row 8);

fn everything_in_the_graph_is_found_with_its_value(cell: &Cell) {
    let file = graph(cell.jvm, &cell.vm_options(), "");
    assert_eq!(file.dumps.len(), 2, "{cell}");
    for dump in &file.dumps {
        assert_graph(dump);
    }
    assert_frame(&file, &file.dumps[0]);
    assert_thread_local(&file.dumps[0]);
}
