//! The file named by `file=`: other users do not get the profile, and opening it never blocks.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::Path;
use std::process::Command;

use crate::harness::{Finished, Jvm, Program, Running, agent, any_jvm, may_mount, skip};
use crate::profile::Profile;

/// A user who does not exist here.
const STRANGER: u32 = 54_321;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("a file").mode() & 0o777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is ours");
}

fn make_pipe(path: &Path) {
    let status = Command::new("mkfifo").arg(path).status();
    assert!(status.expect("mkfifo").success());
}

fn samples() -> Program {
    Program::new(any_jvm(), "cpu=samples,verbose=n,file=x.txt", "Hello")
}

#[test]
fn a_file_that_was_there_is_the_users_alone() {
    let program = samples();
    let path = program.folder().join("x.txt");
    fs::write(&path, "old").expect("a file");
    set_mode(&path, 0o644);
    let run = program.run_well();
    assert_eq!(mode(&path), 0o600);
    Profile::parse(&run.read("x.txt"));
}

#[test]
fn a_strangers_file_and_link_do_not_get_the_profile() {
    let program = samples();
    let path = program.folder().join("x.txt");
    fs::write(&path, "theirs").expect("a file");
    set_mode(&path, 0o666);
    if chown(&path, Some(STRANGER), None).is_err() {
        skip("output files of strangers: only root can give a file to somebody else");
        return;
    }
    let run = program.run();
    assert_eq!(run.status.code(), Some(1), "{}", run.stderr);
    let refused = "hprof: option file=x.txt: it belongs to another user (uid 54321); must be ";
    assert!(run.stderr.contains(refused), "{}", run.stderr);
    assert_eq!(run.read("x.txt"), "theirs");

    let program = samples();
    let link = program.folder().join("x.txt");
    let target = program.folder().join("target.txt");
    symlink("target.txt", &link).expect("a link");
    std::os::unix::fs::lchown(&link, Some(STRANGER), None).expect("root may");
    let run = program.run();
    assert_eq!(run.status.code(), Some(1), "{}", run.stderr);
    assert!(
        run.stderr.contains("it is a link that other users control"),
        "{}",
        run.stderr
    );
    assert!(!target.exists());
}

#[test]
fn a_link_of_the_users_own_leads_to_the_file() {
    let program = samples();
    symlink("target.txt", program.folder().join("x.txt")).expect("a link");
    let run = program.run_well();
    assert_eq!(mode(&run.path("target.txt")), 0o600);
    Profile::parse(&run.read("target.txt"));
}

#[test]
fn a_pipe_that_nobody_reads_does_not_stop_a_start() {
    let program = samples();
    make_pipe(&program.folder().join("x.txt"));
    let run = program.run();
    assert_eq!(run.status.code(), Some(1), "{}", run.stderr);
    let refused = "hprof: option file=x.txt: nobody reads from this pipe; must be ";
    assert!(run.stderr.contains(refused), "{}", run.stderr);
}

on_every_jvm!(a_pipe_that_nobody_reads_does_not_stop_a_program_that_runs, and 17);

fn a_pipe_that_nobody_reads_does_not_stop_a_program_that_runs(jvm: &Jvm) {
    let program = Program::bare_java(jvm, &[]);
    make_pipe(&program.folder().join("x.txt"));
    let run = program.program("attach", "Steps").start();
    run.wait_for_output("ready");
    let (content, said) = run.hprof("attach", &["cpu=samples,file=x.txt"]);
    assert!(
        !content && said.contains("nobody reads from this pipe"),
        "{said}"
    );
    fs::write(run.path("end"), "").expect("a file");
    assert!(run.wait().status.success(), "{}", jvm.feature);
}

#[test]
fn a_pipe_may_get_its_reader_a_moment_later() {
    let run = samples()
        .after("mkfifo x.txt; (sleep 0.5; cat x.txt >copy.txt; echo read >done) &")
        .start();
    run.wait_until(|| run.path("done").exists());
    let run = run.wait();
    assert!(run.status.success(), "{}", run.stderr);
    Profile::parse(&run.read("copy.txt"));
}

#[test]
fn descriptors_take_a_profile() {
    for name in ["/dev/stderr", "/dev/fd/2", "/proc/self/fd/2"] {
        let options = format!("cpu=samples,verbose=n,file={name}");
        // The harness passes a file for stderr, whose mode is unchanged.
        let run = Program::new(any_jvm(), &options, "Hello").run_well();
        Profile::parse(&run.stderr);
    }
    let options = "cpu=samples,verbose=n,file=/dev/stdout";
    let piped = Program::new(any_jvm(), options, "Hello").after("exec > >(cat >copy.txt)");
    let run = piped.start();
    run.wait_until(|| {
        fs::read_to_string(run.path("copy.txt")).is_ok_and(|text| text.contains("CPU SAMPLES END"))
    });
    assert!(run.wait().status.success());
}

on_every_jvm!(two_copies_of_the_agent_write_two_files, and 28);

fn two_copies_of_the_agent_write_two_files(jvm: &Jvm) {
    let program = Program::new(jvm, "cpu=samples,file=x.txt", "Hello");
    let copy = program.folder().join("other.so");
    fs::copy(agent(), &copy).expect("a copy");
    let second = format!("-agentpath:{}=monitor=y,file=x.txt", copy.display());
    let run = program.env("JAVA_TOOL_OPTIONS", &second).run_well();
    fs::remove_file(&copy).expect("it is ours");
    let files = run.files();
    assert_eq!(files.len(), 2, "{}: {files:?}", jvm.feature);
    let said = "x.txt: another profile is being written into it; this one goes to x.";
    assert!(run.stderr.contains(said), "{}: {}", jvm.feature, run.stderr);
    let profiles = files.iter().map(|file| Profile::parse(&run.read(file)));
    let sections: Vec<_> = profiles
        .map(|profile| (profile.dumps.len(), profile.monitors.dumps.len()))
        .collect();
    assert!(
        sections.contains(&(1, 0)) && sections.contains(&(0, 1)),
        "{}: {sections:?}",
        jvm.feature
    );
}

#[test]
fn a_vm_that_does_not_start_leaves_the_file_as_it_was() {
    let program = Program::java(any_jvm(), "cpu=samples,file=x.txt", &[]);
    fs::write(program.folder().join("x.txt"), "precious").expect("a file");
    let again = crate::harness::agent_path("cpu=samples,file=x.txt");
    let run = program.arg(again).arg("-version").run();
    assert_eq!(run.status.code(), Some(1), "{}", run.stderr);
    assert_eq!(run.read("x.txt"), "precious");
}

on_every_jvm!(a_program_that_needs_its_descriptors_starts_without_a_profile, and 25);

fn a_program_that_needs_its_descriptors_starts_without_a_profile(jvm: &Jvm) {
    // The VM alone starts with five, but does not always find its classes then. None but the first three are inherited.
    let run = Program::new(jvm, "heap=all,cpu=samples,format=b,file=x.hprof", "Hello")
        .after("exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-; ulimit -n 8")
        .run_well();
    let line = "hprof: fewer than 10 file descriptors are free (ulimit -n); the program continues without a profile\n";
    assert_eq!(run.stderr, line, "{}", jvm.feature);
    assert_eq!(run.files(), [""; 0]);
    let run = Program::new(jvm, "cpu=samples,verbose=n,file=x.txt", "Hello")
        .after("ulimit -n 20")
        .run_well();
    Profile::parse(&run.read("x.txt"));
}

/// Starts a program whose folder `hanging` does not answer one operation; `None` where such a folder cannot be had.
fn beside_a_hanging_file_system(operation: &str, options: &str, count: &str) -> Option<Running> {
    let python = Command::new("python3").arg("-V").output();
    let has_fuse = fs::File::options().write(true).open("/dev/fuse").is_ok();
    if !has_fuse || !may_mount() || python.is_err() {
        skip("a file system that hangs: this user may not mount one, or there is no python3");
        return None;
    }
    let script =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("java-tests/net/hanging_file_system.py");
    let runner = format!(
        "unshare --user --map-root-user --mount python3 {} {operation}",
        script.display()
    );
    let program = Program::java(any_jvm(), options, &[]).program("net", "Loud");
    Some(program.arg(count).wrapped_in(&runner).start())
}

/// Lets the file system answer with errors. The kernel does not end a process before.
fn release(run: Running) -> Finished {
    fs::write(run.path("release"), "").expect("a file");
    let run = run.wait();
    assert_eq!(run.status.code(), Some(5), "{}", run.stderr);
    run
}

#[test]
fn a_program_goes_on_where_a_file_system_hangs() {
    let options = "heap=sites,thread=y,format=b,file=hanging/x.hprof";
    // Far more than is kept in memory.
    let Some(run) = beside_a_hanging_file_system("write", options, "60") else {
        return;
    };
    run.wait_for_output("loud 60");
    let run = release(run);
    assert!(
        run.stderr.contains("hprof: hanging/x.hprof: ") && run.stderr.contains("ends here"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_dump_is_given_up_where_a_file_system_hangs_when_asked_for_its_room() {
    let options = "heap=dump,format=b,file=hanging/x.hprof";
    let Some(run) = beside_a_hanging_file_system("statfs", options, "1") else {
        return;
    };
    run.wait_for_stderr("no heap dump: the file system of ");
    release(run);
}
