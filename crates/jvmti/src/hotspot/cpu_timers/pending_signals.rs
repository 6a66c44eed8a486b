//! The user's limit of pending signals (RLIMIT_SIGPENDING). Each timer counts as one while it exists, for all processes of the
//! user together, so a program with many threads must leave some to its neighbors.

use std::fs;
use std::time::{Duration, Instant};

use locks::{Mutex, rank};

/// The part of the limit that is left to others: a quarter.
const LEFT: u64 = 4;
/// The time after which the system is asked again if there was nothing to be had.
const PAUSE: Duration = Duration::from_secs(1);

/// Grants timers as long as the limit is far enough.
#[derive(Default)]
pub(super) struct PendingSignals(Mutex<Allowance, rank::PendingSignals>);

#[derive(Default)]
struct Allowance {
    left: u64,
    asked: Option<Instant>,
}

impl PendingSignals {
    /// Returns `true` if another timer may be created.
    pub(super) fn grants_timer(&self) -> bool {
        let mut allowance = self.0.lock();
        let asked_lately = allowance.asked.is_some_and(|at| at.elapsed() < PAUSE);
        if allowance.left == 0 && !asked_lately {
            // Timers of threads that have ended are free again.
            let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
            // Where the system does not tell, it refuses by itself.
            allowance.left = to_be_had(&status).unwrap_or(u64::MAX);
            allowance.asked = (allowance.left == 0).then(Instant::now);
        }
        let is_granted = allowance.left > 0;
        allowance.left = allowance.left.saturating_sub(1);
        is_granted
    }
}

/// Returns how many more signals the user may have pending, by a process's status, if some are left to others.
fn to_be_had(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("SigQ:"))?;
    let (used, limit) = line.trim().split_once('/')?;
    let (used, limit): (u64, u64) = (used.parse().ok()?, limit.parse().ok()?);
    Some((limit - limit / LEFT).saturating_sub(used))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quarter_is_left_to_others() {
        let status = |line: &str| format!("Name:\tjava\nSigQ:\t{line}\nSigPnd:\t0\n");
        for (line, expected) in [
            ("0/100", Some(75)),
            ("70/100", Some(5)),
            ("75/100", Some(0)),
            ("99/100", Some(0)),
            ("1/18446744073709551615", Some(13_835_058_055_282_163_711)),
            ("some", None),
        ] {
            assert_eq!(to_be_had(&status(line)), expected, "{line}");
        }
        assert_eq!(to_be_had("Name:\tjava\n"), None);
    }
}
