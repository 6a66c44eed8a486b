//! `engine=async`: what CPU time is charged to, and how the agent lives with the program's own use of the signal.

use crate::harness::{Jvm, Program, any_jvm};
use crate::profile::Profile;

/// The share of the whole by which a method may miss its truth.
const TOLERANCE: f64 = 0.10;

/// The share of the samples whose innermost frame of `class` is in `method`.
fn share_within(profile: &Profile, class: &str, method: &str) -> f64 {
    let wanted = format!("{class}.{method}(");
    let class = format!("{class}.");
    let rows = profile.samples().rows.iter();
    let within: u32 = rows
        .filter(|row| {
            let mut frames = profile.traces[&row.trace].frames.iter();
            let own = frames.find(|frame| frame.starts_with(&class));
            own.is_some_and(|frame| frame.starts_with(&wanted))
        })
        .map(|row| row.count)
        .sum();
    f64::from(within) / f64::from(profile.samples().total)
}

on_every_jvm!(loops_without_safepoints_and_native_code_are_charged_what_they_used);

fn loops_without_safepoints_and_native_code_are_charged_what_they_used(jvm: &Jvm) {
    let options = "cpu=samples,engine=async,depth=20,interval=4,file=x.txt";
    let run = Program::new(jvm, options, "Kinds").run_well();
    let profile = Profile::parse(&run.read("x.txt"));
    let used = |name| run.printed(name);
    let all = used("counted") + used("polled") + used("deflate");
    let charged = |methods: &[&str]| -> f64 {
        let shares = methods
            .iter()
            .map(|method| share_within(&profile, "Kinds", method));
        shares.sum()
    };
    // What the VM does at its start is in the profile as well.
    let in_all = charged(&["counted", "loop", "polled", "deflate"]);
    for (name, methods) in [
        ("counted", &["counted", "loop"][..]),
        ("polled", &["polled"]),
        ("deflate", &["deflate"]),
    ] {
        let (truth, share) = (used(name) / all, charged(methods) / in_all);
        println!("{}: {name} {share:.3} of {truth:.3}", jvm.feature);
        assert!(
            (truth - share).abs() < TOLERANCE,
            "{}: {name} is charged {share:.3} of {truth:.3}",
            jvm.feature
        );
    }
    let inlined = share_within(&profile, "Kinds", "loop");
    assert!(
        inlined > share_within(&profile, "Kinds", "counted"),
        "{}: the loop is in `loop`, though inlined: {inlined}",
        jvm.feature
    );
}

on_every_jvm!(a_virtual_thread_is_charged_by_its_own_name from 21);

fn a_virtual_thread_is_charged_by_its_own_name(jvm: &Jvm) {
    let options = "cpu=samples,engine=async,thread=y,interval=4,file=x.txt";
    let run = Program::new(jvm, options, "Tagged21").run_well();
    let profile = Profile::parse(&run.read("x.txt"));
    let charged = ["heavy", "light"].map(|name| f64::from(profile.count_of_thread(name)));
    println!("{}: {charged:?}", jvm.feature);
    let share = charged[0] / (charged[0] + charged[1]);
    assert!((share - 0.75).abs() < TOLERANCE, "{}: {share}", jvm.feature);
    let in_round = f64::from(profile.count("Tagged21.round"));
    assert!(
        charged[0] + charged[1] > 0.8 * in_round,
        "{}: {charged:?} of {in_round}",
        jvm.feature
    );
}

on_every_jvm!(the_programs_own_handler_of_the_signal_goes_on_working);

fn the_programs_own_handler_of_the_signal_goes_on_working(jvm: &Jvm) {
    let run = Program::bare_java(jvm, &[])
        .program("samples", "Alarm")
        .arg("first")
        .start();
    run.wait_for_output("ready");
    let alarm = |number: u32| {
        run.send("VTALRM");
        run.wait_for_output(&format!("alarm {number}\n"));
    };
    alarm(1);
    run.hprof_well("attach", &["cpu=samples,engine=async,verbose=n,file=x.txt"]);
    alarm(2);
    // Time to be charged for.
    run.wait_until(|| {
        run.hprof_well("dump", &[]);
        let text = std::fs::read_to_string(run.path("x.txt")).unwrap_or_default();
        text.contains("Alarm.busy")
    });
    run.hprof_well("stop", &[]);
    alarm(3);
    run.hprof_well("attach", &["cpu=samples,engine=async,verbose=n,file=y.txt"]);
    alarm(4);
    run.hprof_well("stop", &[]);
    alarm(5);
    run.send("TERM");
    let run = run.wait();
    assert!(
        !run.stdout.contains("alarm 6"),
        "{}: a signal of ours reached the program: {}",
        jvm.feature,
        run.stdout
    );
    Profile::parse(&run.read("y.txt"));
}

#[test]
fn a_program_that_takes_the_signal_over_ends_the_samples() {
    let run = Program::new(any_jvm(), "cpu=samples,engine=async,file=x.txt", "Alarm")
        .arg("later")
        .start();
    run.wait_for_output("handling");
    run.wait_for_stderr("the program has taken over SIGVTALRM");
    run.send("TERM");
    let run = run.wait();
    let profile = Profile::parse(&run.read("x.txt"));
    assert!(profile.count("Alarm.busy") > 0, "those before are there");
}

on_every_jvm!(the_vms_own_threads_are_charged_where_they_are_asked_for);

fn the_vms_own_threads_are_charged_where_they_are_asked_for(jvm: &Jvm) {
    let own = ["<GC>", "<JIT-compiler>", "<VM>"].map(|name| format!("java.lang.Thread.{name}"));
    for (option, expected) in [("y", true), ("n", false)] {
        let options = format!("cpu=samples,engine=async,interval=1,vmthreads={option},file=x.txt");
        let run = Program::new(jvm, &options, "Kinds").run_well();
        let profile = Profile::parse(&run.read("x.txt"));
        let charged: u32 = own.iter().map(|method| profile.count(method)).sum();
        assert_eq!(charged > 0, expected, "{}: {charged}", jvm.feature);
        // The program's threads are not taken for the VM's.
        assert!(
            f64::from(charged) < 0.6 * f64::from(profile.samples().total),
            "{}: {charged}",
            jvm.feature
        );
    }
}

#[test]
fn the_head_says_which_engine_it_was_and_whether_it_is_biased() {
    for (engine, said) in [
        ("auto", "engine=async"),
        ("async", "engine=async"),
        ("jvmti", "engine=jvmti, safepoint-biased"),
    ] {
        let options = format!("cpu=samples,engine={engine},file=x.txt");
        let run = Program::new(any_jvm(), &options, "Hello").run_well();
        let profile = Profile::parse(&run.read("x.txt"));
        assert_eq!(profile.head["Samples"], said);
        assert!(run.stderr.contains(said), "{}", run.stderr);
    }
}

#[test]
fn a_system_without_timers_gets_the_portable_engine_and_says_why() {
    let run = Program::new(any_jvm(), "cpu=samples,file=x.txt", "Spin")
        .after("ulimit -i 0")
        .run_well();
    let profile = Profile::parse(&run.read("x.txt"));
    let said = &profile.head["Samples"];
    assert!(
        said.starts_with("engine=jvmti, safepoint-biased (no async: the system gives no timer"),
        "{said}"
    );
    assert!(profile.share("Spin.hot") > 0.3);
    let refused = Program::new(any_jvm(), "cpu=samples,engine=async,file=x.txt", "Spin")
        .after("ulimit -i 0")
        .run();
    assert!(
        refused
            .stderr
            .contains("option engine=async: the system gives no timer"),
        "{}",
        refused.stderr
    );
    assert!(!refused.files().contains(&"x.txt".to_owned()));
}
