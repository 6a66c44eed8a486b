//! The numbers of objects by class and stack, as the pass over the references comes by them.

use hprof_format::{BasicType, HeapRecord};

use crate::data::classes::{Classes, primitive};
use crate::data::counts::{CountSum, Counts, Made};
use crate::data::dump::Dump;
use crate::data::error::Error;
use crate::data::layout::Layout;
use crate::data::numbers::SiteIndex;
use crate::data::objects::Sites;
use crate::data::pieces::PieceSite;

/// The numbers of records by site, those of classes apart.
#[derive(Default)]
pub(crate) struct Tallies {
    sums: Vec<CountSum>,
    classes: usize,
}

impl Tallies {
    /// Adds what has been counted of a site.
    pub(crate) fn add(&mut self, site: SiteIndex, found: &PieceSite) {
        self.classes += found.classes;
        let site = site.place();
        if self.sums.len() <= site {
            self.sums.resize(site + 1, CountSum::default());
        }
        self.sums[site].objects += found.sum.objects;
        self.sums[site].bytes += found.sum.bytes;
    }

    /// Returns the counts; `None` for a dump that lacks classes of its objects or has one several times, which must be
    /// counted by its records.
    pub(crate) fn counts(
        &self,
        sites: &Sites,
        classes: &Classes,
        layout: Layout,
        dump: &Dump,
    ) -> Result<Option<Counts>, Error> {
        if classes.lacks_some() || classes.dumped().count() != self.classes {
            return Ok(None);
        }
        let mut objects = Vec::new();
        let mut offsets = Vec::new();
        for class in classes.dumped() {
            offsets.push(class.offset);
            let Some(found) = dump.records_from(class.offset).next() else {
                return Ok(None);
            };
            match found?.decode()? {
                HeapRecord::Class(class) => objects.push((class.class.0, class.trace.0, None)),
                _ => return Ok(None),
            }
        }
        let all = sites
            .iter()
            .zip(&self.sums)
            .filter(|(_, sum)| sum.objects > 0);
        let all = all.map(|(site, &sum)| {
            let class = classes.get(site.class);
            let element = class.name.strip_suffix("[]").and_then(primitive);
            let primitive = element.filter(|_| class.object == 0);
            let made = Made {
                class: primitive.map_or(class.object, |element: BasicType| element as u64),
                is_primitive: primitive.is_some(),
                trace: site.trace,
                age: None,
            };
            (made, sum)
        });
        Ok(Some(Counts {
            layout,
            classes: offsets,
            all: all.collect(),
            objects,
        }))
    }
}
