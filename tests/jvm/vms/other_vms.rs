//! VMs whose internals the agent does not know. JDK 11 can be told to report another version than its own, and each can be
//! made to claim in its tables that it is a release which nobody has tested.

use crate::harness::{Finished, Jvm, Program, agent_path, c_library};
use crate::profile::Profile;

/// Makes the VM report a version that was never tested.
const OTHER: [&str; 1] = ["-Djava.vm.specification.version=24"];

fn run(jvm: &Jvm, options: &str) -> Finished {
    let program = Program::java(jvm, options, &OTHER);
    program.program("sites", "OnePlace").run()
}

fn well(jvm: &Jvm, options: &str) -> Finished {
    let run = run(jvm, options);
    assert!(run.status.success(), "{options}: {}", run.stderr);
    run
}

on_every_jvm!(only_the_specifications_are_used_in_an_unknown_vm: jdk_11 on_jvm 11);

fn only_the_specifications_are_used_in_an_unknown_vm(jvm: &Jvm) {
    let samples = well(jvm, "cpu=samples,file=x.txt").read("x.txt");
    let engine = "engine=jvmti, safepoint-biased (no async: the agent is not tested on this VM)";
    assert!(samples.contains(engine), "{samples}");

    let sites = well(jvm, "heap=sites,verbose=y,file=x.txt");
    assert!(!sites.stderr.contains("known again"), "{}", sites.stderr);
    let lossy = "this VM cannot be made to report all allocations";
    assert!(sites.stderr.contains(lossy), "{}", sites.stderr);
    assert!(sites.read("x.txt").contains("\nSITES END\n"));

    let dump = well(jvm, "heap=dump,verbose=y,file=x.hprof");
    assert!(dump.stderr.contains("(by JVMTI: "), "{}", dump.stderr);
}

on_every_jvm!(what_is_asked_for_and_unknown_is_refused: jdk_11 on_jvm 11);

fn what_is_asked_for_and_unknown_is_refused(jvm: &Jvm) {
    let refused = run(jvm, "cpu=samples,engine=async,file=x.txt");
    assert!(!refused.status.success());
    let message = "engine=async: the agent is not tested on this VM; must be auto or jvmti here";
    assert!(refused.stderr.contains(message), "{}", refused.stderr);
    assert!(refused.files().is_empty(), "{:?}", refused.files());

    let dump = well(jvm, "heap=dump,dumper=vm,format=b,file=x.hprof");
    let message = "this VM has no dumper that we know how to call";
    assert!(dump.stderr.contains(message), "{}", dump.stderr);
}

/// Runs a program in a VM that claims to be JDK 29; `None` if there is no compiler for that.
fn on_29(jvm: &Jvm, options: &str, feature: &str, name: &str) -> Option<Finished> {
    let library = c_library("scripts/lib/vm_version.c")?;
    let claim = format!("-agentpath:{}=29", library.display());
    let agent = agent_path(options).into_string().expect("UTF-8");
    let program = Program::bare_java(jvm, &[&claim, &agent]).program(feature, name);
    Some(program.run_well())
}

/// Reads the profile, after a check that the head says why it is as it is, and that all classes have their names.
fn profile_of_29(run: &Finished) -> Profile {
    let text = run.read("x.txt");
    let profile = Profile::parse(&text);
    let reason = &profile.head["Untested"];
    assert!(reason.contains("does not know this VM"), "{reason}");
    assert_eq!(profile.head["Collector"], "?");
    for trace in profile.traces.values() {
        let is_nameless = |frame: &String| frame.contains("<unloaded-class>");
        assert!(!trace.frames.iter().any(is_nameless), "{trace:?}");
    }
    profile
}

on_every_jvm!(samples_of_an_untested_release_are_right: jdk_17 on_jvm 17, jdk_27 on_jvm 27, jdk_28 on_jvm 28);

fn samples_of_an_untested_release_are_right(jvm: &Jvm) {
    const TOLERANCE: f64 = 0.10;
    const MOST_UNSAMPLED: f64 = 0.05;
    let options = "cpu=samples,interval=5,file=x.txt";
    let Some(run) = on_29(jvm, options, "samples", "Spin") else {
        return;
    };
    let profile = profile_of_29(&run);
    let engine = &profile.head["Samples"];
    let reason = "engine=jvmti, safepoint-biased (no async: the agent is not tested on this VM)";
    assert_eq!(engine, reason);
    for (method, share) in [("Spin.hot", 0.75), ("Spin.warm", 0.25)] {
        let found = profile.share(method);
        assert!((found - share).abs() <= TOLERANCE, "{method}: {found}");
    }
    let unsampled = profile.share("java.lang.Thread.<unsampled>");
    assert!(unsampled <= MOST_UNSAMPLED, "{unsampled}");
}

on_every_jvm!(sites_of_an_untested_release_are_right: jdk_17 on_jvm 17, jdk_27 on_jvm 27, jdk_28 on_jvm 28);

fn sites_of_an_untested_release_are_right(jvm: &Jvm) {
    let options = "heap=sites,cutoff=0,verbose=y,file=x.txt";
    let Some(run) = on_29(jvm, options, "sites", "Alloc") else {
        return;
    };
    assert!(!run.stderr.contains("known again"), "{}", run.stderr);
    let profile = profile_of_29(&run);
    for (class, method, made) in [
        ("Alloc$Kept", "Alloc.keepObjects(", 1_010),
        ("Alloc$Dropped", "Alloc.dropObjects(", 5_000),
        ("Alloc$Derived", "Alloc.derived(", 200),
        ("int[]", "Alloc.intArrays(", 300),
    ] {
        let rows = profile.one_sites().rows.iter().filter(|row| {
            let frames = &profile.traces[&row.trace].frames;
            row.class == class
                && frames
                    .first()
                    .is_some_and(|frame| frame.starts_with(method))
        });
        let counted: u64 = rows.map(|row| row.allocated).sum();
        assert_eq!(counted, made, "{class}");
    }
}

on_every_jvm!(calls_locks_and_dumps_of_an_untested_release_are_right: jdk_17 on_jvm 17, jdk_27 on_jvm 27, jdk_28 on_jvm 28);

fn calls_locks_and_dumps_of_an_untested_release_are_right(jvm: &Jvm) {
    let options = "cpu=times,cutoff=0,file=x.txt";
    let Some(run) = on_29(jvm, options, "times", "Calls") else {
        return;
    };
    let profile = profile_of_29(&run);
    for (method, calls) in [
        ("Calls.fib", 1_973),
        ("Calls.leaf", 300),
        ("Calls.thrower", 220),
    ] {
        let rows = profile.times[0].rows.iter();
        let own = rows.filter(|row| row.method == method);
        assert_eq!(own.map(|row| row.calls).sum::<u64>(), calls, "{method}");
    }

    let run = on_29(jvm, "monitor=y,file=x.txt", "monitor", "Contend").expect("a compiler");
    let profile = profile_of_29(&run);
    let row = &profile.monitors.times[0].rows[0];
    let frame = &profile.traces[&row.trace].frames[0];
    assert!(frame.starts_with("Contend.hold("), "{frame}");
    let rows = &profile.monitors.locks[0].rows;
    let waits = rows.iter().map(|row| &profile.traces[&row.trace].frames[0]);
    let in_hold = waits.filter(|frame| frame.starts_with("Contend.hold("));
    assert!(in_hold.count() > 0, "{rows:?}");

    let options = "heap=dump,verbose=y,file=x.hprof";
    let run = on_29(jvm, options, "sites", "Alloc").expect("a compiler");
    let way = "(by JVMTI: this VM has no dumper that we know how to call";
    assert!(run.stderr.contains(way), "{}", run.stderr);
    let (is_well, text, _) = run.hprof("check", "x.hprof");
    assert!(is_well, "{text}");
}
