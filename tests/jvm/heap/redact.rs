//! `hprof redact`: the secrets of a program are gone, and its heap is the same.

use std::collections::BTreeMap;
use std::fs;
use std::process::{Command, Output};

use crate::cells::Cell;
use crate::harness::{Finished, Program, cli};

/// In every text that is a secret.
const SECRET: &str = "Zq7xK2vW";
const DUMPS: [&str; 2] = ["vm.hprof", "java.hprof"];

on_paired_cells!(the_content_goes_and_the_structure_stays, row 2);

fn the_content_goes_and_the_structure_stays(cell: &Cell) {
    let run = secrets(cell);
    for dump in DUMPS {
        let original = fs::read(run.path(dump)).expect("the dump");
        for secret in traces_of_secrets() {
            assert!(has(&original, &secret), "{cell} {dump} has no {secret:x?}");
        }
        let redacted = redact(&run, dump, &[]);
        assert_eq!(original.len(), redacted.len());
        for secret in traces_of_secrets() {
            assert!(
                !has(&redacted, &secret),
                "{cell} {dump} still has {secret:x?}"
            );
        }
        for name in ["Secrets", "fieldLong", "Vault"] {
            assert!(has(&redacted, name.as_bytes()), "{name} is a name");
        }
        well(&run, &["check", "--redacted-from", dump, "redacted.hprof"]);
        for command in [
            vec!["heap", "histogram"],
            vec!["heap", "retained", "--by", "class"],
            vec!["heap", "retained", "--by", "site"],
            // With the names of threads.
            vec!["heap", "threads"],
        ] {
            let of =
                |file: &str| well(&run, &[&command[..], &[file]].concat()).replace(file, "FILE");
            assert_eq!(of(dump), of("redacted.hprof"), "{cell} {command:?}");
        }
    }
}

on_paired_cells!(the_agent_writes_a_dump_without_content, row 3);

fn the_agent_writes_a_dump_without_content(cell: &Cell) {
    for options in ["heap=all,format=b", "heap=dump,format=a"] {
        let run = secrets_with(cell, &format!("{options},redact=y"));
        let how = "Java heap (by JVMTI: no content may reach a disk; ";
        assert!(run.stderr.contains(how), "{}", run.stderr);
        let dump = fs::read(run.path("java.hprof")).expect("the dump");
        for secret in traces_of_secrets() {
            assert!(!has(&dump, &secret), "{cell} {options} has {secret:x?}");
        }
        for name in [
            "Secrets", "Vault", "Nm4yL7sT", "Program", "-Xmx256m", "redact=y",
        ] {
            assert!(has(&dump, name.as_bytes()), "{name} stays");
        }
        if options.ends_with("format=b") {
            well(&run, &["check", "java.hprof"]);
            // The structure is there: a list's size, and its equal elements.
            let waste = well(&run, &["heap", "leaks", "--waste", "100000", "java.hprof"]);
            assert!(waste.contains("1,001 times"), "{cell}: {waste}");
        }
    }
}

#[test]
fn equal_strings_stay_equal() {
    let run = secrets(&Cell::any());
    redact(&run, "vm.hprof", &[]);
    // By the first of the equal strings, which has the same id in both dumps.
    let equal = |dump: &str| -> BTreeMap<String, (String, String)> {
        let said = well(&run, &["heap", "leaks", "--waste", "100000", dump]);
        let lines = said.lines().filter_map(|line| line.split_once(" times \""));
        let rows = lines.filter_map(|(counted, rest)| {
            let (text, id) = rest.rsplit_once("\", as ")?;
            Some((id.to_owned(), (counted.to_owned(), text.to_owned())))
        });
        rows.collect()
    };
    let [original, redacted] = ["vm.hprof", "redacted.hprof"].map(equal);
    // Different texts of a few letters may have the same pseudonym.
    let longer: Vec<_> = original
        .iter()
        .filter(|(_, (_, text))| text.chars().count() >= 16)
        .collect();
    let elements = |(_, (counted, _)): &(_, &(String, _))| counted.ends_with(": 1,001");
    assert!(longer.iter().any(elements), "{longer:?}");
    for (id, (counted, text)) in longer {
        let copy = redacted.get(id).map(|(counted, _)| counted);
        assert_eq!(copy, Some(counted), "{id} {text}");
    }
}

#[test]
fn a_selection_says_what_goes() {
    let run = secrets(&Cell::any());
    let [vault, field] = ["vault", "field"].map(|place| format!("{SECRET} {place}").into_bytes());
    let only = redact(&run, "java.hprof", &["--only", "Vault.open"]);
    assert!(!has(&only, &vault) && has(&only, &field));
    let kept = redact(&run, "java.hprof", &["--keep", "Vault.*"]);
    assert!(has(&kept, &vault) && !has(&kept, &field));
    let class = redact(&run, "java.hprof", &["--keep", "byte[]", "--keep", "Abo*"]);
    let [text, chars, ..] = traces_of_secrets();
    assert!(
        has(&class, &text) && !has(&class, &chars),
        "only bytes stay"
    );
}

#[test]
fn names_go_where_that_is_asked_for() {
    let run = secrets(&Cell::any());
    for dump in DUMPS {
        let redacted = redact(&run, dump, &["--names"]);
        for name in ["Vault", "fieldLong", "aboveReference", SECRET, "Nm4yL7sT"] {
            assert!(!has(&redacted, name.as_bytes()), "{dump} has {name}");
        }
        for name in ["java/lang/String", "java/util/HashMap$Node", "value"] {
            assert!(has(&redacted, name.as_bytes()), "{dump} has no {name}");
        }
        let threads = |file: &str| well(&run, &["heap", "threads", file]);
        assert!(threads(dump).contains("\"Nm4yL7sT thread\""), "{dump}");
        assert!(!threads("redacted.hprof").contains("Nm4yL7sT"), "{dump}");
        well(&run, &["check", "redacted.hprof"]);
        well(&run, &["check", "--redacted-from", dump, "redacted.hprof"]);
    }
}

#[test]
fn content_that_is_left_is_found() {
    let run = secrets(&Cell::any());
    let original = fs::read(run.path("vm.hprof")).expect("the dump");
    let redacted = redact(&run, "vm.hprof", &[]);
    let place = |what: &[u8]| {
        original
            .windows(what.len())
            .position(|bytes| bytes == what)
            .expect("it is there")
    };
    for (what, length) in [
        (&b"Zq7xK2vW field"[..], 4),
        (&[0xa7; 8], 1),
        (b"Zq7xK2vW literal", 1),
    ] {
        let place = place(what);
        let mut spoiled = redacted.clone();
        spoiled[place..place + length].copy_from_slice(&original[place..place + length]);
        fs::write(run.path("redacted.hprof"), spoiled).expect("a file");
        let output = hprof(
            &run,
            &["check", "--redacted-from", "vm.hprof", "redacted.hprof"],
        );
        assert_eq!(output.status.code(), Some(1));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("has content of the original"), "{said}");
    }
}

#[test]
fn a_flag_and_an_option_that_are_left_are_found() {
    let run = secrets(&Cell::any());
    let original = fs::read(run.path("java.hprof")).expect("the dump");
    for arguments in [&[][..], &["--names"]] {
        let redacted = redact(&run, "java.hprof", arguments);
        for what in [
            &b"Zq7xK2vW.log"[..],
            b"OnOutOfMemoryError=echo",
            b"file=java.hprof",
        ] {
            let place = original
                .windows(what.len())
                .position(|bytes| bytes == what)
                .expect("it is there");
            let place = place..place + what.len();
            let mut spoiled = redacted.clone();
            assert_ne!(spoiled[place.clone()], original[place.clone()]);
            spoiled[place.clone()].copy_from_slice(&original[place]);
            fs::write(run.path("redacted.hprof"), spoiled).expect("a file");
            let check = ["check", "--redacted-from", "java.hprof", "redacted.hprof"];
            let output = hprof(&run, &check);
            assert_eq!(
                output.status.code(),
                Some(1),
                "{}",
                String::from_utf8_lossy(what)
            );
        }
    }
}

#[test]
fn pipes_and_compressed_files_are_read_and_written() {
    let run = secrets(&Cell::any());
    let script = "set -o pipefail; gzip -1 <vm.hprof | \"$0\" redact - -o - | \"$0\" check - \
                  && \"$0\" redact vm.hprof -o redacted.hprof.gz && gzip -t redacted.hprof.gz \
                  && \"$0\" check --redacted-from vm.hprof redacted.hprof.gz";
    let output = Command::new("bash")
        .args(["-c", script])
        .arg(cli())
        .current_dir(run.path(""))
        .output()
        .expect("bash");
    assert!(output.status.success(), "{output:?}");
}

/// A program with secrets, which has written a dump by its VM and one by the agent.
fn secrets(cell: &Cell) -> Finished {
    secrets_with(cell, "heap=all,depth=8")
}

fn secrets_with(cell: &Cell, options: &str) -> Finished {
    let options = &format!("{options},file=java.hprof");
    let vm_options = [
        &cell.vm_options()[..],
        &[
            "-Xmx256m",
            "-Dother.key=Zq7xK2vW",
            "-XX:OnOutOfMemoryError=echo Zq7xK2vW",
            "-Xlog:gc:file=Zq7xK2vW.log",
        ],
    ]
    .concat();
    let program = Program::java(cell.jvm, options, &vm_options).program("redact", "Secrets");
    program.arg("Zq7xK2vW argument").run_well()
}

/// The secrets that are found, whatever encodes them.
fn traces_of_secrets() -> [Vec<u8>; 4] {
    [
        SECRET.bytes().collect(),
        SECRET.bytes().flat_map(|byte| [0, byte]).collect(),
        SECRET.bytes().flat_map(|byte| [byte, 0]).collect(),
        vec![0xa7; 4],
    ]
}

fn has(bytes: &[u8], what: &[u8]) -> bool {
    bytes.windows(what.len()).any(|window| window == what)
}

/// Redacts a dump and returns the copy.
fn redact(run: &Finished, dump: &str, arguments: &[&str]) -> Vec<u8> {
    well(
        run,
        &[&["redact", dump, "-o", "redacted.hprof"], arguments].concat(),
    );
    fs::read(run.path("redacted.hprof")).expect("the copy")
}

fn well(run: &Finished, arguments: &[&str]) -> String {
    let output = hprof(run, arguments);
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn hprof(run: &Finished, arguments: &[&str]) -> Output {
    Command::new(cli())
        .args(arguments)
        .current_dir(run.path(""))
        .output()
        .expect("hprof")
}
