//! The growth of a value over time, with its interval of confidence, and when the value reaches a limit.
//!
//! Of values whose deviations from a straight line are independent, the line of least squares is taken. Their number is reduced
//! by the correlation of neighbouring residuals (as in Santer et al., 2000, who judge trends of temperatures so). A resident set
//! that grows in steps, or a program on a busy machine, leaves too few such values. Then the differences from one slice of the time
//! to the next are taken instead: they are independent even in a random walk, and where they are not, the interval is too wide
//! and not too narrow.

use std::ops::RangeInclusive;

/// The fewest values from which growth is judged; for a line of least squares the fewest independent ones, and their least share.
const FEWEST: usize = 6;
const FEWEST_INDEPENDENT: f64 = 4.0;
const INDEPENDENT_SHARE: f64 = 1.0 / 3.0;
/// The slices of the time, if there are as many values, and the fewest of them that must have values.
const SLICES: u64 = 10;
const FEWEST_SLICES: usize = 6;
/// The shortest time that is judged, in milliseconds.
const SHORTEST: u64 = 10_000;
/// The part of the time at its beginning that is left out: programs start, and caches fill.
const LEFT_OUT: u64 = 4;
/// The quantiles of Student's t for 95 %, by the degrees of freedom from 1 on.
const T: [f64; 9] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262,
];

/// A value at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// The moment, in milliseconds.
    pub time: u64,
    /// The value.
    pub bytes: u64,
}

/// The growth that points show.
#[derive(Clone, Debug, PartialEq)]
pub enum Trend {
    /// They are too few, they may be equal but for chance, or their growth has changed.
    Unknown {
        /// The number of points.
        points: usize,
        /// The time from the first to the last, in milliseconds.
        millis: u64,
    },
    /// The value grows.
    Grows {
        /// Bytes a millisecond, at least and at most, with a confidence of 95 %. Both are positive.
        rate: RangeInclusive<f64>,
        /// The value on the line at the last point.
        now: f64,
    },
}

/// A line through points.
struct Line {
    slope: f64,
    /// Half of the width of the interval.
    error: f64,
    /// The value at the last point.
    end: f64,
}

impl Line {
    fn through(points: &[Point]) -> Option<Self> {
        let (first, last) = (points.first()?, points.last()?);
        let count = points.len() as f64;
        let x = |point: &Point| (point.time - first.time) as f64;
        let mean = |value: &dyn Fn(&Point) -> f64| points.iter().map(value).sum::<f64>() / count;
        let (x_mean, y_mean) = (mean(&x), mean(&|point| point.bytes as f64));
        let sum = |value: &dyn Fn(f64, f64) -> f64| -> f64 {
            let values = points
                .iter()
                .map(|point| value(x(point) - x_mean, point.bytes as f64 - y_mean));
            values.sum()
        };
        let xx = sum(&|x, _| x * x);
        if xx <= 0.0 {
            return None;
        }
        let slope = sum(&|x, y| x * y) / xx;
        let residual = |point: &Point| point.bytes as f64 - y_mean - slope * (x(point) - x_mean);
        let residuals: Vec<f64> = points.iter().map(residual).collect();
        let independent = independent(&residuals);
        if independent < FEWEST_INDEPENDENT.max(count * INDEPENDENT_SHARE) {
            return None;
        }
        let squares: f64 = residuals.iter().map(|residual| residual * residual).sum();
        let freedom = independent - 2.0;
        let deviation = (squares / freedom / xx).sqrt();
        Some(Self {
            slope,
            error: student(freedom) * deviation,
            end: y_mean + slope * (x(last) - x_mean),
        })
    }

    /// Returns the mean growth from slice to slice; `None` if it becomes ever less.
    fn of_slices(points: &[Point]) -> Option<Self> {
        let slices = slices(points);
        if slices.len() < FEWEST_SLICES {
            return None;
        }
        let rates: Vec<f64> = slices
            .windows(2)
            .map(|pair| (pair[1].1 - pair[0].1) / (pair[1].0 - pair[0].0))
            .collect();
        let count = rates.len() as f64;
        let (first, last) = (slices.first()?, slices.last()?);
        let slope = (last.1 - first.1) / (last.0 - first.0);
        let squares: f64 = rates.iter().map(|rate| (rate - slope).powi(2)).sum();
        let freedom = count - 1.0;
        let error = student(freedom) * (squares / freedom / count).sqrt();
        if slows_down(&rates) {
            return None;
        }
        let rest = points.last()?.time as f64 - last.0;
        Some(Self {
            slope,
            error,
            end: last.1 + slope * rest,
        })
    }

    fn least(&self) -> f64 {
        self.slope - self.error
    }

    fn most(&self) -> f64 {
        self.slope + self.error
    }
}

/// Returns the time and the value of the last point of each slice of the time that has some. (Means would be alike in a random walk.)
fn slices(points: &[Point]) -> Vec<(f64, f64)> {
    let Some((first, last)) = points.first().zip(points.last()) else {
        return Vec::new();
    };
    let length = last.time - first.time;
    let number =
        |point: &Point| ((point.time - first.time) * SLICES / length.max(1)).min(SLICES - 1);
    let of_slices = points.chunk_by(|one, next| number(one) == number(next));
    let ends = of_slices.filter_map(<[Point]>::last);
    ends.map(|point| (point.time as f64, point.bytes as f64))
        .collect()
}

/// Returns `true` if rates fall from one to the next, with the confidence of everything here.
fn slows_down(rates: &[f64]) -> bool {
    let count = rates.len() as f64;
    let middle = (count - 1.0) / 2.0;
    let mean = rates.iter().sum::<f64>() / count;
    let sum = |value: &dyn Fn(f64, f64) -> f64| -> f64 {
        let values = rates.iter().enumerate();
        values
            .map(|(number, rate)| value(number as f64 - middle, rate - mean))
            .sum()
    };
    let xx = sum(&|x, _| x * x);
    let slope = sum(&|x, y| x * y) / xx;
    let freedom = count - 2.0;
    let error = (sum(&|x, y| (y - slope * x).powi(2)) / freedom / xx).sqrt();
    slope + student(freedom) * error < 0.0
}

/// Returns the number of independent values among residuals.
fn independent(residuals: &[f64]) -> f64 {
    let count = residuals.len() as f64;
    let squares: f64 = residuals.iter().map(|residual| residual * residual).sum();
    if squares <= 0.0 {
        return count;
    }
    let products: f64 = residuals.windows(2).map(|pair| pair[0] * pair[1]).sum();
    let correlation = products / squares;
    // Residuals of a line seem less alike than they are (Kendall's bias).
    let correlation = correlation + (1.0 + 4.0 * correlation) / count;
    let correlation = correlation.clamp(0.0, 0.999);
    count * (1.0 - correlation) / (1.0 + correlation)
}

/// Returns the quantile of Student's t for 95 %, for less freedom if it is no whole number.
fn student(freedom: f64) -> f64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "not negative; a count"
    )]
    let whole = freedom.max(1.0) as usize;
    let by_table = T.get(whole - 1).copied();
    by_table.unwrap_or(1.96 + 2.4 / freedom + 2.8 / (freedom * freedom))
}

/// Judges the growth of a value. The points are in the order of time.
#[must_use]
pub fn trend(points: &[Point]) -> Trend {
    let ends = points.first().zip(points.last());
    let millis = ends.map_or(0, |(first, last)| last.time.saturating_sub(first.time));
    let unknown = Trend::Unknown {
        points: points.len(),
        millis,
    };
    let since = |past: u64| {
        let begin = ends.map_or(0, |(first, _)| first.time) + past;
        &points[points.partition_point(|point| point.time < begin)..]
    };
    let (judged, second_half) = (since(millis / LEFT_OUT), since(millis * 5 / 8));
    if millis < SHORTEST || judged.len() < FEWEST {
        return unknown;
    }
    let line = match Line::through(judged) {
        // What fills up grows ever more slowly.
        Some(whole) => {
            let half = Line::through(second_half);
            let goes_on = half.is_none_or(|half| half.most() >= whole.least() && half.slope > 0.0);
            goes_on.then_some(whole)
        }
        None => Line::of_slices(judged),
    };
    let Some(whole) = line else {
        return unknown;
    };
    match whole.least() > 0.0 {
        true => Trend::Grows {
            rate: whole.least()..=whole.most(),
            now: whole.end,
        },
        false => unknown,
    }
}

impl Trend {
    /// Returns the time until so many more bytes are there, in milliseconds, at least and at most; `None` if it does not grow.
    #[must_use]
    pub fn millis_until(&self, more: f64) -> Option<RangeInclusive<f64>> {
        let Trend::Grows { rate, .. } = self else {
            return None;
        };
        let more = more.max(0.0);
        Some(more / rate.end()..=more / rate.start())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: f64 = 1e6;

    /// Numbers that look random, evenly from -1 to 1.
    struct Chance(u64);

    impl Chance {
        fn next(&mut self) -> f64 {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
        }
    }

    /// A point a second.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "sizes of a test"
    )]
    fn points(count: u64, mut value: impl FnMut(u64) -> f64) -> Vec<Point> {
        let point = |second| Point {
            time: 1_000_000 + 1_000 * second,
            bytes: value(second) as u64,
        };
        (0..count).map(point).collect()
    }

    #[test]
    fn a_line_is_told_exactly() {
        let line = points(60, |second| 100.0 * MB + 2.0 * MB * second as f64);
        let Trend::Grows { rate, now } = trend(&line) else {
            panic!("it grows");
        };
        // 2 MB a second.
        assert!((rate.start() - 2_000.0).abs() < 1.0 && (rate.end() - 2_000.0).abs() < 1.0);
        assert!((now - 218.0 * MB).abs() < MB);
        let left = trend(&line).millis_until(200.0 * MB).expect("it grows");
        assert!((left.start() - 100_000.0).abs() < 100.0, "{left:?}");
    }

    #[test]
    fn the_interval_has_the_truth_19_times_in_20() {
        let mut chance = Chance(1);
        let (mut told, mut right) = (0, 0);
        for _ in 0..400 {
            let noisy = points(60, |second| {
                100.0 * MB + MB * second as f64 + 10.0 * MB * chance.next()
            });
            if let Trend::Grows { rate, .. } = trend(&noisy) {
                told += 1;
                right += u32::from(rate.contains(&1_000.0));
            }
        }
        assert!(told > 390, "{told}");
        assert!(right * 100 >= told * 93, "{right} of {told}");
        // With what is left over, the interval is not needlessly wide either.
        assert!(right < told, "{right} of {told}");
    }

    #[test]
    fn a_value_that_stays_is_seldom_said_to_grow() {
        let mut chance = Chance(2);
        let grows = |trend: Trend| matches!(trend, Trend::Grows { .. });
        let noise = (0..400).filter(|_| {
            grows(trend(&points(60, |_| {
                100.0 * MB + 10.0 * MB * chance.next()
            })))
        });
        // 2.5 % of the intervals are above 0 by chance.
        let noise = noise.count();
        assert!(noise <= 16, "{noise}");
        let mut chance = Chance(3);
        let walks = (0..400).filter(|_| {
            let mut at = 500.0 * MB;
            grows(trend(&points(120, |_| {
                at += MB * chance.next();
                at
            })))
        });
        let walks = walks.count();
        assert!(walks <= 40, "{walks}");
    }

    #[test]
    fn what_fills_up_does_not_grow_for_ever() {
        let filling = |second: u64| 500.0 * MB * (1.0 - (-(second as f64) / 15.0).exp());
        assert!(matches!(trend(&points(60, filling)), Trend::Unknown { .. }));
        let full = |second: u64| 100.0 * MB + 5.0 * MB * second.min(30) as f64;
        assert!(matches!(trend(&points(60, full)), Trend::Unknown { .. }));
        let falls = |second: u64| 500.0 * MB - MB * second as f64;
        assert!(matches!(trend(&points(60, falls)), Trend::Unknown { .. }));
        assert!(matches!(
            trend(&points(60, |_| 7.0 * MB)),
            Trend::Unknown { .. }
        ));
    }

    #[test]
    fn a_walk_that_goes_upwards_grows() {
        let mut chance = Chance(5);
        let (mut told, mut right) = (0, 0);
        for _ in 0..400 {
            let mut at = 500.0 * MB;
            let walk = points(120, |_| {
                at += MB + 2.0 * MB * chance.next();
                at
            });
            if let Trend::Grows { rate, .. } = trend(&walk) {
                told += 1;
                right += u32::from(rate.contains(&1_000.0));
            }
        }
        assert!(told > 350, "{told}");
        assert!(right * 100 >= told * 92, "{right} of {told}");
        // A few looks at what grows evenly are enough.
        let few = points(10, |second| 100.0 * MB + MB * (5 * second) as f64);
        let few: Vec<Point> = few
            .iter()
            .map(|point| Point {
                time: 5 * point.time,
                ..*point
            })
            .collect();
        assert!(matches!(trend(&few), Trend::Grows { .. }));
    }

    #[test]
    fn little_is_not_judged() {
        let line = |second: u64| MB * second as f64;
        assert_eq!(
            trend(&[]),
            Trend::Unknown {
                points: 0,
                millis: 0
            }
        );
        assert_eq!(
            trend(&points(7, line)),
            Trend::Unknown {
                points: 7,
                millis: 6_000
            }
        );
        let few: Vec<Point> = points(60, line).into_iter().step_by(12).collect();
        assert_eq!(
            trend(&few),
            Trend::Unknown {
                points: 5,
                millis: 48_000
            }
        );
        assert_eq!(
            trend(&[few[0]; 9]),
            Trend::Unknown {
                points: 9,
                millis: 0
            }
        );
    }

    #[test]
    fn growth_in_steps_has_a_wider_interval() {
        let mut chance = Chance(4);
        let smooth = points(120, |second| {
            MB * (100 + second) as f64 + 2.0 * MB * chance.next()
        });
        let steps = points(120, |second| MB * (100 + second / 20 * 20) as f64);
        let width = |points: &[Point]| match trend(points) {
            Trend::Grows { rate, .. } => rate.end() - rate.start(),
            Trend::Unknown { .. } => f64::INFINITY,
        };
        assert!(
            width(&steps) > 3.0 * width(&smooth),
            "{} {}",
            width(&steps),
            width(&smooth)
        );
    }
}
