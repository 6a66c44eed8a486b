//! The CPU time that a sample stands for.

use std::time::Duration;

/// The interval unless the options say another, in milliseconds.
const DEFAULT: u64 = 10;

/// Returns the CPU time that a CPU sample stands for in a run with these options of the agent.
#[must_use]
pub fn sampling_interval(options: &str) -> Option<Duration> {
    // Of several the last one counts.
    let given = options
        .rsplit(',')
        .find_map(|option| option.strip_prefix("interval="));
    let millis = given.map_or(Ok(DEFAULT), str::parse);
    millis.ok().map(Duration::from_millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_interval_counts() {
        let millis = |options| sampling_interval(options).map(|interval| interval.as_millis());
        assert_eq!(millis("cpu=samples"), Some(10));
        assert_eq!(millis("interval=5,cpu=samples,interval=20"), Some(20));
        assert_eq!(millis("cpu=samples,interval=x"), None);
    }
}
