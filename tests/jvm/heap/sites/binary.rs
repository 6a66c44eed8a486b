//! The same sites in the binary format: ALLOC SITES and HEAP SUMMARY.

use std::collections::{BTreeMap, HashMap};

use super::{Counts, EXACT, program};
use crate::cells::Cell;
use crate::harness::{Jvm, any_jvm};
use crate::profile::Profile;

const BINARY: &str = "heap=sites,cutoff=0,format=b,file=x.hprof";

/// Returns the rows that are the same in every run of `Alloc`: its own classes, and arrays allocated by its own
/// methods.
fn rows_of_alloc(profile: &Profile) -> BTreeMap<(String, Vec<String>), Counts> {
    let mut rows = BTreeMap::new();
    for row in &profile.one_sites().rows {
        // A hidden class has an address in its name.
        let visible = |frame: &&String| !frame.contains("$$Lambda");
        let frames = profile.traces[&row.trace].frames.iter().filter(visible);
        let frames: Vec<String> = frames.cloned().collect();
        let own = row.class.starts_with("Alloc$") && !row.class.contains("Lambda");
        if own || frames[0].starts_with("Alloc.") && row.class.ends_with("[]") {
            let counts: &mut Counts = rows.entry((row.class.clone(), frames)).or_default();
            *counts += row;
        }
    }
    rows
}

// A GC at the end makes both runs report the same objects.
on_every_cell!(text_and_binary_tell_of_the_same_sites with [serial, parallel, g1], and 25);

fn text_and_binary_tell_of_the_same_sites(cell: &Cell) {
    let vm_options = cell.vm_options();
    let text = program(cell.jvm, EXACT, &vm_options, "Alloc").run_well();
    let binary = program(cell.jvm, BINARY, &vm_options, "Alloc").run_well();
    let text = rows_of_alloc(&Profile::parse(&text.read("x.txt")));
    let binary = rows_of_alloc(&Profile::parse(&binary.checked_text("x.hprof")));
    assert!(text.len() >= 10, "{cell}: {text:#?}");
    assert_eq!(text, binary, "{cell}");
}

on_every_jvm!(the_checker_counts_the_records, and 26);

fn the_checker_counts_the_records(jvm: &Jvm) {
    let run = program(jvm, BINARY, &[], "Alloc").run_well();
    let (sound, summary, fault) = run.hprof("check", "x.hprof");
    assert!(sound, "{}: {fault}", jvm.feature);
    for kind in [
        "ALLOC SITES",
        "HEAP SUMMARY",
        "LOAD CLASS",
        "TRACE",
        "FRAME",
    ] {
        assert!(
            summary.contains(kind),
            "{}: {kind} in {summary}",
            jvm.feature
        );
    }
}

/// Reads big-endian numbers, one after another.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn number(&mut self, width: usize) -> u64 {
        let (number, rest) = self.0.split_at(width);
        self.0 = rest;
        number
            .iter()
            .fold(0, |value, byte| value << 8 | u64::from(*byte))
    }
}

/// The records of sites, read by their specification alone.
#[derive(Default)]
struct Raw {
    names: HashMap<u64, String>,
    /// Class serial numbers to names' ids.
    classes: HashMap<u64, u64>,
    /// Trace serial numbers to numbers of frames.
    traces: HashMap<u64, u64>,
    sites: Vec<RawSites>,
    /// Live bytes, live instances, allocated bytes, allocated instances.
    summaries: Vec<[u64; 4]>,
    control: Option<(u64, u64)>,
}

struct RawSites {
    flags: u64,
    cutoff: f32,
    totals: [u64; 4],
    /// Array indicator, class name, trace, then as in `totals`.
    rows: Vec<(u64, String, u64, [u64; 4])>,
}

impl Raw {
    fn parse(file: &[u8]) -> Self {
        let header = b"JAVA PROFILE 1.0.2\0";
        let mut file = Bytes(file.strip_prefix(header).expect("the version"));
        assert_eq!(file.number(4), 8, "ids have 8 bytes");
        file.number(8);
        let mut raw = Self::default();
        while !file.0.is_empty() {
            let (tag, _time, length) = (file.number(1), file.number(4), file.number(4));
            let (body, rest) = file.0.split_at(usize::try_from(length).expect("64 bits"));
            file.0 = rest;
            raw.record(tag, Bytes(body));
        }
        raw
    }

    fn record(&mut self, tag: u64, mut body: Bytes) {
        match tag {
            0x01 => {
                let id = body.number(8);
                let text = String::from_utf8_lossy(body.0).into_owned();
                self.names.insert(id, text);
            }
            0x02 => {
                let (serial, _object, _trace) = (body.number(4), body.number(8), body.number(4));
                self.classes.insert(serial, body.number(8));
            }
            0x05 => {
                let (serial, _thread) = (body.number(4), body.number(4));
                self.traces.insert(serial, body.number(4));
            }
            0x06 => self.alloc_sites(body),
            0x07 => {
                self.summaries
                    .push([4, 4, 8, 8].map(|width| body.number(width)));
                assert!(body.0.is_empty());
            }
            0x0E => self.control = Some((body.number(4), body.number(2))),
            _ => {}
        }
    }

    fn alloc_sites(&mut self, mut body: Bytes) {
        let flags = body.number(2);
        let cutoff = f32::from_bits(u32::try_from(body.number(4)).expect("4 bytes"));
        let totals = [4, 4, 8, 8].map(|width| body.number(width));
        let count = body.number(4);
        assert_eq!(body.0.len() as u64, count * 25, "a row has 25 bytes");
        let rows = (0..count).map(|_| {
            let (array, class, trace) = (body.number(1), body.number(4), body.number(4));
            assert!(
                self.traces.contains_key(&trace),
                "TRACE {trace} comes first"
            );
            let name = &self.names[self.classes.get(&class).expect("LOAD CLASS comes first")];
            let counts = [4; 4].map(|width| body.number(width));
            (array, name.clone(), trace, counts)
        });
        let rows = rows.collect();
        self.sites.push(RawSites {
            flags,
            cutoff,
            totals,
            rows,
        });
    }
}

fn raw(options: &str, vm_options: &[&str]) -> Raw {
    let run = program(any_jvm(), options, vm_options, "Alloc").run_well();
    Raw::parse(&std::fs::read(run.path("x.hprof")).expect("the file"))
}

/// `flags`: a GC was forced.
const FORCED_GC: u64 = 4;

#[test]
fn totals_are_the_sums_of_the_rows() {
    let raw = raw(BINARY, &["-XX:+UseSerialGC"]);
    let [sites] = &raw.sites[..] else {
        panic!("one ALLOC SITES")
    };
    let mut sums = [0; 4];
    for (_, _, _, counts) in &sites.rows {
        for (sum, count) in sums.iter_mut().zip(counts) {
            *sum += count;
        }
    }
    assert_eq!(sites.totals, sums);
    assert_eq!(raw.summaries, [sums], "HEAP SUMMARY has the same totals");
    assert_eq!((sites.flags, sites.cutoff), (FORCED_GC, 0.0));
    let (flags, depth) = raw.control.expect("CONTROL SETTINGS");
    assert_eq!((flags & 1, depth), (1, 4), "allocation traces are on");
}

#[test]
fn rows_say_what_is_an_array_and_of_what() {
    let raw = raw(BINARY, &["-XX:+UseSerialGC"]);
    let mut arrays = 0;
    for (indicator, name, _, _) in &raw.sites[0].rows {
        let expected = match name.strip_prefix('[') {
            None => 0,
            Some("Z") => 4,
            Some("C") => 5,
            Some("F") => 6,
            Some("D") => 7,
            Some("B") => 8,
            Some("S") => 9,
            Some("I") => 10,
            Some("J") => 11,
            Some(_) => 2,
        };
        assert_eq!(*indicator, expected, "{name}");
        arrays += usize::from(expected != 0);
    }
    assert!(arrays > 10);
    let kept: u64 = raw.sites[0]
        .rows
        .iter()
        .filter(|(_, name, _, _)| name == "Alloc$Kept")
        .map(|(_, _, _, counts)| counts[1])
        .sum();
    assert_eq!(kept, 1_070);
    let empty = raw.traces.get(&300_000);
    assert_eq!(empty, Some(&0), "the trace of what was there before");
}

#[test]
fn flags_and_cutoff_say_what_was_done() {
    let not_forced = raw(&format!("{BINARY},gc=n"), &["-XX:+UseSerialGC"]);
    assert_eq!(not_forced.sites[0].flags & FORCED_GC, 0);
    // At its end Z cannot be asked for one.
    let z = ["-XX:+UnlockExperimentalVMOptions", "-XX:+UseZGC"];
    let at_end_of_z = raw(BINARY, &z);
    assert_eq!(at_end_of_z.sites[0].flags & FORCED_GC, 0);
    let options = BINARY.replace("cutoff=0", "cutoff=0.01");
    let shown =
        |sites: &RawSites| -> u64 { sites.rows.iter().map(|(_, _, _, counts)| counts[0]).sum() };
    let folded = raw(&options, &["-XX:+UseSerialGC"]);
    let sites = &folded.sites[0];
    assert_eq!(shown(sites), sites.totals[0], "what is small is added up");
    let cut = raw(&format!("{options},fold=n"), &["-XX:+UseSerialGC"]);
    let sites = &cut.sites[0];
    assert_eq!(sites.cutoff, 0.01);
    assert!(
        shown(sites) < sites.totals[0],
        "what is cut off counts in the totals"
    );
    assert_eq!(cut.summaries, [sites.totals]);
    for (_, name, _, counts) in &sites.rows {
        let mut shares = counts.iter().zip(&sites.totals);
        let has_a_share = shares.any(|(&value, &total)| value as f64 >= total as f64 * 0.01);
        assert!(has_a_share, "{name}");
    }
}
