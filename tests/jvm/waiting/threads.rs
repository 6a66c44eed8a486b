//! Threads: named correctly, begun and ended once, without the agent's, and many of them.

use std::collections::BTreeSet;
use std::process::Command;

use crate::harness::{Jvm, Program, cli};
use crate::profile::Profile;

on_every_jvm!(two_thousand_short_threads, and 26);

fn two_thousand_short_threads(jvm: &Jvm) {
    let run = Program::new(
        jvm,
        "cpu=samples,thread=y,interval=10,file=x.txt",
        "ShortThreads",
    )
    .run_well();
    assert!(run.stdout.contains("threads 2000"));
    let profile = Profile::parse(&run.read("x.txt"));
    let short: BTreeSet<u32> = profile
        .threads
        .iter()
        .filter(|thread| thread.name.starts_with("short-"))
        .map(|thread| thread.id)
        .collect();
    assert_eq!(short.len(), 2_000, "{}", jvm.feature);
    let ended: BTreeSet<u32> = profile.ended.iter().copied().collect();
    assert_eq!(
        ended.len(),
        profile.ended.len(),
        "{}: each ends once",
        jvm.feature
    );
    assert!(short.is_subset(&ended), "{}", jvm.feature);

    // None of them lives for an interval, yet together they are charged for what they used.
    let rows = profile.samples().rows.iter();
    let of_short = rows.filter(|row| {
        profile.traces[&row.trace]
            .thread
            .is_some_and(|id| short.contains(&id))
    });
    let charged = f64::from(of_short.map(|row| row.count).sum::<u32>() * 10);
    let used = run.printed("cpu_ms");
    println!("{}: charged {charged} ms, used {used} ms", jvm.feature);
    assert!(
        (charged / used - 1.0).abs() < 0.25,
        "{}: charged {charged} ms, used {used} ms",
        jvm.feature
    );
}

on_every_jvm!(main_is_the_first_and_no_thread_is_ours, and 17);

fn main_is_the_first_and_no_thread_is_ours(jvm: &Jvm) {
    let run = Program::new(jvm, "cpu=samples,file=x.txt", "Hello").run_well();
    let profile = Profile::parse(&run.read("x.txt"));
    assert_eq!(
        (
            profile.threads[0].id,
            &*profile.threads[0].name,
            &*profile.threads[0].group
        ),
        (200_001, "main", "main")
    );
    let names: Vec<&str> = profile.threads.iter().map(|thread| &*thread.name).collect();
    assert!(
        !names.iter().any(|name| name.starts_with("HPROF")),
        "{names:?}"
    );
    for system in ["Reference Handler", "Finalizer", "Signal Dispatcher"] {
        let found: Vec<_> = profile
            .threads
            .iter()
            .filter(|thread| thread.name == system)
            .collect();
        assert!(
            found.len() == 1 && found[0].group == "system",
            "{}: {system}: {found:?}",
            jvm.feature
        );
    }
    let ids: BTreeSet<u32> = profile.threads.iter().map(|thread| thread.id).collect();
    assert_eq!(
        ids.len(),
        profile.threads.len(),
        "{}: each is announced once",
        jvm.feature
    );
}

const WITH_LOADER: &[&str] = &["-Djava.system.class.loader=Loader"];

on_every_jvm!(the_agent_asks_no_class_loader_of_the_program, and 25);

/// On a thread that runs no Java code, JNI's FindClass calls the system loader, which initializes what it finds: code of the
/// program, with its locks.
fn the_agent_asks_no_class_loader_of_the_program(jvm: &Jvm) {
    for options in [
        "heap=all,blackbox=y,file=x.txt",
        "heap=sites,sample=512k,monitor=y,native=malloc,blackbox=y,file=x.txt",
        "cpu=samples,wall=20ms,monitor=y,blackbox=y,file=x.txt",
        "cpu=times,blackbox=y,file=x.txt",
    ] {
        let program = Program::java(jvm, options, WITH_LOADER);
        let run = program.program("loader", "Loaded").run_well();
        assert!(
            run.stdout.ends_with("asked 0\n"),
            "{options}: {}",
            run.stdout
        );
    }
}

on_every_jvm!(an_attached_agent_asks_no_class_loader_of_the_program, and 26);

fn an_attached_agent_asks_no_class_loader_of_the_program(jvm: &Jvm) {
    let program = Program::bare_java(jvm, WITH_LOADER).program("loader", "Loaded");
    let run = program.arg("attached").start();
    run.wait_for_output("ready");
    run.hprof_well("memory", &[]);
    for options in [
        "heap=sites,file=x1.txt",
        "cpu=samples,monitor=y,blackbox=y,file=x2.txt",
    ] {
        run.hprof_well("attach", &[options]);
        run.hprof_well("memory", &[]);
        run.hprof_well("stop", &[]);
    }
    std::fs::write(run.path("end"), "").expect("a file");
    let run = run.wait();
    assert!(run.stdout.ends_with("asked 0\n"), "{}", run.stdout);
}

on_every_jvm!(a_renamed_thread_has_both_names, and 25);

fn a_renamed_thread_has_both_names(jvm: &Jvm) {
    for file in ["x.txt", "x.hprof"] {
        let format = if file == "x.txt" { "a" } else { "b" };
        let options = format!("cpu=samples,thread=y,format={format},file={file}");
        let run = Program::new(jvm, &options, "Renamed").run_well();
        let output = Command::new(cli())
            .args(["top", "--by", "thread"])
            .arg(run.path(file))
            .output();
        let shown = String::from_utf8(output.expect("hprof").stdout).expect("UTF-8");
        let names: BTreeSet<&str> = shown
            .lines()
            .filter_map(|line| Some(line.split("  ").last()?.trim()))
            .collect();
        for name in ["last-a (was first-a)", "last-b (was first-b)", "kept-c"] {
            assert!(names.contains(name), "{}: {name} in {shown}", jvm.feature);
        }
        assert!(!shown.contains("between"), "{}: {shown}", jvm.feature);
    }
}

on_every_jvm!(names_of_any_kind_survive, and 28);

fn names_of_any_kind_survive(jvm: &Jvm) {
    let run = Program::new(jvm, "cpu=samples,thread=y,file=x.txt", "Names").run_well();
    let profile = Profile::parse(&run.read("x.txt"));
    // Control characters cannot forge a line of the text format.
    for name in [
        "say \"hi\"",
        "back\\slash",
        "two?lines",
        "a?tab",
        "gr\u{fc}\u{df} dich \u{65e5}\u{672c}",
        "smile \u{1f600} end",
    ] {
        assert!(
            profile.count_of_thread(name) > 0,
            "{}: {name:?} in {:?}",
            jvm.feature,
            profile.threads
        );
    }
    assert!(
        profile.count("Names.gr\u{fc}\u{df}e") > 0,
        "{}",
        jvm.feature
    );

    let run = Program::new(jvm, "cpu=samples,format=b,file=x.hprof", "Names").run_well();
    let bytes = std::fs::read(run.path("x.hprof")).expect("the file");
    let holds = |text: &str| {
        bytes
            .windows(text.len())
            .any(|window| window == text.as_bytes())
    };
    assert!(
        holds("two\nlines") && holds("smile \u{1f600} end"),
        "the binary format keeps them as UTF-8"
    );
}
