//! The objects alive over time: SITE LIFETIMES and LIVE COURSE.

use hprof_format::{ClassSerial, Fate, Lifetimes, LiveCourse, TraceSerial};

use super::{Records, SITES};
use crate::metric::Metric;
use crate::model::{Course, LabelsId, SiteAge, SiteCourse, StackId};

const LIFETIMES: [Metric; 6] = [
    Metric::TemporaryBytes,
    Metric::TemporaryObjects,
    Metric::SurvivedBytes,
    Metric::SurvivedObjects,
    Metric::PeakBytes,
    Metric::PeakObjects,
];
/// LIVE COURSE has no metrics.
const COURSE: [Metric; 0] = [];

impl Records {
    pub(super) fn lifetimes(&mut self, lifetimes: &Lifetimes) {
        if !self.begin(&LIFETIMES) {
            return;
        }
        let sums = lifetimes.sums();
        let totals = sums.first().map_or([0; 6], |all| all.values);
        let rows = sums.into_iter().filter_map(|sums| {
            let (trace, class) = sums.site?;
            Some((trace, Some(class), sums.values))
        });
        self.table(LIFETIMES, totals, rows);
        let mut ages = Vec::new();
        for row in &lifetimes.rows {
            let age = match row.fate {
                Fate::Live(_, age) => Some(age),
                Fate::Before => None,
                _ => continue,
            };
            if let Some((trace, class)) = row.site {
                let (stack, labels) = self.site_key(trace, class);
                ages.push(SiteAge {
                    stack,
                    labels,
                    age,
                    bytes: row.bytes,
                    objects: row.objects,
                });
            }
        }
        self.profile.history.peak = lifetimes.peak;
        self.profile.history.ages = ages;
    }

    pub(super) fn course(&mut self, course: &LiveCourse) {
        if !self.begin(&COURSE) {
            return;
        }
        let mut taken = Course {
            collections: course.collections,
            millis: course.millis,
            step: course.step,
            site_step: course.site_step,
            ..Course::default()
        };
        let mut last = None;
        for row in &course.rows {
            match row.site {
                None => taken.all.push(row.point),
                Some((trace, class)) => {
                    if last != row.site {
                        let (stack, labels) = self.site_key(trace, class);
                        taken.sites.push(SiteCourse {
                            stack,
                            labels,
                            points: Vec::new(),
                        });
                    }
                    let site = taken.sites.last_mut();
                    site.into_iter()
                        .for_each(|site| site.points.push(row.point));
                }
            }
            last = row.site;
        }
        self.profile.history.course = Some(taken);
    }

    /// As [`Records::place`], of a site in SITE LIFETIMES or LIVE COURSE.
    fn site_key(&mut self, trace: TraceSerial, class: ClassSerial) -> (StackId, LabelsId) {
        let (stack, labels) = self.row_key(trace, Some(class));
        if !self.profile.stacks.frames(stack).is_empty() {
            return (stack, labels);
        }
        let stackless = match self.stackless_site {
            Some(stackless) => stackless,
            None => self.stackless(&SITES),
        };
        self.stackless_site = Some(stackless);
        (stackless, labels)
    }
}
