//! The page's data about time: the course of what was alive, the ages of what still is, and where the memory of the process was.

use std::cmp::Reverse;

use hprof_format::{Age, CoursePoint, MemoryLook};
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
    memory: Option<MemoryOfRun>,
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

/// Where the memory of the process was.
#[derive(Serialize)]
struct MemoryOfRun {
    /// The length of the run in milliseconds; 0 if unknown.
    millis: u64,
    /// The names of parts, the largest first. What is small is one.
    parts: Vec<String>,
    looks: Vec<LookOfRun>,
}

/// Milliseconds, the bytes of each part, and what counts against the cgroup's limit and that limit.
#[derive(Serialize)]
struct LookOfRun(u64, Vec<u64>, Option<(u64, u64)>);

/// The most parts that are shown, which have a colour each.
const MOST_PARTS: usize = 8;
const OTHER_PARTS: &str = "other parts";

impl MemoryOfRun {
    /// Returns the looks; `None` if there are none.
    fn of(looks: &[MemoryLook], millis: u64) -> Option<Self> {
        if looks.is_empty() {
            return None;
        }
        let resident = |look: &MemoryLook, name: &str| {
            let mut parts = look.parts.iter();
            let part = parts.find(|part| part.name == name);
            part.map_or(0, |part| part.resident)
        };
        let mut names: Vec<&str> = Vec::new();
        for part in looks.iter().flat_map(|look| &look.parts) {
            if !names.contains(&&*part.name) {
                names.push(&part.name);
            }
        }
        let most = |name: &&str| looks.iter().map(|look| resident(look, name)).max();
        names.sort_by_key(|name| Reverse(most(name)));
        let has_others = names.len() > MOST_PARTS;
        if has_others {
            names.truncate(MOST_PARTS - 1);
        }
        let row = |look: &MemoryLook| {
            let mut bytes: Vec<u64> = names.iter().map(|name| resident(look, name)).collect();
            if has_others {
                let shown: u64 = bytes.iter().sum();
                bytes.push(look.resident().saturating_sub(shown));
            }
            let after = u64::try_from(look.after.as_millis()).unwrap_or(u64::MAX);
            let limit = look.limit.map(|limit| (limit.used, limit.limit));
            LookOfRun(after, bytes, limit)
        };
        let rows = looks.iter().map(row).collect();
        let others = has_others.then_some(OTHER_PARTS);
        Some(Self {
            millis,
            looks: rows,
            parts: names.into_iter().chain(others).map(str::to_owned).collect(),
        })
    }
}

/// Returns the history of a profile; `None` if it has none. `age_keys` and `site_keys` are stack, thread + 1 and type + 1 of
/// its ages and of the sites in its course.
pub fn of(profile: &Profile, age_keys: &[[u32; 3]], site_keys: &[[u32; 3]]) -> Option<History> {
    let history = &profile.history;
    let memory = MemoryOfRun::of(&history.memory, profile.length / 1_000);
    if history.ages.is_empty() && history.course.is_none() && memory.is_none() {
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
        memory,
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use hprof_format::{MemoryLimit, MemoryPart};

    use super::*;

    fn look(seconds: u64, parts: &[(&str, u64)]) -> MemoryLook {
        let parts = parts.iter().map(|&(name, resident)| MemoryPart {
            name: name.to_owned(),
            resident,
        });
        MemoryLook {
            after: Duration::from_secs(seconds),
            parts: parts.collect(),
            limit: None,
        }
    }

    #[test]
    fn parts_are_in_the_order_of_what_they_have_had_most() {
        let mut second = look(2, &[("malloc", 50), ("Java heap", 30)]);
        second.limit = Some(MemoryLimit {
            used: 80,
            limit: 100,
        });
        let looks = [look(1, &[("Java heap", 40)]), second];
        let memory = MemoryOfRun::of(&looks, 3_000).expect("looks");
        assert_eq!(memory.parts, ["malloc", "Java heap"]);
        let rows = memory
            .looks
            .iter()
            .map(|LookOfRun(after, bytes, limit)| (*after, &bytes[..], *limit));
        let expected = [
            (1_000, &[0, 40][..], None),
            (2_000, &[50, 30][..], Some((80, 100))),
        ];
        assert!(rows.eq(expected));
        assert!(MemoryOfRun::of(&[], 3_000).is_none());
    }

    #[test]
    fn small_parts_are_one_and_the_sum_stays() {
        let names: Vec<String> = (0..12).map(|number| format!("part {number}")).collect();
        let parts = names.iter().map(String::as_str).zip(1..);
        let looks = [look(1, &parts.collect::<Vec<_>>())];
        let memory = MemoryOfRun::of(&looks, 0).expect("a look");
        assert_eq!(memory.parts.len(), MOST_PARTS);
        assert_eq!(memory.parts[0], "part 11");
        assert_eq!(memory.parts[MOST_PARTS - 1], OTHER_PARTS);
        assert_eq!(memory.looks[0].1.iter().sum::<u64>(), looks[0].resident());
    }
}
