//! The effects of a request for a dump on the counts.

use super::{busy, end, go, profile, steps, without_warning};
use crate::harness::Jvm;
use crate::profile::Profile;

/// Returns the calls of `Steps.make` in each CPU TIME section.
fn calls(profile: &Profile) -> Vec<u64> {
    let sections = profile.times.iter();
    sections
        .map(|times| {
            let rows = times.rows.iter().filter(|row| row.method == "Steps.make");
            rows.map(|row| row.calls).sum()
        })
        .collect()
}

on_every_jvm!(a_dump_leaves_the_totals_as_they_are, and 17);

fn a_dump_leaves_the_totals_as_they_are(jvm: &Jvm) {
    let run = steps(jvm, &[], &["make:1", "make:1", "make:1"]);
    run.hprof_well(
        "attach",
        &["cpu=times,include=Steps,cutoff=0,verbose=n,file=x.txt"],
    );
    go(&run, 1);
    run.hprof_well("dump", &[]);
    let so_far = super::text(&run, "x.txt");
    assert!(so_far.contains("CPU TIME (ms) END"), "{so_far}");
    go(&run, 2);
    run.hprof_well("dump", &[]);
    go(&run, 3);
    run.hprof_well("stop", &[]);
    let profile = profile(&run, "x.txt");
    end(run);
    assert_eq!(calls(&profile), [1, 2, 3], "{}", jvm.feature);
}

on_every_jvm!(sigquit_starts_counting_anew, and 28);

fn sigquit_starts_counting_anew(jvm: &Jvm) {
    let run = steps(jvm, &[], &["make:1", "make:1", "make:1"]);
    run.hprof_well(
        "attach",
        &["cpu=times,include=Steps,cutoff=0,verbose=n,file=x.txt"],
    );
    go(&run, 1);
    run.hprof_well("dump", &[]);
    run.send("QUIT");
    run.wait_until(|| {
        super::text(&run, "x.txt")
            .matches("CPU TIME (ms) END")
            .count()
            == 2
    });
    go(&run, 2);
    go(&run, 3);
    run.hprof_well("stop", &[]);
    let profile = profile(&run, "x.txt");
    end(run);
    assert_eq!(calls(&profile), [1, 1, 2], "{}", jvm.feature);
}

on_every_jvm!(samples_before_a_dump_are_in_the_last_one_too, and 25);

fn samples_before_a_dump_are_in_the_last_one_too(jvm: &Jvm) {
    let run = steps(jvm, &[], &["busy:400", "make:1"]);
    run.hprof_well("attach", &["cpu=samples,cutoff=0,verbose=n,file=x.txt"]);
    go(&run, 1);
    run.hprof_well("dump", &[]);
    go(&run, 2);
    run.hprof_well("stop", &[]);
    let profile = profile(&run, "x.txt");
    end(run);
    let [so_far, whole] = &profile.dumps[..] else {
        panic!("two dumps: {:?}", profile.dumps)
    };
    assert!(so_far.total >= 30, "{}: {so_far:?}", jvm.feature);
    assert!(whole.total >= so_far.total, "{}: {whole:?}", jvm.feature);
    assert!(busy(&profile, whole) > 0.5, "{}: {whole:?}", jvm.feature);
}

on_every_jvm!(methods_are_timed_without_a_word_of_the_vms_on_stdout, and 26);

fn methods_are_timed_without_a_word_of_the_vms_on_stdout(jvm: &Jvm) {
    let run = steps(jvm, &[], &["make:1", "make:1"]);
    for round in 1..=2 {
        run.hprof_well(
            "attach",
            &["cpu=times,include=Steps,cutoff=0,verbose=n,force=y,file=x.txt"],
        );
        go(&run, round);
        run.hprof_well("stop", &[]);
        let profile = profile(&run, "x.txt");
        assert_eq!(calls(&profile), [1], "{}", jvm.feature);
    }
    let run = end(run);
    let said = "ready\ndone 1\ndone 2\nend\n";
    assert_eq!(run.stdout, said, "{}", jvm.feature);
    assert_eq!(without_warning(&run.stderr), "", "{}", jvm.feature);
}
