//! SITE LIFETIMES: how long the objects of each site lived, and how old the live ones are.

use std::collections::BTreeMap;
use std::time::Duration;

use hprof_format::{Fate, LifetimeRow, Lifetimes, Peak, Section, Survived};
use memory::{Map, OrStop, Set};

use super::sections::{SitesRequest, Unseen};
use crate::engines::allocations::lifetimes::Deaths;
use crate::engines::allocations::liveness::ObjectAges;
use crate::engines::allocations::sites::{Amount, SiteId, SiteKey, Sites, Weight};
use crate::engines::folding::is_small;
use names::trace::TraceId;
use output::{Journal, serials};

/// The objects of a site, by their fate.
type Fates = BTreeMap<Fate, Amount>;

/// Writes the section. Sites are left out as in ALLOC SITES, unless their course is reported.
pub(in super::super) fn lifetimes(
    journal: &Journal,
    sites: &Sites,
    ages: &ObjectAges,
    unseen: &[Unseen],
    request: SitesRequest,
) {
    let by_site = by_site(sites, ages, unseen);
    let mut all = Fates::new();
    for (&fate, &amount) in by_site.values().flatten() {
        add(&mut all, fate, amount);
    }
    let totals = columns(&all);
    // What grows may be small.
    let with_course = ages.course.sites.iter();
    let with_course = with_course.map(|(site, _)| sites.key(*site));
    let has_course = Set::<SiteKey>::collect(with_course).or_stop();
    let mut listed: Vec<_> = by_site
        .into_iter()
        .filter(|(key, fates)| {
            has_course.contains(key) || !is_small(&columns(fates), &totals, request.cutoff)
        })
        .collect();
    memory::sort_by_numbers(&mut listed, |(key, _)| {
        [key.trace.index().into(), key.class.index().into()]
    });
    memory::sort_by_numbers(&mut listed, |(_, fates)| {
        let kinds = fates.iter().filter(|(fate, _)| **fate != Fate::Peak);
        let bytes: u64 = kinds.map(|(_, amount)| amount.bytes).sum();
        [!bytes, 0]
    });
    let mut rows: Vec<_> = rows(None, &all).collect();
    for (key, fates) in &listed {
        let site = (serials::trace(key.trace), serials::class(key.class));
        rows.extend(self::rows(Some(site), fates));
    }
    let lifetimes = Lifetimes {
        collections: ages.collections,
        millis: millis(ages.time),
        peak: ages.peak.as_ref().map(|peak| Peak {
            collection: peak.collections,
            millis: millis(peak.time),
        }),
        rows,
    };
    journal.entry(|entry| {
        for (key, _) in &listed {
            entry.trace(key.trace);
            entry.class(key.class);
        }
        entry.section(&Section::Lifetimes(lifetimes));
    });
}

pub(super) fn millis(time: Duration) -> u64 {
    time.as_millis().try_into().unwrap_or(u64::MAX)
}

fn rows(
    site: Option<(hprof_format::TraceSerial, hprof_format::ClassSerial)>,
    fates: &Fates,
) -> impl Iterator<Item = LifetimeRow> {
    fates.iter().map(move |(&fate, amount)| LifetimeRow {
        site,
        fate,
        bytes: amount.bytes,
        objects: amount.instances,
    })
}

fn by_site(sites: &Sites, ages: &ObjectAges, unseen: &[Unseen]) -> Map<SiteKey, Fates> {
    // The memory for the fates, the rows and the text.
    const SITE: usize = 1_024;
    memory::need((sites.count() + unseen.len()) * SITE);
    let mut by_site = Map::<SiteKey, Fates>::default();
    let mut add_at = |key, fate, amount: Amount| {
        if amount != Amount::default() {
            add(by_site.get_or_default(key).or_stop(), fate, amount);
        }
    };
    for (&(site, fate), &weight) in &ages.living {
        add_at(sites.key(site), fate, Amount::from(weight));
    }
    for (site, survived, weight) in ages.deaths.iter() {
        add_at(sites.key(site), Fate::Dead(survived), Amount::from(weight));
    }
    let survivors = survivors(&ages.deaths);
    for (id, key, site) in sites.entries() {
        let survivors = survivors.get(&id).copied().unwrap_or_default();
        let temporary = Amount::from(site.dead().less(survivors));
        add_at(key, Fate::Dead(Survived::TEMPORARY), temporary);
    }
    for (&site, &weight) in ages.peak.iter().flat_map(|peak| &peak.sites) {
        add_at(sites.key(site), Fate::Peak, Amount::from(weight));
    }
    for unseen in unseen {
        let key = SiteKey {
            class: unseen.class,
            trace: TraceId::EMPTY,
        };
        add_at(key, Fate::Before, unseen.live);
    }
    by_site
}

/// Returns, for each site, the dead objects that were not temporary.
fn survivors(deaths: &Deaths) -> Map<SiteId, Weight> {
    let mut survivors = Map::<SiteId, Weight>::default();
    for (site, _, weight) in deaths.iter() {
        *survivors.get_or_default(site).or_stop() += weight;
    }
    survivors
}

fn add(fates: &mut Fates, fate: Fate, amount: Amount) {
    let sum = fates.entry(fate).or_default();
    *sum = *sum + amount;
}

/// Returns bytes and objects that were temporary, that died later, that live, and that were alive at the peak.
fn columns(fates: &Fates) -> [u64; 8] {
    let mut sums = [Amount::default(); 4];
    for (&fate, &amount) in fates {
        let column = match fate {
            Fate::Dead(Survived::TEMPORARY) => 0,
            Fate::Dead(_) => 1,
            Fate::Live(..) | Fate::Any(_) | Fate::Before => 2,
            Fate::Peak => 3,
        };
        sums[column] = sums[column] + amount;
    }
    let [temporary, survived, live, peak] = sums;
    [
        temporary.bytes,
        temporary.instances,
        survived.bytes,
        survived.instances,
        live.bytes,
        live.instances,
        peak.bytes,
        peak.instances,
    ]
}
