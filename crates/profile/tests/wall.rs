//! Profiles of elapsed time.

use hprof_profile::*;
use hprof_testing::sound_profile;

/// 100 samples of 20 ms: 10 of a thread at work, 20 of a virtual one that waits pinned, and of idle ones 40 in a pool, 29 of the VM's
/// own; 1 is in a row that was left out.
const RUN: &str = "\
JAVA PROFILE 1.0.1, created Fri Nov 20 10:39:11 2026

Options:    wall=y,cpu=samples
--------
TRACE 1:
\tjava.lang.Thread.<running>(Thread.java:Unknown line)
\tp.A.go(A.java:7)
TRACE 2:
\tjava.lang.Thread.<parked>(Thread.java:Unknown line)
\tjava.lang.Thread.<pinned>(Thread.java:Unknown line)
\tjdk.internal.misc.Unsafe.park(Unsafe.java:Unknown line)
\tp.A.lock(A.java:9)
TRACE 3:
\tjava.lang.Thread.<parked>(Thread.java:Unknown line)
\tjdk.internal.misc.Unsafe.park(Unsafe.java:Unknown line)
\tjava.util.concurrent.ThreadPoolExecutor.getTask(ThreadPoolExecutor.java:1062)
TRACE 4:
\tjava.lang.Thread.<native>(Thread.java:Unknown line)
TRACE 5:
\tp.A.go(A.java:7)
CPU SAMPLES BEGIN (total = 7) Fri Nov 20 10:39:12 2026
rank   self  accum   count trace method
   1 100.00% 100.00%      7     5 p.A.go
CPU SAMPLES END
WALL SAMPLES BEGIN (total = 100, interval = 20 ms, threads = 4) Fri Nov 20 10:39:12 2026
rank   self  accum   count trace method
   1 40.00% 40.00%      40     3 java.lang.Thread.<parked>
   2 29.00% 69.00%      29     4 java.lang.Thread.<native>
   3 20.00% 89.00%      20     2 java.lang.Thread.<parked>
   4 10.00% 99.00%      10     1 java.lang.Thread.<running>
WALL SAMPLES END
";

const SAMPLE: u64 = 20_000_000;

#[test]
fn samples_are_the_time_that_they_stand_for_beside_those_of_the_cpu() {
    let run = sound_profile(RUN.as_bytes());
    let waits = [Metric::Blocked, Metric::Parked, Metric::Pinned];
    assert_eq!(run.metrics()[..2], [Metric::Cpu, Metric::Wall]);
    assert_eq!(run.metrics()[2..], waits);
    assert_eq!(waits.map(|wait| run.total(wait) / SAMPLE), [0, 60, 20]);
    assert_eq!(run.total(Metric::Wall), 100 * SAMPLE);
    assert_eq!(run.total(Metric::Cpu), 7);
    let states = costs(&run, Metric::Wall, By::Method).into_iter();
    let states: Vec<(String, u64)> = states
        .filter(|row| row.own > 0)
        .map(|row| (row.name, row.own / SAMPLE))
        .collect();
    let expected = [
        ("java.lang.Thread.<parked>", 60),
        ("java.lang.Thread.<native>", 29),
        ("java.lang.Thread.<running>", 10),
        ("<not listed>", 1),
    ];
    assert_eq!(states, expected.map(|(name, own)| (name.to_owned(), own)));
}

#[test]
fn what_is_written_is_read_again() {
    let run = sound_profile(RUN.as_bytes());
    let mut file = Vec::new();
    assert_eq!(write(&run, &mut file).expect("memory"), Form::Binary);
    let read = sound_profile(&file);
    assert_eq!(read.total(Metric::Wall), 100 * SAMPLE);
    let stacks = |profile: &Profile| {
        let rows = costs(profile, Metric::Wall, By::Trace).into_iter();
        rows.map(|row| (row.name, row.own)).collect::<Vec<_>>()
    };
    assert_eq!(stacks(&read), stacks(&run));
}

#[test]
fn threads_that_wait_for_work_can_be_left_out() {
    let mut run = sound_profile(RUN.as_bytes());
    let idle = run.remove_idle();
    let expected = [
        (Metric::Wall, 69 * SAMPLE),
        (Metric::Blocked, 0),
        (Metric::Parked, 40 * SAMPLE),
        (Metric::Pinned, 0),
    ];
    assert_eq!(idle, expected);
    assert_eq!(run.total(Metric::Parked), 20 * SAMPLE);
    assert_eq!(run.total(Metric::Pinned), 20 * SAMPLE);
    assert_eq!(run.total(Metric::Wall), 31 * SAMPLE);
    assert_eq!(run.total(Metric::Cpu), 7, "that is something else");
    assert!(run.remove_idle().iter().all(|&(_, value)| value == 0));
}

#[test]
fn time_in_other_code_is_that_of_ones_own_line_and_pprof_has_the_state() {
    let mut run = sound_profile(RUN.as_bytes());
    let mut pprof = Vec::new();
    export::pprof(&run, &mut pprof).expect("memory");
    let mut plain = Vec::new();
    let mut decoder = flate2::read::GzDecoder::new(&*pprof);
    std::io::Read::read_to_end(&mut decoder, &mut plain).expect("it is sound");
    for word in ["state", "running", "parked", "native"] {
        let text = [&[0x32, word.len() as u8], word.as_bytes()].concat();
        let has = plain.windows(text.len()).any(|bytes| bytes == text);
        assert!(has, "a text of its own: {word}");
    }
    run.remove_idle();
    let own = run.of_own_code(&OwnCode::default());
    let lines = costs(&own, Metric::Wall, By::Line).into_iter();
    let lines: Vec<(String, u64)> = lines.map(|row| (row.name, row.own / SAMPLE)).collect();
    let expected = [
        ("p.A.lock(A.java:9)", 20),
        ("p.A.go(A.java:7)", 10),
        ("<not listed>", 1),
    ];
    assert_eq!(lines, expected.map(|(name, own)| (name.to_owned(), own)));
}
