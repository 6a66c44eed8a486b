//! The dumps of the VM's own dumper, which `hprof` must read like the agent's.

use std::fs;
use std::process::Command;

use crate::cells::Cell;
use crate::harness::{Finished, Jvm, Program, any_jvm, cli};

const SERIAL: [&str; 1] = ["-XX:+UseSerialGC"];

/// A run of `SelfDump`.
fn dumps(jvm: &Jvm, vm_options: &[&str]) -> Finished {
    let vm_options = [vm_options, &["-Xmx256m"]].concat();
    Program::bare_java(jvm, &vm_options)
        .program("heapfile", "SelfDump")
        .run_well()
}

on_paired_cells!(check_accepts_every_dump_of_the_vms, row 4);

fn check_accepts_every_dump_of_the_vms(cell: &Cell) {
    let run = dumps(cell.jvm, &cell.vm_options());
    for dump in ["live.hprof", "all.hprof"] {
        let (sound, summary, complaint) = run.hprof("check", dump);
        assert!(sound && complaint.is_empty(), "{cell} {dump}: {complaint}");
        for kind in ["ROOT", "CLASS DUMP", "INSTANCE DUMP", "ARRAY DUMP"] {
            assert!(summary.contains(kind), "{kind} in {summary}");
        }
    }
}

on_every_jvm!(text_has_every_object_with_what_it_refers_to, and 26);

fn text_has_every_object_with_what_it_refers_to(jvm: &Jvm) {
    let run = dumps(jvm, &SERIAL);
    for dump in ["live.hprof", "all.hprof"] {
        let (sound, text, complaint) = run.hprof("text", dump);
        assert!(sound, "{} {dump}: {complaint}", jvm.feature);
        verify(&text);
    }
}

#[test]
fn a_damaged_dump_costs_one_line() {
    let run = dumps(any_jvm(), &SERIAL);
    let sound = fs::read(run.path("live.hprof")).expect("the dump");
    let damaged = run.path("damaged.hprof");
    // The same damage in every run, so that a fault can be reproduced.
    let mut state = 1_u64;
    let mut random = move |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) as usize % below
    };
    for round in 0..24 {
        let mut bytes = sound.clone();
        for _ in 0..=round / 4 {
            let place = random(bytes.len() - 8);
            match round % 4 {
                0 => bytes[place] ^= 1 << random(8),
                1 => bytes[place..place + 4].fill(0xff),
                2 => bytes[place..place + 8].fill(0),
                _ => bytes.truncate(place),
            }
            if bytes.len() < 1_000 {
                bytes.clone_from(&sound);
            }
        }
        fs::write(&damaged, bytes).expect("a file");
        for command in ["check", "text"] {
            // Memory for the program and for tables many times as large as those of the valid file.
            let output = Command::new("bash")
                .args(["-c", "ulimit -v 500000; exec \"$0\" \"$@\" >/dev/null"])
                .args([cli().as_os_str(), command.as_ref(), damaged.as_os_str()])
                .output()
                .expect("bash");
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(
                matches!(output.status.code(), Some(0 | 1)) && said.lines().count() <= 1,
                "{command}, round {round}: {} {said}",
                output.status
            );
        }
    }
}

/// Compares a dump's text with the output of `SelfDump`.
fn verify(text: &str) {
    let start = text.find("\nHEAP DUMP BEGIN (").expect("a dump") + 1;
    let mut lines = text[start..].lines();
    let first = lines.next().expect("the first line");
    assert_eq!(lines.next_back(), Some("HEAP DUMP END"));
    let objects = objects(lines.clone());

    let bytes: u64 = objects.iter().map(|object| object.size).sum();
    let totals = format!(
        "HEAP DUMP BEGIN ({} objects, {bytes} bytes) ",
        objects.len()
    );
    assert!(first.starts_with(&totals), "{first} is not {totals}");

    let is_marker = |object: &&Object| object.line.contains("class=SelfDump$Marker@");
    let markers: Vec<_> = objects.iter().filter(is_marker).collect();
    assert_eq!(markers.len(), 1_000);
    let with_previous = markers
        .iter()
        .filter(|marker| marker.reference("previous").is_some())
        .count();
    assert_eq!(with_previous, 999, "all but the first");
    for marker in &markers {
        let numbers = marker.reference("numbers").expect("an array");
        let line = format!("ARR {numbers} (sz=48, ");
        let array = objects.iter().find(|object| object.line.starts_with(&line));
        let array = array.expect("the array is there");
        assert!(array.line.ends_with("nelems=7, elem type=int[])"));
    }

    let of_class = "nelems=1000, elem type=SelfDump$Marker[]@";
    let array = objects.iter().find(|object| object.line.contains(of_class));
    let array = array.expect("the array of all markers");
    assert_eq!(array.references.len(), 1_000);
    let id = array.line.split(' ').nth(1).expect("an id");
    let held = format!("\tstatic markers\t{id}");
    assert!(lines.clone().any(|line| line == held));
    assert!(
        lines.clone().any(|line| line.contains("sz=800016,")
            && line.ends_with("nelems=100000, elem type=long[])"))
    );
    assert!(
        lines
            .clone()
            .any(|line| line.starts_with("CLS ") && line.contains("name=java.lang.String,"))
    );
}

/// An object or array, and the lines below it.
struct Object<'a> {
    line: &'a str,
    size: u64,
    references: Vec<&'a str>,
}

impl<'a> Object<'a> {
    fn reference(&self, name: &str) -> Option<&'a str> {
        self.references
            .iter()
            .filter_map(|line| line.rsplit_once('\t'))
            .find(|(label, _)| label.trim() == name)
            .map(|(_, id)| id)
    }
}

fn objects<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<Object<'a>> {
    let mut objects: Vec<Object<'a>> = Vec::new();
    let mut inside = false;
    for line in lines {
        if line.starts_with('\t') {
            if inside {
                objects.last_mut().expect("an object").references.push(line);
            }
            continue;
        }
        inside = line.starts_with("OBJ ") || line.starts_with("ARR ");
        if inside {
            let size = line.split_once("(sz=").expect("a size").1;
            let size = size.split(',').next().and_then(|size| size.parse().ok());
            objects.push(Object {
                line,
                size: size.expect("a number"),
                references: Vec::new(),
            });
        }
    }
    objects
}
