//! Values as people read them: sizes, times, counts and shares. What machines read has exact numbers instead.

use std::time::Duration;

pub use hprof_profile::grouped as number;
use hprof_profile::{Metric, Profile, Unit};

/// The way in which sizes are printed.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct Sizes {
    /// Print sizes in bytes, exactly, and not as 1.4 MB
    #[arg(long = "bytes")]
    in_bytes: bool,
}

impl Sizes {
    /// Returns a size for a column of sizes: `1.4 MB`, or `1,400,000`.
    pub fn cell(self, bytes: u64) -> String {
        match self.in_bytes {
            true => number(bytes),
            false => size(bytes),
        }
    }

    /// Returns a size for a sentence: `1.4 MB`, or `1,400,000 bytes`.
    pub fn text(self, bytes: u64) -> String {
        match self.in_bytes {
            true => exactly(bytes),
            false => size(bytes),
        }
    }
}

/// The values of one metric.
#[derive(Clone, Copy, Debug)]
pub struct Amounts {
    metric: Metric,
    sizes: Sizes,
    /// The CPU time that a sample stands for, if it is known.
    interval: Option<Duration>,
}

impl Amounts {
    /// Returns the form of a profile's values.
    pub fn of(metric: Metric, profile: &Profile, sizes: Sizes) -> Amounts {
        Amounts {
            metric,
            sizes,
            interval: profile.interval(),
        }
    }

    /// Returns the form for values of both profiles: samples are times only if they stand for the same time in both.
    pub fn of_both(metric: Metric, base: &Profile, new: &Profile, sizes: Sizes) -> Amounts {
        let new = Amounts::of(metric, new, sizes);
        Amounts {
            interval: new
                .interval
                .filter(|&interval| base.interval() == Some(interval)),
            ..new
        }
    }

    /// Returns `true` if values are samples that are shown as times, so that there are two numbers of each.
    pub fn are_sampled_times(&self) -> bool {
        self.metric == Metric::Cpu && self.interval.is_some()
    }

    /// Returns a value for a column.
    pub fn cell(&self, value: u64) -> String {
        match (self.metric.unit(), self.interval) {
            (Unit::Bytes, _) => self.sizes.cell(value),
            (Unit::Nanoseconds, _) => time(value as f64 / 1e9),
            (Unit::Count, Some(interval)) if self.metric == Metric::Cpu => {
                time(value as f64 * interval.as_secs_f64())
            }
            (Unit::Count, _) => number(value),
        }
    }

    /// Returns a value for a sentence: of samples both the time and the number.
    pub fn text(&self, value: u64) -> String {
        match self.metric {
            Metric::Cpu if self.interval.is_some() => {
                format!("{} in {} samples", self.cell(value), number(value))
            }
            Metric::Cpu => format!("{} samples", number(value)),
            metric if metric.unit() == Unit::Bytes => self.sizes.text(value),
            _ => self.cell(value),
        }
    }

    /// Returns a difference with its sign, for a column.
    pub fn signed(&self, value: i128) -> String {
        signed(value, |size| self.cell(size))
    }
}

/// Returns a difference with its sign.
pub fn signed(value: i128, text: impl Fn(u64) -> String) -> String {
    let size = u64::try_from(value.unsigned_abs()).unwrap_or(u64::MAX);
    let sign = match value {
        0 => "",
        1.. => "+",
        _ => "-",
    };
    format!("{sign}{}", text(size))
}

/// Returns the CPU time that one of a value's samples stands for, in nanoseconds; `None` for values that are no samples.
pub fn interval_ns(profile: &Profile, metric: Metric) -> Option<u64> {
    let interval = profile.interval().filter(|_| metric == Metric::Cpu)?;
    u64::try_from(interval.as_nanos()).ok()
}

/// Returns `1.4 MB`; units are powers of a thousand.
pub fn size(bytes: u64) -> String {
    let units = [(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "KB")];
    // What would be rounded to 1000.0 has the next unit.
    let reaches = |factor: f64| bytes as f64 >= factor * 0.99995;
    match units.into_iter().find(|&(factor, _)| reaches(factor)) {
        Some((factor, unit)) => format!("{:.1} {unit}", bytes as f64 / factor),
        None => format!("{bytes} B"),
    }
}

/// Returns `1,400,000 bytes`.
pub fn exactly(bytes: u64) -> String {
    format!("{} bytes", number(bytes))
}

/// Returns a time with three digits: `12.3 s`, `187 ms`, `4.20 µs`; whole minutes and hours from 1000 s on.
pub fn time(seconds: f64) -> String {
    if seconds >= 999.5 {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "above 16; what is too large is the largest number"
        )]
        let minutes = (seconds / 60.0).round() as u64;
        return match (minutes / 60, minutes % 60) {
            (0, minutes) => format!("{minutes} min"),
            (hours, minutes) => format!("{} h {minutes} min", number(hours)),
        };
    }
    if seconds == 0.0 {
        return "0 s".to_owned();
    }
    let units = [(1.0, "s"), (1e-3, "ms"), (1e-6, "µs")];
    let reaches = |factor: f64| seconds >= factor * 0.9995;
    match units.into_iter().find(|&(factor, _)| reaches(factor)) {
        Some((factor, unit)) => format!("{} {unit}", three_digits(seconds / factor)),
        None => format!("{:.0} ns", seconds * 1e9),
    }
}

fn three_digits(number: f64) -> String {
    let places = match number {
        99.95.. => 0,
        9.995.. => 1,
        _ => 2,
    };
    format!("{number:.places$}")
}

/// Returns a share in percent.
pub fn percent(part: u64, whole: u64) -> f64 {
    match whole {
        0 => 0.0,
        _ => part as f64 * 100.0 / whole as f64,
    }
}

/// Returns the shares of the parts and of the rest of the whole in hundredths of a percent, so that together they are
/// exactly 100 %: they are rounded down, and what is missing goes to those that have lost most.
pub fn shares(parts: &[u64], whole: u64) -> (Vec<u64>, u64) {
    const ALL: u64 = 10_000;
    let used = parts.iter().map(|&part| u128::from(part)).sum::<u128>();
    let rest = u128::from(whole).saturating_sub(used);
    let sum = (used + rest).max(1);
    let parts = parts.iter().map(|&part| u128::from(part)).chain([rest]);
    let scaled: Vec<u128> = parts.map(|part| part * u128::from(ALL)).collect();
    // None is above ALL.
    let share = |&part: &u128| u64::try_from(part / sum).unwrap_or(ALL);
    let mut shares: Vec<u64> = scaled.iter().map(share).collect();
    let missing = ALL.saturating_sub(shares.iter().sum());
    let mut order: Vec<usize> = (0..scaled.len()).filter(|&at| scaled[at] > 0).collect();
    order.sort_by_key(|&at| std::cmp::Reverse(scaled[at] % sum));
    for (at, _) in order.into_iter().zip(0..missing) {
        shares[at] += 1;
    }
    let rest = shares.pop().unwrap_or(0);
    (shares, rest)
}

/// Returns `12.34`, of a share in hundredths of a percent.
pub fn hundredths(share: u64) -> String {
    format!("{}.{:02}", share / 100, share % 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_commas() {
        for (value, text) in [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (1_234_567, "1,234,567"),
        ] {
            assert_eq!(number(value), text);
        }
        assert_eq!(signed(998, number), "+998");
        assert_eq!(signed(-1000, number), "-1,000");
        assert_eq!(signed(0, number), "0");
    }

    #[test]
    fn sizes_have_a_unit_that_suits_them() {
        for (bytes, text) in [
            (0, "0 B"),
            (999, "999 B"),
            (1000, "1.0 KB"),
            (999_949, "999.9 KB"),
            (999_950, "1.0 MB"),
            (340_350_984, "340.4 MB"),
            (999_950_000, "1.0 GB"),
            (2_100_000_000_000, "2.1 TB"),
        ] {
            assert_eq!(size(bytes), text);
        }
        let exact = Sizes { in_bytes: true };
        assert_eq!(exact.cell(340_350_984), "340,350,984");
        assert_eq!(exact.text(340_350_984), "340,350,984 bytes");
    }

    #[test]
    fn times_have_three_digits() {
        for (nanos, text) in [
            (0_u64, "0 s"),
            (1, "1 ns"),
            (42, "42 ns"),
            (18_730, "18.7 µs"),
            (1_234_567, "1.23 ms"),
            (9_999_600, "10.0 ms"),
            (999_600_000, "1.00 s"),
            (187_350_000, "187 ms"),
            (5_170_000_000, "5.17 s"),
            (12_000_000_000, "12.0 s"),
            (360_400_000_000, "360 s"),
            (1_500_000_000_000, "25 min"),
            (8_000_000_000_000, "2 h 13 min"),
        ] {
            assert_eq!(time(nanos as f64 / 1e9), text);
        }
    }

    #[test]
    fn samples_are_times_where_the_interval_is_known() {
        let amounts = |interval| Amounts {
            metric: Metric::Cpu,
            sizes: Sizes::default(),
            interval,
        };
        let known = amounts(Some(Duration::from_millis(10)));
        assert_eq!(known.cell(407), "4.07 s");
        assert_eq!(known.text(1407), "14.1 s in 1,407 samples");
        assert_eq!(known.signed(-3), "-30.0 ms");
        assert_eq!(amounts(None).cell(1407), "1,407");
        assert_eq!(amounts(None).text(1407), "1,407 samples");
    }

    #[test]
    fn shares_add_up() {
        assert_eq!(shares(&[1, 1, 1], 3), (vec![3334, 3333, 3333], 0));
        assert_eq!(shares(&[1, 1], 3), (vec![3334, 3333], 3333));
        assert_eq!(shares(&[5], 5), (vec![10_000], 0));
        assert_eq!(shares(&[u64::MAX, 0], u64::MAX), (vec![10_000, 0], 0));
        assert_eq!(shares(&[0], 0).0, [0]);
        let parts: Vec<u64> = (1..500).map(|number| number * number).collect();
        let whole = parts.iter().sum();
        let (all, rest) = shares(&parts[100..], whole);
        assert_eq!(all.iter().sum::<u64>() + rest, 10_000);
        for (share, part) in all.iter().zip(&parts[100..]) {
            let exact = percent(*part, whole) * 100.0;
            assert!((*share as f64 - exact).abs() < 1.0);
        }
        assert_eq!(hundredths(1234), "12.34");
        assert_eq!(hundredths(7), "0.07");
    }
}
