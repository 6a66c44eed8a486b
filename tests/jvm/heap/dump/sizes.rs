//! The sizes of objects, which the walk over the references notes in the file: readers of a dump cannot find them.

use crate::harness::{Finished, Jvm, Program};
use crate::heap::heap_graph::heap;

/// The bytes of the header of an object, of an `Alloc$Kept` (an int, a long, a reference), an `Alloc$Derived` (an int, a
/// reference), an `int[16]` and a `HashMap$Node` (an int, three references). Headers are compact from 27 on.
fn truth(jvm: &Jvm) -> (u64, [(&'static str, u64); 3], u64) {
    match jvm.feature {
        27.. => (
            8,
            [
                ("Alloc$Kept", 24),
                ("Alloc$Derived", 16),
                ("java.util.HashMap$Node", 24),
            ],
            80,
        ),
        _ => (
            12,
            [
                ("Alloc$Kept", 32),
                ("Alloc$Derived", 24),
                ("java.util.HashMap$Node", 32),
            ],
            80,
        ),
    }
}

fn sites_and_dump(jvm: &Jvm, vm_options: &[&str], format: &str) -> Finished {
    let options = format!("heap=all,dumper=jvmti,cutoff=0,format={format},file=x");
    let program = Program::java(jvm, &options, vm_options).program("sites", "Alloc");
    program.run_well()
}

/// Asserts that all objects of a class have a size, by what `hprof heap` says of a dump.
fn assert_histogram(histogram: &serde_json::Value, class: &str, size: u64, context: &str) {
    let rows = histogram["rows"].as_array().expect("rows");
    let row = rows.iter().find(|row| row["name"] == class);
    let row = row.unwrap_or_else(|| panic!("{context}: no {class}"));
    let number = |name: &str| row[name].as_u64().expect("a number");
    let objects = number("objects");
    assert!(objects > 0, "{context}: {class}");
    assert_eq!(number("shallow"), objects * size, "{context}: {class}");
}

/// Asserts that all objects of a class have a size, by the sites of a text, and by the objects of its dump.
fn assert_text(text: &str, class: &str, size: u64, context: &str) {
    let sites = text
        .lines()
        .skip_while(|line| !line.starts_with("SITES BEGIN"));
    let is_row = |line: &&str| line.ends_with(&format!(" {class}"));
    let mut rows = sites.filter(is_row).peekable();
    assert!(rows.peek().is_some(), "{context}: no site of {class}");
    for row in rows {
        let columns: Vec<u64> = row
            .split_whitespace()
            .filter_map(|column| column.parse().ok())
            .collect();
        // The rank, the live bytes and objects, the allocated ones.
        assert_eq!(columns[1], columns[2] * size, "{context}: {row}");
    }
    let of_class = format!(", class={class}@");
    let mut objects = text
        .lines()
        .filter(|line| line.contains(&of_class))
        .peekable();
    assert!(objects.peek().is_some(), "{context}: no {class}");
    for object in objects {
        let size = format!("(sz={size}, ");
        assert!(object.contains(&size), "{context}: {object}");
    }
}

on_every_jvm!(the_walk_notes_the_sizes_of_objects);

fn the_walk_notes_the_sizes_of_objects(jvm: &Jvm) {
    let (header, classes, array) = truth(jvm);
    let context = jvm.feature.to_string();
    let run = sites_and_dump(jvm, &[], "b");
    let file = run.path("x");
    let histogram = heap(&["histogram", "--top", "0"], &file);
    let layout = format!(
        "layout: header {header}, references 4, alignment 8 bytes (as the VM told the agent)\n"
    );
    assert!(histogram.contains(&layout), "{context}: {histogram}");
    let histogram = heap(&["histogram", "--top", "0", "--json"], &file);
    let histogram = serde_json::from_str(&histogram).expect("JSON");
    let (binary, text) = (
        run.checked_text("x"),
        sites_and_dump(jvm, &[], "a").read("x"),
    );
    for (class, size) in classes {
        assert_histogram(&histogram, class, size, &context);
        if class.starts_with("Alloc") {
            assert_text(&binary, class, size, &context);
            assert_text(&text, class, size, &context);
        }
    }
    let arrays = format!("(sz={array}, trace=");
    let ints = text
        .lines()
        .filter(|line| line.contains("nelems=16, elem type=int"));
    assert!(ints.clone().count() >= 300, "{context}");
    assert!(ints.clone().all(|line| line.contains(&arrays)), "{context}");
}

on_every_jvm!(other_layouts_are_noted_too from 25);

fn other_layouts_are_noted_too(jvm: &Jvm) {
    let layouts = [
        (
            "-XX:+UseCompactObjectHeaders",
            "8, references 4, alignment 8",
        ),
        (
            "-XX:-UseCompactObjectHeaders",
            "12, references 4, alignment 8",
        ),
        ("-XX:-UseCompressedOops", "references 8, alignment 8"),
        (
            "-XX:ObjectAlignmentInBytes=16",
            "references 4, alignment 16",
        ),
    ];
    for (option, layout) in layouts {
        let run = sites_and_dump(jvm, &[option], "b");
        let histogram = heap(&["histogram", "--top", "1"], &run.path("x"));
        let layout = format!("{layout} bytes (as the VM told the agent)\n");
        assert!(
            histogram.contains(&layout),
            "{} {option}: {histogram}",
            jvm.feature
        );
    }
}
