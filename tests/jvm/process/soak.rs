//! Two minutes of `scripts/soak`: a server under load is attached to, dumped and stopped again in every mode, and does
//! not grow. The program is in `java-tests/soak`.

use std::process::Command;

use crate::harness::{agent, any_jvm, classes, cli};

/// The requests per second, few enough to leave the machine to the other tests.
const LOAD: &str = "100";

#[test]
fn a_server_that_is_profiled_again_and_again_does_not_grow() {
    let output = Command::new("python3")
        .args(["scripts/lib/soak.py", "--seconds", "110", "--round", "3"])
        .arg("--hprof")
        .arg(cli())
        .arg("--agent")
        .arg(agent())
        .arg(any_jvm().home.join("bin/java"))
        .args(["-Xms96m", "-Xmx96m", "-XX:+AlwaysPreTouch", "-cp"])
        .arg(classes("soak"))
        .args(["Requests", LOAD])
        .output()
        .expect("python3");
    let said = String::from_utf8_lossy(&output.stdout);
    let complaint = String::from_utf8_lossy(&output.stderr);
    println!("{said}");
    assert!(output.status.success(), "{said}{complaint}");
    // A check without figures would find that nothing grew.
    for figure in ["resident MB", "agent KB", "threads", "descriptors"] {
        let verdict = said.lines().filter(|line| line.starts_with(figure));
        assert_eq!(
            verdict.filter(|line| line.ends_with(": flat")).count(),
            1,
            "{figure}: {said}"
        );
    }
}
