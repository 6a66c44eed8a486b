//! Classes that are loaded and unloaded while samples are taken.

use crate::harness::{Jvm, Program};
use crate::profile::Profile;

on_every_jvm!(samples_of_unloaded_classes_keep_their_names);

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

on_every_jvm!(the_vms_own_checks_find_nothing);

fn the_vms_own_checks_find_nothing(jvm: &Jvm) {
    for name in ["Unload", "ShortThreads", "Names"] {
        let checks = ["-Xcheck:jni", "-Xverify:all"];
        let options = "cpu=samples,interval=2,thread=y,file=x.txt,verbose=n";
        let run = Program::with_vm_options(jvm, options, &checks, name).run_well();
        let complaint = |line: &&str| line.contains("WARNING") || line.contains("FATAL");
        let complaints: Vec<&str> = run
            .stdout
            .lines()
            .chain(run.stderr.lines())
            .filter(complaint)
            .collect();
        assert_eq!(complaints, [""; 0], "{} {name}", jvm.feature);
        assert!(Profile::parse(&run.read("x.txt")).samples().total > 0);
    }
}
