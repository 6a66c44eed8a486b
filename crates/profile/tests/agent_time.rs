//! Time without a stack, and the agent's own, in a profile.

use hprof_profile::*;
use hprof_testing::sound_profile;

/// 60 samples of the program, 30 of the agent's own on its thread and by itself, 10 without a stack.
const RUN: &str = "\
JAVA PROFILE 1.0.1, created Fri Nov 20 10:39:11 2026

Options:    cpu=samples,depth=8
--------
TRACE 1:
\tp.A.go(A.java:7)
\tp.A.main(A.java:9)
TRACE 2:
\tjava.lang.Thread.<HPROF>(Thread.java:Unknown line)
\tp.A.go(A.java:7)
\tp.A.main(A.java:9)
TRACE 3:
\tjava.lang.Thread.<HPROF>(Thread.java:Unknown line)
TRACE 4:
\tjava.lang.Thread.<unsampled>(Thread.java:Unknown line)
\tjava.lang.Thread.<in a stub>(Thread.java:Unknown line)
TRACE 5:
\tjava.lang.Thread.<unsampled>(Thread.java:Unknown line)
\tjava.lang.Thread.<in a thread that ended>(Thread.java:Unknown line)
TRACE 6:
\tp.A.<HPROF>(A.java:7)
CPU SAMPLES BEGIN (total = 100) Fri Nov 20 10:39:12 2026
rank   self  accum   count trace method
   1 59.00% 59.00%      59     1 p.A.go
   2 20.00% 79.00%      20     2 java.lang.Thread.<HPROF>
   3 10.00% 89.00%      10     3 java.lang.Thread.<HPROF>
   4  8.00% 97.00%       8     5 java.lang.Thread.<unsampled>
   5  2.00% 99.00%       2     4 java.lang.Thread.<unsampled>
   6  1.00% 100.00%       1     6 p.A.<HPROF>
CPU SAMPLES END
";

fn profile() -> Profile {
    sound_profile(RUN.as_bytes())
}

#[test]
fn time_without_a_stack_says_why() {
    let expected = [Remark {
        value: 10,
        text: "is <unsampled>: CPU time whose stack could not be read, 80.0 % of it in a thread that ended, 20.0 % of it in a stub"
            .to_owned(),
    }];
    assert_eq!(profile().remarks(Metric::Cpu), expected);
    let own = profile().of_own_code(&OwnCode::default());
    assert_eq!(own.remarks(Metric::Cpu), expected);
}

#[test]
fn the_agents_own_time_can_be_left_out() {
    let whole = profile();
    assert_eq!(
        (whole.total(Metric::Cpu), whole.left_out(Metric::Cpu)),
        (100, 0)
    );
    let program = whole.without_agent();
    assert_eq!(
        (program.total(Metric::Cpu), program.left_out(Metric::Cpu)),
        (70, 30)
    );
    let rows = costs(&program, Metric::Cpu, By::Method).into_iter();
    let own: Vec<(String, u64)> = rows.map(|row| (row.name, row.own)).collect();
    let expected = [
        ("p.A.go", 59),
        ("java.lang.Thread.<unsampled>", 10),
        ("p.A.<HPROF>", 1),
        ("p.A.main", 0),
        ("java.lang.Thread.<in a thread that ended>", 0),
        ("java.lang.Thread.<in a stub>", 0),
    ];
    assert_eq!(own, expected.map(|(name, own)| (name.to_owned(), own)));
}
