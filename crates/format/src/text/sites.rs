//! Prints SITES in the text format.

use std::io::{self, Write};

use super::{TextEncoder, percent};
use crate::ctime::ctime;
use crate::encode::Micros;
use crate::record::{AllocSite, SITES_BY_ALLOCATION};

/// The order of the rows.
pub(super) struct SitesOrder {
    name: &'static str,
    /// The bytes of all rows, including omitted ones.
    total: u64,
    bytes: fn(&AllocSite) -> u64,
}

impl SitesOrder {
    pub(super) fn of(flags: u16, live_bytes: u64, allocated_bytes: u64) -> Self {
        match flags & SITES_BY_ALLOCATION {
            0 => Self {
                name: "live",
                total: live_bytes,
                bytes: |site| site.live_bytes,
            },
            _ => Self {
                name: "allocated",
                total: allocated_bytes,
                bytes: |site| site.allocated_bytes,
            },
        }
    }
}

impl TextEncoder {
    pub(super) fn print_sites(
        &self,
        time: Micros,
        order: &SitesOrder,
        sites: &[AllocSite],
        out: &mut impl Write,
    ) -> io::Result<()> {
        writeln!(
            out,
            "SITES BEGIN (ordered by {} bytes) {}",
            order.name,
            ctime(self.start, time)
        )?;
        writeln!(
            out,
            "          percent          live          alloc'ed  stack class"
        )?;
        writeln!(
            out,
            " rank   self  accum     bytes objs     bytes  objs trace name"
        )?;
        let mut accumulated: u64 = 0;
        for (rank, site) in (1..).zip(sites) {
            let bytes = (order.bytes)(site);
            accumulated = accumulated.saturating_add(bytes);
            let own = percent(bytes, order.total);
            let accum = percent(accumulated, order.total);
            writeln!(
                out,
                "{rank:5} {own:5.2}% {accum:5.2}% {:9} {:4} {:9} {:5} {:5} {}",
                site.live_bytes,
                site.live_instances,
                site.allocated_bytes,
                site.allocated_instances,
                site.trace,
                self.class_name(site.class),
            )?;
        }
        writeln!(out, "SITES END")
    }
}
