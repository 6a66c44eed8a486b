//! The profile is complete however the program ends, and a dump on request changes nothing.

use crate::harness::{Finished, Jvm, Program, Running, any_jvm, c_library};
use crate::profile::Profile;

const OPTIONS: &str = "cpu=samples,file=x.txt";

on_every_jvm!(every_way_to_end_writes_the_profile, and 26);

fn every_way_to_end_writes_the_profile(jvm: &Jvm) {
    for (way, status) in [("return", 0), ("exit", 3), ("halt", 4), ("throw", 1)] {
        let run = Program::new(jvm, OPTIONS, "Exits").arg(way).run();
        assert_eq!(
            run.status.code(),
            Some(status),
            "{} {way}: {}",
            jvm.feature,
            run.stderr
        );
        let profile = Profile::parse(&run.read("x.txt"));
        assert!(
            profile.share("Exits.busy") > 0.5,
            "{} {way}: {:?}",
            jvm.feature,
            profile.methods()
        );
        assert!(
            run.stderr
                .contains("Dumping CPU usage by sampling running threads ... done.\n")
        );
    }
}

// Earlier VMs' logs do not name the threads.
on_every_jvm!(no_thread_of_the_agent_is_left_for_the_vm_to_wait_for from 25);

fn no_thread_of_the_agent_is_left_for_the_vm_to_wait_for(jvm: &Jvm) {
    let options = "heap=sites,rotate=10m,timeout=10m,file=x.txt";
    let run = Program::with_vm_options(jvm, options, &["-Xlog:os+thread=info"], "Exits")
        .arg("return")
        .run_well();
    for thread in ["HPROF dumps", "HPROF periods", "HPROF timeout"] {
        let end = format!("JavaThread exiting (name: \"{thread}\"");
        assert!(run.stdout.contains(&end), "{thread}: {}", run.stdout);
    }
}

const WITHOUT_VM: &str = "hprof: the process ends without VMDeath, and the VM could not be asked";

/// Runs a program whose main thread dies of a full heap. G1 has no room there for the thread that is to end the VM;
/// other garbage collectors may.
fn full_heap(jvm: &Jvm, options: &str, vm_options: &[&str]) -> Finished {
    let vm_options = [vm_options, &["-Xmx64m", "-XX:+UseG1GC"]].concat();
    Program::java(jvm, options, &vm_options)
        .program("exits", "FullHeap")
        .run()
}

/// Returns `true` if the profile was written at VMDeath, and is whole.
fn has_ended_well(run: &Finished, file: &str) -> bool {
    let text = match file.ends_with(".txt") {
        true => run.read(file),
        false => run.checked_text(file),
    };
    let profile = Profile::parse(&text);
    run.stderr.trim_end().ends_with(" done.")
        && profile.length.is_some()
        && profile.without_vm.is_none()
}

on_every_jvm!(a_program_that_dies_of_a_full_heap_keeps_its_profile, and 17);

fn a_program_that_dies_of_a_full_heap_keeps_its_profile(jvm: &Jvm) {
    for (options, missing) in [
        ("heap=sites,cpu=samples", "live objects"),
        ("heap=all", "there is no heap dump of the end; live objects"),
        ("cpu=times,monitor=y", "there is no monitor dump"),
    ] {
        let is_text = options == "cpu=times,monitor=y";
        let file = if is_text { "x.txt" } else { "x.hprof" };
        let format = if is_text { "" } else { ",format=b" };
        // Rarely a collection finds room for the end of the VM. Then the profile is whole.
        let run = (0..3)
            .map(|_| full_heap(jvm, &format!("{options}{format},file={file}"), &[]))
            .find(|run| run.stderr.contains(WITHOUT_VM) || !has_ended_well(run, file))
            .unwrap_or_else(|| panic!("{} {options}: VMDeath came in each run", jvm.feature));
        let context = format!("{} {options}: {}", jvm.feature, run.stderr);
        assert_eq!(run.status.code(), Some(1), "{context}");
        assert_eq!(run.stderr.matches(WITHOUT_VM).count(), 1, "{context}");
        let text = if is_text {
            run.read(file)
        } else {
            run.checked_text(file)
        };
        let profile = Profile::parse(&text);
        assert!(profile.length.is_some(), "{context}");
        let without_vm = profile.without_vm.as_deref();
        assert!(
            without_vm.is_some_and(|words| words.trim_start_matches("; ").starts_with(missing)),
            "{context}: {without_vm:?}"
        );

        for sites in &profile.sites {
            let [blocks, arrays] = ["FullHeap$Block", "byte[]"].map(|class| {
                let rows = sites.rows.iter().filter(|row| row.class == class);
                rows.max_by_key(|row| row.live).expect(class)
            });
            // Objects that died between the last collection and the end are the VM's, not the program's.
            assert!(
                blocks.live + 1 >= blocks.allocated && blocks.live > 10_000,
                "{context}: {blocks:?}"
            );
            assert!(
                arrays.live.abs_diff(blocks.live) <= 1,
                "{context}: {arrays:?}"
            );
            assert!(sites.notes.as_of_last_gc, "{context}");
        }
        for samples in &profile.dumps {
            assert!(
                samples.total > 0 && profile.count("FullHeap.work") > 0,
                "{context}: {samples:?}"
            );
        }
        for times in &profile.times {
            let work = times.rows.iter().find(|row| row.method == "FullHeap.work");
            assert_eq!(work.expect("the row").calls, 300, "{context}");
        }
        for times in &profile.monitors.times {
            assert!(
                times.rows.iter().any(|row| row.class == "java.lang.Class"),
                "{context}: {times:?}"
            );
        }
        let sections = profile.sites.len()
            + profile.dumps.len()
            + profile.times.len()
            + profile.monitors.times.len();
        assert_eq!(
            sections,
            if options == "heap=all" { 1 } else { 2 },
            "{context}"
        );
    }
}

on_every_jvm!(a_process_that_exits_without_vmdeath_keeps_its_profile, and 28);

/// HotSpot 11 and 17 call `exit` here; later ones call `_exit`, which runs no code of the process.
fn a_process_that_exits_without_vmdeath_keeps_its_profile(jvm: &Jvm) {
    let options = "heap=sites,blackbox=y,file=x.txt";
    let run = full_heap(jvm, options, &["-XX:+ExitOnOutOfMemoryError"]);
    let context = format!("{}: {}", jvm.feature, run.stderr);
    assert_eq!(run.status.code(), Some(3), "{context}");
    let profile = Profile::parse(&run.read("x.txt"));
    let is_told = run.stderr.contains(WITHOUT_VM);
    assert_eq!(is_told, jvm.feature < 21, "{context}");
    assert_eq!(
        is_told,
        profile.without_vm.is_some() && profile.length.is_some(),
        "{context}"
    );
    assert_eq!(profile.sites.len(), usize::from(is_told), "{context}");
    assert!(run.path("x.txt.blackbox").exists(), "{context}");
}

/// Runs a program that ends in native code, in one of the ways of `NativeExit`.
fn native_exit(jvm: &Jvm, way: &str) -> Option<Finished> {
    let library = c_library("java-tests/exits/native_exit.c")?;
    let run = Program::java(
        jvm,
        "heap=sites,cutoff=0,blackbox=y,file=x.txt",
        &["-Xmx64m"],
    )
    .program("exits", "NativeExit")
    .arg(library)
    .arg(way)
    .run();
    Some(run)
}

/// Asserts that the profile holds the program's objects, once.
fn made_once(run: &Finished, context: &str) -> Profile {
    let text = run.read("x.txt");
    assert_eq!(text.matches("SITES BEGIN").count(), 1, "{context}");
    let profile = Profile::parse(&text);
    assert!(profile.length.is_some(), "{context}");
    let mut rows = profile.sites[0].rows.iter();
    let made = rows.find(|row| row.class == "NativeExit$Made");
    assert_eq!(made.expect("the row").allocated, 1_000, "{context}");
    profile
}

on_every_jvm!(native_code_that_calls_exit_keeps_the_profile, and 25);

fn native_code_that_calls_exit_keeps_the_profile(jvm: &Jvm) {
    let Some(run) = native_exit(jvm, "exit") else {
        return;
    };
    let context = format!("{}: {}", jvm.feature, run.stderr);
    assert_eq!(run.status.code(), Some(7), "{context}");
    assert_eq!(run.stderr.matches(WITHOUT_VM).count(), 1, "{context}");
    assert!(made_once(&run, &context).without_vm.is_some(), "{context}");
    assert!(!run.path("x.txt.blackbox").exists(), "{context}");
}

on_every_jvm!(a_forked_child_that_exits_writes_nothing, and 26);

fn a_forked_child_that_exits_writes_nothing(jvm: &Jvm) {
    let Some(run) = native_exit(jvm, "fork") else {
        return;
    };
    let context = format!("{}: {}", jvm.feature, run.stderr);
    assert_eq!(run.status.code(), Some(0), "{context}");
    assert_eq!(run.stdout, "child 9\n", "{context}");
    assert!(!run.stderr.contains(WITHOUT_VM), "{context}");
    assert!(made_once(&run, &context).without_vm.is_none(), "{context}");
}

on_every_jvm!(sigterm_writes_the_profile, and 17);

fn sigterm_writes_the_profile(jvm: &Jvm) {
    let run = Program::new(jvm, OPTIONS, "Exits").arg("wait").start();
    run.wait_for_output("ready");
    run.send("TERM");
    let run = run.wait();
    assert_eq!(
        run.status.code(),
        Some(143),
        "{}: {}",
        jvm.feature,
        run.stderr
    );
    assert!(
        Profile::parse(&run.read("x.txt")).share("Exits.busy") > 0.5,
        "{}",
        jvm.feature
    );
}

on_every_jvm!(sigkill_leaves_what_was_written_so_far, and 28);

fn sigkill_leaves_what_was_written_so_far(jvm: &Jvm) {
    let run = Program::new(jvm, "cpu=samples,format=b,file=x.hprof", "Exits")
        .arg("wait")
        .start();
    run.wait_for_output("ready");
    // A dump on request must not be lost.
    run.send("QUIT");
    let file = run.path("x.hprof");
    let names_the_frame = |bytes: Vec<u8>| bytes.windows(10).any(|text| text == b"Exits.java");
    run.wait_until(|| std::fs::read(&file).is_ok_and(names_the_frame));
    run.send("KILL");
    let run = run.wait();
    assert_eq!(run.signal(), Some(9));
    let profile = Profile::parse(&run.checked_text("x.hprof"));
    assert!(
        profile.threads.iter().any(|thread| thread.name == "main"),
        "{}",
        jvm.feature
    );
    assert!(profile.count("Exits.busy") > 0, "{}", jvm.feature);
}

#[test]
fn what_a_killed_program_wrote_a_second_before_is_there() {
    let run = Program::new(any_jvm(), "cpu=samples,format=b,file=x.hprof", "Exits")
        .arg("wait")
        .start();
    run.wait_for_output("ready");
    let file = run.path("x.hprof");
    run.wait_until(|| std::fs::metadata(&file).is_ok_and(|metadata| metadata.len() > 100));
    run.send("KILL");
    let run = run.wait();
    let profile = Profile::parse(&run.checked_text("x.hprof"));
    assert!(
        profile.threads.iter().any(|thread| thread.name == "main"),
        "without any dump"
    );
}

/// Returns the CPU time that a program has used, in hundredths of a second.
pub fn cpu_time(run: &Running) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", run.id())).expect("it runs");
    let (_, fields) = stat.rsplit_once(") ").expect("its name");
    let times = fields.split(' ').skip(11).take(2);
    times
        .map(|time| time.parse::<u64>().expect("a number"))
        .sum()
}

on_every_jvm!(sigquit_dumps_and_the_program_goes_on, and 25);

fn sigquit_dumps_and_the_program_goes_on(jvm: &Jvm) {
    for (options, file) in [("", "x.txt"), ("format=b,", "x.hprof")] {
        let run = Program::new(jvm, &format!("cpu=samples,{options}file={file}"), "Exits")
            .arg("wait")
            .start();
        run.wait_for_output("ready");
        run.send("QUIT");
        run.wait_for_output("Full thread dump");
        run.wait_for_stderr("done.");
        let used = cpu_time(&run);
        run.wait_until(|| cpu_time(&run) > used + 50);
        run.send("TERM");
        let run = run.wait();
        let text = if options.is_empty() {
            run.read(file)
        } else {
            run.checked_text(file)
        };
        let profile = Profile::parse(&text);
        let [first, second] = &profile.dumps[..] else {
            panic!("{}: two dumps", jvm.feature)
        };
        let busy = |dump: &crate::profile::CpuSamples| {
            dump.rows
                .iter()
                .filter(|row| row.method == "Exits.busy")
                .map(|row| row.count)
                .sum::<u32>()
        };
        assert!(
            busy(first) > 0 && busy(second) > 0,
            "{}: {first:?} {second:?}",
            jvm.feature
        );
    }
}

#[test]
fn without_a_dump_on_exit_there_is_none() {
    let run = Program::new(any_jvm(), "cpu=samples,doe=n,file=x.txt", "Exits")
        .arg("return")
        .run_well();
    let profile = Profile::parse(&run.read("x.txt"));
    assert!(profile.dumps.is_empty());
    assert!(profile.threads.iter().any(|thread| thread.name == "main"));
    assert_eq!(run.stderr, "");
}

#[test]
fn quiet_when_asked() {
    let run = Program::new(any_jvm(), "cpu=samples,verbose=n,file=x.txt", "Hello").run_well();
    assert_eq!((&*run.stdout, &*run.stderr), ("hello\n", ""));
}
