//! The effects of options that omit parts of a dump.

use hprof_format::{BasicType, Value};

use super::heap::{File, Thing, id};
use super::{DUMP, program, read};
use crate::harness::{Jvm, any_jvm};

/// Returns a dump of `Graph` at its end.
fn graph(jvm: &crate::harness::Jvm, options: &str) -> File {
    let program = program(jvm, &format!("{DUMP},{options}"), &[], "Graph");
    std::fs::write(program.folder().join("go"), "").expect("a file");
    read(&program.run_well())
}

on_every_jvm!(primitive_fields_may_be_left_out, and 28);

fn primitive_fields_may_be_left_out(jvm: &Jvm) {
    let file = graph(jvm, "primfields=n");
    let dump = file.dump();
    let root = id(dump.stat("Graph", "root"));
    for (class, name, value) in dump.fields(root) {
        let is_empty = match value {
            Value::Object(_) => true,
            Value::Boolean(value) => !value,
            Value::Char(value) => value == 0,
            Value::Float(value) => value == 0.0,
            Value::Double(value) => value == 0.0,
            Value::Byte(value) => value == 0,
            Value::Short(value) => value == 0,
            Value::Int(value) => value == 0,
            Value::Long(value) => value == 0,
        };
        assert!(is_empty, "{class}.{name} is {value:?}");
    }
    assert_eq!(dump.reference(root, "Graph$Child", "other"), root);
    assert_eq!(dump.stat("Graph", "iS"), Value::Int(0));
    // Arrays are unaffected.
    let ints = dump.primitives(id(dump.stat("Graph", "arrS")));
    assert_eq!(ints, [1, 2, 3].map(Value::Int));
}

on_every_jvm!(primitive_arrays_may_be_left_out, and 25);

fn primitive_arrays_may_be_left_out(jvm: &Jvm) {
    let file = graph(jvm, "primarrays=n");
    let dump = file.dump();
    let full = dump.objects.values().filter(|thing| match thing {
        Thing::Primitives { elements, .. } => !elements.is_empty(),
        _ => false,
    });
    assert_eq!(full.count(), 0);
    let array = id(dump.stat("Graph", "arrS"));
    let is_ints = |thing: &Thing| {
        matches!(
            thing,
            Thing::Primitives {
                element: BasicType::Int,
                ..
            }
        )
    };
    assert!(is_ints(&dump.objects[&array]));
    assert_eq!(dump.stat("Graph", "iS"), Value::Int(123_456_789));
    assert_eq!(dump.elements(id(dump.stat("Graph", "mixed"))).len(), 14);
}

#[test]
fn without_depth_nobody_knows_where_objects_were_made() {
    let file = graph(any_jvm(), "depth=0");
    let dump = file.dump();
    assert!(
        dump.objects
            .keys()
            .all(|&object| dump.trace(object) == 300_000)
    );
}
