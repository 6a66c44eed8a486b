//! Duplicates, and collections with little in them, as text.

use std::io::{self, Write};

use hprof_heap::{Duplicate, Fill, Waste, Wasted};

use super::print::allocated_by;
use crate::amounts::{Sizes, number, percent};

/// The share of what is live, in percent, from which a kind of waste is listed.
const MUCH: f64 = 1.0;

/// Prints duplicates, and collections with few elements; of a kind that wastes little only how much.
pub fn waste(out: &mut dyn Write, sizes: Sizes, waste: &Waste, live: u64) -> io::Result<()> {
    let is_much = |bytes: u64| percent(bytes, live) >= MUCH;
    for (what, wasted) in [
        ("Equal strings", &waste.strings),
        ("Equal arrays of primitive types", &waste.arrays),
    ] {
        if !is_much(wasted.bytes) {
            continue;
        }
        wasted_head(out, sizes, what, wasted, live)?;
        for row in &wasted.rows {
            let (wasted, objects) = (sizes.text(row.wasted), number(row.objects));
            let Duplicate { what, id, .. } = row;
            writeln!(out, "{wasted:>15}: {objects} times {what}, as 0x{:x}", id.0)?;
            allocated_by(out, sizes, &row.allocated)?;
        }
    }
    if is_much(waste.collections.bytes) {
        let what = "Collections with little or nothing in them";
        wasted_head(out, sizes, what, &waste.collections, live)?;
        for row in &waste.collections.rows {
            let fill = match row.fill {
                Fill::Empty => "empty",
                Fill::Sparse => "sparse",
            };
            let (wasted, objects, class) =
                (sizes.text(row.wasted), number(row.objects), &row.class);
            writeln!(out, "{wasted:>15}: {objects} {fill} {class}")?;
            allocated_by(out, sizes, &row.allocated)?;
        }
    }
    let little = [
        ("equal strings", waste.strings.bytes),
        ("equal arrays of primitive types", waste.arrays.bytes),
        (
            "collections with little or nothing in them",
            waste.collections.bytes,
        ),
    ];
    let little = little.into_iter().filter(|&(_, bytes)| !is_much(bytes));
    let little: Vec<String> = little
        .map(|(what, bytes)| format!("{what} {}", sizes.text(bytes)))
        .collect();
    if !little.is_empty() {
        let little = little.join(", ");
        writeln!(
            out,
            "\nLittle waste, less than {MUCH} % of what is live each: {little}"
        )?;
    }
    Ok(())
}

fn wasted_head<Row>(
    out: &mut dyn Write,
    sizes: Sizes,
    what: &str,
    wasted: &Wasted<Row>,
    live: u64,
) -> io::Result<()> {
    let (bytes, share) = (sizes.text(wasted.bytes), percent(wasted.bytes, live));
    writeln!(out, "\n{what} waste {bytes}, {share:.1} % of what is live")
}
