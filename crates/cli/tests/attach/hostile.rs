//! Programs that try to make this command do in its user's name what they may not do themselves. That user is root if
//! the program is another user's; only root can play both.

use std::fs;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, symlink};
use std::os::unix::net::UnixListener;
use std::process::Command;

use tempfile::TempDir;

use super::fake::{Fake, Says, socket};
use hprof_testing::skip;

const NOBODY: [&str; 4] = [
    "setpriv",
    "--reuid=65534",
    "--regid=65534",
    "--clear-groups",
];
/// Namespaces that any user can create.
const OWN: [&str; 7] = [
    "unshare",
    "--user",
    "--map-root-user",
    "--mount",
    "--pid",
    "--fork",
    "--mount-proc",
];

/// Returns `true` if this is root, and there are namespaces.
fn can_be_hostile() -> bool {
    let is_root = fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    let mut command = Command::new(NOBODY[0]);
    command.args(&NOBODY[1..]).args(OWN);
    // As below: the next process gets the requested number.
    let script = "echo 4000 >/proc/sys/kernel/ns_last_pid && true | true";
    command.args(["bash", "-c", script]);
    let can = is_root && command.output().is_ok_and(|output| output.status.success());
    if !can {
        skip("hostile programs of other users: that takes root, and a user's own namespaces");
    }
    can
}

/// Starts a program that does not listen and has, in its own namespace, the number of another. It is run as `command`,
/// after `setup`.
fn with_the_number_of(other: &Fake, runner: &[&str], setup: &str, command: &str) -> Fake {
    let last = other.pid - 1;
    // Nothing may start between the two.
    let script =
        format!("{setup}\necho {last} >/proc/sys/kernel/ns_last_pid || exit\n{command}\nexit");
    let fake = Fake::below(Says::Nothing, runner, &script);
    let status = fs::read_to_string(format!("/proc/{}/status", fake.pid)).expect("it runs");
    let numbers = status.lines().find(|line| line.starts_with("NSpid:"));
    let own = numbers.and_then(|numbers| numbers.split_whitespace().last());
    assert_eq!(own, Some(&*other.pid.to_string()), "{numbers:?}");
    fake
}

#[test]
fn a_socket_of_another_program_gets_nothing() {
    let fake = Fake::new(Says::Nothing);
    let listener = UnixListener::bind(socket(fake.pid)).expect("a socket");
    let said = fake.refusal("status");
    let own = format!(" leads to another process: {} of user ", std::process::id());
    assert!(said.contains(&own), "{said}");
    let mut sent = Vec::new();
    let (mut stream, _) = listener.accept().expect("it came");
    stream.read_to_end(&mut sent).expect("it went");
    assert_eq!(sent, b"");
}

#[test]
fn a_link_in_the_place_of_the_socket_is_not_followed() {
    let victim = Fake::new(Says::Replies("done\nfine"));
    let fake = Fake::new(Says::Nothing);
    symlink(socket(victim.pid), socket(fake.pid)).expect("a link");
    let said = fake.refusal("status");
    assert!(said.contains(" is not a socket: "), "{said}");
    assert!(!victim.was_asked());
}

#[test]
fn a_socket_of_another_user_gets_nothing() {
    if !can_be_hostile() {
        return;
    }
    let fake = Fake::new(Says::Nothing);
    let path = socket(fake.pid);
    let _listener = UnixListener::bind(&path).expect("a socket");
    std::os::unix::fs::chown(&path, Some(65_534), None).expect("root may");
    let said = fake.refusal("status");
    assert!(said.contains(" belongs to user 65534, "), "{said}");
}

#[test]
fn a_socket_that_root_left_is_named() {
    if !can_be_hostile() {
        return;
    }
    let fake = Fake::below(Says::Nothing, &NOBODY, r#""$@""#);
    let _ = std::fs::remove_file(socket(fake.pid));
    drop(UnixListener::bind(socket(fake.pid)).expect("a socket"));
    let said = fake.refusal("status");
    assert!(
        said.contains("it belongs to user 0, not to the program's user"),
        "{said}"
    );
    // The path may mean a different file to the reader: the socket of a living VM.
    assert!(!said.contains("remove"), "{said}");
}

#[test]
fn a_link_of_a_stranger_leads_root_to_no_other_vm() {
    if !can_be_hostile() {
        return;
    }
    let victim = Fake::new(Says::Replies("done\nfine"));
    // A root of its own, where /tmp is a link: to anyone who follows it from outside, to the common /tmp.
    let script = r#"set -e
        mount -t tmpfs none /mnt && cd /mnt
        for entry in /*; do
            case $entry in /tmp | /mnt | /sys) continue ;; esac
            if [ -L "$entry" ]; then
                cp -P "$entry" .
            elif [ -d "$entry" ]; then
                mkdir ".$entry" && mount --rbind "$entry" ".$entry"
            fi
        done
        ln -s /tmp tmp"#;
    let runner = [&NOBODY[..], &OWN[..]].concat();
    let stranger = with_the_number_of(&victim, &runner, script, r#"chroot . "$@""#);
    // Its mapped files have paths in /proc that do not lead there in its root.
    let said = stranger.refusal("attach");
    assert!(
        said.contains(" Too many levels of symbolic links"),
        "{said}"
    );
    assert!(!victim.was_asked(), "{said}");
}

#[test]
fn a_stranger_with_the_number_of_another_vm_leads_root_not_to_it() {
    if !can_be_hostile() {
        return;
    }
    let victim = Fake::new(Says::Replies("done\nfine"));
    let runner = [&NOBODY[..], &OWN[..]].concat();
    let stranger = with_the_number_of(&victim, &runner, "", r#""$@""#);
    let said = stranger.refusal("status");
    assert!(said.contains(" Permission denied"), "{said}");
    assert!(!victim.was_asked());
}

#[test]
fn a_program_of_root_with_the_number_of_another_is_told_apart() {
    if !can_be_hostile() {
        return;
    }
    let victim = Fake::new(Says::Replies("done\nfine"));
    let runner = ["unshare", "--pid", "--fork", "--mount-proc"];
    let other = with_the_number_of(&victim, &runner, "", r#""$@""#);
    let said = other.refusal("status");
    let peer = format!(" leads to another process: {} of user 0 ", victim.pid);
    assert!(said.contains(&peer), "{said}");
    assert!(!victim.was_asked());
}

#[test]
fn root_creates_nothing_where_the_program_could_not() {
    if !can_be_hostile() {
        return;
    }
    let private = TempDir::new_in("/var/tmp").expect("a folder");
    fs::set_permissions(
        private.path(),
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .expect("it is ours");
    let changed = || {
        fs::metadata(private.path())
            .expect("it is there")
            .mtime_nsec()
    };
    let before = changed();
    let script = format!(
        "mount --bind {} /tmp && exec \"$@\"",
        private.path().display()
    );
    let runner = [&NOBODY[..], &OWN[..]].concat();
    let stranger = Fake::below(Says::Nothing, &runner, &script);
    let said = stranger.refusal("status");
    assert!(said.contains("/tmp/.hprof-reply-"), "{said}");
    assert_eq!(changed(), before, "{said}");
}
