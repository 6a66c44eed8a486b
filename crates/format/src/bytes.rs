//! Big-endian numbers at an offset in bytes, as in HPROF files and class files.
//!
//! Offsets need no alignment. Signed numbers and floats are obtained with `cast_signed` and `from_bits`.
//!
//! ```
//! use hprof_format::bytes::{read_u16_be, read_u32_be, write_u32_be};
//!
//! let mut record = [0x22, 0, 0, 0, 0];
//! write_u32_be(&mut record, 1, 0x0001_0203);
//! assert_eq!(record, [0x22, 0, 1, 2, 3]);
//! assert_eq!(read_u32_be(&record, 1), 0x0001_0203);
//! assert_eq!(read_u16_be(&record, 3), 0x0203);
//! ```

use crate::id_size::IdSize;

/// Returns a number of bytes of a file as one of bytes in memory. More than memory can have stay more than any buffer
/// has.
#[inline]
pub(crate) fn in_memory(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

/// Returns a number of bytes or rows for a field of 4 bytes; the largest one for what does not fit.
#[inline]
pub(crate) fn saturated(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Returns the two bytes at `at`.
///
/// # Panics
///
/// If `bytes` is too short.
#[inline]
#[must_use]
pub fn read_u16_be(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes(array(bytes, at))
}

/// Returns the four bytes at `at`.
///
/// # Panics
///
/// If `bytes` is too short.
#[inline]
#[must_use]
pub fn read_u32_be(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(array(bytes, at))
}

/// Returns the eight bytes at `at`.
///
/// # Panics
///
/// If `bytes` is too short.
#[inline]
#[must_use]
pub fn read_u64_be(bytes: &[u8], at: usize) -> u64 {
    u64::from_be_bytes(array(bytes, at))
}

/// Returns the id at `at`, of four or eight bytes; 0, which is null, if `bytes` is too short.
#[inline]
#[must_use]
pub fn read_id_be(bytes: &[u8], at: usize, id_size: IdSize) -> u64 {
    let rest = bytes.get(at..).unwrap_or_default();
    match id_size {
        IdSize::Four => rest
            .first_chunk()
            .map_or(0, |id| u32::from_be_bytes(*id).into()),
        IdSize::Eight => rest.first_chunk().map_or(0, |id| u64::from_be_bytes(*id)),
    }
}

/// Overwrites the four bytes at `at`.
///
/// # Panics
///
/// If `bytes` is too short.
#[inline]
pub fn write_u32_be(bytes: &mut [u8], at: usize, number: u32) {
    bytes[at..at + 4].copy_from_slice(&number.to_be_bytes());
}

/// Overwrites the eight bytes at `at`.
///
/// # Panics
///
/// If `bytes` is too short.
#[inline]
pub fn write_u64_be(bytes: &mut [u8], at: usize, number: u64) {
    bytes[at..at + 8].copy_from_slice(&number.to_be_bytes());
}

#[inline]
fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(&bytes[at..at + N]);
    array
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: [u8; 9] = [0xff, 1, 2, 3, 4, 5, 6, 7, 8];

    #[test]
    fn the_first_byte_is_the_highest() {
        assert_eq!(read_u16_be(&BYTES, 1), 0x0102);
        assert_eq!(read_u32_be(&BYTES, 1), 0x0102_0304);
        assert_eq!(read_u64_be(&BYTES, 1), 0x0102_0304_0506_0708);
        assert_eq!(read_id_be(&BYTES, 5, IdSize::Four), 0x0506_0708);
        assert_eq!(read_id_be(&BYTES, 1, IdSize::Eight), 0x0102_0304_0506_0708);
    }

    #[test]
    fn writing_touches_no_neighbour() {
        let mut bytes = BYTES;
        write_u32_be(&mut bytes, 2, 0x1112_1314);
        assert_eq!(bytes, [0xff, 1, 0x11, 0x12, 0x13, 0x14, 6, 7, 8]);
        write_u64_be(&mut bytes, 0, 1);
        assert_eq!(bytes, [0, 0, 0, 0, 0, 0, 0, 1, 8]);
    }

    #[test]
    fn an_id_that_is_cut_off_is_null() {
        assert_eq!(read_id_be(&BYTES, 2, IdSize::Eight), 0);
        assert_eq!(read_id_be(&BYTES, 6, IdSize::Four), 0);
        assert_eq!(read_id_be(&BYTES, 100, IdSize::Four), 0);
    }
}
