//! Pseudonyms of the content of arrays: of the same length, equal for equal content, and without anything of it.

use std::hash::Hasher;

use siphasher::sip128::{Hash128, Hasher128, SipHasher24};

use crate::record::BasicType;

/// The letters of pseudonyms. Their number is a power of 2, so that bits choose one without a division.
const LETTERS: &[u8; 64] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";

/// The secret of one run. Whoever has it can try contents until a pseudonym fits, so it is kept nowhere.
#[derive(Clone)]
pub struct RedactKey(SipHasher24);

impl RedactKey {
    /// Makes a key of random bytes.
    #[must_use]
    pub fn new(bytes: &[u8; 16]) -> RedactKey {
        RedactKey(SipHasher24::new_with_key(bytes))
    }
}

/// The pseudonym of one array, whose content may come in pieces.
///
/// The letters of a piece depend on all content up to its end, and on nothing else: equal arrays have equal pseudonyms,
/// without an array ever being held whole.
#[derive(Clone, Debug)]
pub(super) struct Pseudonym {
    element: BasicType,
    before: u128,
}

impl Pseudonym {
    pub(super) fn new(element: BasicType) -> Pseudonym {
        Pseudonym { element, before: 0 }
    }

    pub(super) fn element(&self) -> BasicType {
        self.element
    }

    /// Puts the pseudonym in the place of the next piece of content. Zeros alone stay: they are what a new array holds.
    pub(super) fn replace(&mut self, piece: &mut [u8], key: &RedactKey) {
        if piece.iter().all(|&byte| byte == 0) {
            return;
        }
        let mut hasher = key.0;
        hasher.write_u128(self.before);
        hasher.write_u8(self.element as u8);
        hasher.write(piece);
        let Hash128 { h1, h2 } = hasher.finish128();
        self.before = (u128::from(h1) << 64) | u128::from(h2);
        let mut bits = Bits { state: [h1, h2] };
        for eight in piece.chunks_mut(8) {
            let random = bits.next().to_le_bytes();
            match self.element {
                BasicType::Boolean => replace_booleans(eight, random),
                BasicType::Char => replace_chars(eight, random),
                _ => replace_bytes(eight, random),
            }
        }
    }
}

fn replace_booleans(bytes: &mut [u8], random: [u8; 8]) {
    for (byte, random) in bytes.iter_mut().zip(random) {
        *byte = random & 1;
    }
}

/// Latin letters, each in two bytes.
fn replace_chars(bytes: &mut [u8], random: [u8; 8]) {
    for (char, random) in bytes.chunks_mut(2).zip(random) {
        if let [high, low] = char {
            *high = 0;
            *low = another_letter(*low, random);
        }
    }
}

fn replace_bytes(bytes: &mut [u8], random: [u8; 8]) {
    for (byte, random) in bytes.iter_mut().zip(random) {
        *byte = another_letter(*byte, random);
    }
}

/// Returns a letter that is not the original one, so that a comparison with the original finds nothing of it.
fn another_letter(original: u8, random: u8) -> u8 {
    let letter = |number: u8| LETTERS[usize::from(number % 64)];
    let chosen = letter(random);
    match chosen == original {
        true => letter(random.wrapping_add(1)),
        false => chosen,
    }
}

/// The hash, drawn out to any length. It is secret no longer, only what it was made of is.
struct Bits {
    state: [u64; 2],
}

impl Bits {
    /// xoroshiro128+ by Blackman and Vigna, which passes the usual tests of randomness in its high bits.
    fn next(&mut self) -> u64 {
        let [one, mut other] = self.state;
        let drawn = one.wrapping_add(other);
        other ^= one;
        self.state = [
            one.rotate_left(24) ^ other ^ (other << 16),
            other.rotate_left(37),
        ];
        drawn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pseudonym(element: BasicType, content: &[u8], piece: usize) -> Vec<u8> {
        let key = RedactKey::new(b"sixteen bytes...");
        let mut made = content.to_vec();
        let mut pseudonym = Pseudonym::new(element);
        for piece in made.chunks_mut(piece) {
            pseudonym.replace(piece, &key);
        }
        made
    }

    #[test]
    fn equal_content_has_equal_pseudonyms_and_other_content_others() {
        let one = pseudonym(BasicType::Byte, b"correct horse", 100);
        assert_eq!(one, pseudonym(BasicType::Byte, b"correct horse", 100));
        assert_ne!(one, pseudonym(BasicType::Byte, b"correct house", 100));
        assert_ne!(one, pseudonym(BasicType::Long, b"correct horse", 100));
        let other_key = RedactKey::new(b"another 16 bytes");
        let mut other = b"correct horse".to_vec();
        Pseudonym::new(BasicType::Byte).replace(&mut other, &other_key);
        assert_ne!(one, other);
    }

    #[test]
    fn no_byte_of_the_original_stays_at_its_place() {
        for letter in 1..=255_u8 {
            let original = vec![letter; 4096];
            for element in [BasicType::Byte, BasicType::Int, BasicType::Char] {
                let made = pseudonym(element, &original, 1000);
                assert_eq!(made.len(), original.len());
                assert!(
                    made.iter().all(|&byte| byte != letter),
                    "{letter} {element:?}"
                );
            }
        }
    }

    #[test]
    fn values_stay_possible() {
        let chars = pseudonym(BasicType::Char, "Zürich 東京".repeat(9).as_bytes(), 16);
        assert!(
            chars
                .chunks(2)
                .all(|char| char[0] == 0 && LETTERS.contains(&char[1]))
        );
        let booleans = pseudonym(BasicType::Boolean, &[1; 1000], 32);
        assert!(booleans.iter().all(|&value| value < 2));
        assert!(booleans.contains(&0) && booleans.contains(&1));
        assert_eq!(pseudonym(BasicType::Byte, &[0; 100], 100), [0; 100]);
    }

    #[test]
    fn a_later_piece_depends_on_those_before() {
        let one = pseudonym(BasicType::Byte, b"AAAAAAAAsame end", 8);
        let other = pseudonym(BasicType::Byte, b"BBBBBBBBsame end", 8);
        assert_ne!(one[8..], other[8..]);
    }
}
