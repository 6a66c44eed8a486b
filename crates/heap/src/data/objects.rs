//! The facts about each object: class, stack, size.

use std::io;

use foldhash::HashMap;

use crate::data::classes::ClassIndex;
use crate::data::ids::Ids;
use crate::data::memory::{Memory, Numbers};

/// The index in [`Sites`] of a class and the stack that allocated some of its objects. 0 is not a site.
pub(crate) type SiteIndex = u32;

/// Sizes are multiples of this.
pub(crate) const UNIT: u64 = 8;
/// The marker in the table of sizes that the size is stored elsewhere.
const LARGE: u16 = u16::MAX;

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
            last: (Site::default(), 0),
        }
    }

    #[inline]
    pub(crate) fn intern(&mut self, site: Site) -> SiteIndex {
        if self.last.1 != 0 && self.last.0 == site {
            return self.last.1;
        }
        let next = self.all.len() as SiteIndex;
        let index = *self.index.entry((site.class, site.trace)).or_insert(next);
        if index == next {
            self.all.push(site);
        }
        self.last = (site, index);
        index
    }

    #[inline]
    pub(crate) fn get(&self, index: SiteIndex) -> Site {
        self.all[index as usize]
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Site> {
        self.all.iter().copied()
    }
}

/// The site of each object: in two bytes as long as there are few sites.
#[derive(Debug)]
enum SiteColumn {
    Short(Numbers<u16>),
    Long(Numbers<SiteIndex>),
}

impl SiteColumn {
    #[inline]
    fn get(&self, place: usize) -> SiteIndex {
        match self {
            SiteColumn::Short(sites) => sites[place].into(),
            SiteColumn::Long(sites) => sites[place],
        }
    }

    #[inline]
    fn set(&mut self, place: usize, site: SiteIndex, memory: &Memory) -> io::Result<()> {
        if let SiteColumn::Short(sites) = self {
            if let Ok(site) = u16::try_from(site) {
                sites[place] = site;
                return Ok(());
            }
            let mut long: Numbers<SiteIndex> = memory.table(sites.len())?;
            let all = long.iter_mut().zip(&sites[..]);
            all.for_each(|(long, &short)| *long = short.into());
            *self = SiteColumn::Long(long);
        }
        if let SiteColumn::Long(sites) = self {
            sites[place] = site;
        }
        Ok(())
    }
}

/// The objects of a dump, by number.
#[derive(Debug)]
pub(crate) struct Objects {
    pub(crate) ids: Ids,
    pub(crate) sites: Sites,
    site_of: SiteColumn,
    sizes: Numbers<u16>,
    large: HashMap<u32, u64>,
    memory: Memory,
}

impl Objects {
    pub(crate) fn new(ids: Ids, memory: &Memory) -> io::Result<Objects> {
        let count = ids.count() as usize;
        Ok(Objects {
            ids,
            sites: Sites::new(),
            site_of: SiteColumn::Short(memory.table(count)?),
            memory: memory.clone(),
            sizes: memory.table(count)?,
            large: HashMap::default(),
        })
    }

    pub(crate) fn count(&self) -> u32 {
        self.ids.count()
    }

    pub(crate) fn numbers(&self) -> std::ops::Range<u32> {
        0..self.count()
    }

    /// Sets the facts about an object; returns `true` if they were not known before.
    #[inline]
    pub(crate) fn set(&mut self, number: u32, site: SiteIndex, size: u64) -> io::Result<bool> {
        if self.site(number) != 0 {
            return Ok(false);
        }
        self.site_of.set(number as usize, site, &self.memory)?;
        let units = size.div_ceil(UNIT);
        if units < u64::from(LARGE) {
            self.sizes[number as usize] = units as u16;
        } else {
            self.sizes[number as usize] = LARGE;
            self.large.insert(number, units * UNIT);
        }
        Ok(true)
    }

    /// Returns its shallow size, in bytes.
    #[inline]
    pub(crate) fn size(&self, number: u32) -> u64 {
        match self.sizes[number as usize] {
            LARGE => self.large.get(&number).copied().unwrap_or_default(),
            units => u64::from(units) * UNIT,
        }
    }

    #[inline]
    pub(crate) fn site(&self, number: u32) -> SiteIndex {
        self.site_of.get(number as usize)
    }

    #[inline]
    pub(crate) fn class(&self, number: u32) -> ClassIndex {
        self.sites.get(self.site(number)).class
    }

    pub(crate) fn trace(&self, number: u32) -> u32 {
        self.sites.get(self.site(number)).trace
    }
}
