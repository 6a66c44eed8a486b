//! Class loaders, as text.

use std::io::{self, Write};

use hprof_heap::{Loader, PilingLoaders};

use super::alive::piling_loaders;
use super::print::rows_left_out;
use crate::amounts::{Sizes, number};

/// Prints class loaders.
pub fn loaders(
    out: &mut dyn Write,
    sizes: Sizes,
    loaders: &[Loader],
    (all, piling): (usize, &[PilingLoaders]),
) -> io::Result<()> {
    piling
        .iter()
        .try_for_each(|piling| writeln!(out, "{}.", piling_loaders(piling, sizes)))?;
    writeln!(
        out,
        "{:>8} {:>11} {:>13} {:>15} {:>15}  loader",
        "classes", "also others", "instances", "shallow", "retained"
    )?;
    for row in loaders {
        let loader = row.loader.as_ref();
        let mut loader = loader.map_or("<boot loader>".to_owned(), ToString::to_string);
        if let Some(name) = row.name.as_ref().filter(|name| !name.is_empty()) {
            loader += &format!(" \"{name}\"");
        }
        writeln!(
            out,
            "{:>8} {:>11} {:>13} {:>15} {:>15}  {loader}",
            number(row.classes),
            number(row.duplicates),
            number(row.instances),
            sizes.cell(row.shallow),
            sizes.cell(row.retained)
        )?;
        let indent = 68;
        if !row.is_live {
            writeln!(out, "{:indent$}no root reaches it", "")?;
        }
        if let Some(parent) = &row.parent {
            writeln!(out, "{:indent$}parent {parent}", "")?;
        }
        if let Some(holder) = &row.holder {
            writeln!(out, "{:indent$}held by {holder}", "")?;
        }
    }
    rows_left_out(out, loaders.len(), all)
}
