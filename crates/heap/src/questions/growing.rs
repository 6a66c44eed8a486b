//! Sites whose objects pile up: of all times, as many of the objects that were made then are still alive.

use std::sync::Arc;
use std::time::Duration;

use foldhash::HashMap;
use serde::Serialize;

use crate::data::births::Births;
use crate::data::dominators::{Node, Step, TOP};
use crate::data::error::Error;
use crate::data::heap::Heap;
use crate::data::numbers::SiteIndex;

/// The parts into which the time of the profile is divided.
const PARTS: usize = 64;
/// The first part that is judged: caches fill and programs start before it.
const FIRST: usize = PARTS / 4;
/// The parts of a third of the time that is judged. After the last third, objects that are in use for a short time are alive.
const THIRD: usize = 15;
/// The least time that is judged.
pub(crate) const LEAST: Duration = Duration::from_secs(5);
/// The fewest objects by which a site must have grown.
const FEWEST: f64 = 8.0;
/// The least part that each third has in the growth, as a share of an equal part.
const EVERY_THIRD: f64 = 0.5;
/// The least share of a straight line in the growth: the coefficient of determination.
const STRAIGHT: f64 = 0.9;
/// The most suspects that are added because their objects pile up.
const MOST: usize = 5;

/// The evidence that the objects of a site pile up.
#[derive(Clone, Debug, Serialize)]
pub struct Piling {
    /// The class of the objects.
    pub class: Arc<str>,
    /// Those that are alive.
    pub objects: u64,
    /// Those made in a minute that stay.
    pub objects_per_minute: f64,
    /// The share of a straight line in their growth, from 0 to 1.
    pub straightness: f64,
}

/// The sites that grow.
#[derive(Default)]
pub(crate) struct GrowingSites(HashMap<SiteIndex, GrowingSite>);

struct GrowingSite {
    piling: Piling,
    /// The objects below suspects that were found by their size and keep mostly what piles up.
    covered: u64,
}

/// Objects of one site that pile up, of which none is below another.
pub(crate) struct Pile {
    pub(crate) nodes: Vec<Node>,
    pub(crate) own: u64,
    pub(crate) piling: Piling,
}

/// The live objects of a site, by the part of the time in which they were made.
struct Made([u64; PARTS]);

impl GrowingSites {
    /// Returns the evidence if most of the bytes that a suspect keeps pile up, given the objects and bytes of each site. These
    /// sites need no suspect of their own.
    pub(crate) fn below(&mut self, sites: &HashMap<SiteIndex, (u64, u64)>) -> Option<Piling> {
        let all: u64 = sites.values().map(|&(_, shallow)| shallow).sum();
        let growing = sites.iter().filter(|(site, _)| self.0.contains_key(site));
        let growing: Vec<(u64, SiteIndex)> = growing
            .map(|(&site, &(_, shallow))| (shallow, site))
            .collect();
        if growing.iter().map(|&(shallow, _)| shallow).sum::<u64>() * 2 < all {
            return None;
        }
        for &(_, site) in &growing {
            if let (Some(found), Some((objects, _))) = (self.0.get_mut(&site), sites.get(&site)) {
                found.covered += objects;
            }
        }
        let &(_, largest) = growing.iter().max()?;
        Some(self.0.get(&largest)?.piling.clone())
    }
}

impl Made {
    /// Returns the slope in objects a part, and the share of a straight line, if they grow evenly.
    fn line(&self) -> Option<(f64, f64)> {
        let mut sum = 0.0;
        let judged = &self.0[FIRST..FIRST + 3 * THIRD];
        let kept: Vec<f64> = judged
            .iter()
            .map(|&made| {
                sum += made as f64;
                sum
            })
            .collect();
        let thirds = judged.chunks(THIRD).map(|third| third.iter().sum::<u64>());
        let is_steady = thirds
            .into_iter()
            .all(|third| third as f64 >= EVERY_THIRD * sum / 3.0);
        if sum < FEWEST || !is_steady {
            return None;
        }
        let count = kept.len() as f64;
        let (x_mean, y_mean) = ((count - 1.0) / 2.0, kept.iter().sum::<f64>() / count);
        let (mut xx, mut xy, mut yy) = (0.0, 0.0, 0.0);
        for (part, kept) in kept.into_iter().enumerate() {
            let (x, y) = (part as f64 - x_mean, kept - y_mean);
            xx += x * x;
            xy += x * y;
            yy += y * y;
        }
        let straightness = xy * xy / (xx * yy);
        (straightness >= STRAIGHT).then_some((xy / xx, straightness))
    }
}

impl Heap<'_> {
    /// Returns the sites whose live objects pile up, as far as their births tell. What cleared references keep is going.
    pub(crate) fn growing_sites(&self, births: &Births) -> Result<GrowingSites, Error> {
        let whole = births.time();
        let (least, part) = (LEAST.as_millis(), whole.as_millis() / PARTS as u128);
        if whole.as_millis() < least || part == 0 {
            return Ok(GrowingSites::default());
        }
        let mut made: HashMap<SiteIndex, Made> = HashMap::default();
        let going = self.light_references(TOP)?.cleared(self);
        for (node, object) in self.dominators.all() {
            if going.contains(node.0 as usize) {
                continue;
            }
            let Some(since) = births.since(self.objects.ids.id(object)) else {
                continue;
            };
            let born = whole.saturating_sub((since.least + since.most) / 2);
            let at = (born.as_millis() / part).min(PARTS as u128 - 1) as usize;
            let site = made.entry(self.objects.site(object));
            site.or_insert(Made([0; PARTS])).0[at] += 1;
        }
        let a_minute = 60_000.0 / part as f64;
        let growing = made.into_iter().filter_map(|(site, made)| {
            let (slope, straightness) = made.line()?;
            let class = self.objects.sites.get(site).class;
            let piling = Piling {
                class: Arc::clone(&self.classes.get(class).name),
                objects: made.0.iter().sum(),
                objects_per_minute: slope * a_minute,
                straightness,
            };
            Some((site, GrowingSite { piling, covered: 0 }))
        });
        Ok(GrowingSites(growing.collect()))
    }

    /// Returns the sites that grow elsewhere than below suspects that were found by their size, those that retain most
    /// first, and the number of those that are left out. Objects that others which pile up retain count with these.
    pub(crate) fn piles(&self, growing: GrowingSites) -> (Vec<Pile>, u64) {
        let is_open = |site: &GrowingSite| site.covered * 2 < site.piling.objects;
        let mut piles: HashMap<SiteIndex, (Pile, u64)> = growing
            .0
            .into_iter()
            .filter(|(_, site)| is_open(site))
            .map(|(index, site)| {
                let pile = Pile {
                    nodes: Vec::new(),
                    own: 0,
                    piling: site.piling,
                };
                (index, (pile, 0))
            })
            .collect();
        if piles.is_empty() {
            return (Vec::new(), 0);
        }
        let mut outer: Option<SiteIndex> = None;
        let mut open = 0_u32;
        self.dominators.walk(TOP, |step| match step {
            Step::Enter(TOP, _) | Step::Leave(TOP, _) => {}
            Step::Enter(node, object) => {
                let site = self.objects.site(object);
                let Some((pile, inner)) = piles.get_mut(&site) else {
                    return;
                };
                open += 1;
                if open == 1 {
                    outer = Some(site);
                    pile.nodes.push(node);
                    pile.own += self.retained_of(object).unwrap_or_default();
                } else if outer != Some(site) {
                    *inner += 1;
                }
            }
            Step::Leave(_, object) => {
                let site = self.objects.site(object);
                open -= u32::from(piles.contains_key(&site));
            }
        });
        let piles = piles.into_iter().filter(|(_, (pile, inner))| {
            !pile.nodes.is_empty() && *inner * 2 <= pile.piling.objects
        });
        let mut piles: Vec<(SiteIndex, Pile)> =
            piles.map(|(site, (pile, _))| (site, pile)).collect();
        piles.sort_by_key(|(site, pile)| (std::cmp::Reverse(pile.own), *site));
        let left_out = piles.len().saturating_sub(MOST) as u64;
        piles.truncate(MOST);
        let mut piles: Vec<Pile> = piles.into_iter().map(|(_, pile)| pile).collect();
        for pile in &mut piles {
            let largest = |node: &Node| (std::cmp::Reverse(self.retained(*node)), *node);
            pile.nodes.sort_by_key(largest);
        }
        (piles, left_out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(made: impl Fn(usize) -> u64) -> Option<(f64, f64)> {
        Made(std::array::from_fn(made)).line()
    }

    #[test]
    fn as_many_of_each_time_are_a_leak() {
        let (slope, straightness) = line(|_| 3).expect("a leak");
        assert!((slope - 3.0).abs() < 1e-9 && straightness > 0.999_999);
        assert!(line(|part| 40 * u64::from(part.is_multiple_of(6))).is_some());
    }

    #[test]
    fn other_survivors_are_none() {
        assert!(
            line(|part| if part < 2 { 5_000 } else { 0 }).is_none(),
            "full from the start"
        );
        assert!(
            line(|part| if part > 60 { 900 } else { 0 }).is_none(),
            "in use for a short time"
        );
        assert!(
            line(|part| u64::from(part < 32)).is_none(),
            "it has stopped"
        );
        assert!(
            line(|part| u64::from(part >= 40)).is_none(),
            "it was emptied"
        );
        assert!(line(|part| 1 << (part / 4)).is_none(), "most die in time");
        assert!(
            line(|part| u64::from(part.is_multiple_of(8))).is_none(),
            "few"
        );
        assert!(line(|_| 0).is_none());
    }
}
