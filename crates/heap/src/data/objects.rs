//! The objects of a dump: their numbers, classes, stacks and sizes.

use std::io::{self, Write};
use std::ops::Range;

use foldhash::HashMap;

use crate::data::facts::Facts;
pub(crate) use crate::data::facts::UNIT;
use crate::data::ids::Ids;
use crate::data::memory::Memory;
use crate::data::numbers::{ClassIndex, ObjectNumber, SiteIndex};
use crate::data::sections::{SectionReader, SectionWriter};

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
