//! The layout of SITES that scripts rely on: the parser of all tests accepts it, and nothing else.

use std::panic;

use super::program;
use crate::harness::any_jvm;
use crate::profile::Profile;

/// A file in the layout that readers of HPROF text have known for decades.
const KNOWN: &str = "\
JAVA PROFILE 1.0.1, created Fri Nov 20 10:39:11 2026

A description.
--------

TRACE 300164:
\tAlloc.<clinit>(Alloc.java:8)
TRACE 300165:
\tAlloc.keepObjects(Alloc.java:13)
\tAlloc.main(Alloc.java:30)
TRACE 300166:
\tAlloc.dropObjects(Alloc.java:14)
\tAlloc.main(Alloc.java:31)
TRACE 300169:
\tAlloc.intArrays(Alloc.java:16)
\tAlloc.main(Alloc.java:33)
SITES BEGIN (ordered by live bytes) Fri Nov 20 10:39:11 2026
          percent          live          alloc'ed  stack class
 rank   self  accum     bytes objs     bytes  objs trace name
    1 49.99% 49.99%     80000 5000     80000  5000 300166 Alloc$Dropped
    2 20.00% 69.99%     32000 1000     32000  1000 300165 Alloc$Kept
    3 15.01% 85.00%     24016    1     24016     1 300164 java.lang.Object[]
    4 15.00% 100.00%     24000  300     24000   300 300169 int[]
SITES END
";

fn refused(text: &str) -> bool {
    let text = text.to_owned();
    panic::catch_unwind(move || Profile::parse(&text)).is_err()
}

#[test]
fn the_known_layout_is_read() {
    let profile = Profile::parse(KNOWN);
    let sites = profile.one_sites();
    assert_eq!(sites.rows.len(), 4);
    let kept = &sites.rows[1];
    assert_eq!((&*kept.class, kept.trace), ("Alloc$Kept", 300_165));
    assert_eq!((kept.live, kept.live_bytes), (1_000, 32_000));
    let sampled = KNOWN.replace("SITES BEGIN", "(sampled every 524288 bytes)\nSITES BEGIN");
    assert_eq!(
        Profile::parse(&sampled).one_sites().notes.sampled,
        Some(524_288)
    );
}

#[test]
fn any_other_layout_is_refused() {
    for (right, wrong) in [
        // Columns.
        ("    1 49.99%", "   1 49.99%"),
        (" 80000 5000     80000", " 80000  5000     80000"),
        ("300164 java.lang.Object[]", "300164  java.lang.Object[]"),
        ("          percent", "         percent"),
        (" rank   self", "rank   self"),
        // Percentages without a common total.
        ("    1 49.99%", "    1 48.99%"),
        ("69.99%", "70.99%"),
        // Order, ranks, a trace that does not exist, more live objects than were ever allocated, a section without an
        // end.
        ("    2 20.00% 69.99%", "    3 20.00% 69.99%"),
        ("live bytes) ", "allocated bytes) Friday "),
        ("1000 300165", "1000 300167"),
        ("32000  1000 300165", "32000   999 300165"),
        ("SITES END\n", "SITES ENDS\n"),
    ] {
        assert_eq!(KNOWN.matches(right).count(), 1, "{right}");
        assert!(refused(&KNOWN.replace(right, wrong)), "{wrong}");
    }
}

#[test]
fn large_numbers_widen_their_columns() {
    let wide = KNOWN.replace(
        "    1 49.99% 49.99%     80000 5000     80000  5000",
        "    1 49.99% 49.99%     80000 5000 4800009600 60000000",
    );
    let profile = Profile::parse(&wide);
    let row = &profile.one_sites().rows[0];
    assert_eq!(
        (row.allocated_bytes, row.allocated),
        (4_800_009_600, 60_000_000)
    );
}

#[test]
fn the_agent_writes_the_known_headings() {
    let run = program(any_jvm(), super::EXACT, &[], "Alloc").run_well();
    let text = run.read("x.txt");
    let headings: Vec<&str> = KNOWN
        .lines()
        .filter(|line| line.contains("percent") || line.starts_with(" rank"))
        .collect();
    let written: Vec<&str> = text
        .lines()
        .skip_while(|line| !line.starts_with("SITES BEGIN (ordered by live bytes) "))
        .skip(1)
        .take(2)
        .collect();
    assert_eq!(written, headings);
    assert!(
        text.contains("\nSITES END\n(the process used") || text.contains("\nSITES END\nTHREAD END")
    );
    assert!(
        run.stderr.contains("Dumping allocation sites ... done.\n"),
        "{}",
        run.stderr
    );
}
