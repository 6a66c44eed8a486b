//! Help for users who misspell a name or give the wrong file, and comparisons within one file.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Output;

use hprof_format::{
    BasicType, BinaryEncoder, ClassDump, ClassSerial, ControlSettingsRecord, Encoder,
    HeapDumpEndRecord, HeapDumpSegmentRecord, HeapRecord, LoadClassRecord, Micros, Millis,
    ObjectId, Record, Root, StringId, StringRecord, TextEncoder, ThreadSerial, TraceRecord,
    TraceSerial,
};
use hprof_testing::{empty_folder, run_in};

const TRACE: TraceSerial = TraceSerial(300_000);
const KEPT: ObjectId = ObjectId(0x700);
const HOLDER: ObjectId = ObjectId(0x708);

fn hprof(folder: &Path, arguments: &[&str]) -> Output {
    run_in(folder, env!("CARGO_BIN_EXE_hprof"), arguments)
}

fn answer(folder: &Path, arguments: &[&str]) -> String {
    let output = hprof(folder, arguments);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {stderr}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// The one line of a refusal.
fn refusal(folder: &Path, arguments: &[&str]) -> String {
    let output = hprof(folder, arguments);
    assert_eq!(output.status.code(), Some(1), "{arguments:?}");
    assert!(output.stdout.is_empty(), "{arguments:?}");
    let stderr = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    stderr.trim_end().to_owned()
}

/// Returns a file with a heap dump for each number: a list of so many `Alloc$Kept`, held by a root, and a `Holder` with
/// one more.
fn dumps(lengths: &[u64]) -> Vec<u8> {
    let string = |id, text: &'static str| {
        Record::String(StringRecord {
            id: StringId(id),
            text: text.as_bytes().into(),
        })
    };
    let load = |serial, class_object, name| {
        Record::LoadClass(LoadClassRecord {
            serial: ClassSerial(serial),
            class_object,
            trace: TRACE,
            name: StringId(name),
        })
    };
    let mut records = vec![
        Record::ControlSettings(ControlSettingsRecord { flags: 0, depth: 4 }),
        Record::Trace(TraceRecord {
            serial: TRACE,
            thread: ThreadSerial(0),
            frames: [][..].into(),
        }),
        string(1, "app/Alloc$Kept"),
        string(2, "next"),
        string(3, "app/Holder"),
        load(100_001, KEPT, 1),
        load(100_002, HOLDER, 3),
    ];
    for &length in lengths {
        records.push(Record::HeapDumpSegment(HeapDumpSegmentRecord {
            content: dump(length).into(),
        }));
        records.push(Record::HeapDumpEnd(HeapDumpEndRecord));
    }
    let mut file = Vec::new();
    let mut encoder = BinaryEncoder::new();
    encoder.start(Millis(1_795_171_151_000), &mut file);
    for record in &records {
        encoder.record(Micros(0), record, &mut file);
    }
    file
}

fn dump(length: u64) -> Vec<u8> {
    let mut content = Vec::new();
    for class in [KEPT, HOLDER] {
        let class = HeapRecord::Class(ClassDump {
            class,
            trace: TRACE,
            instance_size: 8,
            fields: [(StringId(2), BasicType::Object)][..].into(),
            ..ClassDump::default()
        });
        class.write(&mut content);
    }
    let mut put = |object, class, next: u64| {
        let fields = next.to_be_bytes();
        let instance = HeapRecord::Instance {
            object: ObjectId(object),
            trace: TRACE,
            class,
            fields: &fields,
        };
        instance.write(&mut content);
    };
    let place = |number: u64| 0x1000 + 8 * number;
    for number in 0..length {
        let next = if number + 1 < length {
            place(number + 1)
        } else {
            0
        };
        put(place(number), KEPT, next);
    }
    put(0x800, HOLDER, 0x808);
    put(0x808, KEPT, 0);
    for object in [place(0), 0x800] {
        let root = HeapRecord::Root {
            object: ObjectId(object),
            root: Root::StickyClass,
        };
        root.write(&mut content);
    }
    content
}

/// Returns a text profile with a dump for each number of samples.
fn samples(counts: &[u32]) -> String {
    let date = "Fri Nov 20 10:39:12 2026";
    let mut text = format!("JAVA PROFILE 1.0.1, created {date}\n\nx\n--------\n\n");
    text.push_str("TRACE 300001:\n\tMain.main(Main.java:1)\n");
    for count in counts {
        text.push_str(&format!(
            "CPU SAMPLES BEGIN (total = {count}) {date}\nrank   self  accum   count trace method\n   \
             1 100.00% 100.00% {count:7} 300001 Main.main\nCPU SAMPLES END\n"
        ));
    }
    text
}

#[test]
fn the_options_of_the_agent_can_be_asked_for() {
    let folder = empty_folder!("guidance/options");
    let all = answer(&folder, &["options"]);
    assert!(all.contains("\ndepth=<size> "), "{all}");
    assert!(answer(&folder, &["help", "agent"]).contains(&all));
    let one = answer(&folder, &["options", "clock"]);
    assert_eq!(
        one,
        "\
clock=cpu|wall|samples|auto
    what cpu=times|old measures
    values:  cpu|wall|samples|auto
    default: cpu
    for:     cpu=times or cpu=old

What `cpu=times|old` measures: CPU time (`cpu`), elapsed time (`wall`), or CPU time by `samples`. `auto`: `samples` where that works, else `cpu`.
"
    );
    assert_eq!(
        refusal(&folder, &["options", "dept"]),
        "hprof: unknown option dept: did you mean depth? 'help' lists the options"
    );
}

#[test]
fn a_misspelt_name_gets_a_suggestion() {
    let folder = empty_folder!("guidance/misspelt");
    fs::write(folder.join("x.hprof"), dumps(&[3])).expect("a file");
    let output = hprof(&folder, &["repotr", "x.hprof"]);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("'report'"), "{said}");
    for (given, meant) in [
        ("Kept", "app.Alloc$Kept"),
        ("kept", "app.Alloc$Kept"),
        ("app.Alloc$Ketp", "app.Alloc$Kept"),
        ("Hodler", "app.Holder"),
    ] {
        for command in ["who", "paths"] {
            let arguments = ["heap", command, "x.hprof", "--class", given];
            assert_eq!(
                refusal(&folder, &arguments),
                format!(
                    "hprof: x.hprof: there is no class {given} in the dump; did you mean {meant}?"
                )
            );
        }
    }
    let unlike = refusal(&folder, &["heap", "who", "x.hprof", "--class", "Elephants"]);
    assert_eq!(
        unlike,
        "hprof: x.hprof: there is no class Elephants in the dump"
    );
}

#[test]
fn the_wrong_kind_of_file_names_the_command_that_was_meant() {
    let folder = empty_folder!("guidance/kinds");
    fs::write(folder.join("heap.hprof"), dumps(&[3])).expect("a file");
    fs::write(folder.join("cpu.txt"), samples(&[10])).expect("a file");
    let said = refusal(&folder, &["top", "heap.hprof"]);
    assert!(said.contains("`hprof heap leaks`"), "{said}");
    let said = refusal(&folder, &["heap", "summary", "cpu.txt"]);
    assert!(
        said.contains("a profile as text") && said.contains("`hprof top`"),
        "{said}"
    );
}

#[test]
fn two_dumps_of_one_file_are_compared_and_one_is_not_with_itself() {
    let folder = empty_folder!("guidance/diff");
    fs::write(folder.join("x.hprof"), dumps(&[3, 5, 9])).expect("a file");
    fs::write(folder.join("x.txt"), samples(&[10, 30])).expect("a file");
    let heap = |files: &[&'static str], numbers: &[&'static str]| {
        let options = numbers.iter().flat_map(|number| ["--dump", number]);
        let mut arguments = vec!["heap", "diff", "--by", "class", "--json"];
        arguments.extend(files);
        arguments.extend(options);
        arguments
    };
    // Each dump has one more, which the holder has.
    let changes = |arguments: &[&str]| {
        let answer: serde_json::Value =
            serde_json::from_str(&answer(&folder, arguments)).expect("JSON");
        let change = &answer[0]["changes"][0];
        assert_eq!(change["name"], "app.Alloc$Kept", "{answer}");
        (change["objects"][0].as_u64(), change["objects"][1].as_u64())
    };
    assert_eq!(
        changes(&heap(&["x.hprof"], &["1", "3"])),
        (Some(4), Some(10))
    );
    assert_eq!(
        changes(&heap(&["x.hprof", "x.hprof"], &["2", "1"])),
        (Some(6), Some(4))
    );
    fs::copy(folder.join("x.hprof"), folder.join("y.hprof")).expect("a copy");
    fs::hard_link(folder.join("x.hprof"), folder.join("link.hprof")).expect("a link");
    answer(&folder, &heap(&["x.hprof", "y.hprof"], &["1"]));
    for arguments in [
        heap(&["x.hprof"], &[]),
        heap(&["x.hprof"], &["1"]),
        heap(&["x.hprof", "x.hprof"], &["1"]),
        heap(&["x.hprof", "link.hprof"], &["2", "2"]),
    ] {
        let said = refusal(&folder, &arguments);
        assert!(said.contains("compared with itself"), "{said}");
    }
    let arguments = ["diff", "x.txt", "--section", "1", "--section", "2"];
    let said = answer(&folder, &arguments);
    assert!(said.contains("from 10 samples to 30 samples"), "{said}");
    for arguments in [&["diff", "x.txt", "x.txt"][..], &arguments[..4]] {
        let said = refusal(&folder, arguments);
        assert!(said.contains("compared with itself"), "{said}");
    }
}

#[test]
fn paths_over_the_same_classes_are_one() {
    let folder = empty_folder!("guidance/paths");
    fs::write(folder.join("x.hprof"), dumps(&[40])).expect("a file");
    let arguments = ["heap", "paths", "x.hprof", "--class", "app.Alloc$Kept"];
    let said = answer(&folder, &arguments);
    assert_eq!(
        said.matches("(sticky class)").count(),
        2,
        "the list and the holder: {said}"
    );
    assert!(
        said.contains("  and 39 more by paths over the same classes\n"),
        "{said}"
    );
    let json: serde_json::Value =
        serde_json::from_str(&answer(&folder, &[&arguments[..], &["--json"]].concat()))
            .expect("JSON");
    let alike: Vec<u64> = json
        .as_array()
        .expect("paths")
        .iter()
        .map(|path| path["alike"].as_u64().unwrap_or(0))
        .collect();
    assert_eq!(alike, [39, 0]);
}

#[test]
fn a_report_leaves_out_with_a_word_what_has_just_begun() {
    let folder = empty_folder!("guidance/begun");
    fs::write(folder.join("old.txt"), samples(&[10])).expect("a file");
    fs::write(folder.join("new.txt"), samples(&[])).expect("a file");
    let output = hprof(&folder, &["report", "old.txt", "new.txt", "-o", "x.html"]);
    let said = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(output.status.success(), "{said}");
    assert!(
        said.starts_with("hprof: left out, no dump has been written yet: new.txt: ")
            && said.lines().count() == 1,
        "{said}"
    );
    assert!(folder.join("x.html").exists());
    refusal(&folder, &["report", "new.txt", "-o", "y.html"]);
    assert!(!folder.join("y.html").exists());
}

#[test]
fn facts_about_the_run_are_the_same_in_both_formats() {
    let facts = || {
        vec![
            ("JDK", "25 (Some VM)".to_owned()),
            ("Program", "app.Main --a: b \u{1b}[2J".to_owned()),
        ]
    };
    let records = [
        Record::ControlSettings(ControlSettingsRecord { flags: 0, depth: 4 }),
        Record::String(StringRecord {
            id: StringId::note(0),
            text: b"a note".into(),
        }),
    ];
    let write = |encoder: &mut dyn Encoder| {
        let mut file = Vec::new();
        encoder.start(Millis(1_795_171_151_000), &mut file);
        for record in &records {
            encoder.record(Micros(0), record, &mut file);
        }
        file
    };
    let folder = empty_folder!("guidance/facts");
    let text = write(&mut TextEncoder::of_run(facts()));
    let binary = write(&mut BinaryEncoder::of_run(facts()));
    fs::write(folder.join("x.hprof"), binary).expect("a file");
    let printed = answer(&folder, &["text", "x.hprof"]);
    assert_eq!(printed, String::from_utf8(text).expect("UTF-8"));
    let lines = "\nJDK:        25 (Some VM)\nProgram:    app.Main --a: b ?[2J\n\n";
    assert!(printed.contains(lines), "{printed}");
    answer(&folder, &["check", "--strict", "x.hprof"]);
}

#[test]
fn no_contention_says_what_cannot_be_seen() {
    let folder = empty_folder!("guidance/contention");
    let date = "Fri Nov 20 10:39:12 2026";
    let text = format!(
        "JAVA PROFILE 1.0.1, created {date}\n\nx\n--------\n\n\
         MONITOR TIME BEGIN (total = 0 ms) {date}\n\
         rank   self  accum   count trace monitor\nMONITOR TIME END\n"
    );
    fs::write(folder.join("x.txt"), text).expect("a file");
    let said = answer(&folder, &["top", "x.txt"]);
    assert!(
        said.contains("\n") && said.contains("java.util.concurrent"),
        "{said}"
    );
}

#[test]
fn manual_pages_get_their_folder() {
    let folder = empty_folder!("guidance/manual");
    answer(&folder, &["manual", "share/man1"]);
    assert!(folder.join("share/man1/hprof-options.1").exists());
    assert!(answer(&folder, &["help"]).contains("\n  manual "));
}

#[test]
fn a_receiver_makes_its_folder_for_its_user_alone() {
    let folder = empty_folder!("guidance/recv");
    let file = folder.join("taken");
    fs::write(&file, "").expect("a file");
    let said = refusal(&folder, &["recv", "--dir", "taken/x"]);
    assert!(said.contains("Not a directory"), "{said}");
    // The address cannot be listened on, so that it ends at once.
    hprof(&folder, &["recv", "--dir", "a/b", "-l", "203.0.113.1:1"]);
    let made = fs::metadata(folder.join("a/b")).expect("the folder");
    assert_eq!(made.permissions().mode() & 0o777, 0o700);
}
