//! Conditions that a change must not meet.

use std::fmt;
use std::str::FromStr;

use hprof_profile::Metric;

/// A condition such as `alloc-bytes > 5%`.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// The metric concerned.
    pub metric: Metric,
    above: bool,
    limit: f64,
    percent: bool,
}

impl Condition {
    /// Returns `true` if the change from `base` to `new` meets the condition. Any increase from 0 is an infinite
    /// percentage.
    pub fn holds(&self, base: u64, new: u64) -> bool {
        let change = new as f64 - base as f64;
        let change = match (self.percent, base) {
            (false, _) => change,
            (true, 0) if new == 0 => 0.0,
            (true, 0) => f64::INFINITY,
            (true, _) => change * 100.0 / base as f64,
        };
        match self.above {
            true => change > self.limit,
            false => change < self.limit,
        }
    }
}

/// The reason a condition is invalid.
#[derive(Debug, thiserror::Error)]
#[error("a condition is VALUE > N or VALUE > N%, or with <, such as `alloc-bytes > 5%`: {0}")]
pub struct NoCondition(String);

impl FromStr for Condition {
    type Err = NoCondition;

    fn from_str(text: &str) -> Result<Condition, NoCondition> {
        let place = text
            .find(['>', '<'])
            .ok_or_else(|| NoCondition("there is no > or <".to_owned()))?;
        let (metric, rest) = text.split_at(place);
        let number = rest[1..].trim();
        let (number, percent) = match number.strip_suffix('%') {
            Some(number) => (number.trim_end(), true),
            None => (number, false),
        };
        let limit = number.parse().ok().filter(|limit: &f64| limit.is_finite());
        Ok(Condition {
            metric: metric
                .trim()
                .parse()
                .map_err(|error: hprof_profile::UnknownMetric| NoCondition(error.to_string()))?,
            above: rest.starts_with('>'),
            limit: limit.ok_or_else(|| NoCondition(format!("`{number}` is no number")))?,
            percent,
        })
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.above { '>' } else { '<' };
        let percent = if self.percent { "%" } else { "" };
        write!(formatter, "{} {sign} {}{percent}", self.metric, self.limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate(text: &str) -> Condition {
        text.parse().expect("it is a condition")
    }

    #[test]
    fn a_gate_is_open_up_to_its_limit() {
        assert!(!gate("alloc-bytes > 5%").holds(100, 105));
        assert!(gate("alloc-bytes>5%").holds(100, 106));
        assert!(gate("cpu > 0").holds(7, 8));
        assert!(!gate("cpu > 0").holds(7, 7));
        assert!(gate("cpu < -10 %").holds(100, 89));
        assert!(gate("live-bytes > 1000%").holds(0, 1));
        assert!(!gate("live-bytes > 0%").holds(0, 0));
    }

    #[test]
    fn what_is_no_condition_is_refused() {
        for text in [
            "",
            "cpu",
            "cpu > ",
            "cpu > x",
            "foo > 1",
            "cpu > NaN",
            "> 5%",
        ] {
            text.parse::<Condition>().expect_err(text);
        }
    }
}
