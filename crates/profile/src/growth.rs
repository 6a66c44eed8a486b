//! Sites whose objects pile up: each generation of them keeps surviving.

use hprof_format::CoursePoint;

use crate::metric::Metric;
use crate::model::{Course, History, LabelsId, Profile, SiteCourse, StackId};

/// The least time over which a site is judged, in milliseconds.
const LEAST_MILLIS: u64 = 5_000;
/// The fewest points from which it is judged: one from which it grows, and one in each third of the time.
const FEWEST_POINTS: usize = 4;
/// The number of points from which it is surely judged.
pub const MANY_POINTS: usize = 10;
/// The fewest objects by which it must have grown.
const FEWEST_OBJECTS: f64 = 8.0;
/// The least share of a straight line in what was alive: the coefficient of determination.
const STRAIGHT: f64 = 0.9;
/// The least part that each third of the time has in the growth, as a share of an equal part.
const EVERY_THIRD: f64 = 0.5;
/// The least share of what was alive some time ago that still is.
const SURVIVING: f64 = 0.75;
/// The share of what was made that has to stay where fewer survive: of a queue that is emptied too slowly, all that was there a
/// while ago may be gone.
const MOST_STAY: f64 = 0.5;
/// The times since which that is asked, in seconds, as far as the classes of ages tell.
const BOUNDARIES: [u64; 5] = [3_600, 600, 60, 10, 1];

/// A site that is suspected, with the evidence. Rates are those of the time that is judged.
#[derive(Clone, Copy, Debug)]
pub struct Growth {
    /// The stack of the site.
    pub stack: StackId,
    /// Its other labels, with the class.
    pub labels: LabelsId,
    /// The slope of the line: objects a minute.
    pub objects_per_minute: f64,
    /// The same in bytes, of objects of mean size.
    pub bytes_per_minute: f64,
    /// The share of the line in what was alive, from 0 to 1.
    pub straightness: f64,
    /// Objects made a minute.
    pub births_per_minute: f64,
    /// Objects that died a minute.
    pub deaths_per_minute: f64,
    /// Objects alive at the last look.
    pub live_objects: u64,
    /// Their age is at least this, in seconds, for the oldest of them.
    pub oldest_seconds: u64,
    /// The share that is still alive of what was alive `surviving_seconds` before the last look.
    pub surviving: f64,
    /// See `surviving`.
    pub surviving_seconds: u64,
}

/// The reason why nothing can be said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoGrowth {
    /// The file has no course.
    #[error("has no course over time, which heap=sites,lifetimes=y records")]
    NoCourse,
    /// The profile was too short, or had too few collections.
    #[error(
        "cannot tell growth yet: {looks} looks in {} s, at least {FEWEST_POINTS} in {} s are needed, each after a garbage collection",
        .millis / 1_000,
        LEAST_MILLIS / 1_000
    )]
    TooLittle {
        /// The number of points.
        looks: usize,
        /// The time between the first and the last.
        millis: u64,
    },
}

/// The part of a site's course that is judged: without its first quarter, in which caches fill and programs start.
struct Judged<'a> {
    site: &'a SiteCourse,
    /// Where it begins and ends, in milliseconds.
    begin: u64,
    end: u64,
    /// The time and the objects of each point: so many were alive then and at all later looks.
    kept: Vec<(f64, f64)>,
}

/// A straight line through points.
struct StraightLine {
    /// Objects a millisecond.
    slope: f64,
    straightness: f64,
}

/// What the courses of sites tell.
#[derive(Clone, Debug, Default)]
pub struct Judgement {
    /// The sites that are suspected, the fastest in bytes first.
    pub growing: Vec<Growth>,
    /// The number of sites with live objects that cannot be judged yet: they were looked at too seldom or for too short a
    /// time, or grew unevenly at few looks, or by few sampled objects.
    pub open: usize,
    /// The number of looks at all objects.
    pub looks: usize,
    /// `true` if allocations were sampled: sites of few and small objects may have no sample.
    pub is_estimated: bool,
}

/// Judges all sites.
///
/// # Errors
/// [`NoGrowth`], if the file does not have what it takes.
pub fn growth(profile: &Profile) -> Result<Judgement, NoGrowth> {
    let history = &profile.history;
    let course = history.course.as_ref().ok_or(NoGrowth::NoCourse)?;
    let (first, last) = (course.all.first(), course.all.last());
    let millis = match (first, last) {
        (Some(first), Some(last)) => last.millis.saturating_sub(first.millis),
        _ => 0,
    };
    let looks = course.all.len();
    if looks < FEWEST_POINTS || millis < LEAST_MILLIS {
        return Err(NoGrowth::TooLittle { looks, millis });
    }
    let is_estimated = profile
        .standard_error(Metric::AllocBytes)
        .is_some_and(|error| error > 0);
    let mut judgement = Judgement {
        looks,
        is_estimated,
        ..Judgement::default()
    };
    for site in &course.sites {
        match Judged::of(site, course) {
            Some(judged) => match judged.growth(history) {
                Some(growth) => judgement.growing.push(growth),
                // A busy machine, or a burst, makes a leak uneven; with more looks it would be straight, or stand still.
                None if judged.is_of_few() && judged.rises() => judgement.open += 1,
                // So does chance, where each sampled object stands for many.
                None if is_estimated && judged.rises_to_the_end() && judged.is_kept(history) => {
                    judgement.open += 1;
                }
                None => {}
            },
            None if site.is_alive() => judgement.open += 1,
            None => {}
        }
    }
    let growing = &mut judgement.growing;
    growing.sort_by(|a, b| b.bytes_per_minute.total_cmp(&a.bytes_per_minute));
    Ok(judgement)
}

impl SiteCourse {
    /// Returns `true` if its last look found objects alive.
    fn is_alive(&self) -> bool {
        self.points
            .last()
            .is_some_and(|last| last.fewest_objects > 0)
    }
}

/// Returns the point that was known at a time.
fn known_at(points: &[CoursePoint], millis: u64) -> Option<&CoursePoint> {
    let above = points.partition_point(|point| point.millis <= millis);
    points.get(above.checked_sub(1)?)
}

/// Returns the objects that were made between two looks.
fn births(first: &CoursePoint, last: &CoursePoint) -> f64 {
    let births = last.allocated_objects;
    births.saturating_sub(first.allocated_objects) as f64
}

/// Returns how many objects more a look found than an earlier one.
fn more(first: &CoursePoint, last: &CoursePoint) -> f64 {
    last.fewest_objects as f64 - first.fewest_objects as f64
}

impl<'a> Judged<'a> {
    fn of(site: &'a SiteCourse, course: &Course) -> Option<Judged<'a>> {
        let first = site.points.first()?.millis;
        let end = course.all.last()?.millis;
        let length = end.checked_sub(first)?;
        if length < LEAST_MILLIS || site.points.len() < FEWEST_POINTS {
            return None;
        }
        let begin = first + length / 4;
        let mut fewest = u64::MAX;
        let mut kept = Vec::with_capacity(site.points.len());
        for point in site.points.iter().rev() {
            fewest = fewest.min(point.fewest_objects);
            kept.push((point.millis as f64, fewest as f64));
        }
        kept.reverse();
        let before = site.points.partition_point(|point| point.millis < begin);
        // The one before shows what was alive at the beginning.
        kept.drain(..before.saturating_sub(1));
        let judged = Judged {
            site,
            begin,
            end,
            kept,
        };
        (!judged.is_of_few() || judged.has_a_look_in_each_third()).then_some(judged)
    }

    /// Returns `true` if the looks are so few that growth may look uneven by chance.
    fn is_of_few(&self) -> bool {
        self.site.points.len() < MANY_POINTS
    }

    /// Returns `true` if more was kept at each look than at the one before.
    fn rises(&self) -> bool {
        let (first, last) = (self.kept.first(), self.kept.last());
        let grown = last
            .zip(first)
            .map_or(0.0, |(last, first)| last.1 - first.1);
        grown >= FEWEST_OBJECTS && self.kept.windows(2).all(|pair| pair[0].1 < pair[1].1)
    }

    /// Returns `true` if more was kept in the last third than before, and in the time as a whole.
    fn rises_to_the_end(&self) -> bool {
        let [first, .., before, last] = self.kept_at_thirds();
        last - first >= FEWEST_OBJECTS && last > before
    }

    fn has_a_look_in_each_third(&self) -> bool {
        let (begin, third) = (self.begin as f64, (self.end - self.begin) as f64 / 3.0);
        [0.0, 1.0, 2.0].into_iter().all(|number| {
            let (from, to) = (begin + number * third, begin + (number + 1.0) * third);
            let mut looks = self.kept.iter();
            looks.any(|&(at, _)| from < at && at <= to)
        })
    }

    /// Returns what was kept at a time: between two looks, as if it had grown evenly.
    fn kept_at(&self, millis: f64) -> f64 {
        let above = self.kept.partition_point(|&(at, _)| at <= millis);
        let (begin, before) = self.kept[above.saturating_sub(1)];
        match self.kept.get(above) {
            Some(&(end, after)) if above > 0 => {
                before + (after - before) * (millis - begin) / (end - begin)
            }
            _ => before,
        }
    }

    /// Returns what was kept at the beginning, and at the end of each third.
    fn kept_at_thirds(&self) -> [f64; 4] {
        let (begin, length) = (self.begin as f64, (self.end - self.begin) as f64);
        [0.0, 1.0, 2.0, 3.0].map(|third| self.kept_at(begin + length * third / 3.0))
    }

    /// Returns what was kept at the last look up to a time.
    fn kept_before(&self, millis: f64) -> f64 {
        let above = self.kept.partition_point(|&(at, _)| at <= millis);
        let (_, objects) = self.kept[above.saturating_sub(1)];
        objects
    }

    fn growth(&self, history: &History) -> Option<Growth> {
        let at = self.kept_at_thirds();
        let grown = at[3] - at[0];
        let is_steady = at
            .windows(2)
            .all(|ends| ends[1] - ends[0] >= EVERY_THIRD * grown / 3.0);
        if grown < FEWEST_OBJECTS || !is_steady {
            return None;
        }
        let line = StraightLine::through(&self.kept)?;
        let (surviving_seconds, surviving) = self.surviving(history)?;
        let (first, last) = self.ends()?;
        let a_minute = 60_000.0 / (last.millis.checked_sub(first.millis)?.max(1)) as f64;
        let (births, more) = (births(first, last), more(first, last));
        if line.straightness < STRAIGHT || !self.is_kept(history) {
            return None;
        }
        let objects_per_minute = line.slope * 60_000.0;
        let mean = last.allocated_bytes as f64 / last.allocated_objects.max(1) as f64;
        Some(Growth {
            stack: self.site.stack,
            labels: self.site.labels,
            objects_per_minute,
            bytes_per_minute: objects_per_minute * mean,
            straightness: line.straightness,
            births_per_minute: births * a_minute,
            deaths_per_minute: (births - more).max(0.0) * a_minute,
            live_objects: last.fewest_objects,
            oldest_seconds: self.oldest(history),
            surviving,
            surviving_seconds,
        })
    }

    /// Returns what was known at the beginning, and at the last look.
    fn ends(&self) -> Option<(&CoursePoint, &CoursePoint)> {
        let points = &self.site.points;
        known_at(points, self.begin).zip(points.last())
    }

    /// Returns `true` if objects survive for long, or most of them stay.
    fn is_kept(&self, history: &History) -> bool {
        let survive = self.surviving(history);
        let survive = survive.is_some_and(|(_, surviving)| surviving >= SURVIVING);
        survive
            || self
                .ends()
                .is_some_and(|(first, last)| more(first, last) > MOST_STAY * births(first, last))
    }

    /// Returns the age in seconds that the oldest objects have at least.
    fn oldest(&self, history: &History) -> u64 {
        let ages = self.ages(history).map(|(seconds, _)| seconds);
        ages.max().unwrap_or_default()
    }

    /// Returns the live objects of the site with their least age in seconds.
    fn ages(&self, history: &History) -> impl Iterator<Item = (u64, u64)> {
        let site = (self.site.stack, self.site.labels);
        let ages = history.ages.iter();
        let ages = ages.filter(move |age| (age.stack, age.labels) == site);
        ages.filter_map(|age| Some((age.age?.least_seconds(), age.objects)))
    }

    /// Returns the longest time in seconds that is within what is judged, and the share of what was alive so long before the
    /// end that still is.
    fn surviving(&self, history: &History) -> Option<(u64, f64)> {
        let then = |seconds: u64| {
            let millis = self.end.checked_sub(seconds * 1_000)?;
            (millis >= self.begin).then_some(millis)
        };
        let (seconds, millis) = BOUNDARIES
            .into_iter()
            .find_map(|seconds| Some((seconds, then(seconds)?)))?;
        // What died soon after a look was alive at it, and is no sign of a queue.
        let before = self.kept_before(millis as f64);
        let old = self.ages(history).filter(|&(age, _)| age >= seconds);
        let still: u64 = old.map(|(_, objects)| objects).sum();
        Some((seconds, (still as f64 / before.max(1.0)).min(1.0)))
    }
}

impl StraightLine {
    /// Returns the line of least squares; `None` if all points are at one time or have one value.
    fn through(points: &[(f64, f64)]) -> Option<StraightLine> {
        let count = points.len() as f64;
        let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
        let (x_mean, y_mean) = (mean(|point| point.0), mean(|point| point.1));
        let (mut xx, mut xy, mut yy) = (0.0, 0.0, 0.0);
        for &(x, y) in points {
            let (x, y) = (x - x_mean, y - y_mean);
            xx += x * x;
            xy += x * y;
            yy += y * y;
        }
        (xx > 0.0 && yy > 0.0).then(|| StraightLine {
            slope: xy / xx,
            straightness: xy * xy / (xx * yy),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use hprof_format::{Age, StandardErrors};

    use super::*;
    use crate::model::SiteAge;

    /// A profile of 60 s with a look a second, at which so many objects were alive, of which so many are 10 s old at its end.
    fn found(live: impl Fn(u64) -> u64, old: u64) -> Vec<Growth> {
        found_by(1..=60, live, old)
    }

    /// The same with looks in these seconds.
    fn found_by(
        looks: impl Iterator<Item = u64>,
        live: impl Fn(u64) -> u64,
        old: u64,
    ) -> Vec<Growth> {
        judged_by(looks, live, old).growing
    }

    fn judged_by(
        looks: impl Iterator<Item = u64>,
        live: impl Fn(u64) -> u64,
        old: u64,
    ) -> Judgement {
        judged_of(looks, &live, |second| 2 * live(second), old)
    }

    /// The same with so many objects made by then.
    fn judged_of(
        looks: impl Iterator<Item = u64>,
        live: impl Fn(u64) -> u64,
        made: impl Fn(u64) -> u64,
        old: u64,
    ) -> Judgement {
        growth(&profile_of(looks, live, made, old)).expect("enough is known")
    }

    fn profile_of(
        looks: impl Iterator<Item = u64>,
        live: impl Fn(u64) -> u64,
        made: impl Fn(u64) -> u64,
        old: u64,
    ) -> Profile {
        let point = |second| CoursePoint {
            millis: 1_000 * second,
            collections: 1,
            most_bytes: 24 * live(second),
            fewest_objects: live(second),
            allocated_bytes: 24 * made(second),
            allocated_objects: made(second),
        };
        let points: Vec<CoursePoint> = looks.map(point).collect();
        let (stack, labels) = (StackId(0), LabelsId(0));
        let age = Duration::from_secs(11);
        Profile {
            history: History {
                peak: None,
                ages: vec![SiteAge {
                    stack,
                    labels,
                    age: Some(Age::between(age, age)),
                    bytes: 24 * old,
                    objects: old,
                }],
                course: Some(Course {
                    all: points.clone(),
                    sites: vec![SiteCourse {
                        stack,
                        labels,
                        points,
                    }],
                    ..Course::default()
                }),
                memory: Vec::new(),
            },
            ..Profile::default()
        }
    }

    #[test]
    fn what_grows_and_survives_is_suspected() {
        let found = found(|second| 1_000 + 10 * second, 1_490);
        let [found] = found[..] else {
            panic!("{found:?}");
        };
        assert!((found.objects_per_minute - 600.0).abs() < 1e-6);
        assert!((found.bytes_per_minute - 14_400.0).abs() < 1e-6);
        assert!((found.births_per_minute - 1_200.0).abs() < 1e-6);
        assert!((found.deaths_per_minute - 600.0).abs() < 1e-6);
        assert_eq!((found.live_objects, found.oldest_seconds), (1_600, 10));
        assert!(found.straightness > 0.999 && found.surviving > 0.99);
    }

    #[test]
    fn growth_alone_is_no_reason() {
        assert!(found(|second| 10 * second, 300).is_empty(), "others follow");
        assert!(found(|_| 20_000, 20_000).is_empty(), "full from the start");
        assert!(found(|second| 10 * second.min(30), 300).is_empty(), "full");
        assert!(found(|second| 10 * (second % 15), 0).is_empty(), "cleared");
        assert!(found(|second| second * second * second / 100, 1_250).is_empty());
        assert!(found(|second| if second < 60 { 10 * second } else { 40 }, 40).is_empty());
    }

    #[test]
    fn temporary_objects_do_not_hide_a_leak() {
        // Some looks find up to 200 objects that die soon after.
        let live = |second: u64| 10 * second + if second.is_multiple_of(3) { 0 } else { 200 };
        assert_eq!(found(live, 490).len(), 1);
    }

    /// Judges a profile in which each object is one of a hundred, and the number of sampled ones grows in these seconds.
    fn judged_of_samples(grows_in: &[u64], old: u64) -> Judgement {
        let live = |second| 100 * grows_in.iter().filter(|&&at| at <= second).count() as u64;
        let exact = profile_of(1..=60, live, |second| 5 * live(second), old);
        let is_open = growth(&exact).expect("enough is known").open > 0;
        assert!(!is_open, "many looks at all objects are sure");
        let profile = Profile {
            errors: Some(StandardErrors([1; 4])),
            ..exact
        };
        growth(&profile).expect("enough is known")
    }

    #[test]
    fn few_samples_tell_no_growth_from_chance() {
        let leaks = judged_of_samples(&[2, 9, 17, 25, 27, 29, 30, 31, 55], 800);
        assert_eq!((leaks.growing.len(), leaks.open), (0, 1));
        // A cache that is full, and a queue that is emptied.
        let stays = judged_of_samples(&[2, 9, 17, 25, 27, 29, 30, 31], 800);
        assert_eq!((stays.growing.len(), stays.open), (0, 0));
        let passes = judged_of_samples(&[2, 9, 17, 25, 27, 29, 30, 31, 55], 100);
        assert_eq!((passes.growing.len(), passes.open), (0, 0));
    }

    #[test]
    fn looks_may_be_far_between() {
        // The second third of the time begins and ends between the same two.
        let looks = (1..10).chain([14, 44, 60]);
        assert_eq!(found_by(looks, |second| 10 * second, 490).len(), 1);
    }

    #[test]
    fn a_look_in_each_third_is_enough() {
        let far_between = || [6, 12, 18, 24].into_iter();
        assert_eq!(found_by(far_between(), |second| 10 * second, 130).len(), 1);
        // It does not grow between the last two.
        let full = |second: u64| 10 * second.min(18);
        assert!(found_by(far_between(), full, 130).is_empty());
        // Nothing is known of the second third.
        let gap = [6, 12, 14, 24].into_iter();
        assert!(found_by(gap, |second| 10 * second, 130).is_empty());
    }

    #[test]
    fn a_queue_that_is_emptied_too_slowly_is_suspected() {
        // Ten are added a second, and the eldest are removed: none of those of the first minute is left.
        let every_half_minute = || [30, 60, 90, 120].into_iter();
        let of = |removed: u64| {
            let live = |second| (10 - removed) * second;
            judged_of(every_half_minute(), live, |second| 10 * second, 0).growing
        };
        let [found] = of(4)[..] else {
            panic!("{:?}", of(4));
        };
        assert!((found.objects_per_minute - 360.0).abs() < 1e-6);
        assert!(found.surviving < 1e-6);
        assert_eq!(found.surviving_seconds, 60);
        // Most of what comes goes: with more to do, it is longer for a while.
        assert!(of(6).is_empty());
    }

    #[test]
    fn uneven_growth_at_few_looks_is_open() {
        let few = || [6, 12, 18, 24].into_iter();
        let uneven = |second: u64| second * second * second;
        let judged = judged_by(few(), uneven, 1_000);
        assert_eq!((judged.growing.len(), judged.open), (0, 1));
        // It does not grow, or falls: no further look makes a leak of it.
        assert_eq!(judged_by(few(), |_| 500, 500).open, 0);
        assert_eq!(judged_by(few(), |second| 500 - second, 400).open, 0);
        let many = 1..=60;
        assert_eq!(judged_by(many, uneven, 1_000).open, 0);
    }

    #[test]
    fn little_is_not_judged() {
        assert_eq!(growth(&Profile::default()).err(), Some(NoGrowth::NoCourse));
        let history = History {
            memory: Vec::new(),
            course: Some(Course::default()),
            ..History::default()
        };
        let profile = Profile {
            history,
            ..Profile::default()
        };
        let refused = growth(&profile).err().map(|error| error.to_string());
        assert_eq!(
            refused.as_deref(),
            Some(
                "cannot tell growth yet: 0 looks in 0 s, at least 4 in 5 s are needed, each after a garbage collection"
            )
        );
    }
}
