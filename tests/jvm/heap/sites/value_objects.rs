//! Objects without identity: JDK 28 with `--enable-preview`, where an `Integer` is one.

use crate::harness::{Finished, Jvm, Program};
use crate::profile::Profile;

fn run(jvm: &Jvm, options: &str, vm_options: &[&str], kept: &str, dropped: &str) -> Finished {
    let vm_options = [&["--enable-preview"], vm_options].concat();
    let program = Program::java(jvm, options, &vm_options).program("sites", "Boxed");
    program.args([kept, dropped]).run_well()
}

on_every_jvm!(value_objects_count_where_they_are_made: jdk_28 on_jvm 28);

fn value_objects_count_where_they_are_made(jvm: &Jvm) {
    let run = run(jvm, "heap=sites,cutoff=0,file=x.txt", &[], "4000", "3000");
    let profile = Profile::parse(&run.read("x.txt"));
    let rows = || {
        let rows = profile.one_sites().rows.iter();
        rows.filter(|row| row.class == "java.lang.Integer")
    };
    for (method, made) in [("Boxed.keep(", 4_000), ("Boxed.drop(", 3_000)] {
        let own = rows().filter(|row| {
            let frames = &profile.traces[&row.trace].frames;
            frames.iter().any(|frame| frame.starts_with(method))
        });
        let sum = own.fold((0, 0), |(allocated, live), row| {
            (allocated + row.allocated, live + row.live)
        });
        assert_eq!(sum, (made, 0), "{method}");
    }
    let live: u64 = rows().map(|row| row.live).sum();
    // The VM's cache has some more.
    assert!((4_000..4_000 + 1_000).contains(&live), "{live}");
}

on_every_jvm!(value_objects_are_never_walked_over: jdk_28 on_jvm 28);

/// A walk over so many would take hours.
fn value_objects_are_never_walked_over(jvm: &Jvm) {
    for vm_option in ["-XX:+UseG1GC", "-XX:+UseZGC"] {
        let options = "heap=all,verbose=y,file=x.hprof";
        let run = run(jvm, options, &[vm_option], "200000", "1");
        let way = "(by the VM's dumper: ";
        assert!(run.stderr.contains(way), "{vm_option}: {}", run.stderr);
        let (is_well, text, errors) = run.hprof("check", "x.hprof");
        assert!(is_well, "{text} {errors}");
    }
    let options = "heap=dump,dumper=jvmti,file=x.hprof";
    let run = run(jvm, options, &[], "200000", "1");
    let refusal = "hprof: no heap dump: a walk over value objects (--enable-preview) takes the square of their number";
    assert!(run.stderr.contains(refusal), "{}", run.stderr);
}
