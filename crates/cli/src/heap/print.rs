//! The answers as text.

use std::io::{self, Write};
use std::sync::Arc;

use hprof_heap::{
    Allocated, Appeared, BeforeAfter, By, Change, Group, Histogram, Layout, Leaks, ObjectRow, Path,
    PathStep, Rest, Row, Shown, Stack, Summary, Suspect, SuspectKind, ThreadRow,
};

use super::{alive, why};
use crate::amounts::{Sizes, number, percent, signed};
use crate::growth::whole;

type Out<'a> = &'a mut dyn Write;

/// The most frames of an allocating stack that are printed.
const FRAMES: usize = 8;

fn change(value: BeforeAfter, text: impl Fn(u64) -> String) -> String {
    match signed(value.growth(), text) {
        same if value.growth() == 0 => format!("+{same}"),
        change => change,
    }
}

/// Prints the summary of a dump.
pub fn summary(out: Out<'_>, sizes: Sizes, summary: &Summary) -> io::Result<()> {
    writeln!(out, "dump {} of the file", summary.dump)?;
    writeln!(out, "layout: {}", summary.layout)?;
    let excluded = match summary.excluded[..] {
        [] => "none".to_owned(),
        ref kinds => kinds.join(", "),
    };
    writeln!(out, "references that keep nothing: {excluded}")?;
    let rows = [
        ("live objects", number(summary.objects)),
        ("live bytes", sizes.cell(summary.bytes)),
        ("unreachable objects", number(summary.unreachable_objects)),
        ("unreachable bytes", sizes.cell(summary.unreachable_bytes)),
        ("classes", number(summary.classes)),
        ("class loaders", number(summary.loaders)),
        ("allocation sites", number(summary.sites)),
    ];
    for (name, value) in rows {
        writeln!(out, "{value:>15}  {name}")?;
    }
    for (kind, &count) in &summary.roots {
        writeln!(out, "{:>15}  roots: {kind}", number(count))?;
    }
    let excluded = summary.reached_by_excluded.iter();
    let excluded = excluded.map(|excluded| alive::excluded(excluded, sizes));
    let waiting = summary.waiting.as_ref();
    let waiting = waiting.map(|waiting| alive::waiting(waiting, sizes));
    let outside = alive::outside_heap(&summary.outside_heap, sizes);
    for line in excluded.chain(waiting).chain(outside) {
        writeln!(out, "{line}")?;
    }
    without_stacks(out, summary.has_stacks)
}

/// Prints that the dump has no stacks, if it has none.
pub fn without_stacks(out: Out<'_>, has_stacks: bool) -> io::Result<()> {
    if has_stacks {
        return Ok(());
    }
    writeln!(
        out,
        "The dump does not say who allocated its objects: jmap and jcmd never do, the agent's heap=dump does."
    )
}

/// The total objects and bytes of a histogram.
pub struct Totals {
    groups: usize,
    objects: u64,
    shallow: u64,
}

impl Totals {
    /// Adds up all rows.
    pub fn of(rows: &[Row]) -> Totals {
        Totals {
            groups: rows.len(),
            objects: rows.iter().map(|row| row.objects).sum(),
            shallow: rows.iter().map(|row| row.shallow).sum(),
        }
    }
}

/// Prints groups with their sizes.
pub fn histogram(
    out: Out<'_>,
    sizes: Sizes,
    histogram: &Histogram,
    totals: &Totals,
) -> io::Result<()> {
    writeln!(out, "layout: {}", histogram.layout)?;
    writeln!(
        out,
        "{:>13} {:>15}  all objects, reachable or not",
        "objects", "shallow"
    )?;
    for row in &histogram.rows {
        writeln!(
            out,
            "{:>13} {:>15}  {}",
            number(row.objects),
            sizes.cell(row.shallow),
            row.name
        )?;
        stack(out, &row.stack, 31)?;
    }
    let Totals {
        groups,
        objects,
        shallow,
    } = totals;
    writeln!(
        out,
        "{:>13} {:>15}  in {} groups",
        number(*objects),
        sizes.cell(*shallow),
        number(*groups as u64)
    )
}

/// Prints groups with their retained sizes.
pub fn groups(
    out: Out<'_>,
    sizes: Sizes,
    groups: &[Group],
    all: usize,
    layout: Layout,
) -> io::Result<()> {
    writeln!(out, "layout: {layout}")?;
    writeln!(
        out,
        "{:>13} {:>15} {:>18}  live objects",
        "objects", "shallow", "retained"
    )?;
    for group in groups {
        let bound = if group.exact { "" } else { ">=" };
        let retained = format!("{bound}{}", sizes.cell(group.retained));
        writeln!(
            out,
            "{:>13} {:>15} {retained:>18}  {}",
            number(group.objects),
            sizes.cell(group.shallow),
            group.name
        )?;
        stack(out, &group.stack, 50)?;
    }
    rows_left_out(out, groups.len(), all)
}

/// Prints the new objects below older ones.
pub fn appeared(out: Out<'_>, sizes: Sizes, rows: &[Appeared], all: usize) -> io::Result<()> {
    writeln!(
        out,
        "{:>13} {:>15} {:>18}  new live objects, by what holds them",
        "objects", "shallow", "retained"
    )?;
    for row in rows {
        let what = match row.older {
            0 => "<roots, or several objects>".to_owned(),
            1 => row.what.clone(),
            several => format!("{} of {}", number(several), row.what),
        };
        let held = row.holder.as_ref().map(|holder| format!(", {holder}"));
        writeln!(
            out,
            "{:>13} {:>15} {:>18}  {what}{}",
            number(row.objects),
            sizes.cell(row.shallow),
            sizes.cell(row.retained),
            held.unwrap_or_default()
        )?;
    }
    rows_left_out(out, rows.len(), all)
}

/// Says how many rows are not printed.
pub fn rows_left_out(out: Out<'_>, rows: usize, all: usize) -> io::Result<()> {
    if rows < all {
        let all = number(all as u64);
        writeln!(out, "{rows} of {all} groups; --top 0 prints all")?;
    }
    Ok(())
}

/// Prints objects with their retained sizes.
pub fn objects(out: Out<'_>, sizes: Sizes, rows: &[ObjectRow], layout: Layout) -> io::Result<()> {
    writeln!(out, "layout: {layout}")?;
    writeln!(out, "{:>15} {:>15}  object", "shallow", "retained")?;
    for row in rows {
        writeln!(
            out,
            "{:>15} {:>15}  {}",
            sizes.cell(row.shallow),
            sizes.cell(row.retained),
            row.object
        )?;
        stack(out, &row.stack, 33)?;
    }
    Ok(())
}

fn stack(out: Out<'_>, frames: &[Arc<str>], indent: usize) -> io::Result<()> {
    for frame in frames.iter().take(FRAMES) {
        writeln!(out, "{:indent$}at {frame}", "")?;
    }
    if frames.len() > FRAMES {
        writeln!(out, "{:indent$}... {} more", "", frames.len() - FRAMES)?;
    }
    Ok(())
}

/// Prints how much is live, and what is not counted as that.
pub fn live(out: Out<'_>, sizes: Sizes, leaks: &Leaks, layout: Layout) -> io::Result<()> {
    writeln!(out, "layout: {layout}")?;
    writeln!(out, "{} are live.", sizes.text(leaks.live_bytes))?;
    if let Some(waiting) = &leaks.waiting {
        writeln!(out, "{}.", alive::waiting(waiting, sizes))?;
    }
    for excluded in &leaks.unreached.excluded {
        writeln!(out, "{}.", alive::excluded(excluded, sizes))?;
    }
    for line in alive::outside_heap(&leaks.outside_heap, sizes) {
        writeln!(out, "{line}")?;
    }
    for piling in &leaks.piling_loaders {
        writeln!(out, "{}.", alive::piling_loaders(piling, sizes))?;
    }
    Ok(())
}

/// Begins the sentence that there is no suspect.
pub fn what_retains(leaks: &Leaks) -> &'static str {
    if leaks.not_growing.is_empty() && leaks.bounded.is_empty() {
        "Nothing retains"
    } else {
        "Nothing that may grow retains"
    }
}

/// Prints suspects.
pub fn leaks(out: Out<'_>, sizes: Sizes, leaks: &Leaks) -> io::Result<()> {
    if leaks.suspects.is_empty() {
        let which = what_retains(leaks);
        let percent = leaks.threshold * 100.0;
        writeln!(
            out,
            "{which} {percent} % of them or more; --threshold sets another share."
        )?;
    }
    for (place, suspect) in (1..).zip(&leaks.suspects) {
        writeln!(out, "\nSuspect {place}: {}", name(suspect))?;
        self::suspect(out, sizes, suspect, leaks.live_bytes)?;
    }
    if let sites @ 1.. = leaks.piling_else {
        let sites = number(sites);
        writeln!(
            out,
            "\nThe objects of {sites} other sites pile up, too; they retain less."
        )?;
    }
    for large in &leaks.not_growing {
        writeln!(out, "\n{}: {}", why::not_growing(large), name(large))?;
        suspect(out, sizes, large, leaks.live_bytes)?;
    }
    for bounded in &leaks.bounded {
        writeln!(out, "\nLarge, but bounded: {}", name(bounded))?;
        suspect(out, sizes, bounded, leaks.live_bytes)?;
    }
    Ok(())
}

/// Formats a rate, a small one with a digit after the point.
fn rate(a_minute: f64) -> String {
    match a_minute {
        ..100.0 => format!("{a_minute:.1}"),
        _ => number(whole(a_minute)),
    }
}

fn name(suspect: &Suspect) -> String {
    let objects = number(suspect.objects);
    match suspect.kind {
        SuspectKind::Object => suspect.what.clone(),
        SuspectKind::Class => format!("{objects} objects of class {}", suspect.what),
        SuspectKind::Site => format!("{objects} objects allocated at {}", suspect.what),
        SuspectKind::Piling => format!("{objects} objects of class {} that pile up", suspect.what),
    }
}

fn suspect(out: Out<'_>, sizes: Sizes, suspect: &Suspect, live: u64) -> io::Result<()> {
    let retained = sizes.text(suspect.retained);
    let share = percent(suspect.retained, live);
    write!(out, "  retains {retained}, {share:.1} % of what is live")?;
    if suspect.own < suspect.retained && suspect.kind == SuspectKind::Object {
        let own = sizes.text(suspect.own);
        write!(out, "; {own} of it without the suspects below it")?;
    }
    writeln!(out)?;
    if let Some(piling) = &suspect.piling {
        writeln!(
            out,
            "  grows: {} more {} a minute stay, along a straight line ({:.2}); {} are there",
            rate(piling.objects_per_minute),
            piling.class,
            piling.straightness,
            number(piling.objects)
        )?;
    }
    if let Some(elements) = &suspect.elements {
        let objects = number(elements.objects);
        writeln!(out, "  made of {objects} {}", elements.class)?;
    }
    if let Some(pattern) = &suspect.pattern {
        writeln!(out, "  {}", why::pattern(pattern))?;
    } else if let Some(bound) = &suspect.bound {
        writeln!(out, "  {}", why::bound(bound))?;
    }
    let is_of_kept = is_of_kept(suspect);
    if let Some(holder) = &suspect.holder {
        let what = if is_of_kept {
            "most of what it keeps is held"
        } else {
            "held"
        };
        writeln!(out, "  {what} by {holder}")?;
    }
    for holder in &suspect.also_held_by {
        writeln!(out, "  and by {holder}")?;
    }
    match suspect.also_held_by.len() + 1 {
        1 => {}
        holders if suspect.holders_are_fewest => writeln!(
            out,
            "  without these {holders} it would be freed: no fewer would do"
        )?,
        _ => writeln!(
            out,
            "  without one of them it would stay; others may hold it, too"
        )?,
    }
    if let Some(path) = &suspect.path {
        let which = match (suspect.objects, is_of_kept) {
            (1, false) => "",
            (1, true) => ", to the largest of what it keeps most of",
            _ => ", to the largest",
        };
        writeln!(out, "  shortest path from a root{which}:")?;
        self::path(out, path, 4)?;
    }
    if let Some(made) = suspect.made.filter(|made| made.objects > 0) {
        writeln!(
            out,
            "  what it keeps was made between {} and {} before the dump, {:.0} % of it in the second half of the profile",
            age(made.youngest_millis),
            age(made.oldest_millis),
            percent(made.second_half, made.objects)
        )?;
        if let bytes @ 1.. = made.first_quarter_bytes {
            let share = percent(bytes, made.bytes);
            writeln!(
                out,
                "  {share:.0} % of its bytes were made in the first quarter of the profile"
            )?;
        }
    }
    if let Some(turnover) = suspect.turnover {
        writeln!(
            out,
            "  replaced: where most of it was made, {} objects were made in all, and {} of them are alive",
            number(turnover.made),
            number(turnover.alive)
        )?;
    }
    writeln!(out, "  keeps:")?;
    for kept in &suspect.kept {
        writeln!(
            out,
            "{:>15} in {} {}",
            sizes.text(kept.shallow),
            number(kept.objects),
            kept.class
        )?;
    }
    rests(out, sizes, &[kept_else(suspect)])?;
    allocated_by(out, sizes, &suspect.allocated)?;
    rests(out, sizes, &allocated_else(suspect))
}

/// Returns `true` if the holders and the path are not those of the suspect, which is a class, but of what it keeps.
fn is_of_kept(suspect: &Suspect) -> bool {
    let steps = suspect.path.iter().flat_map(|path| &path.steps);
    let is_other = |step: &PathStep| step.object.to_string() != suspect.what;
    suspect.kind == SuspectKind::Object && steps.last().is_some_and(is_other)
}

/// Formats an age; of one below a minute also tenths of a second.
fn age(millis: u64) -> String {
    match millis / 1_000 {
        seconds @ ..60 => format!("{seconds}.{} s", millis % 1_000 / 100),
        seconds @ ..3_600 => format!("{} min", seconds / 60),
        seconds => format!("{} h", seconds / 3_600),
    }
}

/// The sum of rows that are not listed, and its name.
pub type NamedRest = (Rest, &'static str);

/// Returns the objects that a suspect keeps alive and that are not listed by class.
pub fn kept_else(suspect: &Suspect) -> NamedRest {
    (suspect.kept_else, "<other classes>")
}

/// Returns the objects that a suspect keeps alive and that are not listed by stack: with the listed ones, they are all
/// that it keeps. Empty if the dump has no stacks.
pub fn allocated_else(suspect: &Suspect) -> Vec<NamedRest> {
    if suspect.allocated.is_empty() {
        return Vec::new();
    }
    vec![
        (suspect.allocated_else, "<other stacks>"),
        (suspect.without_stack, "<made before the profile>"),
    ]
}

/// Prints the sums of rows that are not listed.
fn rests(out: Out<'_>, sizes: Sizes, rests: &[NamedRest]) -> io::Result<()> {
    for (rest, name) in rests.iter().filter(|(rest, _)| rest.rows > 0) {
        let (bytes, objects) = (sizes.text(rest.shallow), number(rest.objects));
        writeln!(out, "{bytes:>15} in {objects} {name}")?;
    }
    Ok(())
}

pub fn allocated_by(out: Out<'_>, sizes: Sizes, rows: &[Allocated]) -> io::Result<()> {
    if !rows.is_empty() {
        writeln!(out, "  allocated by:")?;
    }
    for allocated in rows {
        writeln!(
            out,
            "{:>15} in {} {}",
            sizes.text(allocated.shallow),
            number(allocated.objects),
            allocated.class
        )?;
        stack(out, &allocated.stack, 16)?;
    }
    Ok(())
}

/// Prints paths, of which there are so many in all.
pub fn paths(out: Out<'_>, paths: &[Path], all: u64) -> io::Result<()> {
    if all == 0 {
        return writeln!(
            out,
            "No root reaches such an object over references that count; see --exclude."
        );
    }
    for (place, path) in paths.iter().enumerate() {
        if place > 0 {
            writeln!(out)?;
        }
        self::path(out, path, 0)?;
        if path.alike > 0 {
            writeln!(
                out,
                "  and {} more by paths over the same classes",
                number(path.alike)
            )?;
        }
    }
    if (paths.len() as u64) < all {
        let (shown, all) = (paths.len(), number(all));
        writeln!(out, "\n{shown} of {all} paths; --top 0 prints all")?;
    }
    Ok(())
}

/// Prints a path.
pub fn path(out: Out<'_>, path: &Path, indent: usize) -> io::Result<()> {
    for step in &path.steps {
        if step.left_out > 0 {
            writeln!(out, "{:indent$}  ... {} objects", "", number(step.left_out))?;
        }
        match &step.reference {
            None => writeln!(out, "{:indent$}{} ({})", "", step.object, path.root)?,
            Some(reference) => writeln!(out, "{:indent$}  {reference} -> {}", "", step.object)?,
        }
    }
    Ok(())
}

/// Prints one object.
pub fn shown(out: Out<'_>, sizes: Sizes, shown: &Shown) -> io::Result<()> {
    writeln!(out, "{}", shown.object)?;
    writeln!(out, "  shallow {}", sizes.text(shown.shallow))?;
    match shown.retained {
        Some(retained) => writeln!(out, "  retains {}", sizes.text(retained))?,
        None => writeln!(out, "  no root reaches it")?,
    }
    if !shown.roots.is_empty() {
        writeln!(out, "  root: {}", shown.roots.join(", "))?;
    }
    if let Some(text) = &shown.text {
        writeln!(out, "  text \"{text}\"")?;
    }
    writeln!(out, "  values:")?;
    for value in &shown.values {
        writeln!(out, "    {} = {}", value.name, value.value)?;
    }
    if let Some(next) = shown.next {
        let left_out = number(shown.length - next);
        writeln!(out, "    ... {left_out} more; see --first {next}")?;
    }
    writeln!(out, "  referred to by:")?;
    for referrer in &shown.referrers {
        writeln!(out, "    {} {}", referrer.value, referrer.name)?;
    }
    if !shown.stack.is_empty() {
        writeln!(out, "  allocated:")?;
        stack(out, &shown.stack, 4)?;
    }
    Ok(())
}

/// Prints threads.
pub fn threads(out: Out<'_>, sizes: Sizes, threads: &[ThreadRow]) -> io::Result<()> {
    for thread in threads {
        let row = &thread.object;
        writeln!(out, "{} retains {}", row.object, sizes.text(row.retained))?;
        for frame in &thread.frames {
            let place = match &*frame.frame {
                "" => "no frame that is known",
                frame => frame,
            };
            writeln!(out, "    at {place}")?;
            for local in &frame.locals {
                writeln!(out, "        {}", local.object)?;
            }
        }
    }
    Ok(())
}

/// Prints the stacks of threads that are not known.
pub fn stacks(out: Out<'_>, stacks: &[Stack]) -> io::Result<()> {
    if stacks.is_empty() {
        return Ok(());
    }
    let count = number(stacks.len() as u64);
    writeln!(
        out,
        "The file has {count} stacks, and does not say of which threads, as dumps of jhsdb:"
    )?;
    for (place, frames) in (1..).zip(stacks) {
        writeln!(out, "stack {place}")?;
        stack(out, frames, 4)?;
    }
    Ok(())
}

/// Prints the differences between two dumps.
pub fn changes(out: Out<'_>, sizes: Sizes, by: By, changes: &[Change]) -> io::Result<()> {
    if changes.is_empty() {
        let what = match by {
            By::Class => "class",
            By::Loader => "loader",
            By::Package => "package",
            By::Site => "allocation site",
        };
        return writeln!(out, "No {what} differs in its live objects.");
    }
    writeln!(
        out,
        "{:>13} {:>15} {:>18}  change",
        "objects", "shallow", "retained"
    )?;
    for row in changes {
        writeln!(
            out,
            "{:>13} {:>15} {:>18}  {}",
            change(row.objects, number),
            change(row.shallow, |size| sizes.cell(size)),
            change(row.retained, |size| sizes.cell(size)),
            row.name
        )?;
        stack(out, &row.stack, 50)?;
    }
    Ok(())
}
