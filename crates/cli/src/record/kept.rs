//! The answer of a heap dump: what is alive, and what keeps it.

use std::io::{self, Write};
use std::path::Path;

use hprof_format::printable;
use hprof_heap::{By, Group, Leaks};

use crate::about;
use crate::amounts::{number, percent, size};
use crate::failure::Failure;
use crate::heap::{incomplete, with_usual_heap};

/// The share of the heap from which something is said to keep much of it.
const MUCH: f64 = 0.1;
/// The most objects that keep much, and classes, that are listed.
const SUSPECTS: usize = 3;
const CLASSES: usize = 5;

/// Writes the answer about the last heap dump of a file; returns `false` if it has none that can be read.
pub fn write(file: &Path, title: &str, out: &mut dyn Write) -> io::Result<bool> {
    let found = with_usual_heap(file, |heap| {
        let about = |error| Failure::about(file, error);
        let leaks = heap.leaks(MUCH, None).map_err(about)?;
        let classes = heap.groups(By::Class, 0).map_err(about)?;
        let objects = heap.summary().map_err(about)?.objects;
        let run = about::dump_of_known(heap.dump());
        let incomplete = incomplete::line(file, heap.dump());
        Ok((leaks, classes, objects, [run, incomplete]))
    });
    let Ok(Some((leaks, classes, objects, lines))) = found else {
        return Ok(false);
    };
    let live = size(leaks.live_bytes);
    writeln!(out, "{title}: {live} live in {} objects", number(objects))?;
    for line in lines.iter().flatten() {
        writeln!(out, "{line}")?;
    }
    suspects(&leaks, out)?;
    histogram(classes, leaks.live_bytes, out)?;
    Ok(true)
}

fn suspects(leaks: &Leaks, out: &mut dyn Write) -> io::Result<()> {
    let all = leaks.suspects.iter().chain(&leaks.bounded);
    for suspect in all.take(SUSPECTS) {
        let share = percent(suspect.own, leaks.live_bytes);
        let what = match suspect.objects {
            1 => suspect.what.clone(),
            several => format!("{} objects: {}", number(several), suspect.what),
        };
        let holder = suspect
            .holder
            .as_ref()
            .map(|holder| format!(", held by {holder}"));
        let line = format!("{what} keeps {}", size(suspect.own)) + &holder.unwrap_or_default();
        writeln!(out, "{share:>5.1} %  {}", printable(&line))?;
    }
    if leaks.suspects.is_empty() && leaks.bounded.is_empty() {
        writeln!(
            out,
            "nothing keeps {:.0} % of it or more alive",
            MUCH * 100.0
        )?;
    }
    Ok(())
}

fn histogram(mut classes: Vec<Group>, live: u64, out: &mut dyn Write) -> io::Result<()> {
    classes.sort_by_key(|class| std::cmp::Reverse(class.shallow));
    writeln!(out, "  {:>10}      %  {:>11}  class", "bytes", "objects")?;
    for class in classes.iter().take(CLASSES) {
        writeln!(
            out,
            "  {:>10} {:>6.1}  {:>11}  {}",
            size(class.shallow),
            percent(class.shallow, live),
            number(class.objects),
            printable(&*class.name)
        )?;
    }
    Ok(())
}
