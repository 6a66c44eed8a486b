//! The page's data about time: the course of what was alive, and the ages of what still is.

use hprof_format::{Age, CoursePoint};
use hprof_profile::{Growth, Profile, growth};
use serde::Serialize;

use crate::growth::{evidence, outlook};

/// The history of a run.
#[derive(Serialize)]
pub struct History {
    /// The collection after which most bytes were alive: its number, and the time in milliseconds.
    peak: Option<(u32, u64)>,
    /// For each site and age: stack, thread + 1, type + 1, the class of the age, bytes. The last class is that of objects from
    /// before the profile.
    ages: Vec<(u32, u32, u32, usize, u64)>,
    course: Option<CourseOfRun>,
}

/// The course. Times are in milliseconds.
#[derive(Serialize)]
struct CourseOfRun {
    collections: u32,
    millis: u64,
    step: u64,
    site_step: u64,
    /// When the heap is full, or how fast all live objects grow.
    outlook: Option<String>,
    all: Vec<Values>,
    sites: Vec<SiteOfRun>,
}

/// Time, collections, most bytes, fewest objects, allocated bytes and objects.
type Values = (u64, u32, u64, u64, u64, u64);

#[derive(Serialize)]
struct SiteOfRun {
    stack: u32,
    #[serde(rename = "type")]
    class: u32,
    points: Vec<Values>,
    /// The evidence, if its objects pile up.
    suspected: Option<String>,
}

/// Returns the history of a profile; `None` if it has none. `age_keys` and `site_keys` are stack, thread + 1 and type + 1 of
/// its ages and of the sites in its course.
pub fn of(profile: &Profile, age_keys: &[[u32; 3]], site_keys: &[[u32; 3]]) -> Option<History> {
    let history = &profile.history;
    if history.ages.is_empty() && history.course.is_none() {
        return None;
    }
    let ages = history.ages.iter().zip(age_keys);
    let ages = ages.map(|(age, &[stack, thread, class])| {
        let of_age = age.age.map_or(Age::CLASSES, Age::least_class);
        (stack, thread, class, of_age, age.bytes)
    });
    let suspected = growth(profile).unwrap_or_default().growing;
    let course = history.course.as_ref().map(|course| CourseOfRun {
        collections: course.collections,
        millis: course.millis,
        step: course.step,
        site_step: course.site_step,
        outlook: outlook(profile, course),
        all: course.all.iter().map(values).collect(),
        sites: course
            .sites
            .iter()
            .zip(site_keys)
            .map(|(site, &[stack, _, class])| {
                let is_this =
                    |found: &&Growth| (found.stack, found.labels) == (site.stack, site.labels);
                SiteOfRun {
                    stack,
                    class,
                    points: site.points.iter().map(values).collect(),
                    suspected: suspected.iter().find(is_this).map(evidence),
                }
            })
            .collect(),
    });
    Some(History {
        peak: history.peak.map(|peak| (peak.collection, peak.millis)),
        ages: ages.collect(),
        course,
    })
}

fn values(point: &CoursePoint) -> Values {
    (
        point.millis,
        point.collections,
        point.most_bytes,
        point.fewest_objects,
        point.allocated_bytes,
        point.allocated_objects,
    )
}
