//! The binary format on real programs, read by independent readers.

use std::process::Command;

use jvm_hprof::{IdSize, RecordTag};

use crate::harness::{Jvm, Program, any_jvm, reader};
use crate::profile::Profile;

const BINARY: &str = "cpu=samples,format=b,interval=5,file=x.hprof";

on_every_jvm!(check_and_text_read_what_the_agent_writes, and 17);

fn check_and_text_read_what_the_agent_writes(jvm: &Jvm) {
    let run = Program::new(jvm, BINARY, "Spin").run_well();
    let profile = Profile::parse(&run.checked_text("x.hprof"));
    assert!(
        (profile.share("Spin.hot") - 0.75).abs() < 0.1,
        "{}: {:?}",
        jvm.feature,
        profile.methods()
    );
    let (_, summary, _) = run.hprof("check", "x.hprof");
    for kind in [
        "STRING",
        "LOAD CLASS",
        "FRAME",
        "TRACE",
        "START THREAD",
        "END THREAD",
        "CPU SAMPLES",
        "CONTROL SETTINGS",
    ] {
        assert!(
            summary.contains(kind),
            "{}: {kind} in {summary}",
            jvm.feature
        );
    }
}

on_every_jvm!(jvm_hprof_reads_it, and 28);

fn jvm_hprof_reads_it(jvm: &Jvm) {
    let run = Program::new(jvm, BINARY, "Spin").run_well();
    let bytes = std::fs::read(run.path("x.hprof")).expect("the file");
    let file = jvm_hprof::parse_hprof(&bytes).expect("a header");
    assert!(matches!(file.header().id_size(), IdSize::U64));
    assert_eq!(file.header().label().expect("UTF-8"), "JAVA PROFILE 1.0.2");
    let mut methods = std::collections::HashSet::new();
    let mut names = std::collections::HashMap::new();
    for record in file.records_iter() {
        let record = record.expect("a record");
        match record.tag() {
            RecordTag::Utf8 => {
                let string = record.as_utf_8().expect("its tag").expect("its body");
                names.insert(
                    string.name_id(),
                    string.text_as_str().expect("UTF-8").to_owned(),
                );
            }
            RecordTag::StackFrame => {
                let frame = record.as_stack_frame().expect("its tag").expect("its body");
                assert!(names.contains_key(&frame.method_signature_id()));
                methods.insert(names[&frame.method_name_id()].clone());
            }
            RecordTag::StackTrace => {
                let trace = record.as_stack_trace().expect("its tag").expect("its body");
                assert!(trace.frame_ids().all(|frame| frame.is_ok()));
            }
            RecordTag::LoadClass => {
                let class = record.as_load_class().expect("its tag").expect("its body");
                assert!(names.contains_key(&class.class_name_id()));
            }
            _ => {}
        }
    }
    // Methods of the JDK may use too little CPU to be sampled.
    for method in ["main", "hot", "warm"] {
        assert!(methods.contains(method), "{}: {methods:?}", jvm.feature);
    }
}

on_every_jvm!(hprof_slurp_reads_it, and 25);

fn hprof_slurp_reads_it(jvm: &Jvm) {
    let Some(slurp) = reader("HPROF_SLURP") else {
        return;
    };
    let run = Program::new(jvm, BINARY, "Spin").run_well();
    let output = Command::new(&slurp)
        .arg(run.path("x.hprof"))
        .output()
        .expect("hprof-slurp");
    let (stdout, stderr) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(
        output.status.success(),
        "{}: {stdout} {stderr}",
        jvm.feature
    );
    assert!(stdout.contains("at Spin.hot (Spin.java:"), "{stdout}");
}

#[test]
fn hprof2flamegraph_reads_the_text() {
    let Some(collapse) = reader("HPROF2FLAMEGRAPH") else {
        return;
    };
    for options in ["", ",thread=y", ",lineno=n", ",thread=y,lineno=n,depth=100"] {
        for (program, hot) in [
            ("Spin", "Spin.hot"),
            ("ShortThreads", "java.lang.Thread.<unsampled>"),
        ] {
            let run = Program::new(
                any_jvm(),
                &format!("cpu=samples,file=x.txt{options}"),
                program,
            )
            .run_well();
            let output = Command::new(&collapse)
                .arg(run.path("x.txt"))
                .output()
                .expect("stackcollapse-hprof");
            let stacks = String::from_utf8_lossy(&output.stdout);
            assert!(
                output.status.success(),
                "{options}: {}",
                String::from_utf8_lossy(&output.stderr)
            );
            let counted: u32 = stacks
                .lines()
                .filter_map(|line| line.rsplit_once(' ')?.1.parse::<u32>().ok())
                .sum();
            assert_eq!(
                counted,
                Profile::parse(&run.read("x.txt")).samples().total,
                "{options}: every sample is there"
            );
            assert!(
                stacks.lines().any(|line| line.contains(hot)),
                "{options}: {stacks}"
            );
            if options.contains("thread=y") {
                assert!(
                    stacks.lines().all(|line| line.starts_with("Thread 20")),
                    "{options}: {stacks}"
                );
            }
        }
    }
}
