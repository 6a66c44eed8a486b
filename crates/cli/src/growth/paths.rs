//! What keeps the objects of a growing site, in the heap dump of the same file.

use std::io::{self, Write};
use std::path::Path;

use hprof_format::printable;
use hprof_heap::{Error, Heap, MadeBy, MadeIn, Target};
use hprof_profile::{FrameId, Growth, Metric, Profile};
use serde::Serialize;

use super::{class, stack};
use crate::amounts::number;
use crate::failure::Failure;
use crate::heap::{print, with_usual_heap};

/// The most paths of a site: most of its objects are kept in one way.
const MOST: usize = 3;

/// The ways in which the objects of a site are kept.
#[derive(Serialize)]
pub struct Keepers {
    /// The paths that lead to most of them, from a root.
    paths: Vec<hprof_heap::Path>,
    /// The number of different paths.
    all: u64,
}

/// Returns what keeps the objects of each site.
pub fn keepers(file: &Path, profile: &Profile, sites: &[Growth]) -> Result<Vec<Keepers>, Failure> {
    let found = with_usual_heap(file, |heap| {
        let found = sites.iter().map(|site| keepers_of(heap, profile, site));
        let found: Result<Vec<Keepers>, Error> = found.collect();
        found.map_err(|error| Failure::about(file, error))
    })?;
    found.ok_or_else(|| {
        let message = "has no heap dump: --paths needs a file of heap=all,lifetimes=y,format=b, as `hprof growth PROGRAM --paths \
                       --for 5m` writes it";
        Failure::about(file, message)
    })
}

fn keepers_of(heap: &Heap<'_>, profile: &Profile, site: &Growth) -> Result<Keepers, Error> {
    let frames = profile.stacks.frames(site.stack).iter();
    let made_by = MadeBy {
        class: class(profile, site),
        stack: frames.map(|&frame| made_in(profile, frame)).collect(),
    };
    match heap.paths_of_all(&Target::Site(made_by), MOST) {
        Ok((paths, all)) => Ok(Keepers { paths, all }),
        // Its last object may have died before the dump.
        Err(Error::NoClass { .. }) => Ok(Keepers {
            paths: Vec::new(),
            all: 0,
        }),
        Err(error) => Err(error),
    }
}

fn made_in(profile: &Profile, frame: FrameId) -> MadeIn {
    MadeIn {
        method: profile.method(frame),
        line: profile.frame(frame).line,
    }
}

/// Writes what keeps the objects of a site.
pub fn write(
    profile: &Profile,
    site: &Growth,
    keepers: &Keepers,
    out: &mut dyn Write,
) -> io::Result<()> {
    let made_in = stack(profile, site).into_iter().next().unwrap_or_default();
    let title = format!("what keeps {}, {made_in}", class(profile, site));
    writeln!(out, "\n{}:", printable(&title))?;
    if keepers.paths.is_empty() {
        return writeln!(out, "  the dump has none of them that a root reaches");
    }
    let is_sampled = profile.standard_error(Metric::AllocBytes) > Some(0);
    let of_sampled = if is_sampled { " sampled ones" } else { "" };
    for path in &keepers.paths {
        print::path(out, path, 2)?;
        if path.alike > 0 {
            let more = number(path.alike);
            writeln!(out, "    and {more} more{of_sampled} in this way")?;
        }
    }
    match keepers.all - keepers.paths.len() as u64 {
        0 => Ok(()),
        more => writeln!(out, "  {} more ways", number(more)),
    }
}
