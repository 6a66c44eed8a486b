//! The objects of a piece of a dump, with their references: what a thread reads of the second pass on its own.

use std::ops::Range;

use fixedbitset::FixedBitSet;
use foldhash::HashMap;
use hprof_format::bytes::read_id_be;

use crate::data::classes::ClassOf;
use crate::data::contents::{Content, Contents, Object};
use crate::data::counts::CountSum;
use crate::data::error::Error;
use crate::data::ids::Ids;
use crate::data::numbers::ObjectNumber;
use crate::data::rows::NewRows;
use hprof_format::ObjectId;

/// A reference to an object.
pub(crate) enum Edge {
    /// One that keeps its target alive, to an object that is not a root.
    Counting(ObjectNumber),
    /// One that is omitted.
    Omitted(ObjectNumber),
}

/// What is needed to read the references of objects.
#[derive(Clone, Copy)]
pub(crate) struct PieceReader<'p, 'a> {
    pub(crate) contents: &'p Contents<'a>,
    pub(crate) ids: &'p Ids,
    pub(crate) is_root: &'p FixedBitSet,
}

/// The objects of a piece, in the order of their records.
#[derive(Default)]
pub(crate) struct Piece {
    objects: Vec<PieceObject>,
    rows: NewRows,
    /// The references of objects that are omitted, each with the index of the object.
    omitted: Vec<(usize, ObjectNumber)>,
    /// The objects that are classes, with their references, which have no rows.
    classes: Vec<(usize, Vec<ObjectNumber>)>,
    sites: Vec<PieceSite>,
    site_indexes: HashMap<(ClassOf, u32), usize>,
}

/// An object of a piece.
#[derive(Clone, Copy)]
struct PieceObject {
    number: ObjectNumber,
    /// The index of its site in the piece.
    site: u32,
    size: u64,
    row_end: usize,
}

/// A class and a trace, and how many objects of the piece have them.
pub(crate) struct PieceSite {
    pub(crate) class: ClassOf,
    pub(crate) trace: u32,
    /// All but classes.
    pub(crate) sum: CountSum,
    pub(crate) classes: usize,
}

/// An object of a piece, with its references.
pub(crate) struct Referrer<'p> {
    pub(crate) number: ObjectNumber,
    /// The index of its site in the piece.
    pub(crate) site: usize,
    pub(crate) size: u64,
    pub(crate) omitted: &'p [(usize, ObjectNumber)],
    pub(crate) content: References<'p>,
}

/// The references of an object that are not omitted, except that to its class.
pub(crate) enum References<'p> {
    Row(&'p [u8]),
    OfClass(&'p [ObjectNumber]),
}

impl Piece {
    /// Returns its sites, in the order in which objects first have them.
    pub(crate) fn sites(&self) -> &[PieceSite] {
        &self.sites
    }

    /// Iterates over its objects.
    pub(crate) fn objects(&self) -> impl Iterator<Item = Referrer<'_>> {
        let (mut omitted, mut classes) = (&self.omitted[..], &self.classes[..]);
        let mut row_start = 0;
        self.objects.iter().enumerate().map(move |(index, object)| {
            let own = omitted.iter().take_while(|&&(of, _)| of == index).count();
            let (own, rest) = omitted.split_at(own);
            omitted = rest;
            let row = row_start..object.row_end;
            row_start = object.row_end;
            let content = match classes.split_first() {
                Some(((of, references), rest)) if *of == index => {
                    classes = rest;
                    References::OfClass(references)
                }
                _ => References::Row(self.rows.row(row)),
            };
            Referrer {
                number: object.number,
                site: object.site as usize,
                size: object.size,
                omitted: own,
                content,
            }
        })
    }

    fn clear(&mut self) {
        self.objects.clear();
        self.rows.clear();
        self.omitted.clear();
        self.classes.clear();
        self.sites.clear();
        self.site_indexes.clear();
    }

    /// Returns the index of the site of an object, which is counted.
    #[inline]
    fn site(&mut self, object: &Object<'_>) -> usize {
        let is_same = |site: &PieceSite| site.class == object.class && site.trace == object.trace;
        let last = self.objects.last().map(|last| last.site as usize);
        let last = last.filter(|&last| is_same(&self.sites[last]));
        let index = last.unwrap_or_else(|| self.other_site(object.class, object.trace));
        let site = &mut self.sites[index];
        if matches!(object.content, Content::Class(_)) {
            site.classes += 1;
        } else {
            site.sum.objects += 1;
            site.sum.bytes += object.size;
        }
        index
    }

    fn other_site(&mut self, class: ClassOf, trace: u32) -> usize {
        let next = self.sites.len();
        let index = *self.site_indexes.entry((class, trace)).or_insert(next);
        if index == next {
            self.sites.push(PieceSite {
                class,
                trace,
                sum: CountSum::default(),
                classes: 0,
            });
        }
        index
    }
}

impl PieceReader<'_, '_> {
    /// Reads the objects in ranges of the dump, with their references, instead of what the piece had before.
    pub(crate) fn read(&self, ranges: &[Range<usize>], piece: &mut Piece) -> Result<(), Error> {
        piece.clear();
        for found in self.contents.dump.records_of(ranges) {
            let Some(object) = self.contents.object(&found?)? else {
                continue;
            };
            // The first pass has seen it.
            if let Some(number) = self.ids.find(ObjectId(object.id)) {
                self.add(number, &object, piece);
            }
        }
        Ok(())
    }

    #[inline]
    fn add(&self, number: ObjectNumber, object: &Object<'_>, piece: &mut Piece) {
        let site = piece.site(object) as u32;
        let index = piece.objects.len();
        if matches!(object.content, Content::Class(_)) {
            let mut references = Vec::new();
            self.each_target(object, |to| match to {
                Edge::Counting(to) => references.push(to),
                Edge::Omitted(to) => piece.omitted.push((index, to)),
            });
            piece.classes.push((index, references));
        } else {
            self.each_target(object, |to| match to {
                Edge::Counting(to) => piece.rows.push(number.0, to.0),
                Edge::Omitted(to) => piece.omitted.push((index, to)),
            });
        }
        piece.objects.push(PieceObject {
            number,
            site,
            size: object.size,
            row_end: piece.rows.end(),
        });
    }

    /// Calls `visit` with the references of an object, except that to its class.
    #[inline]
    pub(crate) fn each_target(&self, object: &Object<'_>, mut visit: impl FnMut(Edge)) {
        let id_size = self.contents.dump.id_size();
        let find = |id: u64| self.ids.find(ObjectId(id)).filter(|_| id != 0);
        let mut to = |id: u64| {
            if let Some(number) = find(id) {
                visit(match self.is_root.contains(number.place()) {
                    true => Edge::Omitted(number),
                    false => Edge::Counting(number),
                });
            }
        };
        match (&object.content, object.class) {
            (Content::Fields(fields), ClassOf::Known(class)) => {
                let offsets = self.contents.classes.references(class);
                for &offset in &offsets.counting {
                    to(read_id_be(fields, offset as usize, id_size));
                }
                for &offset in &offsets.omitted {
                    if let Some(number) = find(read_id_be(fields, offset as usize, id_size)) {
                        visit(Edge::Omitted(number));
                    }
                }
            }
            (Content::Elements(elements), _) => {
                let size = id_size.bytes() as usize;
                for element in elements.chunks_exact(size) {
                    to(read_id_be(element, 0, id_size));
                }
            }
            (Content::Class(references), _) => references.iter().for_each(|&id| to(id)),
            (Content::Fields(_) | Content::Primitives(_), _) => {}
        }
    }
}
