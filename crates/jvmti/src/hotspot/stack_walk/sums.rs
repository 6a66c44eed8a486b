//! Hashes of sequences that can be computed from prefix sums: the hash of the innermost frames of a stack follows from
//! those of all frames and of the outer ones, however many there are.
//!
//! A sequence is the coefficients of a polynomial modulo a prime, and the hash its value at a point.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;

use super::MOST_FRAMES;

/// A prime, 2^61 - 1, for which a division is a shift.
const MODULUS: u64 = (1 << 61) - 1;
/// The point at which polynomials are evaluated.
const POINT: u64 = 0x0a3b_1d2f_9c5e_7843;
/// The exponents of [`POWERS`]; those above are multiples of this number.
const EXPONENTS: usize = 64;
/// The powers of the point with these exponents, and those with their multiples: two small tables instead of one of 32 KB.
static POWERS: [u64; EXPONENTS] = powers(POINT);
static POWERS_OF_MULTIPLES: [u64; MOST_FRAMES / EXPONENTS + 1] = powers(POINT_OF_MULTIPLES);
const POINT_OF_MULTIPLES: u64 = {
    let powers: [u64; EXPONENTS + 1] = powers(POINT);
    powers[EXPONENTS]
};

const fn powers<const COUNT: usize>(point: u64) -> [u64; COUNT] {
    let mut powers = [1; COUNT];
    let mut exponent = 1;
    while exponent < powers.len() {
        powers[exponent] = times(powers[exponent - 1], point);
        exponent += 1;
    }
    powers
}

/// Returns the power of the point, for a number of frames.
#[inline]
fn power(exponent: usize) -> u64 {
    times(
        POWERS[exponent % EXPONENTS],
        POWERS_OF_MULTIPLES[exponent / EXPONENTS],
    )
}

const fn reduced(value: u64) -> u64 {
    let value = (value & MODULUS) + (value >> 61);
    if value >= MODULUS {
        value - MODULUS
    } else {
        value
    }
}

const fn times(one: u64, other: u64) -> u64 {
    let product = one as u128 * other as u128;
    reduced((product & MODULUS as u128) as u64 + (product >> 61) as u64)
}

/// The description of a frame for naming it.
#[derive(Clone, Copy, Default)]
pub struct FrameKey {
    /// Equal for frames that stand for the same methods at the same positions.
    pub key: u64,
    /// The number of methods that the frame stands for, which may be inlined into each other; 0 for one that the VM
    /// does not show.
    pub methods: u16,
}

/// The hash of a sequence, to which numbers can be appended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SequenceHash(u64);

impl SequenceHash {
    /// Returns the hash of the sequence with one more number at its end.
    #[inline]
    #[must_use]
    pub fn with(self, next: u64) -> Self {
        Self(reduced(times(self.0, POINT) + reduced(next)))
    }

    /// Returns the hash of the sequence, which has `length` numbers, with one more before them.
    #[inline]
    fn preceded_by(self, first: u64, length: usize) -> Self {
        Self(reduced(self.0 + times(reduced(first), power(length))))
    }

    /// Returns the hash of the last `length` numbers, if `before` is the hash of the others.
    #[inline]
    fn without(self, before: Self, length: usize) -> Self {
        Self(reduced(self.0 + MODULUS - times(before.0, power(length))))
    }

    /// Returns the hash as a number.
    #[inline]
    pub fn number(self) -> u64 {
        self.0
    }
}

/// The sums over a number of frames.
#[derive(Clone, Copy, Default)]
pub(super) struct Sums {
    hash: SequenceHash,
    /// The number of frames that stand for methods.
    keys: u32,
    /// The number of methods they stand for.
    pub(super) methods: u32,
}

impl Sums {
    #[inline]
    pub(super) fn with(self, frame: FrameKey) -> Self {
        if frame.methods == 0 {
            return self;
        }
        Self {
            hash: self.hash.with(frame.key),
            keys: self.keys + 1,
            methods: self.methods + u32::from(frame.methods),
        }
    }

    /// Returns the sums with one more frame before the others.
    #[inline]
    pub(super) fn preceded_by(self, frame: FrameKey) -> Self {
        if frame.methods == 0 {
            return self;
        }
        Self {
            hash: self.hash.preceded_by(frame.key, self.keys as usize),
            keys: self.keys + 1,
            methods: self.methods + u32::from(frame.methods),
        }
    }

    /// Returns the key of these frames, of which the innermost `depth` methods are wanted.
    #[inline]
    pub(super) fn key(self, depth: usize) -> u64 {
        FixedState::default().hash_one((self.hash.0, depth))
    }

    /// Returns the same for the frames after those of `before`.
    #[inline]
    pub(super) fn key_after(self, before: Self, depth: usize) -> u64 {
        let keys = self.keys - before.keys;
        let hash = self.hash.without(before.hash, keys as usize);
        Self {
            hash,
            keys,
            methods: self.methods - before.methods,
        }
        .key(depth)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(keys: &[u64]) -> Sums {
        keys.iter().fold(Sums::default(), |sums, &key| {
            sums.with(FrameKey { key, methods: 2 })
        })
    }

    #[test]
    fn the_last_ones_have_their_key_whatever_stands_before_them() {
        let keys: Vec<u64> = (1..200_u64)
            .map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15))
            .collect();
        for cut in [0, 1, 50, 198] {
            let last = sums(&keys[cut..]).key(9);
            assert_eq!(sums(&keys).key_after(sums(&keys[..cut]), 9), last);
        }
        let one = sums(&keys[..50]).key(9);
        let mut swapped = keys[..50].to_vec();
        swapped.swap(3, 4);
        assert_ne!(sums(&swapped).key(9), one);
        assert_ne!(sums(&keys[..50]).key(8), one);
    }

    #[test]
    fn a_walk_from_the_innermost_frame_on_adds_up_to_the_same() {
        let keys: Vec<u64> = (1..20_u64).map(|n| u64::MAX / n).collect();
        for length in 0..keys.len() {
            let inward = sums(&keys[..length]);
            let outward = keys[..length]
                .iter()
                .rev()
                .fold(Sums::default(), |sums, &key| {
                    let hidden = FrameKey { key: 7, methods: 0 };
                    sums.preceded_by(hidden)
                        .preceded_by(FrameKey { key, methods: 2 })
                });
            assert_eq!(outward.key(9), inward.key(9), "{length}");
            assert_eq!(outward.methods, inward.methods);
        }
    }

    #[test]
    fn numbers_are_taken_modulo_the_prime() {
        assert_eq!(times(MODULUS - 1, MODULUS - 1), 1);
        assert_eq!(reduced(u64::MAX), 7);
        assert_eq!(reduced(MODULUS), 0);
    }

    #[test]
    fn every_number_of_frames_has_its_power() {
        let mut expected = 1;
        for exponent in 0..=MOST_FRAMES {
            assert_eq!(power(exponent), expected, "{exponent}");
            expected = times(expected, POINT);
        }
    }
}
