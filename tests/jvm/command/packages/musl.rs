//! The files for musl in a process that uses musl. `scripts/musl` runs them in a JVM.

use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use super::{has, platforms, run};

#[test]
fn a_process_of_musl_loads_the_library_and_runs_the_command() {
    let Some((_, root)) = platforms()
        .into_iter()
        .find(|(name, _)| name == "x86_64-musl")
    else {
        return;
    };
    if !has("musl-gcc") {
        return;
    }
    let folder = TempDir::new().expect("a folder");
    let program = folder.path().join("load");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/jvm/command/packages/load.c");
    run(Command::new("musl-gcc").arg("-o").arg(&program).arg(source));
    let load = |options: &str| {
        let mut load = Command::new(&program);
        load.arg(root.join("lib/libhprof.so")).arg(options);
        load
    };
    let help = run(&mut load("help"));
    assert!(help.contains("-agentpath:"), "{help}");
    let refused = load("cpu=fast").output().expect("the program");
    assert_eq!(refused.status.code(), Some(1));
    let said = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(
        said,
        "hprof: option cpu=fast: must be samples|times|old|y\n"
    );
    let library = run(Command::new(root.join("bin/hprof")).arg("agent-path"));
    assert_eq!(Path::new(&library), root.join("lib/libhprof.so"));
}
