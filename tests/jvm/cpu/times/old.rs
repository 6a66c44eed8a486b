//! `cpu=old`: lines of count, callee, caller and time.

use super::program;
use crate::harness::{Jvm, any_jvm};

struct Line<'a> {
    count: u64,
    callee: &'a str,
    caller: &'a str,
    time: u64,
}

fn parse(text: &str) -> Vec<Line<'_>> {
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("count callee caller time"), "no head");
    let lines: Vec<Line<'_>> = lines
        .map(|line| {
            // `<unknown caller>` has a space.
            let (count, rest) = line.split_once(' ').expect("a count");
            let (callee, rest) = rest.split_once(' ').expect("a callee");
            let (caller, time) = rest.rsplit_once(' ').expect("a time");
            Line {
                count: count.parse().expect("a number"),
                callee,
                caller,
                time: time.parse().expect("a number"),
            }
        })
        .collect();
    assert!(lines.is_sorted_by(|left, right| left.count >= right.count));
    lines
}

on_every_jvm!(each_pair_of_methods_is_a_line, and 28);

fn each_pair_of_methods_is_a_line(jvm: &Jvm) {
    for depth in ["", ",depth=0", ",depth=1", ",depth=9"] {
        let options = format!("cpu=old,file=x.txt{depth}");
        let run = program(jvm, &options, "Calls").run_well();
        let text = run.read("x.txt");
        let lines = parse(&text);
        let count = |callee, caller| -> u64 {
            let lines = lines.iter();
            lines
                .filter(|line| (line.callee, line.caller) == (callee, caller))
                .map(|line| line.count)
                .sum()
        };
        let (main, fib) = ("Calls.main([Ljava/lang/String;)V", "Calls.fib(I)I");
        let thrower = "Calls.thrower(I)I";
        assert_eq!(count(fib, fib), 1972, "{}", jvm.feature);
        assert_eq!(count(fib, main), 1);
        assert_eq!(count("Calls.leaf()V", "Calls.middle()V"), 300);
        assert_eq!(count("Calls.spin(I)V", "Calls.leaf()V"), 300);
        assert_eq!(count("Calls.middle()V", main), 100);
        assert_eq!((count(thrower, thrower), count(thrower, main)), (200, 20));
        assert_eq!(count("Calls.locked()V", main), 50);
        assert!(lines.iter().any(|line| line.caller == "<unknown caller>"));
    }
}

#[test]
fn time_is_that_until_the_call_returns() {
    let run = program(any_jvm(), "cpu=old,clock=wall,file=x.txt", "Sleeper").run_well();
    let text = run.read("x.txt");
    let lines = parse(&text);
    for method in ["Sleeper.nap()V", "Sleeper.main([Ljava/lang/String;)V"] {
        let line = lines.iter().find(|line| line.callee == method);
        let time = line.expect("a line").time;
        assert!((590..60_000).contains(&time), "{method} {time}");
    }
}
