//! VMs whose internals the agent does not know. JDK 11 can be told to report another version than its own.

use crate::harness::{Finished, Jvm, Program};

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
