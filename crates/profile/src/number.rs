//! Positions as the numbers of 32 bits that ids hold.

/// Returns the number of the item at a position.
///
/// # Panics
/// From the 2^32nd item on, whose number would be another's. So many need more than 32 GB of memory.
pub(crate) fn number(position: usize) -> u32 {
    u32::try_from(position).expect("fewer than 2^32 items of a kind")
}
