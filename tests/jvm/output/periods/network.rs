//! Periods that are sent to a receiver.

use hprof_format::{AllocSitesRecord, Record};

use super::{end, steady, told};
use crate::harness::Jvm;
use crate::output::net::{Names, TestReceiver, Waiting};

on_every_jvm!(each_period_has_a_connection_of_its_own, and 25);

fn each_period_has_a_connection_of_its_own(jvm: &Jvm) {
    let waiting = Waiting::new();
    let options = format!(
        "heap=sites,cutoff=0,format=b,rotate=50ms,{}",
        waiting.option()
    );
    let run = steady(jvm, &options).start();
    let mut receivers: Vec<TestReceiver> = (0..8).map(|_| TestReceiver::accept(&waiting)).collect();
    // From here on no receiver waits for another connection: the current period lasts to the end.
    drop(waiting);
    let run = end(run);
    let mut items = 0;
    for receiver in receivers.drain(..) {
        let bytes = receiver.end();
        let records = crate::output::net::records(&bytes);
        let names = Names(&records);
        let sites = records.iter().filter_map(|record| match record {
            Record::AllocSites(AllocSitesRecord { sites, .. }) => Some(sites),
            _ => None,
        });
        let sites: Vec<_> = sites.collect();
        assert_eq!(sites.len(), 1, "{}: a dump for each", jvm.feature);
        // Without those that are being counted just then: the heap has them, but they have not been seen yet.
        let rows = names.sites(sites[0], "Steady$Item").into_iter();
        let rows = rows.filter(|row| row.trace.0 != 300_000);
        items += rows.map(|row| row.allocated_instances).sum::<u64>();
    }
    assert_eq!(items, told(&run, "items"), "{}", jvm.feature);
}
