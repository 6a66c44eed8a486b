//! Parts of a run, as users name them.

use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use chrono::{DateTime, Days, Local, NaiveDateTime, NaiveTime, TimeZone};
use hprof_profile::{NotWithin, Profile, Span};

use crate::duration;
use crate::failure::Failure;

/// What a time of day may differ from a run's beginning and still be that day's: people leave out seconds.
const NEAR: i64 = 60_000;
/// The forms of a time with its date.
const DATES: [&str; 4] = [
    "%Y-%m-%dT%H:%M:%S%.f",
    "%Y-%m-%d %H:%M:%S%.f",
    "%Y-%m-%dT%H:%M",
    "%Y-%m-%d %H:%M",
];
/// The forms of a time of day.
const TIMES: [&str; 2] = ["%H:%M:%S%.f", "%H:%M"];
/// How times are shown.
const SHOWN: &str = "%Y-%m-%d %H:%M:%S%.3f";
const SHOWN_TIME: &str = "%H:%M:%S%.3f";

/// The choice of a part of the run.
#[derive(Clone, Default, clap::Args)]
pub struct SpanChoice {
    /// Only samples from this time on: 10:03:10, 2026-11-27T10:03:10, or +30s after the run's beginning, or -30s before its end.
    /// Binary files of the agent and recordings of JFR have times, and only of CPU samples, elapsed time and waits for locks
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub from: Option<Moment>,

    /// Only samples until this time, as in --from
    #[arg(
        long,
        visible_alias = "to",
        value_name = "TIME",
        allow_hyphen_values = true
    )]
    pub until: Option<Moment>,
}

/// A part of the run from one time to another, as in `10:03..10:04`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    from: Option<Moment>,
    to: Option<Moment>,
}

/// A time within a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// A time of day.
    Time(NaiveTime),
    /// A time with its date, by the local clock.
    Date(NaiveDateTime),
    /// A time in milliseconds since 1970.
    Instant(i64),
    /// So long after the beginning.
    AfterBegin(Duration),
    /// So long before the end.
    BeforeEnd(Duration),
}

impl FromStr for Moment {
    type Err = String;

    fn from_str(text: &str) -> Result<Moment, String> {
        let date = || {
            let mut dates = DATES.iter();
            dates.find_map(|form| NaiveDateTime::parse_from_str(text, form).ok())
        };
        let time = || {
            let mut times = TIMES.iter();
            times.find_map(|form| NaiveTime::parse_from_str(text, form).ok())
        };
        if matches!(text, "+0" | "+0s") {
            return Ok(Moment::AfterBegin(Duration::ZERO));
        }
        if let Some(length) = text.strip_prefix('+') {
            return duration::parse(length).map(Moment::AfterBegin);
        }
        if let Some(length) = text.strip_prefix('-') {
            return duration::parse(length).map(Moment::BeforeEnd);
        }
        if let Ok(instant) = DateTime::parse_from_rfc3339(text) {
            return Ok(Moment::Instant(instant.timestamp_millis()));
        }
        date().map(Moment::Date).or_else(|| time().map(Moment::Time)).ok_or_else(|| {
            "must be a time, such as 10:03:10 or 2026-11-27T10:03:10, or +30s after the beginning, or -30s before the end".to_owned()
        })
    }
}

impl FromStr for Part {
    type Err = String;

    fn from_str(text: &str) -> Result<Part, String> {
        let (from, to) = text
            .split_once("..")
            .ok_or("must be two times with `..` between them, such as 10:03..10:04")?;
        let moment = |text: &str| (!text.is_empty()).then(|| text.parse()).transpose();
        Ok(Part {
            from: moment(from)?,
            to: moment(to)?,
        })
    }
}

impl Moment {
    /// Returns the time in milliseconds since 1970. A time of day is the first one in the run, or after `begin`.
    fn in_run(self, run: Span, begin: u64) -> Option<u64> {
        let signed = |millis: u64| i64::try_from(millis).ok();
        let length = |length: Duration| u64::try_from(length.as_millis()).unwrap_or(u64::MAX);
        let millis = match self {
            Moment::AfterBegin(after) => return Some(run.from.saturating_add(length(after))),
            Moment::BeforeEnd(before) => return Some(run.to.saturating_sub(length(before))),
            Moment::Instant(millis) => millis,
            Moment::Date(date) => local(date)?,
            Moment::Time(time) => {
                let day = DateTime::from_timestamp_millis(signed(begin)?)?;
                let day = day.with_timezone(&Local).date_naive();
                let today = local(day.and_time(time))?;
                let next = local(day.checked_add_days(Days::new(1))?.and_time(time))?;
                let is_next = today + NEAR < signed(begin)? && next < signed(run.to)?;
                if is_next { next } else { today }
            }
        };
        Some(u64::try_from(millis).unwrap_or(0))
    }
}

/// Returns a time by the local clock in milliseconds since 1970. A time that is skipped in spring is an hour later.
fn local(time: NaiveDateTime) -> Option<i64> {
    let found = Local.from_local_datetime(&time).earliest();
    let found = found.or_else(|| {
        let later = time.checked_add_signed(chrono::TimeDelta::hours(1))?;
        Local.from_local_datetime(&later).earliest()
    });
    Some(found?.timestamp_millis())
}

impl SpanChoice {
    /// Returns `true` if all of the run was chosen.
    pub fn is_all(&self) -> bool {
        matches!((self.from, self.until), (None, None))
    }

    /// Returns the chosen part of the run; `None` if that is all of it.
    pub fn part(&self) -> Option<Part> {
        let Self { from, until } = *self;
        (!self.is_all()).then_some(Part { from, to: until })
    }
}

impl Part {
    /// Returns the profile of this part of the run.
    pub fn limit(self, profile: Profile, path: &Path) -> Result<Profile, Failure> {
        let about = |what: &dyn std::fmt::Display| Err(Failure::about(path, what));
        let Some(run) = profile.sampled() else {
            return about(&NotWithin::NoTimes);
        };
        let from = self
            .from
            .map_or(Some(run.from), |it| it.in_run(run, run.from));
        let to = |from| self.to.map_or(Some(run.to), |it| it.in_run(run, from));
        let Some((from, to)) = from.and_then(|from| Some((from, to(from)?))) else {
            return about(&"the local clock has no such time");
        };
        if from >= run.to || to <= run.from {
            return about(&outside(self, Span { from, to }, run));
        }
        if from >= to {
            let (from, to) = (shown(from), shown(to));
            return about(&format_args!("{from} is not before {to}"));
        }
        match profile.within(Span { from, to }) {
            Ok(part) => Ok(part),
            Err(NotWithin::Outside(run)) => about(&outside(self, Span { from, to }, run)),
            Err(none @ NotWithin::NoTimes) => about(&none),
        }
    }
}

/// Says that a part has nothing of a run.
fn outside(part: Part, chosen: Span, run: Span) -> String {
    let from = part.from.map(|_| format!(" from {}", shown(chosen.from)));
    let to = part.to.map(|_| format!(" to {}", shown(chosen.to)));
    format!(
        "has no samples{}{}; the run was from {} to {}",
        from.unwrap_or_default(),
        to.unwrap_or_default(),
        shown(run.from),
        shown(run.to)
    )
}

/// Returns what is to be said about a profile of a part of a run; `None` for one of all of it.
pub fn remark(profile: &Profile) -> Option<String> {
    let Span { from, to } = profile.span()?;
    let length = crate::amounts::time(to.saturating_sub(from) as f64 / 1e3);
    let part = format!(
        "only samples from {} to {}, {length}",
        shown_by(from, SHOWN_TIME),
        shown_by(to, SHOWN_TIME)
    );
    let others: Vec<&str> = profile.without_times().iter().map(|m| m.name()).collect();
    Some(match others.is_empty() {
        true => part,
        false => format!(
            "{part}; what has no times is left out: {}",
            others.join(", ")
        ),
    })
}

fn shown(millis: u64) -> String {
    shown_by(millis, SHOWN)
}

fn shown_by(millis: u64, form: &str) -> String {
    let time = i64::try_from(millis).ok();
    let time = time.and_then(DateTime::from_timestamp_millis);
    time.map_or_else(
        || format!("{millis} ms after 1970"),
        |time| time.with_timezone(&Local).format(form).to_string(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> u64 {
        let time = NaiveDateTime::parse_from_str(text, DATES[1]).expect("a time");
        u64::try_from(local(time).expect("a time")).expect("after 1970")
    }

    fn found(text: &str, begin: &str) -> u64 {
        let run = Span {
            from: at("2026-11-27 23:50:10"),
            to: at("2026-11-28 00:20:00"),
        };
        let moment: Moment = text.parse().expect(text);
        moment.in_run(run, at(begin)).expect("a time")
    }

    #[test]
    fn a_time_of_day_is_the_first_in_the_run() {
        let begin = "2026-11-27 23:50:10";
        for (text, expected) in [
            ("23:55", "2026-11-27 23:55:00"),
            ("23:55:07", "2026-11-27 23:55:07"),
            ("23:50", "2026-11-27 23:50:00"),
            ("00:10", "2026-11-28 00:10:00"),
            // Not in the run at all.
            ("10:00", "2026-11-27 10:00:00"),
            ("2026-11-28 00:01", "2026-11-28 00:01:00"),
            ("2026-11-28T00:01:02", "2026-11-28 00:01:02"),
            ("+90s", "2026-11-27 23:51:40"),
            ("-5m", "2026-11-28 00:15:00"),
        ] {
            assert_eq!(found(text, begin), at(expected), "{text}");
        }
        assert_eq!(found("2026-11-27T23:00:00Z", begin), 1_795_820_400_000);
    }

    #[test]
    fn parts_have_two_times() {
        let part: Part = "10:03..10:04".parse().expect("a part");
        let time = |text: &str| Some(text.parse().expect("a time"));
        assert_eq!((part.from, part.to), (time("10:03"), time("10:04")));
        let part: Part = "+30s..".parse().expect("a part");
        assert_eq!((part.from, part.to), (time("+30s"), None));
        for text in ["10:03", "10:03..25:00", "10:03...", "+30..x"] {
            text.parse::<Part>().expect_err(text);
        }
        for text in [
            "",
            "10",
            "+",
            "-x",
            "24:00",
            "2026-11-31T00:00:00",
            "10:03:61",
        ] {
            text.parse::<Moment>().expect_err(text);
        }
    }
}
