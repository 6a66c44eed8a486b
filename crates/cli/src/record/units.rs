//! Amounts and paths as the answer prints them.

use std::path::Path;
use std::time::Duration;

use hprof_format::printable;
use hprof_profile::{Metric, Unit};

use crate::heap::number;

/// Returns a value in a unit that suits its size; CPU samples as time.
pub fn amount(value: u64, metric: Metric, interval: Duration) -> String {
    match metric.unit() {
        Unit::Bytes => bytes(value),
        Unit::Nanoseconds => time(value as f64 / 1e9),
        Unit::Count if metric == Metric::Cpu => time(value as f64 * interval.as_secs_f64()),
        Unit::Count => number(value),
    }
}

/// Returns what a total is a total of.
pub fn sentence(total: u64, metric: Metric, interval: Duration) -> String {
    let amount = amount(total, metric, interval);
    match metric {
        Metric::Cpu => format!("{amount} of CPU time, in {} samples", number(total)),
        Metric::Time | Metric::InclusiveTime => format!("{amount} in methods"),
        Metric::AllocBytes => format!("{amount} allocated"),
        Metric::AllocObjects => format!("{amount} objects allocated"),
        Metric::LiveBytes => format!("{amount} live"),
        Metric::LiveObjects => format!("{amount} objects live"),
        Metric::Contention => format!("{amount} of waiting for monitors"),
        Metric::Contentions => format!("{amount} waits for monitors"),
        Metric::Calls => format!("{amount} calls"),
    }
}

/// Returns `1.4 MB`.
pub fn bytes(value: u64) -> String {
    let units = [(1e9, "GB"), (1e6, "MB"), (1e3, "KB")];
    let amount = value as f64;
    match units.into_iter().find(|&(factor, _)| amount >= factor) {
        Some((factor, unit)) => format!("{:.1} {unit}", amount / factor),
        None => format!("{value} bytes"),
    }
}

fn time(seconds: f64) -> String {
    match seconds {
        10.0.. => format!("{seconds:.1} s"),
        1.0.. => format!("{seconds:.2} s"),
        0.01.. => format!("{:.0} ms", seconds * 1e3),
        _ => format!("{:.2} ms", seconds * 1e3),
    }
}

/// Returns a path as a word for a shell.
pub fn quoted(path: &Path) -> String {
    let path = path.to_string_lossy();
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+:@%".contains(letter);
    if !path.starts_with('-') && path.chars().all(is_plain) {
        return path.into_owned();
    }
    let start = if path.starts_with('-') { "./" } else { "" };
    let escaped = path.replace('\'', "'\\''");
    format!("'{start}{}'", printable(&escaped))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_short() {
        let ten = Duration::from_millis(10);
        assert_eq!(amount(407, Metric::Cpu, ten), "4.07 s");
        assert_eq!(amount(3, Metric::Cpu, ten), "30 ms");
        assert_eq!(amount(340_350_984, Metric::AllocBytes, ten), "340.4 MB");
        assert_eq!(amount(12, Metric::LiveBytes, ten), "12 bytes");
        assert_eq!(amount(1_500, Metric::Time, ten), "0.00 ms");
        assert_eq!(amount(12_000_000_000, Metric::Time, ten), "12.0 s");
        assert_eq!(amount(1_234_567, Metric::Calls, ten), "1,234,567");
    }

    #[test]
    fn paths_are_words_of_a_shell() {
        assert_eq!(quoted(Path::new("a/Main-1.hprof")), "a/Main-1.hprof");
        assert_eq!(quoted(Path::new("my dir/it's")), "'my dir/it'\\''s'");
        assert_eq!(quoted(Path::new("-x/a")), "'./-x/a'");
    }
}
