//! The references between objects.

use fixedbitset::FixedBitSet;
use foldhash::HashMap;
use hprof_format::Root;
use hprof_format::bytes::read_id_be;

use crate::data::classes::Classes;
use crate::data::contents::{Content, Contents, Object};
use crate::data::dump::Dump;
use crate::data::error::Error;
use crate::data::index::Index;
use crate::data::layout::Layout;
use crate::data::memory::Memory;
use crate::data::objects::{Objects, Site};
use crate::data::places::Places;
use crate::data::progress::{Progress, STEP, Stage};
use crate::data::rows::{Appended, Lengths, NewRow, Row, Rows};

/// No object.
pub(crate) const NONE: u32 = u32::MAX;

/// The references between the objects of a dump.
///
/// References to roots are omitted, because a root keeps itself alive. A local variable of a thread that is an object
/// of the dump is a reference of that object. The reference of every object to its class is not stored either: it
/// follows from the object's site.
#[derive(Debug)]
pub(crate) struct Graph {
    rows: Rows,
    /// The references of classes and threads in addition to those in their rows.
    more: HashMap<u32, Vec<u32>>,
    has_more: FixedBitSet,
    /// The class object of each site; [`NONE`] if it is a root or not in the dump.
    class_of_site: Vec<u32>,
    pub(crate) roots: Roots,
}

/// The roots, which keep objects alive from outside.
#[derive(Debug)]
pub(crate) struct Roots {
    /// Objects with the reason each is a root, in the dump's order; an object may occur several times.
    pub(crate) all: Vec<(u32, Root)>,
    pub(crate) is_root: FixedBitSet,
    /// The objects of threads, by serial number.
    pub(crate) threads: HashMap<u32, u32>,
    /// The trace of each thread, by its object.
    pub(crate) traces: HashMap<u32, u32>,
    /// Local variables, sorted by thread: the objects that threads hold in their frames.
    pub(crate) locals: Vec<Local>,
}

/// An object that a thread holds in a frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Local {
    pub(crate) thread: u32,
    /// The frame's position in the thread's stack, 0 for the innermost; -1 if unknown.
    pub(crate) frame: i32,
    pub(crate) object: u32,
}

impl Roots {
    fn of(roots: &[(u64, Root)], objects: &Objects) -> Roots {
        let mut threads = HashMap::default();
        let mut traces = HashMap::default();
        for &(id, root) in roots {
            if let (Root::Thread { thread, trace }, Some(number)) = (root, objects.ids.find(id)) {
                threads.insert(thread.0, number);
                traces.insert(number, trace.0);
            }
        }
        let mut found = Roots {
            all: Vec::new(),
            is_root: FixedBitSet::with_capacity(objects.count() as usize),
            threads,
            traces,
            locals: Vec::new(),
        };
        for &(id, root) in roots {
            let Some(object) = objects.ids.find(id) else {
                continue;
            };
            match holder(root)
                .and_then(|(serial, frame)| Some((*found.threads.get(&serial)?, frame)))
            {
                Some((thread, frame)) => found.locals.push(Local {
                    thread,
                    frame,
                    object,
                }),
                None => {
                    found.all.push((object, root));
                    found.is_root.insert(object as usize);
                }
            }
        }
        found.locals.sort_by_key(|local| local.thread);
        found
    }

    /// Returns the objects that a thread holds, in the dump's order.
    pub(crate) fn locals_of(&self, thread: u32) -> &[Local] {
        let start = self.locals.partition_point(|local| local.thread < thread);
        let behind = self.locals.partition_point(|local| local.thread <= thread);
        &self.locals[start..behind]
    }
}

/// Returns the thread that holds the object, and the frame.
fn holder(root: Root) -> Option<(u32, i32)> {
    match root {
        Root::JavaFrame { thread, frame } | Root::JniLocal { thread, frame } => {
            Some((thread.0, frame))
        }
        Root::NativeStack { thread } | Root::ThreadBlock { thread } => Some((thread.0, -1)),
        _ => None,
    }
}

impl Graph {
    /// Makes the second pass over a dump: references, classes, stacks and sizes.
    pub(crate) fn of(
        dump: &Dump,
        index: Index,
        layout: &Layout,
        memory: &Memory,
        progress: &dyn Progress,
    ) -> Result<(Graph, Objects, Classes, Places), Error> {
        let objects = Objects::new(index.ids, memory)?;
        let roots = Roots::of(&index.roots, &objects);
        let count = objects.count() as usize;
        let mut pass = ReferencePass {
            contents: Contents {
                dump,
                layout: *layout,
                classes: index.classes,
            },
            objects,
            more: HashMap::default(),
            roots,
        };
        let rows = if index.places.ascending && !memory.is_limited() {
            pass.append(memory, progress)?
        } else {
            pass.count_and_fill(memory, progress)?
        };
        pass.add_locals();
        let mut has_more = FixedBitSet::with_capacity(count);
        has_more.extend(pass.more.keys().map(|&number| number as usize));
        let class_of_site = pass.class_objects();
        let graph = Graph {
            rows,
            more: pass.more,
            has_more,
            class_of_site,
            roots: pass.roots,
        };
        Ok((graph, pass.objects, pass.contents.classes, index.places))
    }

    /// Returns the objects that an object refers to, without roots.
    #[inline]
    pub(crate) fn targets(&self, number: u32, objects: &Objects) -> Targets<'_> {
        Targets {
            class: self.class_of_site[objects.site(number) as usize],
            row: self.rows.row(number),
            more: self.more(number),
        }
    }

    #[inline]
    fn more(&self, number: u32) -> &[u32] {
        if self.has_more.contains(number as usize) {
            self.more.get(&number).map_or(&[][..], Vec::as_slice)
        } else {
            &[]
        }
    }

    /// Returns an upper bound for the references that [`Graph::each`] visits for all objects.
    pub(crate) fn most_edges(&self) -> u64 {
        let more: usize = self.more.values().map(Vec::len).sum();
        self.rows.most() + (self.has_more.len() + more) as u64
    }

    /// Calls `visit` with every object that an object refers to, without roots.
    #[inline]
    pub(crate) fn each(&self, number: u32, objects: &Objects, mut visit: impl FnMut(u32)) {
        let Targets { class, row, more } = self.targets(number, objects);
        if class != NONE {
            visit(class);
        }
        let mut at = 0;
        while let Some(to) = row.next(&mut at) {
            visit(to);
        }
        for &to in more {
            visit(to);
        }
    }

    /// Calls `visit` with every object, in their order, and what it refers to, without roots.
    #[inline]
    pub(crate) fn each_of_all(&self, objects: &Objects, mut visit: impl FnMut(u32, To)) {
        for (number, row) in self.rows.iter() {
            let class = self.class_of_site[objects.site(number) as usize];
            if class != NONE {
                visit(number, To::Class(class));
            }
            let mut at = 0;
            while let Some(to) = row.next(&mut at) {
                visit(number, To::Other(to));
            }
            for &to in self.more(number) {
                visit(number, To::Other(to));
            }
        }
    }
}

/// An object that another refers to.
#[derive(Clone, Copy)]
pub(crate) enum To {
    /// Its class.
    Class(u32),
    Other(u32),
}

impl To {
    #[inline]
    pub(crate) fn number(self) -> u32 {
        match self {
            To::Class(number) | To::Other(number) => number,
        }
    }
}

/// The objects that an object refers to, without roots.
pub(crate) struct Targets<'a> {
    class: u32,
    row: Row<'a>,
    more: &'a [u32],
}

impl Targets<'_> {
    /// Returns the first wanted one from `next` on, which is 0 at first; `next` moves past it.
    #[inline]
    pub(crate) fn find_from(&self, next: &mut u64, wanted: impl Fn(u32) -> bool) -> Option<u32> {
        if *next == 0 {
            *next = 1;
            if self.class != NONE && wanted(self.class) {
                return Some(self.class);
            }
        }
        // One, the bytes of the row, and the number of the others.
        let mut at = *next as usize - 1;
        while let Some(to) = self.row.next(&mut at) {
            if wanted(to) {
                *next = at as u64 + 1;
                return Some(to);
            }
        }
        let rest = self.more.get(at - self.row.length()..).unwrap_or_default();
        let found = rest.iter().position(|&to| wanted(to));
        let passed = found.map_or(rest.len(), |place| place + 1);
        *next = (at + passed) as u64 + 1;
        found.map(|place| rest[place])
    }
}

struct ReferencePass<'a> {
    contents: Contents<'a>,
    objects: Objects,
    more: HashMap<u32, Vec<u32>>,
    roots: Roots,
}

impl<'a> ReferencePass<'a> {
    /// Builds the rows in one pass: objects come in the order of their numbers.
    fn append(&mut self, memory: &Memory, progress: &dyn Progress) -> Result<Rows, Error> {
        let objects = self.objects.count();
        let mut rows = Appended::new(objects, self.most_references(), memory)?;
        self.each_row(progress, |number, row| rows.add(number, row))?;
        Ok(rows.finish(objects)?)
    }

    /// Builds the rows in two passes: first their lengths, then their contents.
    fn count_and_fill(&mut self, memory: &Memory, progress: &dyn Progress) -> Result<Rows, Error> {
        let objects = self.objects.count();
        let mut rows = Lengths::new(objects, self.most_references(), memory)?;
        self.each_row(progress, |number, row| rows.set(number, row))?;
        let mut rows = rows.fill(memory)?;
        let mut row = NewRow::default();
        let mut filled = FixedBitSet::with_capacity(objects as usize);
        self.each_record(progress, |pass, number, object| {
            // If there are several records of one object, the first one counts, as above.
            if filled.put(number as usize) || matches!(object.content, Content::Class(_)) {
                return Ok(());
            }
            pass.each_target(object, |to| row.push(number, to));
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
        progress: &dyn Progress,
        mut visit: impl FnMut(u32, &mut NewRow),
    ) -> Result<(), Error> {
        let mut row = NewRow::default();
        self.each_object(progress, |pass, number, object| {
            if matches!(object.content, Content::Class(_)) {
                pass.add_class(number, object);
                return;
            }
            pass.each_target(object, |to| row.push(number, to));
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

    /// Calls `visit` with the objects that one refers to, without its class and roots.
    #[inline]
    fn each_target(&mut self, object: &Object<'_>, mut visit: impl FnMut(u32)) {
        let id_size = self.contents.dump.id_size();
        let (ids, is_root) = (&self.objects.ids, &self.roots.is_root);
        let mut to = |id: u64| {
            if id != 0
                && let Some(number) = ids.find(id)
                && !is_root.contains(number as usize)
            {
                visit(number);
            }
        };
        match object.content {
            Content::Fields(fields) => {
                for &place in self.contents.classes.references(object.class) {
                    to(read_id_be(fields, place as usize, id_size));
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

    fn add_class(&mut self, number: u32, object: &Object<'_>) {
        let mut references = Vec::new();
        self.each_target(object, |to| references.push(to));
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

    fn class_objects(&self) -> Vec<u32> {
        let class_object = |site: Site| {
            let class = self.contents.classes.get(site.class);
            let number = self.objects.ids.find(class.id).filter(|_| class.id != 0)?;
            (!self.roots.is_root.contains(number as usize)).then_some(number)
        };
        let mut sites = self.objects.sites.iter();
        // The first entry is not a site.
        sites.next();
        std::iter::once(NONE)
            .chain(sites.map(|site| class_object(site).unwrap_or(NONE)))
            .collect()
    }
}
