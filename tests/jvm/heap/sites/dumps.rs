//! Sites on request: any number of times, and nothing is reset.

use super::{count, dump, program};
use crate::cells::Cell;
use crate::harness::Jvm;
use crate::profile::Profile;

/// Allocated and live `Stages$Item` after each stage, and at the end.
const STAGES: [(u64, u64); 4] = [(150, 100), (450, 300), (450, 150), (450, 150)];

on_paired_cells!(requests_reset_nothing, row 4);

fn requests_reset_nothing(cell: &Cell) {
    let vm_options = cell.vm_options();
    let run = program(cell.jvm, super::EXACT, &vm_options, "Stages").start();
    for stage in 1..=3 {
        run.wait_for_output(&format!("stage {stage}\n"));
        dump(&run, stage);
        std::fs::write(run.path(&format!("go-{stage}")), "").expect("a file");
    }
    let run = run.wait();
    assert!(
        run.status.success() && run.stdout.ends_with("done\n"),
        "{cell}"
    );
    let profile = Profile::parse(&run.read("x.txt"));
    let counted: Vec<(u64, u64)> = profile
        .sites
        .iter()
        .map(|sites| {
            let items = count(&profile, sites, "Stages$Item", "");
            (items.allocated, items.live)
        })
        .collect();
    // The last GC was that of the last request, and nothing has died since.
    assert_eq!(counted, STAGES, "{cell}");
}

on_every_jvm!(samples_start_anew_where_sites_do_not, and 25);

fn samples_start_anew_where_sites_do_not(jvm: &Jvm) {
    let options = format!("{},cpu=samples,interval=2", super::EXACT);
    let run = program(jvm, &options, &[], "Waits")
        .arg("NearlyFull")
        .start();
    run.wait_for_output("ready");
    dump(&run, 1);
    // The second report repeats the live objects, and has almost no CPU time to report.
    dump(&run, 2);
    run.send("TERM");
    let run = run.wait();
    let profile = Profile::parse(&run.read("x.txt"));
    let nodes: Vec<(u64, u64)> = profile
        .sites
        .iter()
        .map(|sites| {
            let nodes = count(&profile, sites, "NearlyFull$Node", "");
            (nodes.allocated, nodes.live)
        })
        .collect();
    assert_eq!(nodes, [(600_000, 100_000); 3], "{}", jvm.feature);
    let in_junk = |dump: &crate::profile::CpuSamples| {
        let rows = dump.rows.iter();
        rows.filter(|row| row.method.starts_with("NearlyFull."))
            .map(|row| row.count)
            .sum::<u32>()
    };
    assert!(in_junk(&profile.dumps[0]) > 0, "{}", jvm.feature);
    let later = profile.dumps[1..].iter().map(in_junk).sum::<u32>();
    assert_eq!(later, 0, "{}", jvm.feature);
}
