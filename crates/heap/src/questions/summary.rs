//! A summary of a dump, in a few figures.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;

use fixedbitset::FixedBitSet;
use hprof_format::ObjectId;
use serde::Serialize;

use crate::data::dominators::TOP;
use crate::data::dump::FRAMES;
use crate::data::error::Error;
use crate::data::heap::Heap;
use crate::data::label::Label;
use crate::data::layout::Layout;
use crate::data::names::Stack;
use crate::data::numbers::ObjectNumber;
use crate::data::turns::in_turn;
use crate::questions::outside_heap::OutsideHeap;
use crate::questions::unreached::{Excluding, WaitingForFinalizer};

/// A summary of a dump.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// Its number among the file's dumps, from 1.
    pub dump: usize,
    /// The layout from which sizes were computed.
    pub layout: Layout,
    /// The kinds of references that do not keep their target alive.
    pub excluded: Vec<&'static str>,
    /// Objects that roots reach.
    pub objects: u64,
    /// Their size, in bytes.
    pub bytes: u64,
    /// Objects that no root reaches.
    pub unreachable_objects: u64,
    /// Their size, in bytes.
    pub unreachable_bytes: u64,
    /// Those of them that excluded references reach, by the kind of the references; empty unless they are more than a few
    /// percent of all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reached_by_excluded: Vec<Excluding>,
    /// The objects that wait for their finalizer, if there are some; they are live.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting: Option<WaitingForFinalizer>,
    /// The memory outside of the heap that live objects own.
    pub outside_heap: OutsideHeap,
    /// Classes of the dump.
    pub classes: u64,
    /// Class loaders that have loaded one of them, including the boot loader.
    pub loaders: u64,
    /// Pairs of a class and a stack that allocated objects of it.
    pub sites: u64,
    /// `true` if there are such stacks.
    pub has_stacks: bool,
    /// Roots by kind, including local variables of threads.
    pub roots: BTreeMap<String, u64>,
}

/// An object and its retained size.
#[derive(Clone, Debug, Serialize)]
pub struct ObjectRow {
    /// Its description.
    pub object: Label,
    /// Its id.
    #[serde(serialize_with = "crate::data::names::hex")]
    pub id: ObjectId,
    /// Its shallow size, in bytes.
    pub shallow: u64,
    /// Bytes that would be freed without it.
    pub retained: u64,
    /// The stack that allocated it, innermost frame first.
    #[serde(skip_serializing_if = "crate::data::names::is_empty")]
    pub stack: Stack,
}

/// A thread and its retained size.
#[derive(Clone, Debug, Serialize)]
pub struct ThreadRow {
    /// The thread.
    #[serde(flatten)]
    pub object: ObjectRow,
    /// Its stack, innermost frame first.
    pub frames: Vec<FrameRow>,
}

/// A frame and the objects it holds.
#[derive(Clone, Debug, Serialize)]
pub struct FrameRow {
    /// `Main.main(Main.java:7)`; empty for objects held by an unknown frame.
    pub frame: Arc<str>,
    /// The objects in its local variables.
    pub locals: Vec<LocalRow>,
}

/// An object in a local variable.
#[derive(Clone, Debug, Serialize)]
pub struct LocalRow {
    /// Its description.
    pub object: Label,
    /// Its id.
    #[serde(serialize_with = "crate::data::names::hex")]
    pub id: ObjectId,
}

/// The most local variables of one frame that are shown.
const LOCALS: usize = 20;

impl Heap<'_> {
    /// Returns a summary of the dump.
    ///
    /// # Errors
    /// Those of reading records.
    pub fn summary(&self) -> Result<Summary, Error> {
        let unreached = self.unreached();
        let mut loaders: Vec<u64> = self.classes.iter().map(|(_, class)| class.loader).collect();
        loaders.sort_unstable();
        loaders.dedup();
        let mut roots = BTreeMap::new();
        for (_, root) in &self.graph.roots.all {
            *roots
                .entry(crate::questions::paths::root_name(*root))
                .or_default() += 1;
        }
        if !self.graph.roots.locals.is_empty() {
            roots.insert(
                "local variable".to_owned(),
                self.graph.roots.locals.len() as u64,
            );
        }
        Ok(Summary {
            dump: self.dump.number_and_count().0,
            layout: self.layout,
            excluded: self.excluded.names(),
            objects: self.dominators.live() as u64,
            bytes: self.retained(TOP),
            unreachable_objects: unreached.objects,
            unreachable_bytes: unreached.bytes,
            reached_by_excluded: unreached.excluded,
            waiting: self.waiting_for_finalizer()?,
            outside_heap: self.outside_heap()?,
            classes: self
                .classes
                .iter()
                .filter(|(_, class)| class.id != 0)
                .count() as u64,
            loaders: loaders.len() as u64,
            sites: self.objects.sites.len() as u64 - 1,
            has_stacks: self.has_stacks(),
            roots,
        })
    }

    /// Returns the shallow size of all objects, whether roots reach them or not.
    pub(crate) fn all_bytes(&self) -> u64 {
        let sizes = self.objects.numbers();
        sizes.map(|number| self.objects.size(number)).sum()
    }

    /// Returns the layout from which sizes were computed.
    #[must_use]
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Returns the objects that retain most, at most `most`; only those of one class, if one is named.
    ///
    /// # Errors
    /// [`Error::NoClass`], and those of reading records.
    pub fn largest(&self, class: Option<&str>, most: usize) -> Result<Vec<ObjectRow>, Error> {
        self.dump.unless_changed(|| self.find_largest(class, most))
    }

    fn find_largest(&self, class: Option<&str>, most: usize) -> Result<Vec<ObjectRow>, Error> {
        let classes = class.map(|name| self.classes_named(name)).transpose()?;
        let known = match &classes {
            Some(classes) => self.known_largest(classes, most),
            None => self.known_largest_of_all(most),
        };
        let objects = match known {
            Some(objects) => objects,
            None => self.search_largest(classes.as_ref(), most),
        };
        let objects = objects.into_iter();
        objects.map(|object| self.object_row(object)).collect()
    }

    /// Returns the live objects of some classes.
    pub(crate) fn live_of(&self, classes: &FixedBitSet) -> Vec<ObjectNumber> {
        let known = self.known_largest(classes, usize::MAX);
        known.unwrap_or_else(|| self.search_largest(Some(classes), usize::MAX))
    }

    /// Looks at all objects.
    fn search_largest(&self, classes: Option<&FixedBitSet>, most: usize) -> Vec<ObjectNumber> {
        let kinds = match classes {
            Some(classes) => self.kinds_of(classes),
            None => {
                let mut all = FixedBitSet::with_capacity(self.objects.kinds().len());
                all.toggle_range(..);
                all
            }
        };
        let search = |piece, found: &mut Vec<WithSize>| {
            let mut largest = Largest::new(most);
            self.each_live_in(piece, &kinds, |object, retained| {
                largest.add(object, retained);
            });
            *found = largest.sorted();
            Ok::<(), Infallible>(())
        };
        let mut largest = Largest::new(most);
        let add = |found: &mut Vec<WithSize>| {
            for &(Reverse(retained), object) in &*found {
                largest.add(object, retained);
            }
            Ok(())
        };
        let work = (self.dump.threads(), self.pieces());
        let Ok(()) = in_turn(work, search, add, |_| {});
        largest.finish()
    }

    fn known_largest_of_all(&self, most: usize) -> Option<Vec<ObjectNumber>> {
        let largest = &self.usual.get()?.largest;
        let is_known = largest.len() >= most || largest.len() == self.dominators.live();
        is_known.then(|| largest.iter().copied().take(most).collect())
    }

    pub(crate) fn object_row(&self, object: ObjectNumber) -> Result<ObjectRow, Error> {
        Ok(ObjectRow {
            object: self.label(object)?,
            id: self.objects.ids.id(object),
            shallow: self.objects.size(object),
            retained: self.retained_of(object).unwrap_or_default(),
            stack: self.dump.stack(self.objects.trace(object)),
        })
    }

    /// Returns the threads with their stacks and the objects in their local variables, those that retain most, at most
    /// `most`; and the number of all threads.
    ///
    /// # Errors
    /// Those of reading records.
    pub fn threads(&self, most: usize) -> Result<(Vec<ThreadRow>, usize), Error> {
        let known = self.usual.get();
        let threads = known.map_or_else(|| self.live_threads(), |usual| usual.threads.clone());
        let rows = threads.iter().take(most);
        let rows = self
            .dump
            .unless_changed(|| rows.map(|&thread| self.thread_row(thread)).collect());
        Ok((rows?, threads.len()))
    }

    /// Returns the stacks of threads in a dump that does not say whose they are, as those of `jhsdb`: empty if one thread has
    /// its stack.
    #[must_use]
    pub fn stacks_of_unknown_threads(&self) -> Vec<Stack> {
        let mut threads = self.graph.roots.traces.keys();
        let has_own = threads.any(|&thread| !self.thread_stack(thread).is_empty());
        match has_own || self.has_stacks() {
            true => Vec::new(),
            false => self.dump.all_stacks(),
        }
    }

    /// Returns the threads, those that retain most first.
    pub(crate) fn live_threads(&self) -> Vec<ObjectNumber> {
        let all = self.graph.roots.traces.keys().copied();
        let live = all.filter_map(|thread| Some((Reverse(self.retained_of(thread)?), thread)));
        let mut threads: Vec<WithSize> = live.collect();
        threads.sort_unstable();
        threads.into_iter().map(|(_, thread)| thread).collect()
    }

    fn thread_row(&self, thread: ObjectNumber) -> Result<ThreadRow, Error> {
        let stack = self.thread_stack(thread);
        let mut frames: Vec<FrameRow> = stack.iter().cloned().map(FrameRow::of).collect();
        let known = frames.len();
        frames.push(FrameRow::of(Arc::default()));
        for local in self.graph.roots.locals_of(thread) {
            // Those that are not shown share one row.
            let frame = usize::try_from(local.frame).map_or(known, |frame| frame.min(FRAMES));
            let locals = &mut frames[frame.min(known)].locals;
            if locals.len() < LOCALS {
                locals.push(LocalRow {
                    object: self.label(local.object)?,
                    id: self.objects.ids.id(local.object),
                });
            }
        }
        frames.retain(|frame| !frame.frame.is_empty() || !frame.locals.is_empty());
        let mut object = self.object_row(thread)?;
        // The stack that allocated it would be taken for its current one.
        object.stack = Stack::default();
        Ok(ThreadRow { object, frames })
    }
}

/// An object and its retained size. The one that retains most is the least.
type WithSize = (Reverse<u64>, ObjectNumber);

/// The objects that retain most, while objects are looked through.
pub(crate) struct Largest {
    most: usize,
    found: Vec<WithSize>,
    /// The last one that was wanted when they were sorted: those after it are not.
    last: Option<WithSize>,
}

impl Largest {
    /// Finds at most `most`.
    pub(crate) fn new(most: usize) -> Largest {
        Largest {
            most,
            found: Vec::new(),
            last: None,
        }
    }

    #[inline]
    pub(crate) fn add(&mut self, object: ObjectNumber, retained: u64) {
        let new = (Reverse(retained), object);
        if self.last.is_some_and(|last| new > last) {
            return;
        }
        self.found.push(new);
        // Sorting now and then limits their number.
        if self.found.len() / 2 > self.most {
            self.sort();
            self.last = self.found.last().copied();
        }
    }

    fn sort(&mut self) {
        self.found.sort_unstable();
        self.found.truncate(self.most);
    }

    /// Returns them, those that retain most first.
    pub(crate) fn finish(self) -> Vec<ObjectNumber> {
        let sorted = self.sorted().into_iter();
        sorted.map(|(_, object)| object).collect()
    }

    /// Returns the same with their sizes.
    fn sorted(mut self) -> Vec<WithSize> {
        self.sort();
        self.found
    }
}

impl FrameRow {
    fn of(frame: Arc<str>) -> FrameRow {
        FrameRow {
            frame,
            locals: Vec::new(),
        }
    }
}
