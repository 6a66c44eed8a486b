//! Class loaders and the memory outside of the heap, as text.

use std::io::{self, Write};

use hprof_heap::{Loader, LoaderHolder, OutsideHeap, PilingLoaders};

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
        format!("{objects} {} have {bytes} outside the heap", kind.kind)
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
