//! Messages before a program is stopped, and questions on a terminal.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use super::fake::{Fake, Says};

/// The data that a VM publishes of its heap, in the folder in which `jps` looks for it. Removed on drop.
struct Published(PathBuf);

impl Published {
    /// 2.1 GB are in use after the last collection, and 100 GB of garbage after it.
    fn heap(pid: u32) -> Published {
        let numbers = [
            ("sun.gc.collector.0.invocations", 7_u64),
            ("sun.gc.generation.0.space.0.used", 100_000_000_000),
            ("sun.gc.generation.1.space.0.used", 2_100_000_000),
        ];
        let texts = [
            ("sun.gc.collector.0.name", *b"G1 young"),
            ("sun.gc.generation.0.space.0.name", *b"eden\0\0\0\0"),
        ];
        let numbers = numbers.map(|(name, value)| (name, b'J', 0, value.to_le_bytes()));
        let texts = texts.map(|(name, text)| (name, b'B', 8, text));
        let mut file = Vec::from([0xca, 0xfe, 0xc0, 0xc0, 1, 2, 0, 1]);
        file.resize(24, 0);
        for number in [32, (numbers.len() + texts.len()) as u32] {
            file.extend(number.to_le_bytes());
        }
        for (name, kind, elements, data) in numbers.into_iter().chain(texts) {
            let data_at = 20 + name.len() as u32 + 1;
            for number in [data_at + 8, 20, elements, u32::from(kind), data_at] {
                file.extend(number.to_le_bytes());
            }
            file.extend(name.as_bytes());
            file.push(0);
            file.extend(data);
        }
        let folder = PathBuf::from(format!("/tmp/hsperfdata_fake{pid}"));
        fs::create_dir(&folder).expect("a folder");
        fs::write(folder.join(pid.to_string()), file).expect("a file");
        Published(folder)
    }
}

impl Drop for Published {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const STARTS: Says = Says::Replies("done\nprofiling");

fn attach(fake: &Fake, options: &[&str]) -> Command {
    let mut command = fake.command("status");
    let mut arguments: Vec<_> = command.get_args().map(ToOwned::to_owned).collect();
    arguments[0] = "attach".into();
    command = Command::new(env!("CARGO_BIN_EXE_hprof"));
    command.args(arguments).args(options);
    command
}

fn said(mut command: Command) -> String {
    let output = command.stdin(Stdio::null()).output().expect("hprof");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stderr).expect("UTF-8")
}

#[test]
fn how_long_a_program_will_be_stopped_is_said_before() {
    let fake = Fake::new(STARTS);
    let _published = Published::heap(fake.pid);
    for (options, stops) in [
        (
            "heap=sites",
            "about 2.1 s at the start and about 3.4 s for each dump",
        ),
        (
            "heap=dump,format=b",
            "about 2.1 s at the start and about 13.7 s for each dump",
        ),
    ] {
        let said = said(attach(&fake, &[options]));
        assert!(
            said.contains(&format!("will be stopped for {stops}")),
            "{said}"
        );
        assert!(
            said.contains("2.1 GB in use (G1)") && said.lines().count() == 2,
            "{said}"
        );
        assert!(said.contains("; budget=20% bounds that\n"), "{said}");
    }
    for options in ["cpu=samples", "heap=sites,sample=512k,gc=n"] {
        assert_eq!(said(attach(&fake, &[options])), "", "{options}");
    }
    drop(fake);
    let fake = Fake::new(Says::Replies(
        "done\nprofiling for 3 s into /x (heap=sites,format=b)",
    ));
    let _published = Published::heap(fake.pid);
    for verb in ["dump", "stop"] {
        let said = said(fake.command(verb));
        assert!(said.contains("will be stopped for about 3.4 s: "), "{said}");
    }
    assert_eq!(said(fake.command("status")), "");
}

/// Runs a command on a terminal on which `answer` is typed; returns its success.
fn on_terminal(mut command: Command, answer: &str) -> (bool, String) {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&ours).expect("it is ours");
    unlockpt(&ours).expect("it is ours");
    let name = ptsname(&ours, Vec::new()).expect("it has a name");
    let theirs = OpenOptions::new()
        .read(true)
        .write(true)
        .open(name.to_str().expect("UTF-8"))
        .expect("it can be opened");
    let mut ours = File::from(ours);
    ours.write_all(answer.as_bytes()).expect("it is typed");
    command.stdin(theirs.try_clone().expect("the terminal"));
    command.stdout(Stdio::null()).stderr(theirs);
    let is_well = command.status().expect("hprof").success();
    drop(command);
    let mut shown = Vec::new();
    // Reading from a terminal that nobody has open any more is an error.
    let _ = ours.read_to_end(&mut shown);
    (is_well, String::from_utf8_lossy(&shown).into_owned())
}

#[test]
fn a_fork_is_offered_where_a_dump_would_stop_the_program() {
    for (answer, is_done, forks) in [
        ("f\n", true, true),
        ("y\n", true, false),
        ("n\n", false, false),
    ] {
        let fake = Fake::new(STARTS);
        let published = Published::heap(fake.pid);
        let (is_well, shown) = on_terminal(attach(&fake, &["heap=dump,format=b"]), answer);
        drop(published);
        assert_eq!(is_well, is_done, "{answer}: {shown}");
        let figures = "about 13.7 s for each dump and at the end: its heap has 2.1 GB in use (G1); with dumper=fork about 0.1 s for \
            a dump, and up to 4.2 GB of memory for the time of writing";
        assert!(shown.contains(figures), "{shown}");
        assert!(
            shown.contains("continue? [y/N, or f to continue with a fork]"),
            "{shown}"
        );
        let options = "heap=dump,format=b,force=n";
        let expected = match (is_done, forks) {
            (false, _) => Vec::new(),
            (true, true) => vec![format!("{options},dumper=fork")],
            (true, false) => vec![options.to_owned()],
        };
        assert_eq!(fake.were_asked_for(), expected, "{answer}");
    }
}

#[test]
fn a_dump_is_made_in_the_way_that_was_chosen() {
    let replies =
        "done\nprofiling for 3 s into /x (heap=dump,format=b); the agent holds 7 bytes of memory";
    let forked = Some("dumper=fork");
    for (arguments, answer, chosen) in [
        (&[][..], "f\n", forked),
        (&[], "y\n", None),
        (&["--yes"], "", None),
        (&["--fork"], "", forked),
    ] {
        let fake = Fake::new(Says::Replies(replies));
        let published = Published::heap(fake.pid);
        let mut command = fake.command("dump");
        command.args(arguments);
        let (is_well, shown) = on_terminal(command, answer);
        drop(published);
        assert!(is_well, "{shown}");
        let is_said = shown.contains("will be stopped for about 13.7 s: ");
        let is_forked = arguments.contains(&"--fork");
        assert_ne!(is_said, is_forked, "{arguments:?}: {shown}");
        let asked = fake.were_asked_for();
        let last = asked.last().expect("a request");
        assert_eq!(*last, chosen.unwrap_or_default(), "{arguments:?} {answer}");
    }
}

#[test]
fn a_long_stop_is_asked_about_on_a_terminal() {
    for (options, answer, is_done, is_asked) in [
        (&["heap=sites"][..], "n\n", false, true),
        (&["heap=sites"], "\n", false, true),
        (&["heap=sites"], "y\n", true, true),
        (&["heap=sites", "--yes"], "n\n", true, false),
        (&["cpu=samples"], "n\n", true, false),
    ] {
        let fake = Fake::new(STARTS);
        let published = Published::heap(fake.pid);
        let (is_well, shown) = on_terminal(attach(&fake, options), answer);
        assert_eq!(is_well, is_done, "{options:?} {answer}: {shown}");
        assert_eq!(shown.contains("continue? [y/N]"), is_asked, "{shown}");
        drop(published);
        assert_eq!(fake.was_asked(), is_done, "{options:?} {answer}");
    }
}
