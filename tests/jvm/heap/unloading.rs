//! Classes that are loaded and unloaded while samples are taken.

use crate::harness::{Jvm, Program};
use crate::profile::Profile;

on_every_jvm!(samples_of_unloaded_classes_keep_their_names, and 28);

fn samples_of_unloaded_classes_keep_their_names(jvm: &Jvm) {
    let run = Program::new(
        jvm,
        "cpu=samples,interval=2,format=b,file=x.hprof",
        "Unload",
    )
    .run_well();
    assert!(run.stdout.contains("rounds 200"));
    let profile = Profile::parse(&run.checked_text("x.hprof"));
    let share = profile.share("Unload$Work.spin");
    println!("{}: spin {share:.3}", jvm.feature);
    assert!(share > 0.5, "{}: {:?}", jvm.feature, profile.methods());
    let rows = profile
        .samples()
        .rows
        .iter()
        .filter(|row| row.method == "Unload$Work.spin");
    assert!(
        rows.count() > 20,
        "{}: classes of different loaders are different",
        jvm.feature
    );
    let (_, summary, _) = run.hprof("check", "x.hprof");
    let unloaded = summary
        .lines()
        .find(|line| line.contains("UNLOAD CLASS"))
        .unwrap_or_default();
    let count = unloaded
        .split_whitespace()
        .find_map(|word| word.parse::<u32>().ok());
    assert!(
        count.is_some_and(|count| count > 20),
        "{}: {summary}",
        jvm.feature
    );
}

on_every_jvm!(stacks_of_other_threads_name_classes_that_come_and_go, and 25);

fn stacks_of_other_threads_name_classes_that_come_and_go(jvm: &Jvm) {
    let options = "cpu=samples,engine=jvmti,interval=2,cutoff=0,verbose=n,file=x.txt";
    let run = Program::new(jvm, options, "Unload").run_well();
    assert!(run.stdout.contains("rounds 200"));
    let profile = Profile::parse(&run.read("x.txt"));
    let share = |method| profile.share(method);
    assert!(share("Unload$Work.spin") > 0.5, "{}", jvm.feature);
    // A class may go between the look at its frame and the question for its name.
    let gone = share("java.lang.Thread.<unloaded-class>");
    assert!(gone < 0.1, "{}: {gone}", jvm.feature);
}

on_every_jvm!(the_vms_own_checks_find_nothing, and 26);

fn the_vms_own_checks_find_nothing(jvm: &Jvm) {
    let programs = ["Unload", "ShortThreads", "Names"];
    let measurements = ["cpu=samples,interval=2", "wall=2ms,monitor=y"];
    let runs = programs
        .iter()
        .flat_map(|name| measurements.map(|measurement| (name, measurement)));
    for (name, measurement) in runs {
        let checks = ["-Xcheck:jni", "-Xverify:all"];
        let options = format!("{measurement},thread=y,file=x.txt,verbose=n");
        let run = Program::with_vm_options(jvm, &options, &checks, name).run_well();
        let complaint = |line: &&str| line.contains("WARNING") || line.contains("FATAL");
        let complaints: Vec<&str> = run
            .stdout
            .lines()
            .chain(run.stderr.lines())
            .filter(complaint)
            .collect();
        assert_eq!(complaints, [""; 0], "{} {name}", jvm.feature);
        let text = run.read("x.txt");
        let (_, total) = text
            .split_once(" SAMPLES BEGIN (total = ")
            .expect("samples");
        assert!(!total.starts_with('0'), "{} {name}", jvm.feature);
    }
}

on_every_jvm!(generated_classes_take_no_more_of_the_vms_memory_than_without_the_agent, and 17);

fn generated_classes_take_no_more_of_the_vms_memory_than_without_the_agent(jvm: &Jvm) {
    let vm_options = [
        "-XX:+UnlockDiagnosticVMOptions",
        "-XX:NativeMemoryTracking=summary",
        "-XX:+PrintNMTStatistics",
        "-Xmx64m",
    ];
    let kilobytes = |program: Program| {
        let run = program.arg("40000").run_well();
        assert!(run.stdout.contains("generated"), "{}", run.stdout);
        // Where the ids of methods are counted.
        committed(&run.stdout, "Internal")
    };
    let bare = kilobytes(Program::bare_java(jvm, &vm_options).program("samples", "Generate"));
    let options = "cpu=samples,interval=2,file=x.txt";
    let sampled = kilobytes(Program::with_vm_options(
        jvm,
        options,
        &vm_options,
        "Generate",
    ));
    println!("{}: {bare} kB, {sampled} kB", jvm.feature);
    // Ids of all methods would be 9 MB.
    assert!(sampled < bare + 3_000, "{}: {bare} {sampled}", jvm.feature);
}

/// Returns the kilobytes of a part of the VM's memory, as it prints them at its end; in bytes from JDK 17 on.
fn committed(printed: &str, part: &str) -> u64 {
    let line = printed.lines().find(|line| {
        let line = line.trim_start_matches(['-', ' ']);
        line.starts_with(part)
    });
    let number = line
        .and_then(|line| line.split_once("committed="))
        .and_then(|(_, rest)| rest.split_once(')'));
    let (number, _) = number.unwrap_or_else(|| panic!("no {part} in {printed}"));
    match number.strip_suffix("KB") {
        Some(kilobytes) => kilobytes.parse().expect("a number"),
        None => number.parse::<u64>().expect("a number") / 1024,
    }
}
