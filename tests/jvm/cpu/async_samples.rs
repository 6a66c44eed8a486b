//! `engine=async`: the stacks that are charged, and how the agent coexists with the program's own use of the signal.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use nix::sys::ptrace;
use nix::unistd::Pid;

use crate::harness::{Finished, Jvm, Program, Running, any_jvm, c_library, cli};
use crate::process::exits::cpu_time;
use crate::profile::Profile;

/// The share of the whole by which a method may deviate from the truth.
const TOLERANCE: f64 = 0.10;

/// Returns the share of the samples whose innermost frame of `class` is in `method`.
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

/// Returns what `hprof top` shows of the profile.
fn top(run: &Finished, option: &str) -> String {
    let mut hprof = Command::new(cli());
    let output = hprof.args(["top", option]).arg(run.path("x.txt")).output();
    let output = output.expect("hprof");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

on_every_jvm!(loops_without_safepoints_and_native_code_are_charged_what_they_used, and 25);

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
    // The VM's work at its start is in the profile as well.
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

on_every_jvm!(the_last_instruction_of_an_inlined_method_is_charged_to_it, and 26);

fn the_last_instruction_of_an_inlined_method_is_charged_to_it(jvm: &Jvm) {
    let options = "cpu=samples,engine=async,depth=20,interval=4,file=x.txt";
    let run = Program::new(jvm, options, "Inlined").arg("700").run_well();
    let profile = Profile::parse(&run.read("x.txt"));
    for (method, truth) in [("one", 0.25), ("three", 0.75), ("few", 0.0), ("many", 0.0)] {
        let share = share_within(&profile, "Inlined", method);
        println!("{}: {method} {share:.3} of {truth:.3}", jvm.feature);
        assert!(
            (truth - share).abs() < TOLERANCE,
            "{}: {method} is charged {share:.3} of {truth:.3}",
            jvm.feature
        );
    }
}

on_every_jvm!(a_method_is_charged_for_making_its_frame_and_giving_it_up, and 17);

fn a_method_is_charged_for_making_its_frame_and_giving_it_up(jvm: &Jvm) {
    let options = "cpu=samples,engine=async,interval=4,file=x.txt";
    let not_inlined = "-XX:CompileCommand=dontinline,Calls.next";
    // C1, then C2.
    for compiler in ["-XX:TieredStopAtLevel=1", "-XX:-TieredCompilation"] {
        let program = Program::with_vm_options(jvm, options, &[not_inlined, compiler], "Calls");
        let run = program.arg("700").run_well();
        let profile = Profile::parse(&run.read("x.txt"));
        let next = share_within(&profile, "Calls", "next");
        let unsampled = f64::from(profile.count("java.lang.Thread.<unsampled>"));
        let unsampled = unsampled / f64::from(profile.samples().total);
        println!("{} {compiler}: {next:.3} {unsampled:.3}", jvm.feature);
        assert!(next > 0.3, "{} {compiler}: {next}", jvm.feature);
        assert!(unsampled < 0.05, "{} {compiler}: {unsampled}", jvm.feature);
    }
}

on_every_jvm!(the_interpreter_is_charged_while_it_makes_a_frame, and 28);

fn the_interpreter_is_charged_while_it_makes_a_frame(jvm: &Jvm) {
    let options = "cpu=samples,engine=async,interval=1,file=x.txt";
    let run = Program::with_vm_options(jvm, options, &["-Xint"], "Calls")
        .arg("40")
        .run_well();
    let profile = Profile::parse(&run.read("x.txt"));
    let samples = profile.samples();
    let reason = "java.lang.Thread.<between frames of the interpreter>(";
    let unseen = samples.rows.iter().filter(|row| {
        let frames = &profile.traces[&row.trace].frames;
        frames.get(1).is_some_and(|frame| frame.starts_with(reason))
    });
    let unseen = f64::from(unseen.map(|row| row.count).sum::<u32>());
    let share = unseen / f64::from(samples.total);
    println!("{}: {share:.4}", jvm.feature);
    assert!(share < 0.015, "{}: {share}", jvm.feature);
}

on_every_jvm!(what_is_called_by_reflection_has_its_whole_stack, and 25);

fn what_is_called_by_reflection_has_its_whole_stack(jvm: &Jvm) {
    let options = "cpu=samples,engine=async,depth=40,interval=4,file=x.txt";
    for (vm_option, rounds) in [("-Xint", "300"), ("-Xmixed", "20000")] {
        let program = Program::java(jvm, options, &[vm_option]);
        let program = program.program("samples", "Reflected").arg(rounds);
        let profile = Profile::parse(&program.run_well().read("x.txt"));
        let samples = profile.samples();
        let below_main = samples.rows.iter().filter(|row| {
            let frames = &profile.traces[&row.trace].frames;
            let has = |method: &str| frames.iter().any(|frame| frame.starts_with(method));
            has("Reflected.work(") && has("Reflected.main(")
        });
        let whole: u32 = below_main.map(|row| row.count).sum();
        let share = f64::from(whole) / f64::from(samples.total);
        assert!(samples.total > 20, "{vm_option}: {}", samples.total);
        assert!(share > 0.5, "{}: {vm_option}: {share}", jvm.feature);
    }
}

on_every_jvm!(compilers_leave_notes_of_inlining_once_samples_are_taken, and 26);

fn compilers_leave_notes_of_inlining_once_samples_are_taken(jvm: &Jvm) {
    for (said, once_sampled) in [
        ("-XX:+UnlockDiagnosticVMOptions", true),
        ("-XX:-DebugNonSafepoints", false),
    ] {
        let vm_options = ["-XX:+UnlockDiagnosticVMOptions", said];
        let program = Program::bare_java(jvm, &vm_options).program("attach", "Steps");
        let run = program.arg("make:1").start();
        run.wait_for_output("ready");
        assert!(!leaves_notes(&run));
        run.hprof_well("attach", &["cpu=samples,engine=async,verbose=n"]);
        assert_eq!(leaves_notes(&run), once_sampled, "{said}");
        run.hprof_well("stop", &[]);
        // Another profiler that has started in the meantime relies on it.
        assert_eq!(leaves_notes(&run), once_sampled, "{said}");
        fs::write(run.path("go1"), "").expect("a file");
        fs::write(run.path("end"), "").expect("a file");
        assert!(run.wait().status.success());
    }
}

fn leaves_notes(run: &Running) -> bool {
    run.vm_flag("DebugNonSafepoints").as_deref() == Some("true")
}

on_every_jvm!(a_stub_of_the_vm_is_charged_to_the_method_that_called_it, and 17);

fn a_stub_of_the_vm_is_charged_to_the_method_that_called_it(jvm: &Jvm) {
    let options = "cpu=samples,engine=async,interval=4,file=x.txt";
    let run = Program::new(jvm, options, "Stub").run_well();
    let copy = share_within(&Profile::parse(&run.read("x.txt")), "Stub", "copy");
    assert!(copy > 0.8, "{}: {copy}", jvm.feature);
}

on_every_jvm!(c_code_that_is_called_without_a_frame_is_charged_to_its_caller);

fn c_code_that_is_called_without_a_frame_is_charged_to_its_caller(jvm: &Jvm) {
    let options = "cpu=samples,engine=async,interval=4,file=x.txt";
    let run = Program::new(jvm, options, "Clock").run_well();
    let ask = share_within(&Profile::parse(&run.read("x.txt")), "Clock", "ask");
    assert!(ask > 0.9, "{}: {ask}", jvm.feature);
}

on_every_jvm!(native_code_on_a_stack_of_its_own_is_charged_to_its_caller, and 28);

fn native_code_on_a_stack_of_its_own_is_charged_to_its_caller(jvm: &Jvm) {
    let Some(library) = c_library("java-tests/samples/other_stack.c") else {
        return;
    };
    for native in ["n", "y"] {
        let options =
            format!("cpu=samples,engine=async,interval=4,depth=8,native={native},file=x.txt");
        let run = Program::new(jvm, &options, "OtherStack")
            .arg(&library)
            .run_well();
        assert_eq!(run.stdout.trim(), "spun", "{}", run.stderr);
        let profile = Profile::parse(&run.read("x.txt"));
        let share = share_within(&profile, "OtherStack", "spin");
        assert!(share > 0.8, "{} {native}: {share}", jvm.feature);
    }
}

on_every_jvm!(the_agents_own_time_is_told_apart_and_has_its_stack, and 25);

fn the_agents_own_time_is_told_apart_and_has_its_stack(jvm: &Jvm) {
    let options = "heap=sites,cpu=samples,engine=async,interval=4,depth=8,file=x.txt";
    let run = Program::new(jvm, options, "Allocates").run_well();
    let profile = Profile::parse(&run.read("x.txt"));
    let samples = profile.samples();
    let count = |is_counted: &dyn Fn(&[String]) -> bool| -> f64 {
        let rows = samples.rows.iter();
        let counted = rows.filter(|row| is_counted(&profile.traces[&row.trace].frames));
        f64::from(counted.map(|row| row.count).sum::<u32>())
    };
    let is_own = |frames: &[String]| frames[0].starts_with("java.lang.Thread.<HPROF>(");
    let unseen = count(&|frames| frames[0].starts_with("java.lang.Thread.<unsampled>("));
    let own = count(&is_own);
    let own_in_make =
        count(&|frames| is_own(frames) && frames.get(1).is_some_and(|it| it.contains(".make(")));
    let all = f64::from(samples.total);
    println!(
        "{}: {own_in_make} of {own} of {all}, {unseen} unseen",
        jvm.feature
    );
    assert!(own > 0.02 * all, "{}: {own} of {all}", jvm.feature);
    let top = top(&run, "--without-agent");
    assert!(!top.contains("Thread.<HPROF>"), "{top}");
    let left_out = format!("{:.2} % of cpu in the file is <HPROF>", 100.0 * own / all);
    assert!(top.contains(&left_out), "{left_out}: {top}");
    assert!(
        own_in_make > 0.7 * own,
        "{}: {own_in_make} of {own}",
        jvm.feature
    );
    assert!(unseen < 0.25 * all, "{}: {unseen} of {all}", jvm.feature);
}

on_every_jvm!(time_without_a_stack_says_why on 17 and 27);

fn time_without_a_stack_says_why(jvm: &Jvm) {
    for engine in ["async", "jvmti"] {
        let options = format!("cpu=samples,engine={engine},thread=y,file=x.txt");
        let run = Program::new(jvm, &options, "ShortThreads").run_well();
        let profile = Profile::parse(&run.read("x.txt"));
        let reasons: BTreeSet<String> = profile
            .traces
            .values()
            .filter(|trace| trace.frames[0].starts_with("java.lang.Thread.<unsampled>("))
            .map(|trace| trace.frames[1..].join(" "))
            .collect();
        let is_reason = |reason: &String| reason.starts_with("java.lang.Thread.<");
        assert!(reasons.iter().all(is_reason), "{engine}: {reasons:?}");
        let ended = "java.lang.Thread.<in a thread that ended>(";
        let has_ended = reasons.iter().any(|reason| reason.starts_with(ended));
        assert!(has_ended, "{} {engine}: {reasons:?}", jvm.feature);
        let top = top(&run, "--self");
        let remark = "is <unsampled>: CPU time whose stack could not be read, ";
        assert!(top.contains(remark), "{top}");
        assert!(top.contains(" % of it in a thread that ended"), "{top}");
    }
}

on_every_jvm!(a_virtual_thread_is_charged_by_its_own_name from 21, and 26);

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

on_every_jvm!(the_programs_own_handler_of_the_timers_signal_goes_on_working, and 17);

fn the_programs_own_handler_of_the_timers_signal_goes_on_working(jvm: &Jvm) {
    a_handler_gets_its_signals_and_no_others(jvm, "VTALRM");
}

on_every_jvm!(the_programs_own_handler_of_sigprof_goes_on_working, and 28);

fn the_programs_own_handler_of_sigprof_goes_on_working(jvm: &Jvm) {
    a_handler_gets_its_signals_and_no_others(jvm, "PROF");
}

/// Before, during and after two sessions.
fn a_handler_gets_its_signals_and_no_others(jvm: &Jvm, signal: &str) {
    let run = Program::bare_java(jvm, &[])
        .program("samples", "Alarm")
        .args(["first", signal])
        .start();
    run.wait_for_output("ready");
    let alarm = |number: u32| {
        run.send(signal);
        run.wait_for_output(&format!("alarm {number}\n"));
    };
    alarm(1);
    run.hprof_well("attach", &["cpu=samples,engine=async,verbose=n,file=x.txt"]);
    alarm(2);
    // Enough time for samples.
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

on_every_jvm!(the_vms_own_threads_are_charged_where_they_are_asked_for, and 25);

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
fn the_head_says_which_engine_it_was_and_stderr_where_it_is_asked() {
    for (engine, said) in [
        ("auto", "engine=async"),
        ("async", "engine=async"),
        ("jvmti", "engine=jvmti, safepoint-biased"),
    ] {
        for (verbose, tells) in [("", false), (",verbose=y", true), (",verbose=n", false)] {
            let options = format!("cpu=samples,engine={engine}{verbose},file=x.txt");
            let run = Program::new(any_jvm(), &options, "Hello").run_well();
            let profile = Profile::parse(&run.read("x.txt"));
            assert_eq!(profile.head["Samples"], said);
            assert_eq!(
                run.stderr.contains(said),
                tells,
                "{options}: {}",
                run.stderr
            );
        }
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
        said.starts_with("engine=jvmti, safepoint-biased (no async: the system refuses a timer"),
        "{said}"
    );
    assert!(profile.share("Spin.hot") > 0.3);
    let refused = Program::new(any_jvm(), "cpu=samples,engine=async,file=x.txt", "Spin")
        .after("ulimit -i 0")
        .run();
    assert!(
        refused
            .stderr
            .contains("option engine=async: the system refuses a timer"),
        "{}",
        refused.stderr
    );
    assert!(!refused.files().contains(&"x.txt".to_owned()));
}

on_every_jvm!(a_child_that_is_started_while_samples_are_taken_runs_as_without, and 26);

fn a_child_that_is_started_while_samples_are_taken_runs_as_without(jvm: &Jvm) {
    for mechanism in ["FORK", "VFORK", "POSIX_SPAWN"] {
        let mechanism = format!("-Djdk.lang.Process.launchMechanism={mechanism}");
        let bare = Program::bare_java(jvm, &[&mechanism])
            .program("samples", "Children")
            .run_well();
        assert!(bare.stdout.ends_with("\nchildren 30\n"), "{}", bare.stdout);
        let options = "cpu=samples,engine=async,interval=1,file=x.txt";
        let run = Program::with_vm_options(jvm, options, &[&mechanism], "Children").run_well();
        assert_eq!(run.stdout, bare.stdout, "{}: {mechanism}", jvm.feature);
        assert!(Profile::parse(&run.read("x.txt")).count("Children.work") > 0);
    }
}

#[test]
fn samples_that_find_no_room_are_counted_charged_and_told() {
    // The deeper the traces may be, the fewer there is room for.
    let options = "cpu=samples,engine=async,interval=1,depth=2048,file=x.txt";
    let run = Program::new(any_jvm(), options, "Overflow")
        .arg("over")
        .start();
    run.wait_for_output("ready");
    let sampler = Pid::from_raw(task(&run, "HPROF cpu sampl"));
    ptrace::seize(sampler, ptrace::Options::empty()).expect("a child may be traced");
    ptrace::interrupt(sampler).expect("it is traced");
    let begin = cpu_time(&run);
    // The kernel takes at most one sample in 4 ms, fewer are taken where the handler is slow, as in a debug build, and there is room
    // for 1,024.
    run.wait_until(|| cpu_time(&run) - begin > 1_500);
    ptrace::detach(sampler, None).expect("it is stopped");
    std::fs::write(run.path("over"), "").expect("a file");
    let run = run.wait();
    let lost = run
        .stderr
        .lines()
        .find_map(|line| line.strip_suffix(" samples were lost, they are charged as <unsampled>"))
        .and_then(|line| line.rsplit(' ').next()?.parse::<u32>().ok());
    let profile = Profile::parse(&run.read("x.txt"));
    let unsampled = profile.count("java.lang.Thread.<unsampled>");
    println!("{lost:?} lost, {unsampled} unsampled");
    assert!(lost.is_some_and(|lost| lost > 0), "{}", run.stderr);
    assert!(Some(unsampled) >= lost, "{unsampled} of {lost:?}");
}

/// Returns the thread of that name.
fn task(run: &Running, name: &str) -> i32 {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", run.id())).expect("it runs");
    tasks
        .map(|task| task.expect("a thread").path())
        .find(|task| {
            std::fs::read_to_string(task.join("comm")).is_ok_and(|comm| comm.trim() == name)
        })
        .and_then(|task| task.file_name()?.to_str()?.parse().ok())
        .expect("the thread")
}
