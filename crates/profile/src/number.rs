//! Positions as the numbers of 32 bits that ids hold, and numbers as people read them.

/// Returns the number of the item at a position.
///
/// # Panics
/// From the 2^32nd item on, whose number would be another's. So many need more than 32 GB of memory.
pub(crate) fn number(position: usize) -> u32 {
    u32::try_from(position).expect("fewer than 2^32 items of a kind")
}

/// Returns `1,234,567`.
#[must_use]
pub fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
