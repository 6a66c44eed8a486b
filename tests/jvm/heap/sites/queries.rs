//! Collections for which the VM sends agents no event: those for a heap dump or a class histogram.

use super::{Truth, differences, program};
use crate::cells::Cell;
use crate::profile::Profile;

on_every_cell!(dumps_and_histograms_mix_up_no_classes with [serial, parallel, g1], and 17);

fn dumps_and_histograms_mix_up_no_classes(cell: &Cell) {
    let options = "heap=sites,stacks=verify,cutoff=0,depth=8,verbose=y,file=x.txt";
    let run = program(cell.jvm, options, &cell.vm_options(), "Queried").run_well();
    println!("{cell}: {} queries", run.printed("queries"));
    let profile = Profile::parse(&run.read("x.txt"));
    let made = 2 * 40 * 200;
    let truths: [Truth; 2] = [
        ("Queried$Left[]", "Queried.make", made, 0),
        ("Queried$Right[]", "Queried.make", made, 0),
    ];
    let differences = differences(&profile, profile.one_sites(), &truths);
    assert!(differences.is_empty(), "{cell}: {differences:#?}");
}
