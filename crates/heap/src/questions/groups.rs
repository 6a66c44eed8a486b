//! Objects in groups: by class, loader, package or allocation site.

use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use fixedbitset::FixedBitSet;
use foldhash::HashMap;
use hprof_format::Age;
use serde::Serialize;

use crate::data::births::{Births, MadeAfter};
use crate::data::classes::Class;
use crate::data::dominators::{Step, TOP};
use crate::data::error::Error;
use crate::data::heap::Heap;
use crate::data::names::{self, Stack};
use crate::data::numbers::{ClassIndex, ObjectNumber, SiteIndex};
use crate::data::objects::Site;
use crate::data::usual::{GROUPINGS, GroupSum};

/// The most passes over the graph at the same time, each of which needs 4 bytes per object.
const MOST_PASSES: usize = 4;

/// The property that the objects of a group have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum By {
    /// Their class.
    Class,
    /// The loader of their class.
    Loader,
    /// The package of their class.
    Package,
    /// Their class and the stack that allocated them.
    Site,
}

impl By {
    /// All of them.
    pub(crate) const ALL: [By; GROUPINGS] = [By::Class, By::Loader, By::Package, By::Site];

    /// Returns its place among all.
    fn place(self) -> usize {
        self as usize
    }
}

/// A group of objects. All figures count only what roots reach.
#[derive(Clone, Debug, Serialize)]
pub struct Group {
    /// The common property of the objects.
    pub name: Arc<str>,
    /// The number of objects.
    pub objects: u64,
    /// Their shallow size, in bytes.
    pub shallow: u64,
    /// A lower bound for the bytes that would be freed without them. Members below another member in the dominator tree
    /// count with that one.
    pub retained: u64,
    /// `true` if `retained` is exact.
    pub exact: bool,
    /// The stack that allocated them, innermost frame first; for groups by site.
    #[serde(skip_serializing_if = "crate::data::names::is_empty")]
    pub stack: Stack,
}

/// The assignment of sites to groups.
pub(crate) struct Grouping {
    by: By,
    of_site: Vec<u32>,
    count: usize,
    /// The first site of each group.
    first: Vec<Site>,
}

impl Grouping {
    #[inline]
    fn of(&self, site: SiteIndex) -> usize {
        self.of_site[site.place()] as usize
    }
}

/// The common property of a group's objects.
#[derive(PartialEq, Eq, Hash)]
pub(crate) enum Key {
    Class(ClassIndex),
    Loader(u64),
    Package(String),
    Site(ClassIndex, u32),
    /// `None` if it is not known.
    Age(Option<Age>),
}

impl Key {
    pub(crate) fn of(by: By, index: ClassIndex, class: &Class, trace: u32) -> Key {
        match by {
            By::Class => Key::Class(index),
            By::Loader => Key::Loader(class.loader),
            By::Package => Key::Package(names::package(&class.name).to_owned()),
            By::Site => Key::Site(index, trace),
        }
    }
}

impl Heap<'_> {
    /// Returns all groups, those that retain most first. The first `exact` of them get their exact retained size.
    ///
    /// # Errors
    /// [`Error`], if there is no memory for a table.
    pub fn groups(&self, by: By, exact: usize) -> Result<Vec<Group>, Error> {
        self.dump.unless_changed(|| {
            let grouping = self.grouping(by);
            let tallies = self.tally_all(&grouping);
            self.describe(&grouping, tallies, exact)
        })
    }

    fn describe(
        &self,
        grouping: &Grouping,
        mut tallies: Vec<Tally>,
        exact: usize,
    ) -> Result<Vec<Group>, Error> {
        tallies.retain(|tally| tally.objects > 0);
        tallies.sort_by_key(|tally| (std::cmp::Reverse(tally.retained), tally.group));
        let exact = exact.min(tallies.len());
        self.make_exact(grouping, &mut tallies[..exact])?;
        tallies.sort_by_key(|tally| (std::cmp::Reverse(tally.retained), tally.group));
        let loaders = match grouping.by {
            By::Loader => self.loader_labels()?,
            _ => HashMap::default(),
        };
        let named = tallies.into_iter().map(|tally| Group {
            name: self.group_name(grouping, tally.group, &loaders),
            objects: tally.objects,
            shallow: tally.shallow,
            retained: tally.retained,
            exact: tally.exact,
            stack: match grouping.by {
                By::Site => self.dump.stack(grouping.first[tally.group].trace),
                _ => Stack::default(),
            },
        });
        Ok(named.collect())
    }

    /// Computes the exact figures, each by a pass over the graph; as many passes run at once as there may be
    /// threads, up to [`MOST_PASSES`].
    fn make_exact(&self, grouping: &Grouping, tallies: &mut [Tally]) -> Result<(), Error> {
        let passes = self.dump.threads().min(MOST_PASSES);
        let part = tallies.len().div_ceil(passes).max(1);
        let run = |tallies: &Mutex<&mut [Tally]>| {
            let mut tallies = tallies.lock().unwrap_or_else(PoisonError::into_inner);
            for tally in tallies.iter_mut() {
                let member = |object| grouping.of(self.objects.site(object)) == tally.group;
                tally.retained = self.retained_without(member)?;
                tally.exact = true;
            }
            Ok(())
        };
        let parts: Vec<_> = tallies.chunks_mut(part).map(Mutex::new).collect();
        thread::scope(|scope| {
            let start = |part| {
                let run = &run;
                let started = thread::Builder::new().spawn_scoped(scope, move || run(part));
                // If another thread cannot be created, this one does the work.
                started.map_err(|_| part)
            };
            let started: Vec<_> = parts.iter().map(start).collect();
            started.into_iter().try_for_each(|started| match started {
                Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
                Err(part) => run(part),
            })
        })
    }

    /// Returns the sites of the live objects of a class, those that retain most first; the first `exact` of them get
    /// their exact retained size.
    ///
    /// # Errors
    /// [`Error::NoClass`], and those of [`Heap::groups`].
    pub fn who(&self, class: &str, exact: usize) -> Result<Vec<Group>, Error> {
        self.dump.unless_changed(|| {
            let classes = self.classes_named(class)?;
            let grouping = self.grouping(By::Site);
            let mut tallies = self.tally_all(&grouping);
            tallies.retain(|tally| classes.contains(grouping.first[tally.group].class.place()));
            self.describe(&grouping, tallies, exact)
        })
    }

    /// Returns the sites of the live objects that are certain to be at least so old, of a class or of all, those that retain
    /// most first.
    ///
    /// # Errors
    /// As [`Heap::who`].
    pub fn who_is_older(
        &self,
        class: Option<&str>,
        births: &Births,
        least: Duration,
    ) -> Result<Vec<Group>, Error> {
        self.dump.unless_changed(|| {
            let classes = class.map(|class| self.classes_named(class)).transpose()?;
            let grouping = self.grouping(By::Site);
            let is_old = |object| {
                let since = births.since(self.objects.ids.id(object));
                since.is_some_and(|since| since.least >= least)
            };
            let mut tallies = self.tally(&grouping, is_old);
            tallies.retain(|tally| {
                let class = grouping.first[tally.group].class.place();
                classes
                    .as_ref()
                    .is_none_or(|classes| classes.contains(class))
            });
            self.describe(&grouping, tallies, 0)
        })
    }

    /// Returns the groups of the live objects that were made after an earlier dump, those that retain most first.
    ///
    /// # Errors
    /// As [`Heap::groups`].
    pub fn groups_made_after(&self, by: By, made: MadeAfter<'_>) -> Result<Vec<Group>, Error> {
        self.dump.unless_changed(|| {
            let grouping = self.grouping(by);
            let is_new = |object| made.has(self.objects.ids.id(object));
            let tallies = self.tally(&grouping, is_new);
            self.describe(&grouping, tallies, 0)
        })
    }

    pub(crate) fn grouping(&self, by: By) -> Grouping {
        let mut groups: HashMap<Key, u32> = HashMap::default();
        let mut first = Vec::new();
        let mut of_site = Vec::with_capacity(self.objects.sites.len());
        for (index, site) in self.objects.sites.iter().enumerate() {
            if index == 0 {
                // No object has it.
                of_site.push(u32::MAX);
                continue;
            }
            let key = Key::of(by, site.class, self.classes.get(site.class), site.trace);
            let next = first.len() as u32;
            let group = *groups.entry(key).or_insert(next);
            if group == next {
                first.push(site);
            }
            of_site.push(group);
        }
        Grouping {
            by,
            of_site,
            count: first.len(),
            first,
        }
    }

    /// Returns the number and the bytes of the live objects whose classes each loader has loaded.
    pub(crate) fn sums_by_loader(&self) -> HashMap<u64, (u64, u64)> {
        let grouping = self.grouping(By::Loader);
        let tallies = self.tally_all(&grouping).into_iter();
        let sums = tallies.map(|tally| {
            let class = grouping.first[tally.group].class;
            let loader = self.classes.get(class).loader;
            (loader, (tally.objects, tally.shallow))
        });
        sums.collect()
    }

    fn group_name(
        &self,
        grouping: &Grouping,
        group: usize,
        loaders: &HashMap<u64, Arc<str>>,
    ) -> Arc<str> {
        let class = self.classes.get(grouping.first[group].class);
        match grouping.by {
            By::Class | By::Site => Arc::clone(&class.name),
            By::Loader => loaders.get(&class.loader).cloned().unwrap_or_default(),
            By::Package => names::package_label(&class.name).into(),
        }
    }

    /// Returns the figures of each group.
    fn tally_all(&self, grouping: &Grouping) -> Vec<Tally> {
        let known = self.usual.get();
        let known = known.map(|usual| &usual.groups[grouping.by.place()]);
        match known.filter(|known| known.len() == grouping.count) {
            Some(known) => (0..)
                .zip(known)
                .map(|(group, sum)| Tally::known(group, sum))
                .collect(),
            None => self.tally(grouping, |_| true),
        }
    }

    /// Returns the figures of each group from the dominator tree; only of its objects for which `is_wanted` is true.
    fn tally(&self, grouping: &Grouping, is_wanted: impl Fn(ObjectNumber) -> bool) -> Vec<Tally> {
        let [tallies] = self.tallies([grouping], is_wanted, |_, _, _| {});
        tallies
    }

    /// Returns the figures of the groups of several groupings. Calls `visit` with each node, its
    /// site and its retained size.
    pub(crate) fn tallies<const N: usize>(
        &self,
        groupings: [&Grouping; N],
        is_wanted: impl Fn(ObjectNumber) -> bool,
        mut visit: impl FnMut(ObjectNumber, SiteIndex, u64),
    ) -> [Vec<Tally>; N] {
        let mut all = groupings.map(|grouping| {
            let tallies = (0..grouping.count).map(Tally::of);
            tallies.collect::<Vec<Tally>>()
        });
        // A node that dominates none has no others below it, so it need not be left.
        let mut last_leaf = TOP;
        self.dominators.walk(TOP, |step| match step {
            Step::Enter(TOP, _) | Step::Leave(TOP, _) => {}
            Step::Enter(node, object) => {
                let is_leaf = !self.dominators.is_inner(node);
                if is_leaf {
                    last_leaf = node;
                }
                if !is_wanted(object) {
                    return;
                }
                let (site, size) = (self.objects.site(object), self.objects.size(object));
                let retained = match is_leaf {
                    true => size,
                    false => self.retained_of(object).unwrap_or_default(),
                };
                visit(object, site, retained);
                for (tallies, grouping) in all.iter_mut().zip(groupings) {
                    tallies[grouping.of(site)].enter(size, retained, is_leaf);
                }
            }
            Step::Leave(node, object) => {
                if node == last_leaf || !is_wanted(object) {
                    return;
                }
                let site = self.objects.site(object);
                for (tallies, grouping) in all.iter_mut().zip(groupings) {
                    tallies[grouping.of(site)].open -= 1;
                }
            }
        });
        all
    }

    /// Returns the bytes that no root reaches any more without these objects, including themselves.
    pub(crate) fn retained_without(
        &self,
        gone: impl Fn(ObjectNumber) -> bool,
    ) -> Result<u64, Error> {
        let mut reached = FixedBitSet::with_capacity(self.objects.count() as usize);
        let mut waiting = self.memory.table::<u32>(self.dominators.len() as usize)?;
        let mut length = 0;
        let mut bytes = 0;
        let mut reach = |object: ObjectNumber, waiting: &mut [u32], length: &mut usize| {
            if !reached.contains(object.place()) && !gone(object) {
                reached.insert(object.place());
                bytes += self.objects.size(object);
                // The tree of a damaged index may have fewer nodes than there are objects.
                if let Some(next) = waiting.get_mut(*length) {
                    *next = object.0;
                    *length += 1;
                }
            }
        };
        for &(root, _) in &self.graph.roots.all {
            reach(root, &mut waiting, &mut length);
            while length > 0 {
                length -= 1;
                let object = ObjectNumber(waiting[length]);
                self.graph.each(object, &self.objects, |to| {
                    reach(to, &mut waiting, &mut length)
                });
            }
        }
        Ok(self.retained(TOP).saturating_sub(bytes))
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Tally {
    group: usize,
    objects: u64,
    shallow: u64,
    retained: u64,
    exact: bool,
    /// The number of members above the walk's current node.
    open: u32,
}

impl Tally {
    fn of(group: usize) -> Tally {
        Tally {
            group,
            objects: 0,
            shallow: 0,
            retained: 0,
            exact: false,
            open: 0,
        }
    }

    fn known(group: usize, sum: &GroupSum) -> Tally {
        Tally {
            objects: sum.objects,
            shallow: sum.shallow,
            retained: sum.retained,
            ..Tally::of(group)
        }
    }

    pub(crate) fn sum(&self) -> GroupSum {
        GroupSum {
            objects: self.objects,
            shallow: self.shallow,
            retained: self.retained,
        }
    }

    /// Counts an object, below which the walk continues unless it is a leaf.
    #[inline]
    fn enter(&mut self, size: u64, retained: u64, is_leaf: bool) {
        self.objects += 1;
        self.shallow += size;
        if self.open == 0 {
            self.retained += retained;
        }
        self.open += u32::from(!is_leaf);
    }
}
