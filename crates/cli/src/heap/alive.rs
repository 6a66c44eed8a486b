//! What is alive for an unusual reason, and what is not counted as alive, in lines.

use std::io::{self, Write};

use hprof_heap::{Excluding, Leaks, LoaderHolder, OutsideHeap, PilingLoaders, WaitingForFinalizer};
use serde::Serialize;

use crate::amounts::{Sizes, number, percent};

/// The share of what suspects keep, in percent, from which objects of before the profile are named first.
const MOST: f64 = 50.0;
/// The share of what is live, in percent, from which what only soft references reach is named.
const MUCH: f64 = 3.0;

/// Returns the line about the objects that wait for their finalizer.
pub fn waiting(waiting: &WaitingForFinalizer, sizes: Sizes) -> String {
    let mut line = format!(
        "{} of what is live waits for finalizers: {} objects that nothing else keeps",
        sizes.text(waiting.bytes),
        number(waiting.objects)
    );
    let classes = waiting.classes.iter();
    let classes = classes.map(|class| format!("{} {}", number(class.objects), class.class));
    let classes = classes.collect::<Vec<_>>().join(", ");
    line += &format!(" ({classes})");
    match (&waiting.thread, &waiting.running) {
        (Some(thread), Some(frame)) => {
            line += &format!(", waiting for {thread}, which is in {frame}")
        }
        (Some(thread), None) => line += &format!("; {thread} calls them"),
        (None, _) => {}
    }
    line
}

/// Returns the line about what excluded references of one kind reach.
pub fn excluded(excluded: &Excluding, sizes: Sizes) -> String {
    format!(
        "{} in {} objects are not counted as live: only {} references reach them, which --exclude leaves out",
        sizes.text(excluded.bytes),
        number(excluded.objects),
        excluded.kind
    )
}

/// Returns the line about a dump in which most of what the suspects keep was made before the agent was attached.
pub fn before_profile(leaks: &Leaks, facts: &[(String, String)]) -> Option<String> {
    let attached = facts.iter().find(|(label, _)| label == "Attached")?;
    let suspects = leaks.suspects.iter();
    let (without, all) = suspects.fold((0, 0), |(without, all), suspect| {
        let kept: u64 = suspect.kept.iter().map(|kept| kept.shallow).sum();
        let all = all + kept + suspect.kept_else.shallow;
        (without + suspect.without_stack.shallow, all)
    });
    let share = percent(without, all);
    (share >= MOST).then(|| {
        format!(
            "{share:.0} % of what the suspects keep was made before the agent was attached ({}), and has no stack. What is made \
             since then has: let the program run and compare a later dump (hprof heap diff --by site), or start the program with \
             the agent.",
            attached.1
        )
    })
}

/// Prints how much only soft references reach, if that is much.
pub fn softly(out: &mut dyn Write, sizes: Sizes, softly: &Softly, live: u64) -> io::Result<()> {
    if percent(softly.bytes, live) < MUCH {
        return Ok(());
    }
    writeln!(
        out,
        "{} of that in {} objects only soft references reach, which the VM clears before the heap is full: they are not the cause.",
        sizes.text(softly.bytes),
        number(softly.objects)
    )
}

/// Returns the line about class loaders that pile up.
pub fn piling_loaders(piling: &PilingLoaders, sizes: Sizes) -> String {
    let mut line = format!(
        "{} class loaders {} pile up, each with a class {} of its own; without them {} would be free",
        number(piling.loaders),
        piling.class,
        piling.loaded,
        sizes.text(piling.retained)
    );
    if let Some(LoaderHolder { holder, loaders }) = piling.holders.first() {
        line += &match *loaders == piling.loaders {
            true => format!("; held by {holder}"),
            false => format!("; {} of them are held by {holder}", number(*loaders)),
        };
    }
    line
}

/// Returns the lines about the memory outside of the heap, if there is so much that its holders are known.
pub fn outside_heap(outside: &OutsideHeap, sizes: Sizes) -> Vec<String> {
    if outside.holders.is_empty() {
        return Vec::new();
    }
    let kinds = outside.kinds.iter();
    let kinds = kinds.map(|kind| {
        let (objects, bytes) = (number(kind.objects), sizes.text(kind.bytes));
        match (kind.objects, kind.kind.strip_suffix('s')) {
            (1, Some(one)) => format!("1 {one} has {bytes} outside the heap"),
            _ => format!("{objects} {} have {bytes} outside the heap", kind.kind),
        }
    });
    let holders = outside.holders.iter().map(|row| {
        let (bytes, objects) = (sizes.text(row.bytes), number(row.objects));
        let mut line = format!("  {bytes} of {objects}, held by {}", row.holder);
        if !row.allocated.is_empty() {
            line += &format!(", allocated by {}", row.allocated);
        }
        line
    });
    kinds.chain(holders).collect()
}

/// Live objects that only soft references reach.
#[derive(Serialize)]
pub struct Softly {
    pub objects: u64,
    pub bytes: u64,
}
