//! Compares times with the program's own clock.

use super::{calls, one, own_millis, profile};
use crate::harness::Jvm;
use crate::profile::Profile;

on_every_jvm!(time_is_that_of_the_threads_own_clock, and 17);

fn time_is_that_of_the_threads_own_clock(jvm: &Jvm) {
    let (profile, run) = profile(jvm, "", "Costs");
    let times = one(&profile);
    assert_eq!(calls(times, "Costs.fib"), 1_028_457, "{}", jvm.feature);
    // The program reads its own CPU clock before and after the call, and within it: what is between cannot be less than the
    // one or more than the other, however long the thread has to wait. Shares are rounded.
    let burn = millis_below(&profile, "Costs.burn");
    let (least, most) = (run.printed("within"), run.printed("burn"));
    assert!(
        burn >= 0.95 * least && burn <= 1.05 * most,
        "{}: {least} {burn} {most}",
        jvm.feature
    );
    // Measuring takes most of a small method's time, and is taken out as far as it is known.
    let fib = own_millis(times, "Costs.fib");
    let most = 1.05 * run.printed("fib");
    assert!((0.0..=most).contains(&fib), "{}: {fib} {most}", jvm.feature);
}

on_every_jvm!(waiting_is_time_only_for_the_wall_clock, and 25);

fn waiting_is_time_only_for_the_wall_clock(jvm: &Jvm) {
    // Where sleeping is a native method it is charged to its caller.
    let asleep = |options| millis_below(&self::profile(jvm, options, "Sleeper").0, "Sleeper.nap");
    let (cpu, wall) = (asleep("depth=20"), asleep("depth=20,clock=wall"));
    // A sleep may be longer than was asked for, but not shorter. Shares are rounded.
    assert!(wall > 590.0, "{}: {wall}", jvm.feature);
    // The CPU clock does not move meanwhile, and a busy machine makes the other alone go on.
    assert!(cpu < wall / 2.0, "{}: {cpu} of {wall}", jvm.feature);
}

/// The time in a method and in all that it called, in milliseconds, as far as the percentages and the depth of traces tell.
fn millis_below(profile: &Profile, method: &str) -> f64 {
    let times = one(profile);
    let rows = times.rows.iter().filter(|row| {
        let mut frames = profile.traces[&row.trace].frames.iter();
        frames.any(|frame| {
            frame
                .split_once('(')
                .is_some_and(|(name, _)| name == method)
        })
    });
    rows.map(|row| row.own).sum::<f64>() / 100.0 * times.total as f64
}

on_every_jvm!(the_time_of_counting_is_in_no_row);

fn the_time_of_counting_is_in_no_row(jvm: &Jvm) {
    let (profile, run) = profile(jvm, "clock=samples,include=Often", "Often");
    let text = run.read("x.txt");
    let counting = text
        .split_once("ms of CPU time, without ")
        .and_then(|(_, after)| after.split_once(" ms of counting"));
    let counting = counting.and_then(|(millis, _)| millis.parse::<u64>().ok());
    let counting = counting.unwrap_or_else(|| panic!("{}: {text}", jvm.feature));
    // Each of 200 million calls adds one to a number, and counting it takes several times as long.
    let total = one(&profile).total;
    assert!(
        4 * counting > total,
        "{}: {counting} and {total}",
        jvm.feature
    );
}
