//! Looks at a program's memory that cost it little.

use std::thread;
use std::time::{Duration, Instant};

use hprof_footprint::{Account, Course};

use crate::attach::Session;
use crate::failure::Failure;

/// The period is at least this many times the CPU time of a look: at most 0.2 % of a CPU.
const REST: u32 = 500;
/// The longest period, and the shortest here.
const LONGEST: Duration = Duration::from_secs(60);
const SHORTEST: Duration = Duration::from_secs(1);

/// An account, and the CPU time that it has cost the program, if the system knows it.
pub struct Look {
    pub account: Account,
    pub cost: Option<Duration>,
}

impl Look {
    /// Looks at a program.
    pub fn at(session: &Session) -> Result<Self, Failure> {
        let before = session.attach_time();
        let account = session.memory()?;
        let after = session.attach_time();
        let cost = after.zip(before);
        let cost = cost.map(|(after, before)| after.saturating_sub(before));
        Ok(Self { account, cost })
    }
}

/// Returns the time until the next look after one of this cost.
pub fn period(cost: Option<Duration>, shortest: Duration) -> Duration {
    let rest = cost.unwrap_or_default() * REST;
    rest.min(LONGEST).max(shortest)
}

/// Looks until so long after the first look, then once more.
pub fn over(session: &Session, length: Duration) -> Result<Course, Failure> {
    let mut course = Course::default();
    // The first look may load the agent, too.
    course.push(Look::at(session)?.account);
    let end = Instant::now() + length;
    let mut next = SHORTEST;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(course);
        }
        // No look shortly before the last one.
        let is_last = left < 2 * next;
        thread::sleep(if is_last { left } else { next });
        let Look { account, cost } = Look::at(session)?;
        course.push(account);
        next = period(cost, SHORTEST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_take_a_five_hundredth_of_a_cpu() {
        let second = Duration::from_secs(1);
        let millis = |millis| Some(Duration::from_millis(millis));
        assert_eq!(period(millis(1), second), second);
        assert_eq!(period(millis(20), second), 10 * second);
        assert_eq!(period(millis(10_000), second), LONGEST);
        assert_eq!(period(None, 2 * second), 2 * second);
    }
}
