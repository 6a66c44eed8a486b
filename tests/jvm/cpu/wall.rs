//! WALL SAMPLES: where threads are, running or not, on programs of `java-tests/wall` whose first comments tell the truth.

use std::collections::BTreeMap;
use std::process::Command;

use crate::harness::{Finished, Jvm, Program, any_jvm, cli};

/// The threads of `Waits` that stay in the method of their name, and their states there.
const STATES: [(&str, &[&str]); 14] = [
    ("sleeps", &["sleeping"]),
    ("parks", &["parked"]),
    ("waits", &["waiting"]),
    ("blocks", &["blocked"]),
    ("locks", &["parked"]),
    ("takes", &["parked"]),
    ("acquires", &["parked"]),
    ("joins", &["parked"]),
    ("writes", &["parked"]),
    ("awaits", &["parked"]),
    ("selects", &["native"]),
    ("reads", &["native"]),
    ("pipes", &["native"]),
    ("spins", &["running", "runnable"]),
];

/// A row of the section: the name of the thread, the stack with the innermost frame first, without lines, and the
/// number of samples.
struct Row {
    thread: String,
    stack: Vec<String>,
    samples: f64,
}

impl Row {
    fn is_in(&self, method: &str) -> bool {
        self.stack.iter().any(|frame| frame == method)
    }

    fn has_state(&self, states: &[&str]) -> bool {
        let is_frame = |state: &&str| self.stack[0] == format!("java.lang.Thread.<{state}>");
        states.iter().any(is_frame)
    }
}

/// Reads the last section of a file that was written with `thread=y`.
fn rows(text: &str) -> Vec<Row> {
    let mut names = BTreeMap::new();
    let mut traces: BTreeMap<&str, (String, Vec<String>)> = BTreeMap::new();
    let mut current = None;
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("THREAD START (obj=") {
            let (_, rest) = rest.split_once("id = ").expect("an id");
            let (id, rest) = rest.split_once(", name=\"").expect("a name");
            let (name, _) = rest.split_once("\", group=").expect("a group");
            names.insert(id, name.to_owned());
        } else if let Some(rest) = line.strip_prefix("TRACE ") {
            let (number, thread) = rest.split_once(':').expect("a number");
            let id = thread.trim_start_matches(" (thread=").trim_end_matches(')');
            let thread = names.get(id).cloned().unwrap_or_default();
            traces.insert(number, (thread, Vec::new()));
            current = Some(number);
        } else if let (Some(number), Some(frame)) = (current, line.strip_prefix('\t')) {
            let method = frame.split('(').next().unwrap_or_default().to_owned();
            traces.get_mut(number).expect("known").1.push(method);
        }
    }
    let (_, section) = text
        .rsplit_once("\nWALL SAMPLES BEGIN (")
        .expect("the section");
    let (section, _) = section.split_once("\nWALL SAMPLES END\n").expect("its end");
    let row = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (thread, stack) = traces.get(words[4]).expect("a trace").clone();
        Row {
            thread,
            stack,
            samples: words[3].parse().expect("a number"),
        }
    };
    section.lines().skip(2).map(row).collect()
}

fn sum<'a>(rows: impl Iterator<Item = &'a Row>) -> f64 {
    rows.map(|row| row.samples).sum()
}

/// Checks that threads spend nearly all of their time where they do.
fn check(what: &str, text: &str) {
    let rows = rows(text);
    let of = |thread: &'static str| rows.iter().filter(move |row| row.thread == thread);
    for (thread, states) in STATES {
        let method = format!("Waits.{thread}");
        let there = of(thread).filter(|row| row.is_in(&method) && row.has_state(states));
        let (there, all) = (sum(there), sum(of(thread)));
        println!("{what}: {thread} {:.3}", there / all);
        assert!(
            all >= 25.0 && there >= 0.8 * all,
            "{what}: {thread} {there} of {all}"
        );
    }
}

/// Checks shares of time against what the program has measured itself.
fn check_shares(what: &str, run: &Finished, text: &str) {
    let rows = rows(text);
    let of = |thread: &'static str| rows.iter().filter(move |row| row.thread == thread);
    let said = |name: &str| {
        let line = run.stdout.lines().find_map(|line| line.strip_prefix(name));
        line.expect(name).trim().parse::<f64>().expect("a number")
    };
    let spins = || of("spins").filter(|row| row.is_in("Waits.spins"));
    let running = sum(spins().filter(|row| row.has_state(&["running"]))) / sum(spins());
    let truth = said("cpu");
    assert!(
        (running - truth).abs() < 0.35,
        "{what}: running {running} {truth}"
    );
    let in_two = sum(of("turns").filter(|row| row.is_in("Waits.two")));
    let in_one = sum(of("turns").filter(|row| row.is_in("Waits.one")));
    let (two, truth) = (in_two / (in_one + in_two), said("two"));
    assert!((two - truth).abs() < 0.25, "{what}: two {two} {truth}");
}

const OPTIONS: &str = "wall=y,cpu=samples,thread=y,cutoff=0,verbose=n,file=x.txt";

fn threads_are_where_they_are(jvm: &Jvm) {
    let program = Program::java(jvm, OPTIONS, &[]).program("wall", "Waits");
    let run = program.arg("3000").run_well();
    let text = run.read("x.txt");
    check(&jvm.feature.to_string(), &text);
    check_shares(&jvm.feature.to_string(), &run, &text);
    assert!(text.contains("\nCPU SAMPLES BEGIN ("), "beside it");
}
on_every_jvm!(threads_are_where_they_are, and 25);

fn an_attached_agent_sees_threads_that_wait_already(jvm: &Jvm) {
    let program = Program::bare_java(jvm, &[]).program("wall", "Waits");
    let run = program.arg("5000").start();
    run.wait_for_output("ready");
    run.hprof_well("attach", &[OPTIONS]);
    std::thread::sleep(std::time::Duration::from_secs(2));
    run.hprof_well("stop", &[]);
    // A second session begins anew.
    let again = OPTIONS.replace("x.txt", "y.txt");
    run.hprof_well("attach", &[&again]);
    let run = run.wait();
    check(&jvm.feature.to_string(), &run.read("x.txt"));
    assert!(run.read("y.txt").contains("\nWALL SAMPLES BEGIN ("));
}
on_every_jvm!(an_attached_agent_sees_threads_that_wait_already, and 26);

/// `cpu=times` redefines the classes while the threads wait in methods of before.
fn methods_that_are_redefined_while_they_run_are_named(jvm: &Jvm) {
    let program = Program::bare_java(jvm, &[]).program("wall", "Waits");
    let run = program.arg("8000").start();
    run.wait_for_output("ready");
    let options = OPTIONS.replace("cpu=samples", "cpu=times");
    run.hprof_well("attach", &[&options]);
    let text = run.wait().read("x.txt");
    check(&jvm.feature.to_string(), &text);
    assert!(!text.contains("<unloaded-class>"), "{text}");
}
on_every_jvm!(methods_that_are_redefined_while_they_run_are_named, and 17);

/// The state is asked for after the stack: by then a thread that computed may sleep.
fn states_are_those_of_the_stacks(jvm: &Jvm) {
    let options = "wall=1ms,thread=y,cutoff=0,verbose=n,file=x.txt";
    let program = Program::java(jvm, options, &[]).program("wall", "Steps");
    let rows = rows(&program.arg("4000").run_well().read("x.txt"));
    let computes = rows.iter().filter(|row| row.is_in("Steps.computes"));
    let asleep = computes
        .clone()
        .filter(|row| row.has_state(&["sleeping", "parked", "waiting"]));
    assert!(sum(computes) >= 50.0);
    assert_eq!(sum(asleep), 0.0);
}
on_every_jvm!(states_are_those_of_the_stacks, and 28);

/// More threads than a round looks at: each still has all of its rounds, wherever it is.
#[test]
fn threads_that_rest_have_all_of_their_samples() {
    let options = "wall=5ms,thread=y,cutoff=0,verbose=n,file=x.txt";
    let program = Program::java(any_jvm(), options, &[]).program("wall", "Sleepers");
    let text = program.args(["200", "5000"]).run_well().read("x.txt");
    let rows = rows(&text);
    let mut threads: BTreeMap<&str, f64> = BTreeMap::new();
    for row in &rows {
        *threads.entry(&row.thread).or_default() += row.samples;
    }
    let sleepers = || {
        let sleepers = threads.iter();
        sleepers.filter(|(name, _)| name.starts_with("sleeps "))
    };
    assert_eq!(sleepers().count(), 199);
    // They began within a moment, long after the thread that started them and long before the end.
    let least = 0.8 * threads["works"];
    let most = threads["main"];
    assert!(least >= 0.4 * most, "{least} {most}");
    for (name, samples) in sleepers() {
        assert!(
            (least..=most).contains(samples),
            "{name}: {least} {samples} {most}"
        );
    }
    let asleep = rows.iter().filter(|row| row.has_state(&["sleeping"]));
    let asleep = sum(asleep.filter(|row| row.is_in("Sleepers.sleeps")));
    let all: f64 = sleepers().map(|(_, samples)| samples).sum();
    assert!(asleep >= 0.3 * all, "{asleep} of {all}");
}

fn a_virtual_thread_is_seen_on_its_carrier(jvm: &Jvm) {
    let program = Program::java(jvm, OPTIONS, &[]).program("wall", "Mounted21");
    let text = program.run_well().read("x.txt");
    let rows = rows(&text);
    let runs = |row: &&Row| row.is_in("Mounted21.spins") && row.has_state(&["running", "runnable"]);
    assert!(sum(rows.iter().filter(runs)) >= 20.0);
    let parked = rows.iter().filter(|row| row.is_in("Mounted21.parks"));
    assert!(sum(parked) <= 3.0, "it has no carrier");
    assert!(text.contains("(WALL SAMPLES have a virtual thread while a carrier runs it, not"));
}
on_every_jvm!(a_virtual_thread_is_seen_on_its_carrier from 21, and 25);

fn threads_without_a_cpu_are_told_from_those_that_run(jvm: &Jvm) {
    let options = OPTIONS.replace("wall=y", "wall=5ms");
    let program = Program::java(jvm, &options, &[]).program("wall", "Crowded");
    let run = program.arg("2500").run_well();
    let rows = rows(&run.read("x.txt"));
    let in_state = |state| {
        let rows = rows.iter().filter(|row| row.is_in("Crowded.spins"));
        sum(rows.filter(|row| row.has_state(&[state])))
    };
    let (running, runnable) = (in_state("running"), in_state("runnable"));
    let (share, truth) = (running / (running + runnable), run.printed("cpu"));
    println!("{}: running {share:.3}, truth {truth:.3}", jvm.feature);
    assert!((share - truth).abs() < 0.15, "{share} {truth}");
}
on_every_jvm!(threads_without_a_cpu_are_told_from_those_that_run, and 26);

/// Returns the time in which a virtual thread slept pinned, as the profile has it and as the program measured it, in ms.
fn pinned(jvm: &Jvm, how: &str) -> (f64, f64) {
    let options = "wall=10ms,cutoff=0,verbose=n,format=b,file=x.hprof";
    let native = ["-Djdk.reflect.useNativeAccessorOnly=true"];
    let program = Program::java(jvm, options, &native).program("wall", "Pinned21");
    let run = program.arg(how).run_well();
    let text = hprof(&["text", run.path("x.hprof").to_str().expect("a path")]);
    let rows = rows(&text);
    let is_pinned = |row: &&Row| {
        row.stack
            .get(1)
            .is_some_and(|f| f == "java.lang.Thread.<pinned>")
    };
    let there = rows.iter().filter(|row| row.is_in("Pinned21.sleeps"));
    let time = 10.0 * sum(there.filter(is_pinned));
    // The commands show the same time as a value of its own.
    let file = run.path("x.hprof");
    let json = hprof(&[
        "top",
        "--value",
        "pinned",
        "--json",
        file.to_str().expect("a path"),
    ]);
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(
        json["total"].as_f64().expect("a number") / 1e6,
        time,
        "{json}"
    );
    (time, run.printed("slept_ms"))
}

fn a_virtual_thread_that_keeps_its_carrier_is_pinned(jvm: &Jvm) {
    let monitors_pin = jvm.feature < 24;
    for (how, pins) in [("frame", true), ("monitor", monitors_pin), ("free", false)] {
        let (time, truth) = pinned(jvm, how);
        println!("{}: {how} {time} of {truth} ms", jvm.feature);
        match pins {
            true => assert!(
                time >= 0.7 * truth && time <= truth + 60.0,
                "{how} {time} {truth}"
            ),
            false => assert!(time <= 30.0, "{how} {time}"),
        }
    }
}
on_every_jvm!(a_virtual_thread_that_keeps_its_carrier_is_pinned from 21, and 28);

/// Runs `hprof` on a file.
fn hprof(args: &[&str]) -> String {
    let output = Command::new(cli()).args(args).output().expect("hprof");
    assert!(output.status.success(), "{args:?}: {output:?}");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn a_binary_file_has_the_same_and_other_tools_open_it() {
    let options = "wall=y,cutoff=0,verbose=n,file=x.hprof,logflags=4";
    let program = Program::java(any_jvm(), options, &[]).program("wall", "Waits");
    let run = program.arg("1500").run_well();
    let file = run.path("x.hprof");
    let file = file.to_str().expect("a path");
    hprof(&["check", file]);
    let text = hprof(&["text", file]);
    assert!(text.contains("\nWALL SAMPLES BEGIN (total = "), "{text}");
    std::fs::write(run.path("x.txt"), &text).expect("a file");
    let as_text = run.path("x.txt");
    let as_text = as_text.to_str().expect("a path");
    for of in [file, as_text] {
        let top = hprof(&["top", "--value", "wall", of]);
        assert!(top.contains("java.lang.Thread.<parked>"), "{top}");
        let tree = hprof(&["tree", "--value", "wall", of]);
        assert!(tree.contains("Waits.takes"), "{tree}");
    }
    assert!(
        !text.contains("CPU SAMPLES BEGIN ("),
        "nobody takes it for CPU time"
    );
    let same = hprof(&["diff", "--value", "wall", file, as_text]);
    assert!(!same.contains("Waits."), "{same}");
    let merged = run.path("merged.hprof");
    let merged = merged.to_str().expect("a path");
    hprof(&["merge", file, file, "-o", merged]);
    let total = |of: &str| {
        let json = hprof(&["top", "--value", "wall", "--json", of]);
        let (_, rest) = json.split_once("\"total\":").expect("a total");
        let digits: String = rest
            .trim_start()
            .chars()
            .take_while(char::is_ascii_digit)
            .collect();
        digits.parse::<u64>().expect("a number")
    };
    assert_eq!(total(merged), 2 * total(file));
}
