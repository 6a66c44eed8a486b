//! The second pass over a dump: references, classes, stacks and sizes.

use std::io;

use fixedbitset::FixedBitSet;
use foldhash::HashMap;
use hprof_format::Root;
use hprof_format::bytes::read_id_be;

use crate::data::classes::Classes;
use crate::data::contents::{Content, Contents, Object};
use crate::data::dump::Dump;
use crate::data::error::Error;
use crate::data::graph::{Graph, NONE, Roots};
use crate::data::layout::Layout;
use crate::data::memory::{Growing, Memory, Numbers};
use crate::data::objects::{Objects, Site, SiteIndex};
use crate::data::progress::{Progress, STEP, Stage};
use crate::data::rows::{Appended, Lengths, NewRow, Rows};
use crate::data::sections::SectionReader;
use crate::data::tallies::Tallies;

/// The number of omitted references up to which they are always kept.
const MOST_OMITTED: usize = 1 << 20;

/// A reference to an object.
enum Edge {
    /// One that keeps its target alive, to an object that is not a root.
    Counting(u32),
    /// One that is omitted.
    Omitted(u32),
}

/// The omitted references while they are collected. They are few, except in unusual dumps.
struct Omitted {
    all: Growing<[u32; 2]>,
    most: usize,
}

impl Omitted {
    fn new(objects: u32, memory: &Memory) -> Omitted {
        Omitted {
            all: memory.growing(),
            most: MOST_OMITTED.max(objects as usize / 4),
        }
    }

    fn add(&mut self, from: u32, to: u32) {
        if self.all.len() <= self.most {
            self.all.extend(&[[from, to]]);
        }
    }

    fn finish(self) -> io::Result<Option<Numbers<[u32; 2]>>> {
        let are_few = self.all.len() <= self.most;
        are_few.then(|| self.all.finish()).transpose()
    }
}

/// The second pass over a dump.
pub(crate) struct ReferencePass<'a> {
    contents: Contents<'a>,
    objects: Objects,
    more: HashMap<u32, Vec<u32>>,
    roots: Roots,
    tallies: Tallies,
}

/// What the second pass has found.
pub(crate) struct SecondPass {
    pub(crate) graph: Graph,
    pub(crate) objects: Objects,
    pub(crate) classes: Classes,
    pub(crate) tallies: Tallies,
}

impl<'a> ReferencePass<'a> {
    pub(crate) fn new(
        dump: &'a Dump,
        objects: Objects,
        classes: Classes,
        roots: &[(u64, Root)],
        layout: &Layout,
    ) -> ReferencePass<'a> {
        ReferencePass {
            roots: Roots::of(roots, &objects),
            contents: Contents {
                dump,
                layout: *layout,
                classes,
            },
            objects,
            more: HashMap::default(),
            tallies: Tallies::default(),
        }
    }

    /// Makes the pass. `ascending` is true if objects come in the order of their numbers.
    pub(crate) fn read(
        mut self,
        ascending: bool,
        memory: &Memory,
        progress: &dyn Progress,
    ) -> Result<SecondPass, Error> {
        let mut omitted = Omitted::new(self.objects.count(), memory);
        let rows = if ascending {
            self.append(memory, &mut omitted, progress)?
        } else {
            self.count_and_fill(memory, &mut omitted, progress)?
        };
        Ok(self.finish(rows, omitted.finish()?))
    }

    /// Reads the references from an index instead; `None` if it is damaged.
    pub(crate) fn load(mut self, index: &mut SectionReader) -> Option<SecondPass> {
        let rows = Rows::load(index, self.objects.count())?;
        let are_known = index.one::<u64>()? != 0;
        let omitted = Some(index.table()?).filter(|_| are_known);
        self.add_classes().ok()?;
        Some(self.finish(rows, omitted))
    }

    fn finish(mut self, rows: Rows, omitted: Option<Numbers<[u32; 2]>>) -> SecondPass {
        self.add_locals();
        self.objects.finish();
        let class_of_kind = self.class_objects();
        let objects = self.objects.count();
        let graph = Graph::new(rows, self.more, class_of_kind, omitted, self.roots, objects);
        SecondPass {
            graph,
            objects: self.objects,
            classes: self.contents.classes,
            tallies: self.tallies,
        }
    }

    /// Collects the references of the classes, without a pass over the dump.
    fn add_classes(&mut self) -> Result<(), Error> {
        let dump = self.contents.dump;
        let classes = self.contents.classes.dumped();
        let offsets: Vec<u64> = classes.map(|class| class.offset).collect();
        // Those that are omitted have been saved.
        let mut omitted = Omitted {
            all: Memory::unlimited().growing(),
            most: 0,
        };
        for offset in offsets {
            let Some(found) = dump.records_from(offset).next() else {
                continue;
            };
            let Some(object) = self.contents.object(&found?)? else {
                continue;
            };
            // Another record of the same id may come first, which then counts.
            if let Some(number) = self.objects.ids.find(object.id)
                && self.objects.class(number) == object.class
            {
                self.add_class(number, &object, &mut omitted);
            }
        }
        Ok(())
    }

    /// Builds the rows in one pass: objects come in the order of their numbers.
    fn append(
        &mut self,
        memory: &Memory,
        omitted: &mut Omitted,
        progress: &dyn Progress,
    ) -> Result<Rows, Error> {
        let objects = self.objects.count();
        let mut rows = Appended::new(objects, self.most_references(), memory)?;
        self.each_row(omitted, progress, |number, row| rows.add(number, row))?;
        Ok(rows.finish(objects)?)
    }

    /// Builds the rows in two passes: first their lengths, then their contents.
    fn count_and_fill(
        &mut self,
        memory: &Memory,
        omitted: &mut Omitted,
        progress: &dyn Progress,
    ) -> Result<Rows, Error> {
        let objects = self.objects.count();
        let mut rows = Lengths::new(objects, self.most_references(), memory)?;
        self.each_row(omitted, progress, |number, row| rows.set(number, row))?;
        let mut rows = rows.fill(memory)?;
        let mut row = NewRow::default();
        let mut filled = FixedBitSet::with_capacity(objects as usize);
        self.each_record(progress, |pass, number, object| {
            // If there are several records of one object, the first one counts, as above.
            if filled.put(number as usize) || matches!(object.content, Content::Class(_)) {
                return Ok(());
            }
            pass.each_target(object, |to| {
                if let Edge::Counting(to) = to {
                    row.push(number, to);
                }
            });
            rows.set(number, &mut row);
            Ok(())
        })?;
        Ok(rows.finish(memory)?)
    }

    /// Returns an upper bound for the references in the dump.
    fn most_references(&self) -> u64 {
        let dump = self.contents.dump;
        dump.length() / dump.id_size().bytes()
    }

    /// Calls `visit` with the row of every object at its first occurrence, except classes, whose references are kept
    /// apart. The row is empty afterwards.
    fn each_row(
        &mut self,
        omitted: &mut Omitted,
        progress: &dyn Progress,
        mut visit: impl FnMut(u32, &mut NewRow),
    ) -> Result<(), Error> {
        let mut row = NewRow::default();
        self.each_object(progress, |pass, number, object| {
            if matches!(object.content, Content::Class(_)) {
                pass.add_class(number, object, omitted);
                return;
            }
            pass.each_target(object, |to| match to {
                Edge::Counting(to) => row.push(number, to),
                Edge::Omitted(to) => omitted.add(number, to),
            });
            visit(number, &mut row);
        })
    }

    /// Calls `visit` with every object at its first occurrence.
    fn each_object(
        &mut self,
        progress: &dyn Progress,
        mut visit: impl FnMut(&mut Self, u32, &Object<'a>),
    ) -> Result<(), Error> {
        self.each_record(progress, |pass, number, object| {
            let site = Site {
                class: object.class,
                trace: object.trace,
            };
            let site = pass.objects.sites.intern(site);
            pass.tallies.add(site, object);
            if pass.objects.set(number, site, object.size)? {
                visit(pass, number, object);
            }
            Ok(())
        })
    }

    fn each_record(
        &mut self,
        progress: &dyn Progress,
        mut visit: impl FnMut(&mut Self, u32, &Object<'a>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let dump = self.contents.dump;
        let mut bytes = 0;
        for (count, found) in (0_u64..).zip(dump.records()) {
            let found = found?;
            bytes += found.record.bytes().len() as u64;
            if count % STEP == 0 {
                progress.at(Stage::References, bytes, dump.length());
            }
            let Some(object) = self.contents.object(&found)? else {
                continue;
            };
            // The first pass has seen it.
            if let Some(number) = self.objects.ids.find(object.id) {
                visit(self, number, &object)?;
            }
        }
        Ok(())
    }

    /// Calls `visit` with the references of an object, except that to its class.
    #[inline]
    fn each_target(&mut self, object: &Object<'_>, mut visit: impl FnMut(Edge)) {
        let id_size = self.contents.dump.id_size();
        let (ids, is_root) = (&self.objects.ids, &self.roots.is_root);
        let find = |id: u64| ids.find(id).filter(|_| id != 0);
        let mut to = |id: u64| {
            if let Some(number) = find(id) {
                visit(match is_root.contains(number as usize) {
                    true => Edge::Omitted(number),
                    false => Edge::Counting(number),
                });
            }
        };
        match object.content {
            Content::Fields(fields) => {
                let offsets = self.contents.classes.references(object.class);
                for &offset in &offsets.counting {
                    to(read_id_be(fields, offset as usize, id_size));
                }
                for &offset in &offsets.omitted {
                    if let Some(number) = find(read_id_be(fields, offset as usize, id_size)) {
                        visit(Edge::Omitted(number));
                    }
                }
            }
            Content::Elements(elements) => {
                let size = id_size.bytes() as usize;
                for element in elements.chunks_exact(size) {
                    to(read_id_be(element, 0, id_size));
                }
            }
            Content::Class(ref references) => references.iter().for_each(|&id| to(id)),
            Content::Primitives(_) => {}
        }
    }

    fn add_class(&mut self, number: u32, object: &Object<'_>, omitted: &mut Omitted) {
        let mut references = Vec::new();
        self.each_target(object, |to| match to {
            Edge::Counting(to) => references.push(to),
            Edge::Omitted(to) => omitted.add(number, to),
        });
        if !references.is_empty() {
            self.more.insert(number, references);
        }
    }

    fn add_locals(&mut self) {
        for local in &self.roots.locals {
            if !self.roots.is_root.contains(local.object as usize) {
                self.more
                    .entry(local.thread)
                    .or_default()
                    .push(local.object);
            }
        }
    }

    /// Returns the class object of each kind of objects.
    fn class_objects(&self) -> Vec<u32> {
        let class_object = |site: SiteIndex| {
            // The first entry is not a site.
            let site = Some(site).filter(|&site| site != 0)?;
            let class = self
                .contents
                .classes
                .get(self.objects.sites.get(site).class);
            let number = self.objects.ids.find(class.id).filter(|_| class.id != 0)?;
            (!self.roots.is_root.contains(number as usize)).then_some(number)
        };
        let kinds = self.objects.kinds().into_iter();
        kinds
            .map(|site| class_object(site).unwrap_or(NONE))
            .collect()
    }
}
