//! A table whose rows become constants.

/// The rows of one type.
pub(super) trait Pool {
    /// Returns the number of rows.
    fn len(&self) -> usize;

    /// Writes each row's key and value.
    fn write(&self, out: &mut Vec<u8>);
}

/// Returns the key of the constant at a place: 0 stands for none.
pub(super) fn key(place: usize) -> u64 {
    place as u64 + 1
}
