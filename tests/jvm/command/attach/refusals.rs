//! Refusals: one line with the reason, and no other effect.

use std::fs;
use std::process::Command;

use super::{EXACT, end, go, made, profile, steps, without_warning};
use crate::harness::{Jvm, Running, agent, any_jvm, cli};

/// Returns the message with which `hprof` refuses.
fn refusal(run: &Running, verb: &str, rest: &[&str]) -> String {
    let (content, text) = run.hprof(verb, rest);
    assert!(!content, "{verb} {rest:?}: {text}");
    assert_eq!(text.lines().count(), 1, "{text}");
    text
}

on_every_jvm!(commands_at_the_wrong_time_change_nothing, and 17);

fn commands_at_the_wrong_time_change_nothing(jvm: &Jvm) {
    let run = steps(jvm, &[], &["make:10", "make:20"]);
    for verb in ["dump", "stop"] {
        let nobody = format!(
            "hprof: no profile is running in process {}: the agent is not loaded",
            run.id()
        );
        assert_eq!(refusal(&run, verb, &[]), nobody);
    }
    run.hprof_well("attach", &[&format!("{EXACT}x.txt")]);
    go(&run, 1);
    let running = refusal(&run, "attach", &["cpu=samples,file=y.txt"]);
    assert!(running.starts_with("hprof: profiling for "), "{running}");
    assert!(running.ends_with(" already: stop it first"), "{running}");
    go(&run, 2);
    run.hprof_well("stop", &[]);
    for verb in ["dump", "stop"] {
        assert_eq!(refusal(&run, verb, &[]), "hprof: no profile is running");
    }
    let profile = profile(&run, "x.txt");
    let run = end(run);
    assert_eq!(
        made(&profile, "Steps$Thing", "Steps.make"),
        30,
        "{}",
        jvm.feature
    );
    assert!(!run.files().contains(&"y.txt".to_owned()));
    assert_eq!(
        without_warning(&run.stderr),
        "",
        "what was refused is told to who asked"
    );
}

#[test]
fn a_file_that_exists_is_not_replaced() {
    let run = steps(any_jvm(), &[], &["make:10"]);
    fs::write(run.path("x.txt"), "mine").expect("a file");
    let absolute = run.path("x.txt").display().to_string();
    for name in ["x.txt", "./x.txt", &absolute] {
        let refused = refusal(&run, "attach", &[&format!("{EXACT}{name}")]);
        assert!(
            refused.contains(" exists, and is not replaced"),
            "{refused}"
        );
    }
    let status = run.hprof_well("status", &[]);
    assert!(status.contains("the agent is not loaded"), "{status}");
    let beside = format!("y-{}.txt", run.id());
    fs::write(run.path(&beside), "mine").expect("a file");
    run.hprof_well("attach", &[&format!("{EXACT}y-%p.txt")]);
    run.hprof_well("stop", &[]);
    for name in ["x.txt", &beside] {
        assert_eq!(fs::read_to_string(run.path(name)).expect("a file"), "mine");
    }
    profile(&run, &format!("y-{0}.{0}.txt", run.id()));
    run.hprof_well("attach", &[&format!("{EXACT}x.txt,force=y")]);
    run.hprof_well("stop", &[]);
    profile(&run, "x.txt");
    go(&run, 1);
    end(run);
}

#[test]
fn a_misspelt_program_suggests_one_that_runs() {
    let run = steps(any_jvm(), &[], &["make:10"]);
    let output = Command::new(cli())
        .args(["status", "Stpes"])
        .output()
        .expect("hprof");
    let said = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(said.contains(": did you mean `Steps`?"), "{said}");
    go(&run, 1);
    end(run);
}

#[test]
fn estimates_without_collections_collect_nothing() {
    for (options, collects) in [("", true), (",gc=n", false)] {
        let run = steps(any_jvm(), &["-Xlog:gc:file=gc.log"], &["make:10"]);
        let options = format!("heap=sites,sample=64k,verbose=n,file=x.txt{options}");
        run.hprof_well("attach", &[&options]);
        run.hprof_well("stop", &[]);
        go(&run, 1);
        let log = fs::read_to_string(run.path("gc.log")).expect("the VM's log");
        assert_eq!(
            log.contains("JvmtiEnv ForceGarbageCollection"),
            collects,
            "{log}"
        );
        end(run);
    }
}

on_every_jvm!(options_are_refused_and_the_program_goes_on, and 28);

fn options_are_refused_and_the_program_goes_on(jvm: &Jvm) {
    let run = steps(jvm, &[], &["make:10"]);
    let cases = [
        ("cpu=fast", "option cpu=fast: must be "),
        ("cpu=samples,file=/nowhere/x", "option file=/nowhere/x: "),
        ("speed=9", "unknown option speed=9"),
    ];
    for (options, message) in cases {
        let refused = refusal(&run, "attach", &[options]);
        assert!(
            refused.starts_with(&format!("hprof: {message}")),
            "{refused}"
        );
    }
    let long = format!("cpu=samples,file={}", "x".repeat(1100));
    assert!(refusal(&run, "attach", &[&long]).contains("accepts at most 1024"));
    // It does not prevent a correct command.
    run.hprof_well("attach", &[&format!("{EXACT}x.txt")]);
    go(&run, 1);
    let run = end(run);
    assert_eq!(run.files(), ["end", "go1", "x.txt"]);
}

#[test]
fn who_is_no_jvm_is_named() {
    let hprof = |pid: &str| {
        let output = Command::new(cli())
            .args(["attach", pid, "cpu=samples"])
            .output()
            .expect("hprof");
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8(output.stderr).expect("UTF-8")
    };
    assert_eq!(hprof("4194305"), "hprof: no process 4194305\n");
    let own = std::process::id();
    assert_eq!(
        hprof(&own.to_string()),
        format!("hprof: process {own} is not a JVM\n")
    );
}

on_every_jvm!(a_vm_that_lets_nobody_attach_is_left_alone, and 25);

fn a_vm_that_lets_nobody_attach_is_left_alone(jvm: &Jvm) {
    let run = steps(jvm, &["-XX:+DisableAttachMechanism"], &["make:1"]);
    let refused = refusal(&run, "attach", &["cpu=samples"]);
    assert!(refused.contains("-XX:+DisableAttachMechanism"), "{refused}");
    go(&run, 1);
    let run = end(run);
    assert_eq!(run.stdout, "ready\ndone 1\nend\n", "no thread dump");
    assert_eq!(run.files(), ["end", "go1"]);
}

on_every_jvm!(a_vm_that_does_not_listen_to_signals_listens_all_the_same, and 26);

fn a_vm_that_does_not_listen_to_signals_listens_all_the_same(jvm: &Jvm) {
    let run = steps(jvm, &["-Xrs"], &["make:1"]);
    run.hprof_well("attach", &[&format!("{EXACT}x.txt")]);
    go(&run, 1);
    end(run);
}

#[test]
fn options_that_jcmd_has_cut_are_explained() {
    let run = steps(any_jvm(), &[], &["make:1"]);
    let command = "JVMTI.agent_load ";
    let said = run.jcmd(&format!("{command}{} cpu=samples", agent().display()));
    assert!(said.contains("return code: -1"), "{said}");
    run.wait_for_stderr("quotes of their own");
    go(&run, 1);
    end(run);
}

on_every_jvm!(a_vm_that_refuses_agents_says_so, and 17);

fn a_vm_that_refuses_agents_says_so(jvm: &Jvm) {
    let run = steps(jvm, &["-XX:-EnableDynamicAgentLoading"], &["make:1"]);
    let refused = refusal(&run, "attach", &["cpu=samples"]);
    assert!(
        refused.contains("ynamic agent loading is not enabled"),
        "{}: {refused}",
        jvm.feature
    );
    go(&run, 1);
    end(run);
}

#[test]
fn a_stopped_program_is_not_waited_for() {
    let run = steps(any_jvm(), &[], &["make:1"]);
    run.send("STOP");
    let status = format!("/proc/{}/status", run.id());
    run.wait_until(|| {
        fs::read_to_string(&status).is_ok_and(|status| status.contains("T (stopped)"))
    });
    assert!(refusal(&run, "attach", &["cpu=samples"]).contains("is stopped"));
    run.send("CONT");
    go(&run, 1);
    end(run);
}

#[test]
fn a_library_that_is_not_there_is_named() {
    let run = steps(any_jvm(), &[], &["make:1"]);
    let hprof = |library: &str| {
        let pid = run.id().to_string();
        let arguments = ["attach", &pid, "cpu=samples", "--agent", library];
        let output = Command::new(cli()).args(arguments).output().expect("hprof");
        String::from_utf8(output.stderr).expect("UTF-8")
    };
    assert!(hprof("/nowhere/libhprof.so").starts_with("hprof: /nowhere/libhprof.so: "));
    // Not even a library.
    let text = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    assert!(hprof(text).contains("did not load the agent: "));
    go(&run, 1);
    end(run);
}

#[test]
fn an_old_reply_file_or_none_is_not_written_to() {
    let run = steps(any_jvm(), &[], &["make:1"]);
    let kept = run.path("kept");
    fs::write(&kept, "mine").expect("a file");
    // As by a client that talks to the VM without the command.
    let options = format!("status,reply={}", kept.display());
    let said = run.jcmd_load(&options);
    assert!(said.contains("return code: 0"), "{said}");
    run.wait_for_stderr("hprof: no profile is running");
    assert_eq!(fs::read_to_string(&kept).expect("it"), "mine");
    go(&run, 1);
    end(run);
}

#[test]
fn nothing_begins_for_a_client_that_has_gone() {
    let run = steps(any_jvm(), &[], &["make:1"]);
    // As by a client that has gone while the VM was suspended, and has removed its file.
    let reply = format!("reply={}", run.path("gone").display());
    for (command, what) in [
        (
            "start,{reply},cpu=samples,file=x.txt",
            "profile was started",
        ),
        ("heap,{reply},heap=dump,file=x.txt", "heap was dumped"),
    ] {
        let said = run.jcmd_load(&command.replace("{reply}", &reply));
        assert!(!said.contains("return code: 0"), "{said}");
        let said = format!("hprof: no {what}: the client that requested it has disconnected");
        run.wait_for_stderr(&said);
    }
    assert!(!run.path("x.txt").exists());
    go(&run, 1);
    end(run);
}

#[test]
fn an_answer_for_programs_is_not_printed() {
    let run = steps(any_jvm(), &[], &["make:1"]);
    let said = run.jcmd_load(&format!("memory,reply={}", run.path("gone").display()));
    assert!(said.contains("return code: 0"), "{said}");
    // The answer to a user's own command comes later.
    run.jcmd_load("status");
    run.wait_for_stderr("hprof: no profile is running");
    go(&run, 1);
    let ended = end(run);
    assert!(!ended.stderr.contains("account"), "{}", ended.stderr);
}
