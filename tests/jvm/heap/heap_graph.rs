//! `hprof heap` on dumps of real programs whose leaks and retained sizes are known.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cells::Cell;
use crate::harness::{Jvm, Program, Running, any_jdk, any_jvm, cli};

/// The kinds of leaks of `java-tests/heap/Leak.java`, and the holder of each.
const LEAKS: [(&str, &str); 5] = [
    ("cache", "static field Leak$Cache.entries"),
    (
        "threadlocal",
        "thread-local variable of java.lang.Thread \"keeper\"",
    ),
    ("listeners", "static field Leak.source"),
    ("loader", "static field Leak.loaders"),
    ("local", "local variable in Leak.main(Leak.java:"),
];

/// Returns the answer of `hprof heap`, with exact sizes.
pub(crate) fn heap(arguments: &[&str], file: &Path) -> String {
    let mut command = Command::new(cli());
    command
        .arg("heap")
        .arg(arguments[0])
        .arg(file)
        .arg("--bytes")
        .args(&arguments[1..]);
    let output = command.output().expect("hprof");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    let (answer, fault) = (text(output.stdout), text(output.stderr));
    assert!(output.status.success(), "{arguments:?}: {fault}");
    assert_eq!(fault, "");
    answer
}

pub(crate) fn agent(jvm: &Jvm, options: &str, name: &str, argument: &str) -> Running {
    let options = format!("heap=dump,format=b,depth=8,file=x.hprof{options}");
    let run = Program::java(jvm, &options, &[])
        .program("heap", name)
        .arg(argument)
        .start();
    run.wait_for_output("ready");
    run.send("QUIT");
    run.wait_until(|| run.stderr().contains(" done.\n"));
    run
}

/// Starts a program without the agent, and runs `jmap` on it. Any JDK's tool can be used.
fn jmap(jvm: &Jvm, name: &str, argument: &str) -> Running {
    let run = Program::bare_java(jvm, &[])
        .program("heap", name)
        .arg(argument)
        .start();
    run.wait_for_output("ready");
    dump_by_jmap(&run);
    run
}

fn dump_by_jmap(run: &Running) -> PathBuf {
    let home = &any_jdk().home;
    let path = run.path("x.hprof");
    let output = Command::new("timeout")
        .arg("300")
        .arg(home.join("bin/jmap"))
        .arg(format!("-dump:live,format=b,file={}", path.display()))
        .arg(run.id().to_string())
        .output()
        .expect("jmap");
    assert!(path.exists(), "{output:?}");
    path
}

/// Returns the first suspect of a dump, from its name to the next one.
fn first_suspect(file: &Path) -> String {
    let answer = heap(&["leaks"], file);
    let (_, rest) = answer
        .split_once("Suspect 1: ")
        .unwrap_or_else(|| panic!("no suspect: {answer}"));
    rest.split("\nSuspect 2: ")
        .next()
        .unwrap_or_default()
        .to_owned()
}

fn assert_holder(suspect: &str, holder: &str, context: &str) {
    let held = format!("  held by {holder}");
    assert!(
        suspect.contains(&held),
        "{context}: not {holder}:\n{suspect}"
    );
    assert!(suspect.contains(" bytes in 40,0"), "{context}: {suspect}");
}

fn assert_leaks_with_stacks(jvm: &Jvm, options: &str) {
    for (way, holder) in LEAKS {
        let run = agent(jvm, options, "Leak", way);
        let suspect = first_suspect(&run.path("x.hprof"));
        let context = format!("{way} on {}{options}", jvm.feature);
        assert_holder(&suspect, holder, &context);
        let (_, allocated) = suspect.split_once("  allocated by:\n").expect("stacks");
        let mut lines = allocated.lines();
        let first = lines.next().expect("a row");
        assert!(
            first.ends_with(" bytes in 40,000 byte[]"),
            "{context}: {first}"
        );
        let frame = lines.next().expect("a frame").trim();
        assert!(
            frame.starts_with("at Leak.allocate(Leak.java:"),
            "{context}: {frame}"
        );
    }
}

on_every_jvm!(a_leak_is_named_with_its_holder_and_the_line_that_allocated_it, and 28);

fn a_leak_is_named_with_its_holder_and_the_line_that_allocated_it(jvm: &Jvm) {
    assert_leaks_with_stacks(jvm, "");
}

on_every_jvm!(a_leak_is_named_in_dumps_of_the_other_dumper_too, and 25);

fn a_leak_is_named_in_dumps_of_the_other_dumper_too(jvm: &Jvm) {
    assert_leaks_with_stacks(jvm, ",dumper=jvmti");
}

on_every_jvm!(what_one_line_allocated_is_one_suspect_whatever_its_classes, and 26);

fn what_one_line_allocated_is_one_suspect_whatever_its_classes(jvm: &Jvm) {
    for options in ["", ",dumper=jvmti"] {
        let run = agent(jvm, options, "Leak", "site");
        let suspect = first_suspect(&run.path("x.hprof"));
        assert!(
            suspect.starts_with("44,000 objects allocated at Leak$Maker.made(Leak.java:"),
            "{}{options}: {suspect}",
            jvm.feature
        );
        for class in ["byte[]", "int[]", "long[]", "short[]"] {
            let kept = format!(" bytes in 11,000 {class}\n");
            assert!(suspect.contains(&kept), "{class}: {suspect}");
        }
    }
}

on_every_jvm!(what_one_own_line_had_a_library_allocate_is_one_suspect, and 17);

fn what_one_own_line_had_a_library_allocate_is_one_suspect(jvm: &Jvm) {
    let run = agent(jvm, "", "Leak", "own");
    let file = run.path("x.hprof");
    let answer = heap(&["leaks"], &file);
    assert!(!answer.contains("objects allocated at"), "{answer}");
    let answer = heap(&["leaks", "--mine=Leak"], &file);
    let suspect = "Suspect 1: 44,000 objects allocated at Leak.copy(Leak.java:";
    assert!(answer.contains(suspect), "{}: {answer}", jvm.feature);
}

on_every_jvm!(a_leak_is_named_in_dumps_of_jmap_and_the_missing_stacks_are_explained, and 28);

fn a_leak_is_named_in_dumps_of_jmap_and_the_missing_stacks_are_explained(jvm: &Jvm) {
    for (way, holder) in LEAKS {
        let run = jmap(jvm, "Leak", way);
        let context = format!("{way} on {}", jvm.feature);
        let answer = heap(&["leaks"], &run.path("x.hprof"));
        assert!(
            answer.contains("does not say who allocated its objects: jmap"),
            "{context}"
        );
        assert_holder(&first_suspect(&run.path("x.hprof")), holder, &context);
    }
}

/// Returns the retained size of each object of a class, the largest first.
fn retained(file: &Path, class: &str) -> Vec<u64> {
    let answer = heap(
        &[
            "retained", "--by", "object", "--class", class, "--layout", "12,4,8", "--json",
        ],
        file,
    );
    let numbers = answer
        .lines()
        .filter_map(|line| line.trim().strip_prefix("\"retained\": "));
    numbers
        .map(|number| number.trim_end_matches(',').parse().expect("a number"))
        .collect()
}

fn assert_shapes(file: &Path, context: &str) {
    for (class, expected) in [
        ("Shapes$Ring", &[1064, 24][..]),
        ("Shapes$Left", &[240]),
        ("Shapes$Right", &[240]),
        ("Shapes$Shared", &[432]),
        ("Shapes$Holder", &[848]),
        ("Shapes$Weakly", &[832]),
        ("Shapes$Softly", &[16]),
        ("Shapes$Owner", &[648]),
    ] {
        assert_eq!(retained(file, class), expected, "{class}, {context}");
    }
    // If every reference counts, objects that others refer to weakly belong to no single object.
    let all = [
        "--class",
        "Shapes$Holder",
        "--exclude",
        "none",
        "--layout",
        "12,4,8",
    ];
    let holder = heap(&[&["retained", "--by", "object"], &all[..]].concat(), file);
    assert!(
        holder.contains("16              16  Shapes$Holder"),
        "{context}: {holder}"
    );
}

on_every_jvm!(retained_sizes_are_those_of_the_definition, and 25);

fn retained_sizes_are_those_of_the_definition(jvm: &Jvm) {
    for options in ["", ",dumper=jvmti"] {
        let run = agent(jvm, options, "Shapes", "1000");
        assert_shapes(&run.path("x.hprof"), &format!("{}{options}", jvm.feature));
    }
    let run = jmap(jvm, "Shapes", "1000");
    assert_shapes(&run.path("x.hprof"), &format!("jmap {}", jvm.feature));
}

#[test]
fn a_list_of_a_million_is_neither_too_deep_nor_a_path_of_a_million_lines() {
    let run = jmap(any_jvm(), "Shapes", "1000000");
    let file = run.path("x.hprof");
    let suspect = first_suspect(&file);
    assert!(suspect.starts_with("Shapes$Link @ "), "{suspect}");
    assert!(suspect.contains("  retains 16,000,000 bytes"), "{suspect}");
    assert!(
        suspect.contains("  held by static field Shapes.first"),
        "{suspect}"
    );
    let paths = heap(&["paths", "--class", "Shapes$Link", "--top", "1"], &file);
    assert!(paths.contains("static first -> Shapes$Link @ "), "{paths}");
}

on_every_jdk!(a_layout_is_found_where_the_dump_shows_it, and 17);

fn a_layout_is_found_where_the_dump_shows_it(jvm: &Jvm) {
    // From 27 on headers are compact, and pointers to classes always compressed.
    let (header, without_compression) = if jvm.feature >= 27 { (8, 8) } else { (12, 16) };
    for (options, header, rest) in [
        (
            &["-XX:+UseCompressedOops"][..],
            header,
            "references 4, alignment 8",
        ),
        (
            &["-XX:-UseCompressedOops", "-XX:-UseCompressedClassPointers"],
            without_compression,
            "references 8, alignment 8",
        ),
        (
            &["-XX:ObjectAlignmentInBytes=16"],
            header,
            "references 4, alignment 16",
        ),
    ] {
        let layout = format!("header {header}, {rest} bytes (found");
        let run = Program::bare_java(jvm, options)
            .program("heap", "Leak")
            .arg("cache")
            .start();
        run.wait_for_output("ready");
        let path = run.path("x.hprof");
        let text = run.jcmd(&format!("GC.heap_dump {}", path.display()));
        assert!(path.exists(), "{text}");
        let answer = heap(&["histogram", "--top", "1"], &path);
        assert!(
            answer.contains(&layout),
            "{} {options:?}: {answer}",
            jvm.feature
        );
    }
}

on_every_cell!(a_layout_is_found_whatever_the_order_of_the_objects, and 26);

fn a_layout_is_found_whatever_the_order_of_the_objects(cell: &Cell) {
    // ZGC does not compress references, and up to 14 the VM compresses pointers to classes only if it does. From 27 on
    // headers are compact.
    let (header, references) = match cell.collector {
        "Z" if cell.jvm.feature >= 27 => (8, 8),
        _ if cell.jvm.feature >= 27 => (8, 4),
        "Z" if cell.jvm.feature < 15 => (16, 8),
        "Z" => (12, 8),
        _ => (12, 4),
    };
    let layout = format!("header {header}, references {references}, alignment 8 bytes (found");
    let run = Program::bare_java(cell.jvm, &cell.vm_options())
        .program("heap", "Scattered")
        .start();
    run.wait_for_output("ready");
    let file = dump_by_jmap(&run);
    let answer = heap(&["histogram", "--top", "1"], &file);
    assert!(answer.contains(&layout), "{cell}: {answer}");
}

#[test]
fn two_dumps_differ_by_what_was_allocated_between() {
    let jvm = any_jvm();
    let (few, many) = (jmap(jvm, "Shapes", "10"), jmap(jvm, "Shapes", "5010"));
    let new = many.path("x.hprof");
    let new = new.to_str().expect("UTF-8");
    let answer = heap(
        &["diff", new, "--by", "class", "--layout", "12,4,8"],
        &few.path("x.hprof"),
    );
    let row = answer
        .lines()
        .find(|line| line.ends_with("  Shapes$Link"))
        .expect("a row");
    assert!(row.contains("+5,000         +80,000"), "{row}");
}

#[test]
fn a_damaged_dump_gives_the_byte() {
    let run = jmap(any_jvm(), "Shapes", "10");
    let file = run.path("x.hprof");
    let bytes = fs::read(&file).expect("the dump");
    fs::write(&file, &bytes[..bytes.len() / 2]).expect("room");
    let output = Command::new(cli())
        .args(["heap", "leaks"])
        .arg(&file)
        .output()
        .expect("hprof");
    assert_eq!(output.status.code(), Some(1));
    let fault = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(
        fault.contains(": byte ") && fault.contains("the file ends inside"),
        "{fault}"
    );
    assert_eq!(fault.lines().count(), 1);
}

on_every_jvm!(waste_is_named_with_its_bytes_and_the_line_that_allocated_it, and 28);

/// The rows are those of the comment of `java-tests/heap/Waste.java`.
fn waste_is_named_with_its_bytes_and_the_line_that_allocated_it(jvm: &Jvm) {
    let rows = [
        (
            "215,928 bytes: 3,000 times \"the same text of 32 characters!!\", as 0x",
            "at Waste.text(Waste.java:",
        ),
        (
            "831,584 bytes: 2,000 times long[50], as 0x",
            "at Waste.numbers(Waste.java:",
        ),
        ("2,376 bytes: 100 times \"another text, that has", ""),
        (
            "48,000 bytes: 1,000 empty Waste$Nothing",
            "at Waste.nothing(Waste.java:",
        ),
        (
            "308,000 bytes: 700 empty Waste$Room",
            "at Waste.list(Waste.java:",
        ),
        (
            "472,800 bytes: 600 sparse Waste$Room",
            "at Waste.list(Waste.java:",
        ),
    ];
    let arguments = ["leaks", "--waste", "40", "--layout", "12,4,8"];
    for options in ["", ",dumper=jvmti"] {
        let run = agent(jvm, options, "Waste", "");
        let answer = heap(&arguments, &run.path("x.hprof"));
        for (row, frame) in rows {
            let (_, rest) = answer
                .split_once(row)
                .unwrap_or_else(|| panic!("{}{options}: no {row} in\n{answer}", jvm.feature));
            let stack = rest.lines().take(6).any(|line| line.contains(frame));
            assert!(stack, "{}{options}: {row}{rest}", jvm.feature);
        }
    }
    let run = jmap(jvm, "Waste", "");
    let answer = heap(&arguments, &run.path("x.hprof"));
    for (row, _) in rows {
        assert!(
            answer.contains(row),
            "jmap {}: no {row} in\n{answer}",
            jvm.feature
        );
    }
}

on_every_jvm!(what_a_parked_virtual_thread_holds_is_kept_by_its_stack, and 25);

fn what_a_parked_virtual_thread_holds_is_kept_by_its_stack(jvm: &Jvm) {
    // The VM's own dumper of JDK 21 omits the stacks of parked virtual threads.
    let options = match jvm.feature {
        ..21 => return,
        21 => &[",dumper=jvmti"][..],
        _ => &["", ",dumper=jvmti"],
    };
    for options in options {
        let run = agent(jvm, options, "VirtualLeak21", "");
        let suspect = first_suspect(&run.path("x.hprof"));
        let context = format!("{}{options}: {suspect}", jvm.feature);
        assert!(suspect.contains("java.util.ArrayList @ "), "{context}");
        let (_, allocated) = suspect.split_once("  allocated by:\n").expect("stacks");
        assert!(allocated.contains(" bytes in 40,000 byte[]\n"), "{context}");
        assert!(
            allocated.contains("at VirtualLeak21.allocate("),
            "{context}"
        );
    }
}

on_every_jdk!(a_leak_is_named_in_a_heap_with_holes_as_zgc_makes_it, and 17);

fn a_leak_is_named_in_a_heap_with_holes_as_zgc_makes_it(jvm: &Jvm) {
    if jvm.feature < 17 {
        return;
    }
    for options in ["", ",dumper=jvmti"] {
        let agent_options = format!("heap=dump,format=b,depth=8,file=x.hprof{options}");
        let run = Program::java(jvm, &agent_options, &["-XX:+UseZGC", "-Xmx256m"])
            .program("heap", "Leak")
            .arg("cache")
            .start();
        run.wait_for_output("ready");
        run.send("QUIT");
        run.wait_until(|| run.stderr().contains(" done.\n"));
        let suspect = first_suspect(&run.path("x.hprof"));
        let context = format!("{}{options}", jvm.feature);
        assert_holder(&suspect, "static field Leak$Cache.entries", &context);
        assert!(
            suspect.contains("at Leak.allocate(Leak.java:"),
            "{context}: {suspect}"
        );
    }
}
