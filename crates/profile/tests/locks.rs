//! Profiles of waits for locks.

use hprof_profile::*;
use hprof_testing::sound_profile;

/// 100 samples of 10 ms: 70 while `flush` held the lock, 20 while `scan` did, 9 while no holder was seen; 1 is in a row
/// that was left out.
const RUN: &str = "\
JAVA PROFILE 1.0.1, created Fri Nov 20 10:39:11 2026

Options:    monitor=y
--------
TRACE 1:
\tjdk.internal.misc.Unsafe.park(Unsafe.java:Unknown line)
\tjava.util.concurrent.locks.LockSupport.park(LockSupport.java:211)
\tp.A.put(A.java:7)
\tp.A.main(A.java:1)
TRACE 2:
\tjava.lang.Thread.sleep(Thread.java:Unknown line)
\tp.B.write(B.java:9)
\tp.B$$Lambda.0x00007f0a44003aa0.run(<Unknown Source>:Unknown line)
\tp.B.flush(B.java:8)
\tp.B.main(B.java:2)
\tp.B.outer(B.java:1)
TRACE 3:
\tp.B.scan(B.java:30)
MONITOR TIME BEGIN (total = 900 ms) Fri Nov 20 10:39:12 2026
rank   self  accum   count trace monitor
   1 100.00% 100.00%       3     1 p.Lock (Java)
MONITOR TIME END
LOCK WAITS BEGIN (total = 100, interval = 10 ms, holder known = 90) Fri Nov 20 10:39:12 2026
rank   self  accum   count trace holder lock
   1 70.00% 70.00%      70     1      2 p.Lock@1b2c
   2 20.00% 90.00%      20     1      3 p.Lock@1b2c
   3  9.00% 99.00%       9     1      0 p.Lock
LOCK WAITS END
";

const SAMPLE: u64 = 10_000_000;

fn rows(profile: &Profile, by: By) -> Vec<(String, u64)> {
    let costs = costs(profile, Metric::LockWait, by).into_iter();
    costs.map(|row| (row.name, row.own / SAMPLE)).collect()
}

fn row(name: &str, samples: u64) -> (String, u64) {
    (name.to_owned(), samples)
}

#[test]
fn a_wait_is_charged_to_who_waited_and_to_who_held_the_lock() {
    let run = sound_profile(RUN.as_bytes());
    let metrics = [Metric::Contention, Metric::Contentions, Metric::LockWait];
    assert_eq!(run.metrics(), metrics);
    let flush = "p.B.write (called by p.B.flush, p.B.main)";
    assert_eq!(
        rows(&run, By::Holder),
        [
            row(flush, 70),
            row("p.B.scan", 20),
            row("<no holder seen>", 10)
        ]
    );
    assert_eq!(
        rows(&run, By::Lock),
        [
            row("p.Lock@1b2c", 90),
            row("p.Lock", 9),
            row("<unknown>", 1)
        ]
    );
    assert_eq!(
        rows(&run, By::Wait),
        [
            row(&format!("p.A.put, while {flush} held p.Lock@1b2c"), 70),
            row("p.A.put, while p.B.scan held p.Lock@1b2c", 20),
            row("p.A.put, while <no holder seen> held p.Lock", 9),
            row("<not listed>, while <no holder seen> held <unknown>", 1),
        ]
    );
    assert_eq!(
        run.waits()[0].holder,
        ["p.B.write", "p.B.flush", "p.B.main"]
    );
}

#[test]
fn a_sum_keeps_holders_in_either_form() {
    const TIMES: &str = "\
CPU TIME (ms) BEGIN (total = 7) Fri Nov 20 10:39:12 2026
rank   self  accum   count trace method
   1 100.00% 100.00%      1     3 p.B.scan
CPU TIME (ms) END
";
    let run = sound_profile(RUN.as_bytes());
    let timed = sound_profile(format!("{RUN}{TIMES}").as_bytes());
    for (of, form) in [(&timed, Form::Text), (&run, Form::Binary)] {
        let mut merger = Merger::default();
        merger.add(of, &Added::default()).expect("one interval");
        merger.add(of, &Added::default()).expect("one interval");
        let mut file = Vec::new();
        let written = write(&merger.finish(), &mut file).expect("a Vec takes every write");
        assert_eq!(written, form);
        let again = sound_profile(&file);
        for by in [By::Holder, By::Lock, By::Type, By::Method] {
            let twice = rows(of, by).into_iter().map(|(name, n)| (name, 2 * n));
            assert_eq!(rows(&again, by), twice.collect::<Vec<_>>(), "{by}");
        }
        for metric in [Metric::Contention, Metric::Contentions] {
            assert_eq!(again.total(metric), 2 * run.total(metric), "{metric}");
        }
    }
}

#[test]
fn own_code_of_holders_is_kept_apart() {
    let own = "p".parse::<OwnCode>().unwrap_or_default();
    let run = sound_profile(RUN.as_bytes()).of_own_code(&own);
    assert_eq!(rows(&run, By::Method)[0], row("p.A.put", 99));
    assert_eq!(rows(&run, By::Holder)[1], row("p.B.scan", 20));
}
