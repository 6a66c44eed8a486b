//! Options on a real command line: refusals, their messages, and that they leave no files behind.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::harness::{Jvm, Program, agent_path, any_jvm};
use crate::profile::Profile;

/// Runs with options that must be refused; returns the agent's one line.
fn refusal(jvm: &crate::harness::Jvm, options: &str) -> String {
    let run = Program::new(jvm, options, "Hello").run();
    assert_eq!(run.status.code(), Some(1), "{options}: {}", run.stderr);
    assert!(
        !run.stdout.contains("hello"),
        "{options}: the program must not run"
    );
    assert_eq!(run.files(), [""; 0], "{options}: nothing is created");
    let lines: Vec<&str> = run
        .stderr
        .lines()
        .filter(|line| line.starts_with("hprof: "))
        .collect();
    assert_eq!(
        lines.len(),
        1,
        "{options}: one line of ours in {}",
        run.stderr
    );
    lines[0].to_owned()
}

#[test]
fn a_refusal_quotes_no_escape_sequence_and_no_second_line() {
    for (options, said) in [
        ("cpu=\x1b[2Jfast", "hprof: option cpu=?[2Jfast: must be"),
        ("cpu=a\nhprof: b", "hprof: option cpu=a?hprof: b: must be"),
        ("cpu=\u{9b}2J", "hprof: option cpu=?2J: must be"),
    ] {
        let line = refusal(any_jvm(), options);
        assert!(line.starts_with(said), "{line:?}");
    }
}

#[test]
fn what_cannot_be_taken_is_refused() {
    let cases = [
        ("speed=9", "unknown option speed=9"),
        (
            "cpu=samples,dept=8",
            "unknown option dept=8: did you mean depth? 'help' lists the options",
        ),
        (
            "cpu=samples,clock=wall",
            "option clock=wall: does nothing without cpu=times or cpu=old",
        ),
        (
            "cpu=samples,sample=512k",
            "option sample=512k: does nothing without heap=",
        ),
        (
            "heap=sites,include=a.*",
            "option include=a.*: does nothing without cpu=times or cpu=old",
        ),
        ("cpu=fast", "option cpu=fast: must be samples|times|old|y"),
        (
            "heap=dump,dumper=x",
            "option dumper=x: must be auto|vm|jvmti",
        ),
        (
            "heap=dump,dumper=vm,redact=y",
            "option dumper=vm: must be auto|jvmti with redact=y, for the VM's dumper puts all content on a disk first",
        ),
        (
            "heap=sites,redact=y",
            "option redact=y: does nothing without heap=dump|all",
        ),
        ("heap=dump,primfields=1", "option primfields=1: must be y|n"),
        (
            "cpu=times,format=b",
            "option format=b: must be a with cpu=times",
        ),
        (
            "cpu=old,format=b",
            "option format=b: must be a with cpu=old",
        ),
        ("cpu=times,clock=x", "option clock=x: must be cpu|wall"),
        (
            "cpu=times,include=a b",
            "option include=a b: must be names of classes like com.acme.Foo or com.acme.*, separated by ':'",
        ),
        ("heap=sites,gc=1", "option gc=1: must be y|n"),
        (
            "heap=sites,sample=0",
            "option sample=0: must be a number of bytes from 1 to 2147483647, optionally followed by k or m",
        ),
        (
            "heap=sites,budget=0%",
            "option budget=0%: must be a share of the program's CPU time from 1% to 100%, such as 20%",
        ),
        (
            "heap=sites,budget=20",
            "option budget=20: must be a share of the program's CPU time from 1% to 100%, such as 20%",
        ),
        (
            "cpu=samples,budget=20%",
            "option budget=20%: does nothing without heap= or cpu=times or cpu=old",
        ),
        ("heap=some", "option heap=some: must be dump|sites|all"),
        (
            "heap=sites,sort=size",
            "option sort=size: must be live|alloc",
        ),
        ("monitor=yes", "option monitor=yes: must be y|n"),
        (
            "cpu=samples,net=localhost",
            "option net=localhost: must be <host>:<port>, an IPv6 address in brackets, the port from 1 to 65535",
        ),
        (
            "cpu=samples,file=x.txt,net=localhost:9000",
            "options net=localhost:9000 and file=x.txt exclude each other; one is allowed",
        ),
        ("cpu=samples,format=c", "option format=c: must be a|b"),
        (
            "cpu=samples,depth=x",
            "option depth=x: must be a whole number from 0 to 65535",
        ),
        (
            "cpu=samples,interval=0",
            "option interval=0: must be a whole number of milliseconds",
        ),
        (
            "cpu=samples,cutoff=-1",
            "option cutoff=-1: must be a number from 0 to 1",
        ),
        (
            "cpu=samples,lineno=maybe",
            "option lineno=maybe: must be y|n",
        ),
        ("cpu=samples,thread=yes", "option thread=yes: must be y|n"),
        ("cpu=samples,doe=1", "option doe=1: must be y|n"),
        ("cpu=samples,msa=1", "option msa=1: must be y|n"),
        ("cpu=samples,force=", "option force=: must be y|n"),
        (
            "cpu=samples,verbose",
            "option verbose: needs a value, verbose=y|n",
        ),
        (
            "cpu=samples,file=a,file=b",
            "option file=b: given twice; once is allowed",
        ),
        (
            "cpu=samples,file=%{HPROF_NOT_SET}",
            "option file=%{HPROF_NOT_SET}: the environment has no variable",
        ),
        (
            "cpu=samples,file=nowhere/x.txt",
            "option file=nowhere/x.txt: No such file or directory",
        ),
        ("cpu=samples,file=.", "option file=.: Is a directory"),
    ];
    for (options, message) in cases {
        let line = refusal(any_jvm(), options);
        assert!(
            line.starts_with(&format!("hprof: {message}")),
            "{options}: {line}"
        );
    }
}

on_every_jvm!(every_jvm_ends_on_a_refusal, and 25);

fn every_jvm_ends_on_a_refusal(jvm: &Jvm) {
    assert_eq!(
        refusal(jvm, "cpu=none"),
        "hprof: option cpu=none: must be samples|times|old|y"
    );
}

#[test]
fn an_existing_file_survives_a_refusal() {
    let program = Program::new(any_jvm(), "cpu=samples,file=x.txt,depth=deep", "Hello");
    fs::write(program.folder().join("x.txt"), "precious").expect("a file");
    let run = program.run();
    assert_eq!(run.status.code(), Some(1));
    assert_eq!(run.read("x.txt"), "precious");
}

on_every_jvm!(help_is_printed_and_nothing_runs, and 26);

fn help_is_printed_and_nothing_runs(jvm: &Jvm) {
    let run = Program::new(jvm, "help", "Hello").run();
    assert_eq!(run.status.code(), Some(0), "{}", jvm.feature);
    assert!(
        run.stdout.starts_with("HPROF") && run.stdout.contains("\ncpu=samples|times|old"),
        "{}",
        run.stdout
    );
    assert!(!run.stdout.contains("hello"));
    assert_eq!((&*run.stderr, run.files()), ("", vec![]));
}

#[test]
fn the_default_file_is_the_originals() {
    let run = Program::new(any_jvm(), "cpu=samples", "Hello").run_well();
    assert_eq!(run.files(), ["java.hprof.txt"]);
    let run = Program::new(any_jvm(), "cpu=samples,format=b", "Hello").run_well();
    assert_eq!(run.files(), ["java.hprof"]);
    run.checked_text("java.hprof");
}

#[test]
fn only_the_user_may_read_the_file() {
    // Whatever the umask allows.
    let run = Program::new(any_jvm(), "cpu=samples,file=x.txt", "Hello")
        .after("umask 0")
        .run_well();
    let mode = fs::metadata(run.path("x.txt"))
        .expect("the file")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn file_names_are_filled_in() {
    let run = Program::new(any_jvm(), "cpu=samples,file=%{JOB}-%h-%t-%p.txt", "Hello")
        .env("JOB", "night")
        .run_well();
    let [file] = &run.files()[..] else {
        panic!("{:?}", run.files())
    };
    let host = fs::read_to_string("/proc/sys/kernel/hostname").expect("the host's name");
    let rest = file
        .strip_prefix(&format!("night-{}-", host.trim()))
        .expect("the host");
    let [date, time, pid] = rest
        .strip_suffix(".txt")
        .expect("a suffix")
        .split('-')
        .collect::<Vec<_>>()[..]
    else {
        panic!("{file}")
    };
    assert!(
        date.len() == 8 && time.len() == 6 && pid.parse::<u32>().is_ok(),
        "{file}"
    );
}

#[test]
fn without_force_the_pid_goes_into_the_name() {
    let program = Program::new(any_jvm(), "cpu=samples,force=n,file=x.txt", "Hello");
    fs::write(program.folder().join("x.txt"), "precious").expect("a file");
    let run = program.run_well();
    assert_eq!(run.read("x.txt"), "precious");
    let files = run.files();
    let other = files
        .iter()
        .find(|file| *file != "x.txt")
        .expect("another file");
    let pid = other
        .strip_prefix("x.")
        .and_then(|rest| rest.strip_suffix(".txt"))
        .expect("x.PID.txt");
    assert!(pid.parse::<u32>().is_ok());
    Profile::parse(&run.read(other));
}

#[test]
fn with_force_the_file_is_new() {
    let program = Program::new(any_jvm(), "cpu=samples,file=x.txt", "Hello");
    fs::write(program.folder().join("x.txt"), "x".repeat(1_000_000)).expect("a file");
    Profile::parse(&program.run_well().read("x.txt"));
}

#[test]
fn the_environment_comes_after_the_command_line() {
    let run = Program::new(any_jvm(), "cpu=samples,file=x.txt", "Hello")
        .env("_JAVA_HPROF_OPTIONS", "format=b,verbose=n")
        .run_well();
    run.checked_text("x.txt");
    assert_eq!(run.stderr, "");
    let run = Program::new(any_jvm(), "cpu=samples", "Hello")
        .env("_JAVA_HPROF_OPTIONS", "depth=")
        .run();
    assert_eq!(run.status.code(), Some(1));
    assert!(
        run.stderr.contains("hprof: option depth=: must be"),
        "{}",
        run.stderr
    );
}

#[test]
fn options_of_old_scripts_are_taken() {
    let options = "cpu=y,file=x.txt,gc_okay=y,msa=y,debugflags=1,X=m,pause=n,coredump=n,errorexit=n,debug=n,primfields=n";
    let run = Program::new(any_jvm(), options, "Hello").run_well();
    let notices: Vec<&str> = run
        .stderr
        .lines()
        .filter(|line| line.starts_with("hprof: "))
        .collect();
    let [notice] = notices[..] else {
        panic!("one notice: {}", run.stderr)
    };
    assert!(
        notice.ends_with(
            ": gc_okay, msa, debugflags, X, pause, coredump, errorexit, debug, primfields"
        ),
        "{notice}"
    );
    Profile::parse(&run.read("x.txt"));
}

#[test]
fn an_option_of_the_original_that_does_nothing_is_named_once() {
    let options = "monitor=y,interval=5,file=x.txt";
    let run = Program::new(any_jvm(), options, "Hello").run_well();
    let said: Vec<&str> = run
        .stderr
        .lines()
        .filter(|line| line.starts_with("hprof: "))
        .collect();
    assert_eq!(
        said,
        ["hprof: accepted for old scripts, without effect here: interval"]
    );
    let silent = format!("{options},verbose=n");
    let run = Program::new(any_jvm(), &silent, "Hello").run_well();
    assert_eq!(run.stderr, "");
}

#[test]
fn an_attached_agent_refuses_what_does_nothing_and_what_is_misspelt() {
    let run = Program::bare_java(any_jvm(), &[])
        .program("attach", "Steps")
        .start();
    run.wait_for_output("ready");
    for (options, answer) in [
        (
            "cpu=samples,clock=wall,file=x.txt",
            "option clock=wall: does nothing without cpu=times or cpu=old",
        ),
        (
            "heap=sites,dept=8,file=x.txt",
            "unknown option dept=8: did you mean depth? 'help' lists the options",
        ),
    ] {
        let (done, said) = run.hprof("attach", &[options]);
        assert_eq!((done, said), (false, format!("hprof: {answer}")));
        assert!(!run.path("x.txt").exists(), "{options}");
    }
    run.send("KILL");
    run.wait();
}

#[test]
fn the_name_of_the_file_decides_on_the_format() {
    for (options, is_binary) in [
        ("cpu=samples,file=x.hprof", true),
        ("cpu=samples,file=x.txt", false),
        ("cpu=samples,file=x", false),
        ("cpu=samples,file=x.hprof,format=a", false),
        ("cpu=times,include=Hello,file=x.hprof", false),
    ] {
        let run = Program::new(any_jvm(), options, "Hello").run_well();
        let [file] = &run.files()[..] else {
            panic!("{options}: {:?}", run.files())
        };
        let written = fs::read(run.path(file)).expect("a file");
        // The binary format begins with its name and a zero.
        assert_eq!(written.contains(&0), is_binary, "{options}");
    }
}

#[test]
fn logflags_4_checks_the_binary_file() {
    let run = Program::new(
        any_jvm(),
        "cpu=samples,format=b,file=x.hprof,logflags=4",
        "Exits",
    )
    .arg("return")
    .run_well();
    assert_eq!(run.files(), ["java.hprof.check.txt", "x.hprof"]);
    let report = run.read("java.hprof.check.txt");
    assert!(
        report.contains("CPU SAMPLES") && report.contains("START THREAD"),
        "{report}"
    );
    let run = Program::new(
        any_jvm(),
        "cpu=samples,format=b,file=x.hprof,logflags=3",
        "Hello",
    )
    .run_well();
    assert_eq!(run.files(), ["x.hprof"]);
}

#[test]
fn the_agent_refuses_to_be_loaded_twice() {
    let program = Program::java(any_jvm(), "cpu=samples,file=x.txt", &[]);
    let run = program
        .arg(agent_path("cpu=samples,file=y.txt"))
        .arg("-version")
        .run();
    assert_eq!(
        (run.status.code(), run.files()),
        (Some(1), vec!["x.txt".to_owned()]),
        "{}",
        run.stderr
    );
    assert!(
        run.stderr.contains("hprof: the agent is loaded already"),
        "{}",
        run.stderr
    );
}
