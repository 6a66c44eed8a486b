//! Stacks that the agent walks itself are the same as the VM's.
//!
//! The programs of `java-tests/stacks` allocate objects under every kind of frame; with `stacks=verify` the agent
//! compares each stack that it recognizes with the VM's, and reports the result.

use std::collections::BTreeMap;

use crate::harness::{Finished, Jvm, Program};
use crate::profile::Profile;

/// The time for which a program allocates objects, in milliseconds: a short form of `scripts/stress --stacks`.
const LIFE: &str = "1500";

/// The agent's report at the end: stacks that were recognized, and those of them that were checked and differed.
struct Comparison {
    known: u64,
    asked: u64,
    checked: u64,
    differed: u64,
}

fn comparison(run: &Finished) -> Option<Comparison> {
    let line = run
        .stderr
        .lines()
        .find(|line| line.starts_with("hprof: stacks: "))?;
    let number = |what: &str| {
        let before = line.split(what).next()?;
        before.split_whitespace().next_back()?.parse().ok()
    };
    Some(Comparison {
        known: number(" known again")?,
        asked: number(" asked of the VM")?,
        checked: number(" checked")?,
        differed: number(" differed")?,
    })
}

fn assert_all_agree(
    jvm: &Jvm,
    depth: usize,
    vm_options: &[&str],
    program: &str,
    arguments: &[&str],
) {
    let options = format!("heap=sites,stacks=verify,depth={depth},file=x.txt");
    let mut run = Program::java(jvm, &options, vm_options).program("stacks", program);
    for argument in arguments {
        run = run.arg(argument);
    }
    let run = run.run_well();
    let Some(found) = comparison(&run) else {
        panic!("{vm_options:?}: no stack was walked over: {}", run.stderr);
    };
    assert_eq!(found.differed, 0, "{vm_options:?}: {}", run.stderr);
    assert_eq!(found.checked, found.known, "{vm_options:?}");
    assert!(found.known > 500, "{vm_options:?}: {}", run.stderr);
}

/// Options for how the VM generates code.
const WAYS: [&[&str]; 5] = [
    &[],
    &["-Xint"],
    &["-XX:TieredStopAtLevel=1"],
    &["-XX:-Inline"],
    &["-XX:ReservedCodeCacheSize=5m"],
];

// In other VMs the agent asks the VM each time.
on_every_jvm!(stacks_walked_over_are_those_of_the_vm: jdk_11 on_jvm 11, jdk_17 on_jvm 17, jdk_21 on_jvm 21, jdk_25 on_jvm 25,
    jdk_26 on_jvm 26, jdk_27 on_jvm 27, jdk_28 on_jvm 28);

fn stacks_walked_over_are_those_of_the_vm(jvm: &Jvm) {
    assert_all_agree(jvm, 4, WAYS[0], "Stacks", &[LIFE, "2"]);
    for way in WAYS {
        assert_all_agree(jvm, 128, way, "Stacks", &[LIFE, "2"]);
    }
}

on_every_jvm!(stacks_of_virtual_threads_are_those_of_the_vm: jdk_21 on_jvm 21, jdk_25 on_jvm 25, jdk_26 on_jvm 26,
    jdk_27 on_jvm 27, jdk_28 on_jvm 28);

fn stacks_of_virtual_threads_are_those_of_the_vm(jvm: &Jvm) {
    assert_all_agree(jvm, 4, &[], "StacksVirtual21", &[LIFE]);
    for way in [&[][..], &["-Xint"]] {
        assert_all_agree(jvm, 128, way, "StacksVirtual21", &[LIFE]);
    }
}

on_every_jvm!(the_vm_survives_questions_about_stacks_of_virtual_threads from 21);

/// Other profilers have seen VMs crash when they asked for the stack of a virtual thread in an allocation's event.
/// `scripts/stress --virtual` is the long form.
fn the_vm_survives_questions_about_stacks_of_virtual_threads(jvm: &Jvm) {
    let options = "heap=sites,stacks=jvmti,depth=64,file=x.txt";
    let run = Program::java(jvm, options, &["-Xmx256m", "-Xss512k"]);
    let run = run.program("stacks", "VirtualStorm21").arg(LIFE).run_well();
    assert!(run.stdout.starts_with("stormed "), "{}", run.stdout);
    let profile = Profile::parse(&run.read("x.txt"));
    let is_of_storm = |frame: &String| frame.starts_with("VirtualStorm21.below(");
    let made = profile.one_sites().rows.iter().filter(|row| {
        let frames = &profile.traces[&row.trace].frames;
        row.class == "java.lang.Object[]" && frames.first().is_some_and(is_of_storm)
    });
    assert!(made.map(|row| row.allocated).sum::<u64>() > 1_000);
}

/// Returns the objects allocated by the program's methods, by class and trace.
fn own_sites(profile: &Profile) -> BTreeMap<(String, Vec<String>), (u64, u64)> {
    let rows = profile.sites[0].rows.iter().filter_map(|row| {
        let frames = &profile.traces[&row.trace].frames;
        let is_own = frames.first()?.starts_with("Alloc.");
        is_own.then(|| {
            // A lambda's class has a number in its name.
            let is_named = |frame: &&String| !frame.contains("$$Lambda");
            let frames = frames.iter().filter(is_named).cloned().collect();
            let key = (row.class.clone(), frames);
            (key, (row.allocated, row.live))
        })
    });
    rows.collect()
}

on_every_jvm!(each_way_to_take_stacks_gives_the_same_sites: jdk_11 on_jvm 11, jdk_17 on_jvm 17, jdk_21 on_jvm 21, jdk_25 on_jvm 25,
    jdk_26 on_jvm 26, jdk_27 on_jvm 27, jdk_28 on_jvm 28);

/// Asserts that the sites of a deterministic program are independent of the way stacks are taken.
fn each_way_to_take_stacks_gives_the_same_sites(jvm: &Jvm) {
    let sites = |stacks: &str| {
        let options = format!("heap=sites,cutoff=0,depth=8,verbose=y,stacks={stacks},file=x.txt");
        let run = Program::java(jvm, &options, &[]).program("sites", "Alloc");
        let run = run.run_well();
        (own_sites(&Profile::parse(&run.read("x.txt"))), run)
    };
    let (walked, run) = sites("auto");
    assert!(
        comparison(&run).is_some_and(|found| found.known > 0),
        "{}",
        run.stderr
    );
    let (asked, run) = sites("jvmti");
    assert!(comparison(&run).is_none(), "{}", run.stderr);
    assert!(walked.len() > 5, "{walked:?}");
    assert_eq!(walked, asked);
}

on_every_jvm!(new_stacks_of_known_frames_are_not_asked_of_the_vm: jdk_11 on_jvm 11, jdk_17 on_jvm 17, jdk_21 on_jvm 21, jdk_25 on_jvm 25,
    jdk_26 on_jvm 26, jdk_27 on_jvm 27, jdk_28 on_jvm 28);

/// The program has 8,191 stacks below its first call but few frames: the VM is asked for frames, and not for stacks.
fn new_stacks_of_known_frames_are_not_asked_of_the_vm(jvm: &Jvm) {
    let options = "heap=sites,cutoff=0,depth=128,verbose=y,file=x.txt";
    // Compiled code has different frames each time.
    let run = Program::java(jvm, options, &["-Xint"]).program("stacks", "Paths");
    let run = run.run_well();
    let profile = Profile::parse(&run.read("x.txt"));
    let paths = own_paths(&profile);
    assert_eq!(paths.len(), 8_191);
    assert!(paths.values().all(|&made| made == 2), "each twice");
    let found = comparison(&run).expect("stacks are walked over");
    // The last thousand are not reported.
    assert!(found.known > 2 * 8_191 - 1_024, "{}", run.stderr);
    assert!(found.asked < 8_191, "{}", run.stderr);
}

/// Returns the number of `Paths$Leaf` objects that each stack has allocated.
fn own_paths(profile: &Profile) -> BTreeMap<Vec<String>, u64> {
    let rows = profile.sites[0].rows.iter();
    let own = rows.filter(|row| row.class == "Paths$Leaf");
    own.map(|row| (profile.traces[&row.trace].frames.clone(), row.allocated))
        .collect()
}

on_every_jvm!(cut_stacks_of_any_height_are_those_of_the_program: jdk_11 on_jvm 11, jdk_17 on_jvm 17, jdk_21 on_jvm 21, jdk_25 on_jvm 25,
    jdk_26 on_jvm 26, jdk_27 on_jvm 27, jdk_28 on_jvm 28);

/// The program counts itself how many objects each stack has made; each method's name ends with a letter of its own.
fn cut_stacks_of_any_height_are_those_of_the_program(jvm: &Jvm) {
    for way in [&[][..], &["-Xint"], &["-XX:-Inline"]] {
        let options = "heap=sites,cutoff=0,depth=24,lineno=n,verbose=y,file=x.txt";
        let run = Program::java(jvm, options, way).program("stacks", "Heights");
        let run = run.arg("20000").run_well();
        let profile = Profile::parse(&run.read("x.txt"));
        let mut seen = BTreeMap::new();
        for row in &profile.sites[0].rows {
            if row.class == "Heights$Mark" {
                let frames = &profile.traces[&row.trace].frames;
                *seen.entry(letters(frames)).or_default() += row.allocated;
            }
        }
        let made = run.stdout.lines().filter_map(|line| {
            let (stack, count) = line.strip_prefix("made ")?.split_once(' ')?;
            Some((stack.to_owned(), count.parse().expect("a count")))
        });
        let made: BTreeMap<String, u64> = made.collect();
        assert!(made.len() > 4_000, "{}", made.len());
        assert!(made == seen, "{way:?}: {} and {}", made.len(), seen.len());
        assert!(comparison(&run).is_some_and(|found| found.known > 10_000));
    }
}

/// The last letter of each method's name.
fn letters(frames: &[String]) -> String {
    let name = |frame: &String| frame.split('(').next().and_then(|name| name.chars().last());
    frames.iter().filter_map(name).collect()
}
