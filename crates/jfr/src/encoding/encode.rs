//! Writes numbers and texts.

use crate::constants::{SEVEN_BIT_BYTES, text};

/// Adds an integer with a variable length.
pub(crate) fn long(out: &mut Vec<u8>, mut number: u64) {
    for _ in 0..SEVEN_BIT_BYTES {
        let low = number.to_le_bytes()[0] & 0x7F;
        number >>= 7;
        if number == 0 {
            out.push(low);
            return;
        }
        out.push(low | 0x80);
    }
    // Eight bits are left.
    out.push(number.to_le_bytes()[0]);
}

/// Adds an integer of 32 bits.
pub(crate) fn int(out: &mut Vec<u8>, number: i32) {
    long(out, number.cast_unsigned().into());
}

/// Adds a text.
pub(crate) fn text(out: &mut Vec<u8>, text: &str) {
    if text.is_empty() {
        return out.push(text::EMPTY);
    }
    out.push(text::UTF8);
    long(out, text.len() as u64);
    out.extend(text.as_bytes());
}

/// Adds an event: its size, which counts itself, its type and its content.
pub(crate) fn event(out: &mut Vec<u8>, kind: u64, content: &[u8]) {
    let mut head = Vec::new();
    long(&mut head, kind);
    let rest = (head.len() + content.len()) as u64;
    let mut size = Vec::new();
    loop {
        let length = size.len() as u64;
        size.clear();
        long(&mut size, rest + length);
        // One more byte for the size can make it a byte longer, and no more.
        if size.len() as u64 == length {
            break;
        }
    }
    out.extend(size);
    out.extend(head);
    out.extend(content);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::{Bytes, RawText};

    #[test]
    fn numbers_and_texts_are_read_as_they_were_written() {
        let numbers = [0, 1, 127, 128, 1 << 55, 1 << 56, 1 << 63, u64::MAX];
        let mut out = Vec::new();
        numbers.iter().for_each(|&number| long(&mut out, number));
        int(&mut out, -1);
        text(&mut out, "Zürich\u{1F600}");
        text(&mut out, "");
        let mut bytes = Bytes::new(&out, 0, true);
        for number in numbers {
            assert_eq!(bytes.long().expect("it is there"), number);
        }
        assert_eq!(bytes.int().expect("it is there"), 0xFFFF_FFFF);
        for expected in ["Zürich\u{1F600}", ""] {
            let found = bytes.text().expect("it is there");
            assert_eq!(found, RawText::Text(expected.into()));
        }
        assert_eq!(bytes.left(), 0);
        assert!(bytes.u8().is_err());
    }

    #[test]
    fn the_size_of_an_event_counts_itself() {
        for length in [0, 1, 124, 125, 126, 127, 16_379, 16_380, 16_381, 16_382] {
            let mut out = Vec::new();
            event(&mut out, 5, &vec![9; length]);
            let mut bytes = Bytes::new(&out, 0, true);
            let (kind, content) = bytes.event().expect("an event");
            assert_eq!((kind, content.left(), bytes.left()), (5, length, 0));
        }
    }
}
