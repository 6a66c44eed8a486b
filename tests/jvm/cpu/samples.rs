//! `cpu=samples`: the threads and methods that are charged, and the effects of the options.

use std::fs::File;

use hprof_format::{FrameRecord, Item, Line, Reader, Record};

use crate::harness::{Jvm, Program, any_jvm};
use crate::profile::Profile;

fn profile(jvm: &crate::harness::Jvm, options: &str, name: &str) -> Profile {
    let run = Program::new(jvm, &format!("cpu=samples,file=x.txt,{options}"), name).run_well();
    Profile::parse(&run.read("x.txt"))
}

/// The share of the whole by which a method may deviate from the truth.
const TOLERANCE: f64 = 0.10;

on_every_jvm!(methods_share_as_they_use_and_a_blocked_thread_gets_nothing, and 17);

fn methods_share_as_they_use_and_a_blocked_thread_gets_nothing(jvm: &Jvm) {
    let profile = profile(jvm, "interval=5", "Spin");
    let (hot, warm) = (profile.share("Spin.hot"), profile.share("Spin.warm"));
    println!("{}: hot {hot:.3}, warm {warm:.3}", jvm.feature);
    assert!(
        (hot - 0.75).abs() <= TOLERANCE,
        "{}: hot {hot}",
        jvm.feature
    );
    assert!(
        (warm - 0.25).abs() <= TOLERANCE,
        "{}: warm {warm}",
        jvm.feature
    );
    let in_accept = profile.samples().rows.iter().filter(|row| {
        profile.traces[&row.trace]
            .frames
            .iter()
            .any(|frame| frame.contains("ServerSocket.accept("))
    });
    assert_eq!(
        in_accept.count(),
        0,
        "{}: a thread blocked in accept uses no CPU",
        jvm.feature
    );
}

on_every_jvm!(threads_are_charged_for_the_cpu_time_they_used, and 28);

fn threads_are_charged_for_the_cpu_time_they_used(jvm: &Jvm) {
    let run = Program::new(
        jvm,
        "cpu=samples,thread=y,interval=10,file=x.txt",
        "TwoBusy",
    )
    .run_well();
    let profile = Profile::parse(&run.read("x.txt"));
    for thread in ["left", "right"] {
        let (charged, used) = (
            f64::from(profile.count_of_thread(thread)) * 10.0,
            run.printed(thread),
        );
        println!(
            "{}: {thread} charged {charged} ms, used {used} ms",
            jvm.feature
        );
        assert!(
            (charged - used).abs() <= TOLERANCE * used,
            "{}: {thread}: {charged} for {used} ms",
            jvm.feature
        );
    }
    for idle in 0..10 {
        assert!(
            profile.count_of_thread(&format!("idle-{idle}")) <= 1,
            "{}: idle-{idle}",
            jvm.feature
        );
    }
}

#[test]
fn the_interval_is_cpu_time_a_sample() {
    for interval in [1, 50] {
        let options = format!("cpu=samples,interval={interval},thread=y,file=x.txt");
        let run = Program::new(any_jvm(), &options, "TwoBusy").run_well();
        let profile = Profile::parse(&run.read("x.txt"));
        let charged = f64::from(profile.count_of_thread("left") * interval);
        let used = run.printed("left");
        // A sample at either end, and the thread's work around the measured part.
        assert!(
            (charged - used).abs() <= f64::from(2 * interval) + TOLERANCE * used,
            "{charged} ms for {used} ms"
        );
    }
}

on_every_jvm!(two_lines_of_a_method_are_two_rows_and_without_line_numbers_one, and 25);

fn two_lines_of_a_method_are_two_rows_and_without_line_numbers_one(jvm: &Jvm) {
    let with = profile(jvm, "interval=5", "Lines");
    for line in ["\tLines.work(Lines.java:14)", "\tLines.work(Lines.java:15)"] {
        let rows = with
            .samples()
            .rows
            .iter()
            .filter(|row| with.traces[&row.trace].frames[0] == line[1..]);
        assert_eq!(rows.count(), 1, "{}: one row for {line}", jvm.feature);
    }
    let without = profile(jvm, "interval=5,lineno=n", "Lines");
    let rows: Vec<_> = without
        .samples()
        .rows
        .iter()
        .filter(|row| row.method == "Lines.work")
        .collect();
    assert_eq!(rows.len(), 1, "{}", jvm.feature);
    let frames = &without.traces[&rows[0].trace].frames;
    assert_eq!(
        frames[..],
        [
            "Lines.work(Lines.java:Unknown line)",
            "Lines.main(Lines.java:Unknown line)"
        ]
    );
}

#[test]
fn depth_cuts_traces() {
    for depth in [1, 5, 100] {
        let profile = profile(any_jvm(), &format!("depth={depth}"), "Deep");
        let hottest = &profile.traces[&profile.samples().rows[0].trace].frames;
        assert_eq!(hottest.len(), depth.min(42));
        assert!(
            hottest[0].starts_with("Deep.leaf(Deep.java:"),
            "{hottest:?}"
        );
        assert!(
            hottest[1..hottest.len().min(41)]
                .iter()
                .all(|frame| frame.starts_with("Deep.down(Deep.java:"))
        );
        assert!(depth < 42 || hottest[41].starts_with("Deep.main(Deep.java:"));
    }
}

#[test]
fn without_depth_there_are_no_samples() {
    let profile = profile(any_jvm(), "depth=0", "Deep");
    let samples = profile.samples();
    assert_eq!((samples.total, samples.rows.len()), (0, 0));
    assert_eq!(profile.traces.len(), 1, "the empty trace alone");
}

#[test]
fn the_cutoff_leaves_out_rows_but_not_their_samples() {
    let profile = profile(any_jvm(), "interval=2,cutoff=0.5", "Spin");
    let samples = profile.samples();
    assert_eq!(samples.rows.len(), 1, "hot alone has half of all");
    assert_eq!(samples.rows[0].method, "Spin.hot");
    assert!(samples.rows[0].count < samples.total);
}

on_every_jvm!(native_frames_are_told_in_binary_files_and_have_an_unknown_line_in_text, and 26);

fn native_frames_are_told_in_binary_files_and_have_an_unknown_line_in_text(jvm: &Jvm) {
    let options = "cpu=samples,interval=1,depth=8,format=b,file=x.hprof";
    let run = Program::new(jvm, options, "ShortThreads").run_well();
    let mut reader =
        Reader::new(File::open(run.path("x.hprof")).expect("it was written")).expect("a profile");
    let mut native = false;
    while let Some(entry) = reader.read().expect("a sound profile") {
        native |= matches!(
            entry.item,
            Item::Record(Record::Frame(FrameRecord {
                line: Line::Native,
                ..
            }))
        );
    }
    assert!(native, "{}", jvm.feature);

    let (_, text, _) = run.hprof("text", "x.hprof");
    let profile = Profile::parse(&text);
    let lines: Vec<&str> = profile
        .traces
        .values()
        .flat_map(|trace| &trace.frames)
        .filter_map(|frame| frame.strip_suffix(')')?.rsplit_once(':'))
        .map(|(_, line)| line)
        .collect();
    assert!(lines.contains(&"Unknown line"), "{}", jvm.feature);
    let known = |line: &&str| *line == "Unknown line" || line.parse::<u32>().is_ok();
    assert!(lines.iter().all(known), "{}: {lines:?}", jvm.feature);
}

on_every_jvm!(a_virtual_threads_samples_show_its_own_frames from 21, and 28);

fn a_virtual_threads_samples_show_its_own_frames(jvm: &Jvm) {
    let profile = profile(jvm, "depth=60", "VirtualThreads21");
    let share = profile.share("VirtualThreads21.burn");
    println!("{}: burn {share:.3}", jvm.feature);
    assert!(share > 0.7, "{}: {:?}", jvm.feature, profile.methods());
    let row = profile
        .samples()
        .rows
        .iter()
        .find(|row| row.method == "VirtualThreads21.burn")
        .expect("a row");
    let frames = &profile.traces[&row.trace].frames;
    let position = |method: &str| frames.iter().position(|frame| frame.starts_with(method));
    let (own, carrier) = (
        position("java.lang.VirtualThread.run("),
        position("java.util.concurrent.ForkJoinPool"),
    );
    assert!(
        own.is_some() && own < carrier,
        "{}: the carrier's frames come last: {frames:?}",
        jvm.feature
    );
}

on_every_jvm!(frames_that_a_virtual_thread_has_in_the_heap_are_shown from 21, and 25);

fn frames_that_a_virtual_thread_has_in_the_heap_are_shown(jvm: &Jvm) {
    let options = "cpu=samples,engine=async,interval=4,depth=400,cutoff=0,file=x.txt";
    let run = Program::new(jvm, options, "Resumed21")
        .arg("500")
        .run_well();
    let profile = Profile::parse(&run.read("x.txt"));
    let spinning = profile.traces.values().map(|trace| &trace.frames);
    let mut spinning = spinning.filter(|frames| frames[0].starts_with("Resumed21.spin("));
    let frames = spinning.next().expect("a stack");
    let own = frames[1..]
        .iter()
        .take_while(|frame| frame.starts_with("Resumed21.outer("))
        .count();
    println!("{}: {own} frames of {}", jvm.feature, frames.len());
    assert!((1..200).contains(&own), "{}: {frames:#?}", jvm.feature);
    let next = frames.get(1 + own).map(String::as_str);
    let is_shown = next.is_some_and(|it| it.starts_with("java.lang.Thread.<frames-in-heap>("));
    assert!(is_shown, "{}: {frames:#?}", jvm.feature);
}
