//! `hprof heap leaks`: the objects that keep most of the heap alive.

use std::io::{self, Write};

use clap::Args;
use hprof_format::printable;
use hprof_heap::{Births, IsOwn};
use serde::Serialize;

use super::exhausted::Exhausted;
use super::incomplete::Sources;
use super::{DumpArguments, alive, dump_in, fault, options, print, print_waste};
use crate::about;
use crate::failure::Failure;
use crate::profile::OwnCodeArgument;

/// `hprof heap leaks`.
#[derive(Args)]
pub struct Leaks {
    #[command(flatten)]
    source: DumpArguments,
    /// The share of the live heap, in percent, from which an object is suspected
    #[arg(long, value_name = "PERCENT", default_value_t = 10.0, value_parser = options::percent)]
    threshold: f64,
    /// Print at most this many rows of each kind of waste: equal strings, equal arrays, empty and sparse collections
    #[arg(long, value_name = "ROWS", default_value_t = 5)]
    waste: usize,
    #[command(flatten)]
    own: OwnCodeArgument,
}

/// The answer of `hprof heap leaks`.
#[derive(Serialize)]
struct LeaksDocument {
    #[serde(skip_serializing_if = "Option::is_none")]
    exhausted: Option<Exhausted>,
    /// What only soft references reach, if the heap was full.
    #[serde(skip_serializing_if = "Option::is_none")]
    softly_reached: Option<alive::Softly>,
    #[serde(flatten)]
    leaks: hprof_heap::Leaks,
    waste: hprof_heap::Waste,
}

impl Leaks {
    /// Returns the dump that is looked at.
    pub fn source(&mut self) -> &mut DumpArguments {
        &mut self.source
    }

    pub fn run(&self) -> Result<(), Failure> {
        let DumpArguments {
            file,
            choice,
            reading,
            sizes,
        } = &self.source;
        let mut opened = reading.open(file, choice.dump)?;
        let exhausted = Exhausted::of(opened.content());
        let dump = match (dump_in(&mut opened, file), &exhausted) {
            (Err(failure), Some(exhausted)) => {
                let sources = Sources::without_dump(vec![exhausted.to_string()]);
                reading.print(&sources, exhausted, |_| Ok(()))?;
                return Err(failure);
            }
            (dump, _) => dump?,
        };
        let first = exhausted.as_ref().map(Exhausted::to_string);
        let runs = first.into_iter().chain(about::dump(&dump)).collect();
        let sources = Sources::of(runs, file, &dump);
        opened.with_heap(&dump, &reading.graph.options(), |heap| {
            let mine = self.own.mine.as_ref();
            let is_own = mine.map(|own| |frame: &str| own.has_frame(frame));
            let is_own = is_own.as_ref().map(|is_own| is_own as IsOwn<'_>);
            let births = match Births::next_to(file, &dump) {
                Err(error) if error.is_missing() => None,
                Err(error) => {
                    let message = format!("{}: {error}; the ages are left out", file.display());
                    let _ = writeln!(io::stderr(), "hprof: {}", printable(&message));
                    None
                }
                Ok(births) => Some(births),
            };
            let leaks = heap.leaks_and_ages(self.threshold / 100.0, is_own, births.as_ref());
            let is_full = exhausted.as_ref().is_some_and(Exhausted::is_of_java_heap);
            let softly = is_full.then(|| heap.reached_softly()).transpose();
            let softly = softly.map_err(fault(file))?;
            let found = LeaksDocument {
                exhausted,
                softly_reached: softly.map(|(objects, bytes)| alive::Softly { objects, bytes }),
                leaks: leaks.map_err(fault(file))?,
                waste: heap.waste(self.waste).map_err(fault(file))?,
            };
            reading.print(&sources, &found, |out| {
                let before_profile = alive::before_profile(&found.leaks, &dump.facts());
                if let Some(line) = &before_profile {
                    writeln!(out, "{line}")?;
                }
                print::live(out, *sizes, &found.leaks, heap.layout())?;
                if let Some(softly) = &found.softly_reached {
                    alive::softly(out, *sizes, softly, found.leaks.live_bytes)?;
                }
                if before_profile.is_none() {
                    print::without_stacks(out, found.leaks.has_stacks)?;
                }
                print::leaks(out, *sizes, &found.leaks)?;
                print_waste::waste(out, *sizes, &found.waste, found.leaks.live_bytes)
            })
        })
    }
}
