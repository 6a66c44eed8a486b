//! Properties that hold with every garbage collector of every JVM, whether garbage was collected before the dump or
//! not.

use std::collections::{BTreeMap, HashSet};
use std::fs;

use hprof_format::{BasicType, Value};

use super::heap::{Dump, File, Thing, id};
use super::{DUMP, dump, program, read};
use crate::cells::Cell;
use crate::profile::Profile;

/// Returns the dump at a program's end, which must pass `hprof check`.
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

/// Counts `java.lang.Class` objects that are instances.
fn class_instances(dump: &Dump) -> usize {
    dump.instances("java.lang.Class").len()
}

on_paired_cells!(a_class_that_was_replaced_while_it_loaded_is_in_the_dump, row 4);

fn a_class_that_was_replaced_while_it_loaded_is_in_the_dump(cell: &Cell) {
    let replaced = dumped(cell, "dumper=jvmti,gc=n", &[], "Replaced");
    dumped(cell, "dumper=jvmti", &[], "Replaced");
    // Those of the primitive types, and those that were replaced.
    assert!(
        class_instances(replaced.dump()) > 9,
        "{cell}: nothing was replaced"
    );
}

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

/// Asserts that the fields after the hidden one in an accessor's record are where its class says.
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

on_paired_cells!(objects_with_fields_that_the_vm_hides_are_in_the_dump, row 5);

fn objects_with_fields_that_the_vm_hides_are_in_the_dump(cell: &Cell) {
    // JDK 21 can still be told to reflect as JDK 17 does.
    let vm_options = [OPEN, "-Djdk.reflect.useDirectMethodHandle=false"];
    for options in ["dumper=jvmti", "dumper=jvmti,gc=n"] {
        assert_reflected(cell, &dumped(cell, options, &vm_options, "Reflected"));
    }
    if cell.ends_with_a_gc() {
        assert_reflected(cell, &dumped(cell, "dumper=vm", &vm_options, "Reflected"));
    }
}

/// Live objects of each class, and their bytes.
type Counts = BTreeMap<String, (u64, u64)>;

/// Returns the counts from the sites of a run, and from its dump, if it has one.
fn counts(cell: &Cell, options: &str) -> (Counts, Counts) {
    let options = format!("{options},cutoff=0,file=x.txt");
    let run = program(cell.jvm, &options, &cell.vm_options(), "Replaced").run_well();
    let text = run.read("x.txt");
    let mut live = Counts::new();
    for row in &Profile::parse(&without_dump(&text)).sites[0].rows {
        let counts = live.entry(row.class.clone()).or_default();
        *counts = (counts.0 + row.live, counts.1 + row.live_bytes);
    }
    let mut dumped = Counts::new();
    for line in text.lines() {
        let class = match line.split_once(' ') {
            Some(("OBJ", rest)) => rest.split_once("class="),
            Some(("ARR", rest)) => rest.split_once("elem type="),
            _ => None,
        };
        if let Some((_, class)) = class {
            let class = class.split(['@', ')']).next().expect("the class");
            dumped.entry(class.to_owned()).or_default().0 += 1;
        }
    }
    live.retain(|_, counts| counts.0 > 0);
    (live, dumped)
}

fn without_dump(text: &str) -> String {
    let Some((before, rest)) = text.split_once("HEAP DUMP BEGIN") else {
        return text.to_owned();
    };
    let (_, after) = rest.split_once("HEAP DUMP END\n").expect("its end");
    format!("{before}{after}")
}

/// The most objects of a class of the JDK that one run may have and another may not, and their bytes: threads of the VM
/// run concurrently, at any speed. The agent's own arrays have at least 244 KB.
const COME_AND_GO: (u64, u64) = (60, 64 * 1024);

fn assert_agree(cell: &Cell, collect: &str) {
    let (with_dump, dumped) = counts(cell, &format!("heap=all,{collect}"));
    let (without, _) = counts(cell, &format!("heap=sites,{collect}"));
    let of = |counts: &Counts, class: &String| counts.get(class).copied().unwrap_or_default();
    for class in with_dump.keys().chain(without.keys()) {
        // With garbage left in the heap, fillers cannot be recognized in JDK 11 and 17.
        if class == "int[]" && collect == "gc=n" {
            continue;
        }
        let [with, without] = [of(&with_dump, class), of(&without, class)];
        let agree = with.0.abs_diff(without.0) <= COME_AND_GO.0
            && with.1.abs_diff(without.1) <= COME_AND_GO.1;
        assert!(
            agree,
            "{cell} {collect}: {class}: {with:?}, without a dump {without:?}"
        );
    }
    for class in with_dump.keys().chain(dumped.keys()) {
        let (live, dumped) = (of(&with_dump, class).0, of(&dumped, class).0);
        let agrees = match &**class {
            // Classes are not instances in a dump.
            "java.lang.Class" => true,
            // The VM has some that no reader could reach.
            "int[]" => dumped <= live + COME_AND_GO.0,
            // If nothing can be collected at the end, the walk finds only reachable objects, and no garbage.
            _ if !cell.ends_with_a_gc() => dumped <= live + COME_AND_GO.0,
            _ => dumped.abs_diff(live) <= COME_AND_GO.0,
        };
        assert!(
            agrees,
            "{cell} {collect}: {class}: {live} live, {dumped} in the dump"
        );
    }
}

on_paired_cells!(sites_and_dump_agree_with_each_other_and_with_a_run_without_a_dump, row 6);

fn sites_and_dump_agree_with_each_other_and_with_a_run_without_a_dump(cell: &Cell) {
    assert_agree(cell, "gc=y");
    assert_agree(cell, "gc=n");
}

/// Returns arrays of `int` whose allocation was not seen and that nothing refers to.
fn fillers(dump: &Dump) -> Vec<usize> {
    let all = dump.objects.keys().chain(dump.classes.keys());
    let held = dump.roots.iter().map(|root| root.0);
    let held: HashSet<u64> = all
        .flat_map(|&object| dump.references(object))
        .chain(held)
        .collect();
    let fillers = dump.objects.iter().filter(|(id, _)| !held.contains(id));
    let lengths = fillers.filter_map(|(_, thing)| match thing {
        Thing::Primitives {
            element: BasicType::Int,
            trace: 300_000,
            elements,
        } => Some(elements.len() / 4),
        _ => None,
    });
    // The VM creates empty ones itself, for the classes that it loads.
    lengths.filter(|&length| length > 0).collect()
}

/// Counts arrays as long as those in which the agent lists tracked objects.
fn lists(dump: &Dump) -> usize {
    let is_list = |thing: &&Thing| matches!(thing, Thing::Objects { elements, .. } if elements.len() == 60_013);
    dump.objects.values().filter(is_list).count()
}

on_paired_cells!(fillers_and_what_earlier_dumps_made_are_not_in_the_dump, row 7);

fn fillers_and_what_earlier_dumps_made_are_not_in_the_dump(cell: &Cell) {
    for collect in ["gc=y", "gc=n"] {
        let options = format!("{DUMP},dumper=vm,{collect}");
        let run = program(cell.jvm, &options, &cell.vm_options(), "Graph").start();
        run.wait_for_output("ready");
        dump(&run, 1);
        dump(&run, 2);
        fs::write(run.path("go"), "").expect("a file");
        let file = read(&run.wait());
        for dump in &file.dumps {
            assert_eq!(fillers(dump), [0; 0], "{cell} {collect}");
            assert_eq!(lists(dump), 0, "{cell} {collect}");
        }
        assert_eq!(file.dumps.len(), 3, "{cell} {collect}");
        let [second, last] = [1, 2].map(|number| &file.dumps[number]);
        let totals = last.totals.expect("HEAP SUMMARY").0;
        assert_eq!(totals, last.objects.len() as u64, "{cell} {collect}");
        assert!(second.objects.len() > 1_000);
    }
}
