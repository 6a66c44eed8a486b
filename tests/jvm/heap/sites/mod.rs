//! `heap=sites`: the allocated objects, their stacks, and those that are alive. The programs are in `java-tests/sites`,
//! with the expected results in their first comments.

mod binary;
mod budget;
mod dumps;
mod exact;
mod heap;
mod layout;
mod options;
mod order;
mod pressure;
mod programs;
mod queries;
mod sampled;
mod value_objects;

use std::ops::AddAssign;

use crate::cells::Cell;
use crate::harness::{Finished, Jvm, Program, Running};
use crate::profile::{Profile, Site, Sites};

/// Exact counts of everything: without `cutoff=0` the rows of dead objects would be missing.
const EXACT: &str = "heap=sites,cutoff=0,file=x.txt";

/// The sums over the sites of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) allocated: u64,
    pub(crate) live: u64,
    allocated_bytes: u64,
    pub(crate) live_bytes: u64,
}

impl AddAssign<&Site> for Counts {
    fn add_assign(&mut self, site: &Site) {
        self.allocated += site.allocated;
        self.live += site.live;
        self.allocated_bytes += site.allocated_bytes;
        self.live_bytes += site.live_bytes;
    }
}

/// Returns the sum of the wanted rows.
fn sum(sites: &Sites, wanted: impl Fn(&Site) -> bool) -> Counts {
    let mut counts = Counts::default();
    for site in sites.rows.iter().filter(|site| wanted(site)) {
        counts += site;
    }
    counts
}

/// Returns `true` if a row's trace goes through a method, `Class.method`.
fn goes_through(profile: &Profile, site: &Site, method: &str) -> bool {
    let calls = |frame: &String| {
        frame
            .strip_prefix(method)
            .is_some_and(|rest| rest.starts_with('('))
    };
    profile.traces[&site.trace].frames.iter().any(calls)
}

/// Returns the counts of a class in the methods (or their callees), separated by spaces; anywhere if empty.
pub(crate) fn count(profile: &Profile, sites: &Sites, class: &str, methods: &str) -> Counts {
    let methods = methods.split(' ').filter(|method| !method.is_empty());
    sum(sites, |site| {
        site.class == class
            && methods
                .clone()
                .all(|method| goes_through(profile, site, method))
    })
}

/// An expected result in a program's comment: class, methods as for `count`, allocated, live.
type Truth<'a> = (&'a str, &'a str, u64, u64);

/// Returns the differences between a section and the expected results.
fn differences(profile: &Profile, sites: &Sites, truths: &[Truth]) -> Vec<String> {
    let differ = |&(class, method, allocated, live): &Truth| {
        let counts = count(profile, sites, class, method);
        let right = (counts.allocated, counts.live) == (allocated, live);
        (!right).then(|| {
            format!(
                "{class} {method}: {} allocated, not {allocated}; {} live, not {live}",
                counts.allocated, counts.live
            )
        })
    };
    truths.iter().filter_map(differ).collect()
}

/// Returns a program of `java-tests/sites` with the agent.
fn program(jvm: &Jvm, options: &str, vm_options: &[&str], name: &str) -> Program {
    Program::java(jvm, options, vm_options).program("sites", name)
}

/// Runs a program to its end and reads its profile, whose traces must all be named by a row.
fn profile(jvm: &Jvm, options: &str, name: &str) -> (Profile, Finished) {
    let options = format!("{EXACT},{options}");
    let run = program(jvm, options.trim_end_matches(','), &[], name).run_well();
    let profile = Profile::parse(&run.read("x.txt"));
    assert_no_idle_trace(&profile);
    (profile, run)
}

/// Asserts that every trace is referred to.
fn assert_no_idle_trace(profile: &Profile) {
    for serial in profile.traces.keys().filter(|serial| **serial != 300_000) {
        let in_sites = profile
            .sites
            .iter()
            .any(|sites| sites.rows.iter().any(|row| row.trace == *serial));
        let in_samples = profile
            .dumps
            .iter()
            .any(|dump| dump.rows.iter().any(|row| row.trace == *serial));
        assert!(in_sites || in_samples, "no row names TRACE {serial}");
    }
}

/// Requests the sites of a running program, as text in `x.txt`, and waits until the section is there: the `number`th.
fn dump(run: &Running, number: usize) {
    run.send("QUIT");
    let file = run.path("x.txt");
    run.wait_until(|| {
        std::fs::read_to_string(&file)
            .is_ok_and(|text| text.lines().filter(|line| *line == "SITES END").count() >= number)
    });
}

/// The VM's object sizes, in a heap of less than 32 GB.
struct Layout {
    header: u64,
    array_header: u64,
    reference: u64,
}

impl Cell {
    fn layout(&self) -> Layout {
        Layout::of(self.jvm, self.collector == "Z")
    }
}

impl Layout {
    /// Returns the layout. Z has no compressed references, and before JDK 15 a VM without these has no compressed class
    /// pointers. From 27 on headers are compact.
    fn of(jvm: &Jvm, z: bool) -> Self {
        match z {
            _ if jvm.feature >= 27 => Self {
                header: 8,
                array_header: 12,
                reference: if z { 8 } else { 4 },
            },
            false => Self {
                header: 12,
                array_header: 16,
                reference: 4,
            },
            true if jvm.feature >= 15 => Self {
                header: 12,
                array_header: 16,
                reference: 8,
            },
            true => Self {
                header: 16,
                array_header: 24,
                reference: 8,
            },
        }
    }

    /// Returns the size of an object with that many bytes of primitives and that many references.
    fn object(&self, primitives: u64, references: u64) -> u64 {
        (self.header + primitives + references * self.reference).next_multiple_of(8)
    }

    /// Returns the size of an array with that many bytes of primitives.
    fn array(&self, primitives: u64) -> u64 {
        (self.array_header + primitives).next_multiple_of(8)
    }

    /// Returns the size of an array with that many references.
    fn references(&self, length: u64) -> u64 {
        self.array(length * self.reference)
    }
}
