//! Independent readers of the agent's heap dumps: each opens the dump, finds a known object with its values, and counts
//! the same number of objects of each class.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use hprof_format::source_name;
use jvm_hprof::heap_dump::SubRecord;
use jvm_hprof::{Id, RecordTag};

use crate::harness::{Finished, Jvm, Program, compiler, reader};

/// The object in the static field of `Known.java`.
const KNOWN: &str = "known number=4711 wide=1099511627776 half=0.5 yes=true text=the known text values=[1, 2, 3] items=1000";
/// Prints the frames of all threads.
const HEAP_LIBRARY: &str = "ReadHeapLibrary.java";
const DUMPERS: [&str; 2] = ["vm", "jvmti"];

type Counts = BTreeMap<String, u64>;

on_every_jvm!(hprof_slurp_reads_heap_dumps, and 17);

fn hprof_slurp_reads_heap_dumps(jvm: &Jvm) {
    let Some(slurp) = reader("HPROF_SLURP") else {
        return;
    };
    each_dump(jvm, |name, dump, counts| {
        let output = Command::new(&slurp)
            .arg(dump)
            .args(["--top", "1000000"])
            .output()
            .expect("hprof-slurp");
        assert!(output.status.success(), "{name}: {output:?}");
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        assert_same(name, &slurp_counts(&text), counts);
    });
}

on_every_jvm!(shark_reads_heap_dumps, and 28);

fn shark_reads_heap_dumps(jvm: &Jvm) {
    read_in_a_jvm(jvm, "ReadShark.java", |jar| !jar.contains("hprof-heap"));
}

on_every_jvm!(shark_finds_what_a_thread_holds_in_a_local_variable, and 25);

fn shark_finds_what_a_thread_holds_in_a_local_variable(jvm: &Jvm) {
    let Some(jars) = jars(|jar| !jar.contains("hprof-heap")) else {
        return;
    };
    each_dump(jvm, |name, dump, _| {
        let said = run_reader("ReadShark.java", &jars, dump);
        let leak = "leak THREAD_OBJECT java.lang.Thread <Java Local> Known$Leaked";
        assert!(said.lines().any(|line| line == leak), "{name}: {said}");
    });
}

on_every_jvm!(class_names_in_binary_files_are_those_of_class_files, and 26);

fn class_names_in_binary_files_are_those_of_class_files(jvm: &Jvm) {
    for dumper in DUMPERS {
        let run = dump(jvm, dumper);
        let bytes = std::fs::read(run.path("known.hprof")).expect("the dump");
        let names = class_names(&bytes);
        for name in [
            "java/lang/Thread",
            "[Ljava/lang/Object;",
            "[I",
            "Known$Item",
        ] {
            assert!(names.contains(name), "{} {dumper}: no {name}", jvm.feature);
        }
        let strange = names.iter().find(|name| name.contains(['.', ']']));
        assert_eq!(strange, None, "{} {dumper}", jvm.feature);
    }
}

on_every_jvm!(the_heap_library_of_netbeans_reads_heap_dumps, and 17);

fn the_heap_library_of_netbeans_reads_heap_dumps(jvm: &Jvm) {
    read_in_a_jvm(jvm, HEAP_LIBRARY, |jar| !jar.contains("hprof-heap"));
}

on_every_jvm!(the_heap_library_of_gridkit_reads_heap_dumps, and 28);

fn the_heap_library_of_gridkit_reads_heap_dumps(jvm: &Jvm) {
    read_in_a_jvm(jvm, HEAP_LIBRARY, |jar| !jar.contains("netbeans"));
}

on_every_jvm!(haha_reads_heap_dumps_and_shows_where_objects_were_made, and 25);

fn haha_reads_heap_dumps_and_shows_where_objects_were_made(jvm: &Jvm) {
    let Some(jars) = jars(|jar| !jar.contains("hprof-heap")) else {
        return;
    };
    each_dump(jvm, |name, dump, counts| {
        let said = run_reader("ReadHaha.java", &jars, dump);
        assert!(said.contains(KNOWN), "{name}: {said}");
        assert_same(name, &printed_counts(&said), counts);
        let traces: Vec<&str> = said
            .lines()
            .filter_map(|line| line.strip_prefix("trace "))
            .collect();
        let [known, item] = traces[..] else {
            panic!("{name}: {said}");
        };
        assert!(
            known.contains("<clinit>()V - Known.java"),
            "{name}: {known}"
        );
        assert!(
            item.contains("make(I)[Ljava.lang.Object; - Known.java"),
            "{name}: {item}"
        );
    });
}

/// Runs a reader that prints `class <name> <count>` for each class and the known object's line.
fn read_in_a_jvm(jvm: &Jvm, program: &str, wanted: fn(&str) -> bool) {
    let Some(jars) = jars(wanted) else {
        return;
    };
    each_dump(jvm, |name, dump, counts| {
        let said = run_reader(program, &jars, dump);
        assert!(said.contains(KNOWN), "{name}: {said}");
        assert_same(name, &printed_counts(&said), counts);
        if program == HEAP_LIBRARY {
            let frames: Vec<&str> = said
                .lines()
                .filter(|line| line.starts_with("frame "))
                .collect();
            let has = |part| frames.iter().any(|frame| frame.contains(part));
            assert!(has("Known.hold(Known.java:"), "{name}: {frames:#?}");
            // The class of a proxy names no source file.
            assert!(has("$Proxy"), "{name}: {frames:#?}");
        }
    });
}

/// Dumps `Known.java` with each dumper and calls `read` with each dump and the counts of `jvm-hprof`.
fn each_dump(jvm: &Jvm, read: impl Fn(&str, &Path, &Counts)) {
    for dumper in DUMPERS {
        let run = dump(jvm, dumper);
        let path = run.path("known.hprof");
        read(&format!("{} {dumper}", jvm.feature), &path, &counted(&path));
    }
}

fn dump(jvm: &Jvm, dumper: &str) -> Finished {
    // The sites and what goes with them are records that these readers pass over.
    let options =
        format!("heap=all,lifetimes=y,monitor=y,format=b,dumper={dumper},file=known.hprof");
    Program::java(jvm, &options, &["-XX:+UseSerialGC"])
        .program("readers", "Known")
        .run_well()
}

/// Returns the jars of the wanted readers, as a class path.
fn jars(wanted: fn(&str) -> bool) -> Option<String> {
    let folder = reader("HPROF_READERS")?;
    let jars: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the readers")
        .map(|entry| entry.expect("a jar").path())
        .filter(|jar| wanted(&jar.to_string_lossy()))
        .collect();
    let jars: Vec<_> = jars.iter().map(|jar| jar.to_string_lossy()).collect();
    Some(jars.join(":"))
}

fn run_reader(program: &str, jars: &str, dump: &Path) -> String {
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/readers")
        .join(program);
    let output = Command::new(compiler().join("bin/java"))
        .args(["-cp", jars])
        .arg(source)
        .arg(dump)
        .output()
        .expect("java");
    assert!(output.status.success(), "{program}: {output:?}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn printed_counts(said: &str) -> Counts {
    let mut counts = Counts::new();
    for line in said.lines() {
        let Some((class, count)) = line
            .strip_prefix("class ")
            .and_then(|line| line.rsplit_once(' '))
        else {
            continue;
        };
        *counts.entry(source_name(class).into_owned()).or_default() +=
            count.parse::<u64>().expect("a count");
    }
    counts
}

/// Parses the first table `| Total size | Instances | Largest | Class name |`; the second is in another order.
fn slurp_counts(said: &str) -> Counts {
    let mut counts = Counts::new();
    let table = said.split("| Class name").nth(1).expect("a table");
    for line in table.lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        if let [_, _, count, _, class, _] = cells[..]
            && let Ok(count) = count.parse::<u64>()
        {
            *counts.entry(source_name(class).into_owned()).or_default() += count;
        }
    }
    counts
}

fn assert_same(name: &str, found: &Counts, counts: &Counts) {
    for class in found.keys().chain(counts.keys()) {
        assert_eq!(
            found.get(class),
            counts.get(class),
            "{name}: objects of {class}"
        );
    }
    assert_eq!(counts["Known$Item"], 1000, "{name}");
}

/// Returns the names of LOAD CLASS records.
fn class_names(bytes: &[u8]) -> HashSet<String> {
    let file = jvm_hprof::parse_hprof(bytes).expect("a header");
    let mut strings = HashMap::<Id, String>::new();
    let mut names = HashSet::new();
    for record in file.records_iter() {
        let record = record.expect("a record");
        match record.tag() {
            RecordTag::Utf8 => {
                let string = record.as_utf_8().expect("its tag").expect("its body");
                let text = string.text_as_str().expect("UTF-8");
                strings.insert(string.name_id(), text.to_owned());
            }
            RecordTag::LoadClass => {
                let class = record.as_load_class().expect("its tag").expect("its body");
                names.insert(strings[&class.class_name_id()].clone());
            }
            _ => {}
        }
    }
    names
}

/// Counts the objects of each class, by `jvm-hprof`.
fn counted(dump: &Path) -> Counts {
    let bytes = std::fs::read(dump).expect("the dump");
    let file = jvm_hprof::parse_hprof(&bytes).expect("a header");
    let mut strings = HashMap::<Id, String>::new();
    let mut classes = HashMap::<Id, Id>::new();
    let mut objects = HashMap::<Id, u64>::new();
    let mut counts = Counts::new();
    for record in file.records_iter() {
        let record = record.expect("a record");
        match record.tag() {
            RecordTag::Utf8 => {
                let string = record.as_utf_8().expect("its tag").expect("its body");
                let text = string.text_as_str().expect("UTF-8");
                strings.insert(string.name_id(), text.to_owned());
            }
            RecordTag::LoadClass => {
                let class = record.as_load_class().expect("its tag").expect("its body");
                classes.insert(class.class_obj_id(), class.class_name_id());
            }
            RecordTag::HeapDump | RecordTag::HeapDumpSegment => {
                let segment = record.as_heap_dump_segment().expect("its tag");
                for record in segment.expect("its body").sub_records() {
                    match record.expect("a heap record") {
                        SubRecord::Instance(instance) => {
                            *objects.entry(instance.class_obj_id()).or_default() += 1;
                        }
                        SubRecord::ObjectArray(array) => {
                            *objects.entry(array.array_class_obj_id()).or_default() += 1;
                        }
                        SubRecord::PrimitiveArray(array) => {
                            let name = format!("{}[]", array.primitive_type().java_type_name());
                            *counts.entry(name).or_default() += 1;
                        }
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    for (class, count) in objects {
        let name = source_name(&strings[&classes[&class]]).into_owned();
        *counts.entry(name).or_default() += count;
    }
    counts
}
