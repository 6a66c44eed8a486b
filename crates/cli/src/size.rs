//! Sizes as users write them.

/// Parses `64m` as 67108864; `None` if it is no size, or too large.
pub fn parse(text: &str) -> Option<u64> {
    let factors = [('k', 1 << 10), ('m', 1 << 20), ('g', 1 << 30)];
    let lower = text.to_ascii_lowercase();
    let with_unit = factors
        .iter()
        .find_map(|&(unit, factor)| Some((lower.strip_suffix(unit)?, factor)));
    let (digits, factor) = with_unit.unwrap_or((&lower, 1));
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

/// Parses a limit of an option, which must be above 0.
pub fn bytes(text: &str) -> Result<u64, String> {
    parse(text)
        .filter(|&bytes| bytes > 0)
        .ok_or_else(|| "must be a number above 0, with an optional k, m or g".to_owned())
}
