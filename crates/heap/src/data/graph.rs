//! The references between objects.

use std::io::{self, Write};
use std::ops::Range;

use fixedbitset::FixedBitSet;
use foldhash::HashMap;
use hprof_format::{ObjectId, Root};

use crate::data::memory::Memory;
use crate::data::numbers::ObjectNumber;
use crate::data::objects::Objects;
use crate::data::omitted::Omitted;
use crate::data::rows::{Cursor, Row, Rows};
use crate::data::sections::{SectionReader, SectionWriter};
use crate::data::turns::in_turn;
use crate::data::waiting::Waiting;
use crate::data::zones::{Zones, entries_in, entries_of, zones_of, zones_with};

/// The objects of a part, which are whole blocks of rows.
const PART: usize = 1 << 13;
/// The objects of a neighbourhood.
const NEAR: usize = 32;

/// The references between the objects of a dump.
///
/// References to roots are omitted, because a root keeps itself alive; so are those that do not keep their target alive.
/// A local variable of a thread that is an object of the dump is a reference of that object. The reference of every
/// object to its class is not stored either: it follows from the object's site.
#[derive(Debug)]
pub(crate) struct Graph {
    rows: Rows,
    /// The references of classes and threads in addition to those in their rows.
    more: HashMap<ObjectNumber, Vec<ObjectNumber>>,
    /// The neighbourhoods, each of [`NEAR`] objects, in which some have more; nearly all have none.
    has_more: FixedBitSet,
    /// The class object of each kind of objects; [`ObjectNumber::NONE`] if it is a root or not in the dump.
    class_of_kind: Vec<ObjectNumber>,
    omitted: Omitted,
    /// What only finalizers keep alive. Their references to it are among the further ones.
    pub(crate) waiting: Waiting,
    pub(crate) roots: Roots,
}

/// The roots, which keep objects alive from outside.
#[derive(Debug)]
pub(crate) struct Roots {
    /// Objects with the reason each is a root, in the dump's order; an object may occur several times.
    pub(crate) all: Vec<(ObjectNumber, Root)>,
    pub(crate) is_root: FixedBitSet,
    /// The objects of threads, by serial number.
    pub(crate) threads: HashMap<u32, ObjectNumber>,
    /// The trace of each thread, by its object.
    pub(crate) traces: HashMap<ObjectNumber, u32>,
    /// Local variables, sorted by thread: the objects that threads hold in their frames.
    pub(crate) locals: Vec<Local>,
}

/// An object that a thread holds in a frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Local {
    pub(crate) thread: ObjectNumber,
    /// The frame's position in the thread's stack, 0 for the innermost; -1 if unknown.
    pub(crate) frame: i32,
    pub(crate) object: ObjectNumber,
}

impl Roots {
    pub(crate) fn of(roots: &[(u64, Root)], objects: &Objects) -> Roots {
        let mut threads = HashMap::default();
        let mut traces = HashMap::default();
        for &(id, root) in roots {
            if let (Root::Thread { thread, trace }, Some(number)) =
                (root, objects.ids.find(ObjectId(id)))
            {
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
            let Some(object) = objects.ids.find(ObjectId(id)) else {
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
                    found.is_root.insert(object.place());
                }
            }
        }
        found.locals.sort_by_key(|local| local.thread);
        found
    }

    /// Returns the objects that a thread holds, in the dump's order.
    pub(crate) fn locals_of(&self, thread: ObjectNumber) -> &[Local] {
        let start = self.locals.partition_point(|local| local.thread < thread);
        let after = self.locals.partition_point(|local| local.thread <= thread);
        &self.locals[start..after]
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
    /// Writes the references as sections of an index, except those of classes, which are read again.
    pub(crate) fn save(&self, out: &mut SectionWriter<impl Write>) -> io::Result<()> {
        self.rows.save(out)?;
        self.omitted.save(out)?;
        self.waiting.save(out)
    }

    /// Creates the graph of references that have been read. `more` has those of classes and threads.
    pub(crate) fn new(
        rows: Rows,
        more: HashMap<ObjectNumber, Vec<ObjectNumber>>,
        class_of_kind: Vec<ObjectNumber>,
        omitted: Omitted,
        roots: Roots,
    ) -> Graph {
        let mut has_more = FixedBitSet::with_capacity(rows.objects() as usize / NEAR + 1);
        has_more.extend(more.keys().map(|number| number.place() / NEAR));
        Graph {
            rows,
            more,
            has_more,
            class_of_kind,
            omitted,
            waiting: Waiting::default(),
            roots,
        }
    }

    /// Lets finalizers keep alive what nothing else does.
    pub(crate) fn add_waiting(&mut self, waiting: Waiting) {
        for &[from, to] in &waiting.references {
            self.has_more.insert(from.place() / NEAR);
            self.more.entry(from).or_default().push(to);
        }
        self.waiting = waiting;
    }

    /// Reads what [`Graph::add_waiting`] has added from an index; `None` if it is damaged.
    pub(crate) fn load_waiting(&mut self, index: &mut SectionReader) -> Option<()> {
        let waiting = Waiting::load(index, self.rows.objects())?;
        self.add_waiting(waiting);
        Some(())
    }

    /// Iterates over the references that are omitted; `None` if they are not known.
    pub(crate) fn omitted(&self) -> Option<impl Iterator<Item = [ObjectNumber; 2]>> {
        let objects = self.rows.objects();
        let all = self.omitted.iter()?;
        // Those of a damaged index may be any.
        let all = all.filter(move |[from, to]| *from < objects && *to < objects);
        Some(all.map(|[from, to]| [ObjectNumber(from), ObjectNumber(to)]))
    }

    /// Returns the objects that refer to one, in their order, at most `most`; `None` if the dump has to be asked. Local
    /// variables of threads are not among the references. `search` is the number of threads, and the zones that can have
    /// the object, if they are known.
    pub(crate) fn referrers(
        &self,
        number: ObjectNumber,
        most: usize,
        is_class: impl Fn(ObjectNumber) -> bool,
        search: (usize, Option<&Zones>),
    ) -> Option<Vec<ObjectNumber>> {
        let omitted = self.omitted.iter()?;
        let mut found: Vec<ObjectNumber> = Vec::new();
        if !self.roots.is_root.contains(number.place()) {
            let in_rows = self.referrers_in_rows(number.0, most, search).into_iter();
            found.extend(in_rows.map(ObjectNumber));
            let others = self.more.iter();
            let others = others.filter(|&(&from, to)| to.contains(&number) && is_class(from));
            found.extend(others.map(|(&from, _)| from));
        }
        let omitted = omitted.filter(|&[_, to]| to == number.0);
        found.extend(omitted.map(|[from, _]| ObjectNumber(from)));
        found.retain(|from| from.0 < self.rows.objects());
        found.sort_unstable();
        found.dedup();
        found.truncate(most);
        Some(found)
    }

    /// Returns the first objects whose rows have a number, in their order, and perhaps some more.
    fn referrers_in_rows(
        &self,
        number: u32,
        most: usize,
        (threads, known): (usize, Option<&Zones>),
    ) -> Vec<u32> {
        let groups = zones_with(number, zones_of(self.rows.objects() as usize), known);
        let search = |place: usize, found: &mut Vec<u32>| {
            let group = &groups[place];
            let in_zone = |&zone: &usize| self.rows.with(number, self.zone(zone));
            found.extend(group.iter().flat_map(in_zone).take(most));
            if let Some(objects) = entries_of(group, |zone| self.zone(zone)) {
                self.rows.release(objects);
            }
            Ok(())
        };
        let mut all = Vec::new();
        let add = |found: &mut Vec<u32>| {
            all.append(found);
            (all.len() < most).then_some(()).ok_or(Enough)
        };
        let (Ok(()) | Err(Enough)) = in_turn((threads, groups.len()), search, add, |_| {});
        all
    }

    /// Returns the objects of a zone of rows.
    fn zone(&self, zone: usize) -> Range<u32> {
        let Range { start, end } = entries_in(zone, 0..self.rows.objects() as usize);
        start as u32..end as u32
    }

    /// Finds the zones of the objects in each zone of rows.
    pub(crate) fn zones(&self, threads: usize, memory: &Memory) -> io::Result<Zones> {
        let objects = self.rows.objects();
        let objects_in = |zone| {
            let rows = self.rows.iter_in(self.zone(zone));
            rows.flat_map(|(_, row)| row.numbers())
        };
        let zones = zones_of(objects as usize);
        Zones::of((threads, zones), objects, objects_in, memory)
    }

    /// Returns the objects that an object refers to, without roots.
    #[inline]
    pub(crate) fn targets(&self, number: ObjectNumber, objects: &Objects) -> Targets<'_> {
        Targets {
            class: self.class_of_kind[objects.kind(number)],
            row: self.rows.row(number.0),
            more: self.more(number),
        }
    }

    #[inline]
    fn more(&self, number: ObjectNumber) -> &[ObjectNumber] {
        if self.has_more.contains(number.place() / NEAR) {
            self.more.get(&number).map_or(&[][..], Vec::as_slice)
        } else {
            &[]
        }
    }

    /// Returns an upper bound for the references that [`Graph::each`] visits for all objects.
    pub(crate) fn most_edges(&self) -> u64 {
        let more: usize = self.more.values().map(Vec::len).sum();
        self.rows.most() + u64::from(self.rows.objects()) + more as u64
    }

    /// Calls `visit` with every object that an object refers to, without roots.
    #[inline]
    pub(crate) fn each(
        &self,
        number: ObjectNumber,
        objects: &Objects,
        mut visit: impl FnMut(ObjectNumber),
    ) {
        let Targets { class, row, more } = self.targets(number, objects);
        if class != ObjectNumber::NONE {
            visit(class);
        }
        let mut at = row.start();
        while let Some(to) = row.next(&mut at) {
            visit(ObjectNumber(to));
        }
        for &to in more {
            visit(to);
        }
    }

    /// Returns the class object of each kind of objects; [`ObjectNumber::NONE`] if it is a root or not in the dump.
    pub(crate) fn classes(&self) -> &[ObjectNumber] {
        &self.class_of_kind
    }

    /// Returns how many parts the objects have, for threads that each read one at a time.
    pub(crate) fn parts(&self) -> usize {
        (self.rows.objects() as usize).div_ceil(PART)
    }

    /// Returns the numbers of the objects of a part.
    fn part(&self, part: usize) -> Range<u32> {
        let end = (self.rows.objects() as usize).min((part + 1) * PART);
        (part * PART) as u32..end as u32
    }

    /// Returns the bytes that the references of a part's objects take.
    pub(crate) fn bytes_of_part(&self, part: usize) -> u64 {
        self.rows.bytes_in(self.part(part))
    }

    /// Calls `visit` with every object of a part, in their order, and what it refers to, without roots.
    #[inline]
    pub(crate) fn each_in_part(
        &self,
        part: usize,
        objects: &Objects,
        mut visit: impl FnMut(ObjectNumber, To),
    ) {
        for (number, row) in self.rows.iter_in(self.part(part)) {
            let number = ObjectNumber(number);
            visit(number, To::ClassOfKind(objects.kind(number)));
            let mut at = row.start();
            while let Some(to) = row.next(&mut at) {
                visit(number, To::Other(ObjectNumber(to)));
            }
            for &to in self.more(number) {
                visit(number, To::Other(to));
            }
        }
    }
}

/// The end of a search that has found as much as was wanted.
struct Enough;

/// An object that another refers to.
#[derive(Clone, Copy)]
pub(crate) enum To {
    /// The class of objects of a kind, if it is one of [`Graph::classes`].
    ClassOfKind(usize),
    Other(ObjectNumber),
}

/// The objects that an object refers to, without roots.
pub(crate) struct Targets<'a> {
    class: ObjectNumber,
    row: Row<'a>,
    more: &'a [ObjectNumber],
}

/// A position among the objects that an object refers to.
#[derive(Clone, Copy, Default)]
pub(crate) struct Followed {
    /// How far the targets were followed: 0 at first, then one, the bytes of the row, and the number of the others.
    pub(crate) next: u64,
    /// The last one of the row.
    pub(crate) last: u32,
}

impl Targets<'_> {
    /// Returns the first wanted one from a position on, which moves past it.
    #[inline]
    pub(crate) fn find_from(
        &self,
        position: &mut Followed,
        mut wanted: impl FnMut(ObjectNumber) -> bool,
    ) -> Option<ObjectNumber> {
        if position.next == 0 {
            position.next = 1;
            position.last = self.row.start().last;
            if self.class != ObjectNumber::NONE && wanted(self.class) {
                return Some(self.class);
            }
        }
        let mut cursor = Cursor {
            at: position.next as usize - 1,
            last: position.last,
        };
        while let Some(to) = self.row.next(&mut cursor) {
            if wanted(ObjectNumber(to)) {
                (position.next, position.last) = (cursor.at as u64 + 1, to);
                return Some(ObjectNumber(to));
            }
        }
        let at = cursor.at;
        let rest = self.more.get(at - self.row.length()..).unwrap_or_default();
        let found = rest.iter().position(|&to| wanted(to));
        let passed = found.map_or(rest.len(), |place| place + 1);
        position.next = (at + passed) as u64 + 1;
        found.map(|place| rest[place])
    }
}
