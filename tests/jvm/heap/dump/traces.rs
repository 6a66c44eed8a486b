//! Every object has the trace that allocated it.

use std::collections::HashSet;

use hprof_format::Value;

use super::heap::{Dump, File};
use super::{DUMP, program, read};
use crate::cells::Cell;
use crate::harness::Jvm;

/// Compares every object with what it says of itself; answers how many there were.
pub(super) fn assert_traces(file: &File, dump: &Dump) -> usize {
    let made = dump.instances("Traces$Made");
    // The frames of a trace are looked up once for each site that names it.
    let mut checked = HashSet::new();
    for &object in &made {
        let Value::Int(site) = dump.field(object, "Traces$Made", "site") else {
            panic!("an int")
        };
        let place = format!("Traces.site{site}(");
        let data = dump.reference(object, "Traces$Made", "data");
        for object in [object, data].into_iter().filter(|&id| id != 0) {
            if !checked.insert((site, dump.trace(object))) {
                continue;
            }
            let frames = file.frames(dump.trace(object));
            assert!(
                frames[0].starts_with(&place),
                "{object:x} of site {site}: {frames:?}"
            );
            assert!(frames[1].starts_with("Traces.main("), "{frames:?}");
        }
    }
    made.len()
}

on_every_jvm!(a_million_objects_know_where_they_were_made, and 17);

fn a_million_objects_know_where_they_were_made(jvm: &Jvm) {
    let run = program(jvm, DUMP, &["-XX:+UseG1GC"], "Traces").arg("1000000");
    let file = read(&run.run_well());
    let dump = file.dump();
    // The last garbage object is alive too.
    assert_eq!(assert_traces(&file, dump), 1_000_001, "{}", jvm.feature);
    assert!(file.segments.iter().all(|&length| length <= 8 << 20));
    assert!(file.segments.len() > 10);
}

on_paired_cells!(objects_know_where_they_were_made_with_every_collector, row 0);

fn objects_know_where_they_were_made_with_every_collector(cell: &Cell) {
    let run = program(cell.jvm, DUMP, &cell.vm_options(), "Traces").arg("20000");
    let file = read(&run.run_well());
    assert_eq!(assert_traces(&file, file.dump()), 20_001, "{cell}");
}

on_every_jvm!(a_heap_without_room_is_walked_instead, and 28);

fn a_heap_without_room_is_walked_instead(jvm: &Jvm) {
    // 200,000 objects and 125,000 arrays, some 11 MB; the list would take 2.6 MB, and twice that must be free.
    // With compact headers, the default from 27 on, they take less.
    let vm_options: &[&str] = match jvm.feature >= 27 {
        true => &[
            "-XX:+UseSerialGC",
            "-Xmx16m",
            "-XX:-UseCompactObjectHeaders",
        ],
        false => &["-XX:+UseSerialGC", "-Xmx16m"],
    };
    let run = program(jvm, DUMP, vm_options, "Traces");
    let run = run.arg("200000").run_well();
    let reason = "(by JVMTI: the Java heap has no room for a list of the tracked objects;";
    assert!(
        run.stderr.contains(reason),
        "{}: {}",
        jvm.feature,
        run.stderr
    );
    let file = read(&run);
    assert_eq!(
        assert_traces(&file, file.dump()),
        200_001,
        "{}",
        jvm.feature
    );
}
