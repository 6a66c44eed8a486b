//! `hprof record`: the answer, the files, and what the command keeps.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::harness::{Finished, Jvm, Program, Running, agent, any_jvm, cli, skip};

/// Returns the command line of the recording, up to the command that is recorded.
fn record(words: &str) -> String {
    let agent = agent();
    format!(
        "{} record --agent {} {words}",
        cli().display(),
        agent.display()
    )
}

/// A program of `java-tests/record` below `hprof record`.
fn recorded(jvm: &Jvm, words: &str, arguments: &[&str]) -> Program {
    let mut program = Program::bare_java(jvm, &[]).program("record", "Recorded");
    for argument in arguments {
        program = program.arg(argument);
    }
    program.wrapped_in(&record(format!("{words} --").trim_start()))
}

/// A shell below `hprof record`, which passes the agent on in the environment; in its script `"$@"` is the program.
fn recorded_by_shell(jvm: &Jvm, script: &str) -> Program {
    recorded_by_shell_with(jvm, "", script)
}

fn recorded_by_shell_with(jvm: &Jvm, words: &str, script: &str) -> Program {
    let program = Program::bare_java(jvm, &[]).program("record", "Recorded");
    fs::write(program.folder().join("script"), script).expect("a script");
    program.wrapped_in(&record(format!("{words} -- sh script").trim_start()))
}

/// Runs `hprof` in a folder; returns its exit status and its output.
fn hprof_in(folder: impl AsRef<Path>, arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(cli());
    command.args(arguments).current_dir(folder);
    let output = command.output().expect("hprof");
    let said = [output.stdout, output.stderr].concat();
    (
        output.status.code(),
        String::from_utf8(said).expect("UTF-8"),
    )
}

fn record_in(folder: impl AsRef<Path>, arguments: &[&str]) -> (Option<i32>, String) {
    let library = agent();
    let library = library.to_str().expect("UTF-8");
    hprof_in(
        folder,
        &[&["record", "--agent", library], arguments].concat(),
    )
}

/// The profiles of the recording, after a check of their names.
fn files(finished: &Finished, suffix: &str) -> Vec<String> {
    let files: Vec<String> = finished
        .files()
        .into_iter()
        .filter(|name| name.contains(".hprof") && !name.ends_with(".blackbox"))
        .collect();
    for name in &files {
        let middle = name
            .strip_prefix("Recorded-")
            .and_then(|name| name.strip_suffix(suffix));
        let parts: Vec<&str> = middle.unwrap_or_default().split('-').collect();
        let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
        assert_eq!(&lengths[..2], [8, 6], "{name}");
        let is_number = |part: &&str| part.bytes().all(|byte| byte.is_ascii_digit());
        assert!(parts.len() == 3 && parts.iter().all(is_number), "{name}");
    }
    files
}

fn assert_says(finished: &Finished, texts: &[&str]) {
    for text in texts {
        assert!(
            finished.stderr.contains(text),
            "{text}: {}",
            finished.stderr
        );
    }
}

on_every_jvm!(a_program_is_recorded_and_keeps_its_output_and_status, and 25);

fn a_program_is_recorded_and_keeps_its_output_and_status(jvm: &Jvm) {
    let run = recorded(jvm, "", &["print:two words $HOME", "busy:400", "print:'"]).run();
    assert_eq!(run.status.code(), Some(3), "{}", run.stderr);
    assert_eq!(run.stdout, "two words $HOME\n'\n");
    let files = files(&run, ".hprof");
    assert_eq!(files.len(), 1, "{files:?}");
    let (is_sound, ..) = run.hprof("check", &files[0]);
    assert!(is_sound);
    assert_says(&run, &["Recorded (process ", "Recorded.busy\n", &files[0]]);
    // Nothing but the answer: the JVM does not say that it has picked something up.
    assert!(
        run.stderr.starts_with("Recorded (process "),
        "{}",
        run.stderr
    );
    assert!(run.stderr.lines().count() <= 14, "{}", run.stderr);
}

on_every_jvm!(a_running_program_is_recorded_and_goes_on, and 26);

fn a_running_program_is_recorded_and_goes_on(jvm: &Jvm) {
    let program = Program::bare_java(jvm, &[]).program("record", "Recorded");
    let run = program.arg("wait").start();
    run.wait_for_output("ready");
    let (is_well, said) = run.hprof(
        "record",
        &[
            "--for",
            "1s",
            "--dir",
            run.path("").to_str().expect("UTF-8"),
        ],
    );
    assert!(is_well, "{said}");
    assert!(said.contains("Recorded.busy"), "{said}");
    let status = run.hprof_well("status", &[]);
    assert!(status.starts_with("no profile is running"), "{status}");
    fs::write(run.path("end"), "").expect("a file");
    let run = run.wait();
    assert_eq!(run.status.code(), Some(3));
    assert_eq!(files(&run, ".hprof").len(), 1);
}

#[test]
fn each_measurement_has_an_answer() {
    for (what, suffix, part) in [
        ("alloc", ".hprof", " allocated\n"),
        ("heap", ".hprof", " objects\n"),
        ("calls", ".hprof.txt", "Recorded.busy\n"),
        ("locks", ".hprof.txt", "no thread waited for a monitor"),
        ("cpu=samples,depth=1", ".hprof.txt", " cut at 1 frames"),
    ] {
        let run = recorded(any_jvm(), what, &["busy:300"]).run();
        assert_eq!(run.status.code(), Some(3), "{}", run.stderr);
        assert_eq!(files(&run, suffix).len(), 1, "{what}: {:?}", run.files());
        assert_says(&run, &[part]);
    }
}

#[test]
fn calls_that_are_spread_over_many_stacks_are_listed() {
    let run = recorded(any_jvm(), "calls", &["tree:19"]).run();
    assert_says(&run, &["  Recorded.left\n", "  Recorded.right\n"]);
    assert!(!run.stderr.contains("<not listed>"), "{}", run.stderr);
}

on_every_jvm!(the_answer_names_states_and_holders);

fn the_answer_names_states_and_holders(jvm: &Jvm) {
    let run = recorded(jvm, "wall", &["rest:1500"]).run();
    assert_says(&run, &["  sleeping\n", "  Recorded.rest\n"]);
    let run = recorded(jvm, "locks", &["lock:1500"]).run();
    let holder = "  Recorded.want, while Recorded.hold (called by ";
    assert_says(
        &run,
        &[
            " of waiting for locks\n",
            holder,
            " held java.util.concurrent.locks.ReentrantLock",
        ],
    );
}

#[test]
fn options_in_place_of_a_word_are_answered_with_what_was_found() {
    // There is no contention of monitors, which the profile has first.
    let run = recorded(any_jvm(), "monitor=y,thread=y,depth=512", &["lock:1500"]).run();
    assert_says(&run, &["  Recorded.want, while Recorded.hold (called by "]);
}

#[test]
fn a_program_that_never_waited_is_named_as_such() {
    let run = recorded(any_jvm(), "locks", &["busy:100"]).run();
    assert_says(
        &run,
        &[
            "no thread waited for a monitor (`synchronized`) in ",
            "`hprof record wall`",
        ],
    );
}

#[test]
fn each_jvm_of_a_command_has_a_file() {
    let script = "\"$@\" child:900 busy:100; echo $?";
    let program = recorded_by_shell(any_jvm(), script);
    let run = program.env("JAVA_TOOL_OPTIONS", "-Dkept=1").run_well();
    assert_eq!(run.stdout, "3\n");
    assert_says(&run, &["Picked up JAVA_TOOL_OPTIONS: -Dkept=1 -agentpath:"]);
    assert_eq!(files(&run, ".hprof").len(), 2);
    // The one that used most is shown, and the other one is named.
    assert_says(
        &run,
        &["\nprofile: Recorded-", "\nanother JVM's: Recorded-"],
    );
    let line = run
        .stderr
        .lines()
        .find(|line| line.ends_with("  Recorded.busy"));
    let share = line.and_then(|line| line.split_whitespace().nth(2)?.parse::<f64>().ok());
    assert!(share.is_some_and(|share| share > 40.0), "{}", run.stderr);
}

on_every_jvm!(a_build_and_the_jvms_that_it_forks_are_recorded, and 17);

/// Two classes of tests run in JVMs of their own; a class fails unless it gets an argument with a space.
fn a_build_and_the_jvms_that_it_forks_are_recorded(jvm: &Jvm) {
    let Some(repository) = std::env::var_os("HPROF_MAVEN") else {
        return skip(
            "recording a build with Maven: $HPROF_MAVEN, a repository with its plugins, is not set",
        );
    };
    if !jvm.has_compiler() {
        return skip(&format!(
            "a build with JVM {}: it has no compiler",
            jvm.feature
        ));
    }
    let folder = tempfile::tempdir().expect("a folder");
    let build = Path::new(env!("CARGO_MANIFEST_DIR")).join("java-tests/record/maven");
    let mut copy = Command::new("cp");
    let copied = copy.arg("-R").arg(build).arg(folder.path()).status();
    assert!(copied.expect("cp").success());
    let build = folder.path().join("maven");
    let output = Command::new(cli())
        .args(["record", "--dir", "my profiles", "--agent"])
        .arg(agent())
        .args(["--", "mvn", "-o", "-q", "-B", "-Dstyle.color=never"])
        .arg(format!(
            "-Dmaven.repo.local={}",
            Path::new(&repository).display()
        ))
        .args(["-Dnote=two words", "test"])
        .env("JAVA_HOME", &jvm.home)
        .current_dir(&build)
        .output()
        .expect("hprof");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{said}{}",
        String::from_utf8_lossy(&output.stdout)
    );
    let profiles = build.join("my profiles");
    let names = fs::read_dir(&profiles).expect("the profiles");
    let names = names.map(|entry| entry.expect("a profile").file_name());
    let names: Vec<String> = names.filter_map(|name| name.into_string().ok()).collect();
    let of = |start: &str| {
        let of_start = names.iter().filter(|name| name.starts_with(start));
        of_start.cloned().collect::<Vec<String>>()
    };
    let (builds, forks) = (of("Launcher-"), of("surefirebooter"));
    assert_eq!((builds.len(), forks.len()), (1, 2), "{names:?} {said}");
    assert_eq!(names.len(), 3, "{names:?}");
    for fork in &forks {
        let (status, shown) = hprof_in(&profiles, &["top", fork, "--mine=shop", "-n", "0"]);
        assert_eq!(status, Some(0), "{shown}");
        assert!(shown.contains("shop.Prices.total"), "{shown}");
    }
    assert!(
        said.contains("another JVM's: 'my profiles") || said.contains("another JVM's: my profiles"),
        "{said}"
    );
}

#[test]
fn a_recording_of_flight_recorder_is_written_of_one_jvm() {
    let run = recorded(any_jvm(), "-o run.jfr", &["busy:400"]).run();
    assert_says(&run, &["Recorded.busy\n", "recording: run.jfr\n"]);
    let recording = fs::read(run.path("run.jfr")).expect("the recording");
    assert!(recording.starts_with(b"FLR\0"));
    let (status, said) = hprof_in(run.path(""), &["top", "run.jfr"]);
    assert!(
        status == Some(0) && said.contains("Recorded.busy"),
        "{said}"
    );
    let twice = "\"$@\" busy:100; exec \"$@\" busy:100";
    let run = recorded_by_shell_with(any_jvm(), "-o both.jfr", twice).run();
    let refused = "hprof: both.jfr: is for one JVM, and 2 were recorded; ";
    assert_says(&run, &[refused]);
    assert!(!run.path("both.jfr").exists());
    assert_eq!(files(&run, ".hprof").len(), 2);
}

#[test]
fn the_cpu_time_of_a_jvm_is_that_of_no_script() {
    // `times` ends with what the children of the shell have used: the JVM is the only one.
    let script = "\"$@\" busy:300; times > used.txt; tail -n 1 used.txt";
    let run = recorded_by_shell(any_jvm(), script).run();
    let seconds = |text: &str| -> Option<f64> {
        let (minutes, seconds) = text.trim_end_matches('s').split_once('m')?;
        Some(minutes.parse::<f64>().ok()? * 60.0 + seconds.parse::<f64>().ok()?)
    };
    let of_jvm: f64 = run.stdout.split_whitespace().filter_map(seconds).sum();
    let line = run
        .stderr
        .lines()
        .find(|line| line.starts_with("the JVM used "));
    let line = line.unwrap_or_else(|| panic!("{}", run.stderr));
    let words: Vec<&str> = line.split(' ').collect();
    let unit = match words[4] {
        "ms" => 0.001,
        _ => 1.0,
    };
    let said = words[3].parse::<f64>().expect("a number") * unit;
    // The VM begins before its agent and ends after it.
    assert!(
        said <= of_jvm + 0.01 && said > of_jvm / 2.0,
        "{said} of {of_jvm}: {line}"
    );
}

#[test]
fn a_command_without_a_jvm_keeps_its_status() {
    let run = recorded_by_shell(any_jvm(), "exit 5").run();
    assert_eq!(run.status.code(), Some(5));
    assert_eq!(
        run.stderr,
        "hprof: no profile was written: the command started no JVM, or none that could load the agent\n"
    );
    let (status, said) = record_in(run.path(""), &["--", "no-such-command", "x"]);
    assert_eq!(status, Some(127));
    assert_eq!(said, "hprof: no-such-command: command not found\n");
}

#[test]
fn a_program_that_is_killed_keeps_what_was_written() {
    let run = recorded(any_jvm(), "", &["busy:200", "killed"]).run();
    assert_eq!(run.status.code(), Some(137), "{}", run.stderr);
    assert_says(
        &run,
        &["hprof: SIGKILL ended the command", "profile: Recorded-"],
    );
    // Its head and its stacks are there.
    let files = files(&run, ".hprof");
    assert_eq!(files.len(), 1);
    assert!(fs::metadata(run.path(&files[0])).expect("it").len() > 0);
}

#[test]
fn signals_reach_the_program() {
    for (signal, status) in [("TERM", 143), ("HUP", 129), ("INT", 130)] {
        if is_ignored(status - 128) {
            skip(&format!(
                "SIG{signal}: this process ignores it, as under nohup"
            ));
            continue;
        }
        let run = recorded(any_jvm(), "", &["busy:100", "wait"]).start();
        run.wait_for_output("ready");
        run.send(signal);
        let run = run.wait();
        assert_eq!(run.status.code(), Some(status), "{signal}: {}", run.stderr);
        assert_says(&run, &["Recorded.busy\n"]);
    }
    let run = recorded_by_shell(any_jvm(), "timeout 5 \"$@\" busy:100 wait").run();
    assert_eq!(run.status.code(), Some(124), "{}", run.stderr);
    assert_says(&run, &["Recorded.busy\n"]);
}

/// Returns `true` if this process ignores a signal: the programs that it starts do, too.
fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").expect("Linux");
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = u64::from_str_radix(ignored.expect("the signals").trim(), 16);
    ignored.expect("a mask") >> (signal - 1) & 1 == 1
}

/// Starts a program whose name no other test uses.
fn named(vm_options: &[&str]) -> Running {
    let program = Program::bare_java(any_jvm(), vm_options).program("record", "RecordedNames");
    let run = program.arg("wait").start();
    run.wait_for_output("ready");
    run
}

#[test]
fn a_part_of_the_main_class_names_a_program() {
    let first = named(&[]);
    let here = first.path("");
    for name in ["RecordedNames", "recordedna"] {
        let (status, said) = hprof_in(&here, &["status", name]);
        assert_eq!(status, Some(0), "{said}");
        assert!(said.contains(&format!("process {}", first.id())), "{said}");
    }
    // One that publishes nothing is known by its command line.
    let second = named(&["-XX:-UsePerfData"]);
    let (status, said) = record_in(&here, &["RecordedNa", "--for", "1s"]);
    assert_eq!(status, Some(2), "{said}");
    let both = [&first, &second].map(|run| format!("{} (RecordedNames)", run.id()));
    assert!(both.iter().all(|one| said.contains(one)), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    let (status, said) = hprof_in(&here, &["stop", "RecordedNamesake"]);
    assert_eq!(status, Some(1), "{said}");
    assert!(
        said.contains("no running program has `RecordedNamesake`"),
        "{said}"
    );
    for run in [first, second] {
        fs::write(run.path("end"), "").expect("a file");
        run.wait();
    }
}

#[test]
fn ctrl_c_ends_a_recording_and_not_the_program() {
    let program = Program::bare_java(any_jvm(), &[]).program("record", "Recorded");
    let run = program.args(["busy:1", "wait"]).start();
    run.wait_for_output("ready");
    // A test that runs in a shell's background has inherited that the signal is ignored.
    let recording = Command::new("env")
        .arg("--default-signal=INT")
        .arg(cli())
        .args(["record", "--dir"])
        .arg(run.path(""))
        .arg(run.id().to_string())
        .arg("--agent")
        .arg(agent())
        .stdout(Stdio::piped())
        .spawn()
        .expect("hprof");
    run.wait_until(|| !has_no_profile(&run));
    let pid = recording.id().to_string();
    let killed = Command::new("kill").args(["-s", "INT", &pid]).status();
    assert!(killed.expect("kill").success());
    let output = recording.wait_with_output().expect("hprof");
    let said = String::from_utf8(output.stdout).expect("UTF-8");
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.starts_with("Recorded (process "), "{said}");
    assert!(has_no_profile(&run));
    fs::write(run.path("end"), "").expect("a file");
    assert_eq!(run.wait().status.code(), Some(3));
}

fn has_no_profile(run: &Running) -> bool {
    run.hprof_well("status", &[])
        .starts_with("no profile is running")
}

#[test]
fn a_recording_that_cannot_be_written_starts_nothing() {
    let folder = tempfile::TempDir::new().expect("a folder");
    let page = folder.path().join("page.html");
    fs::write(&page, "mine").expect("a file");
    for (arguments, part) in [
        (
            vec!["-o", "page.html"],
            "page.html: exists, and a recording replaces nothing",
        ),
        (
            vec!["--dir", "page.html/none"],
            "page.html/none: Not a directory",
        ),
        (
            vec!["cpu=samples,file=x"],
            "option file=: `hprof record` names the files itself",
        ),
    ] {
        let touched = folder.path().join("touched");
        let all = [&arguments[..], &["--", "touch", "touched"]].concat();
        let (status, said) = record_in(folder.path(), &all);
        assert!(matches!(status, Some(1 | 2)), "{said}");
        assert!(said.contains(part) && said.lines().count() == 1, "{said}");
        assert!(!touched.exists(), "{all:?}");
    }
    assert_eq!(fs::read_to_string(page).expect("it"), "mine");
}

#[test]
fn the_page_is_written_where_it_was_wanted() {
    let run = recorded(any_jvm(), "-o page.html", &["busy:200"]).run();
    assert_eq!(run.status.code(), Some(3));
    assert!(run.read("page.html").starts_with("<!DOCTYPE html>"));
}
