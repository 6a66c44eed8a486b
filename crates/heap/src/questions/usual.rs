//! The answers to the usual questions, for an index: later questions take no pass over all objects.

use std::cmp::Reverse;

use fixedbitset::FixedBitSet;
use foldhash::HashMap;

use crate::data::dominators::TOP;
use crate::data::error::Error;
use crate::data::heap::Heap;
use crate::data::numbers::{ClassIndex, ObjectNumber};
use crate::data::turns::at_once;
use crate::data::usual::{
    ClassObjects, ClassPaths, USUAL_PATHS, Usual, UsualPath, objects_of_each_class,
};
use crate::questions::areas::Area;
use crate::questions::groups::By;
use crate::questions::summary::Largest;

/// The largest objects that are known.
const LARGEST: usize = 10_000;

impl Heap<'_> {
    /// Returns the answers to the usual questions. They are found once.
    pub(crate) fn usual(&self) -> Result<&Usual, Error> {
        if let Some(usual) = self.usual.get() {
            return Ok(usual);
        }
        let threads = self.dump.threads();
        let (paths, usual) = at_once(threads, || self.usual_paths(), || self.usual_of_tree());
        let usual = Usual {
            paths: paths?,
            ..usual?
        };
        Ok(self.usual.get_or_init(|| usual))
    }

    /// Returns the answers that the dominator tree has: all but the paths.
    fn usual_of_tree(&self) -> Result<Usual, Error> {
        let groupings = By::ALL.map(|by| self.grouping(by));
        let mut largest = Largest::new(LARGEST);
        let mut of_classes = self.largest_of_classes();
        let groups = self.tallies(
            groupings.each_ref(),
            |_| true,
            |object, site, retained| {
                largest.add(object, retained);
                let class = self.objects.sites.get(site).class;
                if let Some(largest) = of_classes.get_mut(class.place()) {
                    largest.add(object, retained);
                }
            },
        );
        let of_classes = (0..)
            .map(ClassIndex)
            .zip(of_classes)
            .map(|(class, largest)| ClassObjects {
                class,
                objects: largest.finish(),
            });
        Ok(Usual {
            groups: groups.map(|tallies| tallies.iter().map(|tally| tally.sum()).collect()),
            bytes: self.all_bytes(),
            largest: largest.finish(),
            threads: self.live_threads(),
            of_classes: of_classes
                .filter(|class| !class.objects.is_empty())
                .collect(),
            suspects: self.usual_suspects()?.to_vec(),
            areas: self.areas_below(TOP, Area::USUAL),
            paths: Vec::new(),
        })
    }

    /// Returns a place for the objects of each class that retain most; none, if there are too many classes.
    fn largest_of_classes(&self) -> Vec<Largest> {
        let classes = self.classes.len();
        match self.objects_of_each_class() {
            0 => Vec::new(),
            most => (0..classes).map(|_| Largest::new(most)).collect(),
        }
    }

    fn objects_of_each_class(&self) -> usize {
        objects_of_each_class(self.classes.len(), self.dominators.len() as usize)
    }

    /// Returns the objects of classes that retain most, at most `most`, those first, if that takes no look at all objects.
    pub(crate) fn known_largest(
        &self,
        classes: &FixedBitSet,
        most: usize,
    ) -> Option<Vec<ObjectNumber>> {
        let each = self.objects_of_each_class();
        let usual = self.usual.get().filter(|_| each > 0)?;
        let known = usual.of_classes.iter();
        let known = known.filter(|known| classes.contains(known.class.place()));
        let (mut objects, mut are_all) = (Vec::new(), true);
        for ClassObjects { objects: some, .. } in known {
            objects.extend(some);
            are_all &= some.len() < each;
        }
        objects.sort_by_cached_key(|&object| (Reverse(self.retained_of(object)), object));
        objects.truncate(most);
        // The first ones of all classes are among the first ones of each.
        (are_all || most <= each).then_some(objects)
    }

    fn usual_paths(&self) -> Result<Vec<ClassPaths>, Error> {
        let mut classes: HashMap<ClassIndex, Vec<UsualPath>> = HashMap::default();
        for path in self.find_paths(None)? {
            let class = self.objects.class(path.object);
            classes.entry(class).or_default().push(path);
        }
        let classes = classes.into_iter();
        let mut classes: Vec<ClassPaths> = classes
            .map(|(class, mut paths)| {
                paths.sort_unstable();
                let all = paths.len() as u64;
                paths.truncate(USUAL_PATHS);
                ClassPaths { class, paths, all }
            })
            .collect();
        classes.sort_unstable_by_key(|paths| paths.class);
        Ok(classes)
    }
}
