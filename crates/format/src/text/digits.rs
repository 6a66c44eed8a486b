//! Numbers as text. A heap dump consists of little else, and `format!` takes several times as long.

use std::io::{self, Write};

/// Appends a number in hexadecimal.
#[inline]
pub(super) fn put_hex(out: &mut impl Write, value: u64) -> io::Result<()> {
    let mut digits = [0; 16];
    let mut rest = value;
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = b"0123456789abcdef"[(rest & 15) as usize];
        rest >>= 4;
        if rest == 0 {
            break;
        }
    }
    out.write_all(&digits[start..])
}

/// Appends a number in decimal.
#[inline]
pub(super) fn put_decimal(out: &mut impl Write, value: u64) -> io::Result<()> {
    out.write_all(itoa::Buffer::new().format(value).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_usual() {
        for value in [
            0,
            1,
            9,
            10,
            15,
            16,
            255,
            256,
            300_000,
            0x7f12_3456_789a,
            u64::MAX,
        ] {
            let mut out = Vec::new();
            put_hex(&mut out, value).expect("a Vec takes every write");
            out.push(b' ');
            put_decimal(&mut out, value).expect("a Vec takes every write");
            assert_eq!(out, format!("{value:x} {value}").into_bytes());
        }
    }
}
