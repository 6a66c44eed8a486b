//! Compares times with the program's own clock.

use super::{calls, one, own_millis, profile};
use crate::harness::Jvm;

on_every_jvm!(time_is_that_of_the_threads_own_clock);

fn time_is_that_of_the_threads_own_clock(jvm: &Jvm) {
    let (profile, run) = profile(jvm, "", "Costs");
    let times = one(&profile);
    assert_eq!(calls(times, "Costs.fib"), 1_028_457, "{}", jvm.feature);
    let burn = own_millis(times, "Costs.burn") / run.printed("burn");
    assert!((0.85..1.1).contains(&burn), "{} {burn}", jvm.feature);
    // Most of a small method's time is the cost of measuring, which is subtracted as far as it is known.
    let fib = own_millis(times, "Costs.fib") / run.printed("fib");
    assert!((0.0..1.05).contains(&fib), "{} {fib}", jvm.feature);
}

on_every_jvm!(waiting_is_time_only_for_the_wall_clock);

fn waiting_is_time_only_for_the_wall_clock(jvm: &Jvm) {
    let asleep = |options| {
        let profile = profile(jvm, options, "Sleeper").0;
        // If sleeping is a native method, it is charged to its caller.
        let times = one(&profile);
        let rows = times.rows.iter().filter(|row| {
            let frames = &profile.traces[&row.trace].frames;
            frames.iter().any(|frame| frame.starts_with("Sleeper.nap("))
        });
        rows.map(|row| row.own).sum::<f64>() / 100.0 * times.total as f64
    };
    let (cpu, wall) = (asleep("depth=20"), asleep("depth=20,clock=wall"));
    assert!(wall > 590.0, "{}: {wall}", jvm.feature);
    // A busy machine makes both longer.
    assert!(cpu < wall / 2.0, "{}: {cpu} of {wall}", jvm.feature);
}
