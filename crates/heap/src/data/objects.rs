//! The objects of a dump: their numbers, classes, stacks and sizes.

use std::io::{self, Write};
use std::ops::Range;

use foldhash::HashMap;

use crate::data::ids::Ids;
use crate::data::memory::{Memory, Numbers};
use crate::data::narrow::Narrow;
use crate::data::numbers::{ClassIndex, ObjectNumber, SiteIndex};
use crate::data::sections::{SectionReader, SectionWriter};

/// Sizes are multiples of this.
pub(crate) const UNIT: u64 = 8;
/// The marker for a size that is stored elsewhere.
const LARGE: u32 = u32::MAX;

/// The most bytes that all objects of a dump can have.
pub(crate) const MOST_BYTES: u64 = 1 << 56;

/// A class and the trace that allocated objects of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Site {
    pub(crate) class: ClassIndex,
    pub(crate) trace: u32,
}

/// All sites.
#[derive(Debug)]
pub(crate) struct Sites {
    all: Vec<Site>,
    index: HashMap<(ClassIndex, u32), SiteIndex>,
    last: (Site, SiteIndex),
}

impl Sites {
    pub(crate) fn new() -> Sites {
        Sites {
            // The entry for objects without a record.
            all: vec![Site::default()],
            index: HashMap::default(),
            last: (Site::default(), SiteIndex::NONE),
        }
    }

    #[inline]
    pub(crate) fn intern(&mut self, site: Site) -> SiteIndex {
        if self.last.1 != SiteIndex::NONE && self.last.0 == site {
            return self.last.1;
        }
        let next = SiteIndex::at(self.all.len());
        let index = *self.index.entry((site.class, site.trace)).or_insert(next);
        if index == next {
            self.all.push(site);
        }
        self.last = (site, index);
        index
    }

    #[inline]
    pub(crate) fn get(&self, index: SiteIndex) -> Site {
        self.all[index.place()]
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Site> {
        self.all.iter().copied()
    }
}

/// The objects of a dump, by number.
#[derive(Debug)]
pub(crate) struct Objects {
    pub(crate) ids: Ids,
    pub(crate) sites: Sites,
    facts: Facts,
}

impl Objects {
    pub(crate) fn new(ids: Ids, memory: &Memory) -> io::Result<Objects> {
        let facts = Facts::new(ids.count() as usize, memory)?;
        let sites = Sites::new();
        Ok(Objects { ids, sites, facts })
    }

    /// Writes them as sections of an index.
    pub(crate) fn save(&self, out: &mut SectionWriter<impl Write>) -> io::Result<()> {
        self.ids.save(out)?;
        let sites = self.sites.all.iter().map(|site| [site.class.0, site.trace]);
        out.table(&sites.collect::<Vec<[u32; 2]>>())?;
        self.facts.save(out)
    }

    /// Reads them, of this many classes; `None` if they are damaged.
    pub(crate) fn load(index: &mut SectionReader, classes: usize) -> Option<Objects> {
        let ids = Ids::load(index)?;
        let all = index.list::<[u32; 2]>()?.into_iter();
        let mut sites = Sites::new();
        sites.all = all
            .map(|[class, trace]| Site {
                class: ClassIndex(class),
                trace,
            })
            .collect();
        // The first one stands for objects without a record.
        let mut own = sites.all.iter().skip(1);
        if sites.all.is_empty() || own.any(|site| site.class.place() >= classes) {
            return None;
        }
        let facts = Facts::load(index, ids.count() as usize, sites.len())?;
        Some(Objects { ids, sites, facts })
    }

    pub(crate) fn count(&self) -> u32 {
        self.ids.count()
    }

    pub(crate) fn numbers(&self) -> impl DoubleEndedIterator<Item = ObjectNumber> {
        (0..self.count()).map(ObjectNumber)
    }

    /// Returns the ids, and what is still to be found out about the objects.
    pub(crate) fn parts(&mut self) -> (&Ids, NewObjects<'_>) {
        let new = NewObjects {
            sites: &mut self.sites,
            facts: &mut self.facts,
        };
        (&self.ids, new)
    }

    /// Frees what is not needed when the facts about all objects are set.
    pub(crate) fn finish(&mut self) {
        self.facts.finish();
    }

    /// Returns its shallow size, in bytes.
    #[inline]
    pub(crate) fn size(&self, number: ObjectNumber) -> u64 {
        self.facts.size(number.0)
    }

    /// Returns the number of the kind of an object: all of a kind have the same site.
    #[inline]
    pub(crate) fn kind(&self, number: ObjectNumber) -> usize {
        self.facts.kind(number.0)
    }

    /// Calls `visit` with the kind of each object of a range. That takes less time than each by itself.
    #[inline]
    pub(crate) fn each_kind(&self, numbers: Range<u32>, visit: impl FnMut(usize)) {
        self.facts.each_kind(numbers, visit);
    }

    /// Returns the site of each kind.
    pub(crate) fn kinds(&self) -> Vec<SiteIndex> {
        self.facts.kinds(self.sites.len())
    }

    #[inline]
    pub(crate) fn site(&self, number: ObjectNumber) -> SiteIndex {
        self.facts.site(number.0)
    }

    #[inline]
    pub(crate) fn class(&self, number: ObjectNumber) -> ClassIndex {
        self.sites.get(self.site(number)).class
    }

    pub(crate) fn trace(&self, number: ObjectNumber) -> u32 {
        self.sites.get(self.site(number)).trace
    }
}

/// The objects of a dump while the facts about them are found.
pub(crate) struct NewObjects<'a> {
    pub(crate) sites: &'a mut Sites,
    facts: &'a mut Facts,
}

impl NewObjects<'_> {
    /// Sets the facts about an object; returns `true` if they were not known before.
    #[inline]
    pub(crate) fn set(
        &mut self,
        number: ObjectNumber,
        site: SiteIndex,
        size: u64,
    ) -> io::Result<bool> {
        if self.facts.site(number.0) != SiteIndex::NONE {
            return Ok(false);
        }
        self.facts.set(number.0, site, size)?;
        Ok(true)
    }
}

/// The site and the shallow size of each object, in two bytes at most as a rule.
#[derive(Debug)]
struct Facts {
    columns: Columns,
    /// The sizes that do not fit into a column, in bytes.
    large: HashMap<u32, u64>,
    memory: Memory,
}

#[derive(Debug)]
enum Columns {
    /// The index of a site with a size: most sites have objects of one size or of few.
    Together { kinds: FactKinds, of: Narrow },
    /// Both apart, if there are too many of them together.
    Apart {
        sites: Numbers<u32>,
        units: Numbers<u16>,
        /// The first and the last index that a site can have. What a damaged index has beyond them is taken for them.
        range: (u32, u32),
    },
}

/// The sites with the sizes of their objects. 0 is for objects without a record.
#[derive(Debug)]
struct FactKinds {
    all: Vec<FactKind>,
    index: HashMap<FactKind, u16>,
    /// The last one of each site.
    last: Vec<u16>,
}

/// A site with a size, in units; [`LARGE`] if it is stored elsewhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct FactKind {
    site: SiteIndex,
    units: u32,
}

impl FactKinds {
    /// Returns the last one; that of objects without a record if there is no other.
    fn last(&self) -> &FactKind {
        &self.all[self.all.len() - 1]
    }

    /// Returns the index of a kind; `None` if there are too many.
    #[inline]
    fn intern(&mut self, kind: FactKind) -> Option<u16> {
        let site = kind.site.place();
        if let Some(&last) = self.last.get(site)
            && self.all[usize::from(last)] == kind
        {
            return Some(last);
        }
        let next = u16::try_from(self.all.len()).ok()?;
        let index = *self.index.entry(kind).or_insert(next);
        if index == next {
            self.all.push(kind);
        }
        if self.last.len() <= site {
            self.last.resize(site + 1, 0);
        }
        self.last[site] = index;
        Some(index)
    }
}

impl Facts {
    /// Frees what is not needed when the facts about all objects are set.
    fn finish(&mut self) {
        if let Columns::Together { kinds, of } = &mut self.columns {
            of.finish(kinds.all.len());
        }
    }

    /// Creates the facts about `count` objects, none of which is known yet.
    fn new(count: usize, memory: &Memory) -> io::Result<Facts> {
        let kinds = FactKinds {
            all: vec![FactKind::default()],
            index: HashMap::default(),
            last: Vec::new(),
        };
        Ok(Facts {
            columns: Columns::Together {
                kinds,
                of: Narrow::new(count, memory)?,
            },
            large: HashMap::default(),
            memory: memory.clone(),
        })
    }

    /// Writes them as sections of an index.
    fn save(&self, out: &mut SectionWriter<impl Write>) -> io::Result<()> {
        match &self.columns {
            Columns::Together { kinds, of } => {
                // As many as the column may name, so that nobody need look through it for others.
                let all = kinds.all[1..].iter().chain(std::iter::repeat(kinds.last()));
                let all = all.map(|kind| [kind.site.0, kind.units]);
                out.table(&all.take(of.range() - 1).collect::<Vec<[u32; 2]>>())?;
                of.save(out)?;
            }
            Columns::Apart { sites, units, .. } => {
                out.table::<[u32; 2]>(&[])?;
                out.table(sites)?;
                out.table(units)?;
            }
        }
        out.map(&self.large)
    }

    /// Reads the facts about this many objects of this many sites; `None` if they are damaged. All objects have a site.
    fn load(index: &mut SectionReader, count: usize, all_sites: usize) -> Option<Facts> {
        let is_site = |site: SiteIndex| (1..all_sites).contains(&site.place());
        let kinds: Vec<[u32; 2]> = index.list()?;
        let columns = if kinds.is_empty() {
            let (sites, units) = (index.table()?, index.table()?);
            let range = (1, u32::try_from(all_sites.checked_sub(1)?).ok()?);
            let is_sound =
                sites.len() == count && units.len() == count && (range.1 > 0 || count == 0);
            is_sound.then_some(Columns::Apart {
                sites,
                units,
                range,
            })?
        } else {
            let of = Narrow::load(index, count)?;
            // All objects have one of these, none has 0.
            let first = kinds[0];
            let all = std::iter::once(first).chain(kinds);
            let all = all.map(|[site, units]| FactKind {
                site: SiteIndex(site),
                units,
            });
            let kinds = FactKinds {
                all: all.collect(),
                index: HashMap::default(),
                last: Vec::new(),
            };
            let are_sites = kinds.all.iter().all(|kind| is_site(kind.site));
            (kinds.all.len() == of.range() && are_sites)
                .then_some(Columns::Together { kinds, of })?
        };
        let large = index.map()?;
        let all = large
            .values()
            .try_fold(0_u64, |sum, &size| sum.checked_add(size));
        all.filter(|&bytes| bytes <= MOST_BYTES)?;
        Some(Facts {
            columns,
            large,
            memory: index.memory().clone(),
        })
    }

    #[inline]
    fn set(&mut self, number: u32, site: SiteIndex, size: u64) -> io::Result<()> {
        let units = size.div_ceil(UNIT);
        if let Columns::Together { kinds, of } = &mut self.columns {
            let kind = FactKind {
                site,
                units: u32::try_from(units).unwrap_or(LARGE),
            };
            if let Some(kind_index) = kinds.intern(kind) {
                of.set(number as usize, kind_index);
                if kind.units == LARGE {
                    self.large.insert(number, units * UNIT);
                }
                return Ok(());
            }
            self.part()?;
        }
        self.set_apart(number, site, units);
        Ok(())
    }

    /// Puts sites and sizes into a column each.
    #[cold]
    fn part(&mut self) -> io::Result<()> {
        let Columns::Together { kinds, of } = &self.columns else {
            return Ok(());
        };
        let apart = Columns::Apart {
            sites: self.memory.table(of.len())?,
            units: self.memory.table(of.len())?,
            range: (0, u32::MAX),
        };
        let kinds = kinds.all.clone();
        if let Columns::Together { of, .. } = std::mem::replace(&mut self.columns, apart) {
            for (number, index) in (0..).zip(0..of.len()) {
                let FactKind { site, units } = kinds[usize::from(of.get(index))];
                // A size that is stored elsewhere already stays there.
                self.set_apart(number, site, units.into());
            }
        }
        Ok(())
    }

    fn set_apart(&mut self, number: u32, site: SiteIndex, size: u64) {
        let Columns::Apart { sites, units, .. } = &mut self.columns else {
            return;
        };
        sites[number as usize] = site.0;
        units[number as usize] = u16::try_from(size).unwrap_or(u16::MAX);
        if size >= u16::MAX.into() {
            self.large.entry(number).or_insert(size * UNIT);
        }
    }

    /// Returns the number of the kind of an object, or of its site if these are kept apart.
    #[inline]
    fn kind(&self, number: u32) -> usize {
        match &self.columns {
            Columns::Together { of, .. } => of.get(number as usize).into(),
            Columns::Apart { .. } => self.site(number).place(),
        }
    }

    /// Calls `visit` with the kind of each object of a range.
    #[inline]
    fn each_kind(&self, numbers: Range<u32>, mut visit: impl FnMut(usize)) {
        match &self.columns {
            Columns::Together { of, .. } => {
                let indexes = numbers.start as usize..numbers.end as usize;
                of.each_in(indexes, |kind| visit(kind.into()));
            }
            Columns::Apart { .. } => {
                numbers.for_each(|number| visit(self.site(number).place()));
            }
        }
    }

    /// Returns the site of each kind, in their order, of which there are `all_sites` if these are kept apart.
    fn kinds(&self, all_sites: usize) -> Vec<SiteIndex> {
        match &self.columns {
            Columns::Together { kinds, .. } => kinds.all.iter().map(|kind| kind.site).collect(),
            Columns::Apart { .. } => (0..).map(SiteIndex).take(all_sites).collect(),
        }
    }

    #[inline]
    fn site(&self, number: u32) -> SiteIndex {
        match &self.columns {
            Columns::Together { kinds, of } => kinds.all[usize::from(of.get(number as usize))].site,
            Columns::Apart {
                sites,
                range: (first, last),
                ..
            } => SiteIndex(sites[number as usize].clamp(*first, *last)),
        }
    }

    /// Returns the shallow size of an object, in bytes.
    #[inline]
    fn size(&self, number: u32) -> u64 {
        let units = match &self.columns {
            Columns::Together { kinds, of } => {
                match kinds.all[usize::from(of.get(number as usize))].units {
                    LARGE => None,
                    units => Some(u64::from(units)),
                }
            }
            Columns::Apart { units, .. } => match units[number as usize] {
                u16::MAX => None,
                units => Some(units.into()),
            },
        };
        match units {
            Some(units) => units * UNIT,
            None => self.large.get(&number).copied().unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_facts(count: u32, fact: impl Fn(u32) -> (SiteIndex, u64)) -> bool {
        let memory = Memory::unlimited();
        let mut facts = Facts::new(count as usize, &memory).expect("there is memory");
        for number in (0..count).rev() {
            assert_eq!(
                (facts.site(number), facts.size(number)),
                (SiteIndex::NONE, 0)
            );
            let (site, size) = fact(number);
            facts.set(number, site, size).expect("there is memory");
        }
        for number in 0..count {
            assert_eq!((facts.site(number), facts.size(number)), fact(number));
        }
        matches!(facts.columns, Columns::Together { .. })
    }

    #[test]
    fn the_facts_are_those_that_were_set() {
        assert!(assert_facts(1000, |number| {
            let large = if number % 100 == 7 { 40 << 30 } else { 0 };
            (
                SiteIndex(1 + number % 5),
                u64::from(number % 50) * UNIT + large,
            )
        }));
    }

    #[test]
    fn many_sites_and_sizes_are_kept_apart() {
        assert!(!assert_facts(200_000, |number| {
            let size = match number % 1000 {
                0 => 40 << 30,
                1 => 1 << 20,
                2 => u64::from(u16::MAX) * UNIT,
                _ => u64::from(number % 3) * UNIT,
            };
            (SiteIndex(1 + number / 2), size)
        }));
    }
}
