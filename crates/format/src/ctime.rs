//! Times in the form of C's `ctime`: `Fri Nov 20 10:39:11 2026`.

use chrono::{DateTime, Datelike, Local, NaiveDateTime, TimeZone};

use crate::encode::{Micros, Millis};

/// Printed if the calendar has no four-digit year for a time, as in a damaged file.
const OUT_OF_RANGE: &str = "??? ??? ?? ??:??:?? ????";

/// Formats the local time `since` after `start`.
pub(crate) fn ctime(start: Millis, since: Micros) -> String {
    in_zone(&Local, start, since)
}

fn in_zone<Zone: TimeZone>(zone: &Zone, start: Millis, since: Micros) -> String
where
    Zone::Offset: std::fmt::Display,
{
    let millis = start.0.saturating_add(since.0 / 1_000);
    let utc = i64::try_from(millis)
        .ok()
        .and_then(DateTime::from_timestamp_millis);
    match utc.map(|utc| utc.with_timezone(zone)) {
        Some(local) if local.year() <= 9999 => local.format("%a %b %e %H:%M:%S %Y").to_string(),
        _ => OUT_OF_RANGE.to_owned(),
    }
}

/// Parses a local time; if two times have the same text, returns the earlier one.
pub(crate) fn parse(text: &str) -> Option<Millis> {
    let local = NaiveDateTime::parse_from_str(text.trim(), "%a %b %e %H:%M:%S %Y").ok()?;
    let moment = Local.from_local_datetime(&local).earliest()?;
    u64::try_from(moment.timestamp_millis()).ok().map(Millis)
}

#[cfg(test)]
mod tests {
    use chrono::{FixedOffset, Utc};

    #[test]
    fn what_is_printed_is_read_back() {
        let moment = Millis(1_795_171_151_000);
        assert_eq!(parse(&ctime(moment, Micros(0))), Some(moment));
        for none in [
            "",
            OUT_OF_RANGE,
            "Fri Nov 20 10:39:11",
            "Fri Nov 31 10:39:11 2026",
        ] {
            assert_eq!(parse(none), None, "{none}");
        }
    }

    use super::*;

    #[test]
    fn days_are_padded_with_a_space() {
        assert_eq!(
            in_zone(&Utc, Millis(0), Micros(0)),
            "Thu Jan  1 00:00:00 1970"
        );
        assert_eq!(
            in_zone(&Utc, Millis(1_795_171_151_000), Micros(0)),
            "Fri Nov 20 10:39:11 2026"
        );
    }

    #[test]
    fn microseconds_count_from_the_start() {
        assert_eq!(
            in_zone(&Utc, Millis(999), Micros(1_000)),
            "Thu Jan  1 00:00:01 1970"
        );
        assert_eq!(
            in_zone(&Utc, Millis(0), Micros(1 << 32)),
            "Thu Jan  1 01:11:34 1970"
        );
    }

    #[test]
    fn the_zone_counts() {
        let zone = FixedOffset::east_opt(2 * 3600).expect("two hours are within a day");
        assert_eq!(
            in_zone(&zone, Millis(0), Micros(0)),
            "Thu Jan  1 02:00:00 1970"
        );
    }

    #[test]
    fn a_moment_beyond_the_calendar_has_a_placeholder() {
        for millis in [u64::MAX, i64::MAX as u64, 253_402_300_800_000] {
            assert_eq!(
                in_zone(&Utc, Millis(millis), Micros(u64::MAX)),
                OUT_OF_RANGE
            );
        }
        assert_eq!(
            in_zone(&Utc, Millis(253_402_300_799_999), Micros(0)),
            "Fri Dec 31 23:59:59 9999"
        );
    }
}
