//! Parsers of option values.

use std::time::Duration;

/// `native=malloc`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NativeMemory {
    /// The mean number of bytes between two sampled allocations.
    pub interval: u32,
}

/// `rotate=`: the length of a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rotate {
    /// In time.
    Every(Duration),
    /// In bytes of records, before compression.
    Bytes(u64),
}

/// The allowed values of `rotate=`.
pub(super) const ROTATE: &str =
    "a time like 500ms, 30s, 10m or 2h, or a size like 512kb, 64mb or 2gb";
/// The allowed values of `timeout=`.
pub(super) const TIME: &str = "a time like 500ms, 30s, 10m or 2h";
/// The allowed values of `wall=`.
pub(super) const WALL: &str = "y|n, or a time from 1ms to 1h like 20ms";
/// The allowed values of `native=`.
pub(super) const NATIVE: &str =
    "y|n, or malloc with a number of bytes from 1 to 2147483647 like malloc:512k";
/// The allowed values of `include=` and `exclude=`.
pub(super) const CLASSES: &str =
    "names of classes like com.acme.Foo or com.acme.*, separated by ':'";

/// The bit of `logflags=` that made the original read its own binary file back.
pub(super) const LOG_CHECK_BINARY: u32 = 4;
/// The bytes between two samples with `native=malloc`.
const NATIVE_DEFAULT: u32 = 512 << 10;
/// The time between two samples with `wall=y`.
const WALL_DEFAULT: Duration = Duration::from_millis(20);
/// The longest time between two samples.
const WALL_LONGEST: Duration = Duration::from_secs(3_600);
/// The longest time accepted, in milliseconds: a century, so that it can be added to any `Instant`.
const LONGEST: u64 = 100 * 365 * 24 * 3_600_000;

/// Parses `512k` as 524288.
pub(super) fn bytes(value: &str) -> Option<u32> {
    let (digits, unit) = match value.strip_suffix(['k', 'K']) {
        Some(digits) => (digits, 1 << 10),
        None => match value.strip_suffix(['m', 'M']) {
            Some(digits) => (digits, 1 << 20),
            None => (value, 1),
        },
    };
    let bytes = digits.parse::<u32>().ok()?.checked_mul(unit)?;
    // The VM takes a number of 31 bits.
    (1..=0x7fff_ffff).contains(&bytes).then_some(bytes)
}

/// A value of `native=`.
pub(super) enum Native {
    /// `y` or `n`: whether CPU samples have frames of native code.
    Frames(bool),
    /// `malloc`.
    Memory(NativeMemory),
}

/// Parses `y`, `malloc` or `malloc:256k`.
pub(super) fn native(value: &str) -> Option<Native> {
    if let Some(on) = switch(value) {
        return Some(Native::Frames(on));
    }
    let interval = match value.strip_prefix("malloc")? {
        "" => NATIVE_DEFAULT,
        given => bytes(given.strip_prefix(':')?)?,
    };
    Some(Native::Memory(NativeMemory { interval }))
}

/// Parses `20%` as 20.
pub(super) fn percentage(value: &str) -> Option<u8> {
    let percentage = value.strip_suffix('%')?.parse().ok()?;
    (1..=100).contains(&percentage).then_some(percentage)
}

/// Parses names as in Java source, with `*` for any characters, separated by `:` or `|`.
pub(super) fn patterns(value: &str) -> Option<Vec<String>> {
    let patterns = value.split([':', '|']);
    let is_name = |pattern: &str| {
        !pattern.is_empty()
            && !pattern.contains(|c: char| c.is_whitespace() || "/;[]()".contains(c))
    };
    patterns
        .map(|pattern| is_name(pattern).then(|| pattern.to_owned()))
        .collect()
}

/// Parses `y` or `n`.
pub(super) fn switch(value: &str) -> Option<bool> {
    match value {
        "y" => Some(true),
        "n" => Some(false),
        _ => None,
    }
}

/// Parses `10m` as 600 seconds.
pub(super) fn time(value: &str) -> Option<Duration> {
    let units = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000)];
    let millis = whole(value, &units)?;
    (1..=LONGEST)
        .contains(&millis)
        .then(|| Duration::from_millis(millis))
}

/// Parses `y`, `n`, or the time between two samples.
pub(super) fn wall(value: &str) -> Option<Option<Duration>> {
    if let Some(on) = switch(value) {
        return Some(on.then_some(WALL_DEFAULT));
    }
    let interval = time(value).filter(|&interval| interval <= WALL_LONGEST)?;
    Some(Some(interval))
}

/// Parses the length of a period, as a time or a size.
pub(super) fn rotate(value: &str) -> Option<Rotate> {
    let units = [("kb", 1 << 10), ("mb", 1 << 20), ("gb", 1 << 30)];
    let size = whole(&value.to_ascii_lowercase(), &units).filter(|&size| size > 0);
    size.map(Rotate::Bytes)
        .or_else(|| time(value).map(Rotate::Every))
}

/// Parses a whole number followed by one of these units.
fn whole(value: &str, units: &[(&str, u64)]) -> Option<u64> {
    let end = value.find(|letter: char| !letter.is_ascii_digit())?;
    let (digits, unit) = value.split_at(end);
    let (_, factor) = units.iter().find(|(name, _)| *name == unit)?;
    digits.parse::<u64>().ok()?.checked_mul(*factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_is_a_time_or_a_size() {
        let every = |millis| Some(Rotate::Every(Duration::from_millis(millis)));
        for (value, expected) in [
            ("500ms", every(500)),
            ("30s", every(30_000)),
            ("10m", every(600_000)),
            ("2h", every(7_200_000)),
            ("512kb", Some(Rotate::Bytes(512 << 10))),
            ("64MB", Some(Rotate::Bytes(64 << 20))),
            ("2gb", Some(Rotate::Bytes(2 << 30))),
            ("0s", None),
            ("0mb", None),
            ("64", None),
            ("m", None),
            ("-1s", None),
            ("1.5h", None),
            ("10M", None),
            ("99999999999h", None),
            ("18446744073709551615gb", None),
        ] {
            assert_eq!(rotate(value), expected, "{value}");
        }
    }
}
