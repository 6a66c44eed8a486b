//! What holds with every collector of every JVM, whether garbage was collected before the dump or not.

use hprof_format::Value;

use super::heap::{Dump, File, Thing, id};
use super::{DUMP, program, read};
use crate::cells::Cell;

/// The dump at a program's end, which `hprof check` has nothing to say against.
fn dumped(cell: &Cell, options: &str, vm_options: &[&str], name: &str) -> File {
    let vm_options = [&cell.vm_options(), vm_options].concat();
    let run = program(cell.jvm, &format!("{DUMP},{options}"), &vm_options, name).run_well();
    assert!(run.stdout.ends_with("done\n"), "{}", run.stderr);
    let (sound, _, fault) = run.hprof("check", "x.hprof");
    assert!(sound, "{cell} {options}: {fault} {}", run.stderr);
    let file = read(&run);
    assert_eq!(file.dumps.len(), 1, "{cell} {options}: {}", run.stderr);
    file
}

/// `java.lang.Class` objects that are instances.
fn class_instances(dump: &Dump) -> usize {
    dump.instances("java.lang.Class").len()
}

on_every_cell!(a_class_that_was_replaced_while_it_loaded_is_in_the_dump: |cell| {
    let replaced = dumped(cell, "dumper=jvmti,gc=n", &[], "Replaced");
    dumped(cell, "dumper=jvmti", &[], "Replaced");
    // Those of the primitive types, and those that were replaced.
    assert!(class_instances(replaced.dump()) > 9, "{cell}: nothing was replaced");
});

fn assert_reflected(cell: &Cell, file: &File) {
    let dump = file.dump();
    assert_eq!(dump.stat("Reflected", "number"), Value::Int(4714), "{cell}");
    let fields = dump.elements(id(dump.stat("Reflected", "fields")));
    assert_eq!(fields.len(), 3, "{cell}");
    let pool = id(dump.stat("Reflected", "pool"));
    assert!(dump.class_name(pool).ends_with("ConstantPool"), "{cell}");
    for &field in fields {
        assert_accessor(cell, dump, field);
    }
}

/// What follows the hidden field in an accessor's record stands where its class says.
fn assert_accessor(cell: &Cell, dump: &Dump, field: u64) {
    let accessors = dump
        .fields(field)
        .into_iter()
        .filter_map(|field| match field {
            ("java.lang.reflect.Field", "overrideFieldAccessor", Value::Object(object)) => {
                Some(object.0)
            }
            _ => None,
        });
    let accessors: Vec<u64> = accessors.filter(|&accessor| accessor != 0).collect();
    let [accessor] = accessors[..] else {
        panic!("{cell}: one accessor, not {accessors:?}");
    };
    assert!(matches!(dump.objects[&accessor], Thing::Instance { .. }));
    let of_accessor = dump.fields(accessor);
    let named = |name| of_accessor.iter().filter(move |field| field.1 == name);
    let known = named("field").next().map(|field| id(field.2));
    assert!(
        known.is_some_and(|known| known != 0),
        "{cell}: {of_accessor:?}"
    );
    for offset in named("fieldOffset") {
        assert!(
            matches!(offset.2, Value::Long(1..=1_000)),
            "{cell}: {of_accessor:?}"
        );
    }
}

const OPEN: &str = "--add-opens=java.base/java.lang=ALL-UNNAMED";

on_every_cell!(objects_with_fields_that_the_vm_hides_are_in_the_dump: |cell| {
    // JDK 21 can still be told to reflect as JDK 17 does.
    let vm_options = [OPEN, "-Djdk.reflect.useDirectMethodHandle=false"];
    for options in ["dumper=jvmti", "dumper=jvmti,gc=n"] {
        assert_reflected(cell, &dumped(cell, options, &vm_options, "Reflected"));
    }
    if cell.ends_with_a_gc() {
        assert_reflected(cell, &dumped(cell, "dumper=vm", &vm_options, "Reflected"));
    }
});
