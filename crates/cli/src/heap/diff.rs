//! `hprof heap diff`: two dumps compared, or what was made between them.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use hprof_heap::{Appeared, Group, Heap, MadeAfter};
use hprof_profile::stable_class;
use serde::Serialize;

use super::incomplete::Sources;
use super::options::{self, Reading};
use super::{births, fault, most, print, with_dump, with_heap};
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
    /// The grouping to compare by; by default class and allocation site, with --objects also the older object that holds them
    #[arg(long, value_enum)]
    by: Option<ByOrHolder>,
    /// Count the objects of the newer dump that were made after the older one; needs the births files that the agent writes with
    /// heap=all,lifetimes=y
    #[arg(long, required_if_eq("by", "holder"))]
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
    by: ByOrHolder,
    #[serde(flatten)]
    rows: Rows,
    /// The number of rows of which these are the first.
    #[serde(skip)]
    all: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Rows {
    Groups(Vec<Group>),
    Holders(Vec<Appeared>),
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
enum ByOrHolder {
    Class,
    Loader,
    Package,
    Site,
    // The older object that holds them.
    Holder,
}

impl ByOrHolder {
    /// Returns the grouping of all objects; `None` by holder.
    fn of_all(self) -> Option<hprof_heap::By> {
        match self {
            ByOrHolder::Class => Some(hprof_heap::By::Class),
            ByOrHolder::Loader => Some(hprof_heap::By::Loader),
            ByOrHolder::Package => Some(hprof_heap::By::Package),
            ByOrHolder::Site => Some(hprof_heap::By::Site),
            ByOrHolder::Holder => None,
        }
    }
}

impl Made {
    /// Counts the objects of a dump that were made after another one; at most `most` rows are kept.
    fn since(
        made: MadeAfter<'_>,
        heap: &Heap<'_>,
        by: ByOrHolder,
        most: usize,
    ) -> Result<Made, hprof_heap::Error> {
        let (rows, all) = match by.of_all() {
            Some(by) => {
                let mut groups = heap.groups_made_after(by, made)?;
                let all = groups.len();
                groups.truncate(most);
                (Rows::Groups(groups), all)
            }
            None => {
                let (holders, all) = heap.appeared(made, most)?;
                (Rows::Holders(holders), all)
            }
        };
        Ok(Made { by, rows, all })
    }
}

impl Diff {
    /// Prints the live objects of the newer dump that were made after the older one.
    fn made_between(&self, kinds: &[ByOrHolder]) -> Result<(), Failure> {
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
            let kinds = kinds.iter();
            let all = kinds.map(|&by| Made::since(made, heap, by, most(self.top)));
            let all: Vec<Made> = all.collect::<Result<_, _>>().map_err(fault(new))?;
            let runs = about::dump(heap.dump()).into_iter().collect();
            let sources = Sources::of(runs, new, heap.dump());
            self.reading.print(&sources, &all, |out| {
                all.iter().try_for_each(|made| match &made.rows {
                    Rows::Groups(groups) => {
                        print::groups(out, self.sizes, groups, made.all, heap.layout())
                    }
                    Rows::Holders(holders) => print::appeared(out, self.sizes, holders, made.all),
                })
            })
        })
    }

    pub(super) fn run(&self) -> Result<(), Failure> {
        let kinds: &[ByOrHolder] = match &self.by {
            Some(by) => std::slice::from_ref(by),
            None => &[ByOrHolder::Class, ByOrHolder::Site, ByOrHolder::Holder],
        };
        if self.objects {
            return self.made_between(kinds);
        }
        let kinds = kinds.iter().filter_map(|by| by.of_all());
        let kinds: Vec<hprof_heap::By> = kinds.collect();
        let of = |side: &str, file: &Path, dump: Option<usize>| {
            with_heap(file, dump, &self.reading, |heap| {
                let groups = kinds.iter().map(|&by| heap.groups(by, 0));
                let groups = groups.collect::<Result<Vec<_>, _>>();
                let groups = groups.map_err(fault(file))?;
                let run = about::dump(heap.dump());
                let run = run.map(|run| format!("{side}: {run}"));
                let sources = Sources::of(run.into_iter().collect(), file, heap.dump());
                Ok((sources, groups))
            })
        };
        let new = self.new.as_deref().unwrap_or(&self.old);
        let (old_dump, new_dump) = pair::of(&self.dump, "--dump", &self.old, new)?;
        let (old_sources, old) = of("old", &self.old, old_dump)?;
        let (new_sources, new) = of("new", new, new_dump)?;
        let sources = old_sources.and(new_sources);
        let mut all = Vec::new();
        for ((old, new), by) in old.into_iter().zip(new).zip(kinds) {
            let mut changes = hprof_heap::diff(old, new, stable_class);
            changes.truncate(most(self.top));
            all.push(Differences { by, changes });
        }
        self.reading.print(&sources, &all, |out| {
            all.iter()
                .try_for_each(|one| print::changes(out, self.sizes, one.by, &one.changes))
        })
    }
}
