//! `hprof doctor` reports which features would work with a program, without affecting it.

use super::{end, steps};
use crate::harness::{Jvm, Running};

/// Returns its findings about `subject`, each with its verdict.
fn findings(run: &Running, subject: &str) -> Vec<String> {
    let (_, text) = run.hprof("doctor", &[]);
    let about = |line: &&str| line.split_whitespace().nth(1) == Some(subject);
    text.lines().filter(about).map(str::to_owned).collect()
}

on_every_jvm!(nothing_stands_against_a_program_that_can_be_attached_to, and 17);

fn nothing_stands_against_a_program_that_can_be_attached_to(jvm: &Jvm) {
    let run = steps(jvm, &["-XX:+EnableDynamicAgentLoading"], &[]);
    let (content, text) = run.hprof("doctor", &[]);
    assert!(content, "{text}");
    assert!(
        text.contains("ok    attach     the VM takes requests"),
        "{text}"
    );
    let jdk = findings(&run, "JDK");
    // 28 is in early access.
    let mark = if jvm.feature == 28 { "note" } else { "ok  " };
    let version = format!("{mark}  JDK        {}", jvm.feature);
    assert!(jdk.len() == 1 && jdk[0].starts_with(&version), "{jdk:?}");
    let run = end(run);
    assert_eq!(run.stderr, "", "it was not touched");
}

on_every_jvm!(what_stands_against_attaching_is_named, and 28);

fn what_stands_against_attaching_is_named(jvm: &Jvm) {
    for (option, expected) in [
        ("-XX:+DisableAttachMechanism", "does not allow attaching"),
        (
            "-XX:-EnableDynamicAgentLoading",
            "the program refuses agents",
        ),
    ] {
        let run = steps(jvm, &[option], &[]);
        let (content, text) = run.hprof("doctor", &[]);
        assert!(!content, "{option}: {text}");
        let against = findings(&run, "attach");
        let is_named = |line: &String| line.starts_with("no ") && line.contains(expected);
        assert!(against.iter().any(is_named), "{option}: {against:?}");
        end(run);
    }
}

on_every_jvm!(the_warning_of_newer_vms_is_announced, and 25);

fn the_warning_of_newer_vms_is_announced(jvm: &Jvm) {
    let run = steps(jvm, &[], &[]);
    let notes = findings(&run, "attach");
    let is_announced = notes
        .iter()
        .any(|line| line.starts_with("note ") && line.contains("will warn"));
    assert_eq!(is_announced, jvm.feature >= 21, "{notes:?}");
    end(run);
}
