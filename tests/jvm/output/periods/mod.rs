//! `rotate=`, `keep=` and `timeout=`: a profile in periods, which add up to the whole. The program is in
//! `java-tests/periods`.

mod network;
mod timeout;

use std::fs;
use std::path::Path;

use crate::harness::{Finished, Jvm, Program, Running};
use crate::heap::sites::count;
use crate::profile::Profile;

/// `Steady` with the agent.
fn steady(jvm: &Jvm, options: &str) -> Program {
    let options = format!("{options},verbose=n");
    Program::java(jvm, &options, &[]).program("periods", "Steady")
}

/// Ends `Steady`.
fn end(run: Running) -> Finished {
    fs::write(run.path("stop"), "").expect("the folder can be written");
    let run = run.wait();
    assert!(run.status.success(), "{}", run.stderr);
    run
}

/// Returns the number of files of periods in a folder.
fn periods_in(folder: &Path) -> usize {
    let files = fs::read_dir(folder).expect("a folder");
    let names = files.map(|file| file.expect("a file").file_name());
    names
        .filter(|name| name.to_string_lossy().starts_with("x."))
        .count()
}

/// Returns the files of the periods in their order.
fn files(run: &Finished) -> Vec<String> {
    let mut numbered: Vec<(u32, String)> = run
        .files()
        .into_iter()
        .filter(|name| name.starts_with("x."))
        .map(|name| {
            let number = name.split('.').nth(1).expect("a suffix").parse();
            (number.unwrap_or(1), name)
        })
        .collect();
    numbered.sort();
    numbered.into_iter().map(|(_, name)| name).collect()
}

/// Returns the number after a word in a run's output.
fn told(run: &Finished, word: &str) -> u64 {
    let mut words = run.stdout.split_whitespace();
    words.find(|other| *other == word).expect(word);
    words.next().expect("a number").parse().expect("a number")
}

/// The sums over periods.
#[derive(Debug, Default, PartialEq, Eq)]
struct Sums {
    items: u64,
    short: u64,
    calls: u64,
    /// The value of the last period.
    kept: u64,
}

impl Sums {
    fn of(profiles: &[Profile]) -> Sums {
        let mut sums = Sums::default();
        for profile in profiles {
            if let [sites] = profile.sites.as_slice() {
                let items = count(profile, sites, "Steady$Item", "Steady$Loop.make");
                sums.items += items.allocated;
                sums.kept = items.live;
                sums.short +=
                    count(profile, sites, "Steady$Short", "Steady.lambda$main$0").allocated;
            }
            for times in &profile.times {
                let rows = times.rows.iter();
                let work = rows.filter(|row| row.method == "Steady$Loop.work");
                sums.calls += work.map(|row| row.calls).sum::<u64>();
            }
        }
        sums
    }

    fn told_by(run: &Finished) -> Sums {
        Sums {
            items: told(run, "items"),
            short: told(run, "short"),
            calls: told(run, "calls"),
            kept: told(run, "kept"),
        }
    }
}

on_every_jvm!(two_hundred_periods_add_up_to_the_whole, and 25);

fn two_hundred_periods_add_up_to_the_whole(jvm: &Jvm) {
    let options = "heap=sites,cpu=times,include=Steady*,cutoff=0,rotate=10ms,file=x.txt";
    let run = steady(jvm, options).start();
    run.wait_until(|| periods_in(run.path("").as_path()) > 200);
    let run = end(run);
    let files = files(&run);
    let profiles: Vec<Profile> = files
        .iter()
        .map(|name| Profile::parse(&run.read(name)))
        .collect();
    assert_eq!(Sums::of(&profiles), Sums::told_by(&run), "{}", jvm.feature);
    for (name, profile) in files.iter().zip(&profiles) {
        assert_eq!((profile.sites.len(), profile.times.len()), (1, 1), "{name}");
    }
    for thread in ["main", "one", "two"] {
        let names = |profile: &&Profile| profile.threads.iter().any(|other| other.name == thread);
        // Each file names the threads that are alive; those before the first and after the last have none of them.
        let found = profiles.iter().filter(names).count();
        assert!(found > 150, "{}: {found} files have {thread}", jvm.feature);
    }
}

on_every_jvm!(every_period_is_a_whole_binary_file, and 26);

fn every_period_is_a_whole_binary_file(jvm: &Jvm) {
    let options =
        "heap=all,cpu=samples,interval=1,thread=y,cutoff=0,format=b,rotate=50ms,file=x.hprof.gz";
    let run = steady(jvm, options).start();
    run.wait_until(|| periods_in(run.path("").as_path()) > 6);
    let run = end(run);
    for name in files(&run) {
        assert!(name.ends_with(".hprof.gz"), "{name}");
        let (is_sound, _, said) = run.hprof("check", &name);
        assert!(is_sound, "{}: {name}: {said}", jvm.feature);
    }
}

on_every_jvm!(the_oldest_periods_go, and 17);

fn the_oldest_periods_go(jvm: &Jvm) {
    let options = "cpu=samples,rotate=20ms,keep=3,file=x.txt";
    let run = steady(jvm, options).start();
    run.wait_until(|| run.path("x.9.txt").exists());
    let run = end(run);
    let files = files(&run);
    assert_eq!(files.len(), 3, "{files:?}");
    assert!(!files.contains(&"x.txt".to_owned()), "{files:?}");
    for name in &files {
        let text = run.read(name);
        assert!(
            text.trim_end().ends_with(" s)"),
            "{name} has an end: {text}"
        );
    }
}

on_every_jvm!(a_period_has_an_end_in_bytes_too, and 28);

fn a_period_has_an_end_in_bytes_too(jvm: &Jvm) {
    let run = steady(jvm, "heap=sites,cutoff=0,rotate=2kb,file=x.txt").start();
    run.wait_until(|| run.path("x.3.txt").exists());
    let run = end(run);
    let profiles: Vec<Profile> = files(&run)
        .iter()
        .map(|name| Profile::parse(&run.read(name)))
        .collect();
    let expected = Sums {
        calls: 0,
        ..Sums::told_by(&run)
    };
    assert_eq!(Sums::of(&profiles), expected, "{}", jvm.feature);
}

#[test]
fn a_period_without_a_next_file_goes_on() {
    let jvm = crate::harness::any_jvm();
    let run = steady(jvm, "heap=sites,cutoff=0,rotate=20ms,file=now/x.txt")
        .after("mkdir now")
        .start();
    run.wait_until(|| run.path("now/x.2.txt").exists());
    fs::rename(run.path("now"), run.path("then")).expect("a folder");
    run.wait_for_stderr("the profile continues in the output that it has");
    fs::rename(run.path("then"), run.path("now")).expect("a folder");
    let before = periods_in(&run.path("now"));
    run.wait_until(|| periods_in(&run.path("now")) > before + 2);
    let run = end(run);
    let files = fs::read_dir(run.path("now")).expect("a folder");
    let files = files.map(|file| file.expect("a file").path());
    let profiles: Vec<Profile> = files
        .map(|file| Profile::parse(&fs::read_to_string(file).expect("UTF-8")))
        .collect();
    let mut sums = Sums::of(&profiles);
    let mut expected = Sums::told_by(&run);
    // The live objects are those of the last period, and the folder has no order.
    (sums.kept, expected.kept, expected.calls) = (0, 0, 0);
    assert_eq!(sums, expected);
}

#[test]
fn a_period_whose_name_is_taken_gets_another_one() {
    let jvm = crate::harness::any_jvm();
    // A folder stands for anything that cannot be written, such as a link planted by another user.
    let run = steady(jvm, "heap=sites,cutoff=0,rotate=20ms,file=x.txt")
        .after("mkdir x.2.txt")
        .start();
    run.wait_until(|| run.path("x.4.txt").exists());
    let run = end(run);
    let said = "option file=x.2.txt: Is a directory (os error 21); must be a file of your own that can be written; this \
                period goes to x.2.";
    assert!(run.stderr.contains(said), "{}", run.stderr);
    let names = files(&run).into_iter().filter(|name| name != "x.2.txt");
    let profiles: Vec<Profile> = names.map(|name| Profile::parse(&run.read(&name))).collect();
    let ends = |name: &String| run.read(name).contains("end of period 2 of the profile");
    let second = files(&run)
        .into_iter()
        .find(|name| name != "x.2.txt" && ends(name));
    assert!(second.is_some_and(|name| name.starts_with("x.2.")));
    let expected = Sums {
        calls: 0,
        ..Sums::told_by(&run)
    };
    assert_eq!(Sums::of(&profiles), expected);
}

#[test]
fn periods_need_plain_files() {
    let jvm = crate::harness::any_jvm();
    let run = steady(jvm, "cpu=samples,rotate=1s,file=/dev/stdout").run();
    assert!(!run.status.success());
    assert!(
        run.stderr
            .contains("it is not a regular file, which rotate= needs"),
        "{}",
        run.stderr
    );
}
