//! Consecutive profiles in one VM: each is exact, and nothing is left behind.

use std::fs;

use super::{EXACT, busy, end, go, made, profile, steps, text, without_warning};
use crate::cells::Cell;
use crate::harness::{Jvm, Program, Running, jvms, skip};
use crate::profile::Profile;

const STEPS: [&str; 7] = [
    "make:77",
    "make:5000",
    "thread:3000",
    "mixed:20000",
    "busy:400",
    "busy:300",
    "make:1234",
];

on_paired_cells!(each_profile_counts_what_happens_while_it_runs, row 0);

fn each_profile_counts_what_happens_while_it_runs(cell: &Cell) {
    let run = steps(cell.jvm, &cell.vm_options(), &STEPS);
    go(&run, 1);
    run.hprof_well("attach", &[&format!("{EXACT}a.txt")]);
    (2..=4).for_each(|step| go(&run, step));
    run.hprof_well("stop", &[]);
    run.hprof_well("attach", &["cpu=samples,interval=5,verbose=n,file=b.txt"]);
    go(&run, 5);
    run.hprof_well("dump", &[]);
    go(&run, 6);
    run.hprof_well("stop", &[]);
    run.hprof_well("attach", &[&format!("{EXACT}c.txt")]);
    go(&run, 7);
    run.hprof_well("stop", &[]);

    let (first, third) = (profile(&run, "a.txt"), profile(&run, "c.txt"));
    let samples = profile(&run, "b.txt");
    let run = end(run);
    assert_eq!(made(&first, "Steps$Thing", "Steps.make"), 8000, "{cell}");
    let mixed = ["Steps$Thing", "Steps$Thing[]"].map(|class| made(&first, class, "Steps.mixed"));
    assert_eq!(mixed, [20_000, 20_000], "{cell}");
    assert_eq!(made(&third, "Steps$Thing", "Steps.make"), 1234, "{cell}");
    assert_eq!(made(&third, "Steps$Thing", "Steps.mixed"), 0, "{cell}");
    let [on_request, at_the_end] = &samples.dumps[..] else {
        panic!("{cell}: {} dumps", samples.dumps.len())
    };
    for dump in [on_request, at_the_end] {
        let busy = busy(&samples, dump);
        assert!(busy > 0.5, "{cell}: {dump:?}");
    }
    // As without the agent.
    let said: String = (1..=7).map(|step| format!("done {step}\n")).collect();
    assert_eq!(run.stdout, format!("ready\n{said}end\n"), "{cell}");
    assert_eq!(without_warning(&run.stderr), "", "{cell}");
}

on_every_jvm!(an_exact_profile_after_a_sampled_one_is_exact, and 28);

fn an_exact_profile_after_a_sampled_one_is_exact(jvm: &Jvm) {
    let run = steps(jvm, &[], &["make:3000", "make:4000"]);
    run.hprof_well("attach", &["heap=sites,sample=4m,verbose=n,file=a.txt"]);
    go(&run, 1);
    run.hprof_well("stop", &[]);
    run.hprof_well("attach", &[&format!("{EXACT}b.txt")]);
    go(&run, 2);
    run.hprof_well("stop", &[]);
    let exact = profile(&run, "b.txt");
    end(run);
    assert_eq!(
        made(&exact, "Steps$Thing", "Steps.make"),
        4000,
        "{}",
        jvm.feature
    );
}

on_every_jvm!(what_lives_is_known_too, and 25);

fn what_lives_is_known_too(jvm: &Jvm) {
    let run = steps(jvm, &[], &["make:100", "make:200"]);
    run.hprof_well("attach", &[&format!("{EXACT}a.txt")]);
    go(&run, 1);
    go(&run, 2);
    run.hprof_well("stop", &[]);
    let text = text(&run, "a.txt");
    let profile = Profile::parse(&text);
    end(run);
    let things = crate::heap::sites::count(&profile, profile.one_sites(), "Steps$Thing", "");
    assert_eq!(
        (things.allocated, things.live),
        (300, 200),
        "{}: {text}",
        jvm.feature
    );
}

on_every_jvm!(profiles_start_and_stop_under_load, and 26);

fn profiles_start_and_stop_under_load(jvm: &Jvm) {
    let run = steps(jvm, &[], &["load:4", "make:2000", "make:10"]);
    go(&run, 1);
    for round in 0..32 {
        let mode = ["heap=sites", "cpu=samples,interval=1"][round % 2];
        let options = format!(
            "{mode},format=b,thread=y,verbose=n,force=y,file={}.hprof",
            round % 4
        );
        run.hprof_well("attach", &[&options]);
        run.hprof_well("dump", &[]);
        run.hprof_well("stop", &[]);
    }
    run.hprof_well("attach", &[&format!("{EXACT}x.txt")]);
    go(&run, 2);
    run.hprof_well("stop", &[]);
    let exact = profile(&run, "x.txt");
    go(&run, 3);
    let run = end(run);
    assert_eq!(
        made(&exact, "Steps$Thing", "Steps.make"),
        2000,
        "{}",
        jvm.feature
    );
    (0..4).for_each(|round| {
        run.checked_text(&format!("{round}.hprof"));
    });
    assert_eq!(without_warning(&run.stderr), "", "{}", jvm.feature);
}

on_every_jvm!(the_vm_may_end_while_a_profile_runs, and 17);

fn the_vm_may_end_while_a_profile_runs(jvm: &Jvm) {
    let run = steps(jvm, &[], &["make:10", "busy:200"]);
    run.hprof_well(
        "attach",
        &["heap=sites,cpu=samples,interval=5,cutoff=0,format=b,file=x.hprof"],
    );
    go(&run, 1);
    go(&run, 2);
    let run = end(run);
    let profile = Profile::parse(&run.checked_text("x.hprof"));
    assert_eq!(
        made(&profile, "Steps$Thing", "Steps.make"),
        10,
        "{}",
        jvm.feature
    );
    assert!(busy(&profile, profile.samples()) > 0.0, "{}", jvm.feature);
}

on_every_jvm!(rounds_work_with_the_vms_own_checks_on, and 28);

fn rounds_work_with_the_vms_own_checks_on(jvm: &Jvm) {
    let run = steps(jvm, &["-Xcheck:jni"], &["make:100"]);
    for round in 0..3 {
        run.hprof_well(
            "attach",
            &["heap=sites,cpu=samples,verbose=n,force=y,file=x.txt"],
        );
        run.hprof_well("dump", &[]);
        run.hprof_well("stop", &[]);
        if round == 1 {
            go(&run, 1);
        }
    }
    let run = end(run);
    let said = run.stdout + &without_warning(&run.stderr);
    assert!(
        !said.contains("WARNING") && !said.contains("FATAL"),
        "{}: {said}",
        jvm.feature
    );
}

on_every_jdk!(a_jdks_own_jcmd_does_it_too, and 25);

fn a_jdks_own_jcmd_does_it_too(jvm: &Jvm) {
    let run = steps(jvm, &[], &["make:321"]);
    assert!(
        run.jcmd_load(&format!("{EXACT}x.txt"))
            .contains("return code: 0")
    );
    go(&run, 1);
    assert!(run.jcmd_load("status").contains("return code: 0"));
    run.wait_for_stderr("hprof: profiling for ");
    assert!(
        run.jcmd_load("start,cpu=samples")
            .contains("return code: -1")
    );
    run.wait_for_stderr("already: stop it first");
    assert!(run.jcmd_load("stop").contains("return code: 0"));
    let profile = profile(&run, "x.txt");
    end(run);
    assert_eq!(
        made(&profile, "Steps$Thing", "Steps.make"),
        321,
        "{}",
        jvm.feature
    );
}

/// Returns the classes that the VM has redefined since the last call, by its own log.
fn redefined(run: &Running, seen: &mut usize) -> Vec<String> {
    let log = text(run, "redefined.log");
    let new = &log[*seen..];
    *seen = log.len();
    let names = new.lines().filter_map(|line| line.split_once("name="));
    let mut names: Vec<String> = names
        .filter_map(|(_, rest)| rest.split(',').next())
        .map(str::to_owned)
        .collect();
    names.sort();
    names.dedup();
    names
}

on_every_jvm!(only_classes_that_match_and_have_code_are_defined_anew, and 26);

fn only_classes_that_match_and_have_code_are_defined_anew(jvm: &Jvm) {
    let log = "-Xlog:redefine+class+load=info:file=redefined.log";
    let run = Program::bare_java(jvm, &[log])
        .program("attach", "Touched")
        .start();
    run.wait_for_output("ready");
    let mut seen = 0;
    run.hprof_well(
        "attach",
        &["cpu=times,include=Touched$*,verbose=n,file=x.txt"],
    );
    // `Touched$1` is the anonymous class.
    let code = ["Touched$1", "Touched$Code", "Touched$Default"];
    assert_eq!(redefined(&run, &mut seen), code, "{}", jvm.feature);
    run.hprof_well("stop", &[]);
    assert_eq!(redefined(&run, &mut seen), code, "{}", jvm.feature);

    run.hprof_well(
        "attach",
        &["cpu=times,include=nothing.of.this.kind,verbose=n,file=y.txt"],
    );
    run.hprof_well("stop", &[]);
    let none: [&str; 0] = [];
    assert_eq!(redefined(&run, &mut seen), none, "{}", jvm.feature);
    fs::write(run.path("end"), "").expect("a file");
    run.wait();
}

/// Returns the amount of memory that the agent reports to hold.
fn held(run: &Running) -> u64 {
    let status = run.hprof_well("status", &[]);
    let (_, rest) = status.split_once("the agent holds ").expect("a count");
    let (bytes, _) = rest.split_once(' ').expect("a unit");
    bytes.parse().expect("a number")
}

on_every_jvm!(what_a_profile_held_goes_when_it_stops, and 17);

fn what_a_profile_held_goes_when_it_stops(jvm: &Jvm) {
    let run = steps(jvm, &[], &["make:50000", "thread:50000"]);
    run.hprof_well("attach", &["heap=all,verbose=n,file=a.txt"]);
    go(&run, 1);
    let tracking = held(&run);
    run.hprof_well("stop", &[]);
    let after_allocations = held(&run);
    assert!(
        tracking > 50_000 * 16 && after_allocations < 64 * 1024,
        "{}: {tracking}, then {after_allocations}",
        jvm.feature
    );
    // All classes of the JDK have names.
    run.hprof_well("attach", &["cpu=times,verbose=n,file=b.txt"]);
    go(&run, 2);
    let timing = held(&run);
    run.hprof_well("stop", &[]);
    let after_times = held(&run);
    assert!(
        timing > 1 << 20 && after_times < timing / 4,
        "{}: {timing}, then {after_times}",
        jvm.feature
    );
    end(run);
}

on_every_jvm!(what_calls_took_goes_while_their_threads_live, and 17);

fn what_calls_took_goes_while_their_threads_live(jvm: &Jvm) {
    let run = Program::bare_java(jvm, &[])
        .program("attach", "Contexts")
        .start();
    run.wait_for_output("ready");
    for round in 0..2 {
        for clock in ["cpu", "samples"] {
            let file = format!("{clock}{round}.txt");
            let options = "depth=64,include=Contexts,monitor=y,heap=sites,verbose=n";
            let options = format!("cpu=times,clock={clock},{options},file={file}");
            run.hprof_well("attach", &[&options]);
            // Three methods for each pair of calls, and 64 bytes each.
            run.wait_until(|| held(&run) > 4 * 8_192 * 2 * 64);
            run.hprof_well("stop", &[]);
            let after = held(&run);
            assert!(
                after < 512 * 1024,
                "{}, {clock}: {after} bytes",
                jvm.feature
            );
            let written = text(&run, &file);
            assert!(written.contains("\nCPU TIME (ms) END\n"), "{written}");
        }
    }
    end(run);
}

/// The process's resident memory, in MB.
fn resident(run: &Running) -> u64 {
    let memory = fs::read_to_string(format!("/proc/{}/smaps_rollup", run.id())).expect("Linux");
    let line = memory.lines().find(|line| line.starts_with("Rss:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().nth(1));
    kilobytes.expect("a line").parse::<u64>().expect("a number") / 1024
}

#[test]
fn the_system_gets_back_what_was_needed_for_millions_of_objects() {
    // The whole heap is allocated from the start, so any growth is outside of it.
    let heap = ["-Xms256m", "-Xmx256m", "-XX:+AlwaysPreTouch"];
    // JDK 11 keeps its memory for the references.
    let Some(jvm) = jvms().iter().find(|jvm| jvm.feature >= 17) else {
        skip("what the system gets back: there is no JVM of version 17 or newer");
        return;
    };
    let run = steps(jvm, &heap, &["make:1500000", "thread:1500000"]);
    let nothing = |run: &Running| {
        run.hprof_well("attach", &["heap=sites,verbose=n,force=y,file=a.txt"]);
        run.hprof_well("stop", &[]);
    };
    nothing(&run);
    let before = resident(&run);
    run.hprof_well("attach", &["heap=sites,verbose=n,file=b.txt"]);
    go(&run, 1);
    go(&run, 2);
    let tracking = resident(&run);
    run.hprof_well("stop", &[]);
    assert!(tracking > before + 40, "{before} MB, then {tracking}");
    // The VM releases its memory for the references after a collection, on a thread of its own; the next `stop` then
    // finds it free.
    run.wait_until(|| {
        nothing(&run);
        resident(&run) < before + (tracking - before) / 4
    });
    end(run);
}
