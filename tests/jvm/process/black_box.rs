//! `blackbox=`: what is left of a program that is killed. The programs are in `java-tests/blackbox`.

use std::fs;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use crate::cells::Cell;
use crate::harness::{Finished, Jvm, Program, Running, agent, any_jvm, cli, may_mount, skip};
use crate::heap::sites::count;
use crate::profile::Profile;

const BLACK_BOX: &str = "x.txt.blackbox";
/// The modes, each with what the snapshot must have.
const MODES: [(&str, &[&str]); 6] = [
    ("heap=sites", &["Load$Item"]),
    (
        "cpu=samples,heap=sites,monitor=y",
        &["Load$Item", "CPU SAMPLES BEGIN", "MONITOR TIME"],
    ),
    (
        "cpu=samples,thread=y",
        &["CPU SAMPLES BEGIN", "THREAD START", "Load.burn"],
    ),
    ("cpu=times", &["CPU TIME", "Load.burn"]),
    (
        "cpu=times,clock=samples",
        &["CPU TIME", "Load.burn", "times are sampled"],
    ),
    ("cpu=old", &["count callee caller time", "Load."]),
];

fn load(jvm: &Jvm, options: &str, vm_options: &[&str]) -> Program {
    let options = format!("{options},file=x.txt,verbose=n");
    Program::java(jvm, &options, vm_options).program("blackbox", "Load")
}

/// Runs the program, and kills it so many milliseconds after a snapshot has all of the wanted parts.
fn killed(program: Program, wanted: &[&str], millis: u64) -> Finished {
    let run = program.start();
    run.wait_for_output("kept");
    run.wait_until(|| snapshot(&run.path(BLACK_BOX)).is_some_and(|text| has_all(&text, wanted)));
    sleep(Duration::from_millis(millis));
    run.send("KILL");
    let run = run.wait();
    assert_eq!(run.signal(), Some(9), "{}", run.stderr);
    run
}

/// Waits for a snapshot of what the program has done by now: the newest may be older, and so may the one that is being made.
fn wait_for_new_snapshots(run: &Running) {
    let file = run.path(BLACK_BOX);
    for _ in 0..2 {
        // Each says how long the profile was.
        let before = snapshot(&file);
        run.wait_until(|| snapshot(&file).is_some_and(|text| Some(text) != before));
    }
}

fn has_all(text: &str, wanted: &[&str]) -> bool {
    wanted.iter().all(|part| text.contains(part))
}

/// Returns the text of the newest snapshot of a running program; `None` as long as there is none.
fn snapshot(black_box: &Path) -> Option<String> {
    let mut command = Command::new(cli());
    let output = command.arg("autopsy").arg(black_box).output();
    let output = output.expect("hprof");
    let said = String::from_utf8(output.stderr).expect("UTF-8");
    let is_running = said.contains("; the program is still running");
    assert_eq!(output.status.success(), is_running, "{said}");
    is_running.then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Returns what `hprof autopsy` prints, and what it says on stderr.
fn autopsy(run: &Finished) -> (String, String) {
    let (is_well, text, said) = run.hprof("autopsy", BLACK_BOX);
    assert!(is_well, "{said}");
    assert!(said.contains("hprof: the profile as of "), "{said}");
    (text, said)
}

/// Asserts that the sites have no more than the program had made, and of that no more than it kept and what it had made
/// since the last collection.
fn has_no_more_than_was_made(run: &Finished, profile: &Profile, what: &str) {
    let made = run
        .stdout
        .lines()
        .rev()
        .find_map(|line| line.strip_prefix("making "));
    let made: u64 = made.and_then(|made| made.parse().ok()).expect("a number");
    let items = count(profile, profile.one_sites(), "Load$Item", "Load.make");
    assert!(
        items.allocated > 0 && items.allocated <= made,
        "{what}: {items:?} of {made}"
    );
    assert!(items.live <= items.allocated, "{what}: {items:?}");
    assert!(items.live <= 80_000, "{what}: {items:?}");
}

on_every_jvm!(what_a_slow_thread_keeps_is_in_it);

fn what_a_slow_thread_keeps_is_in_it(jvm: &Jvm) {
    let options = "heap=sites,sample=512k,blackbox=y,file=x.txt,verbose=n";
    let program = Program::java(jvm, options, &["-Xmx600m"]).program("blackbox", "Slow");
    let run = program.start();
    run.wait_for_output("kept");
    run.wait_until(|| snapshot(&run.path(BLACK_BOX)).is_some());
    wait_for_new_snapshots(&run);
    run.send("KILL");
    let run = run.wait();
    assert_eq!(run.signal(), Some(9), "{}", run.stderr);
    let (text, _) = autopsy(&run);
    let profile = Profile::parse(&text);
    let arrays = count(&profile, profile.one_sites(), "byte[]", "Slow.keep");
    // 100 MB, give or take the error of the estimate.
    assert!(
        (70_000_000..130_000_000).contains(&arrays.live_bytes),
        "{}: {arrays:?}",
        jvm.feature
    );
}

on_paired_cells!(a_killed_program_leaves_what_was_known, row 3);

fn a_killed_program_leaves_what_was_known(cell: &Cell) {
    let program = load(
        cell.jvm,
        "heap=sites,cpu=samples,blackbox=y",
        &cell.vm_options(),
    );
    let run = killed(program, &["Load$Item", "Load.burn"], 700);
    let what = cell.to_string();
    assert_eq!(run.files(), ["x.txt", BLACK_BOX], "{what}");
    let found = fs::metadata(run.path(BLACK_BOX)).expect("the file");
    assert_eq!(found.permissions().mode() & 0o777, 0o600, "{what}");
    let (text, said) = autopsy(&run);
    let profile = Profile::parse(&text);
    has_no_more_than_was_made(&run, &profile, &what);
    assert!(
        profile.count("Load.burn") > 0,
        "{what}: {:?}",
        profile.methods()
    );
    assert_eq!(profile.head["Collector"], cell.collector);
    assert!(profile.head.contains_key("Started"), "{what}: {text}");
    for part in [
        "; live objects as of ",
        "s the Java heap ",
        "metaspace ",
        " threads)",
    ] {
        assert!(said.contains(part), "{what}: {part}: {said}");
    }
    assert!(!said.contains("still running"), "{said}");
    let (is_whole, _, fault) = run.hprof("check", BLACK_BOX);
    assert!(is_whole, "{what}: {fault}");
}

#[test]
fn every_mode_can_be_killed_at_any_moment() {
    for (number, (mode, parts)) in (0..).zip(MODES) {
        let program = load(any_jvm(), &format!("{mode},blackbox=y"), &[]);
        // Times that have nothing to do with the seconds of the snapshots.
        let run = killed(program, parts, 113 + 617 * number % 1_000);
        let (text, _) = autopsy(&run);
        for part in parts {
            assert!(text.contains(part), "{mode}: {part}: {text}");
        }
        if mode.contains("heap=sites") {
            has_no_more_than_was_made(&run, &Profile::parse(&text), mode);
        }
        // Every other command takes it for a profile.
        let (is_well, table, fault) = run.hprof("top", BLACK_BOX);
        assert!(is_well && table.contains("Load"), "{mode}: {fault}{table}");
        let written = run.path("out.hprof");
        let mut command = Command::new(cli());
        command
            .args(["autopsy", "-o"])
            .arg(&written)
            .arg(run.path(BLACK_BOX));
        let output = command.output().expect("hprof");
        let is_binary = !mode.contains("cpu=t") && !mode.contains("old");
        assert_eq!(output.status.success(), is_binary, "{mode}: {output:?}");
        assert_eq!(written.exists(), is_binary, "{mode}");
        if is_binary {
            run.checked_text("out.hprof");
        }
    }
}

on_every_jvm!(a_profile_that_ends_well_leaves_no_black_box, and 25);

fn a_profile_that_ends_well_leaves_no_black_box(jvm: &Jvm) {
    let run = load(jvm, "heap=sites,cpu=samples,blackbox=y", &[])
        .arg("end")
        .start();
    run.wait_for_output("kept");
    run.wait_until(|| run.path(BLACK_BOX).exists());
    fs::write(run.path("end"), "").expect("a file");
    let run = run.wait();
    assert!(run.status.success(), "{}", run.stderr);
    assert_eq!(run.files(), ["end", "x.txt"], "{}", run.stderr);
    assert_eq!(run.stderr, "");
}

#[test]
fn sessions_and_periods_have_one_each() {
    let jvm = any_jvm();
    let run = Program::bare_java(jvm, &[])
        .program("blackbox", "Load")
        .arg("end")
        .start();
    run.wait_for_output("kept");
    for _ in 0..2 {
        run.hprof_well(
            "attach",
            &["cpu=samples,blackbox=y,verbose=n,force=y,file=x.txt"],
        );
        run.wait_until(|| snapshot(&run.path(BLACK_BOX)).is_some());
        run.hprof_well("stop", &[]);
        assert!(!run.path(BLACK_BOX).exists());
    }
    fs::write(run.path("end"), "").expect("a file");
    assert!(run.wait().status.success());

    let run = load(jvm, "cpu=samples,rotate=1s,blackbox=y", &[]).start();
    run.wait_until(|| run.path("x.3.txt").exists());
    run.send("KILL");
    let run = run.wait();
    let boxes = run
        .files()
        .into_iter()
        .filter(|file| file.ends_with(".blackbox"));
    assert_eq!(boxes.collect::<Vec<_>>(), [BLACK_BOX]);
    autopsy(&run);
}

#[test]
fn a_black_box_of_an_earlier_run_is_kept_and_another_file_stays() {
    let first = killed(load(any_jvm(), "cpu=samples,blackbox=y", &[]), &[], 0);
    let left = fs::read(first.path(BLACK_BOX)).expect("the file");
    let program = load(any_jvm(), "cpu=samples,blackbox=y", &[]);
    fs::write(program.folder().join(BLACK_BOX), &left).expect("a file");
    let run = killed(program, &[], 0);
    assert_eq!(
        fs::read(run.path("x.txt.old.blackbox")).expect("the file"),
        left
    );
    autopsy(&run);

    let program = load(any_jvm(), "cpu=samples,blackbox=y", &[]);
    fs::write(program.folder().join(BLACK_BOX), "mine").expect("a file");
    let run = program.start();
    run.wait_for_output("kept");
    run.send("KILL");
    let run = run.wait();
    assert_eq!(run.read(BLACK_BOX), "mine");
    let message = "a file of that name exists, and is no black box; the profile continues without a black box\n";
    assert!(run.stderr.ends_with(message), "{}", run.stderr);
}

/// A disk of 2 MB below the program's folder, on which its files are; needs namespaces.
const SMALL_DISK: &str = "set -e; mkdir -p small; mount -t tmpfs -o size=2m none small; \"$@\" & wait $!; ls small > left";

#[test]
fn a_full_disk_costs_the_black_box_alone() {
    if !may_mount() {
        return skip(
            "a black box on a full disk: this user may not mount a file system of its own",
        );
    }
    let options = "cpu=samples,blackbox=y,file=small/x.txt,verbose=n";
    let program = Program::java(any_jvm(), options, &[])
        .program("blackbox", "Load")
        .arg("end");
    fs::write(program.folder().join("end"), "").expect("a file");
    fs::write(program.folder().join("script"), SMALL_DISK).expect("a script");
    let run = program
        .wrapped_in("unshare --user --map-root-user --mount sh script")
        .run_well();
    assert_eq!(run.read("left"), "x.txt\n", "{}", run.stderr);
    let message = "small/x.txt.blackbox: No space left on device (os error 28); the profile continues without a black box";
    assert_eq!(run.stderr.matches(message).count(), 1, "{}", run.stderr);
}

#[test]
fn a_recording_of_a_killed_program_has_an_answer() {
    let program = Program::bare_java(any_jvm(), &[]).program("blackbox", "Load");
    let record = format!(
        "{} record --agent {} cpu --",
        cli().display(),
        agent().display()
    );
    // The shell's child is the JVM, which is killed alone.
    let script = format!(
        "\"$@\" & until {} autopsy *.blackbox 2>/dev/null | grep -q Load.burn; do sleep 0.2; done; kill -KILL $!; wait $!",
        cli().display()
    );
    fs::write(program.folder().join("script"), script).expect("a script");
    let run = program.wrapped_in(&format!("{record} sh script")).run();
    let about = format!("{}{}", run.stderr, run.stdout);
    for part in [
        "that is the black box of a program that was killed",
        "  hprof autopsy ",
        "Load.burn",
    ] {
        assert!(run.stderr.contains(part), "{part}: {about}");
    }
}

#[test]
fn damage_is_one_line_and_the_other_half_still_counts() {
    let run = killed(
        load(any_jvm(), "cpu=samples,heap=sites,blackbox=y", &[]),
        &[],
        2_500,
    );
    let path = run.path(BLACK_BOX);
    let file = fs::OpenOptions::new()
        .write(true)
        .open(&path)
        .expect("it is ours");
    let halves = [4096, 4096 + (2 << 20)];
    file.write_all_at(b"damage", halves[0] + 700)
        .expect("it is written");
    autopsy(&run);
    file.write_all_at(b"damage", halves[1] + 700)
        .expect("it is written");
    for command in ["autopsy", "top", "check", "text", "tree"] {
        let (is_well, _, said) = run.hprof(command, BLACK_BOX);
        assert!(!is_well, "{command}");
        let line = "bytes 4096 and 2101248: neither half holds a whole snapshot";
        assert!(
            said.contains(line) && said.lines().count() == 1,
            "{command}: {said}"
        );
    }
    let (is_well, _, said) = run.hprof("autopsy", "x.txt");
    let line = "x.txt.blackbox: bytes 4096 and 2101248: neither half holds a whole snapshot";
    assert!(!is_well && said.contains(line), "{said}");
}

/// Runs the program, which crashes its VM once the black box knows what it keeps.
fn crash(program: Program) -> Finished {
    let run = program.start();
    run.wait_for_output("kept");
    run.wait_until(|| {
        snapshot(&run.path(BLACK_BOX)).is_some_and(|text| has_all(&text, &["Crash.keep"]))
    });
    fs::write(run.path("crash"), "").expect("a file");
    run.wait()
}

on_every_jvm!(a_crash_of_the_vm_leaves_a_black_box, and 26);

fn a_crash_of_the_vm_leaves_a_black_box(jvm: &Jvm) {
    let options = "heap=sites,cpu=samples,blackbox=y,file=x.txt,verbose=n";
    let program = Program::java(jvm, options, &[]).program("blackbox", "Crash");
    let run = crash(program.after("ulimit -c 0"));
    // SIGABRT: the VM has written its report and ends itself.
    assert_eq!(run.signal(), Some(6), "{}", run.stderr);
    let of_the_vm = run
        .files()
        .into_iter()
        .find(|file| file.starts_with("hs_err"));
    let report = run.read(&of_the_vm.expect("the VM's report"));
    assert!(report.contains("SIGSEGV"), "{report}");
    let (text, said) = autopsy(&run);
    let profile = Profile::parse(&text);
    let kept = count(&profile, profile.one_sites(), "byte[]", "Crash.keep");
    // The last of them are known to their thread alone.
    assert!((1..=1_000).contains(&kept.live), "{kept:?}");
    assert!(said.contains("live objects "), "{said}");
    assert!(!said.contains("still running"), "{said}");
}

on_every_jvm!(a_crash_without_a_core_leaves_a_black_box, and 17);

/// HotSpot 11 calls `exit` then, which runs the agent's handler.
fn a_crash_without_a_core_leaves_a_black_box(jvm: &Jvm) {
    let options = "heap=sites,blackbox=y,file=x.txt,verbose=n";
    let program = Program::java(jvm, options, &["-XX:-CreateCoredumpOnCrash"]);
    let run = crash(program.program("blackbox", "Crash"));
    assert_eq!(run.status.code(), Some(1), "{}", run.stderr);
    let (text, said) = autopsy(&run);
    let profile = Profile::parse(&text);
    let kept = count(&profile, profile.one_sites(), "byte[]", "Crash.keep");
    assert!((1..=1_000).contains(&kept.live), "{kept:?}");
    assert!(!said.contains("still running"), "{said}");
}

#[test]
fn a_memory_limit_of_the_kernel_leaves_a_black_box() {
    let Some(group) = Group::new(256 << 20) else {
        return skip("a black box after a kill by a memory limit: no cgroup can be made here");
    };
    let options = "heap=sites,blackbox=y,file=x.txt,verbose=n";
    // Direct buffers: the limit is that of the process, not of the Java heap.
    let vm_options = ["-Xmx64m", "-XX:MaxDirectMemorySize=2g"];
    let program = Program::java(any_jvm(), options, &vm_options).program("blackbox", "Native");
    let script = format!("echo $$ > {}/cgroup.procs; exec \"$@\"", group.0.display());
    fs::write(program.folder().join("script"), script).expect("a script");
    let run = program.wrapped_in("sh script").run();
    assert_eq!(run.signal(), Some(9), "{}", run.stderr);
    let (_, said) = autopsy(&run);
    assert!(said.contains("s the Java heap "), "{said}");
    assert!(said.contains(" outside it ("), "{said}");
}

/// A cgroup with a memory limit, removed at the end.
struct Group(std::path::PathBuf);

impl Group {
    /// Creates one below the group of this process, in either version of cgroups.
    fn new(limit: u64) -> Option<Self> {
        let own = fs::read_to_string("/proc/self/cgroup").ok()?;
        let versions = [
            ("0::/", "/sys/fs/cgroup", "memory.max"),
            (
                ":memory:/",
                "/sys/fs/cgroup/memory",
                "memory.limit_in_bytes",
            ),
        ];
        versions.into_iter().find_map(|(mark, root, file)| {
            let own = own
                .lines()
                .find_map(|line| Some(line.split_once(mark)?.1))?;
            let name = format!("hprof-test-{}", std::process::id());
            let groups = [Path::new(root).join(own), root.into()].map(|parent| parent.join(&name));
            groups.into_iter().find_map(|group| {
                fs::create_dir(&group).ok()?;
                let group = Self(group);
                let file = group.0.join(file);
                // Where no such file system is mounted, the folder is one like any other.
                let is_limited = file.exists() && fs::write(file, limit.to_string()).is_ok();
                is_limited.then_some(group)
            })
        })
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}
