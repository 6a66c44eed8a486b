//! Programs of other users, and in containers. Only root can create either, so for others these tests are skipped.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use super::{end, go, steps};
use crate::harness::{Jvm, Program, Running, agent, any_jvm, cli, skip};

fn is_root() -> bool {
    let is_root = fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    if !is_root {
        skip("programs of other users and in containers: only root can be somebody else");
    }
    is_root
}

/// Creates a folder that everybody can read, with the command and the library in it.
fn public() -> TempDir {
    let folder = TempDir::new().expect("a folder");
    let open = |path: &Path| fs::set_permissions(path, fs::Permissions::from_mode(0o777));
    open(folder.path()).expect("it is ours");
    for file in [cli(), agent()] {
        let copy = folder.path().join(file.file_name().expect("a name"));
        fs::copy(file, &copy).expect("a copy");
        open(&copy).expect("it is ours");
    }
    folder
}

/// Runs `hprof` for a process, with a library.
fn hprof(verb: &str, process: u32, rest: &[&str], library: &Path) -> (bool, String) {
    let mut hprof = Command::new(cli());
    hprof.args([verb, &process.to_string()]).args(rest);
    let output = hprof.arg("--agent").arg(library).output().expect("hprof");
    let text = String::from_utf8([output.stdout, output.stderr].concat()).expect("UTF-8");
    (output.status.success(), text)
}

#[test]
fn another_users_program_is_out_of_reach() {
    if !is_root() {
        return;
    }
    let folder = public();
    let run = steps(any_jvm(), &[], &["make:1"]);
    let output = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(folder.path().join("hprof"))
        .args(["attach", &run.id().to_string(), "cpu=samples"])
        .output()
        .expect("setpriv");
    let refused = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(refused.contains("belongs to user 0"), "{refused}");
    go(&run, 1);
    end(run);
}

on_every_jvm!(root_reaches_everybodys, and 28);

fn root_reaches_everybodys(jvm: &Jvm) {
    if !is_root() {
        return;
    }
    let folder = public();
    let library = folder.path().join("libhprof.so");
    let output = folder.path().join("x.txt");
    let program = Program::bare_java(jvm, &[])
        .program("attach", "Steps")
        .arg("make:1");
    let user = "setpriv --reuid=65534 --regid=65534 --clear-groups";
    let run = program.wrapped_in(user).start();
    if !starts(&run) {
        skip(&format!(
            "a program of another user on {}: it may not read the JVM",
            jvm.feature
        ));
        return;
    }
    let options = format!("cpu=samples,verbose=n,file={}", output.display());
    let (content, text) = hprof("attach", run.id(), &[&options], &library);
    assert!(content, "{}: {text}", jvm.feature);
    let (content, text) = hprof("stop", run.id(), &[], &library);
    assert!(content, "{}: {text}", jvm.feature);
    assert_eq!(fs::metadata(&output).expect("the profile").uid(), 65_534);
    fs::remove_file(&output).expect("it is there");
    go(&run, 1);
    end(run);
}

/// Returns `true` if the program runs at all: another user may not be allowed to read the JVM or the classes.
fn starts(run: &Running) -> bool {
    run.wait_until(|| run.output("stdout").contains("ready") || !run.output("stderr").is_empty());
    // Left by root's VM with the same number, which was killed: this user's VM may not replace it.
    let _ = fs::remove_file(format!("/tmp/.java_pid{}", run.id()));
    run.output("stdout").contains("ready")
}

on_every_jvm!(a_program_in_a_container_is_reached_by_its_own_view, and 25);

fn a_program_in_a_container_is_reached_by_its_own_view(jvm: &Jvm) {
    if !is_root() {
        return;
    }
    let folder = public();
    let outside = folder.path().join("libhprof.so");
    // A /tmp of its own, with the library in it, and this repository where that is below /tmp.
    let inside = format!(
        r#"set -e
        files={}
        mkdir new
        mount -t tmpfs none new
        cp {} new
        here=new/${{files#/tmp/}}
        case $files in /tmp/*) mkdir -p "$here" && mount --rbind "$files" "$here" ;; esac
        mount --rbind new /tmp"#,
        env!("CARGO_MANIFEST_DIR"),
        outside.display()
    );
    let options = ["cpu=samples,verbose=n,file=/tmp/x.txt"];
    let program = Program::bare_java(jvm, &[])
        .program("attach", "Steps")
        .arg("make:1");
    let container = "unshare --mount --pid --fork --kill-child --mount-proc";
    let run = program.after(&inside).wrapped_in(container).start();
    if !starts(&run) {
        skip(&format!(
            "a program in a container on {}: {}",
            jvm.feature,
            run.output("stderr").trim()
        ));
        return;
    }
    let process = child(run.id());
    let (content, text) = hprof("attach", process, &options, &outside);
    assert!(!content && text.contains("(a container)"), "{text}");
    for (verb, rest) in [("attach", &options[..]), ("stop", &[])] {
        let (content, text) = hprof(verb, process, rest, Path::new("/tmp/libhprof.so"));
        assert!(content, "{} {verb}: {text}", jvm.feature);
    }
    let profile = fs::read_to_string(format!("/proc/{process}/root/tmp/x.txt"));
    assert!(profile.expect("a profile").contains("CPU SAMPLES"));
    go(&run, 1);
    end(run);
}

on_every_jvm!(root_reaches_a_program_in_its_users_own_namespace, and 26);

/// The VM's own user id in there is a different number here, and root has no rights for it.
fn root_reaches_a_program_in_its_users_own_namespace(jvm: &Jvm) {
    if !is_root() {
        return;
    }
    let folder = public();
    let library = folder.path().join("libhprof.so");
    let program = Program::bare_java(jvm, &[])
        .program("attach", "Steps")
        .arg("make:1");
    let namespaces = "setpriv --reuid=65534 --regid=65534 --clear-groups \
                      unshare --user --map-root-user --mount";
    let run = program.wrapped_in(namespaces).start();
    if !starts(&run) {
        skip(&format!(
            "a user's own namespaces on {}: {}",
            jvm.feature,
            run.output("stderr").trim()
        ));
        return;
    }
    let file = folder.path().join("x.txt");
    let options = format!("cpu=samples,verbose=n,file={}", file.display());
    let (content, text) = hprof("attach", run.id(), &[&options], &library);
    assert!(content, "{}: {text}", jvm.feature);
    let (content, text) = hprof("stop", run.id(), &[], &library);
    assert!(content, "{}: {text}", jvm.feature);
    assert_eq!(fs::metadata(&file).expect("the profile").uid(), 65_534);
    fs::remove_file(&file).expect("it is there");
    go(&run, 1);
    end(run);
}

/// Returns the only child of a process.
fn child(process: u32) -> u32 {
    let children = fs::read_to_string(format!("/proc/{process}/task/{process}/children"));
    let children = children.expect("its children");
    children.trim().parse().expect("one child")
}
