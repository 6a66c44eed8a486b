//! `hprof heap diff`: two dumps compared, or what was made between them.

use std::path::{Path, PathBuf};

use clap::Args;
use hprof_heap::Group;
use serde::Serialize;

use super::options::{self, Reading};
use super::{By, births, fault, most, print, with_dump, with_heap};
use crate::about;
use crate::amounts::Sizes;
use crate::failure::Failure;
use crate::pair;

/// `hprof heap diff`.
#[derive(Args)]
pub struct Diff {
    /// The older file
    old: PathBuf,
    /// The newer file [default: the same file, with --dump OLD --dump NEW]
    new: Option<PathBuf>,
    /// The number of the dump in a file with several, from 1; twice for the older and the newer one [default: the last]
    #[arg(long, value_name = "NUMBER", value_parser = options::dump_number)]
    dump: Vec<usize>,
    /// The grouping to compare by; by default class and allocation site
    #[arg(long, value_enum)]
    by: Option<By>,
    /// Count the objects of the newer dump that were made after the older one; needs the births files that the agent writes with
    /// heap=all,lifetimes=y
    #[arg(long)]
    objects: bool,
    /// Print at most this many rows; 0 for all
    #[arg(long, value_name = "ROWS", default_value_t = 25)]
    top: usize,
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    sizes: Sizes,
}

/// The changes by one kind of groups.
#[derive(Serialize)]
struct Differences {
    by: hprof_heap::By,
    changes: Vec<hprof_heap::Change>,
}

/// The objects made between two dumps.
#[derive(Serialize)]
struct Made {
    by: hprof_heap::By,
    groups: Vec<Group>,
}

impl Diff {
    /// Prints the live objects of the newer dump that were made after the older one.
    fn made_between(&self, kinds: &[hprof_heap::By]) -> Result<(), Failure> {
        let new = self.new.as_deref().unwrap_or(&self.old);
        let (old_dump, new_dump) = pair::of(&self.dump, "--dump", &self.old, new)?;
        let old = with_dump(&self.old, old_dump, |dump| births(&self.old, dump))?;
        with_heap(new, new_dump, &self.reading, |heap| {
            let births = births(new, heap.dump())?;
            let made = births.made_after(&old).ok_or_else(|| {
                let old = self.old.display();
                let what = format!("is no later dump of the same profile as {old}");
                Failure::about(new, what)
            })?;
            let mut all = Vec::new();
            for &by in kinds {
                let groups = heap.groups_made_after(by, made).map_err(fault(new))?;
                all.push(Made { by, groups });
            }
            let runs: Vec<String> = about::dump(heap.dump()).into_iter().collect();
            let most = most(self.top);
            let counts: Vec<usize> = all.iter().map(|made| made.groups.len()).collect();
            all.iter_mut().for_each(|made| made.groups.truncate(most));
            self.reading.print(&runs, &all, |out| {
                let mut all = all.iter().zip(counts);
                all.try_for_each(|(made, count)| {
                    print::groups(out, self.sizes, &made.groups, count, heap.layout())
                })
            })
        })
    }

    pub(super) fn run(&self) -> Result<(), Failure> {
        let kinds: Vec<hprof_heap::By> = match self.by {
            Some(by) => vec![by.into()],
            None => vec![hprof_heap::By::Class, hprof_heap::By::Site],
        };
        if self.objects {
            return self.made_between(&kinds);
        }
        let of = |file: &Path, dump: Option<usize>| {
            with_heap(file, dump, &self.reading, |heap| {
                let groups = kinds.iter().map(|&by| heap.groups(by, 0));
                let groups = groups.collect::<Result<Vec<_>, _>>();
                let groups = groups.map_err(fault(file))?;
                Ok((about::dump(heap.dump()), groups))
            })
        };
        let new = self.new.as_deref().unwrap_or(&self.old);
        let (old_dump, new_dump) = pair::of(&self.dump, "--dump", &self.old, new)?;
        let (old_run, old) = of(&self.old, old_dump)?;
        let (new_run, new) = of(new, new_dump)?;
        let sides = [("old", old_run), ("new", new_run)].into_iter();
        let runs = sides.filter_map(|(side, run)| Some(format!("{side}: {}", run?)));
        let runs: Vec<String> = runs.collect();
        let mut all = Vec::new();
        for ((old, new), by) in old.into_iter().zip(new).zip(kinds) {
            let mut changes = hprof_heap::diff(old, new);
            changes.truncate(most(self.top));
            all.push(Differences { by, changes });
        }
        self.reading.print(&runs, &all, |out| {
            all.iter()
                .try_for_each(|one| print::changes(out, self.sizes, &one.changes))
        })
    }
}
