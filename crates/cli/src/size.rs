//! Sizes as users write them.

/// Parses `64m` as 67108864.
pub fn bytes(text: &str) -> Result<u64, String> {
    let factors = [('k', 1 << 10), ('m', 1 << 20), ('g', 1 << 30)];
    let lower = text.to_ascii_lowercase();
    let unit = factors.iter().find(|(unit, _)| lower.ends_with(*unit));
    let (digits, factor) = match unit {
        Some(&(unit, factor)) => (lower.trim_end_matches(unit), factor),
        None => (lower.as_str(), 1_u64),
    };
    let bytes = digits.parse::<u64>().ok();
    let bytes = bytes.and_then(|bytes| bytes.checked_mul(factor));
    bytes
        .filter(|&bytes| bytes > 0)
        .ok_or_else(|| "must be a number above 0, k, m or g may stand behind it".to_owned())
}
