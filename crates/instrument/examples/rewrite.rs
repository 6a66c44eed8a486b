//! Instruments every class file of a directory tree.
//!
//! ```text
//! rewrite [--round-trip] FROM TO [TRACKER]
//! ```
//!
//! Copies the tree FROM to TO with every class instrumented, or disassembled and reassembled. Methods are numbered
//! consecutively; `TO/methods` lists their names, one per line. TRACKER is the class whose `entry`, `exit` and
//! `exception_exit` are called, `java/lang/HprofTracker` by default. Prints the number of classes and methods, and the
//! time for the rewriting alone.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use hprof_instrument::{Hooks, instrument, round_trip};

#[derive(Default)]
struct Totals {
    classes: usize,
    unreadable: usize,
    bytes: usize,
    time: Duration,
    left_out: BTreeMap<String, usize>,
    /// The classes that were different after being disassembled and reassembled.
    changed: usize,
    methods: Vec<u8>,
    count: u32,
}

fn main() -> ExitCode {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let only_copy = arguments
        .first()
        .is_some_and(|first| first == "--round-trip");
    if only_copy {
        arguments.remove(0);
    }
    let (from, to, tracker) = match &arguments[..] {
        [from, to] => (from, to, "java/lang/HprofTracker"),
        [from, to, tracker] => (from, to, tracker.as_str()),
        _ => {
            eprintln!("usage: rewrite [--round-trip] FROM TO [TRACKER]");
            return ExitCode::FAILURE;
        }
    };
    let mut totals = Totals::default();
    let work = |class: &[u8], totals: &mut Totals| match only_copy {
        true => copy(class, totals),
        false => rewrite(class, tracker, totals),
    };
    match walk(Path::new(from), Path::new(to), &work, &mut totals) {
        Ok(()) => {}
        Err(error) => {
            eprintln!("rewrite: {error}");
            return ExitCode::FAILURE;
        }
    }
    if let Err(error) = fs::write(Path::new(to).join("methods"), &totals.methods) {
        eprintln!("rewrite: {to}/methods: {error}");
        return ExitCode::FAILURE;
    }
    report(&totals);
    ExitCode::SUCCESS
}

fn report(totals: &Totals) {
    let seconds = totals.time.as_secs_f64().max(1e-9);
    println!(
        "{} classes, {} methods, {} unreadable, {} changed, {:.1} MB, {:.0} MB/s, {:.0} classes/s",
        totals.classes,
        totals.count,
        totals.unreadable,
        totals.changed,
        totals.bytes as f64 / 1e6,
        totals.bytes as f64 / 1e6 / seconds,
        totals.classes as f64 / seconds,
    );
    for (reason, count) in &totals.left_out {
        println!("left out, {reason}: {count}");
    }
}

type Work<'a> = &'a dyn Fn(&[u8], &mut Totals) -> Vec<u8>;

fn walk(from: &Path, to: &Path, work: Work, totals: &mut Totals) -> io::Result<()> {
    fs::create_dir_all(to)?;
    let mut entries: Vec<PathBuf> = fs::read_dir(from)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<io::Result<_>>()?;
    entries.sort();
    for path in entries {
        let target = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            walk(&path, &target, work, totals)?;
        } else if path
            .extension()
            .is_some_and(|extension| extension == "class")
        {
            let class = fs::read(&path)?;
            fs::write(target, work(&class, totals))?;
        } else {
            fs::copy(&path, target)?;
        }
    }
    Ok(())
}

fn copy(class: &[u8], totals: &mut Totals) -> Vec<u8> {
    totals.classes += 1;
    totals.bytes += class.len();
    let start = Instant::now();
    let copied = round_trip(class);
    totals.time += start.elapsed();
    let copied = copied.unwrap_or_else(|_| {
        totals.unreadable += 1;
        class.to_vec()
    });
    totals.changed += usize::from(copied != class);
    copied
}

fn rewrite(class: &[u8], tracker: &str, totals: &mut Totals) -> Vec<u8> {
    let hooks = Hooks {
        tracker: tracker.as_bytes(),
        entry: b"methodEntry",
        exit: b"methodExit",
        exception_exit: b"exceptionExit",
        caught: None,
        leaf: None,
    };
    totals.classes += 1;
    totals.bytes += class.len();
    let mut names = Vec::new();
    let mut count = totals.count;
    let start = Instant::now();
    let outcome = instrument(class, &hooks, &mut |class, method| {
        for part in [class.name, b".", method.name, method.descriptor, b"\n"] {
            names.extend_from_slice(part);
        }
        count += 1;
        Some(count - 1)
    });
    totals.time += start.elapsed();
    totals.methods.append(&mut names);
    totals.count = count;
    let Ok(outcome) = outcome else {
        totals.unreadable += 1;
        return class.to_vec();
    };
    for method in &outcome.left_out {
        *totals
            .left_out
            .entry(method.reason.text().to_owned())
            .or_default() += 1;
    }
    totals.changed += usize::from(outcome.class.is_some());
    outcome.class.unwrap_or_else(|| class.to_vec())
}
