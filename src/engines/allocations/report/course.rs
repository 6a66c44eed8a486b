//! LIVE COURSE: what was alive over the time of the profile.

use hprof_format::{CourseRow, LiveCourse, Section};

use super::lifetimes::millis;
use crate::engines::allocations::liveness::ObjectAges;
use crate::engines::allocations::sites::Sites;
use output::{Journal, serials};

/// Writes the section.
pub(in super::super) fn course(journal: &Journal, sites: &Sites, ages: &ObjectAges) {
    // The memory for a row and its text.
    const ROW: usize = 256;
    let course = &ages.course;
    let of_sites: usize = course.sites.iter().map(|(_, points)| points.len()).sum();
    memory::need((course.all.len() + of_sites) * ROW);
    let all = course.all.iter();
    let mut rows: Vec<CourseRow> = all.map(|&point| CourseRow { site: None, point }).collect();
    for (site, points) in &course.sites {
        let key = sites.key(*site);
        let site = Some((serials::trace(key.trace), serials::class(key.class)));
        rows.extend(points.iter().map(|&point| CourseRow { site, point }));
    }
    let course_of_sites = LiveCourse {
        collections: ages.collections,
        millis: millis(ages.time),
        step: course.step,
        site_step: course.site_step,
        rows,
    };
    journal.entry(|entry| {
        for (site, _) in &course.sites {
            let key = sites.key(*site);
            entry.trace(key.trace);
            entry.class(key.class);
        }
        entry.section(&Section::Course(course_of_sites));
    });
}
