//! The live and the allocated bytes over the time of the profile.

use std::time::Duration;

use hprof_format::CoursePoint;
use memory::{List, Map, OrStop, Set};

use super::super::sites::{Amount, SiteId, Weight};

/// The most steps of the sum of all sites.
const STEPS: u64 = 2_048;
/// The most steps of a site.
const SITE_STEPS: u64 = 64;
/// The most sites whose course is kept.
const SITES: usize = 2_048;
/// The sites with most live bytes at any time that are reported.
const LARGEST: usize = 20;
/// The other sites that are reported: those that grew in most steps.
const GROWING: usize = 30;
/// A site that was given up comes back when it has grown by so many objects.
const COMES_BACK: u64 = 8;
/// The share of the time that looks may take: one in so many.
const SHARE: u32 = 50;

/// The course so far. Steps are joined and doubled as time passes, so that there are never more than their number.
pub(in super::super) struct Course {
    /// `every=`.
    every: Duration,
    /// The time of the next look.
    next: Duration,
    /// The time of the next point, if a look is made for another reason.
    next_point: Duration,
    all: Series,
    /// The length of a step, in milliseconds.
    step: u64,
    sites: Map<SiteId, Series>,
    site_step: u64,
    /// The first points of sites that were given up because there were too many.
    given_up: Map<SiteId, CoursePoint>,
}

/// The points of one course, at most one in each step.
#[derive(Clone, Default)]
struct Series(List<CoursePoint>);

/// The result of a look at all objects.
pub(in super::super) struct Look {
    /// The time since the profile began.
    pub(in super::super) time: Duration,
    /// The number of collections since then.
    pub(in super::super) collections: u32,
    /// Of each site with objects, those alive that have survived a collection, and those allocated since the profile began.
    pub(in super::super) sites: List<(SiteId, Weight, Weight)>,
}

/// The course as it is reported.
#[derive(Clone, Default)]
pub(in super::super) struct CourseReport {
    /// The length of a step, in milliseconds.
    pub(in super::super) step: u64,
    /// The same for sites.
    pub(in super::super) site_step: u64,
    pub(in super::super) all: List<CoursePoint>,
    pub(in super::super) sites: List<(SiteId, List<CoursePoint>)>,
}

impl Series {
    /// Adds a look after all others.
    fn add(&mut self, step: u64, point: CoursePoint) {
        match self.0.last_mut() {
            Some(last) if last.millis / step == point.millis / step => last.add(point),
            _ => self.0.push(point).or_stop(),
        }
    }

    /// Joins the points that are in one step now.
    fn join(&mut self, step: u64) {
        self.0.dedup_by(|later, earlier| {
            let is_one = later.millis / step == earlier.millis / step;
            if is_one {
                earlier.add(*later);
            }
            is_one
        });
    }

    /// Returns the number of steps in which it rose less those in which it fell.
    fn rises(&self) -> i64 {
        let pairs = self.0.windows(2);
        let changes = pairs.map(|pair| pair[1].fewest_objects.cmp(&pair[0].fewest_objects) as i64);
        changes.sum()
    }

    fn most_bytes(&self) -> u64 {
        let bytes = self.0.iter().map(|point| point.most_bytes);
        bytes.max().unwrap_or_default()
    }
}

impl Course {
    pub(in super::super) fn new(every: Duration) -> Self {
        let step = millis(every).max(1);
        Self {
            every,
            next: Duration::ZERO,
            next_point: Duration::ZERO,
            all: Series::default(),
            step,
            sites: Map::default(),
            site_step: step,
            given_up: Map::default(),
        }
    }

    /// Returns the same without what has been seen.
    pub(in super::super) fn restarted(&self) -> Self {
        Self::new(self.every)
    }

    /// Returns `true` if it is time for a look.
    pub(in super::super) fn is_due(&self, now: Duration) -> bool {
        now >= self.next
    }

    /// Returns `true` if a look that is made for another reason is worth a point.
    pub(in super::super) fn is_worth_a_point(&self, now: Duration) -> bool {
        now >= self.next_point
    }

    /// Notes that a look took so long: the next one waits until it has been a small share of the time.
    pub(in super::super) fn took(&mut self, now: Duration, cost: Duration) {
        self.next = now + self.every.max(cost * SHARE);
        self.next_point = now + self.every;
    }

    /// Adds a look.
    pub(in super::super) fn take(&mut self, look: &Look) {
        let point = |live: Weight, allocated: Weight| {
            let (live, allocated) = (Amount::from(live), Amount::from(allocated));
            CoursePoint {
                millis: millis(look.time),
                collections: look.collections,
                most_bytes: live.bytes,
                fewest_objects: live.instances,
                allocated_bytes: allocated.bytes,
                allocated_objects: allocated.instances,
            }
        };
        let before = self.all.0.last().map(|last| CoursePoint {
            millis: last.millis,
            collections: last.collections,
            ..CoursePoint::default()
        });
        self.lengthen(millis(look.time));
        let (mut live_sum, mut allocated_sum) = (Weight::default(), Weight::default());
        for &(site, live, allocated) in &look.sites {
            live_sum += live;
            allocated_sum += allocated;
            let now = point(live, allocated);
            if let Some(series) = self.sites.get_mut(&site) {
                series.add(self.site_step, now);
                continue;
            }
            // None of the objects of a new site was alive at the look before.
            let first = match self.given_up.get(&site) {
                Some(first) if now.fewest_objects < first.fewest_objects + COMES_BACK => continue,
                Some(&first) => Some(first),
                None if live.instances == 0 => continue,
                None => before,
            };
            let mut series = Series::default();
            if let Some(first) = first {
                series.add(self.site_step, first);
            }
            series.add(self.site_step, now);
            self.sites.insert(site, series).or_stop();
        }
        self.all.add(self.step, point(live_sum, allocated_sum));
        self.limit_sites();
    }

    /// Doubles the steps until there are few enough up to this time.
    fn lengthen(&mut self, millis: u64) {
        while millis / self.step >= STEPS {
            self.step = self.step.saturating_mul(2);
            self.all.join(self.step);
        }
        while millis / self.site_step >= SITE_STEPS {
            self.site_step = self.site_step.saturating_mul(2);
            for series in self.sites.values_mut() {
                series.join(self.site_step);
            }
        }
    }

    /// Gives up half of the sites if there are too many: those with fewest bytes of those that grow least.
    fn limit_sites(&mut self) {
        if self.sites.len() <= SITES {
            return;
        }
        let kept: Set<SiteId> = Set::collect(self.best(LARGEST, SITES / 2)).or_stop();
        let given_up = &mut self.given_up;
        self.sites.retain(|site, series| {
            let is_kept = kept.contains(site);
            if let (false, Some(&first)) = (is_kept, series.0.first()) {
                given_up.insert(*site, first).or_stop();
            }
            is_kept
        });
    }

    /// Returns the sites with most live bytes, and then those of the others that grew in most steps.
    fn best(&self, largest: usize, growing: usize) -> Vec<SiteId> {
        let ranked = self.sites.iter();
        let ranked = ranked.map(|(&site, series)| (site, series.most_bytes(), series.rises()));
        let mut ranked = List::collect(ranked).or_stop().into_vec();
        // Those of the same size come in the order of the sites.
        memory::sort_by_numbers(&mut ranked, |&(site, ..)| [site.index() as u64, 0]);
        memory::sort_by_numbers(&mut ranked, |&(_, bytes, _)| [!bytes, 0]);
        let mut others = ranked.split_off(largest.min(ranked.len()));
        let fewest = |rises: i64| (i64::MAX / 2 - rises).cast_unsigned();
        memory::sort_by_numbers(&mut others, |&(.., rises)| [fewest(rises), 0]);
        others.truncate(growing);
        ranked.extend(others);
        ranked.into_iter().map(|(site, ..)| site).collect()
    }

    /// Returns the course of the whole and of the sites that are worth a report.
    pub(in super::super) fn report(&self) -> CourseReport {
        let copy = |series: &Series| List::collect(series.0.iter().copied()).or_stop();
        let best = self.best(LARGEST, GROWING).into_iter();
        let sites = best.filter_map(|site| Some((site, copy(self.sites.get(&site)?))));
        CourseReport {
            step: self.step,
            site_step: self.site_step,
            all: copy(&self.all),
            sites: List::collect(sites).or_stop(),
        }
    }
}

fn millis(time: Duration) -> u64 {
    time.as_millis().try_into().unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(number: u32) -> SiteId {
        SiteId::of_bits(number)
    }

    fn look(millis: u64, sites: &[(u32, u64)]) -> Look {
        let weight = |objects: u64| Weight {
            instances: objects * Weight::ONE,
            bytes: 24 * objects,
        };
        let sites = sites.iter();
        let sites =
            sites.map(|&(number, objects)| (site(number), weight(objects), weight(2 * objects)));
        Look {
            time: Duration::from_millis(millis),
            collections: 1,
            sites: List::collect(sites).expect("little"),
        }
    }

    #[test]
    fn a_run_of_a_month_keeps_few_points() {
        let mut course = Course::new(Duration::from_secs(10));
        let month = 30 * 24 * 360;
        for look_number in 1..=month {
            course.take(&look(look_number * 10_000, &[(1, look_number), (2, 7)]));
        }
        let report = course.report();
        assert!(report.all.len() as u64 <= STEPS && report.all.len() as u64 > STEPS / 2);
        assert_eq!(report.sites[0].0, site(1));
        let points = &report.sites[0].1;
        assert!(points.len() as u64 <= SITE_STEPS && points.len() as u64 > SITE_STEPS / 2);
        let ends = [&report.all, points].map(|points| points.last().map(|last| last.millis));
        assert_eq!(ends, [Some(month * 10_000); 2]);
        assert!(
            points
                .windows(2)
                .all(|pair| pair[0].fewest_objects < pair[1].fewest_objects)
        );
        assert_eq!(points.last().map(|last| last.most_bytes), Some(24 * month));
    }

    #[test]
    fn a_site_begins_with_nothing_at_the_look_before() {
        let mut course = Course::new(Duration::from_millis(100));
        course.take(&look(110, &[(1, 5)]));
        course.take(&look(150, &[(1, 5), (2, 3)]));
        course.take(&look(260, &[(1, 4), (2, 0)]));
        let report = course.report();
        let of = |number| {
            let found = report.sites.iter().find(|(of, _)| *of == site(number));
            let points = found.map(|(_, points)| points.iter());
            let values =
                |point: &CoursePoint| (point.millis, point.most_bytes, point.fewest_objects);
            points.map(|points| points.map(values).collect::<Vec<_>>())
        };
        assert_eq!(of(1), Some(vec![(150, 120, 5), (260, 96, 4)]));
        assert_eq!(of(2), Some(vec![(150, 72, 0), (260, 0, 0)]));
    }

    #[test]
    fn a_slow_leak_is_kept_among_many_sites() {
        let mut course = Course::new(Duration::from_millis(100));
        for step in 1..40_u64 {
            let flat = (2..3_000).map(|number| (number, 1_000));
            let sites: Vec<(u32, u64)> = std::iter::once((1, step)).chain(flat).collect();
            course.take(&look(step * 100, &sites));
        }
        assert!(course.sites.len() <= SITES);
        let report = course.report();
        assert_eq!(report.sites.len(), LARGEST + GROWING);
        assert!(report.sites.iter().any(|(of, _)| *of == site(1)));
    }

    #[test]
    fn looks_take_a_small_share_of_the_time() {
        let mut course = Course::new(Duration::from_millis(100));
        let at = Duration::from_millis;
        course.took(at(1_000), at(1));
        assert!(!course.is_due(at(1_099)) && course.is_due(at(1_100)));
        course.took(at(2_000), at(40));
        assert!(!course.is_due(at(3_999)) && course.is_due(at(4_000)));
        assert!(!course.is_worth_a_point(at(2_099)) && course.is_worth_a_point(at(2_100)));
    }
}
