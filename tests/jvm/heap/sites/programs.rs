//! Programs that allocate in unusual ways, with known answers, on every JVM.

use std::collections::BTreeMap;

use super::{EXACT, Layout, Truth, count, differences, goes_through, profile, program, sum};
use crate::harness::{Jvm, Program, any_jvm};
use crate::profile::Profile;

fn assert_truth(jvm: &Jvm, profile: &Profile, truths: &[Truth]) {
    let differences = differences(profile, profile.one_sites(), truths);
    assert!(differences.is_empty(), "{}: {differences:#?}", jvm.feature);
}

const THREADS: [Truth; 5] = [
    (
        "AllocThreads$Kept",
        "AllocThreads.keepTwo",
        100_000,
        100_000,
    ),
    ("AllocThreads$Dropped", "AllocThreads.dropThree", 150_000, 0),
    ("AllocThreads$Own0", "AllocThreads.own", 4_250, 4_250),
    ("AllocThreads$Own1", "AllocThreads.own", 4_420, 4_420),
    ("AllocThreads$Own2", "AllocThreads.own", 4_080, 4_080),
];

on_every_jvm!(fifty_threads_at_once_lose_nothing, and 25);

fn fifty_threads_at_once_lose_nothing(jvm: &Jvm) {
    let (profile, _) = profile(jvm, "", "AllocThreads");
    assert_truth(jvm, &profile, &THREADS);
}

on_every_jvm!(each_of_fifty_threads_has_its_own, and 26);

fn each_of_fifty_threads_has_its_own(jvm: &Jvm) {
    let (profile, _) = profile(jvm, "thread=y", "AllocThreads");
    assert_truth(jvm, &profile, &THREADS);
    let ids: BTreeMap<&str, u32> = profile
        .threads
        .iter()
        .map(|thread| (&*thread.name, thread.id))
        .collect();
    for number in 0..50 {
        let id = ids[&*format!("worker-{number}")];
        let of_thread = |class: &str| {
            let counts = sum(profile.one_sites(), |row| {
                row.class == class && profile.traces[&row.trace].thread == Some(id)
            });
            (counts.allocated, counts.live)
        };
        let own = 10 * (number + 1);
        assert_eq!(
            [
                of_thread("AllocThreads$Kept"),
                of_thread("AllocThreads$Dropped"),
                of_thread(&format!("AllocThreads$Own{}", number % 3))
            ],
            [(2_000, 2_000), (3_000, 0), (own, own)],
            "{}: worker-{number}",
            jvm.feature
        );
    }
}

on_every_jvm!(virtual_threads_that_move_between_carriers_lose_nothing from 21, and 28);

fn virtual_threads_that_move_between_carriers_lose_nothing(jvm: &Jvm) {
    let carriers = "-Djdk.virtualThreadScheduler.parallelism=4";
    for options in ["depth=4", "depth=60", "thread=y"] {
        let options = format!("{EXACT},{options}");
        let run = program(jvm, &options, &[carriers], "AllocVirtual21").run_well();
        assert!(run.printed("moved") > 0.0, "{}", run.stdout);
        let profile = Profile::parse(&run.read("x.txt"));
        let kept = ("AllocVirtual21$Kept", "AllocVirtual21.keep", 20_000, 20_000);
        let dropped = ("AllocVirtual21$Dropped", "AllocVirtual21.drop", 40_000, 0);
        assert_truth(jvm, &profile, &[kept, dropped]);
    }
}

on_every_jvm!(finalizable_objects_live_until_they_are_finalized_and_gone, and 17);

fn finalizable_objects_live_until_they_are_finalized_and_gone(jvm: &Jvm) {
    let (profile, run) = profile(jvm, "", "Finalized");
    let printed = ["gone", "risen", "waiting"].map(|name| run.printed(name));
    assert_eq!(printed, [500.0, 300.0, 0.0], "{}", jvm.feature);
    let truths = [
        ("Finalized$Gone", "Finalized.gone", 500, 0),
        ("Finalized$Risen", "Finalized.risen", 300, 300),
        ("Finalized$Held", "Finalized.held", 100, 100),
        ("Finalized$Waiting", "Finalized.waiting", 200, 200),
        ("Finalized$Blocker", "Finalized.blocker", 1, 1),
    ];
    assert_truth(jvm, &profile, &truths);
}

on_every_jvm!(only_strong_and_soft_references_keep_alive, and 25);

fn only_strong_and_soft_references_keep_alive(jvm: &Jvm) {
    let (profile, run) = profile(jvm, "", "References");
    assert_eq!(run.printed("cleared"), 700.0, "{}", jvm.feature);
    let truths = [
        ("References$Weak", "References.weak", 400, 0),
        ("References$Soft", "References.soft", 300, 300),
        ("References$Phantom", "References.phantom", 200, 0),
        ("References$Both", "References.both", 150, 50),
        ("java.lang.ref.WeakReference", "References.weak", 400, 400),
        ("java.lang.ref.WeakReference", "References.both", 150, 150),
        ("java.lang.ref.SoftReference", "References.soft", 300, 300),
        (
            "java.lang.ref.PhantomReference",
            "References.phantom",
            200,
            200,
        ),
    ];
    assert_truth(jvm, &profile, &truths);
}

const HUGE: [Truth; 6] = [
    ("byte[]", "HugeArrays.bytes", 1, 1),
    ("long[]", "HugeArrays.longs", 1, 1),
    ("int[][][]", "HugeArrays.cube", 1, 1),
    ("int[][]", "HugeArrays.cube", 3, 3),
    ("int[]", "HugeArrays.cube", 15, 15),
    ("java.lang.Object[]", "HugeArrays.dropped", 20, 0),
];

on_every_jvm!(huge_arrays_have_their_size, and 26);

fn huge_arrays_have_their_size(jvm: &Jvm) {
    let options = format!("{EXACT},depth=4");
    let run = program(jvm, &options, &["-Xmx1g"], "HugeArrays").run_well();
    let profile = Profile::parse(&run.read("x.txt"));
    assert_truth(jvm, &profile, &HUGE);
    let layout = Layout::of(jvm, false);
    for (class, method, bytes) in [
        ("byte[]", "bytes", layout.array(100 << 20)),
        ("long[]", "longs", layout.array(80_000_000)),
        ("int[][][]", "cube", layout.references(3)),
        ("int[][]", "cube", 3 * layout.references(5)),
        ("int[]", "cube", 15 * layout.array(4_000_000)),
        (
            "java.lang.Object[]",
            "dropped",
            20 * layout.references(1_000_000),
        ),
    ] {
        let method = format!("HugeArrays.{method}");
        let counts = count(&profile, profile.one_sites(), class, &method);
        assert_eq!(counts.allocated_bytes, bytes, "{}: {class}", jvm.feature);
    }
    let first = &profile.one_sites().rows[0];
    assert_eq!(first.class, "byte[]", "the largest comes first");
}

/// 600 times `long[1,000,000]`.
const MORE_THAN_32_BITS: u64 = 4_800_009_600;

#[test]
fn more_bytes_than_32_bits_count_are_right_in_text_and_the_most_in_binary() {
    let dropped = |text: &str| {
        let profile = Profile::parse(text);
        let longs = count(&profile, profile.one_sites(), "long[]", "HugeArrays.many");
        (longs.allocated, longs.live, longs.allocated_bytes)
    };
    let run = program(any_jvm(), EXACT, &["-Xmx1g"], "HugeArrays");
    let run = run.arg("many").run_well();
    assert_eq!(dropped(&run.read("x.txt")), (600, 0, MORE_THAN_32_BITS));
    let options = "heap=sites,cutoff=0,format=b,file=x.hprof";
    let run = program(any_jvm(), options, &["-Xmx1g"], "HugeArrays");
    let run = run.arg("many").run_well();
    let most = u64::from(u32::MAX);
    assert_eq!(dropped(&run.checked_text("x.hprof")), (600, 0, most));
}

on_every_jvm!(what_the_vm_and_native_code_make_is_counted, and 17);

fn what_the_vm_and_native_code_make_is_counted(jvm: &Jvm) {
    // Deep enough for all frames of reflection.
    let (profile, run) = profile(jvm, "depth=40", "JniObjects");
    assert_eq!(run.printed("kept"), 524.0);
    let truths = [
        ("JniObjects$Reflected", "JniObjects.reflected", 30, 30),
        ("JniObjects$Handled", "JniObjects.handled", 40, 40),
        ("JniObjects$Cloned", "JniObjects.cloned", 26, 26),
        ("JniObjects$Instanced", "JniObjects.instanced", 20, 20),
        ("JniObjects$Element[]", "JniObjects.arrays", 55, 55),
        ("JniObjects$Element[][]", "JniObjects.arrays", 10, 10),
        ("JniObjects$Element", "", 0, 0),
        ("JniObjects$Serial", "JniObjects.serial", 46, 45),
        ("JniObjects$Unsafed", "JniObjects.unsafed", 15, 15),
        ("JniObjects$Failure", "JniObjects.failures", 100, 100),
        ("short[]", "JniObjects.failures", 100, 100),
        ("int[]", "JniObjects.failures", 100, 100),
        ("java.lang.ArithmeticException", "JniObjects.divide", 50, 50),
        (
            "java.lang.NullPointerException",
            "JniObjects.dereference",
            50,
            50,
        ),
        ("java.lang.String", "JniObjects.names", 7, 7),
        ("java.lang.Integer", "JniObjects.boxes", 60, 60),
        ("JniObjects$Kind", "JniObjects$Kind.<clinit>", 3, 3),
        ("JniObjects$Kind[]", "JniObjects.kinds", 13, 13),
    ];
    assert_truth(jvm, &profile, &truths);
    // Classes without a name in the source.
    for (class, method, made) in [
        ("JniObjects$$Lambda", "JniObjects.lambdas", 15),
        (".$Proxy", "JniObjects.proxies", 8),
    ] {
        let counts = sum(profile.one_sites(), |row| {
            row.class.contains(class) && goes_through(&profile, row, method)
        });
        assert_eq!(
            (counts.allocated, counts.live),
            (made, made),
            "{}: {class}",
            jvm.feature
        );
    }
}

on_every_jvm!(sites_outlive_the_classes_that_they_are_in, and 28);

fn sites_outlive_the_classes_that_they_are_in(jvm: &Jvm) {
    for options in ["", "depth=1"] {
        let (profile, run) = profile(jvm, options, "UnloadSites");
        // The agent holds no reference to a class.
        let bare = Program::bare_java(jvm, &[]).program("sites", "UnloadSites");
        let bare = bare.run_well().printed("unloaded");
        assert_eq!(run.printed("unloaded"), bare, "{}", jvm.feature);
        let make = "UnloadSites$Work.make";
        let number = "java.util.concurrent.atomic.AtomicLong";
        let truths = [
            (number, make, 1_000, 1_000),
            ("long[]", make, 100, 100),
            ("java.util.Date", make, 500, 0),
            ("UnloadSites$Work", "", 100, 0),
        ];
        assert_truth(jvm, &profile, &truths);
    }
}

on_every_jvm!(unloaded_classes_are_told_of, and 25);

fn unloaded_classes_are_told_of(jvm: &Jvm) {
    let options = "heap=sites,cutoff=0,format=b,file=x.hprof";
    let run = program(jvm, options, &[], "UnloadSites").run_well();
    let profile = Profile::parse(&run.checked_text("x.hprof"));
    let number = "java.util.concurrent.atomic.AtomicLong";
    let made = count(
        &profile,
        profile.one_sites(),
        number,
        "UnloadSites$Work.make",
    );
    assert_eq!((made.allocated, made.live), (1_000, 1_000));
    let (_, summary, _) = run.hprof("check", "x.hprof");
    let unloaded = summary
        .lines()
        .find(|line| line.contains("UNLOAD CLASS"))
        .and_then(|line| {
            line.split_whitespace()
                .find_map(|word| word.parse::<u32>().ok())
        });
    assert!(
        unloaded.is_some_and(|unloaded| unloaded >= 90),
        "{}: {summary}",
        jvm.feature
    );
}

on_every_jvm!(the_vms_own_checks_find_nothing, and 26);

fn the_vms_own_checks_find_nothing(jvm: &Jvm) {
    for name in [
        "Alloc",
        "AllocThreads",
        "JniObjects",
        "UnloadSites",
        "Finalized",
    ] {
        let checks = ["-Xcheck:jni", "-Xverify:all"];
        let run = program(jvm, EXACT, &checks, name).run_well();
        let complaints: Vec<&str> = run
            .stdout
            .lines()
            .chain(run.stderr.lines())
            .filter(|line| line.contains("WARNING") || line.contains("FATAL"))
            .collect();
        assert_eq!(complaints, [""; 0], "{} {name}", jvm.feature);
        assert_eq!(Profile::parse(&run.read("x.txt")).sites.len(), 1);
    }
}
