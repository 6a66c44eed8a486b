//! Samples of a program in which each method has one possible stack.

use crate::harness::{Jvm, Program};
use crate::profile::Profile;

on_every_jvm!(each_stack_is_one_that_the_program_can_have, and 25);

fn each_stack_is_one_that_the_program_can_have(jvm: &Jvm) {
    let source = source();
    for (vm_option, options, millis) in [
        // So long that the VM has compiled all again.
        ("-XX:+TieredCompilation", "cpu=samples,interval=1", "8000"),
        ("-Xint", "cpu=samples,interval=1", "2000"),
        (
            "-XX:TieredStopAtLevel=1",
            "cpu=samples,interval=1,heap=sites",
            "2000",
        ),
    ] {
        let name = format!("{} {vm_option} {options}", jvm.feature);
        let options = format!("{options},depth=200,cutoff=0,file=x.txt");
        let run = Program::with_vm_options(jvm, &options, &[vm_option], "Paths")
            .arg(millis)
            .run_well();
        assert!(run.stdout.contains("walked"), "{name}: {}", run.stdout);
        let profile = Profile::parse(&run.read("x.txt"));
        let mut known = 0;
        for row in &profile.samples().rows {
            let frames = &profile.traces[&row.trace].frames;
            let methods: Vec<Option<&str>> = frames.iter().map(|frame| method(frame)).collect();
            let Some(first) = methods.iter().position(Option::is_some) else {
                continue;
            };
            let expected = stack_of(methods[first].expect("it is some"));
            let rest = methods[first..].iter().copied();
            let found: Vec<_> = rest.map_while(|method| method).collect();
            // The VM may have left the outer frames of a virtual thread that has waited in the heap, and a walk may have been cut for
            // the time that it took: the stack says both.
            let next = frames.get(first + found.len());
            let is_cut = next.is_some_and(|it| CUT.iter().any(|cut| it.starts_with(cut)));
            let expected = match is_cut {
                true => &expected[..found.len()],
                false => &expected[..],
            };
            assert_eq!(found, expected, "{name}: {frames:#?}");
            for (callee, caller) in found.iter().zip(&frames[first + 1..first + found.len()]) {
                let calls = source[line(caller) - 1].contains(&format!("{callee}("));
                assert!(calls, "{name}: {callee} is not called there: {frames:#?}");
            }
            known += row.count;
        }
        println!("{name}: {known} samples");
        assert!(known > 100, "{name}: {known}");
    }
}

/// The frames that stand for outer ones which the stack does not have.
const CUT: [&str; 2] = [
    "java.lang.Thread.<frames-in-heap>(",
    "java.lang.Thread.<frames-cut>(",
];

/// Returns the lines of the program.
fn source() -> Vec<String> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/java-tests/samples/Paths.java");
    let source = std::fs::read_to_string(path).expect("the program");
    source.lines().map(str::to_owned).collect()
}

/// Returns the line of a frame.
fn line(frame: &str) -> usize {
    let (_, line) = frame.rsplit_once(':').expect("a line");
    line.trim_end_matches(')').parse().expect("a number")
}

/// Returns the method of a frame, if its stack is known.
fn method(frame: &str) -> Option<&str> {
    let (class, method) = frame.split('(').next()?.rsplit_once('.')?;
    let is_known = method == "begin" || method == "r" || method.starts_with("r_");
    (class.starts_with("Paths") && is_known).then_some(method)
}

/// Returns the only stack that a method can have, innermost first.
fn stack_of(method: &str) -> Vec<&str> {
    let mut stack = vec![method];
    let mut last = method;
    while last != "begin" {
        last = last.rsplit_once('_').map_or("begin", |(caller, _)| caller);
        stack.push(last);
    }
    stack
}
