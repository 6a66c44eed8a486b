//! The profile is whole however the program ends, and a dump on request changes nothing.

use crate::harness::{Jvm, Program, Running, any_jvm};
use crate::profile::Profile;

const OPTIONS: &str = "cpu=samples,file=x.txt";

on_every_jvm!(every_way_to_end_writes_the_profile);

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

on_every_jvm!(sigterm_writes_the_profile);

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

on_every_jvm!(sigkill_leaves_what_was_written_so_far);

fn sigkill_leaves_what_was_written_so_far(jvm: &Jvm) {
    let run = Program::new(jvm, "cpu=samples,format=b,file=x.hprof", "Exits")
        .arg("wait")
        .start();
    run.wait_for_output("ready");
    // A dump on request is something that must not be lost.
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

/// The CPU time that a program has used, in hundredths of a second.
pub fn cpu_time(run: &Running) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", run.id())).expect("it runs");
    let (_, fields) = stat.rsplit_once(") ").expect("its name");
    let times = fields.split(' ').skip(11).take(2);
    times
        .map(|time| time.parse::<u64>().expect("a number"))
        .sum()
}

on_every_jvm!(sigquit_dumps_and_the_program_goes_on);

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
