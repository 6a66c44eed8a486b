//! The CPU time of processes, as the system counts it: the program's threads are not all that a JVM has.

use std::fs;
use std::time::Duration;

use rustix::param::clock_ticks_per_second;

/// The columns of a process's `stat` after its name: user and system time of the process, and of its children.
const OF_PROCESS: usize = 11;
const OF_CHILDREN: usize = 13;

/// Returns the CPU time of the processes that this one has started and that have ended, with those that they have started.
pub fn of_children() -> Option<Duration> {
    used("self", OF_CHILDREN)
}

/// Returns the CPU time that a running process has used.
pub fn of_process(pid: u32) -> Option<Duration> {
    used(&pid.to_string(), OF_PROCESS)
}

fn used(process: &str, column: usize) -> Option<Duration> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name, in parentheses, may have any character.
    let (_, columns) = stat.rsplit_once(')')?;
    let columns = columns.split_whitespace().skip(column).take(2);
    let ticks: u64 = columns.filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
    let a_second = clock_ticks_per_second().max(1);
    Some(Duration::from_secs_f64(ticks as f64 / a_second as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_counted() {
        let pid = std::process::id();
        let before = of_process(pid).expect("a process has a stat");
        let mut x = 1_u64;
        while of_process(pid).expect("a process has a stat") == before {
            for i in 0..1_000_000_u64 {
                x = std::hint::black_box(x.wrapping_mul(31).wrapping_add(i));
            }
        }
        assert!(of_children().is_some());
    }
}
