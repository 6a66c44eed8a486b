//! Lengths of time as users write them.

use std::time::Duration;

/// Parses a length of time: a whole number with a unit.
pub fn parse(text: &str) -> Result<Duration, String> {
    let end = text.find(|letter: char| !letter.is_ascii_digit());
    let (digits, unit) = text.split_at(end.unwrap_or(text.len()));
    let factor = match unit {
        "ms" => Some(1),
        "s" | "" => Some(1_000),
        "m" => Some(60_000),
        "h" => Some(3_600_000),
        _ => None,
    };
    let millis = digits.parse::<u64>().ok().zip(factor);
    let millis = millis.and_then(|(number, factor)| number.checked_mul(factor));
    // A hundred years, as in the agent.
    let millis = millis.filter(|millis| (1..=100 * 365 * 24 * 3_600_000).contains(millis));
    millis
        .map(Duration::from_millis)
        .ok_or_else(|| "must be a whole number with ms, s, m or h: 30s".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        assert_eq!(parse("30s"), Ok(Duration::from_secs(30)));
        assert_eq!(parse("30"), Ok(Duration::from_secs(30)));
        assert_eq!(parse("5m"), Ok(Duration::from_secs(300)));
        for text in ["", "s", "0s", "-1s", "1d", "99999999999999999h"] {
            parse(text).expect_err(text);
        }
    }
}
