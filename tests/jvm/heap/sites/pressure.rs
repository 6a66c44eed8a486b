//! A program that has no memory left, or never stops allocating, ends as it would without the agent.

use super::{EXACT, Truth, count, differences, program};
use crate::cells::Cell;
use crate::harness::{Jvm, Program, skip};
use crate::profile::Profile;

fn bare(jvm: &Jvm, vm_options: &[&str], name: &str) -> Program {
    Program::bare_java(jvm, vm_options).program("sites", name)
}

on_paired_cells!(out_of_memory_ends_as_without_the_agent, row 1);

fn out_of_memory_ends_as_without_the_agent(cell: &Cell) {
    let mut vm_options = cell.vm_options().to_vec();
    vm_options.push("-Xmx48m");
    for (way, status) in [("catch", 0), ("die", 1)] {
        let with_way = |program: Program| {
            if way == "die" {
                program.arg(way)
            } else {
                program
            }
        };
        let bare = with_way(bare(cell.jvm, &vm_options, "OutOfMemory")).run();
        let run = with_way(program(cell.jvm, EXACT, &vm_options, "OutOfMemory")).run();
        assert_eq!(bare.status.code(), Some(status), "{cell}: {}", bare.stderr);
        assert_eq!(run.status.code(), Some(status), "{cell}: {}", run.stderr);
        // HotSpot says on stdout that it informs an agent, which `oom=` has it do.
        let is_own = |line: &&str| !line.contains("Posting Resource Exhausted event");
        let said = run.stdout.lines().find(is_own);
        assert_eq!(said, Some("oom"), "{cell}: {}", run.stdout);
        let died = "Exception in thread \"main\" java.lang.OutOfMemoryError: Java heap space";
        assert_eq!(run.stderr.contains(died), way == "die", "{cell}");
        // The agent leaves the program the memory that it had.
        let (blocks, bare_blocks) = (run.printed("blocks"), bare.printed("blocks"));
        println!(
            "{:>13} {way}: {blocks} blocks, bare {bare_blocks}",
            cell.to_string()
        );
        assert!(
            blocks > bare_blocks * 0.8,
            "{cell}: {blocks}, bare {bare_blocks}"
        );

        let text = run.read("x.txt");
        let profile = Profile::parse(&text);
        let of = |class, method| count(&profile, profile.one_sites(), class, method);
        let arrays = of("short[]", "OutOfMemory$Block.<init>");
        let objects = of("OutOfMemory$Block", "OutOfMemory.fill");
        let blocks = blocks as u64;
        assert_eq!(arrays.allocated, blocks, "{cell} {way}: {arrays:?}");
        let size = cell.layout().array(1_000);
        assert_eq!(arrays.allocated_bytes, blocks * size, "{cell} {way}");
        assert!(
            (blocks..=blocks + 1).contains(&objects.allocated),
            "{cell} {way}: {objects:?}"
        );
        if cell.ends_with_a_gc() {
            assert_eq!((arrays.live, objects.live), (0, 0), "{cell} {way}");
        }
    }
}

on_every_jvm!(strings_that_the_vm_makes_for_its_compilers_are_not_the_programs, and 25);

/// On a busy machine the VM compiles late: then it creates strings while the program is in the constructor.
fn strings_that_the_vm_makes_for_its_compilers_are_not_the_programs(jvm: &Jvm) {
    let late = |flag| format!("-XX:Tier3{flag}Threshold=20000");
    let late = ["Invocation", "MinInvocation", "Compile"].map(late);
    let mut vm_options = vec!["-XX:+UseSerialGC", "-Xmx48m"];
    vm_options.extend(late.iter().map(String::as_str));
    let run = program(jvm, EXACT, &vm_options, "OutOfMemory").run_well();
    let profile = Profile::parse(&run.read("x.txt"));
    let of = |class| {
        let sites = profile.one_sites();
        count(&profile, sites, class, "OutOfMemory$Block.<init>").allocated
    };
    println!("{}: {} strings' arrays", jvm.feature, of("byte[]"));
    assert_eq!(
        of("short[]"),
        run.printed("blocks") as u64,
        "{}",
        jvm.feature
    );
}

on_every_jvm!(a_vm_that_ends_itself_when_memory_is_out_still_does, and 26);

fn a_vm_that_ends_itself_when_memory_is_out_still_does(jvm: &Jvm) {
    let vm_options = ["-Xmx32m", "-XX:+ExitOnOutOfMemoryError"];
    let bare = bare(jvm, &vm_options, "OutOfMemory").run();
    let run = program(jvm, EXACT, &vm_options, "OutOfMemory").run();
    assert_eq!(
        run.status.code(),
        Some(3),
        "{}: {}",
        jvm.feature,
        run.stderr
    );
    assert_eq!(run.status.code(), bare.status.code(), "{}", jvm.feature);
}

on_paired_cells!(a_heap_just_above_what_is_needed_is_enough, row 2);

fn a_heap_just_above_what_is_needed_is_enough(cell: &Cell) {
    let mut vm_options = cell.vm_options().to_vec();
    vm_options.push("-Xmx16m");
    let bare = bare(cell.jvm, &vm_options, "NearlyFull").run();
    if !bare.status.success() {
        skip(&format!("a heap of 16 MB with {cell}: it has none"));
        return;
    }
    let run = program(cell.jvm, EXACT, &vm_options, "NearlyFull").run_well();
    assert_eq!(run.stdout, bare.stdout, "{cell}");
    let profile = Profile::parse(&run.read("x.txt"));
    let counts = |class, method| count(&profile, profile.one_sites(), class, method);
    let truths: [Truth; 3] = [
        ("NearlyFull$Node", "NearlyFull.main", 600_000, 100_000),
        ("short[]", "NearlyFull$Node.<init>", 600_000, 100_000),
        ("NearlyFull$Junk", "NearlyFull.junk", 2_000_000, 0),
    ];
    if cell.ends_with_a_gc() {
        let differences = differences(&profile, profile.one_sites(), &truths);
        assert!(differences.is_empty(), "{cell}: {differences:#?}");
        return;
    }
    for (class, method, allocated, truly) in truths {
        let counts = counts(class, method);
        assert_eq!(counts.allocated, allocated, "{cell}: {class}");
        assert!(
            (truly..=allocated).contains(&counts.live),
            "{cell}: {class}"
        );
    }
}

on_paired_cells!(an_exit_in_a_busy_loop_writes_the_profile, row 3);

fn an_exit_in_a_busy_loop_writes_the_profile(cell: &Cell) {
    let vm_options = cell.vm_options();
    let run = program(cell.jvm, EXACT, &vm_options, "BusyExit").run();
    assert_eq!(run.status.code(), Some(3), "{cell}: {}", run.stderr);
    let profile = Profile::parse(&run.read("x.txt"));
    let junk = count(
        &profile,
        profile.one_sites(),
        "BusyExit$Junk",
        "BusyExit.busy",
    );
    let least = run.printed("at_least") as u64;
    println!(
        "{:>13}: {} allocated, at least {least}",
        cell.to_string(),
        junk.allocated
    );
    assert!(least > 1_000 && junk.allocated >= least, "{cell}: {junk:?}");
    assert_eq!(run.files(), ["x.txt"], "{cell}: no trace of a crash");
}

on_every_jvm!(every_exit_in_a_busy_loop_is_alike, and 17);

fn every_exit_in_a_busy_loop_is_alike(jvm: &Jvm) {
    // The moment at which the VM stops the threads differs from run to run.
    for round in 0..5 {
        let options = "heap=sites,format=b,file=x.hprof";
        let run = program(jvm, options, &[], "BusyExit").run();
        assert_eq!(
            run.status.code(),
            Some(3),
            "{} round {round}: {}",
            jvm.feature,
            run.stderr
        );
        let profile = Profile::parse(&run.checked_text("x.hprof"));
        assert_eq!(profile.sites.len(), 1, "{}", jvm.feature);
    }
}

on_every_jvm!(a_great_depth_takes_no_memory_from_shallow_stacks, and 28);

fn a_great_depth_takes_no_memory_from_shallow_stacks(jvm: &Jvm) {
    let peak = |depth: u32| {
        let options = format!("heap=sites,monitor=y,depth={depth},file=x.txt");
        let run = program(jvm, &options, &[], "ManyThreads").run_well();
        run.printed("peak")
    };
    // A megabyte for each of 400 threads would be 400 MB more.
    let (shallow, deep) = (peak(4), peak(65_535));
    assert!(deep < shallow + 150.0, "{}: {shallow}, {deep}", jvm.feature);
}
