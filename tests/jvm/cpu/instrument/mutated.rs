//! Real class files with faults in them: a result or an error, never a panic.

use std::fs;

use hprof_instrument::{instrument, round_trip};

use super::{class_files, hooks};
use crate::harness;

/// A generator of numbers that look random and are the same each time (xorshift).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end.max(1) as u64) as usize
    }
}

fn try_it(class: &[u8]) {
    let _ = round_trip(class);
    let mut count = 0;
    let _ = instrument(class, &hooks("java/lang/HprofTracker"), &mut |_, _| {
        // Numbers of every size.
        count = (count + 1) * 7 % 100_000;
        Some(count)
    });
}

#[test]
fn faults_in_real_classes_are_survived() {
    const FAULTY_COPIES: usize = 200;
    let mut numbers = Numbers(0x9E37_79B9_7F4A_7C15);
    for feature in ["instrument", "sites", "samples"] {
        for file in class_files(&harness::classes(feature)) {
            let class = fs::read(file).expect("a class file");
            for _ in 0..FAULTY_COPIES {
                let mut faulty = class.clone();
                for _ in 0..=numbers.below(4) {
                    let at = numbers.below(faulty.len());
                    faulty[at] = numbers.below(256) as u8;
                }
                try_it(&faulty);
                faulty.truncate(numbers.below(faulty.len()));
                try_it(&faulty);
            }
        }
    }
}
