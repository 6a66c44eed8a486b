//! Undoes the wrap of the time field.

use crate::encode::Micros;

/// The value at which the time field wraps, in microseconds: 71.6 minutes.
const WRAP: u64 = 1 << 32;

/// The most that a record's time may be before that of the previous record because their threads raced to the file.
/// Only matters around a wrap, where such a step back looks like 71 minutes of silence.
const JITTER: u32 = 60_000_000;

/// Turns the times of consecutive records into times that do not wrap.
///
/// A step back of more than 2^31 microseconds is a wrap; a shorter one is a step back. A silence of more than 71.6
/// minutes leaves no trace in a file, so later times come out too early by that much.
#[derive(Debug, Default)]
pub(crate) struct Clock {
    wraps: u64,
    last: u32,
}

impl Clock {
    pub(crate) fn read(&mut self, time: u32) -> Micros {
        if time < self.last && self.last - time > 1 << 31 {
            self.wraps += 1;
        } else if time > self.last && self.last.wrapping_sub(time) <= JITTER {
            // Before the first wrap there is no earlier time to step back to: it must be a silence.
            self.wraps = self.wraps.saturating_sub(1);
        }
        self.last = time;
        Micros(self.wraps * WRAP + u64::from(time))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all(times: &[u32]) -> Vec<u64> {
        let mut clock = Clock::default();
        times.iter().map(|&time| clock.read(time).0).collect()
    }

    #[test]
    fn a_large_step_back_is_a_wrap() {
        assert_eq!(
            read_all(&[10, u32::MAX, 5, 0x9000_0000, 7]),
            [10, WRAP - 1, WRAP + 5, WRAP + 0x9000_0000, 2 * WRAP + 7]
        );
    }

    #[test]
    fn a_step_back_of_exactly_half_the_range_is_none() {
        assert_eq!(read_all(&[1 << 31, 0]), [1 << 31, 0]);
        assert_eq!(read_all(&[(1 << 31) + 1, 0]), [(1 << 31) + 1, WRAP]);
    }

    #[test]
    fn jitter_is_no_wrap() {
        assert_eq!(read_all(&[1_000, 990, 1_010]), [1_000, 990, 1_010]);
    }

    #[test]
    fn jitter_across_a_wrap_goes_back_and_forth() {
        assert_eq!(
            read_all(&[u32::MAX - 9, 3, u32::MAX - 4, 8]),
            [WRAP - 10, WRAP + 3, WRAP - 5, WRAP + 8]
        );
    }

    #[test]
    fn a_first_time_near_the_end_of_the_range_is_kept() {
        assert_eq!(read_all(&[u32::MAX - 4]), [WRAP - 5]);
    }

    #[test]
    fn a_silence_after_a_wrap_is_not_taken_for_jitter() {
        assert_eq!(
            read_all(&[u32::MAX, 0, 0xF000_0000]),
            [WRAP - 1, WRAP, WRAP + 0xF000_0000]
        );
    }
}
