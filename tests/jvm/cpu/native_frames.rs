//! `native=y`: functions of native code among the frames of CPU samples.

use std::process::Command;

use crate::harness::{Jvm, Program, any_jvm, cli};
use crate::profile::Profile;

/// A collection every 2 MB, by several threads.
const COLLECTS: [&str; 3] = ["-XX:+UseParallelGC", "-XX:ParallelGCThreads=2", "-Xmn2m"];

const INFLATE: &str = "java.util.zip.Inflater.inflateBytesBytes(";

fn inflates(jvm: &Jvm, options: &str) -> Profile {
    let program = Program::with_vm_options(jvm, options, &COLLECTS, "Inflates");
    Profile::parse(&program.arg("3000").run_well().read("x.txt"))
}

/// Returns the share of the samples for whose frames, innermost first, a condition holds.
fn share(profile: &Profile, holds: impl Fn(&[String]) -> bool) -> f64 {
    let rows = profile.samples().rows.iter();
    let within: u32 = rows
        .filter(|row| holds(&profile.traces[&row.trace].frames))
        .map(|row| row.count)
        .sum();
    f64::from(within) / f64::from(profile.samples().total)
}

fn is_native(frame: &str) -> bool {
    frame.starts_with("lib") && frame.ends_with("(<Unknown Source>:Unknown line)")
}

on_every_jvm!(native_functions_are_seen_between_the_methods_and_as_the_vms_own_work, and 26);

fn native_functions_are_seen_between_the_methods_and_as_the_vms_own_work(jvm: &Jvm) {
    let options =
        "cpu=samples,engine=async,native=y,vmthreads=y,depth=60,interval=1,cutoff=0,file=x.txt";
    let profile = inflates(jvm, options);
    let feature = jvm.feature;
    let at_inflate = |frames: &[String]| frames.iter().position(|at| at.starts_with(INFLATE));
    let inflating = share(&profile, |frames| at_inflate(frames).is_some());
    // The first of them are taken before the agent knows the library.
    let in_library = share(&profile, |frames| {
        at_inflate(frames).is_some_and(|at| {
            let called = at.checked_sub(1).map(|at| &frames[at]);
            called.is_some_and(|called| called.starts_with("libzip.so.Java_java_util_zip_"))
        })
    });
    println!("{feature}: {in_library:.3} of {inflating:.3}");
    assert!(in_library > 0.2, "{feature}: {in_library}");
    assert!(in_library > 0.5 * inflating, "{feature}: {in_library}");
    let from_the_vm = share(&profile, |frames| {
        let main = frames
            .iter()
            .position(|at| at.starts_with("Inflates.main("));
        main.is_some_and(|main| {
            let callers = &frames[main + 1..];
            callers.iter().any(|at| at.starts_with("libjvm.so."))
                && callers.iter().all(|at| is_native(at))
        })
    });
    assert!(from_the_vm > 0.3, "{feature}: {from_the_vm}");
    let collecting = share(&profile, |frames| {
        let outermost = frames.last().is_some_and(|at| at.contains(".<GC>("));
        outermost && frames.iter().any(|at| at.starts_with("libjvm.so."))
    });
    println!("{feature}: {collecting:.4} collecting");
    assert!(collecting > 0.0, "{feature}: no function of the collector");
}

on_every_jvm!(functions_are_named_as_in_the_source, and 17);

fn functions_are_named_as_in_the_source(jvm: &Jvm) {
    let options =
        "cpu=samples,engine=async,native=y,vmthreads=y,depth=60,interval=1,cutoff=0,file=x.txt";
    let profile = inflates(jvm, options);
    let frames = profile.traces.values().flat_map(|trace| &trace.frames);
    let of_the_vm: Vec<&String> = frames.filter(|at| at.starts_with("libjvm.so.")).collect();
    let named = |name: &str| of_the_vm.iter().any(|at| at.starts_with(name));
    // Each JDK of the tests has the symbols of its VM.
    assert!(named("libjvm.so.JavaCalls::call_helper("), "{of_the_vm:?}");
    assert!(!named("libjvm.so._Z"), "{of_the_vm:?}");
}

#[test]
fn without_the_option_there_are_none() {
    let profile = inflates(any_jvm(), "cpu=samples,engine=async,depth=60,file=x.txt");
    let mut frames = profile.traces.values().flat_map(|trace| &trace.frames);
    assert!(frames.all(|at| !at.contains(".so")), "{:?}", profile.traces);
}

#[test]
fn they_are_in_binary_profiles_too() {
    let options = "cpu=samples,engine=async,native=y,depth=60,interval=1,format=b,file=x.hprof";
    let program = Program::with_vm_options(any_jvm(), options, &COLLECTS, "Inflates");
    let run = program.arg("1000").run_well();
    for command in ["check", "top"] {
        let output = Command::new(cli())
            .arg(command)
            .arg(run.path("x.hprof"))
            .output()
            .expect("hprof");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{command}: {output:?}");
        assert!(command != "top" || text.contains("libz"), "{text}");
    }
}
