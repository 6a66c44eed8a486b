//! Numbers with 7 bits a byte, the lowest first. Every byte but the last has its highest bit set.

/// Returns the number at a byte, and moves `at` after it. Where the bytes end within a number, the rest of it is taken
/// for zeros, and none has more than ten: they may be those of a damaged index.
#[inline]
pub(crate) fn read(bytes: &[u8], at: &mut usize) -> u64 {
    let mut next = || {
        let byte = bytes.get(*at).copied().unwrap_or_default();
        *at = at.wrapping_add(1);
        byte
    };
    let first = next();
    if first < 0x80 {
        return first.into();
    }
    let (mut number, mut shift) = (u64::from(first & 0x7f), 7_u32);
    while shift < u64::BITS {
        let byte = next();
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            break;
        }
        shift += 7;
    }
    number
}

/// Adds a number to the end.
#[inline]
pub(crate) fn write(mut number: u64, bytes: &mut Vec<u8>) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Writes a number at a byte, and moves `at` after it.
#[inline]
pub(crate) fn put(mut number: u64, bytes: &mut [u8], at: &mut usize) {
    while number >= 0x80 {
        bytes[*at] = number as u8 | 0x80;
        *at += 1;
        number >>= 7;
    }
    bytes[*at] = number as u8;
    *at += 1;
}

/// Moves the sign into the lowest bit, so that small numbers take few bytes whatever their sign.
#[inline]
pub(crate) fn fold(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)) as u64
}

/// Returns the number that [`fold`] has folded.
#[inline]
pub(crate) fn unfold(folded: u64) -> i64 {
    (folded >> 1) as i64 ^ -((folded & 1) as i64)
}

/// Returns the bytes that a number takes.
#[inline]
pub(crate) fn width(number: u64) -> u64 {
    u64::from((u64::BITS - (number | 1).leading_zeros()).div_ceil(7))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_all_widths_are_read_as_they_were_written() {
        let mut bytes = Vec::new();
        let numbers: Vec<u64> = (0..64)
            .flat_map(|shift| [(1 << shift) - 1, 1 << shift])
            .chain([u64::MAX])
            .collect();
        for &number in &numbers {
            let before = bytes.len();
            write(number, &mut bytes);
            assert_eq!((bytes.len() - before) as u64, width(number), "{number}");
            let mut one = [0; 10];
            let mut after = 0;
            put(number, &mut one, &mut after);
            assert_eq!(one[..after], bytes[before..]);
        }
        let mut at = 0;
        for number in numbers {
            assert_eq!(read(&bytes, &mut at), number);
        }
        assert_eq!(at, bytes.len());
    }

    #[test]
    fn what_is_no_number_ends_nevertheless() {
        let (endless, mut at) = ([0xff; 40], 0);
        read(&endless, &mut at);
        assert_eq!(at, 10);
        at = 39;
        assert_eq!((read(&endless, &mut at), at), (0x7f, 41));
        for after in [41, usize::MAX] {
            at = after;
            assert_eq!(read(&endless, &mut at), 0);
        }
    }

    #[test]
    fn a_folded_number_is_found_again() {
        for number in [0, 1, -1, 63, -64, i64::MAX, i64::MIN] {
            assert_eq!(unfold(fold(number)), number);
        }
        assert_eq!([0, -1, 1, -2].map(fold), [0, 1, 2, 3]);
    }
}
