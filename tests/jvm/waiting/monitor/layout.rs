//! The layout of the records about monitors that scripts rely on: the parser of all tests accepts it, and nothing else.

use std::panic;

use crate::profile::Profile;

/// A file in the layout that readers of HPROF text have known for decades.
const KNOWN: &str = "\
JAVA PROFILE 1.0.1, created Fri Nov 20 10:39:24 2026

A description.
--------

TRACE 300000:
\t<empty>
THREAD START (obj=500001c4, id = 200005, name=\"fighter-0\", group=\"main\")
THREAD START (obj=500001c4, id = 200006, name=\"waiter\", group=\"main\")
WAIT: MONITOR Ljava/lang/Object;, timeout=200, thread 200006
WAIT: MONITOR Ljava/lang/Thread;, timeout=0, <unknown thread>
WAITED: MONITOR Ljava/lang/Object;, time_waited=203, thread 200006
TRACE 300117:
\tContend.hold(Contend.java:8)
MONITOR DUMP BEGIN
    THREAD 200005, trace 300117, status: R
    THREAD 200006, trace 300000, status: intr|native|CW
    MONITOR Ljava/lang/Object;
\towner: thread 200005, entry count: 1
\twaiting to enter:
\twaiting to be notified: thread 200006, <unknown thread>
    MONITOR [I unowned
\twaiting to enter: thread 200005
\twaiting to be notified:
MONITOR DUMP END
MONITOR TIME BEGIN (total = 82 ms) Fri Nov 20 10:39:25 2026
rank   self  accum   count trace monitor
   1 90.00% 90.00%      12 300117 java.lang.Object (Java)
   2 10.00% 100.00%       1 300000 int[] (Java)
MONITOR TIME END
";

fn refused(text: &str) -> bool {
    let text = text.to_owned();
    panic::catch_unwind(move || Profile::parse(&text)).is_err()
}

#[test]
fn the_known_layout_is_read() {
    let profile = Profile::parse(KNOWN);
    let monitors = &profile.monitors;
    assert_eq!(monitors.waits[0].time_waited, Some(203));
    assert_eq!(monitors.waits[1].thread, None);
    let dump = &monitors.dumps[0];
    let object = dump.monitor("Ljava/lang/Object;");
    assert_eq!(object.owner, Some((Some(200_005), 1)));
    assert_eq!(object.waiting, [Some(200_006), None]);
    assert_eq!(dump.monitor("[I").owner, None);
    let time = &monitors.times[0];
    assert_eq!((time.total_ms, time.count("java.lang.Object")), (82, 12));
}

#[test]
fn any_other_layout_is_refused() {
    for (right, wrong) in [
        ("   1 90.00%", "  1 90.00%"),
        ("300117 java.lang.Object (Java)", "300117 java.lang.Object"),
        ("90.00%      12", "90.00%     12"),
        ("10.00% 100.00%", "10.00% 99.00%"),
        ("total = 82 ms", "total = 82"),
        ("count trace monitor", "count trace method"),
        ("timeout=200, thread", "timeout=200 thread"),
        (
            "time_waited=203, thread 200006",
            "time_waited=203, thread 200005",
        ),
        (
            "MONITOR Ljava/lang/Object;, time_waited",
            "MONITOR Ljava/lang/Thread;, time_waited",
        ),
        ("status: R", "status: X"),
        ("native|CW", "native|CWX"),
        ("entry count: 1", "entry count: 0"),
        ("\twaiting to enter:\n", ""),
        ("THREAD 200005, trace 300117", "THREAD 200007, trace 300117"),
        ("trace 300117, status", "trace 300118, status"),
        ("MONITOR TIME END\n", ""),
    ] {
        assert_eq!(KNOWN.matches(right).count(), 1, "{right}");
        assert!(refused(&KNOWN.replace(right, wrong)), "{wrong}");
    }
}
