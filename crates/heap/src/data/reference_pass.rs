//! The second pass over a dump: references, classes, stacks and sizes.

use fixedbitset::FixedBitSet;
use foldhash::HashMap;
use hprof_format::{ObjectId, Root};

use crate::data::classes::{ClassOf, Classes};
use crate::data::contents::Contents;
use crate::data::dump::Dump;
use crate::data::error::Error;
use crate::data::graph::{Graph, Roots};
use crate::data::layout::Layout;
use crate::data::memory::Memory;
use crate::data::numbers::{ClassIndex, ObjectNumber, SiteIndex};
use crate::data::objects::{NewObjects, Objects, Site};
use crate::data::omitted::{NewOmitted, Omitted};
use crate::data::parts::Pieces;
use crate::data::pieces::{Edge, Piece, PieceReader, References};
use crate::data::progress::{Progress, Stage};
use crate::data::record_offsets::RecordOffsets;
use crate::data::rows::{Appended, Lengths, Rows};
use crate::data::sections::SectionReader;
use crate::data::tallies::Tallies;
use crate::data::turns::in_turn;

/// The second pass over a dump. Threads read its pieces, and put what they have read in its place in the order of the
/// file.
pub(crate) struct ReferencePass<'a> {
    contents: Contents<'a>,
    objects: Objects,
    more: HashMap<ObjectNumber, Vec<ObjectNumber>>,
    roots: Roots,
    tallies: Tallies,
    finalizers: Vec<[ObjectNumber; 2]>,
}

/// What the second pass has found.
pub(crate) struct SecondPass {
    pub(crate) graph: Graph,
    pub(crate) objects: Objects,
    pub(crate) classes: Classes,
    pub(crate) tallies: Tallies,
    /// The references of finalizers.
    pub(crate) finalizers: Vec<[ObjectNumber; 2]>,
}

/// The classes that the dump lacks, in the order in which objects of them occur.
struct OtherClasses {
    /// The index of the first one.
    first: usize,
    all: Vec<ClassOf>,
    indexes: HashMap<ClassOf, ClassIndex>,
}

impl OtherClasses {
    fn index_of(&mut self, class: ClassOf) -> ClassIndex {
        if let ClassOf::Known(index) = class {
            return index;
        }
        let next = ClassIndex::at(self.first + self.all.len());
        let index = *self.indexes.entry(class).or_insert(next);
        if index == next {
            self.all.push(class);
        }
        index
    }
}

/// What becomes of the objects of all pieces.
struct Collected<'p> {
    objects: NewObjects<'p>,
    others: OtherClasses,
    more: &'p mut HashMap<ObjectNumber, Vec<ObjectNumber>>,
    tallies: &'p mut Tallies,
    omitted: NewOmitted,
    finalizers: &'p mut Vec<[ObjectNumber; 2]>,
    classes: &'p Classes,
    /// The sites of the piece.
    sites: Vec<SiteIndex>,
}

impl Collected<'_> {
    /// Adds the objects of the next piece. Calls `visit` with the row of every object at its first occurrence, except
    /// classes, whose references are kept apart.
    fn add(
        &mut self,
        piece: &Piece,
        mut visit: impl FnMut(ObjectNumber, &[u8]),
    ) -> Result<(), Error> {
        self.sites.clear();
        for found in piece.sites() {
            let class = self.others.index_of(found.class);
            let trace = found.trace;
            let site = self.objects.sites.intern(Site { class, trace });
            self.tallies.add(site, found);
            self.sites.push(site);
        }
        for object in piece.objects() {
            let (number, site) = (object.number, self.sites[object.site]);
            if !self.objects.set(number, site, object.size)? {
                continue;
            }
            for &(_, to) in object.omitted {
                self.omitted.add([number.0, to.0]);
            }
            if !object.omitted.is_empty()
                && self
                    .classes
                    .is_finalizer(self.objects.sites.get(site).class)
            {
                let references = object.omitted.iter().map(|&(_, to)| [number, to]);
                self.finalizers.extend(references);
            }
            match object.content {
                References::Row(row) => visit(number, row),
                References::OfClass([]) => {}
                References::OfClass(references) => {
                    self.more.insert(number, references.to_vec());
                }
            }
        }
        Ok(())
    }
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
            finalizers: Vec::new(),
        }
    }

    /// Makes the pass.
    pub(crate) fn read(
        mut self,
        record_offsets: &RecordOffsets,
        memory: &Memory,
        progress: &dyn Progress,
    ) -> Result<SecondPass, Error> {
        let samples = record_offsets.samples.iter();
        let pieces = self
            .contents
            .dump
            .pieces(samples.map(|&(_, offset)| offset));
        let (rows, omitted) = if record_offsets.ascending {
            self.append(&pieces, memory, progress)?
        } else {
            self.count_and_fill(&pieces, memory, progress)?
        };
        Ok(self.finish(rows, omitted))
    }

    /// Reads the references from an index instead; `None` if it is damaged.
    pub(crate) fn load(mut self, index: &mut SectionReader) -> Option<SecondPass> {
        let rows = Rows::load(index, self.objects.count())?;
        let omitted = Omitted::load(index)?;
        self.add_classes().ok()?;
        let mut found = self.finish(rows, omitted);
        found.graph.load_waiting(index)?;
        Some(found)
    }

    fn finish(mut self, rows: Rows, omitted: Omitted) -> SecondPass {
        self.add_locals();
        self.objects.finish();
        let class_of_kind = self.class_objects();
        let graph = Graph::new(rows, self.more, class_of_kind, omitted, self.roots);
        SecondPass {
            graph,
            objects: self.objects,
            classes: self.contents.classes,
            tallies: self.tallies,
            finalizers: self.finalizers,
        }
    }

    /// Collects the references of the classes, without a pass over the dump.
    fn add_classes(&mut self) -> Result<(), Error> {
        let dump = self.contents.dump;
        let reader = self.reader();
        let mut more = HashMap::default();
        for class in self.contents.classes.dumped() {
            let Some(found) = dump.records_from(class.offset).next() else {
                continue;
            };
            let Some(object) = self.contents.object(&found?)? else {
                continue;
            };
            // Another record of the same id may come first, which then counts.
            let number = self.objects.ids.find(ObjectId(object.id));
            let is_first =
                |&number: &ObjectNumber| ClassOf::Known(self.objects.class(number)) == object.class;
            let Some(number) = number.filter(is_first) else {
                continue;
            };
            let mut references = Vec::new();
            reader.each_target(&object, |to| match to {
                Edge::Counting(to) => references.push(to),
                // It has been saved.
                Edge::Omitted(_) => {}
            });
            if !references.is_empty() {
                more.insert(number, references);
            }
        }
        self.more = more;
        Ok(())
    }

    /// Builds the rows in one pass: objects come in the order of their numbers.
    fn append(
        &mut self,
        pieces: &Pieces,
        memory: &Memory,
        progress: &dyn Progress,
    ) -> Result<(Rows, Omitted), Error> {
        let objects = self.objects.count();
        let mut rows = Appended::new(objects, self.most_references(), memory)?;
        let omitted = self.collect(pieces, memory, progress, |number, row| {
            rows.add(number.0, row);
        })?;
        Ok((rows.finish(objects, memory)?, omitted))
    }

    /// Builds the rows in two passes: first their lengths, then their contents.
    fn count_and_fill(
        &mut self,
        pieces: &Pieces,
        memory: &Memory,
        progress: &dyn Progress,
    ) -> Result<(Rows, Omitted), Error> {
        let objects = self.objects.count();
        let mut rows = Lengths::new(objects, self.most_references(), memory)?;
        let omitted = self.collect(pieces, memory, progress, |number, row| {
            rows.set(number.0, row);
        })?;
        let mut rows = rows.fill(memory)?;
        let mut filled = FixedBitSet::with_capacity(objects as usize);
        each_piece(self.reader(), pieces, progress, |piece| {
            for object in piece.objects() {
                // If there are several records of one object, the first one counts, as above.
                if !filled.put(object.number.place())
                    && let References::Row(row) = object.content
                {
                    rows.set(object.number.0, row);
                }
            }
            Ok(())
        })?;
        Ok((rows.finish(memory)?, omitted))
    }

    fn reader(&self) -> PieceReader<'_, 'a> {
        PieceReader {
            contents: &self.contents,
            ids: &self.objects.ids,
            is_root: &self.roots.is_root,
        }
    }

    /// Returns an upper bound for the references in the dump.
    fn most_references(&self) -> u64 {
        let dump = self.contents.dump;
        dump.length() / dump.id_size().bytes()
    }

    /// Finds the facts about all objects, and calls `visit` as [`Collected::add`] does. Returns the references that are
    /// omitted.
    fn collect(
        &mut self,
        pieces: &Pieces,
        memory: &Memory,
        progress: &dyn Progress,
        mut visit: impl FnMut(ObjectNumber, &[u8]) + Send,
    ) -> Result<Omitted, Error> {
        let count = self.objects.count();
        let (ids, objects) = self.objects.parts();
        let reader = PieceReader {
            contents: &self.contents,
            ids,
            is_root: &self.roots.is_root,
        };
        let mut collected = Collected {
            objects,
            others: OtherClasses {
                first: self.contents.classes.len(),
                all: Vec::new(),
                indexes: HashMap::default(),
            },
            more: &mut self.more,
            tallies: &mut self.tallies,
            omitted: NewOmitted::new(count, memory),
            finalizers: &mut self.finalizers,
            classes: &self.contents.classes,
            sites: Vec::new(),
        };
        each_piece(reader, pieces, progress, |piece| {
            collected.add(piece, &mut visit)
        })?;
        let Collected {
            others, omitted, ..
        } = collected;
        for class in others.all {
            self.contents.classes.index_of(class, self.contents.dump);
        }
        Ok(omitted.finish()?)
    }

    fn add_locals(&mut self) {
        for local in &self.roots.locals {
            if !self.roots.is_root.contains(local.object.place()) {
                self.more
                    .entry(local.thread)
                    .or_default()
                    .push(local.object);
            }
        }
    }

    /// Returns the class object of each kind of objects.
    fn class_objects(&self) -> Vec<ObjectNumber> {
        let class_object = |site: SiteIndex| {
            // The first entry is not a site.
            let site = Some(site).filter(|&site| site != SiteIndex::NONE)?;
            let class = self
                .contents
                .classes
                .get(self.objects.sites.get(site).class);
            let number = self
                .objects
                .ids
                .find(ObjectId(class.id))
                .filter(|_| class.id != 0)?;
            (!self.roots.is_root.contains(number.place())).then_some(number)
        };
        let kinds = self.objects.kinds().into_iter();
        kinds
            .map(|site| class_object(site).unwrap_or(ObjectNumber::NONE))
            .collect()
    }
}

/// Reads the pieces on several threads, and calls `visit` with each, in the order of the file.
fn each_piece(
    reader: PieceReader<'_, '_>,
    pieces: &Pieces,
    progress: &dyn Progress,
    mut visit: impl FnMut(&Piece) -> Result<(), Error> + Send,
) -> Result<(), Error> {
    let all = pieces.len();
    in_turn(
        (reader.contents.dump.threads(), all),
        |number, piece| reader.read(pieces.get(number), piece),
        |piece| visit(piece),
        |number| progress.at(Stage::References, number as u64, all as u64),
    )
}
