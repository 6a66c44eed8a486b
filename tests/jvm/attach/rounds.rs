//! One profile after the other in one VM: each is exact, and nothing stays behind.

use super::{EXACT, busy, end, go, made, profile, steps, text, without_warning};
use crate::cells::cells;
use crate::harness::{jdks, jvms};
use crate::profile::Profile;

const STEPS: [&str; 7] = [
    "make:77",
    "make:5000",
    "thread:3000",
    "mixed:20000",
    "busy:400",
    "busy:300",
    "make:1234",
];

#[test]
fn each_profile_counts_what_happens_while_it_runs() {
    for cell in cells() {
        let run = steps(cell.jvm, &cell.vm_options(), &STEPS);
        go(&run, 1);
        run.hprof_well("attach", &[&format!("{EXACT}a.txt")]);
        (2..=4).for_each(|step| go(&run, step));
        run.hprof_well("stop", &[]);
        run.hprof_well("attach", &["cpu=samples,interval=5,verbose=n,file=b.txt"]);
        go(&run, 5);
        run.hprof_well("dump", &[]);
        go(&run, 6);
        run.hprof_well("stop", &[]);
        run.hprof_well("attach", &[&format!("{EXACT}c.txt")]);
        go(&run, 7);
        run.hprof_well("stop", &[]);

        let (first, third) = (profile(&run, "a.txt"), profile(&run, "c.txt"));
        let samples = profile(&run, "b.txt");
        let run = end(run);
        assert_eq!(made(&first, "Steps$Thing", "Steps.make"), 8000, "{cell}");
        let mixed =
            ["Steps$Thing", "Steps$Thing[]"].map(|class| made(&first, class, "Steps.mixed"));
        assert_eq!(mixed, [20_000, 20_000], "{cell}");
        assert_eq!(made(&third, "Steps$Thing", "Steps.make"), 1234, "{cell}");
        assert_eq!(made(&third, "Steps$Thing", "Steps.mixed"), 0, "{cell}");
        let [on_request, at_the_end] = &samples.dumps[..] else {
            panic!("{cell}: {} dumps", samples.dumps.len())
        };
        for dump in [on_request, at_the_end] {
            let busy = busy(&samples, dump);
            assert!(busy > 0.5, "{cell}: {dump:?}");
        }
        // As without the agent.
        let said: String = (1..=7).map(|step| format!("done {step}\n")).collect();
        assert_eq!(run.stdout, format!("ready\n{said}end\n"), "{cell}");
        assert_eq!(without_warning(&run.stderr), "", "{cell}");
    }
}

#[test]
fn an_exact_profile_after_a_sampled_one_is_exact() {
    for jvm in jvms() {
        let run = steps(jvm, &[], &["make:3000", "make:4000"]);
        run.hprof_well("attach", &["heap=sites,sample=4m,verbose=n,file=a.txt"]);
        go(&run, 1);
        run.hprof_well("stop", &[]);
        run.hprof_well("attach", &[&format!("{EXACT}b.txt")]);
        go(&run, 2);
        run.hprof_well("stop", &[]);
        let exact = profile(&run, "b.txt");
        end(run);
        assert_eq!(
            made(&exact, "Steps$Thing", "Steps.make"),
            4000,
            "{}",
            jvm.feature
        );
    }
}

#[test]
fn what_lives_is_known_too() {
    for jvm in jvms() {
        let run = steps(jvm, &[], &["make:100", "make:200"]);
        run.hprof_well("attach", &[&format!("{EXACT}a.txt")]);
        go(&run, 1);
        go(&run, 2);
        run.hprof_well("stop", &[]);
        let text = text(&run, "a.txt");
        let profile = Profile::parse(&text);
        end(run);
        let things = crate::sites::count(&profile, profile.one_sites(), "Steps$Thing", "");
        assert_eq!(
            (things.allocated, things.live),
            (300, 200),
            "{}: {text}",
            jvm.feature
        );
    }
}

#[test]
fn profiles_start_and_stop_under_load() {
    for jvm in jvms() {
        let run = steps(jvm, &[], &["load:4", "make:2000", "make:10"]);
        go(&run, 1);
        for round in 0..32 {
            let mode = ["heap=sites", "cpu=samples,interval=1"][round % 2];
            let options = format!(
                "{mode},format=b,thread=y,verbose=n,file={}.hprof",
                round % 4
            );
            run.hprof_well("attach", &[&options]);
            run.hprof_well("dump", &[]);
            run.hprof_well("stop", &[]);
        }
        run.hprof_well("attach", &[&format!("{EXACT}x.txt")]);
        go(&run, 2);
        run.hprof_well("stop", &[]);
        let exact = profile(&run, "x.txt");
        go(&run, 3);
        let run = end(run);
        assert_eq!(
            made(&exact, "Steps$Thing", "Steps.make"),
            2000,
            "{}",
            jvm.feature
        );
        (0..4).for_each(|round| {
            run.checked_text(&format!("{round}.hprof"));
        });
        assert_eq!(without_warning(&run.stderr), "", "{}", jvm.feature);
    }
}

#[test]
fn the_vm_may_end_while_a_profile_runs() {
    for jvm in jvms() {
        let run = steps(jvm, &[], &["make:10", "busy:200"]);
        run.hprof_well(
            "attach",
            &["heap=sites,cpu=samples,interval=5,cutoff=0,format=b,file=x.hprof"],
        );
        go(&run, 1);
        go(&run, 2);
        let run = end(run);
        let profile = Profile::parse(&run.checked_text("x.hprof"));
        assert_eq!(
            made(&profile, "Steps$Thing", "Steps.make"),
            10,
            "{}",
            jvm.feature
        );
        assert!(busy(&profile, profile.samples()) > 0.0, "{}", jvm.feature);
    }
}

#[test]
fn rounds_work_with_the_vms_own_checks_on() {
    for jvm in jvms() {
        let run = steps(jvm, &["-Xcheck:jni"], &["make:100"]);
        for round in 0..3 {
            run.hprof_well("attach", &["heap=sites,cpu=samples,verbose=n,file=x.txt"]);
            run.hprof_well("dump", &[]);
            run.hprof_well("stop", &[]);
            if round == 1 {
                go(&run, 1);
            }
        }
        let run = end(run);
        let said = run.stdout + &without_warning(&run.stderr);
        assert!(
            !said.contains("WARNING") && !said.contains("FATAL"),
            "{}: {said}",
            jvm.feature
        );
    }
}

#[test]
fn a_jdks_own_jcmd_does_it_too() {
    for jvm in jdks() {
        let run = steps(jvm, &[], &["make:321"]);
        assert!(
            run.jcmd_load(&format!("{EXACT}x.txt"))
                .contains("return code: 0")
        );
        go(&run, 1);
        assert!(run.jcmd_load("status").contains("return code: 0"));
        run.wait_for_stderr("hprof: profiling for ");
        assert!(
            run.jcmd_load("start,cpu=samples")
                .contains("return code: -1")
        );
        run.wait_for_stderr("already; 'stop' comes first");
        assert!(run.jcmd_load("stop").contains("return code: 0"));
        let profile = profile(&run, "x.txt");
        end(run);
        assert_eq!(
            made(&profile, "Steps$Thing", "Steps.make"),
            321,
            "{}",
            jvm.feature
        );
    }
}
